//! Builds of tables in the background.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use sternhalma_builder::{BuildPhase, BuildPlan, BuilderError, LayerProgress, Observer};
use utoipa::ToSchema;

use crate::error::ApiError;

/// The most builds that are remembered.
const MAX_BUILDS: usize = 64;

/// The builds since the server was started. One build runs at a time.
#[derive(Debug, Default)]
pub struct Builds {
    all: Mutex<Vec<Arc<BuildJob>>>,
    /// Signalled whenever a build ends.
    ended: Condvar,
}

/// A build.
#[derive(Debug)]
pub struct BuildJob {
    id: u64,
    table: String,
    began: Instant,
    cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    /// The states whose distance is known, of all states.
    found: AtomicU64,
    states: AtomicU64,
    layers: LayerProgress,
    phase: Mutex<Option<BuildPhase>>,
    end: Mutex<Option<BuildEnd>>,
}

#[derive(Debug)]
struct BuildEnd {
    seconds: f64,
    state: BuildState,
    error: Option<String>,
}

/// The state of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BuildState {
    /// The build is running.
    Running,
    /// The table is complete.
    Done,
    /// The build ended by an error.
    Failed,
    /// A client or the end of the server stopped the build.
    Cancelled,
}

/// The progress of a build.
#[derive(Serialize, ToSchema)]
#[schema(as = Build)]
pub struct BuildReport {
    id: String,
    /// The name of the table.
    table: String,
    state: BuildState,
    /// What the build does at present.
    phase: Option<String>,
    /// The steps of the phase that are done, of `total`.
    done: u64,
    total: u64,
    /// The states whose distance is known.
    found: u64,
    /// All states; 0 until the first layer is complete.
    states: u64,
    /// The estimated share of the states whose distance is known, also within a layer.
    #[schema(minimum = 0, maximum = 1)]
    share: f64,
    #[schema(minimum = 0)]
    seconds: f64,
    /// The reason why the build has failed.
    error: Option<String>,
}

impl BuildJob {
    fn new(id: u64, table: String) -> BuildJob {
        BuildJob {
            id,
            table,
            began: Instant::now(),
            cancelled: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            found: AtomicU64::new(0),
            states: AtomicU64::new(0),
            layers: LayerProgress::default(),
            phase: Mutex::new(None),
            end: Mutex::new(None),
        }
    }

    /// Returns the progress.
    pub fn report(&self) -> BuildReport {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let total = self.total.load(Relaxed);
        BuildReport {
            id: self.id.to_string(),
            table: self.table.clone(),
            state: end.as_ref().map_or(BuildState::Running, |end| end.state),
            phase: self.phase.lock().unwrap_or_else(PoisonError::into_inner).map(|phase| phase.to_string()),
            done: self.done.load(Relaxed).min(total),
            total,
            found: self.found.load(Relaxed),
            states: self.states.load(Relaxed),
            share: self.layers.share(),
            seconds: end.as_ref().map_or_else(|| self.began.elapsed().as_secs_f64(), |end| end.seconds),
            error: end.as_ref().and_then(|end| end.error.clone()),
        }
    }

    /// Asks the build to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    fn is_running(&self) -> bool {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Builds the table.
    fn run(&self, plan: &BuildPlan) {
        let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| plan.run(self)));
        let (state, error) = match built {
            Ok(Ok(_)) => (BuildState::Done, None),
            Ok(Err(BuilderError::Cancelled)) => (BuildState::Cancelled, None),
            Ok(Err(error)) => (BuildState::Failed, Some(ApiError::failure(&error).to_string())),
            Err(_) => (BuildState::Failed, Some("this is an error of the server".to_owned())),
        };
        let end = BuildEnd { seconds: self.began.elapsed().as_secs_f64(), state, error };
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}

impl Observer for BuildJob {
    fn begin(&self, phase: BuildPhase, total: u64) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Some(phase);
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
        // Other phases do not change the states that are known.
        self.layers.begin(if matches!(phase, BuildPhase::Layer(_)) { total } else { 0 });
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Relaxed);
        self.layers.advance(steps);
    }

    fn layer(&self, _: u32, states: u64, seen: u64, all: u64) {
        self.layers.layer(states, seen, all);
        self.found.store(seen, Relaxed);
        self.states.store(all, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

impl Builds {
    /// Starts a build of the table `name` on a thread of its own.
    ///
    /// # Errors
    /// If the same table is being built, or another one.
    pub fn start(self: &Arc<Builds>, plan: BuildPlan, name: String) -> Result<Arc<BuildJob>, ApiError> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter().find(|job| job.is_running()) {
            Some(job) if job.table == name => return Err(ApiError::conflict(format!("`{name}` is being built"))),
            Some(job) => {
                let message = format!("`{}` is being built; wait for it or cancel it", job.table);
                return Err(ApiError::busy(message));
            }
            None => {}
        }
        let job = Arc::new(BuildJob::new(all.last().map_or(1, |last| last.id + 1), name));
        if all.len() == MAX_BUILDS {
            all.remove(0);
        }
        all.push(job.clone());
        let (builds, started) = (self.clone(), job.clone());
        std::thread::spawn(move || {
            started.run(&plan);
            builds.ended.notify_all();
        });
        Ok(job)
    }

    /// Returns the builds, in the order of their start.
    pub fn list(&self) -> Vec<Arc<BuildJob>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the build with an identifier.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, id: &str) -> Result<Arc<BuildJob>, ApiError> {
        let found = self.list().into_iter().find(|job| job.id.to_string() == id);
        found.ok_or_else(|| ApiError::missing(format!("there is no build `{id}`")))
    }

    /// Cancels all builds, and waits for a time until they have ended.
    pub fn stop(&self, patience: Duration) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|job| job.cancel());
        let running = |all: &mut Vec<Arc<BuildJob>>| all.iter().any(|job| job.is_running());
        drop(self.ended.wait_timeout_while(all, patience, running));
    }
}
