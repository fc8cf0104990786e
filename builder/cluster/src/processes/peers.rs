//! The connections between the processes of a cluster.
//!
//! Every process listens at its address and connects to all processes before it in the list. Both sides of a
//! connection prove that they know the secret, before any other byte is read: each sends a random number, and
//! answers that of the other side by a code of authentication (HMAC-SHA-256). Then they compare what they do.
//!
//! Process 0 exchanges a byte with every other process every [`BEAT`], over a connection of its own. A process
//! that is silent for [`SILENCE`] counts as lost.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use socket2::{SockRef, TcpKeepalive};

use super::link::{Link, POLL_INTERVAL, PeerStream};
use super::member::ClusterMember;
use crate::error::{ClusterError, Result as BuilderResult};

/// The time between two bytes on an idle control connection.
const BEAT: Duration = Duration::from_secs(5);

/// The time after which a silent process counts as lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(120);

/// The time that a side of a new connection has to prove that it knows the secret.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The pause between two attempts to connect.
const RETRY: Duration = Duration::from_millis(100);

/// The largest number of pending handshakes, beside those of the processes.
const MAX_PENDING: usize = 64;

/// The first bytes of a connection, with the version of the protocol.
const MAGIC: &[u8; 8] = b"SHTCLUS1";

/// The longest introduction, in bytes.
const MAX_BYTES: u32 = 4 << 20;

/// What all processes must have in common: names of properties, and their values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Common(Vec<(String, String)>);

impl Common {
    /// Creates the properties of a process that does this kind of work. All processes of a cluster have the same version
    /// and number of processes.
    pub fn new(work: &str, member: &ClusterMember, properties: &[(&str, String)]) -> Common {
        let always = [
            ("the command", work.to_owned()),
            ("the version", member.version.clone()),
            ("the number of processes", member.processes().to_string()),
        ];
        Common(always.iter().chain(properties).map(|(name, value)| (name.to_string(), value.clone())).collect())
    }

    fn compare(&self, process: usize, theirs: &Common) -> Result<(), ClusterError> {
        let pairs = self.0.iter().zip(&theirs.0);
        match pairs.into_iter().find(|(ours, theirs)| ours != theirs) {
            None => Ok(()),
            Some(((what, ours), (_, theirs))) => {
                let (what, theirs, ours) = (what.clone(), theirs.clone(), ours.clone());
                Err(ClusterError::Differs { process, what, theirs, ours })
            }
        }
    }
}

/// What both sides of a new connection send: what they must have in common, and what they have found.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Introduction<T> {
    common: Common,
    found: T,
}

/// The connections to the other processes.
pub(crate) struct Peers<T> {
    /// The connections in order, without one to this process.
    pub streams: Vec<Option<PeerStream>>,
    /// What each process has found, this one included.
    pub found: Vec<T>,
}

/// What processes say about themselves when they connect.
pub(crate) trait Found: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {}

impl<T: Clone + Send + Sync + Serialize + DeserializeOwned + 'static> Found for T {}

/// The use of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Data = 0,
    Control = 1,
}

