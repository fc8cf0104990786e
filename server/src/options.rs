//! The options of a server.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sternhalma_data::table::TablesDir;

use crate::games::GameLimits;
use crate::hosts::HostName;

/// A function that receives a line per request.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The options of a server: its address, its tables, and its limits.
#[derive(Clone)]
pub struct ServerOptions {
    /// The address or the name to listen on.
    pub bind: HostName,
    /// The port to listen on; 0 selects a free port.
    pub port: u16,
    /// The names besides those of the server that the header `Host` may have, such as that of a proxy.
    pub allowed_hosts: Vec<HostName>,
    /// The option of the command by which a user allows such a name, for the error about another one.
    pub host_option: Option<String>,
    /// The directory of the tables.
    pub tables: TablesDir,
    /// The directory of the logs of tournaments, if there is one.
    pub logs: Option<PathBuf>,
    /// The directory of rulesheets beside the embedded ones, if there is one.
    pub rulesheets: Option<PathBuf>,
    /// The memory for the parts of tables nearest the goal, in bytes.
    pub load_budget: u64,
    /// The threads that look up states, and the most searches at a time.
    pub threads: usize,
    /// The memory of all searches, in bytes.
    pub search_memory: u64,
    /// The memory limit of a build, in bytes.
    pub build_memory: u64,
    /// Whether clients may delete tables. The page offers it only then.
    pub deletes_tables: bool,
    /// The limits of clients.
    pub limits: ClientLimits,
    /// Receives a line per request.
    pub log: Log,
}

/// The limits of clients. A client that exceeds a limit is refused or
/// disconnected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientLimits {
    /// The most open connections. A further one replaces the one that has
    /// waited longest without a request.
    pub connections: usize,
    /// The time to send the head of a request, which includes the time between requests.
    pub head_time: Duration,
    /// The time to send the body of a request.
    pub body_time: Duration,
    /// The longest pause in a body.
    pub body_pause: Duration,
    /// The most bytes of a body.
    pub body_bytes: usize,
    /// The most bytes of all bodies that are being received.
    pub all_body_bytes: usize,
    /// The time to answer a request, except a search.
    pub answer_time: Duration,
    /// The longest search.
    pub search_time: Duration,
    /// The time that a client may take to receive an answer that waits to be sent.
    pub send_time: Duration,
    /// The games between people that are kept.
    pub games: GameLimits,
    /// The disk space that builds of tables leave free, in bytes.
    pub disk_reserve: u64,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connections: 512,
            head_time: Duration::from_secs(20),
            body_time: Duration::from_secs(20),
            body_pause: Duration::from_secs(5),
            body_bytes: 8 << 20,
            all_body_bytes: 64 << 20,
            answer_time: Duration::from_secs(30),
            search_time: Duration::from_secs(3600),
            send_time: Duration::from_secs(20),
            games: GameLimits::default(),
            disk_reserve: 1 << 30,
        }
    }
}

impl ServerOptions {
    /// Returns the options of a server of these tables on a free port of this
    /// machine, with one thread per core, 1 GiB of memory for searches and
    /// 4 GiB for builds, without a log, and without the deletion of tables.
    pub fn new(tables: impl Into<PathBuf>) -> ServerOptions {
        ServerOptions {
            bind: HostName::from(IpAddr::from(Ipv4Addr::LOCALHOST)),
            port: 0,
            allowed_hosts: Vec::new(),
            host_option: None,
            tables: TablesDir::new(tables),
            logs: None,
            rulesheets: None,
            load_budget: 0,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            search_memory: 1 << 30,
            build_memory: 4 << 30,
            deletes_tables: false,
            limits: ClientLimits::default(),
            log: Arc::new(|_| ()),
        }
    }
}
