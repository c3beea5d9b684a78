//! What rules remember beyond the state of the engine. All of it is bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::clock::Alarm;
use super::graph::Graphs;
use super::node::Digests;
use super::relay::Carried;
use super::warming::Waiting;
use crate::engine::session::{Name, SymMap, SymSet};
use crate::wire::NodeInfo;
use crate::wire::content::{BlobId, List};
use crate::wire::event::{DenseHash, Kind, Seq, Sym, Time, VersionInfo};

/// Entries of one memo about names; beyond it the oldest knowledge goes, and the rule falls silent.
pub(super) const NAMES: usize = 1 << 14;
/// Unanswered responses, and versions, that are remembered per type.
pub(super) const RESPONSES: usize = 64;
/// Refused ones.
pub(super) const REFUSED: usize = 8;

/// A response as rules remember it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) seq: Seq,
    pub(super) list: Arc<List>,
    pub(super) version: VersionInfo,
    /// Names that stood in it twice.
    pub(super) twice: Vec<Sym>,
    pub(super) size: u64,
}

/// A name that a redirect or a list leads to (rows K-13, K-27).
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// In canonical form.
    pub(super) name: String,
    /// The resource that leads there.
    pub(super) of: Sym,
    /// The response that said it.
    pub(super) seq: Seq,
    /// By a list, not by a redirect.
    pub(super) listed: bool,
    /// When the client accepted that response.
    pub(super) accepted: Option<Time>,
}

/// One type on one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct TrackMemo {
    /// When each timer is due.
    pub(super) armed: [Option<Time>; Alarm::COUNT],
    /// Responses without a verdict, oldest first.
    pub(super) pending: VecDeque<Sent>,
    /// Responses that were refused, newest last.
    pub(super) refused: VecDeque<Sent>,
    /// The newest response.
    pub(super) previous: Option<Sent>,
    /// Since then: names were added, the subscription changed at all, requests came, stale ones among them.
    pub(super) added_since: bool,
    pub(super) changed_since: bool,
    pub(super) requests_since: u32,
    pub(super) stale_since: u32,
    /// The newest request that asked for more names.
    pub(super) added_at: Option<Time>,
    /// Versions that were acknowledged, newest last.
    pub(super) acked: VecDeque<VersionInfo>,
    /// The version that the first request claimed.
    pub(super) claimed: Option<VersionInfo>,
    /// Names that the client let go of, and when.
    pub(super) let_go: SymMap<Time>,
    /// When it let go of the wildcard.
    pub(super) wildcard_let_go: Option<Time>,
    /// The finding that names took its place, while the server's reading is not known (row L-06).
    pub(super) dropped: Option<usize>,
    /// When its list became empty after it had named something.
    pub(super) emptied: Option<Time>,
    /// What the newest full-state response left out, with the content it had.
    pub(super) gone: SymMap<BlobId>,
    /// Names that came in with a request whose nonce was not the newest (row F-07).
    pub(super) stale_added: SymSet,
    /// Names given up under a wildcard (row F-26), and when.
    pub(super) reclassify: SymMap<(Time, Seq)>,
    /// Names asked for up to this time have been looked at by the timers of names.
    pub(super) answer_until: Option<Time>,
    pub(super) exist_until: Option<Time>,
    /// Names with a time to live: their version then.
    pub(super) ttl: SymMap<Sym>,
    /// Deadlines that have been reported.
    pub(super) expired: SymMap<Time>,
    /// Requests that repeated themselves lately.
    pub(super) repeats: VecDeque<Time>,
    /// Names that the request before left out while it acknowledged.
    pub(super) shrunk: Option<(Seq, SymSet)>,
    /// Alias to the resource that claimed it.
    pub(super) aliases: SymMap<Sym>,
    /// The newest list in which no entry was odd.
    pub(super) clean: Option<Arc<List>>,
    /// Of the newest full-state pushes: bytes, and bytes sent again unchanged.
    pub(super) pushes: VecDeque<(u64, u64)>,
    /// Resources that wait for others, oldest first (row H-04).
    pub(super) warming: Waiting,
    /// Redirects by canonical name: what they lead to (row K-27).
    pub(super) redirects: HashMap<String, String>,
    /// Names that the client should ask for next.
    pub(super) targets: Vec<Target>,
    /// Names that came though nothing refers to them, as far as is known, and since when (section P).
    pub(super) unreferenced: SymMap<Time>,
    /// Findings about constraints by the response that broke them (row J-02).
    pub(super) broken: VecDeque<(Seq, usize)>,
    /// When the newest large lists came.
    pub(super) lists: VecDeque<Time>,
    /// Structured names by their canonical form (row K-08).
    pub(super) canonical: HashMap<String, Sym>,
}