/// Connects to all other processes, and exchanges what each has found. Fails as soon as the link fails, e.g. because
/// the observer cancels the work.
pub(crate) fn connect<T: Found>(
    member: &ClusterMember,
    common: Common,
    found: T,
    link: &Arc<Link>,
) -> BuilderResult<Peers<T>> {
    let (me, processes) = (member.process, member.addresses.len());
    let address = &member.addresses[me];
    let listen_error = |source| ClusterError::Listen { process: me, address: address.clone(), source };
    let listener = TcpListener::bind(resolved(address).map_err(listen_error)?.as_slice()).map_err(listen_error)?;
    listener.set_nonblocking(true).map_err(listen_error)?;
    let (sender, accepted) = channel();
    // The threads of this scope end when it does, so it ends them by closing the channel.
    let deadline = Instant::now() + member.patience;
    let mut data: Vec<Option<TcpStream>> = (0..processes).map(|_| None).collect();
    let mut control: Vec<Option<TcpStream>> = (0..processes).map(|_| None).collect();
    let stopped = Arc::new(AtomicBool::new(false));
    let mut all_found = vec![None; processes];
    all_found[me] = Some(found.clone());
    let own = Arc::new((member.clone(), Introduction { common, found }));
    accept(listener, Arc::clone(&own), sender.clone(), Arc::clone(&stopped));
    for peer in 0..me {
        dial(peer, Use::Data, Arc::clone(&own), sender.clone(), Arc::clone(&stopped));
    }
    if me > 0 {
        dial(0, Use::Control, own, sender.clone(), Arc::clone(&stopped));
    }
    drop(sender);
    let is_missing = |data: &[Option<TcpStream>], control: &[Option<TcpStream>]| {
        (0..processes).find(|&peer| {
            let controlled = me == 0 || peer == 0;
            peer != me && (data[peer].is_none() || (controlled && control[peer].is_none()))
        })
    };
    let connected = loop {
        let Some(missing) = is_missing(&data, &control) else { break Ok(()) };
        let left = deadline.saturating_duration_since(Instant::now());
        if let Err(error) = link.check() {
            break Err(error);
        }
        match accepted.recv_timeout(left.min(POLL_INTERVAL)) {
            Ok(Ok(Connected { process, kind: Use::Data, stream, found })) => {
                data[process] = Some(stream);
                all_found[process] = Some(found);
            }
            Ok(Ok(Connected { process, kind: Use::Control, stream, .. })) => control[process] = Some(stream),
            Ok(Err(error)) => break Err(error.into()),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let address = member.addresses[missing].clone();
                let seconds = member.patience.as_secs();
                break Err(ClusterError::Absent { process: missing, address, seconds }.into());
            }
        }
    };
    stopped.store(true, Relaxed);
    connected?;
    for (peer, stream) in data.iter().chain(&control).enumerate() {
        if let Some(stream) = stream {
            link.add(stream).map_err(|error| lost(peer % processes, &error))?;
        }
    }
    for (peer, stream) in control.into_iter().enumerate() {
        if let Some(stream) = stream {
            watch(stream, peer, link).map_err(|error| lost(peer, &error))?;
        }
    }
    let wrap = |(process, stream): (usize, Option<TcpStream>)| {
        let wrapped = |stream| PeerStream { stream, process, link: Arc::clone(link) };
        stream.map(wrapped)
    };
    Ok(Peers {
        streams: data.into_iter().enumerate().map(wrap).collect(),
        found: all_found.into_iter().map(|found| found.expect("all processes are connected")).collect(),
    })
}

fn resolved(address: &str) -> io::Result<Vec<SocketAddr>> {
    address.to_socket_addrs().map(Iterator::collect)
}

fn lost(process: usize, error: &dyn ToString) -> ClusterError {
    ClusterError::Lost { process, what: error.to_string() }
}

/// A connection to another process.
struct Connected<T> {
    process: usize,
    kind: Use,
    stream: TcpStream,
    found: T,
}

type Connecting<T> = Result<Connected<T>, ClusterError>;

/// What the threads of this process know about it.
type Own<T> = Arc<(ClusterMember, Introduction<T>)>;

/// The pending handshakes: connections whose other side has not yet proved that it knows the secret, the oldest first.
#[derive(Default)]
struct PendingHandshakes {
    next: u64,
    streams: VecDeque<(u64, TcpStream)>,
}

