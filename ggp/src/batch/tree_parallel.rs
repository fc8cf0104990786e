//! Many simulations of one search, whose states are stepped together: tree
//! parallelisation on one core that watches the unobserved (Liu et al. 2020).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::game::Game;
use crate::gdl::network::{LANES, LaneGame, LaneState, LaneStates, Seats};
use crate::limits::{LimitChecker, Limits, SearchStats};
use crate::mcts::{Flight, Mcts, Next, Playout, SearchClock, SearchResult, Selection, ToTheEnd};

/// How many simulations of a search are under way side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parallelism {
    /// One after the other.
    #[default]
    One,
    /// So many, 2 to 512.
    Lanes(usize),
    /// As many of [`WAYS`](Parallelism::WAYS) as pay by what they expand in the
    /// same time when they are tried, in the 1st, 2nd, 4th, 8th … search. Where
    /// counts are limited, one: side by side each knows less of those before it.
    Auto,
}

impl Parallelism {
    /// How many simulations at a time are tried. Of more, each knows less of
    /// those beside it; fewer leave lanes empty that cost as much.
    pub const WAYS: [usize; 3] = [1, 32, 128];

    /// From so many times the expansions on it is worth that simulations know
    /// less, and that those under way are lost when a search ends.
    const LEAST_GAIN: f64 = 1.25;
}

/// What is known of how fast so many simulations at a time are.
#[derive(Clone, Copy, Debug, Default)]
struct Trials {
    /// Searches by time.
    searches: u32,
    /// The expansions and seconds of each way while it was tried.
    tried: [(f64, f64); Parallelism::WAYS.len()],
}

impl Trials {
    /// How many simulations at a time pay.
    fn best(&self) -> usize {
        let rates = self.tried.map(|(expansions, seconds)| expansions / seconds.max(1e-9));
        let mut best = 0;
        for way in 1..rates.len() {
            if rates[way] > Parallelism::LEAST_GAIN * rates[best] {
                best = way;
            }
        }
        Parallelism::WAYS[best]
    }
}

/// A search of which many simulations are under way side by side, each in a
/// lane, in one tree.
pub(crate) struct TreeParallel<S: Selection<LaneGame>, P> {
    mcts: Mcts<LaneGame, S, P, ToTheEnd>,
    many: Parallelism,
    trials: Trials,
    flights: Vec<Flight>,
    numbers: Vec<u32>,
}

impl<S: Selection<LaneGame>, P: Playout<LaneGame>> TreeParallel<S, P> {
    /// A search with so many simulations at a time.
    pub fn new(mcts: Mcts<LaneGame, S, P, ToTheEnd>, many: Parallelism) -> TreeParallel<S, P> {
        TreeParallel { mcts, many, trials: Trials::default(), flights: Vec::new(), numbers: Vec::new() }
    }

    /// See [`Mcts::begin`].
    pub fn begin(&mut self, game: &LaneGame, state: &LaneState) {
        self.mcts.begin(game, state);
    }

    /// See [`Mcts::advance`].
    pub fn advance(&mut self, game: &LaneGame, joint: &[u32]) {
        self.mcts.advance(game, joint);
    }

    /// See [`Mcts::is_solved`].
    pub fn is_solved(&self) -> bool {
        self.mcts.is_solved()
    }

