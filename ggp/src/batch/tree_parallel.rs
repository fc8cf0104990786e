//! Many simulations of one search, whose states are stepped together: tree
//! parallelisation on one core with WU-UCT [Liu et al. 2020].

use std::sync::Arc;
use std::time::Duration;

use sternhalma_game::{LimitChecker, Limits, SearchStats, SearchTask, StateNeeds};
use sternhalma_gdl::network::{LANES, LaneGame, LaneView, NetworkGame, NetworkState};
use sternhalma_mcts::{Mcts, Simulation, StepAction, ToTheEnd};

use super::lane_driver::{LaneDriver, SeatSearch};
use super::resumable::{LanePlayout, LaneSelection, StepOutcome};

/// The number of simulations of a search that run at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parallelism {
    /// One after the other.
    #[default]
    One,
    /// This number of simulations, 2 to 512.
    Lanes(usize),
    /// The number is chosen from [`WAYS`](Parallelism::WAYS): on searches 1, 2,
    /// 4, 8, … each is timed, and the fastest is kept. Searches with a limit of
    /// playouts or expansions run one simulation at a time.
    Auto,
}

impl Parallelism {
    /// The numbers that [`Auto`](Parallelism::Auto) tries. With more
    /// simulations, each one would know fewer results of the others. With
    /// fewer, empty lanes would cost as much as used ones.
    pub const WAYS: [usize; 3] = [1, 32, 128];

    /// Minimum speed-up that justifies parallel simulations: each sees slightly
    /// stale statistics, and unfinished ones are discarded.
    const MIN_GAIN: f64 = 1.25;
}

/// The speeds measured for each of [`Parallelism::WAYS`].
#[derive(Clone, Copy, Debug, Default)]
struct SpeedTrials {
    /// The number of searches with a limit of time.
    searches: u32,
    /// The expansions and seconds of each way.
    tried: [(f64, f64); Parallelism::WAYS.len()],
}

impl SpeedTrials {
    /// Returns the number of simulations at a time with the best speed, in expansions
    /// per second. A larger number must be [`MIN_GAIN`](Parallelism::MIN_GAIN) times as
    /// fast as the best smaller one.
    fn best(&self) -> usize {
        // A way that has not been tried has the rate 0.
        let rates = self.tried.map(|(expansions, seconds)| expansions / seconds.max(1e-9));
        let mut best = 0;
        for way in 1..rates.len() {
            if rates[way] > Parallelism::MIN_GAIN * rates[best] {
                best = way;
            }
        }
        Parallelism::WAYS[best]
    }
}

/// A search that runs many simulations at the same time in one tree, each in a
/// lane.
pub(crate) struct TreeParallel<S: LaneSelection, P> {
    /// The tree, which begins and follows the match.
    pub mcts: Mcts<NetworkGame, S, P, ToTheEnd>,
    lanes: Arc<LaneGame>,
    parallelism: Parallelism,
    trials: SpeedTrials,
}

impl<S: LaneSelection, P: LanePlayout> TreeParallel<S, P> {
    /// Creates a search that runs simulations in parallel.
    pub fn new(
        mcts: Mcts<NetworkGame, S, P, ToTheEnd>,
        lanes: Arc<LaneGame>,
        parallelism: Parallelism,
    ) -> TreeParallel<S, P> {
        TreeParallel { mcts, lanes, parallelism, trials: SpeedTrials::default() }
    }

    /// Runs simulations; see [`Mcts::think`].
    pub fn think(&mut self, task: &SearchTask<NetworkGame>) -> SearchStats {
        let limits = task.limits;
        let time = limits.time.filter(|_| limits.playouts.or(limits.expansions).is_none());
        let (lanes, spent) = match (self.parallelism, time) {
            (Parallelism::Lanes(lanes), _) => (lanes.clamp(1, LANES), SearchStats::default()),
            (Parallelism::Auto, Some(time)) => {
                self.trials.searches += 1;
                let is_tried = self.trials.searches.is_power_of_two();
                let spent = if is_tried { self.try_ways(task, time) } else { SearchStats::default() };
                (self.trials.best(), spent)
            }
            _ => (1, SearchStats::default()),
        };
        self.run(lanes, task, limits, spent)
    }

    /// Tries each of [`Parallelism::WAYS`] for an eighth of the time. Speed is
    /// measured in expansions, because a simulation may take longer than a
    /// trial.
    fn try_ways(&mut self, task: &SearchTask<NetworkGame>, time: Duration) -> SearchStats {
        let mut spent = SearchStats::default();
        for (part, lanes) in Parallelism::WAYS.into_iter().enumerate() {
            let before = spent;
            spent = self.run(lanes, task, Limits::time(time * (part as u32 + 1) / 8), spent);
            let (expansions, seconds) = &mut self.trials.tried[part];
            *expansions += (spent.expansions - before.expansions) as f64;
            *seconds += (spent.time - before.time).as_secs_f64();
        }
        spent
    }

