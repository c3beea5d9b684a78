use std::collections::BTreeMap;
use std::sync::Arc;

use crate::GapCause;
use crate::content::{BlobId, Catalog, List, ListBuilder, Redact, Strings, UsedContent};
use crate::discovery::fields::{self, DiscoveryField, RESOURCES, map_entry, resource_error, status};
use crate::discovery::kept_text;
use crate::discovery::{
    DeltaRequest, DeltaResponse, ErrorDetail, MessageBody, MessageShape, NodeInfo, ResourceError, Segment,
    SotwRequest, SotwResponse,
};
use crate::event::{Nonce, Sym, TypeUrl, VersionInfo};
use crate::pb::{Fields, Value, WireField, put_len_field, rebuild, tag_len};

/// Fields of at least this many bytes are stored as content; shorter ones stay in the message.
const MIN_BLOB_BYTES: usize = 256;

/// Runs of name fields of at least this many bytes are stored as content, because a client repeats
/// them with each ACK and NACK.
const MIN_RUN_BYTES: usize = 1024;

/// The fields and segments that were read so far.
#[derive(Default)]
pub(super) struct MessageParts {
    pub(super) segments: Vec<Segment>,
    pub(super) inline: Vec<u8>,
    /// Offset in `inline` of the first name that was not read yet.
    pub(super) names_from: Option<usize>,
    /// The current run of consecutive entries.
    pub(super) entries: ListBuilder,
    pub(super) size: u64,
    pub(super) redacted: bool,
    /// A secret was removed from a field that had been read before.
    pub(super) covered: bool,
    /// Runs of entries, usually one. Joined at the end, because a hostile message may have very
    /// many.
    pub(super) lists: Vec<Arc<List>>,
    pub(super) node: Option<Arc<NodeInfo>>,
    pub(super) version: VersionInfo,
    pub(super) type_url: TypeUrl,
    pub(super) nonce: Nonce,
    /// Runs of names, joined at the end.
    pub(super) names: Vec<Arc<[Sym]>>,
    pub(super) unsubscribe: Vec<Sym>,
    pub(super) initial: BTreeMap<Sym, Sym>,
    pub(super) locators: Vec<Sym>,
    pub(super) locators_unsubscribe: Vec<Sym>,
    pub(super) removed: Vec<Sym>,
    pub(super) control_plane: Option<Arc<str>>,
    pub(super) error_detail: Option<Box<ErrorDetail>>,
    pub(super) resource_errors: Vec<ResourceError>,
    pub(super) canary: bool,
    pub(super) unknown: Vec<u32>,
    /// Number of names in all fields.
    pub(super) name_count: usize,
    /// Bytes of names in all fields.
    pub(super) name_bytes: usize,
    /// Number of resources.
    pub(super) resources: usize,
    /// Bytes of inline segments that are complete.
    pub(super) inline_bytes: usize,
}

/// Bytes of names, and of their places in memory, that are kept of one message.
pub const MAX_NAME_BYTES: usize = 24 << 20;

/// Bytes of names of a message that is not kept while all names take more memory than they may.
pub const MANY_NAME_BYTES: usize = 64 << 10;

/// Memory of a name besides its text, in bytes: an entry in the message, and one in each index of
/// names.
pub const NAME_OVERHEAD: usize = 64;

/// Resources that are kept of one message.
pub const MAX_RESOURCES: usize = 1 << 18;

/// Bytes outside of resources that are kept of one message, and the memory of their segments.
pub const MAX_INLINE_BYTES: usize = 16 << 20;

/// Memory of a segment besides its bytes.
const SEGMENT_OVERHEAD: usize = 64;

/// Segments that are kept of one message.
pub(super) const MAX_SEGMENTS: usize = MAX_INLINE_BYTES / SEGMENT_OVERHEAD;

/// Returns the `name` of a `ResourceLocator` or `ResourceName`.
fn inner_name(bytes: &[u8]) -> String {
    let name = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == fields::NAME).last();
    name.map_or(String::new(), |field| field.text().into_owned())
}

