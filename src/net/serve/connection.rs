//! A client's connection: TLS, HTTP/2, and a task for each stream.

use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::server::Builder;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use super::gather::Gather;
use super::{HANDSHAKE_TIMEOUT, ServeContext, rest, stream};
use crate::net::tls::{Failure, Server};
use crate::net::transport::{Accepted, ClientProtocol, Leg, alert, client_protocol, refuse};
use xdscope_sources::observe::{ConnId, ConnectStep, TapEvent};
use xdscope_wire::Secured;
use xdscope_wire::event::Side;

/// Response bytes that h2 buffers for each stream until the client takes them.
const SEND_BUFFER_BYTES: usize = 2 << 20;

/// The time that streams may take to see the end of their connection.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The flow-control window for requests: a request with 100,000 names takes megabytes.
const WINDOW_BYTES: u32 = 4 << 20;

/// Serves a client until it disconnects, or until `ending` changes.
pub(super) async fn serve(
    Accepted { conn, client, peer, server: own }: Accepted,
    shared: ServeContext,
    mut ending: Receiver<()>,
) {
    shared.reporter.report(conn, TapEvent::Opened { peer, server: own.to_string() });
    let Some(leg) = secure(conn, client, &shared).await else { return };
    let error = match protocol(leg).await {
        Ok(Some((ClientProtocol::Http1, leg))) => {
            let result = rest::serve(conn, leg, &shared).await;
            let error = result.err().filter(|error| !error.is_incomplete_message());
            error.map(|error| error.to_string())
        }
        Ok(Some((_, leg))) => {
            let result = streams(conn, leg, &shared, &mut ending).await;
            if matches!(result, Ok(Served::Stopped)) {
                // The end of a run is no end of its streams.
                return;
            }
            result.err().filter(|error| !is_disconnect(error)).map(|error| error.to_string())
        }
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    let by = error.is_some().then_some(Side::Client);
    shared.reporter.report(conn, TapEvent::Closed { by, error });
}

/// Waits for the first bytes of a client, which tell its protocol.
async fn protocol(client: Leg) -> io::Result<Option<(ClientProtocol, Leg)>> {
    let first = client.first().await?;
    Ok(first.map(|(first, leg)| (client_protocol(&first), leg)))
}

/// Returns whether the client has closed the connection, orderly or not.
fn is_disconnect(error: &h2::Error) -> bool {
    let kinds = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe, io::ErrorKind::UnexpectedEof];
    error.is_go_away() || error.get_io().is_some_and(|error| kinds.contains(&error.kind()))
}

/// Memory of the header fields of a request, in bytes.
const MAX_HEADER_LIST_BYTES: u32 = 64 << 10;

/// Open streams of a connection.
const MAX_STREAMS: u32 = 1024;

/// The end of a connection in HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// The client has closed the connection.
    Closed,
    /// The run ends, and the client has been told.
    Stopped,
}

async fn streams(
    conn: ConnId,
    client: Leg,
    shared: &ServeContext,
    ending: &mut Receiver<()>,
) -> Result<Served, h2::Error> {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buffer_size(SEND_BUFFER_BYTES);
    let mut connection = builder.handshake(Gather::new(client)).await?;
    let mut streams = JoinSet::new();
    let result = loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    streams.spawn(stream::serve(conn, request, respond, shared.clone()));
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(Served::Closed),
            },
            Ok(()) = ending.changed() => {
                say_goodbye(&mut connection).await;
                return Ok(Served::Stopped);
            }
            _ = streams.join_next(), if !streams.is_empty() => {}
        }
    };
    // Streams report their end before the connection does.
    drop(connection);
    let ended = async { while streams.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(END_TIMEOUT, ended).await;
    result
}

/// Polls of a connection after which a GOAWAY is in the socket, if the client reads: HTTP/2 writes
/// in one, and [`Gather`] in the next.
const GOAWAY_POLLS: usize = 4;

/// Sends a GOAWAY, so that the client knows that the server ends.
async fn say_goodbye(connection: &mut h2::server::Connection<Gather<Leg>, Bytes>) {
    connection.graceful_shutdown();
    for _ in 0..GOAWAY_POLLS {
        std::future::poll_fn(|cx| {
            // New streams end with the connection.
            let _ = connection.poll_accept(cx);
            Poll::Ready(())
        })
        .await;
        tokio::task::yield_now().await;
    }
}

/// Performs the TLS handshake, if any.
///
/// Failures are reported, to the client too, and return `None`.
async fn secure(conn: ConnId, client: Leg, shared: &ServeContext) -> Option<Leg> {
    let failed = |failure: &Failure| {
        let error = failure.to_string();
        shared.reporter.report(conn, TapEvent::Failed { step: ConnectStep::Accept, error: error.clone() });
        format!("xdscope serve: {error}")
    };
    let other = |what: &str, next: &str| Failure {
        what: what.to_owned(),
        next: Some(next.to_owned()),
        seen: Box::default(),
    };
    let (first, client) = match client.first().await {
        Ok(Some(first)) => first,
        Ok(None) => {
            shared.reporter.report(conn, TapEvent::Closed { by: None, error: None });
            return None;
        }
        Err(error) => {
            let error = Some(error.to_string());
            shared.reporter.report(conn, TapEvent::Closed { by: Some(Side::Client), error });
            return None;
        }
    };
    let protocol = client_protocol(&first);
    // Kept otherwise for as long as the handshake takes.
    drop(first);
    match (&shared.tls, protocol) {
        (None, ClientProtocol::Http2 | ClientProtocol::Http1) => Some(client),
        (None, ClientProtocol::Tls) => {
            let what = "the client spoke TLS, and this listener is plaintext";
            failed(&other(what, "--listen-cert FILE --listen-key FILE, or a client in plaintext"));
            alert(client).await;
            None
        }
        (None, _) => {
            let why =
                failed(&other("the client speaks neither HTTP/2 nor HTTP/1.1", "a gRPC or REST client"));
            refuse(client, &why).await;
            None
        }
        (Some(tls), ClientProtocol::Tls) => match handshake(tls, client).await {
            Ok((client, facts)) => {
                shared
                    .reporter
                    .report(conn, TapEvent::Secured { side: Side::Client, facts: Arc::new(facts) });
                Some(client)
            }
            Err(failure) => {
                failed(&failure);
                None
            }
        },
        (Some(_), _) => {
            let what = "the client spoke plaintext, and this listener requires TLS";
            let why = failed(&other(what, "use TLS in the client, or omit --listen-cert"));
            refuse(client, &why).await;
            None
        }
    }
}

async fn handshake(tls: &Server, client: Leg) -> Result<(Leg, Secured), Failure> {
    let agreed = async {
        let hello = tls.hello(client).await?;
        // REST clients offer HTTP/1.1, or no protocol at all.
        let is_rest =
            hello.alpn.iter().any(|name| name == b"http/1.1") && !hello.alpn.iter().any(|name| name == b"h2");
        let alpn = if is_rest { b"http/1.1".to_vec() } else { b"h2".to_vec() };
        tls.accept(hello, Some(alpn)).await
    };
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, agreed).await {
        Ok(agreed) => agreed.map(|(client, facts)| (Leg::Tls(Box::new(client)), facts)),
        Err(_) => {
            let error =
                io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {HANDSHAKE_TIMEOUT:?}"));
            Err(Failure::of_handshake(Side::Client, &error, Secured::default()))
        }
    }
}
