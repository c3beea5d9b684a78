//! The contract as one table, and the JSON Schema made of it.

use serde_json::{Map, Value, json};

use super::SCHEMA;
use super::doctor::{FROM, STEP_STATES};
use crate::engine::diff::Op;
use crate::engine::lint::{Blame, Severity};
use crate::engine::nack::ClientKind;
use crate::engine::store::{
    AbsentBy, MessageKind, MissingAnswerCause, Origin, RequestClass, ResourceState, TypeState, Wildcard,
};
use crate::wire::event::{Dir, Side, Variant};

use Presence::{Always, Maybe, Messages, Requests, Responses};
use Shape::{Any, Bool, Count, Integer, List, Number, Object, Text, Time, Words};

/// When a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Always,
    /// In a `message` that was on the wire: not in `open` and `close`.
    Messages,
    /// In requests.
    Requests,
    /// In responses.
    Responses,
    /// Where it applies.
    Maybe,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    /// A whole number, not negative.
    Count,
    /// A whole number.
    Integer,
    Number,
    Bool,
    /// RFC 3339, or seconds from the start, or null where the source has no times.
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
    /// `null` stands for "not known", or "none".
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

/// Every object: its name, what it is, and its fields after `schema` and `object`, in the order in which they
/// are printed.
pub(super) const OBJECTS: &[(&str, &str, &[Field])] = &[
    ("message", "One row of the timeline: `log`, `export --to jsonl`, and live runs", MESSAGE),
    ("state", "One type on one stream: `status`, `get --subscriptions`", STATE),
    ("stream", "One stream: `status -o json`, `info`", STREAM),
    ("resource", "One name on one stream: `get`", RESOURCE),
    ("finding", "A rule that was broken: `lint`", FINDING),
    ("rule", "A rule: `lint --list-rules`", RULE),
    ("change", "One resource that differs: `diff`", CHANGE),
    ("doctor", "The terminal, the paths, the settings, a server: `doctor`", DOCTOR),
];

