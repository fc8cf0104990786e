//! One game of a tournament.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::budget::Clock;
use super::contestant::{Contestant, Fault, FaultKind, Request};
use super::record::{End, Record, RoleFault, Totals};
use super::schedule::{GameId, Schedule};
use crate::game::Game;
use crate::limits::{Limits, SearchStats};
use crate::mcts as search;
use crate::rng::Rng;

/// A game of the arena: it can be written and read.
pub trait ArenaGame: Game {
    /// A legal move, as records have it.
    fn move_text(&self, state: &Self::State, role: usize, mv: Self::Move) -> String;

    /// Reads an opening.
    ///
    /// # Errors
    /// What is wrong with it.
    fn opening(&self, text: &str) -> Result<Opening<Self::State>, String>;

    /// An opening of random legal moves; none if they end the game.
    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<Self::State>>;
}

/// A state that contestants take over, and how the game writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening<S> {
    /// The state.
    pub state: S,
    /// What [`ArenaGame::opening`] reads.
    pub text: String,
    /// The plies played so far.
    pub plies: u32,
}

/// Makes the contestant of an entrant.
pub type Make<'a, G> = dyn Fn(usize) -> Box<dyn Contestant<G>> + Sync + 'a;

/// Tells the goals of a state that is not terminal but whose end is not in doubt.
pub type Adjudicator<'a, G> = dyn Fn(&<G as Game>::State) -> Option<Vec<u8>> + Sync + 'a;

/// What a tournament is held with.
pub struct Host<'a, G: ArenaGame> {
    /// The game.
    pub game: &'a G,
    /// The contestants, by their places among the entrants.
    pub make: &'a Make<'a, G>,
    /// Asked before each move, if there is one.
    pub adjudicator: Option<&'a Adjudicator<'a, G>>,
}

/// The course of a game by the rules of a tournament, whoever plays.
///
/// All that is to be answered at a time is told by [`ask`](Course::ask); once
/// it is, [`play`](Course::play) goes on.
pub(super) struct Course<'a, G: ArenaGame> {
    game: &'a G,
    schedule: &'a Schedule,
    adjudicator: Option<&'a Adjudicator<'a, G>>,
    pub id: GameId,
    /// By role: which player of the pairing has it.
    seats: Vec<usize>,
    opening: String,
    pub state: G::State,
    plies: u32,
    /// Whether the start clock is over.
    started: bool,
    /// By role: the move it has chosen.
    chosen: Vec<Option<G::Move>>,
    moves: Vec<String>,
    spent: Vec<Totals>,
    legal: Vec<G::Move>,
}

/// What a role is asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ask {
    pub role: usize,
    /// The limits, but for clocks.
    pub limits: Limits,
    /// Whether a move is wanted, or under which clock it may think.
    pub wanted: Wanted,
}

/// What is wanted of a role.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Wanted {
    Move,
    Thought(search::SearchClock),
}

impl<'a, G: ArenaGame> Course<'a, G> {
    pub fn new(
        game: &'a G,
        adjudicator: Option<&'a Adjudicator<'a, G>>,
        schedule: &'a Schedule,
        id: GameId,
        start: Opening<G::State>,
    ) -> Self {
        let seats = schedule.seats(id);
        Course {
            game,
            schedule,
            adjudicator,
            id,
            state: start.state,
            opening: start.text,
            plies: start.plies,
            started: schedule.start == 0.0,
            chosen: vec![None; seats.len()],
            moves: Vec::new(),
            spent: vec![Totals::default(); seats.len()],
            legal: Vec::new(),
            seats,
        }
    }

    /// By role: the place of who plays it among the entrants.
    pub fn entrants(&self) -> impl Iterator<Item = usize> {
        self.seats.iter().map(|&seat| self.schedule.pairings[self.id.pairing][seat])
    }

    /// The seed of who plays a role. Roles are numbered through, first those
    /// of the pairing's first player.
    pub fn seed(&self, role: usize) -> u64 {
        let before = |&other: &usize| (self.seats[other], other) < (self.seats[role], role);
        self.schedule.contestant_seed(self.id, (0..self.seats.len()).filter(before).count())
    }

