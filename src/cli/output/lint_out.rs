//! Findings in formats of other tools: SARIF, JUnit, GitHub annotations.

use std::io::{self, Write};

use serde_json::{Value, json};

use xdscope_engine::lint::{Finding, Severity, rules};
use xdscope_engine::store::{ClientMarks, Store};
use xdscope_present::json::time;
use xdscope_present::report;

use super::junit::{JunitCase, write_junit};

/// Formats place and text of a finding on one line.
fn line(finding: &Finding, marks: &ClientMarks) -> String {
    format!("{}: {}", report::place(finding, marks), report::finding(finding, "x"))
}

/// Writes SARIF 2.1.0: one run with rules and findings. Locations are message numbers, in
/// properties.
pub(crate) fn sarif(
    source: &str,
    findings: &[Finding],
    store: &Store,
    out: &mut dyn Write,
) -> io::Result<()> {
    let marks = store.client_marks();
    let level = |severity| match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    };
    let rules: Vec<Value> = rules()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.title() },
                "fullDescription": { "text": rule.manual() },
                "defaultConfiguration": { "level": level(rule.severity) },
                "properties": { "rows": rule.rows, "source": rule.reference() },
            })
        })
        .collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "ruleId": finding.rule.id,
                "level": level(finding.severity),
                "message": { "text": line(finding, &marks) },
                "locations": [{
                    "physicalLocation": { "artifactLocation": { "uri": source } },
                    "logicalLocations": [{ "name": report::place(finding, &marks), "kind": "object" }],
                }],
                "occurrenceCount": finding.count,
                "properties": {
                    "stream": finding.stream.0,
                    "messages": finding.messages.iter().map(|seq| seq.0).collect::<Vec<_>>(),
                    "names": finding.names.iter().map(|name| &**name).collect::<Vec<_>>(),
                    "blame": finding.blame.word(),
                    "first": time(finding.first, &store.clock()),
                    "last": time(finding.last, &store.clock()),
                },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "xdscope",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    writeln!(out, "{}", super::json_out::line(&log))
}

/// Writes JUnit: a test case for each rule, which fails with the findings that count.
pub(crate) fn junit(
    source: &str,
    failing: &[&Finding],
    store: &Store,
    out: &mut dyn Write,
) -> io::Result<()> {
    let marks = store.client_marks();
    let failure = |finding: &&&Finding| (finding.severity.word().to_owned(), line(finding, &marks));
    let cases = rules().map(|rule| {
        let of_rule = failing.iter().filter(|finding| finding.rule.id == rule.id);
        let failures = of_rule.map(|finding| failure(&finding)).collect();
        JunitCase { name: rule.id.to_owned(), failures, skipped: None, output: None }
    });
    write_junit(source, "xdscope.lint", &cases.collect::<Vec<_>>(), out)
}

/// Writes workflow commands of GitHub Actions.
pub(crate) fn github(
    source: &str,
    findings: &[Finding],
    store: &Store,
    out: &mut dyn Write,
) -> io::Result<()> {
    let marks = store.client_marks();
    for finding in findings {
        let word = match finding.severity {
            Severity::Error => "error",
            Severity::Warn => "warning",
            Severity::Info => "notice",
        };
        let (file, text) = (property(source), escape(&line(finding, &marks)));
        writeln!(out, "::{word} file={file},title={}::{text}", finding.rule.id)?;
    }
    Ok(())
}

/// Escapes the message of a command, which ends with its line.
fn escape(text: &str) -> String {
    xdscope_wire::text::display_safe(text).replace('%', "%25")
}

/// Escapes a property, which ends with a comma or colon.
fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}
