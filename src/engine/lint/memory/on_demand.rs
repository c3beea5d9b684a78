//! Routes whose unknown clusters Envoy fetches when a request needs them.

use std::collections::HashSet;

use super::references::ROUTE_KINDS;
use crate::lint::context::RuleContext;
use crate::session::Track;
use xdscope_schema::links::fetches_clusters;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Sym};
use xdscope_wire::xdstp::canonical_name;

/// Resources of a type that are searched for filters.
const MAX_SEARCHED_CONTENTS: usize = 1024;

/// The resources that have the filter `on_demand` with a source of clusters, or belong to a
/// listener that has the filter.
#[derive(Default)]
pub(crate) struct OnDemandRoutes {
    names: HashSet<(Kind, Sym)>,
}

impl OnDemandRoutes {
    /// Whether a resource of a track is one of these routes.
    pub(crate) fn has(&self, catalog: &Catalog, track: &Track, name: Sym) -> bool {
        let Some(kind) = track.kind else { return false };
        let text = catalog.text(name);
        let starts_name = |(route_kind, prefix): &(Kind, Sym)| {
            let prefix = catalog.text(*prefix).strip_suffix('*');
            *route_kind == kind && prefix.is_some_and(|prefix| text.starts_with(prefix))
        };
        self.names.contains(&(kind, canonical_name(catalog, name))) || self.names.iter().any(starts_name)
    }
}

impl RuleContext<'_> {
    /// Returns the routes of the client whose unknown clusters Envoy fetches on demand.
    pub(crate) fn on_demand_routes(&self) -> OnDemandRoutes {
        let catalog = self.catalog();
        let mut found = OnDemandRoutes::default();
        let mut new = Vec::new();
        for kind in ROUTE_KINDS {
            for (_, track) in self.tracks_of(kind) {
                let entries = track.sent.entries(catalog).into_iter().take(MAX_SEARCHED_CONTENTS);
                for (name, entry) in entries.filter(|(_, entry)| entry.is_present()) {
                    let payload = entry.blob.and_then(|blob| catalog.entry(blob).payload);
                    let any = payload.and_then(|payload| catalog.bytes(payload));
                    if any.is_some_and(|any| fetches_clusters(&any)) {
                        new.push((kind, canonical_name(catalog, name)));
                    }
                }
            }
        }
        while let Some((kind, name)) = new.pop() {
            if found.names.insert((kind, name)) {
                new.extend(self.parts_of(kind, name));
            }
        }
        found
    }

    /// Returns the routes, scopes and virtual hosts that a resource refers to. A name that ends in
    /// `*` stands for all names with that prefix.
    fn parts_of(&self, kind: Kind, name: Sym) -> Vec<(Kind, Sym)> {
        let catalog = self.catalog();
        let text = catalog.text(name);
        let is_meant = |other: Sym| match text.strip_suffix('*') {
            Some(prefix) => catalog.text(other).starts_with(prefix),
            None => canonical_name(catalog, other) == name,
        };
        let mut parts = Vec::new();
        for (_, track) in self.tracks_of(kind) {
            let entries = track.sent.entries(catalog).into_iter().take(MAX_SEARCHED_CONTENTS);
            for (_, entry) in entries.filter(|(name, entry)| entry.is_present() && is_meant(*name)) {
                let refs = entry.blob.and_then(|blob| self.source_state.graphs.refs(catalog, blob));
                let refs = refs.iter().flat_map(|refs| refs.iter());
                let refs = refs.filter(|to| matches!(to.kind, Kind::Rds | Kind::Srds | Kind::Vhds));
                parts.extend(refs.map(|to| (to.kind, to.name)));
            }
        }
        parts
    }
}
