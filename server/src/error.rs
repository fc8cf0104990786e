//! Errors as answers: a status and one line of JSON.

use axum::http::header::{ALLOW, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sternhalma_builder::BuilderError;
use sternhalma_data::{BoardError, NotationError, TableError};
use sternhalma_engine::ugi::UgiError;
use sternhalma_ggp::messages::shorten_quotes;
use utoipa::ToSchema;

use crate::answer;

/// The reason why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    status: StatusCode,
    code: ErrorCode,
    message: String,
    /// The seconds after which the request may succeed.
    retry_after: Option<u32>,
    /// The methods that the path has.
    allowed: Option<String>,
}

/// The kind of an error, by which programs decide. A kind keeps its name and its meaning; messages may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The request is wrong in itself.
    Invalid,
    /// The text is no legal move.
    IllegalMove,
    /// The move seals the goal of the opponent.
    SealedGoal,
    /// The rulesheet has errors or cannot be played.
    InvalidRulesheet,
    /// The server does not do this for other machines.
    Forbidden,
    /// The header `Host` has a name that is not allowed.
    UnknownHost,
    /// The request comes from another web site.
    OtherSite,
    /// The token is missing.
    NoToken,
    /// The seat is not one of the game.
    NoSeat,
    /// There is no such thing.
    Missing,
    /// The server does not have this game, or has it no longer.
    UnknownGame,
    /// The path does not have this method.
    Method,
    /// The body did not arrive in time.
    Timeout,
    /// The request contradicts the present state.
    Conflict,
    /// The game is over.
    GameOver,
    /// The request is too large.
    TooLarge,
    /// The body has another content type.
    MediaType,
    /// A file is damaged, or the server has an error.
    Internal,
    /// The same request may succeed later.
    Busy,
    /// The machine lacks memory or disk space.
    Resources,
}

impl ErrorCode {
    /// Returns the code of errors with a status that have no more specific one.
    fn of(status: StatusCode) -> ErrorCode {
        match status {
            StatusCode::FORBIDDEN => ErrorCode::Forbidden,
            StatusCode::NOT_FOUND => ErrorCode::Missing,
            StatusCode::METHOD_NOT_ALLOWED => ErrorCode::Method,
            StatusCode::REQUEST_TIMEOUT => ErrorCode::Timeout,
            StatusCode::CONFLICT => ErrorCode::Conflict,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ErrorCode::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorCode::MediaType,
            StatusCode::SERVICE_UNAVAILABLE => ErrorCode::Busy,
            status if status.is_server_error() => ErrorCode::Internal,
            _ => ErrorCode::Invalid,
        }
    }
}

/// The body of an answer without the requested value.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody<'a> {
    /// One line.
    error: &'a str,
    code: ErrorCode,
}

impl ApiError {
    /// Creates an error. The message is on one line, and quotes at most 80 characters of an input.
    pub fn new(status: StatusCode, message: impl ToString) -> ApiError {
        ApiError {
            status,
            code: ErrorCode::of(status),
            message: shorten_quotes(&message.to_string()).replace(char::is_control, " "),
            retry_after: None,
            allowed: None,
        }
    }

    /// Returns the error with a code that is more specific than its status.
    #[must_use]
    pub fn with_code(self, code: ErrorCode) -> ApiError {
        ApiError { code, ..self }
    }

    /// Returns the error with another message.
    #[must_use]
    pub fn with_message(self, message: impl ToString) -> ApiError {
        ApiError { message: ApiError::new(self.status, message).message, ..self }
    }

    /// Creates the error for a request that is wrong in itself.
    pub fn invalid(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, message)
    }

    /// Creates the error for something that does not exist.
    pub fn missing(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, message)
    }

    /// Creates the error for a request that contradicts the present state.
    pub fn conflict(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::CONFLICT, message)
    }

    /// Creates the error for a request that is refused.
    pub fn forbidden(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::FORBIDDEN, message)
    }

    /// Creates the error for a request that may succeed some seconds later.
    pub fn busy(message: impl ToString) -> ApiError {
        ApiError { retry_after: Some(1), ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// Creates the error for a request that the machine cannot fulfil.
    pub fn unavailable(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code(ErrorCode::Resources)
    }

    /// Creates the error for a request that is larger than allowed.
    pub fn too_large(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Creates the error for a method that a path does not have. `allowed` lists those that it has.
    pub fn method(method: &Method, allowed: &str) -> ApiError {
        let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("expected {allowed}, got {method}"));
        ApiError { allowed: Some(allowed.to_owned()), ..error }
    }

    /// Creates the error for a fault of the server or of its files.
    pub fn internal(message: impl ToString) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Creates the error for a fault of the server or of its files, with all causes.
    pub fn failure(error: &dyn std::error::Error) -> ApiError {
        let causes = std::iter::successors(Some(error), |error| error.source());
        ApiError::internal(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }

    /// Returns the body of the answer.
    pub fn body(&self) -> ErrorBody<'_> {
        ErrorBody { error: &self.message, code: self.code }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = answer::json(&self.body());
        *response.status_mut() = self.status;
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(Ok(allowed)) = self.allowed.as_deref().map(HeaderValue::from_str) {
            response.headers_mut().insert(ALLOW, allowed);
        }
        response
    }
}

impl From<NotationError> for ApiError {
    fn from(error: NotationError) -> ApiError {
        ApiError::invalid(error)
    }
}

impl From<BoardError> for ApiError {
    fn from(error: BoardError) -> ApiError {
        ApiError::invalid(error)
    }
}

impl From<UgiError> for ApiError {
    fn from(error: UgiError) -> ApiError {
        let code =
            if matches!(error, UgiError::SealedGoal(_)) { ErrorCode::SealedGoal } else { ErrorCode::IllegalMove };
        ApiError::invalid(error).with_code(code)
    }
}

impl From<TableError> for ApiError {
    fn from(error: TableError) -> ApiError {
        match error {
            TableError::Absent { .. } => ApiError::missing(error),
            _ => ApiError::failure(&error),
        }
    }
}

impl From<BuilderError> for ApiError {
    fn from(error: BuilderError) -> ApiError {
        match error {
            BuilderError::NoMirroredForm(_) => ApiError::invalid(error),
            BuilderError::Resources(_) | BuilderError::MemoryLimit { .. } | BuilderError::WorkDirMemory { .. } => {
                ApiError::unavailable(error)
            }
            _ => ApiError::failure(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use utoipa::PartialSchema;

    use super::*;

    #[test]
    fn the_reference_lists_every_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/http.md");
        let page = std::fs::read_to_string(path).unwrap();
        let schema = serde_json::to_value(ErrorCode::schema()).unwrap();
        let variants = schema["enum"].as_array().or(schema["oneOf"].as_array()).unwrap();
        let name = |variant: &serde_json::Value| variant.as_str().or(variant["enum"][0].as_str()).unwrap().to_owned();
        for code in variants.iter().map(name) {
            assert!(page.contains(&format!("| `{code}` |")), "{code}");
        }
    }
}
