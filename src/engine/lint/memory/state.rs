//! Bounded memory of rules, beyond the state of the engine.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::entry_references::EntryReferences;
use super::references::ReferenceGraphs;
use super::structured_contents::StructuredContents;
use super::track::TrackState;
use crate::lint::alarm::Alarm;
use crate::lint::findings::failed_series::FailedSeriesByClient;
use crate::lint::findings::lasting::LastingFindings;
use crate::session::{Shared, StreamKey};
use xdscope_schema::Violation;
use xdscope_wire::content::{BlobId, List};
use xdscope_wire::event::{DenseHash, Dir, Kind, Seq, StreamId, Sym, Time, TypeUrl};
use xdscope_wire::xdstp::Name;

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
