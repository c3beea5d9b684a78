use std::collections::BTreeSet;

use serde_json::Value;

use super::ast::*;
use super::codec::Codec;
use super::load::{LoadError, clock, steps};
use super::write;
use xdscope_engine::graph::{self, Graph};
use xdscope_engine::lint::{self, Finding, Lint, Subject};
use xdscope_engine::store::{Options, RequestClass, ResourceFact, ResourceState, SharedSemantics, Store};
use xdscope_present::json;
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Seq, StreamId, TypeUrl, Variant};

/// The state of a resource that was sent.
const PRESENT: &str = "present";

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected `{expected}`, found {found}")]
pub struct UnmetExpectation {
    /// The line number in the file, from 1.
    pub line: u32,
    /// The line as a script writes it.
    pub expected: String,
    /// The actual value, in the words of the expectation.
    pub found: String,
}

/// Replays a script and compares each expectation at the time of its line.
///
/// Returns the expectations that were not met.
///
/// # Errors
///
/// A line can't be encoded.
pub fn check(
    script: &Script,
    codec: &dyn Codec,
    options: Options,
    rules: lint::Options,
    meaning: Option<SharedSemantics>,
) -> Result<Vec<UnmetExpectation>, LoadError> {
    let mut catalog = Catalog::in_memory();
    let steps = steps(script, codec, &mut catalog)?;
    let mut store = Store::new(catalog, clock(script), options);
    if let Some(meaning) = meaning {
        store.set_meaning(meaning);
    }
    let mut lint = Lint::new(rules);
    let mut checker = Checker { streams: Vec::new(), named_findings: Vec::new() };
    let mut failures = Vec::new();
    for (line, step) in script.lines.iter().zip(steps) {
        if let Some(frame) = step.frame {
            lint.handle(&mut store, frame);
        }
        lint.advance(&mut store, step.at);
        match &line.statement {
            Statement::Stream { stream, .. } => checker.streams.push(stream.clone()),
            Statement::Expect(expect) => {
                let found = match expect {
                    Expectation::Message { .. }
                    | Expectation::State { .. }
                    | Expectation::Resource { .. } => checker.fact(expect, &store, codec.schema()),
                    _ => checker.lint(expect, lint.findings()),
                };
                if let Some(found) = found {
                    let expected = write::line(&line.statement);
                    failures.push(UnmetExpectation { line: line.number, expected, found });
                }
            }
            _ => {}
        }
    }
    Ok(failures)
}

struct Checker {
    streams: Vec<ScriptStream>,
    /// The findings that `expect lint` lines have named so far.
    named_findings: Vec<FindingPattern>,
}

impl Checker {
    /// Returns the type on a stream of the script.
    fn url(&self, number: u32, ty: &TypeRef) -> TypeUrl {
        let stream = self.streams.iter().find(|stream| stream.number == number);
        stream.map_or_else(TypeUrl::default, |stream| stream.type_url(ty))
    }

    /// Returns the actual values if an expectation about a fact is not met.
    fn fact(&self, expect: &Expectation, store: &Store, schema: Option<&Schema>) -> Option<String> {
        let clock = store.clock();
        let mut is_delta = false;
        let (object, key, word, fields) = match expect {
            Expectation::Message { number: n, kind, fields } => {
                let row = store.row_of(Seq(*n)).and_then(|index| store.row(index));
                let stream = row.as_ref().and_then(|row| store.stream(row.stream));
                is_delta = stream.and_then(|stream| stream.variant).is_some_and(Variant::is_delta);
                (row.map(|row| json::message(&row, &clock)), "kind", kind, fields)
            }
            Expectation::State { stream, ty, state, fields } => {
                let url = self.url(*stream, ty);
                let states = store.states();
                let fact = states
                    .iter()
                    .find(|fact| fact.summary.stream == StreamId(*stream) && fact.summary.type_url == url);
                (fact.map(|fact| json::state(fact, &clock)), "state", state, fields)
            }
            Expectation::Resource { stream, ty, name, state, fields } => {
                let mut fact = resource_named(store, StreamId(*stream), &self.url(*stream, ty), name);
                // An orphan is present: both words hold.
                if let Some(fact) = &mut fact
                    && state.as_deref() != Some(PRESENT)
                    && schema.is_some_and(|schema| is_orphan(store, schema, fact))
                {
                    fact.state = ResourceState::Orphan;
                }
                (fact.map(|fact| json::resource(&fact, &clock)), "state", state, fields)
            }
            _ => return None,
        };
        let Some(object) = object else { return Some("no such fact".into()) };
        let word = word.iter().map(|word| (key, ExpectedValue::Word(word.clone())));
        let fields =
            fields.iter().map(|(key, expected)| (key.as_str(), class_by_name(key, expected, is_delta)));
        let mut wrong = Vec::new();
        for (key, expected) in word.chain(fields) {
            let found = field(&object, key);
            if !holds(&expected, found) {
                wrong.push(format!("{key}={}", found.unwrap_or(&Value::Null)));
            }
        }
        if wrong.is_empty() { None } else { Some(wrong.join(" ")) }
    }

