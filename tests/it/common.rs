//! Runs the program in new directories.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sternhalma_ggp::gdl::GAMES;
use tempfile::TempDir;

/// More time than any answer takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The names of all encodings.
pub const ENCODINGS: [&str; 4] = ["byte", "mod3", "zstd", "ans"];

/// Returns a folder with the built-in rulesheets.
pub fn rulesheets() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("games");
        fs::create_dir_all(&folder).unwrap();
        for game in GAMES {
            fs::write(folder.join(game.name).with_extension("kif"), game.text).unwrap();
        }
        folder
    })
}

/// Returns the path of a built-in rulesheet.
pub fn rulesheet(name: &str) -> String {
    let path = rulesheets().join(name).with_extension("kif");
    assert!(path.exists(), "there is no rulesheet {name}");
    path.into_os_string().into_string().unwrap()
}

/// An empty working directory, and a tables directory that does not exist yet.
pub struct TestEnv {
    root: TempDir,
}

impl TestEnv {
    pub fn new() -> TestEnv {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        TestEnv { root }
    }

    /// Returns the directory that contains the other two.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the tables directory.
    pub fn tables(&self) -> PathBuf {
        self.root.path().join("tables")
    }

    /// Returns the path of a file in the tables directory.
    pub fn table(&self, name: &str) -> PathBuf {
        self.tables().join(name)
    }

    /// Returns the working directory.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns the path of a file in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes a file in the working directory.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Makes a command run in this environment, without input.
    pub fn inside(&self, mut command: Command) -> Command {
        command.env("STERNHALMA_TABLES", self.tables()).current_dir(self.work()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns a command of the program with these arguments.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        command.args(args);
        self.inside(command)
    }

    /// Runs the program with these arguments.
    pub fn run_args<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> CmdOutput {
        CmdOutput::of(self.command(args).output().unwrap())
    }

    /// Runs the program with arguments separated by blanks.
    pub fn run(&self, words: &str) -> CmdOutput {
        self.run_args(words.split_whitespace())
    }

    /// Runs the program and parses its stdout as JSON.
    pub fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.run(words).success()).unwrap()
    }

    /// Builds a table and returns its path.
    pub fn build(&self, words: &str) -> PathBuf {
        let printed = self.run(&format!("build {words}")).success();
        PathBuf::from(printed.strip_suffix('\n').expect("the path is a line"))
    }

    /// Runs the program with this input.
    pub fn feed<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &[u8]) -> CmdOutput {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        // A program that ends early does not read all of its input.
        let writer = thread::spawn(move || stdin.write_all(&input).is_ok());
        let output = CmdOutput::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        output
    }

    /// Starts a command and waits for a line of stderr that begins with `line`.
    pub fn start(&self, words: &str, line: &str) -> Running {
        let mut child = self.command(words.split_whitespace()).spawn().unwrap();
        let mut running = Running { stderr: BufReader::new(child.stderr.take().unwrap()), child, err: String::new() };
        while !running.err.lines().last().is_some_and(|last| last.starts_with(line)) {
            let read = running.stderr.read_line(&mut running.err).unwrap();
            assert_ne!(read, 0, "`{words}` ends before `{line}`: {}", running.err);
        }
        running
    }
}

/// The output of a command that ended without a signal.
#[derive(Debug)]
pub struct CmdOutput {
    pub code: i32,
    pub bytes: Vec<u8>,
    pub err: String,
}

impl CmdOutput {
    pub fn of(output: Output) -> CmdOutput {
        let err = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("{} ended the command: {err}", output.status));
        assert!(!err.contains("panicked"), "{err}");
        CmdOutput { code, bytes: output.stdout, err }
    }

    /// Returns stdout.
    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("stdout is text")
    }

    /// Returns stdout of a command with exit code 0.
    pub fn success(self) -> String {
        self.exit(0)
    }

    /// Returns stdout of a command with this exit code.
    pub fn exit(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.out().to_owned()
    }

    /// Returns stderr of a command with exit code 0.
    pub fn progress(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.err
    }

    /// Returns the error of a command that failed: exit code 2, and one error,
    /// which is the last line of stderr. The lines of the file follow an error
    /// in TOML.
    pub fn failure(self) -> String {
        assert_eq!(self.code, 2, "{self:?}");
        let errors = self.err.lines().filter(|line| line.starts_with("error: ")).count();
        let last = self.err.lines().rfind(|line| !is_picture(line)).unwrap_or_default();
        assert!(errors == 1 && last.starts_with("error: ") && last.len() > "error: ".len(), "{self:?}");
        last.to_owned()
    }

    /// Returns the error of a command that failed before it printed anything else.
    pub fn refusal(self) -> String {
        let lines = self.err.lines().filter(|line| !is_picture(line)).count();
        assert_eq!((self.out(), lines), ("", 1), "{self:?}");
        self.failure()
    }
}

/// Returns whether a line of stderr is a line of a file, or points at a place in it.
fn is_picture(line: &str) -> bool {
    line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|')
}

/// Sends a signal. Returns whether the process exists.
pub fn signal(name: &str, process: u32) -> bool {
    Command::new("kill").args([name, &process.to_string()]).output().unwrap().status.success()
}

/// A command whose stderr is read while it runs.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    err: String,
}

impl Running {
    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        assert!(signal(name, self.id()));
    }

    /// Returns whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a signal, and returns the output at the end.
    pub fn end(mut self, signal: &str) -> Output {
        self.signal(signal);
        self.stderr.read_to_string(&mut self.err).unwrap();
        Output { stderr: self.err.into_bytes(), ..self.child.wait_with_output().unwrap() }
    }
}

/// A command whose stdin is written and whose stdout is read line by line.
pub struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Session {
    pub fn new(mut command: Command) -> Session {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Session { stdin: child.stdin.take(), child, lines }
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Writes bytes that need not be text.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_ref().expect("stdin is open").write_all(bytes).unwrap();
    }

    /// Returns the next line.
    pub fn receive(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the command prints a line")
    }

    /// Returns the next line, parsed as JSON.
    pub fn receive_json(&self) -> Value {
        serde_json::from_str(&self.receive()).unwrap()
    }

    /// Returns all lines up to the first that begins with `begin`.
    pub fn receive_until(&self, begin: &str) -> Vec<String> {
        let mut lines = vec![self.receive()];
        while !lines[lines.len() - 1].starts_with(begin) {
            lines.push(self.receive());
        }
        lines
    }

    /// Writes a line and returns the next one.
    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.receive()
    }

    /// Closes stdin, and returns the rest of the output.
    pub fn end(mut self) -> CmdOutput {
        self.stdin = None;
        self.finish()
    }

    /// Returns the rest of the output of a command that ends by itself.
    pub fn finish(mut self) -> CmdOutput {
        let mut stdout = String::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            stdout += &(line + "\n");
        }
        let mut stderr = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        CmdOutput::of(Output { status: self.child.wait().unwrap(), stdout: stdout.into_bytes(), stderr })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the names of the files in a directory, or none if it does not exist.
pub fn names(dir: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns a set of names.
pub fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// Parses each line as JSON.
pub fn ndjson(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
