//! Bodies of answers and their content types.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

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
