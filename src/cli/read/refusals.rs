//! Details of a NACK, and what it refused.

use std::io::Write;

use serde_json::{Value, json};

use xdscope_engine::nack::{self, Extracted, NackReport};
use xdscope_engine::store::{MessageFact, MessageKind, Store};
use xdscope_present::nack_effect::nack_effect_text;
use xdscope_present::partial_use::partial_use_text;
use xdscope_present::{json, report};
use xdscope_schema::Schema;
use xdscope_wire::text::display_safe;

use crate::cli::error::CliError;
use crate::cli::output::json_out::write_yaml;

/// Collects the details of a NACK; `None` if the message is not a NACK with a text.
fn card(store: &Store, schema: &Schema, fact: &MessageFact) -> Option<NackReport> {
    let n = fact.n.filter(|_| fact.kind == MessageKind::Nack && fact.error.is_some())?;
    let state = store.state(fact.stream, &fact.type_url)?;
    let nack = state.nacks.into_iter().find(|nack| nack.n == n)?;
    Some(nack::nack_report(store, schema, fact.stream, &fact.type_url, &[nack]))
}

/// Adds `nack` to a `message` object.
pub(crate) fn add_to(object: &mut Value, store: &Store, schema: &Schema, fact: &MessageFact) {
    let (Some(card), Value::Object(fields)) = (card(store, schema, fact), object) else { return };
    let mut nack = json::nack(&card.nack);
    if let Value::Object(members) = &mut nack {
        members.insert("client".into(), json!(card.client.map(|client| client.word())));
        members.insert(
            "partly".into(),
            json!(card.partial_use.map(|partial_use| partial_use_text(partial_use, card.is_delta))),
        );
        let effects = card.effects.iter().map(json::nack_effect);
        members.insert("effects".into(), effects.collect());
        let refused = card.subjects.iter().map(|subject| {
            let mut object = json!({
                "name": subject.name.value,
                "body": subject.refused,
                "last_good": subject.good.as_ref().map(|(version, _)| &*version.version),
                "last_good_body": subject.good.as_ref().map(|(_, body)| body),
            });
            if let Some(owners) = json::owners(&subject.owners) {
                object["owners"] = owners;
            }
            json::add_broken_constraints(&mut object, &subject.broken);
            object
        });
        members.insert("refused".into(), refused.collect());
    }
    fields.insert("nack".into(), nack);
}

/// Writes the details below a row of the table.
pub(crate) fn write(
    store: &Store,
    schema: &Schema,
    fact: &MessageFact,
    terminal: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let Some(card) = card(store, schema, fact) else { return Ok(()) };
    let has_text = fact.error.as_ref().is_some_and(|(_, text)| !text.trim().is_empty());
    let say = |found: &Option<Extracted>| match found {
        Some(found) if found.guessed => format!("{} ?", found.value),
        Some(found) => found.value.clone(),
        None => "not told".to_owned(),
    };
    let mut line = |text: String| writeln!(out, "      # {}", display_safe(&text));
    for entry in &card.nack.entries {
        line(format!("resource {}   field {}", say(&entry.name), say(&entry.field)))?;
        line(format!("  {}", entry.reason))?;
    }
    for effect in &card.effects {
        line(format!("effect: {}", nack_effect_text(effect)))?;
    }
    if let Some(partial_use) = card.partial_use {
        line(partial_use_text(partial_use, card.is_delta).to_owned())?;
    }
    for subject in &card.subjects {
        let good = subject.good.as_ref().map(|(version, _)| format!(", last good {}", version.version));
        writeln!(
            out,
            "      # {}, as refused{}",
            display_safe(&subject.name.value),
            display_safe(&good.unwrap_or_default())
        )?;
        for owner in &subject.owners {
            writeln!(out, "      # owner {}", display_safe(&owner.to_string()))?;
        }
        for text in report::constraints_of_nack(&subject.broken, has_text) {
            writeln!(out, "      # breaks {}", display_safe(&text))?;
        }
        match &subject.refused {
            Some(body) => write_yaml(out, body, "      ", terminal)?,
            None => writeln!(out, "      # its content is not held, or not in the push")?,
        }
    }
    Ok(())
}
