//! Searches that learn: the data that reach their parts, and matches between
//! them.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use sternhalma_ggp::arena::{
    self, Budget, Contestant, ContestantError, Entrant, GameRecord, PolicyPlayer, RunError, Schedule, Standings,
    TournamentSetup,
};
use sternhalma_ggp::gdl::Rules;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::mcts::{
    Cutoff, Grave, GraveForm, GraveSettings, MctsConfig, MoveHistory, Playout, RandomPlayout, ToTheEnd, Uct,
};
use sternhalma_ggp::{Game, Limits, Mcts, NOOP, Rng, Turn};

/// A game in which one role picks one of four moves and then continues without
/// a choice.
struct Pick;

impl Game for Pick {
    type State = Option<u32>;
    type Move = u32;
    fn roles(&self) -> usize {
        1
    }
    fn initial(&self) -> Option<u32> {
        None
    }
    fn turn(&self, _: &Option<u32>) -> Turn {
        Turn::One(0)
    }
    fn legal(&self, state: &Option<u32>, _: usize, moves: &mut Vec<u32>) {
        moves.extend(0..if state.is_none() { 4 } else { 1 });
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn play(&self, state: &mut Option<u32>, joint: &[u32]) {
        *state = state.or(Some(joint[0]));
    }
    fn is_terminal(&self, _: &Option<u32>) -> bool {
        false
    }
    fn goal(&self, _: &Option<u32>, _: usize) -> u8 {
        0
    }
}

/// The reward of each picked move.
struct Prices([f64; 4]);

impl Cutoff<Pick> for Prices {
    fn cut(&mut self, _: &Pick, state: &Option<u32>, _: u32, rewards: &mut [f64]) -> bool {
        rewards[0] = state.map_or(0.0, |mv| self.0[mv as usize]);
        state.is_some()
    }
}

#[test]
fn the_authors_form_follows_any_of_what_is_near_the_best() {
    let visits = |form, seed| {
        let grave = Grave::new(GraveSettings { c: 0.0, k: 0.0, reference: 0.0, form });
        let prices = Prices([0.995, 0.98, 1.0, 0.5]);
        let mut mcts = Mcts::new(grave, RandomPlayout::default(), prices, MctsConfig::default(), seed);
        let found = mcts.search(&Pick, &None, 0, Limits::playouts(2_002), &AtomicBool::new(false));
        found.moves.iter().map(|(_, stats)| stats.visits).collect::<Vec<_>>()
    };
    assert_eq!(visits(GraveForm::Paper, 1), [1, 1, 1999, 1]);
    // One other move is within 0.01 of the best. Both moves get half of the
    // visits, within 6.5 standard deviations of 22.
    for seed in 1..4 {
        let visits = visits(GraveForm::Authors, seed);
        assert_eq!((visits[1], visits[3]), (1, 1), "{visits:?}");
        assert!(visits[0].abs_diff(1000) < 145 && visits[2].abs_diff(1000) < 145, "{visits:?}");
    }
    // An untried move has the value 1, so it is not preferred to a move that
    // is surely better.
    let grave = Grave::new(GraveSettings { c: 0.0, k: 0.0, reference: 0.0, form: GraveForm::Authors });
    let mut mcts = Mcts::new(grave, RandomPlayout::default(), Prices([1.5; 4]), MctsConfig::default(), 1);
    let found = mcts.search(&Pick, &None, 0, Limits::playouts(50), &AtomicBool::new(false));
    let tried = found.moves.iter().filter(|(_, stats)| stats.visits > 0);
    assert_eq!(tried.count(), 1);
}

/// A game in which two roles play one of three moves in turn, all equally
/// often.
struct Turns(usize);

impl Game for Turns {
    type State = usize;
    type Move = u32;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> usize {
        0
    }
    fn turn(&self, state: &usize) -> Turn {
        Turn::One(state % 2)
    }
    fn legal(&self, _: &usize, _: usize, moves: &mut Vec<u32>) {
        moves.extend(0..3);
    }
    fn number(&self, role: usize, mv: u32) -> u32 {
        10 * role as u32 + mv
    }
    fn play(&self, state: &mut usize, _: &[u32]) {
        *state += 1;
    }
    fn is_terminal(&self, state: &usize) -> bool {
        *state == self.0
    }
    fn goal(&self, _: &usize, role: usize) -> u8 {
        [30, 70][role]
    }
}

/// The data that a playout received.
#[derive(Default, PartialEq, Debug)]
struct Observed {
    /// The joint moves 2 and 1 steps before the root, by role.
    before: Vec<[[u32; 2]; 2]>,
    /// The joint moves of each simulation: their number, the first, and the
    /// rewards.
    learnt: Vec<(usize, [u32; 2], Vec<f64>)>,
    advanced: usize,
}

struct Spy(Rc<RefCell<Observed>>);

impl Playout<Turns> for Spy {
    const LEARNS: bool = true;
    fn choose(&mut self, _: &Turns, _: &usize, _: usize, _: &MoveHistory, _: &mut Rng) -> u32 {
        1
    }
    fn choose_untried(
        &mut self,
        _: &Turns,
        _: &usize,
        _: usize,
        _: &[u32],
        history: &MoveHistory,
        _: &mut Rng,
    ) -> usize {
        if history.is_empty() {
            self.0.borrow_mut().before.push([0, 1].map(|role| [2, 1].map(|back| history.back(back, role))));
        }
        0
    }
    fn learn(&mut self, _: &Turns, history: &MoveHistory, rewards: &[f64]) {
        let first = [0, 1].map(|role| history.number(0, role));
        self.0.borrow_mut().learnt.push((history.len(), first, rewards.to_vec()));
    }
    fn advance(&mut self, _: &Turns) {
        self.0.borrow_mut().advanced += 1;
    }
}

#[test]
fn playouts_know_the_last_moves_of_the_match_and_learn_from_the_root_on() {
    const NONE: u32 = MoveHistory::NONE;
    const WAITS: u32 = NOOP;
    let game = Turns(7);
    let seen = Rc::new(RefCell::new(Observed::default()));
    let mut mcts = Mcts::new(Uct::new(0.4), Spy(seen.clone()), ToTheEnd, MctsConfig::default(), 1);
    mcts.begin(&game, &0);
    // The match plays 2, 1 and 0, each followed by a new root.
    let before = [
        [[NONE, NONE], [NONE, NONE]],
        [[NONE, 2], [NONE, WAITS]],
        [[2, WAITS], [WAITS, 11]],
        [[WAITS, 0], [11, WAITS]],
    ];
    for (moved, before) in before.into_iter().enumerate() {
        let role = moved % 2;
        mcts.search(&game, &moved, role, Limits::playouts(1), &AtomicBool::new(false));
        let first = if role == 0 { [0, WAITS] } else { [WAITS, 10] };
        let seen = std::mem::take(&mut *seen.borrow_mut());
        let learnt = vec![(7 - moved, first, vec![0.3, 0.7])];
        assert_eq!(seen, Observed { before: vec![before], learnt, advanced: usize::from(moved > 0) });
        mcts.advance(&game, &[2 - moved.min(2) as u32]);
    }
}

/// Games between two policies.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
struct Match {
    game: String,
    players: [String; 2],
    /// The number of simulations per move.
    playouts: u64,
    seed: u64,
    /// The score of the first player: its goals divided by 100, averaged over
    /// its roles in a game.
    score: f64,
    /// For each game the goals by role, the number of plies, and the FNV-1a
    /// hash of the moves, one per line.
    games: Vec<(Vec<u8>, u32, String)>,
}

/// Returns the 64-bit FNV-1a hash (RFC 9923).
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Plays all games of a match.
fn play(recorded: &Match, threads: usize) -> Match {
    let path = format!("{}/games/{}.kif", env!("CARGO_MANIFEST_DIR"), recorded.game);
    let game = NetworkGame::new(Network::new(&Rules::parse(&std::fs::read_to_string(path).unwrap()).unwrap()).unwrap());
    let make = |entrant: usize| -> Result<Box<dyn Contestant<NetworkGame>>, ContestantError> {
        Ok(Box::new(PolicyPlayer::new(recorded.players[entrant].parse().unwrap())))
    };
    let host = TournamentSetup { game: &game, contestants: &make, adjudicator: None, openings: None };
    let budget = Budget { playouts: Some(recorded.playouts), ..Budget::default() };
    let entrants = recorded.players.iter().map(Entrant::named).collect();
    let schedule = Schedule {
        roles: game.roles(),
        seed: recorded.seed,
        opening_plies: 0,
        ..Schedule::new(entrants, budget, recorded.games.len() as u64)
    };
    let mut standings = Standings::new(schedule);
    let mut records: Vec<GameRecord> = Vec::new();
    let keep = |record: &GameRecord, _: &Standings| -> Result<(), RunError> {
        records.push(record.clone());
        Ok(())
    };
    arena::run(&host, &mut standings, NonZeroUsize::new(threads).unwrap(), &AtomicBool::new(false), keep).unwrap();
    records.sort_by_key(|record| record.id);
    let outcome = |record: &GameRecord| (record.goals.clone(), record.plies, hash(&record.moves.join("\n")));
    let points = |record: &GameRecord| {
        let roles = record.players.iter().zip(&record.goals).filter(|(player, _)| **player == recorded.players[0]);
        let goals: Vec<f64> = roles.map(|(_, &goal)| f64::from(goal)).collect();
        goals.iter().sum::<f64>() / goals.len() as f64 / 100.0
    };
    Match { score: records.iter().map(points).sum(), games: records.iter().map(outcome).collect(), ..recorded.clone() }
}

#[test]
fn the_same_seed_gives_the_same_match_as_ever() {
    #[derive(Deserialize)]
    struct Data {
        matches: Vec<Match>,
    }
    let data: Data = serde_json::from_str(include_str!("../data/policies/matches.json")).unwrap();
    let found: Vec<Match> = data.matches.iter().map(|recorded| play(recorded, 1)).collect();
    assert!(found == data.matches, "the matches have become {}", serde_json::to_string(&found).unwrap());
    for found in &found {
        assert_eq!(&play(found, 2), found, "on two threads");
    }
    let last = &found[found.len() - 1];
    assert_ne!(play(&Match { seed: last.seed + 1, ..last.clone() }, 1).games, last.games, "by another seed");
}
