//! The page: files that are part of the program.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

use crate::answer::typed;
use crate::error::ApiError;

/// The folder of the page. Programs that are not optimised read it at run time.
#[derive(RustEmbed)]
#[folder = "web"]
struct Web;

/// A file of the page.
struct Asset {
    content_type: &'static str,
    bytes: Bytes,
    /// The bytes compressed with gzip, if that makes them shorter.
    gzip: Option<Bytes>,
    etag: HeaderValue,
}

/// The files of an optimised program, by their paths.
static ASSETS: LazyLock<BTreeMap<String, Asset>> =
    LazyLock::new(|| Web::iter().filter_map(|path| Some((path.to_string(), Asset::load(&path)?))).collect());

impl Asset {
    fn load(path: &str) -> Option<Asset> {
        let file = Web::get(path)?;
        let hash = xxhash_rust::xxh3::xxh3_64(&file.data);
        let etag = HeaderValue::from_str(&format!("\"{hash:016x}\"")).ok()?;
        let bytes = Bytes::from(file.data.into_owned());
        let gzip = compressed(&bytes).filter(|gzip| gzip.len() < bytes.len());
        Some(Asset { content_type: content_type(path), bytes, gzip, etag })
    }

    fn response(&self, headers: &HeaderMap) -> Response {
        let known = headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let unchanged = known.is_some_and(|tags| self.etag.to_str().is_ok_and(|etag| tags.contains(etag)));
        let gzip = self.gzip.as_ref().filter(|_| accepts_gzip(headers));
        let mut response = match (unchanged, gzip) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, Some(gzip)) => typed(self.content_type, gzip.clone()),
            (false, None) => typed(self.content_type, self.bytes.clone()),
        };
        let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
        if !unchanged && gzip.is_some() {
            set(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        set(VARY, HeaderValue::from_static("accept-encoding"));
        set(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        set(ETAG, self.etag.clone());
        response
    }
}

/// Returns the text of a file of the page.
pub fn text(path: &str) -> Option<String> {
    String::from_utf8(Web::get(path)?.data.into_owned()).ok()
}

/// Returns the paths of all files of the page.
#[cfg(test)]
pub fn paths() -> impl Iterator<Item = String> {
    Web::iter().map(|path| path.into_owned())
}

/// Answers requests for which there is no route: with a file of the page, or an error.
pub async fn asset(request: Request) -> Response {
    let path = request.uri().path();
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    let missing = || ApiError::missing(format!("there is no `{path}`")).into_response();
    if !path.starts_with('/') || path.starts_with("/api") {
        return missing();
    }
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    let respond = |asset: &Asset| match is_read {
        true => asset.response(request.headers()),
        false => ApiError::method(request.method(), "GET, HEAD").into_response(),
    };
    if cfg!(debug_assertions) {
        Asset::load(name).as_ref().map_or_else(missing, respond)
    } else {
        ASSETS.get(name).map_or_else(missing, respond)
    }
}

fn compressed(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    Some(encoder.finish().ok()?.into())
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|weight| weight == "q=0")
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/vnd.microsoft.icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_has_a_content_type() {
        for path in Web::iter() {
            assert_ne!(content_type(&path), "application/octet-stream", "{path}");
        }
        assert!(ASSETS.contains_key("index.html"));
    }

    #[test]
    fn gzip_is_sent_to_clients_that_accept_it() {
        let accepts = |value: &'static str| {
            accepts_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(accepts("gzip") && accepts("br, gzip;q=0.5"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts_gzip(&HeaderMap::new()));
    }
}
