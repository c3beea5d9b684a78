use std::collections::BTreeMap;
use std::sync::Arc;

use crate::wire::content::{BlobId, Catalog, List, ListBuilder, Strings};
use crate::wire::event::{Nonce, Sym, TypeUrl, VersionInfo};
use crate::wire::pb::{Field, Fields, SplitError, Splitter, Value, put_len_field, rebuild, tag_len};

use super::discovery::fields::{self, DiscoveryField, RESOURCES, map_entry, resource_error, status};
use super::discovery::*;

/// A single field longer than this is not kept; peers refuse far smaller ones.
pub const MAX_FIELD: usize = 512 << 20;

/// Fields at least this long are content of their own; shorter ones stay with the message.
const BLOB: usize = 256;

/// The same for a run of name fields, which a request repeats with each verdict.
const RUN: usize = 1024;

/// Builds a [`Message`] from its bytes, chunk by chunk as they pass, or from recorded segments. Holds one
/// field at a time, so a response of 100,000 resources is never in memory as a whole.
pub struct MessageBuilder {
    shape: Shape,
    splitter: Splitter,
    parts: Parts,
    failed: Option<String>,
}

/// What has been read so far.
#[derive(Default)]
struct Parts {
    segments: Vec<Segment>,
    inline: Vec<u8>,
    /// Where in `inline` the names began that have not been read yet.
    names_from: Option<usize>,
    /// Entries of the response that stand together.
    entries: ListBuilder,
    size: u64,
    redacted: bool,
    /// Something was overwritten that had been read before.
    covered: bool,
    /// The runs of entries, one as a rule; joined at the end, for a hostile message may have very many.
    lists: Vec<Arc<List>>,
    node: Option<Arc<NodeInfo>>,
    version: VersionInfo,
    type_url: TypeUrl,
    nonce: Nonce,
    /// The same of names.
    names: Vec<Arc<[Sym]>>,
    unsubscribe: Vec<Sym>,
    initial: BTreeMap<Sym, Sym>,
    locators: Vec<Sym>,
    locators_unsubscribe: Vec<Sym>,
    removed: Vec<Sym>,
    control_plane: Option<Arc<str>>,
    error_detail: Option<Box<ErrorDetail>>,
    resource_errors: Vec<ResourceError>,
    canary: bool,
    unknown: Vec<u32>,
}

/// The `name` (field 1) of a ResourceLocator or ResourceName.
fn inner_name(bytes: &[u8]) -> String {
    let name = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == fields::NAME).last();
    name.map_or(String::new(), |field| field.text().into_owned())
}

impl MessageBuilder {
    pub fn new(shape: Shape) -> Self {
        MessageBuilder { shape, splitter: Splitter::default(), parts: Parts::default(), failed: None }
    }

    /// Takes the next bytes of the message.
    pub fn push(&mut self, chunk: &[u8], catalog: &mut Catalog) {
        self.parts.size += chunk.len() as u64;
        if self.failed.is_some() {
            self.parts.inline.extend_from_slice(chunk);
            return;
        }
        if let Err(error) = self.split(chunk, catalog) {
            self.failed = Some(error.to_string());
            self.parts.end_names(catalog);
            self.parts.end_entries(catalog);
            self.parts.inline.extend_from_slice(self.splitter.rest());
        }
    }

    fn split(&mut self, mut chunk: &[u8], catalog: &mut Catalog) -> Result<(), SplitError> {
        let (splitter, parts) = (&mut self.splitter, &mut self.parts);
        // Where the entries began that stand as they stood before.
        let mut row = chunk;
        parts.entries.interrupt();
        loop {
            let cut = !splitter.rest().is_empty();
            if !cut && let Some((bytes, redacted)) = parts.entries.push_known(catalog, chunk) {
                parts.redacted |= redacted;
                chunk = chunk.get(bytes..).unwrap_or_default();
                row = chunk;
                continue;
            }
            let Some(raw) = splitter.field(&mut chunk, MAX_FIELD)? else { return Ok(()) };
            parts.raw(self.shape, raw, catalog);
            if cut {
                parts.entries.interrupt();
            }
            let passed = row.get(..row.len() - chunk.len()).unwrap_or_default();
            if parts.entries.foreseen() == 0 || parts.entries.learn(catalog, passed) {
                row = chunk;
            }
        }
    }

    /// So many recorded segments follow.
    pub fn expect(&mut self, segments: usize) {
        self.parts.segments.reserve_exact(segments);
    }

    /// Takes the bytes of a recorded segment that holds them.
    pub fn push_inline(&mut self, bytes: &[u8], catalog: &mut Catalog) {
        self.parts.inline.reserve_exact(bytes.len());
        self.push(bytes, catalog);
    }

