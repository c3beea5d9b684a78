//! Each flag of each verb on each kind of source: a flag without effect is an error that says so.

use clap::{Arg, Args as _};

use super::*;
use crate::cli::args::{ClientFlags, ConnectFlags};
use crate::cli::command::command_line;

/// Verbs that read a source, with what they need beside it.
const VERBS: [(&str, &[&str]); 12] = [
    ("status", &[]),
    ("log", &[]),
    ("get", &[]),
    ("blame", &[]),
    ("lint", &[]),
    ("diff", &["cds/reviews"]),
    ("info", &[]),
    ("report", &["--output", "-"]),
    ("picture", &[]),
    ("wait", &["nack", "--timeout", "0s"]),
    ("export", &["--to", "jsonl"]),
    ("replay", &["--no-tui"]),
];

/// Values of flags that take one.
fn value(long: &str) -> &'static str {
    match long {
        "variant" => "delta-ads",
        "transport-api-version" | "resource-api-version" => "v3",
        "node-metadata" => "a=b",
        "node-locality" => "a/b/c",
        "node-file" | "bootstrap" => "tests/fixtures/bootstrap/grpc.json",
        "xdstp-authority" => "a=127.0.0.1:1",
        "ack" => "never",
        "nack" => "type:cds => no",
        "max-message-size" => "1MB",
        "header" => "a: b",
        "as" => "istio",
        "cert" | "key" | "cacert" | "token-file" => "a.pem",
        "poll-delay" | "poll-timeout" | "ack-delay" | "connect-timeout" | "keepalive"
        | "keepalive-timeout" => "1s",
        _ => "x",
    }
}

/// The call of a verb with one flag.
fn call<'a>(verb: &'a str, source: &'a str, more: &[&'a str], arg: &'a Arg) -> Vec<&'a str> {
    let long = arg.get_long().unwrap();
    let flag: &str = Box::leak(format!("--{long}").into_boxed_str());
    let mut args = vec![verb, source];
    args.extend(more);
    args.push(flag);
    let needs_value = arg.get_num_args().is_none_or(|number| number.min_values() > 0);
    if arg.get_action().takes_values() && needs_value {
        args.push(value(long));
    }
    // Flags that need another one.
    match long {
        "cert" => args.extend(["--key", "a.pem"]),
        "key" => args.extend(["--cert", "a.pem"]),
        _ => {}
    }
    args
}

#[test]
fn flags_without_effect_are_errors_that_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (recording, raw) = (path("a.xdsrec"), path("a.jsonl"));
    for (to, file) in [("xdsrec", &recording), ("raw", &raw)] {
        run(&["export", GATEWAY, "--to", to, "--output", file]);
    }
    let command = command_line::command();
    let of = |flags: fn(clap::Command) -> clap::Command| {
        let flags = flags(clap::Command::new("flags"));
        flags.get_arguments().map(|arg| arg.get_id().clone()).collect::<Vec<_>>()
    };
    let known = [of(ClientFlags::augment_args), of(ConnectFlags::augment_args)].concat();
    let is_one = |arg: &&Arg| known.contains(arg.get_id());
    let mut checked = 0;
    for (verb, more) in VERBS {
        let described = command.find_subcommand(verb).unwrap();
        let flags = described.get_arguments().filter(|arg| arg.get_long().is_some());
        for arg in flags.filter(is_one) {
            let long = arg.get_long().unwrap();
            // The server of a bootstrap is the source.
            if long == "bootstrap" {
                continue;
            }
            // The kinds of files share the check; one verb shows that.
            let others = [recording.as_str(), raw.as_str()];
            let others = if verb == "status" { &others[..] } else { &[] };
            for source in std::iter::once(&GATEWAY).chain(others).copied() {
                let args = call(verb, source, more, arg);
                let output = run(&args);
                let says = format!("--{long} has no effect: ");
                let is_one = output.err.contains(&says)
                    // One of two flags that need each other is named.
                    || (["cert", "key"].contains(&long) && output.err.contains(" has no effect: "));
                assert!(output.exit == Exit::Usage && is_one, "{args:?}: {}", output.err);
                assert!(output.err.contains("not a server"), "{args:?}: {}", output.err);
                checked += 1;
            }
        }
    }
    assert!(checked > 400, "{checked}");
    // Flags with an effect on every source are accepted.
    for (verb, more) in VERBS {
        let output = run(&[&[verb, recording.as_str()], more, &["--memory", "64MB"]].concat());
        assert!(!output.err.contains("has no effect"), "{verb}: {}", output.err);
    }
}

