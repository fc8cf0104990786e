//! Tests of the second version of the rule, with a search of arrangements as the oracle.

use std::collections::{HashMap, HashSet};

use proptest::test_runner::{RngAlgorithm, TestRng};

use super::*;

/// Returns the cells two steps away or nearer in a straight line.
fn around(geometry: &Geometry, cell: Cell) -> CellSet {
    DIRECTIONS.iter().flat_map(|&to| [1, 2].map(|steps| beyond(geometry, cell, to, steps))).flatten().collect()
}

/// Returns the cells to which a piece goes by one step or one jump.
fn hops(geometry: &Geometry, occupied: CellSet, from: Cell) -> CellSet {
    let to = |&direction: &(i32, i32)| {
        let near = beyond(geometry, from, direction, 1)?;
        if !occupied.contains(near) {
            return Some(near);
        }
        beyond(geometry, from, direction, 2).filter(|&far| !occupied.contains(far))
    };
    DIRECTIONS.iter().filter_map(to).collect()
}

/// Decides seals by a search of what the pieces behind a wall can do.
struct Oracle {
    board: Board,
    side: Side,
    around: Vec<CellSet>,
    /// Whether the pieces of the opponent in a set of cells can fill the goal there, by the cells, the pieces, and the
    /// free piece among them, if it must stand in the goal.
    known: HashMap<(CellSet, CellSet, Option<Cell>), bool>,
}

impl Oracle {
    fn new(board: Board, side: Side) -> Oracle {
        let around = (0..board.cells()).map(|cell| around(board.geometry(), Cell::new(cell))).collect();
        Oracle { board, side, around, known: HashMap::new() }
    }

    fn goal(&self) -> CellSet {
        self.board.goal(self.side.other())
    }

    /// Returns the sets of cells that the pieces of an army keep apart.
    fn rooms(&self, army: CellSet) -> Vec<CellSet> {
        let mut rooms: Vec<CellSet> = Vec::new();
        for cell in CellSet::first_cells(self.board.cells()) - army {
            let (near, far): (Vec<_>, Vec<_>) =
                rooms.into_iter().partition(|&room| !(self.around[cell.index()] & room).is_empty());
            rooms = far;
            rooms.push(near.into_iter().fold(cell.into(), |all, room| all | room));
        }
        rooms
    }

    /// Returns whether some arrangement that the pieces in a room reach has no empty cell of the goal. The `free` piece
    /// moves too, and stays in the room.
    fn can_fill(&mut self, room: CellSet, inside: CellSet, free: Option<Cell>) -> bool {
        if let Some(&known) = self.known.get(&(room, inside, free)) {
            return known;
        }
        let geometry = self.board.geometry();
        let outside = CellSet::first_cells(self.board.cells()) - room;
        let mut seen = HashSet::from([(inside, free)]);
        let mut rest = vec![(inside, free)];
        let mut found = false;
        while let Some((pieces, free)) = rest.pop() {
            let all = free.map_or(pieces, |free| pieces.with(free));
            if (self.goal() & room).is_subset(all) {
                found = true;
                break;
            }
            for from in all {
                for to in hops(geometry, outside | all, from) {
                    let next = match free {
                        Some(free) if free == from => (pieces, Some(to)),
                        _ => (pieces.without(from).with(to), free),
                    };
                    if seen.insert(next) {
                        rest.push(next);
                    }
                }
            }
        }
        self.known.insert((room, inside, free), found);
        found
    }

    /// Returns the rooms of an army without each of its pieces.
    fn rooms_without(&self, army: CellSet) -> Vec<(Cell, Vec<CellSet>)> {
        army.iter().map(|free| (free, self.rooms(army.without(free)))).collect()
    }

    fn is_sealed(&mut self, rooms_without: &[(Cell, Vec<CellSet>)], others: CellSet) -> bool {
        rooms_without.iter().any(|(free, rooms)| {
            let goal = self.goal();
            let open = rooms.iter().max_by_key(|&&room| (room.len(), (room & others).len(), (room & goal).len()));
            let shut: Vec<CellSet> = rooms.iter().copied().filter(|room| Some(room) != open).collect();
            shut.into_iter().any(|room| {
                let must_fill = room.contains(*free) && room.is_subset(goal);
                !self.can_fill(room, room & others, must_fill.then_some(*free))
            })
        })
    }
}

