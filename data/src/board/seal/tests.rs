//! Tests of the first version of the rule against blocked goals, with the definition itself as the oracle, and of the
//! walls that are possible under both versions.

use proptest::prelude::*;

use super::*;

mod second;

/// Returns the first version of the rule.
fn first(board: Board) -> SealRule {
    SealRule::of(RuleSet::BlockedGoal1, board).unwrap()
}

const DIRECTIONS: [(i32, i32); 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];

/// Returns the cell that is `steps` cells away in a direction.
fn beyond(geometry: &Geometry, cell: Cell, (dx, dy): (i32, i32), steps: i32) -> Option<Cell> {
    let (x, y) = geometry.coordinates(cell);
    let [x, y] = [i32::from(x) + steps * dx, i32::from(y) + steps * dy].map(|place| u8::try_from(place).ok());
    geometry.at(x?, y?)
}

/// Returns the cells outside a region from which a piece enters it by a step, or by one jump over a cell outside.
fn entries(geometry: &Geometry, region: CellSet) -> CellSet {
    let outside = |cell: &Cell| !region.contains(*cell);
    let mut found = CellSet::EMPTY;
    for from in CellSet::first_cells(geometry.cells()).iter().filter(outside) {
        for direction in DIRECTIONS {
            let [near, far] = [1, 2].map(|steps| beyond(geometry, from, direction, steps));
            let step = near.is_some_and(|near| region.contains(near));
            let jump = near.is_some_and(|near| !region.contains(near)) && far.is_some_and(|far| region.contains(far));
            if step || jump {
                found = found.with(from);
            }
        }
    }
    found
}

/// Returns the subsets of a set, except the empty one.
fn subsets(cells: CellSet) -> impl Iterator<Item = CellSet> {
    let cells: Vec<Cell> = cells.iter().collect();
    (1u32..1 << cells.len())
        .map(move |bits| (0..cells.len()).filter(|at| bits >> at & 1 == 1).map(|at| cells[at]).collect())
}

/// Returns whether an army closes an empty cell of the goal even without a piece: tries all sets of empty cells.
fn is_closed_without(board: Board, piece: Cell, army: CellSet, others: CellSet, side: Side) -> bool {
    let empty = CellSet::first_cells(board.cells()) - army - others;
    let goal = empty & board.goal(side.other());
    let closes = |region| entries(board.geometry(), region).is_subset(army.without(piece));
    subsets(empty.with(piece)).any(|region| !(region & goal).is_empty() && closes(region))
}

/// Returns whether a goal is sealed, straight from the definition.
fn is_sealed(board: Board, army: CellSet, others: CellSet, side: Side) -> bool {
    army.iter().any(|piece| is_closed_without(board, piece, army, others, side))
}

fn position(board: Board, army: CellSet, others: CellSet, side: Side) -> Position {
    let [x, o] = if side == Side::X { [army, others] } else { [others, army] };
    Position::new(board.geometry(), x, o, side, 0).unwrap()
}

/// Returns all sets of `count` of the given cells.
fn choices(cells: CellSet, count: usize) -> Vec<CellSet> {
    let mut found = vec![(CellSet::EMPTY, cells)];
    for _ in 0..count {
        let with_one_more = |&(chosen, rest): &(CellSet, CellSet)| {
            let mut rest = rest;
            let mut more = Vec::new();
            while let Some(cell) = rest.pop_first() {
                more.push((chosen.with(cell), rest));
            }
            more
        };
        found = found.iter().flat_map(with_one_more).collect();
    }
    found.into_iter().map(|(chosen, _)| chosen).collect()
}

#[test]
fn all_positions_of_the_smallest_board_follow_the_definition() {
    for pieces in 1..=4 {
        let board = Board::new(3, pieces).unwrap();
        let (rule, all) = (first(board), CellSet::first_cells(9));
        for army in choices(all, pieces as usize) {
            for others in choices(all - army, pieces as usize) {
                for side in Side::BOTH {
                    let sealed = rule.seal(army, others, side).is_some();
                    assert_eq!(sealed, is_sealed(board, army, others, side), "{army:?} {others:?} {side}");
                }
            }
        }
    }
}

