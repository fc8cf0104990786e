//! Builds that crash, fail, or find their files damaged, at every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use sternhalma_data::table::Zstd;
use tempfile::TempDir;

use super::faults::{Crash, Fault, Faults};
use super::tests::{bytes_of, prefix, zstd};
use super::*;
use crate::build;

/// Several classes and chunks, and everything that is put aside goes to disk.
const LIMITS: Limits = Limits { fixed: 1, lanes: 1, chunk_words: 1, pending: 0 };

/// Steps follow each other in the same order in every build.
static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());

static TOLD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("told.sht");
    build(&path, options(), false, &()).unwrap();
    bytes_of(&path)
});

fn options() -> BuildOptions {
    BuildOptions { prefix: prefix(4, 3, 12), encoding: Encoding::Byte, threads: 1 }
}

/// Where a table is built again and again.
struct Site(TempDir);

impl Site {
    fn new() -> Site {
        Site(tempfile::tempdir().unwrap())
    }

    fn table(&self) -> PathBuf {
        self.0.path().join("table.sht")
    }

    fn work(&self) -> OutOfCore {
        OutOfCore { directory: self.0.path().join("work"), memory: 1 << 30, fresh: false, uncached: false }
    }

    fn build(&self, faults: &Arc<Faults>) -> Result<Done, BuildError> {
        self.build_as(faults, options(), self.work(), LIMITS)
    }

    fn build_as(
        &self,
        faults: &Arc<Faults>,
        options: BuildOptions,
        work: OutOfCore,
        limits: Limits,
    ) -> Result<Done, BuildError> {
        let storage: Arc<dyn FileSystem> = Arc::<Faults>::clone(faults);
        build_in(&storage, &self.table(), options, &work, limits, false, &POOL, &())
    }

    /// Builds without a fault and looks at what comes of it.
    fn finish(&self, what: &str) -> Done {
        let done = self.build(&Faults::new(Fault::Nothing)).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.assert_finished(what);
        done
    }

    fn assert_finished(&self, what: &str) {
        assert!(bytes_of(&self.table()) == *TOLD, "{what}: the table is another");
        assert_eq!(
            self.files(),
            BTreeSet::from(["table.sht", "work/build.json", "work/lock"].map(String::from)),
            "{what}"
        );
    }

    fn files(&self) -> BTreeSet<String> {
        let list = |dir: PathBuf, before: &str| -> Vec<String> {
            let Ok(files) = std::fs::read_dir(dir) else { return Vec::new() };
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name != "work").map(|name| format!("{before}{name}")).collect()
        };
        let mut files = list(self.0.path().to_owned(), "");
        files.extend(list(self.work().directory, "work/"));
        files.into_iter().collect()
    }

    /// The error names a file here.
    fn assert_names(&self, error: &BuildError, what: &str) {
        let message = error.to_string();
        let here = self.0.path().to_str().unwrap();
        assert!(message.contains(here) && !message.contains('\n'), "{what}: {message}");
    }

    /// Builds until a crash at this change.
    fn crash(&self, at: usize, crash: Crash) -> Option<BuildError> {
        let faults = Faults::new(Fault::Crash(at, crash));
        let ended = self.build(&faults);
        assert_eq!(ended.is_err(), faults.crashed(), "change {at}: {ended:?}");
        ended.err()
    }

    /// Builds half of the layers.
    fn begin(&self) {
        let changes = changes();
        let half = changes.iter().position(|change| change == "sync .layer-005.writing").unwrap();
        assert!(self.crash(half, Crash::Killed).is_some());
    }

    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files().into_iter().map(|name| self.0.path().join(name));
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    fn restore(&self, contents: &BTreeMap<PathBuf, Vec<u8>>) {
        self.files().iter().for_each(|name| std::fs::remove_file(self.0.path().join(name)).unwrap());
        contents.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

/// What an undisturbed build changes.
fn changes() -> Vec<String> {
    static CHANGES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let (site, faults) = (Site::new(), Faults::new(Fault::Nothing));
        assert_eq!(site.build(&faults).unwrap(), Done::Built);
        site.assert_finished("undisturbed");
        faults.changes()
    });
    CHANGES.clone()
}

