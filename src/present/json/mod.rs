//! JSON objects that commands print, and their JSON Schema.
//!
//! This module owns the names, the order and the presence of fields: a field that does not apply is
//! left out, a field that applies but has no known value is `null`. Callers that have descriptors
//! add the bodies of messages and resources.
//!
//! [`schema`] is the JSON Schema (draft 2020-12) of one object; `xdscope help json` prints it.
//! Tests check printed objects against the schema, and the schema against printed objects.
//!
//! ```
//! let schema = xdscope_present::json::schema();
//! assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
//! assert_eq!(schema["$defs"]["message"]["properties"]["object"]["const"], "message");
//! ```

mod admin;
mod change;
mod check;
mod complete;
mod contract;
mod doctor;
mod object;
mod owner;
mod recovery;
mod schema;
mod structured;
#[cfg(test)]
mod tests;
mod tls;
mod warming;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::nack_effect::nack_effect_text;
use crate::{node, report};
use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::constraints::BrokenConstraints;
use xdscope_engine::lint::Finding;
use xdscope_engine::nack::{Extracted, InUse, Nack, NackEffect};
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::readings::OpenReading;
use xdscope_engine::session::NotKeptPart;
use xdscope_engine::store::{
    ClaimFact, EndFact, MessageEvent, MessageFact, MessageKind, MissingAnswer, OtherReading, ReconnectFact,
    RefusedVersion, ResourceErrorFact, ResourceFact, RowNote, StateFact, Store, StreamFact, TtlFact,
    TypeState, Wildcard,
};
use xdscope_schema::Schema;
use xdscope_wire::event::{Clock, Dir, Kind, Time, TypeUrl};
use xdscope_wire::h2::go_away_code;
use xdscope_wire::{InterventionFacts, Profile};

pub use change::{ChangeOf, change};
pub use check::{CHECK_OUTCOMES, CheckOf, check};
pub use complete::{add_claims, add_missing_answers, complete_message, complete_state};
pub use doctor::{DoctorOf, ServerOf, SettingOf, StepOf, doctor};
pub use owner::{add_owners, made, owner_summary, owners};
pub use recovery::recovery;
pub use schema::schema;
pub use structured::{authorities, globs, structured};
pub use tls::certificate;
pub use warming::{other_sources, unavailable_clusters, warming};

use object::Object;

/// Version of the contract, in the field `schema` of every object.
pub const SCHEMA: u64 = 1;

/// Returns a time as RFC 3339 in UTC, as seconds from the start if the source has no dates, or as
/// `null` if it has no timestamps.
pub fn time(at: Time, clock: &Clock) -> Value {
    if clock.untimed {
        return Value::Null;
    }
    let Some(epoch) = clock.epoch else { return json!(at.as_secs_f64()) };
    match jiff::Timestamp::from_nanosecond(epoch.saturating_add(i128::from(at.0))) {
        Ok(stamp) => json!(stamp.to_string()),
        // A recorded date outside of years -9999 to 9999.
        Err(_) => Value::Null,
    }
}

/// The short word of a type, or its URL as sent.
pub fn type_word(type_url: &TypeUrl) -> &str {
    Kind::of_type_url(type_url.as_str()).map_or(type_url.as_str(), |(kind, _)| kind.word())
}

/// The missing messages that a row is about.
fn gap_of(fact: &MessageFact) -> Option<Value> {
    match fact.note.as_deref() {
        Some(RowNote::Gap(part)) => Some(missing(part)),
        _ => None,
    }
}

fn missing(part: &NotKeptPart) -> Value {
    let mut inner = Object::bare();
    inner.put("what", part.cause.word());
    inner.put("messages", part.messages);
    inner.put("bytes", part.bytes);
    inner.done()
}