pub(super) fn read_names(run: &[u8], strings: &mut Strings) -> Vec<Sym> {
    Fields::new(run).map_while(Result::ok).map(|field| strings.intern(&field.text())).collect()
}

pub(super) fn node(bytes: &[u8], blob: Option<BlobId>) -> Arc<NodeInfo> {
    let blob = blob.filter(|_| bytes.len() <= NodeInfo::MAX_KEPT_BYTES);
    Arc::new(NodeInfo { blob, ..NodeInfo::parse(bytes) })
}

impl MessageParts {
    /// Marks the contents and names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        for segment in &self.segments {
            segment.mark(used);
        }
        self.entries.mark(used);
        self.lists.iter().for_each(|list| used.list(list));
        self.node.iter().filter_map(|node| node.blob).for_each(|blob| used.blob(blob));
        self.names.iter().for_each(|names| used.run(names));
        let stated = self.initial.iter().flat_map(|(name, version)| [name, version]);
        let lists = [&self.unsubscribe, &self.locators, &self.locators_unsubscribe, &self.removed];
        used.names(lists.into_iter().flatten().chain(stated));
        used.names(self.resource_errors.iter().map(|error| &error.name));
    }

    /// Returns the limit that the parts exceed.
    pub(super) fn exceeded(&self, catalog: &Catalog) -> Option<GapCause> {
        let has_many_names = self.names_memory() > MANY_NAME_BYTES;
        if self.names_memory() > MAX_NAME_BYTES || (has_many_names && catalog.is_full_of_names()) {
            Some(GapCause::Names)
        } else if self.resources + self.entries.len() > MAX_RESOURCES {
            Some(GapCause::Resources)
        } else if self.inline_memory() > MAX_INLINE_BYTES {
            Some(GapCause::Size)
        } else {
            None
        }
    }

    /// Memory of the parts in bytes, without the contents of resources.
    pub(super) fn held_bytes(&self) -> usize {
        self.names_memory() + self.inline_memory() + self.entries.len() * size_of::<BlobId>()
    }

    fn names_memory(&self) -> usize {
        self.name_bytes + self.name_count * NAME_OVERHEAD
    }

    fn inline_memory(&self) -> usize {
        let segments = self.segments.len() * SEGMENT_OVERHEAD;
        self.inline.len() + self.inline_bytes + segments + self.unknown.len() * size_of::<u32>()
    }

    pub(super) fn count_names(&mut self, names: usize, bytes: usize) {
        self.name_count += names;
        self.name_bytes += bytes;
    }

    /// Ends the run of names at the end of `inline` and reads it.
    pub(super) fn end_names(&mut self, catalog: &mut Catalog) {
        let Some(from) = self.names_from.take() else { return };
        let run = &self.inline[from..];
        let names = if run.len() < MIN_RUN_BYTES {
            catalog.read_names(|strings| read_names(run, strings))
        } else {
            let blob = catalog.intern_run(run);
            let redacted = catalog.blob(blob).redacted;
            let clean = if redacted { catalog.bytes(blob) } else { None };
            let run = clean.as_deref().unwrap_or(run);
            let names = catalog.run_names(blob, |strings| read_names(run, strings));
            self.redacted |= redacted;
            self.inline.truncate(from);
            self.flush_inline(catalog);
            self.segments.push(Segment::Run(blob));
            names
        };
        self.names.push(names);
    }

    /// Ends the inline segment, with its secrets removed.
    ///
    /// Inline fields are short, unknown or malformed, so secrets are recognized by their form
    /// alone.
    pub(super) fn flush_inline(&mut self, catalog: &Catalog) {
        if self.inline.is_empty() {
            return;
        }
        self.inline_bytes += self.inline.len();
        let mut inline = std::mem::take(&mut self.inline);
        if let Some(clean) = catalog.redactor().and_then(|redact| redact.fields(&inline)) {
            inline = clean;
            self.redacted = true;
            self.covered = true;
        }
        self.segments.push(Segment::Inline(inline.into_boxed_slice()));
    }

    /// Stores bytes that are not an entry.
    fn other(&mut self, bytes: &[u8], catalog: &mut Catalog) -> BlobId {
        let blob = catalog.intern_other(bytes);
        self.redacted |= catalog.blob(blob).redacted;
        self.covered |= catalog.blob(blob).redacted;
        blob
    }

    /// Stores and reads a node.
    fn node(&mut self, payload: &[u8], catalog: &mut Catalog) -> BlobId {
        let blob = catalog.intern_node(payload);
        let redacted = catalog.blob(blob).redacted;
        let clean = if redacted { catalog.bytes(blob) } else { None };
        self.node = Some(node(clean.as_deref().unwrap_or(payload), Some(blob)));
        self.redacted |= redacted;
        self.covered |= redacted;
        blob
    }

    /// Adds the entries so far as one list.
    pub(super) fn end_entries(&mut self, catalog: &mut Catalog) {
        if self.entries.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.entries).finish(catalog);
        self.resources += list.len();
        self.flush_inline(catalog);
        self.segments.push(Segment::List { number: RESOURCES, list: list.clone() });
        self.lists.push(list);
    }

    /// Reads one field, given with its tag.
    pub(super) fn raw(&mut self, shape: MessageShape, raw: &[u8], catalog: &mut Catalog) {
        let Some(Ok(field)) = Fields::new(raw).next() else { return };
        let known = DiscoveryField::of(shape, field.number);
        if known == Some(DiscoveryField::Names) && matches!(field.value, Value::Len(_)) {
            self.end_entries(catalog);
            self.names_from.get_or_insert(self.inline.len());
            self.inline.extend_from_slice(raw);
            self.count_names(1, raw.len());
            return;
        }
        self.end_names(catalog);
        let Value::Len(payload) = field.value else {
            self.end_entries(catalog);
            self.scalar(shape, &field);
            self.inline.extend_from_slice(raw);
            return;
        };
        let shortest = raw.len() == tag_len(field.number, payload.len()) + payload.len();
        if known == Some(DiscoveryField::Resources) {
            let delta = shape == MessageShape::DeltaResponse;
            // A field in an unusual encoding stays inline, unless a secret must be removed from it.
            if shortest || catalog.is_redacted(payload, delta) {
                self.flush_inline(catalog);
                let id = self.entries.push(catalog, payload, delta);
                self.redacted |= catalog.blob(id).redacted;
                return;
            }
        }
        self.end_entries(catalog);
        let clean = known.and_then(|known| clean_field(known, payload, &**catalog.redactor()?));
        let is_error = matches!(known, Some(DiscoveryField::ErrorDetail | DiscoveryField::ResourceErrors));
        if is_error || clean.is_some() {
            self.payload(shape, field.number, clean.as_deref().unwrap_or(payload), catalog);
            match clean {
                Some(clean) => {
                    self.redacted = true;
                    put_len_field(&mut self.inline, field.number, &clean);
                }
                None => self.inline.extend_from_slice(raw),
            }
            return;
        }
        self.payload(shape, field.number, payload, catalog);
        let is_long = payload.len() >= MIN_BLOB_BYTES && shortest;
        let blob = match known {
            Some(DiscoveryField::Node) => {
                let blob = self.node(payload, catalog);
                is_long.then_some(blob)
            }
            Some(DiscoveryField::Resources) => None,
            _ => is_long.then(|| self.other(payload, catalog)),
        };
        match blob {
            Some(blob) => {
                self.flush_inline(catalog);
                self.segments.push(Segment::Field { number: field.number, blob });
            }
            None if known == Some(DiscoveryField::Node) && self.covered => {
                match catalog.redactor().and_then(|redact| clean_short_node(payload, &**redact)) {
                    Some(clean) => put_len_field(&mut self.inline, field.number, &clean),
                    None => self.inline.extend_from_slice(raw),
                }
            }
            None => self.inline.extend_from_slice(raw),
        }
    }

    fn scalar(&mut self, shape: MessageShape, field: &WireField<'_>) {
        match DiscoveryField::of(shape, field.number) {
            Some(DiscoveryField::Canary) => self.canary = field.varint() != 0,
            _ => self.unknown.push(field.number),
        }
    }

    /// Reads the payload of a length-delimited field.
    pub(super) fn payload(
        &mut self,
        shape: MessageShape,
        number: u32,
        payload: &[u8],
        catalog: &mut Catalog,
    ) {
        let text = || String::from_utf8_lossy(payload);
        let identifier = || kept_text::identifier(payload);
        let known = DiscoveryField::of(shape, number);
        if known.is_some_and(DiscoveryField::holds_name) {
            self.count_names(1, payload.len());
        }
        match known {
            Some(DiscoveryField::Version) => self.version = VersionInfo::new(identifier()),
            Some(DiscoveryField::TypeUrl) => self.type_url = TypeUrl::new(identifier()),
            Some(DiscoveryField::Nonce) => self.nonce = Nonce::new(identifier()),
            // Read in runs, by `end_names`.
            Some(DiscoveryField::Names) => {}
            Some(DiscoveryField::Unsubscribe) => self.unsubscribe.push(catalog.intern(&text())),
            Some(DiscoveryField::Removed) => self.removed.push(catalog.intern(&text())),
            Some(DiscoveryField::RemovedNames) => self.removed.push(catalog.intern(&inner_name(payload))),
            Some(DiscoveryField::Locators) => self.locators.push(catalog.intern(&inner_name(payload))),
            Some(DiscoveryField::LocatorsUnsubscribe) => {
                self.locators_unsubscribe.push(catalog.intern(&inner_name(payload)))
            }
            Some(DiscoveryField::InitialVersions) => {
                let (mut name, mut version) = (Sym::EMPTY, Sym::EMPTY);
                for part in Fields::new(payload).map_while(Result::ok) {
                    match part.number {
                        map_entry::KEY => name = catalog.intern(&part.text()),
                        map_entry::VALUE => version = catalog.intern(&part.text()),
                        _ => {}
                    }
                }
                self.initial.insert(name, version);
            }
            Some(DiscoveryField::ErrorDetail) => {
                self.error_detail = Some(Box::new(ErrorDetail::parse(payload)))
            }
            Some(DiscoveryField::ControlPlane) => {
                let identifier = inner_name(payload);
                self.control_plane = Some(Arc::from(kept_text::identifier(identifier.as_bytes())));
            }
            Some(DiscoveryField::ResourceErrors) => {
                let mut error = ResourceError { name: Sym::EMPTY, detail: ErrorDetail::default() };
                for part in Fields::new(payload).map_while(Result::ok) {
                    match part.number {
                        resource_error::RESOURCE_NAME => {
                            error.name = catalog.intern(&inner_name(part.bytes()))
                        }
                        resource_error::ERROR_DETAIL => error.detail = ErrorDetail::parse(part.bytes()),
                        _ => {}
                    }
                }
                self.resource_errors.push(error);
            }
            // An entry in an unusual encoding, whose bytes stay inline.
            Some(DiscoveryField::Resources) => {
                let mut list = ListBuilder::default();
                list.push(catalog, payload, shape == MessageShape::DeltaResponse);
                self.resources += 1;
                self.lists.push(list.finish(catalog));
            }
            Some(DiscoveryField::Node) => {}
            Some(DiscoveryField::Canary) | None => self.unknown.push(number),
        }
    }

    /// Returns the message that the parts make.
    pub(super) fn body(self, shape: MessageShape, catalog: &mut Catalog) -> MessageBody {
        let names = match &self.names[..] {
            [] => Arc::default(),
            [one] => one.clone(),
            runs => runs.concat().into(),
        };
        let resources = match &self.lists[..] {
            [one] => one.clone(),
            runs => catalog.intern_list(runs.iter().flat_map(|list| list.blobs()).copied().collect()),
        };
        match shape {
            MessageShape::SotwRequest => MessageBody::SotwRequest(SotwRequest {
                version_info: self.version,
                node: self.node,
                resource_names: names,
                resource_locators: self.locators,
                type_url: self.type_url,
                response_nonce: self.nonce,
                error_detail: self.error_detail,
                unknown_fields: self.unknown,
            }),
            MessageShape::SotwResponse => MessageBody::SotwResponse(SotwResponse {
                version_info: self.version,
                resources,
                canary: self.canary,
                type_url: self.type_url,
                nonce: self.nonce,
                control_plane: self.control_plane,
                resource_errors: self.resource_errors,
                unknown_fields: self.unknown,
            }),
            MessageShape::DeltaRequest => MessageBody::DeltaRequest(DeltaRequest {
                node: self.node,
                type_url: self.type_url,
                subscribe: names,
                unsubscribe: if self.unsubscribe.is_empty() {
                    Arc::default()
                } else {
                    self.unsubscribe.into()
                },
                initial_resource_versions: self.initial,
                response_nonce: self.nonce,
                error_detail: self.error_detail,
                locators_subscribe: self.locators,
                locators_unsubscribe: self.locators_unsubscribe,
                unknown_fields: self.unknown,
            }),
            MessageShape::DeltaResponse => MessageBody::DeltaResponse(DeltaResponse {
                system_version_info: self.version,
                resources,
                type_url: self.type_url,
                nonce: self.nonce,
                removed: self.removed,
                control_plane: self.control_plane,
                resource_errors: self.resource_errors,
                unknown_fields: self.unknown,
            }),
        }
    }
}

