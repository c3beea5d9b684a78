//! The rows of `check --client`.

use std::collections::BTreeSet;

use serde_json::Value;
use xdscope::app::check::CLIENT_ROWS;

use super::flawed_client::{ClientFlaw, FlawedClient};
use super::{bad, check, folder, line};
use crate::support::process::{Child, free_port};
use crate::support::tap::xdscope;

/// Runs `watch` as the client under test, with these flags.
fn of_watch(test: &str, flags: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let folder = folder(test);
    let address = format!("127.0.0.1:{}", free_port());
    let mut watch = xdscope(&folder);
    watch.args(["watch", &address, "--plaintext", "--no-tui", "--no-record", "--ack", "validate"]);
    let _watch = Child::start(watch.args(flags), &folder.join("watch.log"));
    check(&folder, &["--client", &address, "--connect-within", "20s"])
}

/// Returns the rows that do not apply, and asserts that all others have passed.
fn not_run(results: &[Value]) -> Vec<&str> {
    let failed: Vec<String> = results
        .iter()
        .filter(|of| of["outcome"] != "passed" && of["outcome"] != "not_run")
        .map(line)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(results.len(), CLIENT_ROWS.len());
    results.iter().filter(|of| of["outcome"] == "not_run").filter_map(|of| of["row"].as_str()).collect()
}

#[test]
fn own_client_passes_each_row() {
    let (code, results, err) = of_watch("own_client_passes_each_row-ads", &["--variant", "ads"]);
    assert_eq!(not_run(&results), ["removed-unknown"], "{:#?} {err}", bad(&results));
    assert_eq!(code, Some(0));
    let (code, results, err) = of_watch("own_client_passes_each_row-delta", &["--variant", "delta-ads"]);
    assert_eq!(not_run(&results), ["empty"], "{:#?} {err}", bad(&results));
    assert_eq!(code, Some(0));
    let flags = ["--variant", "sotw", "cds", "eds/a"];
    let (_, results, err) = of_watch("own_client_passes_each_row-sotw", &flags);
    assert_eq!(not_run(&results), ["removed-unknown", "unsubscribed-type"], "{:#?} {err}", bad(&results));
}

/// Mistakes, and the rows that find them.
const CASES: &[(ClientFlaw, &[&str])] = &[
    (ClientFlaw::NeverRefuses, &["nack-undecodable", "nack-other-type", "nack-duplicate", "nack-once"]),
    (
        ClientFlaw::RefusesLater,
        &["ack", "ack-repeated", "ack-two", "unrequested", "removed-unknown", "removal", "empty"],
    ),
    (ClientFlaw::StopsAnswering, &["resource-errors", "unsubscribed-type", "large", "garbage", "reconnect"]),
    (ClientFlaw::NoNode, &["node"]),
    (ClientFlaw::StaysAway, &["reconnect"]),
    (ClientFlaw::ForgetsVersions, &["reconnect-versions"]),
];

/// A row that the client of these tests does not apply to: it announces no times to live.
const ELSEWHERE: &[&str] = &["heartbeat"];

#[test]
fn each_row_finds_a_client_that_breaks_it() {
    let mut failed = Vec::new();
    for (flaw, rows) in CASES {
        for row in *rows {
            let mut found = Vec::new();
            for is_delta in [false, true] {
                let test = format!("each_row_finds_a_client_that_breaks_it-{flaw:?}-{row}-{is_delta}");
                let folder = folder(&test);
                let address = format!("127.0.0.1:{}", free_port());
                let _client = FlawedClient::start(&address, is_delta, *flaw);
                let args = ["--client", &address, "--row", row, "--timeout", "600ms", "--settle", "200ms"];
                let (_, results, err) = check(&folder, &[&args[..], &["--connect-within", "3s"]].concat());
                assert_eq!(results.len(), 1, "{test}: {err}");
                found.push(line(&results[0]));
            }
            let is_found = |line: &&String| line.contains(" failed") || line.contains(" unanswered");
            let is_other = |line: &&String| line.contains(" not_run");
            if found.iter().filter(is_found).count() + found.iter().filter(is_other).count() < found.len()
                || !found.iter().any(|line| is_found(&line))
            {
                failed.push((flaw, found));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn cases_cover_all_rows() {
    let of_cases = CASES.iter().flat_map(|(_, rows)| rows.iter());
    let covered: BTreeSet<&str> = of_cases.chain(ELSEWHERE).copied().collect();
    let known: BTreeSet<&str> = CLIENT_ROWS.iter().map(|row| row.id).collect();
    assert_eq!(covered, known);
}

#[test]
fn says_that_no_client_came() {
    let folder = folder("says_that_no_client_came");
    let (code, results, err) = check(&folder, &["--client", "127.0.0.1:0", "--connect-within", "200ms"]);
    assert!(code == Some(3) && results.is_empty() && err.contains("no client has connected"), "{err}");
}
