use serde_json::Value;

use super::object::Object;
use super::type_word;
use xdscope_engine::recovery::RecoveryFact;

/// The `recovery` object: how a client got over interventions.
pub fn recovery(fact: &RecoveryFact) -> Value {
    let mut out = Object::new("recovery");
    out.put("node", (!fact.node.is_empty()).then(|| fact.node.to_string()));
    out.put("interventions", fact.interventions);
    out.put("corrections", fact.corrections);
    out.put("nacks", fact.nacks);
    out.put("reconnects", fact.reconnects);
    out.put("recovered", fact.is_recovered());
    out.put("longest_ms", fact.longest.map(|longest| longest.as_secs_f64() * 1e3));
    out.put("open", fact.open.iter().map(|of| type_word(&of.type_url).to_owned()).collect::<Vec<_>>());
    out.put("caused_by", fact.open.iter().map(|of| of.caused_by.by.to_string()).collect::<Vec<_>>());
    out.done()
}