    /// What is asked of the roles next, in their order: first to think under
    /// the start clock, if there is one, then step by step for moves.
    ///
    /// # Errors
    /// How the game has ended.
    pub fn ask(&self) -> Result<Vec<Ask>, (End, Vec<u8>)> {
        if let Some(verdict) = self.verdict() {
            return Err(verdict);
        }
        let acting = self.game.turn(&self.state).acting(self.seats.len());
        let ask = |role: usize| {
            let limits = self.schedule.budget(self.id, self.seats[role]).limits();
            let thought = |limits, clock| Some(Ask { role, limits, wanted: Wanted::Thought(clock) });
            match (self.started, acting.contains(&role)) {
                (false, _) => thought(limits.times(self.schedule.start), search::SearchClock::Start),
                (true, true) => Some(Ask { role, limits, wanted: Wanted::Move }),
                (true, false) if self.schedule.ponder => thought(limits, search::SearchClock::Play),
                (true, false) => None,
            }
        };
        Ok((0..self.seats.len()).filter_map(ask).collect())
    }

    fn verdict(&self) -> Option<(End, Vec<u8>)> {
        let late = self.plies >= self.schedule.ply_limit;
        if self.game.is_terminal(&self.state) {
            let mut goals = Vec::new();
            self.game.goals(&self.state, &mut goals);
            // A game that knows the limit ends drawn at it by its own rules.
            let drawn = late && goals.iter().all(|&goal| goal == 50);
            return Some((if drawn { End::PlyLimit } else { End::Rules }, goals));
        }
        if late {
            return Some((End::PlyLimit, vec![50; self.seats.len()]));
        }
        let adjudicated = self.adjudicator.and_then(|adjudicate| adjudicate(&self.state));
        adjudicated.map(|goals| (End::Adjudicated, goals))
    }

    /// Takes what a role thought.
    pub fn thought(&mut self, role: usize, spent: SearchStats) {
        self.spent[role].add(spent);
    }

    /// Takes the move of a role.
    ///
    /// # Errors
    /// If it is not legal.
    pub fn choose(&mut self, role: usize, mv: G::Move, spent: SearchStats) -> Result<(), Fault> {
        self.legal.clear();
        self.game.legal(&self.state, role, &mut self.legal);
        if !self.legal.contains(&mv) {
            let text = self.game.move_text(&self.state, role, mv);
            return Err(FaultKind::Illegal.fault(format!("{text} at ply {}", self.plies)));
        }
        self.chosen[role] = Some(mv);
        self.spent[role].add(spent);
        Ok(())
    }

    /// Goes on where all have answered: to the first move, or to the state
    /// after the moves, which are returned.
    pub fn play(&mut self) -> Option<Vec<G::Move>> {
        if !std::mem::replace(&mut self.started, true) {
            return None;
        }
        let chosen = self.chosen.iter_mut().map(Option::take).enumerate();
        let chosen: Vec<(usize, G::Move)> = chosen.filter_map(|(role, mv)| Some((role, mv?))).collect();
        let texts = chosen.iter().map(|&(role, mv)| self.game.move_text(&self.state, role, mv));
        self.moves.push(texts.collect::<Vec<_>>().join(" "));
        let joint: Vec<G::Move> = chosen.into_iter().map(|(_, mv)| mv).collect();
        self.game.play(&mut self.state, &joint);
        self.plies += 1;
        Some(joint)
    }

    /// The record of a game that ended by a fault: all of a player's roles are
    /// lost by a fault of one.
    pub fn lost(self, fault: RoleFault) -> Record {
        let guilty = self.seats[fault.role];
        let goals = self.seats.iter().map(|&seat| if seat == guilty { 0 } else { 100 }).collect();
        Record { fault: Some(fault), ..self.record(End::Fault, goals) }
    }

    /// The record of a game that ended so.
    pub fn record(self, end: End, goals: Vec<u8>) -> Record {
        let name = |&seat: &usize| self.schedule.name(self.id.pairing, seat).to_owned();
        let players = self.seats.iter().map(name).collect();
        let Course { id, opening, moves, plies, spent, .. } = self;
        Record { id, players, opening, moves, plies, end, goals, fault: None, spent }
    }
}

/// A game that is under way between contestants, who answer one after the
/// other.
pub(super) struct Table<'a, G: ArenaGame> {
    course: Course<'a, G>,
    schedule: &'a Schedule,
    stop: &'a AtomicBool,
    clocks: Vec<Option<Clock>>,
}

/// Why a game does not go on.
enum Ended {
    With(End, Vec<u8>),
    Fault(RoleFault),
    /// It is wanted no more.
    Stopped,
}

impl<'a, G: ArenaGame> Table<'a, G> {
    pub fn new(
        host: &'a Host<'a, G>,
        schedule: &'a Schedule,
        id: GameId,
        stop: &'a AtomicBool,
        start: Opening<G::State>,
    ) -> Self {
        let clock = |seat: usize| schedule.budget(id, seat).time.map(Clock::from);
        let clocks = schedule.seats(id).into_iter().map(clock).collect();
        Table { course: Course::new(host.game, host.adjudicator, schedule, id, start), schedule, stop, clocks }
    }

