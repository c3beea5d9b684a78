use std::hash::{BuildHasher, Hasher, RandomState};

use twox_hash::XxHash3_64;

use super::index::Index;
use super::kept_ids::KeptIds;
use crate::event::Sym;

/// Memory of a text besides its bytes: its place and its entry in the index.
const TEXT_BYTES: usize = 24;

/// Interned texts.
#[derive(Debug)]
pub struct Strings {
    /// Texts that were kept when others were dropped.
    older: Texts,
    older_ids: KeptIds,
    /// The symbol of the first newer text.
    first: u32,
    newer: Texts,
    index: Index,
    /// Hash key, random per process, because peers choose the names.
    key: u64,
}

/// Concatenated texts.
#[derive(Debug, Default)]
struct Texts {
    all: String,
    /// End offset of each text.
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    fn get(&self, at: usize) -> Option<&str> {
        let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        self.all.get(*start?..*self.ends.get(at)?)
    }
}

impl Default for Strings {
    fn default() -> Self {
        let key = RandomState::new().build_hasher().finish();
        let mut strings = Strings {
            older: Texts::default(),
            older_ids: KeptIds::default(),
            first: 0,
            newer: Texts::default(),
            index: Index::default(),
            key,
        };
        strings.intern("");
        strings
    }
}

impl Strings {
    /// Returns the symbol of a text, and adds the text if it is new.
    pub fn intern(&mut self, text: &str) -> Sym {
        let hash = self.hash(text);
        if let Some(id) = self.position(hash, text) {
            return id;
        }
        let id = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.newer.push(text);
        self.index.insert(hash, id);
        Sym(id)
    }

    /// Returns the symbol of a text that was interned before.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.position(self.hash(text), text)
    }

    fn hash(&self, text: &str) -> u64 {
        XxHash3_64::oneshot_with_seed(self.key, text.as_bytes())
    }

    fn position(&self, hash: u64, text: &str) -> Option<Sym> {
        self.index.find(hash, |id| self.get(Sym(id)) == text).map(Sym)
    }

    /// Returns the text of a symbol; the empty text if it was dropped, or for a symbol of another
    /// catalog.
    pub fn get(&self, id: Sym) -> &str {
        let text = match id.0.checked_sub(self.first) {
            Some(at) => self.newer.get(at as usize),
            None => self.older_ids.place(id.0).and_then(|place| self.older.get(place)),
        };
        text.unwrap_or_default()
    }

    /// Returns the number of different texts so far, with those that were dropped.
    pub fn len(&self) -> usize {
        self.first as usize + self.newer.ends.len()
    }

    /// Always false, because the empty text is always present.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Estimates the memory of all texts, in bytes.
    pub(super) fn memory(&self) -> usize {
        let texts = self.older.ends.len() + self.newer.ends.len();
        let bytes = self.older.all.capacity() + self.newer.all.capacity();
        bytes + texts * TEXT_BYTES + self.older_ids.memory()
    }

    /// Drops the texts that `is_used` does not accept, except for the empty one.
    pub(super) fn retain(&mut self, is_used: impl Fn(Sym) -> bool) {
        let is_used = |id: u32| id == Sym::EMPTY.0 || is_used(Sym(id));
        let end = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let (mut ids, mut kept) = (KeptIds::default(), Texts::default());
        for id in self.older_ids.iter().chain(self.first..end).filter(|id| is_used(*id)) {
            ids.push(id);
            kept.push(self.get(Sym(id)));
        }
        kept.all.shrink_to_fit();
        kept.ends.shrink_to_fit();
        ids.shrink_to_fit();
        (self.older, self.older_ids, self.first, self.newer) = (kept, ids, end, Texts::default());
        self.index = self.older_ids.iter().map(|id| (self.hash(self.get(Sym(id))), id)).collect();
    }
}