#[test]
fn the_build_that_is_disturbed_has_every_kind_of_step() {
    let changes = changes();
    for step in [
        "make work",
        "create lock",
        "rename build.json",
        "create spill",
        "write spill",
        "rename layer-007",
        "sync directory work",
        "link table.sht",
        "unlink .table.sht.writing",
        "remove spill",
        "remove layer-007",
    ] {
        assert!(changes.iter().any(|change| change == step), "{step}");
    }
}

fn crash_everywhere(crash: Crash) {
    for (at, change) in changes().iter().enumerate() {
        if crash == Crash::Torn && !change.starts_with("write") {
            continue;
        }
        let what = format!("{crash:?} at {at}, {change}");
        let site = Site::new();
        let error = site.crash(at, crash).expect("the change is made");
        site.assert_names(&error, &what);
        site.finish(&what);
    }
}

#[test]
fn a_build_killed_at_any_step_goes_on() {
    crash_everywhere(Crash::Killed);
}

#[test]
fn a_build_killed_within_any_write_goes_on() {
    crash_everywhere(Crash::Torn);
}

#[test]
fn a_build_goes_on_after_a_power_cut_that_loses_what_was_not_synced() {
    crash_everywhere(Crash::Lost);
}

#[test]
fn a_build_goes_on_after_a_power_cut_that_keeps_names_alone() {
    crash_everywhere(Crash::Zeroed);
}

/// What was done is not done again after a power cut.
#[test]
fn what_was_synced_outlasts_a_power_cut() {
    let changes = changes();
    let last = |before: usize, change: &str| changes[..before].iter().rposition(|made| made == change);
    let unlinked = last(changes.len(), "unlink .table.sht.writing").unwrap();
    for at in last(changes.len(), "rename build.json").unwrap() + 2..=unlinked + 2 {
        let synced = last(at, "sync directory work").unwrap();
        let layers = changes[..synced].iter().filter(|change| change.starts_with("rename layer-")).count();
        let (site, what) = (Site::new(), format!("power cut at {at}, {}", changes[at]));
        site.crash(at, Crash::Lost).unwrap();
        let layer_files = site.files().iter().filter(|name| name.starts_with("work/layer-")).count();
        assert_eq!(layer_files, layers, "{what}");
        assert!(site.files().contains("work/build.json"), "{what}");
        assert_eq!(site.table().exists(), at == unlinked + 2, "{what}");
    }
    // From the first layer removed on, the table is what lasts.
    for (at, change) in changes.iter().enumerate().skip(unlinked + 2) {
        let site = Site::new();
        site.crash(at, Crash::Lost).unwrap();
        assert_eq!(site.finish(change), Done::Before, "power cut at {at}, {change}");
    }
}

#[test]
fn a_build_crashes_many_times_and_is_finished() {
    let longest = 1 + changes().len() / 4;
    for (first, crash) in (0..).zip([Crash::Killed, Crash::Torn, Crash::Lost, Crash::Zeroed]) {
        let site = Site::new();
        let crashes = (0..200).take_while(|i| site.crash(40 + (first + 61 * i) % longest, crash).is_some()).count();
        assert!((3..200).contains(&crashes), "{crashes} crashes, {crash:?}");
        assert_eq!(site.finish("crashed many times"), Done::Before);
        assert!(Table::open(&site.table()).unwrap().provenance().resumes <= crashes as u64);
    }
}

#[test]
fn a_full_disk_is_told_of_once_and_leaves_no_temporary_file() {
    for (at, change) in changes().iter().enumerate() {
        let what = format!("full at {at}, {change}");
        let site = Site::new();
        match site.build(&Faults::new(Fault::Full(at))) {
            Err(error) => {
                site.assert_names(&error, &what);
                assert!(error.to_string().contains("storage space"), "{what}: {error}");
            }
            // A file put aside that cannot be removed now is removed at the end.
            Ok(_) => assert_eq!(change, "remove spill"),
        }
        let temporary = |name: &String| name.contains(".writing") || name.contains("spill");
        assert_eq!(site.files().into_iter().find(temporary), None, "{what}");
        site.finish(&what);
    }
}

