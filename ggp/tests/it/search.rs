//! Searches on games with one role, three roles, and simultaneous moves.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sternhalma_ggp::mcts::{
    Cutoff, Decision, EdgeValues, LengthBonus, MctsConfig, MoveEvaluator, MoveStats, NodeVisit, Prior, Puct,
    RandomPlayout, Selection, ToTheEnd, Uct,
};
use sternhalma_ggp::{Game, Limits, Mcts, SearchResult, Turn};

fn mcts<G: Game>(settings: MctsConfig) -> Mcts<G, Uct, RandomPlayout<G::Move>, ToTheEnd> {
    Mcts::new(Uct::new(0.7), RandomPlayout::default(), ToTheEnd, settings, 1)
}

/// A game in which one role picks digits; the goal is the resulting number,
/// out of 99.
struct Digits;

impl Game for Digits {
    type State = Vec<u8>;
    type Move = u8;
    fn roles(&self) -> usize {
        1
    }
    fn initial(&self) -> Vec<u8> {
        Vec::new()
    }
    fn turn(&self, _: &Vec<u8>) -> Turn {
        Turn::One(0)
    }
    fn number(&self, _: usize, mv: u8) -> u32 {
        mv.into()
    }
    fn legal(&self, _: &Vec<u8>, _: usize, moves: &mut Vec<u8>) {
        moves.extend(0..10);
    }
    fn play(&self, state: &mut Vec<u8>, joint: &[u8]) {
        state.push(joint[0]);
    }
    fn is_terminal(&self, state: &Vec<u8>) -> bool {
        state.len() == 2
    }
    fn goal(&self, state: &Vec<u8>, _: usize) -> u8 {
        10 * state[0] + state[1]
    }
}

/// A game in which three roles take 1 or 2 stones in turn. The role that takes
/// the last stone gets 100.
struct Stones(u32);

