//! Facts of streams and states.

use std::collections::HashSet;
use std::sync::Arc;

use crate::session::{
    Claim, CurrentState, Divergence, Presence, ReportedError, Stream, SubscribedNames, Track,
};
use xdscope_wire::event::{Seq, StreamId, Sym, Time, TypeUrl, Variant};
use xdscope_wire::xdstp::named;
use xdscope_wire::{Interference, Open};

use super::nonexistent::AbsentResources;
use super::{
    ClaimFact, ClaimOutcome, EndFact, LeftResource, NackFact, ReconnectCounts, ReconnectFact, RefusedVersion,
    StateFact, StateTraffic, StateVerdicts, StateVersions, Store, StreamFact, SubscriptionFact, SummaryFact,
    TypeState,
};

/// Names in the list of resources that a client left behind.
const MAX_LEFT_SHOWN: usize = 100;

/// The state of a track, which may have ended.
struct ShownState {
    state: TypeState,
    /// The state before the stream closed.
    last_state: Option<TypeState>,
    /// When the state began.
    since: Time,
}

impl Store {
    /// Whether the times to live of all resources of a type that the client has accepted are over.
    pub fn is_expired(&self, stream: StreamId, type_url: &TypeUrl) -> bool {
        let track = self.engine.stream(stream).and_then(|stream| stream.find(type_url));
        track.is_some_and(|track| self.has_all_expired(track))
    }

    /// Returns each stream and type that has a state.
    pub(super) fn tracks(&self) -> impl Iterator<Item = (&Stream, &Track)> {
        let streams = self.engine.streams().iter();
        streams.flat_map(|stream| stream.tracks_in_order().into_iter().map(move |track| (stream, track)))
    }

    /// Returns what is known of a stream and its client.
    pub(super) fn stream_fact(&self, stream: &Stream) -> StreamFact {
        StreamFact {
            stream: stream.id,
            node: stream.peers.node.clone(),
            method: stream.open.method.clone(),
            variant: stream.variant(),
            transport: stream.method.as_ref().map(|method| method.transport),
            peer: stream.open.peer.clone(),
            server: stream.open.server.clone(),
            tls: stream.open.tls.clone(),
            control_plane: stream.peers.control_plane.clone(),
            planes: stream.peers.planes.clone(),
            plane_changes: stream.peers.plane_changes,
            node_from: stream.peers.node_from,
            file_format: stream.open.fact(Open::FORMAT).map(str::to_owned),
            opened: stream.opened,
            closed: stream.closed.as_ref().map(|(at, _)| *at),
            end: stream.closed.as_ref().map(|(_, end)| EndFact::from(end)),
            ended_by: stream.ended_by_xdscope().cloned(),
            reconnect_of: stream.chain.reconnect_of,
            first: stream.chain.first,
            reconnects: stream.chain.reconnects,
            account: self.account(stream),
            messages: stream.traffic.messages,
            bytes_in: stream.traffic.bytes[0],
            bytes_out: stream.traffic.bytes[1],
            gaps: stream.lost_messages(),
            not_kept: stream.losses.not_kept.clone(),
            partial: stream.open.partial,
            last_message: stream.traffic.last_message,
            keepalive: stream.keepalive(),
        }
    }

    /// Sums up what happened to the resources of a client after a reconnect.
    fn account(&self, stream: &Stream) -> Option<ReconnectFact> {
        let mut counts = ReconnectCounts::default();
        let mut left = Vec::new();
        for track in &stream.tracks {
            counts.add(counts_of_reconnect(track));
            self.add_left(&mut left, track, track.carried.left_names());
        }
        if stream.chain.reconnect_of.is_none() && counts.claimed == 0 {
            return None;
        }
        // Types that the client did not request again.
        let mut earlier = self.engine.before(stream).filter(|before| !before.tracks.is_empty());
        let before = earlier.next().filter(|before| before.closed.is_some());
        for track in before.into_iter().flat_map(|before| &before.tracks) {
            if stream.find(&track.type_url).is_none_or(|now| now.traffic.requests == 0) {
                counts.unclaimed += track.accepted.count() as u64;
                if left.len() < MAX_LEFT_SHOWN {
                    let entries = track.accepted.entries(&self.catalog).into_iter();
                    let present = entries.filter(|(_, entry)| entry.is_present());
                    self.add_left(&mut left, track, present.map(|(name, _)| name));
                }
            }
        }
        Some(ReconnectFact { counts, left })
    }

