//! The checks that keep other web sites and other machines out, and the headers
//! that restrict the page.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderMap, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::RngExt;

use crate::error::ApiError;

/// The longest head of a request, in bytes. The longest query is that of an analysis after many moves.
pub const MOST_HEAD: usize = 64 << 10;

/// The name of the cookie with the token.
const COOKIE_NAME: &str = "sternhalma-token";

/// Scripts and styles are files of the server, and no other site embeds the page.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The requests that a server accepts.
#[derive(Debug)]
pub struct Guard {
    /// The name to listen on, as the user gave it.
    bind: String,
    address: IpAddr,
    /// The secret that requests must contain if other machines can connect.
    token: Option<String>,
}

impl Guard {
    /// Creates the guard of a server that listens on an address. Draws a token if the address is not that
    /// of the machine itself.
    pub fn new(bind: &str, address: SocketAddr) -> Guard {
        let ip = address.ip().to_canonical();
        let token = || format!("{:032x}", rand::rng().random::<u128>());
        Guard { bind: bind.to_ascii_lowercase(), address: ip, token: (!ip.is_loopback()).then(token) }
    }

    /// Returns the token, if requests need one.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the host in the URL of the server, which listens on `ip`.
    pub fn host(&self, ip: IpAddr) -> String {
        match (self.bind.parse::<IpAddr>(), ip) {
            (Err(_), _) => self.bind.clone(),
            (Ok(_), IpAddr::V4(ip)) => ip.to_string(),
            (Ok(_), IpAddr::V6(ip)) => format!("[{ip}]"),
        }
    }

    /// Checks the `Host` header. A web site whose name resolves to this machine has its own name there.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::invalid("expected one header `Host`"));
        };
        let name = host.to_str().ok().and_then(host_name);
        if name.is_some_and(|name| self.is_own(name)) {
            return Ok(());
        }
        Err(ApiError::forbidden("the header `Host` is not the name of this server; use the address that it printed"))
    }

    fn is_own(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let ip = name.parse::<IpAddr>().ok().map(|ip| ip.to_canonical());
        let own_ip = |ip: IpAddr| ip.is_loopback() || ip == self.address || self.address.is_unspecified();
        name == "localhost" || name == self.bind || ip.is_some_and(own_ip)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let texts = |name| headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
        let cookies = texts(COOKIE).flat_map(|value| value.split(';'));
        let mut cookies = cookies.filter_map(|cookie| cookie.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
        let mut bearers = texts(AUTHORIZATION).filter_map(|value| value.strip_prefix("Bearer "));
        cookies.any(|given| is_same(given, token)) || bearers.any(|given| is_same(given, token))
    }

    /// Returns the answer that sets the cookie, if the address contains the token.
    fn welcome(&self, uri: &Uri) -> Option<Response> {
        let given = uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        let token = self.token.as_ref().filter(|token| uri.path() == "/" && is_same(given, token))?;
        let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict");
        let headers = [(LOCATION, HeaderValue::from_static("/")), (SET_COOKIE, HeaderValue::from_str(&cookie).ok()?)];
        Some((StatusCode::SEE_OTHER, headers).into_response())
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        check_head(request)?;
        self.check_host(headers)?;
        check_target(request.uri())?;
        if request.uri().path().starts_with("/api") {
            check_site(headers)?;
        }
        Ok(())
    }

    /// Returns the answer to a request that the server does not accept: an error, or the cookie with the token.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let refused = || ApiError::forbidden("the token is missing; use the address that the server printed");
        match self.check(request) {
            Err(error) => Some(error.into_response()),
            Ok(()) if self.has_token(request.headers()) => None,
            Ok(()) => Some(self.welcome(request.uri()).unwrap_or_else(|| refused().into_response())),
        }
    }
}

/// Refuses requests that the guard does not accept, and sets the headers of every answer.
pub async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        None => next.run(request).await,
        Some(refusal) => refusal,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Checks the length of the head of a request, without the blanks that it may contain around values.
