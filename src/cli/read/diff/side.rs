//! One side of a comparison: resources with their content.

use crate::cli::source::{offline, schema_flags};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read as _;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use xdscope_engine::diff::ResourceVersion;
use xdscope_engine::owners::owners_of_content;
use xdscope_engine::store::{ResourceFact, ResourceState, Store};
use xdscope_schema::Schema;
use xdscope_schema::owners::Owner;
use xdscope_sources::{ReplayPosition, SourceFormat, record};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::display_safe;

use super::resources;
use crate::cli::args::{DiffArgs, Global, SourceArgs, StreamPick};
use crate::cli::error::CliError;
use crate::cli::source;
use crate::cli::source::select::Picked;
use crate::cli::source::target::GetTarget;
use crate::cli::terminal::io::Io;

/// The content of a resource.
#[derive(Clone)]
pub(super) enum Content {
    /// In the catalog of the store of the side.
    Blob(BlobId),
    /// Decoded from a file of resources.
    Tree(Value),
    /// Delivered before the recording, or lost.
    Unknown,
}

/// A resource of a side.
#[derive(Clone)]
pub(super) struct Member {
    /// First stream of the session of the client, if moments are compared.
    pub session: Option<StreamId>,
    pub node: Option<Arc<str>>,
    pub type_url: TypeUrl,
    pub name: Arc<str>,
    pub version: Option<Arc<str>>,
    pub content: Content,
    /// Whether the file had redaction marks in place of secrets.
    pub marked: bool,
}

impl Member {
    /// Key that a resource has on both sides.
    pub(super) fn key(&self) -> (Option<StreamId>, TypeUrl, Arc<str>) {
        (self.session, self.type_url.clone(), self.name.clone())
    }

    pub(super) fn is(&self, what: &GetTarget) -> bool {
        what.is_type(&self.type_url) && what.name.as_ref().is_none_or(|name| *self.name == **name)
    }

    pub(super) fn node_name(&self) -> String {
        let stream = self.session.map(|stream| format!("#{}", stream.0)).unwrap_or_default();
        self.node.as_deref().filter(|node| !node.is_empty()).map_or(stream, str::to_owned)
    }
}

pub(super) struct Side {
    pub members: Vec<Member>,
    store: Option<Rc<Store>>,
    /// Key of the ids of secrets, if two sources are compared.
    pub seed: u64,
}

impl Side {
    /// Returns a side with one version of a resource; empty if the version removed it.
    pub(super) fn of_version(version: &ResourceVersion, name: &str, store: &Rc<Store>) -> Side {
        let url = store.row_of(version.n).and_then(|row| store.line(row)).map(|line| line.row.type_url);
        // The row may be dropped.
        let of_content = |content| {
            let catalog = store.catalog();
            TypeUrl::new(catalog.text(catalog.entry(content).type_url).to_owned())
        };
        let url = url.or_else(|| version.content.map(of_content));
        let member = version.content.map(|content| Member {
            session: None,
            node: None,
            type_url: url.unwrap_or_default(),
            name: name.into(),
            version: Some(version.version.clone()),
            content: Content::Blob(content),
            marked: false,
        });
        Side { members: member.into_iter().collect(), store: Some(store.clone()), seed: 0 }
    }

    /// Returns a side with the resources at a moment, of the picked clients, and of `only` if there
    /// are any.
    pub(super) fn at(
        mut members: Vec<Member>,
        clients: &Clients,
        only: [Option<StreamId>; 2],
        store: &Rc<Store>,
    ) -> Side {
        let only = clients.sessions(only.into_iter().flatten());
        let picked = clients.sessions(clients.picked.iter().copied());
        members.retain(|member| {
            member.session.is_some_and(|session| {
                picked.contains(&session) && (only.is_empty() || only.contains(&session))
            })
        });
        Side { members, store: Some(store.clone()), seed: 0 }
    }

