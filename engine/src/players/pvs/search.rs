//! Iterative deepening with principal-variation search.
//!
//! `run` deepens the search of the root, and `aspire` searches each depth in a
//! window around the last value. `value` searches a node in these steps:
//!
//! 1. A finished game has the value of its outcome, also if a repetition ends it.
//! 2. A leaf is evaluated: the depth is used up, or the armies only race.
//! 3. A bound from the transposition table may decide a null window.
//! 4. A node far above the window is not searched (reverse futility pruning),
//!    nor one that exceeds it after a pass (null move).
//! 5. Moves are generated. A player without a move passes.
//! 6. At depth 1 the children are evaluated in one loop. Those that cannot exceed
//!    the window by a bound of their distance are not looked up, and those that
//!    cannot exceed it by their distance are not evaluated.
//! 7. At other depths the move from the transposition table is searched first.
//!    Only then the other moves are generated and the distances after them looked
//!    up. The best remaining move is next, by gain, killer moves and history. A move
//!    that another thread searches is deferred until no other remains.
//! 8. A late move far below the window is not searched (futility pruning). If a
//!    bound of its distance shows this, the distance is not looked up.
//! 9. A late move is first searched to a smaller depth (late move reduction),
//!    then in a null window, and in the whole window if it improves alpha.
//! 10. A value of at least beta ends the node, and the move is remembered for
//!     the ordering.
//! 11. The value and the best move are stored in the transposition table.

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use sternhalma_data::Move;
use sternhalma_ggp::{LimitChecker, Limits};

use super::busy::BusyMoves;
use super::moves::MoveOrdering;
use super::node::{ScoredMove, SearchContext, SearchNode};
use super::table::{Bound, TableEntry, TranspositionTable};
use super::value::{self, Bounds, LEAST_WIN, UNPROVEN, WIN, from_table, is_proof, to_table};
use crate::players::config::PvsConfig;
use crate::players::interface::{Choice, SearchInfo, SearchObserver, SearchValue};
use crate::rules::{Action, Filter, GameState};

/// The maximum number of plies of a search.
pub(super) const MAX_PLIES: u32 = 100;

/// What a thread of the search keeps from move to move.
pub(super) struct Worker {
    pub context: SearchContext,
    pub ordering: MoveOrdering,
}

/// The moves of the root that a search does not prefer or omits.
#[derive(Clone, Copy)]
pub(super) struct RootFilter<'a> {
    /// The keys of placements that have occurred. Moves to other placements are
    /// preferred among moves of the same value.
    pub seen: &'a [u64],
    /// The moves that are omitted.
    pub excluded: &'a [Move],
}

/// The initial half-width of the aspiration window around the last value.
const ASPIRATION_WINDOW: i32 = 60;

/// The minimum depth for null moves.
const NULL_DEPTH: u32 = 3;

/// The minimum depth for late move reductions.
const REDUCED_DEPTH: u32 = 3;

/// The divisor of the reduction of late moves.
const REDUCTION_DIVISOR: f32 = 1.2;

/// The maximum depth at which a node far above the window is not searched.
const STANDING_DEPTH: u32 = 3;

/// The maximum depth at which a move far below the window is not searched.
const FUTILE_DEPTH: u32 = 4;

/// The minimum depth at which a move that another thread searches is deferred.
const DEFER_DEPTH: u32 = 3;

/// The priority of moves whose value has no bound.
const UNBOUNDED: i32 = i32::MAX;

/// The priority of deferred moves.
const DEFERRED: i32 = i32::MIN;

/// The window and the depth of a node's search.
#[derive(Clone, Copy)]
struct Window {
    /// The remaining plies.
    depth: u32,
    /// The plies from the root.
    ply: u32,
    alpha: i32,
    beta: i32,
}

impl Window {
    /// Returns whether the window only tests a bound.
    fn is_null(self) -> bool {
        self.alpha + 1 == self.beta
    }

    /// Returns the window of a child with a depth.
    fn child(self, depth: u32) -> Window {
        Window { depth, ply: self.ply + 1, alpha: -self.beta, beta: -self.alpha }
    }

    /// Returns the window that tests whether a value is above alpha.
    fn above_alpha(self) -> Window {
        Window { beta: self.alpha + 1, ..self }
    }

    /// Returns the window that tests whether a value is at least beta.
    fn at_least_beta(self) -> Window {
        Window { alpha: self.beta - 1, ..self }
    }
}

