use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use xdscope_engine::store::{ResourceState, StateFact, Store, StreamFact};
use xdscope_wire::discovery::encode::{ResourceFields, encode_any, put_entry};
use xdscope_wire::event::{Kind, StreamId, TypeUrl, Variant};
use xdscope_wire::pb::Fields;
use xdscope_wire::xdstp::lists::LOCATOR;
use xdscope_wire::xdstp::{Name, glob_matches, is_glob};

use super::faults::Faults;

/// The field `type_url` of an `Any`.
const TYPE_URL: u32 = 1;
/// The end of the type URLs of list collections.
const COLLECTION: &[u8] = b"Collection";
/// The type of the wrapper of a resource with a TTL in SotW (docs/protocol.md#g-08).
pub(super) const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// Resources by type, with a version for each type and each resource.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    types: BTreeMap<TypeUrl, Arc<Type>>,
    faults: Faults,
}

/// The resources of one type.
#[derive(Debug, Default)]
pub struct Type {
    /// Version of the type (docs/protocol.md#e-15).
    pub version: String,
    /// The version in SotW, if the content has changed under [`version`](Type::version).
    marked_version: Option<String>,
    resources: BTreeMap<Arc<str>, SnapshotResource>,
    aliases: HashMap<Arc<str>, Arc<str>>,
    /// Name by canonical form, for structured names (docs/protocol.md#k-08).
    canonical: HashMap<String, Arc<str>>,
    /// A resource has a TTL.
    has_ttls: bool,
    /// All resources as encoded entries of a response: SotW and delta, without TTLs and with them.
    whole: [OnceLock<Bytes>; 4],
}

/// The form of the entries of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryForm {
    pub(super) delta: bool,
    /// The client supports TTLs in this form (docs/protocol.md#g-03, docs/protocol.md#g-09).
    pub(super) has_ttls: bool,
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotResource {
    /// Version of the type.
    pub version: String,
    /// The `Any` as it was on the wire.
    pub any: Bytes,
    /// Other names of the resource (docs/protocol.md#f-30).
    pub aliases: Vec<Arc<str>>,
    /// The time after which a client drops the resource unless it is sent again
    /// (docs/protocol.md#g-02).
    pub ttl: Option<Duration>,
    /// Redaction removed part of the content.
    pub incomplete: bool,
}

impl SnapshotResource {
    /// Creates a resource without aliases and TTL. An empty version is derived from the content.
    pub fn new(version: String, any: Bytes) -> SnapshotResource {
        SnapshotResource { version, any, aliases: Vec::new(), ttl: None, incomplete: false }
    }

    /// Whether only a wrapper can name the resource: redirects and list collections have no name of
    /// their own (docs/protocol.md#k-12, docs/protocol.md#k-27).
    fn needs_wrapper(&self) -> bool {
        let type_url = Fields::new(&self.any).map_while(Result::ok).find(|field| field.number == TYPE_URL);
        type_url.is_some_and(|url| url.bytes() == LOCATOR.as_bytes() || url.bytes().ends_with(COLLECTION))
    }
}

impl Type {
    /// Creates a type. Missing versions are derived from the content.
    pub fn new(version: String, resources: BTreeMap<Arc<str>, SnapshotResource>) -> Type {
        let mut out = Type { version, resources, ..Type::default() };
        for (name, resource) in &mut out.resources {
            if resource.version.is_empty() {
                resource.version = content_version(&resource.any);
            }
            out.aliases.extend(resource.aliases.iter().map(|alias| (alias.clone(), name.clone())));
            if let Some(parsed) = Name::parse(name) {
                out.canonical.insert(parsed.canonical(), name.clone());
            }
        }
        out.has_ttls = out.resources.values().any(|resource| resource.ttl.is_some());
        if out.version.is_empty() {
            let form = EntryForm { delta: true, has_ttls: false };
            out.version = content_version(out.encoded_all(form));
        }
        out
    }

    /// Returns the version to send: `version_info`, or `system_version_info` in delta.
    ///
    /// Delta clients compare the versions of resources, so the source's version needs no mark.
    pub fn stated_version(&self, delta: bool) -> &str {
        let version = match &self.marked_version {
            Some(marked) if !delta => marked,
            _ => &self.version,
        };
        if version.is_empty() { "0" } else { version }
    }

