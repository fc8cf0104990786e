//! The exchange of messages between the processes of a cluster, as a dataflow of timely [McSherry et al. 2013].
//!
//! Each process has one worker of timely on a thread of its own, which sends and receives while other
//! threads compute. The epochs of the dataflow bound its queues and separate the steps of the search:
//!
//! - A *band* is an epoch with a limited number of bytes. A sender that is [`SLACK`] bands ahead of
//!   the bands that all processes have received waits.
//! - A *barrier* is an epoch that ends when every process has received everything that was sent before it.
//!
//! A process that sends nothing does not delay the bands of others: it follows the highest band that
//! another process has announced.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use timely::WorkerConfig;
use timely::communication::Hooks;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::initialize::WorkerGuards;
use timely::dataflow::operators::{Exchange as _, Input as _, Inspect as _, Probe as _};
use timely::dataflow::{InputHandle, ProbeHandle};
use timely::worker::Worker;

use super::link::{Link, PeerStream};
use crate::error::Result;

/// The bands that may be under way.
const SLACK: u64 = 4;

/// The time after which an idle worker looks for commands. It is usually woken earlier.
const PATIENCE: Duration = Duration::from_millis(50);

/// The time for which a process that has failed still sends.
const FAREWELL: Duration = Duration::from_millis(300);

/// A message from one process to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Parcel {
    pub to: u32,
    pub from: u32,
    pub kind: ParcelKind,
    /// A number whose meaning depends on the kind.
    pub number: u64,
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// The kind of a [`Parcel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum ParcelKind {
    /// States of the next layer in the segment `number`.
    Reached,
    /// The segment `number` of a layer.
    Frontier,
    /// A part of the vote `number`.
    Vote,
    /// Distances of states in the block `number`.
    Distances,
    /// A piece of the layer `number` of the sender, of which the receiver keeps a second copy.
    Copy,
    /// A piece of the layer `number` that the receiver has lost.
    Restore,
    /// The band `number` has begun.
    Band,
}

enum Command {
    Send(Parcel),
    EndBand,
    Barrier,
}

/// The exchange of one process.
pub(crate) struct Exchange {
    link: Arc<Link>,
    process: usize,
    processes: usize,
    /// The bytes of a band.
    band_bytes: u64,
    sent: Mutex<SentBand>,
    commands: Sender<Command>,
    thread: Thread,
    /// The threads of the dataflow, which end with the exchange.
    guards: Option<Mutex<WorkerGuards<()>>>,
}

/// The bytes of the current band, and the number of bands and barriers so far.
#[derive(Default)]
struct SentBand {
    bytes: u64,
    ended: u64,
    barriers: u64,
}

impl Exchange {
    /// Starts the exchange over connections to all other processes, in order. `deliver` is called
    /// with each parcel, on one thread; an error ends the exchange.
    ///
    /// `memory` bounds the bytes under way between two processes.
    pub fn start(
        link: &Arc<Link>,
        streams: Vec<Option<PeerStream>>,
        process: usize,
        memory: u64,
        deliver: impl Fn(Parcel) -> Result<()> + Send + 'static,
    ) -> Exchange {
        let processes = streams.len();
        let (commands, received) = channel();
        // The threads of a dataflow are started by a function that can be called several times.
        let start = Mutex::new(Some((received, Box::new(deliver) as Deliver)));
        let state = Arc::clone(link);
        let run = move |worker: &mut Worker| {
            let (commands, deliver) =
                start.lock().unwrap_or_else(PoisonError::into_inner).take().expect("there is one worker");
            DataflowThread { link: Arc::clone(&state), commands, process, processes }.run(worker, deliver);
        };
        let local = ProcessBuilder::new_typed_vector(1, Hooks::default().refill, None);
        let (builders, guard) = initialize_networking_from_sockets(local, streams, process, 1, Hooks::default())
            .expect("the connections are open");
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        let config = WorkerConfig::default();
        let guards = timely::execute::execute_from(builders, Box::new(guard), config, run);
        let guards = guards.expect("the thread of the dataflow starts");
        let thread = guards.guards().first().expect("there is one worker").thread().clone();
        let band_bytes = (memory / (SLACK + 2)).max(1);
        let sent = Mutex::default();
        Exchange {
            link: Arc::clone(link),
            process,
            processes,
            band_bytes,
            sent,
            commands,
            thread,
            guards: Some(Mutex::new(guards)),
        }
    }

    pub fn process(&self) -> usize {
        self.process
    }

    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Returns the bytes that this process has sent and received so far.
    pub fn traffic(&self) -> (u64, u64) {
        self.link.traffic()
    }

    /// Returns an error if another process is lost.
    pub fn check(&self) -> Result<()> {
        self.link.check()
    }

