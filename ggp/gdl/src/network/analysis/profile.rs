//! The kind of game that a network describes.

use std::collections::HashMap;

use sternhalma_game::Rng;

use crate::network::build::{Netlist, nodes_over, without_moves};
use crate::network::run::SequentialEngine;

/// The maximum number of steps for which fluents are followed.
const LONGEST_COURSE: usize = 10_000;

/// The kind of game that a network describes. All properties except the step
/// counter are observed in random matches; other matches may differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The number of states in which a role was to move.
    pub states: u64,
    /// Whether there is only one role.
    pub one_player: bool,
    /// Whether at most one role had more than one legal move in each of these
    /// states.
    pub turn_taking: bool,
    /// The sum of all goals, if it was the same at the end of all matches.
    pub fixed_sum: Option<u32>,
    /// The fluents that hold in only one step of any match, in the order of
    /// that step. This property is proven.
    pub step_counter: Vec<usize>,
    /// For each move, whether it was the only legal move of its role while
    /// another role had a choice.
    pub waiting: Vec<bool>,
}

impl Profile {
    /// Plays random matches of at most `most` steps each.
    pub fn observe(netlist: &Netlist, engine: &SequentialEngine, matches: usize, most: usize, rng: &mut Rng) -> Self {
        let roles = netlist.roles.len();
        let (mut states, mut turn_taking) = (0, true);
        let mut sums = Vec::new();
        let mut waiting = vec![false; netlist.moves()];
        for _ in 0..matches {
            engine.play_random(&mut engine.initial().clone(), most, rng, |state| {
                if engine.is_over(state) {
                    sums.push(engine.goals(state).map(|goal| u32::from(goal.score())).sum());
                } else {
                    states += 1;
                    let choosing = (0..roles).filter(|&role| engine.count_legal(state, role) > 1).count();
                    turn_taking &= choosing <= 1;
                    for role in (0..roles).filter(|&role| choosing > 0 && engine.count_legal(state, role) == 1) {
                        waiting[engine.nth_legal(state, role, 0) as usize] = true;
                    }
                }
            });
        }
        let fixed_sum = sums.first().copied().filter(|first| sums.iter().all(|sum| sum == first));
        let step_counter = step_counter(netlist);
        Profile { states, one_player: roles == 1, turn_taking, fixed_sum, step_counter, waiting }
    }
}

/// Returns the fluents that hold in only one step, in the order of that step:
/// those that evolve independently of moves and do not repeat.
fn step_counter(netlist: &Netlist) -> Vec<usize> {
    let free = without_moves(netlist);
    let course = course(netlist, &free);
    let mut held = vec![0; free.len()];
    course.iter().flatten().for_each(|&fluent| held[fluent] += 1);
    course.into_iter().flatten().filter(|&fluent| held[fluent] == 1).collect()
}

/// Returns the independent fluents that hold in each step, up to the first
/// repetition; empty if there are too many steps.
fn course(netlist: &Netlist, free: &[bool]) -> Vec<Vec<usize>> {
    let is_free = nodes_over(netlist, free);
    let holding = |values: &[bool]| (0..free.len()).filter(|&fluent| values[netlist.fluent_node(fluent)]).collect();
    let mut values = vec![false; netlist.nodes()];
    for fluent in (0..free.len()).filter(|&fluent| free[fluent]) {
        values[netlist.fluent_node(fluent)] = netlist.initial[fluent];
    }
    let mut seen: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut course: Vec<Vec<usize>> = Vec::new();
    while course.len() < LONGEST_COURSE {
        let now: Vec<usize> = holding(&values);
        if let Some(&first) = seen.get(&now) {
            let cycle = course[first..].to_vec();
            course.extend(cycle);
            return course;
        }
        seen.insert(now.clone(), course.len());
        course.push(now);
        for (index, gate) in netlist.gates().enumerate() {
            let node = netlist.first_gate() + index;
            values[node] = is_free[node] && gate.iter().all(|lit| lit.of(&values));
        }
        let next: Vec<bool> = netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect();
        for fluent in (0..free.len()).filter(|&fluent| free[fluent]) {
            values[netlist.fluent_node(fluent)] = next[fluent];
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::network::testing;

    fn observe(network: crate::network::Network) -> Profile {
        Profile::observe(
            &network.netlist,
            &SequentialEngine::new(&network.netlist),
            50,
            1_000,
            &mut Rng::seed_from_u64(1),
        )
    }

    #[test]
    fn profiles_differ_between_games() {
        let turns = observe(testing::tic_tac_toe());
        assert!(turns.turn_taking && !turns.one_player && turns.step_counter.is_empty());
        assert_eq!(turns.fixed_sum, Some(100));
        // Each role waits with one move.
        assert_eq!(turns.waiting.iter().filter(|waits| **waits).count(), 2);
        let at_once = observe(testing::pennies());
        assert!(!at_once.turn_taking && !at_once.one_player && !at_once.waiting.contains(&true));
        let alone = observe(testing::lamps(6, 9));
        assert!(alone.turn_taking && alone.one_player);
        // Of the fluents of steps 0 to 9 the last one stays true.
        assert_eq!(alone.step_counter, (6..15).collect::<Vec<usize>>());
        assert!(alone.states > 0);
    }
}
