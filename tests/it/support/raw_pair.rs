//! A client and a control plane that write HTTP/2 byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use super::raw_h2::{PREFACE, ads_headers, field, frame, message, put_field};
use super::wait::PATIENCE;

/// A client and a control plane with one ADS stream through a tap.
pub struct Pair {
    client: TcpStream,
    server: TcpStream,
    version: u32,
}

impl Pair {
    /// Connects the client to `tap` and the tap to `plane`, and opens the stream. The client
    /// subscribes to all clusters, and the control plane has received that.
    pub fn open(tap: SocketAddr, plane: &TcpListener) -> Pair {
        let mut client = TcpStream::connect(tap).expect("a connection");
        let start =
            [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(HEADERS, END_HEADERS, 1, &ads_headers(None))];
        let start = start.concat();
        client.write_all(&start).expect("the tap reads");
        let (mut server, _) = plane.accept().expect("a connection");
        server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut head = Vec::new();
        for (name, value) in [(":status", "200"), ("content-type", "application/grpc")] {
            put_field(&mut head, false, name, value);
        }
        let answer = [frame(SETTINGS, 0, 0, &[]), frame(HEADERS, END_HEADERS, 1, &head)].concat();
        server.write_all(&answer).expect("the tap reads");
        client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut pair = Pair { client, server, version: 0 };
        read_exactly(&mut pair.client, answer.len());
        let request = pair.request(&[field(2, NODE), field(4, CLUSTER)].concat());
        read_exactly(&mut pair.server, start.len() + request);
        pair
    }

    /// Sends `request`, and returns how many bytes that are with the frames.
    fn request(&mut self, request: &[u8]) -> usize {
        let bytes = message(1, false, request);
        self.client.write_all(&bytes).expect("the tap reads");
        bytes.len()
    }

    /// Pushes clusters with names of the next version, of `size` bytes each, and waits until the
    /// client has received all of them.
    pub fn push(&mut self, clusters: u32, size: usize) -> u32 {
        self.version += 1;
        let version = self.version.to_string();
        let resource = |n: u32| {
            let name = format!("{version}-{n}");
            let filler = format!("{n:0>size$}");
            let cluster = [long_field(1, name.as_bytes()), long_field(28, filler.as_bytes())].concat();
            long_field(2, &[long_field(1, CLUSTER.as_bytes()), long_field(2, &cluster)].concat())
        };
        let resources: Vec<u8> = (0..clusters).flat_map(resource).collect();
        let push = [field(1, &version), resources, field(4, CLUSTER), field(5, &version)].concat();
        let bytes = message(1, false, &push);
        let (mut server, len) = (self.server.try_clone().expect("a socket"), bytes.len());
        let writer = std::thread::spawn(move || server.write_all(&bytes).expect("the tap reads"));
        read_exactly(&mut self.client, len);
        writer.join().expect("a writer");
        self.version
    }

    /// Accepts the newest push.
    pub fn ack(&mut self) {
        let version = self.version.to_string();
        self.request(&[field(1, &version), field(4, CLUSTER), field(5, &version)].concat());
    }
}

impl Pair {
    /// Ends the connection of the server first. The client answers with a reset of its stream.
    pub fn lose_server(mut self) {
        self.server.shutdown(Shutdown::Write).expect("a connection");
        read_to_end(&mut self.client);
        let reset = frame(RST_STREAM, 0, 1, &REFUSED_STREAM.to_be_bytes());
        self.client.write_all(&reset).expect("the tap reads");
        self.client.shutdown(Shutdown::Write).expect("a connection");
        read_to_end(&mut self.server);
    }

    /// Ends the connection of the client first. The server answers with an error.
    pub fn lose_client(mut self) {
        self.client.shutdown(Shutdown::Write).expect("a connection");
        read_to_end(&mut self.server);
        let mut trailers = Vec::new();
        put_field(&mut trailers, false, "grpc-status", "14");
        put_field(&mut trailers, false, "grpc-message", "Socket closed");
        let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers);
        self.server.write_all(&trailers).expect("the tap reads");
        self.server.shutdown(Shutdown::Write).expect("a connection");
        read_to_end(&mut self.client);
    }
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The HTTP/2 error code with which Envoy resets streams of a lost connection.
const REFUSED_STREAM: u32 = 7;

/// A `Node` whose id is `edge`.
const NODE: &str = "\n\u{4}edge";

/// The type of the resources.
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn read_exactly(from: &mut TcpStream, len: usize) {
    let read = std::io::copy(&mut from.take(len as u64), &mut std::io::sink()).expect("bytes");
    assert_eq!(read, len as u64);
}

fn read_to_end(from: &mut TcpStream) {
    std::io::copy(from, &mut std::io::sink()).expect("the end of the connection");
}

/// Returns a protobuf field with a text of any length.
fn long_field(number: u32, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for mut value in [number << 3 | 2, text.len() as u32] {
        while value >= 128 {
            out.push(value as u8 | 128);
            value >>= 7;
        }
        out.push(value as u8);
    }
    out.extend(text);
    out
}
