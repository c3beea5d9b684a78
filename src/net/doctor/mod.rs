//! Examines a server step by step: name, port, TLS, HTTP/2, variants, reflection.

mod http2;
mod variants;

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::dial::{self, Dial};
use super::reflection;
use super::tls;
use crate::net::transport::{Address, Leg};
use http2::PrefaceAnswer;
use xdscope_sources::observe::ConnectStep as Reached;
use xdscope_wire::discovery::encode::NodeFields;
use xdscope_wire::{Certificate, Secured, date};

/// The server to examine, and the identity to use.
pub struct DoctorTarget<'a> {
    pub address: &'a Address,
    /// `None`: plaintext.
    pub tls: Option<&'a tls::ClientTls>,
    pub authority: Option<&'a str>,
    /// Headers to add to each request.
    pub headers: &'a [(String, String)],
    pub node_id: &'a str,
    /// The timeout of each step.
    pub timeout: Duration,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ok,
    /// The server does not have it, which is not a fault.
    None,
    Failed,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::None => "none",
            State::Failed => "failed",
        }
    }
}

/// A step of the examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorStep {
    pub name: &'static str,
    pub state: State,
    /// The findings, a line each.
    pub lines: Vec<String>,
    pub took: Option<Duration>,
    /// A flag or a change that may help.
    pub next: Option<String>,
}

impl DoctorStep {
    fn new(name: &'static str, state: State, line: impl Into<String>) -> DoctorStep {
        DoctorStep { name, state, lines: vec![line.into()], took: None, next: None }
    }

    fn failed(name: &'static str, line: impl Into<String>, next: Option<&str>) -> DoctorStep {
        DoctorStep { next: next.map(str::to_owned), ..DoctorStep::new(name, State::Failed, line) }
    }

    fn took(self, begun: Instant) -> DoctorStep {
        DoctorStep { took: Some(begun.elapsed()), ..self }
    }
}

const TLS_HINT: &str = "https:// before the address, with --cacert FILE or --insecure";
const PLAINTEXT_HINT: &str = "--plaintext";
const OTHER_PORT_HINT: &str = "use another port: xDS needs gRPC over HTTP/2";

