//! Enums of the JSON contract with their words, and small facts that are kept as they are shown.

use std::sync::Arc;

use crate::nack::without_random_words;
use xdscope_wire::event::{Code, Seq, Time};

/// The kind of a message, the first that applies (`kind` of the JSON contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageKind {
    /// Refuses a response.
    Nack,
    /// Accepts a response.
    Ack,
    /// Adds names or the wildcard.
    Subscribe,
    /// Removes names or the wildcard.
    Unsubscribe,
    /// A request that changes and answers nothing.
    Repeat,
    /// A response with new, changed or removed resources.
    Push,
    /// A response with unchanged content.
    Resend,
    /// A response that only extends times to live.
    Heartbeat,
    /// A stream opens.
    Open,
    /// A stream closes.
    Close,
    /// A REST poll is answered without a message: nothing has changed (304).
    Unchanged,
    /// xdscope did something to a message.
    Intercepted,
    /// Messages are missing, or cannot be read.
    Gap,
}

impl MessageKind {
    /// All kinds.
    pub const ALL: [MessageKind; 13] = [
        MessageKind::Nack,
        MessageKind::Ack,
        MessageKind::Subscribe,
        MessageKind::Unsubscribe,
        MessageKind::Repeat,
        MessageKind::Push,
        MessageKind::Resend,
        MessageKind::Heartbeat,
        MessageKind::Open,
        MessageKind::Close,
        MessageKind::Unchanged,
        MessageKind::Intercepted,
        MessageKind::Gap,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            MessageKind::Nack => "nack",
            MessageKind::Ack => "ack",
            MessageKind::Subscribe => "subscribe",
            MessageKind::Unsubscribe => "unsubscribe",
            MessageKind::Repeat => "repeat",
            MessageKind::Push => "push",
            MessageKind::Resend => "resend",
            MessageKind::Heartbeat => "heartbeat",
            MessageKind::Open => "open",
            MessageKind::Close => "close",
            MessageKind::Unchanged => "unchanged",
            MessageKind::Intercepted => "intercepted",
            MessageKind::Gap => "gap",
        }
    }
}

/// How a request relates to the responses of its type on its stream.
///
/// The first class that applies counts. [`RequestClass::Initial`] and
/// [`RequestClass::UnknownNonce`] occur in both variants, the next five in SotW streams only, the
/// last four in delta streams only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestClass {
    /// The first request for the type.
    Initial,
    /// The nonce was never issued for the type on the stream.
    UnknownNonce,
    /// No nonce, and none was used before: the client had no response yet when it sent the request.
    BeforeFirstResponse,
    /// No nonce, although the client has used one before.
    NonceDropped,
    /// The nonce of an older response than one that the client has answered already.
    OlderNonce,
    /// The nonce of a response that a newer one had already replaced when the request was recorded.
    StaleNonce,
    /// The nonce of the newest response.
    NewestNonce,
    /// The nonce of a response without a verdict, and no `error_detail`.
    Ack,
    /// The nonce of a response without a verdict, and an `error_detail`.
    Nack,
    /// No nonce: the subscription changes, no response is answered.
    Spontaneous,
    /// The nonce of a response that has its verdict already.
    SettledNonce,
}

impl RequestClass {
    /// All classes.
    pub const ALL: [RequestClass; 11] = [
        RequestClass::Initial,
        RequestClass::UnknownNonce,
        RequestClass::BeforeFirstResponse,
        RequestClass::NonceDropped,
        RequestClass::OlderNonce,
        RequestClass::StaleNonce,
        RequestClass::NewestNonce,
        RequestClass::Ack,
        RequestClass::Nack,
        RequestClass::Spontaneous,
        RequestClass::SettledNonce,
    ];

    /// The name in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            RequestClass::Initial => "initial",
            RequestClass::UnknownNonce => "unknown_nonce",
            RequestClass::BeforeFirstResponse => "before_first_response",
            RequestClass::NonceDropped => "nonce_dropped",
            RequestClass::OlderNonce => "older_nonce",
            RequestClass::StaleNonce => "stale_nonce",
            RequestClass::NewestNonce => "newest_nonce",
            RequestClass::Ack => "ack",
            RequestClass::Nack => "nack",
            RequestClass::Spontaneous => "spontaneous",
            RequestClass::SettledNonce => "settled_nonce",
        }
    }

    /// The class that older arrow scripts write as a letter code, `R1` to `R7` on SotW streams and
    /// `Q1` to `Q6` on delta streams.
    pub fn from_code(code: &str, is_delta: bool) -> Option<RequestClass> {
        Some(match (is_delta, code) {
            (false, "R1") | (true, "Q1") => RequestClass::Initial,
            (false, "R2") => RequestClass::BeforeFirstResponse,
            (false, "R3") => RequestClass::NonceDropped,
            (false, "R4") | (true, "Q6") => RequestClass::UnknownNonce,
            (false, "R5") => RequestClass::OlderNonce,
            (false, "R6") => RequestClass::StaleNonce,
            (false, "R7") => RequestClass::NewestNonce,
            (true, "Q2") => RequestClass::Ack,
            (true, "Q3") => RequestClass::Nack,
            (true, "Q4") => RequestClass::Spontaneous,
            (true, "Q5") => RequestClass::SettledNonce,
            _ => return None,
        })
    }
}

