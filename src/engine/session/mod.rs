//! The protocol state machine: what each frame says about its stream, type, responses and resources.
//!
//! Follows the observer model: streams, tracks (stream and type), sessions (streams of one client), request
//! classes R1–R7 and Q1–Q6, SotW and delta, complete and partial captures. Pure: time is an argument, peer
//! misbehaviour is a fact, nothing fails. Timers are not kept but derived from times when asked, so that a
//! replay and a live run say the same.

mod asking;
mod compare;
mod condition;
mod delta;
mod engine;
mod file;
mod keepalive;
pub(crate) mod locator;
mod names;
mod outcome;
mod resource_set;
mod responses;
mod semantics;
mod sotw;
mod stream;
mod subscription;
mod track;
mod words;
mod xdstp;

pub use keepalive::Keepalive;
pub use words::{
    AbsentBy, MessageKind, NackFact, Origin, PushFact, ReconnectFact, RequestClass, ResourceState, TypeState,
    Wildcard,
};

pub(crate) use compare::{hollow, key, nameless};
pub(crate) use condition::Limits;
pub(crate) use engine::Engine;
pub(crate) use outcome::{Hollow, Outcome, RequestOutcome, ResponseOutcome, SessionEvent};
pub(crate) use resource_set::{Presence, ResourceEntry, ResourceSet};
pub(crate) use responses::Status;
pub use semantics::ResourceSemantics;
pub(crate) use stream::Stream;
pub(crate) use subscription::{Asked, Want};
pub(crate) use track::Track;
pub(crate) use xdstp::{Name, glob_matches, is_glob, is_structured};

use crate::wire::content::Catalog;
use crate::wire::event::{Seq, Sym, Time};
use compare::Compare;
use names::NameRuns;
pub(crate) use names::{SymMap, SymSet};

/// What descriptors know of contents. Without it bytes decide.
pub type SharedSemantics = std::sync::Arc<DynSemantics>;

pub(crate) type DynSemantics = dyn ResourceSemantics;

/// What the handling of one message has at hand.
pub(crate) struct Context<'a> {
    catalog: &'a mut Catalog,
    compare: Option<Compare<'a>>,
    /// What files hold is judged by it.
    judge: Option<&'a DynSemantics>,
    runs: &'a mut NameRuns,
    specials: Specials,
    /// `*`.
    star: Sym,
    at: Time,
    seq: Seq,
    timed: bool,
}

/// What occurs in a source at all: where it does not, no entry is looked at for it.
#[derive(Clone, Copy, Debug, Default)]
struct Specials {
    /// An entry with a TTL or with aliases.
    wrapped: bool,
    /// An `xdstp:` name.
    structured: bool,
    blobs: usize,
    names: usize,
}

impl Specials {
    fn any(&self) -> bool {
        self.wrapped || self.structured
    }
}
