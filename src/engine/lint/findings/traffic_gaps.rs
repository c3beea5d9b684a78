//! Ends of findings about clusters that routes point to and that the client does not have.
//!
//! Such a finding has ended once the client has the cluster, or once no route in force points to
//! the cluster (docs/protocol.md#h-10, docs/protocol.md#h-11).

use std::collections::HashMap;
use std::sync::Arc;

use crate::lint::context::RuleContext;
use crate::lint::memory::references::{OpenFinding, ROUTE_KINDS};
use crate::lint::rule::Ending;
use crate::session::Track;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Sym, Time};

/// Marks findings about separate streams: a server controls the order within one stream only
/// (docs/protocol.md#h-12).
pub(crate) const ORDER_UNCERTAIN: &str = "; order uncertain: separate streams";

/// A finding that has ended.
struct Ended {
    finding: usize,
    since: Time,
    /// The way in which the finding ended. `None` if its text says so already.
    note: Option<&'static str>,
    /// Why the finding is no fault, if it is none.
    excuse: Option<&'static str>,
}

impl RuleContext<'_> {
    /// Begins to follow a finding about clusters that the client does not have.
    pub(crate) fn open_finding(&self, finding: usize, clusters: Vec<Sym>) -> OpenFinding {
        let others = self.stream.tracks.iter().filter(|track| track.kind != Some(Kind::Cds));
        OpenFinding {
            finding,
            stream: self.stream_index,
            clusters,
            since: self.at,
            is_softened: false,
            removed_in: None,
            accepted_before: others.filter_map(|track| track.verdicts.newest_accepted).max(),
        }
    }

    /// Ends the findings that a message of the track has mended.
    pub(crate) fn settle_traffic_gaps(&mut self, track: &Track) {
        let graphs = &self.source_state.graphs;
        let is_empty = graphs.windows.is_empty() && graphs.breaks.is_empty();
        let is_concerned = |kind: Kind| kind == Kind::Cds || ROUTE_KINDS.contains(&kind);
        if is_empty || !track.kind.is_some_and(is_concerned) {
            return;
        }
        let client = self.client();
        if let Some(windows) = self.source_state.graphs.windows.remove(&client) {
            let open = self.still_open(&client, track, windows, "the cluster arrived after");
            if !open.is_empty() {
                self.source_state.graphs.windows.insert(client.clone(), open);
            }
        }
        if let Some(breaks) = self.source_state.graphs.breaks.remove(&client) {
            let open = self.still_open(&client, track, breaks, "the cluster came back after");
            if !open.is_empty() {
                self.source_state.graphs.breaks.insert(client, open);
            }
        }
    }

    /// Ends the findings about a client that asked once and has left: nobody uses its routes.
    pub(crate) fn end_gaps_of_query(&mut self) {
        let ends = self.store.engine().failures().of_stream(self.stream);
        if !ends.is_some_and(|ends| ends.is_query) {
            return;
        }
        let client = self.client();
        let windows = self.source_state.graphs.windows.remove(&client).unwrap_or_default();
        let note = Some("the client left after");
        let ended = windows.into_iter().map(|window| Ended {
            finding: window.finding,
            since: window.since,
            note,
            excuse: None,
        });
        self.end_gaps(ended.collect());
    }

    /// Ends those findings of a client that are mended, and returns the others.
    fn still_open(
        &mut self,
        client: &Arc<str>,
        track: &Track,
        mut open: Vec<OpenFinding>,
        arrived: &'static str,
    ) -> Vec<OpenFinding> {
        let catalog = self.catalog();
        let clusters = self.tracks_of(Kind::Cds);
        let mut known = HashMap::new();
        let mut has_cluster = |name: Sym| {
            let find = || clusters.iter().any(|(_, track)| has(catalog, track, name));
            *known.entry(name).or_insert_with(find)
        };
        // Only verdicts tell which of the routes are in force.
        let is_open = |track: &Track| track.responses.pending().next().is_some();
        let routes = || ROUTE_KINDS.iter().flat_map(|kind| self.tracks_of(*kind));
        let are_known = !routes().any(|(_, track)| is_open(track));
        let graphs = &self.source_state.graphs;
        let is_routed_to =
            |name: Sym| !are_known || graphs.is_routed_to(catalog, client, name) != Some(false);
        let is_kept = |name: Sym| {
            clusters.iter().any(|(_, track)| track.refused.removal(track.canonical(catalog, name)).is_some())
        };
        // The client takes the messages of a stream in order, so that it had the new route before.
        let accepted = if track.kind == Some(Kind::Cds) { None } else { track.verdicts.newest_accepted };
        let is_route_first = |window: &OpenFinding| match (accepted, window.removed_in) {
            (Some(route), Some(removal)) => {
                window.stream == self.stream_index && accepted > window.accepted_before && route < removal
            }
            _ => false,
        };
        let mut ended: Vec<Ended> = Vec::new();
        open.retain_mut(|window| {
            let all_kept = window.clusters.iter().all(|name| is_kept(*name));
            let mut note = "no route points to it any more after";
            window.clusters.retain(|name| {
                let is_there = has_cluster(*name);
                if is_there {
                    note = arrived;
                }
                !is_there && is_routed_to(*name)
            });
            if !window.clusters.is_empty() {
                return true;
            }
            let excuse = if all_kept {
                Some("; the client refused the removal")
            } else if note != arrived && is_route_first(window) {
                Some("; the new route came first")
            } else {
                None
            };
            let note = if window.is_softened || excuse.is_some() { None } else { Some(note) };
            ended.push(Ended { finding: window.finding, since: window.since, note, excuse });
            false
        });
        // Another window may keep the finding open.
        ended.retain(|ended| open.iter().all(|window| window.finding != ended.finding));
        self.end_gaps(ended);
        open
    }

    /// Ends findings, with a note of how long the gap lasted.
    fn end_gaps(&mut self, ended: Vec<Ended>) {
        let at = self.at;
        for Ended { finding, since, note, excuse } in ended {
            let rule = self.findings.all().get(finding).map(|finding| finding.rule);
            debug_assert!(rule.is_none_or(|rule| rule.ending == Ending::State), "{rule:?}");
            if let Some(excuse) = excuse {
                self.findings.soften(finding, excuse);
            }
            let note = note.map(|note| format!("; {note} {:.1}s", at.since(since).as_secs_f64()));
            self.findings.end(finding, at, &note.unwrap_or_default());
        }
    }
}

/// Whether the client has the cluster, and no removal is on the way.
pub(crate) fn has(catalog: &Catalog, track: &Track, name: Sym) -> bool {
    let name = track.canonical(catalog, name);
    let is_kept = || track.refused.removal(name).is_some();
    track.in_force(catalog, name).is_some() && (track.sent.is_present(catalog, name) || is_kept())
}
