//! The solver against retrograde analysis with a queue, over positions with named players and moves by coordinates.

use std::collections::{HashMap, VecDeque};

use rayon::ThreadPoolBuilder;
use sternhalma_data::board::{BlockedGoal, GameRules, SealRule, Switches, WithoutMove, WonAlready};
use sternhalma_data::solution::Value;
use sternhalma_data::{Board, Cell, CellSet, RuleSet, Side, State, States};

use super::solver::{Solution, solve, solve_rules};

type Point = (i32, i32);

/// A position: the armies of `x` and `o` as bits of the cells, and the player to move.
type Armies = (u128, u128, Side);

/// The rules and the moves, written a second time.
struct Oracle {
    board: Board,
    switches: Switches,
    seal: Option<SealRule>,
    points: Vec<Point>,
    numbers: HashMap<Point, usize>,
}

const DIRECTIONS: [Point; 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];

impl Oracle {
    fn new(board: Board, switches: Switches) -> Oracle {
        let geometry = board.geometry();
        let points: Vec<Point> = (0..board.cells())
            .map(|cell| {
                let (x, y) = geometry.coordinates(Cell::new(cell));
                (i32::from(x), i32::from(y))
            })
            .collect();
        let numbers = points.iter().enumerate().map(|(number, &point)| (point, number)).collect();
        let seal = SealRule::of_switch(switches.blocked_goal, board);
        Oracle { board, switches, seal, points, numbers }
    }

    fn goal(&self, side: Side) -> u128 {
        self.board.goal(side).bits()
    }

    fn has_won(&self, army: u128, others: u128, side: Side) -> bool {
        let goal = self.goal(side);
        goal & !(army | others) == 0 && goal & army != 0
    }

    /// Returns whether `army`, of the opponent of `side`, surrounds the empty tip of the goal of `side`.
    fn seals_tip(&self, army: u128, others: u128, side: Side) -> bool {
        let tip = if side == Side::O { 0 } else { self.board.cells() - 1 };
        let (x, y) = self.points[tip];
        let near = DIRECTIONS.iter().flat_map(|(dx, dy)| [(x + dx, y + dy), (x + 2 * dx, y + 2 * dy)]);
        let mut near = near.filter_map(|point| self.numbers.get(&point));
        (army | others) >> tip & 1 == 0 && near.all(|&cell| army >> cell & 1 != 0)
    }

    /// Returns the value if the position is over or illegal.
    fn end(&self, &(x, o, side): &Armies) -> Option<Value> {
        let switches = self.switches;
        let (army, others) = if side == Side::X { (x, o) } else { (o, x) };
        let has_won = self.has_won(army, others, side);
        let is_sealed = || self.seals_tip(x, o, Side::O) || self.seals_tip(o, x, Side::X);
        if has_won && switches.won_already == WonAlready::Illegal
            || switches.blocked_goal == BlockedGoal::Tip && is_sealed()
        {
            Some(Value::Illegal)
        } else if self.has_won(others, army, side.other()) {
            Some(Value::Loss(0))
        } else {
            has_won.then_some(Value::Win(0))
        }
    }

    fn after(&self, &(x, o, side): &Armies, change: u128) -> Armies {
        match side {
            Side::X => (x ^ change, o, Side::O),
            Side::O => (x, o ^ change, Side::X),
        }
    }

    /// Returns the positions after all legal moves.
    fn successors(&self, position: &Armies) -> Vec<Armies> {
        let &(x, o, side) = position;
        let (army, switches) = (if side == Side::X { x } else { o }, self.switches);
        let mut found = Vec::new();
        for from in (0..self.board.cells()).filter(|from| army >> from & 1 != 0) {
            let others = (x | o) & !(1 << from);
            for to in self.destinations(others, from) {
                let goal = self.goal(side);
                if switches.locks_goal && goal >> from & 1 != 0 && goal >> to & 1 == 0 {
                    continue;
                }
                let after = self.after(position, 1 << from | 1 << to);
                let (own, other) = if side == Side::X { (after.0, after.1) } else { (after.1, after.0) };
                let [own, other] = [own, other].map(CellSet::from_bits);
                let is_forbidden = self.seal.as_ref().is_some_and(|seal| seal.forbids(own, other, side).is_some());
                if !is_forbidden && self.end(&after) != Some(Value::Illegal) {
                    found.push(after);
                }
            }
        }
        found
    }