#[test]
fn a_read_that_fails_or_has_a_wrong_bit_ends_the_build() {
    let faults = Faults::new(Fault::Nothing);
    Site::new().build(&faults).unwrap();
    let step = faults.reads() / 150 + 1;
    for at in (0..faults.reads()).step_by(step) {
        for fault in [Fault::Unread(at), Fault::Flipped(at)] {
            let (site, what) = (Site::new(), format!("{fault:?}"));
            let error = site.build(&Faults::new(fault)).expect_err(&what);
            site.assert_names(&error, &what);
            assert_eq!(matches!(error, BuildError::Damaged { .. }), matches!(fault, Fault::Flipped(_)), "{error}");
            site.finish(&what);
        }
    }
}

#[test]
fn a_read_that_fails_or_has_a_wrong_bit_ends_a_resumed_build() {
    let site = Site::new();
    site.begin();
    let begun = site.contents();
    let faults = Faults::new(Fault::Nothing);
    site.build(&faults).unwrap();
    for at in (0..faults.reads()).filter(|at| *at < 60 || at % 17 == 0) {
        for fault in [Fault::Unread(at), Fault::Flipped(at)] {
            site.restore(&begun);
            let what = format!("{fault:?}");
            match site.build(&Faults::new(fault)) {
                Err(error) => site.assert_names(&error, &what),
                // Opening a file reads nothing that could be wrong.
                Ok(_) => assert_eq!(fault, Fault::Flipped(at)),
            }
            site.finish(&what);
        }
    }
}

#[test]
fn no_flipped_bit_of_a_work_file_makes_a_wrong_table() {
    let site = Site::new();
    site.begin();
    let begun = site.contents();
    for (path, bytes) in &begun {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_read = name.starts_with("layer-") || name == "build.json";
        for at in (0..bytes.len()).filter(|at| *at < 40 || *at + 40 > bytes.len() || at % 7 == 0) {
            let what = format!("byte {at} of {name}");
            site.restore(&begun);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(path, flipped).unwrap();
            let error = match site.build(&Faults::new(Fault::Nothing)) {
                Ok(_) => {
                    assert!(!is_read, "{what} is not missed");
                    site.assert_finished(&what);
                    continue;
                }
                Err(error) => error,
            };
            assert!(error.to_string().contains(path.to_str().unwrap()), "{what}: {error}");
            // The rest is the same for all bytes of a file.
            if at % 50 == 0 {
                advise(&site, &error, path, &what);
            }
        }
    }
}

/// Does as the message says.
fn advise(site: &Site, error: &BuildError, path: &Path, what: &str) {
    match error {
        BuildError::Damaged { .. } => {
            assert!(error.to_string().contains("delete it"), "{error}");
            std::fs::remove_file(path).unwrap();
            site.finish(what);
        }
        BuildError::WorkDirectory { .. } => {
            assert!(error.to_string().contains("--fresh"), "{error}");
            let work = OutOfCore { fresh: true, ..site.work() };
            site.build_as(&Faults::new(Fault::Nothing), options(), work, LIMITS).unwrap();
            site.assert_finished(what);
        }
        _ => panic!("{what}: {error}"),
    }
}

#[test]
fn a_work_file_cut_short_or_exchanged_is_refused() {
    let site = Site::new();
    site.begin();
    let begun = site.contents();
    let layer = |distance: u32| site.work().directory.join(format!("layer-{distance:03}"));
    let whole = &begun[&layer(3)];
    let changed =
        [Vec::new(), whole[..whole.len() / 2].to_vec(), [&whole[..], b"x"].concat(), begun[&layer(2)].clone()];
    for bytes in changed {
        site.restore(&begun);
        std::fs::write(layer(3), bytes).unwrap();
        let error = site.build(&Faults::new(Fault::Nothing)).unwrap_err();
        assert!(error.to_string().contains("layer-003"), "{error}");
        advise(&site, &error, &layer(3), "layer 3");
    }
}