/// The `message` object: one row of the timeline.
pub fn message(fact: &MessageFact, clock: &Clock) -> Value {
    let mut out = Object::new("message");
    out.some("n", fact.n.map(|n| n.0));
    out.put("time", time(fact.at, clock));
    out.put("stream", fact.stream.0);
    out.put("node", fact.node.as_deref());
    let Some(dir) = fact.dir.filter(|_| fact.kind != MessageKind::Gap) else {
        if let Some(dir) = fact.dir {
            out.put("dir", dir.word());
            out.put("type", type_word(&fact.type_url));
            out.put("type_url", fact.type_url.as_str());
        }
        out.put("kind", fact.kind.word());
        out.put("partial", fact.partial);
        match fact.note.as_deref() {
            Some(RowNote::Intercepted(facts)) => out.put("intercepted", intervention(facts)),
            Some(RowNote::Closed(ended)) => out.put("end", end(ended, None)),
            _ => {}
        }
        out.some("gap", gap_of(fact));
        return out.done();
    };
    out.put("dir", dir.word());
    out.put("type", type_word(&fact.type_url));
    out.put("type_url", fact.type_url.as_str());
    out.put("kind", fact.kind.word());
    out.some("class", fact.class.map(|class| class.word()));
    if dir == Dir::Req {
        out.put("implied", fact.implied);
        out.some("other_reading", fact.other_reading.map(other_reading));
    }
    out.put("version", &*fact.version);
    out.put("nonce", &*fact.nonce);
    out.put("answers", fact.answers.map(|n| n.0));
    out.put("latency_ms", fact.latency.map(|time| time.as_nanos() as f64 / 1e6));
    out.list("names", &fact.names);
    out.list("added", &fact.added);
    if dir == Dir::Resp {
        out.list("changed", &fact.changed);
    }
    out.list("removed", &fact.removed);
    if dir == Dir::Resp {
        out.put("same", fact.same);
    }
    out.put("size", fact.size);
    out.some("error", fact.error.as_ref().map(|(code, text)| json!({ "code": code.0, "message": &**text })));
    out.put("partial", fact.partial);
    add_details(&mut out, fact);
    out.done()
}

/// Adds the facts of a message beyond its row.
fn add_details(out: &mut Object, fact: &MessageFact) {
    let details = &fact.details;
    out.some("type_implied", details.is_type_implied.then_some(true));
    out.some("node_from", details.node_from.filter(|from| Some(*from) != fact.n).map(|n| n.0));
    let wildcard = details.wildcard.filter(|wildcard| *wildcard != Wildcard::None);
    out.some("wildcard", wildcard.map(Wildcard::word));
    // The verdict on a response is in the message of the verdict, so that lines of a live run, of a
    // recording and of an export are the same.
    out.some("full_state", details.offer.as_ref().and_then(|offer| offer.is_full_state));
    out.some("control_plane", details.control_plane.as_deref());
    out.some("canary", details.is_canary.then_some(true));
    if !details.resource_errors.is_empty() {
        out.put("resource_errors", details.resource_errors.iter().map(resource_error).collect::<Vec<_>>());
    }
    if !details.events.is_empty() {
        out.put("events", details.events.iter().map(event).collect::<Vec<_>>());
    }
}

/// An event of a `message`.
fn event(event: &MessageEvent) -> Value {
    let mut out = Object::bare();
    out.put("event", event.kind.word());
    out.list("names", &event.names);
    out.put("count", event.count);
    out.put("text", report::event(event));
    out.done()
}

/// An error that the server reports for a resource.
fn resource_error(error: &ResourceErrorFact) -> Value {
    let mut out = Object::bare();
    out.put("name", &*error.name);
    out.put("code", error.code.0);
    out.put("message", &*error.message);
    out.put("at", error.n.0);
    out.put("absent", error.code == ResourceErrorFact::NOT_FOUND);
    out.done()
}

fn other_reading(other: OtherReading) -> Value {
    json!({ "kind": other.kind.word(), "answers": other.answers.map(|n| n.0) })
}

/// Returns the `nack` member of a `message`: what is read out of the text of a NACK.
///
/// Guessed values are marked, missing values are `null`.
pub fn nack(nack: &Nack) -> Value {
    let value = |found: &Option<Extracted>| found.as_ref().map(|found| found.value.clone());
    let guessed = |found: &Option<Extracted>| found.as_ref().is_some_and(|found| found.guessed);
    let entries = nack.entries.iter().map(|entry| {
        json!({
            "name": value(&entry.name),
            "name_guessed": guessed(&entry.name),
            "field": value(&entry.field),
            "field_guessed": guessed(&entry.field),
            "reason": entry.reason,
        })
    });
    json!({ "client": nack.client.map(|client| client.word()), "entries": entries.collect::<Vec<_>>() })
}

/// One of the `effects` of a `nack`: what the client uses in place of the refused resource.
pub fn nack_effect(effect: &NackEffect) -> Value {
    let mut out = Object::bare();
    out.put("name", effect.name.as_deref());
    out.put("in_use", effect.in_use.word());
    let version = match &effect.in_use {
        InUse::Earlier(version) => Some(&**version),
        _ => None,
    };
    out.put("version", version);
    out.put("text", nack_effect_text(effect));
    out.done()
}

