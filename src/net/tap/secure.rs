//! The steps from an accepted client to two legs that can be relayed: TLS on either side, and
//! failures that the client must be told.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::context::RelayContext;
use crate::net::tls::{self, Failure};
use crate::net::transport::ClientProtocol;
use crate::net::transport::answer;
use crate::net::transport::{Address, Leg};
use xdscope_sources::observe::{ConnId, ConnectStep, TapEvent};
use xdscope_wire::Secured;
use xdscope_wire::event::Side;

/// The hint for clients whose headers cannot be changed.
pub(super) const PASSES_UNCHANGED: &str = "omit -H and --authority to pass it unchanged";

/// An accepted client and the settings of the tap.
pub(super) struct Handshakes<'a> {
    pub conn: ConnId,
    pub upstream: &'a Address,
    pub shared: &'a RelayContext,
}

/// Both ends of a connection, ready to be relayed.
pub(super) struct Legs {
    pub client: Leg,
    pub server: Leg,
    /// The facts of the upstream's handshake.
    pub server_tls: Option<Arc<Secured>>,
}

/// Requests of a client in its ClientHello.
struct ClientHello<'a> {
    sni: Option<&'a str>,
    alpn: &'a [Vec<u8>],
}

impl Handshakes<'_> {
    /// Connects to the upstream and performs the TLS handshakes.
    ///
    /// Failures are reported, to the client too, and return `None`.
    pub(super) async fn legs(&self, client: Leg) -> Option<Legs> {
        let tls = &self.shared.tls;
        let is_dialled = tls.local || !self.upstream.is_local();
        let dial = if is_dialled { tls.upstream.as_deref() } else { None };
        let legs = match (tls.listen.as_deref(), dial) {
            // Reads nothing before there is an upstream to pass it to.
            (None, None) => {
                let server = self.connect().await?;
                Legs { client, server, server_tls: None }
            }
            (listen, dial) => self.secure(client, listen, dial).await?,
        };
        match self.shared.changes {
            None => Some(legs),
            Some(_) => Some(Legs { client: self.http2(legs.client).await?, ..legs }),
        }
    }

    /// Returns the protocol of the client's first bytes. Reports a client that leaves before.
    async fn client_protocol(&self, client: Leg) -> Option<(ClientProtocol, Leg)> {
        match client.first().await {
            Ok(Some((first, client))) => Some((answer::client_protocol(&first), client)),
            Ok(None) => self.client_left(None),
            Err(error) => self.client_left(Some(error)),
        }
    }

    /// Returns a client whose headers can be changed. Refuses other clients.
    async fn http2(&self, client: Leg) -> Option<Leg> {
        let (protocol, client) = self.client_protocol(client).await?;
        let (what, next) = match protocol {
            ClientProtocol::Http2 => return Some(client),
            ClientProtocol::Tls => {
                ("TLS through the tap, which cannot read it", "--listen-cert FILE --listen-key FILE")
            }
            ClientProtocol::Http1 => ("HTTP/1.1, not HTTP/2", PASSES_UNCHANGED),
            ClientProtocol::Other => ("another protocol than HTTP/2", PASSES_UNCHANGED),
        };
        let (what, next) = (format!("the client speaks {what}"), Some(next.to_owned()));
        let why = self.failed(ConnectStep::Headers, &Failure { what, next, seen: Box::default() });
        match protocol {
            ClientProtocol::Tls => answer::alert(client).await,
            _ => answer::refuse(client, &why).await,
        }
        None
    }

    /// Handles a client of a plaintext listener.
    async fn plaintext(
        &self,
        client: Leg,
        protocol: ClientProtocol,
        dial: Option<&tls::ClientTls>,
    ) -> Option<Legs> {
        if protocol == ClientProtocol::Tls {
            let what = "the client spoke TLS, and this listener is plaintext".to_owned();
            let next = Some("--listen-cert FILE --listen-key FILE, or a client in plaintext".to_owned());
            self.failed(ConnectStep::Accept, &Failure { what, next, seen: Box::default() });
            answer::alert(client).await;
            return None;
        }
        let alpn: &[u8] = if protocol == ClientProtocol::Http1 { b"http/1.1" } else { b"h2" };
        let hello = ClientHello { sni: None, alpn: &[alpn.to_vec()] };
        let server = self.connect().await?;
        match self.dial(server, dial, hello).await {
            Ok((server, server_tls)) => Some(Legs { client, server, server_tls }),
            Err(failure) => self.refused(client, ConnectStep::Tls, &failure).await,
        }
    }

    /// Reports a failed step, to the client too.
    async fn refused<T>(&self, client: Leg, step: ConnectStep, failure: &Failure) -> Option<T> {
        answer::refuse(client, &self.failed(step, failure)).await;
        None
    }

    async fn secure(
        &self,
        client: Leg,
        listen: Option<&tls::Server>,
        dial: Option<&tls::ClientTls>,
    ) -> Option<Legs> {
        let (protocol, client) = self.client_protocol(client).await?;
        let Some(listen) = listen else { return self.plaintext(client, protocol, dial).await };
        if protocol != ClientProtocol::Tls {
            let what = "the client spoke plaintext, and this listener requires TLS".to_owned();
            let next = Some("use TLS in the client, or omit --listen-cert".to_owned());
            let failure = Failure { what, next, seen: Box::default() };
            return self.refused(client, ConnectStep::Accept, &failure).await;
        }
        // Each step is boxed: a client that waits in one takes no memory for the others.
        let hello = self.with_timeout(Side::Client, Box::pin(listen.hello(client))).await;
        let hello = match hello {
            Ok(hello) => hello,
            Err(failure) => {
                self.failed(ConnectStep::Accept, &failure);
                return None;
            }
        };
        let server = self.connect().await?;
        let (sni, offered) = (hello.sni.clone(), hello.alpn.clone());
        let client_hello = ClientHello { sni: sni.as_deref(), alpn: &offered };
        let found = self.dial(server, dial, client_hello).await;
        let agreed = agreed_protocol(found.as_ref().ok().and_then(|(_, facts)| facts.as_deref()), &offered);
        let accepting = Box::pin(listen.accept(hello, agreed));
        let client = match self.with_timeout(Side::Client, accepting).await {
            Ok((client, facts)) => {
                self.report_tls(Side::Client, facts);
                Leg::Tls(Box::new(client))
            }
            Err(failure) => {
                self.report_tls(Side::Client, Secured::clone(&failure.seen));
                match &found {
                    Ok(_) => self.failed(ConnectStep::Accept, &failure),
                    Err(first) => self.failed(ConnectStep::Tls, first),
                };
                return None;
            }
        };
        match found {
            Ok((server, server_tls)) => Some(Legs { client, server, server_tls }),
            // Reported last: the report of a failure ends the connection, and the client's
            // handshake is known now.
            Err(failure) => self.refused(client, ConnectStep::Tls, &failure).await,
        }
    }

    async fn connect(&self) -> Option<Leg> {
        match Leg::connect(self.upstream, self.shared.timeout).await {
            Ok(server) => Some(server),
            Err((step, error)) => {
                self.shared.reporter.report(self.conn, TapEvent::Failed { step, error: error.to_string() });
                None
            }
        }
    }

    /// Connects to the upstream, with TLS if `dial` is set. The caller reports failures.
    async fn dial(
        &self,
        server: Leg,
        dial: Option<&tls::ClientTls>,
        hello: ClientHello<'_>,
    ) -> Result<(Leg, Option<Arc<Secured>>), Failure> {
        let Some(dial) = dial else { return Ok((server, None)) };
        let host = self.upstream.host();
        // A client that dials the tap as `localhost` does not mean a server elsewhere by that name.
        let sni = hello.sni.filter(|sni| *sni != "localhost" || self.upstream.is_local());
        let dialing = Box::pin(dial.connect(server, host, sni, hello.alpn));
        match self.with_timeout(Side::Server, dialing).await {
            Ok((server, facts)) => {
                let facts = self.report_tls(Side::Server, facts);
                Ok((Leg::Tls(Box::new(server)), Some(facts)))
            }
            Err(failure) => {
                self.report_tls(Side::Server, Secured::clone(&failure.seen));
                Err(failure)
            }
        }
    }

    /// Applies the timeout of connecting to a handshake.
    async fn with_timeout<T>(
        &self,
        peer: Side,
        handshake: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let timeout: Duration = self.shared.timeout;
        tokio::time::timeout(timeout, handshake).await.unwrap_or_else(|_| {
            let error = io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {timeout:?}"));
            Err(Failure::of_handshake(peer, &error, Secured::default()))
        })
    }

    fn report_tls(&self, side: Side, facts: Secured) -> Arc<Secured> {
        let facts = Arc::new(facts);
        self.shared.reporter.report(self.conn, TapEvent::Secured { side, facts: facts.clone() });
        facts
    }

    /// Reports a client that left before there was anything to relay.
    fn client_left<T>(&self, error: Option<io::Error>) -> Option<T> {
        let by = error.is_some().then_some(Side::Client);
        self.shared
            .reporter
            .report(self.conn, TapEvent::Closed { by, error: error.map(|error| error.to_string()) });
        None
    }

    /// Reports a failed step. Returns the message for the client.
    fn failed(&self, step: ConnectStep, failure: &Failure) -> String {
        let error = failure.to_string();
        self.shared.reporter.report(self.conn, TapEvent::Failed { step, error: error.clone() });
        match step {
            ConnectStep::Accept => format!("xdscope tap: {error}"),
            ConnectStep::Headers => format!("xdscope tap: {} failed: {error}", step.word()),
            step => format!("xdscope tap: {} {} failed: {error}", step.word(), self.upstream),
        }
    }
}

/// Returns the protocol to agree on with a client: the choice of an upstream with TLS, otherwise
/// the client's first offer that a tap can pass on.
fn agreed_protocol(upstream: Option<&Secured>, offered: &[Vec<u8>]) -> Option<Vec<u8>> {
    match upstream {
        Some(facts) => facts.alpn.as_ref().map(|alpn| alpn.clone().into_bytes()),
        None => offered.iter().find(|alpn| [&b"h2"[..], b"http/1.1"].contains(&alpn.as_slice())).cloned(),
    }
}
