//! Details of a NACK, and what it refused.

use serde_json::{Value, json};

use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::json;
use xdscope_present::message_text::nack_report;
use xdscope_present::partial_use::partial_use_text;
use xdscope_schema::Schema;

/// Adds `nack` to a `message` object.
pub(crate) fn add_to(object: &mut Value, store: &Store, schema: &Schema, fact: &MessageFact) {
    let (Some(card), Value::Object(fields)) = (nack_report(store, schema, fact), object) else { return };
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
