use super::row_note;
use xdscope_engine::recovery::{OpenType, RecoveryFact};
use xdscope_wire::text::{plural, type_label};

/// Returns the name of a client that met interventions.
pub fn recovering_client(fact: &RecoveryFact) -> &str {
    if fact.node.is_empty() { "a client without a node" } else { &fact.node }
}

/// Returns types that have not recovered, with what has caused that: those with one cause together.
fn not_recovered(open: &[OpenType]) -> String {
    let mut by_cause: Vec<(String, Vec<String>)> = Vec::new();
    for OpenType { type_url, caused_by } in open {
        let (cause, label) = (row_note::caused_by(Some(caused_by)), type_label(type_url.as_str()));
        match by_cause.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, labels)) => labels.push(label),
            None => by_cause.push((cause, vec![label])),
        }
    }
    let parts = by_cause.iter().map(|(cause, labels)| format!("not recovered: {}{cause}", labels.join(", ")));
    parts.collect::<Vec<_>>().join("; ")
}

/// Says how a client got over interventions.
pub fn recovery(fact: &RecoveryFact) -> String {
    let mut counts = vec![
        plural(fact.interventions, "intervention"),
        plural(fact.nacks, "NACK"),
        plural(fact.reconnects, "reconnect"),
    ];
    counts.extend((fact.corrections > 0).then(|| plural(fact.corrections, "correction")));
    let end = match (&fact.open[..], fact.longest) {
        ([], Some(longest)) => format!("recovered within {:.1}s", longest.as_secs_f64()),
        ([], None) => "recovered".to_owned(),
        (open, _) => not_recovered(open),
    };
    format!("{}: {}; {end}", recovering_client(fact), counts.join(", "))
}
