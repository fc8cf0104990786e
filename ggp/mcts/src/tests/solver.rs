//! Proofs of outcomes, compared with minimax.

use sternhalma_game::{Game, Limits, Turn};

use crate::{Decision, Mcts, MctsConfig, RandomPlayout, ToTheEnd, Uct};

/// A random game: two roles move in a random order, and share 100 points.
struct Chance(u64);

/// The number of a state, and the number of moves before it.
type Place = (u64, u32);

impl Game for Chance {
    type State = Place;
    type Move = u32;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> Place {
        (self.0, 0)
    }
    fn turn(&self, state: &Place) -> Turn {
        Turn::One((state.0 >> 40) as usize % 2)
    }
    fn legal(&self, state: &Place, _: usize, moves: &mut Vec<u32>) {
        moves.extend(0..1 + (state.0 >> 32) as u32 % 4);
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn play(&self, state: &mut Place, joint: &[u32]) {
        let number = (state.0 ^ u64::from(joint[0] + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *state = (number ^ number >> 29, state.1 + 1);
    }
    fn is_terminal(&self, state: &Place) -> bool {
        state.1 == 7 || state.1 > 2 && (state.0 >> 48).is_multiple_of(5)
    }
    fn goal(&self, state: &Place, role: usize) -> u8 {
        let first = [0, 30, 100][(state.0 >> 24) as usize % 3];
        if role == 0 { first } else { 100 - first }
    }
}

/// Returns the goal of the first role with best play.
fn minimax(game: &Chance, state: Place) -> u8 {
    if game.is_terminal(&state) {
        return game.goal(&state, 0);
    }
    let Turn::One(role) = game.turn(&state) else { unreachable!("one moves at a time") };
    let mut moves = Vec::new();
    game.legal(&state, role, &mut moves);
    let after = moves.into_iter().map(|mv| minimax(game, played(game, state, mv)));
    if role == 0 { after.max() } else { after.min() }.unwrap()
}

fn played(game: &Chance, mut state: Place, mv: u32) -> Place {
    game.play(&mut state, &[mv]);
    state
}

#[test]
fn proved_outcomes_are_those_of_minimax() {
    const GAMES: u64 = 300;
    const PLAYOUTS: u64 = 50_000;
    let (mut solved, mut inner) = (0, 0);
    for seed in 0..GAMES {
        let game = Chance(seed);
        let state = game.initial();
        let decision = if seed % 2 == 0 { Decision::BestAverage } else { Decision::MostVisits };
        let settings = MctsConfig { solver: true, decision, ..MctsConfig::default() };
        let mut mcts = Mcts::new(Uct::new(0.4), RandomPlayout::default(), ToTheEnd, settings, seed);
        let Turn::One(role) = game.turn(&state) else { unreachable!("one moves at a time") };
        let found = mcts.search(&game, &state, role, Limits::playouts(PLAYOUTS), &Default::default());
        // Moves that seem to lose are visited ever more rarely, so that a few games stay open.
        if found.spent.playouts < PLAYOUTS {
            solved += 1;
            assert_eq!(minimax(&game, played(&game, state, found.best)), minimax(&game, state), "{seed}");
        }
        let tree = &mcts.tree;
        let mut open = vec![(0, state)];
        while let Some((node, state)) = open.pop() {
            let share = f64::from(minimax(&game, state)) / 100.0;
            if let Some(outcome) = tree.outcome(node) {
                assert!((outcome[0] - share).abs() < 1e-9 && (outcome[1] + share - 1.0).abs() < 1e-9, "{seed}");
                inner += usize::from(!tree.is_leaf(node));
            }
            for edge in tree.edges_of(node, 0) {
                let Some(child) = tree.child(node, &[edge as u32]) else { continue };
                let role = game.turn(&state).acting(2).start;
                let after = played(&game, state, tree.edges[edge].mv);
                let reward = (tree.outcome(child)).map(|outcome| outcome[role]);
                let infinite = tree.edges[edge].stats.sum.is_infinite().then_some(tree.edges[edge].stats.sum > 0.0);
                let expected = reward.filter(|&reward| reward == 0.0 || reward == 1.0).map(|reward| reward == 1.0);
                assert_eq!(infinite, expected, "{seed}");
                open.push((child, after));
            }
        }
    }
    assert!(solved > GAMES * 9 / 10 && inner > 2000, "{solved}, {inner}");
}

/// Both roles name a number simultaneously. The first wins if the numbers are equal.
struct Match;

impl Game for Match {
    type State = Option<bool>;
    type Move = u32;
    fn roles(&self) -> usize {
        2
    }
    fn initial(&self) -> Option<bool> {
        None
    }
    fn turn(&self, _: &Option<bool>) -> Turn {
        Turn::All
    }
    fn legal(&self, _: &Option<bool>, _: usize, moves: &mut Vec<u32>) {
        moves.extend(0..2);
    }
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }
    fn play(&self, state: &mut Option<bool>, joint: &[u32]) {
        *state = Some(joint[0] == joint[1]);
    }
    fn is_terminal(&self, state: &Option<bool>) -> bool {
        state.is_some()
    }
    fn goal(&self, state: &Option<bool>, role: usize) -> u8 {
        if *state == Some(role == 0) { 100 } else { 0 }
    }
}

#[test]
fn simultaneous_moves_prove_nothing() {
    let settings = MctsConfig { solver: true, ..MctsConfig::default() };
    let mut mcts = Mcts::new(Uct::new(0.4), RandomPlayout::default(), ToTheEnd, settings, 1);
    let found = mcts.search(&Match, &None, 0, Limits::playouts(2000), &Default::default());
    assert_eq!(found.spent.playouts, 2000);
    assert!(found.moves.iter().all(|(_, stats)| stats.sum.is_finite()));
}
