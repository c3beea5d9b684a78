//! Losses of copies that are not decoded any more.

use std::collections::BTreeMap;

use xdscope_sources::observe::{ConnId, TapCopy, TapEvent};
use xdscope_wire::event::{Dir, Time};

/// Adds up the lost bytes of each connection and direction until the connection has another event:
/// each loss is reported to all streams of its connection.
#[derive(Default)]
pub(crate) struct LateLosses {
    /// Bytes and chunks.
    lost: BTreeMap<(ConnId, Dir), (u64, u64)>,
    /// The time of the newest copy.
    newest: Time,
}

impl LateLosses {
    /// Adds copies. Returns those that are not losses, each behind the losses of its connection.
    pub(crate) fn add(&mut self, copies: Vec<TapCopy>) -> Vec<TapCopy> {
        let mut out = Vec::new();
        for copy in copies {
            self.newest = self.newest.max(copy.at);
            if let TapEvent::Lost { dir, bytes, chunks } = copy.event {
                let sum = self.lost.entry((copy.conn, dir)).or_default();
                (sum.0, sum.1) = (sum.0 + bytes, sum.1 + chunks);
                continue;
            }
            out.extend(self.take(|conn| conn == copy.conn));
            out.push(copy);
        }
        out
    }

    /// Returns the losses that were not returned yet.
    pub(crate) fn finish(mut self) -> Vec<TapCopy> {
        self.take(|_| true)
    }

    fn take(&mut self, is_taken: impl Fn(ConnId) -> bool) -> Vec<TapCopy> {
        let at = self.newest;
        let taken = self.lost.extract_if(.., |(conn, _), _| is_taken(*conn));
        let copy = |((conn, dir), (bytes, chunks))| TapCopy {
            conn,
            at,
            event: TapEvent::Lost { dir, bytes, chunks },
        };
        taken.map(copy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_losses_until_another_event() {
        let lost = |conn, at, dir, bytes| TapCopy {
            conn: ConnId(conn),
            at: Time(at),
            event: TapEvent::Lost { dir, bytes, chunks: 1 },
        };
        let mut losses = LateLosses::default();
        for at in 0..100 {
            assert!(losses.add(vec![lost(1, at, Dir::Req, 2), lost(2, at, Dir::Resp, 3)]).is_empty());
        }
        let closed = TapEvent::Closed { by: None, error: None };
        let out = losses.add(vec![TapCopy { conn: ConnId(1), at: Time(100), event: closed }]);
        let word = |copy: &TapCopy| format!("{} {} {:?}", copy.conn.0, copy.at.0, copy.event);
        let words: Vec<String> = out.iter().map(word).collect();
        let event = "Lost { dir: Req, bytes: 200, chunks: 100 }";
        assert_eq!(words, [format!("1 100 {event}"), "1 100 Closed { by: None, error: None }".to_owned()]);
        let rest: Vec<String> = losses.finish().iter().map(word).collect();
        assert_eq!(rest, ["2 100 Lost { dir: Resp, bytes: 300, chunks: 100 }"]);
    }
}
