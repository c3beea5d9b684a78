//! HTTP/2 connections in the form of a tap's copies, with many xDS streams each; no sockets.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use xdscope::net::tap::CopyQueue;
use xdscope_sources::observe::{ConnId, TapEvent};
use xdscope_wire::event::Dir;

/// Number of streams on one connection.
const TOGETHER: usize = 100;
/// Size of a DATA frame of usual HTTP/2 peers.
const FRAME: usize = 16 << 10;
/// Size of a tap's copy.
const CHUNK: usize = 64 << 10;

/// Streams of one source, numbered from 0.
pub struct Wire(pub Arc<CopyQueue>);

/// Returns the position of a stream: its connection and its id there.
fn place(stream: usize) -> (ConnId, u32) {
    let number = u32::try_from(stream % TOGETHER).expect("few") * 2 + 1;
    (ConnId(1 + (stream / TOGETHER) as u64), number)
}

fn frame(kind: u8, flags: u8, number: u32, payload: &[u8], out: &mut BytesMut) {
    out.put_uint(payload.len() as u64, 3);
    out.put_u8(kind);
    out.put_u8(flags);
    out.put_u32(number);
    out.put_slice(payload);
}

/// Returns a header block of literals that are not indexed.
fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(u8::try_from(text.len()).expect("short"));
            out.extend(text.bytes());
        }
    }
    out
}

impl Wire {
    fn put(&self, conn: ConnId, dir: Dir, bytes: Bytes) {
        self.0.push(conn, self.0.now(), TapEvent::Bytes { dir, bytes });
    }

    /// Opens a stream, and with the first stream its connection.
    pub fn open(&self, stream: usize, method: &str) {
        let (conn, number) = place(stream);
        let mut request = BytesMut::new();
        if stream.is_multiple_of(TOGETHER) {
            let server = "10.0.0.1:15010".to_owned();
            let peer = format!("10.0.1.{}:40000", conn.0);
            self.0.push(conn, self.0.now(), TapEvent::Opened { peer, server });
            request.put_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            frame(4, 0, 0, b"", &mut request);
        }
        let path = format!("/envoy.service.discovery.v3.AggregatedDiscoveryService/{method}");
        let fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path.as_str()),
            (":authority", "cp"),
            ("content-type", "application/grpc"),
        ];
        frame(1, 4, number, &headers(&fields), &mut request);
        self.put(conn, Dir::Req, request.freeze());
        let mut answer = BytesMut::new();
        frame(
            1,
            4,
            number,
            &headers(&[(":status", "200"), ("content-type", "application/grpc")]),
            &mut answer,
        );
        self.put(conn, Dir::Resp, answer.freeze());
    }

    /// Sends a gRPC message.
    pub fn send(&self, stream: usize, dir: Dir, grpc: &[u8]) {
        for chunk in chunks(stream, grpc) {
            self.put(place(stream).0, dir, chunk);
        }
    }
}

/// Returns a gRPC message in frames, split into chunks as read from a socket.
pub fn chunks(stream: usize, grpc: &[u8]) -> Vec<Bytes> {
    let mut out = BytesMut::new();
    for part in grpc.chunks(FRAME) {
        frame(0, 0, place(stream).1, part, &mut out);
    }
    let mut all = out.freeze();
    let mut chunks = Vec::new();
    while !all.is_empty() {
        chunks.push(all.split_to(all.len().min(CHUNK)));
    }
    chunks
}

impl Wire {
    /// Sends the chunks of a prepared message.
    pub fn send_chunks(&self, stream: usize, dir: Dir, chunks: &[Bytes]) {
        for chunk in chunks {
            self.put(place(stream).0, dir, chunk.clone());
        }
    }
}
