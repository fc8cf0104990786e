//! The search on a small game.

use std::collections::{HashMap, HashSet};

use sternhalma_game::{Game, Limits, MemoryBudget, Rng, Turn};

use crate::expansion::node_key;
use crate::playout::{Decay, LastGoodReply, Mast, Nst, Selector, ValueGuidedPlayout};
use crate::tree::{NodeId, Tree};
use crate::*;

/// A game in which two roles add digits to a sum, in an irregular order. The
/// roles share 100 points by the sum.
struct Sums;

const ROLES: [usize; 6] = [0, 1, 1, 0, 1, 0];

impl Game for Sums {
    type State = (usize, u64);
    type Move = u64;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> (usize, u64) {
        (0, 0)
    }
    fn turn(&self, state: &(usize, u64)) -> Turn {
        Turn::One(ROLES[state.0 % ROLES.len()])
    }
    fn legal(&self, _: &(usize, u64), _: usize, moves: &mut Vec<u64>) {
        moves.extend([0, 1, 2, 5]);
    }
    fn number(&self, _: usize, mv: u64) -> u32 {
        mv as u32
    }
    fn numbers(&self, state: &(usize, u64), joint: &[u64], numbers: &mut Vec<u32>) {
        const WAIT: u32 = 9;
        numbers.extend((0..2).map(|role| if role == ROLES[state.0] { joint[0] as u32 } else { WAIT }));
    }
    fn key(&self, state: &(usize, u64)) -> Option<u64> {
        Some((state.1 << 8 | state.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
    fn play(&self, state: &mut (usize, u64), joint: &[u64]) {
        *state = (state.0 + 1, state.1 + joint[0]);
    }
    fn is_terminal(&self, state: &(usize, u64)) -> bool {
        state.0 == ROLES.len()
    }
    fn goal(&self, state: &(usize, u64), role: usize) -> u8 {
        let first = (state.1 * 37 % 101) as u8;
        if role == 0 { first } else { 100 - first }
    }
}

/// Returns the nodes of a tree with their states, and checks that each node has
/// one state.
fn nodes(tree: &Tree<u64, ()>, root: (usize, u64)) -> HashMap<NodeId, (usize, u64)> {
    let mut states = HashMap::from([(0, root)]);
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        for edge in tree.edges_of(node, 0) {
            let Some(child) = tree.child(node, &[edge as u32]) else { continue };
            let state = (states[&node].0 + 1, states[&node].1 + tree.edges[edge].mv);
            let known = states.insert(child, state);
            assert!(known.is_none_or(|known| known == state), "{state:?} is not {known:?}");
            open.extend(known.is_none().then_some(child));
        }
    }
    states
}

/// A playout that records, for the last simulation and the two joint moves before
/// it, which roles had a choice.
#[derive(Default)]
struct Choosers(Vec<[bool; 2]>);

impl Playout<Sums> for Choosers {
    const LEARNS: bool = true;
    fn skips_waits(&self) -> bool {
        true
    }
    fn choose(&mut self, _: &Sums, _: &(usize, u64), _: usize, _: &MoveHistory, _: &mut Rng) -> u64 {
        1
    }
    fn learn(&mut self, _: &Sums, history: &MoveHistory, _: &[f64]) {
        let chose = |joint| [0, 1].map(|role| history.chosen(joint, role).is_some());
        self.0 = (0..history.known()).map(chose).collect();
    }
}

#[test]
fn a_history_marks_roles_without_a_choice() {
    let mut mcts = Mcts::new(Uct::new(1.0), Choosers::default(), ToTheEnd, MctsConfig::default(), 1);
    let mut state = (0, 0);
    let all: Vec<[bool; 2]> = ROLES.iter().map(|&role| [role == 0, role == 1]).collect();
    mcts.begin(&Sums, &state);
    for (moved, role) in ROLES.into_iter().enumerate().take(4) {
        mcts.search(&Sums, &state, role, Limits::playouts(20), &Default::default());
        let before = [[false; 2], [false; 2]];
        let expected: Vec<[bool; 2]> = before.into_iter().chain(all.clone()).skip(moved).collect();
        assert_eq!(mcts.playout().0, expected, "after {moved} moves");
        mcts.advance(&Sums, &[2]);
        Sums.play(&mut state, &[2]);
    }
}

#[test]
fn transpositions_are_one_node() {
    for transpositions in [false, true] {
        let settings = MctsConfig { transpositions, ..MctsConfig::default() };
        let mut mcts = Mcts::new(Uct::new(1.0), RandomPlayout::default(), ToTheEnd, settings, 1);
        let mut state = (0, 0);
        for mv in [2, 5, 0] {
            mcts.search(&Sums, &state, ROLES[state.0], Limits::playouts(3000), &Default::default());
            for (before, after) in [(None, state), (Some(mv), (state.0 + 1, state.1 + mv))] {
                if let Some(mv) = before {
                    mcts.advance(&Sums, &[mv]);
                }
                let found = nodes(&mcts.tree, after);
                assert_eq!(found.len(), mcts.tree.nodes.len(), "nothing else is kept");
                let states: HashSet<_> = found.values().collect();
                assert_eq!(states.len() == found.len(), transpositions, "after {after:?}");
                for (&node, state) in found.iter().filter(|(node, _)| **node != 0) {
                    let found = mcts.tree.find(node_key(Sums.key(state).unwrap(), state.0 as u64));
                    assert_eq!(found, transpositions.then_some(node));
                }
            }
            state = (state.0 + 1, state.1 + mv);
        }
    }
}

#[test]
fn tables_that_cannot_grow_are_reported() {
    fn check<S: Selection<Sums>, P: Playout<Sums>>(selection: impl Fn() -> S, playout: impl Fn() -> P) {
        let mut limit = 1 << 20;
        for is_limited in [false, true] {
            let memory = MemoryBudget::new(limit);
            // The tree never grows, so only the tables need more memory.
            let settings = MctsConfig { max_edges: 0, ..MctsConfig::default() };
            let mut mcts = Mcts::new(selection(), playout(), ToTheEnd, settings, 1).within(&memory);
            let found = mcts.search(&Sums, &(0, 0), ROLES[0], Limits::playouts(500), &Default::default());
            assert_eq!((found.spent.memory_limited, memory.is_exhausted()), (is_limited, is_limited));
            assert!(mcts.nodes() == 1 && memory.used() <= limit, "{memory:?}");
            limit = memory.used() * 3 / 4;
        }
    }
    let greedy = Selector::Greedy { epsilon: 0.2 };
    check(|| Grave::new(GraveSettings::BASE), RandomPlayout::default);
    check(|| Uct::new(0.4), || ValueGuidedPlayout::new(Nst::new(3, 1.0), greedy, None, Decay::NONE));
    let replies = || Some(LastGoodReply::default());
    check(|| Uct::new(0.4), || ValueGuidedPlayout::new(Mast::default(), greedy, replies(), Decay::NONE));
}

#[test]
fn a_full_tree_grows_again_after_a_move() {
    const LIMIT: u64 = 8000;
    for transpositions in [false, true] {
        let memory = MemoryBudget::new(LIMIT);
        let settings = MctsConfig { transpositions, ..MctsConfig::default() };
        let mut mcts = Mcts::new(Uct::new(1.0), RandomPlayout::default(), ToTheEnd, settings, 1).within(&memory);
        let search = |mcts: &mut Mcts<_, _, _, _>, state, role| {
            let found = mcts.search(&Sums, state, role, Limits::playouts(5000), &Default::default());
            assert!([0, 1, 2, 5].contains(&found.best) && memory.used() <= LIMIT);
            mcts.nodes()
        };
        let full = search(&mut mcts, &(0, 0), ROLES[0]);
        assert!(memory.is_exhausted() && full as u64 * 64 <= LIMIT, "{full} nodes");
        mcts.advance(&Sums, &[2]);
        let kept = mcts.nodes();
        assert!(kept < full);
        assert!(search(&mut mcts, &(1, 2), ROLES[1]) > kept, "{kept} nodes were kept");
        drop(mcts);
        assert_eq!(memory.used(), 0);
    }
}

#[test]
fn the_kept_tree_decays() {
    let mut expected = None;
    for tree_gamma in [1.0, 0.5, 0.0] {
        let settings = MctsConfig { tree_gamma, decision: Decision::EffectiveQuality, ..MctsConfig::default() };
        let mut mcts = Mcts::new(Uct::new(1.0), RandomPlayout::default(), ToTheEnd, settings, 1);
        mcts.search(&Sums, &(0, 0), 0, Limits::playouts(2000), &Default::default());
        mcts.advance(&Sums, &[2]);
        let stats: Vec<MoveStats> = mcts.tree.edges.iter().map(|edge| edge.stats).collect();
        let arrivals = mcts.node_rewards.as_ref().unwrap();
        let means: Vec<Option<f64>> = (0..mcts.tree.nodes.len() as u32).map(|node| arrivals.mean(node, 0)).collect();
        let (before, means_before) = expected.get_or_insert_with(|| (stats.clone(), means.clone()));
        for (stats, before) in stats.iter().zip(before) {
            let visits = (f64::from(before.visits) * tree_gamma).round() as u32;
            assert_eq!(stats.visits, visits.max(before.visits.min(1)));
            assert!((stats.mean() - before.mean()).abs() < 1e-12);
        }
        for (mean, before) in means.iter().zip(means_before) {
            assert!((mean.unwrap_or(-1.0) - before.unwrap_or(-1.0)).abs() < 1e-12);
        }
        for node in 0..mcts.tree.nodes.len() {
            let visits: u32 = mcts.tree.edges_of(node as NodeId, 0).map(|edge| stats[edge].visits).sum();
            assert_eq!(mcts.tree.nodes[node].visits, visits);
        }
    }
}

#[test]
fn transpositions_do_not_change_the_best_move() {
    // The exact value, by backward induction.
    fn value(state: (usize, u64)) -> u8 {
        if Sums.is_terminal(&state) {
            return Sums.goal(&state, 0);
        }
        let of = [0, 1, 2, 5].map(|mv| value((state.0 + 1, state.1 + mv)));
        if ROLES[state.0] == 0 { of.into_iter().max().unwrap() } else { of.into_iter().min().unwrap() }
    }
    for state in [(3, 4), (3, 9), (2, 6), (4, 7)] {
        for transpositions in [false, true] {
            let settings = MctsConfig { transpositions, decision: Decision::MostVisits, ..MctsConfig::default() };
            let mut mcts = Mcts::new(Uct::new(0.7), RandomPlayout::default(), ToTheEnd, settings, 1);
            let role = ROLES[state.0];
            let found = mcts.search(&Sums, &state, role, Limits::playouts(20_000), &Default::default());
            assert_eq!(value((state.0 + 1, state.1 + found.best)), value(state), "{state:?} {transpositions}");
        }
    }
}

/// A one-role game without an end.
struct Endless;

impl Game for Endless {
    type State = ();
    type Move = u32;
    fn roles(&self) -> usize {
        1
    }
    fn initial(&self) {}
    fn turn(&self, (): &()) -> Turn {
        Turn::One(0)
    }
    fn legal(&self, (): &(), _: usize, moves: &mut Vec<u32>) {
        moves.extend([0, 1]);
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn play(&self, (): &mut (), _: &[u32]) {}
    fn is_terminal(&self, (): &()) -> bool {
        false
    }
    fn goal(&self, (): &(), _: usize) -> u8 {
        100
    }
}

#[test]
fn playouts_of_a_game_without_an_end_are_cut_and_lost() {
    let found = Mcts::uct(0.7, 1).search(&Endless, &(), 0, Limits::playouts(3), &Default::default());
    assert_eq!((found.spent.playouts, found.value()), (3, Some(0.0)));
}
