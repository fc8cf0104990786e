//! Iterative deepening over principal-variation search.

use std::sync::atomic::AtomicBool;

use sternhalma_data::Move;
use sternhalma_ggp::Limits;

use super::meter::Meter;
use super::moves::{Candidate, Cuts, generate};
use super::node::{Node, Rules};
use super::table::{Bound, Entry, TranspositionTable};
use super::value::{self, LEAST_WIN, WIN, from_table, is_proof, to_table};
use crate::config::PvsConfig;
use crate::filter::Filter;
use crate::game::{Action, State};
use crate::player::{Choice, Insight, Value};

/// The most plies of a search.
pub(super) const MOST_PLIES: u32 = 100;

/// What a player keeps from move to move.
pub(super) struct Memory {
    pub table: TranspositionTable,
    pub cuts: Cuts,
}

/// How far from the last value an aspiration window reaches at first.
const WINDOW: i32 = 60;

/// One search for a move.
pub(super) struct Search<'a> {
    rules: &'a mut Rules,
    memory: &'a mut Memory,
    config: &'a PvsConfig,
    meter: Meter<'a>,
    /// The moves of all nodes on the path.
    moves: Vec<Candidate>,
    /// Whether a node where the armies have passed each other is a leaf.
    race_is_leaf: bool,
}