/// The `state` object: one stream and type.
pub fn state(fact: &StateFact, clock: &Clock) -> Value {
    let mut out = Object::new("state");
    out.put("stream", fact.summary.stream.0);
    out.put("node", fact.summary.node.as_deref());
    out.put("variant", fact.summary.variant.word());
    out.put("type", type_word(&fact.summary.type_url));
    out.put("type_url", fact.summary.type_url.as_str());
    out.put("state", fact.summary.state.word());
    out.some("last_state", fact.summary.last_state.map(TypeState::word));
    out.put("since", time(fact.summary.since, clock));
    out.put("in_force", fact.versions.in_force.as_deref());
    out.put("offered", fact.versions.offered.as_deref());
    out.put("reported", fact.versions.reported.as_deref());
    out.put("nonce", fact.nonce.as_deref());
    out.list("pending", &fact.pending);
    out.put("wildcard", fact.subscription.wildcard.word());
    out.list("names", &fact.subscription.names);
    if let Some(effective) = &fact.subscription.effective {
        out.list("effective", effective);
    }
    out.list("missing", &fact.subscription.missing);
    if !fact.subscription.owed_again.is_empty() {
        out.list("owed_again", &fact.subscription.owed_again);
    }
    out.list("absent", &fact.subscription.absent);
    out.put("resources", fact.summary.resources);
    out.put("refused", fact.summary.refused);
    out.put("refused_unnamed", fact.summary.refused_unnamed);
    let nacks = fact.verdicts.nacks.iter().map(|nack| {
        let mut out = Object::bare();
        out.put("n", nack.n.0);
        out.put("time", time(nack.at, clock));
        out.some("may_refuse", nack.may_refuse.map(|n| n.0));
        out.put("nonce", &*nack.nonce);
        out.put("version", &*nack.version);
        out.some("code", (!nack.is_of_file()).then_some(nack.code.0));
        out.put("message", &*nack.message);
        out.put("resources", nack.resources.iter().map(refused_version).collect::<Vec<Value>>());
        out.done()
    });
    out.put("nacks", nacks.collect::<Vec<Value>>());
    out.put("nack_count", fact.verdicts.nack_count);
    out.put("open_nack", fact.summary.open_nack.map(|(n, _)| n.0));
    out.put("ack_ms", fact.verdicts.ack_ms.map(|(p50, p99)| json!({ "p50": p50, "p99": p99 })));
    out.put("pushes", fact.traffic.pushes);
    out.put("bytes", fact.traffic.bytes);
    out.put("bytes_same", fact.traffic.bytes_same);
    if let Some(diverged) = &fact.diverged {
        let mut inner = Object::bare();
        inner.put("since", time(diverged.since, clock));
        inner.put("count", diverged.count);
        inner.put("offered", diverged.offered.as_deref());
        inner.put("withheld", diverged.withheld);
        inner.put("refused", diverged.refused);
        inner.put("runs_changed", diverged.runs_changed.as_deref());
        inner.put("intercepted", intervention(&diverged.facts));
        out.put("diverged", inner.done());
    }
    out.done()
}

/// The `intercepted` object: an intervention of xdscope.
fn intervention(facts: &InterventionFacts) -> Value {
    let mut out = Object::bare();
    out.put("interference", facts.interference.word());
    out.put("dir", facts.dir.word());
    out.put("type", type_word(&facts.type_url));
    out.put("type_url", facts.type_url.as_str());
    out.put("version", &*facts.version);
    out.put("nonce", &*facts.nonce);
    out.put("by", &*facts.by);
    out.done()
}

fn refused_version(refused: &RefusedVersion) -> Value {
    json!({ "name": &*refused.name, "version": &*refused.version })
}

/// The `end` member of a `stream`, and of a `message` of kind `close`: how the stream ended.
fn end(end: &EndFact, ended_by: Option<&InterventionFacts>) -> Value {
    let mut out = Object::bare();
    out.put("by", end.by.map(|side| side.word()));
    out.some("code", end.code.map(|code| code.0));
    out.some("message", end.message.as_deref());
    out.some("reset", end.reset);
    out.some("goaway", end.note.as_deref().and_then(go_away_code));
    out.some("note", end.note.as_deref());
    out.some("text", Some(report::end_words(end)).filter(|text| !text.is_empty()));
    out.some("caused_by", ended_by.map(|facts| &*facts.by));
    out.done()
}

