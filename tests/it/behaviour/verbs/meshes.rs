//! Recordings of real meshes have the problems that a person judged true, and no others.

use std::path::Path;

use serde_json::Value;

use crate::support::tap::xdscope;

/// Two proxies of pilot-discovery (Istio at eed52ebb66ad, August 2026): a sidecar over delta and a
/// gateway over SotW, both Envoy 1.40, while a DestinationRule changes. This Envoy is built without
/// the extensions of Istio, so that it refuses the listener with `istio.alpn`: the only problem.
const ISTIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings/istio.xdsrec");

/// Returns the exit code and the objects that a verb prints about the recording of Istio.
fn objects(args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut command = xdscope(Path::new(env!("CARGO_MANIFEST_DIR")));
    let output = command.args(args).output().expect("a run");
    let lines = std::str::from_utf8(&output.stdout).expect("text").lines();
    (output.status.code(), lines.map(|line| serde_json::from_str(line).expect("an object")).collect())
}

fn texts<'a>(objects: &'a [Value], member: &str) -> Vec<&'a str> {
    objects.iter().filter_map(|object| object[member].as_str()).collect()
}

#[test]
fn refused_listener_is_the_only_problem_of_istio() {
    let (code, states) = objects(&["status", ISTIO, "-o", "jsonl"]);
    let problems: Vec<&Value> = states.iter().filter(|object| object["object"] == "problem").collect();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(problems[0]["problem"], "nack", "{problems:#?}");
    assert!(problems[0].to_string().contains("istio.alpn"), "{problems:#?}");
    assert_eq!(code, Some(1));

    let (code, findings) = objects(&["lint", ISTIO, "-o", "jsonl"]);
    let severe: Vec<&Value> = findings
        .iter()
        .filter(|finding| matches!(finding["severity"].as_str(), Some("warn" | "error")))
        .collect();
    assert!(severe.is_empty(), "{severe:#?}");
    assert_eq!(code, Some(0));
}

#[test]
fn owners_of_istio_are_those_of_its_configuration() {
    let (_, reviews) =
        objects(&["get", ISTIO, "cds", "--filter", "owner:DestinationRule/shop/reviews", "-o", "jsonl"]);
    let mut names = texts(&reviews, "name");
    names.sort_unstable();
    names.dedup();
    let wanted = [
        "inbound|18081||",
        "inbound|18082||",
        "outbound|8080|v1|reviews.shop.svc.cluster.local",
        "outbound|8080|v2|reviews.shop.svc.cluster.local",
        "outbound|8080||reviews.shop.svc.cluster.local",
    ];
    assert_eq!(names, wanted);

    let filter = "owner:DestinationRule/shop/reviews";
    let (_, messages) = objects(&["log", ISTIO, "--filter", filter, "-o", "jsonl"]);
    let types = texts(&messages, "type");
    assert!(!types.is_empty() && types.iter().all(|word| *word == "cds"), "{messages:#?}");
}
