//! A limit on the incomplete input of all connections.

use std::cmp::Reverse;

use super::{ObservedConnection, Pipeline};
use crate::observe::{ConnId, TapEvent};
use xdscope_wire::Frame;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Time;
use xdscope_wire::text::size;

/// Bytes between two checks.
const CHECK_BYTES: usize = 4 << 20;

impl ObservedConnection {
    /// Memory of incomplete input, in bytes: frames, header blocks, bodies, decompressors.
    fn held_bytes(&self) -> usize {
        let polls = self.polls.as_ref().map_or(0, |polls| polls.connection.held_bytes());
        polls + self.observer.as_ref().map_or(0, |observer| observer.held_bytes())
    }
}

impl Pipeline {
    /// Stops reading connections with much incomplete input, if that of all connections but the
    /// largest exceeds the limit.
    ///
    /// Each connection has limits of its own, but a client can open many.
    pub(super) fn limit_unfinished(
        &mut self,
        event: &TapEvent,
        at: Time,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        if let TapEvent::Bytes { bytes, .. } = event {
            self.unchecked_bytes += bytes.len();
        }
        if self.unchecked_bytes < CHECK_BYTES {
            return;
        }
        self.unchecked_bytes = 0;
        let held = self.connections.iter().map(|(id, connection)| (connection.held_bytes(), *id));
        let mut held: Vec<(usize, ConnId)> = held.filter(|(bytes, _)| *bytes > 0).collect();
        held.sort_unstable_by_key(|(bytes, _)| Reverse(*bytes));
        // The largest has the limits of a connection: one body may exceed the limit of all.
        let others = held.iter().skip(1);
        let (mut sum, max) =
            (others.clone().map(|(bytes, _)| bytes).sum::<usize>(), self.assembler.max_unfinished());
        for (bytes, conn) in others.copied() {
            if sum <= max {
                return;
            }
            sum -= bytes;
            let Some(mut context) = self.context(conn, at, catalog, out) else { continue };
            let why = format!(
                "{} of incomplete input, and at most {} for all connections",
                size(bytes as u64),
                size(max as u64)
            );
            if context.connection.polls.is_some() {
                context.observe_polls(|polls, out| polls.connection.give_up(why, out));
            } else {
                context.observe(|observer, out| observer.give_up(why, out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::FramePayload;
    use xdscope_wire::event::Dir;

    const MAX: usize = 8 << 20;
    const SENT: usize = 900 << 10;
    const HEADERS: u8 = 1;
    const CONTINUATION: u8 = 9;

    /// Opens connections that each begin with `start` and then send [`SENT`] bytes in `parts`.
    fn after(connections: u64, start: &[u8], part: &[u8]) -> (Pipeline, Vec<Frame>) {
        let schema = xdscope_schema::Schema::builtin();
        let mut pipeline = Pipeline::new(|_, _| None).with_rest(schema).with_max_unfinished(MAX);
        let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
        for conn in (1..=connections).map(ConnId) {
            let mut handle = |event| {
                let copy = crate::observe::TapCopy { conn, at: Time::ZERO, event };
                pipeline.handle(copy, &mut catalog, &mut frames);
            };
            handle(TapEvent::Opened { peer: "peer".into(), server: "server".into() });
            let parts = std::iter::once(start).chain(std::iter::repeat_n(part, SENT / part.len()));
            for part in parts {
                handle(TapEvent::Bytes { dir: Dir::Req, bytes: part.to_vec().into() });
            }
        }
        (pipeline, frames)
    }

    fn check(connections: u64, start: &[u8], part: &[u8]) {
        let (pipeline, frames) = after(connections, start, part);
        let held = pipeline.connections.values().map(ObservedConnection::held_bytes);
        let all: usize = held.sum();
        assert!((1..=MAX + SENT + CHECK_BYTES).contains(&all), "{all}");
        let given_up = |frame: &&Frame| matches!(&frame.what, FramePayload::Open(open) if open.method.contains("incomplete input"));
        assert!(frames.iter().filter(given_up).count() >= connections as usize / 2, "{frames:?}");
    }

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let len = (payload.len() as u32).to_be_bytes();
        [&len[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn header_blocks_of_many_connections() {
        let start = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(HEADERS, b"")].concat();
        check(60, &start, &frame(CONTINUATION, &[0; 16 << 10]));
    }

    #[test]
    fn bodies_of_many_connections() {
        let start = b"POST /v3/discovery:clusters HTTP/1.1\r\nhost: x\r\ncontent-length: 16000000\r\n\r\n";
        check(60, start, &[b'{'; 16 << 10]);
    }
}
