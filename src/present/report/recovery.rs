use crate::engine::recovery::RecoveryFact;
use crate::wire::text::{plural, type_label};

/// Returns the name of a client that met interventions.
pub fn recovering_client(fact: &RecoveryFact) -> &str {
    if fact.node.is_empty() { "a client without a node" } else { &fact.node }
}

/// Says how a client got over interventions.
pub fn recovery(fact: &RecoveryFact) -> String {
    let mut counts = vec![
        plural(fact.interventions, "intervention"),
        plural(fact.nacks, "NACK"),
        plural(fact.reconnects, "reconnect"),
    ];
    counts.extend((fact.corrections > 0).then(|| plural(fact.corrections, "correction")));
    let open: Vec<String> = fact.open.iter().map(|url| type_label(url.as_str())).collect();
    let end = match (&open[..], fact.longest) {
        ([], Some(longest)) => format!("recovered within {:.1}s", longest.as_secs_f64()),
        ([], None) => "recovered".to_owned(),
        (open, _) => format!("not recovered: {}", open.join(", ")),
    };
    format!("{}: {}; {end}", recovering_client(fact), counts.join(", "))
}