    /// Takes a recorded segment instead of bytes. `size` of the result is then that of the kept bytes.
    pub fn push_segment(&mut self, segment: Segment, catalog: &mut Catalog) {
        match segment {
            Segment::Inline(bytes) => self.push_inline(&bytes, catalog),
            Segment::Run(blob) => {
                self.parts.size += u64::from(catalog.blob(blob).kept);
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                self.parts.flush_inline(catalog);
                let body = catalog.bytes(blob).unwrap_or_default();
                let names = catalog.run_names(blob, |strings| read_names(&body, strings));
                self.parts.names.push(names);
                self.parts.segments.push(Segment::Run(blob));
            }
            Segment::Field { number, blob } => {
                let kept = catalog.blob(blob).kept as usize;
                self.parts.size += (tag_len(number, kept) + kept) as u64;
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                if let (Some(bytes), true) = (catalog.bytes(blob), self.failed.is_none()) {
                    self.parts.payload(self.shape, number, &bytes, catalog);
                    if DiscoveryField::of(self.shape, number) == Some(DiscoveryField::Node) {
                        self.parts.node = Some(node(&bytes, Some(blob)));
                    }
                }
                self.parts.flush_inline(catalog);
                self.parts.segments.push(Segment::Field { number, blob });
            }
            Segment::List { number, list } => {
                let (kept, redacted) = list.kept(catalog);
                let tags = list.len() * (tag_len(number, 0) - 1);
                self.parts.size += kept + tags as u64;
                self.parts.redacted |= redacted;
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                self.parts.flush_inline(catalog);
                self.parts.lists.push(list.clone());
                self.parts.segments.push(Segment::List { number, list });
            }
        }
    }

    /// Bytes taken so far.
    pub fn size(&self) -> u64 {
        self.parts.size
    }

    /// The message, complete. It says what is kept of it: where a secret was overwritten only after it had been read,
    /// it is read again, as from a recording.
    pub fn finish(self, catalog: &mut Catalog) -> Message {
        let (message, covered) = self.end(catalog);
        if !covered {
            return message;
        }
        let mut again = MessageBuilder::new(message.shape);
        let (clean, _) = catalog.with_clean(|catalog| {
            for segment in message.segments {
                again.push_segment(segment, catalog);
            }
            again.end(catalog)
        });
        Message { size: message.size, redacted: true, ..clean }
    }

    /// The message, and whether anything in it was overwritten after it had been read.
    fn end(mut self, catalog: &mut Catalog) -> (Message, bool) {
        self.parts.end_names(catalog);
        self.parts.end_entries(catalog);
        if self.failed.is_none() && !self.splitter.rest().is_empty() {
            self.failed = Some("the last field is cut short".into());
            self.parts.inline.extend_from_slice(self.splitter.rest());
        }
        self.parts.flush_inline(catalog);
        let mut parts = self.parts;
        let mut segments = std::mem::take(&mut parts.segments);
        segments.shrink_to_fit();
        let (size, redacted, covered) = (parts.size, parts.redacted, parts.covered);
        let body = match self.failed {
            Some(reason) => Body::Undecodable { reason },
            None => parts.body(self.shape, catalog),
        };
        (Message { shape: self.shape, segments, size, redacted, body }, covered)
    }
}

fn read_names(run: &[u8], strings: &mut Strings) -> Vec<Sym> {
    Fields::new(run).map_while(Result::ok).map(|field| strings.intern(&field.text())).collect()
}

fn node(bytes: &[u8], blob: Option<BlobId>) -> Arc<NodeInfo> {
    Arc::new(NodeInfo { blob, ..NodeInfo::parse(bytes) })
}

