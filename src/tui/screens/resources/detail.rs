//! The selected resource: versions, body, documentation of its fields, and related resources.

use serde_json::Value;

use crate::data::{BodyFormat, Contents, Data};
use crate::widgets::list::scroll;
use xdscope_engine::graph;
use xdscope_engine::nack::Extracted;
use xdscope_engine::store::{InForceFact, ResourceFact, ResourceState, VersionFact, Versions};
use xdscope_engine::structured::StructuredFact;
use xdscope_present::body_lines::{self, Folds, TreeLine};
use xdscope_present::report::{self, Role};
use xdscope_present::text::wrap;
use xdscope_schema::links::Link;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{ApiVersion, Kind, Seq, StreamId, TypeUrl};
use xdscope_wire::text::display_safe;

use super::path::TreePath;
use super::referrers::Referrers;

/// Larger contents are shown in hex only.
const MAX_DECODED_BYTES: u64 = 16 << 20;
/// Rows searched for versions in one step.
const ROWS_PER_STEP: usize = 1 << 12;
/// Lines of formats other than YAML.
const MAX_LINES: usize = 20_000;

/// A reference from the body shown.
#[derive(Clone, Debug)]
pub struct Reference {
    pub link: Link,
    /// State of the resource, and whether it was refused; `None` if it is unknown on this stream.
    pub fact: Option<(ResourceState, bool)>,
    /// The resource was not sent in time.
    pub is_missing: bool,
    /// The list was sent, and lacks the inline entry.
    pub lacks_entry: bool,
}

/// The contents that are loaded.
#[derive(Clone, Debug, PartialEq)]
struct ContentsKey {
    stream: StreamId,
    path: TreePath,
    /// Changes with the resources of the type.
    mark: u64,
}

/// The facts that the lines of a body depend on.
#[derive(Clone, Debug, PartialEq)]
struct LinesKey {
    content: Option<BlobId>,
    format: BodyFormat,
    folds: Folds,
}

#[derive(Clone, Debug, Default)]
pub struct ResourceDetail {
    key: Option<ContentsKey>,
    /// Rows of the source when the resource was loaded.
    read: usize,
    pub fact: Option<ResourceFact>,
    /// The facts of an `xdstp` name.
    pub structured: Option<StructuredFact>,
    /// Newest first.
    pub versions: Vec<VersionFact>,
    /// The search for versions, while it continues.
    scan: Option<Versions>,
    /// The first push of the version shown; `None` is the newest version.
    chosen: Option<Seq>,
    pub format: Option<BodyFormat>,
    pub wraps: bool,
    folds: Folds,
    /// Content, format and folds of `lines`.
    lines_key: Option<LinesKey>,
    body: Option<Value>,
    pub lines: Vec<TreeLine>,
    /// The refusal of the newest content, and the constraints that the content breaks.
    pub remarks: Vec<(String, Role)>,
    pub references: Vec<Reference>,
    /// Fields that the refusal of the resource names, with the reason.
    pub faults: Vec<(Extracted, String)>,
    /// The resources of this name on other streams.
    pub holders: Vec<ResourceFact>,
    /// The selected line of the body.
    pub line: usize,
    /// The line to select in the resource that is loaded next.
    restored_line: Option<usize>,
    /// The first line shown.
    pub top: usize,
    /// The resources that refer to this one, if the user asked for them.
    pub referrers: Option<Referrers>,
    /// The index of the selected referrer.
    pub referrer: usize,
    /// The path of the field that `docs` describe.
    explained_path: Option<String>,
    pub docs: Vec<String>,
}

