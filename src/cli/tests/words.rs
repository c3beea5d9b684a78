//! Tests of verbs about xdscope itself: keys, manual pages, completions, explanations.

use super::{run, show};
use crate::cli::Exit;

/// `help keys` equals the key map.
#[test]
fn the_help_of_keys_is_the_key_map() {
    let text = run(&["help", "keys"]).out;
    let mut context = "";
    let mut printed = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            None => context = line,
            Some(rest) if !rest.starts_with(' ') => {
                let (key, rest) = rest.split_at(10);
                let command = crate::tui::Command::ALL
                    .iter()
                    .rev()
                    .find(|command| rest[1..].starts_with(&format!("{:<18} ", command.name())));
                printed.push((context, key.trim(), command.copied()));
            }
            Some(_) => {}
        }
    }
    let mut bound: Vec<_> = crate::tui::BINDINGS
        .iter()
        .map(|binding| (binding.context.title(), binding.key, Some(binding.command)))
        .collect();
    let order = |row: &(&str, &str, Option<crate::tui::Command>)| (row.0.to_owned(), row.1.to_owned());
    printed.sort_by_key(order);
    bound.sort_by_key(order);
    assert_eq!(printed, bound);
}

#[test]
fn manual_pages_are_written_for_every_verb() {
    assert!(run(&["man"]).out.contains(".SH \"EXIT STATUS\""));
    let folder = tempfile::tempdir().unwrap();
    let said = run(&["man", "--output", folder.path().to_str().unwrap()]);
    assert_eq!(said.exit, Exit::Yes, "{}", said.err);
    for page in ["xdscope", "xdscope-log", "xdscope-descriptors-build"] {
        let text = std::fs::read_to_string(folder.path().join(format!("{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {} 1", page.to_uppercase())), "{text}");
    }
}

#[test]
fn states_and_kinds_are_explained() {
    insta::assert_snapshot!(show(&["explain", "NACK"]));
    for word in ["synced", "stale", "miss", "resend", "orphan"] {
        assert_eq!(run(&["explain", word]).exit, Exit::Yes, "{word}");
    }
}

#[test]
fn fields_are_explained() {
    let said = run(&["explain", "Cluster.connect_timeout"]);
    assert!(said.out.starts_with("envoy.config.cluster.v3.Cluster.connect_timeout\n"), "{}", said.out);
    assert_eq!(run(&["explain", "Cluster.no_such_field"]).exit, Exit::Usage);
}

#[test]
fn lines_of_logs_are_explained() {
    let line = "StreamAggregatedResources gRPC config stream closed: 14, connection refused";
    insta::assert_snapshot!(show(&["explain", line]));
    let said = run(&["explain", "STALE"]);
    assert!(
        said.out.contains("stale (state of a type)") && said.out.contains("istioctl: STALE"),
        "{}",
        said.out
    );
    let said = run(&["explain", "no such line"]);
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("Envoy: gRPC config for TYPE rejected: TEXT"), "{}", said.err);
    assert_eq!(run(&["explain", ""]).exit, Exit::Usage);
}

#[test]
fn words_of_users_lead_to_what_answers() {
    for (words, wanted) in [
        ("stuck in warming", "Graph (screen 8)"),
        ("not listed", "go-control-plane: ADS mode: not responding to request"),
        ("not listed", "Subs (screen 7)"),
        ("not subscribed", "idle (state of a type)"),
    ] {
        let said = run(&["explain", words]);
        assert!(said.exit == Exit::Yes && said.out.contains(wanted), "{words}: {}{}", said.out, said.err);
    }
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = run(&["completions", shell]);
        assert!(said.out.contains("status") && said.out.contains("resource-timeout"), "{shell}");
    }
}
