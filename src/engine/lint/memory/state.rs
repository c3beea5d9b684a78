//! Bounded memory of rules, beyond the state of the engine.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::entry_references::EntryReferences;
use super::references::ReferenceGraphs;
use super::structured_contents::StructuredContents;
use crate::lint::alarm::Alarm;
use crate::lint::findings::failed_series::FailedSeriesByClient;
use crate::lint::findings::lasting::LastingFindings;
use crate::session::{Shared, StreamKey, SymMap, SymSet};
use xdscope_schema::Violation;
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::{DenseHash, Dir, Kind, Seq, StreamId, Sym, Time, TypeUrl, VersionInfo};
use xdscope_wire::xdstp::Name;

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

/// Memory about one type on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackState {
    /// Expiry of each timer.
    pub(crate) armed: [Option<Time>; Alarm::COUNT],
    /// Responses without a verdict, oldest first.
    pub(crate) pending: VecDeque<SentResponse>,
    /// Rejected responses, newest last.
    pub(crate) rejected: VecDeque<SentResponse>,
    /// The newest response.
    pub(crate) newest: Option<SentResponse>,
    /// Whether names were added since the newest response.
    pub(crate) has_new_names: bool,
    /// Whether the subscription changed since the newest response.
    pub(crate) has_changed_names: bool,
    pub(crate) requests_since_response: u32,
    pub(crate) stale_requests_since_response: u32,
    /// Time of the newest request that added names.
    pub(crate) names_added_at: Option<Time>,
    /// Number of resources that the server sent again at the version that the client states.
    pub(crate) claims_resent: usize,
    /// Acknowledged versions, newest last.
    pub(crate) acked_versions: VecDeque<VersionInfo>,
    /// The version in the first request.
    pub(crate) stated_version: Option<VersionInfo>,
    /// Unsubscribed names, with the time.
    pub(crate) unsubscribed: SymMap<Time>,
    /// When the client unsubscribed from the wildcard.
    pub(crate) wildcard_ended_at: Option<Time>,
    /// The finding about a wildcard that names replaced, until a response shows how the server read
    /// the list: `docs/protocol.md#l-06`.
    pub(crate) wildcard_finding: Option<usize>,
    /// The finding about a refusal by version, until the response has a verdict:
    /// `docs/protocol.md#e-22`.
    pub(crate) implicit_nack: Option<usize>,
    /// Routes to unknown clusters, by the response without a verdict that has them:
    /// `docs/protocol.md#h-11`.
    pub(crate) unaccepted_routes: VecDeque<(Seq, Vec<Sym>)>,
    /// When the list of names became empty.
    pub(crate) emptied_at: Option<Time>,
    /// Resources that the newest full-state response left out, with their last content.
    pub(crate) left_out: SymMap<BlobId>,
    /// Names added by requests without the newest nonce: `docs/protocol.md#f-07`.
    pub(crate) added_by_stale_requests: SymSet,
    /// Names unsubscribed under a wildcard until this time were checked for an answer:
    /// `docs/protocol.md#f-26`.
    pub(crate) classified_until: Option<Time>,
    /// Names requested until this time were checked for an answer.
    pub(crate) answers_checked_until: Option<Time>,
    /// Names requested until this time were checked for existence.
    pub(crate) existence_checked_until: Option<Time>,
    /// Names with a TTL, and their version.
    pub(crate) ttl_versions: SymMap<Sym>,
    /// Deadlines that were reported.
    pub(crate) reported_deadlines: SymMap<Time>,
    /// Times of recent repeated requests.
    pub(crate) recent_repeats: VecDeque<Time>,
    /// Repeated requests in a row, without a response in between.
    pub(crate) repeats: EchoRun,
    /// Responses in a row that change nothing.
    pub(crate) echoes: EchoRun,
    /// Responses in a row, among these, for which the client has subscribed again.
    pub(crate) resent: EchoRun,
    /// Whether the client has subscribed again to subscribed names since the newest response.
    pub(crate) has_resubscribed: bool,
    /// ACKs in a row that restore names which the ACK before has left out.
    pub(crate) restorations: EchoRun,
    /// Responses in a row that restore resources which the response before has left out.
    pub(crate) flaps: EchoRun,
    /// Names that the previous request, an ACK, left out.
    pub(crate) missing_from_ack: Option<(Seq, Time, SymSet)>,
    /// Resources by alias.
    pub(crate) aliases: SymMap<Sym>,
    /// The newest list without conspicuous entries.
    pub(crate) clean_list: Option<Arc<List>>,
    /// The newest SotW pushes: bytes, and bytes that were unchanged.
    pub(crate) pushes: VecDeque<(u64, u64)>,
    /// Warming resources that were reported, with the response that started to warm them:
    /// `docs/protocol.md#h-04`.
    pub(crate) reported_warming: SymMap<Seq>,
    /// Resources that were reported because the client had not requested what they need.
    pub(crate) reported_unrequested: SymMap<Seq>,
    /// When the first clusters came.
    pub(crate) clusters_since: Option<Time>,
    /// The newest push above the default receive limit, and the finding about it.
    pub(crate) large_push: Option<(Seq, usize)>,
    /// Names that the client should request next.
    pub(crate) targets: Vec<PendingTarget>,
    /// Delivered names without a known reference, with the time.
    pub(crate) unreferenced: SymMap<Time>,
    /// Findings about constraints that wait for a verdict: `docs/protocol.md#j-02`.
    pub(crate) constraint_findings: VecDeque<ConstraintFinding>,
    /// Times of the newest large lists.
    pub(crate) recent_large_lists: VecDeque<Time>,
    /// Structured names that are not in their first spelling: `docs/protocol.md#k-08`.
    pub(crate) spellings: SymSet,
}