impl ResourceDetail {
    /// The number of different contents of this name over all streams.
    pub fn variant_count(&self) -> usize {
        let mut hashes: Vec<&str> =
            self.holders.iter().chain(&self.fact).filter_map(|fact| fact.hash.as_deref()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.len()
    }

    /// Selects a line of the resource that is loaded next.
    pub fn restore_line(&mut self, line: usize) {
        self.restored_line = Some(line);
    }

    /// The index of the version shown.
    pub fn version_shown(&self) -> usize {
        let chosen =
            self.chosen.and_then(|first| self.versions.iter().position(|version| version.first == first));
        chosen.unwrap_or(0)
    }

    /// Whether a version is the one in force of a resource whose newest content or removal is in a
    /// refused push.
    pub fn is_in_force(&self, version: &VersionFact) -> bool {
        let fact = self.fact.as_ref().filter(|fact| fact.refusal.is_some());
        let in_force = fact.and_then(|fact| fact.in_force.as_ref());
        let is_known = |known: &&InForceFact| known.content.is_some() && known.content == version.content;
        in_force.filter(is_known).is_some_and(|known| known.version == version.version)
    }

    pub fn show_version(&mut self, at: usize) {
        let at = at.min(self.versions.len().saturating_sub(1));
        self.chosen = if at == 0 { None } else { self.versions.get(at).map(|version| version.first) };
    }

    /// Unfolds all lines.
    pub fn unfold(&mut self) {
        if !self.folds.all_open {
            self.folds = Folds { all_open: true, ..Folds::default() };
        }
    }

    /// Whether no line of the content is folded.
    pub fn is_unfolded(&self) -> bool {
        !self.folds.all_open
            && self.lines.iter().all(|line| line.fold.as_ref().is_none_or(|(_, is_open)| *is_open))
    }

    /// Unfolds everything, or folds large values again.
    pub fn unfold_all(&mut self) {
        self.folds = Folds { all_open: !self.folds.all_open, ..Folds::default() };
    }

    /// Folds or unfolds the selected line. Returns false if nothing changed.
    pub fn fold(&mut self, open: Option<bool>) -> bool {
        let Some((path, is_open)) = self.lines.get(self.line).and_then(|line| line.fold.clone()) else {
            return false;
        };
        if open.is_some_and(|open| open == is_open) {
            return false;
        }
        self.folds.turn(&path);
        true
    }

    /// The reference of the selected line.
    pub fn reference(&self) -> Option<&Reference> {
        let line = self.lines.get(self.line)?;
        self.references.iter().find(|reference| reference.link.path == line.path)
    }

    /// Reads the facts and versions of the selected resource.
    pub fn load(
        &mut self,
        data: &dyn Data,
        contents: Contents<'_>,
        stream: StreamId,
        place: Option<&TreePath>,
    ) {
        let Some((place, name)) = place.and_then(|place| Some((place, place.name.as_ref()?))) else {
            *self = ResourceDetail { format: self.format, wraps: self.wraps, ..ResourceDetail::default() };
            return;
        };
        let mark = contents.store.mark(stream, &place.type_url);
        let key = ContentsKey { stream, path: place.clone(), mark };
        if self.key.as_ref() == Some(&key) {
            // The time that is left changes without messages.
            if self.fact.as_ref().is_some_and(|fact| fact.ttl_left.is_some()) {
                self.fact = contents.store.resource(stream, &place.type_url, name);
            }
            return;
        }
        let is_other = self.key.as_ref().is_none_or(|old| old.stream != stream || old.path != *place);
        if is_other {
            let line = self.restored_line.take().unwrap_or(0);
            *self =
                ResourceDetail { format: self.format, wraps: self.wraps, line, ..ResourceDetail::default() };
        }
        let (from, to) = (self.read, data.rows());
        self.read = to;
        self.fact = contents.store.resource(stream, &place.type_url, name);
        self.structured = self.fact.as_ref().and_then(|fact| contents.structured(fact));
        // Most new messages are about other resources.
        if !is_other && from <= to && !contents.store.is_news(stream, &place.type_url, name, from..to) {
            self.key = Some(key);
            return;
        }
        self.scan = Some(Versions::before(to));
        self.referrers = None;
        self.lines_key = None;
        self.faults = match &self.fact {
            Some(fact) if fact.refused => faults(data, contents, stream, &place.type_url, name),
            _ => Vec::new(),
        };
        self.holders = contents.held_elsewhere(stream, &place.type_url, name);
        self.holders.retain(has_content);
        self.key = Some(key);
        self.search_versions(contents);
    }

    /// Versions or referrers are still searched.
    pub fn is_searching(&self) -> bool {
        self.scan.is_some() || self.referrers.as_ref().is_some_and(Referrers::is_searching)
    }

    /// Searches more versions and referrers. Returns true once, when all referrers are known.
    pub fn search(&mut self, contents: Contents<'_>) -> bool {
        self.search_versions(contents);
        self.referrers.as_mut().is_some_and(|users| users.search(contents))
    }

    /// Examines more rows for versions of the resource.
    fn search_versions(&mut self, contents: Contents<'_>) {
        let Some((mut scan, key)) = self.scan.take().zip(self.key.as_ref()) else { return };
        let Some(name) = &key.path.name else { return };
        contents.store.more_versions(key.stream, &key.path.type_url, name, ROWS_PER_STEP, &mut scan);
        // Known versions stay until the search has found as many.
        if scan.is_complete() || scan.versions.len() > self.versions.len() {
            self.versions.clone_from(&scan.versions);
        }
        self.scan = (!scan.is_complete()).then_some(scan);
    }

    /// The content shown.
    pub fn content(&self) -> Option<BlobId> {
        match self.versions.get(self.version_shown()) {
            Some(version) => version.content,
            None => self.fact.as_ref().and_then(|fact| fact.content),
        }
    }

    pub fn format(&self) -> BodyFormat {
        self.format.unwrap_or(BodyFormat::Yaml)
    }

    /// Documents a field by its full name, else the one of the selected line.
    pub fn document(&mut self, contents: Contents<'_>, asked: Option<&str>) {
        let path = asked.map(str::to_owned).or_else(|| Some(self.lines.get(self.line)?.path.clone()));
        if path == self.explained_path {
            return;
        }
        let docs = match (asked, &path, &self.body) {
            (Some(name), ..) => contents.explain_field(name),
            (None, Some(path), Some(body)) => contents.explain(body, path),
            _ => None,
        };
        self.docs = docs.unwrap_or_default().lines().map(str::to_owned).collect();
        self.explained_path = path;
    }

    /// Renders the content if it has changed, and keeps the line in view.
    pub fn settle(&mut self, contents: Contents<'_>, height: usize, width: usize) {
        let content = self.content();
        let wanted = Some(LinesKey { content, format: self.format(), folds: self.folds.clone() });
        if self.lines_key != wanted {
            self.make_lines(contents, content);
            self.lines_key = wanted;
            self.explained_path = None;
        }
        let height = height.saturating_sub(self.remarks_shown(height).len());
        self.line = self.line.min(self.lines.len().saturating_sub(1));
        self.top = scroll(self.top, self.line, height, self.lines.len());
        while self.wraps && self.top < self.line && self.rows_to_line(width) > height {
            self.top += 1;
        }
    }

    /// Rows from the top of the body to the end of the selected line.
    fn rows_to_line(&self, width: usize) -> usize {
        let lines = self.lines.iter().skip(self.top).take(self.line + 1 - self.top);
        lines.map(|line| wrap(&display_safe(&line.text), width.saturating_sub(4)).len()).sum()
    }

    /// The remarks that fit above the body, in `height` rows for both.
    pub fn remarks_shown(&self, height: usize) -> &[(String, Role)] {
        self.remarks.get(..self.remarks.len().min(height / 2)).unwrap_or_default()
    }

    /// Notes the refusal of the newest content, its owner, and the constraints that it breaks.
    fn make_remarks(&mut self, contents: Contents<'_>, content: Option<BlobId>) {
        self.remarks.clear();
        let Some(fact) = &self.fact else { return };
        if let (Some(state), Some(refusal)) = (report::RefusedState::of(fact), &fact.refusal) {
            let text = format!("{} (push #{}, NACK #{})", state.text(), refusal.push.0, refusal.nack.0);
            self.remarks.push((text, state.role));
        }
        self.remarks.extend(report::sent_after_refusal(fact).map(|text| (text, Role::Pending)));
        let owners = contents.owners(fact);
        if !owners.is_empty() {
            self.remarks.push((format!("owner {}", report::owners(&owners)), Role::Plain));
        }
        if content.is_some() && content == fact.content {
            let texts = report::broken_constraint_sentences(&contents.broken_constraints(fact)).into_iter();
            self.remarks.extend(texts.map(|text| (text, Role::Warn)));
        }
    }

    /// Renders the lines of a content.
    fn make_lines(&mut self, contents: Contents<'_>, content: Option<BlobId>) {
        self.lines.clear();
        self.references.clear();
        self.make_remarks(contents, content);
        self.body = None;
        let plain = |text: String| TreeLine { text, path: String::new(), fold: None };
        let Some(content) = content else {
            let error = self.fact.as_ref().and_then(|fact| fact.error.as_deref());
            let error = error.map(|error| format!("#{}: {}", error.n.0, report::resource_error(error)));
            self.lines = [Some(self.absence().to_owned()), error].into_iter().flatten().map(plain).collect();
            return;
        };
        let large = contents.size(content) > MAX_DECODED_BYTES;
        if self.format() != BodyFormat::Yaml || large {
            let format = if large { BodyFormat::Hex } else { self.format() };
            self.lines = contents.lines(content, format, MAX_LINES).into_iter().map(plain).collect();
            if self.lines.len() == MAX_LINES {
                self.lines.push(plain("… further lines are not shown".to_owned()));
            }
            return;
        }
        self.body = contents.body(content);
        let Some(body) = &self.body else {
            return self.lines.push(plain("(this content was discarded)".to_owned()));
        };
        self.lines = body_lines::lines(body, &self.folds);
        if let Some(key) = &self.key {
            let links = contents.links(body).into_iter();
            self.references = links.map(|link| reference(contents, key, link)).collect();
        }
    }

    /// The reason why there is no content.
    fn absence(&self) -> &'static str {
        if self.fact.as_ref().is_some_and(|fact| fact.is_glob() && fact.state == ResourceState::Present) {
            return "a glob has no content of its own: its members do";
        }
        match self.fact.as_ref().map(|fact| fact.state) {
            _ if self.fact.as_ref().is_some_and(ResourceFact::is_missing) => {
                "asked for, and not sent within --resource-timeout"
            }
            _ if self.fact.as_ref().is_some_and(ResourceFact::has_malformed_name) => {
                "no resource can have this name"
            }
            _ if self.fact.as_ref().is_some_and(ResourceFact::has_older) => {
                "the client has an older version, whose content is not known"
            }
            Some(ResourceState::Waiting) => "asked for, and not sent yet",
            Some(ResourceState::Absent) => "the server says that it does not exist",
            Some(ResourceState::Empty) => "a glob has no content of its own, and this one has no members",
            Some(ResourceState::Removed) => "it was removed",
            Some(ResourceState::Expired) => "its time to live has run out",
            Some(ResourceState::Kept) => "held by the client from before this was recorded",
            _ => "no content is known",
        }
    }

