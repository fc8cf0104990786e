//! Games in lock step: each thread plays many games and runs their simulations together.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

use sternhalma_game::{SearchClock, SearchStats};
use sternhalma_gdl::network::{LANES, LaneGame, NetworkGame, NetworkState};
use sternhalma_mcts::SearchResult;

use super::run::{GameQueue, PlayedGame, RunError, run_workers};
use super::session::{GameSession, RoleTask, TaskKind};
use super::{GameId, GameRecord, Opening, Openings, RoleFault, Schedule, SearchValue, Standings};
use crate::Policy;
use crate::batch::{LaneSearch, LockStepSearches, ResumableSearch};
use crate::policy::RandomAgent;

/// Rounds of simulation steps between two checks for cancelled games.
const CANCEL_CHECK_INTERVAL: u32 = 64;

/// The game and the players of a tournament in lock step.
#[derive(Clone, Copy)]
pub struct LockStepSetup<'a> {
    /// The game.
    pub game: &'a NetworkGame,
    /// The game in lanes.
    pub lanes: &'a LaneGame,
    /// The policy of each entrant.
    pub policies: &'a [Policy],
    /// The number of simultaneous games, over all threads.
    pub games: NonZeroUsize,
    /// The openings, if those of the schedule have been read before.
    pub openings: Option<&'a Openings<NetworkState>>,
}

/// Plays the games of a schedule as [`run`](super::run) does, with many games per thread.
///
/// The searches of a thread share its lanes: their simulations take each step
/// together. A search waits while all lanes are taken.
///
/// A search runs the same simulations as it would alone. The records are therefore
/// those of `run`, except for times, at any number of threads and games. The time of a
/// search is its share of the time that all searches of its thread took.
///
/// # Errors
/// Returns an error if a budget has limits other than playouts and nodes, if a policy
/// cannot run in lanes, and in the cases of `run`.
pub fn run_in_lock_step<E: From<RunError>>(
    setup: LockStepSetup<'_>,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    report: impl FnMut(&GameRecord, &Standings) -> Result<(), E>,
) -> Result<(), E> {
    check_budgets(standings.schedule(), setup.policies)?;
    let games = setup.games.get().div_ceil(threads.get());
    run_workers(setup.game, setup.openings, standings, threads, stop, report, |queue, sender| {
        LockStepWorker::new(setup, queue, sender, games).play();
    })
}

/// Checks that every policy can run in lanes and that its budget bounds each search by a count.
pub(super) fn check_budgets(schedule: &Schedule, policies: &[Policy]) -> Result<(), RunError> {
    for (round, pairing) in schedule.slots() {
        for entrant in schedule.pairings[pairing] {
            let entry = &schedule.entrants[entrant];
            let name = &entry.name;
            if !policies[entrant].is_resumable() {
                return Err(RunError::LockStep(name.clone()));
            }
            let budget = entry.budget.or(schedule.rounds[round].budget);
            let counted = budget.nodes.is_some() || budget.playouts.is_some() || policies[entrant] == Policy::Random;
            if budget.is_timed() || budget.depth.is_some() || !counted {
                return Err(RunError::LockStepBudget { player: name.clone(), budget });
            }
        }
    }
    Ok(())
}

/// The player of a role.
enum RolePlayer {
    /// A random player, which answers immediately.
    Random(RandomAgent<u32>),
    /// A search player; `None` while its search runs.
    Search(Option<Box<dyn ResumableSearch>>),
}

/// A game in progress.
struct LockStepGame<'a> {
    session: GameSession<'a, NetworkGame>,
    /// By role.
    players: Vec<RolePlayer>,
    /// The number of running searches.
    pending: usize,
}

/// The purpose of a search: its game, the slot of the game, the role, and the task.
#[derive(Clone, Copy)]
struct SearchTag {
    slot: usize,
    game: GameId,
    role: usize,
    kind: TaskKind,
}

/// A thread that plays many games.
struct LockStepWorker<'b, 'h> {
    setup: LockStepSetup<'b>,
    queue: &'b GameQueue<'h, NetworkGame>,
    sender: &'b SyncSender<PlayedGame>,
    searches: LockStepSearches<'b, SearchTag>,
    /// By slot.
    games: Vec<Option<LockStepGame<'b>>>,
}

impl<'b, 'h> LockStepWorker<'b, 'h> {
    fn new(
        setup: LockStepSetup<'b>,
        queue: &'b GameQueue<'h, NetworkGame>,
        sender: &'b SyncSender<PlayedGame>,
        games: usize,
    ) -> LockStepWorker<'b, 'h> {
        let games = (0..games).map(|_| None).collect();
        LockStepWorker { setup, queue, sender, searches: LockStepSearches::new(setup.game, setup.lanes, LANES), games }
    }

    /// Plays games until the queue is empty.
    fn play(mut self) {
        (0..self.games.len()).for_each(|slot| self.fill(slot));
        let mut rounds = 0u32;
        while !self.searches.is_idle() {
            self.searches.round();
            let ended: Vec<LaneSearch<SearchTag>> = self.searches.take_ended().collect();
            ended.into_iter().for_each(|search| self.finish_search(search));
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(CANCEL_CHECK_INTERVAL) {
                self.drop_cancelled();
            }
        }
    }

