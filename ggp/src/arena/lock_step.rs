//! Games in lock step: many at a time on a thread.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

use super::play::{Ask, Course, Opening, Wanted};
use super::record::{Record, RoleFault};
use super::run::{Hall, hold};
use super::schedule::{GameId, Schedule};
use super::standings::Standings;
use crate::batch::{BoxedLaneSearch, LaneSearch, LockStepSearches};
use crate::gdl::network::{LANES, LaneGame, LaneState};
use crate::limits::SearchStats;
use crate::mcts as search;
use crate::policy::{Policy, RandomMind};

/// After so many rounds a thread looks which games are wanted no more.
const LOOK_EVERY: u32 = 64;

/// What a tournament in lock step is held with.
#[derive(Clone, Copy)]
pub struct LockStepHost<'a> {
    /// The game.
    pub game: &'a LaneGame,
    /// Who plays, by their places among the entrants.
    pub policies: &'a [Policy],
    /// Games at a time, on all threads together.
    pub games: NonZeroUsize,
}

/// Plays the games of a schedule as [`run`](super::run) does, each thread many
/// at a time: the simulations of their searches take their steps together, in
/// the lanes of the thread. Searches that find all lanes taken wait.
///
/// Each search is the one that it is by itself, so the records are those of
/// `run` but for times, at any number of threads and games at a time. The time
/// of a search is its share of the time that those beside it took together.
///
/// # Errors
/// If budgets are not counts of playouts and nodes alone, as a search has no
/// clock of its own; and as `run` does.
pub fn run_in_lock_step<E: From<String>>(
    host: LockStepHost<'_>,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    report: impl FnMut(&Record, &Standings) -> Result<(), E>,
) -> Result<(), E> {
    check_budgets(standings.schedule(), host.policies)?;
    let games = host.games.get().div_ceil(threads.get());
    hold(host.game, standings, threads, stop, report, |hall, sender| {
        Bench::new(host, hall, sender, games).play();
    })
}

/// Tests that all budgets are counts, and that searches end by them.
fn check_budgets(schedule: &Schedule, policies: &[Policy]) -> Result<(), String> {
    for (round, pairing) in (0..schedule.rounds.len()).flat_map(|at| schedule.pairings.iter().map(move |of| (at, of))) {
        for &entrant in pairing {
            let entry = &schedule.entrants[entrant];
            if !policies[entrant].goes_in_steps() {
                return Err(format!("{} looks at states, which lanes do not show: play without lock step", entry.name));
            }
            let budget = entry.budget.or(schedule.rounds[round].budget);
            let counted = budget.nodes.is_some() || budget.playouts.is_some() || policies[entrant] == Policy::Random;
            if budget.is_timed() || budget.depth.is_some() || !counted {
                let name = &entry.name;
                return Err(format!(
                    "games in lock step are played by counts of playouts and nodes alone, and {name} has {budget}"
                ));
            }
        }
    }
    Ok(())
}

/// Who plays a role.
enum Player {
    /// Who plays at random, at once.
    AtOnce(RandomMind<u32>),
    /// Who searches; none while it does.
    Searches(Option<BoxedLaneSearch>),
}

/// A game that is under way.
struct Board<'a> {
    course: Course<'a, LaneGame>,
    /// By role.
    players: Vec<Player>,
    /// The searches that have not answered yet.
    awaited: usize,
}

/// What a search is for: a game and its place, the role, and what is wanted.
#[derive(Clone, Copy)]
struct For {
    place: usize,
    game: GameId,
    role: usize,
    wanted: Wanted,
}

/// The games of a thread.
struct Bench<'b, 'h> {
    host: LockStepHost<'b>,
    hall: &'b Hall<'h, LaneGame>,
    sender: &'b SyncSender<Record>,
    searches: LockStepSearches<'b, For>,
    boards: Vec<Option<Board<'b>>>,
}

impl<'b, 'h> Bench<'b, 'h> {
    fn new(
        host: LockStepHost<'b>,
        hall: &'b Hall<'h, LaneGame>,
        sender: &'b SyncSender<Record>,
        games: usize,
    ) -> Bench<'b, 'h> {
        let boards = (0..games).map(|_| None).collect();
        Bench { host, hall, sender, searches: LockStepSearches::new(host.game, LANES), boards }
    }

    /// Plays games until none is left.
    fn play(mut self) {
        (0..self.boards.len()).for_each(|place| self.fill(place));
        let mut rounds = 0u32;
        while !self.searches.is_idle() {
            self.searches.round();
            let ended: Vec<LaneSearch<For>> = self.searches.ended().collect();
            ended.into_iter().for_each(|search| self.answer(search));
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(LOOK_EVERY) {
                self.drop_unwanted();
            }
        }
    }