const MESSAGE: &[Field] = &[
    field(Messages, "n", Count, "number of the message, from 1, over all streams"),
    field(Always, "time", Time, "when it was seen"),
    field(Always, "stream", Count, "number of its stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Messages, "dir", words!(Dir), "request or response"),
    field(Messages, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Messages, "type_url", Text, "type URL"),
    field(Always, "kind", words!(MessageKind), "what it does; `xdscope help filter` explains the kinds"),
    field(
        Maybe,
        "class",
        words!(RequestClass),
        "how a request relates to the responses before it, by its nonce",
    ),
    field(Requests, "implied", Bool, "a NACK by version alone"),
    field(Messages, "version", Text, "version_info, system_version_info"),
    field(Messages, "nonce", Text, "nonce"),
    known(Messages, "answers", Count, "message that it answers"),
    known(Messages, "latency_ms", Number, "milliseconds since that message"),
    field(Messages, "names", TEXTS, "names asked for, or of the resources sent"),
    field(Messages, "added", TEXTS, "names that came into the subscription, or resources new to the client"),
    field(Responses, "changed", TEXTS, "resources with other content than the last one sent"),
    field(Messages, "removed", TEXTS, "names that left the subscription, or resources deleted"),
    field(Responses, "same", Count, "resources sent again unchanged"),
    field(Messages, "size", Count, "protobuf bytes"),
    field(Maybe, "error", Object(ERROR), "error_detail of a NACK"),
    field(Always, "partial", Bool, "the start of its stream was not seen"),
    field(Maybe, "body", Any, "with --body: content as protobuf JSON, null where it was lost"),
    known(Maybe, "raw", Text, "with --body: bytes in base64"),
    field(Maybe, "nack", Object(NACK), "with --body: what is read out of a NACK's text, and what it refused"),
];

const ERROR: &[Field] =
    &[field(Always, "code", Integer, "gRPC code"), field(Always, "message", Text, "the client's own words")];

const NACK: &[Field] = &[
    known(Always, "client", words!(ClientKind), "whose wording it is"),
    field(Always, "entries", List(&Object(ENTRY)), "one for each thing that the text refuses"),
    known(Always, "partly", Text, "whether the client took over the rest of the push"),
    field(Always, "refused", List(&Object(REFUSED)), "resources that were refused"),
];

const ENTRY: &[Field] = &[
    known(Always, "name", Text, "resource"),
    field(Always, "name_guessed", Bool, "the name does not stand in the text as such"),
    known(Always, "field", Text, "path of the field"),
    field(Always, "field_guessed", Bool, "the field does not stand in the text as such"),
    field(Always, "reason", Text, "why"),
];

const REFUSED: &[Field] = &[
    field(Always, "name", Text, "resource"),
    field(Always, "body", Any, "content refused, null where it is not held"),
    known(Always, "last_good", Text, "version that was accepted last"),
    field(Always, "last_good_body", Any, "its content"),
];

const STATE: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Always, "variant", words!(Variant), "transport variant"),
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "type_url", Text, "type URL"),
    field(Always, "state", words!(TypeState), "`xdscope help states` explains them"),
    field(Maybe, "last_state", words!(TypeState), "of a closed stream: the word it had"),
    field(Always, "since", Time, "when the state began"),
    known(Always, "in_force", Text, "version acknowledged last on this stream"),
    known(Always, "offered", Text, "version of the newest response"),
    known(Always, "reported", Text, "version_info of the newest request"),
    known(Always, "nonce", Text, "newest nonce issued"),
    field(Always, "pending", TEXTS, "nonces neither acknowledged, refused nor skipped"),
    field(Always, "wildcard", words!(Wildcard), "how everything is asked for"),
    field(Always, "names", TEXTS, "names asked for"),
    field(Maybe, "effective", TEXTS, "what the server goes by, where that differs; * is a wildcard"),
    field(Always, "missing", TEXTS, "names asked for and never delivered"),
    field(Always, "absent", TEXTS, "names that the server said do not exist"),
    field(Always, "resources", Count, "resources sent and not removed"),
    field(Always, "nacks", List(&Object(REFUSAL)), "the newest 1,000 refusals"),
    field(Always, "nack_count", Count, "refusals"),
    known(Always, "open_nack", Count, "message of the refusal that is still open"),
    known(Always, "ack_ms", Object(ACK_MS), "milliseconds from response to verdict"),
    field(Always, "pushes", Count, "responses"),
    field(Always, "bytes", Count, "bytes of responses"),
    field(Always, "bytes_same", Count, "those of them that were of resources re-sent unchanged"),
    field(
        Maybe,
        "waiting_reason",
        List(&Object(SILENCE)),
        "`status`, `get --subscriptions`: why what is waited for may not come",
    ),
    field(Maybe, "warming", List(&Object(WARMING)), "`status`: resources that are sent and wait for others"),
    field(
        Maybe,
        "applied",
        Object(APPLIED),
        "`status --applied`: what the client has applied of what it was given",
    ),
];

const APPLIED: &[Field] = &[
    field(Always, "resources", Count, "resources that the client was given"),
    field(Always, "applied", Count, "those whose newest content is in use"),
    field(Always, "warming", TEXTS, "accepted, and not in use yet"),
    field(Always, "refused", TEXTS, "refused, and not in use"),
    field(Always, "other", TEXTS, "in use with another content than the newest that was accepted"),
    field(Always, "missing", TEXTS, "accepted, and not there"),
    field(Always, "in_spite", TEXTS, "in use although the response that brought them was refused"),
    field(Always, "extra", TEXTS, "in use, and not sent on this stream, or taken away since"),
];

const SILENCE: &[Field] = &[
    field(Always, "reason", words!(MissingAnswerCause), "what is likely"),
    field(Always, "names", TEXTS, "names that it is about; none: the wildcard"),
    known(Always, "at", Count, "the newest request"),
    field(Always, "text", Text, "in words"),
    field(Always, "guess", Bool, "always true: the wire does not tell"),
];

const WARMING: &[Field] = &[
    field(Always, "name", Text, "the cluster or listener"),
    field(Always, "waits_for", List(&Object(WAITS)), "what it waits for"),
    field(Always, "owes", Text, "whose turn it is: server"),
];

