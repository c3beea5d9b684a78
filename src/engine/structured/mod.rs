//! Facts about `xdstp` names that a resource alone does not have.
//!
//! The parts of a name, the members of a collection, the targets of a redirect, alternatives, and
//! the hops of relays. All are computed on demand, for the names that a view shows.

#![warn(missing_docs)]

mod alternatives;
mod hops;
mod lists;
mod parts;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::store::{GlobMembers, ResourceFact, ResourceState, Store};
use xdscope_schema::Schema;
use xdscope_wire::event::{StreamId, TYPE_PREFIX, TypeUrl};
use xdscope_wire::xdstp::lists::{self as wire_lists, LOCATOR, Locator};
use xdscope_wire::xdstp::{Name, is_glob, is_structured};

use alternatives::Alternatives;
pub use hops::HopFact;
pub use lists::{ListMembers, MAX_LISTED_MEMBERS, MemberFact, MemberState};
pub use parts::NameParts;

/// Contents that are searched for references with alternatives.
const MAX_SEARCHED_CONTENTS: usize = 20_000;

/// Maximum length of a chain of redirects, alternatives or relays.
pub const MAX_CHAIN: usize = 8;

/// The facts about an `xdstp` name beyond its [`ResourceFact`].
#[derive(Clone, Debug)]
pub struct StructuredFact {
    /// The parts of the name.
    pub parts: NameParts,
    /// The subscribed glob of which the resource is a member.
    pub glob: Option<Arc<str>>,
    /// The members of a glob or list collection.
    pub members: Option<Members>,
    /// The targets of a redirect as URIs, hop by hop.
    pub redirects: Vec<String>,
    /// The names that stand in for this one while its server is unreachable.
    pub alternatives: Vec<String>,
    /// The names for which this one stands in.
    pub alternative_of: Vec<String>,
    /// The alternative that the client has in place of this name.
    pub served_by: Option<String>,
    /// The streams on which relays pass the resource on, from the origin to the last client. Empty
    /// without a relay.
    pub hops: Vec<HopFact>,
}

/// The members of a collection.
#[derive(Clone, Debug)]
pub enum Members {
    /// Present resources that match a glob.
    Glob(GlobMembers),
    /// Entries of a list collection.
    List(ListMembers),
}

/// The globs of a type, with the number of their members.
type CountedGlobs = Rc<HashMap<Arc<str>, GlobMembers>>;

/// Computes the facts of `xdstp` names, and keeps what several names share.
pub struct StructuredNames<'a> {
    store: &'a Store,
    schema: &'a Schema,
    /// The streams whose contents state alternatives.
    streams: Vec<StreamId>,
    /// Contents that are searched for alternatives.
    searched: usize,
    alternatives: OnceCell<Alternatives>,
    globs: RefCell<HashMap<(StreamId, TypeUrl), CountedGlobs>>,
    clients: RefCell<HashMap<StreamId, Rc<[StreamId]>>>,
    upstreams: RefCell<HashMap<StreamId, Rc<[StreamId]>>>,
}

