//! Contents of structured names in a response, compared with those before.

use super::structured_contents::{ChangedContents, NamedVersion};
use crate::lint::context::RuleContext;
use crate::lint::exchange::ResponseContext;
use crate::session::key;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Sym;

/// Returns the structured resources of a response that have a version. Names in another spelling
/// are left out: the content may repeat the spelling.
fn named_versions(catalog: &Catalog, response: &ResponseContext<'_>) -> impl Iterator<Item = NamedVersion> {
    response.scan.structured.iter().filter_map(|id| {
        let (name, entry) = (key(catalog, *id), catalog.entry(*id));
        if entry.name != name || entry.version == Sym::EMPTY {
            return None;
        }
        Some(NamedVersion { name, version: entry.version, payload: entry.payload? })
    })
}

impl RuleContext<'_> {
    /// Returns the index of the session; the largest number for a stream without one.
    fn session(&self) -> usize {
        self.stream.chain.session.unwrap_or(usize::MAX)
    }

    /// Returns the structured names and lists of a response with another content than before at the
    /// same version.
    pub(crate) fn changed_contents(&self, response: &ResponseContext<'_>) -> ChangedContents {
        let (known, session) = (&self.source_state.structured_contents, self.session());
        let mut changed = ChangedContents::default();
        for named in named_versions(self.catalog(), response) {
            known.compare_named(named, session, &mut changed);
        }
        for entry in &response.scan.inline {
            known.compare_inline(entry, session, &mut changed);
        }
        changed.own.dedup();
        changed.others.dedup();
        changed
    }

    /// Remembers the contents of structured names and of entries in lists.
    pub(crate) fn note_contents(&mut self, response: &ResponseContext<'_>) {
        if response.scan.structured.is_empty() {
            return;
        }
        let (catalog, session) = (self.catalog(), self.session());
        let known = &mut self.source_state.structured_contents;
        for named in named_versions(catalog, response) {
            known.note_named(named, session);
        }
        for entry in &response.scan.inline {
            known.note_inline(entry, session);
        }
    }
}
