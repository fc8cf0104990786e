//! Bodies of requests: received completely, within limits, before a request is
//! answered.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::connections::Connection;
use crate::error::ApiError;
use crate::options::ClientLimits;

/// The unit of the memory of bodies, in bytes.
const UNIT: usize = 1 << 10;

/// The limits of bodies, and the memory that they share.
#[derive(Debug)]
pub struct Bodies {
    most: usize,
    time: Duration,
    /// The memory that is left, in units.
    memory: Semaphore,
}

impl Bodies {
    /// Creates the memory for bodies.
    pub fn new(limits: &ClientLimits) -> Bodies {
        let units = (limits.all_body_bytes / UNIT).min(Semaphore::MAX_PERMITS);
        Bodies { most: limits.body_bytes, time: limits.body_time, memory: Semaphore::new(units) }
    }

    /// Receives a body. Its memory is taken at once, by its announced length or else by the limit.
    async fn receive(&self, body: Body) -> Result<(Bytes, Option<SemaphorePermit<'_>>), ApiError> {
        let hint = body.size_hint();
        if hint.exact() == Some(0) {
            return Ok((Bytes::new(), None));
        }
        let too_long = || {
            let most = self.most;
            ApiError::too_large(format!("the body has more than {most} bytes"))
        };
        if hint.lower() > self.most as u64 {
            return Err(too_long());
        }
        let expected = hint.exact().map_or(self.most, |exact| exact as usize);
        let units = u32::try_from(expected.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let full = |_| ApiError::busy("the server receives too many bodies at a time");
        let permit = self.memory.try_acquire_many(units).map_err(full)?;
        match timeout(self.time, Limited::new(body, self.most).collect()).await {
            Ok(Ok(whole)) => Ok((whole.to_bytes(), Some(permit))),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => Err(ApiError::invalid("the body is not complete")),
            Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
        }
    }
}

/// Receives the body of a request and then answers it. From then on the connection is in use.
pub async fn receive_body(State(bodies): State<Arc<Bodies>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (body, _permit) = match bodies.receive(body).await {
        Ok(received) => received,
        Err(error) => return error.into_response(),
    };
    let in_use = parts.extensions.get::<Arc<Connection>>().map(Connection::begin);
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    drop(in_use);
    response
}
