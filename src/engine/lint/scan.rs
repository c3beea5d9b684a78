//! One pass over the entries of a response for all rules.

use std::sync::Arc;

use super::structured::{self, LOCATOR, ListEntry, Locator};
use crate::lint::memory::structured_contents::{InlineContent, InlineVersion, hash};
use crate::session::{Track, key};
use xdscope_wire::content::{BlobForm, BlobId, Catalog, List};
use xdscope_wire::discovery::fields::{any, resource};
use xdscope_wire::event::{Kind, Sym, TYPE_PREFIX};
use xdscope_wire::pb::Fields;
use xdscope_wire::{Message, MessageBody};

/// The response whose entries are scanned.
struct ScannedResponse<'a> {
    catalog: &'a Catalog,
    track: &'a Track,
    /// The type URL of the response.
    type_url: Option<Sym>,
    is_delta: bool,
    /// Whether the response has one entry.
    is_single: bool,
}

/// Conspicuous entries of a response, found in one pass for all rules.
#[derive(Debug, Default)]
pub(super) struct ResponseScan {
    /// Entries that lack a name.
    pub(super) nameless: Vec<BlobId>,
    /// Entries without a name whose payload cannot be decoded.
    pub(super) unreadable: Vec<BlobId>,
    /// SotW: entries that are a `Resource` of delta in the place of an `Any`.
    pub(super) of_delta: Vec<BlobId>,
    /// Entries whose payload has another type than the response.
    pub(super) other_type: Vec<BlobId>,
    /// Delta: payloads without a version.
    pub(super) unversioned: Vec<Sym>,
    /// Delta: payloads with another name than their wrapper.
    pub(super) misnamed: Vec<(Sym, Sym)>,
    /// Entries with a TTL.
    pub(super) ttl: Vec<BlobId>,
    /// Entries with a TTL on a stream whose transport version has no TTL.
    pub(super) unread_ttl: Vec<BlobId>,
    /// SotW: entries wrapped in `Resource`.
    pub(super) wrapped: Vec<Sym>,
    /// Entries with aliases.
    pub(super) aliased: Vec<BlobId>,
    /// Entries with an `xdstp:` name.
    pub(super) structured: Vec<BlobId>,
    /// Redirects by the redirected name.
    pub(super) redirects: Vec<(Sym, Locator)>,
    /// Entries of list collections by the name of the list.
    pub(super) collections: Vec<(Sym, Vec<ListEntry>)>,
    /// Named entries inside of lists, with hashes of their contents.
    pub(super) inline: Vec<InlineContent>,
}

impl ResponseScan {
    /// Scans the entries of a response.
    ///
    /// Skips entries that stand at the same position in `clean`, the newest list without
    /// conspicuous entries, and updates `clean`.
    pub(super) fn new(
        catalog: &Catalog,
        track: &Track,
        message: &Message,
        clean: &mut Option<Arc<List>>,
    ) -> ResponseScan {
        let mut scan = ResponseScan::default();
        let Some(list) = message.resources() else { return scan };
        let clean_ids = clean.as_ref().map_or(&[][..], |clean| clean.blobs());
        // A response may state another type than that of its method.
        let stated = message.type_url();
        let type_url = if stated.is_empty() { &track.type_url } else { &stated };
        let response = ScannedResponse {
            catalog,
            track,
            type_url: catalog.strings().find(type_url.as_str()),
            is_delta: matches!(message.body, MessageBody::DeltaResponse(_)),
            is_single: list.len() == 1,
        };
        for (index, id) in list.blobs().iter().enumerate() {
            if clean_ids.get(index) != Some(id) {
                scan.add_entry(&response, *id);
            }
        }
        if scan.is_clean() {
            *clean = Some(list.clone());
        }
        scan
    }

    /// Whether no entry is conspicuous. Redirects and lists are structured, too.
    fn is_clean(&self) -> bool {
        self.nameless.is_empty()
            && self.unreadable.is_empty()
            && self.of_delta.is_empty()
            && self.other_type.is_empty()
            && self.unversioned.is_empty()
            && self.misnamed.is_empty()
            && self.ttl.is_empty()
            && self.wrapped.is_empty()
            && self.aliased.is_empty()
            && self.structured.is_empty()
    }

