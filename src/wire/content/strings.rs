use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::index::Index;
use crate::wire::event::Sym;

/// Interned texts. Never shrinks, because any name may be looked up again.
#[derive(Debug)]
pub struct Strings {
    /// All texts, concatenated.
    all: String,
    /// End offset of each text.
    ends: Vec<usize>,
    index: Index,
    /// Hash key, random per process, because peers choose the names.
    key: u64,
}

impl Default for Strings {
    fn default() -> Self {
        let key = RandomState::new().build_hasher().finish();
        let mut strings = Strings { all: String::new(), ends: Vec::new(), index: Index::default(), key };
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
        let id = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
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

    /// Returns the text of a symbol; the empty text for a symbol of another catalog.
    pub fn get(&self, id: Sym) -> &str {
        self.place(id.0 as usize).and_then(|place| self.all.get(place)).unwrap_or_default()
    }

    fn place(&self, id: usize) -> Option<Range<usize>> {
        let start = id.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        Some(*start?..*self.ends.get(id)?)
    }

    /// Returns the number of different texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Always false, because the empty text is always present.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