#[test]
fn a_table_in_its_place_outlasts_a_power_cut_before_its_layers_go() {
    for step in ["unlink .table.sht.writing", "remove layer-000"] {
        let site = Site::new();
        let at = changes().iter().position(|change| change == step).unwrap();
        site.crash(at, Crash::Killed).unwrap();
        let faults = Faults::new(Fault::Nothing);
        assert_eq!(site.build(&faults).unwrap(), Done::Before);
        site.assert_finished(step);
        let here = format!("sync directory {}", site.0.path().file_name().unwrap().display());
        let place = |change: &str| faults.changes().iter().position(|made| made == change);
        assert!(place(&here).unwrap() < place("remove layer-000").unwrap(), "{:?}", faults.changes());
        assert_eq!(site.finish("once more"), Done::Before);
    }
}

#[test]
fn work_for_another_table_is_refused_and_stays() {
    let site = Site::new();
    site.begin();
    let begun = site.files();
    let given = options();
    for other in [
        BuildOptions { prefix: prefix(4, 3, 13), ..given },
        BuildOptions { prefix: prefix(4, 2, 12), ..given },
        BuildOptions { prefix: prefix(5, 3, 12), ..given },
        BuildOptions { encoding: Encoding::Mod3, ..given },
    ] {
        let limits = Limits { fixed: 0, ..LIMITS };
        let error = site.build_as(&Faults::new(Fault::Nothing), other, site.work(), limits).unwrap_err();
        assert!(matches!(error, BuildError::WorkDirectory { .. }), "{error}");
        assert!(error.to_string().contains("4x4 with 3 pieces within 12 cells, byte"), "{error}");
        site.assert_names(&error, "another table");
        assert_eq!(site.files(), begun);
    }
    site.finish("after it was refused to others");
}

#[test]
fn one_process_works_in_a_directory() {
    let site = Site::new();
    let storage = OsFileSystem::shared();
    let BuildOptions { prefix, encoding, .. } = options();
    let locked = LockedDir::open(&storage, &site.work().directory).unwrap();
    let work = locked.start(TableSpec { prefix, encoding }, LIMITS).unwrap();
    for fresh in [false, true] {
        let work = OutOfCore { fresh, ..site.work() };
        let error = site.build_as(&Faults::new(Fault::Nothing), options(), work, LIMITS).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        site.assert_names(&error, "in use");
    }
    drop(work);
    site.finish("no longer in use");
}

#[test]
fn fresh_drops_what_was_done() {
    let site = Site::new();
    site.begin();
    let fresh = OutOfCore { fresh: true, ..site.work() };
    let faults = Faults::new(Fault::Nothing);
    assert_eq!(site.build_as(&faults, options(), fresh, LIMITS).unwrap(), Done::Built);
    assert!(faults.changes().iter().any(|change| change == "rename layer-000"));
    assert_eq!(Table::open(&site.table()).unwrap().provenance().resumes, 0);
    site.assert_finished("afresh");
}

#[test]
fn work_goes_on_as_it_was_cut_if_the_memory_suffices() {
    let site = Site::new();
    site.begin();
    let cut = Limits { fixed: 0, lanes: 2, chunk_words: 64, pending: 1 << 20 };
    let little = OutOfCore { memory: 2 << 20, ..site.work() };
    let begun = site.files();
    let error = site.build_as(&Faults::new(Fault::Nothing), options(), little, cut).unwrap_err();
    assert!(error.to_string().contains("--memory"), "{error}");
    assert_eq!(site.files(), begun);
    let faults = Faults::new(Fault::Nothing);
    assert_eq!(site.build_as(&faults, options(), site.work(), cut).unwrap(), Done::Built);
    assert!(!faults.changes().iter().any(|change| change == "rename layer-000"), "layers are made once");
    assert_eq!(Table::open(&site.table()).unwrap().provenance().resumes, 1);
    site.assert_finished("with other limits");
}

#[test]
fn another_file_in_the_place_of_the_table_stops_the_build_before_it_works() {
    let site = Site::new();
    site.begin();
    let layers = site.contents();
    std::fs::write(site.table(), "precious").unwrap();
    let faults = Faults::new(Fault::Nothing);
    let error = site.build(&faults).unwrap_err();
    assert!(error.to_string().contains("table.sht") && error.to_string().contains("--force"), "{error}");
    assert!(!faults.changes().iter().any(|change| change.contains("layer")), "{:?}", faults.changes());
    assert_eq!(std::fs::read(site.table()).unwrap(), b"precious");
    std::fs::remove_file(site.table()).unwrap();
    let kept = site.contents();
    assert!(
        layers
            .iter()
            .filter(|(path, _)| !path.ends_with(".table.sht.writing"))
            .all(|(path, bytes)| kept[path] == *bytes)
    );
    site.finish("in its place");
}

