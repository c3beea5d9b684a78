//! The steps from an address to an HTTP/2 channel: name, port, TLS, HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tonic::Status;
use tonic::metadata::{MetadataKey, MetadataMap};
use tonic::transport::{Channel, Endpoint};

use super::sniff::{FirstBytes, NotHttp2, Sniffed};
use super::tls;
use crate::net::kubectl::Failure;
use crate::net::transport::{Address, Leg};
use xdscope_present::text::shell_word;
use xdscope_sources::observe::ConnectStep;
use xdscope_wire::Secured;

/// A server and the settings of connections to it.
pub(super) struct Dial<'a> {
    pub address: &'a Address,
    /// `None`: plaintext.
    pub tls: Option<&'a tls::ClientTls>,
    /// The HTTP/2 `:authority` to use instead of the address.
    pub authority: Option<&'a str>,
    /// The timeout of each step.
    pub timeout: Duration,
}

/// The step of connecting that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DialError {
    pub what: String,
    /// The steps so far, the failed one last.
    pub tried: Vec<String>,
    /// A flag or command that may help.
    pub next: Option<String>,
    /// The facts of the TLS handshake, if there was one.
    pub secured: Option<Arc<Secured>>,
}

impl DialError {
    pub(super) fn new(what: String, tried: &[&str], next: Option<String>) -> DialError {
        let tried = tried.iter().map(|step| (*step).to_owned()).collect();
        DialError { what, tried, next, secured: None }
    }
}

/// The command that examines the server further.
fn doctor(address: &Address) -> Option<String> {
    Some(format!("xdscope doctor {}", shell_word(&address.to_string())))
}

const TLS_HINT: &str = "https:// before the address: the server speaks TLS";
const OTHER_PORT_HINT: &str = "use another port: xDS needs gRPC over HTTP/2";

impl Dial<'_> {
    /// Resolves the name, connects, and performs the TLS handshake with the protocol `alpn`.
    pub(super) async fn leg(&self, alpn: &[u8]) -> Result<(Leg, Option<Arc<Secured>>), DialError> {
        let address = self.address;
        let leg = match Leg::connect(address, self.timeout).await {
            Ok(leg) => leg,
            Err((_, error)) if matches!(address, Address::Pod(_)) => {
                return Err(not_forwarded(address, &error));
            }
            Err((step, error)) => {
                let tried: &[&str] =
                    if step == ConnectStep::Resolve { &["name"] } else { &["name ok", "port"] };
                return Err(DialError::new(format!("cannot reach {address}: {error}"), tried, None));
            }
        };
        let Some(client) = self.tls else { return Ok((leg, None)) };
        let alpn = [alpn.to_vec()];
        let handshake = client.connect(leg, address.host(), None, &alpn);
        let tried = &["name ok", "port ok", "TLS handshake"];
        match tokio::time::timeout(self.timeout, handshake).await {
            Ok(Ok((stream, seen))) => Ok((Leg::Tls(Box::new(stream)), Some(Arc::new(seen)))),
            Ok(Err(failure)) => {
                let what = format!("cannot reach {address}: TLS failed, {}", failure.what);
                let secured = Some(Arc::new(*failure.seen));
                Err(DialError { secured, ..DialError::new(what, tried, failure.next) })
            }
            Err(_) => {
                let what = format!("cannot reach {address}: TLS failed, no answer in {:?}", self.timeout);
                Err(DialError::new(what, tried, Some("--plaintext".into())))
            }
        }
    }

    /// Waits until the server has shown that it speaks HTTP/2, while another task reads.
    pub(super) async fn wait_for_http2(
        &self,
        first: &FirstBytes,
        secured: Option<&Secured>,
    ) -> Result<(), DialError> {
        let Err(instead) = first.wait_for_http2(self.timeout).await else { return Ok(()) };
        let address = self.address;
        let alert = match &instead {
            NotHttp2::Broken(error) => secured.and_then(|seen| tls::broken(error, seen)),
            _ => None,
        };
        let (what, next) = match instead {
            _ if alert.is_some() => (alert.unwrap_or_default(), None),
            NotHttp2::Http1(line) => (format!("an HTTP/1 port: `{line}`"), Some(OTHER_PORT_HINT.to_owned())),
            NotHttp2::Tls => ("the server speaks TLS".into(), Some(TLS_HINT.to_owned())),
            NotHttp2::Other(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                (format!("neither HTTP/2 nor HTTP/1 nor TLS: `{text}`"), Some(OTHER_PORT_HINT.to_owned()))
            }
            NotHttp2::Closed | NotHttp2::Broken(_)
                if secured
                    .is_some_and(|seen| seen.is_client_certificate_requested && seen.client.is_none()) =>
            {
                // The server's alert says so, if it has arrived.
                let text = "client certificate required: the server requests one and none was sent";
                (text.into(), Some("--cert FILE --key FILE".to_owned()))
            }
            NotHttp2::Closed => ("the server closed the connection".into(), doctor(address)),
            NotHttp2::Broken(error) => (format!("the connection broke: {error}"), doctor(address)),
            NotHttp2::Silent(time) => (format!("no answer from the server in {time:?}"), doctor(address)),
        };
        let tls = if self.tls.is_some() { Some("TLS ok") } else { None };
        let tried: Vec<&str> = ["name ok", "port ok"].into_iter().chain(tls).chain(["HTTP/2"]).collect();
        let what = format!("cannot reach {address}: HTTP/2 failed, {what}");
        Err(DialError {
            secured: secured.map(|seen| Arc::new(seen.clone())),
            ..DialError::new(what, &tried, next)
        })
    }

    /// The name that requests are addressed to.
    pub(super) fn authority(&self) -> &str {
        self.authority.unwrap_or(match self.address {
            Address::Tcp(text) => text,
            Address::Unix(_) | Address::Pod(_) => "localhost",
        })
    }

    /// The scheme and authority that requests are addressed to.
    pub(super) fn origin(&self) -> Result<http::Uri, DialError> {
        let authority = self.authority();
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{authority}").parse::<http::Uri>().map_err(|_| {
            let what = format!("not an authority: `{authority}`");
            DialError::new(what, &[], Some("--authority HOST:PORT".into()))
        })
    }

    /// Connects and returns a channel. `with` sets options of the channel.
    pub(super) async fn connect(
        &self,
        with: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Result<(Channel, Option<Arc<Secured>>), DialError> {
        let address = self.address;
        let (leg, secured) = self.leg(b"h2").await?;
        let (heard, first) = Sniffed::new(leg);
        let origin = self.origin()?;
        let mut leg = Some(heard);
        let connector = tower::service_fn(move |_: http::Uri| {
            let leg = leg.take().map(TokioIo::new);
            async move { leg.ok_or_else(|| std::io::Error::other("the connection was lost")) }
        });
        // Tonic does not use this address: the connection exists already.
        let endpoint = Endpoint::from_static("http://localhost").origin(origin);
        let channel = with(endpoint).connect_with_connector(connector).await;
        let channel = channel.map_err(|error| {
            DialError::new(format!("cannot reach {address}: {error}"), &["port ok", "HTTP/2"], None)
        })?;
        self.wait_for_http2(&first, secured.as_deref()).await?;
        Ok((channel, secured))
    }
}

