//! Bounded memory of rules about one type on one stream.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lint::alarm::Alarm;
use crate::session::{SymMap, SymSet};
use xdscope_schema::Violation;
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::{Seq, Sym, Time, VersionInfo};

/// Names in one map; beyond it the oldest knowledge goes, and the rule falls silent.
pub(crate) const MAX_NAMES: usize = 1 << 14;
/// Responses without a verdict, and versions, to remember per type.
pub(crate) const MAX_RESPONSES: usize = 64;
/// Rejected responses to remember per type.
pub(crate) const MAX_REJECTED: usize = 8;
/// SotW pushes to remember per type.
pub(crate) const MAX_PUSHES: usize = 10;

/// A finding about the broken constraints of a resource.
#[derive(Clone, Debug)]
pub(crate) struct ConstraintFinding {
    /// The response with the resource.
    pub(crate) seq: Seq,
    /// Name of the resource.
    pub(crate) name: Sym,
    pub(crate) violations: Arc<[Violation]>,
    /// Index of the finding.
    pub(crate) finding: usize,
}

/// A response as rules remember it.
#[derive(Clone, Debug)]
pub(crate) struct SentResponse {
    pub(crate) seq: Seq,
    pub(crate) list: Arc<List>,
    pub(crate) version: VersionInfo,
    /// Names that occur more than once.
    pub(crate) duplicates: Vec<Sym>,
    /// Whether the content of a resource differs from the one that was sent before.
    pub(crate) has_changes: bool,
}

/// The kind of resource that refers to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetOrigin {
    Redirect,
    List,
}

/// A name that a redirect or a list refers to.
///
/// `docs/protocol.md#k-13` and `docs/protocol.md#k-27`
#[derive(Clone, Debug)]
pub(crate) struct PendingTarget {
    /// In canonical form.
    pub(crate) name: String,
    /// The resource that refers to the name.
    pub(crate) resource: Sym,
    /// The response with that resource.
    pub(crate) seq: Seq,
    pub(crate) origin: TargetOrigin,
    /// When the client accepted the response.
    pub(crate) accepted: Option<Time>,
}

/// Occurrences in a row, such as responses that change nothing, each just after a verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EchoRun {
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) count: u64,
}

/// Memory about one type on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackState {
    /// Expiry of each timer.
    pub(crate) armed: [Option<Time>; Alarm::COUNT],
    pub(crate) responses: TrackResponses,
    pub(crate) requests: TrackRequests,
    pub(crate) versions: TrackVersions,
    pub(crate) checked: CheckedNames,
    pub(crate) runs: TrackRuns,
    pub(crate) ttl: TrackTtl,
    pub(crate) references: TrackReferences,
    pub(crate) open_findings: OpenFindings,
}

/// Responses, as far as rules remember them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackResponses {
    /// Responses without a verdict, oldest first.
    pub(crate) pending: VecDeque<SentResponse>,
    /// Rejected responses, newest last.
    pub(crate) rejected: VecDeque<SentResponse>,
    /// The newest response.
    pub(crate) newest: Option<SentResponse>,
    /// Resources that the newest full-state response left out, with their last content.
    pub(crate) left_out: SymMap<BlobId>,
    /// The newest list without conspicuous entries.
    pub(crate) clean_list: Option<Arc<List>>,
    /// The newest SotW pushes: bytes, and bytes that were unchanged.
    pub(crate) pushes: VecDeque<(u64, u64)>,
    /// The newest push above the default receive limit, and the finding about it.
    pub(crate) large_push: Option<(Seq, usize)>,
    /// Times of the newest large lists.
    pub(crate) recent_large_lists: VecDeque<Time>,
}

/// Requests, as far as rules remember them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackRequests {
    /// Whether names were added since the newest response.
    pub(crate) has_new_names: bool,
    /// Whether the subscription changed since the newest response.
    pub(crate) has_changed_names: bool,
    pub(crate) requests_since_response: u32,
    pub(crate) stale_requests_since_response: u32,
    /// Time of the newest request that added names.
    pub(crate) names_added_at: Option<Time>,
    /// Names added by requests without the newest nonce: `docs/protocol.md#f-07`.
    pub(crate) added_by_stale_requests: SymSet,
    /// When the list of names became empty.
    pub(crate) emptied_at: Option<Time>,
    /// Unsubscribed names, with the time.
    pub(crate) unsubscribed: SymMap<Time>,
    /// When the client unsubscribed from the wildcard.
    pub(crate) wildcard_ended_at: Option<Time>,
    /// Whether the client has subscribed again to subscribed names since the newest response.
    pub(crate) has_resubscribed: bool,
    /// Names that the previous request, an ACK, left out.
    pub(crate) missing_from_ack: Option<(Seq, Time, SymSet)>,
    /// Structured names that are not in their first spelling: `docs/protocol.md#k-08`.
    pub(crate) spellings: SymSet,
}

