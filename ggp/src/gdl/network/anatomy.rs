//! What strategies look at in a rulesheet.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use super::LANES;
use super::game::NetworkGame;
use super::goals::Goals;
use super::lanes::Lanes;
use super::sequential::State;
use super::set::FluentSet;
use crate::gdl::ground::GroundError;
use crate::gdl::{Document, ExprKind, Rules};
use crate::mini::{Anatomy, GoalTree, Successors, one_by_one};
use crate::{Game, Turn};

/// The [`Anatomy`] of a rulesheet: its facts are the fluents of the network.
///
/// All successors of a state are told by one pass through the network in
/// [`Lanes`], 512 at a time; one by one if the network is too large for them.
pub struct NetworkAnatomy {
    elements: Elements,
    goals: Goals,
    lanes: Option<Lanes>,
    /// Joint moves of all roles, one after another.
    joints: Vec<usize>,
    /// What each role plays that does not act.
    idle: Vec<usize>,
}

/// What is counted, and the fluents that count.
#[derive(Debug)]
struct Elements {
    count: usize,
    of_fluent: Vec<Box<[u32]>>,
}

impl NetworkAnatomy {
    /// The anatomy of the rules that `game` plays. Grounds them again.
    ///
    /// # Errors
    ///
    /// As those of [`Network::unless`](super::Network::unless).
    pub fn new(rules: &Rules, game: &NetworkGame, stop: &AtomicBool) -> Result<NetworkAnatomy, GroundError> {
        let network = game.network();
        Ok(NetworkAnatomy {
            elements: Elements::new(&network.fluents),
            goals: Goals::unless(rules, stop)?,
            lanes: Lanes::for_steps(&network.netlist).ok(),
            joints: Vec::new(),
            idle: Vec::new(),
        })
    }

    /// Whether successors are told in lanes.
    pub fn has_lanes(&self) -> bool {
        self.lanes.is_some()
    }

    /// Writes joint moves of all roles, of those of the roles that act.
    fn widen(&mut self, game: &NetworkGame, state: &State, joints: &[u32]) {
        self.joints.clear();
        let Turn::One(acting) = game.turn(state) else {
            self.joints.extend(joints.iter().map(|&mv| mv as usize));
            return;
        };
        let engine = game.engine();
        self.idle.clear();
        let idle = |role| if role == acting { 0 } else { engine.nth_legal(state, role, 0) as usize };
        self.idle.extend((0..game.roles()).map(idle));
        for &mv in joints {
            let first = self.joints.len();
            self.joints.extend_from_slice(&self.idle);
            self.joints[first + acting] = mv as usize;
        }
    }
}

impl Elements {
    /// The elements of fluents in KIF: their names, and what they have as each
    /// of their arguments.
    fn new(fluents: &[String]) -> Elements {
        let mut numbers: HashMap<(String, usize, String), u32> = HashMap::new();
        let mut number = |name: &str, column: usize, symbol: String| {
            let next = numbers.len() as u32;
            *numbers.entry((name.to_string(), column, symbol)).or_insert(next)
        };
        let mut elements_of = |fluent: &String| -> Box<[u32]> {
            let document = Document::parse(fluent).ok();
            let parts = document.iter().flat_map(Document::expressions).next().map(|expr| match &expr.kind {
                ExprKind::List(items) => items.iter().map(ToString::to_string).collect(),
                ExprKind::Symbol(name) => vec![name.clone()],
            });
            let parts = parts.unwrap_or_else(|| vec![fluent.clone()]);
            // The name itself stands in no column.
            let columns = parts.iter().enumerate().skip(1);
            let symbols: Vec<u32> = columns.map(|(column, symbol)| number(&parts[0], column, symbol.clone())).collect();
            std::iter::once(number(&parts[0], 0, String::new())).chain(symbols).collect()
        };
        let of_fluent = fluents.iter().map(&mut elements_of).collect();
        Elements { count: numbers.len(), of_fluent }
    }
}

impl Anatomy<NetworkGame> for NetworkAnatomy {
    fn facts(&self) -> usize {
        self.elements.of_fluent.len()
    }

    fn elements(&self) -> usize {
        self.elements.count
    }

    fn elements_of(&self, fact: usize) -> &[u32] {
        &self.elements.of_fluent[fact]
    }

    fn mark(&self, _: &NetworkGame, state: &State, facts: &mut FluentSet) {
        facts.clone_from(state.fluents());
    }

    fn mobility(&self, game: &NetworkGame, state: &State, role: usize) -> u32 {
        game.engine().count_legal(state, role) as u32
    }

    fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        self.goals.trees[role].as_ref()
    }

    fn mean_goal(&self, role: usize) -> f64 {
        let values = &self.goals.values[role];
        values.iter().map(|&value| f64::from(value) / 100.0).sum::<f64>() / values.len().max(1) as f64
    }

    fn successors(
        &mut self,
        game: &NetworkGame,
        state: &State,
        joints: &[u32],
        with_mobility: bool,
        found: &mut Successors,
    ) {
        let Some(mut lanes) = self.lanes.take() else {
            return one_by_one(self, game, state, joints, with_mobility, found);
        };
        self.widen(game, state, joints);
        let roles = game.roles();
        found.reset(self.joints.len() / roles, self.facts(), roles);
        for (index, part) in self.joints.chunks(LANES * roles).enumerate() {
            let count = part.len() / roles;
            lanes.follow(state.fluents(), part.chunks_exact(roles));
            let words = LANES / 64 * index..LANES / 64 * index + count.div_ceil(64);
            // The lanes after the last joint move hold nothing of use.
            let last = !0 >> (64 * count.div_ceil(64) - count);
            for fact in 0..found.facts() {
                let holding = &mut found.holding_mut(fact)[words.clone()];
                holding.iter_mut().zip(lanes.holding(fact)).for_each(|(holding, &word)| *holding = word);
                holding.last_mut().into_iter().for_each(|word| *word &= last);
            }
            if with_mobility {
                lanes.see_legal(|role, legal| {
                    let mobility = &mut found.mobility_mut(role)[LANES * index..][..count];
                    add_each(&legal[..words.len()], last, mobility);
                });
            }
        }
        self.lanes = Some(lanes);
    }
}

/// Adds 1 for each bit that is set, of the last word only for those of `last`.
fn add_each(words: &[u64], last: u64, counts: &mut [u32]) {
    for (index, (&word, counts)) in words.iter().zip(counts.chunks_mut(64)).enumerate() {
        let mut rest = if index + 1 == words.len() { word & last } else { word };
        while rest != 0 {
            counts[rest.trailing_zeros() as usize] += 1;
            rest &= rest - 1;
        }
    }
}