/// Positions of a board with `pieces` whose mover has most pieces near its home.
fn crowded(size: u64, pieces: u64) -> impl Strategy<Value = (CellSet, CellSet, Side)> {
    let board = Board::new(size, pieces).unwrap();
    let cells = board.cells();
    let near = (cells / 2).min(3 * pieces as usize + 2);
    let army = prop::sample::subsequence((0..near).collect::<Vec<_>>(), pieces as usize);
    let order = Just((0..cells).collect::<Vec<_>>()).prop_shuffle();
    (army, order, any::<bool>()).prop_map(move |(army, order, is_x)| {
        let turned = |cell: usize| if is_x { cell } else { cells - 1 - cell };
        let set = |cells: &[usize]| cells.iter().map(|&cell| Cell::new(turned(cell))).collect::<CellSet>();
        let others: Vec<usize> = order.into_iter().filter(|cell| !army.contains(cell)).take(army.len()).collect();
        (set(&army), set(&others), if is_x { Side::X } else { Side::O })
    })
}

/// Returns the moves that the rule does not forbid, by a full test after each move.
fn slow_moves(rule: &SealRule, position: &Position) -> Vec<Move> {
    // Without knowledge of the seals that are possible on the board.
    let rule = SealRule { patterns: Patterns::Any, ..rule.clone() };
    let side = position.side_to_move();
    let is_legal = |mv: &Move| {
        let after = position.after(*mv);
        rule.forbids(after.army(side), after.army(side.other()), side).is_none()
    };
    position.moves().filter(is_legal).collect()
}

