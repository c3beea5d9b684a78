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

mod condition;
mod content;
pub(crate) mod engine;
mod events;
mod failing;
pub(crate) mod interventions;
mod outcome;
mod shared;
mod stream;
mod structured;
mod subscription;
mod track;
mod warming;
mod words;

pub use content::pushed::PushedVersion;
pub use events::{EventKind, MatchedVersion, TtlChange};
pub use failing::CutResponses;
pub use failing::end_kind::EndKind;
pub use failing::end_series::EndCause;
pub use interventions::divergence::Divergence;
pub(crate) use interventions::divergence::{
    Agreement, Consequence, Losses, SettlingMessage, is_second_answer,
};
pub use stream::keepalive::Keepalive;
pub use stream::not_kept::{NotKept, NotKeptPart};
pub use track::claims::{ClaimOutcome, ReconnectCounts};
pub use words::{
    AbsentBy, MessageKind, NackFact, Origin, OtherReading, PlaneFact, PushFact, RefusedVersion, RequestClass,
    ResourceState, TypeState, Wildcard,
};

pub(crate) use condition::{Condition, ConditionKind, Limits};
pub(crate) use content::compare::{hollow, key, mark_key, nameless};
pub(crate) use content::refusals::Refusal;
pub(crate) use content::resource_set::{Presence, ResourceEntry, ResourceSet};
pub(crate) use content::responses::{Response, Status};
pub use content::semantics::{ResourceSemantics, SchemaSemantics, content_faults};
pub(crate) use engine::Engine;
pub(crate) use engine::memory::DroppedStreams;
pub(crate) use events::{EventEntry, TtlRecord};
pub(crate) use failing::end_kind::{is_ended_by_client, is_too_many_pings};
pub(crate) use failing::end_series::{AGE_TOLERANCE, EndSeries, is_keepalive_timeout};
pub(crate) use failing::{
    AttemptKey, Cuts, FailedAttempts, FailureRun, MIN_PLANNED_AGE, StreamEnds, StreamKey, is_counted,
};
pub(crate) use outcome::{
    Ambiguity, GapFact, Hollow, Outcome, RequestOutcome, ResponseOutcome, SessionEvent,
};
pub(crate) use shared::Shared;
pub(crate) use stream::{SETTLE_TIME, Stream, type_of_name};
pub use subscription::RequestSpan;
pub(crate) use subscription::{NameRequest, SubscribedNames, WildcardReading};
pub use track::CacheCounts;
pub use track::answer_verdict::kind_of_change;
pub use track::claims::Claim;
pub(crate) use track::state::{CurrentState, OwedAgain};
pub(crate) use track::{ReportedError, Track, latencies_of};
pub(crate) use warming::batches::WarmingCause;
pub(crate) use warming::needed::MissingNeed;
pub use warming::needed::NeededResource;
pub(crate) use warming::needs::{OtherNeed, ResourceKey, can_warm, is_needed, passes_needs_on};
pub(crate) use warming::{WarmingName, WarmingView};

use std::sync::Arc;
use std::time::Duration;

use content::compare::Compare;
use content::names::NameRuns;
pub(crate) use content::names::{SymMap, SymSet};
use events::EventList;
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
    /// Whether the responses that all tracks keep are many.
    is_crowded: bool,
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