#[test]
fn flags_without_effect_beside_others_are_errors() {
    let script = "tests/fixtures/scripts/S-10b.xds";
    let bootstrap = "tests/fixtures/lint/bootstrap-not-v3.bad.yaml";
    for args in [
        &["lint", bootstrap, "--at", "end"][..],
        &["lint", bootstrap, "--stream", "1"],
        &["lint", bootstrap, "--timers", "ack=1s"],
        &["lint", bootstrap, "--stale-after", "1s"],
        &["lint", bootstrap, "--proto", "a.proto"],
        &["lint", script, "--stale-after", "1s", "-o", "json"],
        &["lint", script, "--resource-timeout", "1s", "-o", "sarif"],
        &["lint", script, "--no-headers", "-o", "github"],
        &["lint", script, "--severity", "warn", "--expect"],
        &["lint", script, "--node", "n1", "--expect"],
        &["lint", "--list-rules", "--fail-on", "error"],
        &["lint", "--list-rules", "-o", "sarif"],
        &["lint", "--list-rules", script],
        &["status", script, "--no-headers", "-o", "yaml"],
        &["get", script, "cds", "--no-headers", "-o", "tree"],
        &["get", script, "nodes", "--filter", "a"],
        &["get", script, "nodes", "--subscriptions"],
        &["log", script, "--no-headers", "--ladder"],
        &["log", script, "--stale-after", "1s", "-o", "jsonl"],
        &["log", script, "--time", "utc", "-o", "jsonl"],
        &["diff", script, "cds/A", "--no-headers"],
        &["diff", script, "cds/A", "--stale-after", "1s"],
        &["info", script, "--stale-after", "1s"],
        &["export", script, "--to", "raw", "--resource-timeout", "1s"],
        &["export", script, "--to", "raw", "--force"],
        &["report", script, "--output", "-", "--force"],
        &["picture", script, "--theme", "light"],
        &["replay", script, "--no-tui", "--applied", "a.json"],
        &["sessions", "-o", "json", "--no-headers"],
        &["tap", "127.0.0.1:1", "--fault-seed", "3"],
        &["tap", "127.0.0.1:1", "--no-tui", "--mouse"],
        &["tap", "127.0.0.1:1", "--hold-timeout", "3s", "--no-tui"],
        &["tap", "127.0.0.1:1", "--hold-timeout", "3s", "--fault", "=> drop", "--max-time", "1s"],
        &["tap", "127.0.0.1:1", "--i-know", "--no-tui"],
        &["serve", "resources.yaml", "--fault-seed", "3"],
        &["serve", "resources.yaml", "--i-know"],
    ] {
        let output = run(args);
        let says = output.err.contains(" has no effect: ");
        assert!(output.exit == Exit::Usage && says, "{args:?}: {:?} {}", output.exit, output.err);
    }
    for args in [
        &["lint", bootstrap, "--severity", "warn", "--no-headers"][..],
        &["lint", script, "--stale-after", "1s", "--no-headers"],
        &["lint", "--list-rules", "--rule", "nack*", "-o", "json"],
        &["log", script, "--time", "utc", "--filter", "after:14:02", "-o", "jsonl"],
        &["export", script, "--to", "md", "--stale-after", "1s"],
        &["status", script, "--no-headers", "-o", "wide"],
    ] {
        let output = run(args);
        assert!(!output.err.contains("has no effect"), "{args:?}: {}", output.err);
    }
}

#[test]
fn other_flags_without_effect_are_errors_too() {
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("a.xdsrec").display().to_string();
    run(&["export", GATEWAY, "--to", "xdsrec", "--output", &recording]);
    for (args, wanted) in [
        (
            &["status", &recording, "--keep-secrets"][..],
            "--keep-secrets has no effect: a.xdsrec is a recording",
        ),
        (&["info", GATEWAY, "--node", "edge-gw-1"], "--node has no effect"),
        (&["wait", GATEWAY, "synced", "--node", "edge-gw-1"], "--node has no effect"),
        (&["status", "127.0.0.1:1", "--wait", "1s", "--nodes", "2"], "--nodes needs a recording"),
        (&["log", "127.0.0.1:1", "--follow", "--tail", "3"], "--tail has no effect"),
        (&["log", "127.0.0.1:1", "--follow", "--since", "3s"], "--since has no effect"),
        (&["export", GATEWAY, "--to", "raw", "--problem", "1"], "--problem has no effect"),
        (&["replay", GATEWAY, "--no-tui", "--speed", "2"], "cannot be used with"),
        (&["replay", GATEWAY, "--no-tui", "--idle-limit", "2s"], "cannot be used with"),
        (&["descriptors", "list", "--plaintext"], "--plaintext has no effect"),
        (&["explain", "stale", "--plaintext"], "--plaintext has no effect"),
    ] {
        let output = run(args);
        assert!(output.exit == Exit::Usage && output.err.contains(wanted), "{args:?}: {}", output.err);
    }
    // With a server for descriptors, the flags of its connection have an effect.
    let reflection = run(&["status", GATEWAY, "--reflection", "127.0.0.1:1", "--plaintext"]);
    assert!(!reflection.err.contains("has no effect"), "{}", reflection.err);
    // The environment is for all verbs.
    let env = &[("LANG", "C.UTF-8"), ("XDSCOPE_NODE_ID", "me"), ("XDSCOPE_PLAINTEXT", "true")];
    let output = Environment { env, ..Environment::default() }.run(&["status", GATEWAY]);
    assert_eq!(output.exit, Exit::No, "{}", output.err);
}
