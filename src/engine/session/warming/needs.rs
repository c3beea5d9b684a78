//! The resources that clusters and listeners need before the client uses them, by content.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use xdscope_schema::links::SourceKind;
use xdscope_wire::content::{BlobId, Catalog, UsedContent};
use xdscope_wire::event::{DenseHash, Kind, Sym};
use xdscope_wire::pb::{Fields, Value};

use crate::session::DynSemantics;
use crate::session::structured::alternatives::Alternatives;
use xdscope_wire::xdstp::is_structured;
use xdscope_wire::xdstp::lists;
use xdscope_wire::xdstp::lists::Locator;

/// Contents whose needs are kept.
const MAX_CONTENTS: usize = 1 << 17;
/// The field `on_demand` of a scope.
const ON_DEMAND: u32 = 4;
/// The field `vhds` of a route configuration.
const VHDS: u32 = 9;
/// The `initial_fetch_timeout` of a config source that states none.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// A resource, by type and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceKey {
    pub(crate) kind: Kind,
    pub(crate) name: Sym,
}

/// A resource that a content waits for, from a server apart from the stream of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherNeed {
    pub(crate) key: ResourceKey,
    /// The cluster of the server; empty if the config source names none.
    pub(crate) cluster: Sym,
    /// Time for which an Envoy waits for the resource. `None` for no limit.
    pub(crate) timeout: Option<Duration>,
}

/// The resources that a content waits for.
#[derive(Clone, Debug, Default)]
struct ContentNeeds {
    keys: Arc<[ResourceKey]>,
    /// Those of the resources that the client gets from the stream of the content itself.
    on_ads: Arc<[ResourceKey]>,
    /// Those of the resources that the client gets from another server.
    of_others: Arc<[OtherNeed]>,
    /// Time for which an Envoy waits for the resources, for those whose config source states one.
    /// `None` for no limit.
    timeouts: Arc<[(ResourceKey, Option<Duration>)]>,
    /// Whether the client gets the routes of scopes from that stream.
    has_scope_routes_on_ads: bool,
}

/// The resources that each content waits for, by payload.
type NeedsByContent = HashMap<BlobId, ContentNeeds, DenseHash>;

/// A cache of the resources that contents wait for, and of the alternatives that they state.
///
/// Clones share the cache, because a content never changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    by_content: Arc<RwLock<NeedsByContent>>,
    alternatives: Arc<RwLock<Alternatives>>,
}

/// Returns the types that a resource of a type waits for (docs/protocol.md#h-02,
/// docs/protocol.md#h-03).
fn needed_kinds(kind: Option<Kind>) -> &'static [Kind] {
    match kind {
        Some(Kind::Cds) => &[Kind::Eds, Kind::Sds, Kind::Ecds],
        Some(Kind::Lds) => &[Kind::Rds, Kind::Srds, Kind::Sds, Kind::Ecds],
        // Scopes and routes do not wait themselves: their listener waits.
        Some(Kind::Srds) => &[Kind::Rds],
        Some(Kind::Rds) => &[Kind::Vhds],
        _ => &[],
    }
}

/// Whether resources of the type wait for others.
pub(crate) fn can_warm(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Cds | Kind::Lds))
}

/// Whether resources of other types wait for resources of the type.
pub(crate) fn is_needed(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Eds | Kind::Rds | Kind::Srds | Kind::Vhds | Kind::Sds | Kind::Ecds))
}

/// Whether the needs of resources of the type are those of the listeners that refer to them.
pub(crate) fn passes_needs_on(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Srds | Kind::Rds))
}

impl Needs {
    fn get(&self, payload: BlobId) -> Option<ContentNeeds> {
        self.by_content.read().unwrap_or_else(PoisonError::into_inner).get(&payload).cloned()
    }