    /// Number of resources.
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Whether there are no resources.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Names of all resources, sorted.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.resources.keys()
    }

    /// All resources with their names, sorted by name.
    pub fn resources(&self) -> impl Iterator<Item = (&Arc<str>, &SnapshotResource)> {
        self.resources.iter()
    }

    /// Finds a resource by its name, an alias, or another spelling of a structured name.
    pub fn find(&self, name: &str) -> Option<(&Arc<str>, &SnapshotResource)> {
        if let Some(found) = self.resources.get_key_value(name) {
            return Some(found);
        }
        let canonical = || Name::parse(name).and_then(|name| self.canonical.get(&name.canonical()));
        let own = self.aliases.get(name).or_else(canonical)?;
        self.resources.get_key_value(own)
    }

    /// Returns the names that a subscription to `name` covers: the members of a glob
    /// (docs/protocol.md#k-18), otherwise one name.
    pub(super) fn covered_names<'a>(&'a self, name: &str) -> Vec<&'a Arc<str>> {
        if is_glob(name) {
            return self.resources.keys().filter(|member| glob_matches(name, member)).collect();
        }
        self.find(name).map(|(name, _)| name).into_iter().collect()
    }

    /// Returns the TTL of a resource.
    pub(super) fn ttl(&self, name: &str) -> Option<Duration> {
        self.resources.get(name).and_then(|resource| resource.ttl)
    }

    /// Returns which of these resources have a TTL.
    pub(super) fn with_ttl<'a>(
        &'a self,
        names: &'a BTreeSet<Arc<str>>,
    ) -> impl Iterator<Item = (&'a Arc<str>, Duration)> {
        let some = if self.has_ttls { Some(names) } else { None };
        some.into_iter().flatten().filter_map(|name| Some((name, self.ttl(name)?)))
    }

    /// Returns all resources as encoded entries, which all clients share.
    pub(super) fn encoded_all(&self, form: EntryForm) -> &Bytes {
        let EntryForm { delta, has_ttls } = form;
        let [sotw, with_versions, wrapped, timed] = &self.whole;
        let whole = match (delta, has_ttls && self.has_ttls) {
            (false, false) => sotw,
            (true, false) => with_versions,
            (false, true) => wrapped,
            (true, true) => timed,
        };
        whole.get_or_init(|| {
            let mut out = Vec::new();
            for (name, resource) in &self.resources {
                self.put(name, resource, form, &mut out);
            }
            out.into()
        })
    }

    /// Returns some resources as encoded entries.
    pub(super) fn encoded_some(&self, names: &BTreeSet<Arc<str>>, form: EntryForm) -> Bytes {
        if names.len() == self.resources.len() {
            return self.encoded_all(form).clone();
        }
        let mut out = Vec::new();
        for (name, resource) in names.iter().filter_map(|name| self.resources.get_key_value(name)) {
            self.put(name, resource, form, &mut out);
        }
        out.into()
    }

    /// Returns heartbeats of these resources as encoded entries of a delta response: TTLs without
    /// content (docs/protocol.md#g-06).
    pub(super) fn encoded_heartbeats(&self, names: &BTreeSet<Arc<str>>) -> Bytes {
        let form = EntryForm { delta: true, has_ttls: true };
        let mut out = Vec::new();
        for (name, resource) in names.iter().filter_map(|name| self.resources.get_key_value(name)) {
            self.put_wrapped(name, resource, None, form, &mut out);
        }
        out.into()
    }

    /// Appends a resource as an entry of a response.
    fn put(&self, name: &str, resource: &SnapshotResource, form: EntryForm, out: &mut Vec<u8>) {
        if form.delta || (form.has_ttls && resource.ttl.is_some()) || resource.needs_wrapper() {
            self.put_wrapped(name, resource, Some(&resource.any), form, out);
        } else {
            put_entry(out, &resource.any);
        }
    }

    /// Appends a resource in a `Resource`, which SotW wraps in an `Any`.
    ///
    /// In SotW the version of the wrapper is that of the response (docs/protocol.md#g-10).
    fn put_wrapped(
        &self,
        name: &str,
        resource: &SnapshotResource,
        payload: Option<&[u8]>,
        form: EntryForm,
        out: &mut Vec<u8>,
    ) {
        let fields = ResourceFields {
            version: if form.delta { &resource.version } else { self.stated_version(false) },
            payload,
            name,
            aliases: resource.aliases.iter().map(|alias| &**alias).collect(),
            ttl: if form.has_ttls { resource.ttl.map(|ttl| ttl.as_nanos() as i128) } else { None },
        };
        let wrapper = fields.encode();
        if form.delta { put_entry(out, &wrapper) } else { put_entry(out, &encode_any(WRAPPER, &wrapper)) }
    }

    /// Whether the resource exists and is new or changed since `before`, apart from its TTL.
    fn has_new_content(&self, name: &str, before: &Type) -> bool {
        let known = before.resources.get(name);
        self.resources.get(name).is_some_and(|now| known.is_none_or(|known| known.any != now.any))
    }

    /// Whether the resource exists and is new or changed since `before`. A changed TTL counts for
    /// clients with TTLs.
    pub(super) fn is_new(&self, name: &str, before: &Type, has_ttls: bool) -> bool {
        self.has_new_content(name, before) || (has_ttls && self.ttl(name) != before.ttl(name))
    }

    /// Returns the names of new or changed resources, and the names of removed resources.
    pub(super) fn changes(&self, before: &Type, has_ttls: bool) -> (BTreeSet<Arc<str>>, BTreeSet<Arc<str>>) {
        if std::ptr::eq(self, before) {
            return Default::default();
        }
        let changed = self.names().filter(|name| self.is_new(name, before, has_ttls));
        let gone = before.names().filter(|name| !self.resources.contains_key(*name));
        (changed.cloned().collect(), gone.cloned().collect())
    }
}

