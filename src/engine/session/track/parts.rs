use std::sync::Arc;
use std::time::Duration;

use crate::session::content::compare::{hollow, key};
use crate::session::content::names::SymMap;
use crate::session::content::resource_set::Change;
use crate::session::shared::Cached;
use crate::session::structured::authorities::Authorities;
use crate::session::structured::globs::Globs;
use crate::session::subscription::SubscribedNames;
use crate::session::subscription::released_names::ReleasedNames;
use crate::session::subscription::{NameRequest, RequestSpan};
use crate::session::track::claims::{ClaimOutcome, Claims, ReconnectCounts};
use crate::session::track::earlier_refusals::EarlierRefusals;
use crate::session::{Context, PushFact};
use xdscope_wire::ResponseView;
use xdscope_wire::content::{Catalog, List, UsedContent};
use xdscope_wire::event::{Seq, Sym, Time, VersionInfo};

/// How the subscription of a track came about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscription {
    /// SotW: the names of the last request, in its order.
    pub(crate) last_names: Option<Arc<[Sym]>>,
    /// Whether a name or `*` was ever asked for: after that, an empty list is not a wildcard
    /// (docs/protocol.md#e-40).
    pub(crate) was_named: bool,
    /// Whether the subscription was ever a wildcard.
    pub(crate) was_wildcard: bool,
    /// Whether a name or the wildcard was ever given up.
    pub(crate) has_released: bool,
    /// The names that the client gave up.
    pub(crate) released: ReleasedNames,
    /// The names that are globs.
    pub(crate) globs: Globs,
    /// The authorities of the names (docs/protocol.md#k-24).
    pub(in crate::session) authorities: Authorities,
    /// When the subscription changed last.
    pub(crate) changed_at: Time,
    /// Delta: the request that changed it last.
    pub(crate) changed_by: Option<Seq>,
    /// The names that the server works from, where they differ (docs/protocol.md#e-09).
    pub(crate) effective: Option<SubscribedNames>,
    /// When a list of names ended a wildcard that the server may keep, until a response shows how
    /// the server reads the list (docs/protocol.md#l-06).
    pub(crate) names_after_wildcard: Option<Time>,
    /// When the wildcard was asked for, and by which request, until the first response.
    pub(crate) wildcard_asked: Option<(Time, Seq)>,
    /// The request that gave up the wildcard, with its time, until another one asks for it again.
    pub(crate) wildcard_released: Option<(Seq, Time)>,
    /// Whether the client may wait for members of a wildcard that it had given up.
    pub(crate) awaits_members: bool,
    /// Delta: names that the client has unsubscribed under the wildcard, with the request. The
    /// server has neither sent nor removed them since (docs/protocol.md#f-26).
    pub(crate) unclassified: SymMap<(Time, Seq)>,
}

/// Names in [`Subscription::unclassified`] that are kept.
const MAX_UNCLASSIFIED: usize = 1 << 14;

impl Subscription {
    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.last_names.iter().for_each(|names| used.run(names));
        self.globs.mark(used);
        self.released.mark(used);
        self.effective.iter().for_each(|names| names.mark(used));
        used.names(self.unclassified.keys());
    }

    /// Records that the client has unsubscribed a name under the wildcard.
    pub(in crate::session) fn owe_classification(&mut self, name: Sym, at: Time, seq: Seq) {
        if self.unclassified.len() < MAX_UNCLASSIFIED {
            self.unclassified.insert(name, (at, seq));
        }
    }
}

/// Messages of a track, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// When the first message came.
    pub(crate) began: Time,
    pub(crate) requests: u32,
    pub(crate) first_request: Option<Seq>,
    pub(crate) last_request: Option<Seq>,
    /// Requests that are not a mere ACK or NACK: a verdict restates names without asking for them.
    pub(crate) askings: u32,
    pub(crate) last_asking: Option<Seq>,
    /// SotW: whether the first request states a version.
    pub(crate) begins_with_version: bool,
    /// The `version_info` of the last request.
    pub(crate) reported_version: Option<VersionInfo>,
    /// REST: the longest time from a response to the poll that answered it.
    pub(crate) longest_poll_wait: Option<Duration>,
    /// The last request that asked for something new, until a response answers it.
    pub(crate) unanswered: Option<Seq>,
    /// Whether the client waited for names that this request asks for.
    pub(crate) awaits_names: bool,
    pub(crate) pushes: u64,
    pub(crate) last_push: Option<PushFact>,
    /// Bytes of responses.
    pub(crate) bytes: u64,
    /// Bytes of the resources among them that were sent again unchanged.
    pub(crate) bytes_resent: u64,
    /// Messages that may have changed which names were sent, are wanted or are waited for.
    pub(crate) name_changes: u64,
}