impl<'a> Search<'a> {
    pub fn new(
        rules: &'a mut Rules,
        memory: &'a mut Memory,
        config: &'a PvsConfig,
        limits: Limits,
        stop: &'a AtomicBool,
    ) -> Search<'a> {
        let clock_every = if rules.lookup.is_fast() { 16 } else { 1 };
        let meter = Meter::new(limits, stop, clock_every);
        Search { rules, memory, config, meter, moves: Vec::new(), race_is_leaf: true }
    }

    /// The move to play of a state, which does not lead to one of the states
    /// in `seen` if others do not; `watch` is told of each depth.
    pub fn run(mut self, state: &State, seen: &[u64], depth: u32, watch: &mut dyn FnMut(&Insight)) -> Choice {
        let root = self.rules.root(state, MOST_PLIES);
        self.race_is_leaf = !value::have_passed(self.rules, state);
        self.meter.spend();
        let mut moves = Vec::new();
        generate(self.rules, &root, self.config.moves, &mut moves);
        let all = moves.len();
        let repeats = |rules: &Rules, c: &Candidate| seen.contains(&rules.after(&root, Some(c.mv), c.standing).key);
        if moves.iter().any(|candidate| !repeats(self.rules, candidate)) {
            moves.retain(|candidate| !repeats(self.rules, candidate));
        }
        let best = self.memory.table.get(root.key).and_then(|entry| entry.best);
        self.memory.cuts.order(&root, best, 0, &mut moves);
        moves.sort_by_key(|candidate| std::cmp::Reverse(candidate.order));
        let complete = moves.len() == all && self.config.moves == Filter::All;
        let (mut action, mut last) = (moves.first().map(|candidate| candidate.mv), None);
        for depth in 1..=depth.clamp(1, MOST_PLIES) {
            let found = self.aspire(&root, &mut moves, depth, last);
            action = moves.first().map(|candidate| candidate.mv);
            let Some(value) = found else { break };
            // Not all ways out were looked at.
            let value = if complete { value } else { value.max(1 - LEAST_WIN) };
            last = Some(value);
            self.meter.reached(depth);
            watch(&self.insight(&root, action, value));
            if is_proof(value) || moves.len() < 2 && !self.race_is_leaf {
                break;
            }
        }
        Choice { action, spent: self.meter.spent() }
    }

    /// The value of the root, in a window about that of the last depth. The
    /// best move is brought to the front, of a search that is cut short too.
    fn aspire(&mut self, root: &Node, moves: &mut [Candidate], depth: u32, last: Option<i32>) -> Option<i32> {
        let (mut alpha, mut beta) = last.map_or((-WIN, WIN), |last| (last - WINDOW, last + WINDOW));
        let mut window = WINDOW;
        loop {
            let value = self.root(root, moves, depth, alpha.max(-WIN), beta.min(WIN))?;
            window = window.saturating_mul(4);
            if value <= alpha && alpha > -WIN {
                alpha = value.saturating_sub(window);
            } else if value >= beta && beta < WIN {
                beta = value.saturating_add(window);
            } else {
                return Some(value);
            }
        }
    }

    fn root(&mut self, root: &Node, moves: &mut [Candidate], depth: u32, mut alpha: i32, beta: i32) -> Option<i32> {
        let mut best = i32::MIN;
        for index in 0..moves.len() {
            let Candidate { mv, standing, .. } = moves[index];
            let child = self.rules.after(root, Some(mv), standing);
            let value = match index {
                0 => -self.value(&child, depth - 1, 1, -beta, -alpha)?,
                _ => {
                    let value = -self.value(&child, depth - 1, 1, -alpha - 1, -alpha)?;
                    if value > alpha { -self.value(&child, depth - 1, 1, -beta, -alpha)? } else { value }
                }
            };
            if value > best {
                best = value;
            }
            if value > alpha {
                alpha = value;
                moves[..=index].rotate_right(1);
            }
            if alpha >= beta {
                break;
            }
        }
        Some(best)
    }

    /// The value of a node to the player to move, within the window; none if
    /// a limit is reached.
    fn value(&mut self, node: &Node, depth: u32, ply: u32, mut alpha: i32, beta: i32) -> Option<i32> {
        if let Some(outcome) = node.state.outcome() {
            return Some(value::of_outcome(outcome, node.state.player(), ply));
        }
        if depth == 0 || ply >= MOST_PLIES || self.race_is_leaf && value::have_passed(self.rules, &node.state) {
            return Some(value::of_node(self.rules, node));
        }
        let known = self.memory.table.get(node.key);
        let is_pv = beta - alpha > 1;
        if let Some(value) = known.filter(|_| !is_pv).and_then(|known| bounded(known, depth, ply, alpha, beta)) {
            return Some(value);
        }
        if self.config.pruning && !is_pv && !is_proof(beta) {
            if let Some(value) = self.prune(node, depth, ply, beta)? {
                return Some(value);
            }
        }
        if !self.meter.spend() {
            return None;
        }
        let first = self.moves.len();
        generate(self.rules, node, self.config.moves, &mut self.moves);
        self.memory.cuts.order(node, known.and_then(|known| known.best), ply, &mut self.moves[first..]);
        let (before, mut best, mut best_move) = (alpha, i32::MIN, None);
        if self.moves.len() == first {
            let child = self.rules.after(node, None, node.standings[node.state.player() as usize]);
            best = -self.value(&child, depth - 1, ply + 1, -beta, -alpha)?;
        }
        // What filters leave out may be a way out of a loss.
        if self.config.moves != Filter::All {
            best = 1 - LEAST_WIN;
        }
        for index in first..self.moves.len() {
            bring_best(&mut self.moves[index..]);
            let candidate = self.moves[index];
            let value = match self.of_move(node, candidate, index - first, depth, ply, alpha, beta, best)? {
                Ok(value) => value,
                Err(skipped) => {
                    best = best.max(skipped);
                    continue;
                }
            };
            if value > best {
                (best, best_move) = (value, Some(candidate.mv));
            }
            alpha = alpha.max(value);
            if alpha >= beta {
                let (others, player) = (&self.moves[first..index], node.state.player());
                self.memory.cuts.cut(player, candidate.mv, others, depth, ply);
                break;
            }
        }
        self.moves.truncate(first);
        self.remember(node, depth, ply, best, best_move, before, beta);
        Some(best)
    }

    /// The value after a move, or, if it is not worth searching, what it could reach at most.
    #[allow(clippy::too_many_arguments)]
    fn of_move(
        &mut self,
        node: &Node,
        candidate: Candidate,
        index: usize,
        depth: u32,
        ply: u32,
        alpha: i32,
        beta: i32,
        best: i32,
    ) -> Option<Result<i32, i32>> {
        let child = self.rules.after(node, Some(candidate.mv), candidate.standing);
        if index == 0 {
            return Some(Ok(-self.value(&child, depth - 1, ply + 1, -beta, -alpha)?));
        }
        let is_pv = beta - alpha > 1;
        let gain = candidate.standing.worth - node.standings[node.state.player() as usize].worth;
        if self.config.pruning
            && !is_pv
            && (2..=4).contains(&depth)
            && child.state.outcome().is_none()
            && best > -LEAST_WIN
        {
            let reach = -value::of_node(self.rules, &child) + self.config.futility * (depth as i32 - 1);
            if reach <= alpha {
                return Some(Err(reach));
            }
        }
        let mut reduced = depth - 1;
        if self.config.reductions && depth >= 3 {
            reduced = (depth - 1).saturating_sub(reduction(depth, index, gain)).max(1);
        }
        let mut value = -self.value(&child, reduced, ply + 1, -alpha - 1, -alpha)?;
        if value > alpha && reduced < depth - 1 {
            value = -self.value(&child, depth - 1, ply + 1, -alpha - 1, -alpha)?;
        }
        if value > alpha && value < beta {
            value = -self.value(&child, depth - 1, ply + 1, -beta, -alpha)?;
        }
        Some(Ok(value))
    }

    /// A value of at least `beta` if the node is that good without a move.
    fn prune(&mut self, node: &Node, depth: u32, ply: u32, beta: i32) -> Option<Option<i32>> {
        let standing = value::of_node(self.rules, node);
        if depth <= 3 && standing - self.config.futility * depth as i32 >= beta {
            return Some(Some(standing));
        }
        if depth >= 3 && standing >= beta && !node.state.has_passed() {
            let skipped = self.rules.skipped(node);
            let reduced = (depth - 1).saturating_sub(2 + depth / 4);
            let value = -self.value(&skipped, reduced, ply + 1, -beta, 1 - beta)?;
            if value >= beta {
                return Some(Some(value.min(LEAST_WIN - 1)));
            }
        }
        Some(None)
    }

    fn remember(&mut self, node: &Node, depth: u32, ply: u32, best: i32, mv: Option<Move>, alpha: i32, beta: i32) {
        let bound = match best {
            _ if best >= beta => Bound::Lower,
            _ if best <= alpha => Bound::Upper,
            _ => Bound::Exact,
        };
        let best_move = if bound == Bound::Upper { None } else { mv };
        let entry = Entry { value: to_table(best, ply), depth: depth as u8, bound, best: best_move };
        self.memory.table.put(node.key, entry);
    }

    fn insight(&mut self, root: &Node, action: Action, value: i32) -> Insight {
        let value = match value {
            won if won >= LEAST_WIN => Value::Won((WIN - won) as u32),
            lost if lost <= -LEAST_WIN => Value::Lost((WIN + lost) as u32),
            _ => Value::Lead(value::lead_of(value)),
        };
        let spent = self.meter.spent();
        Insight { spent, value: Some(value), line: self.line(root, action, spent.depth) }
    }

    /// The principal variation as far as the table has it.
    fn line(&mut self, root: &Node, action: Action, depth: u32) -> Vec<Action> {
        let (mut line, mut state, mut next) = (Vec::new(), root.state, action);
        while let Some(mv) = next {
            line.push(next);
            self.rules.game.play_action(&mut state, Some(mv));
            if line.len() >= depth as usize || state.outcome().is_some() {
                break;
            }
            let known = self.memory.table.get(self.rules.key(&state)).and_then(|entry| entry.best);
            next = known.filter(|&mv| {
                let pieces = self.rules.game.pieces(&state, self.config.moves);
                pieces.iter().any(|(from, to)| from == mv.from && to.contains(mv.to))
            });
        }
        if line.is_empty() { vec![action] } else { line }
    }
}

/// Brings the move that is to be searched next to the front.
#[inline]
fn bring_best(moves: &mut [Candidate]) {
    let best = (0..moves.len()).max_by_key(|&index| (moves[index].order, std::cmp::Reverse(index)));
    if let Some(best) = best {
        moves.swap(0, best);
    }
}

/// The value of an entry, if it is deep enough and its bound decides.
#[inline]
fn bounded(known: Entry, depth: u32, ply: u32, alpha: i32, beta: i32) -> Option<i32> {
    let value = from_table(known.value, ply);
    let decides = match known.bound {
        Bound::Exact => true,
        Bound::Lower => value >= beta,
        Bound::Upper => value <= alpha,
    };
    (decides && (u32::from(known.depth) >= depth || is_proof(value))).then_some(value)
}

/// The plies that a late move is searched less deeply.
fn reduction(depth: u32, index: usize, gain: i32) -> u32 {
    let late = (depth as f32).ln() * (index as f32).ln() / 2.0;
    (late + if gain < 0 { 1.0 } else { 0.0 }) as u32
}
