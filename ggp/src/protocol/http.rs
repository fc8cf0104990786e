//! The protocol over HTTP 1.0 and 1.1, with one message per connection.
//!
//! A player accepts POST with the message in the body, GET with the
//! URL-encoded message in the path, and OPTIONS. The player answers every
//! message with `200 OK`. Other answers are `400` with the reason (no message),
//! `405` (other methods), `408` (too slow), `413` (body too long) and `431`
//! (head too long). A connection takes at most [`MAX_BODY`] and some buffers
//! of memory, and at most [`MAX_CONNECTIONS`] are open at once.

use std::convert::Infallible;
use std::io::{self, Cursor};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE,
    HOST, HeaderValue,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version, client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::manager::{Transport, TransportError};
use super::message::{MessageError, Reply};
pub use super::request::{MAX_BODY, READ_TIMEOUT};
use super::request::{MAX_HEAD, read_start};

/// The maximum length of a reply to a manager, in bytes.
pub const MAX_REPLY: usize = 64 << 10;

/// The maximum number of open connections of a player; further ones wait.
pub const MAX_CONNECTIONS: usize = 256;

/// The interval at which waiting tasks test whether to stop.
const LOOK: Duration = Duration::from_millis(50);

const ACL: HeaderValue = HeaderValue::from_static("text/acl");

/// A function that answers a text, given its time of arrival.
pub type Answer = Arc<dyn Fn(&str, Instant) -> Result<Reply, MessageError> + Send + Sync>;

/// The server of a player: accepts connections and forwards messages.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
}

impl Server {
    /// Listens at an address; port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not available.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Server> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(MAX_CONNECTIONS).build()?;
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        Ok(Server { runtime, listener })
    }

    /// Returns the address of the server.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not report the address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers messages until `stop` is set. Unfinished answers are then
    /// dropped.
    pub fn run(self, answer: Answer, stop: &AtomicBool) {
        let accept = async {
            let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
            loop {
                let Ok(place) = places.clone().acquire_owned().await else { return };
                match self.listener.accept().await {
                    Ok((stream, _)) => {
                        let talk = converse(stream, Instant::now(), answer.clone());
                        tokio::spawn(async move {
                            talk.await;
                            drop(place);
                        });
                    }
                    // There are no file handles left or the peer has disconnected;
                    // other connections may succeed.
                    Err(_) => sleep(LOOK).await,
                }
            }
        };
        self.runtime.block_on(async {
            let mut accept = std::pin::pin!(accept);
            while !stop.load(Relaxed) && timeout(LOOK, &mut accept).await.is_err() {}
        });
        self.runtime.shutdown_background();
    }
}

/// Reads one request from a stream and answers it. The answer is computed on
/// another thread, because it may take the whole clock.
pub async fn converse<S>(stream: S, arrived: Instant, answer: Answer)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let start = match read_start(&mut reader).await {
        Ok(start) => start,
        Err(status) => {
            let refusal = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            let _ = writer.write_all(refusal.as_bytes()).await;
            let _ = writer.shutdown().await;
            return;
        }
    };
    let stream = tokio::io::join(Cursor::new(start).chain(reader), writer);
    let service = service_fn(|request| {
        let answer = answer.clone();
        async move { Ok::<_, Infallible>(respond(request, arrived, answer).await) }
    });
    let mut server = server::conn::http1::Builder::new();
    // A peer may close its end after the request.
    server.half_close(true).keep_alive(false).title_case_headers(true).max_buf_size(MAX_HEAD);
    server.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT);
    // A peer that violates the protocol or disconnects is answered as far as
    // possible.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn respond<B>(request: Request<B>, arrived: Instant, answer: Answer) -> Response<Full<Bytes>>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let text = match *request.method() {
        Method::OPTIONS => return plain(StatusCode::OK, String::new()),
        Method::GET => {
            let path = request.uri().path_and_query().map_or("", |path| path.as_str());
            let spaced = path.strip_prefix('/').unwrap_or(path).replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        }
        Method::POST => match body(request.into_body(), MAX_BODY, READ_TIMEOUT).await {
            Ok(text) => text,
            Err(status) => return plain(status, format!("{status}\n")),
        },
        _ => return plain(StatusCode::METHOD_NOT_ALLOWED, "expected POST, GET or OPTIONS\n".into()),
    };
    let answered = spawn_blocking(move || answer(&text, arrived)).await;
    let answered = match answered {
        Ok(answered) => answered,
        Err(_) => return plain(StatusCode::INTERNAL_SERVER_ERROR, "the player has failed\n".into()),
    };
    match answered {
        Ok(reply) => plain(StatusCode::OK, ended(reply.to_string())),
        Err(error) => plain(StatusCode::BAD_REQUEST, format!("{error}\n")),
    }
}

