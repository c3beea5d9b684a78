//! One resource: its versions, its body, what its fields mean, and whom it has to do with.

use serde_json::Value;

use crate::engine::nack::Extracted;
use crate::engine::store::{ResourceFact, ResourceState, VersionFact, Versions};
use crate::schema::links::Link;
use crate::tui::data::{Contents, Data, Format};
use crate::tui::screens::overview::scroll;
use crate::tui::widgets::tree::{self, Folds, TreeLine};
use crate::wire::event::{ApiVersion, Seq, StreamId, TypeUrl};
use crate::wire::text::{display_safe, wrap};

use crate::tui::screens::resources::Place;
use crate::tui::screens::resources::referrers::Users;

/// Larger contents are shown as bytes only.
const LARGE: u64 = 16 << 20;
/// Rows of the timeline that are looked at for versions in one step of a frame.
const ROWS: usize = 1 << 12;
/// Lines of other forms than YAML.
const LINES: usize = 20_000;

/// A reference from the body shown.
#[derive(Clone, Debug)]
pub struct Reference {
    pub link: Link,
    /// What is known of the resource; `None` if it was neither asked for nor sent on this stream.
    pub fact: Option<(ResourceState, bool)>,
    /// It did not come in time.
    pub missing: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Detail {
    key: Option<(StreamId, Place, u64)>,
    /// Rows of the timeline then.
    read: usize,
    pub fact: Option<ResourceFact>,
    /// Newest first.
    pub versions: Vec<VersionFact>,
    /// The search for them, while it goes on.
    scan: Option<Versions>,
    /// The version shown, by its first push; `None` is the newest.
    chosen: Option<Seq>,
    pub format: Option<Format>,
    pub wrap: bool,
    folds: Folds,
    /// The body as it was last made into lines.
    made: Option<(Option<crate::wire::content::BlobId>, Format, Folds)>,
    body: Option<Value>,
    pub lines: Vec<TreeLine>,
    pub references: Vec<Reference>,
    /// Fields that its refusal names.
    pub faults: Vec<(Extracted, String)>,
    /// Other streams that have a resource of this name.
    pub holders: Vec<ResourceFact>,
    /// Selected line of the body, and the first one shown.
    pub line: usize,
    restored: Option<usize>,
    pub top: usize,
    /// Who refers to it; `None` until asked.
    pub users: Option<Users>,
    pub user: usize,
    explained: Option<String>,
    pub docs: Vec<String>,
}

impl Detail {
    /// How many different contents this name has over all streams.
    pub fn variants(&self) -> usize {
        let mut hashes: Vec<&str> =
            self.holders.iter().chain(&self.fact).filter_map(|fact| fact.hash.as_deref()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.len()
    }

    /// Selects this line of the resource that is loaded next.
    pub fn restore(&mut self, line: usize) {
        self.restored = Some(line);
    }

    /// The version shown, as a place in the list.
    pub fn shown(&self) -> usize {
        let chosen =
            self.chosen.and_then(|first| self.versions.iter().position(|version| version.first == first));
        chosen.unwrap_or(0)
    }

    pub fn choose(&mut self, at: usize) {
        let at = at.min(self.versions.len().saturating_sub(1));
        self.chosen = self.versions.get(at).filter(|_| at > 0).map(|version| version.first);
    }

    pub fn turn_all(&mut self) {
        self.folds = Folds { all_open: !self.folds.all_open, ..Folds::default() };
    }

    /// Folds or unfolds the selected line. False if there is nothing to.
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

    pub fn load(&mut self, data: &dyn Data, contents: Contents<'_>, stream: StreamId, place: Option<&Place>) {
        let Some((place, name)) = place.and_then(|place| Some((place, place.name.as_ref()?))) else {
            *self = Detail { format: self.format, wrap: self.wrap, ..Detail::default() };
            return;
        };
        let key = (stream, place.clone(), contents.mark(stream, &place.type_url));
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let other = self.key.as_ref().is_none_or(|(old, at, _)| *old != stream || at != place);
        if other {
            let line = self.restored.take().unwrap_or(0);
            *self = Detail { format: self.format, wrap: self.wrap, line, ..Detail::default() };
        }
        let (from, to) = (self.read, data.rows());
        self.read = to;
        self.fact = contents.resource(stream, &place.type_url, name);
        // Most of what comes is about others.
        if !other && from <= to && !contents.is_news(stream, &place.type_url, name, from..to) {
            self.key = Some(key);
            return;
        }
        self.scan = Some(Versions::before(to));
        self.users = None;
        self.made = None;
        self.faults = match &self.fact {
            Some(fact) if fact.refused => faults(data, contents, stream, &place.type_url, name),
            _ => Vec::new(),
        };
        self.holders = contents.held_elsewhere(stream, &place.type_url, name);
        self.holders.retain(holds);
        self.key = Some(key);
        self.look(contents);
    }

    /// Older versions, or who refers to it, are still looked for.
    pub fn searching(&self) -> bool {
        self.scan.is_some() || self.users.as_ref().is_some_and(Users::searching)
    }

    /// Looks for more of them. True once it is known who refers to it.
    pub fn search(&mut self, contents: Contents<'_>) -> bool {
        self.look(contents);
        self.users.as_mut().is_some_and(|users| users.search(contents))
    }

    fn look(&mut self, contents: Contents<'_>) {
        let Some((mut scan, (stream, place, _))) = self.scan.take().zip(self.key.as_ref()) else { return };
        let Some(name) = &place.name else { return };
        contents.more_versions(*stream, &place.type_url, name, ROWS, &mut scan);
        // Those that were known stay until the search has come as far.
        if scan.is_complete() || scan.versions.len() > self.versions.len() {
            self.versions.clone_from(&scan.versions);
        }
        self.scan = (!scan.is_complete()).then_some(scan);
    }

    /// The content shown.
    pub fn content(&self) -> Option<crate::wire::content::BlobId> {
        match self.versions.get(self.shown()) {
            Some(version) => version.content,
            None => self.fact.as_ref().and_then(|fact| fact.content),
        }
    }

    pub fn format(&self) -> Format {
        self.format.unwrap_or(Format::Yaml)
    }

    pub fn settle(&mut self, contents: Contents<'_>, height: usize, width: usize, docs: bool) {
        let content = self.content();
        let wanted = Some((content, self.format(), self.folds.clone()));
        if self.made != wanted {
            self.make(contents, content);
            self.made = wanted;
            self.explained = None;
        }
        self.line = self.line.min(self.lines.len().saturating_sub(1));
        self.top = scroll(self.top, self.line, height, self.lines.len());
        while self.wrap && self.top < self.line && self.rows_to_line(width) > height {
            self.top += 1;
        }
        let path = self.lines.get(self.line).map(|line| line.path.clone()).filter(|_| docs);
        if path != self.explained {
            let said =
                path.as_ref().zip(self.body.as_ref()).and_then(|(path, body)| contents.explain(body, path));
            self.docs = said.unwrap_or_default().lines().map(str::to_owned).collect();
            self.explained = path;
        }
    }

    /// Rows from the top of the body to the end of the selected line.
    fn rows_to_line(&self, width: usize) -> usize {
        let lines = self.lines.iter().skip(self.top).take(self.line + 1 - self.top);
        lines.map(|line| wrap(&display_safe(&line.text), width.saturating_sub(4)).len()).sum()
    }

    fn make(&mut self, contents: Contents<'_>, content: Option<crate::wire::content::BlobId>) {
        self.lines.clear();
        self.references.clear();
        self.body = None;
        let plain = |text: String| TreeLine { text, path: String::new(), fold: None };
        let Some(content) = content else {
            return self.lines.push(plain(self.nothing().to_owned()));
        };
        let large = contents.size(content) > LARGE;
        if self.format() != Format::Yaml || large {
            let format = if large { Format::Hex } else { self.format() };
            self.lines = contents.lines(content, format, LINES).into_iter().map(plain).collect();
            if self.lines.len() == LINES {
                self.lines.push(plain("… only so many lines are shown".to_owned()));
            }
            return;
        }
        self.body = contents.body(content);
        let Some(body) = &self.body else {
            return self.lines.push(plain("(this content is not held any more)".to_owned()));
        };
        self.lines = tree::lines(body, &self.folds);
        if let Some((stream, ..)) = self.key {
            let fact = |link: &Link| {
                let url = link.kind.type_url(ApiVersion::V3)?;
                contents.resource(stream, &url, &link.name)
            };
            let reference = |link: Link| {
                let fact = fact(&link);
                let missing = fact.as_ref().is_some_and(ResourceFact::is_missing);
                Reference { fact: fact.map(|fact| (fact.state, fact.refused)), missing, link }
            };
            self.references = contents.links(body).into_iter().map(reference).collect();
        }
    }

    fn nothing(&self) -> &'static str {
        match self.fact.as_ref().map(|fact| fact.state) {
            _ if self.fact.as_ref().is_some_and(ResourceFact::is_missing) => {
                "asked for, and not sent within --resource-timeout"
            }
            Some(ResourceState::Waiting) => "asked for, and not sent yet",
            Some(ResourceState::Absent) => "it does not exist, says the server",
            Some(ResourceState::Removed) => "it was removed",
            Some(ResourceState::Expired) => "its time to live has run out",
            Some(ResourceState::Kept) => "held by the client from before this was recorded",
            _ => "there is no content of it",
        }
    }

    /// Begins to look for the resources of this stream that refer to this one. False if there is none to begin with.
    pub fn find_users(&mut self, contents: Contents<'_>) -> bool {
        self.user = 0;
        let of = self.key.as_ref();
        self.users = of.and_then(|(stream, place, _)| Users::of(contents, *stream, place));
        self.users.is_some()
    }
}

fn holds(fact: &ResourceFact) -> bool {
    matches!(fact.state, ResourceState::Present | ResourceState::Kept)
}

/// The fields of this resource that the open refusal of its type names.
fn faults(
    data: &dyn Data,
    contents: Contents<'_>,
    stream: StreamId,
    url: &TypeUrl,
    name: &str,
) -> Vec<(Extracted, String)> {
    let Some(state) = data.state(stream, url) else { return Vec::new() };
    let Some(refused) = state.nacks.chunk_by(|a, b| a.version == b.version).last() else { return Vec::new() };
    let card = contents.card(stream, url, refused);
    let subject = card.subjects.into_iter().find(|subject| subject.name.value == name);
    subject.map(|subject| subject.faults).unwrap_or_default()
}