    /// Forgets contents that are not used, and marks the names that the others need as used.
    pub(crate) fn retain(&self, used: &mut UsedContent) {
        let mut known = self.by_content.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|payload, _| used.has_blob(*payload));
        known.shrink_to_fit();
        let others = known.values().flat_map(|needs| needs.of_others.iter());
        others.for_each(|need| used.name(need.cluster));
        // The resources on ADS, and those of other servers, are among all of them.
        known.values().flat_map(|needs| needs.keys.iter()).for_each(|need| used.name(need.name));
    }

    /// Returns the canonical name that a name is an alternative of, as a client knows.
    pub(crate) fn primary_of(&self, client: &str, alternative: &str) -> Option<String> {
        self.alternatives.read().unwrap_or_else(PoisonError::into_inner).primary_of(client, alternative)
    }

    /// Returns the canonical alternatives of a name that a client knows.
    pub(crate) fn alternatives_of(&self, client: &str, primary: &str) -> Vec<String> {
        self.alternatives.read().unwrap_or_else(PoisonError::into_inner).of_name(client, primary)
    }

    /// Records the alternative that a reference states to a client.
    pub(crate) fn note_alternative(&self, client: &Arc<str>, reference: &str) {
        self.alternatives.write().unwrap_or_else(PoisonError::into_inner).note(client, reference);
    }

    /// Returns the needs of a content of this type, and reads them if they are unknown.
    pub(crate) fn read(
        &self,
        catalog: &mut Catalog,
        semantics: &DynSemantics,
        kind: Option<Kind>,
        payload: BlobId,
    ) -> Arc<[ResourceKey]> {
        if let Some(known) = self.get(payload) {
            return known.keys;
        }
        let any = catalog.bytes(payload).unwrap_or_default();
        let (mut needs, mut on_ads): (Vec<ResourceKey>, Vec<ResourceKey>) = Default::default();
        let mut of_others: Vec<OtherNeed> = Vec::new();
        let mut timeouts: Vec<(ResourceKey, Option<Duration>)> = Vec::new();
        let mut has_scope_routes_on_ads = false;
        let references = match kind {
            Some(Kind::Srds) if has_field(&any, ON_DEMAND) => Vec::new(),
            // Few routes have virtual hosts to discover, and routes are many and large.
            Some(Kind::Rds) if !has_field(&any, VHDS) => return needs.into(),
            _ => semantics.references(&any),
        };
        for found in references {
            let is_file = found.source == Some(SourceKind::Path);
            let is_ads = is_on_ads(found.source, found.cluster.as_deref());
            let routes = found.routes.as_deref();
            has_scope_routes_on_ads |=
                routes.is_some_and(|routes| is_on_ads(Some(routes.kind), routes.cluster.as_deref()));
            // A name that ends in `*` stands for names that are not known yet. Scopes are needed as
            // a whole, and virtual hosts by the name of their routes.
            let is_named = !found.name.ends_with('*') || matches!(found.kind, Kind::Srds | Kind::Vhds);
            if needed_kinds(kind).contains(&found.kind) && !is_file && !found.is_optional && is_named {
                let name = catalog.intern(without_directives(&found.name));
                let need = ResourceKey { kind: found.kind, name };
                let timeout = match found.initial_fetch_timeout {
                    None => Some(DEFAULT_TIMEOUT),
                    stated => stated.filter(|stated| !stated.is_zero()),
                };
                if found.initial_fetch_timeout.is_some() {
                    timeouts.push((need, timeout));
                }
                let is_other = !is_ads && found.source.is_some() && !needs.contains(&need);
                if is_other {
                    let cluster = found.cluster.as_deref().map_or(Sym::EMPTY, |name| catalog.intern(name));
                    of_others.push(OtherNeed { key: need, cluster, timeout });
                }
                if is_ads && !on_ads.contains(&need) {
                    on_ads.push(need);
                }
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        let keys: Arc<[ResourceKey]> = needs.into();
        let needs = ContentNeeds {
            keys: keys.clone(),
            on_ads: on_ads.into(),
            of_others: of_others.into(),
            timeouts: timeouts.into(),
            has_scope_routes_on_ads,
        };
        self.learn(payload, needs);
        keys
    }

    /// Reads the target of a redirect: those that need the redirected resource wait for its target
    /// (docs/protocol.md#k-27).
    pub(crate) fn read_redirect(&self, catalog: &mut Catalog, kind: Kind, payload: BlobId) {
        let any = catalog.bytes(payload).unwrap_or_default();
        let Some(target) = Locator::read(lists::value(&any)).map(|locator| locator.target()) else {
            return;
        };
        let key = ResourceKey { kind, name: catalog.intern(&target) };
        self.learn(payload, ContentNeeds { keys: Arc::new([key]), ..ContentNeeds::default() });
    }

    fn learn(&self, payload: BlobId, needs: ContentNeeds) {
        let mut known = self.by_content.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CONTENTS {
            known.clear();
        }
        known.insert(payload, needs);
    }

    /// Returns what a content waits for.
    pub(crate) fn of_content(&self, catalog: &Catalog, entry: Option<BlobId>) -> Arc<[ResourceKey]> {
        self.of_entry(catalog, entry).keys
    }

    fn of_entry(&self, catalog: &Catalog, entry: Option<BlobId>) -> ContentNeeds {
        let payload = entry.and_then(|entry| catalog.entry(entry).payload);
        payload.and_then(|payload| self.get(payload)).unwrap_or_default()
    }

    /// Returns the needed resources that the client gets from another server.
    pub(crate) fn of_others(&self, catalog: &Catalog, entry: Option<BlobId>) -> Arc<[OtherNeed]> {
        self.of_entry(catalog, entry).of_others
    }

    /// Returns the time for which an Envoy waits for a resource that a content needs, from its
    /// request on (docs/protocol.md#e-46). `None` for no limit.
    pub(crate) fn timeout(
        &self,
        catalog: &Catalog,
        entry: Option<BlobId>,
        need: ResourceKey,
    ) -> Option<Duration> {
        let stated = self.of_entry(catalog, entry).timeouts;
        let stated = stated.iter().find(|(key, _)| *key == need);
        stated.map_or(Some(DEFAULT_TIMEOUT), |(_, timeout)| *timeout)
    }

    /// Returns the needed resources that the client gets from the stream of the content itself, and
    /// whether the routes of scopes are among them.
    pub(crate) fn on_ads(&self, catalog: &Catalog, entry: Option<BlobId>) -> (Arc<[ResourceKey]>, bool) {
        let needs = self.of_entry(catalog, entry);
        (needs.on_ads, needs.has_scope_routes_on_ads)
    }
}

/// Whether a config source is the stream of the content that states it.
fn is_on_ads(source: Option<SourceKind>, cluster: Option<&str>) -> bool {
    matches!(source, Some(SourceKind::Ads | SourceKind::Own)) && cluster.is_none()
}

/// Returns a name without its directives (docs/protocol.md#k-06).
fn without_directives(name: &str) -> &str {
    if is_structured(name) { name.split('#').next().unwrap_or_default() } else { name }
}

/// Whether a field of a resource is set: a message, or a number other than zero.
fn has_field(any: &[u8], number: u32) -> bool {
    let fields = Fields::new(lists::value(any)).map_while(Result::ok);
    let field = fields.filter(|field| field.number == number).last();
    field.is_some_and(|field| matches!(field.value, Value::Len(_)) || field.varint() != 0)
}
