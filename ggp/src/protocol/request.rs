//! The start of a request, read before the HTTP library sees it.
//!
//! The library closes a connection with a slow head without an answer, and cuts
//! a body whose `Content-Length` counts characters instead of bytes, as the
//! public game server does.

use std::ops::Range;
use std::time::Duration;

use hyper::StatusCode;
use sternhalma_gdl::Document;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// The maximum length of a message to a player, in bytes.
pub const MAX_BODY: usize = 2 << 20;

/// The time in which a request must be complete; otherwise it is answered by
/// 408.
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum length of the head of a request or reply, in bytes. A GET
/// message is in the head.
pub(super) const MAX_HEAD: usize = 64 << 10;

/// The time in which the rest of a body arrives that is longer than its
/// `Content-Length`.
const REST_TIMEOUT: Duration = Duration::from_millis(500);

/// Reads the head of a request, and its body if `Content-Length` may count
/// characters. `Content-Length` of the result counts bytes. The stream has the
/// rest of the request.
///
/// # Errors
///
/// Returns the status with which to refuse the request if the head is not
/// complete in [`READ_TIMEOUT`], or too long, or if the body is late.
pub async fn read_start(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, StatusCode> {
    let mut bytes = Vec::new();
    let Ok(head) = timeout(READ_TIMEOUT, read_head(stream, &mut bytes)).await else {
        return Err(StatusCode::REQUEST_TIMEOUT);
    };
    let Some(head) = head? else { return Ok(bytes) };
    let Some((value, length)) = content_length(&bytes[..head]) else { return Ok(bytes) };
    if length > MAX_BODY {
        return Ok(bytes);
    }
    let whole = read_until(stream, &mut bytes, |bytes| bytes.len() >= head + length);
    timeout(READ_TIMEOUT, whole).await.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    let body = &bytes[head..];
    if body.len() < length || body.is_ascii() || is_complete(&body[..length]) {
        return Ok(bytes);
    }
    let characters = |bytes: &[u8]| String::from_utf8_lossy(&bytes[head..]).chars().count();
    let _ = timeout(REST_TIMEOUT, read_until(stream, &mut bytes, |bytes| characters(bytes) >= length)).await;
    if is_complete(&bytes[head..]) {
        let bytes_of_body = (bytes.len() - head).to_string();
        bytes.splice(value, bytes_of_body.into_bytes());
    }
    Ok(bytes)
}

/// Reads to the end of the head. Returns the length of the head, or `None` if
/// the peer closes the connection earlier or sends something other than a
/// request.
async fn read_head(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> Result<Option<usize>, StatusCode> {
    let is_other = |bytes: &[u8]| bytes.first().is_some_and(|first| !first.is_ascii_alphabetic());
    let done = |bytes: &[u8]| is_other(bytes) || head_end(bytes).is_some() || bytes.len() > MAX_HEAD;
    read_until(stream, bytes, done).await;
    match head_end(bytes).filter(|_| !is_other(bytes)) {
        None if bytes.len() > MAX_HEAD => Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        end => Ok(end),
    }
}

/// Returns the length of the head with its empty line. Lines may end with a line
/// feed alone.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let at_end = |end: &[u8]| bytes.windows(end.len()).position(|part| part == end).map(|at| at + end.len());
    at_end(b"\n\r\n").into_iter().chain(at_end(b"\n\n")).min()
}

/// Reads until a condition holds or the stream ends.
async fn read_until(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>, until: impl Fn(&[u8]) -> bool) {
    while !until(bytes) && !matches!(stream.read_buf(bytes).await, Ok(0) | Err(_)) {}
}

/// Returns the place and the value of `Content-Length`.
fn content_length(head: &[u8]) -> Option<(Range<usize>, usize)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut start = 0;
    for line in head.split_inclusive('\n') {
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            let at = start + name.len() + 1 + (value.len() - value.trim_start().len());
            let value = value.trim();
            return Some((at..at + value.len(), value.parse().ok()?));
        }
        start += line.len();
    }
    None
}

/// Returns whether a body is a whole message.
fn is_complete(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|text| Document::parse(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Result<String, StatusCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut stream = input;
        let bytes = runtime.block_on(read_start(&mut stream))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_length_in_characters_becomes_one_in_bytes() {
        let request = |length: usize| format!("POST / HTTP/1.0\r\nCONTENT-length:  {length}\r\n\r\n(PLAY m (größe x))");
        let (characters, bytes) = ("(PLAY m (größe x))".chars().count(), "(PLAY m (größe x))".len());
        assert_eq!(read(request(characters).as_bytes()), Ok(request(bytes)));
        assert_eq!(read(request(bytes).as_bytes()), Ok(request(bytes)));
    }

    #[test]
    fn other_requests_are_unchanged() {
        for request in [
            "GET /(INFO) HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n(INFO)more",
            "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n(INFO)",
            "POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n(größe",
            "half of a he",
        ] {
            let start = read(request.as_bytes()).unwrap();
            assert!(request.starts_with(&start), "{start}");
        }
        assert_eq!(read(b"\x16\x03\x01"), Ok("\x16\x03\x01".to_owned()));
        assert_eq!(read(b"POST /\nContent-Length: 6\n\n(INFO)"), Ok("POST /\nContent-Length: 6\n\n(INFO)".to_owned()));
        let long = vec![b'x'; MAX_HEAD + 1];
        assert_eq!(read(&long), Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    }
}