    /// Adds resources that the client did not request again, up to the limit.
    fn add_left(&self, left: &mut Vec<LeftResource>, track: &Track, names: impl Iterator<Item = Sym>) {
        let room = MAX_LEFT_SHOWN.saturating_sub(left.len());
        left.extend(
            names
                .take(room)
                .map(|name| LeftResource { type_url: track.type_url.clone(), name: self.text(name) }),
        );
    }

    /// Returns the entries of `initial_resource_versions` of a type, in order of their names.
    pub fn claims(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<ClaimFact> {
        let track = self.engine.stream(stream).and_then(|stream| stream.find(type_url));
        let claims = track.into_iter().flat_map(|track| track.carried.claims.iter());
        let mut facts: Vec<_> = claims.map(|(claim, outcome)| self.claim_fact(claim, outcome)).collect();
        facts.sort_by(|a, b| a.name.cmp(&b.name));
        facts
    }

    /// Returns the entry of a name in `initial_resource_versions`.
    pub fn claim(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<ClaimFact> {
        let track = self.engine.stream(stream)?.find(type_url)?;
        let name = named(&self.catalog, name)?;
        let (claim, outcome) = track.carried.claims.get(self.catalog.first_spelling(name))?;
        Some(self.claim_fact(claim, outcome))
    }

    /// Returns what became of the resources that a client brought along to a stream, of one type.
    pub fn reconnect(&self, stream: StreamId, type_url: &TypeUrl) -> Option<ReconnectFact> {
        let track = self.engine.stream(stream)?.find(type_url)?;
        let counts = counts_of_reconnect(track);
        let mut left = Vec::new();
        self.add_left(&mut left, track, track.carried.left_names());
        (counts != ReconnectCounts::default()).then_some(ReconnectFact { counts, left })
    }

    /// Returns an entry of `initial_resource_versions` with its fate.
    fn claim_fact(&self, claim: &Claim, outcome: ClaimOutcome) -> ClaimFact {
        ClaimFact {
            name: self.text(claim.name),
            version: self.text(claim.version),
            known: claim.known.map(|version| self.text(version)),
            outcome,
        }
    }

    /// Returns the state of a track at a time: the worst of those that apply.
    pub(crate) fn state_at(&self, stream: &Stream, track: &Track, at: Time) -> CurrentState {
        let current = self.with_expired(track, track.state(&self.catalog, at, self.limits), at);
        let current = AbsentResources::new(self, stream, track).state(current);
        let current = self.with_warming(stream, track, current);
        // Nobody sends a NACK of a file (docs/protocol.md#c-04).
        match current.state {
            TypeState::Nack if stream.variant() == Some(Variant::File) => {
                CurrentState { state: TypeState::Rejected, ..current }
            }
            _ => match self.unreadable_since(stream, track) {
                Some(since) => CurrentState { state: TypeState::Rejected, since },
                None => current,
            },
        }
    }

    /// Returns since when the content of a file cannot be read as a response.
    fn unreadable_since(&self, stream: &Stream, track: &Track) -> Option<Time> {
        let unreadable = stream.losses.unreadable?;
        let has_later = track.responses.last().is_some_and(|last| last.seq >= unreadable);
        if has_later || stream.variant() != Some(Variant::File) {
            return None;
        }
        self.history.get(self.history.row_of(unreadable)?).map(|row| row.at)
    }

    /// Replaces the state of a type by `EXPIRED` once the times to live of all its resources
    /// are over (docs/protocol.md#g-02).
    fn with_expired(&self, track: &Track, current: CurrentState, at: Time) -> CurrentState {
        // Visits all names: only for a state that it replaces.
        if current.state != TypeState::Synced {
            return current;
        }
        let entry = |name: Sym| track.sent.get(&self.catalog, name);
        let is_wanted = |name: Sym| track.covers(&self.catalog, name, entry(name).as_ref());
        let wanted = track.ttl.deadlines.iter().filter(|(name, _)| is_wanted(*name));
        let newest = wanted.map(|(_, deadline)| *deadline).max();
        match newest.filter(|deadline| *deadline <= at) {
            Some(since) if self.has_all_expired(track) => CurrentState { state: TypeState::Expired, since },
            _ => current,
        }
    }

    /// Returns the errors of resources that the client wants, oldest first. Those of resources that
    /// do not exist count only if the client itself lists them, in a dump.
    pub(crate) fn reported_errors<'t>(
        &self,
        stream: &Stream,
        track: &'t Track,
    ) -> Vec<(Sym, &'t ReportedError)> {
        let mut errors = track.reported_errors(&self.catalog);
        if stream.is_dump() {
            let nonexistent = track.errors.iter().filter(|(_, error)| error.is_not_found());
            errors.extend(nonexistent.map(|(name, error)| (*name, error)));
            errors.sort_unstable_by_key(|(name, error)| (error.n, *name));
        }
        errors
    }

    /// Returns the number of [`Store::reported_errors`] and of [`AbsentResources::targets`].
    fn error_count(&self, stream: &Stream, track: &Track) -> u64 {
        let reported = match stream.is_dump() {
            true => self.reported_errors(stream, track).len() as u64,
            false => track.reported_names(&self.catalog).count,
        };
        reported + AbsentResources::new(self, stream, track).targets().len() as u64
    }

    fn state_of(&self, stream: &Stream, track: &Track) -> ShownState {
        let CurrentState { state, since } = self.state_at(stream, track, stream.clock(self.now));
        match &stream.closed {
            Some((at, _)) => ShownState { state: TypeState::Closed, last_state: Some(state), since: *at },
            None => ShownState { state, last_state: None, since },
        }
    }

    /// Returns the state of a type with the figures of the matrix.
    pub(super) fn summary_fact(&self, stream: &Stream, track: &Track) -> SummaryFact {
        let ShownState { state, last_state, since } = self.state_of(stream, track);
        let now = stream.clock(self.now);
        let owed = track.owed(&self.catalog, now, self.limits);
        SummaryFact {
            stream: stream.id,
            node: stream.peers.node_id.clone(),
            variant: stream.variant().unwrap_or(Variant::Ads),
            type_url: track.type_url.clone(),
            state,
            last_state,
            since,
            open_nacks: track.verdicts.refusal().map_or(0, |open| open.times),
            open_nack: track.verdicts.open_nack().map(|open| (open.n, open.at)),
            missing: owed.names,
            overdue: owed.overdue,
            owed_again: owed.again,
            errors: self.error_count(stream, track),
            malformed: owed.malformed,
            names: track.subscribed.names.len() as u64,
            resources: track.in_use(&self.catalog, self.now, self.limits),
            refused: track.refused_newest(&self.catalog) as u64,
            refused_unnamed: track.refused.unnamed() as u64,
            is_diverged: Store::divergence(track)
                .is_some_and(|diverged| diverged.facts.interference != Interference::Held),
        }
    }

    /// Returns what client and server believe about a type since an intervention, unless a later
    /// stream of the client continues with the type.
    fn divergence(track: &Track) -> Option<&Divergence> {
        if track.lifetime.replaced.is_some() { None } else { track.interventions.diverged.as_ref() }
    }

    /// Returns all facts of a type on a stream.
    pub(super) fn state_fact(&self, stream: &Stream, track: &Track) -> StateFact {
        let last = track.responses.last();
        let nonces = track.responses.pending().map(|response| &response.nonce);
        let text = |text: &str| Arc::<str>::from(text);
        StateFact {
            summary: self.summary_fact(stream, track),
            versions: StateVersions {
                in_force: self.version_in_use(track).map(|version| text(version.as_str())),
                in_force_since: track.verdicts.in_force.as_ref().map(|known| (known.n, known.at)),
                offered: last.map(|response| text(response.version.as_str())),
                reported: track.traffic.reported_version.as_ref().map(|version| text(version.as_str())),
            },
            nonce: last.map(|response| text(response.nonce.as_str())),
            pending: nonces.filter(|nonce| !nonce.is_empty()).map(|nonce| text(nonce.as_str())).collect(),
            subscription: self.subscription_fact(track),
            verdicts: StateVerdicts {
                newest_accepted: track.verdicts.newest_accepted,
                nacks: track.verdicts.nacks.iter().cloned().collect(),
                standing_nacks: self.standing_nacks(track),
                nack_count: track.verdicts.nack_count,
                is_settled_later: stream.closed.is_some()
                    && self.ended().is_settled_later(stream, track)
                    && !self.ended().is_refused_later(stream, track),
                ack_ms: if self.clock.untimed || stream.is_dump() {
                    None
                } else {
                    track.verdicts.latencies()
                },
            },
            traffic: StateTraffic {
                pushes: track.traffic.pushes,
                bytes: track.traffic.bytes,
                bytes_same: track.traffic.bytes_resent,
                last_push: track.traffic.last_push.clone(),
            },
            diverged: Store::divergence(track).cloned(),
        }
    }

    fn subscription_fact(&self, track: &Track) -> SubscriptionFact {
        let owed_again = track.names_owed_again(&self.catalog).into_iter();
        let owed_again: Vec<_> = owed_again.map(|name| self.text(name)).collect();
        let (missing, absent) = self.missing_and_absent(track, &owed_again);
        let effective = track.subscription.effective.as_ref().map(|subscribed| {
            let mut names = self.names(subscribed);
            if subscribed.is_wildcard() {
                names.push(Arc::from("*"));
            }
            names
        });
        SubscriptionFact {
            wildcard: track.subscribed.wildcard,
            names: self.names(&track.subscribed),
            named_resources: track.named_resources(&self.catalog),
            effective,
            missing,
            owed_again,
            absent,
        }
    }

    /// Returns the NACKs whose resources the client still refuses, without those of responses that
    /// no accepted one has followed.
    fn standing_nacks(&self, track: &Track) -> Vec<Seq> {
        let refusals = track.standing_refusals(&self.catalog);
        let mut nacks: Vec<Seq> = refusals.into_iter().map(|(refusal, _)| refusal.nack).collect();
        nacks.dedup();
        nacks
    }

    /// Returns the versions that the client keeps instead of the first resources that a delta NACK
    /// refuses.
    pub fn kept_versions(
        &self,
        stream: StreamId,
        type_url: &TypeUrl,
        nack: &NackFact,
    ) -> Vec<RefusedVersion> {
        let resource = |refused: &RefusedVersion| {
            let fact = self.resource(stream, type_url, &refused.name)?;
            let version = fact.in_force?.version;
            Some(RefusedVersion { name: refused.name.clone(), version })
        };
        nack.resources.iter().filter_map(resource).collect()
    }

    fn names(&self, subscribed: &SubscribedNames) -> Vec<Arc<str>> {
        subscribed.names.iter().map(|name| self.text(name)).collect()
    }

    /// Returns the requested names that were never sent, and those that do not exist or were
    /// removed. `again` are names of resources that the client has, and the server owes again.
    fn missing_and_absent(&self, track: &Track, again: &[Arc<str>]) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let again: HashSet<&Arc<str>> = again.iter().collect();
        let waited = track.waiting.owed();
        let waited = waited.map(|(name, _)| self.text(name));
        let mut missing: Vec<_> = waited.filter(|name| !again.contains(name)).collect();
        let mut absent = Vec::new();
        for (name, entry) in track.sent.exceptions() {
            let ended = matches!(entry.state, Presence::Removed | Presence::Absent(_));
            // A glob without members is empty, and neither missing nor absent
            // (docs/protocol.md#k-20).
            let is_glob = || track.subscription.globs.contains(&self.catalog, name);
            let is_absent = ended && !track.is_withheld(name) && !is_glob();
            if is_absent && track.names(&self.catalog, name, Some(entry)) {
                absent.push(self.text(name));
                if entry.blob.is_none() && entry.state != Presence::Removed {
                    missing.push(self.text(name));
                }
            }
        }
        (missing, absent)
    }
}

/// Returns what became of the resources of a type that a client brought along. Nothing if the
/// client may have had them before the recording.
fn counts_of_reconnect(track: &Track) -> ReconnectCounts {
    match track.carried.may_follow_others {
        true => ReconnectCounts::default(),
        false => track.carried.counts(),
    }
}