fn slow_perft(rule: &SealRule, position: &Position, depth: u32) -> u64 {
    match depth {
        0 => 1,
        _ => slow_moves(rule, position).iter().map(|&mv| slow_perft(rule, &position.after(mv), depth - 1)).sum(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn small_boards_follow_the_definition(
        (size, pieces, (army, others, side)) in prop::sample::select(vec![(4u64, 5u64), (4, 6), (4, 7), (4, 8), (5, 8), (5, 11)])
            .prop_flat_map(|(size, pieces)| (Just(size), Just(pieces), crowded(size, pieces)))
    ) {
        let board = Board::new(size, pieces).unwrap();
        let sealed = first(board).seal(army, others, side);
        prop_assert_eq!(sealed.is_some(), is_sealed(board, army, others, side));
        prop_assert!(sealed.is_none() || first(board).is_near(army, side));
        if let Some(Seal { region, wall, free }) = sealed {
            prop_assert_eq!(entries(board.geometry(), region), wall);
            prop_assert!(wall.is_subset(army) && (region & (army | others)).is_empty());
            prop_assert!(!free.is_empty());
            for piece in free {
                prop_assert!(is_closed_without(board, piece, army, others, side));
            }
        }
    }

    #[test]
    fn fast_moves_are_those_of_the_full_test(
        (size, pieces, (army, others, side)) in (3u64..=11, 1u64..=15)
            .prop_filter("two homes", |&(size, pieces)| 2 * pieces <= size * size && Board::new(size, pieces).is_ok())
            .prop_flat_map(|(size, pieces)| (Just(size), Just(pieces), crowded(size, pieces)))
    ) {
        let board = Board::new(size, pieces).unwrap();
        let position = position(board, army, others, side);
        for rule in [first(board), SealRule::new(board)] {
            let legal = slow_moves(&rule, &position);
            prop_assert_eq!(rule.moves(&position), legal.clone());
            prop_assert!(rule.is_near(army, side) || legal.len() == position.moves().count());
            prop_assert_eq!(rule.perft(&position, 2), slow_perft(&rule, &position, 2));
        }
    }
}

/// Returns armies in which `x` holds the cells of `wall`. Its other pieces and those of `o` are far from its home.
fn walled(board: Board, wall: CellSet) -> (CellSet, CellSet) {
    let mut rest: Vec<Cell> = CellSet::first_cells(board.cells()).iter().collect();
    let far: CellSet = rest.split_off(board.cells() - 2 * board.pieces()).into_iter().collect();
    let own: CellSet = far.iter().take(board.pieces() - wall.len()).collect();
    (wall | own, (far - own).iter().take(board.pieces()).collect())
}

#[test]
fn walls_around_the_tip_need_one_more_piece_than_they_have_cells() {
    for pieces in 3..=15 {
        let board = Board::new(9, pieces).unwrap();
        let (rule, mut patterns) = (first(board), 0);
        // All regions in the first four rows.
        for region in subsets(CellSet::first_cells(10)) {
            let wall = entries(board.geometry(), region);
            if (region & board.home(Side::X)).is_empty() || wall.len() > board.pieces() {
                continue;
            }
            let (army, others) = walled(board, wall);
            let is_enough = wall.len() < board.pieces();
            let sealed = rule.seal(army, others, Side::X);
            assert!(sealed.is_some() || !is_enough, "{pieces}: {region:?}");
            patterns += usize::from(is_enough);
            if sealed.is_none_or(|seal| seal.region != region) {
                continue;
            }
            let is_closed_without =
                |piece| entries(board.geometry(), region.with(piece)).is_subset(wall.without(piece));
            assert!(is_enough || wall.iter().any(is_closed_without), "{pieces}: {region:?}");
            for gap in wall {
                let (army, others) = walled(board, wall.without(gap));
                // The gap may itself be closed by the rest of the wall.
                let open = rule.seal(army, others, Side::X).is_none_or(|seal| seal.region.contains(gap));
                assert!(open, "{region:?} {gap:?}");
                // A piece of the opponent in the wall opens it.
                let others = others.without(others.first().unwrap()).with(gap);
                assert_eq!(rule.seal(army, others, Side::X), None, "{region:?} {gap:?}");
            }
        }
        let expected = match pieces {
            ..=4 => 0,
            5 | 6 => 1,
            _ => patterns,
        };
        assert!(patterns == expected && (patterns > 1 || pieces < 7), "{pieces}: {patterns}");
    }
}

/// Checks that no wall of fewer than `pieces` cells closes a region of the goal, except the tip if `but_the_tip`. Tries
/// all walls. Both armies are outside the region.
fn check_walls(size: u64, pieces: u64, but_the_tip: bool) {
    let board = Board::new(size, pieces).unwrap();
    let (rule, all) = (first(board), CellSet::first_cells(board.cells()));
    let mut wall: Vec<usize> = (0..board.pieces() - 1).collect();
    loop {
        let cells: CellSet = wall.iter().map(|&cell| Cell::new(cell)).collect();
        let mut rest = board.home(Side::X) - cells;
        while let Some(start) = rest.first() {
            let open = CellSet::EMPTY;
            let region = Region::around(start, &rule.reach, |reach| reach - cells, open).unwrap().cells;
            let is_tip = but_the_tip && region == CellSet::first_cells(1);
            // One piece may be inside the region.
            assert!(is_tip || (all - region).len() < 2 * board.pieces() - 1, "{board}: {cells:?} {region:?}");
            // The region is the largest part, and stays that if one of its cells has a piece.
            let is_largest = region.len() - 1 > (all - region - cells).len();
            assert!(is_tip || is_largest || board.cells() < 16, "{board}: {cells:?} {region:?}");
            rest -= region;
        }
        // The next combination.
        let Some(at) = (0..wall.len()).rev().find(|&at| wall[at] < board.cells() - wall.len() + at) else { break };
        wall[at] += 1;
        (at + 1..wall.len()).for_each(|next| wall[next] = wall[next - 1] + 1);
    }
}

#[test]
fn up_to_four_pieces_seal_nothing() {
    for (size, pieces) in (3..=11).flat_map(|size| (2..=4).map(move |pieces| (size, pieces))) {
        if 2 * pieces <= size * size {
            check_walls(size, pieces, false);
        }
    }
}

#[test]
fn five_and_six_pieces_seal_only_the_tip() {
    for (size, pieces) in [(5, 5), (6, 5), (7, 5), (8, 5), (9, 5), (5, 6), (6, 6), (7, 6)] {
        check_walls(size, pieces, true);
    }
}

#[test]
#[ignore = "takes minutes"]
fn five_and_six_pieces_seal_only_the_tip_of_large_boards() {
    for (size, pieces) in [(10, 5), (11, 5), (8, 6), (9, 6), (10, 6), (11, 6)] {
        check_walls(size, pieces, true);
    }
}

/// Enumerates the closed regions of a board with small walls, as pairs of region and wall.
///
/// A region with a wall of fewer than `pieces` cells has at least two wall cells on each line of cells with one x (or
/// one y) that it meets, unless the line has at most one cell outside the region. So either the region meets at most
/// `(pieces - 1) / 2` lines of each kind, or it has almost a whole line. In the second case the cells outside region and
/// wall have a wall in the same cells, and by the same count they meet at most `pieces / 2` lines of each kind.
struct Regions<'a> {
    rule: &'a SealRule,
    /// The cells of each line: all x, then all y.
    lines: [Vec<CellSet>; 2],
    most_wall: usize,
    most_lines: usize,
    found: std::collections::BTreeSet<(CellSet, CellSet)>,
}

impl Regions<'_> {
    fn new(rule: &SealRule, board: Board, most_lines: usize) -> Regions<'_> {
        let line = |of: fn((u8, u8)) -> u8| {
            let cells = |at: usize| {
                let all = CellSet::first_cells(board.cells()).iter();
                all.filter(|&cell| usize::from(of(rule.geometry.coordinates(cell))) == at).collect()
            };
            (0..board.size()).map(cells).collect()
        };
        let lines = [line(|(x, _)| x), line(|(_, y)| y)];
        Regions { rule, lines, most_wall: board.pieces() - 1, most_lines, found: Default::default() }
    }

    /// Decides each cell in the reach of the region: it is in the region or in the wall.
    fn extend(&mut self, region: CellSet, reach: CellSet, wall: CellSet) {
        let Some(cell) = (reach - region - wall).first() else {
            self.found.insert((region, wall));
            return;
        };
        if wall.len() < self.most_wall {
            self.extend(region, reach, wall.with(cell));
        }
        let larger = region.with(cell);
        let met = |lines: &Vec<CellSet>| lines.iter().filter(|line| !(**line & larger).is_empty()).count();
        if self.lines.iter().all(|lines| met(lines) <= self.most_lines) {
            self.extend(larger, reach | self.rule.reach[cell.index()], wall);
        }
    }

    fn from(&mut self, cells: CellSet) {
        cells.iter().for_each(|cell| self.extend(cell.into(), self.rule.reach[cell.index()], CellSet::EMPTY));
    }
}

