//! The fields of all JSON objects as one table.

mod admin;
mod check;
mod doctor;

use xdscope_engine::diff::Op;
use xdscope_engine::lint::{Blame, Severity};
use xdscope_engine::nack::{ClientKind, InUse};
use xdscope_engine::problems::{ProblemKind, Urgency};
use xdscope_engine::store::{
    ClaimOutcome, EventKind, MessageKind, MissingAnswerCause, RequestClass, TypeState, Wildcard,
};
use xdscope_wire::Interference;
use xdscope_wire::event::{Dir, Variant};

use check::CHECK;
use doctor::DOCTOR;
use owner::{MADE, OWNER, OWNER_SUMMARY};
use resource::{BROKEN_CONSTRAINT, RESOURCE};
use stream::{END, NOT_KEPT, STREAM};

use Presence::{Always, Maybe, Messages, Requests, Responses};
use Shape::{Any, Bool, Count, Integer, List, Number, Object, Text, Time, Words};

/// When a field is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Always,
    /// In a `message` that was on the wire: not in those of kind `open` and `close`.
    Messages,
    /// In requests.
    Requests,
    /// In responses.
    Responses,
    /// If it applies.
    Maybe,
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    /// A non-negative integer.
    Count,
    /// An integer.
    Integer,
    Number,
    Bool,
    /// RFC 3339, or seconds from the start, or null if the source has no timestamps.
    Time,
    /// Any JSON.
    Any,
    /// One of the words of an enum.
    Words(fn() -> Vec<&'static str>),
    List(&'static Shape),
    Object(&'static [Field]),
}

/// One field of an object.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub presence: Presence,
    /// Whether the value can be `null`: unknown, or none.
    pub null: bool,
    pub doc: &'static str,
}

const fn field(presence: Presence, name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, presence, null: false, doc }
}

/// A field that can be `null`.
const fn known(presence: Presence, name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, presence, null: true, doc }
}

const TEXTS: Shape = List(&Text);

/// The words of an enum.
macro_rules! words {
    ($of:ident) => {
        Words(|| $of::ALL.into_iter().map($of::word).collect())
    };
}

// After the macro, which it uses.
mod owner;
mod reading;
mod resource;
mod stream;
mod warming;
mod xdstp;

/// Every object: its name, its description, and the fields after `schema` and `object`, in the
/// order in which they are printed.
pub(super) const OBJECTS: &[(&str, &str, &[Field])] = &[
    ("message", "One row of the timeline: `log`, `export --to jsonl`, and live runs", MESSAGE),
    ("state", "One type on one stream: `status`, `get --subscriptions`", STATE),
    ("stream", "One stream: `status -o json`, `info`", STREAM),
    ("resource", "One name on one stream: `get`", RESOURCE),
    ("owner", "A Kubernetes object that resources were made from: `blame`", OWNER_SUMMARY),
    ("made", "One resource that a Kubernetes object made, on one stream: `blame` with OWNER", MADE),
    ("finding", "A violation of a rule: `lint`", FINDING),
    ("problem", "A problem, or an answer that is still in time: `status`", PROBLEM),
    ("recovery", "A client that met faults: `status`, and the end of a run with faults", RECOVERY),
    ("rule", "A rule: `lint --list-rules`", RULE),
    ("change", "One resource that differs: `diff`", CHANGE),
    ("check", "One row of a conformance check: `check`", CHECK),
    ("session", "A kept session: `sessions`", SESSION),
    ("doctor", "The terminal, paths, settings and a server: `doctor`", DOCTOR),
];

const RECOVERY: &[Field] = &[
    known(Always, "node", Text, "node id"),
    field(Always, "interventions", Count, "interventions of xdscope"),
    field(
        Always,
        "corrections",
        Count,
        "messages that xdscope corrected, so that the server sends again what the client has otherwise",
    ),
    field(Always, "nacks", Count, "NACKs since the first one"),
    field(Always, "reconnects", Count, "streams opened since the first one"),
    field(Always, "recovered", Bool, "whether client and server agree again on all types"),
    known(Always, "longest_ms", Number, "longest time from an intervention to the recovery of its type"),
    field(Always, "open", TEXTS, "types that have not recovered"),
    field(
        Always,
        "caused_by",
        TEXTS,
        "for each of them, the newest fault or person whose act is not repaired",
    ),
];

