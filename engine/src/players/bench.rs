//! A benchmark whose node counts do not depend on the machine: the default player searches fixed positions.

use std::sync::atomic::AtomicBool;

use sternhalma_data::Position;
use sternhalma_ggp::{Limits, MemoryBudget, SearchStats};

use crate::distances::Distances;
use crate::players::roster::Roster;
use crate::rules::{ChineseCheckers, Filter};

/// The player. Its transposition table has a fixed size, because the size affects the node count.
const PLAYER: &str = "sternhalma,table_megabytes=16,threads=1";

/// Returns the 20 positions, on boards with 9 × 9 cells and 6 or 10 pieces per army.
pub fn positions() -> Vec<Position> {
    let lines = include_str!("../../bench-positions.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.parse().expect("the positions that ship are well-formed")).collect()
}

/// Searches one of the [`positions`] to a depth in plies, with a new player on one thread. The position, the depth and
/// the distances determine the number of node expansions.
///
/// # Panics
///
/// Panics if the position does not fit the board of the distances, or the transposition table (16 MiB) cannot be
/// allocated.
pub fn search(position: &Position, distances: &Distances, depth: u32) -> SearchStats {
    let game = ChineseCheckers::new(distances.board(), Filter::All);
    let state = game.state(position).expect("the position fits the board");
    let player = Roster::built_in().config(PLAYER).expect("the player of the benchmark is built in");
    let player = player.prepare(game.setup(), Some(distances)).expect("the distances are of this board");
    let mut player = player.start(&MemoryBudget::unlimited()).expect("16 MiB can be allocated");
    let limits = Limits { depth: Some(depth), ..Limits::default() };
    player.choose(&state, limits, &AtomicBool::new(false)).spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::board_of;

    #[test]
    fn a_search_of_a_position_has_the_same_count_each_time() {
        for position in [&positions()[2], &positions()[19]] {
            let distances = Distances::estimated(board_of(position).unwrap());
            let count = |depth| search(position, &distances, depth).expansions;
            assert_eq!(count(4), count(4), "{position}");
            assert!(count(3) < count(4), "{position}");
        }
    }

    #[test]
    fn the_positions_are_different_positions_of_unfinished_games() {
        let positions = positions();
        assert_eq!(positions.len(), 20);
        for (index, position) in positions.iter().enumerate() {
            let game = ChineseCheckers::new(board_of(position).unwrap(), Filter::All);
            assert_eq!(game.state(position).unwrap().outcome(), None, "{position}");
            assert!(!positions[..index].contains(position), "{position}");
        }
    }
}
