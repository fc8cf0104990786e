//! Alpha-beta search for two-player, turn-taking, zero-sum games.

use std::sync::atomic::AtomicBool;

use sternhalma_game::{Game, LimitChecker, Limits, SearchStats, Turn};

/// The evaluation and move ordering of a depth-first search.
pub trait Heuristic<G: Game> {
    /// Returns the value of a state that is not terminal for the role that moves.
    /// The other role has the negative. The absolute value is below [`WIN`].
    fn value(&mut self, game: &G, state: &G::State) -> f64;

    /// Sorts moves into the order in which they are searched.
    fn order(&mut self, _game: &G, _state: &G::State, _moves: &mut [G::Move]) {}
}

/// The value of a won game, minus 1 for each ply until its end.
pub const WIN: f64 = 1e6;

/// The result of an alpha-beta search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AlphaBetaResult<M> {
    /// The move to play.
    pub best: M,
    /// The value of the best move for the role that moves, at the last completed depth.
    pub value: f64,
    /// What the search spent. `depth` is the depth of the value.
    pub spent: SearchStats,
}

/// Runs alpha-beta search with iterative deepening until a limit of depth,
/// expansions or time.
///
/// Returns the best move of the deepest completed search, or of the next one if
/// at least its first move was completed.
///
/// # Panics
/// If the state is terminal, the game does not have two roles, or both roles
/// move simultaneously in some state.
pub fn alpha_beta<G: Game, H: Heuristic<G>>(
    game: &G,
    state: &G::State,
    heuristic: &mut H,
    limits: Limits,
    stop: &AtomicBool,
) -> AlphaBetaResult<G::Move> {
    assert_eq!(game.roles(), 2, "alpha-beta search is for two roles");
    let mut search = AlphaBetaSearch { game, heuristic, checker: LimitChecker::new(limits, stop), free: Vec::new() };
    let mut moves = Vec::new();
    search.generate(state, &mut moves);
    assert!(!moves.is_empty(), "the state that is searched is not terminal");
    let (mut best, mut value) = (moves[0], 0.0);
    let last = limits.depth.unwrap_or(u32::MAX).max(1);
    for depth in 1..=last {
        let (mut alpha, mut found, mut complete) = (f64::NEG_INFINITY, None, true);
        for (index, &mv) in moves.iter().enumerate() {
            let mut child = state.clone();
            game.play(&mut child, &[mv]);
            let Some(score) = search.after(game.turn(state), &child, depth - 1, 1, alpha, f64::INFINITY) else {
                complete = false;
                break;
            };
            if score > alpha {
                (alpha, found) = (score, Some(index));
            }
        }
        if let Some(index) = found {
            best = moves[index];
            // The next depth begins with the best move of this depth.
            moves[..=index].rotate_right(1);
        }
        if !complete {
            break;
        }
        (value, search.checker.spent.depth) = (alpha, depth);
        if value.abs() > WIN / 2.0 || search.checker.is_over() {
            break;
        }
    }
    AlphaBetaResult { best, value, spent: search.checker.spent() }
}

struct AlphaBetaSearch<'a, G: Game, H> {
    game: &'a G,
    heuristic: &'a mut H,
    checker: LimitChecker<'a>,
    /// Unused move lists.
    free: Vec<Vec<G::Move>>,
}

impl<G: Game, H: Heuristic<G>> AlphaBetaSearch<'_, G, H> {
    fn mover(&self, turn: Turn) -> usize {
        match turn {
            Turn::One(role) => role,
            Turn::All => panic!("alpha-beta search is for turn-taking games"),
        }
    }

    fn generate(&mut self, state: &G::State, moves: &mut Vec<G::Move>) {
        let role = self.mover(self.game.turn(state));
        self.game.legal(state, role, moves);
        self.heuristic.order(self.game, state, moves);
        self.checker.spent.expansions += 1;
    }

    /// Returns the value of a state for the role that made the last move. The
    /// same role may move again.
    fn after(&mut self, before: Turn, state: &G::State, depth: u32, ply: u32, alpha: f64, beta: f64) -> Option<f64> {
        if self.game.is_terminal(state) {
            let mover = self.mover(before);
            let (own, other) = (self.game.goal(state, mover), self.game.goal(state, 1 - mover));
            let distance = f64::from(ply);
            return Some(match own.cmp(&other) {
                std::cmp::Ordering::Greater => WIN - distance,
                std::cmp::Ordering::Less => distance - WIN,
                std::cmp::Ordering::Equal => 0.0,
            });
        }
        if self.game.turn(state) == before {
            return self.value(state, depth, ply, alpha, beta);
        }
        self.value(state, depth, ply, -beta, -alpha).map(|value| -value)
    }

    /// Returns the value of a state for the role that moves, or `None` if a limit
    /// is reached.
    fn value(&mut self, state: &G::State, depth: u32, ply: u32, mut alpha: f64, beta: f64) -> Option<f64> {
        if depth == 0 {
            return Some(self.heuristic.value(self.game, state));
        }
        if self.checker.is_over() {
            return None;
        }
        let mut moves = self.free.pop().unwrap_or_default();
        moves.clear();
        self.generate(state, &mut moves);
        let turn = self.game.turn(state);
        let mut best = f64::NEG_INFINITY;
        for &mv in &moves {
            let mut child = state.clone();
            self.game.play(&mut child, &[mv]);
            best = best.max(self.after(turn, &child, depth - 1, ply + 1, alpha, beta)?);
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        self.free.push(moves);
        Some(best)
    }
}