const MESSAGE: &[Field] = &[
    field(Messages, "n", Count, "number of the message, from 1, over all streams"),
    field(Always, "time", Time, "time of capture"),
    field(Always, "stream", Count, "number of its stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Messages, "dir", words!(Dir), "request or response"),
    field(Messages, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Messages, "type_url", Text, "type URL"),
    field(Always, "kind", words!(MessageKind), "kind of the message; `xdscope help filter` lists the kinds"),
    field(
        Maybe,
        "class",
        words!(RequestClass),
        "how a request relates to the responses before it, by its nonce",
    ),
    field(Requests, "implied", Bool, "a NACK by version alone"),
    field(
        Maybe,
        "other_reading",
        Object(OTHER_READING),
        "the other meaning of a request whose nonce fits more than one response, or is empty",
    ),
    field(Messages, "version", Text, "version_info, system_version_info"),
    field(Messages, "nonce", Text, "nonce"),
    known(Messages, "answers", Count, "number of the message that it answers"),
    known(Messages, "latency_ms", Number, "milliseconds since that message"),
    field(Messages, "names", TEXTS, "requested names, or names of the resources sent"),
    field(Messages, "added", TEXTS, "names added to the subscription, or resources new to the client"),
    field(Responses, "changed", TEXTS, "resources whose content differs from the last one sent"),
    field(Messages, "removed", TEXTS, "names removed from the subscription, or removed resources"),
    field(Responses, "same", Count, "resources sent again unchanged"),
    field(Messages, "size", Count, "protobuf bytes"),
    field(Maybe, "error", Object(ERROR), "error_detail of a NACK"),
    field(
        Maybe,
        "initial_resource_versions",
        List(&Object(CLAIM)),
        "`log`: what the first request of a delta stream states, by name",
    ),
    field(Always, "partial", Bool, "whether the start of the stream is missing"),
    field(
        Maybe,
        "intercepted",
        Object(INTERCEPTED_MESSAGE),
        "what an armed tap did to a message, if the row is about that",
    ),
    field(Maybe, "gap", Object(NOT_KEPT), "messages that are missing, if the row is about those"),
    field(Maybe, "end", Object(END), "how the stream ended, in a row of kind `close`"),
    field(
        Maybe,
        "type_implied",
        Bool,
        "true if the message leaves its type out: the method or the names imply it",
    ),
    field(Maybe, "node_from", Count, "number of the request that states the node, if this one does not"),
    field(
        Maybe,
        "wildcard",
        words!(Wildcard),
        "kind of the wildcard subscription after a request, if there is one",
    ),
    field(
        Maybe,
        "full_state",
        Bool,
        "SotW response: whether it holds all resources of its type, so that others are removed",
    ),
    field(Maybe, "control_plane", Text, "identifier of the control plane in a response"),
    field(Maybe, "canary", Bool, "true if the response says so"),
    field(
        Maybe,
        "resource_errors",
        List(&Object(RESOURCE_ERROR)),
        "resources that the server does not send, and why",
    ),
    field(
        Maybe,
        "events",
        List(&Object(EVENT)),
        "what the message means: a wildcard ends, a resource comes into existence, …",
    ),
    field(Maybe, "body", Any, "with --body: content as protobuf JSON, null if it was dropped"),
    known(Maybe, "raw", Text, "with --body: bytes in base64"),
    field(Maybe, "nack", Object(NACK), "with --body: parts of the text of a NACK, and the refused resources"),
];

const RESOURCE_ERROR: &[Field] = &[
    field(Always, "name", Text, "resource"),
    field(Always, "code", Integer, "gRPC code"),
    field(Always, "message", Text, "message of the server"),
    field(Always, "at", Count, "number of the response"),
    field(Always, "absent", Bool, "whether the resource does not exist: code 5 (NOT_FOUND)"),
];

const RECLASSIFICATION: &[Field] = &[
    field(Always, "n", Count, "number of the request"),
    field(Always, "time", Time, "when the request was sent"),
];

const OWED_AGAIN: &[Field] = &[
    field(
        Always,
        "newer",
        Bool,
        "the server owes a newer version, else its removal or the resource that was requested again",
    ),
    field(Maybe, "removal", Bool, "the server had removed the resource before the stream, and owes that"),
    field(Always, "since", Time, "when the client began to wait"),
    field(Always, "overdue", Bool, "whether the time limit is over"),
];

const EVENT: &[Field] = &[
    field(Always, "event", Words(|| EventKind::WORDS.to_vec()), "kind of the event"),
    field(
        Always,
        "names",
        TEXTS,
        "first 64 names: resources, an alias and its resource, control planes, or type URLs",
    ),
    field(Always, "count", Count, "number of names"),
    field(Always, "text", Text, "description"),
];
const PROBLEM: &[Field] = &[
    field(Always, "problem", Words(problem_words), "state of the type, or kind of the problem"),
    field(
        Always,
        "urgency",
        words!(Urgency),
        "pending: still in time, nothing is wrong yet; over: a broken rule whose consequence has ended",
    ),
    field(Always, "blame", words!(Blame), "side that caused it, or owes the answer"),
    field(Maybe, "caused_by", Text, "fault or person of xdscope that caused it"),
    field(Always, "stream", Count, "number of the stream; of several, the first"),
    field(Always, "streams", Count, "number of streams"),
    known(Always, "node", Text, "node id; for an unreachable peer its address"),
    field(Maybe, "nodes", TEXTS, "ids of all nodes, if there are several"),
    field(Maybe, "type", Text, "short word of the type; absent if it is about a whole stream"),
    field(Always, "since", Time, "when it began"),
    field(Maybe, "last", Time, "when it occurred last, if more than once"),
    field(Maybe, "closed", Time, "when the stream closed, if it has"),
    field(Maybe, "over", Time, "when the consequence of the broken rule ended, if it has"),
    field(Always, "count", Count, "number of occurrences"),
    field(Maybe, "period_ms", Number, "mean interval of the occurrences in milliseconds, if it is regular"),
    field(Maybe, "at", Count, "number of the message to look at"),
    field(Always, "messages", List(&Count), "evidence: numbers of messages"),
    field(Always, "rules", TEXTS, "broken rules with the same cause"),
    field(Always, "causes", TEXTS, "ways in which these rules were broken, of rules with several"),
    field(Always, "varies", Bool, "whether the sentence of another occurrence differs, as in a nonce"),
    field(Always, "guess", Bool, "whether it is uncertain: `(guess)` in text"),
    field(Always, "text", Text, "one sentence"),
    field(Maybe, "quote", Text, "words of the client"),
    field(
        Maybe,
        "owners",
        List(&Object(OWNER)),
        "the Kubernetes objects behind the resources of the problem",
    ),
];

/// The words of `problem.problem`.
fn problem_words() -> Vec<&'static str> {
    ProblemKind::all().map(ProblemKind::word).collect()
}

