//! The side that ends a connection first, which ends the streams that are open then.

use xdscope_wire::End;
use xdscope_wire::event::{Code, Dir, Side};
use xdscope_wire::h2::go_away_words;

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
    /// The words of the server's GOAWAY without an error.
    planned: Option<String>,
    /// The side that sent the first GOAWAY with an error, and the words of the GOAWAY.
    failure: Option<(Side, String)>,
}

impl FirstEnd {
    /// Notes that the TCP connection of a side has ended.
    pub(super) fn finished(&mut self, side: Side) {
        self.side.get_or_insert(side);
    }

    /// Notes a GOAWAY with its debug data, from which secrets are removed. A client that goes away
    /// without an error has said no more than that it closes the connection.
    pub(super) fn goes_away(&mut self, by: Side, code: u32, debug: &str) {
        let words = go_away_words(code, debug);
        if code != NO_ERROR {
            self.failure.get_or_insert((by, words));
        } else if by == Side::Server && (self.planned.is_none() || !debug.is_empty()) {
            self.planned = Some(words);
        }
    }

    /// Notes a message. A client that gets more responses than the one that was on its way has
    /// ended its own direction only.
    pub(super) fn message(&mut self, dir: Dir) {
        if (dir, self.side) == (Dir::Resp, Some(Side::Client)) {
            self.responses += 1;
            if self.responses > RESPONSES_ON_THEIR_WAY {
                self.side = None;
            }
        }
    }

    /// Returns the side that ends the streams: the one that sent a GOAWAY with an error, or the one
    /// that ended the connection. A client that leaves after a GOAWAY of the server does as it was
    /// told.
    pub(super) fn by(&self) -> Option<Side> {
        match (&self.failure, self.side?) {
            (Some((by, _)), _) => Some(*by),
            (None, Side::Client) if self.planned.is_some() => Some(Side::Server),
            (None, side) => Some(side),
        }
    }

    /// Returns the end of a stream with its cause. A reset or a status of the other side after the
    /// first end is a reaction, except for a status that is an answer to a request.
    pub(super) fn cause_of(&self, end: End) -> End {
        if let Some((by, words)) = &self.failure {
            return failed(end, *by, words);
        }
        let Some(by) = self.by() else { return end };
        let status = end.status.as_ref().map(|(code, _)| *code);
        let is_answer = |code| self.responses > 0 || !STATUSES_OF_LEFT_CLIENTS.contains(&code);
        if by == Side::Client && status.is_some_and(is_answer) {
            return end;
        }
        let is_reaction = end.by != Some(by) || end.status.is_some() || end.reset.is_some();
        let note = match (&self.planned, end.note) {
            (Some(words), _) if by == Side::Server => words.clone(),
            (_, Some(note)) if !is_reaction => note,
            _ => "the connection was closed".to_owned(),
        };
        End { by: Some(by), note: Some(note), ..End::default() }
    }
}

/// Returns the end of a stream after a GOAWAY with an error: a status or a reset of the other side
/// is a reaction.
///
/// Bytes of a server that are not HTTP/2 are the cause of a GOAWAY of the client.
fn failed(end: End, by: Side, words: &str) -> End {
    let is_own = end.by == Some(by);
    if !is_own && end.note.is_some() {
        return end;
    }
    End {
        by: Some(by),
        status: end.status.filter(|_| is_own),
        reset: end.reset.filter(|_| is_own),
        note: Some(words.to_owned()),
    }
}