const WAITS: &[Field] = &[
    field(Always, "type", Text, "short word of the type"),
    field(Always, "name", Text, "name asked for"),
    known(Always, "since", Time, "when it was first asked for"),
    known(Always, "asked", Count, "message that asked for it first"),
];

const REFUSAL: &[Field] = &[
    field(Always, "n", Count, "message"),
    field(Always, "time", Time, "when"),
    field(Always, "nonce", Text, "nonce refused"),
    field(Always, "version", Text, "version refused"),
    field(Always, "code", Integer, "gRPC code"),
    field(Always, "message", Text, "the client's own words"),
];

const ACK_MS: &[Field] = &[
    field(Always, "p50", Number, "half were faster"),
    field(Always, "p99", Number, "99 of 100 were faster"),
];

const STREAM: &[Field] = &[
    field(Always, "stream", Count, "its number"),
    known(Always, "node", Text, "node id, once known"),
    field(Always, "method", Text, "gRPC method path"),
    field(Maybe, "variant", words!(Variant), "transport variant; absent for a stream that is not xDS"),
    known(Always, "peer", Text, "address of the client"),
    known(Always, "server", Text, "address of the server"),
    field(Maybe, "tls", Object(TLS), "legs with TLS"),
    field(Always, "opened", Time, "null where the opening was not seen"),
    field(Maybe, "closed", Time, "when it ended"),
    field(Maybe, "end", Object(END), "how it ended"),
    field(Maybe, "reconnect_of", Count, "the same client's stream before"),
    field(Always, "messages", Count, "messages on it"),
    field(Always, "bytes_in", Count, "bytes from client to server"),
    field(Always, "bytes_out", Count, "bytes from server to client"),
    field(Always, "gaps", Count, "messages lost in the copy"),
    field(Maybe, "keepalive", Object(KEEPALIVE), "a side's PINGs, where they come by the clock"),
];

const KEEPALIVE: &[Field] = &[
    known(Always, "by", words!(Side), "who sends them"),
    field(Always, "every", Number, "seconds from one to the next"),
    field(Always, "last", Time, "the newest"),
];

const END: &[Field] = &[
    known(Always, "by", words!(Side), "who ended it"),
    field(Maybe, "code", Integer, "gRPC code"),
    field(Maybe, "message", Text, "gRPC message"),
    field(Maybe, "reset", Count, "HTTP/2 error code"),
];

const TLS: &[Field] = &[
    field(Maybe, "client", Object(LEG), "from the client to the tap"),
    field(Maybe, "server", Object(LEG), "from the tap to the server"),
    field(Maybe, "not_kept", Text, "what mutual TLS loses between them"),
];

const LEG: &[Field] = &[
    known(Always, "version", Text, "TLS version"),
    known(Always, "alpn", Text, "protocol agreed on"),
    known(Always, "sni", Text, "server name asked for"),
    known(Always, "server_certificate", Object(CERTIFICATE), "as presented"),
    known(Always, "client_certificate", Object(CERTIFICATE), "as presented"),
    field(Always, "client_certificate_asked", Bool, "the server asked for one"),
    field(Always, "verified", Bool, "the certificates were verified"),
];

const CERTIFICATE: &[Field] = &[
    field(Always, "subject", Text, "subject"),
    field(Always, "names", TEXTS, "subject alternative names"),
    field(Always, "issuer", Text, "issuer"),
    field(Always, "not_before", Text, "RFC 3339"),
    field(Always, "not_after", Text, "RFC 3339"),
    field(Always, "serial", Text, "serial number in hex"),
];

const RESOURCE: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name"),
    field(Always, "aliases", TEXTS, "other names of it"),
    known(Always, "version", Text, "of the response (SotW), or of its wrapper"),
    known(Always, "acked_version", Text, "what the client accepted"),
    field(Always, "state", words!(ResourceState), "`xdscope help states` explains them"),
    field(Always, "refused", Bool, "its newest content was refused"),
    field(Maybe, "absent_by", words!(AbsentBy), "who says that it is absent"),
    field(Always, "origin", words!(Origin), "why it is there"),
    known(Always, "hash", Text, "equal hashes of one source are equal content"),
    field(Always, "size", Count, "bytes"),
    field(Maybe, "ttl_deadline", Time, "when its time to live runs out"),
    field(Maybe, "body", Any, "content as protobuf JSON, null where it was lost"),
];