/// The `stream` object. `opened` is `null` if the opening was not recorded.
pub fn stream(fact: &StreamFact, clock: &Clock) -> Value {
    let mut out = Object::new("stream");
    out.put("stream", fact.stream.0);
    out.put("node", fact.node.as_ref().map(|node| node.id.as_str()));
    out.put("method", fact.method.as_str());
    out.some("variant", fact.variant.map(|variant| variant.word()));
    out.put("peer", fact.peer.as_deref());
    out.put("server", fact.server.as_deref());
    out.some("node_from", fact.node_from.map(|n| n.0));
    out.some("control_plane", fact.control_plane.as_deref());
    if fact.plane_changes > 0 {
        let planes = fact.planes.iter().map(|plane| {
            json!({ "identifier": &*plane.identifier, "n": plane.n.0, "time": time(plane.at, clock) })
        });
        out.put("control_planes", planes.collect::<Vec<_>>());
        out.put("control_plane_changes", fact.plane_changes);
    }
    out.some("file_format", fact.file_format.as_deref());
    out.some("tls", (!fact.tls.is_empty()).then(|| tls::legs(&fact.tls)));
    out.put("opened", if fact.partial { Value::Null } else { time(fact.opened, clock) });
    out.some("closed", fact.closed.map(|at| time(at, clock)));
    out.some("end", fact.end.as_ref().map(|ended| end(ended, fact.ended_by.as_deref())));
    out.some("reconnect_of", fact.reconnect_of.map(|id| id.0));
    out.some("account", fact.account.as_ref().map(account));
    out.put("messages", fact.messages);
    out.put("bytes_in", fact.bytes_in);
    out.put("bytes_out", fact.bytes_out);
    out.put("gaps", fact.gaps);
    let not_kept: Vec<Value> = fact.not_kept.parts().iter().map(missing).collect();
    out.some("not_kept", (!not_kept.is_empty()).then_some(Value::Array(not_kept)));
    if let Some(keepalive) = fact.keepalive {
        let mut inner = Object::bare();
        inner.put("by", keepalive.by.word());
        inner.put("every", keepalive.every.as_secs_f64());
        inner.put("last", time(keepalive.last, clock));
        out.put("keepalive", inner.done());
    }
    out.done()
}

/// The `stream` object with the node of the client, decoded by a schema.
pub fn stream_with_node(fact: &StreamFact, store: &Store, schema: &Schema) -> Value {
    let mut object = stream(fact, &store.clock());
    let body = node::decoded(store.catalog(), schema, fact);
    if let (Value::Object(fields), Some(info)) = (&mut object, node_info(fact, body.as_ref())) {
        fields.insert("node_info".into(), info);
    }
    if let (Value::Object(fields), Some(facts)) = (&mut object, store.admin_of(fact.stream)) {
        fields.insert("admin".into(), admin::admin(&facts));
    }
    object
}

/// The member `node_info` of a `stream`. `body` is the decoded node.
fn node_info(fact: &StreamFact, body: Option<&Value>) -> Option<Value> {
    let node = fact.node.as_ref()?;
    let [region, zone, sub_zone] = &node.locality;
    let part = |field: &str, none: Value| body.and_then(|body| body.get(field)).cloned().unwrap_or(none);
    let mut out = Object::bare();
    out.put("id", node.id.as_str());
    out.put("cluster", node.cluster.as_str());
    out.put("region", region.as_str());
    out.put("zone", zone.as_str());
    out.put("sub_zone", sub_zone.as_str());
    out.put("user_agent", node.user_agent.as_str());
    out.put("user_agent_version", node.user_agent_version.as_str());
    out.put("client_features", node.client_features.clone());
    out.put("metadata", part("metadata", json!({})));
    out.put("extensions", part("extensions", json!([])));
    Some(out.done())
}

/// The member `account` of a `stream`: what became of the resources that the client had before.
fn account(fact: &ReconnectFact) -> Value {
    let left = fact.left.iter().map(|left| json!({ "type": type_word(&left.type_url), "name": &*left.name }));
    let mut out = Object::bare();
    out.put("claimed", fact.counts.claimed);
    out.put("kept", fact.counts.kept());
    out.put("resent", fact.counts.resent);
    out.put("removed", fact.counts.removed);
    out.put("left_behind", fact.counts.left_behind);
    out.put("owed", fact.counts.owed);
    out.put("unclaimed", fact.counts.unclaimed);
    out.put("left", left.collect::<Vec<_>>());
    out.done()
}