impl PendingHandshakes {
    /// Adds a connection, and returns its number. If there are more than `most`, ends the oldest one: a process
    /// proves itself at once, and tries again otherwise.
    fn admit(&mut self, stream: &TcpStream, most: usize) -> io::Result<u64> {
        while self.streams.len() >= most {
            if let Some((_, oldest)) = self.streams.pop_front() {
                // A connection that is closed already has ended.
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        self.next += 1;
        self.streams.push_back((self.next, stream.try_clone()?));
        Ok(self.next)
    }

    fn remove(&mut self, number: u64) {
        self.streams.retain(|(other, _)| *other != number);
    }
}

/// Accepts connections on a thread until `stopped` is set. Each is checked on a thread of its own, so a silent client
/// delays no other one. The number of pending handshakes is limited.
fn accept<T: Found>(listener: TcpListener, own: Own<T>, sender: Sender<Connecting<T>>, stopped: Arc<AtomicBool>) {
    let pending = Arc::new(Mutex::<PendingHandshakes>::default());
    let most = MAX_PENDING + 2 * own.0.processes();
    std::thread::spawn(move || {
        while !stopped.load(Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            let admitted = pending.lock().unwrap_or_else(PoisonError::into_inner).admit(&stream, most);
            let Ok(number) = admitted else { continue };
            let (own, sender, pending) = (Arc::clone(&own), sender.clone(), Arc::clone(&pending));
            std::thread::spawn(move || {
                // A client that does not know the secret is not a process of the cluster.
                let welcomed = welcome(stream, &own.0, &own.1);
                pending.lock().unwrap_or_else(PoisonError::into_inner).remove(number);
                if let Some(connected) = welcomed.transpose() {
                    let _ = sender.send(connected);
                }
            });
        }
    });
}

/// Connects to a process on a thread, and tries again until `stopped` is set.
fn dial<T: Found>(peer: usize, kind: Use, own: Own<T>, sender: Sender<Connecting<T>>, stopped: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let (member, introduction) = &*own;
        while !stopped.load(Relaxed) {
            let addresses = resolved(&member.addresses[peer]).unwrap_or_default();
            let stream = addresses.iter().find_map(|address| TcpStream::connect_timeout(address, HANDSHAKE).ok());
            match stream.map(|stream| introduce(stream, peer, kind, member, introduction)) {
                // The process may have just been restarted.
                Some(Err(ClusterError::Lost { .. })) | None => std::thread::sleep(RETRY),
                Some(connected) => {
                    let _ = sender.send(connected);
                    return;
                }
            }
        }
    });
}

/// Returns the code with which a side proves that it knows the secret.
fn code(secret: &[u8], side: &str, greeting: &[u8], nonce: &[u8]) -> Hmac<Sha256> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret).expect("a secret has any length");
    [side.as_bytes(), greeting, nonce].iter().for_each(|part| code.update(part));
    code
}

/// Returns 32 random bytes.
fn nonce() -> io::Result<[u8; 32]> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    Ok(nonce)
}

/// The greeting of a process that connects: magic, use, process, and a random number.
fn greeting(kind: Use, process: usize) -> io::Result<Vec<u8>> {
    Ok([&MAGIC[..], &[kind as u8], &(process as u32).to_le_bytes(), &nonce()?].concat())
}

/// The client's side of a new connection.
fn introduce<T: Found>(
    mut stream: TcpStream,
    peer: usize,
    kind: Use,
    member: &ClusterMember,
    introduction: &Introduction<T>,
) -> Connecting<T> {
    let failed = |error: io::Error| lost(peer, &error);
    prepare(&stream).map_err(failed)?;
    let greeting = greeting(kind, member.process).map_err(failed)?;
    stream.write_all(&greeting).map_err(failed)?;
    let mut answer = [0; 64];
    stream.read_exact(&mut answer).map_err(failed)?;
    let (theirs, proof) = answer.split_at(32);
    let expected = code(&member.secret, "server", &greeting, theirs);
    expected.verify_slice(proof).map_err(|_| ClusterError::Secret { process: peer })?;
    let proof = code(&member.secret, "client", &greeting, theirs).finalize().into_bytes();
    stream.write_all(&proof).map_err(failed)?;
    exchange_introductions(stream, peer, kind, introduction)
}