const OTHER_READING: &[Field] = &[
    field(Always, "kind", words!(MessageKind), "kind of the message in this reading"),
    known(Always, "answers", Count, "number of the response that it answers in this reading"),
];

const ERROR: &[Field] =
    &[field(Always, "code", Integer, "gRPC code"), field(Always, "message", Text, "message of the client")];

const NACK: &[Field] = &[
    known(Always, "client", words!(ClientKind), "client whose wording it is"),
    field(Always, "entries", List(&Object(ENTRY)), "one for each refused resource or field in the text"),
    known(Always, "partly", Text, "whether the client applied the rest of the push"),
    field(Always, "effects", List(&Object(EFFECT)), "effects on traffic"),
    field(Always, "refused", List(&Object(REFUSED)), "refused resources"),
];

const ENTRY: &[Field] = &[
    known(Always, "name", Text, "resource"),
    field(Always, "name_guessed", Bool, "whether the name is a guess"),
    known(Always, "field", Text, "path of the field"),
    field(Always, "field_guessed", Bool, "whether the field is a guess"),
    field(Always, "reason", Text, "reason of the refusal"),
];

const EFFECT: &[Field] = &[
    known(Always, "name", Text, "refused resource, null if the NACK names none"),
    field(Always, "in_use", Words(|| InUse::WORDS.to_vec()), "what the client uses in place of it"),
    known(Always, "version", Text, "the earlier version in use"),
    field(Always, "text", Text, "description"),
];

