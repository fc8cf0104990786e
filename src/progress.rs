//! The progress of long work on stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use sternhalma_builder::{BuildPhase, LayerProgress, LayerReport, Observer};
use sternhalma_files::Stream;
use sternhalma_ggp::arena::{GameRecord, Standings, progress_line, score_so_far};

use crate::output::{counted, shows_progress, status};

/// The least time between two lines about the same stage.
const INTERVAL: Duration = Duration::from_secs(10);
/// The least time between two messages of a progress bar.
const BAR_INTERVAL: Duration = Duration::from_secs(1);

/// A progress bar on a terminal, and elsewhere a line per stage and for every ten seconds of a long one.
pub struct ProgressDisplay {
    started: Instant,
    bar: ProgressBar,
    plain: bool,
    cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
    /// The states that the layers have found so far. The bar of layers shows them, not the steps of a layer.
    layers: LayerProgress,
    in_layer: AtomicBool,
    /// The bytes of the work files of a build out of core.
    work_bytes: AtomicU64,
    stage: Mutex<StageDisplay>,
    /// The file for a line of JSON per layer and process of a cluster.
    metrics: Mutex<Option<Stream>>,
}

/// The current stage.
struct StageDisplay {
    name: String,
    /// What a step is, if the rate of steps is of interest.
    unit: Option<&'static str>,
    is_layer: bool,
    begun: Instant,
    /// The steps that an earlier process completed.
    resumed: u64,
    /// When a line about the stage was last printed.
    last_line: Instant,
    /// When the message of the bar was last set.
    last_message: Instant,
}

impl StageDisplay {
    fn new(stage: BuildPhase) -> StageDisplay {
        let now = Instant::now();
        let unit = match stage {
            BuildPhase::Prove => Some("contexts"),
            BuildPhase::Compare | BuildPhase::Read => Some("states"),
            _ => None,
        };
        let is_layer = matches!(stage, BuildPhase::Layer(_));
        StageDisplay {
            name: stage.to_string(),
            unit,
            is_layer,
            begun: now,
            resumed: 0,
            last_line: now,
            last_message: now,
        }
    }

    /// Returns the rate and the time left after `done` of `total` steps.
    fn estimate(&self, done: u64, total: u64, elapsed: Duration) -> String {
        let steps = done.saturating_sub(self.resumed);
        if steps == 0 {
            return String::new();
        }
        let rate = steps as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = HumanDuration(Duration::from_secs_f64(total.saturating_sub(done) as f64 / rate));
        match self.unit {
            Some(unit) => format!("{:.1} M {unit}/s, {left} left", rate / 1e6),
            None => format!("{left} left"),
        }
    }
}

impl ProgressDisplay {
    /// Creates a display. The work ends at its next step once `cancelled` is set.
    pub fn new(cancelled: Arc<AtomicBool>) -> ProgressDisplay {
        let terminal = io::stderr().is_terminal();
        let bar = if terminal && shows_progress() { ProgressBar::no_length() } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{prefix:>9} {wide_bar} {percent:>3}% {msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
        let stage = Mutex::new(StageDisplay::new(BuildPhase::Check));
        ProgressDisplay {
            started: Instant::now(),
            bar,
            plain: !terminal && shows_progress(),
            cancelled,
            done,
            total,
            layers: LayerProgress::default(),
            in_layer: AtomicBool::new(false),
            work_bytes: AtomicU64::new(0),
            stage,
            metrics: Mutex::new(None),
        }
    }

    /// Appends a line of JSON per layer and process of a cluster to a file.
    pub fn write_metrics(&self, file: Stream) {
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }

    /// Removes the bar from the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Adds steps of the stage, and returns all that are done. The bar shows the steps, or, in a layer, the states of
    /// all layers.
    fn add(&self, steps: u64) -> u64 {
        if self.in_layer.load(Relaxed) {
            self.layers.advance(steps);
            self.bar.set_position(self.layers.states());
        } else {
            self.bar.inc(steps);
        }
        self.done.fetch_add(steps, Relaxed) + steps
    }
}

/// Returns what is done in a stage that is not a layer.
fn stage_work(stage: BuildPhase) -> &'static str {
    match stage {
        BuildPhase::Resume => "checking what an earlier build left",
        BuildPhase::Write => "encoding the distances",
        BuildPhase::Check | BuildPhase::Read => "reading the table",
        BuildPhase::Prove => "checking every distance",
        BuildPhase::Compare => "reading both tables",
        _ => "started",
    }
}