/// The server's side of a new connection. Returns `None` for a client that is not a process of the cluster.
fn welcome<T: Found>(
    mut stream: TcpStream,
    member: &ClusterMember,
    introduction: &Introduction<T>,
) -> Result<Option<Connected<T>>, ClusterError> {
    let mut greeting = [0; 8 + 1 + 4 + 32];
    let received =
        stream.set_nonblocking(false).and_then(|()| prepare(&stream)).and_then(|()| stream.read_exact(&mut greeting));
    let kind = match greeting[8] {
        0 => Use::Data,
        _ => Use::Control,
    };
    let process = u32::from_le_bytes(greeting[9..13].try_into().expect("four bytes")) as usize;
    if received.is_err() || greeting[..8] != *MAGIC || process >= member.addresses.len() || process == member.process {
        return Ok(None);
    }
    let Ok(nonce) = nonce() else { return Ok(None) };
    let proof = code(&member.secret, "server", &greeting, &nonce).finalize().into_bytes();
    let mut answer = [0; 32];
    let proved = stream
        .write_all(&[&nonce[..], &proof[..]].concat())
        .and_then(|()| stream.read_exact(&mut answer))
        .is_ok_and(|()| code(&member.secret, "client", &greeting, &nonce).verify_slice(&answer).is_ok());
    if !proved {
        return Ok(None);
    }
    match exchange_introductions(stream, process, kind, introduction) {
        // The process tries again.
        Err(ClusterError::Lost { .. }) => Ok(None),
        connected => connected.map(Some),
    }
}

/// Compares what both sides must have in common, and receives what the other side has found.
fn exchange_introductions<T: Found>(
    mut stream: TcpStream,
    process: usize,
    kind: Use,
    own: &Introduction<T>,
) -> Connecting<T> {
    let failed = |error: io::Error| lost(process, &error);
    let json = serde_json::to_vec(own).expect("an introduction consists of texts and numbers");
    let message = [&(json.len() as u32).to_le_bytes()[..], &json].concat();
    stream.write_all(&message).map_err(failed)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).map_err(failed)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_BYTES {
        return Err(lost(process, &"its introduction is too long"));
    }
    let mut theirs = vec![0; length as usize];
    stream.read_exact(&mut theirs).map_err(failed)?;
    // A process that does other work has found something else.
    let common = serde_json::from_slice::<Introduction<IgnoredAny>>(&theirs);
    own.common.compare(process, &common.map_err(|error| lost(process, &error))?.common)?;
    let Introduction { found, .. } = serde_json::from_slice(&theirs).map_err(|error| lost(process, &error))?;
    stream.set_read_timeout(None).and_then(|()| stream.set_write_timeout(None)).map_err(failed)?;
    Ok(Connected { process, kind, stream, found })
}

/// Sets the options of a connection. Its first bytes must arrive soon, and a machine that no longer answers is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HANDSHAKE))?;
    stream.set_write_timeout(Some(HANDSHAKE))?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(15));
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENCE))?;
    Ok(())
}

