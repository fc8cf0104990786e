//! Players with Monte-Carlo tree search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sternhalma_ggp::mcts::{Cutoff, LengthBonus, MctsConfig, Playout, Selection};
use sternhalma_ggp::policy::{PartsVisitor, SelectionVisitor};
use sternhalma_ggp::{Limits, Mcts, MemoryBudget, SearchStats};

use crate::players::config::UctConfig;
use crate::players::interface::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue, forced, only_action};
use crate::players::playout::FarthestMix;
use crate::rules::{Action, ChineseCheckers, GameState};

/// The maximum number of moves in a tree: about 1.6 GB, or 2.1 GB with guided
/// selection. A full tree does not grow.
const MAX_EDGES: usize = 1 << 26;

/// The number of expansions at which Monte-Carlo search reports first. The
/// search reports again whenever the number has doubled.
const FIRST_REPORT: u64 = 1 << 17;

/// The length from which on a simulation's reward does not change.
const LENGTH_HORIZON: u32 = 100;

/// Creates a player with a cutoff for playouts, and with its own or configured
/// parts.
pub(super) fn uct_player<C>(
    game: &Arc<ChineseCheckers>,
    config: &UctConfig,
    cutoff: C,
    memory: &MemoryBudget,
) -> Box<dyn EnginePlayer>
where
    C: Cutoff<ChineseCheckers> + Clone + Send + 'static,
{
    let builder = PlayerBuilder { game: game.clone(), config, cutoff, memory };
    match config.has_own_playouts {
        true => config.search.selection.visit(WithOwnPlayout(builder)),
        false => config.search.visit(&**game, 0, builder),
    }
}

/// Creates a player from a selection and the playout of the player itself.
struct WithOwnPlayout<'a, C>(PlayerBuilder<'a, C>);

impl<C: Cutoff<ChineseCheckers> + Clone + Send + 'static> SelectionVisitor<ChineseCheckers> for WithOwnPlayout<'_, C> {
    type Made = Box<dyn EnginePlayer>;

    fn visit<S: Selection<ChineseCheckers> + Clone + Send + 'static>(self, selection: S) -> Box<dyn EnginePlayer> {
        let playout = FarthestMix::new(self.0.config.random);
        self.0.visit(selection, playout)
    }
}

/// Creates a player from a selection and a playout.
struct PlayerBuilder<'a, C> {
    game: Arc<ChineseCheckers>,
    config: &'a UctConfig,
    cutoff: C,
    memory: &'a MemoryBudget,
}

impl<C: Cutoff<ChineseCheckers> + Clone + Send + 'static> PartsVisitor<ChineseCheckers> for PlayerBuilder<'_, C> {
    type Made = Box<dyn EnginePlayer>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn EnginePlayer>
    where
        S: Selection<ChineseCheckers> + Clone + Send + 'static,
        P: Playout<ChineseCheckers> + Clone + Send + 'static,
    {
        Box::new(UctPlayer::new(self.game, self.config, (selection, playout, self.cutoff), self.memory))
    }
}

pub(super) struct UctPlayer<S: Selection<ChineseCheckers>, P, C> {
    game: Arc<ChineseCheckers>,
    config: UctConfig,
    /// The parts in their state before a game.
    parts: (S, P, C),
    mcts: Mcts<ChineseCheckers, S, P, C>,
    memory: MemoryBudget,
}

impl<S, P, C> UctPlayer<S, P, C>
where
    S: Selection<ChineseCheckers> + Clone,
    P: Playout<ChineseCheckers> + Clone,
    C: Cutoff<ChineseCheckers> + Clone,
{
    pub fn new(
        game: Arc<ChineseCheckers>,
        config: &UctConfig,
        parts: (S, P, C),
        memory: &MemoryBudget,
    ) -> UctPlayer<S, P, C> {
        let memory = memory.part(config.search.memory.unwrap_or(u64::MAX));
        let mcts = search(config, parts.clone(), 0).within(&memory);
        UctPlayer { game, config: config.clone(), parts, mcts, memory }
    }
}

