//! The state that requests share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rayon::ThreadPoolBuildError;
use sternhalma_data::Board;
use sternhalma_engine::Roster;

use crate::builds::Builds;
use crate::games::Games;
use crate::guard::Guard;
use crate::logs::LogStore;
use crate::options::ServerOptions;
use crate::proofs::Proofs;
use crate::rulesheets::RulesheetStore;
use crate::searches::Searches;
use crate::tables::TableStore;
use crate::work::Work;

/// The time that a running build has to end when the server stops.
const BUILD_PATIENCE: Duration = Duration::from_secs(60);

/// The state that requests share.
pub struct App {
    /// The addresses of the page, and the requests that the server accepts.
    pub guard: Arc<Guard>,
    /// The games between people.
    pub games: Games,
    /// The tables.
    pub tables: TableStore,
    /// The logs of tournaments.
    pub logs: LogStore,
    /// The rulesheets.
    pub rulesheets: RulesheetStore,
    /// The running proofs.
    pub proofs: Proofs,
    /// The threads for look-ups.
    pub work: Work,
    /// The thread for passes over a whole table, which delay no other look-up.
    pub passes: Work,
    /// The thread that reads the logs of tournaments.
    pub log_reader: Work,
    /// The disk space that builds leave free, in bytes.
    pub disk_reserve: u64,
    /// The running searches.
    pub searches: Searches,
    /// The builds.
    pub builds: Arc<Builds>,
    /// The estimated times of builds that were proposed, by board.
    pub build_times: Mutex<HashMap<Board, Option<Duration>>>,
    /// Whether clients may delete tables.
    pub deletes_tables: bool,
    /// The players.
    pub roster: Roster,
    /// The threads of a build.
    pub threads: usize,
    /// The memory limit of a build, in bytes.
    pub build_memory: u64,
    /// The longest search.
    pub search_time: Duration,
}

impl App {
    /// Creates the state of a server.
    ///
    /// # Errors
    /// If the system does not start threads.
    pub fn new(options: &ServerOptions, guard: Arc<Guard>) -> Result<App, ThreadPoolBuildError> {
        Ok(App {
            guard,
            games: Games::new(options.limits.games),
            tables: TableStore::new(options.tables.clone(), options.load_budget),
            logs: LogStore::new(options.logs.clone()),
            rulesheets: RulesheetStore::new(options.rulesheets.clone()),
            proofs: Proofs::new(options.threads, options.search_memory / 8, options.limits.answer_time),
            work: Work::new(options.threads, options.limits.answer_time)?,
            passes: Work::new(1, options.limits.answer_time)?,
            log_reader: Work::new(1, options.limits.answer_time)?,
            disk_reserve: options.limits.disk_reserve,
            searches: Searches::new(options.threads, options.search_memory),
            builds: Arc::default(),
            build_times: Mutex::default(),
            deletes_tables: options.deletes_tables,
            roster: Roster::built_in(),
            threads: options.threads,
            build_memory: options.build_memory,
            search_time: options.limits.search_time,
        })
    }

    /// Ends searches, builds and games. Builds out of core keep their work.
    pub fn stop(&self) {
        self.games.clear();
        self.searches.stop_all();
        self.builds.stop(BUILD_PATIENCE);
    }
}