impl Parts {
    /// Reads the names that `inline` ends with.
    fn end_names(&mut self, catalog: &mut Catalog) {
        let Some(from) = self.names_from.take() else { return };
        let run = &self.inline[from..];
        let names = if run.len() < RUN {
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

    /// What stands inline is small, unknown or damaged, so it is cleaned by its looks.
    fn flush_inline(&mut self, catalog: &Catalog) {
        if self.inline.is_empty() {
            return;
        }
        let mut inline = std::mem::take(&mut self.inline);
        if let Some(clean) = catalog.redactor().and_then(|redact| redact.fields(&inline)) {
            inline = clean;
            self.redacted = true;
            self.covered = true;
        }
        self.segments.push(Segment::Inline(inline.into_boxed_slice()));
    }

    /// Content that is no entry.
    fn other(&mut self, bytes: &[u8], catalog: &mut Catalog) -> BlobId {
        let blob = catalog.intern_other(bytes);
        self.redacted |= catalog.blob(blob).redacted;
        self.covered |= catalog.blob(blob).redacted;
        blob
    }

    fn end_entries(&mut self, catalog: &mut Catalog) {
        if self.entries.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.entries).finish(catalog);
        self.flush_inline(catalog);
        self.segments.push(Segment::List { number: RESOURCES, list: list.clone() });
        self.lists.push(list);
    }

    /// One whole field as it stood on the wire.
    fn raw(&mut self, shape: Shape, raw: &[u8], catalog: &mut Catalog) {
        let Some(Ok(field)) = Fields::new(raw).next() else { return };
        let known = DiscoveryField::of(shape, field.number);
        if known == Some(DiscoveryField::Names) && matches!(field.value, Value::Len(_)) {
            self.end_entries(catalog);
            self.names_from.get_or_insert(self.inline.len());
            self.inline.extend_from_slice(raw);
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
            let delta = shape == Shape::DeltaResponse;
            // In an unusual encoding the field stays as it stands, unless it must not stay.
            if shortest || catalog.is_redacted(payload, delta) {
                self.flush_inline(catalog);
                let id = self.entries.push(catalog, payload, delta);
                self.redacted |= catalog.blob(id).redacted;
                return;
            }
        }
        self.end_entries(catalog);
        if matches!(known, Some(DiscoveryField::ErrorDetail | DiscoveryField::ResourceErrors)) {
            let clean = clean_status(payload, known == Some(DiscoveryField::ResourceErrors), catalog);
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
        if payload.len() >= BLOB && shortest && known != Some(DiscoveryField::Resources) {
            let blob = self.other(payload, catalog);
            if known == Some(DiscoveryField::Node) {
                self.node = Some(node(payload, Some(blob)));
            }
            self.flush_inline(catalog);
            self.segments.push(Segment::Field { number: field.number, blob });
        } else {
            if known == Some(DiscoveryField::Node) {
                let blob = self.other(payload, catalog);
                self.node = Some(node(payload, Some(blob)));
            }
            self.inline.extend_from_slice(raw);
        }
    }

    fn scalar(&mut self, shape: Shape, field: &Field<'_>) {
        match DiscoveryField::of(shape, field.number) {
            Some(DiscoveryField::Canary) => self.canary = field.varint() != 0,
            _ => self.unknown.push(field.number),
        }
    }

    /// The meaning of one length-delimited field.
    fn payload(&mut self, shape: Shape, number: u32, payload: &[u8], catalog: &mut Catalog) {
        let text = || String::from_utf8_lossy(payload);
        match DiscoveryField::of(shape, number) {
            Some(DiscoveryField::Version) => self.version = VersionInfo::new(text()),
            Some(DiscoveryField::TypeUrl) => self.type_url = TypeUrl::new(text()),
            Some(DiscoveryField::Nonce) => self.nonce = Nonce::new(text()),
            // Read as a run, see `end_names`.
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
            Some(DiscoveryField::ControlPlane) => self.control_plane = Some(Arc::from(inner_name(payload))),
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
            // An entry in an unusual encoding stays inline, byte for byte, and is an entry all the same.
            Some(DiscoveryField::Resources) => {
                let mut list = ListBuilder::default();
                list.push(catalog, payload, shape == Shape::DeltaResponse);
                self.lists.push(list.finish(catalog));
            }
            Some(DiscoveryField::Node) => {}
            Some(DiscoveryField::Canary) | None => self.unknown.push(number),
        }
    }

    fn body(self, shape: Shape, catalog: &mut Catalog) -> Body {
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
            Shape::SotwRequest => Body::SotwRequest(SotwRequest {
                version_info: self.version,
                node: self.node,
                resource_names: names,
                resource_locators: self.locators,
                type_url: self.type_url,
                response_nonce: self.nonce,
                error_detail: self.error_detail,
                unknown_fields: self.unknown,
            }),
            Shape::SotwResponse => Body::SotwResponse(SotwResponse {
                version_info: self.version,
                resources,
                canary: self.canary,
                type_url: self.type_url,
                nonce: self.nonce,
                control_plane: self.control_plane,
                resource_errors: self.resource_errors,
                unknown_fields: self.unknown,
            }),
            Shape::DeltaRequest => Body::DeltaRequest(DeltaRequest {
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
            Shape::DeltaResponse => Body::DeltaResponse(DeltaResponse {
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

/// A status (or the status in a `resource_errors` entry) without the secrets that peers print into it.
fn clean_status(payload: &[u8], nested: bool, catalog: &Catalog) -> Option<Vec<u8>> {
    let redact = catalog.redactor()?;
    let clean = |field: &Field<'_>| match (field.number, field.value) {
        (resource_error::ERROR_DETAIL, Value::Len(inner)) if nested => clean_status(inner, false, catalog),
        (status::MESSAGE, Value::Len(_)) => redact.text(&field.text()).map(String::into_bytes),
        (status::DETAILS, Value::Len(any)) if !nested => redact.resource(any),
        _ => None,
    };
    rebuild(payload, clean, |rest| redact.raw(rest))
}

#[cfg(test)]
mod tests;
