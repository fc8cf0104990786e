//! A server with tables, and a client of it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use sternhalma_data::{Board, Encoding, Prefix};
use sternhalma_server::{Server, ServerOptions};
use sternhalma_testutil::{Reference, encodings};
use tempfile::TempDir;

use crate::schema::check_answer;

/// More time than any answer takes, and the longest time that a test waits for something.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. Its drop stops it.
pub struct TestServer {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub dir: TempDir,
    pub log: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The table of 3 pieces on a board of 4 cells: all states, and those within 12 cells.
pub fn references() -> [Reference; 2] {
    let board = Board::new(4, 3).unwrap();
    [Prefix::whole(board), Prefix::new(board, 12).unwrap()].map(Reference::search)
}

/// Writes a table of each encoding, complete and partial. Their names are those of the encodings, with `part-`
/// before those of partial tables.
fn write_tables(dir: &Path) {
    for (reference, prefix) in references().iter().zip(["", "part-"]) {
        for encoding in encodings() {
            reference.write(&dir.join(format!("{prefix}{encoding}.sht")), encoding);
        }
    }
    std::fs::write(dir.join("damaged.sht"), "no table").unwrap();
}

/// Returns the names of the complete or partial tables.
pub fn table_names(partial: bool) -> Vec<String> {
    let prefix = if partial { "part-" } else { "" };
    encodings().iter().map(|encoding: &Encoding| format!("{prefix}{encoding}")).collect()
}

impl TestServer {
    /// Starts a server with two threads and the tables of [`references`].
    pub fn start() -> TestServer {
        TestServer::with(|_| ())
    }

    /// Starts a server with changed options.
    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> TestServer {
        let dir = tempfile::tempdir().unwrap();
        write_tables(dir.path());
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        let mut options = ServerOptions::new(dir.path());
        options.threads = 2;
        options.log = Arc::new(move |line| lines.lock().unwrap().push(line.to_owned()));
        change(&mut options);
        let server = Server::bind(options).unwrap();
        let (address, token) = (server.address(), server.token().map(str::to_owned));
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = Some(std::thread::spawn(move || server.run(&flag)));
        TestServer { address, token, dir, log, stop, thread }
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request and returns the answer, which must be as the OpenAPI document describes it.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        self.send(&mut stream, method, path, headers, body).unwrap();
        let answer = Answer::read(stream);
        check_answer(method, path, answer.status, answer.header("content-type"), &answer.body);
        answer
    }

    /// Sends a request whose answer ends the connection.
    pub fn send(
        &self,
        stream: &mut TcpStream,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("host: localhost:{}\r\n", self.address.port());
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        stream.write_all(body)
    }

    /// Sends GET.
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    /// Sends GET and returns the value of a successful answer.
    pub fn value(&self, path: &str) -> Value {
        self.get(path).success()
    }

    /// Sends a JSON value.
    pub fn post(&self, path: &str, value: &Value) -> Answer {
        self.request("POST", path, &[("content-type", "application/json")], value.to_string().as_bytes())
    }

    /// Stops the server and waits for its end.
    pub fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

impl Answer {
    /// Reads an answer up to the end of the connection.
    pub fn read(mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        // A refused client may have sent more than the server has read, which resets the connection.
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes).unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)))
    }

    fn parse(bytes: &[u8]) -> Option<Answer> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let pair = |line: &str| Some((line.split_once(": ")?.0.to_lowercase(), line.split_once(": ")?.1.to_owned()));
        let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
        let mut answer = Answer { status, headers, body: bytes[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = joined_chunks(&answer.body);
        }
        Some(answer)
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the value of a successful answer.
    #[track_caller]
    pub fn success(&self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text());
        self.json()
    }

    /// Returns the message of an error with this status.
    #[track_caller]
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let value = self.json();
        let message = value["error"].as_str().unwrap().to_owned();
        assert!(value.as_object().unwrap().len() == 2 && !message.contains('\n'), "{value}");
        message
    }

    /// Returns the code of an error.
    #[track_caller]
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_else(|| panic!("{}", self.text())).to_owned()
    }
}

fn joined_chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        body.extend(rest.get(end + 2..end + 2 + length).unwrap_or_default());
        rest = rest.get(end + 4 + length..).unwrap_or_default();
    }
    body
}

/// Returns a text as a value of a query.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
