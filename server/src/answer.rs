//! Bodies of answers and their content types.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio_stream::{Stream, StreamExt};

/// The content type of JSON.
pub const JSON: &str = "application/json";
/// The content type of lines of JSON.
pub const NDJSON: &str = "application/x-ndjson";

/// Returns an answer with a content type.
pub fn typed(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns an answer with a value as JSON.
pub fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => typed(JSON, body),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns an event with a value as JSON.
pub fn event(name: &str, data: &impl Serialize) -> Event {
    // Keys are texts, so that every row can be JSON.
    Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}

/// Returns an answer with events as they are sent. Without an event for a time it sends a sign of life, by which the
/// server notices that a client has left.
pub fn events(stream: impl Stream<Item = Event> + Send + 'static, life: KeepAlive) -> Response {
    let mut response = Sse::new(stream.map(Ok::<Event, Infallible>)).keep_alive(life).into_response();
    // Proxies such as nginx send each event at once.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
