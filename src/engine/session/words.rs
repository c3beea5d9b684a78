//! The words of the JSON contract for what the engine finds, and the small facts it keeps as they are shown.

use std::sync::Arc;

use crate::wire::event::{Code, Seq, Time};

/// What a message is, named by the first that applies (`kind` of the JSON contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageKind {
    Nack,
    Ack,
    Subscribe,
    Unsubscribe,
    /// A request that does none of them.
    Repeat,
    Push,
    /// A push that changes nothing: same content as before.
    Resend,
    Heartbeat,
    Open,
    Close,
}

impl MessageKind {
    pub const ALL: [MessageKind; 10] = [
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
    ];

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
        }
    }
}

/// Request classes of section 0.2: R1–R7 for SotW, Q1–Q6 for delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestClass {
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    Q1,
    Q2,
    Q3,
    Q4,
    Q5,
    Q6,
}

impl RequestClass {
    pub const ALL: [RequestClass; 13] = [
        RequestClass::R1,
        RequestClass::R2,
        RequestClass::R3,
        RequestClass::R4,
        RequestClass::R5,
        RequestClass::R6,
        RequestClass::R7,
        RequestClass::Q1,
        RequestClass::Q2,
        RequestClass::Q3,
        RequestClass::Q4,
        RequestClass::Q5,
        RequestClass::Q6,
    ];

    pub fn word(self) -> &'static str {
        match self {
            RequestClass::R1 => "R1",
            RequestClass::R2 => "R2",
            RequestClass::R3 => "R3",
            RequestClass::R4 => "R4",
            RequestClass::R5 => "R5",
            RequestClass::R6 => "R6",
            RequestClass::R7 => "R7",
            RequestClass::Q1 => "Q1",
            RequestClass::Q2 => "Q2",
            RequestClass::Q3 => "Q3",
            RequestClass::Q4 => "Q4",
            RequestClass::Q5 => "Q5",
            RequestClass::Q6 => "Q6",
        }
    }
}

/// State words of a type (ux.md section 4), worst to best in the order in which one wins over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeState {
    Closed,
    Held,
    Nack,
    Stale,
    Miss,
    Sent,
    Wait,
    Synced,
    Idle,
    /// Of a server, not of a type: it can't be reached.
    Down,
}

impl TypeState {
    /// Those of a type.
    pub const ALL: [TypeState; 9] = [
        TypeState::Closed,
        TypeState::Held,
        TypeState::Nack,
        TypeState::Stale,
        TypeState::Miss,
        TypeState::Sent,
        TypeState::Wait,
        TypeState::Synced,
        TypeState::Idle,
    ];

    pub fn word(self) -> &'static str {
        match self {
            TypeState::Closed => "closed",
            TypeState::Held => "held",
            TypeState::Nack => "nack",
            TypeState::Stale => "stale",
            TypeState::Miss => "miss",
            TypeState::Sent => "sent",
            TypeState::Wait => "wait",
            TypeState::Synced => "synced",
            TypeState::Idle => "idle",
            TypeState::Down => "down",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wildcard {
    #[default]
    None,
    /// By empty list, before any name was sent (row E-39).
    Legacy,
    /// By `*` (rows E-38, F-20).
    Explicit,
    /// Delta Q1 that only unsubscribes (row F-21).
    Ambiguous,
}

impl Wildcard {
    pub const ALL: [Wildcard; 4] =
        [Wildcard::None, Wildcard::Legacy, Wildcard::Explicit, Wildcard::Ambiguous];

    pub fn word(self) -> &'static str {
        match self {
            Wildcard::None => "none",
            Wildcard::Legacy => "legacy",
            Wildcard::Explicit => "explicit",
            Wildcard::Ambiguous => "ambiguous",
        }
    }
}

/// State words of a resource (`resource` of the JSON contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceState {
    Waiting,
    Present,
    Kept,
    Removed,
    Absent,
    Expired,
    Redirected,
    Released,
    Orphan,
}

impl ResourceState {
    pub const ALL: [ResourceState; 9] = [
        ResourceState::Waiting,
        ResourceState::Present,
        ResourceState::Kept,
        ResourceState::Removed,
        ResourceState::Absent,
        ResourceState::Expired,
        ResourceState::Redirected,
        ResourceState::Released,
        ResourceState::Orphan,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ResourceState::Waiting => "waiting",
            ResourceState::Present => "present",
            ResourceState::Kept => "kept",
            ResourceState::Removed => "removed",
            ResourceState::Absent => "absent",
            ResourceState::Expired => "expired",
            ResourceState::Redirected => "redirected",
            ResourceState::Released => "released",
            ResourceState::Orphan => "orphan",
        }
    }
}

/// Who says that a resource is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AbsentBy {
    Server,
    Timer,
    /// Payload unset in the 003 style (row L-12).
    Legacy,
}

impl AbsentBy {
    pub const ALL: [AbsentBy; 3] = [AbsentBy::Server, AbsentBy::Timer, AbsentBy::Legacy];

    pub fn word(self) -> &'static str {
        match self {
            AbsentBy::Server => "server",
            AbsentBy::Timer => "timer",
            AbsentBy::Legacy => "legacy",
        }
    }
}

/// Why a resource is on the track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Named,
    Wildcard,
    Glob,
    Unrequested,
}

impl Origin {
    pub const ALL: [Origin; 4] = [Origin::Named, Origin::Wildcard, Origin::Glob, Origin::Unrequested];

    pub fn word(self) -> &'static str {
        match self {
            Origin::Named => "named",
            Origin::Wildcard => "wildcard",
            Origin::Glob => "glob",
            Origin::Unrequested => "unrequested",
        }
    }
}

/// One refusal of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NackFact {
    pub n: Seq,
    pub at: Time,
    /// The response refused.
    pub refused: Option<Seq>,
    pub nonce: Arc<str>,
    /// Version of the response refused.
    pub version: Arc<str>,
    pub code: Code,
    pub message: Arc<str>,
    pub implied: bool,
}

/// What one push did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushFact {
    /// Its message number.
    pub n: u64,
    pub at: Time,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    pub same: u64,
    pub bytes: u64,
    /// Bytes of the resources re-sent unchanged.
    pub bytes_same: u64,
}

/// The account of a reconnect, over all types of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconnectFact {
    /// Names the client claimed to hold (irv), or held at the end of the stream before (SotW).
    pub claimed: u64,
    pub resent: u64,
    pub removed: u64,
    /// Held before and not asked for again.
    pub left_behind: u64,
}
