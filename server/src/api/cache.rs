//! Answers that depend only on a table, which clients may keep.

use std::sync::Arc;

use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use xxhash_rust::xxh3::xxh3_64;

use crate::answer;
use crate::app::App;
use crate::error::ApiError;
use crate::tables::OpenTable;
use crate::work::Deadline;

/// Answers a request about a table with a value that depends on the table and the address only. A client that
/// has the answer already receives the status 304.
///
/// # Errors
/// If there is no such table, or `answer` fails.
pub async fn answer_about<T: serde::Serialize>(
    app: Arc<App>,
    name: String,
    uri: Uri,
    headers: HeaderMap,
    answer: impl FnOnce(&OpenTable, Deadline) -> Result<T, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let job = {
        let app = app.clone();
        move |deadline| {
            let open = app.tables.open(&name)?;
            let etag = etag(&open, &uri);
            let known = headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
            let mut response = match known.is_some_and(|tags| tags.contains(&etag)) {
                true => StatusCode::NOT_MODIFIED.into_response(),
                false => answer::json(&answer(&open, deadline)?),
            };
            let value = HeaderValue::from_str(&etag).map_err(ApiError::internal)?;
            response.headers_mut().insert(ETAG, value);
            // The file of the table may be replaced, so that the client must ask each time.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            Ok(response)
        }
    };
    app.work.run(job).await
}

/// Returns the tag of an answer: a hash of the version, the table and the address.
fn etag(open: &OpenTable, uri: &Uri) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let request = xxh3_64(format!("{version} {uri}").as_bytes());
    format!("\"{}-{request:016x}\"", open.table.checksum_text())
}
