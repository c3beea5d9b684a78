//! The memory of rules: what refers to contents, and what ends with a stream.

pub(super) mod content_changes;
pub(super) mod entry_references;
pub(super) mod exchange_loop;
pub(super) mod note_request;
pub(super) mod note_response;
pub(super) mod on_demand;
pub(super) mod references;
pub(super) mod state;
pub(super) mod structured_contents;
pub(super) mod targets;
pub(super) mod track;
use super::driver::Lint;
use crate::lint::findings::finding::Findings;
use crate::session::{DroppedStreams, Shared, mark_key};
use crate::store::Store;
use state::{SourceState, StreamState};
use track::SentResponse;
use track::TrackState;
use xdscope_wire::content::UsedContent;

/// Estimated memory of the state of a stream.
const STREAM_BYTES: usize = 1 << 10;
/// Estimated memory of what is known of a content: its references and broken constraints.
const CONTENT_BYTES: usize = 80;
/// Estimated memory of a name in one of the maps of a track.
const NAME_BYTES: usize = 40;
/// Estimated memory of a name that the client should request next.
const TARGET_BYTES: usize = 160;

impl Lint {
    /// Estimates the memory of all streams and findings, in bytes.
    pub fn memory(&self) -> usize {
        let contents = self.source.graphs.learned() + self.source.constraint_violations.len();
        self.streams.len() * STREAM_BYTES + contents * CONTENT_BYTES + self.findings.memory()
    }

    /// Estimates the memory of what a clone of the rules does not share with another one, in
    /// bytes.
    pub(crate) fn own_memory(&self, other: &Lint) -> usize {
        let streams: usize = self
            .streams
            .iter()
            .map(|(index, state)| {
                let other = other.streams.get(index);
                size_of::<Shared<StreamState>>() * 3 + state.own_size(other, |state| state.own_memory(other))
            })
            .sum();
        let findings = self.findings.own_size(Some(&other.findings), Findings::memory);
        let source = self.source.own_memory(&other.source);
        streams + findings + source + self.alarms.memory()
    }

    /// Drops the older half of a store's history, and everything to which nothing refers without
    /// that half. Returns the contents that are still in use.
    ///
    /// `mark` marks the contents that are in use outside of the store. Checkpoints cannot be
    /// restored afterwards.
    pub fn drop_old(&mut self, store: &mut Store, mark: impl FnOnce(&mut UsedContent)) -> UsedContent {
        let dropped = store.drop_old();
        self.drop_streams(&dropped);
        self.drop_unused(store, mark)
    }

    /// Drops the contents to which nothing refers, and returns those that are still in use.
    pub fn drop_unused(&mut self, store: &mut Store, mark: impl FnOnce(&mut UsedContent)) -> UsedContent {
        let mut used = UsedContent::default();
        mark(&mut used);
        self.mark(&mut used);
        store.mark_used(&mut used);
        self.retain_derived(&mut used);
        store.catalog_mut().retain(used)
    }

    /// Forgets streams and clients that the engine has dropped.
    fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.streams.retain(|index, _| dropped.kept.contains(index));
        self.source.drop_streams(dropped);
    }

    /// Marks the contents and names of all states as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        self.streams.values().for_each(|stream| stream.mark(used));
        self.source.graphs.mark(used);
        self.source.entry_references.mark(used);
        self.source.lasting.mark(used);
    }

    /// Forgets what was derived from contents that are not used.
    pub(crate) fn retain_derived(&mut self, used: &mut UsedContent) {
        self.source.graphs.retain(used);
        self.source.retain(used);
    }
}

impl StreamState {
    /// Estimates the memory of what the state does not share with another one.
    fn own_memory(&self, other: Option<&Shared<StreamState>>) -> usize {
        let others = other.map_or(&[][..], |other| other.shared_tracks());
        let tracks = self.shared_tracks().iter().enumerate().map(|(index, state)| {
            let other = others.get(index).and_then(Option::as_ref);
            let own = state.as_ref().map(|state| state.own_size(other, TrackState::memory));
            size_of::<Shared<TrackState>>() + own.unwrap_or_default()
        });
        size_of::<StreamState>() + tracks.sum::<usize>()
    }

    fn mark(&self, used: &mut UsedContent) {
        for track in self.tracks() {
            track.mark(used);
        }
        for (_, name, _) in &self.reported_unsubscribed {
            mark_key(used, *name);
        }
    }
}

impl SentResponse {
    fn mark(&self, used: &mut UsedContent) {
        used.list(&self.list);
        for name in &self.duplicates {
            mark_key(used, *name);
        }
    }
}

