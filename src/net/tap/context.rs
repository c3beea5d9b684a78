//! State that the connections of a tap have in common.

use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::h2::Changes;

use super::armed::Armed;
use super::buffers::Buffers;
use super::early::EarlyBudget;
use super::{EventReporter, Tls};

/// State that all connections of a tap share.
#[derive(Clone)]
pub(super) struct RelayContext {
    pub(super) reporter: EventReporter,
    pub(super) buffers: Buffers,
    /// The timeout of each step of connecting to the upstream.
    pub(super) timeout: Duration,
    pub(super) tls: Tls,
    /// Changes to the headers of requests; `None`: bytes pass unchanged.
    pub(super) changes: Option<Arc<Changes>>,
    /// The faults and held messages of armed connections.
    pub(super) armed: Option<Arc<Armed>>,
    pub(super) early: EarlyBudget,
}
