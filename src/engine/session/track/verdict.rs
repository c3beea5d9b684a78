//! Verdicts of the client on responses, and the version in force.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::nack::ClientKind;
use crate::session::content::compare::{hollow, is_all_hollow, key};
use crate::session::content::refusals::RefusedResponse;
use crate::session::content::resource_set::{IncomingResponse, Presence, ResourceEntry};
use crate::session::content::responses::{Body, Order, Status};
use crate::session::outcome::{Ambiguity, RequestOutcome};
use crate::session::track::answer_verdict::{Answer, Verdict};
use crate::session::{Context, NackFact, RefusedVersion};
use xdscope_wire::ErrorDetail;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Code, Kind, Nonce, Seq, Sym, Time, VersionInfo};

use super::Track;

/// NACKs of a track that are kept; older ones are only counted.
const MAX_NACKS: usize = 1000;
/// Resources of a refused delta response to keep with its NACK.
const MAX_REFUSED_VERSIONS: usize = 3;
/// Time from a response to its ACK from which on the client has withheld the ACK.
const WITHHELD: Duration = Duration::from_secs(1);
/// Nonces of responses that were not recorded, and that the client has answered, to keep.
const MAX_UNSEEN_NONCES: usize = 16;
/// Newest latencies of a track, from which percentiles are computed.
const MAX_LATENCIES: usize = 512;

/// Verdicts of the client on the responses of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) in_force: Option<InForce>,
    /// The version that the client had before the first response that it has accepted on the
    /// stream: SotW clients state it, delta clients state resources of the stream before.
    pub(super) stated: Option<VersionInfo>,
    /// Whether the client has accepted a response from before the recording: a version is in force,
    /// but not known.
    pub(crate) has_unseen: bool,
    /// The newest nonces from before the recording, or from a gap, that the client has answered,
    /// with whether it refused the response.
    unseen: VecDeque<(Nonce, bool)>,
    /// The newest NACKs.
    pub(crate) nacks: VecDeque<NackFact>,
    pub(crate) nack_count: u64,
    /// The newest NACKs by version that the client has taken back: their responses have another
    /// verdict.
    taken_back: BTreeSet<Seq>,
    /// NACKs without an ACK of a later response, by time.
    open_nacks: Vec<OpenNack>,
    /// Such NACKs of earlier streams of the client.
    pub(in crate::session) earlier: Option<EarlierNacks>,
    pub(super) newest_ack: Option<Order>,
    /// The newest response that the client has accepted.
    pub(crate) newest_accepted: Option<Seq>,
    /// The response that the newest ACK may accept instead: the nonce fits both
    /// (docs/protocol.md#f-03).
    pub(crate) may_be_accepted: Option<Seq>,
    /// Microseconds from response to verdict, newest last.
    pub(super) latencies: VecDeque<u32>,
    /// When the last verdict came.
    pub(crate) last_at: Option<Time>,
}

/// The version that the client has accepted last.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) version: VersionInfo,
    /// The request that accepted it.
    pub(crate) n: Seq,
    pub(crate) at: Time,
}

/// NACKs since the last ACK of a later response (docs/protocol.md#e-26).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenNack {
    /// The newest refused response.
    order: Order,
    /// The newest NACK.
    pub(crate) n: Seq,
    pub(crate) at: Time,
    /// When the oldest NACK came.
    pub(crate) since: Time,
    pub(crate) times: u64,
    /// Whether names are out of use because of the refused response.
    has_names: bool,
    /// The client has given up these names: nothing is refused any more.
    is_given_up: bool,
}

impl OpenNack {
    /// Returns these NACKs and a later one as one.
    fn merged(self, later: OpenNack) -> OpenNack {
        OpenNack {
            order: self.order.max(later.order),
            since: self.since,
            times: self.times + later.times,
            ..later
        }
    }
}

/// NACKs of one content on streams of a client one after another, up to the end of the newest.
#[derive(Clone, Debug)]
pub(crate) struct EarlierNacks {
    version: Arc<str>,
    resources: Vec<RefusedVersion>,
    pub(super) since: Time,
    times: u64,
}