/// States of a type on a stream: of several that apply, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeState {
    /// The stream is closed.
    Closed,
    /// The client refuses the newest responses.
    Nack,
    /// The newest content of a file is not valid, and the content before stays in force.
    Rejected,
    /// A response has had no verdict for longer than `--stale-after`.
    Stale,
    /// A requested resource was not sent within `--resource-timeout`, or the server reports an
    /// error in its place.
    Miss,
    /// The times to live of all resources that the client had are over.
    Expired,
    /// A cluster or listener waits for resources that it refers to, and the client withholds its
    /// verdict or keeps the earlier version until the server has sent them.
    Warming,
    /// A response waits for its verdict, perhaps because xdscope still keeps the response back.
    Sent,
    /// A requested resource was not sent, and the time limit is not over.
    Wait,
    /// The client has accepted a response, and nothing is outstanding.
    Synced,
    /// Nothing was sent or accepted, and nothing is outstanding.
    Idle,
    /// State of a server or client that cannot be reached, never of a type.
    Down,
}

impl TypeState {
    /// The states of a type, without [`TypeState::Down`].
    pub const ALL: [TypeState; 11] = [
        TypeState::Closed,
        TypeState::Nack,
        TypeState::Rejected,
        TypeState::Stale,
        TypeState::Miss,
        TypeState::Expired,
        TypeState::Warming,
        TypeState::Sent,
        TypeState::Wait,
        TypeState::Synced,
        TypeState::Idle,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            TypeState::Closed => "closed",
            TypeState::Nack => "nack",
            TypeState::Rejected => "rejected",
            TypeState::Stale => "stale",
            TypeState::Miss => "miss",
            TypeState::Expired => "expired",
            TypeState::Warming => "warming",
            TypeState::Sent => "sent",
            TypeState::Wait => "wait",
            TypeState::Synced => "synced",
            TypeState::Idle => "idle",
            TypeState::Down => "down",
        }
    }
}

/// The wildcard subscription of a client to a type (`wildcard` of the JSON contract).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wildcard {
    #[default]
    /// No wildcard.
    None,
    /// By empty list, before any name was sent (docs/protocol.md#e-39).
    Legacy,
    /// By `*` (docs/protocol.md#e-38, docs/protocol.md#f-20).
    Explicit,
    /// A first delta request that only unsubscribes (docs/protocol.md#f-21).
    Ambiguous,
    /// The recording has no request that starts or ends a wildcard, and the start of the stream is
    /// missing.
    Unknown,
}

impl Wildcard {
    /// All kinds of wildcard.
    pub const ALL: [Wildcard; 5] =
        [Wildcard::None, Wildcard::Legacy, Wildcard::Explicit, Wildcard::Ambiguous, Wildcard::Unknown];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Wildcard::None => "none",
            Wildcard::Legacy => "legacy",
            Wildcard::Explicit => "explicit",
            Wildcard::Ambiguous => "ambiguous",
            Wildcard::Unknown => "unknown",
        }
    }
}

/// The state of a resource (`resource` of the JSON contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceState {
    /// Requested and not sent.
    Waiting,
    /// Sent on this stream.
    Present,
    /// Sent on an earlier stream, and not on this one.
    Kept,
    /// Removed by the server.
    Removed,
    /// Does not exist, or was not sent in time.
    Absent,
    /// A glob collection without members (docs/protocol.md#k-20).
    Empty,
    /// Its time to live has ended.
    Expired,
    /// Refers to another resource name.
    Redirected,
    /// The client has unsubscribed.
    Released,
    /// In force, but no other resource of the client refers to it.
    Orphan,
}

impl ResourceState {
    /// All states.
    pub const ALL: [ResourceState; 10] = [
        ResourceState::Waiting,
        ResourceState::Present,
        ResourceState::Kept,
        ResourceState::Removed,
        ResourceState::Absent,
        ResourceState::Empty,
        ResourceState::Expired,
        ResourceState::Redirected,
        ResourceState::Released,
        ResourceState::Orphan,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            ResourceState::Waiting => "waiting",
            ResourceState::Present => "present",
            ResourceState::Kept => "kept",
            ResourceState::Removed => "removed",
            ResourceState::Absent => "absent",
            ResourceState::Empty => "empty",
            ResourceState::Expired => "expired",
            ResourceState::Redirected => "redirected",
            ResourceState::Released => "released",
            ResourceState::Orphan => "orphan",
        }
    }
}