/// Compares the rule and the oracle in all positions with some pieces. Returns how many are sealed.
fn compare_all(size: u64, pieces: u64) -> usize {
    let board = Board::new(size, pieces).unwrap();
    let (rule, all, mut count) = (SealRule::new(board), CellSet::first_cells(board.cells()), 0);
    for side in Side::BOTH {
        let mut oracle = Oracle::new(board, side);
        for army in choices(all, board.pieces()) {
            let rooms = oracle.rooms_without(army);
            if rooms.iter().all(|(_, rooms)| rooms.len() == 1) {
                assert_eq!(rule.seal(army, CellSet::EMPTY, side), None);
                continue;
            }
            for others in choices(all - army, board.pieces()) {
                let expected = oracle.is_sealed(&rooms, others);
                assert_eq!(rule.seal(army, others, side).is_some(), expected, "{army:?} {others:?} {side}");
                count += usize::from(expected);
            }
        }
    }
    count
}

#[test]
fn all_positions_of_the_smallest_board_follow_the_oracle() {
    (1..=4).for_each(|pieces| _ = compare_all(3, pieces));
}

#[test]
fn crowded_positions_of_a_small_board_follow_the_oracle() {
    assert!(compare_all(4, 7) > 1000);
    // Two armies of eight fill the board, so that no part is short of pieces.
    assert_eq!(compare_all(4, 8), 0);
}

#[test]
fn all_positions_of_a_small_board_follow_the_oracle() {
    assert!(compare_all(4, 5) > 1000);
    assert!(compare_all(4, 6) > 1000);
}