/// Builds `options` in the directory of an earlier build and returns the encoding of the table.
fn rebuild(site: &Site, options: BuildOptions, replace: bool) -> Result<(Done, Encoding), BuildError> {
    let storage: Arc<dyn FileSystem> = Faults::new(Fault::Nothing);
    let done = build_in(&storage, &site.table(), options, &site.work(), LIMITS, replace, &POOL, &())?;
    let table = Table::open(&site.table())?;
    verify(&table, false, 1, &()).unwrap();
    Ok((done, table.encoding()))
}

#[test]
fn a_finished_build_does_not_stand_for_one_with_other_zstd_parameters() {
    let site = Site::new();
    let of = |encoding| BuildOptions { encoding, ..options() };
    assert_eq!(rebuild(&site, of(zstd(4096)), false).unwrap(), (Done::Built, zstd(4096)));
    assert_eq!(rebuild(&site, of(zstd(4096)), true).unwrap(), (Done::Before, zstd(4096)));
    // An existing table is replaced on request only, and its build stays known until then.
    assert!(matches!(rebuild(&site, of(zstd(64)), false), Err(BuildError::Table(_))));
    assert_eq!(rebuild(&site, of(zstd(4096)), false).unwrap(), (Done::Before, zstd(4096)));
    assert_eq!(rebuild(&site, of(zstd(64)), true).unwrap(), (Done::Built, zstd(64)));
    let level_2 = Encoding::Zstd(Zstd::new(64, 2).unwrap());
    assert_eq!(rebuild(&site, of(level_2), true).unwrap(), (Done::Built, level_2));
    assert_eq!(rebuild(&site, of(Encoding::Byte), true).unwrap(), (Done::Built, Encoding::Byte));
}

#[test]
fn unfinished_work_is_refused_to_other_zstd_parameters() {
    let site = Site::new();
    let of = |encoding| BuildOptions { encoding, ..options() };
    let half = Faults::new(Fault::Crash(60, Crash::Killed));
    site.build_as(&half, of(zstd(4096)), site.work(), LIMITS).unwrap_err();
    let error = rebuild(&site, of(zstd(64)), false).unwrap_err().to_string();
    assert!(error.contains("zstd (blocks of 4096 states, level 1), not"), "{error}");
    assert!(error.contains("zstd (blocks of 64 states, level 1)"), "{error}");
    assert_eq!(rebuild(&site, of(zstd(4096)), false).unwrap(), (Done::Built, zstd(4096)));
}

/// Earlier versions did not record the parameters of zstd. Layers do not depend on them.
#[test]
fn work_without_recorded_zstd_parameters_is_resumed_with_the_requested_ones() {
    let site = Site::new();
    let of = |encoding| BuildOptions { encoding, ..options() };
    let half = Faults::new(Fault::Crash(60, Crash::Killed));
    site.build_as(&half, of(zstd(4096)), site.work(), LIMITS).unwrap_err();
    let manifest = site.work().directory.join("build.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let (json, _) = text.split_once('\n').unwrap();
    let json = json.replace(r#","zstd":{"block_states":4096,"level":1}"#, "");
    assert!(json.contains(r#""encoding":"zstd","fixed""#), "{json}");
    std::fs::write(&manifest, format!("{json}\n{:016x}\n", sternhalma_data::table::checksum(json.as_bytes()))).unwrap();
    assert_eq!(rebuild(&site, of(zstd(64)), false).unwrap(), (Done::Built, zstd(64)));
    assert_eq!(Table::open(&site.table()).unwrap().provenance().resumes, 1);
    assert_eq!(rebuild(&site, of(zstd(64)), true).unwrap(), (Done::Before, zstd(64)));
    assert_eq!(rebuild(&site, of(zstd(4096)), true).unwrap(), (Done::Built, zstd(4096)));
}
