//! Glob collections, and their members.

use std::borrow::Cow;
use std::collections::HashMap;

use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::Sym;

use crate::session::Context;
use crate::session::content::resource_set::Change;
use crate::session::events::EventKind;
use xdscope_wire::xdstp::{is_glob, respelled};

/// The subscribed glob collections of a track, found by the paths above a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globs {
    by_url: HashMap<Box<str>, Sym>,
}

impl Globs {
    /// Adds the name if it is a glob (docs/protocol.md#k-18).
    pub(crate) fn insert(&mut self, catalog: &Catalog, name: Sym) {
        if is_glob(catalog.text(name)) {
            self.by_url.insert(url(catalog, name).into(), name);
        }
    }

    pub(crate) fn remove(&mut self, catalog: &Catalog, name: Sym) {
        if !self.by_url.is_empty() {
            self.by_url.remove(&*url(catalog, name));
        }
    }

    pub(crate) fn contains(&self, catalog: &Catalog, name: Sym) -> bool {
        !self.by_url.is_empty() && self.by_url.contains_key(&*url(catalog, name))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_url.is_empty()
    }

    /// Returns the globs as subscribed, in no particular order.
    pub(crate) fn names(&self) -> impl Iterator<Item = Sym> {
        self.by_url.values().copied()
    }

    /// Marks the names as used.
    pub(in crate::session) fn mark(&self, used: &mut UsedContent) {
        used.names(self.by_url.values());
    }

    /// Records which members of subscribed globs a response adds and removes
    /// (docs/protocol.md#k-19).
    pub(in crate::session) fn note_members(&self, ctx: &mut Context<'_>, change: &Change) {
        if self.is_empty() {
            return;
        }
        for (kind, names) in
            [(EventKind::MembersAdded, &change.added), (EventKind::MembersRemoved, &change.removed)]
        {
            // The glob and its members; globs in the order of their first members.
            let mut events: Vec<Vec<Sym>> = Vec::new();
            let mut places: HashMap<Sym, usize> = HashMap::new();
            for name in names {
                for glob in self.with_member(ctx.catalog, *name) {
                    let place = *places.entry(glob).or_insert(events.len());
                    match events.get_mut(place) {
                        Some(event) => event.push(*name),
                        None => events.push(vec![glob, *name]),
                    }
                }
            }
            for names in events {
                ctx.events.add_all(kind, &names);
            }
        }
    }

    /// Returns the globs that have the name as a member, the narrowest first
    /// (docs/protocol.md#k-21).
    pub(crate) fn with_member(&self, catalog: &Catalog, name: Sym) -> Vec<Sym> {
        if self.by_url.is_empty() {
            return Vec::new();
        }
        self.with_member_named(catalog.text(name))
    }

    /// Returns the globs that have a name as a member, the narrowest first.
    pub(crate) fn with_member_named(&self, name: &str) -> Vec<Sym> {
        let canonical = respelled(name);
        let name = canonical.as_deref().unwrap_or(name);
        let (path, parameters) = name.split_at(name.find('?').unwrap_or(name.len()));
        let is_member = |rest: &str| !rest.is_empty() && rest != "*";
        let above = path.rmatch_indices('/').map(|(at, _)| path.split_at(at + 1));
        let globs = above.filter(|(_, rest)| is_member(rest)).map(|(dir, _)| format!("{dir}*{parameters}"));
        globs.filter_map(|url| self.by_url.get(url.as_str()).copied()).collect()
    }
}

/// Returns the canonical form of a name.
fn url(catalog: &Catalog, name: Sym) -> Cow<'_, str> {
    let text = catalog.text(name);
    respelled(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_globs_above_name() {
        let mut catalog = Catalog::in_memory();
        let mut globs = Globs::default();
        for glob in ["xdstp://a/T/*", "xdstp://a/T/x/*?b=2&a=1", "xdstp://a/T/x/*", "xdstp:/T/*", "plain/*"] {
            let glob = catalog.intern(glob);
            globs.insert(&catalog, glob);
        }
        let of = |name: &str| -> Vec<&str> {
            globs.with_member_named(name).into_iter().map(|glob| catalog.text(glob)).collect()
        };
        assert_eq!(of("xdstp://a/T/x/y"), ["xdstp://a/T/x/*", "xdstp://a/T/*"]);
        assert_eq!(of("xdstp://a/T/x/y/z?a=1&b=%32"), ["xdstp://a/T/x/*?b=2&a=1"]);
        assert_eq!(of("xdstp:///T/x"), ["xdstp:/T/*"]);
        assert_eq!(of("xdstp://a/T/x/*"), ["xdstp://a/T/*"]);
        assert!(of("xdstp://a/T/x?c=1").is_empty() && of("plain/x").is_empty());
    }

    #[test]
    fn removed_glob_has_no_members() {
        let mut catalog = Catalog::in_memory();
        let mut globs = Globs::default();
        let (glob, name) = (catalog.intern("xdstp://a/T/*"), catalog.intern("xdstp://a/T/x"));
        globs.insert(&catalog, glob);
        assert!(globs.contains(&catalog, glob) && globs.with_member(&catalog, name) == [glob]);
        globs.remove(&catalog, glob);
        assert!(globs.is_empty() && globs.with_member(&catalog, name).is_empty());
    }
}