impl DoctorTarget<'_> {
    /// Performs the steps, up to the first failure that makes the next step impossible.
    ///
    /// # Errors
    /// The runtime cannot start.
    pub fn examine(&self) -> io::Result<Vec<DoctorStep>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut steps = Vec::new();
        runtime.block_on(self.walk(&mut steps));
        // Do not wait for a name that is still being resolved.
        runtime.shutdown_background();
        Ok(steps)
    }

    /// Returns `None` if a step failed.
    async fn walk(&self, steps: &mut Vec<DoctorStep>) -> Option<()> {
        let leg = self.reach(steps).await?;
        let (leg, seen) = self.secure(leg, steps).await?;
        self.greet(leg, seen.as_ref(), steps).await?;
        let dial =
            Dial { address: self.address, tls: self.tls, authority: self.authority, timeout: self.timeout };
        let metadata = match dial::metadata(self.headers) {
            Ok(metadata) => metadata,
            Err(error) => {
                steps.push(DoctorStep::failed("headers", error.to_string(), Some("-H 'name: value'")));
                return None;
            }
        };
        let channel = match dial.connect(|endpoint| endpoint).await {
            Ok((channel, _)) => channel,
            Err(error) => {
                steps.push(DoctorStep::failed("gRPC", error.what, error.next.as_deref()));
                return None;
            }
        };
        let node = NodeFields { id: self.node_id, user_agent_name: "xdscope", ..NodeFields::default() };
        steps.extend(variants::ask(&channel, &metadata, &node.encode(), self.timeout).await);
        let server = reflection::Server {
            address: self.address,
            tls: self.tls,
            authority: self.authority,
            headers: self.headers,
            timeout: self.timeout,
        };
        steps.push(match server.services(channel).await {
            Ok((version, count)) => {
                DoctorStep::new("reflection", State::Ok, format!("{version}, {count} services"))
            }
            Err(status) if status.code() == tonic::Code::Unimplemented => {
                let step = DoctorStep::new("reflection", State::None, "neither v1 nor v1alpha");
                DoctorStep { next: Some("--protoset FILE for types that are not built in".into()), ..step }
            }
            Err(status) => DoctorStep::failed("reflection", dial::causes(&status), None),
        });
        Some(())
    }

    async fn reach(&self, steps: &mut Vec<DoctorStep>) -> Option<Leg> {
        let begun = Instant::now();
        if let Address::Tcp(name) = self.address {
            let found = tokio::time::timeout(self.timeout, tokio::net::lookup_host(name)).await;
            let mut all: Vec<String> = match found {
                Ok(Ok(found)) => found.map(|address| address.ip().to_string()).collect(),
                Ok(Err(error)) => {
                    let next = Some("the name as the server's own machine knows it, or an address");
                    steps.push(DoctorStep::failed("name", error.to_string(), next).took(begun));
                    return None;
                }
                Err(_) => {
                    let line = format!("no answer in {:?}", self.timeout);
                    steps.push(DoctorStep::failed("name", line, Some("an address instead")).took(begun));
                    return None;
                }
            };
            all.dedup();
            steps.push(DoctorStep::new("name", State::Ok, all.join(", ")).took(begun));
        }
        let begun = Instant::now();
        match Leg::connect(self.address, self.timeout).await {
            Ok(leg) => {
                steps.push(DoctorStep::new("port", State::Ok, "open").took(begun));
                Some(leg)
            }
            Err((at, error)) => {
                let name = if at == Reached::Resolve { "name" } else { "port" };
                let next = match error.kind() {
                    io::ErrorKind::ConnectionRefused => "check that the server is up: nothing listens there",
                    io::ErrorKind::TimedOut => "a firewall, or --connect-timeout TIME",
                    io::ErrorKind::NotFound => "unix:/path of an existing socket",
                    _ => "another address",
                };
                steps.push(DoctorStep::failed(name, error.to_string(), Some(next)).took(begun));
                None
            }
        }
    }

    async fn secure(&self, leg: Leg, steps: &mut Vec<DoctorStep>) -> Option<(Leg, Option<Secured>)> {
        let Some(client) = self.tls else {
            steps.push(DoctorStep::new(
                "TLS",
                State::None,
                "plaintext, as requested or by default on this machine",
            ));
            return Some((leg, None));
        };
        let begun = Instant::now();
        let alpn = [b"h2".to_vec()];
        let handshake = client.connect(leg, self.address.host(), None, &alpn);
        match tokio::time::timeout(self.timeout, handshake).await {
            Ok(Ok((stream, seen))) => {
                let mut lines = vec![match &seen.alpn {
                    Some(alpn) => format!("{}, ALPN {alpn}", seen.version),
                    None => format!("{}, no ALPN; some clients require h2", seen.version),
                }];
                lines.extend(seen.server.iter().flat_map(described));
                let chain = tls::chain(&stream);
                lines.extend(chain.iter().map(|above| format!("chain  {}", above.subject)));
                if seen.unverified {
                    lines.push("not verified (--insecure)".into());
                }
                if seen.is_client_certificate_requested {
                    let own = seen.client.as_ref().map_or("none was sent".into(), |own| own.name());
                    lines.push(format!("the server requests a client certificate: {own}"));
                }
                steps.push(DoctorStep { lines, ..DoctorStep::new("TLS", State::Ok, "") }.took(begun));
                Some((Leg::Tls(Box::new(stream)), Some(seen)))
            }
            Ok(Err(failure)) => {
                let mut step = DoctorStep::failed("TLS", failure.what, failure.next.as_deref()).took(begun);
                match &failure.seen.server {
                    Some(certificate) => step.lines.extend(described(certificate)),
                    None => self.without_tls(&mut step).await,
                }
                steps.push(step);
                None
            }
            Err(_) => {
                let line = format!("no answer to the handshake in {:?}", self.timeout);
                let mut step = DoctorStep::failed("TLS", line, Some(PLAINTEXT_HINT)).took(begun);
                self.without_tls(&mut step).await;
                steps.push(step);
                None
            }
        }
    }

    /// Checks for a plaintext server after TLS failed without a certificate.
    async fn without_tls(&self, step: &mut DoctorStep) {
        let Ok(mut leg) = Leg::connect(self.address, self.timeout).await else { return };
        let (line, next) = match http2::greet(&mut leg, self.timeout).await {
            PrefaceAnswer::Http2(_) => ("the server speaks HTTP/2 in plaintext", PLAINTEXT_HINT),
            PrefaceAnswer::Http1(_) => ("the server speaks HTTP/1 in plaintext", OTHER_PORT_HINT),
            _ => return,
        };
        step.lines.push(line.into());
        step.next = Some(next.into());
    }

    async fn greet(&self, mut leg: Leg, seen: Option<&Secured>, steps: &mut Vec<DoctorStep>) -> Option<()> {
        let begun = Instant::now();
        let answer = http2::greet(&mut leg, self.timeout).await;
        let failed = |line: String, next: Option<&str>| DoctorStep::failed("HTTP/2", line, next).took(begun);
        let step = match answer {
            PrefaceAnswer::Http2(trips) => {
                let middle = trips.get(trips.len() / 2).copied().unwrap_or_default();
                let least = trips.first().copied().unwrap_or_default();
                let line = format!("round trip {} (least {})", millis(middle), millis(least));
                steps.push(DoctorStep::new("HTTP/2", State::Ok, line).took(begun));
                return Some(());
            }
            PrefaceAnswer::Http1(line) => failed(format!("an HTTP/1 port: `{line}`"), Some(OTHER_PORT_HINT)),
            PrefaceAnswer::Tls => failed("the server speaks TLS".into(), Some(TLS_HINT)),
            PrefaceAnswer::Other(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                failed(format!("neither HTTP/2 nor HTTP/1 nor TLS: `{text}`"), Some(OTHER_PORT_HINT))
            }
            PrefaceAnswer::Broken(_) | PrefaceAnswer::Closed
                if seen.is_some_and(|seen| seen.is_client_certificate_requested && seen.client.is_none()) =>
            {
                // The server's alert says so, if it has arrived.
                let line = "client certificate required: the server requests one and none was sent";
                failed(line.into(), Some("--cert FILE --key FILE"))
            }
            PrefaceAnswer::Broken(error) => match seen.and_then(|seen| tls::broken(&error, seen)) {
                Some(line) => failed(line, Some("--cert FILE --key FILE")),
                None => self.perhaps_tls(failed(format!("the connection broke: {error}"), None)).await,
            },
            PrefaceAnswer::Closed => {
                self.perhaps_tls(failed("the server closed the connection".into(), None)).await
            }
            PrefaceAnswer::Silent => {
                let line = format!("no answer from the server in {:?}", self.timeout);
                self.perhaps_tls(failed(line, None)).await
            }
        };
        steps.push(step);
        None
    }

    /// Checks for a TLS server after HTTP/2 failed in plaintext.
    async fn perhaps_tls(&self, mut step: DoctorStep) -> DoctorStep {
        if self.tls.is_some() {
            return step;
        }
        let any = tls::ClientTls::load(&tls::ClientOptions { insecure: true, ..Default::default() });
        let (Ok(any), Ok(leg)) = (any, Leg::connect(self.address, self.timeout).await) else { return step };
        let alpn = [b"h2".to_vec()];
        let shown = any.connect(leg, self.address.host(), None, &alpn);
        let certificate = match tokio::time::timeout(self.timeout, shown).await {
            Ok(Ok((_, seen))) => seen.server,
            Ok(Err(failure)) => failure.seen.server,
            Err(_) => None,
        };
        if let Some(certificate) = certificate {
            step.lines.push("the server speaks TLS".into());
            step.lines.extend(described(&certificate));
            step.next = Some(TLS_HINT.into());
        }
        step
    }
}

/// Returns names, issuer and expiry of a certificate.
fn described(certificate: &Certificate) -> [String; 3] {
    let names = match certificate.names.is_empty() {
        true => format!("{} (no alternative names)", certificate.subject),
        false => certificate.names.join(", "),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let left = certificate.not_after.saturating_sub(i64::try_from(now).unwrap_or(i64::MAX));
    let days = left / (24 * 60 * 60);
    let until = date(certificate.not_after);
    let ends = if left < 0 { format!("expired on {until}") } else { format!("until {until}, {days} days") };
    [format!("certificate for {names}"), format!("issued by {}", certificate.issuer), ends]
}

fn millis(time: Duration) -> String {
    format!("{:.2}ms", time.as_secs_f64() * 1000.0)
}