    pub(super) fn is_same_source(&self, other: &Side) -> bool {
        matches!((&self.store, &other.store), (Some(a), Some(b)) if Rc::ptr_eq(a, b))
    }

    /// Whether content has redaction marks from before it was read or recorded.
    pub(super) fn is_marked(&self, member: &Member) -> bool {
        match (&member.content, &self.store) {
            (Content::Blob(id), Some(store)) => {
                let catalog = store.catalog();
                !catalog.blob(*id).redacted && catalog.bytes(*id).is_some_and(|bytes| has_mark(&bytes))
            }
            _ => member.marked,
        }
    }

    /// Returns the Kubernetes objects that a resource of a session was made from.
    pub(super) fn owners(&self, member: &Member) -> Vec<Owner> {
        match (&member.content, &self.store) {
            (Content::Blob(id), Some(store)) => owners_of_content(store.catalog(), *id),
            _ => Vec::new(),
        }
    }

    /// Returns the content as protobuf JSON with original field names.
    pub(super) fn tree(&self, member: &Member, schema: &Schema) -> Option<Value> {
        match &member.content {
            Content::Blob(id) => {
                let bytes = self.store.as_ref()?.catalog().bytes(*id)?;
                Some(schema.any_to_json(&bytes))
            }
            Content::Tree(tree) => Some(tree.clone()),
            Content::Unknown => None,
        }
    }
}

/// Whether the bytes have a redaction mark, of xdscope or of Envoy.
pub(super) fn has_mark(bytes: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(bytes, mark).is_some();
    has(b"[redacted ") || has(b"[redacted]")
}

/// Whether two resources are equal by their bytes or versions.
pub(super) fn same(a: &Side, one: &Member, b: &Side, other: &Member) -> bool {
    match (&one.content, &other.content) {
        (Content::Blob(x), Content::Blob(y)) => match (&a.store, &b.store) {
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => x == y,
            (Some(a), Some(b)) => {
                let bytes = a.catalog().bytes(*x);
                bytes.is_some() && bytes == b.catalog().bytes(*y)
            }
            _ => false,
        },
        (Content::Tree(x), Content::Tree(y)) => x == y,
        (Content::Unknown, Content::Unknown) => one.version == other.version,
        _ => false,
    }
}

/// The clients of a source so far, also those of dropped streams.
#[derive(Default)]
pub(super) struct Clients {
    /// The first stream of the session of each stream.
    roots: BTreeMap<StreamId, StreamId>,
    /// The streams that the flags pick.
    picked: BTreeSet<StreamId>,
}

