//! Builds that crash, fail, or find their files damaged, at every step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use rayon::{ThreadPool, ThreadPoolBuilder};
use sternhalma_data::table::fs::{FileSystem, OsFileSystem};
use sternhalma_data::table::{Ans, Zstd};
use sternhalma_data::{Encoding, Table, TableSpec};
use sternhalma_testutil::bytes_of;
use tempfile::TempDir;

use super::{chain, prefix, zstd};
use crate::construction::out_of_core::OutOfCoreBuild;
use crate::error::Result;
use crate::external::{LockedDir, PartitionParams};
use crate::faults::{Crash, Fault, Faults};
use crate::{BuildMode, BuildOutcome, BuildPlan, BuilderError, LayerForm, TableBuilder, Verifier};

/// Several classes and segments. All spilled states go to disk.
const PARAMS: PartitionParams = PartitionParams { fixed_pieces: 1, slice_pieces: 1, segment_words: 1, spill_bytes: 0 };

/// A single thread, so that every build takes the same steps in the same order.
static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());

static EXPECTED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("expected.sht");
    TableBuilder::new(spec().prefix).build(&path, &()).unwrap();
    bytes_of(&path)
});

fn spec() -> TableSpec {
    TableSpec { prefix: prefix(4, 3, 12), encoding: Encoding::Byte, mirrored: false }
}

/// A directory in which a table is built repeatedly.
struct CrashSite {
    dir: TempDir,
    /// The bytes of a commit of the table.
    commit_bytes: u64,
    form: LayerForm,
}

impl CrashSite {
    fn new() -> CrashSite {
        CrashSite { dir: tempfile::tempdir().unwrap(), commit_bytes: u64::MAX, form: LayerForm::Delta }
    }

    fn with_form(form: LayerForm) -> CrashSite {
        CrashSite { form, ..CrashSite::new() }
    }

    /// Returns a site of a build with several commits of the table.
    fn with_commits() -> CrashSite {
        CrashSite { commit_bytes: 40, ..CrashSite::new() }
    }

    fn table(&self) -> PathBuf {
        self.dir.path().join("table.sht")
    }

