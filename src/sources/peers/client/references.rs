use std::collections::{BTreeMap, BTreeSet, HashMap};

use xdscope_schema::links::SourceKind;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Sym, Variant};

use super::Links;
use super::structured::{self, LeadsTo, MAX_REDIRECTS};
use super::track::Changes;
use xdscope_wire::xdstp::StructuredName;

/// The kinds of references that are followed.
#[derive(Clone, Default)]
pub(super) struct Finder {
    /// References in the content of a resource; `None` if they are not followed.
    pub(super) links: Option<Links>,
    /// Follow redirects and lists of structured names (opt-in, docs/protocol.md#k-01).
    pub(super) structured: bool,
}

/// A resource: its type and its name.
pub(super) type ResourceKey = (Kind, Sym);

/// References between accepted resources.
///
/// Counted, so that a resource that nothing refers to any more is unsubscribed from
/// (docs/protocol.md#e-45).
#[derive(Default)]
pub(super) struct References {
    pub(super) parents: HashMap<ResourceKey, Parent>,
    pub(super) counts: BTreeMap<Kind, BTreeMap<Sym, u32>>,
    /// Redirects that led to a name.
    pub(super) hops: HashMap<ResourceKey, u8>,
    /// Sources of the resources that their newest reference requests outside of ADS.
    pub(super) own: HashMap<ResourceKey, OwnSource>,
    /// By listener with scoped routes: the source of the route configurations, outside of ADS.
    pub(super) scopes: BTreeMap<ResourceKey, OwnSource>,
}

/// A source outside of ADS that a reference states (docs/protocol.md#i-06).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnSource {
    /// The cluster of the source; `None` if the source names a target in another way.
    pub(super) cluster: Option<Box<str>>,
    /// The protocol variant of the source.
    pub(super) variant: Variant,
}

impl OwnSource {
    /// Returns a source that is stated; `None` for ADS and unknown sources.
    fn stated(kind: SourceKind, cluster: Option<Box<str>>) -> Option<OwnSource> {
        let variant = match kind {
            SourceKind::Grpc => Variant::Sotw,
            SourceKind::DeltaGrpc => Variant::Delta,
            SourceKind::Rest => Variant::Rest,
            SourceKind::Ads | SourceKind::Own | SourceKind::Path => return None,
        };
        Some(OwnSource { cluster, variant })
    }
}

pub(super) struct Parent {
    pub(super) content: BlobId,
    pub(super) children: BTreeSet<ResourceKey>,
    /// The resource is a redirect to its only child.
    redirect: bool,
}

/// The references found in one resource.
#[derive(Default)]
struct FoundReferences {
    children: BTreeSet<ResourceKey>,
    own: HashMap<ResourceKey, OwnSource>,
    /// The source of the route configurations of scoped routes.
    routes: Option<OwnSource>,
    redirect: bool,
}

/// The outcome of an update.
#[derive(Default)]
pub(super) struct Updated {
    /// Types whose referenced names changed, with all their names.
    pub(super) names: Vec<(Kind, BTreeSet<Sym>)>,
    /// Structured names that were found.
    pub(super) structured_names: Vec<StructuredName>,
}

/// Whether a reference covers all resources of a type, or all with a prefix.
///
/// Scoped routes are requested as a wildcard. Virtual hosts are requested on first use, from a
/// subscription that begins without names.
pub(super) fn is_pattern(kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Srds => name == "*",
        Kind::Vhds => name.ends_with("/*"),
        _ => false,
    }
}

impl References {
    /// Applies the changed resources of one type.
    pub(super) fn update(
        &mut self,
        kind: Kind,
        changes: Changes,
        finder: &Finder,
        catalog: &mut Catalog,
    ) -> Updated {
        let (mut touched, mut wishes) = (BTreeSet::new(), Vec::new());
        for name in changes.gone {
            if let Some(old) = self.parents.remove(&(kind, name)) {
                self.count(&old.children, false, &mut touched);
            }
            self.scope((kind, name), None, &mut touched);
        }
        for (name, content) in changes.accepted {
            if self.parents.get(&(kind, name)).is_some_and(|known| known.content == content) {
                continue;
            }
            let Some(bytes) = catalog.bytes(content) else { continue };
            let found = finder.find(&bytes, catalog, &mut wishes);
            let FoundReferences { children, own, routes, redirect } = self.without_loops((kind, name), found);
            self.count(&children, true, &mut touched);
            self.scope((kind, name), routes, &mut touched);
            for child in &children {
                let of_scope = if kind == Kind::Srds { self.scopes.values().next() } else { None };
                match own.get(child).or(of_scope) {
                    Some(source) => drop(self.own.insert(*child, source.clone())),
                    None => drop(self.own.remove(child)),
                }
            }
            if let Some(old) = self.parents.insert((kind, name), Parent { content, children, redirect }) {
                self.count(&old.children, false, &mut touched);
            }
        }
        let names = |kind: &Kind| self.counts.get(kind).map(|counts| counts.keys().copied().collect());
        let names = touched.iter().map(|kind| (*kind, names(kind).unwrap_or_default())).collect();
        Updated { names, structured_names: wishes }
    }

