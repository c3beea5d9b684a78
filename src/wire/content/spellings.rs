//! Names of resources, which may occur in several spellings.

use memchr::memmem;

use super::{Blob, BlobForm, Catalog};
use crate::event::Sym;

impl Catalog {
    /// Notes that a name is another spelling of an earlier name.
    pub fn note_spelling(&mut self, name: Sym, first: Sym) {
        self.spellings.insert(name, first);
    }

    /// Notes the canonical form of a name that stands for all of its spellings.
    pub fn note_canonical(&mut self, canonical: Sym, first: Sym) {
        self.spellings.insert(canonical, first);
        self.canonical_names.insert(first, canonical);
    }

    /// Notes that a message has the name, and returns whether it is the first one.
    pub fn note_spelled(&mut self, name: Sym) -> bool {
        self.spelled.insert(name)
    }

    /// Whether a message so far has the name. The catalog of a recording has later names too.
    pub fn is_spelled(&self, name: Sym) -> bool {
        self.spelled.contains(&name)
    }

    /// Whether any name occurs in several spellings.
    pub fn has_spellings(&self) -> bool {
        !self.spellings.is_empty()
    }

    /// Searches a new content for structured names.
    pub(super) fn search_structured(&mut self, body: &[u8]) {
        self.mentions_structured = self.mentions_structured || memmem::find(body, b"xdstp:").is_some();
    }

    /// Whether any content so far mentions a structured name.
    pub fn mentions_structured(&self) -> bool {
        self.mentions_structured
    }

    /// Returns the first spelling of a name, which stands for all of its spellings.
    pub fn first_spelling(&self, name: Sym) -> Sym {
        match self.spellings.is_empty() {
            true => name,
            false => self.spellings.get(&name).copied().unwrap_or(name),
        }
    }
}

impl Blob {
    /// Returns the name of the entry; empty if there is none.
    pub fn name(&self) -> Sym {
        match &self.form {
            BlobForm::Any { name, .. } => *name,
            BlobForm::Wrapper { wrapper, .. } => wrapper.name,
            BlobForm::Other => Sym::EMPTY,
        }
    }
}