/// Sends a byte at intervals, and notices if none arrives.
fn watch(stream: TcpStream, process: usize, link: &Arc<Link>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let (mut reader, mut writer) = (stream.try_clone()?, stream);
    let sender = Arc::clone(link);
    std::thread::spawn(move || {
        while writer.write_all(&[0]).is_ok() {
            std::thread::sleep(BEAT);
        }
        sender.lose(process, "it no longer receives");
    });
    let receiver = Arc::clone(link);
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        let what = loop {
            match reader.read(&mut bytes) {
                Ok(0) => break "it ended, and its own message has the reason".to_owned(),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    break format!("it has been silent for {} s", SILENCE.as_secs());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.to_string(),
            }
        };
        receiver.lose(process, what);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_must_have_everything_in_common() {
        let member = |version: &str, processes: u16| {
            let addresses = (0..processes).map(|port| format!("a:{port}")).collect();
            ClusterMember { version: version.to_owned(), ..ClusterMember::new(addresses, 0, "x").unwrap() }
        };
        let common = |work, member, table: &str| Common::new(work, &member, &[("the table", table.to_owned())]);
        let ours = common("build", member("1.0", 2), "byte");
        assert!(ours.compare(1, &ours).is_ok());
        for (theirs, what) in [
            (common("build", member("1.1", 2), "byte"), "process 1 has the version `1.1`, and this process `1.0`"),
            (common("build", member("1.0", 3), "byte"), "the number of processes `3`"),
            (common("build", member("1.0", 2), "mod3"), "the table `mod3`"),
            (common("verify", member("1.0", 2), "byte"), "the command `verify`"),
        ] {
            let error = ours.compare(1, &theirs).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    fn introduction() -> Introduction<u32> {
        Introduction { common: Common(Vec::new()), found: 5 }
    }

    /// Connects two sides over a socket and returns their results.
    fn handshake(client: &[u8], server: &[u8]) -> (bool, bool) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let member = |process, secret: &[u8]| {
            ClusterMember::new(vec!["a:1".to_owned(), "b:1".to_owned()], process, secret).unwrap()
        };
        let (client, server) = (member(1, client), member(0, server));
        let dialling = std::thread::spawn(move || {
            introduce(TcpStream::connect(address).unwrap(), 0, Use::Data, &client, &introduction()).is_ok()
        });
        let (stream, _) = listener.accept().unwrap();
        let welcomed = welcome(stream, &server, &introduction()).unwrap();
        let accepted = matches!(&welcomed, Some(Connected { process: 1, kind: Use::Data, found: 5, .. }));
        (dialling.join().unwrap(), accepted)
    }

    #[test]
    fn both_sides_know_the_secret() {
        assert_eq!(handshake(b"secret", b"secret"), (true, true));
        assert_eq!(handshake(b"other", b"secret"), (false, false));
    }

    #[test]
    fn the_oldest_of_too_many_handshakes_is_disconnected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut pending = PendingHandshakes::default();
        let mut connect = |most| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            (client, pending.admit(&stream, most).unwrap(), stream)
        };
        let [(mut first, ..), (second, number, _stream), (third, _, _other)] = [(); 3].map(|()| connect(2));
        assert_eq!(first.read(&mut [0]).unwrap(), 0);
        pending.remove(number);
        assert_eq!(pending.streams.len(), 1);
        // The other ones are still connected.
        for mut stream in [second, third] {
            stream.set_nonblocking(true).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn a_process_is_welcome_behind_any_number_of_silent_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let member = |process| ClusterMember::new(vec!["a:1".to_owned(), "b:1".to_owned()], process, "secret").unwrap();
        let (sender, connected) = channel();
        let stopped = Arc::new(AtomicBool::new(false));
        accept(listener, Arc::new((member(0), introduction())), sender, Arc::clone(&stopped));
        let mut silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        // The first ones had to make room.
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
        introduce(TcpStream::connect(address).unwrap(), 0, Use::Data, &member(1), &introduction()).unwrap();
        assert_eq!(connected.recv().unwrap().unwrap().process, 1);
        stopped.store(true, Relaxed);
    }

    #[test]
    fn clients_that_send_something_else_are_ignored() {
        let member = ClusterMember::new(vec!["a:1".to_owned(), "b:1".to_owned()], 0, "secret").unwrap();
        let greeting = |magic: &[u8], process: u32| [magic, &[0], &process.to_le_bytes(), &[7; 32]].concat();
        for bytes in [
            b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n".to_vec(),
            b"SHTCLUS1".to_vec(),
            greeting(b"SHTCLUS2", 1),
            greeting(MAGIC, 0),
            greeting(MAGIC, 2),
            // An answer without the secret.
            [greeting(MAGIC, 1), vec![0; 32]].concat(),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(&bytes).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert!(welcome(stream, &member, &introduction()).unwrap().is_none(), "{bytes:?}");
        }
    }
}
