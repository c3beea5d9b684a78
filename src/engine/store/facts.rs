//! Facts that all views show: screens, tables and JSON.
//!
//! Words and fields follow the JSON contract. Facts are plain data with resolved texts, built on
//! demand for a query, never for a whole source at once.

mod resource;
mod row;
mod state;
mod stream;

pub use resource::{InForceFact, OwedAgainFact, RefusalFact, ResourceFact};
pub use row::{LineFact, MessageFact, RowFact};
pub use state::{StateFact, StateTraffic, StateVerdicts, StateVersions, SubscriptionFact, SummaryFact};
pub use stream::{ClaimFact, EndFact, LeftResource, ReconnectFact, StreamFact};

pub use crate::session::{
    AbsentBy, ClaimOutcome, Divergence, Keepalive, MessageKind, NackFact, Origin, OtherReading, PlaneFact,
    PushFact, ReconnectCounts, RefusedVersion, RequestClass, ResourceState, TypeState, Wildcard,
};