/// One entry of `initial_resource_versions` of a `state`.
pub fn claim(fact: &ClaimFact) -> Value {
    let mut out = Object::bare();
    out.put("name", &*fact.name);
    out.put("claimed", &*fact.version);
    out.put("known", fact.known.as_deref());
    out.put("outcome", fact.outcome.word());
    out.done()
}

/// One `waiting_reason` of a `state`: a likely reason for a missing answer.
pub fn missing_answer(answer: &MissingAnswer) -> Value {
    let mut out = Object::bare();
    out.put("reason", answer.reason.word());
    out.list("names", &answer.names);
    out.put("at", answer.at.map(|n| n.0));
    out.put("text", report::missing_answer_reason(answer));
    out.put("guess", true);
    out.done()
}

/// One of the `readings` of a `state`: what two editions of the protocol read in a message.
pub fn reading(reading: &OpenReading, profile: Option<Profile>) -> Value {
    let mut out = Object::bare();
    out.put("reading", reading.kind.word());
    out.list("names", &reading.names);
    out.put("text", report::open_reading(reading, profile));
    out.done()
}

/// The member `applied` of a `state`: how much of what was sent the client uses.
pub fn applied(diff: &AppliedDiff) -> Value {
    let mut out = Object::bare();
    out.put("resources", diff.total);
    out.put("applied", diff.applied);
    out.list("warming", &diff.warming);
    out.list("refused", &diff.refused);
    out.list("other", &diff.differing);
    out.list("missing", &diff.missing);
    out.list("in_spite", &diff.despite_nack);
    out.list("extra", &diff.extra);
    out.done()
}

/// The `finding` object: a violation of a rule, once or repeatedly.
///
/// `group` is equal for findings with one cause; a live run does not know it.
pub fn finding(finding: &Finding, group: Option<u64>, clock: &Clock) -> Value {
    let mut out = Object::new("finding");
    out.put("rule", finding.rule.id);
    out.put("row", finding.rule.rows);
    out.put("source", finding.rule.reference());
    out.put("severity", finding.severity.word());
    out.some("cause", finding.cause);
    out.put("blame", finding.blame.word());
    out.some("caused_by", finding.caused_by.as_ref().map(|facts| &*facts.by));
    out.put("stream", finding.stream.0);
    out.put("node", finding.node.as_deref());
    out.some("type", (!finding.type_url.is_empty()).then(|| type_word(&finding.type_url)));
    out.list("names", &finding.names);
    out.some("at", finding.at.map(|at| at.0));
    out.put("messages", finding.messages.iter().map(|seq| seq.0).collect::<Vec<u64>>());
    out.put("first", time(finding.first, clock));
    out.put("last", time(finding.last, clock));
    out.some("over", finding.over.map(|at| time(at, clock)));
    out.put("count", finding.count);
    out.put("text", finding.text.as_str());
    out.put("varies", finding.varies);
    out.put("guess", finding.guess);
    out.some("group", group);
    if let Some(place) = &finding.place {
        out.put("place", &**place);
    }
    out.done()
}

