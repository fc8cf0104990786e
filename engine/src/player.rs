//! Players, ready to play.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use sternhalma_data::{Board, Move};
use sternhalma_ggp::{
    Cutoff, FixedDepth, Game, Heuristic, LengthBonus, Limits, Mcts, Rng, Settings, Spent, ToTheEnd, Uct, alpha_beta,
};

use crate::config::{AlphaBetaConfig, Config, Decision, End, Evaluation, UctConfig};
use crate::distance::Distances;
use crate::evaluate::{MeanRow, Separated, TableDifference};
use crate::filter::Filter;
use crate::game::{Action, ChineseCheckers, State};
use crate::playout::{FarthestMix, random_move};

/// From this length on a simulation changes its reward no more.
const LENGTH_HORIZON: u32 = 100;

/// What a player plays, and what it spent on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// The move, or a pass.
    pub action: Action,
    /// What the search spent; nothing where there was no choice.
    pub spent: Spent,
}

/// One side of a game.
pub trait Player: Send {
    /// Chooses for the player to move in a state that is not the game's end.
    fn choose(&mut self, state: &State, limits: Limits, stop: &AtomicBool) -> Choice;

    /// Follows an action of the game, its own or the opponent's.
    fn observe(&mut self, _action: Action) {}

    /// Begins a new game. The same seed and limits give the same game.
    fn reset(&mut self, seed: u64);
}

/// A player of this configuration; `distances` as [`Config::needs_table`] says.
///
/// # Errors
/// If the player needs a table and there is none, or one of another board.
pub fn player(
    config: &Config,
    board: Board,
    ply_limit: u32,
    distances: Option<&Distances>,
) -> Result<Box<dyn Player>, String> {
    let distances = || {
        let found =
            distances.ok_or_else(|| format!("it needs a distance table of {board}; `sternhalma build` makes one"))?;
        match found.table().prefix().board() == board {
            true => Ok(found.clone()),
            false => Err(format!("its table is of {}, and the game of {board}", found.table().prefix().board())),
        }
    };
    let game = |filter| Arc::new(ChineseCheckers::new(board, filter).with_ply_limit(ply_limit));
    Ok(match config {
        Config::Uct(uct) => {
            let game = game(uct.moves);
            match uct.end {
                End::PlayedOut => Box::new(UctPlayer::new(game, uct, ToTheEnd)),
                End::FixedDepth => {
                    let evaluator = TableDifference { distances: distances()?, weight: uct.difference_weight };
                    Box::new(UctPlayer::new(game, uct, FixedDepth { depth: uct.depth, evaluator }))
                }
                End::Separated => {
                    let cutoff = Separated::new(&game, distances()?);
                    Box::new(UctPlayer::new(game, uct, cutoff))
                }
            }
        }
        Config::AlphaBeta(AlphaBetaConfig { depth, moves, evaluation }) => {
            let (game, depth) = (game(*moves), *depth);
            match evaluation {
                Evaluation::MeanRow => Box::new(AlphaBeta { heuristic: MeanRow::new(&game), game, depth }),
                Evaluation::Table => {
                    let heuristic = TableDifference { distances: distances()?, weight: 0.0 };
                    Box::new(AlphaBeta { heuristic, game, depth })
                }
            }
        }
        Config::Greedy => Box::new(Greedy { game: game(Filter::All), rng: Rng::seed_from_u64(0) }),
        Config::Random => Box::new(RandomMover { game: game(Filter::All), rng: Rng::seed_from_u64(0) }),
    })
}

struct UctPlayer<C> {
    game: Arc<ChineseCheckers>,
    config: UctConfig,
    cutoff: C,
    mcts: Mcts<ChineseCheckers, Uct, FarthestMix, C>,
}