    /// Sets the source of the route configurations of a listener's scoped routes.
    ///
    /// The scopes of all listeners are one subscription, so the first listener decides.
    fn scope(&mut self, listener: ResourceKey, source: Option<OwnSource>, touched: &mut BTreeSet<Kind>) {
        let before = self.scopes.values().next().cloned();
        match source {
            Some(source) => drop(self.scopes.insert(listener, source)),
            None => drop(self.scopes.remove(&listener)),
        }
        let now = self.scopes.values().next();
        if before.as_ref() == now {
            return;
        }
        let scopes = self.parents.iter().filter(|((kind, _), _)| *kind == Kind::Srds);
        for child in scopes.flat_map(|(_, scope)| &scope.children) {
            match now {
                Some(source) => drop(self.own.insert(*child, source.clone())),
                None => drop(self.own.remove(child)),
            }
            touched.insert(child.0);
        }
    }

    /// Returns the source of a resource that is requested outside of ADS.
    pub(super) fn own_source(&self, kind: Kind, name: Sym) -> Option<&OwnSource> {
        self.own.get(&(kind, name))
    }

    /// Drops a redirect that leads back to itself or exceeds the limit (docs/protocol.md#k-27).
    fn without_loops(&mut self, place: ResourceKey, found: FoundReferences) -> FoundReferences {
        let (true, Some(&target)) = (found.redirect, found.children.first()) else { return found };
        let hops = self.hops.get(&place).map_or(1, |hops| hops.saturating_add(1));
        let mut at = Some(target);
        for _ in 0..=MAX_REDIRECTS {
            if at == Some(place) {
                return FoundReferences::default();
            }
            let parent = at.and_then(|at| self.parents.get(&at)).filter(|parent| parent.redirect);
            at = parent.and_then(|parent| parent.children.first().copied());
        }
        if hops > MAX_REDIRECTS {
            return FoundReferences::default();
        }
        self.hops.insert(target, hops);
        found
    }

    /// Counts references to resources, or takes them back.
    fn count(&mut self, children: &BTreeSet<ResourceKey>, more: bool, touched: &mut BTreeSet<Kind>) {
        for (kind, name) in children {
            let counts = self.counts.entry(*kind).or_default();
            let count = counts.entry(*name).or_default();
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                counts.remove(name);
                self.hops.remove(&(*kind, *name));
                self.own.remove(&(*kind, *name));
            }
            touched.insert(*kind);
        }
    }
}

impl Finder {
    /// Finds what a content refers to: its links, or the target of a redirect.
    fn find(&self, any: &[u8], catalog: &mut Catalog, wishes: &mut Vec<StructuredName>) -> FoundReferences {
        let mut found = FoundReferences::default();
        let leads_to = if self.structured { structured::leads(any) } else { None };
        match leads_to {
            Some(LeadsTo::To(url)) => {
                found.redirect = true;
                // A redirect leads to one resource, never to a glob (docs/protocol.md#k-28).
                let wish = StructuredName::found(&url).filter(|wish| !wish.glob);
                found.add(wish.as_ref().and_then(StructuredName::kind), wish, catalog, wishes);
            }
            Some(LeadsTo::List { locators, inline }) => {
                for wish in locators.iter().filter_map(|url| StructuredName::found(url)) {
                    found.add(wish.kind(), Some(wish), catalog, wishes);
                }
                inline.iter().for_each(|any| self.links_of(any, &mut found, catalog, wishes));
            }
            None => self.links_of(any, &mut found, catalog, wishes),
        }
        // A resource with content is not a redirect.
        found.redirect &= !found.children.is_empty();
        found
    }