/// Returns a version that is derived from content.
fn content_version(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

impl Snapshot {
    /// Creates a snapshot without faults.
    pub fn new(types: BTreeMap<TypeUrl, Type>) -> Snapshot {
        let types = types.into_iter().map(|(url, known)| (url, Arc::new(known))).collect();
        Snapshot { types, faults: Faults::default() }
    }

    /// Adds or replaces the resources of a type.
    pub fn insert(&mut self, url: TypeUrl, resources: Type) {
        self.types.insert(url, Arc::new(resources));
    }

    /// Returns the snapshot with mistakes in how it is served.
    pub fn with_faults(self, faults: Faults) -> Snapshot {
        Snapshot { faults, ..self }
    }

    pub(super) fn faults(&self) -> Faults {
        self.faults
    }

    /// Returns the resources that these streams received, at the current state of `store`.
    ///
    /// Later streams of a node replace earlier ones.
    pub fn from_store(store: &Store, streams: &[StreamFact]) -> Snapshot {
        let mut types: BTreeMap<TypeUrl, MergedType> = BTreeMap::new();
        let mut streams: Vec<&StreamFact> = streams.iter().collect();
        streams.sort_by_key(|stream| (stream.last_message, stream.stream));
        let mut states: BTreeMap<StreamId, Vec<StateFact>> = BTreeMap::new();
        for state in store.states() {
            states.entry(state.summary.stream).or_default().push(state);
        }
        for stream in streams {
            for state in states.remove(&stream.stream).unwrap_or_default() {
                let growing = types.entry(state.summary.type_url.clone()).or_default();
                let kind = Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind);
                let full = kind.is_some_and(Kind::full_state) && state.summary.variant != Variant::File;
                let node = stream.node.as_ref().map(|node| node.id.as_str()).filter(|id| !id.is_empty());
                if full && !state.summary.variant.is_delta() && state.traffic.pushes > 0 {
                    growing.forget(node);
                }
                growing.sent |= state.traffic.pushes > 0;
                growing.take(store, stream.stream, &state.summary.type_url, node);
                if let Some(version) = state.versions.offered.filter(|version| !version.is_empty()) {
                    growing.version = version.to_string();
                }
            }
        }
        // A type without any response is unknown to the recorded server.
        types.retain(|_, growing| growing.sent);
        Snapshot::new(types.into_iter().map(|(url, growing)| (url, growing.finish())).collect())
    }

    /// All types with their resources.
    pub fn types(&self) -> impl Iterator<Item = (&TypeUrl, &Arc<Type>)> {
        self.types.iter()
    }

    pub(super) fn of_type(&self, url: &str) -> Option<&Arc<Type>> {
        self.types.get(url)
    }

    /// Whether no type is known.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns this snapshot as the successor of another.
    ///
    /// A version names one content (docs/protocol.md#e-15, docs/protocol.md#f-35). So where content
    /// changed under an unchanged version, the SotW version of the type gets a mark, and the
    /// resource a version that is derived from the content.
    pub fn after(self, before: &Snapshot) -> Snapshot {
        let mark =
            |version: &str, bytes: &[u8]| format!("{version}+{:08x}", XxHash3_64::oneshot(bytes) as u32);
        let mut types = BTreeMap::new();
        for (url, now) in self.types {
            let Some(known) = before.types.get(&url) else {
                types.insert(url, now);
                continue;
            };
            let (changed, gone) = now.changes(known, true);
            if changed.is_empty() && gone.is_empty() {
                types.insert(url, known.clone());
                continue;
            }
            let mut has_news = !gone.is_empty();
            let mut resources = now.resources.clone();
            for (name, resource) in &mut resources {
                // A new TTL leaves the version as it is (docs/protocol.md#g-04).
                let is_changed = changed.contains(name) && now.has_new_content(name, known);
                has_news |= is_changed;
                match known.resources.get(name) {
                    Some(known) if !is_changed => resource.version.clone_from(&known.version),
                    Some(known) if known.version == resource.version => {
                        resource.version = content_version(&resource.any);
                    }
                    _ => {}
                }
            }
            let mut next = Type::new(now.version.clone(), resources);
            if now.version == known.version {
                let form = EntryForm { delta: true, has_ttls: false };
                let marked = || Some(mark(&now.version, now.encoded_all(form)));
                next.marked_version = if has_news { marked() } else { known.marked_version.clone() };
            }
            types.insert(url, Arc::new(next));
        }
        // A type that is gone stays, without resources, so that clients learn of the removal.
        for (url, known) in &before.types {
            if !types.contains_key(url) {
                let mut gone = Type::new(known.version.clone(), BTreeMap::new());
                gone.marked_version = Some(mark(&known.version, b""));
                types.insert(url.clone(), Arc::new(gone));
            }
        }
        Snapshot { types, faults: self.faults }
    }

    /// Returns type and name of the resources that redaction left incomplete.
    pub fn incomplete(&self) -> Vec<(TypeUrl, Arc<str>)> {
        let of_type = |(url, known): (&TypeUrl, &Arc<Type>)| {
            let incomplete = known.resources().filter(|(_, resource)| resource.incomplete);
            incomplete.map(|(name, _)| (url.clone(), name.clone())).collect::<Vec<_>>()
        };
        self.types.iter().flat_map(of_type).collect()
    }
}

