//! Matches between two players.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
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
    /// The number of the game. Games 2k and 2k + 1 are a pair.
    pub number: u64,
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
/// `a` and `b` anew for each game; `report` is told of each game as it ends.
/// Games begin in order, and are returned in order. No further game begins once
/// `stop` is set, which `report` may do, and the games that were under way then
/// are not counted.
pub fn play_match(
    terms: &Terms,
    make: impl Fn() -> [Box<dyn Player>; 2] + Sync,
    stop: &AtomicBool,
    report: impl Fn(&Record) + Sync,
) -> Vec<Record> {
    let game = ChineseCheckers::new(terms.board, Filter::All).with_ply_limit(terms.ply_limit);
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    // A bridge hands out numbers one by one; halves of a range would begin in its middle.
    let records = (0..terms.games).par_bridge().filter_map(|number| {
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
        let record = Record { number, a_first, outcome, plies: last.ply(), actions, spent };
        if stopped() {
            return None;
        }
        report(&record);
        Some(record)
    });
    let mut records: Vec<Record> = records.collect();
    records.sort_unstable_by_key(|record| record.number);
    records
}