impl<'a> StructuredNames<'a> {
    /// Creates the facts of names on these streams.
    pub fn new(store: &'a Store, schema: &'a Schema, streams: Vec<StreamId>) -> StructuredNames<'a> {
        StructuredNames {
            store,
            schema,
            streams,
            searched: MAX_SEARCHED_CONTENTS,
            alternatives: OnceCell::new(),
            globs: RefCell::default(),
            clients: RefCell::default(),
            upstreams: RefCell::default(),
        }
    }

    /// Searches at most this many contents for alternatives.
    pub fn searching(self, searched: usize) -> StructuredNames<'a> {
        StructuredNames { searched, ..self }
    }

    /// Returns the facts of a resource; `None` if its name is not an `xdstp` name.
    pub fn of(&self, fact: &ResourceFact) -> Option<StructuredFact> {
        if !is_structured(&fact.name) {
            return None;
        }
        let name = Name::parse(&fact.name)?;
        let canonical = name.canonical();
        let stated = self.alternatives();
        let alternatives = stated.of_name(&canonical);
        let served_by = alternatives.iter().find(|name| self.is_held(fact.stream, name)).cloned();
        Some(StructuredFact {
            parts: NameParts::from(&name),
            glob: self.store.globs(fact.stream, &fact.type_url).covering(&fact.name),
            members: self.members(fact),
            redirects: self.redirects(fact),
            alternatives: alternatives.to_vec(),
            alternative_of: stated.replaced_by(&canonical).to_vec(),
            served_by: if is_present(fact) { None } else { served_by },
            hops: self.hops(fact),
        })
    }

    fn alternatives(&self) -> &Alternatives {
        self.alternatives.get_or_init(|| self.read_alternatives())
    }

    fn read_alternatives(&self) -> Alternatives {
        Alternatives::read(self.store, self.schema, &self.streams, self.searched)
    }

    /// Returns the members of a glob or list collection.
    pub fn members(&self, fact: &ResourceFact) -> Option<Members> {
        if is_glob(&fact.name) {
            let globs = self.globs_of(fact.stream, &fact.type_url);
            return globs.get(&fact.name).copied().map(Members::Glob);
        }
        if !is_structured(&fact.name) {
            return None;
        }
        let any = self.content_of(fact, |type_url| type_url.ends_with("Collection"))?;
        let entries = wire_lists::entries(wire_lists::value(&any));
        Some(Members::List(lists::members(&entries, |name| self.find(fact.stream, name))))
    }

    fn globs_of(&self, stream: StreamId, type_url: &TypeUrl) -> CountedGlobs {
        let mut known = self.globs.borrow_mut();
        let count = || Rc::new(self.store.globs(stream, type_url).members().into_iter().collect());
        known.entry((stream, type_url.clone())).or_insert_with(count).clone()
    }

    /// Returns the targets of a redirect, and of the redirects to which they lead.
    pub fn redirects(&self, fact: &ResourceFact) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        let mut next = self.locator_of(fact);
        while let Some(locator) = next.take() {
            if chain.contains(&locator.uri) {
                break;
            }
            let target = self.find(fact.stream, &locator.target());
            chain.push(locator.uri);
            if chain.len() < MAX_CHAIN {
                next = target.and_then(|target| self.locator_of(&target));
            }
        }
        chain
    }

    /// Returns the locator that a resource has in place of content.
    fn locator_of(&self, fact: &ResourceFact) -> Option<Locator> {
        let any = self.content_of(fact, |type_url| type_url == LOCATOR)?;
        Locator::read(wire_lists::value(&any))
    }

    /// Returns the newest content of a resource if its type is wanted.
    fn content_of(&self, fact: &ResourceFact, wanted: impl Fn(&str) -> bool) -> Option<bytes::Bytes> {
        let (catalog, id) = (self.store.catalog(), fact.content?);
        if wanted(catalog.text(catalog.entry(id).type_url)) { catalog.bytes(id) } else { None }
    }

    /// Finds a name on the streams of a stream's client. A present resource comes first.
    fn find(&self, stream: StreamId, name: &str) -> Option<ResourceFact> {
        let kind = Name::parse(name)?.kind;
        // A collection is subscribed on the type of its members.
        let kind = kind.strip_suffix("Collection").unwrap_or(kind);
        let type_url = TypeUrl::new(format!("{TYPE_PREFIX}{kind}"));
        let streams = self.streams_of_client(stream);
        let mut facts = streams.iter().filter_map(|id| self.store.resource(*id, &type_url, name));
        let first = facts.next()?;
        if is_present(&first) { Some(first) } else { facts.find(is_present).or(Some(first)) }
    }

    fn is_held(&self, stream: StreamId, name: &str) -> bool {
        self.find(stream, name).is_some_and(|fact| is_present(&fact))
    }

    fn streams_of_client(&self, stream: StreamId) -> Rc<[StreamId]> {
        let streams = || self.store.streams_of_client(stream).into();
        self.clients.borrow_mut().entry(stream).or_insert_with(streams).clone()
    }

    fn hops(&self, fact: &ResourceFact) -> Vec<HopFact> {
        let mut known = self.upstreams.borrow_mut();
        hops::hops(self.store, fact, &mut |stream| {
            known.entry(stream).or_insert_with(|| hops::upstreams(self.store, stream).into()).clone()
        })
    }
}

/// Whether the client has the resource.
fn is_present(fact: &ResourceFact) -> bool {
    matches!(fact.state, ResourceState::Present | ResourceState::Kept | ResourceState::Redirected)
}
