//! Searches that are run a step at a time.

use crate::game::Game;
use crate::limits::{LimitChecker, Limits, SearchStats};
use crate::mcts::{Mcts, Next, Playout, SearchClock, SearchResult, Selection, ToTheEnd};

/// What a search comes to in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepOutcome {
    /// It plays on.
    Play,
    /// Its simulation has ended, and the next is to begin at the root.
    Restart,
    /// It has ended.
    Finished,
}

/// A search whose states are advanced by its caller.
///
/// Once it has [begun](ResumableSearch::search), it is shown the root, then the state
/// after the moves it tells, and so on. It runs the simulations that
/// [`Mcts::search`] and [`Mcts::think`] run by the same limits.
pub(crate) trait ResumableSearch<G: Game>: Send {
    /// Begins the match.
    fn begin(&mut self, game: &G, state: &G::State);

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &G, joint: &[G::Move]);

    /// Begins to search from a state that is not terminal, by limits of
    /// playouts and expansions alone.
    fn search_from(&mut self, game: &G, state: &G::State, limits: Limits, clock: SearchClock);

    /// Is shown a state. If it plays on, `numbers` become those of the moves
    /// of all roles.
    fn step(&mut self, game: &G, state: &G::State, numbers: &mut Vec<u32>) -> StepOutcome;

    /// What the search has spent so far, but for time.
    fn spent(&self) -> SearchStats;

    /// What the search found for a role that is to act in the state it began in.
    fn found(&self, game: &G, state: &G::State, role: usize) -> SearchResult<G::Move>;
}

/// A search with what it has spent.
pub(crate) struct ResumableMcts<G: Game, S: Selection<G>, P> {
    mcts: Mcts<G, S, P, ToTheEnd>,
    meter: LimitChecker<'static>,
    clock: SearchClock,
}

impl<G: Game, S: Selection<G>, P: Playout<G>> ResumableMcts<G, S, P> {
    /// A search that has not begun.
    pub fn new(mcts: Mcts<G, S, P, ToTheEnd>) -> ResumableMcts<G, S, P> {
        ResumableMcts { mcts, meter: LimitChecker::counting(Limits::default()), clock: SearchClock::Play }
    }
}

impl<G, S, P> ResumableSearch<G> for ResumableMcts<G, S, P>
where
    G: Game,
    S: Selection<G> + Send,
    S::EdgeData: Send,
    P: Playout<G> + Send,
{
    fn begin(&mut self, game: &G, state: &G::State) {
        self.mcts.begin(game, state);
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        self.mcts.advance(game, joint);
    }

    fn search_from(&mut self, game: &G, state: &G::State, limits: Limits, clock: SearchClock) {
        self.meter = LimitChecker::counting(limits);
        self.clock = clock;
        self.mcts.prepare(game, state, &mut self.meter);
        self.mcts.set_out(game, &self.meter, clock);
    }

    fn step(&mut self, game: &G, state: &G::State, numbers: &mut Vec<u32>) -> StepOutcome {
        match self.mcts.next(game, state, &mut self.meter) {
            Next::Play => {
                numbers.clear();
                self.mcts.numbers(game, state, numbers);
                return StepOutcome::Play;
            }
            Next::Learn => self.mcts.learn(game, &mut self.meter),
            Next::Forget => return StepOutcome::Finished,
        }
        if self.meter.is_over() || self.mcts.is_solved() {
            return StepOutcome::Finished;
        }
        self.mcts.set_out(game, &self.meter, self.clock);
        StepOutcome::Restart
    }

    fn spent(&self) -> SearchStats {
        self.meter.spent
    }

    fn found(&self, game: &G, state: &G::State, role: usize) -> SearchResult<G::Move> {
        self.mcts.found(game, state, role, self.meter.spent)
    }
}
