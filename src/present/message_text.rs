//! The content of a message as text: below the rows of `log --body`, and in the report.

use serde_json::Value;

use crate::nack_effect::nack_effect_text;
use crate::partial_use::partial_use_text;
use crate::{bodies, report};
use xdscope_engine::nack::{self, Extracted, NackReport};
use xdscope_engine::store::{MessageFact, MessageKind, Store};
use xdscope_schema::{FieldNames, Schema, to_yaml};
use xdscope_wire::text::display_safe;

/// Returns the report on a NACK; `None` if the message is not a NACK with a text.
pub fn nack_report(store: &Store, schema: &Schema, fact: &MessageFact) -> Option<NackReport> {
    let n = fact.n.filter(|_| fact.kind == MessageKind::Nack && fact.error.is_some())?;
    let state = store.state(fact.stream, &fact.type_url)?;
    let nack = state.verdicts.nacks.into_iter().find(|nack| nack.n == n)?;
    Some(nack::nack_report(store, schema, fact.stream, &fact.type_url, &[nack]))
}

/// Returns the content of a message as YAML, with what a NACK refuses; `null` if it was lost.
///
/// An intervention of xdscope has the message as it came, and what was sent in its place. Values
/// are not escaped for a terminal.
pub fn message_text(store: &Store, schema: &Schema, fact: &MessageFact) -> String {
    let Some(n) = fact.n else { return intercepted(store, schema, fact) };
    let body = bodies::message(store, schema, n, FieldNames::Original).unwrap_or(Value::Null);
    let mut out = to_yaml(&body);
    if let Some(report) = nack_report(store, schema, fact) {
        refusal(&report, fact, &mut out);
    }
    out
}

/// Returns the messages of an intervention.
fn intercepted(store: &Store, schema: &Schema, fact: &MessageFact) -> String {
    let bodies = bodies::intervention(store, schema, fact, FieldNames::Original).unwrap_or_default();
    let mut out = String::new();
    for (title, body) in [("original", bodies.original), ("sent instead", bodies.sent)] {
        if let Some(body) = body {
            out.push_str(&format!("{title}:\n"));
            to_yaml(&body).lines().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
    }
    out
}

/// Adds the details of a NACK as comments, and the refused contents.
fn refusal(found: &NackReport, fact: &MessageFact, out: &mut String) {
    let has_text = fact.error.as_ref().is_some_and(|(_, text)| !text.trim().is_empty());
    let say = |found: &Option<Extracted>| match found {
        Some(found) if found.guessed => format!("{} ?", found.value),
        Some(found) => found.value.clone(),
        None => "not told".to_owned(),
    };
    for entry in &found.nack.entries {
        comment(&format!("resource {}   field {}", say(&entry.name), say(&entry.field)), out);
        comment(&format!("  {}", entry.reason), out);
    }
    for effect in &found.effects {
        comment(&format!("effect: {}", nack_effect_text(effect)), out);
    }
    if let Some(partial_use) = found.partial_use {
        comment(partial_use_text(partial_use, found.is_delta), out);
    }
    for subject in &found.subjects {
        let good = subject.good.as_ref().map(|(version, _)| format!(", last good {}", version.version));
        comment(&format!("{}, as refused{}", subject.name.value, good.unwrap_or_default()), out);
        for owner in &subject.owners {
            comment(&format!("owner {owner}"), out);
        }
        for text in report::constraints_of_nack(&subject.broken, has_text) {
            comment(&format!("breaks {text}"), out);
        }
        match &subject.refused {
            Some(body) => out.push_str(&to_yaml(body)),
            None => comment("its content is not held, or not in the push", out),
        }
    }
}

/// Adds a line beside the content.
fn comment(text: &str, out: &mut String) {
    out.push_str(&format!("# {}\n", display_safe(text)));
}
