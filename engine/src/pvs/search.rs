//! Iterative deepening over principal-variation search.

use std::sync::atomic::AtomicBool;

use sternhalma_data::Move;
use sternhalma_ggp::Limits;

use super::meter::Meter;
use super::moves::{Candidate, Cuts, generate};
use super::node::{Node, Rules};
use super::table::{Bound, Entry, TranspositionTable};
use super::value::{self, LEAST_WIN, UNPROVEN, WIN, from_table, is_proof, to_table};
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

/// Null moves are tried from this depth on.
const NULL_DEPTH: u32 = 3;

/// Late moves are reduced from this depth on.
const REDUCED_DEPTH: u32 = 3;

/// Up to this depth a node that is far above the window is not searched.
const STANDING_DEPTH: u32 = 3;

/// Up to this depth a move that stays far below the window is not searched.
const FUTILE_DEPTH: u32 = 4;

/// How a node is searched.
#[derive(Clone, Copy)]
struct Span {
    /// The plies left.
    depth: u32,
    /// The plies from the root.
    ply: u32,
    alpha: i32,
    beta: i32,
}

impl Span {
    /// Whether only a bound is asked for.
    fn is_null(self) -> bool {
        self.beta - self.alpha == 1
    }

    /// The span of a child, of so many plies.
    fn child(self, depth: u32) -> Span {
        Span { depth, ply: self.ply + 1, alpha: -self.beta, beta: -self.alpha }
    }

    /// The span that only asks whether a value is above alpha.
    fn above_alpha(self) -> Span {
        Span { beta: self.alpha + 1, ..self }
    }

