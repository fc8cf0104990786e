//! Many searches at once, whose simulations are stepped together.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::gdl::network::{LANES, LaneGame, LaneState, LaneStates, Seats};
use crate::limits::{Limits, Spent};
use crate::mcts::{Clock, Found};
use crate::policy::{Policy, Stepped, Stepper};

/// A search of a [`LaneGame`].
pub(crate) type LaneStepper = Box<dyn Stepper<LaneGame>>;

/// A search that a [`LockStep`] runs, or has run.
pub(crate) struct Search<T> {
    /// What its caller knows it by.
    pub tag: T,
    /// What searches.
    pub stepper: LaneStepper,
    root: LaneState,
    limits: Limits,
    clock: Clock,
    phase: usize,
    /// Its share of the time, in seconds.
    seconds: f64,
}

impl<T> Search<T> {
    /// A search from a state of its own that is not terminal, by limits of
    /// playouts and expansions alone.
    pub fn new(tag: T, stepper: LaneStepper, root: LaneState, limits: Limits, clock: Clock) -> Search<T> {
        Search { tag, stepper, root, limits, clock, phase: 0, seconds: 0.0 }
    }

    /// What it has spent; of the time that many searches take it is told an
    /// equal share.
    pub fn spent(&self) -> Spent {
        Spent { time: Duration::from_secs_f64(self.seconds.max(0.0)), ..self.stepper.spent() }
    }

    /// What it found for a role that is to act.
    pub fn found(&self, game: &LaneGame, role: usize) -> Found<u32> {
        Found { spent: self.spent(), ..self.stepper.found(game, &self.root, role) }
    }
}

/// Searches side by side, up to 512 at a time, each with a seat whose
/// simulation takes a step whenever those of all others do. Each search runs
/// the simulations that it would run alone.
///
/// As all states are in the same phase of the game, a simulation that has
/// ended waits for the phase of its root.
pub(crate) struct Searches<'a, T> {
    game: &'a LaneGame,
    states: LaneStates<'a>,
    seats: Vec<Option<Search<T>>>,
    free: Vec<usize>,
    /// Searches that wait for a seat.
    queue: VecDeque<Search<T>>,
    /// By phase: the seats whose root is still to be put there, and those
    /// that go back to theirs.
    new: Vec<Vec<usize>>,
    back: Vec<Seats>,
    /// The seats with a simulation under way.
    active: Seats,
    ended: Vec<Search<T>>,
    numbers: Vec<u32>,
    /// The time of all rounds, divided by the searches of each.
    shared: f64,
    read: Instant,
}

impl<'a, T> Searches<'a, T> {
    /// So many seats, 1 to 512.
    pub fn new(game: &'a LaneGame, seats: usize) -> Searches<'a, T> {
        let seats = seats.clamp(1, LANES);
        let phases = game.phase_count();
        Searches {
            game,
            states: LaneStates::new(game),
            seats: (0..seats).map(|_| None).collect(),
            free: (0..seats).rev().collect(),
            queue: VecDeque::new(),
            new: vec![Vec::new(); phases],
            back: vec![Seats::NONE; phases],
            active: Seats::NONE,
            ended: Vec::new(),
            numbers: Vec::new(),
            shared: 0.0,
            read: Instant::now(),
        }
    }

    /// Begins a search as soon as there is a seat for it.
    pub fn begin(&mut self, search: Search<T>) {
        self.queue.push_back(search);
    }

    /// Whether there is no search.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.free.len() == self.seats.len()
    }

    /// The searches that have ended since it was asked last.
    pub fn ended(&mut self) -> impl Iterator<Item = Search<T>> {
        self.ended.drain(..)
    }

    /// The searches under way.
    pub fn searches(&self) -> impl Iterator<Item = &Search<T>> {
        self.seats.iter().flatten()
    }