/// Checks that all seals of a board are in the zone of its rule.
fn check_zone(size: u64, pieces: u64) {
    let board = Board::new(size, pieces).unwrap();
    let rule = first(board);
    let Patterns::Zones(zones) = &rule.patterns else { panic!("{board} has no zone") };
    let mut regions = Regions::new(&rule, board, (board.pieces() - 1) / 2);
    regions.from(board.home(Side::X));
    assert!(regions.found.len() > 2);
    for (region, wall) in &regions.found {
        assert!(region.is_subset(zones[0].cells), "{board}: {region:?} {wall:?}");
    }
    // No more than `pieces` cells can be behind walls, but more pieces than these are outside region and wall.
    let mut outside = Regions::new(&rule, board, board.pieces() / 2);
    outside.from(CellSet::first_cells(board.cells()));
    let found: Vec<_> = outside.found.into_iter().collect();
    assert!(found.iter().all(|(cells, _)| cells.len() <= board.pieces()), "{board}");
    // So what is around them is the largest part.
    assert!(board.cells() - 2 * board.pieces() > board.pieces(), "{board}");
    for (at, (cells, wall)) in found.iter().enumerate() {
        for (other, other_wall) in &found[..at] {
            let apart = (*other & (*cells | *wall)).is_empty() && (*cells & *other_wall).is_empty();
            let fits = (*wall | *other_wall).len() < board.pieces();
            // Two cells of two regions: too few even for three such regions.
            assert!(!apart || !fits || (*cells | *other).len() <= 2, "{board}: {cells:?} {other:?}");
        }
    }
}

