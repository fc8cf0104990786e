//! All moves as first: the AMAF values of nodes.

use super::log::{Entry, Key, Log};
use crate::trail::Trail;

/// The AMAF values of the nodes of a tree, by their numbers.
///
/// Most nodes are never asked. A node keeps its simulations, and makes a table
/// of them when it is asked first; from then on simulations go to the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Amaf {
    roles: usize,
    nodes: Vec<Node>,
    log: Log,
    /// The simulations of nodes without a table, each with the one before.
    entries: Vec<Link>,
}

#[derive(Clone, Debug)]
enum Node {
    /// The last of its simulations among the entries, if there are any.
    Simulations(Option<u32>),
    Table(Table),
}

#[derive(Clone, Copy, Debug)]
struct Link {
    entry: Entry,
    before: Option<u32>,
}

impl Amaf {
    /// Makes sure that a node can be asked.
    #[inline]
    pub fn open(&mut self, node: u32) {
        if !matches!(self.nodes.get(node as usize), Some(Node::Table(_))) {
            self.make_table(node);
        }
    }

    fn make_table(&mut self, node: u32) {
        let last = match self.node(node) {
            Node::Simulations(last) => *last,
            Node::Table(_) => return,
        };
        let links = std::iter::successors(last.map(|last| self.entries[last as usize]), |link| {
            link.before.map(|before| self.entries[before as usize])
        });
        // From the first to the last, as they would have come in.
        let entries: Vec<Entry> = links.map(|link| link.entry).collect();
        let mut table = Table::default();
        entries.iter().rev().for_each(|&entry| table.add_all(self.log.moves(entry)));
        self.nodes[node as usize] = Node::Table(table);
    }

    fn node(&mut self, node: u32) -> &mut Node {
        if self.nodes.len() <= node as usize {
            self.nodes.resize(node as usize + 1, Node::Simulations(None));
        }
        &mut self.nodes[node as usize]
    }

    /// AMAF(node, move), if there is a sample, of a node that is open.
    #[inline]
    pub fn mean(&self, node: u32, role: usize, number: u32) -> Option<f64> {
        match &self.nodes[node as usize] {
            Node::Table(table) => table.mean(Key::new(self.roles, role, number)),
            Node::Simulations(_) => None,
        }
    }

    /// Takes in a simulation that entered these nodes.
    pub fn learn(&mut self, entered: &[u32], trail: &Trail, rewards: &[f64]) {
        self.roles = trail.roles();
        if self.log.is_full() {
            entered.iter().for_each(|&node| self.open(node));
        }
        let start = self.log.add(entered.len(), trail, rewards);
        for (step, &number) in entered.iter().enumerate() {
            let entry = self.log.entry(start, step);
            let next = self.entries.len() as u32;
            match self.node(number) {
                Node::Simulations(last) => {
                    let before = last.replace(next);
                    self.entries.push(Link { entry, before });
                }
                Node::Table(_) => self.add_to_table(number, entry),
            }
        }
        // A simulation that only went to tables is needed no more.
        if self.entries.last().is_none_or(|link| !link.entry.is_at(start)) {
            self.log.take_back(start);
        }
    }

    fn add_to_table(&mut self, node: u32, entry: Entry) {
        if let Node::Table(table) = &mut self.nodes[node as usize] {
            table.add_all(self.log.moves(entry));
        }
    }

    /// The nodes have new numbers.
    pub fn renumber(&mut self, numbers: &[Option<u32>]) {
        let mut nodes = Vec::new();
        let mut entries = Vec::new();
        for (node, number) in std::mem::take(&mut self.nodes).into_iter().zip(numbers) {
            let Some(number) = *number else { continue };
            if nodes.len() <= number as usize {
                nodes.resize(number as usize + 1, Node::Simulations(None));
            }
            nodes[number as usize] = self.moved(node, &mut entries);
        }
        self.nodes = nodes;
        self.log.keep(entries.iter_mut().map(|link: &mut Link| &mut link.entry));
        self.entries = entries;
    }

    /// A node whose simulations are put to these entries.
    fn moved(&self, node: Node, entries: &mut Vec<Link>) -> Node {
        let Node::Simulations(mut last) = node else { return node };
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
        Node::Simulations((entries.len() > first).then(|| entries.len() as u32 - 1))
    }
}

/// The average rewards of moves, by open addressing.
#[derive(Clone, Debug, Default)]
struct Table {
    /// A power of two of slots, a quarter of them free at least.
    slots: Vec<Slot>,
    used: usize,
}

/// A move with its rewards; without any it is free.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u32,
    count: u32,
    sum: f64,
}

impl Table {
    /// Spreads keys, which follow each other, over the slots.
    #[inline]
    fn first_place(&self, key: Key) -> usize {
        // Fibonacci hashing: the upper bits of the product are well mixed.
        let hash = key.0.wrapping_mul(0x9e37_79b9);
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    /// The place of a key, or the free one where it would be.
    #[inline]
    fn place(&self, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.first_place(key);
        while self.slots[place].count > 0 && self.slots[place].key != key.0 {
            place = (place + 1) & mask;
        }
        place
    }

    #[inline]
    fn mean(&self, key: Key) -> Option<f64> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.place(key)];
        (slot.count > 0).then(|| slot.sum / f64::from(slot.count))
    }

    fn add_all(&mut self, moves: impl Iterator<Item = (Key, f32)>) {
        for (key, reward) in moves {
            if 4 * (self.used + 1) > 3 * self.slots.len() {
                self.grow();
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
        let slots = vec![Slot::default(); (2 * self.slots.len()).max(16)];
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.into_iter().filter(|slot| slot.count > 0) {
            let place = self.place(Key(slot.key));
            self.slots[place] = slot;
        }
    }
}
