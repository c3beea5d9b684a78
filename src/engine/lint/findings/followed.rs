//! Findings about states that may end, by the streams and clients whose messages can end them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::lint::rule::CorrectMessage;
use crate::session::engine::visits;
use crate::session::{DroppedStreams, SymMap, SymSet};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{DenseHash, Kind, Seq, Sym, Time, TypeUrl};

/// Lasting findings that are followed.
const MAX_FOLLOWED: usize = 1024;
/// Names of all of them.
const MAX_NAMES: usize = 1 << 14;

/// The state that a finding is about.
#[derive(Clone, Debug)]
pub(crate) enum LastingState {
    /// The names were requested and have no answer.
    Unanswered,
    /// The names were unsubscribed under a wildcard, and the server has not said what they are.
    Unclassified,
    /// The resources have expired.
    Expired,
    /// The resources warm, until these have arrived.
    Warming(SymSet),
    /// The resources warm, and the client has not requested these.
    Unrequested(SymSet),
    /// The client has not requested the type.
    UnrequestedType,
    /// The client has clusters, and has not requested listeners.
    UnrequestedListeners,
    /// The client has not requested a type again that it had on an earlier stream.
    NotResubscribed(TypeUrl),
    /// Clusters and listeners in force refer to the names of the type, and the client does not
    /// request them.
    Unsubscribed(Kind),
    /// The server has removed the names of the type, and resources of the client refer to them.
    RemovedInUse(Kind),
    /// Routes in force point to the clusters, and the client has never requested them.
    UnrequestedClusters,
    /// The client has requested nothing on a new stream.
    UnrequestedStream,
    /// No response has mentioned the names.
    Unmentioned,
    /// The content of a file is not in use.
    UnusedFile,
    /// The client has no resource of the type.
    Emptied(Option<Kind>),
    /// The client requests the names.
    Requested,
    /// The client states that it has the resources, and does not subscribe to them.
    LeftBehind,
    /// The client has given no verdict on a response.
    NoVerdict(Seq),
    /// The contents break a rule, until the client has accepted others in their place. A rule about
    /// a response as a whole has none.
    Content {
        /// The newest message that broke the rule.
        seq: Seq,
        /// The contents, by the names of their resources. Only the last one is known to last:
        /// the others are checked once it ends, so that the cost of a message does not depend on
        /// their number.
        contents: IndexMap<Sym, BlobId, DenseHash>,
    },
    /// A response broke the rule for the names, until the client has accepted a later one about
    /// each of them, or has given them up.
    Names {
        /// The newest message that broke the rule.
        seq: Seq,
        /// The names. As with contents, only the last one is known to last.
        names: IndexSet<Sym, DenseHash>,
        /// The first response after that message that is about the name, for some of the names.
        corrected: SymMap<Seq>,
    },
    /// Messages broke a rule, until messages of the same side keep the rule.
    Broken {
        /// The newest message that broke the rule.
        seq: Seq,
        /// The messages that end the state.
        by: CorrectMessage,
        /// Number of such messages that are still to come.
        left: u64,
        /// The first message that kept the rule.
        correct_since: Option<Seq>,
    },
}

impl LastingState {
    /// Returns the names that warming resources wait for.
    pub(super) fn needs(&self) -> Option<&SymSet> {
        match self {
            LastingState::Warming(needs) | LastingState::Unrequested(needs) => Some(needs),
            _ => None,
        }
    }

    /// Whether the state is about what a message contains, and outlasts its stream.
    pub(crate) fn is_of_contents(&self) -> bool {
        matches!(self, LastingState::Content { .. } | LastingState::Names { .. })
    }

    /// Whether the state is about names that resources of the client refer to.
    pub(super) fn is_of_references(&self) -> bool {
        matches!(
            self,
            LastingState::Unsubscribed(_) | LastingState::RemovedInUse(_) | LastingState::UnrequestedClusters
        )
    }

    /// Whether the state is not about names.
    pub(super) fn is_nameless(&self) -> bool {
        matches!(
            self,
            LastingState::UnusedFile
                | LastingState::UnrequestedType
                | LastingState::UnrequestedListeners
                | LastingState::NotResubscribed(_)
                | LastingState::UnrequestedStream
                | LastingState::NoVerdict(_)
                | LastingState::Broken { .. }
                | LastingState::Content { .. }
                | LastingState::Names { .. }
        )
    }
}

/// A finding about a state that may end.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) finding: usize,
    /// Indices of the stream and the track.
    pub(crate) place: (usize, usize),
    /// The node id of the client.
    pub(crate) client: Arc<str>,
    pub(crate) state: LastingState,
    pub(crate) since: Time,
    /// The text once the state has ended, with `{}` for its duration; the default text without
    /// one.
    pub(crate) past: Option<String>,
    /// The names for which the state lasts.
    pub(crate) names: SymSet,
    /// Whether the server sent the resources of all other names.
    pub(crate) has_come: bool,
    /// Whether the client gave up a name.
    pub(crate) is_given_up: bool,
}

impl Followed {
    /// Follows a finding, at first without names.
    pub(crate) fn new(
        finding: usize,
        place: (usize, usize),
        client: Arc<str>,
        state: LastingState,
        since: Time,
    ) -> Followed {
        Followed {
            finding,
            place,
            client,
            state,
            since,
            past: None,
            names: SymSet::default(),
            has_come: true,
            is_given_up: false,
        }
    }