impl Verdicts {
    /// Whether a request was the newest ACK or NACK.
    pub(crate) fn is_verdict(&self, n: Seq) -> bool {
        let acked = self.in_force.as_ref().map(|known| known.n);
        acked == Some(n) || self.nacks.back().is_some_and(|nack| nack.n == n)
    }

    /// Returns the median and the 99th percentile of the time from response to verdict, in
    /// milliseconds.
    pub(crate) fn latencies(&self) -> Option<(f64, f64)> {
        percentiles(self.latencies.iter().copied().collect())
    }

    /// Adds a NACK, and forgets the oldest beyond the limit.
    fn note_nack(&mut self, nack: NackFact) {
        self.nack_count += 1;
        if self.nacks.len() == MAX_NACKS {
            self.nacks.pop_front();
        }
        self.nacks.push_back(nack);
    }

    /// The NACKs without an ACK of a later response, as one, unless the client has given up the
    /// refused resources.
    pub(crate) fn open_nack(&self) -> Option<OpenNack> {
        let open = self.open_nacks.iter().copied().filter(|open| !open.is_given_up);
        open.reduce(OpenNack::merged)
    }

    /// The NACKs without an ACK of a later response, and those of the content on earlier streams of
    /// the client.
    pub(crate) fn refusal(&self) -> Option<OpenNack> {
        let open = self.open_nack()?;
        let newest = self.nacks.back()?;
        let is_same = |earlier: &&EarlierNacks| {
            earlier.version == newest.version && earlier.resources == newest.resources
        };
        Some(match self.earlier.as_ref().filter(is_same) {
            Some(earlier) => OpenNack { since: earlier.since, times: open.times + earlier.times, ..open },
            None => open,
        })
    }

    /// Returns the NACKs that a later stream of the client continues with.
    pub(in crate::session) fn at_end(&self) -> Option<EarlierNacks> {
        let Some(refusal) = self.refusal() else {
            return if self.in_force.is_none() { self.earlier.clone() } else { None };
        };
        let newest = self.nacks.back()?;
        let (version, resources) = (newest.version.clone(), newest.resources.clone());
        Some(EarlierNacks { version, resources, since: refusal.since, times: refusal.times })
    }

    /// Whether the client has answered a response that was not recorded: a later request with its
    /// nonce gives no further verdict. An ACK may have been a change of names before a NACK.
    pub(super) fn has_answered_unseen(&self, nonce: &Nonce, has_error: bool) -> bool {
        self.unseen.iter().any(|(known, is_refused)| known == nonce && (*is_refused || !has_error))
    }

    /// Forgets the nonces of responses that were not recorded: a gap may have reused them.
    pub(super) fn forget_unseen(&mut self) {
        self.unseen.clear();
    }

    /// Returns a NACK by its number, if it is kept.
    pub(crate) fn nack(&self, n: Seq) -> Option<&NackFact> {
        let index = self.nacks.binary_search_by_key(&n, |nack| nack.n).ok()?;
        self.nacks.get(index)
    }

    /// Whether a request was a NACK by version, until the response had another verdict.
    pub(crate) fn is_taken_back(&self, n: Seq) -> bool {
        self.taken_back.contains(&n)
    }

    /// Ends the NACKs of responses whose names the client has given up. `newest` is the newest
    /// refused response with a name that the client still wants.
    fn give_up_names(&mut self, newest: Option<Order>) {
        for open in &mut self.open_nacks {
            open.is_given_up |= open.has_names && newest.is_none_or(|newest| newest < open.order);
        }
    }

    /// Adds a NACK of a response, unless the client has accepted a later one. Beyond the limit,
    /// merges the two oldest.
    fn add_open_nack(&mut self, order: Order, n: Seq, at: Time, has_names: bool) {
        if self.newest_ack.is_some_and(|ack| ack >= order) {
            return;
        }
        if self.open_nacks.len() == MAX_NACKS
            && let [first, second, ..] = self.open_nacks[..]
        {
            self.open_nacks.splice(..2, [first.merged(second)]);
        }
        let is_given_up = false;
        self.open_nacks.push(OpenNack { order, n, at, since: at, times: 1, has_names, is_given_up });
    }