/// The `problem` object. [`ProblemFact::findings`] are indices into `findings`.
pub fn problem(problem: &ProblemFact, findings: &[Finding], clock: &Clock) -> Value {
    let mut out = Object::new("problem");
    out.put("problem", problem.kind.word());
    out.put("urgency", problem.urgency.word());
    out.put("blame", problem.blame.word());
    out.some("caused_by", problem.diverged.as_ref().map(|facts| &*facts.by));
    out.put("stream", problem.stream.0);
    out.put("streams", problem.streams);
    out.put("node", problem.node.as_deref());
    let nodes: BTreeSet<Arc<str>> = problem.places().filter_map(|place| place.node).collect();
    out.some("nodes", (nodes.len() > 1).then(|| nodes.iter().map(|node| &**node).collect::<Vec<&str>>()));
    out.some("type", (!problem.type_url.is_empty()).then(|| type_word(&problem.type_url)));
    out.put("since", time(problem.since, clock));
    out.some("last", problem.last.map(|at| time(at, clock)));
    out.some("closed", problem.closed.map(|at| time(at, clock)));
    out.some("over", problem.over.map(|at| time(at, clock)));
    out.put("count", problem.count);
    let period = problem.period.filter(|_| !clock.untimed);
    out.some("period_ms", period.map(|period| period.as_nanos() as f64 / 1e6));
    out.some("at", problem.at.map(|at| at.0));
    out.put("messages", problem.messages.iter().map(|seq| seq.0).collect::<Vec<u64>>());
    let rules = problem.findings.iter().filter_map(|index| findings.get(*index)).map(|of| of.rule.id);
    out.put("rules", rules.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    let causes = problem.findings.iter().filter_map(|index| findings.get(*index)).filter_map(|of| of.cause);
    out.put("causes", causes.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    out.put("varies", problem.varies());
    out.put("guess", problem.is_guess());
    out.put("text", report::problem(problem, clock));
    out.some("quote", problem.quote().map(|quote| quote.to_string()));
    out.done()
}

/// Adds `broken_constraints` and `more_broken_constraints` to an object, if there are any.
pub fn add_broken_constraints(object: &mut Value, broken: &BrokenConstraints) {
    let Value::Object(fields) = object else { return };
    if broken.is_empty() {
        return;
    }
    let constraints = broken.listed.iter().map(|constraint| {
        json!({
            "field": constraint.violation.path,
            "constraint": constraint.violation.demand.to_string(),
            "named": constraint.is_named,
        })
    });
    fields.insert("broken_constraints".into(), constraints.collect());
    if broken.more > 0 {
        fields.insert("more_broken_constraints".into(), json!(broken.more));
    }
}

/// The `resource` object: one name on one stream, without its content.
pub fn resource(fact: &ResourceFact, clock: &Clock) -> Value {
    let mut out = Object::new("resource");
    out.put("stream", fact.stream.0);
    out.put("type", type_word(&fact.type_url));
    out.put("name", &*fact.name);
    out.list("aliases", &fact.aliases);
    out.put("version", fact.version.as_deref());
    out.put("acked_version", fact.acked_version.as_deref());
    out.put("state", fact.state.word());
    out.put("refused", fact.refused);
    out.put("in_force", fact.in_force.as_ref().map(|known| &*known.version));
    if let Some(refusal) = fact.refusal.as_ref().or(fact.earlier_refusal.as_deref()) {
        out.put(
            "refusal",
            json!({
                "nack": refusal.nack.0,
                "push": refusal.push.0,
                "version": &*refusal.version,
                "named": refusal.is_named,
                "removal": refusal.is_removal,
                "rest": refusal.rest.word(),
                "guess": refusal.is_guess,
            }),
        );
    }
    out.some("absent_by", fact.absent_by.map(|by| by.word()));
    let owed = fact.unclassified.map(|(n, at)| json!({ "n": n.0, "time": time(at, clock) }));
    out.some("pending_reclassification", owed);
    let again = fact.owed_again.map(|owed| {
        let (since, overdue) = (time(owed.since, clock), owed.is_late);
        match owed.is_removal {
            true => json!({ "newer": false, "removal": true, "since": since, "overdue": overdue }),
            false => json!({ "newer": owed.is_newer, "since": since, "overdue": overdue }),
        }
    });
    out.some("owed_again", again);
    out.some("unreadable", fact.is_unreadable.then_some(true));
    out.some("stream_down", fact.is_stream_down.then_some(true));
    out.put("origin", fact.origin.word());
    out.put("hash", fact.hash.as_deref());
    out.put("size", fact.size);
    out.some("ttl_deadline", fact.ttl_deadline.map(|at| time(at, clock)));
    out.some("ttl", fact.ttl.as_deref().map(|ttl| self::ttl(ttl, fact, clock)));
    out.some("error", fact.error.as_deref().map(resource_error));
    out.done()
}

/// The time to live of a `resource`.
fn ttl(ttl: &TtlFact, fact: &ResourceFact, clock: &Clock) -> Value {
    let mut out = Object::bare();
    out.put("seconds", ttl.ttl.map(|ttl| ttl.as_secs_f64()));
    out.put("left_seconds", fact.ttl_left.filter(|_| !clock.untimed).map(|left| left.as_secs_f64()));
    out.put("heartbeats", ttl.heartbeats);
    out.some("last_heartbeat", ttl.last_heartbeat.map(|at| time(at, clock)));
    let changes = ttl.changes.iter().map(|change| {
        let seconds = change.ttl.map(|ttl| ttl.as_secs_f64());
        json!({ "n": change.n.0, "time": time(change.at, clock), "seconds": seconds })
    });
    out.put("changes", changes.collect::<Vec<_>>());
    out.done()
}