    /// Returns the number of names for which the state lasts.
    fn len(&self) -> usize {
        match &self.state {
            LastingState::Names { names, .. } => names.len(),
            _ => self.names.len(),
        }
    }
}

/// Followed findings. A message visits those of its stream and of its client only.
#[derive(Clone, Debug, Default)]
pub(crate) struct FollowedFindings {
    /// By the index of the stream.
    by_stream: BTreeMap<usize, Vec<Followed>>,
    /// Indices of the streams in `by_stream`, by client.
    by_client: HashMap<Arc<str>, BTreeSet<usize>>,
    /// The stream of each followed state, by finding.
    by_finding: HashMap<usize, Vec<usize>>,
    /// Number of followed states.
    count: usize,
    /// Number of their names.
    names: usize,
}

impl FollowedFindings {
    /// Returns the number of followed states and of their names.
    pub(super) fn len_with_names(&self) -> usize {
        self.count + self.names
    }

    /// Adds a finding, unless there are too many of them, or too many names.
    pub(super) fn insert(&mut self, followed: Followed) {
        if self.count >= MAX_FOLLOWED || self.names + followed.len() > MAX_NAMES {
            return;
        }
        let stream = followed.place.0;
        self.count += 1;
        self.names += followed.len();
        self.by_client.entry(followed.client.clone()).or_default().insert(stream);
        self.by_finding.entry(followed.finding).or_default().push(stream);
        self.by_stream.entry(stream).or_default().push(followed);
    }

    /// Whether a message of a stream may end a finding.
    pub(super) fn may_concern(&self, stream: usize, client: &str) -> bool {
        self.by_stream.contains_key(&stream) || self.by_client.contains_key(client)
    }

    /// Returns all findings.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Followed> {
        self.by_stream.values().flatten()
    }

    /// Returns the findings on a stream, and on all streams of its client.
    pub(super) fn concerning(&self, stream: usize, client: &str) -> impl Iterator<Item = &Followed> {
        let streams = self.streams(stream, client).into_iter();
        streams.filter_map(|stream| self.by_stream.get(&stream)).flatten().inspect(|_| visits::count())
    }

    /// Changes the findings on a stream, and on all streams of its client, without ending any.
    pub(super) fn change(&mut self, stream: usize, client: &str, mut change: impl FnMut(&mut Followed)) {
        self.take_over(stream, Some(client), |followed| {
            change(followed);
            false
        });
    }

    fn streams(&self, stream: usize, client: &str) -> BTreeSet<usize> {
        let mut streams = self.by_client.get(client).cloned().unwrap_or_default();
        streams.insert(stream);
        streams
    }

    /// Takes out the findings for which the function returns true, of those on a stream and, if a
    /// client is given, on all streams of the client. Returns those that no other state keeps open.
    pub(super) fn take_over(
        &mut self,
        stream: usize,
        client: Option<&str>,
        mut is_over: impl FnMut(&mut Followed) -> bool,
    ) -> Vec<Followed> {
        let streams = client.map_or_else(|| [stream].into(), |client| self.streams(stream, client));
        let mut over = Vec::new();
        for stream in streams {
            let Some(all) = self.by_stream.get_mut(&stream) else { continue };
            let names = &mut self.names;
            over.extend(all.extract_if(.., |followed| {
                visits::count();
                *names -= followed.len();
                let is_over = is_over(followed);
                *names += if is_over { 0 } else { followed.len() };
                is_over
            }));
        }
        self.forget(&over);
        over.retain(|over| !self.by_finding.contains_key(&over.finding));
        over
    }

    /// Takes out what is followed of a finding.
    pub(super) fn take(&mut self, finding: usize) -> Option<Followed> {
        let stream = *self.by_finding.get(&finding)?.first()?;
        let all = self.by_stream.get_mut(&stream)?;
        let followed = all.swap_remove(all.iter().position(|followed| followed.finding == finding)?);
        self.names -= followed.len();
        self.forget(std::slice::from_ref(&followed));
        Some(followed)
    }

    /// Forgets the findings of dropped streams.
    pub(super) fn drop_streams(&mut self, dropped: &DroppedStreams) {
        let streams: Vec<usize> = self.by_stream.keys().copied().collect();
        for stream in streams.into_iter().filter(|stream| !dropped.kept.contains(stream)) {
            self.take_over(stream, None, |_| true);
        }
    }

    /// Removes findings that were taken out from the indexes.
    fn forget(&mut self, taken: &[Followed]) {
        self.count -= taken.len();
        let mut places: BTreeSet<(usize, &Arc<str>)> = BTreeSet::new();
        for followed in taken {
            let stream = followed.place.0;
            places.insert((stream, &followed.client));
            if let Some(streams) = self.by_finding.get_mut(&followed.finding) {
                if let Some(place) = streams.iter().position(|known| *known == stream) {
                    streams.swap_remove(place);
                }
                if streams.is_empty() {
                    self.by_finding.remove(&followed.finding);
                }
            }
        }
        for (stream, client) in places {
            let left = self.by_stream.get(&stream).map_or(&[][..], Vec::as_slice);
            let has_client = left.iter().any(|followed| followed.client == *client);
            if left.is_empty() {
                self.by_stream.remove(&stream);
            }
            if let Some(streams) = self.by_client.get_mut(client)
                && !has_client
            {
                streams.remove(&stream);
                if streams.is_empty() {
                    self.by_client.remove(client);
                }
            }
        }
    }
}