/// Reads a body within limits of length and time. Invalid UTF-8 is replaced.
async fn body<B>(body: B, most: usize, limit: Duration) -> Result<String, StatusCode>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match timeout(limit, Limited::new(body, most).collect()).await {
        Ok(Ok(whole)) => Ok(String::from_utf8_lossy(&whole.to_bytes()).into_owned()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Ends a reply that is not ASCII with a line break. Managers that read as many
/// characters as the reply has bytes fill it up with others, which would extend
/// a constant at the end.
fn ended(mut reply: String) -> String {
    if !reply.is_ascii() {
        reply.push('\n');
    }
    reply
}

fn plain(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, ACL);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, OPTIONS"));
    let allowed = HeaderValue::from_static("Content-Type, Sender, Receiver, Accept");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    response
}

/// The client of a manager: players at addresses.
pub struct HttpTransport {
    runtime: Runtime,
    /// Their addresses.
    players: Vec<String>,
    stop: Arc<AtomicBool>,
}

impl HttpTransport {
    /// Creates a client for players at addresses `host:port`. Once `stop` is
    /// set, only messages that are sent later are waited for, within their
    /// limits.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no resources.
    pub fn new(players: Vec<String>, stop: Arc<AtomicBool>) -> io::Result<HttpTransport> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(HttpTransport { runtime, players, stop })
    }
}

impl Transport for HttpTransport {
    fn ask(&mut self, messages: &[String], limit: Duration) -> Vec<(Result<String, TransportError>, f64)> {
        let stopped = self.stop.load(Relaxed);
        let interrupted = || !stopped && self.stop.load(Relaxed);
        let began = Instant::now();
        let mut answers = vec![(Err(TransportError::Interrupted), 0.0); messages.len()];
        self.runtime.block_on(async {
            let mut asked = JoinSet::new();
            for (index, (address, message)) in self.players.iter().zip(messages).enumerate() {
                let (address, message) = (address.clone(), message.clone());
                asked.spawn(async move {
                    let answer = timeout(limit, post(&address, message)).await;
                    (index, answer.unwrap_or(Err(TransportError::Timeout)), began.elapsed().as_secs_f64())
                });
            }
            while !asked.is_empty() && !interrupted() {
                if let Ok(Some(Ok((index, answer, seconds)))) = timeout(LOOK, asked.join_next()).await {
                    answers[index] = (answer, seconds);
                }
            }
        });
        answers
    }
}

/// Sends a message as public managers do, and returns the reply.
async fn post(address: &str, message: String) -> Result<String, TransportError> {
    let stream = TcpStream::connect(address).await.map_err(|error| TransportError::Unreachable(error.to_string()))?;
    let mut client = client::conn::http1::Builder::new();
    client.title_case_headers(true).max_buf_size(MAX_HEAD);
    let (mut sender, connection) = client.handshake(TokioIo::new(stream)).await.map_err(|error| fault(&error))?;
    // The task ends with this future.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri("/")
        .version(Version::HTTP_10)
        .header(HOST, address)
        .header(ACCEPT, "text/delim")
        .header("Sender", "GAMEMASTER")
        .header("Receiver", address)
        .header(CONTENT_TYPE, ACL)
        .body(Full::new(Bytes::from(message)))
        .map_err(|error| TransportError::Unreachable(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(|error| fault(&error))?;
    if response.status() != StatusCode::OK {
        return Err(TransportError::Http(format!("the status is {}", response.status())));
    }
    match Limited::new(response.into_body(), MAX_REPLY).collect().await {
        Ok(whole) => Ok(String::from_utf8_lossy(&whole.to_bytes()).into_owned()),
        Err(error) if error.is::<LengthLimitError>() => Err(TransportError::TooLong(MAX_REPLY)),
        Err(_) => Err(TransportError::Closed),
    }
}

fn fault(error: &hyper::Error) -> TransportError {
    if error.is_parse() { TransportError::Http(error.to_string()) } else { TransportError::Closed }
}