impl Traffic {
    /// Returns the number of messages: a count that visits each resource is valid for that number.
    pub(super) fn messages(&self) -> u64 {
        u64::from(self.requests) + self.pushes
    }

    /// Returns the current message as a first request for a name.
    pub(crate) fn name_request(&self, ctx: &Context<'_>) -> NameRequest {
        NameRequest {
            since: ctx.at,
            first: ctx.seq,
            earlier: None,
            last: ctx.seq,
            askings_before: self.askings,
            count: 1,
            has_resource: false,
            is_resend: false,
            is_served: false,
            is_malformed: false,
            is_member: false,
        }
    }

    /// Returns when a waiting name was first requested on the stream. The client may have begun to
    /// wait for the name on an earlier stream.
    pub(crate) fn requested(&self, request: &NameRequest) -> Time {
        request.since.max(self.began)
    }

    /// Returns the requests for a waiting name.
    ///
    /// Each SotW request restates all names; ACKs and NACKs are not counted.
    pub(crate) fn request_span(&self, request: &NameRequest, is_delta: bool) -> RequestSpan {
        if is_delta {
            return RequestSpan { count: u64::from(request.count), first: request.first, last: request.last };
        }
        let count = self.askings.saturating_sub(request.askings_before).max(1);
        let last = self.last_asking.map_or(request.last, |last| last.max(request.last));
        RequestSpan { count: u64::from(count), first: request.first, last }
    }

    /// Counts the bytes and the resources of a response.
    pub(super) fn count_response(&mut self, ctx: &Context<'_>, push: &ResponseView<'_>, change: &Change) {
        self.pushes += 1;
        self.bytes += push.size;
        let bytes_same = if change.same == 0 { 0 } else { push.size.saturating_sub(change.bytes_new) };
        self.bytes_resent += bytes_same;
        self.last_push = Some(PushFact {
            n: ctx.seq.0,
            at: ctx.at,
            added: change.added.len() as u64,
            changed: change.changed.len() as u64,
            removed: change.removed.len() as u64,
            same: change.same,
            bytes: push.size,
            bytes_same,
        });
    }
}

/// The answer in a first request to a response that its stream does not have: of another stream, or
/// of another client. The server may ignore the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrayAnswer {
    /// The request has a nonce.
    Nonce,
    /// The request has an error.
    Refusal,
}

/// Resources that the client brought along from before the stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// How much of it the server sent again or removed, apart from `claims`.
    pub(super) counts: ReconnectCounts,
    /// The entries of `initial_resource_versions`, by name.
    pub(crate) claims: Claims,
    /// The first names that the client had and did not request again.
    pub(crate) left: Arc<[Sym]>,
    /// Resources that no response has mentioned yet.
    pub(in crate::session) unmentioned: usize,
    /// The version that the client claims in its first request when no stream before this one is
    /// known: the client has what it asks for.
    pub(crate) claimed_version: Option<Sym>,
    /// SotW: whether the version that the client claims is the newest one, and has no resources.
    pub(crate) is_empty: bool,
    /// SotW: the version that the client claims in its first request, if the stream before neither
    /// had it in force nor sent it last.
    pub(crate) outdated: Option<Sym>,
    /// Whether the server owes another version of something that the client has.
    pub(crate) owes_newer: bool,
    /// SotW: the version that the client claims in its first request although it has refused it.
    pub(crate) refused: Option<Sym>,
    /// Refusals of earlier streams that the client goes on with.
    pub(crate) refusals: EarlierRefusals,
    /// Delta: whether the client claims a version that it has refused.
    pub(crate) has_refused_claims: bool,
    /// The answer in the first request to a response that the stream does not have.
    pub(crate) stray: Option<StrayAnswer>,
    /// Whether the client claims resources of an unknown stream in such a request.
    pub(crate) is_unproved: bool,
    /// SotW: whether the request that claims a version may follow others, from before the
    /// recording: it need not be that of a reconnect.
    pub(crate) may_follow_others: bool,
}

