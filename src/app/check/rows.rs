//! The rows of a check of a control plane: one table.
//!
//! A row is a stimulus, as steps of a client, and the rows of `docs/protocol.md` whose lint rules
//! the server may not break meanwhile. The public source is that of the row of the protocol.

use xdscope_wire::event::Variant;

use RowNames::{Both, First, Known, Many, Missing, Second};
use ServerStep::{
    Accept, Change, EndWildcard, Gone, Has, Hold, News, Open, Pause, Reconnect, Refuse, Refused, Removal,
    Roots, Sent, Settled, Silence, Stale, Subscribe, SubscribeTwice, Timed, Unsubscribe, UnsubscribeUnknown,
    Wildcard,
};
use Subject::{Named, Whole};

/// The type of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The type with a wildcard: clusters, or listeners.
    Whole,
    /// The type whose resources are requested by name: endpoints or routes, if the server has any.
    Named,
}

/// RowNames of resources in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowNames {
    First,
    Second,
    Both,
    /// All names that the server has sent for the wildcard before.
    Known,
    /// A name that the server does not have.
    Missing,
    /// The first name and a thousand that the server does not have.
    Many,
}

/// A change that the command of `--change` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Change the content of a resource.
    Update,
    /// Remove a resource.
    Remove,
    /// Go back to the first state.
    Restore,
}

impl ChangeKind {
    /// Returns the value of `XDSCOPE_CHANGE_KIND`.
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Update => "update",
            ChangeKind::Remove => "remove",
            ChangeKind::Restore => "restore",
        }
    }
}

/// A step of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerStep {
    /// Subscribes to all resources.
    Wildcard(Subject),
    /// Subscribes to all clusters and to all listeners, as far as the server has them.
    Roots,
    EndWildcard(Subject),
    Subscribe(Subject, RowNames),
    /// Subscribes to the first and at once to the second name.
    SubscribeTwice(Subject),
    Unsubscribe(Subject, RowNames),
    /// Unsubscribes from a name that was not subscribed to.
    UnsubscribeUnknown(Subject),
    /// States an old version of these names in the first request for them.
    Hold(Subject, RowNames),
    /// Sends a request for these names with the nonce of the first response.
    Stale(Subject, RowNames),
    /// Answers each response of the type with a NACK from now on.
    Refuse(Subject),
    /// Answers responses of the type with ACKs again.
    Accept(Subject),
    /// Opens another stream, and states what the client has.
    Reconnect,
    /// Runs the command of `--change`.
    Change(ChangeKind),
    /// Waits until the server has sent these resources.
    Has(Subject, RowNames),
    /// Waits until the server has reported that these resources do not exist.
    Gone(Subject, RowNames),
    /// Waits until the server has sent or removed this resource since the last step that asked for
    /// something.
    Sent(Subject, RowNames),
    /// Gives the server time. It may not send any resource of the type.
    Silence(Subject),
    /// Waits until a response was refused.
    Refused(Subject),
    /// Waits until everything that was requested, directly or by reference, has come.
    Settled,
    /// Waits for a new or changed resource of any type, since the last step that asked.
    News,
    /// Waits for the removal of a resource of any type, since the last step that asked.
    Removal,
    /// Waits for the time to live of a resource.
    Timed,
    /// Gives the server time for a message that it must not send.
    Pause,
    /// The stream must be open.
    Open(Subject),
}

impl ServerStep {
    fn subject(self) -> Option<Subject> {
        match self {
            Wildcard(of)
            | EndWildcard(of)
            | SubscribeTwice(of)
            | UnsubscribeUnknown(of)
            | Refuse(of)
            | Accept(of) => Some(of),
            Subscribe(of, _) | Unsubscribe(of, _) | Hold(of, _) | Stale(of, _) => Some(of),
            Has(of, _) | Gone(of, _) | Sent(of, _) | Silence(of) | Refused(of) | Open(of) => Some(of),
            Roots | Reconnect | Change(_) | Settled | News | Removal | Timed | Pause => None,
        }
    }
}

