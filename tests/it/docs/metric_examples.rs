//! The dashboard and the alerts of `examples` use metrics and labels that exist.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;
use serde_json::Value;
use xdscope_present::metrics::{METRICS, MetricKind};

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

/// Returns the expressions of the alerts.
fn alerts() -> Vec<String> {
    let rules: Value = serde_saphyr::from_str(&example("prometheus/alerts.yml")).expect("YAML");
    let groups = rules["groups"].as_array().expect("groups").iter();
    let rules: Vec<&Value> = groups.flat_map(|group| group["rules"].as_array().expect("rules")).collect();
    for rule in &rules {
        assert!(rule["alert"].is_string() && rule["annotations"]["summary"].is_string(), "{rule}");
    }
    rules.iter().map(|rule| rule["expr"].as_str().expect("an expression").to_owned()).collect()
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

#[test]
fn examples_use_metrics_that_exist() {
    let metric = Regex::new(r"xdscope_[a-z_]+").expect("a pattern");
    let label = Regex::new(r"([a-z_]+)(?:=~|!=|=|!~)\x22").expect("a pattern");
    let by = Regex::new(r"\b(?:by|on) \(([a-z_, ]+)\)").expect("a pattern");
    let known: BTreeSet<&str> =
        METRICS.iter().flat_map(|metric| metric.labels).chain(&OF_PROMETHEUS).copied().collect();
    let mut used = BTreeSet::new();
    for expression in dashboard().into_iter().chain(alerts()) {
        for name in metric.find_iter(&expression) {
            assert!(has_sample(name.as_str()), "{} in {expression}", name.as_str());
            used.insert(name.as_str().to_owned());
        }
        let labels = label.captures_iter(&expression).map(|found| found[1].to_owned());
        let grouped = by
            .captures_iter(&expression)
            .flat_map(|found| found[1].split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>());
        for label in labels.chain(grouped) {
            assert!(known.contains(label.as_str()), "{label} in {expression}");
        }
    }
    let unused: Vec<&str> = METRICS
        .iter()
        .map(|metric| metric.name)
        .filter(|name| !used.iter().any(|of| of.starts_with(name)))
        .collect();
    assert!(unused.is_empty(), "a dashboard shows every metric: {unused:?}");
}
