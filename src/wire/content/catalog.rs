use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use twox_hash::{XxHash3_64, XxHash3_128};

use super::blob::{PAYLOAD_TAG, any_of_wrapper, join_wrapper, joined_len};
use super::blob_id::BlobId;
use super::blob_table::BlobTable;
use super::body_cache::BodyCache;
use super::entry::{RawWrapper, any_parts, is_wrapper, raw_wrapper};
use super::entry_run::EntryRun;
use super::index::Index;
use super::{Blob, BlobForm, BodyStore, List, MemoryBodies, Redact, ResponseEntry, Strings, Wrapper};
use crate::event::{DenseHash, Kind, Sym};
use crate::pb::{self, Fields};

/// Bytes of an XXH3 secret.
const SECRET: usize = 192;

/// Derives the hash secret of a source from its seed.
fn secret(seed: u64) -> [u8; SECRET] {
    let mut out = [0; SECRET];
    for (i, part) in out.chunks_mut(8).enumerate() {
        part.copy_from_slice(&XxHash3_64::oneshot_with_seed(seed, &[i as u8]).to_le_bytes());
    }
    out
}

/// All content of one source.
pub struct Catalog {
    pub(super) strings: Strings,
    pub(super) blobs: BlobTable,
    pub(super) by_hash: Index,
    pub(super) lists: HashMap<u128, Weak<List>>,
    /// By first entry.
    pub(super) runs: HashMap<BlobId, EntryRun, DenseHash>,
    /// The type URL read last, its symbol and its name field: usually the next one is equal.
    pub(super) last_type: Option<(Box<[u8]>, Sym, Option<u32>)>,
    /// Names of the runs that requests repeat.
    pub(super) names: HashMap<BlobId, Arc<[Sym]>>,
    /// Number of names in these runs.
    pub(super) run_names: usize,
    /// Bytes of all texts beyond which messages with many names are not kept.
    pub(super) max_text_bytes: usize,
    pub(super) bodies: Box<dyn BodyStore>,
    totals: ContentTotals,
    pub(super) recent: BodyCache,
    /// Whether payloads are cached when a recording is read.
    pub(super) caches_read: bool,
    /// Pairs of payloads with different bytes and equal meaning.
    pub(super) same: RefCell<HashSet<(BlobId, BlobId), DenseHash>>,
    /// Contents that cannot be decoded as their type.
    pub(super) unreadable: HashSet<BlobId, DenseHash>,
    /// Names that equal an earlier name in another spelling, with the earlier one.
    pub(super) spellings: HashMap<Sym, Sym, DenseHash>,
    /// The canonical forms of names that stand for other spellings.
    pub(super) canonical_names: HashMap<Sym, Sym, DenseHash>,
    /// Names that messages have had so far and that may have several spellings.
    pub(super) spelled: HashSet<Sym, DenseHash>,
    /// A content so far mentions a structured name.
    pub(super) mentions_structured: bool,
    redact: Option<Arc<dyn Redact>>,
    seed: u64,
    /// Derived from the seed once; a seeded hash would derive it for each resource.
    secret: [u8; SECRET],
}

/// Number and size of contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentTotals {
    /// Number of contents.
    pub blobs: u64,
    /// Bytes of the contents on the wire.
    pub bytes: u64,
    /// Number of contents from which secrets were removed.
    pub redacted: u64,
}

impl ContentTotals {
    fn add(&mut self, blob: &Blob) {
        self.blobs += 1;
        self.bytes += u64::from(blob.size);
        self.redacted += u64::from(blob.redacted);
    }
}