impl TrackState {
    /// Remembers the names that are not in their first spelling.
    pub(crate) fn note_spellings(&mut self, catalog: &Catalog, names: impl Iterator<Item = Sym>) {
        if catalog.has_spellings() {
            let other = names.filter(|name| catalog.first_spelling(*name) != *name);
            let room = MAX_NAMES.saturating_sub(self.spellings.len());
            self.spellings.extend(other.take(room));
        }
    }

    /// Returns the pending response with that number.
    pub(crate) fn pending(&self, seq: Seq) -> Option<&SentResponse> {
        self.pending.iter().find(|sent| sent.seq == seq)
    }

    pub(crate) fn note_unsubscribed(&mut self, name: Sym, at: Time) {
        if self.unsubscribed.len() < MAX_NAMES {
            self.unsubscribed.insert(name, at);
        }
    }
}

/// A poll without a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenPoll {
    /// Index of the track.
    pub(crate) track: Option<usize>,
    pub(crate) seq: Seq,
    pub(crate) at: Time,
}

/// Memory about one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamState {
    /// Empty for tracks that were never checked, and for one that is lent.
    tracks: Vec<Option<Shared<TrackState>>>,
    /// Timers of the stream as a whole.
    armed: [Option<Time>; Alarm::COUNT],
    /// REST: pending polls, oldest first: `docs/protocol.md#d-03`.
    pub(crate) open_polls: VecDeque<OpenPoll>,
    /// REST: polls without a version. Each may be the first one of a process.
    pub(crate) first_polls: u32,
    /// A file: the newest content, if that was unreadable.
    pub(crate) unreadable_at: Option<(Time, Seq)>,
    /// A file: whether any content was valid.
    pub(crate) has_valid_content: bool,
    /// Names that resources in force need and that were reported, with the time from which on the
    /// client owed the request: `docs/protocol.md#f-18`.
    pub(crate) reported_unsubscribed: BTreeSet<(Kind, Sym, Time)>,
}

impl StreamState {
    /// The states of all tracks.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = &TrackState> {
        self.tracks.iter().flatten().map(|track| &**track)
    }

    /// The states of all tracks as checkpoints share them.
    pub(crate) fn shared_tracks(&self) -> &[Option<Shared<TrackState>>] {
        &self.tracks
    }

    /// Takes out the state of a track, until [`StreamState::give_back`].
    pub(crate) fn lend(&mut self, track: usize) -> Shared<TrackState> {
        if self.tracks.len() <= track {
            self.tracks.resize_with(track + 1, || None);
        }
        self.tracks.get_mut(track).and_then(Option::take).unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, track: usize, state: Shared<TrackState>) {
        if let Some(place) = self.tracks.get_mut(track) {
            *place = Some(state);
        }
    }

    /// Sets a timer of a track that is not lent, unless one expires earlier. Returns whether it was
    /// set.
    pub(crate) fn arm_track(&mut self, track: usize, alarm: Alarm, at: Time) -> bool {
        let mut state = self.lend(track);
        let is_set = set_earlier(&mut state.armed, alarm, at);
        self.give_back(track, state);
        is_set
    }

    /// Stops a timer that has expired. Returns whether the timer was the current one.
    pub(crate) fn disarm(&mut self, track: Option<usize>, alarm: Alarm, at: Time) -> bool {
        let armed = match track {
            Some(track) => self.tracks.get_mut(track).and_then(Option::as_mut).map(|state| &mut state.armed),
            None => Some(&mut self.armed),
        };
        let Some(expiry) = armed.and_then(|armed| armed.get_mut(alarm as usize)) else { return false };
        let is_current = *expiry == Some(at);
        if is_current {
            *expiry = None;
        }
        is_current
    }

    /// Sets a timer of the stream as a whole, unless one expires earlier.
    ///
    /// Returns whether the timer was set.
    pub(crate) fn arm(&mut self, alarm: Alarm, at: Time) -> bool {
        set_earlier(&mut self.armed, alarm, at)
    }
}