    /// Plays games at a place until one waits for searches, or none is left.
    fn fill(&mut self, place: usize) {
        while self.boards[place].is_none()
            && let Some((id, opening)) = self.hall.next()
        {
            self.boards[place] = Some(self.seated(id, opening));
            self.go_on(place);
        }
    }

    fn seated(&self, id: GameId, opening: Opening<LaneState>) -> Board<'b> {
        let course = Course::new(self.host.game, None, self.hall.schedule, id, opening);
        let player = |(role, entrant): (usize, usize)| {
            let (policy, seed) = (&self.host.policies[entrant], course.seed(role));
            match policy.stepper(self.host.game, role, seed) {
                Some(mut stepper) => {
                    stepper.begin(self.host.game, &course.state);
                    Player::Searches(Some(stepper))
                }
                None => Player::AtOnce(RandomMind::new(seed)),
            }
        };
        let players = course.entrants().enumerate().map(player).collect();
        Board { course, players, awaited: 0 }
    }

    /// Goes on with a game until it waits for searches or ends.
    fn go_on(&mut self, place: usize) {
        while let Some(board) = &mut self.boards[place] {
            match board.course.ask() {
                Ok(asked) => {
                    for ask in asked {
                        self.ask(place, ask);
                    }
                }
                Err((end, goals)) => self.end(place, |course| course.record(end, goals)),
            }
            match &mut self.boards[place] {
                Some(board) if board.awaited == 0 => board.play(self.host.game),
                _ => return,
            }
        }
    }

    fn ask(&mut self, place: usize, Ask { role, limits, wanted }: Ask) {
        let Some(board) = &mut self.boards[place] else { return };
        let root = &board.course.state;
        match (&mut board.players[role], wanted) {
            (Player::Searches(stepper), _) => {
                let stepper = stepper.take().expect("a role searches for one answer at a time");
                let clock = match wanted {
                    Wanted::Move => search::SearchClock::Play,
                    Wanted::Thought(clock) => clock,
                };
                board.awaited += 1;
                let tag = For { place, game: board.course.id, role, wanted };
                self.searches.begin(LaneSearch::new(tag, stepper, root.clone(), limits, clock));
            }
            (Player::AtOnce(mind), Wanted::Move) => {
                let mv = mind.choose(self.host.game, root, role);
                self.choose(place, role, mv, SearchStats::default());
            }
            (Player::AtOnce(_), Wanted::Thought(_)) => board.course.thought(role, SearchStats::default()),
        }
    }

    /// Takes the answer of a search, and goes on with its game if it was the last.
    fn answer(&mut self, search: LaneSearch<For>) {
        let For { place, game, role, wanted } = search.tag;
        let Some(board) = self.boards[place].as_mut().filter(|board| board.course.id == game) else { return };
        board.awaited -= 1;
        match wanted {
            Wanted::Thought(_) => board.course.thought(role, search.spent()),
            Wanted::Move => {
                let found = search.found(self.host.game, role);
                self.choose(place, role, found.best, found.spent);
            }
        }
        let Some(board) = &mut self.boards[place] else { return self.fill(place) };
        board.players[role] = Player::Searches(Some(search.stepper));
        if board.awaited == 0 {
            board.play(self.host.game);
            self.go_on(place);
            self.fill(place);
        }
    }

    fn choose(&mut self, place: usize, role: usize, mv: u32, spent: SearchStats) {
        let Some(board) = &mut self.boards[place] else { return };
        if let Err(fault) = board.course.choose(role, mv, spent) {
            self.searches.retain(|search| search.place != place);
            self.end(place, |course| course.lost(RoleFault { role, fault }));
        }
    }

    /// Ends a game, and sends its record if it is wanted.
    fn end(&mut self, place: usize, record: impl FnOnce(Course<'b, LaneGame>) -> Record) {
        let Some(board) = self.boards[place].take() else { return };
        if !self.hall.over(board.course.id).load(Relaxed) {
            // Where nobody takes records any more, no game is wanted.
            let _ = self.sender.send(record(board.course));
        }
    }

    /// Drops the games that are wanted no more.
    fn drop_unwanted(&mut self) {
        for place in 0..self.boards.len() {
            let unwanted = |board: &Board<'b>| self.hall.over(board.course.id).load(Relaxed);
            if self.boards[place].as_ref().is_some_and(unwanted) {
                self.searches.retain(|search| search.place != place);
                self.boards[place] = None;
                self.fill(place);
            }
        }
    }
}

impl Board<'_> {
    /// Plays the moves that were answered, if moves were asked for.
    fn play(&mut self, game: &LaneGame) {
        let Some(joint) = self.course.play() else { return };
        for player in &mut self.players {
            if let Player::Searches(stepper) = player {
                let stepper = stepper.as_mut().expect("all searches have answered before moves are played");
                stepper.advance(game, &joint);
            }
        }
    }
}
