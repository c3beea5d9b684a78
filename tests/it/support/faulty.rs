//! A state-of-the-world ADS server that fails in a chosen way on its first connections, and works
//! afterwards.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use h2::{Reason, server::SendResponse};
use http::{HeaderMap, Response};
use xdscope_wire::pb::put_len_field;

use super::{process::accepted, snapshot::CLUSTER};

/// Failure of a connection.
#[derive(Clone)]
pub enum Fault {
    /// Writes these bytes unconditionally, and then closes or stays silent.
    Says {
        bytes: &'static [u8],
        closes: bool,
    },
    /// Sends HTTP/2 SETTINGS and nothing more.
    HalfOpen,
    /// Works, but delays each response.
    Slow(Duration),
    /// Resets a stream after its first request.
    Reset(Reason),
    /// Sends headers only: this HTTP status and these fields.
    Headers(u16, Vec<(&'static str, String)>),
    /// Sends headers and this body, and ends without trailers.
    Body(u16, &'static str, &'static str),
    /// Sends this response, then nothing.
    Sends(Bytes),
    /// Sends the first bytes of a response, and drops the stream.
    Cut(usize),
    /// Works for clients with this bearer token, and rejects others.
    Demands(&'static str),
    /// Sends headers, no response, and these trailers.
    Trailers(Vec<(&'static str, String)>),
    /// Works, and ends the stream this long after the last request.
    Ends(Duration, Ending),
    /// Works, and ends the connection with GOAWAY at this age.
    Ages(Duration),
    None,
}

/// End of a stream that was answered.
#[derive(Clone)]
pub enum Ending {
    Trailers(Vec<(&'static str, String)>),
    Reset(Reason),
}

/// A running server with a count of its connections. It runs until the program ends.
pub struct Faulty {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
}

impl Faulty {
    /// Starts a server with one fault for each connection, in order, then none.
    pub fn start(faults: Vec<Fault>) -> Faulty {
        Faulty::start_after(faults, |_| ())
    }

    /// Starts such a server that calls `wait` with the number of a connection, from 0, before it
    /// serves the connection.
    pub fn start_after(faults: Vec<Fault>, wait: impl Fn(usize) + Send + 'static) -> Faulty {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        thread::spawn(move || {
            for stream in accepted(listener) {
                let n = count.fetch_add(1, Ordering::SeqCst);
                let fault = faults.get(n).cloned().unwrap_or(Fault::None);
                wait(n);
                thread::spawn(move || connection(stream, &fault));
            }
        });
        Faulty { address, connections }
    }
}

fn connection(mut stream: TcpStream, fault: &Fault) {
    match fault {
        Fault::Says { bytes, closes } => {
            let _ = stream.read(&mut [0; 256]);
            let _ = stream.write_all(bytes);
            if *closes {
                // Unread bytes would turn the end into a reset, which may discard `bytes`.
                let _ = stream.shutdown(Shutdown::Write);
            }
            // Reads until the client disconnects.
            while stream.read(&mut [0; 256]).is_ok_and(|n| n > 0) {}
        }
        Fault::HalfOpen => {
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
            while stream.read(&mut [0; 256]).is_ok_and(|n| n > 0) {}
        }
        _ => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let served = runtime.expect("a runtime").block_on(serve(stream, fault));
            // The client may disconnect at any time.
            let _ = served;
        }
    }
}

async fn serve(stream: TcpStream, fault: &Fault) -> Result<(), h2::Error> {
    stream.set_nonblocking(true).expect("a socket");
    let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
    let mut connection = h2::server::handshake(stream).await?;
    let age = if let Fault::Ages(age) = fault { *age } else { Duration::MAX };
    let mut end = std::pin::pin!(tokio::time::sleep(age));
    loop {
        let request = tokio::select! {
            request = connection.accept() => request,
            () = &mut end => {
                connection.abrupt_shutdown(Reason::NO_ERROR);
                return std::future::poll_fn(|cx| connection.poll_closed(cx)).await;
            }
        };
        let Some(request) = request else { return Ok(()) };
        let (request, answer) = request?;
        let fault = match fault {
            Fault::Demands(token) => match request.headers().get("authorization") {
                Some(got) if got.as_bytes() == format!("Bearer {token}").as_bytes() => Fault::None,
                _ => {
                    let field = |name, value: &str| (name, value.to_owned());
                    let words = field("grpc-message", "the token is not taken");
                    Fault::Headers(200, vec![field("grpc-status", "16"), words])
                }
            },
            fault => fault.clone(),
        };
        tokio::spawn(async move { stream_of(request.into_body(), answer, &fault).await });
    }
}

async fn stream_of(mut asked: h2::RecvStream, mut answer: SendResponse<Bytes>, fault: &Fault) -> Option<()> {
    asked.data().await?.ok()?;
    let grpc = Response::builder().header("content-type", "application/grpc").body(()).expect("a response");
    let trailers = |fields: &[(&'static str, String)]| {
        let fields = fields.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), value.parse().expect("a header value"))
        });
        fields.collect::<HeaderMap>()
    };
    match fault {
        Fault::Reset(reason) => {
            answer.send_reset(*reason);
            return None;
        }
        Fault::Headers(status, fields) => {
            let mut response = grpc;
            *response.status_mut() = http::StatusCode::from_u16(*status).expect("a status");
            response.headers_mut().extend(trailers(fields));
            answer.send_response(response, true).ok()?;
            return None;
        }
        Fault::Body(status, kind, text) => {
            let response = Response::builder().status(*status).header("content-type", *kind).body(());
            let mut out = answer.send_response(response.expect("a response"), false).ok()?;
            out.send_data(Bytes::from_static(text.as_bytes()), true).ok()?;
            return None;
        }
        Fault::Slow(time) => tokio::time::sleep(*time).await,
        _ => {}
    }
    let mut out = answer.send_response(grpc, false).ok()?;
    if let Fault::Trailers(fields) = fault {
        out.send_trailers(trailers(fields)).ok()?;
        return None;
    }
    if let Fault::Cut(at) = fault {
        out.send_data(clusters(&["echo"]).slice(..*at), false).ok()?;
        out.send_reset(Reason::CANCEL);
        return None;
    }
    let response = if let Fault::Sends(bytes) = fault { bytes.clone() } else { clusters(&["echo"]) };
    out.send_data(response, false).ok()?;
    let Fault::Ends(silence, ending) = fault else {
        while let Some(Ok(chunk)) = asked.data().await {
            let _ = asked.flow_control().release_capacity(chunk.len());
        }
        return Some(());
    };
    while let Ok(chunk) = tokio::time::timeout(*silence, asked.data()).await {
        let _ = asked.flow_control().release_capacity(chunk?.ok()?.len());
    }
    match ending {
        Ending::Trailers(fields) => out.send_trailers(trailers(fields)).ok()?,
        Ending::Reset(reason) => out.send_reset(*reason),
    }
    Some(())
}

/// Returns a response of version 1 with clusters of these names, with the gRPC prefix.
pub fn clusters(names: &[&str]) -> Bytes {
    let named = |name: &&str| {
        let mut value = Vec::new();
        put_len_field(&mut value, 1, name.as_bytes());
        value
    };
    response(names.iter().map(named))
}

/// Returns a response of version 1 with these clusters, with the gRPC prefix.
pub fn response(clusters: impl Iterator<Item = Vec<u8>>) -> Bytes {
    let mut body = Vec::new();
    put_len_field(&mut body, 1, b"1");
    for value in clusters {
        let mut any = Vec::new();
        put_len_field(&mut any, 1, CLUSTER.as_bytes());
        put_len_field(&mut any, 2, &value);
        put_len_field(&mut body, 2, &any);
    }
    put_len_field(&mut body, 4, CLUSTER.as_bytes());
    put_len_field(&mut body, 5, b"n1");
    let mut out = vec![0];
    out.extend(u32::try_from(body.len()).expect("a length").to_be_bytes());
    out.extend(body);
    out.into()
}
