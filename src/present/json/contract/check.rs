//! The fields of the objects that `check` prints.

use super::Presence::Always;
use super::Shape::{Number, Text, Words};
use super::{Field, TEXTS, field, known};
use crate::json::check::{CHECK_OUTCOMES, PEERS};

pub(super) const CHECK: &[Field] = &[
    field(Always, "peer", Words(|| PEERS.to_vec()), "the side that was checked"),
    field(Always, "row", Text, "id of the row, as in `check --list-rows`"),
    field(Always, "title", Text, "what the peer does if it passes"),
    known(Always, "variant", Text, "variant of the protocol; null without a stream"),
    field(
        Always,
        "outcome",
        Words(|| CHECK_OUTCOMES.to_vec()),
        "result; unanswered: no answer in time; not_run: does not apply, or something is missing",
    ),
    field(Always, "reasons", TEXTS, "why the row has not passed; notes begin with `note: `"),
    field(Always, "protocol_row", Text, "number of the rule of the protocol, as in `explain`"),
    field(Always, "statement", Text, "the rule in one sentence"),
    field(Always, "source", Text, "public documents that state the rule, with their sections"),
    field(Always, "ms", Number, "duration in milliseconds"),
    known(Always, "script", Text, "the exchange as an arrow script, up to 64 KiB"),
];