    /// Searches as [`Mcts::search`] does.
    pub fn search(
        &mut self,
        game: &LaneGame,
        state: &LaneState,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> SearchResult<u32> {
        let spent = self.think(game, state, limits, stop, SearchClock::Play);
        self.mcts.found(game, state, role, spent)
    }

    /// Runs simulations as [`Mcts::think`] does.
    pub fn think(
        &mut self,
        game: &LaneGame,
        state: &LaneState,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats {
        let start = Start { game, root: state, stop, clock };
        let time = limits.time.filter(|_| limits.playouts.or(limits.expansions).is_none());
        let (most, spent) = match (self.many, time) {
            (Parallelism::Lanes(most), _) => (most.clamp(1, LANES), SearchStats::default()),
            (Parallelism::Auto, Some(time)) => {
                self.trials.searches += 1;
                let is_tried = self.trials.searches.is_power_of_two();
                let spent = if is_tried { self.try_ways(start, time) } else { SearchStats::default() };
                (self.trials.best(), spent)
            }
            _ => (1, SearchStats::default()),
        };
        self.run(most, start, limits, spent)
    }

    /// Tries each way for an eighth of the time. Rates are those of
    /// expansions: a simulation may take longer than it is tried.
    fn try_ways(&mut self, start: Start, time: Duration) -> SearchStats {
        let mut spent = SearchStats::default();
        for (part, most) in Parallelism::WAYS.into_iter().enumerate() {
            let before = spent;
            spent = self.run(most, start, Limits::time(time * (part as u32 + 1) / 8), spent);
            let (expansions, seconds) = &mut self.trials.tried[part];
            *expansions += (spent.expansions - before.expansions) as f64;
            *seconds += (spent.time - before.time).as_secs_f64();
        }
        spent
    }

    /// Runs simulations until a limit is reached, so many at a time, beyond
    /// what is spent, and returns what is spent then.
    pub fn run(&mut self, most: usize, start: Start, limits: Limits, spent: SearchStats) -> SearchStats {
        let Start { game, root, stop, clock } = start;
        if most == 1 {
            return self.mcts.think(game, root, limits, stop, spent, clock);
        }
        let mut meter = LimitChecker::resumed(limits, stop, spent);
        self.mcts.prepare(game, root, &mut meter);
        self.together(most, start, limits, &mut meter);
        meter.finish()
    }

    /// Runs simulations by limits of counts alone, in lanes even if it is one.
    #[cfg(test)]
    pub fn count(&mut self, most: usize, start: Start, limits: Limits) -> SearchStats {
        let mut meter = LimitChecker::counting(limits);
        self.mcts.prepare(start.game, start.root, &mut meter);
        self.together(most, start, limits, &mut meter);
        meter.spent
    }

    /// The search by one simulation at a time.
    #[cfg(test)]
    pub fn mcts(&self) -> &Mcts<LaneGame, S, P, ToTheEnd> {
        &self.mcts
    }

    /// Runs simulations side by side until a limit is reached.
    fn together(&mut self, most: usize, start: Start, limits: Limits, meter: &mut LimitChecker) {
        let Start { game, root, clock, .. } = start;
        let limit = limits.playouts.map_or(u64::MAX, |playouts| playouts.saturating_sub(meter.spent.playouts).max(1));
        let most = limit.min(most as u64) as usize;
        self.flights.clear();
        self.flights.extend((0..most).map(|_| self.mcts.flight()));
        let mut round = Round {
            game,
            states: LaneStates::new(game),
            phase: game.phase_of(root),
            active: Seats::NONE,
            back: Seats::NONE,
            over: false,
            begun: 0,
            limit,
        };
        while round.states.phase() != round.phase {
            round.states.pass();
        }
        self.mcts.set_side_by_side(true);
        for seat in 0..most {
            round.states.put(seat, root);
            round.active.set(seat, true);
            self.set_out(&mut round, seat, meter, clock);
        }
        round.states.find_ends(round.active);
        (0..most).for_each(|seat| round.states.keep_root(seat));
        self.play(&mut round, meter, clock);
        while (round.active.any() || round.back.any()) && !round.over {
            let over = round.states.find_ends(round.active);
            for seat in over.iter() {
                self.end(&mut round, seat, meter, clock);
            }
            if round.states.phase() == round.phase && round.back.any() {
                let back = std::mem::replace(&mut round.back, Seats::NONE);
                round.states.restart(back);
                round.active = round.active.with(back);
            }
            match round.active.any() {
                true => self.play(&mut round, meter, clock),
                false => round.states.pass(),
            }
            round.over |= meter.is_over();
        }
        for seat in round.active.iter() {
            self.mcts.swap(&mut self.flights[seat]);
            self.mcts.forget(game.roles());
            self.mcts.swap(&mut self.flights[seat]);
        }
        self.mcts.set_side_by_side(false);
    }

    fn set_out(&mut self, round: &mut Round, seat: usize, meter: &LimitChecker, clock: SearchClock) {
        self.mcts.swap(&mut self.flights[seat]);
        self.mcts.set_out(round.game, meter, clock);
        self.mcts.swap(&mut self.flights[seat]);
        round.begun += 1;
    }

    /// Shows a simulation that its match is over.
    fn end(&mut self, round: &mut Round, seat: usize, meter: &mut LimitChecker, clock: SearchClock) {
        self.mcts.swap(&mut self.flights[seat]);
        let next = self.mcts.next(round.game, round.states.end(seat), meter);
        self.mcts.swap(&mut self.flights[seat]);
        self.go_back(round, seat, next, meter, clock);
    }

    /// A simulation has ended; the next of the seat sets out.
    fn go_back(&mut self, round: &mut Round, seat: usize, next: Next, meter: &mut LimitChecker, clock: SearchClock) {
        self.mcts.swap(&mut self.flights[seat]);
        match next {
            Next::Learn => {
                self.mcts.learn(round.game, meter);
                round.over |= self.mcts.is_solved();
            }
            Next::Forget | Next::Play => {
                self.mcts.forget(round.game.roles());
                round.over = true;
            }
        }
        self.mcts.swap(&mut self.flights[seat]);
        round.active.set(seat, false);
        if round.begun < round.limit && !round.over {
            round.back.set(seat, true);
            self.set_out(round, seat, meter, clock);
        }
    }

    /// Shows all simulations their states, and plays what they choose.
    fn play(&mut self, round: &mut Round, meter: &mut LimitChecker, clock: SearchClock) {
        round.states.find_moves();
        for seat in 0..self.flights.len() {
            if !round.active.contains(seat) {
                continue;
            }
            let state = round.states.view(seat);
            self.mcts.swap(&mut self.flights[seat]);
            let next = self.mcts.next(round.game, state, meter);
            if next == Next::Play {
                self.numbers.clear();
                self.mcts.numbers(round.game, state, &mut self.numbers);
            }
            self.mcts.swap(&mut self.flights[seat]);
            match next {
                Next::Play => round.states.play(seat, &self.numbers),
                next => self.go_back(round, seat, next, meter, clock),
            }
        }
        round.states.step();
    }
}

/// Where simulations begin, and by which clock.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub game: &'a LaneGame,
    pub root: &'a LaneState,
    pub stop: &'a AtomicBool,
    pub clock: SearchClock,
}

/// Simulations that take their steps together.
struct Round<'a> {
    game: &'a LaneGame,
    states: LaneStates<'a>,
    phase: usize,
    /// The seats with a simulation that plays, and those that wait for the
    /// phase of the root.
    active: Seats,
    back: Seats,
    /// Whether a limit is reached.
    over: bool,
    /// Simulations that have set out, and how many may.
    begun: u64,
    limit: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_a_time_are_to_be_faster() {
        let best = |rates: [f64; 3]| Trials { searches: 1, tried: rates.map(|rate| (rate, 0.5)) }.best();
        assert_eq!([[100.0, 120.0, 130.0], [100.0, 120.0, 120.0]].map(best), [128, 1]);
        assert_eq!([[100.0, 130.0, 160.0], [100.0, 130.0, 170.0]].map(best), [32, 128]);
        assert_eq!(Trials::default().best(), 1);
    }
}
