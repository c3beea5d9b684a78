//! The state of a type at the end of the previous stream of a client.

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time, VersionInfo};

use crate::session::Context;
use crate::session::content::names::{SymMap, SymSet};
use crate::session::content::resource_set::{Presence, ResourceEntry, ResourceSet};
use crate::session::interventions::divergence::Divergence;
use crate::session::track::EarlierNacks;
use crate::session::track::claims::{ClaimOutcome, Claims};
use crate::session::track::earlier_refusals::EarlierRefusals;
use crate::session::track::ttl::TimesToLive;
use crate::session::warming::batches::{WarmingBatch, WarmingBatches};

/// Resources of a type at the end of the previous stream of the session.
#[derive(Default)]
pub(crate) struct Prior {
    /// The client has resources from before the recording: none are known.
    pub(crate) has_unseen: bool,
    /// SotW: the first request of the next stream states a version that the client has refused.
    pub(crate) claims_refused: bool,
    /// Resources that the client had accepted.
    pub(crate) accepted: ResourceSet,
    /// SotW: resources that the client uses from responses that it has refused.
    pub(crate) applied: Vec<(Sym, ResourceEntry)>,
    /// Resources that the server had sent.
    pub(crate) sent: ResourceSet,
    /// The times to live of the resources.
    pub(crate) ttl: TimesToLive,
    /// SotW: resources that the client did not request, or had given up (docs/protocol.md#e-36).
    pub(crate) unrequested: SymSet,
    /// Delta: resources whose newest content the client had refused.
    pub(crate) refused: SymSet,
    /// Delta: the versions of resources that the client had refused, and does not use.
    pub(crate) refused_versions: SymMap<Sym>,
    /// The refusals of resources that the client had still refused.
    pub(crate) refusals: EarlierRefusals,
    /// The version in force, unless newer messages of the stream may be missing.
    pub(crate) accepted_version: Option<VersionInfo>,
    /// SotW: the version of the newest response, unless the client has refused it.
    pub(crate) newest_version: Option<VersionInfo>,
    /// SotW: the client asked for all resources, and a response or an earlier stream has answered.
    pub(crate) has_all: bool,
    /// Resources that the client has, and of which the server still owed another version.
    pub(crate) owed: SymSet,
    /// Delta: the entries of `initial_resource_versions`.
    pub(crate) claims: Claims,
    /// SotW: the server owed all resources, of which the client has some at another version.
    pub(crate) owes_all: bool,
    /// NACKs that were open at the end.
    pub(crate) nacks: Option<EarlierNacks>,
    /// Resources that still warmed.
    pub(crate) warming: Vec<WarmingBatch>,
    /// All batches, with the contents that the client used meanwhile.
    pub(crate) batches: WarmingBatches,
    /// When, and with which request, the client began to wait for names that were still missing.
    pub(crate) waiting: SymMap<(Time, Seq)>,
    /// Delta: xdscope has changed or withheld resources, which were not sent again.
    pub(crate) diverged: Option<Divergence>,
    /// When the stream ended.
    pub(crate) ended: Option<Time>,
}

impl Prior {
    /// Whether the client has dropped a resource whose time to live was over.
    pub(crate) fn is_expired(&self, name: Sym, now: Time) -> bool {
        self.ttl.is_over(name, now)
    }

    /// Whether a stream that starts now continues with the waits of this one: the client has
    /// come back at once.
    pub(crate) fn is_continued(&self, ctx: &Context<'_>) -> bool {
        let limit = ctx.resource_timeout.unwrap_or_default();
        ctx.timed && self.ended.is_some_and(|ended| ctx.at.since(ended) <= limit)
    }

    /// SotW: the resources that a client with this version has.
    pub(crate) fn at_version(&self, version: &VersionInfo) -> &ResourceSet {
        let is_newest = self.newest_version.as_ref() == Some(version);
        if is_newest && self.accepted_version.as_ref() != Some(version) { &self.sent } else { &self.accepted }
    }

    /// SotW: whether all resources at a version are known to be none.
    pub(crate) fn is_empty_at(&self, version: &VersionInfo) -> bool {
        let known = [&self.accepted_version, &self.newest_version];
        let is_known = known.into_iter().flatten().any(|known| known == version);
        self.has_all && is_known && self.at_version(version).count() == 0
    }

    /// SotW: whether the server owes something to a client with the version in force: a response
    /// that the client has refused or not answered, or one that did not come
    /// (docs/protocol.md#e-03).
    pub(crate) fn is_behind(&self, version: &VersionInfo) -> bool {
        let is_in_force = self.accepted_version.as_ref() == Some(version);
        is_in_force && (self.owes_all || !self.owed.is_empty())
    }

    /// Delta: whether a version that the client states is the newest known one
    /// (docs/protocol.md#f-17).
    pub(crate) fn is_newest_claim(&self, catalog: &Catalog, name: Sym, version: Sym) -> bool {
        let Some(last) = self.sent.get(catalog, name) else { return true };
        match last.state {
            Presence::Removed | Presence::Absent(_) => false,
            Presence::Expired | Presence::Released => true,
            _ => match self.claims.get(name) {
                // The server may have sent the stated version on a stream before the last one.
                Some((earlier, ClaimOutcome::Owed)) => earlier.known == Some(version),
                _ => last.version == version && !self.owed.contains(&name),
            },
        }
    }

    /// SotW: whether a version is neither in force nor the newest one: the client has something
    /// else than the stream before has shown.
    pub(crate) fn is_outdated(&self, version: &VersionInfo) -> bool {
        let is_other = |known: &Option<VersionInfo>| known.as_ref() != Some(version);
        self.accepted_version.is_some() && is_other(&self.accepted_version) && is_other(&self.newest_version)
    }
}
