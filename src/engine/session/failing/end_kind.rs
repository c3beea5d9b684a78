//! Kinds of ends of streams.

use xdscope_wire::End;
use xdscope_wire::event::{Code, Side};
use xdscope_wire::h2::go_away_code;

use super::end_series::is_keepalive_timeout;

/// The HTTP/2 error code of an end without an error.
const NO_ERROR: u32 = 0;

/// The HTTP/2 error code of a client that needs no more of a stream.
const CANCEL: u32 = 8;

/// The HTTP/2 error code of a server that objects to the number of PINGs.
const ENHANCE_YOUR_CALM: &str = "ENHANCE_YOUR_CALM";

/// The statuses of connections that end: INTERNAL and UNAVAILABLE.
const STATUSES_OF_LOST_CONNECTIONS: [Code; 2] = [Code(13), Code(14)];

/// How a stream ended, by the consequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndKind {
    /// The client ended the stream, and nothing was wrong.
    #[default]
    Clean,
    /// The server or a proxy ended the stream without an error, as at a maximum connection age.
    Graceful,
    /// A status, a reset or a broken connection.
    Error,
}

impl EndKind {
    /// Classifies an end.
    pub(crate) fn from_end(end: &End) -> EndKind {
        let by_client = end.by == Some(Side::Client);
        let note = end.note.as_deref().unwrap_or_default();
        let goaway = go_away_code(note);
        match (&end.status, end.reset) {
            (Some((Code(0), _)), _) if by_client => EndKind::Clean,
            (Some((Code(0), _)), _) => EndKind::Graceful,
            (Some((Code(1), _)), _) if by_client => EndKind::Clean,
            (Some((code, text)), None) if is_lost_connection(*code) && is_drain(text) => EndKind::Graceful,
            (Some(_), _) => EndKind::Error,
            (None, Some(NO_ERROR | CANCEL)) if by_client => EndKind::Clean,
            (None, Some(NO_ERROR)) => EndKind::Graceful,
            (None, Some(_)) => EndKind::Error,
            (None, None) if goaway == Some(NO_ERROR) => EndKind::Graceful,
            (None, None) if goaway.is_some() => EndKind::Error,
            (None, None) if by_client && !is_keepalive_timeout(end.note.as_deref()) => EndKind::Clean,
            (None, None) if end.by.is_none() && note.is_empty() => EndKind::Clean,
            (None, None) => EndKind::Error,
        }
    }
}

fn is_lost_connection(code: Code) -> bool {
    STATUSES_OF_LOST_CONNECTIONS.contains(&code)
}

/// Whether the text of a status announces a planned end.
fn is_drain(text: &str) -> bool {
    const DRAINS: [&str; 7] =
        ["max_age", "max connection age", "max age", "draining", "graceful", "goaway", "go away"];
    let text = text.to_ascii_lowercase();
    DRAINS.iter().any(|word| text.contains(word)) && !states_error(&text)
}

/// Whether the text about a GOAWAY, in lowercase, states an error.
fn states_error(text: &str) -> bool {
    is_too_many_pings(text) || text.replace("no_error", "").contains("error")
}

/// Whether a text says that a server closed the connection because of too many PINGs.
pub(crate) fn is_too_many_pings(text: &str) -> bool {
    text.contains("too_many_pings") || text.to_ascii_uppercase().contains(ENHANCE_YOUR_CALM)
}

/// Whether the client has ended the stream itself, with an error code.
pub(super) fn is_reset_by_client(end: &End) -> bool {
    let has_code = end.reset.is_some() || end.note.as_deref().and_then(go_away_code).is_some();
    end.by == Some(Side::Client) && has_code && !is_keepalive_timeout(end.note.as_deref())
}

/// Whether a client has ended the stream without an error, as one that has what it asked for.
pub(super) fn is_left_by_client(end: &End) -> bool {
    end.by == Some(Side::Client) && EndKind::from_end(end) == EndKind::Clean
}

/// Whether a client has ended the stream itself, with an error code or without an error.
pub(crate) fn is_ended_by_client(end: &End) -> bool {
    is_left_by_client(end) || is_reset_by_client(end)
}

/// Whether the end says no more than that the connection was closed, as at a maximum connection
/// age. Envoy reports such an end as INTERNAL without a text.
pub(super) fn is_bare(end: &End) -> bool {
    const CLOSED: [&str; 2] = ["the connection was closed", "the server closed the connection"];
    match (&end.status, &end.note) {
        _ if end.reset.is_some() => false,
        (Some((code, text)), None) => is_lost_connection(*code) && text.is_empty(),
        (None, Some(note)) => CLOSED.contains(&note.as_str()) || go_away_code(note) == Some(NO_ERROR),
        (None, None) => true,
        (Some(_), Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: i32, text: &str) -> EndKind {
        let status = Some((Code(code), text.to_owned()));
        EndKind::from_end(&End { by: Some(Side::Server), status, ..End::default() })
    }

    #[test]
    fn status_of_a_drain_is_graceful() {
        for text in ["goaway received", "GOAWAY NO_ERROR (max_age)", "max_age", "Draining connections"] {
            assert_eq!((kind(13, text), kind(14, text)), (EndKind::Graceful, EndKind::Graceful), "{text}");
        }
        let calm = "received prior goaway: code: ENHANCE_YOUR_CALM, debug data: too_many_pings";
        for text in [calm, "goaway received: PROTOCOL_ERROR", "token expired", ""] {
            assert_eq!(kind(14, text), EndKind::Error, "{text}");
        }
        assert_eq!(kind(16, "goaway received"), EndKind::Error);
    }

    #[test]
    fn goaway_with_an_error_is_an_error() {
        let noted = |by, note: &str| End { by: Some(by), note: Some(note.to_owned()), ..End::default() };
        let calm = noted(Side::Server, "GOAWAY ENHANCE_YOUR_CALM (too_many_pings)");
        assert_eq!((EndKind::from_end(&calm), is_bare(&calm)), (EndKind::Error, false));
        let client = noted(Side::Client, "GOAWAY PROTOCOL_ERROR");
        assert_eq!((EndKind::from_end(&client), is_reset_by_client(&client)), (EndKind::Error, true));
        let planned = noted(Side::Server, "GOAWAY NO_ERROR (max_age)");
        assert_eq!((EndKind::from_end(&planned), is_bare(&planned)), (EndKind::Graceful, true));
    }
}
