//! Resolution of versions to messages.

use std::collections::BTreeMap;

use xdscope_engine::diff::{ResourceVersion, extend_versions};
use xdscope_engine::filter::quoted_word;
use xdscope_engine::store::Store;
use xdscope_present::text::shell_word;
use xdscope_sources::{BoundedCatalog, FrameSink, Limit};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Dir, Method, Seq, StreamId, Time, TypeUrl};
use xdscope_wire::text::display_safe;
use xdscope_wire::{Frame, FramePayload as Frames, Message};

use crate::cli::args::StreamPick;
use crate::cli::error::{CliError, Exit};
use crate::cli::source::select::Picked;
use crate::cli::source::target::GetTarget;

use super::words::Place;

/// Finds the version of one of two places, by its index. `other` is the version to compare with.
pub(super) fn pick<'a>(
    known: &'a [ResourceVersion],
    places: [&Place; 2],
    index: usize,
    other: Option<&ResourceVersion>,
    what: &GetTarget,
    source: &str,
) -> Result<&'a ResourceVersion, CliError> {
    let place = places[index];
    let mut newest_first = known.iter().rev();
    let found = match place {
        Place::Version(wanted) => newest_first.find(|version| *version.version == **wanted),
        Place::Message(n) => newest_first.find(|version| version.n <= *n),
        Place::Newest => newest_first.next(),
        Place::Before => newest_first.find(|version| {
            other.is_some_and(|other| {
                version.n < other.n && version.stream == other.stream && version.content != other.content
            })
        }),
    };
    found.ok_or_else(|| {
        let message = match place {
            Place::Version(wanted) => format!("{} was never sent with version {wanted}", what.text),
            Place::Message(n) => format!("{} was not sent up to #{}", what.text, n.0),
            Place::Newest | Place::Before => format!("{} was sent with one content only", what.text),
        };
        let typed = places.map(|place| match place {
            Place::Version(version) => Some(version.to_string()),
            Place::Message(n) => Some(format!("#{}", n.0)),
            Place::Newest | Place::Before => None,
        });
        let mut next: Vec<String> = Vec::new();
        for version in known.iter().rev().filter(|version| version.content.is_some()) {
            let near = version.version.to_string();
            if typed.contains(&Some(near.clone())) {
                continue;
            }
            let mut words = typed.clone();
            words[index] = Some(near);
            let words: Vec<_> = words.iter().flatten().map(|word| shell_word(word)).collect();
            let command =
                format!("xdscope diff {} {} {}", shell_word(source), shell_word(&what.text), words.join(" "));
            if next.len() < 5 && !next.contains(&command) && known.len() > 1 {
                next.push(command);
            }
        }
        if next.is_empty() {
            next.push(format!(
                "xdscope log {} --filter {}",
                shell_word(source),
                shell_word(&format!("name:{}", what.name.as_deref().map_or("*".to_owned(), quoted_word)))
            ));
        }
        CliError { next, ..CliError::new(Exit::Never, message) }
    })
}

/// The error for a resource without any version. It suggests near names, or the messages about a
/// name that was requested; nothing for an unknown name.
pub(super) fn never_sent(what: &GetTarget, store: &Store, source: &str) -> CliError {
    let states = store.states().into_iter().filter(|state| what.is_type(&state.summary.type_url));
    let is_requested = states
        .flat_map(|state| store.resources(state.summary.stream, &state.summary.type_url))
        .any(|fact| what.is(&fact));
    let source = shell_word(source);
    let next = match is_requested {
        true => {
            let filter = format!("name:{}", quoted_word(what.name.as_deref().unwrap_or_default()));
            vec![format!("xdscope log {source} --filter {}", shell_word(&filter))]
        }
        false => {
            let near = what.near_names(store).into_iter();
            near.map(|near| format!("xdscope diff {source} {}", shell_word(&near))).collect()
        }
    };
    CliError { next, ..CliError::new(Exit::Never, format!("{} was never sent", what.text)) }
}

/// Finds the newest version whose content differs from an earlier one on its stream.
pub(super) fn changed(known: &[ResourceVersion]) -> Option<&ResourceVersion> {
    let differs =
        |new: &ResourceVersion, old: &ResourceVersion| old.stream == new.stream && old.content != new.content;
    let (at, _) = known.iter().enumerate().rev().find(|(at, new)| {
        known.get(..*at).is_some_and(|before| before.iter().any(|old| differs(new, old)))
    })?;
    known.get(at)
}

/// Warns if a version was sent with more than one content, since version texts are opaque.
pub(super) fn ambiguous(known: &[ResourceVersion], meant: &[(&Place, &ResourceVersion)]) -> Vec<String> {
    let mut out = Vec::new();
    for (place, found) in meant {
        let another = known.iter().rev().find(|version| {
            version.version == found.version && version.content.is_some() && version.content != found.content
        });
        if let (Place::Version(_), Some(another)) = (place, another) {
            out.push(format!(
                "version {} was sent with more than one content; #{} on stream #{} is meant, not #{} on stream #{}",
                display_safe(&found.version),
                found.n.0,
                found.stream.0,
                another.n.0,
                another.stream.0,
            ));
        }
    }
    out
}

/// A fold that collects the versions of one resource.
pub(super) struct VersionSink<'a> {
    store: Store,
    what: &'a GetTarget,
    pick: Option<&'a StreamPick>,
    versions: Vec<ResourceVersion>,
    /// Rows that were read.
    rows: usize,
}