impl<C: Cutoff<ChineseCheckers> + Clone> UctPlayer<C> {
    fn new(game: Arc<ChineseCheckers>, config: &UctConfig, cutoff: C) -> UctPlayer<C> {
        let mcts = search(config, cutoff.clone(), 0);
        UctPlayer { game, config: config.clone(), cutoff, mcts }
    }
}

fn search<C: Cutoff<ChineseCheckers>>(
    config: &UctConfig,
    cutoff: C,
    seed: u64,
) -> Mcts<ChineseCheckers, Uct, FarthestMix, C> {
    let settings = Settings {
        expansion_threshold: config.threshold,
        length_bonus: LengthBonus { weight: config.length_weight, horizon: LENGTH_HORIZON },
        decision: match config.decision {
            Decision::BestAverage => sternhalma_ggp::Decision::BestAverage,
            Decision::MostVisits => sternhalma_ggp::Decision::MostVisits,
        },
        ..Settings::default()
    };
    Mcts::new(Uct { c: config.c }, FarthestMix::new(config.random), cutoff, settings, seed)
}

impl<C: Cutoff<ChineseCheckers> + Clone + Send> Player for UctPlayer<C> {
    fn choose(&mut self, state: &State, limits: Limits, stop: &AtomicBool) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return Choice { action, spent: Spent::default() };
        }
        let found = self.mcts.search(&self.game, state, state.player() as usize, limits, stop);
        Choice { action: found.best, spent: found.spent }
    }

    fn observe(&mut self, action: Action) {
        self.mcts.advance(&self.game, &[action]);
    }

    fn reset(&mut self, seed: u64) {
        self.mcts = search(&self.config, self.cutoff.clone(), seed);
    }
}

struct AlphaBeta<H> {
    game: Arc<ChineseCheckers>,
    heuristic: H,
    depth: u32,
}

impl<H: Heuristic<ChineseCheckers> + Send> Player for AlphaBeta<H> {
    fn choose(&mut self, state: &State, limits: Limits, stop: &AtomicBool) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return Choice { action, spent: Spent::default() };
        }
        let limits = limits.and(Limits::depth(self.depth));
        let line = alpha_beta(&*self.game, state, &mut self.heuristic, limits, stop);
        Choice { action: line.best, spent: line.spent }
    }

    fn reset(&mut self, _: u64) {}
}

/// The action where the game shows but one.
fn only_action(game: &ChineseCheckers, state: &State) -> Option<Action> {
    let mut actions = Vec::new();
    game.legal(state, state.player() as usize, &mut actions);
    (actions.len() == 1).then(|| actions[0])
}

const ONE_EXPANSION: Spent = Spent { playouts: 0, expansions: 1, depth: 1, time: std::time::Duration::ZERO };

struct Greedy {
    game: Arc<ChineseCheckers>,
    rng: Rng,
}

impl Player for Greedy {
    fn choose(&mut self, state: &State, _: Limits, _: &AtomicBool) -> Choice {
        let player = state.player();
        let cells = self.game.board().cells();
        let mut best: (Option<(i32, usize)>, Vec<Move>) = (None, Vec::new());
        for (from, to) in self.game.pieces(state, Filter::All).iter() {
            // Seen from the goal, cells in farther rows have larger indices.
            let behind = self.game.geometry().row(player.goal_view_cell(cells, from));
            for to in to {
                let mv = Move { from, to };
                let key = Some((self.game.advance(player, mv), behind));
                if key > best.0 {
                    best = (key, Vec::new());
                }
                if key == best.0 {
                    best.1.push(mv);
                }
            }
        }
        let moves = best.1;
        let action = (!moves.is_empty()).then(|| moves[self.rng.random_range(0..moves.len())]);
        Choice { action, spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}

struct RandomMover {
    game: Arc<ChineseCheckers>,
    rng: Rng,
}

impl Player for RandomMover {
    fn choose(&mut self, state: &State, _: Limits, _: &AtomicBool) -> Choice {
        Choice { action: random_move(&self.game.pieces(state, Filter::All), &mut self.rng), spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}
