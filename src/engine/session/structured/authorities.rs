//! Authorities of the names that streams request.

use xdscope_wire::content::Catalog;
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::{Name, is_structured};

/// Authorities of a track that are remembered.
const MAX_AUTHORITIES: usize = 16;

/// The authorities of all names that the client has requested on a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorities {
    /// Whether a name had no authority because it is no `xdstp:` name.
    has_plain: bool,
    structured: Vec<Box<str>>,
}

impl Authorities {
    /// Adds the authorities of names.
    pub(crate) fn note(&mut self, catalog: &Catalog, names: &[Sym]) {
        names.iter().for_each(|name| self.add(catalog.text(*name)));
    }

    /// Whether a name had no authority.
    pub(crate) fn has_plain(&self) -> bool {
        self.has_plain
    }

    /// Returns the authorities of `xdstp:` names, each once.
    pub(crate) fn structured(&self) -> &[Box<str>] {
        &self.structured
    }

    fn add(&mut self, name: &str) {
        if !is_structured(name) {
            self.has_plain = true;
            return;
        }
        let Some(Name { authority, .. }) = Name::parse(name) else { return };
        let is_known = self.structured.iter().any(|known| **known == *authority);
        if !is_known && self.structured.len() < MAX_AUTHORITIES {
            self.structured.push(authority.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_noted_once() {
        let mut authorities = Authorities::default();
        for name in ["xdstp://a/T/x", "xdstp://a/T/y", "xdstp://b/T/x", "xdstp:/T/x"] {
            authorities.add(name);
        }
        assert_eq!(authorities.structured, ["a".into(), "b".into(), "".into()]);
        assert!(!authorities.has_plain);
        authorities.add("x");
        assert!(authorities.has_plain);
    }
}
