//! A program that reads and writes lines.
//!
//! The program is not trusted: it may end, stay silent or write too much, but
//! it can neither block this process nor fill its memory.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sternhalma_ggp::arena::{Fault, FaultKind};
use sternhalma_ggp::messages::without_bom;
use thiserror::Error;

use super::trace::ProtocolTrace;

/// The maximum length of a line; longer lines are cut.
const LONGEST_LINE: u64 = 64 << 10;

/// The maximum number of unread lines; the program then blocks.
const LINES_AHEAD: usize = 64;

/// The maximum number of messages that the program has not read; it then
/// counts as hanging.
const MESSAGES_AHEAD: usize = 64;

/// The maximum number of lines in one answer; more lines are a flood.
const MAX_LINES: u32 = 100_000;

/// The maximum number of bytes in one answer; more bytes are a flood.
const MAX_BYTES: usize = 16 << 20;

/// The number of last bytes of stderr that are kept.
const LAST_WORDS: usize = 1 << 10;

/// The interval of polling whether the program has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// The time in which a program must end after `quit` or after closing stdout.
const LEAVE: Duration = Duration::from_millis(200);

/// The command of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalProgram {
    /// The path of the program.
    pub path: PathBuf,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The working directory of the program; `None` for the current directory.
    pub dir: Option<PathBuf>,
}

impl ExternalProgram {
    fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(match &self.dir {
            // Platforms differ in the directory that a relative program path
            // refers to.
            Some(dir) if self.path.is_relative() && self.path.components().count() > 1 => {
                std::path::absolute(dir.join(&self.path))?
            }
            _ => self.path.clone(),
        });
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(command)
    }
}

/// A line, or a piece of a line that is too long.
#[derive(Debug)]
pub struct OutputLine {
    /// The text without the line end. The first piece of a long line is its
    /// beginning with `…`; its other pieces are empty.
    pub text: String,
    bytes: usize,
}

/// The limits of time and volume of one answer.
pub struct Wait {
    /// The deadline.
    pub until: Instant,
    lines: u32,
    bytes: usize,
}

impl Wait {
    /// Creates limits for an answer within `time`.
    pub fn of(time: Duration) -> Wait {
        Wait { until: Instant::now() + time, lines: 0, bytes: 0 }
    }

    fn is_flooded_by(&mut self, line: &OutputLine) -> bool {
        self.lines += 1;
        self.bytes += line.bytes;
        self.lines > MAX_LINES || self.bytes > MAX_BYTES
    }
}

/// The reason why a program cannot be started.
#[derive(Debug, Error)]
#[error("cannot start {program}: {source}")]
pub struct StartError {
    program: String,
    source: io::Error,
}

/// A running program. Dropping the process kills its process group.
pub struct Process {
    child: Child,
    /// The exit status, once the program was reaped.
    status: Option<ExitStatus>,
    input: Option<SyncSender<String>>,
    output: Receiver<OutputLine>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when stderr is closed.
    silenced: Receiver<()>,
    trace: Option<ProtocolTrace>,
}

impl Process {
    /// Starts a program, with one thread for each of its three streams. The
    /// threads end with their streams. The threads are not joined, because
    /// another process may keep a stream open.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be started.
    pub fn start(program: &ExternalProgram, trace: Option<ProtocolTrace>) -> Result<Process, StartError> {
        let error = |source| StartError { program: excerpt(&program.path.to_string_lossy()), source };
        Process::spawn(program, trace).map_err(error)
    }

    fn spawn(program: &ExternalProgram, trace: Option<ProtocolTrace>) -> io::Result<Process> {
        let mut child = program.command()?.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (input, messages) = sync_channel(MESSAGES_AHEAD);
        let (lines, output) = sync_channel(LINES_AHEAD);
        let (silence, silenced) = sync_channel(0);
        let last_words = Arc::<Mutex<VecDeque<u8>>>::default();
        let (words, reader) = (last_words.clone(), trace.clone());
        // On an error here the dropped process is killed.
        let process = Process { child, status: None, input: Some(input), output, last_words, silenced, trace };
        let spawn = |stream: Box<dyn FnOnce() + Send>| thread::Builder::new().spawn(stream).map(drop);
        spawn(Box::new(move || {
            let _ = stdin.map(|stdin| pass_in(stdin, &messages));
        }))?;
        spawn(Box::new(move || {
            let _ = stdout.map(|stdout| pass_out(stdout, &lines, reader.as_ref()));
        }))?;
        spawn(Box::new(move || {
            let _silence = silence;
            let _ = stderr.map(|stderr| commit_last(stderr, &words));
        }))?;
        Ok(process)
    }

    /// Sends lines, each with its line end, without waiting until they are
    /// read.
    ///
    /// # Errors
    ///
    /// Returns a fault if the program has not read earlier messages; it is
    /// then killed.
    pub fn say(&mut self, lines: String) -> Result<(), Fault> {
        if let (Some(trace), Some(_)) = (&self.trace, &self.input) {
            trace.sent(&lines);
        }
        match self.input.as_ref().map(|input| input.try_send(lines)) {
            Some(Err(TrySendError::Full(_))) => {
                self.kill();
                Err(FaultKind::Hang.fault("it does not read its input"))
            }
            // If the program closed its stdin, the missing answer will show
            // it.
            _ => Ok(()),
        }
    }