impl Catalog {
    /// Creates an empty catalog.
    ///
    /// `seed` keys the hashes: random for a live source, from the header for a recording. Equal
    /// hashes mean equal content within a session, and nothing across sessions.
    pub fn new(seed: u64, redact: Option<Arc<dyn Redact>>, bodies: Box<dyn BodyStore>) -> Self {
        Catalog {
            strings: Strings::default(),
            blobs: BlobTable::default(),
            by_hash: Index::default(),
            lists: HashMap::new(),
            runs: HashMap::default(),
            last_type: None,
            names: HashMap::new(),
            run_names: 0,
            max_text_bytes: usize::MAX,
            bodies,
            totals: ContentTotals::default(),
            recent: BodyCache::default(),
            caches_read: false,
            same: RefCell::default(),
            unreadable: HashSet::default(),
            spellings: HashMap::default(),
            canonical_names: HashMap::default(),
            spelled: HashSet::default(),
            mentions_structured: false,
            redact,
            seed,
            secret: secret(seed),
        }
    }

    /// Creates a catalog with bodies in memory and without redaction, for scripts and tests.
    pub fn in_memory() -> Self {
        Catalog::new(0, None, Box::new(MemoryBodies::default()))
    }

    /// The seed of the hashes.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The redactor, if there is one.
    pub fn redactor(&self) -> Option<&Arc<dyn Redact>> {
        self.redact.as_ref()
    }

    /// All interned texts.
    pub fn strings(&self) -> &Strings {
        &self.strings
    }

    /// Interns a text.
    pub fn intern(&mut self, text: &str) -> Sym {
        self.strings.intern(text)
    }