const REFUSED: &[Field] = &[
    field(Always, "name", Text, "resource"),
    field(Always, "body", Any, "refused content, null if it was dropped"),
    field(
        Maybe,
        "broken_constraints",
        List(&Object(BROKEN_CONSTRAINT)),
        "constraints of the API that the refused content breaks, at most 8",
    ),
    field(Maybe, "more_broken_constraints", Count, "number of further broken constraints"),
    field(
        Maybe,
        "owners",
        List(&Object(OWNER)),
        "the Kubernetes objects that the refused content was made from",
    ),
    known(Always, "last_good", Text, "last accepted version"),
    field(Always, "last_good_body", Any, "content of the last accepted version"),
];

const STATE: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Always, "variant", words!(Variant), "transport variant"),
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "type_url", Text, "type URL"),
    field(Always, "state", words!(TypeState), "state; `xdscope help states` explains the states"),
    field(Maybe, "last_state", words!(TypeState), "state of a closed stream before it closed"),
    field(Always, "since", Time, "when the state began"),
    known(
        Always,
        "in_force",
        Text,
        "version that the client uses: acknowledged last on this stream, or stated in its requests",
    ),
    known(Always, "offered", Text, "version of the newest response"),
    known(Always, "reported", Text, "version_info of the newest request"),
    known(Always, "nonce", Text, "newest nonce issued"),
    field(Always, "pending", TEXTS, "nonces without a verdict: not acknowledged, refused or skipped"),
    field(Always, "wildcard", words!(Wildcard), "kind of the wildcard subscription"),
    field(Always, "names", TEXTS, "requested names"),
    field(Maybe, "effective", TEXTS, "names that the server goes by, if they differ; * is a wildcard"),
    field(Always, "missing", TEXTS, "requested names that were never sent"),
    field(Maybe, "owed_again", TEXTS, "resources that the client has, and the server owes again"),
    field(Always, "absent", TEXTS, "requested names that do not exist according to the server"),
    field(Always, "resources", Count, "resources that the client uses, or has yet to accept or refuse"),
    field(
        Always,
        "refused",
        Count,
        "resources whose newest version is refused by a NACK that names them, or names none",
    ),
    field(
        Always,
        "refused_unnamed",
        Count,
        "resources that a refused push kept out of use, and whose NACK names others only",
    ),
    field(Always, "nacks", List(&Object(REFUSAL)), "the newest 1,000 NACKs"),
    field(Always, "nack_count", Count, "number of NACKs"),
    known(
        Always,
        "open_nack",
        Count,
        "message number of the newest NACK without a later ACK, unless the client has given up what it refused",
    ),
    known(Always, "ack_ms", Object(ACK_MS), "milliseconds from response to verdict"),
    field(Always, "pushes", Count, "responses"),
    field(Always, "bytes", Count, "bytes of responses"),
    field(Always, "bytes_same", Count, "bytes of resources that were sent again unchanged"),
    field(
        Maybe,
        "diverged",
        Object(DIVERGED),
        "what an armed tap did, until the client has acknowledged a later push that it did not change",
    ),
    field(
        Maybe,
        "readings",
        List(&Object(reading::READING)),
        "`status`: what two editions of the protocol read in a message, until a later one decides",
    ),
    field(
        Maybe,
        "waiting_reason",
        List(&Object(SILENCE)),
        "`status`, `get --subscriptions`: likely reasons for missing answers",
    ),
    field(
        Maybe,
        "globs",
        List(&Object(xdstp::GLOB)),
        "`get --subscriptions`: subscribed globs and their members",
    ),
    field(
        Maybe,
        "redirects",
        List(&Object(REDIRECT)),
        "`get --subscriptions`: names in whose place the server named another resource",
    ),
    field(
        Maybe,
        "initial_resource_versions",
        List(&Object(CLAIM)),
        "`status`, `get --subscriptions`: what the first request of a delta stream states, by name",
    ),
    field(
        Maybe,
        "warming",
        List(&Object(warming::WARMING)),
        "`status`: resources that wait for other resources",
    ),
    field(Maybe, "applied", Object(APPLIED), "`status --applied`: how much of what was sent the client uses"),
    field(
        Maybe,
        "updates",
        Object(admin::UPDATES),
        "`status` of `envoy:HOST:PORT`: statistics of the updates of this type",
    ),
];