/// Removes secrets from a node that stays inline.
///
/// Returns `None` if there are none, or if the inline segment is redacted instead: a private key in
/// a malformed node may extend over the next fields.
fn clean_short_node(node: &[u8], redact: &dyn Redact) -> Option<Vec<u8>> {
    let is_malformed = || Fields::new(node).any(|field| field.is_err());
    if redact.raw(node).is_some() && is_malformed() { None } else { redact.node(node) }
}

/// Removes secrets from a field that is neither a node nor a resource. Returns `None` if there are
/// none.
fn clean_field(known: DiscoveryField, payload: &[u8], redact: &dyn Redact) -> Option<Vec<u8>> {
    match known {
        DiscoveryField::ErrorDetail => clean_status(payload, redact),
        DiscoveryField::ResourceErrors => {
            let clean = |field: &WireField<'_>| match (field.number, field.value) {
                (resource_error::RESOURCE_NAME, Value::Len(name)) => redact.parameters(name),
                (resource_error::ERROR_DETAIL, Value::Len(detail)) => clean_status(detail, redact),
                _ => None,
            };
            rebuild(payload, clean, |rest| redact.raw(rest))
        }
        DiscoveryField::ControlPlane => {
            let clean = |field: &WireField<'_>| match (field.number, field.value) {
                (fields::NAME, Value::Len(_)) => redact.text(&field.text()).map(String::into_bytes),
                _ => None,
            };
            rebuild(payload, clean, |_| None)
        }
        DiscoveryField::Locators | DiscoveryField::LocatorsUnsubscribe | DiscoveryField::RemovedNames => {
            redact.parameters(payload)
        }
        _ => None,
    }
}

/// Removes secrets from a status. Returns `None` if there are none.
fn clean_status(payload: &[u8], redact: &dyn Redact) -> Option<Vec<u8>> {
    let clean = |field: &WireField<'_>| match (field.number, field.value) {
        (status::MESSAGE, Value::Len(_)) => redact.text(&field.text()).map(String::into_bytes),
        (status::DETAILS, Value::Len(any)) => redact.detail(any),
        _ => None,
    };
    rebuild(payload, clean, |rest| redact.raw(rest))
}
