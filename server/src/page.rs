//! The files of the page, which are part of the program.

use std::borrow::Cow;
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

/// The document of saved games, which has its data inside. It is not part of the page.
pub const SAVED: &str = "saved.html";

/// The document of tables on other servers, which is not part of the page.
pub const EXPLORER: &str = "explorer.html";

/// A file of the page is missing. It is a fault of the page, not of a request or a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the page is faulty: {path} is missing")]
pub struct PageError {
    /// The file.
    pub path: String,
}

/// A file of the page.
struct Asset {
    content_type: &'static str,
    bytes: Bytes,
    /// The bytes compressed with gzip, if that makes them shorter.
    gzip: Option<Bytes>,
    etag: HeaderValue,
}

/// The files of an optimised program, by their paths.
static ASSETS: LazyLock<BTreeMap<String, Result<Asset, PageError>>> =
    LazyLock::new(|| files().map(|path| (path.to_string(), Asset::load(&path))).collect());

/// Returns the paths of the files of the page.
fn files() -> impl Iterator<Item = Cow<'static, str>> {
    Web::iter().filter(|path| ![SAVED, EXPLORER].contains(&&**path))
}

impl Asset {
    fn load(path: &str) -> Result<Asset, PageError> {
        let bytes = Bytes::from(text(path)?);
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

/// Returns the text of a file of the page, modules without the lines of comments.
///
/// # Errors
/// If the file is missing.
pub fn text(path: &str) -> Result<String, PageError> {
    let file = Web::get(path).and_then(|file| String::from_utf8(file.data.into_owned()).ok());
    let file = file.ok_or_else(|| PageError { path: path.to_owned() })?;
    Ok(if path.ends_with(".js") { without_comments(&file) } else { file })
}

/// Returns the paths of the files that a document names.
///
/// # Errors
/// If the document is missing.
pub fn files_of(document: &str) -> Result<Vec<String>, PageError> {
    let names = text(document)?;
    Ok(names.split('"').filter(|name| Web::get(name).is_some()).map(str::to_owned).collect())
}

/// Returns a module without the lines that belong to comments alone, which are a third of its bytes. Such a comment
/// begins a line with `//`, or with `/**` and ends a line with `*/`.
fn without_comments(module: &str) -> String {
    let mut is_open = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        let is_block = is_open || line.starts_with("/**");
        let end = line.find("*/").filter(|_| is_block);
        // A line may begin with the type of an expression.
        let is_whole = end.is_none_or(|end| end + 2 == line.len());
        is_open = is_block && end.is_none();
        !(line.starts_with("//") || is_block && is_whole)
    };
    module.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect()
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
        files().any(|path| path == name).then(|| Asset::load(name)).as_ref().map_or_else(missing, respond)
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

/// Returns the type of a file of the page.
pub fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_every_file_of_the_page() {
        let document = text("index.html").unwrap();
        let unnamed: Vec<&String> = ASSETS.keys().filter(|path| !document.contains(&format!("=\"{path}\""))).collect();
        // Modules that are loaded on demand, and those of the explorer and of saved games.
        let expected = [
            "index.html",
            "js/cells.js",
            "js/diagram.js",
            "js/explorer-facts.js",
            "js/explorer.js",
            "js/games.js",
            "js/lesson.js",
            "js/reader.js",
            "js/results.js",
            "js/rules.js",
            "js/saved-facts.js",
            "js/saved.js",
            "js/shards.js",
            "js/types.js",
            "js/views/friend.js",
            "js/views/tournaments.js",
        ];
        assert_eq!(unnamed, expected);
        let names = document.split(['\'', '"']).filter(|word| word.contains('.') && word.contains('/'));
        let missing = names.filter(|&name| !name.contains(' ') && !ASSETS.get(name).is_some_and(Result::is_ok));
        assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn lines_of_comments_are_left_out() {
        let module = "/** A module. */\nimport a from \"./a.js\";\n\n/**\n * @param {x} y\n */\nf(\n  \
            /** @type {x} */ y, // Stays.\n  // Goes.\n  \"/** text */\",\n);\n";
        let expected = "import a from \"./a.js\";\n\nf(\n  /** @type {x} */ y, // Stays.\n  \"/** text */\",\n);\n";
        assert_eq!(without_comments(module), expected);
        // Every block of the page is closed, and ends its line or begins an expression.
        for path in files().filter(|path| path.ends_with(".js")) {
            let file = Web::get(&path).unwrap();
            let code = std::str::from_utf8(&file.data).unwrap();
            assert_eq!(code.matches("/**").count(), code.matches("*/").count(), "{path}");
            assert!(without_comments(code).lines().all(|line| !line.trim_start().starts_with('*')), "{path}");
        }
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