    /// Drops searches.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.queue.retain(|search| keep(&search.tag));
        for seat in 0..self.seats.len() {
            if self.seats[seat].as_ref().is_some_and(|search| !keep(&search.tag)) {
                self.seats[seat] = None;
                self.free.push(seat);
                self.active.set(seat, false);
                self.new.iter_mut().for_each(|new| new.retain(|&of| of != seat));
                self.back.iter_mut().for_each(|back| back.set(seat, false));
            }
        }
    }

    /// A step of every simulation whose phase it is.
    pub fn round(&mut self) {
        self.seat_searches();
        let phase = self.states.phase();
        let new = std::mem::take(&mut self.new[phase]);
        self.put_new(&new);
        let over = self.states.find_ends(self.active);
        new.iter().for_each(|&seat| self.states.keep_root(seat));
        self.recycle(phase, new);
        for seat in over.iter() {
            self.end_simulation(seat);
        }
        let back = std::mem::replace(&mut self.back[phase], Seats::NONE);
        if back.any() {
            self.states.restart(back);
            self.active = self.active.with(back);
        }
        if self.active.any() {
            self.play();
        } else {
            self.states.pass();
        }
        self.share_time();
    }

    /// Gives seats to searches that wait for one.
    fn seat_searches(&mut self) {
        while !self.queue.is_empty()
            && let Some(seat) = self.free.pop()
            && let Some(mut search) = self.queue.pop_front()
        {
            search.stepper.search_from(self.game, &search.root, search.limits, search.clock);
            search.phase = self.game.phase_of(&search.root);
            search.seconds = -self.shared;
            self.new[search.phase].push(seat);
            self.seats[seat] = Some(search);
        }
    }

    fn put_new(&mut self, new: &[usize]) {
        for &seat in new {
            if let Some(search) = &self.seats[seat] {
                self.states.put(seat, &search.root);
                self.active.set(seat, true);
            }
        }
    }

    /// Takes the memory of a list back, empty.
    fn recycle(&mut self, phase: usize, mut list: Vec<usize>) {
        list.clear();
        self.new[phase] = list;
    }

    /// Shows a search the end of its simulation.
    fn end_simulation(&mut self, seat: usize) {
        if let Some(search) = &mut self.seats[seat] {
            let stepped = search.stepper.step(self.game, self.states.end(seat), &mut self.numbers);
            self.go_back(seat, stepped);
        }
    }

    /// The simulation of a seat has ended.
    fn go_back(&mut self, seat: usize, stepped: Stepped) {
        self.active.set(seat, false);
        match &self.seats[seat] {
            Some(search) if stepped == Stepped::Again => self.back[search.phase].set(seat, true),
            _ => self.end_search(seat),
        }
    }

    fn end_search(&mut self, seat: usize) {
        if let Some(mut search) = self.seats[seat].take() {
            search.seconds += self.shared;
            self.ended.push(search);
            self.free.push(seat);
        }
    }

    /// Shows all searches their states, and plays what they choose.
    fn play(&mut self) {
        self.states.find_moves();
        for seat in 0..self.seats.len() {
            if !self.active.contains(seat) {
                continue;
            }
            let Some(search) = &mut self.seats[seat] else { continue };
            match search.stepper.step(self.game, self.states.view(seat), &mut self.numbers) {
                Stepped::Plays => self.states.play(seat, &self.numbers),
                stepped => self.go_back(seat, stepped),
            }
        }
        self.states.step();
    }

    fn share_time(&mut self) {
        let now = Instant::now();
        let searches = self.seats.len() - self.free.len();
        self.shared += (now - self.read).as_secs_f64() / searches.max(1) as f64;
        self.read = now;
    }
}

/// Searches by one policy from the initial state, each with a tree of its own,
/// in lock step: what shows how fast they are.
pub struct LockStep<'a> {
    searches: Searches<'a, ()>,
}