    /// Takes back a NACK by version, whose response the client accepts or refuses explicitly.
    fn retract(&mut self, response: Seq) {
        let is_retracted = |nack: &NackFact| nack.implied && nack.refused == Some(response);
        if let Some(index) = self.nacks.iter().rposition(is_retracted)
            && let Some(nack) = self.nacks.remove(index)
        {
            self.taken_back.insert(nack.n);
        }
        if self.taken_back.len() > MAX_NACKS {
            self.taken_back.pop_first();
        }
        self.nack_count = self.nack_count.saturating_sub(1);
    }
}

/// Returns the first resources of a delta response with their versions.
fn versions(ctx: &Context<'_>, body: &Body) -> Vec<RefusedVersion> {
    let text = |name: Sym| Arc::from(ctx.catalog.text(name));
    let entries = body.list.blobs().iter().map(|id| ctx.catalog.entry(*id));
    let with_version = entries.filter(|entry| entry.version != Sym::EMPTY).take(MAX_REFUSED_VERSIONS);
    with_version
        .map(|entry| RefusedVersion { name: text(entry.name), version: text(entry.version) })
        .collect()
}

impl Track {
    /// Applies what a request says about a response.
    pub(crate) fn apply_answer(
        &mut self,
        ctx: &mut Context<'_>,
        answer: &Answer,
        nonce: &Nonce,
        nack: Option<&ErrorDetail>,
        outcome: &mut RequestOutcome,
    ) {
        match (answer.verdict, answer.order) {
            (Verdict::Unseen, _) => self.apply_unseen_verdict(ctx, nonce, nack),
            (Verdict::Ack | Verdict::Nack | Verdict::Implied, Some(order)) => {
                if let Some(response) = self.responses.get(order) {
                    (outcome.answers, outcome.answered_at) = (Some(response.seq), response.at);
                }
                self.apply_verdict(ctx, order, nack, answer.verdict == Verdict::Implied);
                let Some(Ambiguity::OtherResponse(other)) = answer.ambiguous else { return };
                if answer.verdict == Verdict::Ack {
                    self.verdicts.may_be_accepted = Some(other);
                } else if answer.verdict == Verdict::Nack
                    && let Some(nack) = self.verdicts.nacks.back_mut()
                {
                    nack.may_refuse = Some(other);
                }
            }
            _ => {}
        }
    }

