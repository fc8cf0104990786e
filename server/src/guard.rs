//! The checks that keep other web sites and other machines out, and the headers
//! that restrict the page.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderMap, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, ErrorCode};
use crate::hosts::{HostName, other_hosts};
use crate::options::ServerOptions;
use crate::secret::Secret;

/// The longest head of a request, in bytes. The longest query is that of an analysis after many moves.
pub const MAX_HEAD: usize = 64 << 10;

/// The name of the cookie with the token.
const COOKIE_NAME: &str = "sternhalma-token";

/// Scripts and styles are files of the server, and no other site embeds the page.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The requests that a server accepts.
#[derive(Debug)]
pub struct Guard {
    /// The name or address to listen on, as the user gave it.
    bound: HostName,
    listening: SocketAddr,
    /// Further names in the header `Host`, such as that of a proxy.
    allowed: Vec<HostName>,
    /// The option by which a user allows a name.
    host_option: Option<String>,
    /// The secret that requests must contain if other machines can connect.
    token: Option<Secret>,
}

impl Guard {
    /// Creates the guard of a server that listens on an address. Draws a token if the address is not that
    /// of the machine itself.
    pub fn new(options: &ServerOptions, listening: SocketAddr) -> Guard {
        let ServerOptions { bind, allowed_hosts, host_option, .. } = options.clone();
        let is_local = listening.ip().to_canonical().is_loopback();
        let token = (!is_local).then(Secret::draw);
        Guard { bound: bind, listening, allowed: allowed_hosts, host_option, token }
    }

