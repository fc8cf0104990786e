//! Players with alpha-beta search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sternhalma_ggp::Limits;
use sternhalma_ggp::alpha_beta::{AlphaBetaResult, Heuristic, WIN, alpha_beta};

use crate::players::interface::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue, forced, only_action};
use crate::rules::{Action, ChineseCheckers, GameState, Repetitions};

pub(super) struct AlphaBeta<H> {
    game: Arc<ChineseCheckers>,
    heuristic: H,
    depth: u32,
    /// Whether the search considers all moves.
    is_complete: bool,
    /// The state of the game after the last action, if it is known.
    now: Option<GameState>,
    played: Repetitions,
}

impl<H> AlphaBeta<H> {
    pub fn new(heuristic: H, game: Arc<ChineseCheckers>, depth: u32, is_complete: bool) -> AlphaBeta<H> {
        AlphaBeta { game, heuristic, depth, is_complete, now: None, played: Repetitions::default() }
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.played.push(&self.game, state);
        }
    }

    /// Returns whether a result of the search in some plies is proven. The search sees neither the moves that its
    /// filter excludes nor draws by repetition, which cannot come before the result of one move.
    fn is_proof(&self, plies: u32) -> bool {
        plies <= 1 || self.is_complete && self.played.none_is_due()
    }
}

impl<H: Heuristic<ChineseCheckers> + Send> EnginePlayer for AlphaBeta<H> {
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        self.think(state, limits, stop, &mut |_| ())
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        self.see(state);
        if let Some(action) = only_action(&self.game, state) {
            return forced(action, watch);
        }
        let limits = limits.and(Limits::depth(self.depth));
        let AlphaBetaResult { best: action, value, spent } =
            alpha_beta(&*self.game, state, &mut self.heuristic, limits, stop);
        // A win in n plies has the value `WIN` - n, far above any lead.
        let value = match value {
            // No depth was completely searched.
            _ if spent.depth == 0 => None,
            won if won > WIN / 2.0 => Some(SearchValue::Won((WIN - won) as u32)),
            lost if lost < -WIN / 2.0 => Some(SearchValue::Lost((WIN + lost) as u32)),
            lead => Some(SearchValue::Lead(lead)),
        };
        let value = value.filter(|value| match *value {
            SearchValue::Won(plies) => self.is_proof(plies),
            SearchValue::Lost(plies) => self.is_proof(plies + 1),
            _ => true,
        });
        // The search keeps only the first move of its line.
        watch(&SearchInfo { spent, value, is_race: false, line: vec![action] });
        Choice { action, spent }
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        self.see(start);
    }

    fn reset(&mut self, _: u64) {
        (self.now, self.played) = (None, Repetitions::default());
    }
}
