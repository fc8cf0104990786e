//! Statistical symbols counting [Świechowski and Mańdziuk 2014, section V.C].

use sternhalma_game::Room;

/// Learns which elements of states correlate with won simulations.
///
/// An element is the number of facts with a name, or of facts with a symbol in
/// a column. The caller defines a won simulation; for MINI-Player it is one
/// whose reward is above the mean goal of the role.
#[derive(Clone, Debug)]
pub struct SymbolCounts {
    elements: usize,
    /// The counts of each state of the current simulation.
    current: Vec<u32>,
    /// The counts at each step, from the first simulation that reached the
    /// step.
    first: Vec<u32>,
    /// Whether a count differed from that of the first simulation.
    varies: Vec<bool>,
    most: Vec<u32>,
    won: Sums,
    lost: Sums,
    room: Room,
}

/// Sums of the counts over states.
#[derive(Clone, Debug, Default)]
struct Sums {
    states: u64,
    counts: Vec<u64>,
}

impl Sums {
    fn mean(&self, element: usize) -> f64 {
        self.counts[element] as f64 / self.states as f64
    }
}

impl SymbolCounts {
    /// Creates empty statistics for a number of elements.
    pub fn new(elements: usize) -> SymbolCounts {
        let sums = Sums { states: 0, counts: vec![0; elements] };
        SymbolCounts {
            elements,
            current: Vec::new(),
            first: Vec::new(),
            varies: vec![false; elements],
            most: vec![0; elements],
            won: sums.clone(),
            lost: sums,
            room: Room::UNLIMITED,
        }
    }

    /// Returns the memory of the counts of states in bytes.
    pub fn bytes(&self) -> usize {
        (self.current.capacity() + self.first.capacity()) * size_of::<u32>()
    }

    /// Sets the number of bytes by which the memory may grow. Without room, the last states of a
    /// simulation are not counted.
    pub fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes);
    }

    /// Returns whether there was no room since the last call.
    pub fn take_shortage(&mut self) -> bool {
        self.room.take_shortage()
    }

    /// Begins a simulation. A simulation without an end is discarded.
    pub fn begin(&mut self) {
        self.current.clear();
    }

    /// Counts the elements of the next state of the simulation. `elements`
    /// contains an element once per fact.
    pub fn watch(&mut self, elements: impl IntoIterator<Item = u32>) {
        let first = self.current.len();
        let Some(last) = (first + self.elements).checked_sub(1) else { return };
        if !self.room.extend(&mut self.current, last) {
            return;
        }
        elements.into_iter().for_each(|element| self.current[first + element as usize] += 1);
    }

    /// Ends the simulation.
    pub fn end(&mut self, is_won: bool) {
        if self.elements == 0 {
            return;
        }
        let known = self.first.len();
        if self.current.len() > known && self.room.extend(&mut self.first, self.current.len() - 1) {
            self.first[known..].copy_from_slice(&self.current[known..]);
        }
        let sums = if is_won { &mut self.won } else { &mut self.lost };
        let steps = self.current.chunks_exact(self.elements).zip(self.first.chunks_exact(self.elements));
        for (counts, first) in steps {
            sums.states += 1;
            for (element, (&count, &first)) in counts.iter().zip(first).enumerate() {
                sums.counts[element] += u64::from(count);
                self.most[element] = self.most[element].max(count);
                self.varies[element] |= count != first;
            }
        }
        self.current.clear();
    }

    /// Returns the weight of each element: the mean of its counts in states of
    /// won simulations minus that of lost ones, divided by the highest count.
    ///
    /// The weight is 0 if no simulation was won or none was lost, and for
    /// elements whose count depends on the step alone.
    pub fn weights(&self) -> Vec<f64> {
        let weight = |element: usize| {
            if !self.varies[element] || self.won.states == 0 || self.lost.states == 0 {
                return 0.0;
            }
            (self.won.mean(element) - self.lost.mean(element)) / f64::from(self.most[element])
        };
        (0..self.elements).map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_without_room_are_reported() {
        let mut counts = SymbolCounts::new(2);
        for (room, states) in [(0, 0), (1 << 10, 3)] {
            counts.set_room(room);
            counts.begin();
            (0..3).for_each(|state| counts.watch([state % 2]));
            counts.end(true);
            assert_eq!((counts.take_shortage(), counts.won.states), (states == 0, states));
        }
    }
}