impl<'a> VersionSink<'a> {
    pub(super) fn new(store: Store, what: &'a GetTarget, pick: Option<&'a StreamPick>) -> VersionSink<'a> {
        VersionSink { store, what, pick, versions: Vec::new(), rows: 0 }
    }

    /// Returns the store at the end, and the versions.
    pub(super) fn finish(mut self) -> (Store, Vec<ResourceVersion>) {
        self.read_rows();
        (self.store, self.versions)
    }

    fn read_rows(&mut self) {
        let rows = std::mem::replace(&mut self.rows, self.store.rows())..self.store.rows();
        // Streams that are not known yet have no rows.
        let Ok(picked) = Picked::of(self.pick, &self.store) else { return };
        let name = self.what.name.as_deref().unwrap_or_default();
        let (is_picked, is_type) = (|stream| picked.has(stream), |url: &TypeUrl| self.what.is_type(url));
        extend_versions(&mut self.versions, &self.store, rows, is_picked, is_type, name);
    }
}

impl FrameSink for VersionSink<'_> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.store.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.store.handle(frame);
    }

    fn advance(&mut self, now: Time) {
        self.store.advance(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if !self.store.is_over_budget() {
            return None;
        }
        self.read_rows();
        let contents = self.versions.iter().filter_map(|version| version.content);
        Some(self.store.drop_old_facts(|used| {
            mark(used);
            contents.for_each(|content| used.blob(content));
        }))
    }
}

/// The position of a response: where it was found, or the version that was not.
pub(super) enum FoundPush {
    At(Limit, Option<StreamId>),
    Missing(String),
}

impl FoundPush {
    fn of(place: &Place) -> FoundPush {
        match place {
            Place::Version(wanted) => FoundPush::Missing(wanted.to_string()),
            Place::Message(n) => FoundPush::At(Limit::Message(*n), None),
            Place::Newest | Place::Before => FoundPush::At(Limit::All, None),
        }
    }

    /// Whether no response has the version.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, FoundPush::Missing(_))
    }

    /// Returns the position and the stream of the response.
    pub(super) fn limit(self, what: &GetTarget, source: &str) -> Result<(Limit, Option<StreamId>), CliError> {
        match self {
            FoundPush::At(limit, stream) => Ok((limit, stream)),
            FoundPush::Missing(wanted) => {
                let error = format!("no push of {} has version {wanted}", what.text);
                Err(CliError::new(Exit::Never, error).next(format!(
                    "xdscope log {} --filter {}",
                    shell_word(source),
                    shell_word(&format!("type:{}", what.text))
                )))
            }
        }
    }
}

/// A pass that finds the newest responses of a type with two versions.
pub(super) struct Pushes<'a> {
    contents: BoundedCatalog,
    what: &'a GetTarget,
    places: [&'a Place; 2],
    pick: Option<&'a StreamPick>,
    implied: BTreeMap<StreamId, TypeUrl>,
    /// Node ids by stream, if a node is picked.
    nodes: BTreeMap<StreamId, String>,
    n: Seq,
    found: [FoundPush; 2],
}

impl<'a> Pushes<'a> {
    pub(super) fn new(
        contents: BoundedCatalog,
        what: &'a GetTarget,
        places: [&'a Place; 2],
        pick: Option<&'a StreamPick>,
    ) -> Pushes<'a> {
        let (implied, nodes, found) = (BTreeMap::new(), BTreeMap::new(), places.map(FoundPush::of));
        Pushes { contents, what, places, pick, implied, nodes, n: Seq(0), found }
    }

    /// Returns the responses, and the catalog of the pass.
    pub(super) fn into_parts(self) -> ([FoundPush; 2], Catalog) {
        (self.found, self.contents.into_catalog())
    }

    fn message(&mut self, stream: StreamId, message: &Message) {
        self.n.0 += 1;
        if let (Some(StreamPick::Node(_)), Some(node)) = (self.pick, message.node()) {
            self.nodes.insert(stream, node.id.clone());
        }
        let own = message.type_url();
        let url = if own.is_empty() { self.implied.get(&stream).unwrap_or(&own) } else { &own };
        let is_picked = match self.pick {
            None => true,
            Some(StreamPick::Stream(number)) => stream.0 == *number,
            Some(StreamPick::Node(node)) => self.nodes.get(&stream) == Some(node),
        };
        if !is_picked || message.dir() != Dir::Resp || !self.what.is_type(url) {
            return;
        }
        for (place, found) in self.places.iter().zip(&mut self.found) {
            if let Place::Version(wanted) = place
                && version(message) == Some(wanted)
            {
                *found = FoundPush::At(Limit::Message(self.n), Some(stream));
            }
        }
    }
}

impl FrameSink for Pushes<'_> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        match &frame.what {
            Frames::Open(open) => {
                let url = Method::parse(&open.method).and_then(|method| method.implied_type());
                self.implied.extend(url.map(|url| (frame.stream, url)));
            }
            Frames::Message(message) => self.message(frame.stream, message),
            _ => {}
        }
    }

    fn advance(&mut self, _now: Time) {}

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.contents.drop_old(mark)
    }
}

fn version(message: &Message) -> Option<&str> {
    Some(message.response()?.version.as_str())
}