    /// Adds the links of a content, except those to files.
    fn links_of(
        &self,
        any: &[u8],
        found: &mut FoundReferences,
        catalog: &mut Catalog,
        wishes: &mut Vec<StructuredName>,
    ) {
        let Some(links) = &self.links else { return };
        // Files are not requested.
        for to in links(any).into_iter().filter(|to| to.source != Some(SourceKind::Path)) {
            let wish = (self.structured && structured::is_structured_name(&to.name))
                .then(|| StructuredName::found(&to.name))
                .flatten();
            let name = wish.as_ref().map_or(to.name.as_str(), |wish| wish.name.as_str());
            if let Some(source) = to.source.and_then(|kind| OwnSource::stated(kind, to.cluster.clone())) {
                found.own.insert((to.kind, catalog.intern(name)), source);
            }
            if let Some(routes) = to.routes.clone() {
                found.routes = OwnSource::stated(routes.kind, routes.cluster);
            }
            match wish {
                Some(wish) => found.add(Some(to.kind), Some(wish), catalog, wishes),
                None if to.name.is_empty() => {}
                None => {
                    found.children.insert((to.kind, catalog.intern(&to.name)));
                }
            }
        }
    }
}

impl FoundReferences {
    fn add(
        &mut self,
        kind: Option<Kind>,
        wish: Option<StructuredName>,
        catalog: &mut Catalog,
        wishes: &mut Vec<StructuredName>,
    ) {
        let (Some(kind), Some(wish)) = (kind, wish) else { return };
        self.children.insert((kind, catalog.intern(&wish.name)));
        wishes.push(wish);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use xdscope_engine::lint::Reference;
    use xdscope_schema::links::RouteSource;
    use xdscope_wire::discovery::encode::{ResponseFields, encode_any};
    use xdscope_wire::event::ApiVersion;
    use xdscope_wire::{Message, MessageShape};

    /// Stores a resource with this text, and returns its content.
    fn content(catalog: &mut Catalog, kind: Kind, text: &str) -> BlobId {
        let url = kind.type_url(ApiVersion::V3).expect("a type");
        let any = encode_any(url.as_str(), text.as_bytes());
        let bytes =
            ResponseFields { type_url: url.as_str(), ..ResponseFields::default() }.encode(false, [any]);
        let message = Message::parse(MessageShape::SotwResponse, &bytes, catalog);
        message.resources().expect("a response").blobs()[0]
    }

    /// docs/protocol.md#i-06
    #[test]
    fn scopes_have_the_route_source_of_their_listener() {
        let links: Links = Arc::new(|any: &[u8]| {
            let to = |kind, name: &str, routes| Reference {
                kind,
                name: name.into(),
                source: None,
                cluster: None,
                routes,
                is_validated: false,
            };
            let source = |cluster: &str| {
                let cluster = Some(Box::from(cluster));
                Some(Box::new(RouteSource { kind: SourceKind::Grpc, cluster }))
            };
            match any.last() {
                Some(b'1') => vec![to(Kind::Srds, "*", source("one"))],
                Some(b'2') => vec![to(Kind::Srds, "*", source("two"))],
                Some(b'0') => vec![to(Kind::Srds, "*", None)],
                _ => vec![to(Kind::Rds, "r", None)],
            }
        });
        let finder = Finder { links: Some(links), structured: false };
        let (mut catalog, mut references) = (Catalog::in_memory(), References::default());
        let (listener, scope, route) = (catalog.intern("l"), catalog.intern("s"), catalog.intern("r"));
        let mut accept = |references: &mut References, kind, name, text: &str| {
            let accepted = vec![(name, content(&mut catalog, kind, text))];
            let changes = Changes { accepted, ..Changes::default() };
            references.update(kind, changes, &finder, &mut catalog)
        };
        let cluster = |references: &References| {
            references.own_source(Kind::Rds, route).and_then(|source| source.cluster.clone())
        };
        accept(&mut references, Kind::Lds, listener, "l1");
        accept(&mut references, Kind::Srds, scope, "s");
        assert_eq!(cluster(&references).as_deref(), Some("one"));
        let moved = accept(&mut references, Kind::Lds, listener, "l2");
        assert_eq!(cluster(&references).as_deref(), Some("two"));
        assert!(moved.names.iter().any(|(kind, _)| *kind == Kind::Rds), "routes are requested again");
        accept(&mut references, Kind::Lds, listener, "l0");
        assert_eq!(cluster(&references), None, "the routes are on the ADS stream");
    }
}