    fn destinations(&self, others: u128, from: usize) -> Vec<usize> {
        let is_taken = |point: Point| self.numbers.get(&point).map(|&cell| others >> cell & 1 != 0);
        let (x, y) = self.points[from];
        let steps = DIRECTIONS.iter().map(|(dx, dy)| (x + dx, y + dy)).filter(|&point| is_taken(point) == Some(false));
        let mut reached: Vec<Point> = vec![(x, y)];
        let mut at = 0;
        while at < reached.len() {
            let (x, y) = reached[at];
            for (dx, dy) in DIRECTIONS {
                let (over, to) = ((x + dx, y + dy), (x + 2 * dx, y + 2 * dy));
                if is_taken(over) == Some(true) && is_taken(to) == Some(false) && !reached.contains(&to) {
                    reached.push(to);
                }
            }
            at += 1;
        }
        let mut all: Vec<usize> = steps.chain(reached[1..].iter().copied()).map(|point| self.numbers[&point]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn solve(&self) -> HashMap<Armies, Value> {
        let pieces = self.board.pieces();
        let sets = || States::of_ranks(pieces, 0..self.board.states()).map(|(_, state)| state.cells().bits());
        let pairs = sets().flat_map(|x| sets().filter(move |o| x & o == 0).map(move |o| (x, o)));
        let positions: Vec<Armies> = pairs.flat_map(|(x, o)| Side::BOTH.map(|side| (x, o, side))).collect();
        let numbers: HashMap<Armies, usize> =
            positions.iter().enumerate().map(|(at, &position)| (position, at)).collect();
        let mut values: Vec<Option<Value>> = positions.iter().map(|position| self.end(position)).collect();
        // The moves that are left, and the positions before each one.
        let (mut left, mut before) = (vec![0; positions.len()], vec![Vec::new(); positions.len()]);
        let mut queue: VecDeque<usize> = (0..positions.len()).filter(|&at| values[at].is_some()).collect();
        for (at, position) in positions.iter().enumerate().filter(|&(at, _)| values[at].is_none()).collect::<Vec<_>>() {
            let mut after = self.successors(position);
            if after.is_empty() {
                match self.switches.without_move {
                    WithoutMove::Passes => after.push(self.after(position, 0)),
                    WithoutMove::Loses => {
                        values[at] = Some(Value::Loss(0));
                        queue.push_back(at);
                        continue;
                    }
                }
            }
            left[at] = after.len();
            after.iter().for_each(|after| before[numbers[after]].push(at as u32));
        }
        while let Some(at) = queue.pop_front() {
            for &source in &before[at] {
                let source = source as usize;
                if values[source].is_some() {
                    continue;
                }
                values[source] = match values[at] {
                    Some(Value::Loss(plies)) => Some(Value::Win(plies + 1)),
                    Some(Value::Win(plies)) => {
                        left[source] -= 1;
                        (left[source] == 0).then_some(Value::Loss(plies + 1))
                    }
                    _ => None,
                };
                if values[source].is_some() {
                    queue.push_back(source);
                }
            }
        }
        positions.into_iter().zip(values).map(|(position, value)| (position, value.unwrap_or(Value::Draw))).collect()
    }
}

fn solution(board: Board, rules: RuleSet, threads: usize) -> Solution {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    solve(board, rules, &pool, &()).unwrap()
}

/// Compares the solution of a board with the oracle in every position.
fn check(board: Board, switches: Switches) {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let found = solve_rules(&GameRules::with_switches(switches, board), &pool, &()).unwrap();
    let mut counts: HashMap<Value, u64> = HashMap::new();
    for ((x, o, side), value) in Oracle::new(board, switches).solve() {
        let states =
            [(Side::X, x), (Side::O, o)].map(|(side, army)| State::from_army(board, side, CellSet::from_bits(army)));
        let [mover, opponent] = if side == Side::X { states } else { [states[1], states[0]] };
        assert_eq!(
            found.value(mover, opponent),
            value,
            "{board}, {switches:?}: {mover:?} to move against {opponent:?}"
        );
        *counts.entry(value).or_default() += 1;
    }
    // Each position occurs once with `x` to move, and once with `o`.
    for layer in found.layers() {
        assert_eq!(2 * layer.positions, counts.remove(&layer.value).unwrap_or(0), "{board}: {:?}", layer.value);
    }
    assert_eq!(2 * found.illegal(), counts.remove(&Value::Illegal).unwrap_or(0));
    assert_eq!(2 * found.draws(), counts.remove(&Value::Draw).unwrap_or(0));
    assert!(counts.is_empty(), "{board}: {counts:?}");
}

fn board(size: u64, pieces: u64) -> Board {
    Board::new(size, pieces).unwrap()
}

fn shaped(size: u64, cells: &[usize]) -> Board {
    let goal = cells.iter().map(|&cell| Cell::new(cell)).collect();
    board(size, cells.len() as u64).with_goal(goal).unwrap()
}

#[test]
fn small_boards_agree_with_retrograde_analysis_under_all_rules() {
    let mut boards: Vec<Board> =
        [(3, 1), (3, 2), (3, 3), (3, 4), (4, 1), (4, 2), (4, 8), (5, 1), (6, 1), (7, 1), (5, 2)]
            .map(|(size, pieces)| board(size, pieces))
            .to_vec();
    boards.extend([shaped(3, &[0, 1, 3]), shaped(4, &[0, 2]), shaped(4, &[1, 2]), shaped(3, &[0, 1, 2, 4])]);
    for board in boards.into_iter().filter(|board| board.homes_are_apart()) {
        RuleSet::SOLVED.into_iter().for_each(|rules| check(board, rules.switches()));
    }
}

#[test]
fn every_combination_of_switches_agrees_with_retrograde_analysis() {
    let blocked_goals = [BlockedGoal::Allowed, BlockedGoal::First, BlockedGoal::Second, BlockedGoal::Tip];
    for board in [board(3, 1), board(3, 2), board(3, 3), board(3, 4), board(4, 2)] {
        if !board.homes_are_apart() {
            continue;
        }
        for blocked_goal in blocked_goals {
            for locks_goal in [false, true] {
                for won_already in [WonAlready::Ends, WonAlready::Illegal] {
                    for without_move in [WithoutMove::Passes, WithoutMove::Loses] {
                        let drawn_occurrence = None;
                        check(
                            board,
                            Switches { blocked_goal, locks_goal, won_already, without_move, drawn_occurrence },
                        );
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn boards_up_to_a_million_positions_agree_with_retrograde_analysis() {
    let boards =
        [(4, 3), (4, 4), (4, 7), (6, 2), (8, 1), (9, 1), (10, 1), (11, 1)].map(|(size, pieces)| board(size, pieces));
    for board in boards.into_iter().chain([shaped(4, &[0, 1, 2, 4])]) {
        RuleSet::SOLVED.into_iter().for_each(|rules| check(board, rules.switches()));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for (size, pieces, rules) in
        [(5, 2, RuleSet::Sturtevant2019), (4, 3, RuleSet::Paper), (4, 7, RuleSet::BlockedGoal2)]
    {
        let board = board(size, pieces);
        let [one, two, seven] = [1, 2, 7].map(|threads| solution(board, rules, threads));
        assert!(one.blocks() == two.blocks() && one.blocks() == seven.blocks(), "{board}");
        assert!(one.layers() == two.layers() && one.layers() == seven.layers(), "{board}");
    }
}

/// The published counts have both sides to move and the wins of one player [Sturtevant 2019, Table 1].
#[test]
fn the_counts_of_boards_with_one_and_two_pieces_are_the_published_ones() {
    for (pieces, wins, illegal) in [(1, 2_304, 96), (2, 1_265_851, 10_810)] {
        let found = solution(board(7, pieces), RuleSet::Sturtevant2019, 2);
        let decided: u64 = found.layers().iter().map(|layer| layer.positions).sum();
        assert_eq!((decided, 2 * found.draws(), 2 * found.illegal()), (wins, 0, illegal));
    }
}