/// The error of a port of a pod, in the words of kubectl.
fn not_forwarded(address: &Address, error: &std::io::Error) -> DialError {
    let words = address.mend().map(|words| format!("; kubectl: {words}")).unwrap_or_default();
    let failure = error.get_ref().and_then(|error| error.downcast_ref::<Failure>());
    let lacking = failure.and_then(|failure| failure.right.as_ref());
    let lacking = lacking.map(|right| format!("; this user lacks {right}")).unwrap_or_default();
    let what = format!("cannot reach {address}: {error}{words}{lacking}");
    DialError::new(what, &["forward"], failure.and_then(Failure::next))
}

/// Converts headers to gRPC metadata.
pub(super) fn metadata(headers: &[(String, String)]) -> Result<MetadataMap, HeaderError> {
    let mut out = MetadataMap::new();
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let key = MetadataKey::from_bytes(lower.as_bytes()).map_err(|_| match lower.ends_with("-bin") {
            true => HeaderError::Binary(name.clone()),
            false => HeaderError::Name(name.clone()),
        })?;
        let value = value.parse().map_err(|_| HeaderError::Value(name.clone()))?;
        out.append(key, value);
    }
    Ok(out)
}

/// A header that cannot be sent. Never contains the value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("not the name of a text header: `{0}`")]
    Name(String),
    #[error("not the name of a text header: `{0}`; headers that end in -bin are binary")]
    Binary(String),
    #[error("the value of `{0}` has characters other than visible ASCII")]
    Value(String),
}

/// Returns the message of a status with the causes that the message leaves out.
pub(super) fn causes(status: &Status) -> String {
    let mut what = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let text = error.to_string();
        if !what.contains(&text) {
            what.push_str(if what.is_empty() { "" } else { ": " });
            what.push_str(&text);
        }
        cause = error.source();
    }
    what
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_command_quotes_a_path_for_the_shell() {
        let command = |address: &str| doctor(&address.parse().unwrap()).unwrap();
        assert_eq!(command("cp.mesh:15010"), "xdscope doctor cp.mesh:15010");
        assert_eq!(command("unix:/run/my xds.sock"), "xdscope doctor 'unix:/run/my xds.sock'");
    }
}