impl TrackState {
    /// Estimates the memory of the state, in bytes, without lists and contents.
    fn memory(&self) -> usize {
        let TrackState { responses, requests, ttl, references, .. } = self;
        let names = requests.unsubscribed.len()
            + requests.added_by_stale_requests.len()
            + requests.spellings.len()
            + responses.left_out.len()
            + ttl.ttl_versions.len()
            + ttl.reported_deadlines.len()
            + references.reported_warming.len()
            + references.reported_unrequested.len()
            + references.aliases.len()
            + references.unreferenced.len();
        let sent = responses.pending.len() + responses.rejected.len();
        size_of::<TrackState>()
            + names * NAME_BYTES
            + sent * size_of::<SentResponse>()
            + references.targets.len() * TARGET_BYTES
    }

    fn mark(&self, used: &mut UsedContent) {
        let TrackState { responses, requests, ttl, references, open_findings, .. } = self;
        for response in responses.pending.iter().chain(&responses.rejected).chain(&responses.newest) {
            response.mark(used);
        }
        if let Some(list) = &responses.clean_list {
            used.list(list);
        }
        responses.left_out.values().for_each(|blob| used.blob(*blob));
        used.names(ttl.ttl_versions.values());
        let sent =
            responses.left_out.keys().chain(ttl.ttl_versions.keys()).chain(ttl.reported_deadlines.keys());
        let missing = requests.missing_from_ack.iter().flat_map(|(_, _, names)| names);
        let requested = requests.unsubscribed.keys().chain(&requests.added_by_stale_requests);
        let requested = requested.chain(&requests.spellings).chain(missing);
        let routes = references.unaccepted_routes.iter().flat_map(|(_, names)| names);
        let aliases = references.aliases.iter().flat_map(|(alias, name)| [alias, name]);
        let targets = references.targets.iter().map(|target| &target.resource);
        let reported = references.reported_warming.keys().chain(references.reported_unrequested.keys());
        let referred =
            routes.chain(aliases).chain(targets).chain(reported).chain(references.unreferenced.keys());
        let findings = open_findings.constraint_findings.iter().map(|finding| &finding.name);
        for name in sent.chain(requested).chain(referred).chain(findings) {
            mark_key(used, *name);
        }
    }
}

impl SourceState {
    /// Estimates the memory of what the state does not share with another one, in bytes.
    fn own_memory(&self, other: &SourceState) -> usize {
        let graphs = self.graphs.own_size(Some(&other.graphs), |graphs| graphs.learned());
        let contents = self
            .constraint_violations
            .own_size(Some(&other.constraint_violations), |contents| contents.len());
        let planes = self.plane_contents.own_size(Some(&other.plane_contents), |contents| contents.len());
        let deliveries = self.deliveries.own_size(Some(&other.deliveries), |known| known.len());
        let versions =
            self.without_version.own_size(Some(&other.without_version), |clients| 4 * clients.len());
        let ages = self.stream_ages.own_size(Some(&other.stream_ages), |clients| 4 * clients.len());
        let lasting = self.lasting.own_size(Some(&other.lasting), |lasting| lasting.len());
        let entries = 2 * graphs + contents + planes + deliveries + versions + ages + 4 * lasting;
        entries * CONTENT_BYTES
    }

    fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.graphs.drop_streams(dropped);
        self.entry_references.drop_streams(dropped);
        self.lasting.drop_streams(dropped);
        let sessions = &dropped.sessions;
        self.structured_contents.drop_streams(dropped);
        self.plane_contents.retain(|resource, _| sessions.contains(&resource.session));
        self.large_receivers.retain(|(session, _)| sessions.contains(session));
        self.deliveries.retain(|_, deliveries| {
            deliveries.retain(|delivery| dropped.kept.contains(&delivery.stream));
            !deliveries.is_empty()
        });
    }

    /// Forgets facts about names and contents that are not used: a dropped content that is sent
    /// again has another id.
    fn retain(&mut self, used: &UsedContent) {
        self.structured_contents.retain(used);
        self.plane_contents.retain(|resource, contents| {
            let is_used = used.has_name(resource.name) && used.has_name(resource.type_url);
            is_used && contents.iter().all(|(_, blob)| used.has_blob(*blob))
        });
        self.constraint_violations.retain(|blob, _| used.has_blob(*blob));
        self.deliveries.retain(|(name, blob), deliveries| {
            let mut versions = deliveries.iter().map(|delivery| delivery.version);
            used.has_blob(*blob) && used.has_name(*name) && versions.all(|version| used.has_name(version))
        });
        self.inspected.clear();
    }
}