fn search<S, P, C>(config: &UctConfig, parts: (S, P, C), seed: u64) -> Mcts<ChineseCheckers, S, P, C>
where
    S: Selection<ChineseCheckers>,
    P: Playout<ChineseCheckers>,
    C: Cutoff<ChineseCheckers>,
{
    let search = &config.search;
    let settings = MctsConfig {
        expansion_threshold: config.threshold,
        length_bonus: LengthBonus { weight: config.length_weight, horizon: LENGTH_HORIZON },
        decision: search.decision,
        max_edges: MAX_EDGES,
        transpositions: search.transpositions,
        tree_gamma: search.tree_gamma,
        solver: search.solver,
    };
    let (selection, playout, cutoff) = parts;
    Mcts::new(selection, playout, cutoff, settings, seed).tuned(search.tuning.clone())
}

impl<S, P, C> EnginePlayer for UctPlayer<S, P, C>
where
    S: Selection<ChineseCheckers> + Clone + Send,
    P: Playout<ChineseCheckers> + Clone + Send,
    C: Cutoff<ChineseCheckers> + Clone + Send,
{
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return Choice { action, spent: SearchStats::default() };
        }
        let found = self.mcts.search(&self.game, state, state.player() as usize, limits, stop);
        Choice { action: found.best, spent: found.spent }
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        if let Some(action) = only_action(&self.game, state) {
            return forced(action, watch);
        }
        let role = state.player() as usize;
        let mut spent = SearchStats::default();
        let mut report = FIRST_REPORT;
        loop {
            let part = limits.and(Limits::expansions(report));
            let found = self.mcts.resume(&self.game, state, role, part, stop, spent);
            spent = found.spent;
            let value = found.value().map(SearchValue::of_mean);
            watch(&SearchInfo { spent, value, is_race: false, line: self.mcts.principal_variation() });
            // A part that ends before its report reached the time limit or was
            // stopped.
            if spent.expansions_counted() < report || limits.counted_out(&spent) {
                return Choice { action: found.best, spent };
            }
            report *= 2;
        }
    }

    fn observe(&mut self, action: Action) {
        self.mcts.advance(&self.game, &[action]);
    }

    fn reset(&mut self, seed: u64) {
        self.mcts = search(&self.config, self.parts.clone(), seed).within(&self.memory);
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;
    use sternhalma_ggp::Game;

    use super::*;
    use crate::players::roster::Roster;
    use crate::rules::{Filter, GameSetup};

    #[test]
    fn a_search_in_parts_is_the_search_in_one() {
        let board = Board::new(7, 3).unwrap();
        let config = Roster::built_in().config("base0").unwrap();
        let prepared = config.prepare(GameSetup::new(board), None).unwrap();
        let state = ChineseCheckers::new(board, Filter::All).initial();
        let go = AtomicBool::new(false);
        let counted =
            |choice: Choice| Choice { spent: SearchStats { time: Default::default(), ..choice.spent }, ..choice };
        for (limits, parts) in [
            (Limits::expansions(FIRST_REPORT), 1),
            (Limits::expansions(FIRST_REPORT + 1), 1),
            (Limits::expansions(5 * FIRST_REPORT), 4),
            (Limits::playouts(30_000), 3),
        ] {
            let mut players = [(); 2].map(|()| prepared.start(&MemoryBudget::unlimited()).unwrap());
            players.iter_mut().for_each(|player| player.reset(7));
            let [one, other] = &mut players;
            let mut seen = Vec::new();
            let choice = other.think(&state, limits, &go, &mut |info| seen.push(info.clone()));
            assert_eq!(counted(one.choose(&state, limits, &go)), counted(choice), "{limits:?}");
            // The last simulation of a part may exceed the next limit.
            assert!(seen.len().abs_diff(parts) <= 1, "{limits:?}: {}", seen.len());
            let last = &seen[seen.len() - 1];
            assert_eq!((last.line[0], last.spent), (choice.action, choice.spent));
            assert!(matches!(last.value, Some(SearchValue::Reward(value)) if value.abs() <= 1.0));
        }
    }
}