    /// Reads the redirect or collection under a structured name.
    fn read_structured(&mut self, catalog: &Catalog, name: Sym, type_url: Sym, payload: Option<BlobId>) {
        let type_url = catalog.text(type_url);
        let is_collection = type_url.ends_with("Collection");
        if type_url != LOCATOR && !is_collection {
            return;
        }
        let Some(any) = payload.and_then(|payload| catalog.bytes(payload)) else { return };
        let value = structured::value(&any);
        if is_collection {
            structured::inline_versions(value, |entry, version, content| {
                let version = InlineVersion { list: name, entry: hash((entry, version)) };
                self.inline.push(InlineContent { version, name: entry.to_owned(), content: hash(content) });
            });
            self.collections.push((name, structured::entries(value)));
        } else if let Some(locator) = Locator::read(value) {
            self.redirects.push((name, locator));
        }
    }

    /// Adds an entry to the lists that it belongs to.
    fn add_entry(&mut self, response: &ScannedResponse<'_>, id: BlobId) {
        let ScannedResponse { catalog, track, type_url, is_delta, is_single } = *response;
        let entry = catalog.entry(id);
        if !is_delta && entry.name == Sym::EMPTY && is_delta_resource(catalog, track, id) {
            self.of_delta.push(id);
            return;
        }
        if entry.name == Sym::EMPTY && should_be_named(catalog, track, id, is_single) {
            let list = if is_unreadable(catalog, id) { &mut self.unreadable } else { &mut self.nameless };
            list.push(id);
        }
        let has_type = entry.payload.is_some() && entry.type_url != Sym::EMPTY;
        let is_other = has_type && Some(entry.type_url) != type_url;
        if is_other && !may_differ(catalog, track, entry.name, entry.type_url) {
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
            self.read_structured(catalog, key(catalog, id), entry.type_url, entry.payload);
        } else if is_delta && track.kind != Some(Kind::Vhds) {
            let inner = entry.payload.map_or(Sym::EMPTY, |payload| catalog.entry(payload).name);
            let is_known = inner == Sym::EMPTY || inner == entry.name || entry.aliases.contains(&inner);
            if !is_known && entry.name != Sym::EMPTY {
                self.misnamed.push((entry.name, inner));
            }
        }
        // The target of a redirect has a version, the redirect needs none.
        let is_redirect = catalog.text(entry.type_url) == LOCATOR;
        if is_delta && entry.payload.is_some() && entry.version == Sym::EMPTY && !is_redirect {
            self.unversioned.push(key(catalog, id));
        }
    }
}

/// Whether an entry without a name should have one. `is_single`: the response has no other entry.
fn should_be_named(catalog: &Catalog, track: &Track, id: BlobId, is_single: bool) -> bool {
    // A type of another plane may have one resource, which needs no name.
    if track.kind.is_none() && is_single {
        return false;
    }
    match &catalog.blob(id).form {
        BlobForm::Any { .. } => track.kind.is_some_and(|kind| kind.name_field().is_some()),
        BlobForm::Wrapper { .. } => {
            let body = catalog.body(id).unwrap_or_default();
            // `Resource.resource_name`.
            !Fields::new(&body).map_while(Result::ok).any(|field| field.number == resource::RESOURCE_NAME)
        }
        BlobForm::Other => false,
    }
}

/// Whether an entry is a `Resource` of delta in the place of an `Any`: its version and its resource
/// have the field numbers of the type URL and of the value.
fn is_delta_resource(catalog: &Catalog, track: &Track, id: BlobId) -> bool {
    let any = catalog.entry(id).payload.and_then(|payload| catalog.bytes(payload));
    let Some(any) = any else { return false };
    let mut fields = Fields::new(structured::value(&any)).map_while(Result::ok);
    let type_url = fields.find(|field| field.number == any::TYPE_URL);
    type_url.is_some_and(|field| !track.type_url.is_empty() && field.text() == track.type_url.as_str())
}

/// Whether the fields of a payload cannot be told apart.
fn is_unreadable(catalog: &Catalog, id: BlobId) -> bool {
    let any = catalog.entry(id).payload.and_then(|payload| catalog.bytes(payload));
    any.is_some_and(|any| Fields::new(structured::value(&any)).any(|field| field.is_err()))
}

/// Whether a resource may be on the track of another type (`docs/protocol.md#e-28`).
///
/// Redirects may be, collections under a structured name, and any type on a track whose type URL is
/// that of no payload.
fn may_differ(catalog: &Catalog, track: &Track, name: Sym, type_url: Sym) -> bool {
    // No payload has a type URL that is not in the published form.
    if !track.type_url.as_str().starts_with(TYPE_PREFIX) {
        return true;
    }
    let type_url = catalog.text(type_url);
    if type_url == LOCATOR {
        return true;
    }
    let is_collection = type_url.strip_suffix("Collection") == Some(track.type_url.as_str());
    is_collection && catalog.text(name).starts_with("xdstp:")
}
