//! The request that a response answers, and the resources that it replaces.

use crate::session::MessageKind;
use crate::session::content::compare::{key, nameless};
use crate::session::content::resource_set::Change;
use crate::session::track::Track;
use xdscope_wire::ResponseView;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Sym};

impl Track {
    /// Whether a response replaces all resources: a SotW response for listeners or clusters
    /// (docs/protocol.md#e-44), or a delta response with the only resource of a type of another
    /// plane, which has no name.
    pub(super) fn replaces_all(&self, catalog: &Catalog, push: &ResponseView<'_>) -> bool {
        // A response that states another type than that of its method says nothing about the set.
        let stated = push.type_url.as_str();
        let is_of_other = Kind::of_type_url(stated).is_some_and(|(kind, _)| Some(kind) != self.kind);
        if is_of_other {
            return false;
        }
        if !push.is_delta {
            return self.is_of_full_state();
        }
        let is_unnamed = |id: &BlobId| nameless(key(catalog, *id)).is_some();
        let is_single = matches!(push.resources.blobs(), [id] if is_unnamed(id));
        self.kind.is_none() && is_single && self.sent.count() <= 1
    }

    /// Whether a response answers the last request for something new by what it mentions: the
    /// request asks for a wildcard, or for a name that the response sends, removes or reports as
    /// missing. A push of other names answers nothing (docs/protocol.md#e-03).
    pub(super) fn mentions_asked(&self, catalog: &Catalog, push: &ResponseView<'_>) -> bool {
        let Some(asked) = self.traffic.unanswered else { return false };
        let is_wildcard = self.subscription.wildcard_asked.is_some_and(|(_, n)| n == asked);
        if self.polled || !self.traffic.awaits_names || is_wildcard {
            return true;
        }
        let is_asked = |name: Sym| self.is_awaited_since(catalog.first_spelling(name), asked);
        let sends_asked = |id: &BlobId| {
            let name = key(catalog, *id);
            // Each of the names may be that of the resource (docs/protocol.md#a-18).
            let is_unnamed = nameless(name).is_some() && self.kind.is_none();
            let mut aliases = catalog.entry(*id).aliases.iter();
            let mut globs = self.subscription.globs.with_member(catalog, name).into_iter();
            is_unnamed || is_asked(name) || aliases.any(|alias| is_asked(*alias)) || globs.any(is_asked)
        };
        let removes_asked = |name: Sym| {
            // The members of a glob that is requested again stand for the glob.
            let is_glob = self.subscription.globs.contains(catalog, name);
            is_asked(name) || (is_glob && self.waiting.members().into_iter().any(is_asked))
        };
        let errors = push.resource_errors.iter().map(|error| error.name);
        push.resources.blobs().iter().any(sends_asked)
            || push.removed.iter().copied().chain(errors).any(removes_asked)
    }
}

/// Whether a response changes nothing, and not even times to live: a request has caused it.
pub(super) fn changes_nothing(kind: MessageKind, change: &Change) -> bool {
    let is_unchanged = change.added.is_empty() && change.changed.is_empty() && change.removed.is_empty();
    kind != MessageKind::Heartbeat && is_unchanged
}