/// The source of the information that a resource is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AbsentBy {
    /// The server reports it as removed or missing.
    Server,
    /// The server has not sent it in time.
    Timer,
    /// An entry without a payload (docs/protocol.md#l-12).
    Legacy,
}

impl AbsentBy {
    /// All sources.
    pub const ALL: [AbsentBy; 3] = [AbsentBy::Server, AbsentBy::Timer, AbsentBy::Legacy];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            AbsentBy::Server => "server",
            AbsentBy::Timer => "timer",
            AbsentBy::Legacy => "legacy",
        }
    }
}

/// Why a resource was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The client subscribes to its name.
    Named,
    /// The client has a wildcard subscription.
    Wildcard,
    /// The client subscribes to a glob collection with the resource.
    Glob,
    /// The client has not requested it.
    Unrequested,
    /// The request for it, if any, is not in the recording.
    Unknown,
}

impl Origin {
    /// All reasons.
    pub const ALL: [Origin; 5] =
        [Origin::Named, Origin::Wildcard, Origin::Glob, Origin::Unrequested, Origin::Unknown];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Named => "named",
            Origin::Wildcard => "wildcard",
            Origin::Glob => "glob",
            Origin::Unrequested => "unrequested",
            Origin::Unknown => "unknown",
        }
    }
}

/// The other reading of a request whose nonce fits more than one response, or is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherReading {
    /// The kind of the request in this reading.
    pub kind: MessageKind,
    /// The response that the request answers in this reading.
    pub answers: Option<Seq>,
}

/// One NACK of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NackFact {
    /// The request that is the NACK.
    pub n: Seq,
    /// When the request was sent.
    pub at: Time,
    /// The refused response.
    pub refused: Option<Seq>,
    /// Another response that the NACK may refuse instead: the nonce fits both.
    pub may_refuse: Option<Seq>,
    /// Nonce of the refused response.
    pub nonce: Arc<str>,
    /// Version of the refused response.
    pub version: Arc<str>,
    /// The code in `error_detail`.
    pub code: Code,
    /// The message in `error_detail`.
    pub message: Arc<str>,
    /// The request carries an older version, but no `error_detail`.
    pub implied: bool,
    /// SotW: the version that the client keeps, if it is known. Some clients state another one.
    pub keeps: Option<Arc<str>>,
    /// Delta: the first few resources of the refused response, each with its own version.
    pub resources: Vec<RefusedVersion>,
}

impl NackFact {
    /// Whether the content of a file was rejected, for which there is neither a message nor a code.
    pub fn is_of_file(&self) -> bool {
        self.refused == Some(self.n)
    }

    /// Whether two NACKs refuse one version, or the same resources at the same versions.
    pub fn is_same_content(&self, other: &NackFact) -> bool {
        self.version == other.version && self.resources == other.resources
    }

    /// Whether two NACKs refuse the same content for the same reason.
    pub fn is_repeat_of(&self, other: &NackFact) -> bool {
        self.is_same_content(other) && self.has_reason_of(other)
    }

    /// Whether two NACKs have one message, except for words that a client chooses at random.
    pub fn has_reason_of(&self, other: &NackFact) -> bool {
        self.message == other.message
            || without_random_words(&self.message) == without_random_words(&other.message)
    }

    /// Returns a text that is equal for NACKs with one reason: the message, and on a delta stream
    /// the refused names unless the message has one of them.
    pub fn reason(&self) -> String {
        let names = || self.resources.iter().map(|refused| &*refused.name);
        let is_named = names().any(|name| !name.is_empty() && self.message.contains(name));
        let mut reason = without_random_words(self.message.trim()).into_owned();
        if !is_named {
            for name in names() {
                reason.push('\0');
                reason.push_str(name);
            }
        }
        reason
    }
}

/// A resource in a refused delta response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedVersion {
    /// Name of the resource.
    pub name: Arc<str>,
    /// The refused version.
    pub version: Arc<str>,
}

/// The effect of one push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushFact {
    /// Its message number.
    pub n: u64,
    /// When it was sent.
    pub at: Time,
    /// Resources that are new to the client.
    pub added: u64,
    /// Resources whose content differs from the last one sent.
    pub changed: u64,
    /// Removed resources.
    pub removed: u64,
    /// Resources sent again unchanged.
    pub same: u64,
    /// Protobuf bytes of the response.
    pub bytes: u64,
    /// Bytes of the resources re-sent unchanged.
    pub bytes_same: u64,
}

/// A control plane, with the first of a run of responses that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneFact {
    /// `control_plane.identifier`.
    pub identifier: Arc<str>,
    /// The first response.
    pub n: Seq,
    /// Time of this response.
    pub at: Time,
}