    /// Returns the findings if an expectation about findings is not met.
    fn lint(&mut self, expect: &Expectation, findings: &[Finding]) -> Option<String> {
        let mut wrong: Vec<&Finding> = Vec::new();
        match expect {
            Expectation::Lint { pattern, severity } => {
                self.named_findings.push(pattern.clone());
                let mut found: Vec<&Finding> = findings.iter().filter(|f| is_picked(pattern, f)).collect();
                if let Some(severity) = severity {
                    found.retain(|finding| *severity == finding.severity.word());
                }
                let names: BTreeSet<&str> =
                    found.iter().flat_map(|finding| finding.names.iter().map(|name| &**name)).collect();
                let has_names = match &pattern.names {
                    Some(wanted) => names == wanted.iter().map(String::as_str).collect(),
                    None => true,
                };
                if found.is_empty() || !has_names {
                    return Some(list(findings.iter().filter(|f| f.rule.id == pattern.rule)));
                }
            }
            Expectation::NoFinding(pattern) => {
                wrong.extend(findings.iter().filter(|f| is_picked(pattern, f)));
                if let Some(names) = &pattern.names {
                    wrong.retain(|finding| finding.names.iter().any(|name| has_text(names, name)));
                }
            }
            Expectation::LintNone => {
                wrong.extend(findings.iter().filter(|f| f.rule.subject != Subject::Nack))
            }
            Expectation::LintOnly => {
                wrong.extend(findings.iter().filter(|f| f.rule.subject != Subject::Nack));
                wrong.retain(|finding| !self.is_named(finding));
            }
            _ => {}
        }
        if wrong.is_empty() { None } else { Some(list(wrong.into_iter())) }
    }

    /// Whether an `expect lint` line has named a finding, with all of its names.
    fn is_named(&self, finding: &Finding) -> bool {
        self.named_findings.iter().any(|pattern| {
            let has_names = match &pattern.names {
                Some(names) => finding.names.iter().all(|name| has_text(names, name)),
                None => true,
            };
            has_names && is_picked(pattern, finding)
        })
    }
}

/// Whether a finding has the rule and the message of a pattern.
fn is_picked(pattern: &FindingPattern, finding: &Finding) -> bool {
    finding.rule.id == pattern.rule && (pattern.at.is_none() || message_number(finding) == pattern.at)
}

/// Whether a text is among some names.
fn has_text(names: &[String], text: &str) -> bool {
    names.iter().any(|name| name == text)
}

/// Returns the resource with a name or an alias, else the one with another spelling of the name.
fn resource_named(store: &Store, stream: StreamId, url: &TypeUrl, name: &str) -> Option<ResourceFact> {
    let resources = store.resources(stream, url);
    let by_name = resources.iter().find(|fact| *fact.name == *name);
    let by_alias = || resources.iter().find(|fact| fact.aliases.iter().any(|alias| **alias == *name));
    match by_name.or_else(by_alias) {
        Some(fact) => Some(fact.clone()),
        None => store.resource(stream, url, name),
    }
}

/// Whether the client was sent nothing that refers to a resource in force, as `get` shows it.
fn is_orphan(store: &Store, schema: &Schema, fact: &ResourceFact) -> bool {
    let Some((kind, _)) = Kind::of_type_url(fact.type_url.as_str()) else { return false };
    if fact.state != ResourceState::Present || !graph::has_orphans(kind) {
        return false;
    }
    let graph = Graph::of(store, schema, &graph::streams_of(store, fact.stream));
    graph.orphan_names(fact.stream, kind).any(|name| *name == fact.name)
}

/// Returns the expected value of a field. The letter code of a request class becomes its name.
fn class_by_name(key: &str, expected: &ExpectedValue, is_delta: bool) -> ExpectedValue {
    let class = match expected {
        ExpectedValue::Word(code) if key == "class" => RequestClass::from_code(code, is_delta),
        _ => None,
    };
    class.map_or_else(|| expected.clone(), |class| ExpectedValue::Word(class.word().to_owned()))
}

/// Returns the number of the message that completed a finding.
fn message_number(finding: &Finding) -> Option<u64> {
    finding.at.map(|at| at.0)
}

/// Lists findings for a failure message.
fn list<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let texts: Vec<String> = findings
        .map(|f| {
            let at = message_number(f).map_or(String::new(), |at| format!(" at {at}"));
            format!("{}{at} sev={} names=[{}]", f.rule.id, f.severity.word(), f.names.join(" "))
        })
        .collect();
    if texts.is_empty() { "no such finding".into() } else { texts.join(", ") }
}

