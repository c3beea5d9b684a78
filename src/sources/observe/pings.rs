//! PINGs without an answer, which explain the end of a connection.

use std::time::Duration;

use xdscope_wire::End;
use xdscope_wire::event::{Dir, Side, Time};

/// Shortest time without an answer that counts as a keepalive timeout. A connection can also end
/// while the answer to a PING is on its way.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The oldest PING of client and server after which the other side has sent nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnansweredPings([Option<Time>; 2]);

impl UnansweredPings {
    /// Notes a PING.
    pub(super) fn sent(&mut self, dir: Dir, at: Time) {
        if let Some(since) = self.0.get_mut(dir as usize) {
            since.get_or_insert(at);
        }
    }

    /// Notes an answer, or something else that shows that a side is alive.
    pub(super) fn answered(&mut self, dir: Dir) {
        let other = if dir == Dir::Req { Dir::Resp } else { Dir::Req };
        if let Some(since) = self.0.get_mut(other as usize) {
            *since = None;
        }
    }

    /// Returns the end of a stream with its reason, if a side closed the connection because its
    /// PING was not answered (docs/protocol.md#i-12).
    pub(super) fn explain(&self, end: End, at: Time) -> End {
        if end.status.is_some() || end.reset.is_some() {
            return end;
        }
        let sides = [Side::Client, Side::Server].into_iter().zip(self.0);
        let waited = |since: Time| Duration::from_secs(at.since(since).as_secs());
        let mut late = sides.filter_map(|(side, since)| Some((side, waited(since?))));
        let timeout =
            late.find(|(side, waited)| *waited >= MIN_TIMEOUT && end.by.is_none_or(|by| by == *side));
        match timeout {
            Some((side, waited)) => {
                let note = format!("keepalive: no answer to a PING in {waited:?}");
                End { by: Some(side), note: Some(note), ..end }
            }
            None => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(by: Option<Side>) -> End {
        End { by, note: Some("the connection was closed".to_owned()), ..End::default() }
    }

    #[test]
    fn names_the_side_that_waited() {
        let at = |secs| Time::ZERO.after(Duration::from_secs(secs));
        let mut pings = UnansweredPings::default();
        assert_eq!(pings.explain(closed(None), at(9)), closed(None));
        pings.sent(Dir::Req, at(10));
        pings.sent(Dir::Req, at(20));
        assert_eq!(pings.explain(closed(None), at(10)), closed(None), "the answer may be on its way");
        let end = pings.explain(closed(None), at(30));
        assert_eq!(end.by, Some(Side::Client));
        assert_eq!(end.note.as_deref(), Some("keepalive: no answer to a PING in 20s"));
        assert_eq!(pings.explain(closed(Some(Side::Server)), at(30)), closed(Some(Side::Server)));
        let reset = End { reset: Some(8), ..closed(Some(Side::Client)) };
        assert_eq!(pings.explain(reset.clone(), at(30)), reset);
        pings.answered(Dir::Resp);
        assert_eq!(pings.explain(closed(None), at(30)), closed(None));
    }
}
