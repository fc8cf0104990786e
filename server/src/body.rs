//! Bodies of requests: received completely, within limits, before a request is
//! answered.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

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
    pause: Duration,
    /// The memory that is left, in units.
    memory: Semaphore,
}

impl Bodies {
    /// Creates the memory for bodies.
    pub fn new(limits: &ClientLimits) -> Bodies {
        let units = (limits.all_body_bytes / UNIT).min(Semaphore::MAX_PERMITS);
        Bodies {
            most: limits.body_bytes,
            time: limits.body_time,
            pause: limits.body_pause,
            memory: Semaphore::new(units),
        }
    }

    /// Receives a body. Its memory is taken as it arrives, so that a client that sends nothing holds none.
    async fn receive(&self, mut body: Body) -> Result<(Bytes, Option<SemaphorePermit<'_>>), ApiError> {
        let too_long = || {
            let most = self.most;
            ApiError::too_large(format!("the body has more than {most} bytes"))
        };
        if body.size_hint().lower() > self.most as u64 {
            return Err(too_long());
        }
        let late = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
        let end = Instant::now() + self.time;
        let mut whole = Vec::new();
        let mut memory: Option<SemaphorePermit<'_>> = None;
        loop {
            let next_end = end.min(Instant::now() + self.pause);
            let Some(frame) = timeout_at(next_end, body.frame()).await.map_err(late)? else { break };
            let frame = frame.map_err(|_| ApiError::invalid("the body is not complete"))?;
            let Some(data) = frame.data_ref() else { continue };
            if whole.len() + data.len() > self.most {
                return Err(too_long());
            }
            let held = memory.as_ref().map_or(0, SemaphorePermit::num_permits);
            let more = (whole.len() + data.len()).div_ceil(UNIT) - held;
            let full = |_| ApiError::busy("the server receives too many bodies at a time");
            let more = self.memory.try_acquire_many(more as u32).map_err(full)?;
            match &mut memory {
                Some(memory) => memory.merge(more),
                None => memory = Some(more),
            }
            whole.extend_from_slice(data);
        }
        Ok((whole.into(), memory))
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