    /// The span that only asks whether a value is at least beta.
    fn at_least_beta(self) -> Span {
        Span { alpha: self.beta - 1, ..self }
    }
}

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

    /// The move to play in a state that has one, which does not lead to one
    /// of the states `seen` if others do not; `watch` is told of each depth.
    pub fn run(mut self, state: &State, seen: &[u64], depth: u32, watch: &mut dyn FnMut(&Insight)) -> Choice {
        let root = self.rules.root(state, MOST_PLIES);
        self.race_is_leaf = !value::have_passed(self.rules, state);
        let (mut moves, complete) = self.root_moves(&root, seen);
        let mut last = None;
        for depth in 1..=depth.clamp(1, MOST_PLIES) {
            let Some(value) = self.aspire(&root, &mut moves, depth, last) else { break };
            // Not all ways out of a loss were looked at.
            let value = if complete { value } else { value.max(-UNPROVEN) };
            last = Some(value);
            self.meter.reached(depth);
            watch(&self.insight(&root, moves[0].mv, value));
            if is_proof(value) {
                break;
            }
        }
        Choice { action: moves.first().map(|candidate| candidate.mv), spent: self.meter.spent() }
    }

    /// The moves of the root in order, and whether these are all there are.
    fn root_moves(&mut self, root: &Node, seen: &[u64]) -> (Vec<Candidate>, bool) {
        self.meter.spend();
        let mut moves = Vec::new();
        generate(self.rules, root, self.config.moves, &mut moves);
        let all = moves.len();
        let mut fresh = moves.clone();
        fresh.retain(|candidate| {
            let child = self.rules.after(root, Some(candidate.mv), candidate.standing);
            !seen.contains(&self.rules.placement_key(&child.state))
        });
        if !fresh.is_empty() {
            moves = fresh;
        }
        let best = self.memory.table.get(root.key).and_then(|entry| entry.best);
        self.memory.cuts.order(root, best, 0, &mut moves);
        moves.sort_by_key(|candidate| std::cmp::Reverse(candidate.order));
        let complete = moves.len() == all && self.config.moves == Filter::All;
        (moves, complete)
    }

    /// The value of the root, in a window about that of the last depth. The
    /// best move is brought to the front, by a search that is cut short too.
    fn aspire(&mut self, root: &Node, moves: &mut [Candidate], depth: u32, last: Option<i32>) -> Option<i32> {
        let (mut alpha, mut beta) = last.map_or((-WIN, WIN), |last| (last - WINDOW, last + WINDOW));
        let mut window = WINDOW;
        loop {
            let span = Span { depth, ply: 0, alpha: alpha.max(-WIN), beta: beta.min(WIN) };
            let value = self.root(root, moves, span)?;
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

    fn root(&mut self, root: &Node, moves: &mut [Candidate], mut span: Span) -> Option<i32> {
        let mut best = -WIN;
        for index in 0..moves.len() {
            let Candidate { mv, standing, .. } = moves[index];
            let child = self.rules.after(root, Some(mv), standing);
            let value = self.after_move(&child, span, index == 0, span.depth - 1)?;
            best = best.max(value);
            if value > span.alpha {
                span.alpha = value;
                moves[..=index].rotate_right(1);
            }
            if value >= span.beta {
                break;
            }
        }
        Some(best)
    }

    /// The value of a node to the player to move, as far as the window tells
    /// it; none if a limit is reached.
    fn value(&mut self, node: &Node, span: Span) -> Option<i32> {
        if let Some(outcome) = node.state.outcome() {
            return Some(value::of_outcome(outcome, node.state.player(), span.ply));
        }
        let is_leaf = span.depth == 0 || span.ply >= MOST_PLIES;
        if is_leaf || self.race_is_leaf && value::have_passed(self.rules, &node.state) {
            return Some(value::of_node(self.rules, node));
        }
        let known = self.memory.table.get(node.key);
        if span.is_null() {
            if let Some(value) = known.and_then(|known| bounded(known, span)) {
                return Some(value);
            }
            if let Some(value) = self.without_move(node, span)? {
                return Some(value);
            }
        }
        if !self.meter.spend() {
            return None;
        }
        let first = self.moves.len();
        generate(self.rules, node, self.config.moves, &mut self.moves);
        let (best, best_move) = match (self.moves.len() - first, span.depth) {
            (0, depth) => {
                let child = self.rules.after(node, None, node.standings[node.state.player() as usize]);
                (-self.value(&child, span.child(depth - 1))?, None)
            }
            (_, 1) => self.of_leaves(node, first, span),
            _ => self.of_moves(node, first, known.and_then(|known| known.best), span)?,
        };
        self.moves.truncate(first);
        self.remember(node, span, best, best_move);
        Some(best)
    }

    /// What a node is worth before any of its moves is.
    fn least(&self) -> i32 {
        // What the filter leaves out may be a way out of a loss.
        if self.config.moves == Filter::All { -WIN } else { -UNPROVEN }
    }

    /// The value of a node whose children are leaves, and its best move.
    fn of_leaves(&self, node: &Node, first: usize, span: Span) -> (i32, Option<Move>) {
        let mover = node.state.player();
        let other = node.standings[1 - mover as usize];
        let mut best = (self.least(), None);
        for candidate in &self.moves[first..] {
            let mut state = node.state;
            self.rules.game.play_action(&mut state, Some(candidate.mv));
            let value = match state.outcome() {
                Some(outcome) => value::of_outcome(outcome, mover, span.ply + 1),
                None => -value::of_state(self.rules, &state, other, candidate.standing),
            };
            if value > best.0 {
                best = (value, Some(candidate.mv));
            }
            if value >= span.beta {
                break;
            }
        }
        best
    }

    /// The value of a node by its moves, and the best of these.
    fn of_moves(
        &mut self,
        node: &Node,
        first: usize,
        known: Option<Move>,
        mut span: Span,
    ) -> Option<(i32, Option<Move>)> {
        let player = node.state.player();
        let before = node.standings[player as usize].worth;
        self.memory.cuts.order(node, known, span.ply, &mut self.moves[first..]);
        let mut best = (self.least(), None);
        for index in first..self.moves.len() {
            bring_best(&mut self.moves[index..]);
            let Candidate { mv, standing, .. } = self.moves[index];
            let child = self.rules.after(node, Some(mv), standing);
            let late = index - first;
            if late > 0
                && let Some(reach) = self.futile(&child, span)
            {
                best.0 = best.0.max(reach);
                continue;
            }
            let reduced = self.reduced_depth(span.depth, late, standing.worth - before);
            let value = self.after_move(&child, span, late == 0, reduced)?;
            if value > best.0 {
                best = (value, Some(mv));
            }
            span.alpha = span.alpha.max(value);
            if value >= span.beta {
                self.memory.cuts.cut(player, mv, &self.moves[first..index], span.depth, span.ply);
                break;
            }
        }
        Some(best)
    }

    /// The value, to who moved, of a child that is searched to `reduced` plies
    /// first, and in the whole window only if it is the first or better than others.
    fn after_move(&mut self, child: &Node, span: Span, is_first: bool, reduced: u32) -> Option<i32> {
        let full = span.depth - 1;
        if is_first {
            return Some(-self.value(child, span.child(full))?);
        }
        let mut value = -self.value(child, span.above_alpha().child(reduced))?;
        if value > span.alpha && reduced < full {
            value = -self.value(child, span.above_alpha().child(full))?;
        }
        if value > span.alpha && value < span.beta {
            value = -self.value(child, span.child(full))?;
        }
        Some(value)
    }

    /// A value of at least beta, if the node is that good without a move.
    fn without_move(&mut self, node: &Node, span: Span) -> Option<Option<i32>> {
        if !self.config.pruning || is_proof(span.beta) {
            return Some(None);
        }
        let standing = value::of_node(self.rules, node);
        if span.depth <= STANDING_DEPTH && standing - self.config.futility * span.depth as i32 >= span.beta {
            return Some(Some(standing));
        }
        if span.depth < NULL_DEPTH || standing < span.beta || node.state.has_passed() {
            return Some(None);
        }
        let skipped = self.rules.skipped(node);
        let reduced = (span.depth - 1).saturating_sub(2 + span.depth / 4);
        let value = -self.value(&skipped, span.at_least_beta().child(reduced))?;
        Some((value >= span.beta).then_some(value.min(UNPROVEN)))
    }

    /// What a move reaches at most, if it is not worth searching.
    fn futile(&self, child: &Node, span: Span) -> Option<i32> {
        let applies = self.config.pruning && span.is_null() && span.depth <= FUTILE_DEPTH && !is_proof(span.alpha);
        if !applies || child.state.outcome().is_some() {
            return None;
        }
        let reach = -value::of_node(self.rules, child) + self.config.futility * (span.depth as i32 - 1);
        (reach <= span.alpha).then_some(reach)
    }

    /// The plies to which a move is searched first; fewer the later it comes.
    fn reduced_depth(&self, depth: u32, late: usize, gain: i32) -> u32 {
        if !self.config.reductions || depth < REDUCED_DEPTH || late == 0 {
            return depth - 1;
        }
        let plies = (depth as f32).ln() * (late as f32).ln() / 2.0 + f32::from(u8::from(gain < 0));
        (depth - 1).saturating_sub(plies as u32).max(1)
    }

    fn remember(&mut self, node: &Node, span: Span, value: i32, best: Option<Move>) {
        let bound = match value {
            _ if value >= span.beta => Bound::Lower,
            _ if value <= span.alpha => Bound::Upper,
            _ => Bound::Exact,
        };
        let best = best.filter(|_| bound != Bound::Upper);
        let entry = Entry { value: to_table(value, span.ply), depth: span.depth as u8, bound, best };
        self.memory.table.put(node.key, entry);
    }

    fn insight(&self, root: &Node, best: Move, value: i32) -> Insight {
        let value = match value {
            won if won >= LEAST_WIN => Value::Won((WIN - won) as u32),
            lost if lost <= -LEAST_WIN => Value::Lost((WIN + lost) as u32),
            _ => Value::Lead(value::lead_of(value)),
        };
        let spent = self.meter.spent();
        Insight { spent, value: Some(value), line: self.line(root, best, spent.depth) }
    }

    /// The principal variation as far as the table has it. A key may be that
    /// of another state, so moves are tested.
    fn line(&self, root: &Node, best: Move, depth: u32) -> Vec<Action> {
        let (mut line, mut state, mut next) = (Vec::new(), root.state, Some(best));
        while let Some(mv) = next.filter(|_| line.len() < depth as usize) {
            line.push(Some(mv));
            self.rules.game.play_action(&mut state, Some(mv));
            let pieces = self.rules.game.pieces(&state, self.config.moves);
            let known = self.memory.table.get(self.rules.key(&state)).and_then(|entry| entry.best);
            let is_legal = |mv: &Move| pieces.iter().any(|(from, to)| from == mv.from && to.contains(mv.to));
            next = known.filter(is_legal).filter(|_| state.outcome().is_none());
        }
        line
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
fn bounded(known: Entry, span: Span) -> Option<i32> {
    let value = from_table(known.value, span.ply);
    let decides = match known.bound {
        Bound::Exact => true,
        Bound::Lower => value >= span.beta,
        Bound::Upper => value <= span.alpha,
    };
    (decides && (u32::from(known.depth) >= span.depth || is_proof(value))).then_some(value)
}
