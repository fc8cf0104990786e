//! The names and addresses by which clients reach a server.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

/// The longest name of a host, in bytes.
const MAX_NAME_BYTES: usize = 253;

/// The name or the address of a host, without a port and in lower case.
///
/// ```
/// use sternhalma_server::HostName;
///
/// let name: HostName = "Board.example.org.".parse()?;
/// assert_eq!(name.to_string(), "board.example.org");
/// assert!("https://board.example.org/".parse::<HostName>().is_err());
/// # Ok::<(), sternhalma_server::ParseHostError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostName(Host);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Host {
    Name(String),
    Ip(IpAddr),
}

/// A text is not the name of a host.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("expected the name of a host, such as `board.example.org`, without `http://`, port or path; got `{text}`")]
pub struct ParseHostError {
    text: String,
}

impl HostName {
    /// Parses the value of a `Host` header, or the part of an origin after `//`: a host and perhaps a port.
    pub fn of_authority(text: &str) -> Option<HostName> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok();
        let has_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        // Only an address of version 6 is in brackets.
        let is_bare = !text.starts_with('[') || name.parse::<Ipv6Addr>().is_ok();
        (has_port && is_bare).then(|| name.parse().ok()).flatten()
    }

    /// Returns the address, if it is no name.
    pub fn ip(&self) -> Option<IpAddr> {
        if let Host::Ip(ip) = self.0 { Some(ip) } else { None }
    }

    /// Returns whether the name or the address stands for the machine itself.
    pub fn is_loopback(&self) -> bool {
        match &self.0 {
            Host::Name(name) => name == "localhost",
            Host::Ip(ip) => ip.is_loopback(),
        }
    }
}

/// Prints the host as it is written in a URL: an address of version 6 in brackets.
impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Host::Name(name) => f.write_str(name),
            Host::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl FromStr for HostName {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<HostName, ParseHostError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Ok(HostName::from(ip));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_part = |part: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&part.len()) && part.bytes().all(is_letter)
        };
        if name.len() <= MAX_NAME_BYTES && name.split('.').all(is_part) {
            Ok(HostName(Host::Name(name.to_ascii_lowercase())))
        } else {
            Err(ParseHostError { text: text.to_owned() })
        }
    }
}

impl From<IpAddr> for HostName {
    fn from(ip: IpAddr) -> HostName {
        HostName(Host::Ip(ip.to_canonical()))
    }
}

/// Returns the hosts by which other machines reach a server that listens at an address. For an address that stands for
/// all those of the machine, these are the addresses of its network interfaces.
pub fn other_hosts(bound: &HostName, listening: SocketAddr) -> Vec<HostName> {
    let ip = listening.ip();
    if ip.to_canonical().is_loopback() {
        return Vec::new();
    }
    if !ip.is_unspecified() {
        return vec![bound.clone()];
    }
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    shareable(interfaces.into_iter().map(|interface| interface.ip()), ip)
}

/// Returns the addresses of interfaces at which other machines reach a server that listens at all of them.
fn shareable(interfaces: impl Iterator<Item = IpAddr>, listening: IpAddr) -> Vec<HostName> {
    let mut found: Vec<IpAddr> = interfaces.filter(is_shareable).collect();
    found.retain(|found| found.is_ipv4() || listening.is_ipv6());
    // Addresses of version 4 are shorter.
    found.sort();
    found.dedup();
    found.into_iter().map(HostName::from).collect()
}

/// Returns whether an address has the same meaning on another machine of the network.
fn is_shareable(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_hosts() {
        for (text, printed) in [
            ("localhost", "localhost"),
            ("Board.LAN.", "board.lan"),
            ("my_pc-2", "my_pc-2"),
            ("10.0.0.7", "10.0.0.7"),
            ("::1", "[::1]"),
            ("[fe80::1]", "[fe80::1]"),
            ("::ffff:10.0.0.7", "10.0.0.7"),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap().to_string(), printed);
        }
        let long = "a.".repeat(127) + "a";
        for text in
            ["", ".", "a..b", "http://a", "a:80", "a/b", "a b", "*.a", "ä", "[::1", "[a]", &long, &"a".repeat(64)]
        {
            let error = text.parse::<HostName>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("got `{text}`")), "{error}");
        }
    }

    #[test]
    fn the_hosts_of_headers_may_have_a_port() {
        let host = |text: &str| HostName::of_authority(text).map(|host| host.to_string());
        assert_eq!(host("Localhost.:80").as_deref(), Some("localhost"));
        assert_eq!(host("[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!(host("127.0.0.1").as_deref(), Some("127.0.0.1"));
        for text in ["", ":80", "a:x", "a:+80", "a:99999", "[::1", "[::1]x", "[::1]80", "[a]", "[127.0.0.1]", "a:1:2"] {
            assert_eq!(host(text), None, "{text}");
        }
    }

    #[test]
    fn other_machines_use_the_bound_name_or_the_addresses_of_the_machine() {
        let others = |bound: &str, listening: &str| other_hosts(&bound.parse().unwrap(), listening.parse().unwrap());
        assert_eq!(others("localhost", "127.0.0.1:80"), []);
        assert_eq!(others("::1", "[::1]:80"), []);
        assert_eq!(others("board.lan", "10.0.0.7:80"), ["board.lan".parse().unwrap()]);
        let interfaces = ["127.0.0.1", "10.0.0.7", "10.0.0.7", "fe80::1", "fd00::1", "169.254.0.1"];
        let interfaces = interfaces.map(|ip| ip.parse::<IpAddr>().unwrap());
        let shared = |listening: &str| shareable(interfaces.into_iter(), listening.parse().unwrap());
        let hosts = ["10.0.0.7", "fd00::1"].map(|host| host.parse::<IpAddr>().unwrap().into());
        assert_eq!(shared("0.0.0.0"), hosts[..1]);
        assert_eq!(shared("::"), hosts);
    }
}