/// Returns the line about the processes of a cluster after a layer.
fn processes_message(reports: &[LayerReport]) -> String {
    let work = |report: &LayerReport| report.expand_s + report.close_s;
    let slowest = reports.iter().max_by(|a, b| work(a).total_cmp(&work(b)));
    let least = reports.iter().map(work).fold(f64::INFINITY, f64::min);
    let sent: u64 = reports.iter().map(|report| report.sent).sum();
    let slowest = slowest.map_or(String::new(), |slowest| {
        format!("{least:.1} to {:.1} s of work, the longest in process {}, ", work(slowest), slowest.process)
    });
    format!("{}: {slowest}{} sent", counted_processes(reports.len()), HumanBytes(sent))
}

/// Returns a number of processes in words.
pub fn counted_processes(processes: usize) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
}

/// Returns the line of a layer. `left` is unknown at the beginning. A build in memory has no work files.
fn layer_message(states: u64, seen: u64, all: u64, work_bytes: u64, rate: f64, left: Option<Duration>) -> String {
    let left = left.map_or(String::new(), |left| format!(", {:.1} M/s, {} left", rate / 1e6, HumanDuration(left)));
    let disk = if work_bytes > 0 { format!(", {} on disk", HumanBytes(work_bytes)) } else { String::new() };
    format!("{}, {} of {} seen{disk}{left}", counted(states as usize, "state"), HumanCount(seen), HumanCount(all))
}

impl Observer for ProgressDisplay {
    fn begin(&self, stage: BuildPhase, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
        let name = stage.to_string();
        self.bar.set_prefix(name.clone());
        let is_layer = matches!(stage, BuildPhase::Layer(_));
        self.in_layer.store(is_layer, Relaxed);
        self.layers.begin(if is_layer { total } else { 0 });
        let (done, total) = if is_layer { (self.layers.states(), self.layers.all().max(1)) } else { (0, total) };
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !is_layer {
            self.bar.set_message("");
            if self.plain {
                status!("{name}: {}", stage_work(stage));
            }
        }
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = StageDisplay::new(stage);
    }