    /// Plays games in an empty slot until one of them waits for a search or the queue is empty.
    fn fill(&mut self, slot: usize) {
        while self.games[slot].is_none()
            && let Some((id, opening)) = self.queue.next(self.sender)
        {
            self.games[slot] = Some(self.new_game(id, opening));
            self.advance(slot);
        }
    }

    fn new_game(&self, id: GameId, opening: Opening<NetworkState>) -> LockStepGame<'b> {
        let session = GameSession::new(self.setup.game, None, self.queue.schedule, id, opening);
        let player = |(role, entrant): (usize, usize)| {
            let (policy, seed) = (&self.setup.policies[entrant], session.seed(role));
            match policy.resumable(self.setup.game, role, seed) {
                Some(mut resumable) => {
                    resumable.begin(self.setup.game, &session.state);
                    RolePlayer::Search(Some(resumable))
                }
                None => RolePlayer::Random(RandomAgent::new(seed)),
            }
        };
        let players = session.entrants().enumerate().map(player).collect();
        LockStepGame { session, players, pending: 0 }
    }

    /// Advances a game until it waits for a search or ends.
    fn advance(&mut self, slot: usize) {
        while let Some(game) = &mut self.games[slot] {
            match game.session.tasks() {
                Ok(tasks) => tasks.into_iter().for_each(|task| self.begin_task(slot, task)),
                Err((end, goals)) => self.end(slot, |session| session.record(end, goals)),
            }
            match &mut self.games[slot] {
                Some(game) if game.pending == 0 => game.play_moves(self.setup.game),
                _ => return,
            }
        }
    }

    fn begin_task(&mut self, slot: usize, RoleTask { role, limits, kind }: RoleTask) {
        let Some(game) = &mut self.games[slot] else { return };
        let root = &game.session.state;
        match (&mut game.players[role], kind) {
            (RolePlayer::Search(resumable), _) => {
                let resumable = resumable.take().expect("a role has one search at a time");
                let clock = match kind {
                    TaskKind::Move => SearchClock::Play,
                    TaskKind::Think(clock) => clock,
                };
                game.pending += 1;
                let tag = SearchTag { slot, game: game.session.id, role, kind };
                self.searches.add(LaneSearch::new(tag, resumable, root.clone(), limits, clock));
            }
            (RolePlayer::Random(player), TaskKind::Move) => {
                let mv = player.choose(self.setup.game, root, role);
                self.choose(slot, role, &SearchResult::without_search(mv));
            }
            (RolePlayer::Random(_), TaskKind::Think(_)) => game.session.finish_thinking(role, SearchStats::default()),
        }
    }

    /// Passes the result of a search to its game, and advances the game after its last search.
    fn finish_search(&mut self, search: LaneSearch<SearchTag>) {
        let SearchTag { slot, game: id, role, kind } = search.tag;
        let Some(game) = self.games[slot].as_mut().filter(|game| game.session.id == id) else { return };
        game.pending -= 1;
        match kind {
            TaskKind::Think(_) => game.session.finish_thinking(role, search.spent()),
            TaskKind::Move => {
                self.choose(slot, role, &search.result(self.setup.game, role));
            }
        }
        let Some(game) = &mut self.games[slot] else { return self.fill(slot) };
        game.players[role] = RolePlayer::Search(Some(search.resumable));
        if game.pending == 0 {
            game.play_moves(self.setup.game);
            self.advance(slot);
            self.fill(slot);
        }
    }

    fn choose(&mut self, slot: usize, role: usize, found: &SearchResult<u32>) {
        let Some(game) = &mut self.games[slot] else { return };
        let value = found.value().map(SearchValue::of_mean);
        if let Err(fault) = game.session.choose(role, found.best, found.spent, value) {
            self.searches.retain(|search| search.slot != slot);
            self.end(slot, |session| session.forfeit(RoleFault { role, fault }));
        }
    }

    /// Ends a game, and sends its record unless the game is cancelled.
    fn end(&mut self, slot: usize, record: impl FnOnce(GameSession<'b, NetworkGame>) -> GameRecord) {
        let Some(game) = self.games[slot].take() else { return };
        if !self.queue.cancelled(game.session.id).load(Relaxed) {
            // The send fails only when the run has ended.
            let _ = self.sender.send(Ok(record(game.session)));
        }
    }

    /// Drops cancelled games.
    fn drop_cancelled(&mut self) {
        for slot in 0..self.games.len() {
            let cancelled = |game: &LockStepGame<'b>| self.queue.cancelled(game.session.id).load(Relaxed);
            if self.games[slot].as_ref().is_some_and(cancelled) {
                self.searches.retain(|search| search.slot != slot);
                self.games[slot] = None;
                self.fill(slot);
            }
        }
    }
}

impl LockStepGame<'_> {
    /// Plays the chosen moves, if the tasks were to choose moves.
    fn play_moves(&mut self, game: &NetworkGame) {
        let Some(joint) = self.session.play() else { return };
        for player in &mut self.players {
            if let RolePlayer::Search(resumable) = player {
                let resumable = resumable.as_mut().expect("all searches end before moves are played");
                resumable.advance(game, &joint);
            }
        }
    }
}