#[test]
fn seven_to_ten_pieces_seal_only_in_their_zones() {
    (7..=11).for_each(|size| (7..=10).for_each(|pieces| check_zone(size, pieces)));
}

#[test]
fn a_seal_that_is_given_must_be_broken_if_possible() {
    let board = Board::new(9, 6).unwrap();
    let rule = first(board);
    let sealed: Position = "7oo/7oo/8o/8o/9/9/x8/xx7/1xx5x x 20".parse().unwrap();
    let moves = rule.moves(&sealed);
    // Moves of the pieces outside the wall keep the seal.
    assert!(!moves.is_empty() && moves.len() < sealed.moves().count());
    assert!(moves.iter().all(|mv| mv.from.index() < 6), "{moves:?}");
    assert_eq!(rule.perft(&sealed, 3), slow_perft(&rule, &sealed, 3));
    // The opponent may move freely.
    let other: Position = "9/9/9/9/oooooo3/9/x8/xx7/1xx5x o 21".parse().unwrap();
    assert_eq!(rule.moves(&other), other.moves().collect::<Vec<_>>());
}

/// Eight of ten pieces are a wall, and two move behind it.
#[test]
fn a_goal_is_sealed_if_a_piece_behind_the_wall_can_move() {
    let board = Board::new(9, 10).unwrap();
    let (rule, geometry) = (first(board), board.geometry());
    let cells = |text: &str| geometry.parse_cells(text).unwrap();
    let (wall, region) = (cells("e9,g7,i5,f9,g8,h7,i6,h8"), cells("g9,i7,i9,h9,i8"));
    assert_eq!(entries(geometry, region), wall);
    let others = CellSet::first_cells(10);
    for inner in choices(region, 2) {
        let position = position(board, wall | inner, others, Side::O);
        let (side, seal) = rule.sealed(&position).unwrap();
        assert_eq!((side, seal.region), (Side::O, region - inner));
        // A piece of the wall must break the seal.
        assert!(rule.moves(&position).iter().all(|mv| wall.contains(mv.from)), "{position}");
    }
}

/// Enumerates armies of which some pieces are a wall and all others are behind it.
#[test]
fn armies_that_are_wall_and_inside_seal_and_may_not_be_completed() {
    for pieces in [8, 9, 10] {
        let board = Board::new(9, pieces).unwrap();
        let (rule, all) = (first(board), CellSet::first_cells(board.cells()));
        let others: CellSet = (0..board.pieces()).map(|at| Cell::new(board.cells() - 1 - at)).collect();
        let mut regions = Regions::new(&rule, board, (board.pieces() - 1) / 2);
        regions.from(board.home(Side::X));
        let (mut armies, mut forbidden) = (0, 0);
        for &(region, wall) in &regions.found {
            for inner in choices(region, board.pieces() - wall.len()) {
                let army = wall | inner;
                if (board.home(Side::X) & (region - inner)).is_empty() {
                    continue;
                }
                armies += 1;
                assert!(rule.seal(army, others, Side::X).is_some(), "{army:?}");
                // The positions one step before.
                for last in army {
                    for from in board.geometry().neighbors(last) & (all - army - others) {
                        let before = position(board, army.without(last).with(from), others, Side::X);
                        let legal = rule.moves(&before);
                        assert_eq!(legal, slow_moves(&rule, &before), "{before}");
                        forbidden += usize::from(!legal.contains(&Move { from, to: last }));
                    }
                }
            }
        }
        assert!(armies > 0 && forbidden > armies, "{pieces}: {armies}, {forbidden}");
    }
}
