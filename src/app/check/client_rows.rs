//! The rows of a check of a client: one table.

use super::content::Bad;
use ClientNeed::{Aggregated, Delta, Names, Nothing, PartialSotw, Ttl, Wildcard};
use ClientStep::{Ack, Back, Good, Nack, Open, Push, PushTwo, Quiet, StatesVersions};

/// A property of the client that a row needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientNeed {
    Nothing,
    Delta,
    /// All types on one stream.
    Aggregated,
    /// A type that is requested by name.
    Names,
    /// A type of which a SotW response may have any subset.
    PartialSotw,
    /// A wildcard.
    Wildcard,
    /// Support of times to live.
    Ttl,
}

/// A step of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientStep {
    /// Changes the content of all resources.
    Good,
    /// Sends a response on purpose.
    Push(Bad),
    /// Sends the newest content twice in a row.
    PushTwo,
    /// Waits for the ACK of the newest response.
    Ack,
    /// Waits for its NACK.
    Nack,
    /// Gives the client time for a message that it must not send.
    Quiet,
    /// The stream must be open.
    Open,
    /// Ends the streams of the client with UNAVAILABLE.
    End,
    /// Waits until the client has subscribed to the same names on another stream.
    Back,
    /// The first request of the stream states what the client has.
    StatesVersions,
}

/// A row of the check of a client.
pub struct ClientRow {
    pub id: &'static str,
    /// The behaviour of a client that passes.
    pub title: &'static str,
    pub(super) need: ClientNeed,
    /// The row of `docs/protocol.md`, in SotW and in delta.
    pub(super) protocol: [&'static str; 2],
    pub(super) steps: &'static [ClientStep],
    /// Further rows of `docs/protocol.md` whose lint rules the client may not break.
    judged: &'static [&'static str],
}

impl ClientRow {
    /// Returns the rows of `docs/protocol.md` whose lint rules judge the exchange.
    pub(super) fn judged(&self, is_delta: bool) -> Vec<&'static str> {
        self.judged.iter().copied().chain([self.protocol(is_delta)]).collect()
    }

    /// Returns the row of `docs/protocol.md`.
    pub fn protocol(&self, is_delta: bool) -> &'static str {
        self.protocol[usize::from(is_delta)]
    }
}

const fn row(
    id: &'static str,
    title: &'static str,
    need: ClientNeed,
    protocol: [&'static str; 2],
    steps: &'static [ClientStep],
    judged: &'static [&'static str],
) -> ClientRow {
    ClientRow { id, title, need, protocol, steps, judged }
}

/// All rows, in the order in which they run.
pub const CLIENT_ROWS: &[ClientRow] = &[
    row(
        "ack",
        "a valid response is acknowledged",
        Nothing,
        ["E-20", "F-05"],
        &[Good, Ack],
        &["E-08", "E-11", "F-06", "F-09", "I-02"],
    ),
    row(
        "node",
        "the first request of a stream has a node, and later ones have no other",
        Nothing,
        ["E-05", "E-05"],
        &[ClientStep::End, Back, Good, Ack],
        &["E-06"],
    ),
    row(
        "ack-repeated",
        "a response that repeats the one before is acknowledged",
        Nothing,
        ["E-04", "F-05"],
        &[Good, Ack, Push(Bad::Repeated), Ack],
        &["E-11", "F-09"],
    ),
    row(
        "ack-two",
        "of two responses in a row the second is acknowledged, with its own nonce",
        Nothing,
        ["E-08", "F-36"],
        &[Good, Ack, PushTwo, Ack],
        &["E-10", "E-11", "F-09"],
    ),
    row(
        "nack-undecodable",
        "a response with a malformed resource is refused, and the next valid one acknowledged",
        Nothing,
        ["E-21", "F-05"],
        &[Push(Bad::Undecodable), Nack, Good, Ack],
        &["E-23", "E-25"],
    ),
    row(
        "nack-other-type",
        "a response with a resource of another type is refused",
        Nothing,
        ["E-28", "F-31"],
        &[Push(Bad::OtherType), Nack, Good, Ack],
        &["E-23"],
    ),
    row(
        "nack-duplicate",
        "a response with a name twice is refused",
        Nothing,
        ["E-43", "F-29"],
        &[Push(Bad::Duplicate), Nack, Good, Ack],
        &["E-23"],
    ),
    row(
        "nack-once",
        "a refused response is refused once, and the stream stays open",
        Nothing,
        ["E-04", "F-05"],
        &[Push(Bad::Undecodable), Nack, Quiet, Open, Good, Ack],
        &["E-26", "E-50"],
    ),
    row(
        "unrequested",
        "a resource that was not requested does no harm",
        Names,
        ["E-35", "F-13"],
        &[Push(Bad::Unrequested), Ack, Good, Ack],
        &[],
    ),
    row(
        "removed-unknown",
        "the removal of an unknown resource is acknowledged",
        Delta,
        ["F-27", "F-27"],
        &[Push(Bad::RemovedUnknown), Ack, Good, Ack],
        &[],
    ),
    row(
        "removal",
        "the removal of a resource is acknowledged, and the resource is taken again",
        Nothing,
        ["E-44", "F-27"],
        &[Push(Bad::Removed), Ack, Good, Ack],
        &[],
    ),
    row(
        "empty",
        "an empty response of a type with partial responses is acknowledged",
        PartialSotw,
        ["E-45", "E-45"],
        &[Push(Bad::Empty), Ack, Open],
        &[],
    ),
    row(
        "resource-errors",
        "a response with an error in place of a resource is acknowledged",
        Nothing,
        ["M-14", "M-28"],
        &[Push(Bad::Errors), Ack, Good, Ack],
        &[],
    ),
    row(
        "unsubscribed-type",
        "a response of a type that was not requested does not disturb the others",
        Aggregated,
        ["I-01", "I-01"],
        &[Push(Bad::UnsubscribedType), Quiet, Open, Good, Ack],
        &["E-11", "F-09"],
    ),
    row(
        "large",
        "a thousand resources are acknowledged, and their removal too",
        Wildcard,
        ["E-32", "F-32"],
        &[Push(Bad::Many), Ack, Push(Bad::ManyGone), Ack],
        &[],
    ),
    row(
        "heartbeat",
        "a resource with a time to live and its heartbeat are acknowledged",
        Ttl,
        ["G-07", "G-07"],
        &[Push(Bad::Timed), Ack, Push(Bad::Heartbeat), Ack, Good, Ack],
        &[],
    ),
    row(
        "reconnect",
        "a client whose stream has ended subscribes to the same names on another one",
        Nothing,
        ["E-18", "F-18"],
        &[Good, Ack, ClientStep::End, Back, Good, Ack],
        &["E-11", "F-09", "F-15"],
    ),
    row(
        "reconnect-versions",
        "a client that comes back states the versions that it has",
        Nothing,
        ["E-02", "F-15"],
        &[Good, Ack, ClientStep::End, Back, StatesVersions],
        &[],
    ),
    row(
        "garbage",
        "a message that cannot be decoded does not stop the client for good",
        Nothing,
        ["B-05", "B-05"],
        &[Push(Bad::Garbage), Quiet, Good, Ack],
        &[],
    ),
];
