use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::event::Sym;

/// Interned texts. Never shrinks: a name once seen may be asked for again.
#[derive(Debug)]
pub struct Strings {
    texts: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, Sym, Keyed>,
}

/// XXH3 under a key of this process: names are many, and longer than what SipHash is fast on.
#[derive(Clone, Debug)]
struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Keyed(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Keyed {
    type Hasher = Keyed;

    fn build_hasher(&self) -> Keyed {
        self.clone()
    }
}

impl Hasher for Keyed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    /// What ends a text.
    fn write_u8(&mut self, _: u8) {}
}

impl Default for Strings {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        Strings { texts: vec![empty.clone()], ids: HashMap::from_iter([(empty, Sym::EMPTY)]) }
    }
}

impl Strings {
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = Sym(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text: Arc<str> = Arc::from(text);
        self.texts.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    /// The symbol of a text that was interned before.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.ids.get(text).copied()
    }

    /// The text of a symbol; the empty text for one of another catalog.
    pub fn get(&self, id: Sym) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }

    /// The text of a symbol, shared.
    pub fn shared(&self, id: Sym) -> Arc<str> {
        self.texts.get(id.0 as usize).unwrap_or(&self.texts[0]).clone()
    }

    /// How many different texts there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never true: the empty text is always there.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