/// A row of the check of a control plane.
pub struct ServerRow {
    pub id: &'static str,
    /// The behaviour of a server that passes.
    pub title: &'static str,
    pub variants: &'static [Variant],
    /// The row of `docs/protocol.md`, in SotW and in delta.
    pub(super) protocol: [&'static str; 2],
    /// Form of the wildcard; `None`: the usual one of the variant.
    pub(super) is_legacy_wildcard: Option<bool>,
    /// Whether the client requests what resources refer to.
    pub(super) follows: bool,
    /// Whether the client announces that it supports times to live.
    pub(super) has_features: bool,
    pub(super) steps: &'static [ServerStep],
    /// Further rows of `docs/protocol.md` whose lint rules the server may not break.
    judged: &'static [&'static str],
}

impl ServerRow {
    /// Returns the rows of `docs/protocol.md` whose lint rules judge the exchange.
    pub(super) fn judged(&self, variant: Variant) -> Vec<&'static str> {
        self.judged.iter().copied().chain([self.protocol(variant)]).collect()
    }

    /// Returns the row of `docs/protocol.md` for a variant.
    pub fn protocol(&self, variant: Variant) -> &'static str {
        self.protocol[usize::from(variant.is_delta())]
    }

    /// Whether the row compares two types.
    pub(super) fn needs_two_types(&self) -> bool {
        let has = |of: Subject| self.steps.iter().any(|step| step.subject() == Some(of));
        has(Subject::Whole) && has(Subject::Named)
    }

    /// Whether the row is about the order of clusters and listeners.
    pub(super) fn needs_both_roots(&self) -> bool {
        self.judged == ORDER
    }

    /// Whether the server must change something.
    pub fn needs_change(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Change(_)))
    }
}

/// All variants, in the order of the results.
pub const VARIANTS: [Variant; 4] = [Variant::Ads, Variant::DeltaAds, Variant::Sotw, Variant::Delta];
const ALL: &[Variant] = &VARIANTS;
const SOTW: &[Variant] = &[Variant::Ads, Variant::Sotw];
const DELTA: &[Variant] = &[Variant::DeltaAds, Variant::Delta];
const AGGREGATED: &[Variant] = &[Variant::Ads, Variant::DeltaAds];

/// Rows about the order of clusters, listeners and routes.
const ORDER: &[&str] = &["H-09", "H-10", "H-11"];

const fn row(
    id: &'static str,
    title: &'static str,
    variants: &'static [Variant],
    protocol: [&'static str; 2],
    steps: &'static [ServerStep],
    judged: &'static [&'static str],
) -> ServerRow {
    ServerRow {
        id,
        title,
        variants,
        protocol,
        is_legacy_wildcard: None,
        follows: false,
        has_features: true,
        steps,
        judged,
    }
}

const fn following(row: ServerRow) -> ServerRow {
    ServerRow { follows: true, ..row }
}

