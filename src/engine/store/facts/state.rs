//! Facts about one type on one stream.

use std::sync::Arc;

use crate::session::{Divergence, NackFact, PushFact, TypeState, Wildcard};
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl, Variant};

/// One stream and type (`state` of the JSON contract). Types that were never requested have none.
#[derive(Clone, Debug)]
pub struct StateFact {
    /// State and figures.
    pub summary: SummaryFact,
    /// The versions that client and server state.
    pub versions: StateVersions,
    /// Newest nonce issued.
    pub nonce: Option<Arc<str>>,
    /// Nonces of the responses without a verdict.
    pub pending: Vec<Arc<str>>,
    /// Requested names, and those that the client lacks.
    pub subscription: SubscriptionFact,
    /// Accepted and refused responses.
    pub verdicts: StateVerdicts,
    /// Numbers and bytes of responses.
    pub traffic: StateTraffic,
    /// Interventions of xdscope, until both sides agree again.
    pub diverged: Option<Divergence>,
}

/// Versions of a type on a stream.
#[derive(Clone, Debug, Default)]
pub struct StateVersions {
    /// The version that the client uses: the one that it has accepted last on the stream, or that
    /// a SotW client states in its requests.
    pub in_force: Option<Arc<str>>,
    /// The request that accepted this version, and its time; `None` if the client only states it.
    pub in_force_since: Option<(Seq, Time)>,
    /// The version of the newest response.
    pub offered: Option<Arc<str>>,
    /// The `version_info` of the newest request.
    pub reported: Option<Arc<str>>,
}

/// The subscription of a client to a type.
#[derive(Clone, Debug, Default)]
pub struct SubscriptionFact {
    /// The wildcard subscription.
    pub wildcard: Wildcard,
    /// The subscribed names.
    pub names: Vec<Arc<str>>,
    /// Number of resources that the names stand for: several aliases may stand for one.
    pub named_resources: u64,
    /// `Some` only if it differs from `names`; `*` stands for a wildcard.
    pub effective: Option<Vec<Arc<str>>>,
    /// Requested names that were never sent.
    pub missing: Vec<Arc<str>>,
    /// Names of resources that the client has, and the server owes again.
    pub owed_again: Vec<Arc<str>>,
    /// Requested names that the server has removed or reported as missing.
    pub absent: Vec<Arc<str>>,
}

/// The verdicts of a client on the responses of a type.
#[derive(Clone, Debug, Default)]
pub struct StateVerdicts {
    /// The newest response that the client has accepted.
    pub newest_accepted: Option<Seq>,
    /// The newest NACKs.
    pub nacks: Vec<NackFact>,
    /// The NACKs whose resources the client still refuses, oldest first.
    pub standing_nacks: Vec<Seq>,
    /// Number of all NACKs.
    pub nack_count: u64,
    /// Whether the stream has closed, and a later stream of the client has settled the refusal.
    pub is_settled_later: bool,
    /// Median and 99th percentile of the time from response to verdict, in milliseconds.
    pub ack_ms: Option<(f64, f64)>,
}

/// The responses of a type.
#[derive(Clone, Debug, Default)]
pub struct StateTraffic {
    /// Number of responses.
    pub pushes: u64,
    /// Bytes of responses.
    pub bytes: u64,
    /// Bytes of resources sent again unchanged.
    pub bytes_same: u64,
    /// The newest response.
    pub last_push: Option<PushFact>,
}

impl StateFact {
    /// Whether the client still refuses what it refused in one of these NACKs, the newest of which
    /// is the last one of the type if `is_newest`.
    pub fn is_refusing(&self, nacks: &[NackFact], is_newest: bool) -> bool {
        let stands = |nack: &NackFact| self.verdicts.standing_nacks.contains(&nack.n);
        !self.verdicts.is_settled_later
            && ((is_newest && self.summary.open_nack.is_some()) || nacks.iter().any(stands))
    }

    /// Whether a later version was accepted after the refusal.
    ///
    /// A delta stream accepts each resource by itself: its last NACK is not mended while a resource
    /// remains refused.
    pub fn is_mended(&self, nack: &NackFact) -> bool {
        let is_last = self.verdicts.nacks.last().is_some_and(|last| last.n == nack.n);
        let is_refused = is_last
            && (self.summary.open_nack.is_some()
                || self.summary.variant.is_delta() && self.summary.refused_unnamed > 0);
        !is_refused
            && !self.verdicts.standing_nacks.contains(&nack.n)
            && nack.refused.is_some_and(|refused| self.verdicts.newest_accepted > Some(refused))
    }
}

/// State and figures of a type on a stream: a cell of the matrix of nodes by types.
#[derive(Clone, Debug)]
pub struct SummaryFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The variant of the protocol.
    pub variant: Variant,
    /// The type.
    pub type_url: TypeUrl,
    /// The state of the type.
    pub state: TypeState,
    /// State of a closed stream before it closed.
    pub last_state: Option<TypeState>,
    /// When the state began.
    pub since: Time,
    /// NACKs since the last ACK of a later response.
    pub open_nacks: u64,
    /// The newest NACK, unless a later response was accepted, and its time.
    pub open_nack: Option<(Seq, Time)>,
    /// Requested names that were never sent, in time or overdue.
    pub missing: u64,
    /// Missing names that are overdue.
    pub overdue: u64,
    /// Resources that the client has, and the server owes again.
    pub owed_again: u64,
    /// Requested names that the server does not send, because of an error that it reports. A name
    /// that does not exist is absent.
    pub errors: u64,
    /// Requested names that no resource can have (docs/protocol.md#k-02).
    pub malformed: u64,
    /// Number of subscribed names.
    pub names: u64,
    /// Number of resources that the client uses, or has yet to accept or refuse.
    pub resources: u64,
    /// Resources whose newest content was refused, by NACKs that name them or name none.
    pub refused: u64,
    /// Resources that refused pushes keep out of use, and whose NACKs name others only.
    pub refused_unnamed: u64,
    /// Whether client and server believe different things since an intervention, other than that a
    /// message is held.
    pub is_diverged: bool,
}
