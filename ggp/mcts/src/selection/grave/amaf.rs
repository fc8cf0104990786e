//! AMAF (all moves as first) values of nodes.

use sternhalma_game::Room;

use super::log::{LoggedSimulation, MoveKey, SimulationLog};
use crate::MoveHistory;

/// The AMAF values of the nodes of a tree, by node number.
///
/// Most nodes are never queried. A node keeps its simulations and builds a
/// table when it is first queried; later simulations are added to the table.
///
/// Without room, nodes without a table learn nothing, and tables learn nothing
/// of moves that they do not have.
#[derive(Clone, Debug)]
pub(super) struct Amaf {
    roles: usize,
    nodes: Vec<NodeAmaf>,
    log: SimulationLog,
    /// The simulations of nodes without a table, each linked to the previous
    /// one.
    entries: Vec<SimulationLink>,
    /// The memory of the tables in bytes.
    tables: usize,
    room: Room,
}

impl Default for Amaf {
    fn default() -> Amaf {
        let (log, tables) = (SimulationLog::default(), 0);
        Amaf { roles: 0, nodes: Vec::new(), log, entries: Vec::new(), tables, room: Room::UNLIMITED }
    }
}

#[derive(Clone, Debug)]
enum NodeAmaf {
    /// The index of the node's last simulation among the entries, if there is one.
    Simulations(Option<u32>),
    AmafTable(AmafTable),
}

impl Default for NodeAmaf {
    fn default() -> NodeAmaf {
        NodeAmaf::Simulations(None)
    }
}