    /// Runs simulations until a limit is reached, `lanes` at a time. Returns
    /// what was spent in all, `spent` included.
    fn run(&mut self, lanes: usize, task: &SearchTask<NetworkGame>, limits: Limits, spent: SearchStats) -> SearchStats {
        let &SearchTask { game, state, stop, clock, .. } = task;
        if lanes == 1 {
            return self.mcts.think(game, state, limits, stop, spent, clock);
        }
        let mut checker = LimitChecker::resumed(limits, stop, spent).under(clock);
        run_in_lanes(&mut self.mcts, game, &self.lanes, state, lanes, &mut checker);
        checker.spent()
    }
}

/// Runs simulations until a limit is reached, `count` at a time in lanes.
pub(crate) fn run_in_lanes<S: LaneSelection, P: LanePlayout>(
    mcts: &mut Mcts<NetworkGame, S, P, ToTheEnd>,
    game: &NetworkGame,
    lanes: &LaneGame,
    root: &NetworkState,
    count: usize,
    checker: &mut LimitChecker,
) {
    mcts.prepare(game, root, checker);
    let limit = checker.playouts_left().max(1);
    let count = limit.min(count as u64) as usize;
    let simulations = (0..count).map(|_| None).collect();
    let mut searches = SharedTree { mcts, game, root, simulations, checker, begun: 0, limit, over: false };
    let mut driver = LaneDriver::new(lanes);
    driver.skip_to(root);
    for seat in 0..count {
        driver.seat(seat, root);
        searches.begin(seat);
    }
    driver.round(&mut searches);
    while driver.is_busy() && !searches.over {
        driver.round(&mut searches);
        searches.over |= searches.checker.is_over();
    }
    let SharedTree { mcts, simulations, checker, .. } = searches;
    simulations.into_iter().flatten().for_each(|simulation| mcts.cancel(simulation, game, checker));
}

/// The simulations of a search that run at the same time.
struct SharedTree<'a, 'c, S: LaneSelection, P> {
    mcts: &'a mut Mcts<NetworkGame, S, P, ToTheEnd>,
    game: &'a NetworkGame,
    root: &'a NetworkState,
    /// By seat.
    simulations: Vec<Option<Simulation>>,
    checker: &'a mut LimitChecker<'c>,
    /// The number of simulations that have begun, and its limit.
    begun: u64,
    limit: u64,
    /// Whether a limit is reached or the root is solved.
    over: bool,
}

impl<S: LaneSelection, P: LanePlayout> SharedTree<'_, '_, S, P> {
    fn begin(&mut self, seat: usize) {
        self.simulations[seat] = Some(self.mcts.begin_simulation(self.game, self.checker, true));
        self.begun += 1;
    }
}

impl<S: LaneSelection, P: LanePlayout> SeatSearch for SharedTree<'_, '_, S, P> {
    fn root(&self, _: usize) -> &NetworkState {
        self.root
    }

    fn needs(&self, seat: usize) -> StateNeeds {
        self.simulations[seat].as_ref().map_or(StateNeeds::default(), |simulation| self.mcts.needs(simulation))
    }

    fn step(&mut self, seat: usize, state: &LaneView, numbers: &mut Vec<u32>) -> StepOutcome {
        let Some(simulation) = &mut self.simulations[seat] else { return StepOutcome::Finished };
        let action = self.mcts.step(simulation, self.game, state, self.checker);
        if action == StepAction::Play {
            numbers.clear();
            self.mcts.move_numbers(simulation, self.game, state, numbers);
            return StepOutcome::Play;
        }
        if let Some(simulation) = self.simulations[seat].take() {
            if action == StepAction::Finish {
                self.mcts.finish(simulation, self.game, self.checker);
                self.over |= self.mcts.is_solved();
            } else {
                self.mcts.cancel(simulation, self.game, self.checker);
                self.over = true;
            }
        }
        if self.begun >= self.limit || self.over {
            return StepOutcome::Finished;
        }
        self.begin(seat);
        StepOutcome::Restart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_simulations_must_be_faster() {
        let best = |rates: [f64; 3]| SpeedTrials { searches: 1, tried: rates.map(|rate| (rate, 0.5)) }.best();
        assert_eq!([[100.0, 120.0, 130.0], [100.0, 120.0, 120.0]].map(best), [128, 1]);
        assert_eq!([[100.0, 130.0, 160.0], [100.0, 130.0, 170.0]].map(best), [32, 128]);
        assert_eq!(SpeedTrials::default().best(), 1);
    }
}
