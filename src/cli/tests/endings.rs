//! Each way in which a finding about something that lasts can end, for all such rules.

use std::collections::BTreeSet;

use serde_json::Value;

use super::objects;
use xdscope_engine::lint::rules;

/// The ways in which a finding can end. Each rule has a line for each way.
const WAYS: [&str; 7] =
    ["arrives", "removed", "unreferenced", "unsubscribed", "stream-ends", "client-gone", "corrected"];

/// The client of scripts that do not name one.
const NODE: &str = "node n1 agent=\"envoy/1.40.0\"";

/// Length of the text that `BIG` stands for: above the receive limit of gRPC.
const BIG_BYTES: usize = 5_000_000;

/// A way in which the findings of a rule end, or do not end.
struct Way<'a> {
    name: &'a str,
    /// `ends`, `lasts` or `never`.
    word: &'a str,
    lines: Vec<&'a str>,
}

/// A rule with a script after which its finding lasts.
struct Section<'a> {
    rule: &'a str,
    start: Vec<&'a str>,
    ways: Vec<Way<'a>>,
}

/// Reads `tests/fixtures/lint/endings.txt`.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "rule" {
            sections.push(Section { rule: rest, start: Vec::new(), ways: Vec::new() });
            continue;
        }
        let section = sections.last_mut().expect("a rule");
        match (word, section.ways.last_mut()) {
            ("ends" | "lasts" | "never", _) => {
                let (name, _) = rest.split_once(':').unwrap_or((rest, ""));
                section.ways.push(Way { name, word, lines: Vec::new() });
            }
            (_, Some(way)) => way.lines.push(line),
            (_, None) => section.start.push(line),
        }
    }
    sections
}

/// Whether a finding of the rule lasts after a script, for `lint` and for `status`. `None` if there
/// is no finding.
fn lasts(rule: &str, lines: &[&str]) -> Option<bool> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.xds");
    let node = if lines.iter().any(|line| line.starts_with("node")) { "" } else { NODE };
    let text = lines.join("\n").replace("BIG", &"x".repeat(BIG_BYTES));
    std::fs::write(&path, format!("{node}\n{text}\n")).unwrap();
    let path = path.to_str().unwrap();
    let lint = objects(&["lint", path, "-o", "jsonl"]);
    let found: Vec<&Value> = lint.iter().filter(|finding| finding["rule"] == rule).collect();
    let is_open = found.iter().any(|finding| finding["over"].is_null());
    let status = objects(&["status", path, "-o", "jsonl"]);
    let own =
        status.iter().filter(|of| of["object"] == "problem" && of["rules"] == serde_json::json!([rule]));
    for problem in own.filter(|problem| ["warn", "error"].iter().any(|word| problem["problem"] == *word)) {
        assert_eq!(problem["urgency"] != "over", is_open, "{rule}: {lines:#?}\n{problem}");
    }
    (!found.is_empty()).then_some(is_open)
}

/// Returns the complaints about the ways of a rule.
fn complaints(Section { rule, start, ways }: &Section<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    if lasts(rule, start) != Some(true) {
        wrong.push(format!("{rule}: no finding lasts after the first lines"));
    }
    for Way { name, word, lines } in ways {
        let after = |count: usize| lasts(rule, &[&start[..], &lines[..count]].concat());
        let is_right = match *word {
            "ends" => after(lines.len()) == Some(false) && after(lines.len() - 1) == Some(true),
            "lasts" => after(lines.len()) == Some(true),
            _ => lines.is_empty(),
        };
        if !is_right {
            wrong.push(format!("{rule}: {word} {name}"));
        }
    }
    wrong
}

/// docs/protocol.md#h-04, docs/protocol.md#h-11, docs/protocol.md#g-02 and others
#[test]
fn findings_end_in_each_way_that_mends_them_and_not_before() {
    let text = std::fs::read_to_string("tests/fixtures/lint/endings.txt").unwrap();
    let sections = sections(&text);
    let listed: BTreeSet<&str> = sections.iter().map(|section| section.rule).collect();
    assert_eq!(
        listed,
        rules().filter(|rule| rule.is_lasting()).map(|rule| rule.id).collect(),
        "rules in tests/fixtures/lint/endings.txt"
    );
    let mut wrong = Vec::new();
    for section in &sections {
        let names: BTreeSet<&str> = section.ways.iter().map(|way| way.name).collect();
        if names != BTreeSet::from(WAYS) {
            wrong.push(format!("{} has the ways {names:?}", section.rule));
        }
        wrong.extend(complaints(section));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// docs/protocol.md#e-43, docs/protocol.md#k-12 and others
#[test]
fn findings_about_contents_end_with_an_accepted_message_without_the_fault() {
    let text = std::fs::read_to_string("tests/fixtures/lint/corrected.txt").unwrap();
    let sections = sections(&text);
    let listed: BTreeSet<&str> = sections.iter().map(|section| section.rule).collect();
    assert_eq!(
        listed,
        rules().filter(|rule| rule.ends_with_other_content()).map(|rule| rule.id).collect(),
        "rules in tests/fixtures/lint/corrected.txt"
    );
    let mut wrong = Vec::new();
    for section in &sections {
        wrong.extend(complaints(section));
        if !section.ways.iter().any(|way| way.word == "ends") {
            wrong.push(format!("{} has no line that ends a finding", section.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
