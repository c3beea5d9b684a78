//! Output about requests without an answer, bytes that changed nothing, and lives of streams.

use std::io::Cursor;

use serde_json::{Value, json};

use super::{CallOutput, Environment};

fn run(script: &str, args: &[&str]) -> CallOutput {
    let text = format!("node n1\n{script}");
    Environment { stdin: Box::new(Cursor::new(text.into_bytes())), ..Environment::default() }.run(args)
}

/// Returns the `waiting_reason` of the state of one type, without its text.
fn reasons(script: &str, word: &str) -> Value {
    let output = run(script, &["status", "-", "-o", "jsonl"]);
    let states = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut states = states.filter(|state| state["type"] == word);
    let state = states.next_back().unwrap();
    let items = state["waiting_reason"].as_array().cloned().unwrap_or_default();
    let of = |item: &Value| {
        assert_eq!(item["guess"], true);
        assert!(item["text"].as_str().is_some_and(|text| text.len() > 20), "{item}");
        json!([item["reason"], item["names"], item["at"]])
    };
    items.iter().map(of).collect()
}

#[test]
fn request_with_newest_version_may_pass_for_an_ack() {
    let held = "stream 1 sotw rds\n> names=[a]\n< v=1 n=x [a]\n> v=1 n=x names=[a]\n";
    let more = format!("{held}> v=1 n=x names=[a b]\n");
    assert_eq!(reasons(&more, "rds"), json!([["same-version", ["b"], 4]]));
    // The response came without the name: the version is not the cause.
    let answered = format!("{more}< v=2 n=y [a]\n> v=2 n=y names=[a b]\n");
    assert_eq!(reasons(&answered, "rds"), json!([]));
    assert_eq!(reasons(held, "rds"), json!([]));
    let back = format!("{held}1 close status=14\nstream 2 sotw rds\n> v=1 names=[a b]\n");
    assert_eq!(reasons(&back, "rds"), json!([["same-version", ["b"], 4]]));
}

#[test]
fn request_with_stale_nonce_may_be_ignored() {
    let script = "stream 1 sotw rds\n> names=[a]\n< v=1 n=x [a]\n> v=1 n=x names=[a]\n< v=2 n=y [a]\n\
                  > v=1 n=x names=[a b]\n";
    assert_eq!(reasons(script, "rds"), json!([["stale-nonce", ["b"], 5]]));
}

#[test]
fn resource_sent_before_unsubscribing_may_count_as_sent() {
    let script = "stream 1 delta rds\n> sub=[a b]\n< n=x [a@1 b@1]\n> n=x\n> unsub=[a]\n";
    assert_eq!(reasons(script, "rds"), json!([]));
    assert_eq!(reasons(&format!("{script}> sub=[a]\n"), "rds"), json!([["already-sent", ["a"], 5]]));
}

#[test]
fn server_may_wait_for_all_names() {
    let script = "stream 1 sotw rds\n> names=[a b]\n< v=1 n=x [a b]\n> v=1 n=x names=[a b]\n\
                  > v=1 n=x names=[b]\n> v=1 n=x names=[b c]\n";
    assert_eq!(reasons(script, "rds"), json!([["not-superset", ["c"], 5]]));
}

#[test]
fn endpoints_without_a_cluster_may_be_unknown() {
    let script =
        "stream 1 ads\n> cds\n< cds v=1 n=x [known{eds}]\n> cds v=1 n=x\n> eds names=[known other]\n";
    assert_eq!(reasons(script, "eds"), json!([["unknown-to-cds", ["other"], null]]));
    let without = "stream 1 ads\n> eds names=[other]\n";
    assert_eq!(reasons(without, "eds"), json!([]), "clusters are not in view");
}

#[test]
fn subscriptions_and_wide_states_mark_causes_as_guesses() {
    let script =
        "stream 1 sotw rds\n> names=[a]\n< v=1 n=x [a]\n> v=1 n=x names=[a]\n> v=1 n=x names=[a b]\n";
    let output = run(script, &["get", "-", "rds", "--subscriptions"]);
    let line = output.out.lines().find(|line| line.contains("waiting") || line.contains("missing")).unwrap();
    assert!(line.contains("the server may take the request for an ACK (guess)"), "{}", output.out);
    assert!(output.out.starts_with("NODE") && output.out.contains("PERHAPS"), "{}", output.out);
    let wide = run(script, &["status", "-", "-o", "wide"]).out;
    assert!(wide.contains("b: requested with version 1, the newest"), "{wide}");
}

#[test]
fn name_is_missing_after_the_timeout_only() {
    let asked = "stream 1 ads\n+0s > eds v= n= names=[e]\n+1s > rds v= n= names=[r]\n";
    let of = |script: &str| {
        let word = |args: &[&str], with: &str| {
            let output = run(script, args).out;
            let line = output.lines().find(|line| line.contains(with)).expect("a row");
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let names = word(&["get", "-", "eds", "--subscriptions"], " e ");
        let counts = word(&["get", "-", "--subscriptions"], "EDS");
        (names.get(5).cloned(), counts.get(6).cloned())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of(asked), (some("waiting"), some("0")));
    assert_eq!(of(&format!("{asked}+20s > sds v= n= names=[s]\n")), (some("missing"), some("1")));
}

#[test]
fn states_include_share_of_unchanged_bytes() {
    let script = "stream 1 sotw cds\n>\n< v=1 n=x [A B]\n> v=1 n=x\n< v=2 n=y [A B]\n> v=2 n=y\n";
    let line = run(script, &["status", "-", "-o", "jsonl"]).out;
    let state: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let (same, all) = (state["bytes_same"].as_u64().unwrap(), state["bytes"].as_u64().unwrap());
    assert_eq!(same, all / 2, "the second push, and no byte of the first");
    let wide = run(script, &["status", "-", "-o", "wide"]).out;
    assert!(wide.contains("SAME") && wide.contains("50 %"), "{wide}");
}

#[test]
fn closed_stream_shows_age_and_silence() {
    let script =
        "stream 1 sotw cds\n>\n+2s < v=1 n=x [A]\n+3s > v=1 n=x\n+60s 1 close status=14 \"max age\"\n";
    let life = "closed at age 1m, 57s after its last message: UNAVAILABLE";
    for args in [&["info", "-"][..], &["status", "-", "-o", "wide"]] {
        let output = run(script, args);
        assert!(output.out.contains(life), "{}", output.out);
    }
}
