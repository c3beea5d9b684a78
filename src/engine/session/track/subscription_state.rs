//! How the subscription of a track came about.

use std::sync::Arc;

use crate::session::content::names::SymMap;
use crate::session::structured::authorities::Authorities;
use crate::session::structured::globs::Globs;
use crate::session::subscription::SubscribedNames;
use crate::session::subscription::released_names::ReleasedNames;
use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{Seq, Sym, Time};

/// How the subscription of a track came about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscription {
    /// SotW: the names of the last request, in its order.
    pub(crate) last_names: Option<Arc<[Sym]>>,
    /// Whether a name or `*` was ever asked for: after that, an empty list is not a wildcard
    /// (docs/protocol.md#e-40).
    pub(crate) was_named: bool,
    /// Whether the subscription was ever a wildcard.
    pub(crate) was_wildcard: bool,
    /// Whether a name or the wildcard was ever given up.
    pub(crate) has_released: bool,
    /// The names that the client gave up.
    pub(crate) released: ReleasedNames,
    /// The names that are globs.
    pub(crate) globs: Globs,
    /// The authorities of the names (docs/protocol.md#k-24).
    pub(in crate::session) authorities: Authorities,
    /// When the subscription changed last.
    pub(crate) changed_at: Time,
    /// Delta: the request that changed it last.
    pub(crate) changed_by: Option<Seq>,
    /// The names that the server works from, where they differ (docs/protocol.md#e-09).
    pub(crate) effective: Option<SubscribedNames>,
    /// When a list of names ended a wildcard that the server may keep, until a response shows how
    /// the server reads the list (docs/protocol.md#l-06).
    pub(crate) names_after_wildcard: Option<Time>,
    /// When the wildcard was asked for, and by which request, until the first response.
    pub(crate) wildcard_asked: Option<(Time, Seq)>,
    /// The request that gave up the wildcard, with its time, until another one asks for it again.
    pub(crate) wildcard_released: Option<(Seq, Time)>,
    /// Whether the client may wait for members of a wildcard that it had given up.
    pub(crate) awaits_members: bool,
    /// Delta: names that the client has unsubscribed under the wildcard, with the request. The
    /// server has neither sent nor removed them since (docs/protocol.md#f-26).
    pub(crate) unclassified: SymMap<(Time, Seq)>,
}

impl Subscription {
    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.last_names.iter().for_each(|names| used.run(names));
        self.globs.mark(used);
        self.released.mark(used);
        self.effective.iter().for_each(|names| names.mark(used));
        used.names(self.unclassified.keys());
    }

    /// Records that the client has unsubscribed a name under the wildcard.
    pub(in crate::session) fn owe_classification(&mut self, name: Sym, at: Time, seq: Seq) {
        if self.unclassified.len() < MAX_UNCLASSIFIED {
            self.unclassified.insert(name, (at, seq));
        }
    }
}

/// Names in [`Subscription::unclassified`] that are kept.
const MAX_UNCLASSIFIED: usize = 1 << 14;