/// Versions that the client has stated.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackVersions {
    /// The version in the first request.
    pub(crate) stated_version: Option<VersionInfo>,
    /// Acknowledged versions, newest last.
    pub(crate) acked_versions: VecDeque<VersionInfo>,
    /// Number of resources that the server sent again at the version that the client states.
    pub(crate) claims_resent: usize,
}

/// How far the subscribed names were checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckedNames {
    /// Names unsubscribed under a wildcard until this time were checked for an answer:
    /// `docs/protocol.md#f-26`.
    pub(crate) classified_until: Option<Time>,
    /// Names requested until this time were checked for an answer.
    pub(crate) answers_checked_until: Option<Time>,
    /// Names requested until this time were checked for existence.
    pub(crate) existence_checked_until: Option<Time>,
}

/// Occurrences in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackRuns {
    /// Times of recent repeated requests.
    pub(crate) recent_repeats: VecDeque<Time>,
    /// Repeated requests in a row, without a response in between.
    pub(crate) repeats: EchoRun,
    /// Responses in a row that change nothing.
    pub(crate) echoes: EchoRun,
    /// Responses in a row, among these, for which the client has subscribed again.
    pub(crate) resent: EchoRun,
    /// ACKs in a row that restore names which the ACK before has left out.
    pub(crate) restorations: EchoRun,
    /// Responses in a row that restore resources which the response before has left out.
    pub(crate) flaps: EchoRun,
}

/// Resources with a time to live.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackTtl {
    /// Names with a TTL, and their version.
    pub(crate) ttl_versions: SymMap<Sym>,
    /// Deadlines that were reported.
    pub(crate) reported_deadlines: SymMap<Time>,
}

/// References of the resources to others, and of others to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackReferences {
    /// Names that the client should request next.
    pub(crate) targets: Vec<PendingTarget>,
    /// Delivered names without a known reference, with the time.
    pub(crate) unreferenced: SymMap<Time>,
    /// Routes to unknown clusters, by the response without a verdict that has them:
    /// `docs/protocol.md#h-11`.
    pub(crate) unaccepted_routes: VecDeque<(Seq, Vec<Sym>)>,
    /// Resources by alias.
    pub(crate) aliases: SymMap<Sym>,
    /// When the first clusters came.
    pub(crate) clusters_since: Option<Time>,
    /// Warming resources that were reported, with the response that started to warm them:
    /// `docs/protocol.md#h-04`.
    pub(crate) reported_warming: SymMap<Seq>,
    /// Resources that were reported because the client had not requested what they need.
    pub(crate) reported_unrequested: SymMap<Seq>,
}

/// Findings that a later message may change.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenFindings {
    /// The finding about a wildcard that names replaced, until a response shows how the server read
    /// the list: `docs/protocol.md#l-06`.
    pub(crate) wildcard_finding: Option<usize>,
    /// The finding about a refusal by version, until the response has a verdict:
    /// `docs/protocol.md#e-22`.
    pub(crate) implicit_nack: Option<usize>,
    /// Findings about constraints that wait for a verdict: `docs/protocol.md#j-02`.
    pub(crate) constraint_findings: VecDeque<ConstraintFinding>,
}

impl TrackState {
    /// Remembers the names that are not in their first spelling.
    pub(crate) fn note_spellings(&mut self, catalog: &Catalog, names: impl Iterator<Item = Sym>) {
        if catalog.has_spellings() {
            let other = names.filter(|name| catalog.first_spelling(*name) != *name);
            let room = MAX_NAMES.saturating_sub(self.requests.spellings.len());
            self.requests.spellings.extend(other.take(room));
        }
    }

    /// Returns the pending response with that number.
    pub(crate) fn pending(&self, seq: Seq) -> Option<&SentResponse> {
        self.responses.pending.iter().find(|sent| sent.seq == seq)
    }

    pub(crate) fn note_unsubscribed(&mut self, name: Sym, at: Time) {
        if self.requests.unsubscribed.len() < MAX_NAMES {
            self.requests.unsubscribed.insert(name, at);
        }
    }
}