const FINDING: &[Field] = &[
    field(Always, "rule", Text, "its name; `xdscope explain` has its manual"),
    field(Always, "row", Text, "rows of the protocol's tables"),
    field(Always, "severity", words!(Severity), "the rule's own, or what the circumstances make of it"),
    field(Maybe, "cause", Text, "which of the ways in which the rule can be broken"),
    field(Always, "blame", words!(Blame), "whose doing it is"),
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    field(Maybe, "type", Text, "short word of the type (cds), or its URL as sent; absent for a whole stream"),
    field(Always, "names", TEXTS, "resources that it is about"),
    field(Maybe, "at", Count, "message that completed it; absent for one from a timer"),
    field(Always, "messages", List(&Count), "evidence, the first and the last among it"),
    field(Always, "first", Time, "when it was first made"),
    field(Always, "last", Time, "when it was made last"),
    field(Always, "count", Count, "how often"),
    field(Always, "text", Text, "in words"),
    field(Always, "guess", Bool, "not certain"),
    field(Maybe, "place", Text, "where in a file that is no session: static_resources.clusters[1]"),
];

const RULE: &[Field] = &[
    field(Always, "rule", Text, "its name"),
    field(Always, "severity", words!(Severity), "how bad it is"),
    field(Always, "row", Text, "rows of the protocol's tables"),
    field(Always, "title", Text, "what it is about"),
];

const CHANGE: &[Field] = &[
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name"),
    field(Always, "op", words!(Op), "what happened to it"),
    field(Maybe, "from_version", Text, "version before"),
    field(Maybe, "to_version", Text, "version after"),
    field(Maybe, "nodes", TEXTS, "whose it is, where that is told apart"),
    field(Always, "paths", List(&Object(PATH)), "where; empty for one that is on one side only"),
];

const PATH: &[Field] = &[
    field(Always, "path", Text, "path of the field"),
    field(Always, "op", words!(Op), "what happened there"),
    field(Maybe, "from", Any, "value before"),
    field(Maybe, "to", Any, "value after"),
];

const DOCTOR: &[Field] = &[
    field(Always, "version", Text, "of xdscope"),
    field(Always, "terminal", Object(TERMINAL), "what it can do"),
    field(Always, "paths", Object(PATHS), "where things are kept"),
    field(Always, "settings", List(&Object(SETTING)), "what can stand in config.toml, as it is in force"),
    field(Maybe, "server", Object(SERVER), "with SERVER: what it speaks"),
];

const SERVER: &[Field] = &[
    field(Always, "address", Text, "as it is connected to"),
    field(Always, "steps", List(&Object(STEP)), "in order, up to the first without which the next can't be"),
];

const STEP: &[Field] = &[
    field(Always, "step", Text, "name, port, TLS, HTTP/2, a variant, or reflection"),
    field(Always, "state", Words(|| STEP_STATES.to_vec()), "none: not there, which is no fault"),
    field(Always, "said", TEXTS, "what was found"),
    known(Always, "ms", Number, "milliseconds that it took"),
    known(Always, "next", Text, "a flag or a change that may help"),
];

const TERMINAL: &[Field] = &[
    field(Always, "stdin", Bool, "stdin is a terminal"),
    field(Always, "stdout", Bool, "stdout is a terminal"),
    known(Always, "term", Text, "TERM"),
    known(Always, "columns", Count, "width"),
    known(Always, "rows", Count, "height"),
    field(Always, "color", Bool, "colour is used"),
    field(Always, "unicode", Bool, "symbols beyond ASCII are used"),
    field(Always, "screens", Bool, "screens would open"),
    field(Always, "clipboard", Text, "how a copy reaches the clipboard"),
];

