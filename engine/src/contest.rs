//! Matches between two players.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, Player as Side};
use sternhalma_ggp::{Limits, Rng, Spent};

use crate::filter::Filter;
use crate::game::{Action, ChineseCheckers, Outcome, State};
use crate::player::Player;

/// What two players play.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The board.
    pub board: Board,
    /// Games, in pairs from the same opening with sides changed.
    pub games: u64,
    /// What each player may spend on a move.
    pub limits: Limits,
    /// Random plies before the players take over.
    pub opening_plies: u32,
    /// The ply at which a game is a draw.
    pub ply_limit: u32,
    /// Fixes openings and players' random numbers: the same seed and limits
    /// (but of time) give the same games at any number of threads.
    pub seed: u64,
}

/// How a game went, for the first named player `a` and the other, `b`.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Whether `a` moved first.
    pub a_first: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// The plies of the game, opening included.
    pub plies: u32,
    /// The actions after the opening.
    pub actions: Vec<Action>,
    /// What `a` and `b` spent.
    pub spent: [Totals; 2],
}

/// What a player spent on all its moves.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Totals {
    /// Moves it searched for.
    pub moves: u64,
    /// Node expansions.
    pub expansions: u64,
    /// Playouts.
    pub playouts: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Totals {
    fn add(&mut self, spent: Spent) {
        self.join(Totals {
            moves: u64::from(spent.expansions > 0),
            expansions: spent.expansions,
            playouts: spent.playouts,
            seconds: spent.time.as_secs_f64(),
        });
    }

    /// Adds what was spent elsewhere.
    pub fn join(&mut self, other: Totals) {
        self.moves += other.moves;
        self.expansions += other.expansions;
        self.playouts += other.playouts;
        self.seconds += other.seconds;
    }
}

impl Record {
    /// The score of `a`: 1, 0.5 or 0.
    pub fn score(&self) -> f64 {
        match self.outcome {
            Outcome::Draw => 0.5,
            Outcome::Won(side) => f64::from(u8::from((side == Side::X) == self.a_first)),
        }
    }
}

/// The games of a match, counted for the first named player.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Score {
    /// Games played.
    pub games: u64,
    /// Games won.
    pub wins: u64,
    /// Games lost.
    pub losses: u64,
    /// Games drawn.
    pub draws: u64,
}

impl Score {
    /// Adds a game.
    pub fn add(&mut self, score: f64) {
        self.games += 1;
        match score {
            1.0 => self.wins += 1,
            0.0 => self.losses += 1,
            _ => self.draws += 1,
        }
    }

    /// The score as a share of the games, draws counting half.
    pub fn rate(&self) -> f64 {
        (self.wins as f64 + 0.5 * self.draws as f64) / (self.games as f64).max(1.0)
    }

    /// The 95% interval of [`rate`](Score::rate), by Wilson's score.
    pub fn interval(&self) -> [f64; 2] {
        if self.games == 0 {
            return [0.0, 1.0];
        }
        const Z: f64 = 1.959_963_984_540_054;
        let (n, p) = (self.games as f64, self.rate());
        let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        [(centre - half).max(0.0), (centre + half).min(1.0)]
    }
}

/// A game that was played: how it ended, the actions, and what each side spent.
#[derive(Clone, PartialEq, Debug)]
pub struct Played {
    /// How it ended.
    pub outcome: Outcome,
    /// The actions.
    pub actions: Vec<Action>,
    /// The last state.
    pub last: State,
    /// What `x` and `o` spent.
    pub spent: [Totals; 2],
}

/// Plays one game to its end: `players` by side, from `state`.
pub fn play_game(
    game: &ChineseCheckers,
    mut state: State,
    mut players: [&mut dyn Player; 2],
    limits: Limits,
    stop: &AtomicBool,
) -> Played {
    let mut actions = Vec::new();
    let mut spent = [Totals::default(); 2];
    loop {
        if let Some(outcome) = state.outcome() {
            return Played { outcome, actions, last: state, spent };
        }
        let side = state.player() as usize;
        let choice = players[side].choose(&state, limits, stop);
        spent[side].add(choice.spent);
        game.play_action(&mut state, choice.action);
        players.iter_mut().for_each(|player| player.observe(choice.action));
        actions.push(choice.action);
    }
}

/// Mixes a seed with the number of what it is for, so that neighbours differ in every bit.
pub fn derive_seed(seed: u64, number: u64) -> u64 {
    let mut mixed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Plays a match on the threads of the current pool. `make` makes the players
/// `a` and `b` anew for each game; `report` is told of each game as it ends,
/// with its number. No further game begins once `stop` is set, and the games
/// that were under way then are not counted.
pub fn play_match(
    terms: &Terms,
    make: impl Fn() -> [Box<dyn Player>; 2] + Sync,
    stop: &AtomicBool,
    report: impl Fn(u64, &Record) + Sync,
) -> Vec<Record> {
    let game = ChineseCheckers::new(terms.board, Filter::All).with_ply_limit(terms.ply_limit);
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let numbers = (0..terms.games).into_par_iter();
    let records = numbers.filter_map(|number| {
        if stopped() {
            return None;
        }
        let mut rng = Rng::seed_from_u64(derive_seed(terms.seed, number / 2));
        let opening = game.random_opening(terms.opening_plies, &mut rng);
        let a_first = number % 2 == 0;
        let [mut a, mut b] = make();
        a.reset(derive_seed(terms.seed, 2 * number + (1 << 40)));
        b.reset(derive_seed(terms.seed, 2 * number + 1 + (1 << 40)));
        let players: [&mut dyn Player; 2] = if a_first { [&mut *a, &mut *b] } else { [&mut *b, &mut *a] };
        let Played { outcome, actions, last, mut spent } = play_game(&game, opening, players, terms.limits, stop);
        if !a_first {
            spent.reverse();
        }
        let record = Record { a_first, outcome, plies: last.ply(), actions, spent };
        if stopped() {
            return None;
        }
        report(number, &record);
        Some(record)
    });
    records.collect()
}
