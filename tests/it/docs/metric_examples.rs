//! The dashboard and the alerts of `examples` use metrics and labels that exist, and the alerts
//! are tested.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::Value;
use xdscope_engine::problems::{ProblemKind, Urgency};
use xdscope_present::metrics::{METRICS, MetricKind};

use super::optional_tool;

/// Labels that Prometheus adds to each series.
const OF_PROMETHEUS: [&str; 3] = ["instance", "job", "le"];

fn example(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(path))
        .expect("an example")
}

/// Returns the expressions of the dashboard.
fn dashboard() -> Vec<String> {
    let board: Value = serde_json::from_str(&example("grafana/dashboard.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut all: Vec<String> =
        targets.map(|target| target["expr"].as_str().expect("an expression").to_owned()).collect();
    assert!(all.len() >= METRICS.len(), "{} expressions", all.len());
    let variables = board["templating"]["list"].as_array().expect("variables").iter();
    all.extend(variables.filter_map(|variable| Some(variable["query"].as_str()?.to_owned())));
    all
}

/// Returns a member of a value that is a list.
fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().unwrap_or_else(|| panic!("{member} in {value}"))
}

/// Returns a member of a value that is a text.
fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("{member} in {value}"))
}

/// Returns the alerts.
fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&example("prometheus/alerts.yml")).expect("YAML");
    list(&rules, "groups").iter().flat_map(|group| list(group, "rules").to_vec()).collect()
}

/// Returns the groups of the tests of the alerts.
fn alert_tests() -> Vec<Value> {
    let tests: Value = serde_saphyr::from_str(&example("prometheus/alerts_test.yml")).expect("YAML");
    list(&tests, "tests").to_vec()
}

/// Returns the series of the tests of the alerts.
fn series() -> Vec<String> {
    let tests = alert_tests();
    let series = tests.iter().flat_map(|group| list(group, "input_series"));
    series.map(|series| text(series, "series").to_owned()).collect()
}

/// Whether a sample of a metric has this name.
fn has_sample(name: &str) -> bool {
    METRICS.iter().any(|metric| match metric.kind {
        MetricKind::Histogram => {
            name.strip_prefix(metric.name).is_some_and(|rest| ["_bucket", "_sum", "_count"].contains(&rest))
        }
        _ => metric.name == name,
    })
}

/// Asserts that metrics and labels of an expression exist, and returns the names of its samples.
fn known_names(expression: &str) -> Vec<String> {
    let metric = Regex::new(r"xdscope_[a-z_]+").expect("a pattern");
    let label = Regex::new(r"([a-z_]+)(?:=~|!=|=|!~)\x22").expect("a pattern");
    let by = Regex::new(r"\b(?:by|on) \(([a-z_, ]+)\)").expect("a pattern");
    let known: BTreeSet<&str> =
        METRICS.iter().flat_map(|metric| metric.labels).chain(&OF_PROMETHEUS).copied().collect();
    let grouped = by
        .captures_iter(expression)
        .flat_map(|found| found[1].split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>());
    for label in label.captures_iter(expression).map(|found| found[1].to_owned()).chain(grouped) {
        assert!(known.contains(label.as_str()), "{label} in {expression}");
    }
    let names = metric.find_iter(expression).map(|name| name.as_str().to_owned());
    names.inspect(|name| assert!(has_sample(name), "{name} in {expression}")).collect()
}

#[test]
fn examples_use_metrics_that_exist() {
    let alerts = alerts();
    let alerts = alerts.iter().map(|alert| text(alert, "expr").to_owned());
    let used: BTreeSet<String> =
        dashboard().into_iter().chain(alerts).flat_map(|expression| known_names(&expression)).collect();
    let unused: Vec<&str> = METRICS
        .iter()
        .map(|metric| metric.name)
        .filter(|name| !used.iter().any(|of| of.starts_with(name)))
        .collect();
    assert!(unused.is_empty(), "a dashboard shows every metric: {unused:?}");
    for series in series() {
        known_names(&series);
    }
}

#[test]
fn alerts_name_problems_that_exist() {
    let label = Regex::new(r#"(kind|severity)=~?"([a-z_|]+)""#).expect("a pattern");
    let kinds: BTreeSet<&str> = ProblemKind::all().map(ProblemKind::word).collect();
    let severities: BTreeSet<&str> = Urgency::ALL.into_iter().map(Urgency::word).collect();
    let alerts = alerts();
    let expressions = alerts.iter().map(|alert| text(alert, "expr").to_owned()).chain(series());
    let mut checked = 0;
    for expression in expressions.filter(|expression| expression.contains("xdscope_problems{")) {
        for found in label.captures_iter(&expression) {
            let words = if &found[1] == "kind" { &kinds } else { &severities };
            for word in found[2].split('|') {
                assert!(words.contains(word), "{word} in {expression}");
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "only {checked} words");
}

/// Evaluations of an alert in its tests, by whether it fires.
#[derive(Default)]
struct Evaluations {
    firing: usize,
    silent: usize,
}

#[test]
fn each_alert_is_tested_firing_and_silent() {
    let tests = alert_tests();
    let alerts = alerts();
    assert!(alerts.len() >= 8, "{} alerts", alerts.len());
    for alert in alerts {
        let name = text(&alert, "alert");
        assert!(alert["annotations"]["summary"].is_string(), "{name} has a summary");
        let mut evaluations = Evaluations::default();
        for test in tests.iter().flat_map(|group| list(group, "alert_rule_test")) {
            if text(test, "alertname") != name {
                continue;
            }
            match list(test, "exp_alerts").is_empty() {
                true => evaluations.silent += 1,
                false => evaluations.firing += 1,
            }
        }
        assert!(evaluations.firing > 0, "no test fires {name}");
        assert!(evaluations.silent > 0, "{name} is silent in no test");
    }
}

#[test]
fn alerts_pass_their_tests() {
    let Some(promtool) = optional_tool::find("promtool", "alerts_pass_their_tests") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/prometheus");
    for call in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]] {
        let printed = optional_tool::output(Command::new(&promtool).args(call).current_dir(&folder));
        assert!(printed.contains("SUCCESS"), "{printed}");
    }
}