    /// Returns the text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.strings.get(sym)
    }

    /// Returns all blobs, in order of their ids.
    pub fn blobs(&self) -> impl Iterator<Item = (BlobId, &Blob)> {
        self.blobs.iter()
    }

    /// Returns the number of blobs so far, with those that were dropped.
    pub fn blob_count(&self) -> usize {
        self.blobs.end() as usize
    }

    /// Returns the number and size of all contents so far, with those that were dropped.
    pub fn totals(&self) -> ContentTotals {
        self.totals
    }

    /// Returns the blobs that were added after the first `count`, except for dropped ones.
    pub fn blobs_after(&self, count: usize) -> &[Blob] {
        self.blobs.since(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns the facts of a blob; those of a dropped blob are empty.
    pub fn blob(&self, id: BlobId) -> &Blob {
        self.blobs.get(id)
    }

    /// Returns the entry in a blob. A blob that is not an entry has neither name nor payload.
    pub fn entry(&self, id: BlobId) -> ResponseEntry<'_> {
        match &self.blob(id).form {
            BlobForm::Any { type_url, name } => ResponseEntry {
                name: *name,
                version: Sym::EMPTY,
                type_url: *type_url,
                payload: Some(id),
                ttl: None,
                aliases: &[],
                wrapped: false,
            },
            BlobForm::Wrapper { wrapper, .. } => {
                let type_url = match wrapper.payload.map(|payload| &self.blob(payload).form) {
                    Some(BlobForm::Any { type_url, .. }) => *type_url,
                    _ => Sym::EMPTY,
                };
                ResponseEntry {
                    name: wrapper.name,
                    version: wrapper.version,
                    type_url,
                    payload: wrapper.payload,
                    ttl: wrapper.ttl,
                    aliases: &wrapper.aliases,
                    wrapped: wrapper.in_any,
                }
            }
            BlobForm::Other => ResponseEntry {
                name: Sym::EMPTY,
                version: Sym::EMPTY,
                type_url: Sym::EMPTY,
                payload: None,
                ttl: None,
                aliases: &[],
                wrapped: false,
            },
        }
    }

    /// Returns the name of the entry in a blob; empty if there is none.
    pub fn name(&self, id: BlobId) -> Sym {
        self.blob(id).name()
    }

    /// Returns the bytes on the wire, without secrets; `None` if a damaged recording has lost them.
    pub fn bytes(&self, id: BlobId) -> Option<Bytes> {
        let body = self.bodies.get(id.0)?;
        match &self.blob(id).form {
            BlobForm::Wrapper { wrapper, head } => {
                let payload =
                    wrapper.payload.map(|p| self.bodies.get(p.0)).map_or(Some(None), |p| p.map(Some))?;
                Some(join_wrapper(&body, *head as usize, payload.as_deref(), wrapper.in_any).into())
            }
            _ => Some(body),
        }
    }

    /// Records that two payloads have equal meaning.
    pub fn note_same(&self, a: BlobId, b: BlobId) {
        self.same.borrow_mut().insert((a, b));
    }

    /// Whether [`note_same`](Catalog::note_same) was called with this pair.
    pub fn is_noted_same(&self, a: BlobId, b: BlobId) -> bool {
        self.same.borrow().contains(&(a, b))
    }

    /// Whether an entry, or its payload, is not even an `Any`.
    pub fn is_malformed(&self, id: BlobId) -> bool {
        let is_other = |id: BlobId| matches!(self.blob(id).form, BlobForm::Other);
        match &self.blob(id).form {
            BlobForm::Wrapper { wrapper, .. } => wrapper.payload.is_some_and(is_other),
            _ => is_other(id),
        }
    }

    /// Records that an entry, or its payload, cannot be decoded as its type.
    pub fn note_unreadable(&mut self, id: BlobId) {
        self.unreadable.insert(id);
    }

    /// Whether an entry, or its payload, is known to be undecodable.
    pub fn is_unreadable(&self, id: BlobId) -> bool {
        let is_known = |id: &BlobId| self.unreadable.contains(id);
        !self.unreadable.is_empty()
            && (is_known(&id) || self.entry(id).payload.as_ref().is_some_and(is_known))
    }

    /// Returns the stored body; for a wrapper the bytes around its payload.
    pub fn body(&self, id: BlobId) -> Option<Bytes> {
        self.bodies.get(id.0)
    }

    /// Returns the keyed hash of bytes on the wire, as in [`Blob::hash`].
    pub fn hash(&self, bytes: &[u8]) -> u128 {
        XxHash3_128::oneshot_with_secret(&self.secret, bytes).expect("a secret of the usual length")
    }

    /// Returns the blob with this hash.
    pub fn known(&self, hash: u128) -> Option<BlobId> {
        self.by_hash.find(hash as u64, |id| self.blob(BlobId(id)).hash == hash).map(BlobId)
    }

    /// Stores bytes that are not an entry, such as a node.
    pub fn intern_other(&mut self, bytes: &[u8]) -> BlobId {
        let hash = self.hash(bytes);
        if let Some(id) = self.known(hash) {
            return id;
        }
        self.add(hash, bytes.len(), false, BlobForm::Other, bytes)
    }

    /// Stores a `Node` without its secrets.
    pub fn intern_node(&mut self, node: &[u8]) -> BlobId {
        self.intern_clean(node, |redact| redact.whole_node(node))
    }

    /// Stores a run of fields.
    pub fn intern_run(&mut self, run: &[u8]) -> BlobId {
        self.intern_clean(run, |redact| redact.fields(run))
    }

    fn intern_clean(&mut self, bytes: &[u8], clean: impl FnOnce(&dyn Redact) -> Option<Vec<u8>>) -> BlobId {
        let hash = self.hash(bytes);
        if let Some(id) = self.known(hash) {
            return id;
        }
        let clean = self.redact.as_deref().and_then(clean);
        self.put(hash, bytes.len(), clean.is_some(), BlobForm::Other, clean.as_deref().unwrap_or(bytes))
    }

    /// Runs `read` with redaction off, for content that comes out of this catalog.
    pub fn with_clean<T>(&mut self, read: impl FnOnce(&mut Catalog) -> T) -> T {
        let redact = self.redact.take();
        let out = read(self);
        self.redact = redact;
        out
    }

    /// Stores an entry of a response: a `Resource` (delta) or an `Any` (SotW).
    ///
    /// `hint` is compared first. In a repeated push in the same order it is right, and no table is
    /// searched.
    pub fn intern_entry(&mut self, bytes: &[u8], delta: bool, hint: Option<BlobId>) -> BlobId {
        let hash = self.hash(bytes);
        if let Some(id) = hint.filter(|id| self.blob(*id).hash == hash) {
            return id;
        }
        if let Some(id) = self.known(hash) {
            return id;
        }
        if delta { self.add_wrapper(hash, bytes, bytes, false) } else { self.add_any(hash, bytes) }
    }

    /// Whether storing an entry removes secrets from it.
    pub fn is_redacted(&mut self, bytes: &[u8], delta: bool) -> bool {
        let id = self.intern_entry(bytes, delta, None);
        self.blob(id).redacted
    }

    /// Stores an `Any`, without secrets; the wrapper of a resource is stored apart.
    fn add_any(&mut self, hash: u128, bytes: &[u8]) -> BlobId {
        let Some((url, value)) = any_parts(bytes) else { return self.add_whole(hash, bytes, true) };
        if is_wrapper(url) {
            return self.add_wrapper(hash, bytes, value, true);
        }
        let form = self.any_form(url, value);
        let clean = self.redact.as_ref().and_then(|redact| redact.resource(bytes));
        self.add(hash, bytes.len(), clean.is_some(), form, clean.as_deref().unwrap_or(bytes))
    }

    /// Returns the type of an `Any`, and the name of the resource in it.
    fn any_form(&mut self, url: &[u8], value: &[u8]) -> BlobForm {
        let (type_url, name_field) = self.type_of(url);
        let name = name_field.and_then(|number| {
            Fields::new(value).map_while(Result::ok).filter(|field| field.number == number).last()
        });
        let name = name.map_or(Sym::EMPTY, |field| self.strings.intern(&field.text()));
        BlobForm::Any { type_url, name }
    }

    /// Returns the symbol of a type URL, and the number of the name field of its resources.
    fn type_of(&mut self, url: &[u8]) -> (Sym, Option<u32>) {
        if let Some((last, sym, field)) = &self.last_type
            && **last == *url
        {
            return (*sym, *field);
        }
        let text = pb::text(url);
        let sym = self.strings.intern(&text);
        let field = Kind::of_type_url(&text).and_then(|(kind, _)| kind.name_field());
        self.last_type = Some((url.into(), sym, field));
        (sym, field)
    }

    /// Reads a recorded `Any`.
    pub fn read_any(&mut self, bytes: &[u8]) -> BlobForm {
        any_parts(bytes).map_or(BlobForm::Other, |(url, value)| self.any_form(url, value))
    }

    /// Reads a recorded `Resource` from the bytes around its payload, which stood at offset `head`.
    pub fn read_wrapper(
        &mut self,
        around: &[u8],
        head: u32,
        payload: Option<BlobId>,
        in_any: bool,
    ) -> BlobForm {
        raw_wrapper(around).map_or(BlobForm::Other, |raw| {
            let wrapper = Box::new(self.wrapper(&raw, payload, in_any));
            BlobForm::Wrapper { wrapper, head }
        })
    }

    /// Interns the names and versions of a resource wrapper.
    fn wrapper(&mut self, raw: &RawWrapper<'_>, payload: Option<BlobId>, in_any: bool) -> Wrapper {
        let text = pb::text;
        let plain = if raw.name.is_empty() { raw.structured_name.unwrap_or_default() } else { raw.name };
        let mut name = self.strings.intern(&text(plain));
        // SotW wrappers may have no name: use the payload's own name.
        if let (Sym::EMPTY, Some(payload), None) = (name, payload, raw.structured_name) {
            name = self.entry(payload).name;
        }
        Wrapper {
            name,
            version: self.strings.intern(&text(raw.version)),
            payload,
            ttl: raw.ttl,
            aliases: raw.aliases.iter().map(|alias| self.strings.intern(&text(alias))).collect(),
            in_any,
        }
    }

    /// Stores a wrapper; `bytes` is the entry, `message` the `Resource` in it.
    fn add_wrapper(&mut self, hash: u128, bytes: &[u8], message: &[u8], in_any: bool) -> BlobId {
        let clean = self.redact.as_ref().and_then(|redact| redact.wrapper(message));
        let is_redacted = clean.is_some();
        self.put_wrapper(hash, bytes, clean.as_deref().unwrap_or(message), in_any, is_redacted)
    }

    /// Stores a wrapper without secrets, except for its payload.
    fn put_wrapper(
        &mut self,
        hash: u128,
        bytes: &[u8],
        message: &[u8],
        in_any: bool,
        is_redacted: bool,
    ) -> BlobId {
        let Some(raw) = raw_wrapper(message) else { return self.add_whole(hash, bytes, in_any) };
        let payload = match &raw.payload {
            None => None,
            Some((_, payload)) => {
                let inner = self.hash(payload);
                match self.known(inner) {
                    // The stored body of a wrapper lacks its payload.
                    Some(id) if matches!(self.blob(id).form, BlobForm::Wrapper { .. }) => {
                        return self.add_whole(hash, bytes, in_any);
                    }
                    Some(id) => Some(id),
                    None => Some(self.add_payload(inner, payload)),
                }
            }
        };
        let wrapper = self.wrapper(&raw, payload, in_any);
        let redacted = is_redacted || payload.is_some_and(|id| self.blob(id).redacted);
        // The body is the bytes around the payload. If joining them does not give the original
        // bytes (unusual tags or lengths, a repeated payload), the entry is stored in one piece.
        let (body, head) = match &raw.payload {
            Some((place, _)) => ([&message[..place.start], &message[place.end..]].concat(), place.start),
            None => (message.to_vec(), message.len()),
        };
        let same = match &raw.payload {
            _ if in_any => join_wrapper(&body, head, raw.payload.as_ref().map(|(_, p)| *p), true) == bytes,
            // The tag and the length have the shortest encoding.
            Some((place, payload)) => {
                message.get(place.start) == Some(&PAYLOAD_TAG)
                    && place.len() == pb::tag_len(2, payload.len()) + payload.len()
            }
            None => true,
        };
        if !(same || redacted) || raw.payloads > 1 {
            return self.add_whole(hash, bytes, in_any);
        }
        let form = BlobForm::Wrapper { wrapper: Box::new(wrapper), head: head as u32 };
        self.add(hash, bytes.len(), redacted, form, &body)
    }

    /// Stores the `Any` in a wrapper. A wrapper in a wrapper is not unwrapped again.
    fn add_payload(&mut self, hash: u128, bytes: &[u8]) -> BlobId {
        match any_parts(bytes) {
            Some((url, _)) if is_wrapper(url) => self.add_whole(hash, bytes, true),
            _ => self.add_any(hash, bytes),
        }
    }

    /// Stores an entry in one piece: an `Any`, or a bare `Resource`.
    fn add_whole(&mut self, hash: u128, bytes: &[u8], is_any: bool) -> BlobId {
        let clean = self.redact.as_ref().and_then(|redact| {
            if is_any {
                return redact.resource(bytes);
            }
            let clean = redact.resource(&any_of_wrapper(bytes))?;
            any_parts(&clean).map(|(_, value)| value.to_vec())
        });
        self.add(hash, bytes.len(), clean.is_some(), BlobForm::Other, clean.as_deref().unwrap_or(bytes))
    }

    /// Adds a blob with its body, and returns its number.
    fn add(&mut self, hash: u128, size: usize, redacted: bool, form: BlobForm, body: &[u8]) -> BlobId {
        // The redactor has read an `Any` completely already.
        let clean = match form {
            BlobForm::Any { .. } => None,
            _ => self.redact.as_ref().and_then(|redact| redact.raw(body)),
        };
        self.put(hash, size, redacted || clean.is_some(), form, clean.as_deref().unwrap_or(body))
    }

    /// Stores a body without secrets.
    fn put(&mut self, hash: u128, size: usize, redacted: bool, form: BlobForm, body: &[u8]) -> BlobId {
        let kept = match &form {
            BlobForm::Wrapper { wrapper, .. } => {
                let payload = wrapper.payload.map(|id| self.blob(id).kept as usize);
                joined_len(body.len(), payload, wrapper.in_any)
            }
            _ => body.len(),
        };
        self.bodies.put(body);
        self.search_structured(body);
        self.restore(Blob {
            hash,
            size: size as u32,
            kept: kept as u32,
            redacted,
            form,
            follower: BlobId::NONE,
        })
    }

    /// Adds a blob whose body [`BodyStore`] has already, for readers of recordings.
    pub fn restore(&mut self, blob: Blob) -> BlobId {
        self.totals.add(&blob);
        self.restore_again(blob)
    }

    /// Adds a blob and its body, for readers of journals.
    pub fn restore_with_body(&mut self, blob: Blob, body: &[u8]) -> BlobId {
        self.bodies.put(body);
        self.search_structured(body);
        self.restore(blob)
    }

    /// Adds a blob that was dropped. It does not count again in [`totals`](Catalog::totals).
    pub fn restore_again(&mut self, blob: Blob) -> BlobId {
        let hash = blob.hash as u64;
        let id = self.blobs.push(blob);
        self.by_hash.insert(hash, id.0);
        id
    }

    pub(super) fn follower(&self, id: BlobId) -> Option<BlobId> {
        let follower = self.blob(id).follower;
        (follower != BlobId::NONE).then_some(follower)
    }

    pub(super) fn set_follower(&mut self, id: BlobId, next: BlobId) {
        if let Some(blob) = self.blobs.get_mut(id)
            && blob.follower != next
        {
            blob.follower = next;
        }
    }

    /// Returns the run of entries that starts with `first`, if `bytes` start with that run.
    pub(super) fn run(&self, first: BlobId, bytes: &[u8]) -> Option<&EntryRun> {
        let run = self.runs.get(&first)?;
        let raw = bytes.get(..run.bytes)?;
        (raw.starts_with(&run.head) && self.hash(raw) == run.hash).then_some(run)
    }

    pub(super) fn set_run(&mut self, run: EntryRun) {
        self.runs.insert(run.blobs[0], run);
    }

    /// Reads names that are too few to be shared.
    pub fn read_names(&mut self, read: impl FnOnce(&mut Strings) -> Vec<Sym>) -> Arc<[Sym]> {
        read(&mut self.strings).into()
    }

    /// Returns the names in a run of name fields, which is read once however often it is repeated.
    pub fn run_names(&mut self, run: BlobId, read: impl FnOnce(&mut Strings) -> Vec<Sym>) -> Arc<[Sym]> {
        if let Some(names) = self.names.get(&run) {
            return names.clone();
        }
        let names: Arc<[Sym]> = read(&mut self.strings).into();
        self.run_names += names.len();
        self.names.insert(run, names.clone());
        names
    }

    /// Returns the names of a run that was read before.
    pub fn known_names(&self, run: BlobId) -> Option<&Arc<[Sym]>> {
        self.names.get(&run)
    }

    /// Returns the list of these entries: the shared one if it exists, else a new one.
    pub fn list(&self, blobs: Vec<BlobId>) -> Arc<List> {
        let list = List::new(&self.secret, blobs);
        self.known_list(&list).unwrap_or_else(|| Arc::new(list))
    }

    fn known_list(&self, list: &List) -> Option<Arc<List>> {
        self.lists.get(&list.fingerprint()).and_then(Weak::upgrade)
    }

    /// Returns the shared list of these entries, and creates it if there is none.
    pub fn intern_list(&mut self, blobs: Vec<BlobId>) -> Arc<List> {
        let list = List::new(&self.secret, blobs);
        if let Some(known) = self.known_list(&list) {
            return known;
        }
        if self.lists.len() >= 1024 && self.lists.len().is_power_of_two() {
            self.lists.retain(|_, list| list.strong_count() > 0);
        }
        let list = Arc::new(list);
        self.lists.insert(list.fingerprint(), Arc::downgrade(&list));
        list
    }
}