/// A type while its streams are merged.
#[derive(Default)]
struct MergedType {
    version: String,
    /// Resource by name, with the node whose stream carried it.
    resources: BTreeMap<Arc<str>, (Option<String>, SnapshotResource)>,
    sent: bool,
}

impl MergedType {
    /// Drops the resources of a node, which the next response replaces.
    fn forget(&mut self, node: Option<&str>) {
        self.resources.retain(|_, (carrier, _)| carrier.is_none() || carrier.as_deref() != node);
    }

    /// Takes over the resources of a type on a stream, also their removals.
    fn take(&mut self, store: &Store, stream: StreamId, url: &TypeUrl, node: Option<&str>) {
        let catalog = store.catalog();
        for fact in store.resources(stream, url) {
            match fact.state {
                ResourceState::Waiting | ResourceState::Empty => continue,
                ResourceState::Removed | ResourceState::Absent | ResourceState::Expired => {
                    self.sent = true;
                    let own = |(carrier, _): &(Option<String>, SnapshotResource)| carrier.as_deref() == node;
                    if self.resources.get(&fact.name).is_some_and(own) {
                        self.resources.remove(&fact.name);
                    }
                    continue;
                }
                _ => {}
            }
            let Some(content) = fact.content else { continue };
            let Some(any) = catalog.bytes(content) else { continue };
            if catalog.entry(content).payload != Some(content) {
                continue;
            }
            self.sent = true;
            let resource = SnapshotResource {
                version: fact.version.as_deref().unwrap_or_default().to_owned(),
                any,
                aliases: fact.aliases,
                ttl: fact.ttl.and_then(|ttl| ttl.ttl),
                incomplete: catalog.blob(content).redacted,
            };
            self.resources.insert(fact.name, (node.map(str::to_owned), resource));
        }
    }

    fn finish(self) -> Type {
        let resources = self.resources.into_iter().map(|(name, (_, resource))| (name, resource)).collect();
        Type::new(self.version, resources)
    }
}
