//! A line per request.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::Response;

use crate::options::Log;

/// The most lines that wait to be written. Further ones are dropped.
const MAX_LINES: usize = 4096;

/// The most bytes of a path in a line.
const MAX_PATH: usize = 200;

/// A log that never makes a request wait: a thread writes the lines.
#[derive(Clone)]
pub struct RequestLog(Arc<SyncSender<String>>);

impl RequestLog {
    /// Starts the thread, which ends with the last clone.
    pub fn new(log: Log) -> RequestLog {
        let (sender, lines) = sync_channel::<String>(MAX_LINES);
        std::thread::spawn(move || lines.iter().for_each(|line| log(&line)));
        RequestLog(Arc::new(sender))
    }

    fn write(&self, line: String) {
        // A full queue means that nobody reads the log fast enough.
        let _ = self.0.try_send(line);
    }
}

/// Writes the method, the path, the status and the time to the first byte of each answer.
pub async fn log_request(State(log): State<RequestLog>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (method, path) = (request.method().clone(), shown_path(request.uri()));
    let response = next.run(request).await;
    let milliseconds = 1e3 * began.elapsed().as_secs_f64();
    log.write(format!("{method} {path} {} {milliseconds:.1} ms", response.status().as_u16()));
    response
}

/// Returns the path and the query, cut to a length, without a token.
fn shown_path(uri: &Uri) -> String {
    let query = uri.query().filter(|query| !query.contains("token="));
    let text = query.map_or(uri.path().to_owned(), |query| format!("{}?{query}", uri.path()));
    match text.char_indices().nth(MAX_PATH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_cut_and_tokens_are_left_out() {
        let shown = |text: &str| shown_path(&text.parse().unwrap());
        assert_eq!(shown("/api/tables?x=1"), "/api/tables?x=1");
        assert_eq!(shown("/?token=secret"), "/");
        assert_eq!(shown(&format!("/{}", "a".repeat(5000))).chars().count(), MAX_PATH + 1);
    }
}
