//! The side that ends a connection first, which ends the streams that are open then.

use xdscope_wire::End;
use xdscope_wire::event::{Code, Dir, Side};

/// The HTTP/2 error code of a GOAWAY that announces a planned end.
const NO_ERROR: u32 = 0;

/// The statuses with which a server ends the streams of a client that has left: CANCELLED and
/// UNAVAILABLE.
const STATUSES_OF_LEFT_CLIENTS: [Code; 2] = [Code(1), Code(14)];

/// Most responses that were on their way when a client left.
const RESPONSES_ON_THEIR_WAY: u32 = 1;

/// The first end of a connection.
#[derive(Default)]
pub(super) struct FirstEnd {
    /// The side whose TCP connection ended first.
    side: Option<Side>,
    /// Responses since the client has ended its direction.
    responses: u32,
    /// The HTTP/2 error code of the server's newest GOAWAY.
    goaway: Option<u32>,
}

impl FirstEnd {
    /// Notes that the TCP connection of a side has ended.
    pub(super) fn finished(&mut self, side: Side) {
        self.side.get_or_insert(side);
    }

    /// Notes a GOAWAY of the server with an HTTP/2 error code.
    pub(super) fn server_goes_away(&mut self, code: u32) {
        self.goaway = Some(code);
    }

    /// Notes a message. A client that gets more responses than the one that was on its way has
    /// ended its own direction only.
    pub(super) fn message(&mut self, dir: Dir) {
        if (dir, self.side) == (Dir::Resp, Some(Side::Client)) {
            self.responses += 1;
            self.side = self.side.filter(|_| self.responses <= RESPONSES_ON_THEIR_WAY);
        }
    }

    /// Returns the side that ends the streams.
    ///
    /// A client that leaves after a GOAWAY of the server does as it was told.
    pub(super) fn by(&self) -> Option<Side> {
        self.side.filter(|side| *side == Side::Server || self.goaway.is_none())
    }

    /// Returns the end of a stream with its cause. A reset or a status of the other side after the
    /// first end is a reaction, except for a status that is an answer to a request.
    pub(super) fn cause_of(&self, end: End) -> End {
        let Some(by) = self.by() else { return end };
        let status = end.status.as_ref().map(|(code, _)| *code);
        let is_answer = |code| self.responses > 0 || !STATUSES_OF_LEFT_CLIENTS.contains(&code);
        if by == Side::Client && status.is_some_and(is_answer) {
            return end;
        }
        let is_planned = by == Side::Server && self.goaway == Some(NO_ERROR);
        let is_reaction = end.by != Some(by) || end.status.is_some() || end.reset.is_some();
        let note = match end.note {
            _ if is_planned => "GOAWAY NO_ERROR".to_owned(),
            Some(note) if !is_reaction => note,
            _ => "the connection was closed".to_owned(),
        };
        End { by: Some(by), note: Some(note), ..End::default() }
    }
}