    fn work_dir(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn options(&self) -> TableBuilder {
        TableBuilder::new(spec().prefix).memory_limit(1 << 30).work_dir(self.work_dir())
    }

    fn build(&self, faults: &Arc<Faults>) -> Result<BuildOutcome> {
        self.build_with(faults, &self.options(), PARAMS)
    }

    fn build_with(
        &self,
        faults: &Arc<Faults>,
        options: &TableBuilder,
        params: PartitionParams,
    ) -> Result<BuildOutcome> {
        let storage: Arc<dyn FileSystem> = Arc::<Faults>::clone(faults);
        let (form, commit_bytes) = (self.form, self.commit_bytes);
        OutOfCoreBuild { storage, options, params, form, commit_bytes, pool: &POOL, observer: &() }
            .run(&self.table(), &self.work_dir())
    }

    /// Returns the changes of an undisturbed build.
    fn changes(&self) -> Vec<String> {
        let faults = Faults::new(Fault::Nothing);
        assert_eq!(self.build(&faults).unwrap(), BuildOutcome::Built);
        self.assert_finished("undisturbed");
        faults.changes()
    }

    /// Builds without faults.
    fn build_soundly(&self, options: &TableBuilder) -> Result<BuildOutcome> {
        self.build_with(&Faults::new(Fault::Nothing), options, PARAMS)
    }

    /// Builds without a fault and checks the result.
    fn finish(&self, what: &str) -> BuildOutcome {
        let done = self.build(&Faults::new(Fault::Nothing)).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.assert_finished(what);
        done
    }

    fn assert_finished(&self, what: &str) {
        assert!(bytes_of(&self.table()) == *EXPECTED, "{what}: the table differs");
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
        let mut files = list(self.dir.path().to_owned(), "");
        files.extend(list(self.work_dir(), "work/"));
        files.into_iter().collect()
    }

    /// Checks that the error contains the path of a file in this directory.
    fn assert_names(&self, error: &BuilderError, what: &str) {
        let message = chain(error);
        let here = self.dir.path().to_str().unwrap();
        assert!(message.contains(here) && !message.contains('\n'), "{what}: {message}");
    }

    /// Builds until a crash at this change, if there is such a change.
    fn crash(&self, at: usize, crash: Crash) -> Option<BuilderError> {
        let faults = Faults::new(Fault::Crash(at, crash));
        let ended = self.build(&faults);
        assert_eq!(ended.is_err(), faults.crashed(), "change {at}: {ended:?}");
        ended.err()
    }

    /// Builds half of the layers.
    fn begin(&self) {
        let changes = CrashSite::with_form(self.form).changes();
        let half = changes.iter().position(|change| change == "sync .layer-005.writing").unwrap();
        assert!(self.crash(half, Crash::Killed).is_some());
    }

    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files().into_iter().map(|name| self.dir.path().join(name));
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    fn restore(&self, contents: &BTreeMap<PathBuf, Vec<u8>>) {
        self.files().iter().for_each(|name| std::fs::remove_file(self.dir.path().join(name)).unwrap());
        contents.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

/// Returns the changes that an undisturbed build makes.
fn changes() -> Vec<String> {
    static CHANGES: LazyLock<Vec<String>> = LazyLock::new(|| CrashSite::new().changes());
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

/// Returns the changes of an undisturbed build with several commits of the table.
fn changes_with_commits() -> Vec<String> {
    CrashSite::with_commits().changes()
}

#[test]
fn layers_are_freed_after_the_table_and_the_journal_are_durable() {
    let changes = changes_with_commits();
    let steps: Vec<&str> = changes.iter().map(String::as_str).collect();
    let commits = steps.iter().filter(|&&change| change == "sync written").count() - 1;
    assert!((3..8).contains(&commits), "{commits} commits");
    let place = |change: &str| steps.iter().position(|&made| made == change).unwrap();
    let first_free = steps.iter().position(|change| change.starts_with("free ")).unwrap();
    for change in ["sync .table.sht.writing", "create written", "sync written"] {
        assert!(place(change) < first_free, "{change}");
    }
    let freed = steps.iter().filter(|change| change.starts_with("free ")).count();
    assert!(freed > 5, "{freed} ranges of segments are freed");
}

fn crash_everywhere(crash: Crash) {
    let forms = LayerForm::ALL.into_iter();
    for (form, commits) in forms.flat_map(|form| [(form, false), (form, true)]) {
        let new_site = || CrashSite { form, ..if commits { CrashSite::with_commits() } else { CrashSite::new() } };
        for (at, change) in new_site().changes().iter().enumerate() {
            if crash == Crash::Torn && !change.starts_with("write") {
                continue;
            }
            let what = format!("{crash:?} at {at}, {change}, {form:?}");
            let site = new_site();
            let error = site.crash(at, crash).expect("the change is made");
            site.assert_names(&error, &what);
            site.finish(&what);
        }
    }
}

/// Kills a build after a commit of the table.
fn begin_table() -> CrashSite {
    let site = CrashSite::with_commits();
    let frees = changes_with_commits().iter().rposition(|change| change.starts_with("free ")).unwrap();
    site.crash(frees + 1, Crash::Killed).unwrap();
    assert!(site.files().contains("work/written"));
    site
}

#[test]
fn a_damaged_journal_is_named_and_the_build_starts_again() {
    let site = begin_table();
    let begun = site.contents();
    let journal = site.work_dir().join("written");
    let bytes = &begun[&journal];
    // In the header, and in the middle of each commit.
    for at in [8, 30, bytes.len() / 2, bytes.len() - 1] {
        site.restore(&begun);
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&journal, damaged).unwrap();
        check_journal_error(&site, &format!("byte {at} of {}", bytes.len()));
    }
}

/// Without a journal, the freed segments of the layers are damage, which the suggested removal repairs.
#[test]
fn a_build_without_its_journal_names_the_freed_layers() {
    let site = begin_table();
    std::fs::remove_file(site.work_dir().join("written")).unwrap();
    let mut removed = BTreeSet::new();
    while let Err(error) = site.build(&Faults::new(Fault::Nothing)) {
        let BuilderError::DamagedFile { path, .. } = &error else { panic!("{error:?}") };
        std::fs::remove_file(path).unwrap();
        assert!(removed.insert(path.clone()), "{error}");
    }
    assert!(!removed.is_empty());
    site.assert_finished("no journal");
}

/// Checks that a build names its damaged journal, and that the advice works.
fn check_journal_error(site: &CrashSite, what: &str) {
    let error = site.build(&Faults::new(Fault::Nothing)).expect_err(what);
    assert!(matches!(error, BuilderError::DamagedJournal { .. }), "{what}: {error:?}");
    assert!(error.to_string().contains("written: the journal of the unfinished table is damaged"), "{what}: {error}");
    site.build_soundly(&site.options().restart(true)).unwrap();
    site.assert_finished(what);
}

#[test]
fn an_interrupted_table_is_continued() {
    let site = begin_table();
    let faults = Faults::new(Fault::Nothing);
    assert_eq!(site.build(&faults).unwrap(), BuildOutcome::Built);
    site.assert_finished("continued");
    assert!(!faults.changes().iter().any(|change| change == "create .table.sht.writing"), "{:?}", faults.changes());
    assert_eq!(Table::open(site.table()).unwrap().provenance().resumes, 1);
}

#[test]
fn a_table_whose_layers_are_freed_is_not_continued_without_its_files() {
    let site = begin_table();
    let begun = site.contents();
    let temporary = site.dir.path().join(".table.sht.writing");
    let layer = |distance: u32| site.work_dir().join(format!("layer-{distance:03}"));
    let changed = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let last_segment = begun[&layer(6)].iter().rposition(|&byte| byte != 0).unwrap() / 2;
    let cases: [(&Path, Option<Vec<u8>>); 5] = [
        (&temporary, None),
        (&temporary, Some(changed(&begun[&temporary], 4096))),
        (&temporary, Some(begun[&temporary][..4100].to_vec())),
        (&layer(3), None),
        (&layer(6), Some(changed(&begun[&layer(6)], last_segment))),
    ];
    for (path, bytes) in cases {
        site.restore(&begun);
        let what = format!("{}, {:?} bytes", path.display(), bytes.as_ref().map(Vec::len));
        match bytes {
            None => std::fs::remove_file(path).unwrap(),
            Some(bytes) => std::fs::write(path, bytes).unwrap(),
        }
        let error = site.build(&Faults::new(Fault::Nothing)).expect_err(&what);
        assert!(matches!(error, BuilderError::NotResumable { .. }), "{what}: {error:?}");
        site.assert_names(&error, &what);
        site.build_soundly(&site.options().restart(true)).unwrap();
        site.assert_finished(&what);
    }
}

#[test]
fn a_full_disk_while_the_table_is_written_loses_nothing() {
    let changes = changes_with_commits();
    let first = changes.iter().position(|change| change == "create written").unwrap();
    for (at, change) in changes.iter().enumerate().skip(first) {
        let what = format!("full at {at}, {change}");
        let site = CrashSite::with_commits();
        let error = site.build(&Faults::new(Fault::Full(at))).expect_err(&what);
        site.assert_names(&error, &what);
        site.finish(&what);
    }
}

#[test]
fn a_build_killed_at_any_step_resumes() {
    crash_everywhere(Crash::Killed);
}

#[test]
fn a_build_killed_within_any_write_resumes() {
    crash_everywhere(Crash::Torn);
}

#[test]
fn a_build_resumes_after_a_power_failure_that_loses_unsynced_changes() {
    crash_everywhere(Crash::Lost);
}

#[test]
fn a_build_resumes_after_a_power_failure_that_keeps_only_names() {
    crash_everywhere(Crash::Zeroed);
}

/// Synced work is not repeated.
#[test]
fn synced_changes_survive_a_power_failure() {
    let changes = changes();
    let last = |before: usize, change: &str| changes[..before].iter().rposition(|made| made == change);
    let unlinked = last(changes.len(), "unlink .table.sht.writing").unwrap();
    for at in last(changes.len(), "rename build.json").unwrap() + 2..=unlinked + 2 {
        let synced = last(at, "sync directory work").unwrap();
        let layers = changes[..synced].iter().filter(|change| change.starts_with("rename layer-")).count();
        let (site, what) = (CrashSite::new(), format!("power failure at {at}, {}", changes[at]));
        site.crash(at, Crash::Lost).unwrap();
        let layer_files = site.files().iter().filter(|name| name.starts_with("work/layer-")).count();
        assert_eq!(layer_files, layers, "{what}");
        assert!(site.files().contains("work/build.json"), "{what}");
        assert_eq!(site.table().exists(), at == unlinked + 2, "{what}");
    }
    // Once the first layer is removed, the table is durable.
    for (at, change) in changes.iter().enumerate().skip(unlinked + 2) {
        let site = CrashSite::new();
        site.crash(at, Crash::Lost).unwrap();
        assert_eq!(site.finish(change), BuildOutcome::AlreadyComplete, "power failure at {at}, {change}");
    }
}

#[test]
fn a_build_finishes_after_many_crashes() {
    let longest = 1 + changes().len() / 4;
    for (first, crash) in (0..).zip([Crash::Killed, Crash::Torn, Crash::Lost, Crash::Zeroed]) {
        let site = CrashSite::new();
        let crashes = (0..200).take_while(|i| site.crash(40 + (first + 61 * i) % longest, crash).is_some()).count();
        assert!((3..200).contains(&crashes), "{crashes} crashes, {crash:?}");
        assert_eq!(site.finish("crashed many times"), BuildOutcome::AlreadyComplete);
        assert!(Table::open(site.table()).unwrap().provenance().resumes <= crashes as u64);
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_temporary_file() {
    for (at, change) in changes().iter().enumerate() {
        let what = format!("full at {at}, {change}");
        let site = CrashSite::new();
        match site.build(&Faults::new(Fault::Full(at))) {
            Err(error) => {
                site.assert_names(&error, &what);
                assert!(chain(&error).contains("storage space"), "{what}: {error}");
            }
            // A spill file that cannot be removed is removed at the end.
            Ok(_) => assert_eq!(change, "remove spill"),
        }
        let temporary = |name: &String| name.contains(".writing") || name.contains("spill");
        assert_eq!(site.files().into_iter().find(temporary), None, "{what}");
        site.finish(&what);
    }
}

#[test]
fn a_read_that_fails_or_has_a_wrong_bit_ends_the_build() {
    for form in LayerForm::ALL {
        let faults = Faults::new(Fault::Nothing);
        CrashSite::with_form(form).build(&faults).unwrap();
        let step = faults.reads() / 150 + 1;
        for at in (0..faults.reads()).step_by(step) {
            for fault in [Fault::Unread(at), Fault::Flipped(at)] {
                let (site, what) = (CrashSite::with_form(form), format!("{fault:?}, {form:?}"));
                let error = site.build(&Faults::new(fault)).expect_err(&what);
                site.assert_names(&error, &what);
                assert_eq!(
                    matches!(error, BuilderError::DamagedFile { .. }),
                    matches!(fault, Fault::Flipped(_)),
                    "{error}"
                );
                site.finish(&what);
            }
        }
    }
}

#[test]
fn a_read_that_fails_or_has_a_wrong_bit_ends_a_resumed_build() {
    let site = CrashSite::new();
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
    LayerForm::ALL.into_iter().for_each(flip_bits_of_work_files);
}

fn flip_bits_of_work_files(form: LayerForm) {
    let site = CrashSite::with_form(form);
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
            assert!(chain(&error).contains(path.to_str().unwrap()), "{what}: {error}");
            // The remedy is the same for all bytes of a file.
            if at % 50 == 0 {
                remedy(&site, &error, path, &what);
            }
        }
    }
}

/// Removes the damage in the way that the error suggests.
fn remedy(site: &CrashSite, error: &BuilderError, path: &Path, what: &str) {
    match error {
        BuilderError::DamagedFile { .. } => {
            std::fs::remove_file(path).unwrap();
            site.finish(what);
        }
        BuilderError::DamagedManifest { .. } => {
            site.build_soundly(&site.options().restart(true)).unwrap();
            site.assert_finished(what);
        }
        _ => panic!("{what}: {error}"),
    }
}

#[test]
fn a_truncated_or_exchanged_work_file_is_refused() {
    let site = CrashSite::new();
    site.begin();
    let begun = site.contents();
    let layer = |distance: u32| site.work_dir().join(format!("layer-{distance:03}"));
    let whole = &begun[&layer(3)];
    let changed =
        [Vec::new(), whole[..whole.len() / 2].to_vec(), [&whole[..], b"x"].concat(), begun[&layer(2)].clone()];
    for bytes in changed {
        site.restore(&begun);
        std::fs::write(layer(3), bytes).unwrap();
        let error = site.build(&Faults::new(Fault::Nothing)).unwrap_err();
        assert!(error.to_string().contains("layer-003"), "{error}");
        remedy(&site, &error, &layer(3), "layer 3");
    }
}

#[test]
fn a_table_is_durable_before_its_layers_are_removed() {
    for step in ["unlink .table.sht.writing", "remove layer-000"] {
        let site = CrashSite::new();
        let at = changes().iter().position(|change| change == step).unwrap();
        site.crash(at, Crash::Killed).unwrap();
        let faults = Faults::new(Fault::Nothing);
        assert_eq!(site.build(&faults).unwrap(), BuildOutcome::AlreadyComplete);
        site.assert_finished(step);
        let here = format!("sync directory {}", site.dir.path().file_name().unwrap().display());
        let place = |change: &str| faults.changes().iter().position(|made| made == change);
        assert!(place(&here).unwrap() < place("remove layer-000").unwrap(), "{:?}", faults.changes());
        assert_eq!(site.finish("once more"), BuildOutcome::AlreadyComplete);
    }
}

#[test]
fn unfinished_work_for_another_table_is_refused_and_kept() {
    let site = CrashSite::new();
    site.begin();
    let begun = site.files();
    for (prefix, encoding) in [
        (prefix(4, 3, 13), Encoding::Byte),
        (prefix(4, 2, 12), Encoding::Byte),
        (prefix(5, 3, 12), Encoding::Byte),
        (prefix(4, 3, 12), Encoding::Mod3),
        (prefix(4, 3, 12), Encoding::Ans(Ans::default())),
    ] {
        let params = PartitionParams { fixed_pieces: 0, ..PARAMS };
        let options = TableBuilder::new(prefix).encoding(encoding).mirroring(false).work_dir(site.work_dir());
        let error = site.build_with(&Faults::new(Fault::Nothing), &options, params).unwrap_err();
        match &error {
            BuilderError::WorkDirMismatch { found, requested, .. } => {
                assert_eq!((*found, *requested), (spec(), TableSpec { prefix, encoding, mirrored: false }));
            }
            _ => panic!("{error}"),
        }
        assert!(error.to_string().contains("4x4 with 3 pieces within 12 cells, byte"), "{error}");
        site.assert_names(&error, "another table");
        assert_eq!(site.files(), begun);
    }
    site.finish("after other builds were refused");
}

#[test]
fn one_process_at_a_time_uses_a_directory() {
    let site = CrashSite::new();
    let locked = LockedDir::open(&OsFileSystem::shared(), &site.work_dir()).unwrap();
    let work = locked.start(spec(), PARAMS).unwrap();
    for restart in [false, true] {
        let error = site.build_soundly(&site.options().restart(restart)).unwrap_err();
        assert!(matches!(error, BuilderError::WorkDirInUse { .. }), "{error}");
        site.assert_names(&error, "in use");
    }
    drop(work);
    site.finish("no longer in use");
}

#[test]
fn a_work_directory_of_another_format_is_refused() {
    let site = CrashSite::new();
    site.begin();
    let path = site.work_dir().join("build.json");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let json = manifest.lines().next().unwrap().replacen("\"format\":2", "\"format\":1", 1);
    let sum = sternhalma_data::table::checksum(json.as_bytes());
    std::fs::write(&path, format!("{json}\n{sum:016x}\n")).unwrap();
    let begun = site.contents();
    let error = site.build(&Faults::new(Fault::Nothing)).unwrap_err();
    assert!(matches!(error, BuilderError::WorkDirFormat { found: 1, supported: 2, .. }), "{error}");
    site.assert_names(&error, "format 1");
    assert_eq!(site.contents(), begun);
}

#[test]
fn copies_are_made_again_from_the_layers() {
    let site = CrashSite::new();
    site.begin();
    let begun = site.contents();
    let copies = ["search-003", "search-004"].map(|name| site.work_dir().join(name));
    for removed in [&copies[..1], &copies[1..], &copies[..]] {
        site.restore(&begun);
        removed.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        assert_eq!(site.finish("without copies"), BuildOutcome::Built);
    }
    for copy in &copies {
        site.restore(&begun);
        std::fs::write(copy, &begun[copy][..100]).unwrap();
        let error = site.build(&Faults::new(Fault::Nothing)).unwrap_err();
        assert!(chain(&error).contains(copy.to_str().unwrap()), "{error}");
        remedy(&site, &error, copy, "damaged copy");
    }
}

#[test]
fn whole_layers_have_no_copies() {
    let changes = CrashSite::with_form(LayerForm::Whole).changes();
    assert!(changes.iter().all(|change| !change.starts_with("create .search-")), "{changes:?}");
    assert!(CrashSite::new().changes().iter().any(|change| change.starts_with("create .search-")));
}

#[test]
fn a_build_may_continue_in_the_other_form() {
    for [begun, continued] in [LayerForm::ALL, [LayerForm::Delta, LayerForm::Whole]] {
        let mut site = CrashSite::with_form(begun);
        site.begin();
        site.form = continued;
        assert_eq!(site.finish("in the other form"), BuildOutcome::Built, "{begun:?}, {continued:?}");
    }
}

#[test]
fn a_restart_discards_unfinished_work() {
    let site = CrashSite::new();
    site.begin();
    let faults = Faults::new(Fault::Nothing);
    let outcome = site.build_with(&faults, &site.options().restart(true), PARAMS);
    assert_eq!(outcome.unwrap(), BuildOutcome::Built);
    assert!(faults.changes().iter().any(|change| change == "rename layer-000"));
    assert_eq!(Table::open(site.table()).unwrap().provenance().resumes, 0);
    site.assert_finished("restarted");
}

/// Returns the plan to continue the build of this site out of core.
fn resuming(site: &CrashSite, limit: u64, threads: usize) -> BuildPlan {
    let builder = site.options().mode(BuildMode::OutOfCore).memory_limit(limit).threads(threads);
    builder.layer_form(site.form).plan(site.table()).unwrap()
}

#[test]
fn resumed_work_keeps_its_partitions_if_the_memory_suffices() {
    let site = CrashSite::new();
    site.begin();
    let begun = site.files();
    let error = resuming(&site, 2 << 20, 1).check().unwrap_err();
    let BuilderError::WorkDirMemory { least, limit, .. } = error else { panic!("{error}") };
    assert_eq!(limit, 2 << 20);
    // The number that the message names suffices, and a smaller one does not.
    let refused = resuming(&site, least - (1 << 20), 1);
    for refused in [refused.check(), refused.run(&()).map(drop)] {
        assert!(matches!(refused, Err(BuilderError::WorkDirMemory { .. })), "{refused:?}");
    }
    assert_eq!(site.files(), begun);
    let layer = std::fs::metadata(site.work_dir().join("layer-000")).unwrap().modified().unwrap();
    let plan = resuming(&site, least, 1);
    plan.check().unwrap();
    let crashing = site.build_with(&Faults::new(Fault::Crash(40, Crash::Killed)), &plan.options, plan.params.unwrap());
    crashing.unwrap_err();
    let left = std::fs::metadata(site.work_dir().join("layer-000")).unwrap().modified().unwrap();
    assert_eq!(left, layer, "layers are built once");
    assert_eq!(plan.run(&()).unwrap(), BuildOutcome::Built);
    assert_eq!(Table::open(site.table()).unwrap().provenance().resumes, 2);
    site.assert_finished("with other parameters");
}

#[test]
fn a_resumed_build_is_planned_for_the_partitions_that_it_began_with() {
    let site = CrashSite::new();
    let params = PartitionParams { fixed_pieces: 0, segment_words: 1 << 17, ..PARAMS };
    let faults = Faults::new(Fault::Crash(40, Crash::Killed));
    site.build_with(&faults, &site.options(), params).unwrap_err();
    assert!(site.files().contains("work/layer-000"), "{:?}", site.files());
    let error = resuming(&site, 1 << 20, 8).check().unwrap_err();
    let BuilderError::WorkDirMemory { least, .. } = error else { panic!("{error}") };
    let [of_one, of_all] = [1, 8].map(|threads| {
        let plan = resuming(&site, 1 << 30, threads);
        assert_eq!(plan.threads(), threads);
        plan.memory()
    });
    assert!(of_one <= least && of_one < of_all);
    let plan = resuming(&site, least.max(of_one.midpoint(of_all)), 8);
    assert!((1..8).contains(&plan.threads()), "{plan:?}");
    let planned = plan.params.unwrap();
    assert_eq!((planned.fixed_pieces, planned.segment_words), (params.fixed_pieces, params.segment_words));
    assert_eq!(plan.run(&()).unwrap(), BuildOutcome::Built);
    let table = Table::open(site.table()).unwrap();
    assert_eq!((table.provenance().threads, table.provenance().resumes), (plan.threads(), 1));
    site.assert_finished("with fewer threads");
}

#[test]
fn an_existing_file_stops_the_build_before_it_starts() {
    let site = CrashSite::new();
    site.begin();
    let layers = site.contents();
    std::fs::write(site.table(), "precious").unwrap();
    let faults = Faults::new(Fault::Nothing);
    let error = site.build(&faults).unwrap_err();
    assert!(matches!(error, BuilderError::Table(_)) && chain(&error).contains("table.sht"), "{error}");
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

/// Builds a table in the directory of an earlier build, and returns its encoding.
fn rebuild(site: &CrashSite, encoding: Encoding, overwrite: bool) -> Result<(BuildOutcome, Encoding)> {
    let outcome = site.build_soundly(&site.options().encoding(encoding).overwrite(overwrite))?;
    let table = Table::open(site.table())?;
    Verifier::new(&table).threads(1).check(&()).unwrap();
    Ok((outcome, table.encoding()))
}

/// Builds some layers of a table with zstd blocks of 4096 states.
fn begin_zstd(site: &CrashSite) {
    let faults = Faults::new(Fault::Crash(60, Crash::Killed));
    site.build_with(&faults, &site.options().encoding(zstd(4096)), PARAMS).unwrap_err();
    assert!(site.work_dir().join("layer-001").exists());
}

#[test]
fn a_finished_build_does_not_stand_for_one_with_other_zstd_parameters() {
    use BuildOutcome::{AlreadyComplete, Built};
    let site = CrashSite::new();
    assert_eq!(rebuild(&site, zstd(4096), false).unwrap(), (Built, zstd(4096)));
    assert_eq!(rebuild(&site, zstd(4096), true).unwrap(), (AlreadyComplete, zstd(4096)));
    // An existing table is replaced only on request, and until then its build is still known.
    assert!(matches!(rebuild(&site, zstd(64), false), Err(BuilderError::Table(_))));
    assert_eq!(rebuild(&site, zstd(4096), false).unwrap(), (AlreadyComplete, zstd(4096)));
    assert_eq!(rebuild(&site, zstd(64), true).unwrap(), (Built, zstd(64)));
    let level_2 = Encoding::Zstd(Zstd::new(64, 2).unwrap());
    assert_eq!(rebuild(&site, level_2, true).unwrap(), (Built, level_2));
    assert_eq!(rebuild(&site, Encoding::Byte, true).unwrap(), (Built, Encoding::Byte));
}

#[test]
fn unfinished_work_is_refused_with_other_zstd_parameters() {
    let site = CrashSite::new();
    begin_zstd(&site);
    let error = rebuild(&site, zstd(64), false).unwrap_err().to_string();
    assert!(error.contains("zstd (blocks of 4096 states, level 1), not"), "{error}");
    assert!(error.contains("zstd (blocks of 64 states, level 1)"), "{error}");
    assert_eq!(rebuild(&site, zstd(4096), false).unwrap(), (BuildOutcome::Built, zstd(4096)));
}

/// Earlier versions did not record the parameters of zstd. Layers do not depend
/// on these parameters.
#[test]
fn work_without_recorded_zstd_parameters_is_resumed_with_the_requested_ones() {
    let site = CrashSite::new();
    begin_zstd(&site);
    let manifest = site.work_dir().join("build.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let (json, _) = text.split_once('\n').unwrap();
    let json = json.replace(r#","zstd":[4096,1]"#, "");
    assert!(json.contains(r#""encoding":"zstd","fixed""#), "{json}");
    std::fs::write(&manifest, format!("{json}\n{:016x}\n", sternhalma_data::table::checksum(json.as_bytes()))).unwrap();
    assert_eq!(rebuild(&site, zstd(64), false).unwrap(), (BuildOutcome::Built, zstd(64)));
    assert_eq!(Table::open(site.table()).unwrap().provenance().resumes, 1);
    assert_eq!(rebuild(&site, zstd(64), true).unwrap(), (BuildOutcome::AlreadyComplete, zstd(64)));
    assert_eq!(rebuild(&site, zstd(4096), true).unwrap(), (BuildOutcome::Built, zstd(4096)));
}