impl Game for Stones {
    type State = (u32, usize);
    type Move = u32;
    fn roles(&self) -> usize {
        3
    }
    fn initial(&self) -> (u32, usize) {
        (self.0, 0)
    }
    fn turn(&self, state: &(u32, usize)) -> Turn {
        Turn::One(state.1)
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn legal(&self, state: &(u32, usize), _: usize, moves: &mut Vec<u32>) {
        moves.extend(1..=state.0.min(2));
    }
    fn play(&self, state: &mut (u32, usize), joint: &[u32]) {
        *state = (state.0 - joint[0], (state.1 + 1) % 3);
    }
    fn is_terminal(&self, state: &(u32, usize)) -> bool {
        state.0 == 0
    }
    fn goal(&self, state: &(u32, usize), role: usize) -> u8 {
        if (role + 1) % 3 == state.1 { 100 } else { 0 }
    }
}

/// A game of two simultaneous roles for some rounds. Role 0 wants to match,
/// and choice 2 loses if only one role makes it.
struct Pennies(usize);

impl Game for Pennies {
    type State = Vec<[u8; 2]>;
    type Move = u8;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> Vec<[u8; 2]> {
        Vec::new()
    }
    fn turn(&self, _: &Vec<[u8; 2]>) -> Turn {
        Turn::All
    }
    fn number(&self, _: usize, mv: u8) -> u32 {
        mv.into()
    }
    fn legal(&self, _: &Vec<[u8; 2]>, _: usize, moves: &mut Vec<u8>) {
        moves.extend(0..3);
    }
    fn play(&self, state: &mut Vec<[u8; 2]>, joint: &[u8]) {
        state.push([joint[0], joint[1]]);
    }
    fn is_terminal(&self, state: &Vec<[u8; 2]>) -> bool {
        state.len() == self.0
    }
    fn goal(&self, state: &Vec<[u8; 2]>, role: usize) -> u8 {
        let won = state.iter().filter(|&&[a, b]| match (a, b) {
            (2, 2) => role == 0,
            (2, _) => role == 1,
            (_, 2) => role == 0,
            _ => (a == b) == (role == 0),
        });
        (100 * won.count() / state.len()) as u8
    }
}

#[test]
fn one_role_finds_the_best_path() {
    let found =
        mcts(MctsConfig::default()).search(&Digits, &Vec::new(), 0, Limits::playouts(3000), &AtomicBool::new(false));
    assert_eq!(found.best, 9);
    assert_eq!(found.moves.iter().map(|(_, stats)| u64::from(stats.visits)).sum::<u64>(), 3000);
    assert_eq!(found.spent.playouts, 3000);
}

#[test]
fn three_roles_each_maximise_their_own_reward() {
    let mean = |found: &SearchResult<u32>, mv: u32| found.moves.iter().find(|(of, _)| *of == mv).unwrap().1.mean();
    let search = |stones| {
        let game = Stones(stones);
        let stop = AtomicBool::new(false);
        mcts(MctsConfig::default()).search(&game, &game.initial(), 0, Limits::playouts(5000), &stop)
    };
    assert_eq!(search(2).best, 2, "taking both stones wins at once");
    // With 5 stones, by backward induction: a role with 3 stones loses,
    // because the next role then takes the last stone. After 2 are taken, role
    // 1 has 3, so role 2 wins. After 1 is taken, role 1 has 4 and loses either
    // way: taking 1 leaves 3 to role 2, so role 0 wins; taking 2 lets role 2
    // win. If role 2 helped role 0, or role 1 opposed it, the moves would have
    // the same value.
    let found = search(5);
    assert_eq!(found.best, 1);
    assert!(mean(&found, 1) > 0.25 && mean(&found, 2) < 0.2, "{found:?}");
}

#[test]
fn roles_at_once_mix_and_leave_the_bad_choice() {
    let game = Pennies(1);
    let limits = Limits::playouts(20_000);
    for role in 0..2 {
        let settings = MctsConfig { decision: Decision::MostVisits, ..MctsConfig::default() };
        let found = mcts(settings).search(&game, &Vec::new(), role, limits, &AtomicBool::new(false));
        let visits: Vec<u32> = found.moves.iter().map(|(_, stats)| stats.visits).collect();
        assert!(found.best != 2 && visits[2] < visits[0] && visits[2] < visits[1], "role {role}: {visits:?}");
        assert_eq!(visits.iter().sum::<u32>(), 20_000);
    }
}

#[test]
fn the_tree_is_kept_below_the_moves_played() {
    let limits = Limits::playouts(500);
    let stop = AtomicBool::new(false);
    let mut search = mcts(MctsConfig::default());
    let first = search.search(&Digits, &Vec::new(), 0, limits, &stop);
    let visits = first.moves.iter().find(|(mv, _)| *mv == 9).unwrap().1.visits;
    search.advance(&Digits, &[9]);
    let second = search.search(&Digits, &vec![9], 0, limits, &stop);
    // The node after a move is created by the first simulation that follows
    // it.
    let kept: u32 = second.moves.iter().map(|(_, stats)| stats.visits).sum();
    assert_eq!(kept, visits - 1 + 500);
    assert_eq!(second.best, 9);

    let game = Pennies(3);
    let mut search = mcts(MctsConfig::default());
    search.search(&game, &Vec::new(), 0, limits, &stop);
    search.advance(&game, &[1, 0]);
    let second = search.search(&game, &vec![[1, 0]], 1, limits, &stop);
    let kept: u32 = second.moves.iter().map(|(_, stats)| stats.visits).sum();
    assert!(kept > 510, "some of the first 500 simulations are kept: {kept}");

    // A move that is not in the tree starts a new tree.
    search.advance(&game, &[7, 7]);
    let third = search.search(&game, &vec![[1, 0], [2, 2]], 0, limits, &stop);
    assert_eq!(third.moves.iter().map(|(_, stats)| stats.visits).sum::<u32>(), 500);
}

#[test]
fn a_threshold_keeps_the_tree_small() {
    let game = Stones(30);
    let spent = |expansion_threshold| {
        let mut search = mcts(MctsConfig { expansion_threshold, ..MctsConfig::default() });
        search.search(&game, &game.initial(), 0, Limits::playouts(300), &AtomicBool::new(false)).spent
    };
    assert!(spent(0).depth > spent(20).depth);
    assert!(spent(1_000).depth == 1);
}

#[test]
fn a_full_tree_grows_no_more() {
    let game = Stones(30);
    let spent = |max_edges| {
        let mut search = mcts(MctsConfig { max_edges, ..MctsConfig::default() });
        search.search(&game, &game.initial(), 0, Limits::playouts(300), &AtomicBool::new(false)).spent
    };
    assert_eq!(spent(1).depth, 1);
    assert!(spent(1_000).depth > 1);
    assert_eq!(spent(1).playouts, 300);
}

#[test]
fn limits_end_the_search_whichever_comes_first() {
    let game = Stones(40);
    let stop = AtomicBool::new(false);
    let run = |limits| mcts(MctsConfig::default()).search(&game, &game.initial(), 0, limits, &stop).spent;
    let spent = run(Limits::expansions(5000));
    assert!((5000..5100).contains(&spent.expansions), "{spent:?}");
    assert_eq!(run(Limits::playouts(77).and(Limits::expansions(1_000_000))).playouts, 77);
    let started = Instant::now();
    run(Limits::time(Duration::from_millis(30)).and(Limits::playouts(u64::MAX)));
    assert!(started.elapsed() >= Duration::from_millis(30));
    // A game that ends inside the tree generates no moves, and the search
    // still ends.
    let small = Stones(3);
    let spent = mcts(MctsConfig::default()).search(&small, &small.initial(), 0, Limits::expansions(1000), &stop).spent;
    assert!(spent.playouts <= 1000);
}

#[test]
fn a_set_flag_stops_the_search() {
    let game = Stones(40);
    let stop = AtomicBool::new(true);
    let spent = mcts(MctsConfig::default()).search(&game, &game.initial(), 0, Limits::default(), &stop).spent;
    assert!(spent.playouts < 100);
}

#[test]
fn short_wins_are_worth_more() {
    /// A game whose first move chooses its length. Every game is won.
    struct Ways;
    impl Game for Ways {
        type State = (u8, u8);
        type Move = u8;
        fn roles(&self) -> usize {
            1
        }
        fn initial(&self) -> (u8, u8) {
            (0, 0)
        }
        fn turn(&self, _: &(u8, u8)) -> Turn {
            Turn::One(0)
        }
        fn number(&self, _: usize, mv: u8) -> u32 {
            mv.into()
        }
        fn legal(&self, state: &(u8, u8), _: usize, moves: &mut Vec<u8>) {
            if state.1 == 0 { moves.extend([8, 3, 5]) } else { moves.push(0) }
        }
        fn play(&self, state: &mut (u8, u8), joint: &[u8]) {
            *state = if state.1 == 0 { (joint[0], 1) } else { (state.0, state.1 + 1) };
        }
        fn is_terminal(&self, state: &(u8, u8)) -> bool {
            state.1 > 0 && state.1 >= state.0
        }
        fn goal(&self, _: &(u8, u8), _: usize) -> u8 {
            100
        }
    }
    let settings = MctsConfig { length_bonus: LengthBonus { weight: 0.1, horizon: 10 }, ..MctsConfig::default() };
    let found = mcts(settings).search(&Ways, &(0, 0), 0, Limits::playouts(200), &AtomicBool::new(false));
    let means: Vec<f64> = found.moves.iter().map(|(_, stats)| stats.mean()).collect();
    for (mean, expected) in means.iter().zip([0.92, 0.97, 0.95]) {
        assert!((mean - expected).abs() < 1e-9, "{means:?}");
    }
    assert_eq!(found.best, 3);
}

/// A cutoff that ends every playout immediately with a reward for role 0.
struct AtOnce;

impl<G: Game> Cutoff<G> for AtOnce {
    fn cut(&mut self, _: &G, _: &G::State, _: u32, rewards: &mut [f64]) -> bool {
        rewards.fill(0.0);
        rewards[0] = 1.0;
        true
    }
}

#[test]
fn a_cutoff_ends_the_playout() {
    let game = Stones(40);
    let mut search = Mcts::new(Uct::new(0.7), RandomPlayout::default(), AtOnce, MctsConfig::default(), 1);
    let found = search.search(&game, &game.initial(), 0, Limits::playouts(50), &AtomicBool::new(false));
    assert!(found.moves.iter().all(|(_, stats)| stats.mean() == 1.0));
    // There is the root and one node per simulation, and no moves beyond.
    assert!(found.spent.expansions <= 51);
}

/// An evaluator that values digits at 0.1 each, except one.
#[derive(Clone)]
struct Digitwise {
    but: u8,
    seems: f32,
}

impl MoveEvaluator<Digits> for Digitwise {
    fn evaluate_moves(&mut self, _: &Digits, _: &Vec<u8>, _: usize, moves: &[u8], values: &mut Vec<f32>) {
        values.extend(moves.iter().map(|&mv| if mv == self.but { self.seems } else { f32::from(mv) / 10.0 }));
    }
}

#[test]
fn priors_are_a_softmax_of_what_is_foreseen() {
    let mut guided = Puct::new(Digitwise { but: 2, seems: 0.55 }, 0.3, 0.05);
    let hints = guided.edge_data(&Digits, &Vec::new(), 0, &[7, 2, 5]).to_vec();
    assert_eq!(hints.iter().map(|hint| hint.value).collect::<Vec<_>>(), [0.7, 0.55, 0.5]);
    // Each probability is e^(0.15 / 0.05) = e³ times the next, or e^1.
    let sum = 4_f32.exp() + 1_f32.exp() + 1.0;
    for (hint, weight) in hints.iter().zip([4_f32.exp(), 1_f32.exp(), 1.0]) {
        assert!((hint.prior - weight / sum).abs() < 1e-5, "{hints:?}");
    }
    // Values that are far apart must not overflow.
    let mut cold = Puct::new(Digitwise { but: 2, seems: 1000.0 }, 0.3, 0.01);
    let priors: Vec<f32> = cold.edge_data(&Digits, &Vec::new(), 0, &[7, 2, 5]).iter().map(|hint| hint.prior).collect();
    assert_eq!(priors, [0.0, 1.0, 0.0]);
}

#[test]
fn guided_selection_values_moves_by_mean_and_prior() {
    let mut guided = Puct::new(Digitwise { but: 2, seems: 0.0 }, 0.3, 0.05);
    let mut value = |visits, sum| {
        let prepared = guided.prepare(NodeVisit { node: 0, visits: 16 }, 0);
        guided.value(prepared, MoveStats { visits, under_way: 0, sum }, Prior { value: 0.6, prior: 0.25 })
    };
    // 0.3 · 0.25 · √16 is 0.3, divided by 1 plus the visits.
    assert!((value(0, 0.0) - (0.6 + 0.3)).abs() < 1e-6);
    assert!((value(5, 2.0) - (0.4 + 0.05)).abs() < 1e-6);
    // A simulation in progress counts as a visit, but not as a loss.
    let stats = MoveStats { visits: 5, under_way: 1, sum: 2.0 };
    let prepared = guided.prepare(NodeVisit { node: 0, visits: 16 }, 0);
    let value = guided.value(prepared, stats, Prior { value: 0.6, prior: 0.25 });
    assert!((value - (0.5 + 0.05)).abs() < 1e-6);
}

#[test]
fn guided_selection_begins_with_what_it_foresees_and_is_taught_by_rewards() {
    let search = |but, seems, playouts| {
        let guided = Puct::new(Digitwise { but, seems }, 0.5, 0.2);
        let mut mcts = Mcts::new(guided, RandomPlayout::default(), ToTheEnd, MctsConfig::default(), 1);
        mcts.search(&Digits, &Vec::new(), 0, Limits::playouts(playouts), &AtomicBool::new(false))
    };
    // The first simulation takes the move with the highest evaluation,
    // whatever its index.
    for (but, seems, first) in [(3, 2.0, 3), (9, 0.0, 8)] {
        let found = search(but, seems, 1);
        assert_eq!(
            found.moves.iter().filter(|(_, stats)| stats.visits > 0).map(|(mv, _)| *mv).collect::<Vec<_>>(),
            [first]
        );
    }
    // Moves with a low evaluation need not be tried, and a move with a wrong
    // low evaluation is still found.
    let found = search(3, 2.0, 5000);
    let visits: Vec<u32> = found.moves.iter().map(|(_, stats)| stats.visits).collect();
    assert_eq!(found.best, 9, "{visits:?}");
    assert!(visits[0] < 5 && visits[9] > 2500, "{visits:?}");
}