    /// Returns the next line, or `None` if no line arrives for a moment.
    ///
    /// # Errors
    ///
    /// Returns a fault if the deadline passed, the program ended, or it
    /// floods. The program is then killed.
    pub fn hear(&mut self, wait: &mut Wait) -> Result<Option<OutputLine>, Fault> {
        let left = wait.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.kill();
            return Err(FaultKind::Hang.fault(self.with_last_words("no answer")));
        }
        match self.output.recv_timeout(left.min(GLANCE)) {
            Ok(line) => self.judged(line, wait).map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(self.bury()),
            Err(RecvTimeoutError::Timeout) if !self.has_ended() => Ok(None),
            // The last lines of the program may still arrive; other processes
            // may hold stdout open.
            Err(RecvTimeoutError::Timeout) => match self.output.recv_timeout(GLANCE) {
                Ok(line) => self.judged(line, wait).map(Some),
                Err(_) => Err(self.bury()),
            },
        }
    }

    /// Discards unread lines, e.g., late ones of the previous search. The
    /// discarded lines count towards the limits of `wait`.
    ///
    /// # Errors
    ///
    /// Returns a fault if the program floods.
    pub fn ignore(&mut self, wait: &mut Wait) -> Result<(), Fault> {
        loop {
            match self.output.try_recv() {
                Ok(line) => self.judged(line, wait).map(drop)?,
                // The next request will report the end.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Returns the line. If the program has written too much in this wait, the
    /// program is killed and the result is a fault.
    fn judged(&mut self, line: OutputLine, wait: &mut Wait) -> Result<OutputLine, Fault> {
        if wait.is_flooded_by(&line) {
            self.kill();
            let Wait { lines, bytes, .. } = wait;
            let what = format!("it floods: {lines} lines of {bytes} bytes, at last {}", excerpt(&line.text));
            return Err(FaultKind::Garbage.fault(what));
        }
        Ok(line)
    }

    /// Closes stdin after the messages sent so far.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Kills the program and all processes in its process group.
    pub fn kill(&mut self) {
        if self.status.is_some() {
            return;
        }
        // The process group exists until the program is reaped.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.kill();
        self.status = self.child.wait().ok();
        self.input = None;
    }

    /// Returns the fault of a program that has ended or closed stdout.
    fn bury(&mut self) -> Fault {
        let until = Instant::now() + LEAVE;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(LEAVE / 40);
        }
        let ended = self.has_ended();
        self.kill();
        let how = match self.status {
            Some(status) if ended => status.to_string(),
            _ => "it closed its output".to_owned(),
        };
        FaultKind::Crash.fault(self.with_last_words(&how))
    }

    /// Returns whether the program has ended, without reaping it.
    #[cfg(unix)]
    pub fn has_ended(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.status.is_some() || !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), options), Ok(None))
    }

    /// Returns whether the program has ended.
    #[cfg(not(unix))]
    pub fn has_ended(&mut self) -> bool {
        self.status.is_some() || !matches!(self.child.try_wait(), Ok(None))
    }

    /// Appends the last stderr output to a message, after the program has
    /// ended.
    fn with_last_words(&self, what: &str) -> String {
        let _ = self.silenced.recv_timeout(LEAVE);
        let mut words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = readable(&String::from_utf8_lossy(words.make_contiguous()));
        if words.is_empty() { what.to_owned() } else { format!("{what}; its last words: {words}") }
    }
}

impl Drop for Process {
    /// Sends `quit`, and kills the program if it does not end.
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.say("quit\n".to_owned());
            self.input = None;
            let until = Instant::now() + LEAVE;
            while !self.has_ended() && Instant::now() < until {
                if let Err(RecvTimeoutError::Disconnected) = self.output.recv_timeout(LEAVE / 40) {
                    thread::sleep(LEAVE / 100);
                }
            }
        }
        self.kill();
    }
}

/// Writes messages until there are no more or the program does not read them.
fn pass_in(mut stdin: impl Write, messages: &Receiver<String>) -> io::Result<()> {
    messages.iter().try_for_each(|message| stdin.write_all(message.as_bytes()).and_then(|()| stdin.flush()))
}

/// Forwards stdout line by line until its end or until the receiver is
/// dropped.
fn pass_out(stdout: impl Read, lines: &SyncSender<OutputLine>, trace: Option<&ProtocolTrace>) -> io::Result<()> {
    let mut stdout = BufReader::new(stdout);
    let mut bytes = Vec::new();
    let mut goes_on = false;
    loop {
        bytes.clear();
        let count = stdout.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        let cut = !bytes.ends_with(b"\n") && count as u64 == LONGEST_LINE;
        // Some runtimes write a byte order mark before the first line.
        let line = String::from_utf8_lossy(&bytes);
        let mut text = if goes_on { String::new() } else { without_bom(&line).trim_end().to_owned() };
        if cut && !goes_on {
            text.push('…');
        }
        if let Some(trace) = trace.filter(|_| count > 0 && !goes_on) {
            trace.received(&text);
        }
        let line = OutputLine { text, bytes: count };
        goes_on = cut;
        if count == 0 || lines.send(line).is_err() {
            return Ok(());
        }
    }
}

fn commit_last(mut stderr: impl Read, words: &Mutex<VecDeque<u8>>) -> io::Result<()> {
    let mut bytes = [0; LAST_WORDS];
    loop {
        let count = match stderr.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            return Ok(());
        }
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&bytes[..count]);
        let over = words.len().saturating_sub(LAST_WORDS);
        words.drain(..over);
    }
}

/// Returns the beginning of a text in a form that can be shown in one line.
pub fn excerpt(text: &str) -> String {
    format!("`{}`", sternhalma_ggp::messages::excerpt(&readable(text)))
}

/// Returns a text without control characters for terminals.
pub fn readable(text: &str) -> String {
    text.trim().replace(char::is_control, " ")
}
