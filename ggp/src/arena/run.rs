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
use super::play::{ArenaGame, Host, Table};
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
    mut report: impl FnMut(&Record, &Standings) -> Result<(), E>,
) -> Result<(), E>
where
    G: ArenaGame,
    E: From<String>,
{
    let schedule = standings.schedule().clone();
    let openings = Mutex::new(Openings::new(host.game, &schedule)?);
    let slot = |id: GameId| id.round * schedule.pairings.len() + id.pairing;
    // Set for the pairings that a test has decided, and for all when the run is to stop.
    let over: Vec<AtomicBool> = (0..schedule.rounds.len() * schedule.pairings.len()).map(|_| false.into()).collect();
    standings.decided().for_each(|id| over[slot(id)].store(true, Relaxed));
    let known: HashSet<GameId> = standings.games().collect();
    let left = schedule.games().filter(|id| !known.contains(id) && !over[slot(*id)].load(Relaxed));
    let hall = Hall { host, schedule: &schedule, openings, left: Mutex::new(left), over: |id| &over[slot(id)] };
    thread::scope(|scope| {
        let (sender, records) = mpsc::sync_channel(threads.get());
        for _ in 0..threads.get() {
            let (sender, hall) = (sender.clone(), &hall);
            scope.spawn(move || hall.play_games(&sender));
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

/// Contestants of a thread between games, by entrant and copy; those that
/// have rested longest come first.
type Resting<G> = VecDeque<((usize, usize), Box<dyn Contestant<G>>)>;

/// So many contestants may rest a thread: programs are processes, and trees
/// and tables are large.
const MOST_RESTING: usize = 4;

/// Where games are played: the next game is taken from `left`.
struct Hall<'a, G: ArenaGame, I, O> {
    host: &'a Host<'a, G>,
    schedule: &'a Schedule,
    openings: Mutex<Openings<'a, G>>,
    left: Mutex<I>,
    over: O,
}

impl<'a, G: ArenaGame, I: Iterator<Item = GameId>, O: Fn(GameId) -> &'a AtomicBool> Hall<'a, G, I, O> {
    /// Plays one game after another until none is left.
    fn play_games(&self, sender: &SyncSender<Record>) {
        let mut resting = VecDeque::new();
        loop {
            let next = self.left.lock().expect("no thread panics while it takes a game").find(|&id| {
                let over: &AtomicBool = (self.over)(id);
                !over.load(Relaxed)
            });
            let Some(id) = next else { return };
            if let Some(record) = self.play(id, &mut resting)
                && sender.send(record).is_err()
            {
                return;
            }
        }
    }

    fn play(&self, id: GameId, resting: &mut Resting<G>) -> Option<Record> {
        let opening = self.openings.lock().expect("no thread panics while it draws").of(id.pair());
        // By role: the entrant, and which of its contestants.
        let mut copies = HashMap::new();
        let places: Vec<(usize, usize)> = (self.schedule.seats(id).into_iter())
            .map(|seat| {
                let entrant = self.schedule.pairings[id.pairing][seat];
                let copy = copies.entry(entrant).or_insert(0);
                *copy += 1;
                (entrant, *copy)
            })
            .collect();
        let mut awake: Vec<_> = (places.iter())
            .map(|&place| match resting.iter().position(|(of, _)| *of == place) {
                Some(at) => resting.remove(at).expect("it has just been found").1,
                None => (self.host.make)(place.0),
            })
            .collect();
        let mut contestants: Vec<&mut dyn Contestant<G>> = awake.iter_mut().map(|it| &mut **it as _).collect();
        let table = Table::new(self.host, self.schedule, id, (self.over)(id), &opening);
        let record = table.play(opening.text, &mut contestants);
        let at_fault = record.as_ref().and_then(|record| record.fault.as_ref()).map(|fault| fault.role);
        let sound = places.into_iter().zip(awake).enumerate().filter(|(role, _)| Some(*role) != at_fault);
        resting.extend(sound.map(|(_, place)| place));
        resting.drain(..resting.len().saturating_sub(MOST_RESTING));
        record
    }
}