const APPLIED: &[Field] = &[
    field(Always, "resources", Count, "resources sent to the client"),
    field(Always, "applied", Count, "resources whose newest content is in use"),
    field(Always, "warming", TEXTS, "accepted, not in use yet"),
    field(Always, "refused", TEXTS, "refused, not in use"),
    field(Always, "other", TEXTS, "in use with other content than the last accepted one"),
    field(Always, "missing", TEXTS, "accepted, but missing in the client"),
    field(Always, "in_spite", TEXTS, "in use although their response was refused"),
    field(Always, "extra", TEXTS, "in use, but not sent on this stream or removed since"),
];

const SILENCE: &[Field] = &[
    field(Always, "reason", words!(MissingAnswerCause), "likely reason"),
    field(Always, "names", TEXTS, "names that it applies to; empty for the wildcard"),
    known(Always, "at", Count, "number of the newest request"),
    field(Always, "text", Text, "description"),
    field(Always, "guess", Bool, "always true: the reason is not on the wire"),
];

const REDIRECT: &[Field] = &[
    field(Always, "name", Text, "the redirected resource"),
    field(Always, "targets", TEXTS, "targets as URIs, hop by hop"),
];

const CLAIM: &[Field] = &[
    field(Always, "name", Text, "the resource"),
    field(Always, "claimed", Text, "version that the client states to have"),
    known(Always, "known", Text, "newest version that the server was seen to send before the stream"),
    field(
        Always,
        "outcome",
        words!(ClaimOutcome),
        "kept: not mentioned by the server; resent or removed by the server; left_behind: not subscribed; \
         owed: the server had sent another version, or removed the resource",
    ),
];

const REFUSAL: &[Field] = &[
    field(Always, "n", Count, "number of the message"),
    field(Always, "time", Time, "time of the NACK"),
    field(
        Maybe,
        "may_refuse",
        Count,
        "number of another response that the NACK may refuse instead: the nonce fits both",
    ),
    field(Always, "nonce", Text, "nonce of the refused response"),
    field(Always, "version", Text, "version of the refused response"),
    field(Maybe, "code", Integer, "gRPC code, unless it is the content of a file that was rejected"),
    field(Always, "message", Text, "message of the client, or why the content of a file was rejected"),
    field(
        Always,
        "resources",
        List(&Object(REFUSED_VERSION)),
        "delta: the first resources of the refused response, each with its own version",
    ),
];

const REFUSED_VERSION: &[Field] =
    &[field(Always, "name", Text, "resource"), field(Always, "version", Text, "its refused version")];

const DIVERGED: &[Field] = &[
    field(Always, "since", Time, "first intervention"),
    field(Always, "count", Count, "interventions"),
    known(Always, "offered", Text, "version of the newest push, if the client never got it"),
    field(Always, "withheld", Count, "pushes that the client never got"),
    field(Always, "refused", Count, "those among them that xdscope refused for the client"),
    known(Always, "runs_changed", Text, "version of the newest changed push, if the client acknowledged it"),
    field(Always, "intercepted", Object(INTERCEPTED), "the newest intervention"),
];

/// The facts of an intervention, without the messages.
const INTERCEPTED: &[Field] = INTERCEPTED_MESSAGE.split_at(INTERCEPTED_MESSAGE.len() - 2).0;