    /// Plays to the end; none if the stop came first.
    pub fn play(mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Option<Record> {
        match self.end(contestants) {
            Ended::Stopped => None,
            Ended::With(end, goals) => Some(self.course.record(end, goals)),
            Ended::Fault(fault) => Some(self.course.lost(fault)),
        }
    }

    fn end(&mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Ended {
        let game = self.course.game;
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let seed = self.course.seed(role);
            if let Err(fault) = caught(|| contestant.begin(game, &self.course.state, role, seed)) {
                return self.fault(role, fault);
            }
        }
        loop {
            let asked = match self.course.ask() {
                Ok(asked) => asked,
                Err((end, goals)) => return Ended::With(end, goals),
            };
            if let Err(ended) = self.answers(&asked, contestants) {
                return ended;
            }
        }
    }

    /// Has all answer that are asked, and goes on.
    fn answers(&mut self, asked: &[Ask], contestants: &mut [&mut dyn Contestant<G>]) -> Result<(), Ended> {
        for ask in asked {
            let contestant = &mut *contestants[ask.role];
            match ask.wanted {
                Wanted::Move => self.choose(ask.role, contestant, ask.limits)?,
                Wanted::Thought(clock) => self.think(ask.role, contestant, ask.limits, clock)?,
            }
        }
        let Some(joint) = self.course.play() else { return Ok(()) };
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let observed = caught(|| {
                contestant.observe(self.course.game, &joint);
                Ok(())
            });
            observed.map_err(|fault| self.fault(role, fault))?;
        }
        Ok(())
    }

    fn fault(&self, role: usize, fault: Fault) -> Ended {
        if self.stop.load(Relaxed) { Ended::Stopped } else { Ended::Fault(RoleFault { role, fault }) }
    }

    fn request(&self, role: usize, limits: Limits) -> Request<'_> {
        let patience = Duration::from_millis(self.schedule.patience);
        Request { role, limits, clocks: &self.clocks, patience, stop: self.stop }
    }

    /// Lets a role think that is not to act; its clock stands still.
    fn think(
        &mut self,
        role: usize,
        contestant: &mut dyn Contestant<G>,
        limits: Limits,
        clock: search::SearchClock,
    ) -> Result<(), Ended> {
        let request = self.request(role, limits);
        let asked = Instant::now();
        let thought = caught(|| contestant.think(self.course.game, &self.course.state, &request, clock));
        let late = asked.elapsed() > request.deadline() + Duration::from_millis(self.schedule.margin);
        if self.stop.load(Relaxed) {
            return Err(Ended::Stopped);
        }
        if late && request.time().is_some() {
            return Err(self.fault(role, FaultKind::Hang.fault("it thought on when its time was over")));
        }
        let spent = thought.map_err(|fault| self.fault(role, fault))?;
        self.course.thought(role, spent);
        Ok(())
    }

    fn choose(&mut self, role: usize, contestant: &mut dyn Contestant<G>, limits: Limits) -> Result<(), Ended> {
        let request = self.request(role, limits);
        let asked = Instant::now();
        let chosen = caught(|| contestant.choose(self.course.game, &self.course.state, &request));
        let judged = judge(&request, asked.elapsed(), self.schedule.margin, chosen);
        if self.stop.load(Relaxed) {
            return Err(Ended::Stopped);
        }
        let (mv, spent) = judged.map_err(|fault| self.fault(role, fault))?;
        self.course.choose(role, mv, spent).map_err(|fault| self.fault(role, fault))?;
        self.clocks[role] = self.clocks[role].map(|clock| clock.after(asked.elapsed()));
        Ok(())
    }
}

/// What a contestant does. If it panics it has crashed, and is not used again.
fn caught<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(FaultKind::Crash.fault("it panicked")))
}

/// What was chosen, if it came in time.
fn judge<M>(
    request: &Request,
    elapsed: Duration,
    margin: u64,
    chosen: Result<(M, SearchStats), Fault>,
) -> Result<(M, SearchStats), Fault> {
    let chosen = chosen?;
    let told = |kind: FaultKind, time: Duration| {
        Err(kind.fault(format!("it took {} ms of {}", elapsed.as_millis(), time.as_millis())))
    };
    match request.time() {
        _ if elapsed > request.deadline() => told(FaultKind::Hang, request.deadline()),
        Some(time) if elapsed > time + Duration::from_millis(margin) => told(FaultKind::Time, time),
        _ => Ok(chosen),
    }
}
