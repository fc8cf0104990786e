//! Games on many threads.

use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use super::contestant::Contestant;
use super::openings::Openings;
use super::play::{ArenaGame, Host, Opening, Table};
use super::record::Record;
use super::schedule::{GameId, Schedule};
use super::standings::Standings;

/// How often the run looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Plays the games of a schedule that `standings` does not have, so many at a
/// time. Each is added to the standings and reported as it ends; no further
/// one begins once `stop` is set, and those under way then are dropped.
///
/// Contestants are kept from game to game; one that was at fault is made anew.
/// Openings, seeds and verdicts follow from the schedule alone, so that without
/// limits of time the results are the same at any number of threads, and
/// whether or not a run was stopped and taken up again.
///
/// # Errors
/// If `report` fails, which ends the run, or a listed opening cannot be read.
pub fn run<G, E>(
    host: &Host<'_, G>,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    report: impl FnMut(&Record, &Standings) -> Result<(), E>,
) -> Result<(), E>
where
    G: ArenaGame,
    E: From<String>,
{
    hold(host.game, standings, threads, stop, report, |hall, sender| play_games(host, hall, sender))
}

/// Holds the games that `standings` does not have in so many threads, each of
/// which plays games of the hall until none is left, and sends their records.
pub(super) fn hold<G, E>(
    game: &G,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    mut report: impl FnMut(&Record, &Standings) -> Result<(), E>,
    play_games: impl Fn(&Hall<'_, G>, &SyncSender<Record>) + Sync,
) -> Result<(), E>
where
    G: ArenaGame,
    E: From<String>,
{
    let schedule = standings.schedule().clone();
    let openings = Mutex::new(Openings::new(game, &schedule)?);
    let over: Vec<AtomicBool> = (0..schedule.rounds.len() * schedule.pairings.len()).map(|_| false.into()).collect();
    let slot = |id: GameId| id.round * schedule.pairings.len() + id.pairing;
    standings.decided().for_each(|id| over[slot(id)].store(true, Relaxed));
    let known: HashSet<GameId> = standings.games().collect();
    let left = schedule.games().filter(|id| !known.contains(id) && !over[slot(*id)].load(Relaxed));
    let hall = Hall { schedule: &schedule, openings, left: Mutex::new(Box::new(left)), over: &over };
    thread::scope(|scope| {
        let (sender, records) = mpsc::sync_channel(threads.get());
        for _ in 0..threads.get() {
            let (sender, hall, play_games) = (sender.clone(), &hall, &play_games);
            scope.spawn(move || play_games(hall, &sender));
        }
        drop(sender);
        let mut failed = Ok(());
        loop {
            match records.recv_timeout(LOOK) {
                Ok(record) if failed.is_ok() => {
                    let decided = standings.add(&record);
                    if decided {
                        over[slot(record.id)].store(true, Relaxed);
                    }
                    failed = report(&record, standings);
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break failed,
            }
            if failed.is_err() || stop.load(Relaxed) {
                over.iter().for_each(|over| over.store(true, Relaxed));
            }
        }
    })
}

/// Where games are taken from.
pub(super) struct Hall<'a, G: ArenaGame> {
    pub schedule: &'a Schedule,
    openings: Mutex<Openings<'a, G>>,
    left: Mutex<Box<dyn Iterator<Item = GameId> + Send + 'a>>,
    /// By round and pairing: set where a test has decided, and for all when
    /// the run is to stop.
    over: &'a [AtomicBool],
}

impl<G: ArenaGame> Hall<'_, G> {
    /// The next game, with its opening.
    pub fn next(&self) -> Option<(GameId, Opening<G::State>)> {
        let mut left = self.left.lock().expect("no thread panics while it takes a game");
        let id = left.find(|&id| !self.over(id).load(Relaxed))?;
        drop(left);
        let opening = self.openings.lock().expect("no thread panics while it draws").of(id.pair());
        Some((id, opening))
    }

    /// Set when a game is wanted no more.
    pub fn over(&self, id: GameId) -> &AtomicBool {
        &self.over[id.round * self.schedule.pairings.len() + id.pairing]
    }
}

/// Contestants of a thread between games, by entrant and copy; those that
/// have rested longest come first.
type Resting<G> = VecDeque<((usize, usize), Box<dyn Contestant<G>>)>;

/// So many contestants may rest a thread: programs are processes, and trees
/// and tables are large.
const MOST_RESTING: usize = 4;

/// Plays one game after another until none is left.
fn play_games<G: ArenaGame>(host: &Host<'_, G>, hall: &Hall<'_, G>, sender: &SyncSender<Record>) {
    let mut resting = VecDeque::new();
    while let Some((id, opening)) = hall.next() {
        if let Some(record) = play(host, hall, id, opening, &mut resting)
            && sender.send(record).is_err()
        {
            return;
        }
    }
}

fn play<G: ArenaGame>(
    host: &Host<'_, G>,
    hall: &Hall<'_, G>,
    id: GameId,
    opening: Opening<G::State>,
    resting: &mut Resting<G>,
) -> Option<Record> {
    // By role: the entrant, and which of its contestants.
    let mut copies = HashMap::new();
    let places: Vec<(usize, usize)> = (hall.schedule.seats(id).into_iter())
        .map(|seat| {
            let entrant = hall.schedule.pairings[id.pairing][seat];
            let copy = copies.entry(entrant).or_insert(0);
            *copy += 1;
            (entrant, *copy)
        })
        .collect();
    let mut awake: Vec<_> = (places.iter())
        .map(|&place| match resting.iter().position(|(of, _)| *of == place) {
            Some(at) => resting.remove(at).expect("it has just been found").1,
            None => (host.make)(place.0),
        })
        .collect();
    let mut contestants: Vec<&mut dyn Contestant<G>> = awake.iter_mut().map(|it| &mut **it as _).collect();
    let record = Table::new(host, hall.schedule, id, hall.over(id), opening).play(&mut contestants);
    let at_fault = record.as_ref().and_then(|record| record.fault.as_ref()).map(|fault| fault.role);
    let sound = places.into_iter().zip(awake).enumerate().filter(|(role, _)| Some(*role) != at_fault);
    resting.extend(sound.map(|(_, place)| place));
    resting.drain(..resting.len().saturating_sub(MOST_RESTING));
    record
}