    /// Handles a verdict on a pending response. `nack` has the error, `implied` marks a NACK by
    /// version.
    pub(crate) fn apply_verdict(
        &mut self,
        ctx: &mut Context<'_>,
        order: Order,
        nack: Option<&ErrorDetail>,
        implied: bool,
    ) {
        let Some(response) = self.responses.get(order) else { return };
        let (seq, latency) = (response.seq, ctx.at.since(response.at));
        if self.verdicts.latencies.len() == MAX_LATENCIES {
            self.verdicts.latencies.pop_front();
        }
        self.verdicts.latencies.push_back(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
        self.verdicts.last_at = Some(ctx.at);
        if nack.is_none() && !implied {
            // An Envoy withholds its verdict on updated clusters while they warm, at most until its
            // timeout (docs/protocol.md#h-05).
            if self.kind == Some(Kind::Cds) && !self.polled && latency >= WITHHELD {
                self.warming.give_up(seq);
            }
            self.apply_ack(ctx, order);
        } else {
            self.apply_nack(ctx, order, nack, implied);
        }
    }

    /// Handles the NACK of a response. `nack` has the error, `implied` marks a NACK by version.
    fn apply_nack(&mut self, ctx: &mut Context<'_>, order: Order, nack: Option<&ErrorDetail>, implied: bool) {
        let Some(response) = self.responses.get(order) else { return };
        let (seq, nonce, version) = (response.seq, response.nonce.clone(), response.version.clone());
        if response.status == Status::NackedByVersion {
            // The error makes the refusal by version explicit.
            self.verdicts.retract(seq);
            self.verdicts.open_nacks.retain(|open| open.order != order);
        }
        let is_sotw = response.body.as_ref().is_some_and(|body| body.version != Sym::EMPTY);
        // A SotW client restarts the timers before the verdict (docs/protocol.md#g-02).
        if is_sotw {
            self.ttl.confirm(order, &self.responses)
        } else {
            self.ttl.restore(order, &self.responses)
        }
        let (mut resources, mut has_names) = (Vec::new(), false);
        let status = if implied { Status::NackedByVersion } else { Status::Nacked };
        if let Some(body) = self.responses.settle(order, status, ctx.seq) {
            resources = versions(ctx, &body);
            let incoming = IncomingResponse { list: &body.list, version: body.version, order };
            let refused = self.accepted.refused(ctx.catalog, ctx.compare, incoming);
            let response = RefusedResponse {
                body: &body,
                order,
                response: seq,
                nack: ctx.seq,
                error: nack,
                agent: ctx.node.as_ref().and_then(|node| ClientKind::of_user_agent(&node.user_agent)),
                kind: self.kind,
            };
            has_names = self.refused.add(ctx.catalog, &self.accepted, &response, refused);
            self.carried.refusals.settle(ctx.catalog, &body, false);
            self.end_warming_in_force(ctx.catalog);
        }
        let (code, message) = nack.map_or((0, Arc::from("")), |nack| (nack.code, nack.message.clone()));
        self.verdicts.note_nack(NackFact {
            n: ctx.seq,
            at: ctx.at,
            refused: Some(seq),
            may_refuse: None,
            nonce: Arc::from(nonce.as_str()),
            version: Arc::from(version.as_str()),
            code: Code(code),
            message,
            implied,
            keeps: None,
            resources,
        });
        self.verdicts.add_open_nack(order, ctx.seq, ctx.at, has_names);
    }

    /// Ends refusals of names that the client has given up. `removed` are names that the request
    /// leaves out or unsubscribes; `is_wildcard_lost`: others may be given up too.
    pub(crate) fn give_up_refused(&mut self, catalog: &Catalog, removed: &[Sym], is_wildcard_lost: bool) {
        let is_any = !self.refused.is_empty() || !self.carried.refusals.is_empty();
        if !is_any || (removed.is_empty() && !is_wildcard_lost) {
            return;
        }
        let mut names: Vec<Sym> =
            removed.iter().flat_map(|name| [*name, self.canonical(catalog, *name)]).collect();
        if is_wildcard_lost {
            let earlier = self.carried.refusals.names();
            names.extend(self.refused.names().chain(self.refused.removed_names()).chain(earlier));
        }
        names.retain(|name| !self.covers(catalog, *name, self.sent.get(catalog, *name).as_ref()));
        let mut has_forgotten = false;
        for name in names {
            self.carried.refusals.forget(name);
            has_forgotten |= self.refused.forget(name);
        }
        if has_forgotten {
            self.verdicts.give_up_names(self.refused.newest_unused());
        }
    }

    /// Handles the ACK of a response.
    fn apply_ack(&mut self, ctx: &mut Context<'_>, order: Order) {
        let Some(response) = self.responses.get(order) else { return };
        let (seq, version) = (response.seq, response.version.clone());
        if response.status == Status::NackedByVersion {
            self.verdicts.retract(seq);
        }
        self.ttl.confirm(order, &self.responses);
        self.end_warming_of_skipped(ctx.catalog, self.verdicts.newest_ack, order);
        let is_newest = self.verdicts.newest_ack.is_none_or(|ack| ack <= order);
        if let Some(body) = self.responses.settle(order, Status::Acked, ctx.seq) {
            self.accept(ctx, &body, order, is_newest);
        }
        if is_newest {
            self.verdicts.in_force = Some(InForce { version, n: ctx.seq, at: ctx.at });
            self.verdicts.newest_ack = Some(order);
            self.verdicts.newest_accepted = Some(seq);
        }
        self.verdicts.open_nacks.retain(|open| open.order > order);
    }

    /// Handles a verdict on a response from before the recording.
    pub(crate) fn apply_unseen_verdict(
        &mut self,
        ctx: &Context<'_>,
        nonce: &Nonce,
        nack: Option<&ErrorDetail>,
    ) {
        self.verdicts.last_at = Some(ctx.at);
        if self.verdicts.unseen.len() == MAX_UNSEEN_NONCES {
            self.verdicts.unseen.pop_front();
        }
        self.verdicts.unseen.push_back((nonce.clone(), nack.is_some()));
        let Some(nack) = nack else {
            self.verdicts.has_unseen = true;
            return;
        };
        self.verdicts.note_nack(NackFact {
            n: ctx.seq,
            at: ctx.at,
            refused: None,
            may_refuse: None,
            nonce: Arc::from(nonce.as_str()),
            version: Arc::from(""),
            code: Code(nack.code),
            message: nack.message.clone(),
            implied: false,
            keeps: None,
            resources: Vec::new(),
        });
        // The refused response was sent before the first one that is recorded since the gap.
        let has_names = false;
        self.verdicts.add_open_nack(self.completeness.last_gap, ctx.seq, ctx.at, has_names);
    }

    /// Adds the resources of an accepted response. `is_newest`: no later response was accepted
    /// before, so that nothing in the response is outdated (docs/protocol.md#f-34).
    fn accept(&mut self, ctx: &mut Context<'_>, body: &Body, order: Order, is_newest: bool) {
        let incoming = IncomingResponse { list: &body.list, version: body.version, order };
        if !is_all_hollow(ctx.catalog, &body.list) {
            if is_newest {
                self.accepted.accept(ctx.catalog, &self.sent, incoming, body.full);
            } else {
                self.accepted.accept_late(ctx.catalog, incoming);
            }
        }
        let has_earlier = self.responses.has_pending_before(order);
        for name in &body.removed {
            let entry = self.accepted.get(ctx.catalog, *name);
            let bare = ResourceEntry { state: Presence::Removed, blob: None, version: Sym::EMPTY, order };
            let is_newer = entry.is_some_and(|entry| entry.order > order);
            // An earlier response may have the resource, and be accepted later.
            if !is_newer && (entry.is_some() || has_earlier) {
                let entry = ResourceEntry { state: Presence::Removed, order, ..entry.unwrap_or(bare) };
                self.accepted.put(ctx.catalog, *name, entry);
            }
        }
        self.carried.refusals.settle(ctx.catalog, body, true);
        if self.refused.is_empty() {
            return;
        }
        let sent = body.list.blobs().iter().filter(|id| !hollow(ctx.catalog, **id));
        let names = sent.map(|id| key(ctx.catalog, *id)).chain(body.removed.iter().copied());
        self.refused.accept(order, body.full, names);
    }
}

/// Returns the median and the 99th percentile of the times from response to verdict on several
/// tracks, in milliseconds.
pub(crate) fn latencies_of<'a>(tracks: impl IntoIterator<Item = &'a Track>) -> Option<(f64, f64)> {
    percentiles(tracks.into_iter().flat_map(|track| track.verdicts.latencies.iter().copied()).collect())
}

/// Returns the median and the 99th percentile of microseconds, in milliseconds.
fn percentiles(mut all: Vec<u32>) -> Option<(f64, f64)> {
    if all.is_empty() {
        return None;
    }
    // Selection is enough for two percentiles: no need to sort.
    let mut percentile = |percent: usize| {
        let rank = (all.len() * percent).div_ceil(100).max(1);
        let (_, micros, _) = all.select_nth_unstable(rank - 1);
        f64::from(*micros) / 1000.0
    };
    Some((percentile(50), percentile(99)))
}
