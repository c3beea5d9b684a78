//! Answers of the tap itself, to clients that can get none from the server.

use std::io;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tokio::io::AsyncWriteExt;

use super::Leg;
use xdscope_wire::event::Code;

/// The time that a client may take to read the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection preface of every HTTP/2 client.
pub(in crate::net) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first bytes of a TLS handshake, in each version of TLS.
const HANDSHAKE: [u8; 2] = [22, 3];

/// gRPC status code UNAVAILABLE.
const UNAVAILABLE: &str = "14";

/// Answers the first request with `why` and closes the connection.
///
/// The answer is a gRPC status or an HTTP/1.1 response. A client of another protocol gets none.
pub(in crate::net) async fn refuse(client: Leg, why: &str) {
    let answered = tokio::time::timeout(ANSWER_TIMEOUT, async {
        let Some((first, client)) = client.first().await? else { return Ok(()) };
        match client_protocol(&first) {
            // Large, and rare.
            ClientProtocol::Http2 => Box::pin(http2(client, why)).await.map_err(io::Error::other),
            ClientProtocol::Http1 => http1(client, why).await,
            ClientProtocol::Tls | ClientProtocol::Other => Ok(()),
        }
    });
    if let Ok(Err(error)) = answered.await {
        tracing::debug!(%error, "a client disconnected before it received the reason");
    }
}

/// The protocol of a client, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) enum ClientProtocol {
    Http2,
    Http1,
    /// A TLS handshake.
    Tls,
    Other,
}

/// Returns the protocol of a client by its first bytes.
pub(in crate::net) fn client_protocol(first: &[u8]) -> ClientProtocol {
    if !first.is_empty() && PREFACE.starts_with(first.get(..PREFACE.len()).unwrap_or(first)) {
        return ClientProtocol::Http2;
    }
    if first.starts_with(&HANDSHAKE) {
        return ClientProtocol::Tls;
    }
    let word = first.split(|byte| *byte == b' ').next().unwrap_or_default();
    let method = (3..=7).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase);
    if method && word.len() < first.len() { ClientProtocol::Http1 } else { ClientProtocol::Other }
}

/// Sends the fatal alert `handshake_failure`, for a client that speaks TLS to a plaintext listener.
pub(in crate::net) async fn alert(mut client: Leg) {
    const ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 40];
    // The client may be gone.
    let _ = tokio::time::timeout(ANSWER_TIMEOUT, async {
        client.write_all(&ALERT).await?;
        client.shutdown().await
    })
    .await;
}

/// Answers every stream with trailers only, and ends the connection with GOAWAY.
async fn http2(client: Leg, why: &str) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(client).await?;
    while let Some(request) = connection.accept().await {
        let (_, mut respond) = request?;
        let response = http::Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", UNAVAILABLE)
            .header("grpc-message", percent(why))
            .body(());
        let Ok(response) = response else { break };
        respond.send_response(response, true)?;
        connection.graceful_shutdown();
    }
    Ok(())
}

async fn http1(mut client: Leg, why: &str) -> io::Result<()> {
    let head = "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n";
    let answer = format!("{head}content-length: {}\r\n\r\n{why}\n", why.len() + 1);
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await?;
    // Closing a socket with unread bytes resets the connection and discards the answer.
    tokio::io::copy(&mut client, &mut tokio::io::sink()).await.map(drop)
}

/// Returns the trailers that end a stream.
pub(in crate::net) fn trailers(code: Code, message: &str) -> HeaderMap {
    let mut out = HeaderMap::new();
    out.insert("grpc-status", HeaderValue::from(code.0));
    if let Ok(message) = HeaderValue::from_str(&percent(message))
        && !message.is_empty()
    {
        out.insert("grpc-message", message);
    }
    out
}

/// Percent-encodes a `grpc-message`: all but printable ASCII.
pub(in crate::net) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_protocols_by_their_first_bytes() {
        assert_eq!(client_protocol(PREFACE), ClientProtocol::Http2);
        assert_eq!(client_protocol(b"PRI * HT"), ClientProtocol::Http2);
        assert_eq!(client_protocol(&[PREFACE, &[0; 40]].concat()), ClientProtocol::Http2);
        assert_eq!(client_protocol(b"POST /v3/discovery:clusters HTTP/1.1\r\n"), ClientProtocol::Http1);
        assert_eq!(client_protocol(&[22, 3, 1]), ClientProtocol::Tls);
        for other in [&b""[..], &[22], b"hello", b"GET", b"\xff\xff\xff\xff "] {
            assert_eq!(client_protocol(other), ClientProtocol::Other, "{other:?}");
        }
    }

    #[test]
    fn percent_encodes_messages() {
        assert_eq!(percent("100% – a\n"), "100%25 %E2%80%93 a%0A");
    }
}
