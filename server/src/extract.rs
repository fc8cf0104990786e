//! Parameters and bodies of requests, and bodies of answers. By the names `Path`, `Query` and `Json` the attribute of a
//! handler recognises the place of its parameters, and its body.

use axum::body::Bytes;
use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::answer::{self, JSON, NDJSON};
use crate::error::ApiError;

/// The parameters of a query. Unknown and repeated parameters are errors.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, ApiError> {
        match extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(extract::Query(params)) => Ok(Query(params)),
            Err(error) => {
                let text = error.body_text();
                let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(ApiError::invalid(format!("query: {text}")))
            }
        }
    }
}

/// The parameters of a route without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// The parameters in the path of a route.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, ApiError> {
        match extract::Path::from_request_parts(parts, state).await {
            Ok(extract::Path(params)) => Ok(Path(params)),
            Err(_) => Err(ApiError::invalid("expected UTF-8 in the path")),
        }
    }
}

/// The table in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct TablePath {
    /// The name of a table.
    #[param(min_length = 1, pattern = r"^[^/\\]+$", example = "9x9-6")]
    pub table: String,
}

/// The rulesheet in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct RulesheetPath {
    /// The name of a rulesheet, without `.kif`.
    pub rulesheet: String,
}

/// The body of a request in JSON or in lines of JSON.
pub enum Input<T> {
    /// A value.
    Json(T),
    /// The text of the lines.
    Lines(Bytes),
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Input<T>, ApiError> {
        let lines = match content_type(request.headers()).as_deref() {
            Some(JSON) => false,
            Some(NDJSON) => true,
            found => return Err(unsupported(found, "application/json or application/x-ndjson")),
        };
        let body = Bytes::from_request(request, state).await.map_err(|error| ApiError::invalid(error.body_text()))?;
        if lines { Ok(Input::Lines(body)) } else { parse(&body).map(Input::Json) }
    }
}

/// A value in JSON: the body of a request, or that of an answer.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Json<T>, ApiError> {
        match Input::from_request(request, state).await? {
            Input::Json(value) => Ok(Json(value)),
            Input::Lines(_) => Err(unsupported(Some(NDJSON), JSON)),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        answer::json(&self.0)
    }
}

/// Parses an object. serde would also read a list as the fields of a type in their order.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::invalid("body: expected an object, got a list"));
    }
    serde_json::from_slice(body).map_err(|error| ApiError::invalid(format!("body: {error}")))
}

/// Returns the content type in lower case, without its parameters.
fn content_type(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase())
}

fn unsupported(found: Option<&str>, expected: &str) -> ApiError {
    let found = found.map_or("none".to_owned(), |found| format!("`{found}`"));
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("expected the content type {expected}, got {found}"))
}