    fn resume(&self, steps: u64) {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).resumed = steps;
        self.add(steps);
    }

    fn advance(&self, steps: u64) {
        let done = self.add(steps);
        if !self.plain && self.bar.is_hidden() {
            return;
        }
        // Threads that find the lock taken leave the line to its owner.
        let Ok(mut stage) = self.stage.try_lock() else { return };
        let (total, elapsed) = (self.total.load(Relaxed), stage.begun.elapsed());
        if self.plain && stage.last_line.elapsed() >= INTERVAL {
            stage.last_line = Instant::now();
            let percent = 100 * done.min(total) / total.max(1);
            let estimate = stage.estimate(done, total, elapsed);
            let separator = if estimate.is_empty() { "" } else { ", " };
            status!("{}: {percent}%{separator}{estimate}", stage.name);
        }
        // The bar of a layer has a message of its own.
        if !self.plain && !stage.is_layer && stage.last_message.elapsed() >= BAR_INTERVAL {
            stage.last_message = Instant::now();
            self.bar.set_message(stage.estimate(done, total, elapsed));
        }
    }

    fn layer(&self, distance: u32, states: u64, seen: u64, all: u64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let rate = seen as f64 / elapsed.max(1e-3);
        // The first layers are too small for an estimate.
        let known = seen >= all / 100 && elapsed >= 1.0;
        let left = known.then(|| Duration::from_secs_f64((all - seen) as f64 / rate));
        let message = layer_message(states, seen, all, self.work_bytes.load(Relaxed), rate, left);
        if self.plain {
            status!("{}: {message}", BuildPhase::Layer(distance));
        }
        self.layers.layer(states, seen, all);
        self.bar.set_length(all.max(1));
        self.bar.set_position(self.layers.states());
        self.bar.set_message(message);
    }

    fn work_files(&self, layers: u64, copies: u64) {
        self.work_bytes.store(layers + copies, Relaxed);
    }

    fn processes(&self, reports: &[LayerReport]) {
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut *metrics {
            let line = |report| serde_json::to_string(report).expect("a report has only finite numbers") + "\n";
            let lines: String = reports.iter().map(line).collect();
            if let Err(error) = file.write_all(lines.as_bytes()) {
                status!("cannot write the metrics: {error}");
                *metrics = None;
            }
        }
        if self.plain || !self.bar.is_hidden() {
            self.bar.suspend(|| status!("{}", processes_message(reports)));
        }
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

/// The progress of searches of positions: a progress bar on a terminal, and elsewhere a line every ten seconds.
pub struct SearchProgress {
    bar: ProgressBar,
    plain: bool,
    started: Instant,
    /// The positions that an earlier process searched.
    before: u64,
    done: u64,
    total: u64,
    last_line: Instant,
}

impl SearchProgress {
    /// Creates a display for a number of positions, which measures the time from now.
    pub fn new(total: u64) -> SearchProgress {
        let terminal = io::stderr().is_terminal();
        let shown = terminal && shows_progress();
        let bar = if shown { ProgressBar::new(total) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} positions, {eta} left");
        bar.set_style(style.expect("the template is valid"));
        let now = Instant::now();
        SearchProgress {
            bar,
            plain: !terminal && shows_progress(),
            started: now,
            before: 0,
            done: 0,
            total,
            last_line: now,
        }
    }

    /// Creates a display that continues after `done` positions.
    pub fn resumed(done: u64, total: u64) -> SearchProgress {
        let mut progress = SearchProgress::new(total);
        (progress.before, progress.done) = (done, done);
        progress.bar.set_position(done);
        progress.bar.reset_eta();
        progress
    }

    /// Reports a searched position.
    pub fn advance(&mut self) {
        self.advance_to(self.done + 1);
    }

    /// Reports the number of all positions that are done.
    pub fn advance_to(&mut self, done: u64) {
        self.done = done;
        self.bar.set_position(done);
        if self.plain && self.last_line.elapsed() >= INTERVAL {
            self.last_line = Instant::now();
            let done = self.done - self.before;
            let left = time_left(self.started.elapsed(), done, self.total.saturating_sub(self.done));
            status!("{} of {}, {} left", self.done, counted(self.total as usize, "position"), HumanDuration(left));
        }
    }

    /// Removes the bar from the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of a tournament: a line per game and, on a terminal, a progress line below them.
pub struct GamesProgress {
    started: Instant,
    bar: ProgressBar,
    /// The games that were finished since the start.
    finished: AtomicU64,
}

impl GamesProgress {
    /// Creates a display for a number of games, which measures the time from now.
    pub fn new(games: u64) -> GamesProgress {
        let bar = if io::stderr().is_terminal() && shows_progress() {
            ProgressBar::new(games)
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{pos}/{len} games, {elapsed} elapsed{wide_msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(Duration::from_secs(1));
        GamesProgress { started: Instant::now(), bar, finished: AtomicU64::new(0) }
    }

    /// Reports a finished game.
    pub fn add(&self, record: &GameRecord, standings: &Standings) {
        let finished = self.finished.fetch_add(1, Relaxed) + 1;
        if !shows_progress() {
            return;
        }
        let (played, expected) = (standings.played(), standings.expected());
        let (elapsed, left) = (self.started.elapsed(), expected.saturating_sub(played));
        let time = games_time(elapsed, finished, left);
        let line = progress_line(record, standings);
        self.bar.suspend(|| status!("{line} ({played} of {expected} done, {time})"));
        self.bar.set_length(expected);
        self.bar.set_position(played);
        let schedule = standings.schedule();
        let score = score_so_far(standings, record.id.round, record.id.pairing);
        let score = score.filter(|_| schedule.pairings.len() * schedule.rounds.len() == 1);
        let score = score.map_or_else(String::new, |score| format!("; {score}"));
        self.bar.set_message(format!(", {:#} left{score}", HumanDuration(time_left(elapsed, finished, left))));
    }

    /// Removes the progress line from the terminal. Returns the number of games that were finished.
    pub fn finish(&self) -> u64 {
        self.bar.finish_and_clear();
        self.finished.load(Relaxed)
    }
}

/// Returns the elapsed time, and an estimate of the time for the games left.
pub fn games_time(elapsed: Duration, finished: u64, left: u64) -> String {
    let left = time_left(elapsed, finished, left);
    format!("{:#} elapsed, {:#} left", HumanDuration(elapsed), HumanDuration(left))
}

/// Estimates the time for the games left from that for the finished ones.
fn time_left(elapsed: Duration, finished: u64, left: u64) -> Duration {
    Duration::from_secs_f64(elapsed.as_secs_f64() * left as f64 / finished.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_games_so_far() {
        assert_eq!(games_time(Duration::from_secs(30), 3, 9), "30s elapsed, 2m left");
        assert_eq!(games_time(Duration::from_secs(30), 3, 0), "30s elapsed, 0s left");
    }

    #[test]
    fn the_rate_of_a_resumed_stage_is_that_of_this_process() {
        let mut stage = StageDisplay::new(BuildPhase::Prove);
        stage.resumed = 50_000_000;
        assert_eq!(stage.estimate(50_000_000, 100_000_000, Duration::from_secs(1)), "");
        let estimate = stage.estimate(60_000_000, 100_000_000, Duration::from_secs(5));
        assert_eq!(estimate, "2.0 M contexts/s, 20 seconds left");
        assert_eq!(StageDisplay::new(BuildPhase::Check).estimate(1, 3, Duration::from_secs(60)), "2 minutes left");
    }

    #[test]
    fn the_bar_of_layers_shows_the_whole_search() {
        let display = ProgressDisplay::new(Arc::default());
        let share = || display.bar.position() as f64 / display.bar.length().unwrap() as f64;
        let mut shown = Vec::new();
        for (distance, (states, seen)) in [(1, 1), (9, 10), (60, 70), (30, 100)].into_iter().enumerate() {
            display.begin(BuildPhase::Layer(distance as u32), 4);
            for _ in 0..4 {
                display.advance(1);
                shown.push(share());
            }
            display.layer(distance as u32, states, seen, 100);
            shown.push(share());
        }
        assert!(shown.is_sorted() && shown[..18].iter().all(|&share| share < 1.0) && shown[19] == 1.0, "{shown:?}");
        display.begin(BuildPhase::Write, 4);
        display.advance(1);
        assert_eq!(share(), 0.25);
    }

    #[test]
    fn processes_are_described_in_words() {
        let report = |process, expand_s, sent| LayerReport { process, expand_s, sent, ..LayerReport::default() };
        assert_eq!(
            processes_message(&[report(0, 1.0, 1 << 20), report(1, 2.5, 2 << 20)]),
            "2 processes: 1.0 to 2.5 s of work, the longest in process 1, 3.00 MiB sent"
        );
    }

    #[test]
    fn layers_are_described_in_words() {
        assert_eq!(layer_message(1, 1, 2300, 0, 0.0, None), "1 state, 1 of 2,300 seen");
        assert_eq!(
            layer_message(2000, 5_000_000, 7_000_000, 3 << 20, 2_500_000.0, Some(Duration::from_secs(90))),
            "2,000 states, 5,000,000 of 7,000,000 seen, 3.00 MiB on disk, 2.5 M/s, 2 minutes left"
        );
    }
}