impl<'a> LockStep<'a> {
    /// Begins a search a seed, of 512 at most, which goes on for ever. None if
    /// the policy does not search or looks at states, or the initial state is
    /// terminal.
    pub fn new(game: &'a LaneGame, policy: &Policy, seeds: impl ExactSizeIterator<Item = u64>) -> Option<LockStep<'a>> {
        use crate::Game;
        let root = game.initial();
        let mut searches = Searches::new(game, seeds.len());
        for seed in seeds {
            let mut stepper =
                policy.stepper(game, 0, seed).filter(|_| policy.goes_in_steps() && !game.is_terminal(&root))?;
            stepper.begin(game, &root);
            searches.begin(Search::new((), stepper, root.clone(), Limits::default(), Clock::Play));
        }
        Some(LockStep { searches })
    }

    /// Lets all simulations take a step.
    pub fn step(&mut self) {
        self.searches.round();
    }

    /// What all searches have spent together, but for time: playouts and
    /// expansions, and the greatest depth.
    pub fn spent(&self) -> Spent {
        let all = self.searches.searches().map(Search::spent);
        all.fold(Spent::default(), |all, one| Spent {
            playouts: all.playouts + one.playouts,
            expansions: all.expansions + one.expansions,
            depth: all.depth.max(one.depth),
            time: Duration::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::gdl::Rules;
    use crate::gdl::network::{Network, NetworkGame};
    use crate::{Game, Mcts, PartsVisitor, Playout, Selection, ToTheEnd};

    const POLICIES: [&str; 8] = [
        "uct",
        "nst,solver=yes",
        "mast,tune=mab,tune-what=playout+gamma+omega",
        "lgrf,waiting=skip",
        "base",
        "authors",
        "tuned",
        "base,tune=he",
    ];

    /// Searches from move to move.
    const MOVES: usize = 3;

    fn games() -> Vec<(String, NetworkGame)> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("games");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let rules = files.filter(|path| path.extension().is_some_and(|ending| ending == "kif"));
        let mut games: Vec<(String, NetworkGame)> = rules
            .map(|path| {
                let rules = Rules::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
                (path.display().to_string(), NetworkGame::new(Network::new(&rules).unwrap()))
            })
            .collect();
        games.sort_by(|a, b| a.0.cmp(&b.0));
        games
    }

    /// The limits and the clock of the search for a move.
    fn limits(seed: u64, at: usize) -> (Limits, Clock) {
        let count = 3 + (7 * seed + 11 * at as u64) % 13;
        let limits =
            if (seed + at as u64).is_multiple_of(3) { Limits::expansions(4 * count) } else { Limits::playouts(count) };
        (limits, if at == 0 { Clock::Start } else { Clock::Play })
    }

    /// The role whose moves are told, and the joint move after a search: its
    /// best, and the last move of others.
    fn joint<G: Game<Move = u32>>(game: &G, state: &G::State, best: u32) -> Vec<u32> {
        let acting = game.turn(state).acting(game.roles());
        let last = |role| {
            let mut moves = Vec::new();
            game.legal(state, role, &mut moves);
            moves[moves.len() - 1]
        };
        acting.clone().map(|role| if role == acting.start { best } else { last(role) }).collect()
    }

    /// What a search finds in the first moves of a match, alone.
    struct Alone<'a> {
        game: &'a NetworkGame,
        search: &'a crate::SearchPolicy,
        seed: u64,
    }

    impl PartsVisitor<NetworkGame> for Alone<'_> {
        type Made = Vec<Found<u32>>;

        fn visit<S, P>(self, selection: S, playout: P) -> Vec<Found<u32>>
        where
            S: Selection<NetworkGame> + Clone + Send + 'static,
            S::Note: Send,
            P: Playout<NetworkGame> + Clone + Send + 'static,
        {
            let &crate::SearchPolicy { decision, solver, .. } = self.search;
            let settings = crate::Settings { decision, solver, ..crate::Settings::default() };
            let mut mcts =
                Mcts::new(selection, playout, ToTheEnd, settings, self.seed).tuned(self.search.tuning.clone());
            let game = self.game;
            let mut state = game.initial();
            mcts.begin(game, &state);
            let mut all = Vec::new();
            while all.len() < MOVES && !game.is_terminal(&state) {
                let role = game.turn(&state).acting(game.roles()).start;
                let (limits, clock) = limits(self.seed, all.len());
                let spent = mcts.think(game, &state, limits, &Default::default(), Spent::default(), clock);
                let found = mcts.found(game, &state, role, spent);
                let joint = joint(game, &state, found.best);
                all.push(found);
                mcts.advance(game, &joint);
                game.play(&mut state, &joint);
            }
            all
        }
    }

    /// What searches of so many seeds find in the first moves of matches, in
    /// lock step.
    fn in_lock_step(game: &LaneGame, policy: &Policy, seeds: u64, seats: usize) -> Vec<Vec<Found<u32>>> {
        let mut searches = Searches::new(game, seats);
        let mut found: Vec<Vec<Found<u32>>> = vec![Vec::new(); seeds as usize];
        for seed in 0..seeds {
            let mut stepper = policy.stepper(game, 0, seed).unwrap();
            stepper.begin(game, &game.initial());
            let (limits, clock) = limits(seed, 0);
            searches.begin(Search::new(seed, stepper, game.initial(), limits, clock));
        }
        while !searches.is_idle() {
            searches.round();
            let ended: Vec<Search<u64>> = searches.ended().collect();
            for mut search in ended {
                let (seed, mut state) = (search.tag, search.root.clone());
                let role = game.turn(&state).acting(game.roles()).start;
                let of = &mut found[seed as usize];
                of.push(search.found(game, role));
                let joint = joint(game, &state, of[of.len() - 1].best);
                search.stepper.advance(game, &joint);
                game.play(&mut state, &joint);
                if of.len() < MOVES && !game.is_terminal(&state) {
                    let (limits, clock) = limits(seed, of.len());
                    searches.begin(Search::new(seed, search.stepper, state, limits, clock));
                }
            }
        }
        found
    }

    fn without_time(found: Vec<Found<u32>>) -> Vec<Found<u32>> {
        let spent = |spent| Spent { time: Duration::ZERO, ..spent };
        found.into_iter().map(|found| Found { spent: spent(found.spent), ..found }).collect()
    }

    #[test]
    fn searches_in_lock_step_find_what_they_find_alone() {
        const SEEDS: u64 = 5;
        for (place, (name, game)) in games().into_iter().enumerate() {
            let lanes = LaneGame::new(NetworkGame::new(game.network().clone())).unwrap();
            for (number, policy) in POLICIES.into_iter().enumerate() {
                let policy: Policy = policy.parse().unwrap();
                let Policy::Search(search) = &policy else { panic!("all policies search") };
                let alone = |seed| without_time(search.visit(&game, 0, Alone { game: &game, search, seed }));
                let alone: Vec<Vec<Found<u32>>> = (0..SEEDS).map(alone).collect();
                let seats = [2, 4, 512][(place + number) % 3];
                let found = in_lock_step(&lanes, &policy, SEEDS, seats);
                let found: Vec<Vec<Found<u32>>> = found.into_iter().map(without_time).collect();
                assert_eq!(found, alone, "{name}, {policy}, {seats} seats");
            }
        }
    }

    #[test]
    fn searches_are_dropped_and_others_take_their_seats() {
        let (_, game) = games().swap_remove(3);
        let lanes = LaneGame::new(game).unwrap();
        let policy: Policy = "base".parse().unwrap();
        let begun = |seed: u64, limit: u64| {
            let mut stepper = policy.stepper(&lanes, 0, seed).unwrap();
            stepper.begin(&lanes, &lanes.initial());
            Search::new(seed, stepper, lanes.initial(), Limits::playouts(limit), Clock::Play)
        };
        let mut searches = Searches::new(&lanes, 3);
        (0..6).for_each(|seed| searches.begin(begun(seed, u64::MAX)));
        (0..100).for_each(|_| searches.round());
        searches.retain(|&seed| seed == 1);
        (6..9).for_each(|seed| searches.begin(begun(seed, 20)));
        let mut ended = Vec::new();
        while ended.len() < 3 {
            searches.round();
            ended.extend(searches.ended());
        }
        searches.retain(|_| false);
        assert!(searches.is_idle());
        ended.sort_by_key(|search| search.tag);
        for (search, seed) in ended.iter().zip(6..) {
            let one = in_lock_step_alone(&lanes, begun(seed, 20));
            assert_eq!((search.tag, search.found(&lanes, 0).moves), (seed, one));
            assert_eq!(search.spent().playouts, 20);
        }
    }

    /// The moves that a search finds with no other beside it.
    fn in_lock_step_alone(game: &LaneGame, search: Search<u64>) -> Vec<(u32, crate::MoveStats)> {
        let mut searches = Searches::new(game, 1);
        searches.begin(search);
        loop {
            searches.round();
            let ended = searches.ended().next();
            if let Some(search) = ended {
                return search.found(game, 0).moves;
            }
        }
    }
}