    fn command(&self, command: Command) -> Result<()> {
        match self.commands.send(command) {
            Ok(()) => {
                self.thread.unpark();
                Ok(())
            }
            // The thread ends early only if a connection is lost, or if it panics.
            Err(_) => Err(self.link.failure()),
        }
    }

    /// Sends bytes to a process. Waits while too many bytes are under way.
    ///
    /// # Errors
    /// If another process is lost.
    pub fn send(&self, to: usize, kind: ParcelKind, number: u64, bytes: Vec<u8>) -> Result<()> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.bytes += bytes.len() as u64;
        self.command(Command::Send(Parcel { to: to as u32, from: self.process as u32, kind, number, bytes }))?;
        if sent.bytes < self.band_bytes {
            return Ok(());
        }
        self.command(Command::EndBand)?;
        sent.bytes = 0;
        sent.ended += 1;
        // Other threads that send wait for the lock.
        self.link.wait(|progress| progress.bands + SLACK >= sent.ended)
    }

    /// Waits until every process has called this method and has received everything that was sent before.
    ///
    /// # Errors
    /// If another process is lost.
    pub fn barrier(&self) -> Result<()> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        self.command(Command::Barrier)?;
        sent.bytes = 0;
        sent.barriers += 1;
        self.link.wait(|progress| progress.barriers >= sent.barriers)
    }

    /// Ends the exchange after a barrier.
    pub fn finish(mut self) {
        self.link.close();
        let guards = self.guards.take();
        // The dataflow ends when nothing can send commands any longer.
        drop(self);
        drop(guards);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // After a failure, the threads of the dataflow wait for ever for the lost process. This process ends soon.
        if let Some(guards) = self.guards.take() {
            // The other processes can only come to the same decision if they receive what this one has sent.
            std::thread::sleep(FAREWELL);
            self.link.shut_down();
            std::mem::forget(guards);
        }
    }
}

type Deliver = Box<dyn Fn(Parcel) -> Result<()> + Send>;

/// The worker of the dataflow.
struct DataflowThread {
    link: Arc<Link>,
    commands: Receiver<Command>,
    process: usize,
    processes: usize,
}

/// Returns the first epoch after a number of barriers. The other epochs until the next barrier are bands.
fn epoch_after(barriers: u64) -> u64 {
    barriers << 40
}

impl DataflowThread {
    fn run(self, worker: &mut Worker, deliver: Deliver) {
        let mut input: InputHandle<u64, timely::container::CapacityContainerBuilder<Vec<Parcel>>> = InputHandle::new();
        let probe = ProbeHandle::new();
        let announced = Rc::new(Cell::new(0));
        let (link, highest) = (Arc::clone(&self.link), Rc::clone(&announced));
        let receive = move |parcel: &Parcel| match parcel.kind {
            ParcelKind::Band => highest.set(highest.get().max(parcel.number)),
            _ => {
                if let Err(error) = deliver(parcel.clone()) {
                    link.fail_with(error);
                }
            }
        };
        worker.dataflow(|scope| {
            let stream = scope.input_from(&mut input);
            stream.exchange(|parcel: &Parcel| u64::from(parcel.to)).inspect(receive).probe_with(&probe);
        });
        // The epochs at which the own bands and barriers end.
        let (mut bands, mut barriers) = (VecDeque::new(), VecDeque::new());
        let mut barriers_begun = 0;
        let mut open = true;
        while open {
            loop {
                match self.commands.try_recv() {
                    Ok(Command::Send(parcel)) => input.send(parcel),
                    Ok(Command::EndBand) => {
                        let epoch = *input.time() + 1;
                        for to in (0..self.processes).filter(|&to| to != self.process) {
                            let (to, from) = (to as u32, self.process as u32);
                            let kind = ParcelKind::Band;
                            input.send(Parcel { to, from, kind, number: epoch, bytes: Vec::new() });
                        }
                        input.advance_to(epoch);
                        bands.push_back(epoch);
                    }
                    Ok(Command::Barrier) => {
                        barriers_begun += 1;
                        input.advance_to(epoch_after(barriers_begun));
                        barriers.push_back(epoch_after(barriers_begun));
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        open = false;
                        break;
                    }
                }
            }
            // Bands of a later step than this process has begun do not exist.
            let band = announced.get();
            if band > *input.time() && band < epoch_after(barriers_begun + 1) {
                input.advance_to(band);
            }
            input.flush();
            worker.step_or_park(Some(PATIENCE));
            let done = |epochs: &mut VecDeque<u64>| {
                let ended = epochs.iter().take_while(|epoch| !probe.less_than(epoch)).count();
                epochs.drain(..ended);
                ended as u64
            };
            let (bands, barriers) = (done(&mut bands), done(&mut barriers));
            if bands + barriers > 0 {
                self.link.advance(bands, barriers);
            }
        }
        input.close();
        while worker.has_dataflows() {
            worker.step_or_park(Some(PATIENCE));
        }
    }
}
