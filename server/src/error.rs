//! Errors as answers: a status and one line of JSON.

use axum::http::header::{ALLOW, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sternhalma_builder::BuilderError;
use sternhalma_data::{BoardError, NotationError, TableError};
use sternhalma_ggp::messages::shorten_quotes;
use utoipa::ToSchema;

use crate::answer;

/// The reason why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    status: StatusCode,
    message: String,
    /// The seconds after which the request may succeed.
    retry_after: Option<u32>,
    /// The methods that the path has.
    allowed: Option<String>,
}

/// The body of an answer without the requested value.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody<'a> {
    /// One line.
    error: &'a str,
}

impl ApiError {
    /// Creates an error. The message is on one line, and quotes at most 80 characters of an input.
    pub fn new(status: StatusCode, message: impl ToString) -> ApiError {
        ApiError {
            status,
            message: shorten_quotes(&message.to_string()).replace(char::is_control, " "),
            retry_after: None,
            allowed: None,
        }
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
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
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
        ErrorBody { error: &self.message }
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