impl Clients {
    /// Notes the streams of a store. Returns an error while no stream is picked.
    pub(super) fn note(&mut self, store: &Store, pick: Option<&StreamPick>) -> Result<(), CliError> {
        for stream in store.streams() {
            let before = stream.reconnect_of.and_then(|before| self.roots.get(&before).copied());
            self.roots.entry(stream.stream).or_insert(before.unwrap_or(stream.stream));
        }
        match Picked::of(pick, store) {
            Ok(picked) => self.picked.extend(picked.streams.iter().map(|stream| stream.stream)),
            Err(error) if self.picked.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    fn sessions(&self, streams: impl Iterator<Item = StreamId>) -> BTreeSet<StreamId> {
        streams.filter_map(|stream| self.roots.get(&stream).copied()).collect()
    }
}

/// Returns the current resources of all clients, each from its newest stream.
pub(super) fn members(store: &Store, clients: &Clients, whats: &[GetTarget]) -> Vec<Member> {
    let superseded: BTreeSet<StreamId> =
        store.streams().iter().filter_map(|stream| stream.reconnect_of).collect();
    let mut out = Vec::new();
    for state in store.summaries() {
        let asked = whats.is_empty() || whats.iter().any(|what| what.is_type(&state.type_url));
        if !asked || superseded.contains(&state.stream) {
            continue;
        }
        for fact in store.resources(state.stream, &state.type_url) {
            let wanted = |what: &GetTarget| what.is_type(&fact.type_url) && named(what, &fact);
            if is_present(&fact) && (whats.is_empty() || whats.iter().any(wanted)) {
                out.push(Member {
                    session: clients.roots.get(&fact.stream).copied(),
                    node: fact.node,
                    type_url: fact.type_url,
                    name: fact.name,
                    version: fact.version,
                    content: fact.content.map_or(Content::Unknown, Content::Blob),
                    marked: false,
                });
            }
        }
    }
    out
}

fn named(what: &GetTarget, fact: &ResourceFact) -> bool {
    what.name
        .as_ref()
        .is_none_or(|name| *fact.name == **name || fact.aliases.iter().any(|alias| **alias == **name))
}

/// Whether the server sent the resource, and did not remove it.
fn is_present(fact: &ResourceFact) -> bool {
    use ResourceState::*;
    match fact.state {
        Present | Kept | Orphan | Redirected => true,
        Waiting | Removed | Absent | Empty | Expired | Released => false,
    }
}

/// Whether a source has its own key for the ids of secrets: a recording.
pub(super) fn is_keyed(source: &str, io: &Io<'_>) -> bool {
    let mut head = Vec::new();
    let file = offline::find(source, io).ok().and_then(|path| File::open(path).ok());
    let read = file.map(|file| file.take(64).read_to_end(&mut head));
    matches!(read, Some(Ok(_))) && record::detect(&head) == record::FileFormat::Recording
}

/// Opens a source as a side, with each resource once, however many clients hold it. `seed` keys the
/// ids of secrets, except in recordings.
pub(super) fn open(
    source: &SourceArgs,
    seed: u64,
    args: &DiffArgs,
    whats: &[GetTarget],
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Side, CliError> {
    if source.source != "-"
        && let Ok(path) = resources::find(&source.source, io)
    {
        let schema = schema_flags::schema(&source.descriptors, global)?;
        let (mut members, notices) = resources::read(&path, source, seed, &schema)?;
        for notice in notices.iter().filter(|_| !global.quiet) {
            io.say(&display_safe(&format!("{}: {notice}", source.source)));
        }
        members.retain(|member| whats.is_empty() || whats.iter().any(|what| member.is(what)));
        return Ok(Side { members, store: None, seed });
    }
    let (store, folded) = source::store_with_seed(source, &ReplayPosition::End, seed, global, io)?;
    let seed = if folded.format == SourceFormat::Recording { store.catalog().seed() } else { seed };
    let mut clients = Clients::default();
    clients.note(&store, args.streams.pick().as_ref())?;
    let store = Rc::new(store);
    let side = Side::at(members(&store, &clients, whats), &clients, [None, None], &store);
    let mut once: HashMap<(TypeUrl, Arc<str>), usize> = HashMap::new();
    let mut kept: Vec<Member> = Vec::new();
    let mut variants = BTreeSet::new();
    for member in side.members {
        let member = Member { session: None, ..member };
        match once.get(&(member.type_url.clone(), member.name.clone())).and_then(|at| kept.get_mut(*at)) {
            None => {
                once.insert((member.type_url.clone(), member.name.clone()), kept.len());
                kept.push(member);
            }
            Some(before) => {
                if let (Content::Blob(a), Content::Blob(b)) = (&before.content, &member.content)
                    && a != b
                {
                    variants.insert(member.label());
                }
                // The newest stream wins.
                if !matches!(member.content, Content::Unknown) {
                    *before = member;
                }
            }
        }
    }
    if let (Some(first), false) = (variants.first(), global.quiet) {
        let more =
            if variants.len() > 1 { format!(" and {} more", variants.len() - 1) } else { String::new() };
        io.say(&display_safe(&format!(
            "{}: clients were given different contents of {first}{more}; those of the newest stream are compared (--node or --stream selects one)",
            source.source,
        )));
    }
    Ok(Side { members: kept, store: Some(store), seed })
}
