use std::collections::BTreeMap;

use xdscope_wire::event::{Dir, Side};
use xdscope_wire::h2::{ConnectionObserver, Event};

use super::{Digest, Input, PREFACE, http2_frame};

/// Checks that a connection produces the same events for any division, that the events of each
/// stream lie between its opening and its end, and that nothing follows once the connection is
/// abandoned.
///
/// Input: a byte of setup (bit 0: without the client's preface, the others the step), then parts. A
/// part is a byte (bit 0: from the server, bit 1: raw bytes), for a frame its kind, flags and
/// stream, a length, and as many bytes.
pub fn h2_observer(data: &[u8]) {
    let mut input = Input(data);
    let setup = input.byte();
    let mut parts = Vec::new();
    if setup & 1 == 0 {
        parts.push((Dir::Req, PREFACE.to_vec()));
    }
    while !input.is_empty() {
        let how = input.byte();
        let dir = if how & 1 == 0 { Dir::Req } else { Dir::Resp };
        let part = if how & 2 == 0 {
            let (kind, flags, stream, len) = (input.byte(), input.byte(), input.byte(), input.byte());
            http2_frame(kind, flags, stream.into(), input.bytes(len.into()))
        } else {
            let len = input.byte();
            input.bytes(len.into()).to_vec()
        };
        parts.push((dir, part));
    }
    let whole = observe(&parts, usize::MAX);
    for step in [1, 1 + usize::from(setup >> 1)] {
        assert_eq!(observe(&parts, step), whole, "in steps of {step}");
    }
}

#[derive(Default)]
struct Seen {
    words: Vec<String>,
    /// Open streams, and the bytes received of their messages.
    open: BTreeMap<u32, [Digest; 2]>,
    opaque: bool,
}

fn observe(parts: &[(Dir, Vec<u8>)], step: usize) -> Vec<String> {
    let mut connection = ConnectionObserver::default();
    let mut seen = Seen::default();
    for (dir, bytes) in parts {
        for chunk in bytes.chunks(step) {
            connection.feed(*dir, chunk, &mut |event| seen.take(event));
        }
    }
    assert_eq!(connection.is_opaque(), seen.opaque);
    connection.close(Some(Side::Client), None, &mut |event| seen.take(event));
    assert!(seen.open.is_empty(), "all that was open has ended: {:?}", seen.open.keys());
    seen.words
}

impl Seen {
    fn take(&mut self, event: Event<'_>) {
        assert!(!self.opaque, "nothing comes after the connection was given up: {event:?}");
        let word = match event {
            Event::Open { stream, ref head } => {
                assert!(self.open.insert(stream, Default::default()).is_none(), "opened twice: {stream}");
                format!("{stream} {head:?}")
            }
            Event::Data { stream, dir, bytes } => {
                self.message(stream, dir).update(bytes);
                return;
            }
            Event::Message { stream, dir } => {
                let (len, hash) = std::mem::take(self.message(stream, dir)).value();
                format!("{stream} {} {len} {hash:x}", dir.word())
            }
            Event::Lost { stream, bytes, ref why, .. } => {
                // The decoded length depends on the division.
                let open = self.open.get_mut(&stream).expect("an open stream");
                *open = Default::default();
                format!("{stream} lost {bytes} {why}")
            }
            Event::Cut { stream, bytes } => {
                assert!(self.open.contains_key(&stream), "cut and not open: {stream}");
                format!("{stream} cut {bytes}")
            }
            Event::End { stream, ref end } => {
                assert!(self.open.remove(&stream).is_some(), "ended and was not open: {stream}");
                format!("{stream} {end:?}")
            }
            Event::Begun { .. } | Event::Missing { .. } => panic!("all of it was there: {event:?}"),
            // The parts of a frame depend on the division.
            Event::Unopened { is_last: false, .. } => return,
            Event::Unopened { dir, .. } => format!("{} unopened", dir.word()),
            Event::NotFollowed { streams } => format!("{streams} not followed"),
            Event::Ping { dir } => format!("{} ping", dir.word()),
            Event::PingAnswer { dir } => format!("{} ping answer", dir.word()),
            Event::GoAway { by, code, ref debug } => format!("goaway {} {code} {debug}", by.word()),
            Event::Opaque { ref why } => {
                self.opaque = true;
                // Other protocols are guessed from the bytes received so far.
                let other = matches!(why.as_str(), "TLS" | "HTTP/1.1" | "unknown protocol");
                format!("opaque {}", if other { "not HTTP/2" } else { why })
            }
        };
        self.words.push(word);
    }

    fn message(&mut self, stream: u32, dir: Dir) -> &mut Digest {
        let open = self.open.get_mut(&stream).expect("an open stream");
        &mut open[usize::from(dir == Dir::Resp)]
    }
}
