//! What the tree proves (MCTS-Solver; Winands, Björnsson and Saito 2008).

use std::num::NonZeroU16;

use crate::game::Turn;
use crate::tree::{NodeId, Tree};

impl<M: Copy + Eq, N: Copy> Tree<M, N> {
    /// The rewards of all roles once the match is in the state of a node, if
    /// they are proved.
    pub fn outcome(&self, node: NodeId) -> Option<&[f64]> {
        let number = self.nodes[node as usize].proved?.get();
        Some(&self.outcomes[usize::from(number) - 1])
    }

    /// Takes the rewards of a node for proved, and with them all that they prove
    /// of the nodes on the way there. `edges` has one edge a seat of each node
    /// of the path, and a simulation has ended after each.
    ///
    /// A state where one role moves is proved once a move is that wins all
    /// there is to win, or all are: the role plays one that is best for it, of
    /// equals the first. Where roles move at once nothing is proved.
    pub fn prove(&mut self, path: &[NodeId], edges: &[u32], last: NodeId, rewards: &[f64]) {
        let Some(number) = self.number_of(rewards) else { return };
        let mut child = last;
        self.nodes[child as usize].proved = Some(number);
        for (&node, &edge) in path.iter().rev().zip(edges.iter().rev()) {
            let Turn::One(role) = self.nodes[node as usize].turn else { return };
            let reward = self.outcome(child).map_or(0.0, |outcome| outcome[role]);
            self.edges[edge as usize].stats.prove(reward);
            let Some(best) = self.best_of(node, role) else { return };
            self.nodes[node as usize].proved = self.nodes[best as usize].proved;
            child = node;
        }
    }

    /// The number of an outcome; none if there are too many.
    fn number_of(&mut self, rewards: &[f64]) -> Option<NonZeroU16> {
        let known = self.outcomes.iter().position(|outcome| **outcome == *rewards);
        let place = known.unwrap_or(self.outcomes.len());
        let number = u16::try_from(place + 1).ok().and_then(NonZeroU16::new)?;
        if known.is_none() {
            self.outcomes.push(rewards.into());
        }
        Some(number)
    }

    /// The node after the best move of the role that moves, if that is proved.
    fn best_of(&self, node: NodeId, role: usize) -> Option<NodeId> {
        let mut best: Option<(f64, NodeId)> = None;
        let mut all = true;
        for edge in self.edges_of(node, 0) {
            let child = self.child(node, &[edge as u32]);
            let proved = child.and_then(|child| Some((self.outcome(child)?[role], child)));
            match proved {
                Some(proved) if best.is_none_or(|best| proved.0 > best.0) => best = Some(proved),
                Some(_) => {}
                None => all = false,
            }
        }
        best.filter(|best| all || best.0 >= 1.0).map(|(_, child)| child)
    }
}

#[cfg(test)]
mod tests {
    use crate::game::{Game, Turn};
    use crate::limits::Limits;
    use crate::mcts::{Mcts, Settings};
    use crate::parts::{Decision, RandomPlayout, ToTheEnd, Uct};

    /// Two roles move in no order through a tree of chance, and share 100.
    struct Chance(u64);

    /// A state's number, and how many moves lead to it.
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

    /// What the first role gets if both play their best.
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
    fn what_is_proved_is_what_minimax_finds() {
        const GAMES: u64 = 300;
        const PLAYOUTS: u64 = 50_000;
        let (mut solved, mut inner) = (0, 0);
        for seed in 0..GAMES {
            let game = Chance(seed);
            let state = game.initial();
            let decision = if seed % 2 == 0 { Decision::BestAverage } else { Decision::MostVisits };
            let settings = Settings { solver: true, decision, ..Settings::default() };
            let mut mcts = Mcts::new(Uct::new(0.4), RandomPlayout::default(), ToTheEnd, settings, seed);
            let Turn::One(role) = game.turn(&state) else { unreachable!("one moves at a time") };
            let found = mcts.search(&game, &state, role, Limits::playouts(PLAYOUTS), &Default::default());
            // What seems to lose is looked at ever more rarely.
            if found.spent.playouts < PLAYOUTS {
                solved += 1;
                assert_eq!(minimax(&game, played(&game, state, found.best)), minimax(&game, state), "{seed}");
            }
            let tree = mcts.tree();
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

    /// Both roles name a number at once; the first wins if they are the same.
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
    fn where_roles_move_at_once_nothing_is_proved() {
        let settings = Settings { solver: true, ..Settings::default() };
        let mut mcts = Mcts::new(Uct::new(0.4), RandomPlayout::default(), ToTheEnd, settings, 1);
        let found = mcts.search(&Match, &None, 0, Limits::playouts(2000), &Default::default());
        assert_eq!(found.spent.playouts, 2000);
        assert!(found.moves.iter().all(|(_, stats)| stats.sum.is_finite()));
    }
}
