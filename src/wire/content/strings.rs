use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::index::Index;
use crate::wire::event::{DenseHash, Sym};

/// Memory of a text besides its bytes: its place and its entry in the index.
const TEXT_BYTES: usize = 24;

/// Interned texts.
#[derive(Debug)]
pub struct Strings {
    /// Texts that were kept when others were dropped.
    older: HashMap<u32, Box<str>, DenseHash>,
    /// Bytes of the older texts.
    older_bytes: usize,
    /// The symbol of the first newer text.
    first: u32,
    /// The newer texts, concatenated.
    all: String,
    /// End offset of each newer text.
    ends: Vec<usize>,
    index: Index,
    /// Hash key, random per process, because peers choose the names.
    key: u64,
}

impl Default for Strings {
    fn default() -> Self {
        let key = RandomState::new().build_hasher().finish();
        let mut strings = Strings {
            older: HashMap::default(),
            older_bytes: 0,
            first: 0,
            all: String::new(),
            ends: Vec::new(),
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
        self.all.push_str(text);
        self.ends.push(self.all.len());
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
            Some(at) => self.place(at as usize).and_then(|place| self.all.get(place)),
            None => self.older.get(&id.0).map(|text| &**text),
        };
        text.unwrap_or_default()
    }

    /// Returns the place of a newer text.
    fn place(&self, at: usize) -> Option<Range<usize>> {
        let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        Some(*start?..*self.ends.get(at)?)
    }

    /// Returns the number of different texts so far, with those that were dropped.
    pub fn len(&self) -> usize {
        self.first as usize + self.ends.len()
    }

    /// Always false, because the empty text is always present.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Estimates the memory of all texts, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.older_bytes
            + self.older.len() * 2 * TEXT_BYTES
            + self.all.capacity()
            + self.ends.len() * TEXT_BYTES
    }

    /// Drops the texts that `is_used` does not accept, except for the empty one.
    pub(super) fn retain(&mut self, is_used: impl Fn(Sym) -> bool) {
        let is_used = |id: u32| id == Sym::EMPTY.0 || is_used(Sym(id));
        let end = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.older.retain(|id, _| is_used(*id));
        for id in (self.first..end).filter(|id| is_used(*id)) {
            let text = Box::from(self.get(Sym(id)));
            self.older.insert(id, text);
        }
        self.older.shrink_to_fit();
        self.older_bytes = self.older.values().map(|text| text.len()).sum();
        (self.first, self.all, self.ends) = (end, String::new(), Vec::new());
        self.index = self.older.iter().map(|(id, text)| (self.hash(text), *id)).collect();
    }
}