impl TrackMemo {
    /// The response without a verdict so far.
    pub(super) fn pending(&self, seq: Seq) -> Option<&Sent> {
        self.pending.iter().find(|sent| sent.seq == seq)
    }

    pub(super) fn let_go(&mut self, name: Sym, at: Time) {
        if self.let_go.len() < NAMES {
            self.let_go.insert(name, at);
        }
    }
}

/// One stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamMemo {
    /// In boxes, for they are large and are lent; none of a track that was never looked at.
    tracks: Vec<Option<Box<TrackMemo>>>,
    /// Timers of the stream as a whole.
    armed: [Option<Time>; Alarm::COUNT],
    /// The newest node that was sent on it.
    pub(super) node: Option<Arc<NodeInfo>>,
    /// REST: polls without an answer, oldest first, with their track (row D-03).
    pub(super) open_polls: VecDeque<(Option<usize>, Seq)>,
    /// A file: its newest reading that failed, and whether one was good (group C).
    pub(super) unreadable: Option<(Time, Seq)>,
    pub(super) good: bool,
    /// The newest message that changed a cluster.
    pub(super) clusters_changed: Option<Seq>,
}

impl StreamMemo {
    pub(super) fn lend(&mut self, track: usize) -> Box<TrackMemo> {
        if self.tracks.len() <= track {
            self.tracks.resize_with(track + 1, || None);
        }
        self.tracks.get_mut(track).and_then(Option::take).unwrap_or_default()
    }

    pub(super) fn give_back(&mut self, track: usize, memo: Box<TrackMemo>) {
        if let Some(slot) = self.tracks.get_mut(track) {
            *slot = Some(memo);
        }
    }

    /// Whether that timer is the one that runs.
    pub(super) fn disarm(&mut self, track: Option<usize>, alarm: Alarm, at: Time) -> bool {
        let armed = match track {
            Some(track) => self.tracks.get_mut(track).and_then(Option::as_mut).map(|memo| &mut memo.armed),
            None => Some(&mut self.armed),
        };
        let Some(slot) = armed.and_then(|armed| armed.get_mut(alarm as usize)) else { return false };
        let runs = *slot == Some(at);
        if runs {
            *slot = None;
        }
        runs
    }

    /// Sets a timer of the stream as a whole; whether none runs that is due before.
    pub(super) fn arm(&mut self, alarm: Alarm, at: Time) -> bool {
        earlier(&mut self.armed, alarm, at)
    }
}

/// Notes the time if no earlier one is noted.
pub(super) fn earlier(armed: &mut [Option<Time>; Alarm::COUNT], alarm: Alarm, at: Time) -> bool {
    let Some(slot) = armed.get_mut(alarm as usize) else { return false };
    let set = slot.is_none_or(|known| at < known);
    if set {
        *slot = Some(at);
    }
    set
}

/// What is remembered over streams.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceState {
    pub(super) graphs: Graphs,
    /// Payload of a structured name at a version, and who was sent it (row K-32).
    pub(super) structured: HashMap<(Sym, Sym), (BlobId, usize)>,
    /// Content of a name by session and control plane (section P).
    pub(super) planes: HashMap<(usize, Sym, Sym), Vec<(Arc<str>, BlobId)>>,
    /// Ages at which the server ended streams, by its address.
    pub(super) ages: HashMap<String, VecDeque<Duration>>,
    /// Constraints that contents break, by payload; `None` where that can't be told (row J-01).
    pub(super) broken: HashMap<BlobId, Option<Arc<[String]>>, DenseHash>,
    /// Of each type the last resources whose references and constraints were looked up.
    pub(super) looked_at: HashMap<Option<Kind>, Arc<List>>,
    /// What nodes say (row E-06).
    pub(super) nodes: Digests,
    /// What an alternative stands in for: both names in canonical form (row K-29).
    pub(super) alternatives: HashMap<String, String>,
    /// Who brought which content of structured names (row K-30).
    pub(super) carried: Carried,
    /// Peers that took a message above the limit.
    pub(super) took_large: Vec<(usize, crate::wire::event::Dir)>,
}

impl SourceState {
    /// A locator names an alternative.
    pub(super) fn note_alternative(&mut self, primary: &str, alternative: &str) {
        let names = Name::parse(primary).zip(Name::parse(alternative));
        if let Some((primary, alternative)) = names.filter(|_| self.alternatives.len() < WORLD) {
            self.alternatives.insert(alternative.canonical(), primary.canonical());
        }
    }
}

/// Entries of each of those.
pub(super) const WORLD: usize = 1 << 16;
