//! Sentences about clusters and listeners that wait for resources that they refer to
//! (Envoy, "Cluster manager: Cluster warming").

use xdscope_engine::graph::{Graph, GraphNode, NodeState, TrafficGap};
use xdscope_engine::store::{NeededResource, WarmingFact};
use xdscope_wire::event::{Kind, Time};
use xdscope_wire::text::{age, shown_name};

use super::row_note::caused_by;

/// Names of needed resources that a sentence lists; the others are counted.
const MAX_LISTED_NEEDS: usize = 3;

/// Returns `cluster ledger waits for EDS ledger-v2 since 12s (asked in #4): the server owes it`,
/// and the intervention that has caused it.
///
/// Without `now` there is no age.
pub fn warming(fact: &WarmingFact, now: Option<Time>) -> String {
    let (mut text, reasons) = warming_clauses(fact);
    if let (Some(first), Some(now)) = (fact.needs.first(), now) {
        text.push_str(&format!(" since {}", age(now.since(first.since))));
    }
    text + &reasons + &caused_by(fact.caused_by.as_deref())
}

/// Returns what waits for what, and the reasons: `cluster ledger waits for EDS ledger-v2` and
/// ` (asked in #4): the server owes it`.
pub(super) fn warming_clauses(fact: &WarmingFact) -> (String, String) {
    let waits = format!("{} {} {}", warming_kind(fact.kind), shown_name(&fact.name), warming_needs(fact));
    (waits, warming_reasons(fact))
}

fn warming_reasons(fact: &WarmingFact) -> String {
    let mut text = String::new();
    if fact.is_dumped {
        return text;
    }
    if let Some(first) = fact.needs.first() {
        let sent = || vec![format!("sent in #{}", fact.response.0)];
        let asked = first.asked.map_or("not asked again".to_owned(), |n| format!("asked in #{}", n.0));
        let updated = format!("updated in #{}", fact.response.0);
        let notes: Vec<String> = match (fact.is_update, first.asked) {
            (false, None) if first.given_up.is_some() => {
                let given_up = first.given_up.map(|n| format!("given up in #{}", n.0));
                sent().into_iter().chain(given_up).collect()
            }
            (false, _) if first.is_absent => sent(),
            (false, None) if first.is_unrequested => sent(),
            (true, None) => vec![updated],
            (true, Some(_)) => vec![updated, asked],
            (false, _) => vec![asked],
        };
        text.push_str(&format!(" ({})", notes.join(", ")));
    }
    if fact.is_owed_by_client() {
        let it = it_or_them(fact);
        text.push_str(&match fact.withheld {
            Some(response) => format!(": the client has neither requested {it} nor answered #{}", response.0),
            None if fact.given_up().is_some() => format!(": the client requests {it} no longer"),
            None => format!(": the client has not requested {it}"),
        });
        return text;
    }
    if fact.is_in_vain() {
        text.push_str(": no resource can have such a name");
        return text;
    }
    let owed = it_or_them(fact);
    let again = if fact.needs.iter().any(|need| need.is_resend) { ", even if unchanged" } else { "" };
    match fact.needs.iter().find(|need| need.is_absent) {
        Some(need) => {
            let words = match need.is_error {
                true => "reports an error for it",
                false => "says that it does not exist",
            };
            let response = need.absent.map(|n| format!(" (#{})", n.0)).unwrap_or_default();
            text.push_str(&format!(": the server {words}{response}"));
        }
        None if fact.caused_by.is_some() => {}
        None => text.push_str(&format!(": the server owes {owed}{again}")),
    }
    if let Some(withheld) = fact.withheld {
        text.push_str(&format!("; the client withholds its answer to #{} until then", withheld.0));
    }
    if !fact.is_used_without && fact.needs.iter().any(|need| need.is_cached) {
        text.push_str("; Envoy goes on with the old endpoints after its timeout");
    }
    text
}

fn it_or_them(fact: &WarmingFact) -> &'static str {
    if fact.needs.len() > 1 { "them" } else { "it" }
}

/// Returns the noun for a warming resource: `cluster`, `listener`.
pub(super) fn warming_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Cds => "cluster",
        Kind::Lds => "listener",
        kind => kind.label(),
    }
}

/// Returns `waits for EDS ledger-v2 again, SDS cert and 2 more`; `warms` for a dump that does not
/// say the reason.
pub fn warming_needs(fact: &WarmingFact) -> String {
    let count = fact.needs.len() + fact.other_waits.len();
    if count == 0 {
        return "warms".to_owned();
    }
    let need = |need: &NeededResource| {
        let again = if need.is_resend && !fact.is_used_without { " again" } else { "" };
        format!("{} {}{again}", need.kind.label(), shown_name(&need.name))
    };
    let others = fact.other_waits.iter().map(|text| shown_name(text).to_string());
    let listed: Vec<String> = fact.needs.iter().map(need).chain(others).take(MAX_LISTED_NEEDS).collect();
    let verb = if fact.is_used_without { "is in use without" } else { "waits for" };
    let mut text = format!("{verb} {}", listed.join(", "));
    if count > MAX_LISTED_NEEDS {
        text.push_str(&format!(" and {} more", count - MAX_LISTED_NEEDS));
    }
    text
}

/// Returns `requests that RDS edge routes to cart get 503 since 12s: the client does not have …`.
///
/// Without `now` there is no age.
pub fn traffic_gap(graph: &Graph, gap: &TrafficGap, now: Option<Time>) -> String {
    let text =
        |node: Option<&GraphNode>| node.map(|node| (node.kind.label(), shown_name(&node.name).to_owned()));
    let (label, route) = text(graph.get(gap.route)).unwrap_or_default();
    let cluster = graph.get(gap.cluster);
    let name = cluster.map(|node| shown_name(&node.name).to_owned()).unwrap_or_default();
    let reason = match cluster.map(|node| &node.state) {
        Some(NodeState::Warming { .. }) => "the cluster warms for the first time",
        _ => "the client does not have the cluster, unless it is in the bootstrap",
    };
    format!("requests that {label} {route} routes to {name} get {}: {reason}", gap_duration(gap, now))
}

/// Returns `503 since 12s`. Without `now` there is no age.
pub fn gap_duration(gap: &TrafficGap, now: Option<Time>) -> String {
    let since = gap.since.zip(now).map(|(since, now)| format!(" since {}", age(now.since(since))));
    format!("503{}", since.unwrap_or_default())
}
