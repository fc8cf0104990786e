//! Hierarchical expansion [Sironi and Winands 2018, section 4.2].

use sternhalma_game::util::bits;

use super::bits::random_order;
use super::ucb::{Bandits, exploration};
use super::{Combination, MAX_PARAMETERS, Rng, Setting, Space};

/// Marks a node that is not built. The root is below no arm, so its number is
/// free.
const UNBUILT: u32 = 0;

/// Hierarchical expansion: UCB1 at each node of a tree with one level per
/// parameter [Sironi and Winands 2018, section 4.2, figures 2 and 3].
///
/// The order of the parameters is drawn when the tree is created. A node
/// represents the values chosen above it, and is built when it is first
/// reached.
#[derive(Clone, Debug)]
pub(super) struct He {
    c: f64,
    /// The parameter of each level.
    order: Vec<usize>,
    /// The nodes; the root is first.
    nodes: Vec<BanditNode>,
    /// One bandit per node.
    bandits: Bandits,
    /// The node below each arm, with `arms` entries per node.
    below: Vec<u32>,
    arms: usize,
    /// The nodes on the path of the last choice.
    path: [u32; MAX_PARAMETERS],
}

#[derive(Clone, Copy, Debug)]
struct BanditNode {
    /// The values of its parameter that are compatible with the values above.
    feasible: u32,
    /// The number of visits.
    passed: u32,
    /// The exploration factor that follows from the visits.
    exploration: f64,
}

impl He {
    pub(super) fn new(space: &Space, c: f64, rng: &mut Rng) -> He {
        let parameters = space.parameters().len();
        let order = random_order(parameters, rng)[..parameters].iter().map(|&p| usize::from(p)).collect();
        let arms = space.most_values();
        let (nodes, below) = (Vec::new(), Vec::new());
        let mut tree = He { c, order, nodes, bandits: Bandits::new(arms), below, arms, path: [0; MAX_PARAMETERS] };
        tree.build(space, 0, Combination::default());
        tree
    }

    /// Builds the node that the choices above a level lead to.
    fn build(&mut self, space: &Space, level: usize, chosen: Combination) -> u32 {
        let above = self.order[..level].iter().map(|&parameter| Setting { parameter, value: chosen.index(parameter) });
        let partial = above.fold(space.everything(), |partial, setting| space.set(partial, setting));
        let feasible = partial.feasible(self.order[level]);
        self.nodes.push(BanditNode { feasible, passed: 0, exploration: exploration(self.c, 0) });
        self.below.resize(self.below.len() + self.arms, UNBUILT);
        self.bandits.push() as u32
    }

    #[inline]
    pub(super) fn choose(&mut self, space: &Space, rng: &mut Rng) -> Combination {
        let mut chosen = Combination::default();
        let mut arm = None;
        for level in 0..self.order.len() {
            let node = arm.map_or(0, |arm| self.descend(arm, space, level, chosen));
            self.path[level] = node as u32;
            let BanditNode { feasible, exploration, .. } = self.nodes[node];
            let value = self.bandits.choose(node, feasible, exploration, rng);
            chosen = chosen.with(Setting { parameter: self.order[level], value });
            arm = Some(node * self.arms + value);
        }
        chosen
    }

    #[inline]
    fn descend(&mut self, arm: usize, space: &Space, level: usize, chosen: Combination) -> usize {
        if self.below[arm] == UNBUILT {
            self.below[arm] = self.build(space, level, chosen);
        }
        self.below[arm] as usize
    }

    /// Adds a reward for the combination that was chosen last.
    #[inline]
    pub(super) fn update(&mut self, combination: Combination, reward: f64) {
        for (&parameter, &node) in self.order.iter().zip(&self.path) {
            self.bandits.update(node as usize, combination.index(parameter), reward);
            let node = &mut self.nodes[node as usize];
            node.passed += 1;
            node.exploration = exploration(self.c, node.passed);
        }
    }

    /// Returns the combination of the most visited arms, with the first values
    /// of the parameters below the tree.
    pub(super) fn best(&self, space: &Space) -> Combination {
        let mut partial = space.everything();
        let mut node = Some(0_usize);
        for &parameter in &self.order {
            let visits = |value: usize| node.map_or(0, |node| self.bandits.visits(node, value));
            let most = bits(partial.feasible(parameter)).reduce(|a, b| if visits(b) > visits(a) { b } else { a });
            let value = most.expect("a partial combination leaves a value of each parameter");
            partial = space.set(partial, Setting { parameter, value });
            node = node
                .map(|node| self.below[node * self.arms + value])
                .filter(|&node| node != UNBUILT)
                .map(|node| node as usize);
        }
        partial.combination()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::tuning::testing::{Choices, numbers, rows, space};

    const CHOICES: &str = include_str!("../../tests/data/tuning/he-choices.tsv");
    const LEVELS: &str = include_str!("../../tests/data/tuning/he-levels.tsv");

    #[test]
    fn choices_are_those_worked_from_the_definition() {
        for (name, order, first) in [("plain", "AB", 0), ("plain", "BA", 1), ("ruled", "AB", 0), ("ruled", "BA", 1)] {
            let space = space(name);
            let mut choices = Choices::of(CHOICES, &[name, order]);
            for seed in 0..2_000 {
                let mut rng = Rng::seed_from_u64(seed);
                let mut tree = He::new(&space, 0.7, &mut rng);
                if tree.order[0] == first {
                    choices.follow(|reward| {
                        let chosen = tree.choose(&space, &mut rng);
                        tree.update(chosen, reward(chosen));
                        chosen
                    });
                }
            }
            choices.assert_all_met();
        }
    }

    /// Counts the nodes on each level below a node after building all of them.
    fn count(tree: &mut He, space: &Space, node: usize, level: usize, chosen: Combination, levels: &mut [usize]) {
        levels[level] += 1;
        for value in bits(tree.nodes[node].feasible) {
            let chosen = chosen.with(Setting { parameter: tree.order[level], value });
            if level + 1 == tree.order.len() {
                levels[level + 1] += 1;
            } else {
                let below = tree.descend(node * tree.arms + value, space, level + 1, chosen);
                count(tree, space, below, level + 1, chosen, levels);
            }
        }
    }

    #[test]
    fn the_tree_has_the_nodes_of_its_order_and_orders_are_drawn() {
        let space = Space::grave_mast();
        let mut orders = std::collections::HashMap::new();
        for seed in 0..400 {
            let mut tree = He::new(&space, 0.7, &mut Rng::seed_from_u64(seed));
            *orders.entry(tree.order.clone()).or_insert(0) += 1;
            let names: Vec<&str> = tree.order.iter().map(|&p| space.parameters()[p].id.name()).collect();
            let row = rows(LEVELS).find(|row| row[0] == names.join(" ")).unwrap();
            let mut levels = vec![0; 5];
            count(&mut tree, &space, 0, 0, Combination::default(), &mut levels);
            assert_eq!(levels, numbers::<usize>(row[1]));
            assert_eq!(tree.nodes.len(), levels[..4].iter().sum::<usize>());
        }
        // Each of the 24 orders has the expected count 16.7 and the standard
        // deviation 4.
        assert_eq!(orders.len(), 24);
        assert!(orders.values().all(|&times| (2..=34).contains(&times)), "{orders:?}");
    }
}