    /// Returns the token, if requests need one.
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Secret::text)
    }

    /// Returns the part of an address after the path with which a client is admitted: the token, or nothing.
    pub fn access(&self) -> String {
        self.token().map_or_else(String::new, |token| format!("?token={token}"))
    }

    /// Returns the address of the page for clients on this machine, without the token.
    pub fn own_page(&self) -> String {
        // No client connects to the address that stands for all addresses of the machine.
        let is_any = self.listening.ip().is_unspecified();
        self.page(if is_any { "localhost".to_owned() } else { self.bound.to_string() })
    }

    /// Returns the addresses of the page for clients on other machines, without the token.
    pub fn other_pages(&self) -> Vec<String> {
        other_hosts(&self.bound, self.listening).iter().map(|host| self.page(host.to_string())).collect()
    }

    fn page(&self, host: String) -> String {
        format!("http://{host}:{}/", self.listening.port())
    }

    /// Checks the `Host` header. A web site whose name resolves to this machine has its own name there.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::invalid("expected one header `Host`"));
        };
        let name = host.to_str().ok().and_then(HostName::of_authority);
        if name.as_ref().is_some_and(|name| self.is_own(name)) {
            return Ok(());
        }
        let given = String::from_utf8_lossy(host.as_bytes());
        let option = name.zip(self.host_option.as_ref());
        let allow = option.map_or_else(String::new, |(name, option)| format!(", or start it with `{option} {name}`"));
        let message = format!(
            "the header `Host` has `{given}`, not a name of this server; use the address that it printed{allow}"
        );
        Err(ApiError::forbidden(message).with_code(ErrorCode::UnknownHost))
    }

    fn is_own(&self, host: &HostName) -> bool {
        let listening = self.listening.ip();
        let is_own_ip = host.ip().is_some_and(|ip| ip == listening.to_canonical() || listening.is_unspecified());
        host.is_loopback() || *host == self.bound || is_own_ip || self.allowed.contains(host)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let texts = |name| headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
        let cookies = texts(COOKIE).flat_map(|value| value.split(';'));
        let mut cookies = cookies.filter_map(|cookie| cookie.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
        let mut bearers = texts(AUTHORIZATION).filter_map(|value| value.strip_prefix("Bearer "));
        cookies.any(|given| token.is(given)) || bearers.any(|given| token.is(given))
    }

    /// Returns the answer that sets the cookie, if the address contains the token. A proxy may serve the page under a
    /// path that the server does not know, so the address of the page is relative, and the path of the cookie is that
    /// of the address.
    fn welcome(&self, uri: &Uri) -> Option<Response> {
        let given = uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        let token = self.token.as_ref().filter(|token| uri.path() == "/" && token.is(given))?;
        let cookie = format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Lax", token.text());
        let headers = [(LOCATION, HeaderValue::from_static("./")), (SET_COOKIE, HeaderValue::from_str(&cookie).ok()?)];
        Some((StatusCode::SEE_OTHER, headers).into_response())
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        check_head(request)?;
        self.check_host(headers)?;
        check_target(request.uri())?;
        if request.uri().path().starts_with("/api") {
            self.check_site(headers)?;
        }
        Ok(())
    }

    /// Checks that a request to the interface does not come from the page of another site.
    fn check_site(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let refused = || {
            let message = "the interface answers only its own page and programs, not other web sites";
            ApiError::forbidden(message).with_code(ErrorCode::OtherSite)
        };
        // A browser sends each of them at most once. Several values could be read differently elsewhere.
        if [SEC_FETCH_SITE, ORIGIN].iter().any(|name| headers.get_all(name).iter().count() > 1) {
            return Err(refused());
        }
        let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Err(refused());
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        if self.is_own_origin(origin, headers.get(HOST)) { Ok(()) } else { Err(refused()) }
    }

    /// Returns whether an origin is that of the page: the host of the request, or an allowed one. A proxy may replace
    /// the host of the request, but a browser does not let a site choose its origin.
    fn is_own_origin(&self, origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_ascii_lowercase();
        let (origin, host) = (text(origin), host.map(text));
        let authority = ["http://", "https://"].into_iter().find_map(|scheme| origin.strip_prefix(scheme));
        let Some(authority) = authority else { return false };
        let is_allowed = || HostName::of_authority(authority).is_some_and(|name| self.allowed.contains(&name));
        host.as_deref() == Some(authority) || is_allowed()
    }

    /// Returns the answer to a request that the server does not accept: an error, or the cookie with the token.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let refused = || {
            let message = "the token is missing; use the address that the server printed";
            ApiError::forbidden(message).with_code(ErrorCode::NoToken)
        };
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
    if line + fields.sum::<usize>() + "\r\n".len() <= MAX_HEAD {
        return Ok(());
    }
    let message = format!("the head of the request has more than {MAX_HEAD} bytes");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn guard_of(bound: &str, address: &str, allowed: &[&str]) -> Guard {
        let allowed_hosts = allowed.iter().map(|name| name.parse().unwrap()).collect();
        let options = ServerOptions { bind: bound.parse().unwrap(), allowed_hosts, ..ServerOptions::new("") };
        Guard::new(&options, SocketAddr::new(address.parse().unwrap(), 80))
    }

    #[test]
    fn only_names_of_the_server_are_hosts() {
        let owns = |guard: &Guard, host: &str| HostName::of_authority(host).is_some_and(|host| guard.is_own(&host));
        let local = guard_of("127.0.0.1", "127.0.0.1", &[]);
        for host in ["localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "[::1]"] {
            assert!(owns(&local, host), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", ""] {
            assert!(!owns(&local, host), "{host}");
        }
        let named = guard_of("Board.lan", "10.0.0.7", &[]);
        assert!(owns(&named, "board.lan:80") && owns(&named, "10.0.0.7") && !owns(&named, "10.0.0.8"));
        let any = guard_of("0.0.0.0", "0.0.0.0", &[]);
        assert!(owns(&any, "10.0.0.8:80") && owns(&any, "[fe80::1]") && !owns(&any, "example.com"));
        let allowing = guard_of("127.0.0.1", "127.0.0.1", &["hub.example.org", "10.0.0.9"]);
        assert!(owns(&allowing, "HUB.example.org:443") && owns(&allowing, "10.0.0.9") && owns(&allowing, "localhost"));
        assert!(
            !owns(&allowing, "example.org") && !owns(&allowing, "a.hub.example.org") && !owns(&allowing, "10.0.0.8")
        );
    }

    #[test]
    fn only_servers_for_other_machines_have_a_token() {
        let local = guard_of("localhost", "::1", &["hub.example.org"]);
        assert_eq!((local.token(), local.access().as_str(), local.other_pages().len()), (None, "", 0));
        assert_eq!(local.own_page(), "http://localhost:80/");
        let guards = ["10.0.0.7", "0.0.0.0", "::"].map(|address| guard_of(address, address, &[]));
        let tokens = guards.each_ref().map(|guard| guard.token().unwrap());
        assert!(tokens.iter().all(|token| token.len() == 32) && tokens[0] != tokens[1]);
        assert_eq!(guards[0].other_pages(), [guards[0].own_page()]);
        assert_eq!(guards[1].own_page(), "http://localhost:80/");
        assert_eq!(guards[0].access(), format!("?token={}", tokens[0]));
    }

    #[test]
    fn requests_of_other_sites_are_recognised() {
        let guard = guard_of("127.0.0.1", "127.0.0.1", &["hub.example.org"]);
        let check = |pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            guard.check_site(&pairs.iter().map(pair).collect::<HeaderMap>()).is_ok()
        };
        let host = ("host", "localhost:80");
        assert!(check(&[host]) && check(&[host, ("sec-fetch-site", "none")]));
        assert!(check(&[host, ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:80")]));
        // The origin of a page behind a proxy that replaces the host, or keeps it.
        assert!(check(&[host, ("origin", "https://hub.example.org")]));
        assert!(check(&[("host", "hub.example.org:8000"), ("origin", "http://hub.example.org:8000")]));
        for site in ["cross-site", "same-site", ""] {
            assert!(!check(&[host, ("sec-fetch-site", site), ("origin", "https://hub.example.org")]), "{site}");
        }
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:81",
            "http://example.com",
            "https://hub.example.org.example.com",
            "ftp://hub.example.org",
            "https://hub.example.org/",
            "localhost:80",
            "",
        ] {
            // A header of proxies, which any program may send, does not matter.
            assert!(!check(&[host, ("origin", origin), ("x-forwarded-host", "example.com")]), "{origin}");
        }
    }
}