impl NodeAmaf {
    fn table_bytes(&self) -> usize {
        match self {
            NodeAmaf::Simulations(_) => 0,
            NodeAmaf::AmafTable(table) => table.bytes(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct SimulationLink {
    entry: LoggedSimulation,
    before: Option<u32>,
}

impl Amaf {
    /// Returns the memory in bytes.
    pub fn bytes(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<NodeAmaf>();
        nodes + self.entries.capacity() * size_of::<SimulationLink>() + self.log.bytes() + self.tables
    }

    /// Sets the number of bytes by which the memory may grow.
    pub fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes);
    }

    /// Returns whether there was no room since the last call.
    pub fn take_shortage(&mut self) -> bool {
        self.room.take_shortage()
    }

    /// Builds the table of a node, so that it can be queried.
    #[inline]
    pub fn open(&mut self, node: u32) {
        if !matches!(self.nodes.get(node as usize), Some(NodeAmaf::AmafTable(_))) {
            self.make_table(node);
        }
    }

    fn make_table(&mut self, node: u32) {
        let last = match self.node(node) {
            Some(NodeAmaf::Simulations(last)) => *last,
            _ => return,
        };
        let links = std::iter::successors(last.map(|last| self.entries[last as usize]), |link| {
            link.before.map(|before| self.entries[before as usize])
        });
        // The simulations are added from first to last, in their original
        // order.
        let entries: Vec<LoggedSimulation> = links.map(|link| link.entry).collect();
        let mut table = AmafTable::default();
        entries.iter().rev().for_each(|&entry| table.add_all(self.log.moves(entry), &mut self.room));
        self.tables += table.bytes();
        self.nodes[node as usize] = NodeAmaf::AmafTable(table);
    }

    /// Returns a node, or `None` if there is no room for it.
    fn node(&mut self, node: u32) -> Option<&mut NodeAmaf> {
        if !self.room.extend(&mut self.nodes, node as usize) {
            return None;
        }
        self.nodes.get_mut(node as usize)
    }

    /// Returns AMAF(node, move) of an open node, or `None` without samples.
    #[inline]
    pub fn mean(&self, node: u32, role: usize, number: u32) -> Option<f64> {
        match self.nodes.get(node as usize) {
            Some(NodeAmaf::AmafTable(table)) => table.mean(MoveKey::new(self.roles, role, number)),
            _ => None,
        }
    }

    /// Adds a simulation that entered some nodes.
    pub fn learn(&mut self, entered: &[u32], history: &MoveHistory, rewards: &[f64]) {
        self.roles = history.roles();
        let words = self.roles * (history.len() + 1);
        // Space for one simulation is left for those that are only added to tables.
        let has_room =
            self.room.reserve(&mut self.log.words, 2 * words) && self.room.reserve(&mut self.entries, entered.len());
        if !self.log.has_space(words) {
            self.room.record_shortage();
            return;
        }
        let start = self.log.add(entered.len(), history, rewards);
        for (step, &number) in entered.iter().enumerate() {
            let entry = self.log.entry(start, step);
            let next = self.entries.len() as u32;
            let full = self.log.is_full();
            match self.node(number) {
                None => {}
                Some(NodeAmaf::Simulations(_)) if !has_room => self.room.record_shortage(),
                // The log is full; the stored simulations are sufficient.
                Some(NodeAmaf::Simulations(Some(_))) if full => {}
                Some(NodeAmaf::Simulations(last)) => {
                    let before = last.replace(next);
                    self.entries.push(SimulationLink { entry, before });
                }
                Some(NodeAmaf::AmafTable(_)) => self.add_to_table(number, entry),
            }
        }
        // A simulation that was only added to tables need not be stored.
        if self.entries.last().is_none_or(|link| !link.entry.is_at(start)) {
            self.log.take_back(start);
        }
    }

    fn add_to_table(&mut self, node: u32, entry: LoggedSimulation) {
        if let NodeAmaf::AmafTable(table) = &mut self.nodes[node as usize] {
            let before = table.bytes();
            table.add_all(self.log.moves(entry), &mut self.room);
            self.tables += table.bytes() - before;
        }
    }

    /// Renumbers the nodes.
    pub fn renumber(&mut self, numbers: &[Option<u32>]) {
        let mut nodes = Vec::new();
        let mut entries = Vec::new();
        for (node, number) in std::mem::take(&mut self.nodes).into_iter().zip(numbers) {
            let Some(number) = *number else { continue };
            if nodes.len() <= number as usize {
                nodes.resize(number as usize + 1, NodeAmaf::Simulations(None));
            }
            nodes[number as usize] = self.moved(node, &mut entries);
        }
        self.nodes = nodes;
        self.tables = self.nodes.iter().map(NodeAmaf::table_bytes).sum();
        self.log.keep(entries.iter_mut().map(|link: &mut SimulationLink| &mut link.entry));
        self.entries = entries;
    }

    /// Returns a node after copying its simulations to `entries`.
    fn moved(&self, node: NodeAmaf, entries: &mut Vec<SimulationLink>) -> NodeAmaf {
        let NodeAmaf::Simulations(mut last) = node else { return node };
        let first = entries.len();
        while let Some(link) = last.map(|last| self.entries[last as usize]) {
            entries.push(link);
            last = link.before;
        }
        entries[first..].reverse();
        let mut before = None;
        for (place, link) in entries.iter_mut().enumerate().skip(first) {
            link.before = before.replace(place as u32);
        }
        NodeAmaf::Simulations((entries.len() > first).then(|| entries.len() as u32 - 1))
    }
}

/// The average rewards of moves, in a hash table with open addressing.
#[derive(Clone, Debug, Default)]
struct AmafTable {
    /// A power of two of slots; at least a quarter of the slots is free.
    slots: Vec<AmafSlot>,
    used: usize,
}

/// A move with its rewards. A slot without rewards is free.
#[derive(Clone, Copy, Debug, Default)]
struct AmafSlot {
    key: u32,
    count: u32,
    sum: f64,
}

impl AmafTable {
    /// Returns the first slot for a key. Consecutive keys are spread over the
    /// slots.
    #[inline]
    fn first_place(&self, key: MoveKey) -> usize {
        // The function is Fibonacci hashing; the upper bits of the product are
        // well mixed.
        let hash = key.0.wrapping_mul(0x9e37_79b9);
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    /// Returns the slot of a key, or the free slot for it.
    #[inline]
    fn place(&self, key: MoveKey) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.first_place(key);
        while self.slots[place].count > 0 && self.slots[place].key != key.0 {
            place = (place + 1) & mask;
        }
        place
    }

    #[inline]
    fn mean(&self, key: MoveKey) -> Option<f64> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.place(key)];
        (slot.count > 0).then(|| slot.sum / f64::from(slot.count))
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<AmafSlot>()
    }