    /// Starts the search for referrers. Returns false if nothing can refer to the selection.
    pub fn find_referrers(&mut self, contents: Contents<'_>) -> bool {
        self.referrer = 0;
        let key = self.key.as_ref();
        self.referrers = key.and_then(|key| Referrers::new(contents, key.stream, &key.path));
        self.referrers.is_some()
    }
}

/// Looks up the target of a reference in the content of a resource.
fn reference(contents: Contents<'_>, key: &ContentsKey, link: Link) -> Reference {
    let own = key.path.type_url.as_str();
    let version = Kind::of_type_url(own).map_or(ApiVersion::V3, |(_, version)| version);
    let fact = match link.kind.type_url(version) {
        Some(url) => contents.store.resource(key.stream, &url, &link.name),
        None => None,
    };
    let is_missing = fact.as_ref().is_some_and(ResourceFact::is_missing);
    let mut lacks_entry = false;
    if link.name.contains('#')
        && let Some(content) = fact.as_ref().and_then(|fact| fact.content)
        && let Some(list) = contents.body(content)
    {
        lacks_entry = graph::lacks_entry(&list, &link.name);
    }
    let fact = fact.map(|fact| (fact.state, fact.refused));
    Reference { fact, is_missing, lacks_entry, link }
}

/// Whether the client has the resource.
fn has_content(fact: &ResourceFact) -> bool {
    matches!(fact.state, ResourceState::Present | ResourceState::Kept)
}

/// The fields of the resource that the newest refusal of its type names.
fn faults(
    data: &dyn Data,
    contents: Contents<'_>,
    stream: StreamId,
    url: &TypeUrl,
    name: &str,
) -> Vec<(Extracted, String)> {
    let Some(state) = data.state(stream, url) else { return Vec::new() };
    let Some(refused) = state.verdicts.nacks.chunk_by(|a, b| a.version == b.version).last() else {
        return Vec::new();
    };
    let card = contents.card(stream, url, refused);
    let subject = card.subjects.into_iter().find(|subject| subject.name.value == name);
    subject.map(|subject| subject.faults).unwrap_or_default()
}