/// One search for a move.
pub(super) struct PvsSearch<'a> {
    context: &'a mut SearchContext,
    ordering: &'a mut MoveOrdering,
    table: &'a TranspositionTable,
    /// The moves that other threads search, if there are others.
    busy: Option<&'a BusyMoves>,
    config: &'a PvsConfig,
    checker: LimitChecker<'a>,
    /// The moves of all nodes on the path.
    moves: Vec<ScoredMove>,
    /// Whether a node whose armies only race is a leaf.
    race_is_leaf: bool,
    /// The moves of the root to placements that have occurred.
    returning: Vec<Move>,
}

impl<'a> PvsSearch<'a> {
    /// Creates a search, which may share the table with others.
    pub fn new(
        worker: &'a mut Worker,
        table: &'a TranspositionTable,
        busy: Option<&'a BusyMoves>,
        config: &'a PvsConfig,
        limits: Limits,
        stop: &'a AtomicBool,
    ) -> PvsSearch<'a> {
        let Worker { context, ordering } = worker;
        let checker = LimitChecker::new(limits, stop);
        let (moves, returning) = (Vec::new(), Vec::new());
        PvsSearch { context, ordering, table, busy, config, checker, moves, race_is_leaf: true, returning }
    }

    /// Returns the move to play in a state with at least one move, or no move if
    /// all are omitted. `depths` are searched in order. `watch` is called after
    /// each.
    pub fn run(
        mut self,
        state: &GameState,
        filter: RootFilter<'_>,
        depths: RangeInclusive<u32>,
        watch: &mut SearchObserver,
    ) -> Choice {
        let root = self.context.root(state, MAX_PLIES);
        let played = self.context.played.len();
        self.race_is_leaf = !self.is_race(&root);
        let mut moves = self.root_moves(&root, filter);
        let complete = self.config.moves == Filter::All;
        if moves.is_empty() {
            return Choice { action: None, spent: self.checker.spent() };
        }
        let mut last = None;
        for depth in depths {
            let Some(value) = self.aspire(&root, &mut moves, depth, last) else { break };
            // A move that the filter excludes may avoid a loss.
            let value = if complete { value } else { value.max(-UNPROVEN) };
            last = Some(value);
            self.checker.set_depth(depth);
            watch(&self.info(&root, moves[0].mv, value));
            if is_proof(value) {
                break;
            }
        }
        // An interrupted search has not left its path.
        self.context.played.truncate(played);
        Choice { action: moves.first().map(|candidate| candidate.mv), spent: self.checker.spent() }
    }

    /// Returns the moves of the root in order, and notes those that return to a
    /// placement that has occurred.
    fn root_moves(&mut self, root: &SearchNode, filter: RootFilter<'_>) -> Vec<ScoredMove> {
        self.checker.expand();
        let mut moves = Vec::new();
        self.context.outline(root, self.config.moves, &mut moves);
        self.context.look_up_all(root, &mut moves);
        moves.retain(|candidate| !filter.excluded.contains(&candidate.mv));
        let returns = |candidate: &&ScoredMove| {
            let child = self.context.after(root, Some(candidate.mv), candidate.standing);
            filter.seen.contains(&self.context.placement_key(&child.state))
        };
        self.returning = moves.iter().filter(returns).map(|candidate| candidate.mv).collect();
        let best = self.table.get(root.key).and_then(|entry| entry.best);
        self.ordering.order(root, 0, &mut moves);
        if let Some(best) = moves.iter_mut().find(|candidate| Some(candidate.mv) == best) {
            best.order = i32::MAX;
        }
        moves.sort_by_key(|candidate| std::cmp::Reverse(candidate.order));
        moves
    }

    /// Returns the value of the root, searched in a window around the value of
    /// the last depth. The best move is brought to the front, even if the
    /// search is interrupted.
    fn aspire(&mut self, root: &SearchNode, moves: &mut [ScoredMove], depth: u32, last: Option<i32>) -> Option<i32> {
        let (mut alpha, mut beta) =
            last.map_or((-WIN, WIN), |last| (last - ASPIRATION_WINDOW, last + ASPIRATION_WINDOW));
        let mut margin = ASPIRATION_WINDOW;
        loop {
            let window = Window { depth, ply: 0, alpha: alpha.max(-WIN), beta: beta.min(WIN) };
            let value = self.root(root, moves, window)?;
            margin = margin.saturating_mul(4);
            if value <= alpha && alpha > -WIN {
                alpha = value.saturating_sub(margin);
            } else if value >= beta && beta < WIN {
                beta = value.saturating_add(margin);
            } else {
                return Some(value);
            }
        }
    }

    fn root(&mut self, root: &SearchNode, moves: &mut [ScoredMove], mut window: Window) -> Option<i32> {
        let mut best = -WIN;
        let busy = self.busy_at(window.depth);
        // Moves from this index are deferred.
        let mut deferred = moves.len();
        for index in 0..moves.len() {
            while (1..deferred).contains(&index) && busy.is_some_and(|busy| busy.contains(root.key, moves[index].mv)) {
                moves[index..].rotate_left(1);
                deferred -= 1;
            }
            let ScoredMove { mv, standing, .. } = moves[index];
            let child = self.context.after(root, Some(mv), standing);
            let _mark = busy.map(|busy| busy.mark(root.key, mv));
            // An equal value suffices to replace a move that returns to a placement.
            let replaces_equal = self.returning.contains(&moves[0].mv) && !self.returning.contains(&mv);
            let alpha = window.alpha - i32::from(index > 0 && replaces_equal);
            let value = self.after_move(&child, Window { alpha, ..window }, index == 0, window.depth - 1)?;
            best = best.max(value);
            if value > alpha {
                window.alpha = window.alpha.max(value);
                moves[..=index].rotate_right(1);
            }
            if value >= window.beta {
                break;
            }
        }
        Some(best)
    }

    /// Returns the value of a node for the player to move, within the window,
    /// or `None` if a limit is reached.
    fn value(&mut self, node: &SearchNode, window: Window) -> Option<i32> {
        // Step 1. Finished game.
        if let Some(outcome) = node.state.outcome() {
            return Some(value::of_outcome(outcome, node.state.player(), window.ply));
        }
        if self.context.repeats(&node.state) {
            return Some(value::DRAW);
        }
        // Step 2. Leaf.
        let is_leaf = window.depth == 0 || window.ply >= MAX_PLIES;
        if is_leaf || self.race_is_leaf && self.is_race(node) {
            return Some(value::of_node(self.context, node));
        }
        // A leaf cannot repeat its parent, where the other player is to move.
        if window.depth == 1 {
            return self.inner_value(node, window);
        }
        let played = self.context.played.len();
        self.context.played.push(&self.context.game, &node.state);
        let value = self.inner_value(node, window);
        self.context.played.truncate(played);
        value
    }

    /// Returns the value of a node that is not a leaf, from step 3 on.
    fn inner_value(&mut self, node: &SearchNode, window: Window) -> Option<i32> {
        // Step 3. Transposition table.
        let known = self.table.get(node.key);
        if window.is_null() {
            if let Some(value) = known.and_then(|known| bounded(known, window)) {
                return Some(value);
            }
            // Step 4. Pruning of the node.
            if let Some(value) = self.without_move(node, window)? {
                return Some(value);
            }
        }
        if !self.checker.expand() {
            return None;
        }
        let first = self.moves.len();
        let known = known.and_then(|known| known.best);
        let (best, best_move) = match window.depth {
            1 => self.of_leaves(node, first, known, window)?,
            _ => self.of_moves(node, first, known, window)?,
        };
        self.moves.truncate(first);
        // Step 11. Store the result.
        self.remember(node, window, best, best_move);
        Some(best)
    }

    /// Returns the lower bound of a node before any of its moves is searched.
    fn least(&self) -> i32 {
        // A move that the filter excludes may avoid a loss.
        if self.config.moves == Filter::All { -WIN } else { -UNPROVEN }
    }

    /// Returns whether the armies of a node only race.
    fn is_race(&self, node: &SearchNode) -> bool {
        let [x, o] = node.standings;
        self.context.is_race(x, o)
    }

    /// Returns the value of a node whose children are leaves, for its mover, and
    /// its best move. The moves of the node start at index `first` of `moves`.
    ///
    /// The distance after a move is looked up only if the bound of the move permits a value above the best one so far,
    /// and the child is evaluated only if the distance does. The best value begins at the bound of the moves that cannot
    /// exceed alpha, so the result is an upper bound for these moves too. The order of a move is its bound here; the move of the table is
    /// always evaluated, first.
    fn of_leaves(
        &mut self,
        node: &SearchNode,
        first: usize,
        known: Option<Move>,
        window: Window,
    ) -> Option<(i32, Option<Move>)> {
        self.context.outline(node, self.config.moves, &mut self.moves);
        if self.moves.len() == first {
            return self.of_pass(node, window);
        }
        let (mover, least) = (node.state.player(), self.least());
        let bounds = self.bounds(node, 0);
        let mut best = (self.omit(node, first, window.alpha.max(least), bounds).max(least), None);
        if let Some(known) = self.moves[first..].iter_mut().find(|candidate| Some(candidate.mv) == known) {
            known.order = UNBOUNDED;
        }
        for index in first..self.moves.len() {
            bring_best(&mut self.moves[index..]);
            let candidate = &mut self.moves[index];
            if candidate.order <= best.0 {
                break;
            }
            self.context.look_up(node, candidate);
            let ScoredMove { mv, standing, order } = *candidate;
            if order < UNBOUNDED && bounds.of(self.context, node, mv, standing) <= best.0 {
                continue;
            }
            let mut state = node.state;
            self.context.game.play_action(&mut state, Some(mv));
            let value = match state.outcome() {
                Some(outcome) => value::of_outcome(outcome, mover, window.ply + 1),
                None if self.context.repeats(&state) => value::DRAW,
                None => -value::of_child(self.context, node, mv, &state, standing),
            };
            if value > best.0 {
                best = (value, Some(mv));
            }
            if value >= window.beta {
                break;
            }
        }
        Some(best)
    }

    /// Returns the value of a node without a move, in which the player passes.
    #[cold]
    fn of_pass(&mut self, node: &SearchNode, window: Window) -> Option<(i32, Option<Move>)> {
        let child = self.context.after(node, None, node.standings[node.state.player() as usize]);
        Some((-self.value(&child, window.child(window.depth - 1))?, None))
    }

    /// Returns the bounds of the children of a node, plus a margin.
    fn bounds(&self, node: &SearchNode, margin: i32) -> Bounds {
        Bounds::new(self.context, node, margin, !self.config.pruning)
    }

    /// Removes the moves of a node from index `first` whose bound, with the least
    /// distance, does not exceed alpha. The order of each other move is its bound.
    /// Returns the largest bound of the removed moves, or -[`WIN`].
    fn omit(&mut self, node: &SearchNode, first: usize, alpha: i32, bounds: Bounds) -> i32 {
        let context = &*self.context;
        let is_bounded = !context.may_end(&node.state) && context.played.none_is_due();
        let (mut end, mut omitted) = (first, -WIN);
        for index in first..self.moves.len() {
            let mut candidate = self.moves[index];
            candidate.order = UNBOUNDED;
            if is_bounded {
                candidate.order = bounds.of(context, node, candidate.mv, candidate.standing);
                if candidate.order <= alpha {
                    omitted = omitted.max(candidate.order);
                    continue;
                }
            }
            self.moves[end] = candidate;
            end += 1;
        }
        self.moves.truncate(end);
        omitted
    }

    /// Returns the value of a node from its moves, and the best move. The moves
    /// of the node start at index `first` of `moves`.
    fn of_moves(
        &mut self,
        node: &SearchNode,
        first: usize,
        known: Option<Move>,
        mut window: Window,
    ) -> Option<(i32, Option<Move>)> {
        let mut best = (self.least(), None);
        // Step 7. The move from the transposition table is searched before others are generated.
        let known = known.filter(|&mv| self.config.moves == Filter::All && self.context.game.is_legal(&node.state, mv));
        if let Some(known) = known {
            let standing = self.context.standing_after(node, known);
            self.moves.push(ScoredMove { mv: known, standing, order: 0 });
            if self.of_move(node, first, first, &mut window, &mut best)? {
                return Some(best);
            }
        }
        let next = self.moves.len();
        self.context.outline(node, self.config.moves, &mut self.moves);
        if self.moves.len() == first {
            return self.of_pass(node, window);
        }
        if let Some(at) = self.moves[next..].iter().position(|candidate| Some(candidate.mv) == known) {
            self.moves.remove(next + at);
        }
        // Step 8. Pruning of late moves, here by the bounds of their values.
        if self.prunes_late_moves(window) {
            let margin = self.config.futility * (window.depth as i32 - 1);
            best.0 = best.0.max(self.omit(node, next, window.alpha, self.bounds(node, margin)));
        }
        self.context.look_up_all(node, &mut self.moves[next..]);
        self.ordering.order(node, window.ply, &mut self.moves[next..]);
        for index in next..self.moves.len() {
            bring_best(&mut self.moves[index..]);
            self.defer_busy(node, index, window.depth);
            if self.of_move(node, first, index, &mut window, &mut best)? {
                break;
            }
        }
        Some(best)
    }

    /// Returns the moves that other threads search, if they are deferred at a depth.
    #[inline]
    fn busy_at(&self, depth: u32) -> Option<&'a BusyMoves> {
        self.busy.filter(|_| depth >= DEFER_DEPTH)
    }

    /// Defers the best move from `index` as long as another thread searches it. Then the
    /// best of the other moves is at `index`, or a deferred move if there is none.
    #[inline]
    fn defer_busy(&mut self, node: &SearchNode, index: usize, depth: u32) {
        let Some(busy) = self.busy_at(depth) else { return };
        while let ScoredMove { mv, order, .. } = self.moves[index]
            && order > DEFERRED
            && busy.contains(node.key, mv)
        {
            self.moves[index].order = DEFERRED;
            bring_best(&mut self.moves[index..]);
        }
    }

    /// Searches the move at `index` of a node, whose moves start at index `first`
    /// of `moves`. Updates alpha and the best value and move. Returns whether the
    /// value is at least beta.
    fn of_move(
        &mut self,
        node: &SearchNode,
        first: usize,
        index: usize,
        window: &mut Window,
        best: &mut (i32, Option<Move>),
    ) -> Option<bool> {
        let player = node.state.player();
        let ScoredMove { mv, standing, .. } = self.moves[index];
        let mut child = self.context.after(node, Some(mv), standing);
        self.table.prefetch(child.key);
        // Step 8. Pruning of late moves.
        let late = index - first;
        if late > 0
            && let Some(reach) = self.futile(&mut child, *window)
        {
            best.0 = best.0.max(reach);
            return Some(false);
        }
        // Step 9. Search of the child.
        let gain = standing.worth() - node.standings[player as usize].worth();
        let reduced = self.reduced_depth(window.depth, late, gain);
        let _mark = self.busy_at(window.depth).map(|busy| busy.mark(node.key, mv));
        let value = self.after_move(&child, *window, late == 0, reduced)?;
        if value > best.0 {
            *best = (value, Some(mv));
        }
        // Step 10. Cutoff.
        window.alpha = window.alpha.max(value);
        let cuts = value >= window.beta;
        if cuts {
            self.ordering.cut(player, mv, &self.moves[first..index], window.depth, window.ply);
        }
        Some(cuts)
    }

    /// Returns the value of a child for the mover. The child is first searched
    /// to `reduced` plies, and in the whole window only if it is the first or
    /// improves alpha.
    fn after_move(&mut self, child: &SearchNode, window: Window, is_first: bool, reduced: u32) -> Option<i32> {
        let full = window.depth - 1;
        if is_first {
            return Some(-self.value(child, window.child(full))?);
        }
        let mut value = -self.value(child, window.above_alpha().child(reduced))?;
        if value > window.alpha && reduced < full {
            value = -self.value(child, window.above_alpha().child(full))?;
        }
        if value > window.alpha && value < window.beta {
            value = -self.value(child, window.child(full))?;
        }
        Some(value)
    }

    /// Returns a value of at least beta if the node reaches it without a move
    /// (null move).
    fn without_move(&mut self, node: &SearchNode, window: Window) -> Option<Option<i32>> {
        if !self.config.pruning || is_proof(window.beta) {
            return Some(None);
        }
        let standing = node.value.unwrap_or_else(|| value::of_node(self.context, node));
        debug_assert_eq!(standing, value::of_node(self.context, node));
        if window.depth <= STANDING_DEPTH && standing - self.config.futility * window.depth as i32 >= window.beta {
            return Some(Some(standing));
        }
        if window.depth < NULL_DEPTH || standing < window.beta || node.state.has_passed() {
            return Some(None);
        }
        let skipped = self.context.skipped(node);
        let reduced = (window.depth - 1).saturating_sub(2 + window.depth / 4);
        let value = -self.value(&skipped, window.at_least_beta().child(reduced))?;
        Some((value >= window.beta).then_some(value.min(UNPROVEN)))
    }

    /// Returns whether moves far below the window are not searched.
    fn prunes_late_moves(&self, window: Window) -> bool {
        self.config.pruning && window.is_null() && window.depth <= FUTILE_DEPTH && !is_proof(window.alpha)
    }

    /// Returns an estimated upper bound for the value of a move, for its mover,
    /// if the move need not be searched (futility pruning): even this bound does
    /// not exceed alpha.
    ///
    /// The bound is the static value of `child` plus a margin in hundredths of a
    /// move. `window` is that of the parent, so the margin is 0 at depth 1.
    fn futile(&self, child: &mut SearchNode, window: Window) -> Option<i32> {
        if !self.prunes_late_moves(window) || child.state.outcome().is_some() || self.context.repeats(&child.state) {
            return None;
        }
        let value = *child.value.insert(value::of_node(self.context, child));
        let bound = -value + self.config.futility * (window.depth as i32 - 1);
        (bound <= window.alpha).then_some(bound)
    }

    /// Returns the reduced depth of a move; it is smaller for later moves.
    fn reduced_depth(&self, depth: u32, late: usize, gain: i32) -> u32 {
        if !self.config.reductions || depth < REDUCED_DEPTH || late == 0 {
            return depth - 1;
        }
        let plies = (depth as f32).ln() * (late as f32).ln() / REDUCTION_DIVISOR + f32::from(u8::from(gain < 0));
        (depth - 1).saturating_sub(plies as u32).max(1)
    }

    fn remember(&mut self, node: &SearchNode, window: Window, value: i32, best: Option<Move>) {
        let bound = match value {
            _ if value >= window.beta => Bound::Lower,
            _ if value <= window.alpha => Bound::Upper,
            _ => Bound::Exact,
        };
        let best = best.filter(|_| bound != Bound::Upper);
        let entry = TableEntry { value: to_table(value, window.ply), depth: window.depth as u8, bound, best };
        self.table.put(node.key, entry);
    }

    fn info(&self, root: &SearchNode, best: Move, value: i32) -> SearchInfo {
        let is_race = value::is_race(value);
        let value = match value {
            won if won >= LEAST_WIN => SearchValue::Won((WIN - won) as u32),
            lost if lost <= -LEAST_WIN => SearchValue::Lost((WIN + lost) as u32),
            _ => SearchValue::Lead(value::lead_of(value)),
        };
        let spent = self.checker.spent();
        SearchInfo { spent, value: Some(value), is_race, line: self.line(root, best, spent.depth) }
    }

    /// Returns the principal variation from the table. Different states may
    /// share a key, so moves are checked.
    fn line(&self, root: &SearchNode, best: Move, depth: u32) -> Vec<Action> {
        let (mut line, mut state, mut next) = (Vec::new(), root.state, Some(best));
        while let Some(mv) = next.filter(|_| line.len() < depth as usize) {
            line.push(Some(mv));
            self.context.game.play_action(&mut state, Some(mv));
            let pieces = self.context.game.pieces(&state, self.config.moves);
            let known = self.table.get(self.context.key(&state)).and_then(|entry| entry.best);
            let is_legal = |mv: &Move| pieces.iter().any(|(from, to)| from == mv.from && to.contains(mv.to));
            next = known.filter(is_legal).filter(|_| state.outcome().is_none());
        }
        line
    }
}

/// Brings the next move to search to the front: the first of those with the largest order.
#[inline]
fn bring_best(moves: &mut [ScoredMove]) {
    let (mut best, mut most) = (0, i32::MIN);
    for (index, candidate) in moves.iter().enumerate() {
        if candidate.order > most {
            (best, most) = (index, candidate.order);
        }
    }
    if best > 0 {
        moves.swap(0, best);
    }
}

/// Returns the value of an entry if its depth and bound suffice.
#[inline]
fn bounded(known: TableEntry, window: Window) -> Option<i32> {
    let value = from_table(known.value, window.ply);
    let decides = match known.bound {
        Bound::Exact => true,
        Bound::Lower => value >= window.beta,
        Bound::Upper => value <= window.alpha,
    };
    (decides && (u32::from(known.depth) >= window.depth || is_proof(value))).then_some(value)
}
