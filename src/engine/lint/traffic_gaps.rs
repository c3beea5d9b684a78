//! Ends of findings about clusters that routes point to and that the client does not have.
//!
//! Such a finding is over once the client has the cluster, or once no route in force points to the
//! cluster (docs/protocol.md#h-10, docs/protocol.md#h-11).

use super::context::RuleContext;
use super::references::{OpenFinding, ROUTE_KINDS};
use crate::engine::session::Track;
use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Sym, Time};

/// A finding that is over.
struct Ended {
    finding: usize,
    since: Time,
    note: &'static str,
}

impl RuleContext<'_> {
    /// Ends the findings that a message of the track has mended.
    pub(super) fn settle_traffic_gaps(&mut self, track: &Track) {
        let graphs = &self.source_state.graphs;
        let is_empty = graphs.windows.is_empty() && graphs.breaks.is_empty();
        let is_concerned = |kind: Kind| kind == Kind::Cds || ROUTE_KINDS.contains(&kind);
        if is_empty || !track.kind.is_some_and(is_concerned) {
            return;
        }
        let mut windows = std::mem::take(&mut self.source_state.graphs.windows);
        let mut breaks = std::mem::take(&mut self.source_state.graphs.breaks);
        self.end_mended(&mut windows, "the cluster arrived after");
        self.end_mended(&mut breaks, "the cluster came back after");
        (self.source_state.graphs.windows, self.source_state.graphs.breaks) = (windows, breaks);
    }

    fn end_mended(&mut self, open: &mut Vec<OpenFinding>, arrived: &'static str) {
        let (client, at, catalog) = (self.client(), self.at, self.catalog());
        if open.iter().all(|finding| finding.client != client) {
            return;
        }
        let clusters = self.tracks_of(Kind::Cds);
        let has_cluster = |name: Sym| clusters.iter().any(|(_, track)| has(catalog, track, name));
        // Only verdicts tell which of the routes are in force.
        let is_open = |track: &Track| track.responses.pending().next().is_some();
        let routes = || ROUTE_KINDS.iter().flat_map(|kind| self.tracks_of(*kind));
        let are_known = !routes().any(|(_, track)| is_open(track));
        let graphs = &self.source_state.graphs;
        let is_routed_to = |name: Sym| !are_known || graphs.is_routed_to(&client, name) != Some(false);
        let mut ended: Vec<Ended> = Vec::new();
        open.retain_mut(|window| {
            if window.client != client {
                return true;
            }
            let mut note = "no route points to it any more after";
            window.clusters.retain(|name| {
                let is_there = has_cluster(*name);
                if is_there {
                    note = arrived;
                }
                !is_there && is_routed_to(*name)
            });
            let is_over = window.clusters.is_empty();
            if is_over {
                ended.push(Ended { finding: window.finding, since: window.since, note });
            }
            !is_over
        });
        // Another window may keep the finding open.
        ended.retain(|ended| open.iter().all(|window| window.finding != ended.finding));
        for Ended { finding, since, note } in ended {
            self.findings.end(finding, at, &format!("; {note} {:.1}s", at.since(since).as_secs_f64()));
        }
    }
}

/// Whether the client has the cluster, and no removal is on the way.
fn has(catalog: &Catalog, track: &Track, name: Sym) -> bool {
    let is_kept = || track.refused.removal(name).is_some();
    track.in_force(catalog, name).is_some() && (track.sent.is_present(catalog, name) || is_kept())
}