/// Sets the expiry of a timer, unless one expires earlier. Returns whether the timer was set.
pub(crate) fn set_earlier(armed: &mut [Option<Time>; Alarm::COUNT], alarm: Alarm, at: Time) -> bool {
    let Some(expiry) = armed.get_mut(alarm as usize) else { return false };
    let is_earlier = expiry.is_none_or(|known| at < known);
    if is_earlier {
        *expiry = Some(at);
    }
    is_earlier
}

/// A delivery of a structured name with one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) version: Sym,
    /// Index of the stream.
    pub(crate) stream: usize,
}

/// Entries in each map of [`SourceState`].
pub(crate) const MAX_SOURCE_ENTRIES: usize = 1 << 16;

/// A resource in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionResource {
    /// Index of the session.
    pub(crate) session: usize,
    pub(crate) type_url: Sym,
    pub(crate) name: Sym,
}

/// Contents of one resource, with the control planes that sent them.
type PlaneContents = Vec<(Arc<str>, BlobId)>;

/// The first streams and tracks on which clients reconnected without a version.
type ReconnectsWithoutVersion = HashMap<(StreamKey, TypeUrl), (StreamId, Option<usize>)>;

/// Broken constraints by payload; `None` where they are unknown.
type ViolationsByPayload = HashMap<BlobId, Option<Arc<[Violation]>>, DenseHash>;

/// Occurrences in a row, such as responses that change nothing, each just after a verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EchoRun {
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) count: u64,
}

/// Ages at which the newest streams of a client to one server ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamAges {
    pub(crate) ages: VecDeque<Duration>,
    /// The first stream of those that ended at one age, with the time of its end.
    pub(crate) first: Option<(StreamId, Time)>,
    /// Streams that ended at one age, one after another.
    pub(crate) regular: u64,
}

/// Memory about a whole source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceState {
    /// Findings about streams that failed in a row.
    pub(crate) failures: Shared<FailedSeriesByClient>,
    pub(crate) graphs: Shared<ReferenceGraphs>,
    /// References to entries in lists: `docs/protocol.md#k-15`.
    pub(crate) entry_references: Shared<EntryReferences>,
    /// Contents and redirects of structured names.
    pub(crate) structured_contents: Shared<StructuredContents>,
    /// Contents of resources, with their control planes.
    pub(crate) plane_contents: Shared<HashMap<SessionResource, PlaneContents>>,
    /// Ages at which the streams of a client to a server ended.
    pub(crate) stream_ages: Shared<HashMap<StreamKey, StreamAges>>,
    /// The first streams and tracks on which clients reconnected without a version, by client, type
    /// URL and server.
    pub(crate) without_version: Shared<ReconnectsWithoutVersion>,
    /// Addresses of servers that sent delta resources without a version.
    pub(crate) servers_without_versions: HashSet<String>,
    /// Broken constraints by payload; `None` where they are unknown: `docs/protocol.md#j-01`.
    pub(crate) constraint_violations: Shared<ViolationsByPayload>,
    /// The last list of each type whose references and constraints were read.
    pub(crate) inspected: HashMap<Option<Kind>, Arc<List>>,
    /// First names by their alternative, in canonical form: `docs/protocol.md#k-29`.
    pub(crate) alternatives: Shared<HashMap<String, String>>,
    /// Deliveries of structured names, by name and payload: `docs/protocol.md#k-30`.
    pub(crate) deliveries: Shared<HashMap<(Sym, BlobId), Vec<Delivery>>>,
    /// Receivers, by session and direction, that accepted a message above the limit.
    pub(crate) large_receivers: Vec<(usize, Dir)>,
    /// Findings about states that may end.
    pub(crate) lasting: Shared<LastingFindings>,
}

impl SourceState {
    /// Remembers the alternative that a locator states.
    pub(crate) fn note_alternative(&mut self, primary: &str, alternative: &str) {
        if let (Some(primary), Some(alternative)) = (Name::parse(primary), Name::parse(alternative))
            && self.alternatives.len() < MAX_SOURCE_ENTRIES
        {
            self.alternatives.insert(alternative.canonical(), primary.canonical());
        }
    }
}