fn check_head(request: &Request) -> Result<(), ApiError> {
    let line = request.method().as_str().len() + " ".len() + request.uri().to_string().len() + " HTTP/1.1\r\n".len();
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    if line + fields.sum::<usize>() + "\r\n".len() <= MOST_HEAD {
        return Ok(());
    }
    let message = format!("the head of the request has more than {MOST_HEAD} bytes");
    Err(ApiError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message))
}

/// Checks that the target is a path, not the whole address that clients send to proxies: it could name another host than
/// the header `Host`.
fn check_target(uri: &Uri) -> Result<(), ApiError> {
    match uri.scheme() {
        None => Ok(()),
        Some(_) => Err(ApiError::invalid("the target is a whole address; expected a path, such as `/api/tables`")),
    }
}

/// Checks that a request to the interface does not come from the page of another site.
fn check_site(headers: &HeaderMap) -> Result<(), ApiError> {
    let refused = || ApiError::forbidden("the interface answers only its own page and programs, not other web sites");
    // A browser sends each of them at most once. Several values could be read differently elsewhere.
    if [SEC_FETCH_SITE, ORIGIN].iter().any(|name| headers.get_all(name).iter().count() > 1) {
        return Err(refused());
    }
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return Err(refused());
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_ascii_lowercase();
    let (origin, host) = (text(origin), headers.get(HOST).map(text));
    let authority = ["http://", "https://"].into_iter().find_map(|scheme| origin.strip_prefix(scheme));
    if authority.is_some() && authority == host.as_deref() { Ok(()) } else { Err(refused()) }
}

/// Returns the name or the address in a `Host` header, without the port.
fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok();
    let valid = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    valid.then(|| name.strip_suffix('.').unwrap_or(name))
}

/// Compares two texts in a time that does not depend on where they differ.
fn is_same(given: &str, secret: &str) -> bool {
    let differences = given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == secret.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard_of(bind: &str, address: &str) -> Guard {
        Guard::new(bind, SocketAddr::new(address.parse().unwrap(), 80))
    }

    #[test]
    fn only_names_of_the_server_are_hosts() {
        let local = guard_of("127.0.0.1", "127.0.0.1");
        let owns = |guard: &Guard, host: &str| host_name(host).is_some_and(|name| guard.is_own(name));
        for host in ["localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "[::1]"] {
            assert!(owns(&local, host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "10.0.0.1",
            "localhost:x",
            "[::1",
            "[::1]x",
            "[::1]:99999999",
            "localhost:+80",
            "[::1]80",
        ] {
            assert!(!owns(&local, host), "{host}");
        }
        let named = guard_of("Board.lan", "10.0.0.7");
        assert!(owns(&named, "board.lan:80") && owns(&named, "10.0.0.7") && !owns(&named, "10.0.0.8"));
        let any = guard_of("0.0.0.0", "0.0.0.0");
        assert!(owns(&any, "10.0.0.8:80") && owns(&any, "[fe80::1]") && !owns(&any, "example.com"));
    }

    #[test]
    fn only_servers_for_other_machines_have_a_token() {
        assert_eq!(guard_of("localhost", "::1").token(), None);
        let tokens = ["10.0.0.7", "0.0.0.0", "::"].map(|address| guard_of(address, address).token.unwrap());
        assert!(tokens.iter().all(|token| token.len() == 32) && tokens[0] != tokens[1]);
        assert!(is_same("ab", "ab") && !is_same("ab", "ac") && !is_same("a", "ab") && !is_same("", "ab"));
    }

    #[test]
    fn requests_of_other_sites_are_recognised() {
        let check = |pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            check_site(&pairs.iter().map(pair).collect::<HeaderMap>()).is_ok()
        };
        let host = ("host", "localhost:80");
        assert!(check(&[host]) && check(&[host, ("sec-fetch-site", "none")]));
        assert!(check(&[host, ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:80")]));
        for site in ["cross-site", "same-site", ""] {
            assert!(!check(&[host, ("sec-fetch-site", site)]), "{site}");
        }
        for origin in ["null", "http://localhost", "http://localhost:81", "http://example.com", "localhost:80", ""] {
            assert!(!check(&[host, ("origin", origin)]), "{origin}");
        }
    }
}
