//! Searches by a policy, a step at a time.

use super::mind::Terms;
use super::{PartsVisitor, PlayoutPolicy, Policy, SearchPolicy};
use crate::game::Game;
use crate::limits::{Limits, Meter, Spent};
use crate::mcts::{Clock, Found, Mcts, Next};
use crate::parts::{Playout, Selection, ToTheEnd};
use crate::tree_parallel::SideBySide;

/// What a search comes to in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stepped {
    /// It plays on.
    Plays,
    /// Its simulation has ended, and the next is to begin at the root.
    Again,
    /// It has ended.
    Over,
}

/// A search whose states are stepped by somebody else.
///
/// Once it has [begun](Stepper::search), it is shown the root, then the state
/// after the moves it tells, and so on. It runs the simulations that
/// [`Mind::search`](super::Mind::search) and [`Mind::think`](super::Mind::think) run by the same limits.
pub(crate) trait Stepper<G: Game>: Send {
    /// Begins the match.
    fn begin(&mut self, game: &G, state: &G::State);

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &G, joint: &[G::Move]);

    /// Begins to search from a state that is not terminal, by limits of
    /// playouts and expansions alone.
    fn search_from(&mut self, game: &G, state: &G::State, limits: Limits, clock: Clock);

    /// Is shown a state. If it plays on, `numbers` become those of the moves
    /// of all roles.
    fn step(&mut self, game: &G, state: &G::State, numbers: &mut Vec<u32>) -> Stepped;

    /// What the search has spent so far, but for time.
    fn spent(&self) -> Spent;

    /// What the search found for a role that is to act in the state it began in.
    fn found(&self, game: &G, state: &G::State, role: usize) -> Found<G::Move>;
}

impl Policy {
    /// Whether it plays the same a step at a time: strategies that look at
    /// states want more of them than a lane shows.
    pub(crate) fn goes_in_steps(&self) -> bool {
        match self {
            Policy::Search(SearchPolicy { lanes: SideBySide::Lanes(_), .. }) => false,
            Policy::Search(SearchPolicy { playout: PlayoutPolicy::Mini(config), .. }) => config.is_blind(),
            _ => true,
        }
    }

    /// What plays a role of one match by this policy a step at a time; none if
    /// it does not search.
    pub(crate) fn stepper<G: Game + 'static>(&self, game: &G, role: usize, seed: u64) -> Option<Box<dyn Stepper<G>>> {
        match self {
            Policy::Random => None,
            Policy::Search(search) => Some(search.visit(game, role, MakeStepper(search.terms(seed)))),
        }
    }
}

struct MakeStepper(Terms);

impl<G: Game + 'static> PartsVisitor<G> for MakeStepper {
    type Made = Box<dyn Stepper<G>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn Stepper<G>>
    where
        S: Selection<G> + Clone + Send + 'static,
        S::Note: Send,
        P: Playout<G> + Clone + Send + 'static,
    {
        let mcts = self.0.search(selection, playout);
        Box::new(InSteps { mcts, meter: Meter::counting(Limits::default()), clock: Clock::Play })
    }
}

/// A search with what it has spent.
struct InSteps<G: Game, S: Selection<G>, P> {
    mcts: Mcts<G, S, P, ToTheEnd>,
    meter: Meter<'static>,
    clock: Clock,
}

impl<G, S, P> Stepper<G> for InSteps<G, S, P>
where
    G: Game,
    S: Selection<G> + Send,
    S::Note: Send,
    P: Playout<G> + Send,
{
    fn begin(&mut self, game: &G, state: &G::State) {
        self.mcts.begin(game, state);
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        self.mcts.advance(game, joint);
    }

    fn search_from(&mut self, game: &G, state: &G::State, limits: Limits, clock: Clock) {
        self.meter = Meter::counting(limits);
        self.clock = clock;
        self.mcts.prepare(game, state, &mut self.meter);
        self.mcts.set_out(game, &self.meter, clock);
    }

    fn step(&mut self, game: &G, state: &G::State, numbers: &mut Vec<u32>) -> Stepped {
        match self.mcts.next(game, state, &mut self.meter) {
            Next::Play => {
                numbers.clear();
                self.mcts.numbers(game, state, numbers);
                return Stepped::Plays;
            }
            Next::Learn => self.mcts.learn(game, &mut self.meter),
            Next::Forget => return Stepped::Over,
        }
        if self.meter.is_over() || self.mcts.is_solved() {
            return Stepped::Over;
        }
        self.mcts.set_out(game, &self.meter, self.clock);
        Stepped::Again
    }

    fn spent(&self) -> Spent {
        self.meter.spent
    }

    fn found(&self, game: &G, state: &G::State, role: usize) -> Found<G::Move> {
        self.mcts.found(game, state, role, self.meter.spent)
    }
}
