use proptest::prelude::*;

use super::*;
use crate::h2::tests::{block, frame};
use crate::h2::{ConnectionObserver, END_HEADERS, END_STREAM, Event, HEADERS, RST_STREAM};

fn grpc(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn request(path: &str) -> Vec<u8> {
    block(&[(":method", "POST"), (":path", path), ("content-type", "application/grpc")])
}

/// The bytes of a client: messages over several frames and streams, padding, a reset, unknown
/// frames.
fn client() -> Vec<u8> {
    let long = grpc(&[b'a'; 300]);
    [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &request("/a.B/C")),
        frame(HEADERS, END_HEADERS, 3, &request("/a.B/D")),
        frame(DATA, 0, 1, &long[..3]),
        frame(DATA, 0, 3, &grpc(b"whole")),
        frame(DATA, PADDED, 1, &[&[4][..], &long[3..200], &[0; 4]].concat()),
        frame(77, 0, 0, b"unknown"),
        frame(DATA, 0, 1, &[&long[200..], &grpc(b""), &grpc(b"two"), &grpc(b"three")[..7]].concat()),
        frame(RST_STREAM, 0, 3, &[0, 0, 0, 8]),
        frame(DATA, END_STREAM, 1, &grpc(b"three")[7..]),
        frame(HEADERS, END_HEADERS, 5, &request("/a.B/E")),
        frame(DATA, 0, 5, &grpc(b"last")),
    ]
    .concat()
}

/// Passes `chunks`, skimmed or whole, and returns the events of the observer as words.
fn observe(chunks: &[(bool, &[u8])]) -> (Vec<String>, u64) {
    let (mut skimmer, mut observer) = (Skimmer::new(Dir::Req), ConnectionObserver::default());
    let (mut words, mut missing) = (Vec::new(), 0);
    let mut take = |event: Event<'_>| match event {
        Event::Open { stream, head } => words.push(format!("{stream} open {}", head.path)),
        Event::Message { stream, .. } => words.push(format!("{stream} message")),
        Event::Missing { stream, messages, bytes, .. } => {
            missing += bytes;
            if messages > 0 {
                words.push(format!("{} message", stream.expect("a known stream")));
            }
        }
        Event::End { stream, .. } => words.push(format!("{stream} end")),
        Event::Opaque { why } => words.push(why),
        _ => {}
    };
    for (skims, chunk) in chunks {
        if !skims {
            skimmer.pass(chunk);
            observer.feed(Dir::Req, chunk, &mut take);
            continue;
        }
        let (mut kept, mut parts) = (Vec::new(), Vec::new());
        assert!(skimmer.skim(chunk, &mut kept, &mut parts));
        let mut rest = &kept[..];
        for part in parts {
            let (now, later) = rest.split_at(part.kept as usize);
            rest = later;
            observer.feed(Dir::Req, now, &mut take);
            if part.missing > 0 {
                observer.miss(Dir::Req, part.missing.into(), &mut take);
            }
        }
        assert!(rest.is_empty());
    }
    words.sort();
    (words, missing)
}

#[test]
fn leaves_out_bodies_only() {
    let bytes = client();
    let (mut kept, mut parts) = (Vec::new(), Vec::new());
    assert!(Skimmer::new(Dir::Req).skim(&bytes, &mut kept, &mut parts));
    let missing: u32 = parts.iter().map(|part| part.missing).sum();
    let bodies = 300 + 5 + 3 + 5 + 4;
    assert_eq!(missing as usize, bodies + 4 + 7, "bodies, padding and the unknown frame");
    assert_eq!(kept.len() + missing as usize, bytes.len());
    assert_eq!(observe(&[(true, &bytes)]).1, bodies as u64);
}

#[test]
fn recognises_other_protocols() {
    for (dir, bytes) in [(Dir::Req, "GET / HTTP/1.1\r\n\r\n"), (Dir::Resp, "HTTP/1.1 200 OK\r\n\r\n")] {
        let (mut kept, mut parts) = (Vec::new(), Vec::new());
        assert!(!Skimmer::new(dir).skim(bytes.as_bytes(), &mut kept, &mut parts));
        assert!(kept.is_empty() && parts.is_empty());
    }
}

#[test]
fn follows_a_bounded_number_of_unfinished_messages() {
    let mut skimmer = Skimmer::new(Dir::Resp);
    skimmer.pass(&frame(SETTINGS, 0, 0, &[]));
    for stream in 0..3 * MAX_UNFINISHED as u32 {
        skimmer.pass(&frame(DATA, 0, stream * 2 + 1, &grpc(b"unfinished")[..6]));
    }
    assert_eq!(skimmer.unfinished.len(), MAX_UNFINISHED);
}

proptest! {
    /// Streams, their ends and the number of their messages are known wherever copies are skimmed.
    #[test]
    fn skimmed_copies_keep_streams_and_message_borders(
        sizes in prop::collection::vec((any::<bool>(), 1usize..200), 1..60),
    ) {
        let bytes = client();
        let (mut rest, mut chunks) = (&bytes[..], Vec::new());
        for (skims, size) in sizes.iter().cycle() {
            let (chunk, later) = rest.split_at((*size).min(rest.len()));
            chunks.push((*skims, chunk));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(observe(&chunks).0, observe(&[(false, &bytes)]).0);
    }

    #[test]
    fn accepts_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), step in 1usize..50) {
        let mut skimmer = Skimmer::new(Dir::Resp);
        skimmer.pass(&frame(SETTINGS, 0, 0, &[]));
        for chunk in bytes.chunks(step) {
            let (mut kept, mut parts) = (Vec::new(), Vec::new());
            if skimmer.skim(chunk, &mut kept, &mut parts) {
                let all: usize = parts.iter().map(|part| (part.kept + part.missing) as usize).sum();
                prop_assert_eq!(all, chunk.len());
            }
        }
    }
}