/// Collects the closed sets of at most ten cells around a cell of the goal, with at most `most_wall` pieces around them.
fn walls(board: Board, side: Side, most_wall: usize) -> Vec<(CellSet, CellSet)> {
    fn extend(oracle: &Oracle, room: CellSet, wall: CellSet, most: usize, found: &mut HashSet<(CellSet, CellSet)>) {
        let reach = room.iter().fold(CellSet::EMPTY, |reach, cell| reach | oracle.around[cell.index()]);
        let Some(cell) = (reach - room - wall).first() else {
            found.insert((room, wall));
            return;
        };
        if wall.len() < most {
            extend(oracle, room, wall.with(cell), most, found);
        }
        if room.len() < 10 {
            extend(oracle, room.with(cell), wall, most, found);
        }
    }
    let (oracle, mut found) = (Oracle::new(board, side), HashSet::new());
    for cell in oracle.goal() {
        extend(&oracle, cell.into(), CellSet::EMPTY, most_wall, &mut found);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Compares the rule and the oracle in positions with a wall, with 0 to all pieces of the opponent behind it. Returns
/// how many are sealed, and how many are not.
fn compare_walls(size: u64, pieces: u64, most: usize) -> [usize; 2] {
    let board = Board::new(size, pieces).unwrap();
    let (rule, all) = (SealRule::new(board), CellSet::first_cells(board.cells()));
    let anywhere = SealRule { patterns: Patterns::Any, ..rule.clone() };
    let (mut rng, mut counts) = (TestRng::deterministic_rng(RngAlgorithm::ChaCha), [0; 2]);
    // Returns some of the cells, drawn at random.
    let mut choose = |cells: CellSet, count: usize| -> CellSet {
        let mut cells: Vec<Cell> = cells.iter().collect();
        let mut take = |_| cells.swap_remove(rng.next_u32() as usize % cells.len());
        (0..count).map(&mut take).collect()
    };
    for side in Side::BOTH {
        let mut oracle = Oracle::new(board, side);
        let walls = walls(board, side, board.pieces().min(11));
        let every = walls.len().div_ceil(most);
        for &(room, wall) in walls.iter().step_by(every) {
            // Three fillings of each wall with each number of pieces behind it.
            for inside in (0..=room.len().min(board.pieces())).flat_map(|inside| [inside; 3]) {
                let shut = choose(room, inside);
                let own = choose(all - wall - shut, board.pieces() - wall.len());
                let army = wall | own;
                let rest = all - army - shut - room;
                if rest.len() < board.pieces() - inside {
                    continue;
                }
                let others = shut | choose(rest, board.pieces() - inside);
                let expected = oracle.is_sealed(&oracle.rooms_without(army), others);
                let found = rule.seal(army, others, side);
                assert_eq!(found.is_some(), expected, "{board} {army:?} {others:?} {side}");
                assert_eq!(found, anywhere.seal(army, others, side), "{board} {army:?} {others:?} {side}");
                assert!(!expected || rule.is_near(army, side));
                if let Some(Seal { region, wall, free }) = found {
                    let has_goal = !(region & oracle.goal()).is_empty();
                    assert!(has_goal && wall.is_subset(army) && !free.is_empty() && free.is_subset(army));
                }
                counts[usize::from(!expected)] += 1;
                // The moves one step before are those of the full test.
                if expected && inside % 2 == 0 {
                    let last = choose(army, 1).first().unwrap();
                    for from in board.geometry().neighbors(last) - army - others {
                        let before = position(board, army.without(last).with(from), others, side);
                        assert_eq!(rule.moves(&before), slow_moves(&rule, &before), "{before}");
                    }
                }
            }
        }
    }
    counts
}

#[test]
fn walls_follow_the_oracle() {
    let mut counts = [0; 2];
    for (size, pieces, most) in (5..=8).map(|pieces| (5, pieces, 2000)).chain((7..=15).map(|pieces| (9, pieces, 500))) {
        let [sealed, legal] = compare_walls(size, pieces, most);
        println!("{size} {pieces}: {sealed} {legal}");
        assert!(sealed > 0 && legal > 0, "{size} {pieces}: {sealed} {legal}");
        counts = [counts[0] + sealed, counts[1] + legal];
    }
    assert!(counts.iter().all(|&count| count >= 10_000), "{counts:?}");
}

#[test]
fn parts_of_zones_need_at_least_four_pieces_of_their_walls() {
    for pieces in 5..=10 {
        let rule = SealRule::new(Board::new(9, pieces).unwrap());
        let Patterns::Zones(zones) = &rule.patterns else { panic!("{pieces} pieces have no zone") };
        for zone in zones.iter() {
            assert!(!zone.parts.is_empty());
            assert!(zone.parts.iter().all(|part| (part.needed & zone.walls).len() >= SMALLEST_WALL), "{pieces}");
        }
    }
}

/// Returns the verdicts of both versions of the rule about a move: whether it is legal.
fn legal(text: &str, mv: &str) -> [bool; 2] {
    let position: Position = text.parse().unwrap();
    let board = Board::new(position.geometry().size() as u64, position.army(Side::X).len() as u64).unwrap();
    let mv = position.geometry().parse_move(mv).unwrap();
    assert!(position.moves().any(|other| other == mv), "{text} {mv:?}");
    [first(board), SealRule::new(board)].map(|rule| rule.moves(&position).contains(&mv))
}

#[test]
fn a_wall_around_a_trapped_piece_is_illegal() {
    assert_eq!(legal("5oo1x/6oo1/7oo/9/8o/3o5/4o4/xxx1o4/xxxxxx3 o 40", "i5-i6"), [true, false]);
    // Without the trapped piece both versions forbid the wall.
    assert_eq!(legal("5oo2/6oo1/7oo/9/8o/3o5/4o4/xxxxo4/xxxxxx3 o 40", "i5-i6"), [false, false]);
}

#[test]
fn pieces_of_the_opponent_are_no_walls() {
    // The last cell around a1 is taken by a piece of `x`, or has one of `o`.
    assert_eq!(legal("7oo/7oo/8o/9/9/x8/9/xx6o/1xx2x3 x 20", "a4-a3"), [false, false]);
    assert_eq!(legal("7oo/7oo/8o/9/9/x8/9/xx7/1xo2xx2 x 20", "a4-a3"), [true, true]);
}

#[test]
fn a_wall_without_a_free_piece_is_legal() {
    assert_eq!(legal("7oo/8o/8o/9/9/x8/9/x8/1xx6 x 20", "a4-a3"), [true, true]);
}

#[test]
fn a_part_that_the_trapped_pieces_can_fill_is_legal() {
    // One piece of `o` stands on the only cell behind the wall.
    assert_eq!(legal("7oo/7oo/8o/9/9/x8/9/x8/oxx2x2x x 20", "a4-a3"), [true, true]);
    // Behind the wall of seven pieces are three cells of the goal, and as many pieces of `o`, or one less.
    assert_eq!(legal("7oo/7oo/8o/9/x8/9/xx7/oxx6/ooxx4x x 41", "a5-a4"), [true, true]);
    assert_eq!(legal("6ooo/7oo/8o/9/x8/9/xx7/1xx6/ooxx4x x 41", "a5-a4"), [true, false]);
}

#[test]
fn a_goal_may_be_filled_around_a_straggler() {
    let text = "6xxo/7xx/9/5x2x/9/9/o8/oo7/oo7 x 40";
    assert_eq!(legal(text, "i6-i7"), [true, true]);
    let position: Position = text.parse().unwrap();
    let won = position.after(position.geometry().parse_move("i6-i7").unwrap());
    let goal = Board::new(9, 6).unwrap().goal(Side::X);
    assert!(goal.is_subset(won.army(Side::X) | won.army(Side::O)), "the move wins");
}

#[test]
fn a_piece_may_be_shut_in_at_a_side_corner() {
    assert_eq!(legal("oxx3ooo/xx5oo/x7o/2x6/9/9/6x2/9/9 x 30", "c6-c7"), [true, true]);
}
