//! The files of the page, which are part of the program.

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

use super::bundle::{PageError, bundle};
use crate::answer::typed;
use crate::error::ApiError;

/// The folder of the page. Programs that are not optimised read it at run time.
#[derive(RustEmbed)]
#[folder = "web"]
struct Web;

/// The module that starts the page. Its answer contains all modules, because a browser loads one file much faster than
/// 40.
const SCRIPT: &str = "js/main.js";

/// The paths of the files that the document names, and of the document.
const FILES: [&str; 7] =
    ["index.html", "favicon.svg", "css/base.css", "css/board.css", "css/forms.css", "css/panels.css", SCRIPT];

/// A file of the page.
struct Asset {
    content_type: &'static str,
    bytes: Bytes,
    /// The bytes compressed with gzip, if that makes them shorter.
    gzip: Option<Bytes>,
    etag: HeaderValue,
}

/// The files of an optimised program, by their paths.
static ASSETS: LazyLock<BTreeMap<&str, Result<Asset, PageError>>> =
    LazyLock::new(|| FILES.into_iter().map(|path| (path, Asset::load(path))).collect());

impl Asset {
    fn load(path: &str) -> Result<Asset, PageError> {
        let content = if path == SCRIPT { bundle(path, &text) } else { text(path) };
        let bytes = Bytes::from(content?);
        let hash = xxhash_rust::xxh3::xxh3_64(&bytes);
        let etag = HeaderValue::from_str(&format!("\"{hash:016x}\"")).expect("digits are visible characters");
        let gzip = compressed(&bytes).filter(|gzip| gzip.len() < bytes.len());
        Ok(Asset { content_type: content_type(path), bytes, gzip, etag })
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
///
/// # Errors
/// If the file is missing.
pub fn text(path: &str) -> Result<String, PageError> {
    let file = Web::get(path).and_then(|file| String::from_utf8(file.data.into_owned()).ok());
    file.ok_or_else(|| PageError::Missing { path: path.to_owned() })
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
    let respond = |asset: &Result<Asset, PageError>| match asset {
        Err(error) => ApiError::internal(error).into_response(),
        Ok(asset) if is_read => asset.response(request.headers()),
        Ok(_) => ApiError::method(request.method(), "GET, HEAD").into_response(),
    };
    if cfg!(debug_assertions) {
        FILES.contains(&name).then(|| Asset::load(name)).as_ref().map_or_else(missing, respond)
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
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_engine::Level;

    use super::*;

    #[test]
    fn the_document_names_every_file_of_the_page() {
        let document = text("index.html").unwrap();
        for path in FILES {
            assert!(ASSETS[path].is_ok(), "{path}");
            assert!(path == "index.html" || document.contains(&format!("=\"{path}\"")), "{path}");
        }
        let names = document.split(['\'', '"']).filter(|word| word.contains('.') && word.contains('/'));
        assert_eq!(names.filter(|name| !name.contains(' ') && !FILES.contains(name)).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn the_script_contains_the_modules_without_comments() {
        let script = &ASSETS[SCRIPT].as_ref().unwrap().bytes;
        let script = std::str::from_utf8(script).unwrap();
        assert!(script.contains("// js/views/tournaments.js\n") && !script.contains("/**"));
        assert!(!script.contains("import") && !script.contains("export "));
    }

    #[test]
    fn the_levels_of_the_page_have_the_limits_of_the_engine() {
        let levels = (1..=Level::HIGHEST).map(|level| Level::try_from(level).unwrap().nodes().to_string());
        let declared = format!("export const LEVELS = [{}];", levels.collect::<Vec<_>>().join(", "));
        assert!(text("js/views/play.js").unwrap().contains(&declared), "{declared}");
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