/// Returns a field, or a nested field of a dotted path.
fn field<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, key| value.get(key))
}

/// Whether a field has the expected value.
fn holds(expected: &ExpectedValue, found: Option<&Value>) -> bool {
    match (expected, found) {
        (ExpectedValue::Word(word), None | Some(Value::Null)) => word.is_empty(),
        (ExpectedValue::Word(word), Some(Value::String(text))) => word == text,
        (ExpectedValue::Word(word), Some(Value::Bool(value))) => {
            word == if *value { "true" } else { "false" }
        }
        (ExpectedValue::Word(word), Some(Value::Number(number))) => word.parse().ok() == number.as_f64(),
        (ExpectedValue::Word(word), Some(Value::Array(items))) => word.is_empty() && items.is_empty(),
        (ExpectedValue::Word(word), Some(Value::Object(map))) => word.is_empty() && map.is_empty(),
        (ExpectedValue::List(words), Some(Value::Array(items))) => {
            let items: BTreeSet<String> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), String::from))
                .collect();
            words.iter().cloned().collect::<BTreeSet<_>>() == items
        }
        (ExpectedValue::List(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn word(text: &str) -> ExpectedValue {
        ExpectedValue::Word(text.into())
    }

    #[test]
    fn compares_values_by_type() {
        let object =
            json!({ "v": "1", "n": 1.0, "b": true, "e": null, "l": ["b", "a"], "x": [], "o": { "code": 3 } });
        let check = |expected: ExpectedValue, key: &str| holds(&expected, field(&object, key));
        assert!(check(word("1"), "v") && check(word("1"), "n") && check(word("true"), "b"));
        assert!(
            check(word(""), "e")
                && check(word(""), "x")
                && check(word(""), "absent")
                && check(word("3"), "o.code")
        );
        assert!(
            check(ExpectedValue::List(vec!["a".into(), "b".into()]), "l")
                && check(ExpectedValue::List(vec![]), "x")
        );
        assert!(
            !check(word(""), "v")
                && !check(word("a"), "l")
                && !check(ExpectedValue::List(vec!["a".into()]), "l")
        );
        assert!(!check(ExpectedValue::List(vec![]), "absent"), "a missing list is not an empty list");
    }

    fn finding(rule: &str, at: Option<u64>, names: &[&str]) -> Finding {
        Finding {
            rule: lint::rule(rule).expect("a rule"),
            severity: lint::Severity::Warn,
            cause: None,
            reason: None,
            blame: lint::Blame::Server,
            caused_by: None,
            stream: StreamId(1),
            node: None,
            type_url: TypeUrl::default(),
            names: names.iter().map(|name| (*name).into()).collect(),
            at: at.map(Seq),
            messages: Vec::new(),
            first: xdscope_wire::event::Time::ZERO,
            last: xdscope_wire::event::Time::ZERO,
            count: 1,
            over: None,
            intervals: None,
            text: String::new(),
            guess: false,
            varies: false,
            place: None,
        }
    }

    fn lint(lines: &str, findings: &[Finding]) -> Vec<bool> {
        let script = crate::script::parse(lines, "x").expect("expectations");
        let mut checker = Checker { streams: Vec::new(), named_findings: Vec::new() };
        let expects = script.lines.iter().map(|line| match &line.statement {
            Statement::Expect(expect) => checker.lint(expect, findings).is_none(),
            _ => panic!("only expectations"),
        });
        expects.collect()
    }

    #[test]
    fn matches_findings_by_rule_message_severity_and_names() {
        let findings = [
            finding("ttl-invalid", Some(3), &["x"]),
            finding("ttl-invalid", None, &["y"]),
            finding("nack", Some(2), &[]),
        ];
        let holding = "expect lint ttl-invalid\nexpect lint ttl-invalid at 3 names=[x]\nexpect lint ttl-invalid names=[x y]\nexpect lint ttl-invalid sev=warn\n\
                       expect no ttl-expired\nexpect no ttl-invalid at 4\nexpect no ttl-invalid names=[z]\nexpect lint only";
        assert_eq!(lint(holding, &findings), [true; 8]);
        let failing = "expect lint only\nexpect lint none\nexpect lint ttl-expired\nexpect lint ttl-invalid at 4\nexpect lint ttl-invalid names=[x]\n\
                       expect lint ttl-invalid sev=info\nexpect no ttl-invalid names=[y]\nexpect no ttl-invalid";
        assert_eq!(lint(failing, &findings), [false; 8]);
        assert_eq!(lint("expect lint none", &findings[2..]), [true], "a NACK is a fact, not a violation");
        assert_eq!(lint("expect lint ttl-invalid at 3\nexpect lint only", &findings), [true, false]);
    }
}
