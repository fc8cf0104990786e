//! The history heuristic [Świechowski and Mańdziuk 2014, section V.F].

use rand::RngExt;
use sternhalma_game::{Rng, Room};

/// The rewards of the simulations with a move.
#[derive(Clone, Copy, Debug, Default)]
struct RewardAverage {
    sum: f64,
    count: u32,
    /// The number of the last simulation that was counted, from 1.
    last: u32,
}

/// The average reward of the simulations in which each role played each of its
/// moves, in any state. A simulation counts once, however often the move
/// occurs.
#[derive(Clone, Debug)]
pub struct History {
    /// By role and move number.
    roles: Vec<Vec<RewardAverage>>,
    /// The number of the current simulation, from 1.
    simulation: u32,
    room: Room,
}

impl History {
    /// Creates an empty history.
    pub fn new(roles: usize) -> History {
        History { roles: vec![Vec::new(); roles], simulation: 0, room: Room::UNLIMITED }
    }

    /// Returns the memory of the averages in bytes.
    pub fn bytes(&self) -> usize {
        self.roles.iter().map(|averages| averages.capacity() * size_of::<RewardAverage>()).sum()
    }

    /// Sets the number of bytes by which the memory may grow. Without room, new moves are not counted.
    pub fn set_room(&mut self, bytes: usize) {
        self.room.set(bytes);
    }

    /// Returns whether there was no room since the last call.
    pub fn take_shortage(&mut self) -> bool {
        self.room.take_shortage()
    }

    /// Begins a simulation.
    pub fn begin(&mut self) {
        self.simulation += 1;
    }

    /// Adds the reward, from 0 to 1, of a move of a role in the current simulation,
    /// which [`begin`](History::begin) must have begun. A repeated move is ignored.
    ///
    /// The memory is proportional to the largest move number.
    pub fn count(&mut self, role: usize, mv: u32, reward: f64) {
        let averages = &mut self.roles[role];
        if !self.room.extend(averages, mv as usize) {
            return;
        }
        let average = &mut averages[mv as usize];
        if average.last != self.simulation {
            average.last = self.simulation;
            average.count += 1;
            average.sum += reward;
        }
    }

    /// Returns the average reward of a move, or `None` if it was never played.
    #[inline]
    pub fn average(&self, role: usize, mv: u32) -> Option<f64> {
        let average = self.roles[role].get(mv as usize).filter(|average| average.count > 0)?;
        Some(average.sum / f64::from(average.count))
    }

    /// Returns the index of the move with the highest average among those that
    /// were played (ties: at random), or a random index if none was.
    pub fn best(&self, role: usize, moves: impl ExactSizeIterator<Item = u32>, rng: &mut Rng) -> usize {
        let count = moves.len();
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for (index, mv) in moves.enumerate() {
            let Some(average) = self.average(role, mv) else { continue };
            if average > best.0 {
                best = (average, index, 1);
            } else if average == best.0 {
                best.2 += 1;
                if rng.random_range(0..best.2) == 0 {
                    best.1 = index;
                }
            }
        }
        if best.2 == 0 { rng.random_range(0..count) } else { best.1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_without_room_is_reported() {
        let mut history = History::new(1);
        for (room, average) in [(0, None), (1 << 10, Some(0.5))] {
            history.set_room(room);
            history.begin();
            history.count(0, 7, 0.5);
            assert_eq!((history.take_shortage(), history.average(0, 7)), (average.is_none(), average));
        }
    }
}
