//! Objects with facts from several queries.

use serde_json::Value;

use crate::report;
use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::readings::{OpenReading, open_readings_of};
use xdscope_engine::store::{ClaimFact, MessageFact, MissingAnswer, StateFact, Store, WarmingFact};
use xdscope_schema::Schema;
use xdscope_wire::Profile;
use xdscope_wire::event::Kind;

/// The `message` object, with the versions that the client states in it.
pub fn complete_message(fact: &MessageFact, store: &Store) -> Value {
    let mut object = super::message(fact, &store.clock());
    if fact.stated.is_some() {
        add_claims(&mut object, &store.claims(fact.stream, &fact.type_url));
    }
    object
}

/// The `state` object, with its warming resources, the difference to what the client has applied,
/// likely reasons of missing answers, and the versions that the client states.
///
/// `warming` are all warming resources of the store, and `profile` is the edition of the protocol
/// that the user states.
pub fn complete_state(
    fact: &StateFact,
    (warming, applied): (&[WarmingFact], Option<&AppliedDiff>),
    (store, profile): (&Store, Option<Profile>),
    schema: &Schema,
) -> Value {
    let mut object = super::state(fact, &store.clock());
    if let Value::Object(fields) = &mut object {
        fields.extend(waits(fact, warming, store).map(|waits| ("warming".to_owned(), waits)));
        fields.extend(applied.map(|diff| ("applied".to_owned(), super::applied(diff))));
        let admin = store.admin_of(fact.summary.stream);
        if let Some(counts) = admin.as_ref().and_then(|admin| admin.updates_of(&fact.summary.type_url)) {
            fields.insert("updates".into(), super::admin::updates(counts));
        }
    }
    add_missing_answers(&mut object, &report::missing_answers_of(store, schema, fact));
    add_readings(&mut object, &open_readings_of(store, schema, fact), profile);
    add_claims(&mut object, &store.claims(fact.summary.stream, &fact.summary.type_url));
    object
}

/// Adds `waiting_reason` to a `state`, if there is one.
pub fn add_missing_answers(object: &mut Value, answers: &[MissingAnswer]) {
    if let (Value::Object(fields), false) = (object, answers.is_empty()) {
        fields.insert("waiting_reason".into(), answers.iter().map(super::missing_answer).collect());
    }
}

/// Adds `readings` to a `state`, if editions of the protocol read messages in two ways.
fn add_readings(object: &mut Value, readings: &[OpenReading], profile: Option<Profile>) {
    if let (Value::Object(fields), false) = (object, readings.is_empty()) {
        let readings = readings.iter().map(|reading| super::reading(reading, profile));
        fields.insert("readings".into(), readings.collect());
    }
}

/// Adds `initial_resource_versions` to a `state` or `message`, if the client stated any.
pub fn add_claims(object: &mut Value, claims: &[ClaimFact]) {
    if let (Value::Object(fields), false) = (object, claims.is_empty()) {
        fields.insert("initial_resource_versions".into(), claims.iter().map(super::claim).collect());
    }
}

/// Lists the resources of a type that are warming, each with what it waits for; `None` without any.
fn waits(state: &StateFact, warming: &[WarmingFact], store: &Store) -> Option<Value> {
    let kind = Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind)?;
    let clock = store.clock();
    let of_state =
        warming.iter().filter(|warming| (warming.stream, warming.kind) == (state.summary.stream, kind));
    let items: Vec<Value> = of_state.map(|warming| super::warming(warming, &clock)).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}
