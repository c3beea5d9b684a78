use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::net::kubectl::Forward;
use xdscope_wire::text::without_credentials;

/// An address to listen on or connect to: `host:port` or `unix:/path`; or a port of a pod to
/// connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host (a name, an IPv4 address or a bracketed IPv6 address) and a port.
    Tcp(String),
    Unix(PathBuf),
    /// A port of a pod, behind a forward.
    Pod(Forward),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` has no port; write host:port, such as {0}:18000")]
    NoPort(String),
    #[error("`{0}` has no port number from 0 to 65535 after its last colon")]
    BadPort(String),
    #[error("`{text}` has no host; write host:port, such as 127.0.0.1:{port}")]
    NoHost { text: String, port: u16 },
    #[error("`unix:` needs a path, such as unix:/run/xds.sock")]
    NoPath,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            // gRPC also writes unix:///path.
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(AddressError::NoPath) } else { Ok(Address::Unix(path.into())) };
        }
        let text = text.strip_prefix("grpc:").unwrap_or(text);
        let text = text.strip_prefix("dns:///").or(text.strip_prefix("http://")).unwrap_or(text);
        let text = without_credentials(text);
        let (host, port) = text.rsplit_once(':').unwrap_or(("", &text));
        match port.parse::<u16>() {
            Ok(port) if host.is_empty() => Err(AddressError::NoHost { port, text }),
            Ok(_) => Ok(Address::Tcp(text)),
            Err(_) if text.contains(':') => Err(AddressError::BadPort(text)),
            Err(_) => Err(AddressError::NoPort(text)),
        }
    }
}

impl Address {
    /// Parses an address to listen on. A port without a host is one of the loopback interface:
    /// `8080` and `:8080`.
    ///
    /// # Errors
    ///
    /// The text is neither an address nor a port.
    pub fn listen(text: &str) -> Result<Address, AddressError> {
        match text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
            Ok(port) => Ok(Address::Tcp(format!("127.0.0.1:{port}"))),
            Err(_) => text.parse(),
        }
    }

    /// The host without brackets; `localhost` for a unix socket.
    pub fn host(&self) -> &str {
        match self {
            Address::Unix(_) => "localhost",
            Address::Pod(forward) => &forward.target().pod,
            Address::Tcp(text) => text.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']),
        }
    }

    /// Returns whether only this machine can reach the address.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Unix(_) | Address::Pod(_) => true,
            Address::Tcp(_) => {
                let host = self.host();
                host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }
}

impl Address {
    /// Begins a forward anew that does not carry what is sent, and returns what kubectl says about
    /// it.
    pub(in crate::net) fn mend(&self) -> Option<String> {
        let Address::Pod(forward) = self else { return None };
        let words = forward.words();
        forward.restart();
        words
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(text) => f.write_str(text),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Pod(forward) => write!(f, "{}", forward.target()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses() {
        for (text, shown) in [
            ("127.0.0.1:18000", "127.0.0.1:18000"),
            ("[::1]:1", "[::1]:1"),
            ("cp.mesh:15010", "cp.mesh:15010"),
            ("unix:/run/xds.sock", "unix:/run/xds.sock"),
            ("unix:///run/xds.sock", "unix:/run/xds.sock"),
            ("grpc:cp:1", "cp:1"),
            ("http://me:pw@cp:1?token=x", "cp:1"),
            ("me:p@w@cp:1", "cp:1"),
        ] {
            assert_eq!(text.parse::<Address>().map(|a| a.to_string()), Ok(shown.into()), "{text}");
        }
        for bad in ["cp", "cp:", "cp:x", "cp:70000", ":80", "unix:", ""] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn ports_alone_listen_on_loopback() {
        for (text, shown) in
            [("8080", "127.0.0.1:8080"), (":8080", "127.0.0.1:8080"), ("0.0.0.0:80", "0.0.0.0:80")]
        {
            assert_eq!(Address::listen(text).map(|a| a.to_string()), Ok(shown.into()), "{text}");
        }
        for bad in ["70000", ":", "", "cp", ":70000"] {
            assert!(Address::listen(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shows_no_credentials_in_errors() {
        for text in ["me:pw", "me:pw@", "me:pw@cp:x", "me:pw@:1", "cp?x=pw"] {
            let error = text.parse::<Address>().expect_err(text);
            assert!(!error.to_string().contains("pw") || text == "me:pw", "{error}");
        }
    }

    #[test]
    fn tells_local_addresses() {
        for (text, local) in
            [("127.0.0.1:1", true), ("[::1]:1", true), ("localhost:1", true), ("0.0.0.0:1", false)]
        {
            assert_eq!(text.parse::<Address>().map(|a| a.is_local()), Ok(local), "{text}");
        }
    }
}
