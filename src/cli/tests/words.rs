//! Tests of verbs about xdscope itself: keys, manual pages, completions, explanations.

use super::{run, show};
use crate::cli::Exit;
use xdscope_engine::problems::{ProblemKind, Urgency};
use xdscope_present::report;

/// `help keys` equals the key map.
#[test]
fn help_keys_matches_the_key_map() {
    let text = run(&["help", "keys"]).out;
    let mut context = "";
    let mut printed = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            None => context = line,
            Some(rest) if !rest.starts_with(' ') => {
                let (key, rest) = rest.split_at(10);
                let command = xdscope_tui::Command::ALL
                    .iter()
                    .rev()
                    .find(|command| rest[1..].starts_with(&format!("{:<18} ", command.name())));
                printed.push((context, key.trim(), command.copied()));
            }
            Some(_) => {}
        }
    }
    let mut bound: Vec<_> = xdscope_tui::BINDINGS
        .iter()
        .map(|binding| (binding.context.title(), binding.key, Some(binding.command)))
        .collect();
    let order = |row: &(&str, &str, Option<xdscope_tui::Command>)| (row.0.to_owned(), row.1.to_owned());
    printed.sort_by_key(order);
    bound.sort_by_key(order);
    assert_eq!(printed, bound);
}

#[test]
fn writes_manual_pages_for_every_verb() {
    assert!(run(&["man"]).out.contains(".SH \"EXIT STATUS\""));
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["man", "--output", folder.path().to_str().unwrap()]);
    assert_eq!(output.exit, Exit::Yes, "{}", output.err);
    for page in ["xdscope", "xdscope-log", "xdscope-descriptors-build"] {
        let text = std::fs::read_to_string(folder.path().join(format!("{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {} 1", page.to_uppercase())), "{text}");
    }
}

#[test]
fn explains_states_and_kinds() {
    insta::assert_snapshot!(show(&["explain", "NACK"]));
    let newest = run(&["explain", "newest_nonce"]);
    assert!(newest.out.contains("newest_nonce (class of a request)"), "{}", newest.out);
    assert_eq!(run(&["explain", "R7"]).out, newest.out);
    assert!(run(&["explain", "q5"]).out.contains("settled_nonce"));
    let row = run(&["explain", "e-30"]).out;
    assert!(row.starts_with("E-30 (rule of the protocol)\n") && row.contains("xDS protocol, \""), "{row}");
    assert!(row.contains("see  xdscope explain nack-resend-loop"), "{row}");
    for word in ["synced", "stale", "miss", "resend", "orphan"] {
        assert_eq!(run(&["explain", word]).exit, Exit::Yes, "{word}");
    }
}

/// Each word of a problem or a state that `status` prints, as text and as JSON.
#[test]
fn explains_each_word_of_status() {
    let mut words: Vec<&str> = ProblemKind::all().map(ProblemKind::word).collect();
    words.extend(ProblemKind::all().map(|kind| report::problem_kind_word(kind, Urgency::Error).0));
    words.push("APPLIED");
    let help = run(&["help", "states"]).out;
    for word in words {
        let output = run(&["explain", word]);
        assert_eq!(output.exit, Exit::Yes, "{word}: {}", output.err);
        let is_listed =
            |line: &str| line.split_whitespace().next().is_some_and(|known| known.eq_ignore_ascii_case(word));
        assert!(word == "not_applied" || help.lines().any(is_listed), "{word}: {help}");
    }
}

#[test]
fn explains_fields() {
    let output = run(&["explain", "Cluster.connect_timeout"]);
    assert!(output.out.starts_with("envoy.config.cluster.v3.Cluster.connect_timeout\n"), "{}", output.out);
    assert_eq!(run(&["explain", "Cluster.no_such_field"]).exit, Exit::Usage);
}

#[test]
fn explains_lines_of_logs() {
    let line = "StreamAggregatedResources gRPC config stream closed: 14, connection refused";
    insta::assert_snapshot!(show(&["explain", line]));
    let output = run(&["explain", "STALE"]);
    assert!(
        output.out.contains("stale (state of a type)") && output.out.contains("istioctl: STALE"),
        "{}",
        output.out
    );
    let output = run(&["explain", "no such line"]);
    assert_eq!(output.exit, Exit::Usage);
    assert!(output.err.contains("Envoy: gRPC config for TYPE rejected: TEXT"), "{}", output.err);
    assert_eq!(run(&["explain", ""]).exit, Exit::Usage);
}

/// Each row of `status` and `lint` is a line that `explain` knows.
#[test]
fn explains_lines_of_its_own() {
    for path in ["tests/fixtures/tui/gateway.xds", "tests/fixtures/tui/diagnoses.xds", "examples/nack.xds"] {
        let status = run(&["status", path]).out;
        let lint = run(&["lint", path]).out;
        let rows = status.lines().skip(1).take_while(|row| !row.is_empty()).chain(lint.lines().skip(1));
        for row in rows {
            let output = run(&["explain", row]);
            assert!(output.exit == Exit::Yes, "{row}: {}", output.err);
            let word = row.split_whitespace().next().unwrap_or_default().to_lowercase();
            let rule = row.split_whitespace().nth(1).unwrap_or_default();
            let first = output.out.lines().next().unwrap_or_default().to_lowercase();
            assert!(first.starts_with(&word) || first.starts_with(rule), "{row}: {first}");
        }
    }
    let output = run(&["explain", "✗ edge-gw-1 refused CDS 42 since 14:02:08: reviews: no type"]);
    assert!(output.out.starts_with("nack (state of a type)"), "{}", output.all());
    assert!(output.out.contains("type:cds kind:nack"), "{}", output.out);
}

#[test]
fn explains_words_that_users_search_for() {
    for (words, wanted) in [
        ("stuck in warming", "Graph (screen 8)"),
        ("not listed", "go-control-plane: ADS mode: not responding to request"),
        ("not listed", "Subs (screen 7)"),
        ("not subscribed", "idle (state of a type)"),
    ] {
        let output = run(&["explain", words]);
        assert!(
            output.exit == Exit::Yes && output.out.contains(wanted),
            "{words}: {}{}",
            output.out,
            output.err
        );
    }
}

#[test]
fn completions_ask_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert!(output.out.contains("XDSCOPE_COMPLETE") && output.out.contains("xdscope"), "{shell}");
    }
}