const PATHS: &[Field] = &[
    known(Always, "config", Text, "config.toml"),
    field(Always, "config_exists", Bool, "it is there"),
    known(Always, "sessions", Text, "folder of the kept sessions"),
];

const SETTING: &[Field] = &[
    field(Always, "name", Text, "its flag, without hyphens in front"),
    field(Always, "value", Text, "as it would be typed"),
    field(Always, "from", Words(|| FROM.to_vec()), "what set it"),
    field(Always, "where", Text, "the flag, the variable or the line that set it"),
];

/// The JSON Schema (draft 2020-12) of one object that a verb prints.
pub fn schema() -> Value {
    let mut defs = Map::new();
    defs.insert(
        "time".into(),
        json!({
            "description": "RFC 3339 in UTC; seconds from the start where the source has no date; null where it \
                            has no times",
            "type": ["string", "number", "null"],
        }),
    );
    for (name, doc, fields) in OBJECTS {
        let mut object = object(fields);
        let own = [
            ("schema", json!({ "const": SCHEMA, "description": "version of this contract" })),
            ("object", json!({ "const": name })),
        ];
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            let rest = std::mem::take(properties);
            properties.extend(own.map(|(key, value)| (key.to_owned(), value)));
            properties.extend(rest);
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.splice(0..0, [json!("schema"), json!("object")]);
        }
        let mut def = Map::from_iter([("description".to_owned(), json!(doc))]);
        def.extend(object);
        defs.insert((*name).into(), Value::Object(def));
    }
    let one_of = OBJECTS.iter().map(|(name, ..)| json!({ "$ref": format!("#/$defs/{name}") }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One object that xdscope prints: a line of -o jsonl, an item of the array of -o json",
        "oneOf": one_of.collect::<Vec<_>>(),
        "$defs": defs,
    })
}

fn object(fields: &[Field]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), described(field))).collect();
    let mut out = Map::new();
    out.insert("type".into(), json!("object"));
    out.insert("properties".into(), properties.into());
    out.insert("required".into(), required(fields, Always));
    out.insert("additionalProperties".into(), json!(false));
    let when = |condition: Value, presence| {
        let names = required(fields, presence);
        let some = names.as_array().is_some_and(|names| !names.is_empty());
        some.then(|| json!({ "if": condition, "then": { "required": names } }))
    };
    let on_the_wire = ["open", "close"].map(|kind| json!({ "properties": { "kind": { "const": kind } } }));
    let dir = |dir: Dir| json!({ "properties": { "dir": { "const": dir.word() } }, "required": ["dir"] });
    let rules: Vec<Value> = [
        when(json!({ "not": { "anyOf": on_the_wire } }), Messages),
        when(dir(Dir::Req), Requests),
        when(dir(Dir::Resp), Responses),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !rules.is_empty() {
        out.insert("allOf".into(), rules.into());
    }
    out
}

fn required(fields: &[Field], presence: Presence) -> Value {
    fields.iter().filter(|field| field.presence == presence).map(|field| field.name).collect()
}

fn described(field: &Field) -> Value {
    let mut out = Map::from_iter([("description".to_owned(), json!(field.doc))]);
    let shape = shape(field.shape);
    if !field.null {
        out.extend(shape);
    } else if let Some(Value::String(word)) = shape.get("type").filter(|_| shape.len() == 1) {
        out.insert("type".into(), json!([word, "null"]));
    } else {
        out.insert("anyOf".into(), json!([shape, { "type": "null" }]));
    }
    Value::Object(out)
}

fn shape(of: Shape) -> Map<String, Value> {
    let one = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
    match of {
        Text => one("type", json!("string")),
        Count => Map::from_iter([("type".to_owned(), json!("integer")), ("minimum".to_owned(), json!(0))]),
        Integer => one("type", json!("integer")),
        Number => one("type", json!("number")),
        Bool => one("type", json!("boolean")),
        Time => one("$ref", json!("#/$defs/time")),
        Any => Map::new(),
        Words(words) => one("enum", words().into()),
        List(of) => {
            let mut out = one("type", json!("array"));
            out.insert("items".into(), Value::Object(shape(*of)));
            out
        }
        Object(fields) => object(fields),
    }
}
