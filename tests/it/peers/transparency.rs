//! Checks that each end receives through the tap the same bytes and the same end as directly, and
//! that the tap decodes them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use xdscope_sources::observe::{Pipeline, TapEvent};
use xdscope_sources::peers::intercept::FaultSet;
use xdscope_wire::content::Catalog;
use xdscope_wire::{Frame, FramePayload};

use crate::support::{tap, wait::PATIENCE};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.extend(
            [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat(),
        );
    }
    out
}

fn request(path: &str, encoding: &str) -> Vec<u8> {
    headers(&[
        (":method", "POST"),
        (":path", path),
        ("content-type", "application/grpc"),
        ("grpc-encoding", encoding),
        ("grpc-timeout", "5S"),
    ])
}

fn grpc(flag: u8, bytes: &[u8]) -> Vec<u8> {
    [&[flag][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A case: a name, the bytes of the client, the bytes of the server, and the expected events.
type Case = (&'static str, Vec<u8>, Vec<u8>, &'static [&'static str]);

fn cases() -> Vec<Case> {
    let message = b"\x22\x04type";
    let open = |path: &str| frame(1, 4, 1, &request(path, "gzip"));
    let ok = frame(1, 4, 1, &headers(&[(":status", "200"), ("grpc-encoding", "gzip")]));
    let ends = frame(1, 5, 1, &headers(&[("grpc-status", "14"), ("grpc-message", "bye%20now")]));
    let hello = [PREFACE, &frame(4, 0, 0, &[])].concat();
    let block = request(ADS, "identity");
    let (one, two) = block.split_at(20);
    let long = grpc(0, message);
    vec![
        (
            "compressed messages, status and details",
            [hello.clone(), open(ADS), frame(0, 1, 1, &grpc(1, &gzip(message)))].concat(),
            [frame(4, 0, 0, &[]), ok.clone(), frame(0, 0, 1, &grpc(1, &gzip(message))), ends.clone()]
                .concat(),
            &["open", "message", "message", "end 14 bye now"],
        ),
        (
            "fragments, padding, continuation, several messages a frame",
            [
                hello.clone(),
                frame(1, 0x8, 1, &[&[2], one, &[0, 0][..]].concat()),
                frame(9, 4, 1, two),
                frame(0, 0, 1, &[grpc(0, message), grpc(0, message), long[..3].to_vec()].concat()),
                frame(0, 0x8, 1, &[&[4], &long[3..], &[0; 4][..]].concat()),
            ]
            .concat(),
            frame(4, 0, 0, &[]),
            &["open", "message", "message", "message", "end"],
        ),
        (
            "a trailers-only answer",
            [hello.clone(), open(ADS)].concat(),
            frame(1, 5, 1, &headers(&[(":status", "200"), ("grpc-status", "12"), ("grpc-message", "no")])),
            &["open", "end 12 no"],
        ),
        (
            "a reset by the client, pings, windows, GOAWAY",
            [
                hello.clone(),
                open(ADS),
                frame(6, 0, 0, &[1; 8]),
                frame(8, 0, 0, &[0, 0, 1, 0]),
                frame(3, 0, 1, &8u32.to_be_bytes()),
            ]
            .concat(),
            [frame(6, 1, 0, &[1; 8]), frame(7, 0, 0, b"\0\0\0\0\0\0\0\0max_age")].concat(),
            &["open", "end reset 8"],
        ),
        (
            "another service",
            [hello.clone(), open("/grpc.health.v1.Health/Watch"), frame(0, 0, 1, &grpc(0, b"x"))].concat(),
            [frame(4, 0, 0, &[]), ok, ends].concat(),
            &["open", "opaque", "end 14 bye now"],
        ),
        (
            "HTTP/1.1",
            b"POST /v3/discovery:clusters HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}".to_vec(),
            b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(),
            &["open", "opaque", "opaque", "end"],
        ),
        (
            "damage",
            [hello, frame(0, 0x8, 1, &[9, 0]), vec![0xff; 500]].concat(),
            vec![7; 300],
            &["open", "opaque", "opaque", "end"],
        ),
    ]
}

/// Sends the client's bytes and half-closes, then the server's; returns what each side received.
fn play(to: &str, listener: &TcpListener, client: &[u8], server: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let end = |mut stream: TcpStream, bytes: Vec<u8>, first: bool| {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        thread::spawn(move || {
            let mut got = Vec::new();
            if !first {
                stream.read_to_end(&mut got).expect("an orderly end");
            }
            // Small pieces, so that chunk and frame boundaries differ.
            for piece in bytes.chunks(7) {
                stream.write_all(piece).expect("the other end reads");
            }
            stream.shutdown(Shutdown::Write).expect("half-close");
            if first {
                stream.read_to_end(&mut got).expect("an orderly end");
            }
            got
        })
    };
    let there = end(TcpStream::connect(to).expect("it listens"), client.to_vec(), true);
    let (here, _) = listener.accept().expect("a connection");
    let here = end(here, server.to_vec(), false);
    (there.join().expect("the client"), here.join().expect("the server"))
}

fn words(frames: &[Frame]) -> Vec<String> {
    let word = |frame: &Frame| match &frame.what {
        FramePayload::Open(_) => "open".to_owned(),
        FramePayload::Message(_) => "message".to_owned(),
        FramePayload::Opaque { .. } => "opaque".to_owned(),
        FramePayload::Gap { messages, bytes, .. } => format!("gap {messages} {bytes}"),
        FramePayload::Intercepted(what) => what.facts.interference.word().to_owned(),
        FramePayload::End(end) => {
            let status =
                end.status.as_ref().map(|(code, text)| format!(" {} {text}", code.0)).unwrap_or_default();
            let reset = end.reset.map(|code| format!(" reset {code}")).unwrap_or_default();
            format!("end{status}{reset}")
        }
    };
    frames.iter().map(word).collect()
}

/// Faults that may match only once the node of a stream is known, and then do not.
const OTHER_FAULTS: [&str; 2] = ["node:nobody => drop", "node:nobody type:cds => bounce no"];

#[test]
fn armed_tap_passes_streams_that_do_not_match_unchanged() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let upstream = listener.local_addr().expect("its address");
    // An armed tap cannot follow frames that are damaged, and ends their connection.
    for (case, client, server, _) in cases().into_iter().filter(|(case, ..)| *case != "damage") {
        let faults = FaultSet::parse(OTHER_FAULTS, 0).expect("faults");
        let tap = tap::armed_relay(&[upstream], Some(faults));
        let tapped = play(&tap.listening[0].to_string(), &listener, &client, &server);
        assert!(tapped == (server, client), "{case}: the same bytes through the tap");
    }
}

#[test]
fn passes_and_decodes_every_case_unchanged() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let upstream = listener.local_addr().expect("its address");
    for (case, client, server, expected) in cases() {
        let direct = play(&upstream.to_string(), &listener, &client, &server);
        assert!(direct == (server.clone(), client.clone()), "{case}: the ends themselves agree");
        let tap = tap::relay(&[upstream]);
        let tapped = play(&tap.listening[0].to_string(), &listener, &client, &server);
        assert!(tapped == direct, "{case}: the same bytes through the tap");

        let copies = tap.copies.clone().expect("decoding");
        let (mut pipeline, mut catalog) = (Pipeline::new(|_, _| None), Catalog::in_memory());
        let (mut frames, mut closed) = (Vec::new(), false);
        while !closed {
            let mut batch = Vec::new();
            assert!(copies.drain(&mut batch, PATIENCE) && !batch.is_empty(), "{case}: the close is reported");
            for copied in batch {
                closed |= matches!(copied.event, TapEvent::Closed { .. });
                pipeline.handle(copied, &mut catalog, &mut frames);
            }
        }
        assert_eq!(words(&frames), expected, "{case}");
    }
}
