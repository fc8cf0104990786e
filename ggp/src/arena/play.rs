//! One game of a tournament.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::budget::Clock;
use super::contestant::{Contestant, Fault, FaultKind, Request};
use super::record::{End, Record, RoleFault, Totals};
use super::schedule::{GameId, Schedule};
use crate::game::{Game, Rng};
use crate::limits::{Limits, Spent};
use crate::mcts as search;

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

/// A game that is under way.
pub(super) struct Table<'a, G: ArenaGame> {
    host: &'a Host<'a, G>,
    schedule: &'a Schedule,
    id: GameId,
    /// By role: which player of the pairing has it.
    seats: Vec<usize>,
    stop: &'a AtomicBool,
    state: G::State,
    plies: u32,
    clocks: Vec<Option<Clock>>,
    moves: Vec<String>,
    spent: Vec<Totals>,
    legal: Vec<G::Move>,
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
        start: &Opening<G::State>,
    ) -> Self {
        let seats = schedule.seats(id);
        let clock = |&seat: &usize| schedule.budget(id, seat).time.map(Clock::from);
        Table {
            host,
            schedule,
            id,
            stop,
            state: start.state.clone(),
            plies: start.plies,
            clocks: seats.iter().map(clock).collect(),
            moves: Vec::new(),
            spent: vec![Totals::default(); seats.len()],
            legal: Vec::new(),
            seats,
        }
    }

    /// Plays to the end; none if the stop came first.
    pub fn play(mut self, opening: String, contestants: &mut [&mut dyn Contestant<G>]) -> Option<Record> {
        let (end, goals, fault) = match self.end(contestants) {
            Ended::Stopped => return None,
            Ended::With(end, goals) => (end, goals, None),
            Ended::Fault(fault) => (End::Fault, self.goals_after(fault.role), Some(fault)),
        };
        let name = |&seat: &usize| self.schedule.name(self.id.pairing, seat).to_owned();
        let players = self.seats.iter().map(name).collect();
        let Table { id, moves, plies, spent, .. } = self;
        Some(Record { id, players, opening, moves, plies, end, goals, fault, spent })
    }

    /// All of a player's roles are lost by a fault of one.
    fn goals_after(&self, role: usize) -> Vec<u8> {
        self.seats.iter().map(|&seat| if seat == self.seats[role] { 0 } else { 100 }).collect()
    }

    fn end(&mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Ended {
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let seed = self.schedule.contestant_seed(self.id, self.number(role));
            let begun = caught(|| contestant.begin(self.host.game, &self.state, role, seed));
            if let Err(fault) = begun {
                return self.fault(role, fault);
            }
        }
        if let Err(ended) = self.start(contestants) {
            return ended;
        }
        loop {
            if let Some((end, goals)) = self.verdict() {
                return Ended::With(end, goals);
            }
            if let Err(ended) = self.step(contestants) {
                return ended;
            }
        }
    }

    /// The place of a role among all, first those of the pairing's first player.
    fn number(&self, role: usize) -> usize {
        let before = |&other: &usize| (self.seats[other], other) < (self.seats[role], role);
        (0..self.seats.len()).filter(before).count()
    }

    fn fault(&self, role: usize, fault: Fault) -> Ended {
        if self.stop.load(Relaxed) { Ended::Stopped } else { Ended::Fault(RoleFault { role, fault }) }
    }

    fn verdict(&self) -> Option<(End, Vec<u8>)> {
        let late = self.plies >= self.schedule.ply_limit;
        if self.host.game.is_terminal(&self.state) {
            let mut goals = Vec::new();
            self.host.game.goals(&self.state, &mut goals);
            // A game that knows the limit ends drawn at it by its own rules.
            let drawn = late && goals.iter().all(|&goal| goal == 50);
            return Some((if drawn { End::PlyLimit } else { End::Rules }, goals));
        }
        if late {
            return Some((End::PlyLimit, vec![50; self.seats.len()]));
        }
        let adjudicated = self.host.adjudicator.and_then(|adjudicate| adjudicate(&self.state));
        adjudicated.map(|goals| (End::Adjudicated, goals))
    }

    /// The start clock.
    fn start(&mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Result<(), Ended> {
        if self.schedule.start > 0.0 && self.verdict().is_none() {
            for (role, contestant) in contestants.iter_mut().enumerate() {
                let limits = self.limits(role).times(self.schedule.start);
                self.think(role, &mut **contestant, limits, search::Clock::Start)?;
            }
        }
        Ok(())
    }

    /// One move of each acting role.
    fn step(&mut self, contestants: &mut [&mut dyn Contestant<G>]) -> Result<(), Ended> {
        let (mut joint, mut texts) = (Vec::new(), Vec::new());
        let acting = self.host.game.turn(&self.state).acting(self.seats.len());
        for (role, contestant) in contestants.iter_mut().enumerate() {
            if acting.contains(&role) {
                let mv = self.choose(role, &mut **contestant)?;
                joint.push(mv);
                texts.push(self.host.game.move_text(&self.state, role, mv));
            } else if self.schedule.ponder {
                let limits = self.limits(role);
                self.think(role, &mut **contestant, limits, search::Clock::Play)?;
            }
        }
        self.moves.push(texts.join(" "));
        self.host.game.play(&mut self.state, &joint);
        self.plies += 1;
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let observed = caught(|| {
                contestant.observe(self.host.game, &joint);
                Ok(())
            });
            observed.map_err(|fault| self.fault(role, fault))?;
        }
        Ok(())
    }

    /// The limits of a move of a role.
    fn limits(&self, role: usize) -> Limits {
        self.schedule.budget(self.id, self.seats[role]).limits()
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
        clock: search::Clock,
    ) -> Result<(), Ended> {
        let request = self.request(role, limits);
        let asked = Instant::now();
        let thought = caught(|| contestant.think(self.host.game, &self.state, &request, clock));
        let late = asked.elapsed() > request.deadline() + Duration::from_millis(self.schedule.margin);
        if self.stop.load(Relaxed) {
            return Err(Ended::Stopped);
        }
        if late && request.time().is_some() {
            return Err(self.fault(role, FaultKind::Hang.fault("it thought on when its time was over")));
        }
        let spent = thought.map_err(|fault| self.fault(role, fault))?;
        self.spent[role].add(spent);
        Ok(())
    }

    fn choose(&mut self, role: usize, contestant: &mut dyn Contestant<G>) -> Result<G::Move, Ended> {
        let request = self.request(role, self.limits(role));
        let asked = Instant::now();
        let chosen = caught(|| contestant.choose(self.host.game, &self.state, &request));
        let judged = judge(&request, asked.elapsed(), self.schedule.margin, chosen);
        if self.stop.load(Relaxed) {
            return Err(Ended::Stopped);
        }
        let (mv, spent) = judged.map_err(|fault| self.fault(role, fault))?;
        self.legal.clear();
        self.host.game.legal(&self.state, role, &mut self.legal);
        if !self.legal.contains(&mv) {
            let text = self.host.game.move_text(&self.state, role, mv);
            return Err(self.fault(role, FaultKind::Illegal.fault(format!("{text} at ply {}", self.plies))));
        }
        self.clocks[role] = self.clocks[role].map(|clock| clock.after(asked.elapsed()));
        self.spent[role].add(spent);
        Ok(mv)
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
    chosen: Result<(M, Spent), Fault>,
) -> Result<(M, Spent), Fault> {
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
