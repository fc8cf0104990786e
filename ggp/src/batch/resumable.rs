//! Searches whose states the caller steps.

use sternhalma_game::{LimitChecker, Limits, SearchStats, StateNeeds};
use sternhalma_gdl::network::{LaneView, NetworkGame, NetworkState};
use sternhalma_mcts::{
    Foresight, Mcts, Playout, SearchClock, SearchResult, Selection, Simulation, StepAction, ToTheEnd,
};

/// A selection that reads whole states and states in lanes.
pub(crate) trait LaneSelection:
    Selection<NetworkGame, NetworkState> + Selection<NetworkGame, LaneView> + Send
{
}

impl<S> LaneSelection for S where S: Selection<NetworkGame, NetworkState> + Selection<NetworkGame, LaneView> + Send {}

/// A playout that reads whole states and states in lanes.
pub(crate) trait LanePlayout:
    Playout<NetworkGame, NetworkState> + Playout<NetworkGame, LaneView> + Send
{
}

impl<P: Playout<NetworkGame, NetworkState> + Playout<NetworkGame, LaneView> + Send> LanePlayout for P {}

/// The outcome of a step of a [`ResumableSearch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepOutcome {
    /// The simulation plays a joint move.
    Play,
    /// The simulation has ended, and the next one begins at the root.
    Restart,
    /// The search has ended.
    Finished,
}

/// A search whose states the caller steps.
///
/// After [`begin_search`](ResumableSearch::begin_search), the caller passes the
/// root to [`step`](ResumableSearch::step), then the state after the joint move
/// that it returns, and so on. The simulations are those that
/// [`Mcts::think`] runs with the same limits.
pub(crate) trait ResumableSearch: Send {
    /// Begins the match.
    fn begin(&mut self, game: &NetworkGame, state: &NetworkState);

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &NetworkGame, joint: &[u32]);

    /// Begins to search a state that is not terminal. The limits are of
    /// playouts and expansions only.
    fn begin_search(&mut self, game: &NetworkGame, state: &NetworkState, limits: Limits, clock: SearchClock);

    /// Returns what the next step may read of its state.
    fn needs(&self) -> StateNeeds;

    /// Returns which successors the next step reads, and sets `joints` to their joint moves.
    fn foresee(&mut self, game: &NetworkGame, state: &LaneView, joints: &mut Vec<u32>) -> Foresight;

    /// Takes a step in a state. If the simulation plays, sets `numbers` to the
    /// move numbers of all roles.
    fn step(&mut self, game: &NetworkGame, state: &LaneView, numbers: &mut Vec<u32>) -> StepOutcome;

    /// Returns what the search has spent so far, except the time.
    fn spent(&self) -> SearchStats;

    /// Returns the result for a role that acts in the state that was searched.
    fn result(&self, game: &NetworkGame, state: &NetworkState, role: usize) -> SearchResult<u32>;
}

/// An [`Mcts`] whose states the caller steps.
pub(crate) struct ResumableMcts<S: LaneSelection, P> {
    mcts: Mcts<NetworkGame, S, P, ToTheEnd>,
    checker: LimitChecker<'static>,
    /// The simulation under way.
    simulation: Option<Simulation>,
}

impl<S: LaneSelection, P: LanePlayout> ResumableMcts<S, P> {
    /// Creates a search that has not begun.
    pub fn new(mcts: Mcts<NetworkGame, S, P, ToTheEnd>) -> ResumableMcts<S, P> {
        ResumableMcts { mcts, checker: LimitChecker::counting(Limits::default()), simulation: None }
    }
}

impl<S: LaneSelection, P: LanePlayout> ResumableSearch for ResumableMcts<S, P> {
    fn begin(&mut self, game: &NetworkGame, state: &NetworkState) {
        self.mcts.begin(game, state);
    }

    fn advance(&mut self, game: &NetworkGame, joint: &[u32]) {
        self.mcts.advance(game, joint);
    }

    fn begin_search(&mut self, game: &NetworkGame, state: &NetworkState, limits: Limits, clock: SearchClock) {
        self.checker = LimitChecker::counting(limits).under(clock);
        self.mcts.prepare(game, state, &mut self.checker);
        self.simulation = Some(self.mcts.begin_simulation(game, &self.checker, false));
    }

    fn needs(&self) -> StateNeeds {
        self.simulation.as_ref().map_or(StateNeeds::default(), |simulation| self.mcts.needs(simulation))
    }

    fn foresee(&mut self, game: &NetworkGame, state: &LaneView, joints: &mut Vec<u32>) -> Foresight {
        let Some(simulation) = &self.simulation else { return Foresight::Nothing };
        self.mcts.foresee(simulation, game, state, joints)
    }

    fn step(&mut self, game: &NetworkGame, state: &LaneView, numbers: &mut Vec<u32>) -> StepOutcome {
        let Some(simulation) = &mut self.simulation else { return StepOutcome::Finished };
        let action = self.mcts.step(simulation, game, state, &mut self.checker);
        if action == StepAction::Play {
            numbers.clear();
            self.mcts.move_numbers(simulation, game, state, numbers);
            return StepOutcome::Play;
        }
        if let Some(simulation) = self.simulation.take() {
            match action {
                StepAction::Finish => self.mcts.finish(simulation, game, &mut self.checker),
                _ => self.mcts.cancel(simulation, game, &mut self.checker),
            }
        }
        if action == StepAction::Cancel || self.checker.is_over() || self.mcts.is_solved() {
            return StepOutcome::Finished;
        }
        self.simulation = Some(self.mcts.begin_simulation(game, &self.checker, false));
        StepOutcome::Restart
    }

    fn spent(&self) -> SearchStats {
        self.checker.spent
    }

    fn result(&self, game: &NetworkGame, state: &NetworkState, role: usize) -> SearchResult<u32> {
        self.mcts.result(game, state, role, self.checker.spent)
    }
}