const INTERCEPTED_MESSAGE: &[Field] = &[
    field(Always, "interference", words!(Interference), "what was done"),
    field(Always, "dir", words!(Dir), "direction of the message"),
    field(Always, "type", Text, "short word of the type (cds), or its URL"),
    field(Always, "type_url", Text, "type"),
    field(Always, "version", Text, "version of the message"),
    field(Always, "nonce", Text, "nonce of the message"),
    field(Always, "by", Text, BY),
    field(Maybe, "original", Any, "with --body: the message as it came, without secrets"),
    field(Maybe, "sent", Any, "with --body: the message that was sent in its place"),
];

/// The meaning of `by` in interventions.
const BY: &str = "the fault, or `hand: h1` for held message h1";

const ACK_MS: &[Field] =
    &[field(Always, "p50", Number, "median"), field(Always, "p99", Number, "99th percentile")];

const FINDING: &[Field] = &[
    field(Always, "rule", Text, "id of the rule; `xdscope explain` prints its manual"),
    field(Always, "row", Text, "ids in docs/protocol.md, for `xdscope explain`"),
    field(Always, "source", Text, "public document that states the rule, with its section"),
    field(Always, "severity", words!(Severity), "severity of the finding; can differ from that of the rule"),
    field(Maybe, "cause", Text, "cause, if the rule has several"),
    field(Always, "blame", words!(Blame), "side that violates the rule"),
    field(Maybe, "caused_by", Text, "fault or person of xdscope that caused it"),
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Maybe, "type", Text, "short word of the type (cds), or its URL as sent; absent for a whole stream"),
    field(Always, "names", TEXTS, "affected resources"),
    field(Maybe, "at", Count, "number of the message that completed it; absent if a timer did"),
    field(Always, "messages", List(&Count), "numbers of messages that show it, with the first and the last"),
    field(Always, "first", Time, "first occurrence"),
    field(Always, "last", Time, "last occurrence"),
    field(Maybe, "over", Time, "when the state ended that it is about, if it has"),
    field(Always, "count", Count, "number of occurrences"),
    field(Always, "text", Text, "description"),
    field(Always, "varies", Bool, "whether the description of another occurrence differs, as in a nonce"),
    field(Always, "guess", Bool, "whether the finding is uncertain: `(guess)` in text"),
    field(Maybe, "group", Count, "number of the cause: findings with one cause have one number"),
    field(Maybe, "place", Text, "path in a file without a session: static_resources.clusters[1]"),
    field(
        Maybe,
        "owners",
        List(&Object(OWNER)),
        "the Kubernetes objects behind the only resource of the finding",
    ),
];

const SESSION: &[Field] = &[
    field(Always, "name", Text, "name, as verbs take it for SOURCE"),
    field(Always, "path", Text, "file"),
    field(Always, "bytes", Count, "size of the file"),
    known(Always, "begun", Time, "beginning of the session"),
    field(Always, "source", Text, "verb and source of the run that was recorded"),
    field(Always, "named", Bool, "whether a user has named it, so that it is never removed to make room"),
    field(Always, "being_written", Bool, "whether a run still writes the file"),
];

const RULE: &[Field] = &[
    field(Always, "rule", Text, "id of the rule"),
    field(Always, "severity", words!(Severity), "severity"),
    field(Always, "row", Text, "ids in docs/protocol.md, for `xdscope explain`"),
    field(Always, "source", Text, "public document that states the rule, with its section"),
    field(Always, "title", Text, "title"),
];

const CHANGE: &[Field] = &[
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name"),
    field(Always, "op", words!(Op), "kind of the difference"),
    field(Maybe, "from_version", Text, "version before"),
    field(Maybe, "to_version", Text, "version after"),
    field(Maybe, "owners", List(&Object(OWNER)), "the Kubernetes objects that the resource was made from"),
    field(Maybe, "nodes", TEXTS, "nodes that have the resource, if they are distinguished"),
    field(
        Always,
        "paths",
        List(&Object(PATH)),
        "differing fields; empty if the resource is on one side only",
    ),
];

const PATH: &[Field] = &[
    field(Always, "path", Text, "path of the field"),
    field(Always, "op", words!(Op), "kind of the difference"),
    field(Maybe, "from", Any, "value before"),
    field(Maybe, "to", Any, "value after"),
];
