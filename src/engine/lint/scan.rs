use super::context::RuleContext;
use super::structured::{self, Entry, Locator};
use crate::engine::session::{Track, key};
use crate::wire::content::{BlobId, Catalog, Form};
use crate::wire::discovery::fields::resource;
use crate::wire::event::{Kind, Sym};
use crate::wire::pb::Fields;
use crate::wire::{Body, Message};

/// What is odd or special about the entries of a response: one look at each, for all rules.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Entries that should have a name and have none.
    pub(super) nameless: Vec<BlobId>,
    /// Entries whose payload is of another type than the response.
    pub(super) other_type: Vec<BlobId>,
    /// Delta: a payload without a version.
    pub(super) unversioned: Vec<Sym>,
    /// Delta: the payload calls itself otherwise.
    pub(super) misnamed: Vec<Sym>,
    pub(super) ttl: Vec<BlobId>,
    /// SotW: entries in a `Resource`.
    pub(super) wrapped: Vec<Sym>,
    pub(super) aliased: Vec<BlobId>,
    /// Entries with an `xdstp:` name.
    pub(super) structured: Vec<BlobId>,
    /// Redirects, by the name that is redirected.
    pub(super) redirects: Vec<(Sym, Locator)>,
    /// List collections, by their names.
    pub(super) collections: Vec<(Sym, Vec<Entry>)>,
}

/// The payload of a redirect (row K-27).
pub(super) const LOCATOR: &str = "type.googleapis.com/xds.core.v3.ResourceLocator";

impl Scan {
    pub(super) fn of(case: &mut RuleContext<'_>, track: &Track, message: &Message) -> Scan {
        let mut scan = Scan::default();
        let Some(list) = message.resources() else { return scan };
        let clean = case.memo.clean.take();
        let clean_ids = clean.as_ref().map_or(&[][..], |clean| clean.blobs());
        let catalog = case.store.catalog();
        let delta = matches!(message.body, Body::DeltaResponse(_));
        let own = catalog.strings().find(track.type_url.as_str());
        for (at, id) in list.blobs().iter().enumerate() {
            // What was fine in its place is fine.
            if clean_ids.get(at) != Some(id) {
                scan.entry(catalog, track, own, delta, *id);
            }
        }
        case.memo.clean = if scan.is_clean() { Some(list.clone()) } else { clean };
        scan
    }

    fn is_clean(&self) -> bool {
        let blobs = [&self.nameless, &self.other_type, &self.ttl, &self.aliased, &self.structured];
        let names = [&self.unversioned, &self.misnamed, &self.wrapped];
        blobs.iter().all(|list| list.is_empty()) && names.iter().all(|list| list.is_empty())
    }

    fn take_apart(&mut self, catalog: &Catalog, name: Sym, type_url: Sym, payload: Option<BlobId>) {
        let type_url = catalog.text(type_url);
        let list = type_url.ends_with("Collection");
        if type_url != LOCATOR && !list {
            return;
        }
        let Some(any) = payload.and_then(|payload| catalog.bytes(payload)) else { return };
        let value = structured::value(&any);
        if list {
            self.collections.push((name, structured::entries(value)));
        } else if let Some(locator) = Locator::read(value) {
            self.redirects.push((name, locator));
        }
    }

    fn entry(&mut self, catalog: &Catalog, track: &Track, own: Option<Sym>, delta: bool, id: BlobId) {
        let entry = catalog.entry(id);
        if entry.name == Sym::EMPTY && should_be_named(catalog, track, id) {
            self.nameless.push(id);
        }
        let stated = entry.payload.is_some() && entry.type_url != Sym::EMPTY;
        if stated && Some(entry.type_url) != own && !exempt(catalog, track, entry.name, entry.type_url) {
            self.other_type.push(id);
        }
        if entry.ttl.is_some() {
            self.ttl.push(id);
        }
        if entry.wrapped {
            self.wrapped.push(key(catalog, id));
        }
        if !entry.aliases.is_empty() {
            self.aliased.push(id);
        }
        if catalog.text(entry.name).starts_with("xdstp:") {
            self.structured.push(id);
            self.take_apart(catalog, entry.name, entry.type_url, entry.payload);
        } else if delta && track.kind != Some(Kind::Vhds) {
            let inner = entry.payload.map_or(Sym::EMPTY, |payload| catalog.entry(payload).name);
            let known = inner == Sym::EMPTY || inner == entry.name || entry.aliases.contains(&inner);
            if !known && entry.name != Sym::EMPTY {
                self.misnamed.push(entry.name);
            }
        }
        if delta && entry.payload.is_some() && entry.version == Sym::EMPTY {
            self.unversioned.push(key(catalog, id));
        }
    }
}

/// Whether the entry has a place for its name and no other way to say it. What can't be read can't be told.
fn should_be_named(catalog: &Catalog, track: &Track, id: BlobId) -> bool {
    match &catalog.blob(id).form {
        Form::Any { .. } => track.kind.is_some_and(|kind| kind.name_field().is_some()),
        Form::Wrapper { .. } => {
            let body = catalog.body(id).unwrap_or_default();
            // `resource_name`, the structured form.
            !Fields::new(&body).map_while(Result::ok).any(|field| field.number == resource::RESOURCE_NAME)
        }
        Form::Other => false,
    }
}

/// A redirect, and a collection under a name that says so, may stand on the track of another type (row E-28).
fn exempt(catalog: &Catalog, track: &Track, name: Sym, type_url: Sym) -> bool {
    let type_url = catalog.text(type_url);
    if type_url == LOCATOR {
        return true;
    }
    let collection = type_url.strip_suffix("Collection") == Some(track.type_url.as_str());
    collection && catalog.text(name).starts_with("xdstp:")
}