/// All rows, in the order in which they run.
pub const SERVER_ROWS: &[ServerRow] = &[
    row(
        "wildcard",
        "a subscription to everything is answered with everything",
        ALL,
        ["E-39", "F-20"],
        &[Wildcard(Whole), Has(Whole, Known)],
        &[],
    ),
    ServerRow {
        is_legacy_wildcard: Some(false),
        ..row(
            "wildcard-star",
            "the name * stands for everything",
            SOTW,
            ["E-38", "E-38"],
            &[Wildcard(Whole), Has(Whole, Known)],
            &[],
        )
    },
    ServerRow {
        is_legacy_wildcard: Some(true),
        ..row(
            "wildcard-empty",
            "a first request without names stands for everything",
            DELTA,
            ["E-39", "E-39"],
            &[Wildcard(Whole), Has(Whole, Known)],
            &[],
        )
    },
    row(
        "wildcard-added",
        "a subscription that grows from one name to everything is answered with everything",
        ALL,
        ["E-38", "F-20"],
        &[Subscribe(Whole, First), Has(Whole, First), Wildcard(Whole), Has(Whole, Known)],
        &[],
    ),
    row(
        "wildcard-name",
        "a name that is requested beside the wildcard is answered",
        DELTA,
        ["F-14", "F-14"],
        &[Wildcard(Whole), Has(Whole, Known), Subscribe(Whole, First), Sent(Whole, First)],
        &[],
    ),
    row(
        "wildcard-name-ended",
        "a name that is given up beside the wildcard is sent or removed",
        DELTA,
        ["F-26", "F-26"],
        &[
            Wildcard(Whole),
            Has(Whole, Known),
            Subscribe(Whole, First),
            Sent(Whole, First),
            Unsubscribe(Whole, First),
            Sent(Whole, First),
        ],
        &[],
    ),
    row(
        "wildcard-ended",
        "a client that gives up the wildcard and keeps a name is still served",
        ALL,
        ["E-41", "F-23"],
        &[
            Wildcard(Whole),
            Has(Whole, Known),
            Subscribe(Whole, First),
            EndWildcard(Whole),
            Pause,
            Open(Whole),
            Subscribe(Whole, Second),
            Sent(Whole, Second),
        ],
        &["E-40"],
    ),
    row(
        "nonces",
        "each response has a nonce of its own",
        ALL,
        ["E-07", "F-03"],
        &[Subscribe(Named, First), Has(Named, First), Subscribe(Named, Second), Has(Named, Second)],
        &["E-07", "F-03"],
    ),
    following(row(
        "types",
        "the type of each response is that of its resources, which can be decoded and have a name",
        ALL,
        ["E-28", "F-31"],
        &[Roots, Settled],
        &["E-28", "F-31", "A-01", "A-18", "B-05", "E-01", "I-01"],
    )),
    following(row(
        "duplicates",
        "no response has a name twice",
        ALL,
        ["E-43", "F-29"],
        &[Roots, Settled],
        &["E-43", "F-29"],
    )),
    following(row(
        "warming",
        "what resources refer to is sent",
        ALL,
        ["H-04", "H-04"],
        &[Roots, Settled],
        &[],
    )),
    following(row(
        "order",
        "clusters come before what refers to them",
        AGGREGATED,
        ["H-09", "H-09"],
        &[Roots, Settled],
        ORDER,
    )),
    row(
        "two-types",
        "two types on one stream are answered, also the one whose request has no node",
        AGGREGATED,
        ["I-01", "I-01"],
        &[Wildcard(Whole), Subscribe(Named, First), Has(Whole, Known), Has(Named, First)],
        &[],
    ),
    row(
        "name",
        "a name is answered with its resource",
        ALL,
        ["E-34", "F-14"],
        &[Subscribe(Named, First), Has(Named, First)],
        &[],
    ),
    row(
        "name-added",
        "a name that is added to a subscription is answered",
        ALL,
        ["E-36", "F-08"],
        &[Subscribe(Named, First), Has(Named, First), Subscribe(Named, Second), Has(Named, Second)],
        &["E-36", "F-14"],
    ),
    row(
        "names-crossing",
        "a request that crosses the response to the one before is answered",
        ALL,
        ["E-14", "F-07"],
        &[SubscribeTwice(Named), Has(Named, Both)],
        &[],
    ),
    row(
        "name-unknown",
        "a name that does not exist does not keep another one from being answered",
        SOTW,
        ["E-47", "E-47"],
        &[Subscribe(Named, Missing), Subscribe(Named, First), Has(Named, First), Open(Named)],
        &[],
    ),
    row(
        "name-missing",
        "a name that does not exist is reported as removed, or as an error",
        DELTA,
        ["F-28", "F-28"],
        &[Subscribe(Named, Missing), Gone(Named, Missing)],
        &["L-12"],
    ),
    row(
        "names-many",
        "a request with a thousand unknown names is answered with the known one",
        ALL,
        ["E-34", "F-08"],
        &[Subscribe(Named, Many), Has(Named, First), Open(Named)],
        &[],
    ),
    row(
        "name-again",
        "a name that was given up and is requested again is answered again",
        ALL,
        ["E-36", "F-14"],
        &[
            Subscribe(Named, Both),
            Has(Named, Both),
            Unsubscribe(Named, Second),
            Pause,
            Subscribe(Named, Second),
            Sent(Named, Second),
        ],
        &["E-36", "F-14"],
    ),
    row(
        "names-ended",
        "an empty list after names is not a wildcard",
        SOTW,
        ["E-40", "E-40"],
        &[Subscribe(Whole, First), Has(Whole, First), Unsubscribe(Whole, First), Silence(Whole)],
        &["E-40"],
    ),
    row(
        "name-never-had",
        "giving up a name that was not subscribed to is harmless",
        DELTA,
        ["F-24", "F-24"],
        &[
            Subscribe(Named, First),
            Has(Named, First),
            UnsubscribeUnknown(Named),
            Pause,
            Open(Named),
            Subscribe(Named, Second),
            Has(Named, Second),
        ],
        &[],
    ),
    row(
        "ack-silence",
        "an ACK is not answered",
        SOTW,
        ["E-29", "E-29"],
        &[Wildcard(Whole), Has(Whole, Known), Pause, Open(Whole)],
        &[],
    ),
    row(
        "nack-loop",
        "a refused response is not sent again unchanged",
        ALL,
        ["E-30", "F-34"],
        &[Refuse(Whole), Wildcard(Whole), Refused(Whole), Pause, Open(Whole)],
        &["E-30"],
    ),
    row(
        "nack-other-type",
        "a NACK of one type does not keep another type from being answered",
        AGGREGATED,
        ["I-01", "F-10"],
        &[Refuse(Whole), Wildcard(Whole), Refused(Whole), Subscribe(Named, First), Has(Named, First)],
        &[],
    ),
    row(
        "nack-name-added",
        "a name that is added after a NACK is answered",
        ALL,
        ["E-24", "F-04"],
        &[
            Refuse(Named),
            Subscribe(Named, First),
            Refused(Named),
            Accept(Named),
            Subscribe(Named, Second),
            Has(Named, Second),
        ],
        &[],
    ),
    row(
        "stale-nonce",
        "a request with the nonce of an older response is not answered",
        SOTW,
        ["E-12", "E-12"],
        &[
            Subscribe(Named, First),
            Has(Named, First),
            Subscribe(Named, Second),
            Has(Named, Second),
            Stale(Named, Both),
            Pause,
            Open(Named),
        ],
        &["E-29"],
    ),
    row(
        "stale-nonce-name",
        "a name is answered however old the nonce of its request is",
        DELTA,
        ["F-07", "F-07"],
        &[
            Subscribe(Named, First),
            Has(Named, First),
            Unsubscribe(Named, First),
            Subscribe(Named, First),
            Sent(Named, First),
            Stale(Named, Second),
            Has(Named, Second),
        ],
        &[],
    ),
    row(
        "reconnect",
        "a client that comes back with its versions is served, also a name that is new",
        ALL,
        ["E-19", "F-18"],
        &[
            Subscribe(Named, First),
            Has(Named, First),
            Reconnect,
            Subscribe(Named, Second),
            Has(Named, Second),
        ],
        &["E-19"],
    ),
    row(
        "reconnect-current",
        "a client that comes back with its versions keeps its stream",
        ALL,
        ["E-19", "F-17"],
        &[Wildcard(Whole), Has(Whole, Known), Reconnect, Pause, Open(Whole)],
        &["E-30"],
    ),
    row(
        "reconnect-outdated",
        "a resource that the client states to hold in another version is sent",
        DELTA,
        ["L-16", "L-16"],
        &[Hold(Named, First), Has(Named, First)],
        &[],
    ),
    row(
        "reconnect-gone",
        "a resource that the client states to hold and that does not exist is removed",
        DELTA,
        ["F-28", "F-28"],
        &[Hold(Named, Missing), Gone(Named, Missing)],
        &["L-12"],
    ),
    following(row(
        "ttl",
        "resources with a time to live are sent again before their time is over",
        ALL,
        ["G-04", "G-04"],
        &[Roots, Settled, Timed],
        &["G-02", "G-10", "G-11"],
    )),
    ServerRow {
        has_features: false,
        ..following(row(
            "ttl-unannounced",
            "a client that does not announce times to live gets none",
            ALL,
            ["G-03", "G-03"],
            &[Roots, Settled],
            &["G-09"],
        ))
    },
    following(row(
        "change",
        "a change is pushed, in another version",
        ALL,
        ["E-15", "F-35"],
        &[Roots, Settled, Change(ChangeKind::Update), News, Settled],
        &["E-15", "F-35"],
    )),
    following(row(
        "change-order",
        "a change comes in an order that loses no traffic",
        AGGREGATED,
        ["H-10", "H-10"],
        &[Roots, Settled, Change(ChangeKind::Update), News, Settled],
        ORDER,
    )),
    following(row(
        "removal",
        "a removed resource is left out or reported as removed",
        ALL,
        ["E-44", "F-27"],
        &[Roots, Settled, Change(ChangeKind::Remove), Removal],
        &["F-29"],
    )),
    following(row(
        "nack-repair",
        "a change after a NACK is pushed",
        ALL,
        ["E-26", "F-34"],
        &[Refuse(Whole), Wildcard(Whole), Refused(Whole), Accept(Whole), Change(ChangeKind::Update), News],
        &["E-30"],
    )),
];