    /// Adds moves with their rewards. Moves for which the table would have to
    /// grow by more than the room are omitted.
    fn add_all(&mut self, moves: impl Iterator<Item = (MoveKey, f32)>, room: &mut Room) {
        for (key, reward) in moves {
            if 4 * (self.used + 1) > 3 * self.slots.len() {
                let before = self.bytes();
                if before.max(16 * size_of::<AmafSlot>()) <= room.bytes() {
                    self.grow();
                    room.subtract(self.bytes() - before);
                } else if self.slots.is_empty() || self.slots[self.place(key)].count == 0 {
                    room.record_shortage();
                    continue;
                }
            }
            let place = self.place(key);
            let slot = &mut self.slots[place];
            self.used += usize::from(slot.count == 0);
            slot.key = key.0;
            slot.count += 1;
            slot.sum += f64::from(reward);
        }
    }

    fn grow(&mut self) {
        let slots = vec![AmafSlot::default(); (2 * self.slots.len()).max(16)];
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.into_iter().filter(|slot| slot.count > 0) {
            let place = self.place(MoveKey(slot.key));
            self.slots[place] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use sternhalma_game::NOOP;
    use sternhalma_game::Rng;

    /// The oracle: for each node the simulations that entered it, each with
    /// its moves from there on and its rewards.
    type Slow = Vec<Vec<(Vec<Vec<u32>>, Vec<f64>)>>;

    fn slow_mean(simulations: &[(Vec<Vec<u32>>, Vec<f64>)], role: usize, number: u32) -> Option<f64> {
        let with = simulations.iter().filter(|(steps, _)| steps.iter().any(|step| step[role] == number));
        let rewards: Vec<f64> = with.map(|(_, rewards)| rewards[role]).collect();
        (!rewards.is_empty()).then(|| rewards.iter().sum::<f64>() / rewards.len() as f64)
    }

    /// Runs a random simulation through the nodes of a tree with `nodes`
    /// nodes.
    fn simulate(amaf: &mut Amaf, slow: &mut Slow, roles: usize, rng: &mut Rng) {
        let mut entered: Vec<u32> = (1..slow.len() as u32).filter(|_| rng.random_bool(0.3)).collect();
        entered.insert(0, 0);
        let mut history = MoveHistory::new(roles);
        // The match before the simulation is not part of it.
        history.push(|numbers| numbers.extend((0..roles).map(|_| 9)));
        history.commit_last();
        let length = entered.len() + rng.random_range(0..5);
        let moves = [0, 1, 2, 3, 40, NOOP];
        let steps: Vec<Vec<u32>> =
            (0..length).map(|_| (0..roles).map(|_| moves[rng.random_range(0..moves.len())]).collect()).collect();
        steps.iter().for_each(|step| history.push(|numbers| numbers.extend(step)));
        // Sums of these rewards are exact in any order.
        let rewards: Vec<f64> = (0..roles).map(|_| f64::from(rng.random_range(0..=4)) / 4.0).collect();
        amaf.learn(&entered, &history, &rewards);
        for (step, &node) in entered.iter().enumerate() {
            slow[node as usize].push((steps[step..].to_vec(), rewards.clone()));
        }
    }

    /// Keeps some nodes under new numbers, in any order.
    fn renumber(amaf: &mut Amaf, slow: &mut Slow, rng: &mut Rng) {
        let mut kept: Vec<usize> = (0..slow.len()).filter(|_| rng.random_bool(0.6)).collect();
        kept.shuffle(rng);
        let mut numbers = vec![None; slow.len()];
        for (number, &node) in kept.iter().enumerate() {
            numbers[node] = Some(number as u32);
        }
        amaf.renumber(&numbers);
        *slow = kept.iter().map(|&node| slow[node].clone()).collect();
        // The tree grows again.
        slow.resize(slow.len().max(1) + 3, Vec::new());
    }

    fn ask(amaf: &mut Amaf, slow: &Slow, node: usize, roles: usize) {
        amaf.open(node as u32);
        for role in 0..roles {
            for number in [0, 1, 2, 3, 4, 9, 40, 41] {
                let expected = slow_mean(&slow[node], role, number);
                assert_eq!(amaf.mean(node as u32, role, number), expected, "role {role} and {number} at {node}");
            }
        }
    }

    #[test]
    fn values_are_those_of_the_simulations_through_a_node() {
        let mut rng = Rng::seed_from_u64(8);
        for round in 0..150 {
            let roles = 1 + round % 3;
            let mut amaf = Amaf::default();
            let mut slow: Slow = vec![Vec::new(); 6];
            // A node is queried often, seldom, or only at the end.
            let chance = [0.5, 0.05, 0.0][round / 3 % 3];
            for _ in 0..80 {
                simulate(&mut amaf, &mut slow, roles, &mut rng);
                if rng.random_bool(chance) {
                    ask(&mut amaf, &slow, rng.random_range(0..slow.len()), roles);
                }
                if rng.random_bool(0.06) {
                    renumber(&mut amaf, &mut slow, &mut rng);
                }
            }
            (0..slow.len()).for_each(|node| ask(&mut amaf, &slow, node, roles));
        }
    }

    #[test]
    fn values_without_room_are_reported() {
        let mut rng = Rng::seed_from_u64(11);
        for is_open in [false, true] {
            let (mut amaf, mut slow) = (Amaf::default(), vec![Vec::new(); 2]);
            let mut learn = |amaf: &mut Amaf| {
                simulate(amaf, &mut slow, 2, &mut rng);
                amaf.take_shortage()
            };
            assert!(!learn(&mut amaf));
            if is_open {
                amaf.open(0);
            }
            amaf.set_room(0);
            let before = amaf.bytes();
            assert!((0..20).any(|_| learn(&mut amaf)), "{is_open}");
            assert_eq!(amaf.bytes(), before, "{is_open}");
            amaf.set_room(1 << 20);
            assert!(!learn(&mut amaf));
        }
    }

    #[test]
    fn moves_without_room_in_a_table_are_reported() {
        let mut amaf = Amaf::default();
        let learn = |amaf: &mut Amaf, moves: std::ops::Range<u32>| {
            let mut history = MoveHistory::new(1);
            moves.for_each(|number| history.push(|numbers| numbers.push(number)));
            amaf.learn(&[0], &history, &[1.0]);
            amaf.take_shortage()
        };
        amaf.open(0);
        // A table of 16 slots takes 12 moves.
        assert!(!learn(&mut amaf, 0..12));
        let before = amaf.tables;
        amaf.set_room(0);
        assert!(!learn(&mut amaf, 0..12), "all moves are known");
        assert!(learn(&mut amaf, 6..14));
        assert_eq!((amaf.tables, amaf.mean(0, 0, 11), amaf.mean(0, 0, 12)), (before, Some(1.0), None));
    }

    #[test]
    fn a_tree_that_is_forgotten_leaves_nothing() {
        let mut rng = Rng::seed_from_u64(9);
        let mut amaf = Amaf::default();
        let mut slow: Slow = vec![Vec::new(); 4];
        (0..20).for_each(|_| simulate(&mut amaf, &mut slow, 2, &mut rng));
        ask(&mut amaf, &slow, 1, 2);
        amaf.renumber(&[None; 4]);
        let mut slow: Slow = vec![Vec::new(); 4];
        (0..4).for_each(|node| ask(&mut amaf, &slow, node, 2));
        (0..20).for_each(|_| simulate(&mut amaf, &mut slow, 2, &mut rng));
        (0..4).for_each(|node| ask(&mut amaf, &slow, node, 2));
    }

    #[test]
    fn simulations_that_only_went_to_tables_take_no_memory() {
        let mut rng = Rng::seed_from_u64(10);
        let mut amaf = Amaf::default();
        let mut slow: Slow = vec![Vec::new(); 3];
        (0..3).for_each(|node| amaf.open(node));
        (0..50).for_each(|_| simulate(&mut amaf, &mut slow, 2, &mut rng));
        assert!(amaf.entries.is_empty());
        assert_eq!(amaf.log.add(0, &MoveHistory::new(2), &[0.0, 0.0]), 0, "the log is empty");
    }
}