impl Carried {
    /// Marks the names and versions as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.claims.mark(used);
        self.refusals.mark(used);
        used.run(&self.left);
        used.names(self.claimed_version.iter().chain(&self.outdated).chain(&self.refused));
    }

    /// SotW: counts the resources of the stream before. The client did not request `left` of them
    /// again. `claims`: its first request repeats a version.
    pub(crate) fn had(&mut self, all: u64, left: u64, claims: bool) {
        match claims {
            true => {
                self.counts.claimed += all;
                self.counts.left_behind += left;
            }
            false => self.counts.unclaimed += left,
        }
    }

    /// SotW: counts the resources that a client claims to have from a stream that was not recorded.
    pub(crate) fn claim_unseen(&mut self, names: usize) {
        self.counts.claimed += names as u64;
        self.unmentioned = names;
    }

    /// SotW: counts the resources that the client has at another version than the newest one.
    pub(crate) fn owes(&mut self, names: usize) {
        self.counts.owed = names as u64;
        self.owes_newer |= names > 0;
    }

    /// SotW: counts the resources of the stream before that a response sent again or left out.
    pub(super) fn count(&mut self, resent: usize, removed: usize) {
        self.counts.resent += resent as u64;
        self.counts.removed += removed as u64;
        self.unmentioned = self.unmentioned.saturating_sub(resent + removed);
    }

    /// Whether the client may have resources of streams that are not known, because its first
    /// request states a version.
    pub(crate) fn may_have_unseen(&self) -> bool {
        self.claimed_version.is_some() || self.is_unproved
    }

    /// Delta: whether the client states a resource that the server has removed before the stream,
    /// and of which the server owes the removal.
    pub(crate) fn is_removal_owed(&self, name: Sym) -> bool {
        let claim = self.claims.get(name);
        claim.is_some_and(|(claim, outcome)| outcome == ClaimOutcome::Owed && claim.known.is_none())
    }

    /// Whether the first request states a version of the resource, and subscribes to it.
    pub(super) fn is_stated(&self, name: Sym) -> bool {
        self.claims.get(name).is_some_and(|(_, outcome)| outcome != ClaimOutcome::LeftBehind)
    }

    /// Delta: records which of the stated resources a response sends again.
    pub(super) fn decide_claims(&mut self, catalog: &Catalog, list: &List) {
        if self.claims.is_empty() {
            return;
        }
        for id in list.blobs().iter().filter(|id| !hollow(catalog, **id)) {
            self.claims.decide(key(catalog, *id), ClaimOutcome::Resent);
        }
    }

    /// Returns the first names that the client had, did not request again, and has still.
    pub(crate) fn left_names(&self) -> impl Iterator<Item = Sym> {
        let has_been_removed =
            |name: Sym| self.claims.get(name).is_some_and(|(_, outcome)| outcome == ClaimOutcome::Removed);
        self.left.iter().copied().filter(move |name| !has_been_removed(*name))
    }

    /// Returns what became of the resources that the client brought along.
    pub(crate) fn counts(&self) -> ReconnectCounts {
        let mut counts = self.counts;
        counts.add(self.claims.counts());
        counts
    }
}

/// The code of gRPC for what does not exist.
pub(super) const NOT_FOUND: i32 = 5;

/// An entry of `resource_errors` (docs/protocol.md#m-14).
#[derive(Clone, Debug)]
pub(crate) struct ReportedError {
    /// The newest response that reports it.
    pub(crate) n: Seq,
    pub(crate) at: Time,
    pub(crate) code: i32,
    /// The text of the server, shortened.
    pub(crate) message: Arc<str>,
}

impl ReportedError {
    /// Whether the error says that the resource does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == NOT_FOUND
    }
}

/// Resources of a track that the server does not send for another reason than that they do not
/// exist.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportedNames {
    /// When the oldest error was reported.
    pub(crate) since: Option<Time>,
    /// Number of names.
    pub(crate) count: u64,
}

/// Counts of a track that visit each resource, cached for a number of messages.
#[derive(Clone, Debug, Default)]
pub(in crate::session) struct CountCache {
    /// The result of [`Track::present`](super::Track::present).
    pub(super) present: Cached<(u64, u64)>,
    /// The result of [`Track::in_use`](super::Track::in_use).
    pub(super) in_use: Cached<(u64, u64)>,
    /// The result of [`Track::reported_names`](super::Track::reported_names).
    pub(super) errors: Cached<(u64, ReportedNames)>,
}
