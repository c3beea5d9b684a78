//! The state machine of the protocol: what each frame says about its stream, type and resources.
//!
//! An observer sees frames, not what the peers do with them. A *stream* is one gRPC stream, a
//! *track* one type on a stream, a *session* the streams of one client in order. Each request has a
//! [`RequestClass`]; captures can be complete or partial.
//!
//! The code is pure: time is an argument, misbehaviour of a peer is a fact, and nothing fails.
//! There are no timers: states that depend on time are derived from timestamps on demand, so that a
//! replay and a live run agree.

#![warn(missing_docs)]

mod alternatives;
mod answer;
mod answer_verdict;
mod authorities;
mod claims;
mod compare;
mod condition;
mod delta;
mod divergence;
mod doubled_request;
mod end_series;
mod engine;
mod engine_alternatives;
mod engine_events;
mod engine_memory;
mod engine_prior;
mod events;
mod failing;
mod file;
mod globs;
pub(crate) mod interventions;
mod keepalive;
mod name_map;
mod names;
mod needs;
mod node;
mod not_kept;
mod outcome;
mod polls;
mod prior;
mod pushed;
mod refusals;
mod released_names;
mod resource_set;
mod responses;
mod semantics;
mod siblings;
mod sotw;
mod stream;
mod stream_index;
mod stream_table;
mod subscribe;
mod subscription;
mod track;
mod unrequested;
pub(crate) mod visits;
mod warming;
mod warming_batches;
mod warming_content;
mod warming_track;
mod words;

pub use claims::{ClaimOutcome, ReconnectCounts};
pub use divergence::Divergence;
pub(crate) use divergence::{Agreement, Consequence, Losses, SettlingMessage, is_second_answer};
pub use end_series::EndCause;
pub use events::{EventKind, MatchedVersion, TtlChange};
pub use failing::{CutResponses, EndKind};
pub use keepalive::Keepalive;
pub use not_kept::{NotKept, NotKeptPart};
pub use pushed::PushedVersion;
pub use words::{
    AbsentBy, MessageKind, NackFact, Origin, OtherReading, PlaneFact, PushFact, RefusedVersion, RequestClass,
    ResourceState, TypeState, Wildcard,
};

pub use answer_verdict::kind_of_change;
pub use claims::Claim;
pub(crate) use compare::{hollow, key, mark_key, nameless};
pub(crate) use condition::{Condition, Limits, OwedAgain};
pub(crate) use end_series::{AGE_TOLERANCE, EndSeries, is_keepalive_timeout};
pub(crate) use engine::Engine;
pub(crate) use engine_memory::DroppedStreams;
pub(crate) use events::{EventEntry, TtlRecord};
pub(crate) use failing::{
    AttemptKey, Cuts, FailedAttempts, FailureRun, MIN_PLANNED_AGE, StreamEnds, StreamKey, is_counted,
};
pub(crate) use needs::{can_warm, is_needed};
pub(crate) use outcome::{
    Ambiguity, GapFact, Hollow, Outcome, RequestOutcome, ResponseOutcome, SessionEvent,
};
pub(crate) use refusals::Refusal;
pub(crate) use resource_set::{Presence, ResourceEntry, ResourceSet};
pub(crate) use responses::{Response, Status};
pub use semantics::{ResourceSemantics, SchemaSemantics, content_faults};
pub(crate) use stream::{Stream, type_of_name};
pub use subscription::RequestSpan;
pub(crate) use subscription::{NameRequest, SubscribedNames};
pub(crate) use track::{ReportedError, Track, latencies_of};
pub(crate) use warming::{MissingNeed, WarmingName, WarmingView};
pub(crate) use warming_batches::WarmingCause;

use std::sync::Arc;
use std::time::Duration;

use compare::Compare;
use events::EventList;
use names::NameRuns;
pub(crate) use names::{SymMap, SymSet};
use xdscope_wire::NodeInfo;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time};

/// Comparison and validation of contents by descriptors. Without it, bytes are compared.
pub type SharedSemantics = std::sync::Arc<DynSemantics>;

pub(crate) type DynSemantics = dyn ResourceSemantics;

/// Everything that the handling of one message needs.
pub(crate) struct Context<'a> {
    catalog: &'a mut Catalog,
    compare: Option<Compare<'a>>,
    /// The node of the client, in a request with an error.
    node: Option<Arc<NodeInfo>>,
    /// Validates resources from files.
    validator: Option<&'a DynSemantics>,
    runs: &'a mut NameRuns,
    specials: Specials,
    /// The name `*`.
    star: Sym,
    at: Time,
    seq: Seq,
    timed: bool,
    /// Whether entries can have a time to live.
    has_ttl: bool,
    /// Time after which a requested resource counts as missing.
    resource_timeout: Option<Duration>,
    /// The events of the message.
    events: EventList,
}

/// Rare kinds of entries and names that the source has had so far.
///
/// Entries are searched for them only if the source has any.
#[derive(Clone, Copy, Debug, Default)]
struct Specials {
    /// An entry with a time to live or with aliases.
    wrapped: bool,
    /// An `xdstp:` name.
    structured: bool,
    /// Blobs of the catalog that were checked.
    blobs: usize,
    /// Strings of the catalog that were checked.
    names: usize,
}

impl Specials {
    fn any(&self) -> bool {
        self.wrapped || self.structured
    }
}
