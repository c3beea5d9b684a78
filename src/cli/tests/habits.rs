//! Tests of habits from kubectl, grpcurl and tail: words, short flags, suggestions.

use super::*;

#[test]
fn types_have_any_case_and_number_and_names_follow_them() {
    let wanted = run(&["get", TOUR, "cds/reviews", "-o", "yaml"]).out;
    assert!(wanted.contains("name: reviews"), "{wanted}");
    for words in [["cds", "reviews"], ["Cluster", "reviews"], ["clusters", "reviews"], ["CDS", "reviews"]] {
        assert_eq!(run(&["get", TOUR, words[0], words[1], "-o", "yaml"]).out, wanted, "{words:?}");
    }
    let two = run(&["get", TOUR, "cds", "reviews", "search", "-o", "name"]).out;
    assert_eq!(two, "cds/reviews\ncds/search\n");
    let both = run(&["get", TOUR, "cds", "reviews", "lds", "-o", "name"]).out;
    assert_eq!(both, "lds/web\ncds/reviews\n");
}

#[test]
fn json_is_short_for_its_format() {
    for verb in [
        &["status", TOUR][..],
        &["log", TOUR],
        &["get", TOUR, "cds"],
        &["lint", TOUR],
        &["info", TOUR],
        &["diff", TOUR, "cds/reviews", "41", "42"],
    ] {
        assert_eq!(
            run(&[verb, &["--json"]].concat()).out,
            run(&[verb, &["-o", "json"]].concat()).out,
            "{verb:?}"
        );
        let both = run(&[verb, &["--json", "-o", "json"]].concat());
        assert_eq!(both.exit, Exit::Usage, "{verb:?}");
    }
    let lines = run(&["replay", TOUR, "--json"]).out;
    assert_eq!(lines, run(&["log", TOUR, "-o", "jsonl"]).out, "replay prints lines only");
    assert_eq!(run(&["log", TOUR, "--ladder", "--json"]).exit, Exit::Usage);
}

#[test]
fn last_rows_by_number_and_by_time() {
    let names = |args: &[&str]| run(&[&["log", TOUR, "-o", "name"], args].concat()).out;
    assert_eq!(names(&["-n", "2"]), "#19\n#20\n");
    assert_eq!(names(&["-n", "2"]), names(&["--tail", "2"]));
    // The tour ends at 58.015s.
    assert_eq!(names(&["--since", "9s"]), "#19\n#20\n");
    assert_eq!(names(&["--since", "19s"]), "#17\n#18\n#19\n#20\n");
    assert_eq!(names(&["--since", "19s", "-n", "1"]), "#20\n");
    assert_eq!(names(&["--since", "1h"]), names(&[]));
    let untimed = "notime\nnode a\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n";
    let environment =
        Environment { stdin: Box::new(std::io::Cursor::new(untimed)), ..Environment::default() };
    let output = environment.run(&["log", "-", "--since", "5m"]);
    assert!(output.exit == Exit::Usage && output.err.contains("--since has no effect"), "{}", output.err);
}

#[test]
fn log_and_replay_print_the_same_rows_of_at_most_100_columns() {
    for source in [TOUR, GATEWAY, "tests/fixtures/tui/refused.xds", "tests/fixtures/cli/diff.xds"] {
        let log = run(&["log", source]);
        assert_eq!(run(&["replay", source, "--no-tui"]).out, log.out, "{source}");
        for args in [&[][..], &["--ascii"], &["--time", "delta"], &["--stream", "#1"]] {
            let shown = Environment { terminal: true, ..Environment::default() };
            let out = shown.run(&[&["log", source, "--color", "never"], args].concat()).out;
            let widest = out.lines().map(xdscope_present::text::width).max();
            assert!(widest <= Some(100), "{source} {args:?}: {widest:?}\n{out}");
        }
        let wide = run(&["log", source, "-o", "wide"]).out;
        assert!(wide.lines().next().is_some_and(|titles| titles.contains("NONCE")), "{wide}");
    }
    let long = "x".repeat(200);
    let script = format!(
        "node \"{long}\"\nstream 1 ads\n> cds\n< cds v=\"{long}\" n=\"{long}\" [\"{long}\"]\n\
         > cds v= n=\"{long}\" nack=\"{long} {long}\"\n"
    );
    let file = script_file(&script);
    let environment = Environment { terminal: true, ..Environment::default() };
    let path = file.path().to_str().unwrap();
    let out = environment.run(&["log", path, "--no-headers", "--color", "never"]).out;
    assert!(out.lines().all(|line| xdscope_present::text::width(line) <= 100), "{out}");
    let joined: String = out.split_whitespace().collect();
    assert!(joined.contains(&format!("{long}{long}")), "the error is whole: {out}");
}

#[test]
fn near_names_are_suggested() {
    for (args, wanted) in [
        (&["get", TOUR, "clusers"][..], "xdscope get tests/fixtures/cli/tour.xds clusters"),
        (&["get", TOUR, "cds/reveiws"], "xdscope get tests/fixtures/cli/tour.xds cds/reviews"),
        (&["status", TOUR, "--node", "edge-gw-2"], "--node edge-gw-1"),
        (&["status", TOUR, "--node", "edge*x"], "unknown node `edge*x`"),
        (&["lint", TOUR, "--rule", "nack-resend-lop"], "--rule nack-resend-loop"),
        (&["lint", TOUR, "--rule", "delat-*"], "no rule matches `delat-*`"),
        (&["log", TOUR, "--filtr", "x"], "'--filter'"),
        (&["staus", TOUR], "xdscope status"),
        (&["help", "filtre"], "xdscope help filter"),
        (&["picture", TOUR, "--screen", "nac"], "nack"),
        (&["picture", TOUR, "--keys", "<Entr>"], "<enter>"),
        (&["picture", TOUR, "--output", "shot.png"], "unknown ending `.png`"),
        (&["sessions", "list"], "xdscope sessions   lists them"),
        (&["sessions", "nmae"], "xdscope sessions name"),
        (&["explain", "stael"], "next   xdscope explain stale"),
        (&["explain", "nck-resend-loop"], "next   xdscope explain nack-resend-loop"),
        (&["explain", "Clustr"], "next   xdscope explain Cluster"),
        (
            &["explain", "Cluster.lb_polcy"],
            "has no field lb_polcy\n  next   xdscope explain Cluster.lb_policy",
        ),
        (&["wait", TOUR, "syncd"], "next   synced"),
        (&["lint", TOUR, "--rule", "nak-*"], "next   --rule 'nack-*'"),
        (
            &["diff", TOUR, "cds/reveiws"],
            "never sent\n  next   xdscope diff tests/fixtures/cli/tour.xds cds/reviews\n",
        ),
        (&["diff", TOUR, "cds", "reveiws"], "next   xdscope diff tests/fixtures/cli/tour.xds cds/reviews\n"),
        (&["diff", TOUR, "cds/zzz"], "never sent\n  next   xdscope get tests/fixtures/cli/tour.xds\n"),
        (&["diff", TOUR, "cds", "77"], "no push of cds has version 77"),
        (
            &["diff", TOUR, "cds/reviews", "41", "43"],
            "43\n  next   xdscope diff tests/fixtures/cli/tour.xds cds/reviews 41 42\n",
        ),
        (
            &["diff", TOUR, "cds/reviews", "43", "42"],
            "43\n  next   xdscope diff tests/fixtures/cli/tour.xds cds/reviews 41 42\n",
        ),
        (&["demo", "--scenario", "nck-loop"], "near: nack-loop; one of tour"),
        (&["info", TOUR, "--node", "x"], "--node has no effect"),
        (&["info", TOUR, "--node-file", "x"], "--node-file has no effect"),
        (&["get", TOUR, "cds", "zz*"], "no name matches cds/zz*"),
        (&["report", TOUR, "-o", "x.html"], "takes no `-o`\n  next   --output FILE\n"),
        (&["redact", TOUR, "out.xdsrec"], "takes no `out.xdsrec`\n  next   --output out.xdsrec\n"),
        (&["status", TOUR, "-n", "edge"], "takes no `-n`\n  next   --node NAME"),
        (
            &["status", "-A", TOUR],
            "--all-namespaces has no effect: tour.xds is not a server or an admin port of pods",
        ),
        (&["log", TOUR, "--tail", "abc"], "'abc' for '--tail <N>': not a whole number"),
        (&["status"], "next   xdscope status -   reads stdin\n"),
        (&["status", ""], "SOURCE is empty\n  next   xdscope sessions"),
        (&["tap", "8080"], "`8080` has no host; write host:port, such as 127.0.0.1:8080"),
        (
            &["explain", "per_connection_buffer_limit_bytes"],
            "next   xdscope explain Listener.per_connection_buffer_limit_bytes",
        ),
    ] {
        let output = run(args);
        assert!(output.err.contains(wanted), "{args:?}: {}", output.err);
        assert!(matches!(output.exit, Exit::Usage | Exit::Never), "{args:?}: {:?}", output.exit);
    }
}

#[test]
fn explains_a_field_of_one_type_without_its_type() {
    let (short, full) = (run(&["explain", "connect_timeout"]), run(&["explain", "Cluster.connect_timeout"]));
    assert!(full.out.contains("Cluster.connect_timeout"), "{}", full.out);
    assert_eq!((short.out, short.exit), (full.out, Exit::Yes), "{}", short.err);
}

/// The exit code of a look at a file that does not grow is that of one without `--watch`.
#[test]
fn watching_ends_with_the_exit_code_of_one_look() {
    let folder = tempfile::tempdir().unwrap();
    for (source, name) in [(TOUR, "tour"), ("tests/fixtures/scripts/S-01.xds", "first")] {
        let file = folder.path().join(format!("{name}.xdsrec"));
        let path = file.to_str().unwrap();
        assert_eq!(run(&["export", source, "--to", "xdsrec", "--output", path]).exit, Exit::Yes);
        for args in [&["status", path][..], &["get", path, "cds"]] {
            let (once, watched) = (run(args), run(&[args, &["--watch"]].concat()));
            assert!(watched.err.contains("no more messages come"), "{}", watched.err);
            assert_eq!(watched.exit, once.exit, "{args:?}");
        }
    }
    assert_eq!(run(&["status", TOUR]).exit, Exit::No, "the tour has problems");
}

#[test]
fn lint_that_fails_on_nothing_prints_all() {
    for format in ["text", "jsonl", "junit"] {
        let broken = "tests/fixtures/lint/nack-resend-loop.bad.xds";
        let strict = run(&["lint", broken, "-o", format]);
        let lenient = run(&["lint", broken, "-o", format, "--fail-on", "never"]);
        assert_eq!((strict.exit, lenient.exit), (Exit::No, Exit::Yes), "{format}");
        match format {
            "junit" => assert!(strict.out.contains("<failure") && !lenient.out.contains("<failure")),
            _ => assert_eq!(strict.out, lenient.out, "{format}"),
        }
    }
}

/// The synopsis of a page has the order that the parser wants.
#[test]
fn man_pages_state_arguments_in_the_order_of_the_parser() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(&["man", "--output", folder.path().to_str().unwrap()]).exit, Exit::Yes);
    for verb in ["wait", "get", "redact"] {
        let help = run(&[verb, "--help"]).out;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).expect("a usage");
        let page = std::fs::read_to_string(folder.path().join(format!("xdscope-{verb}.1"))).unwrap();
        let synopsis = page.split(".SH SYNOPSIS\n.nf\n").nth(1).and_then(|rest| rest.lines().next());
        assert_eq!(synopsis.map(|line| line.replace("\\-", "-")).as_deref(), Some(usage), "{verb}");
    }
}

#[test]
fn globs_select_nodes_and_rules() {
    let names = run(&["status", TOUR, "--node", "*-*1", "-o", "name"]).out;
    assert_eq!(names, "edge-gw-1\nratings-v1\n");
    let all = run(&["lint", TOUR, "-o", "jsonl"]).out;
    let some = run(&["lint", TOUR, "-o", "jsonl", "--rule", "nack*"]).out;
    assert!(!some.is_empty() && some.lines().count() < all.lines().count());
    assert!(some.lines().all(|line| line.contains("\"rule\":\"nack")), "{some}");
    let listed = run(&["lint", "--list-rules", "--rule", "delta-*", "--no-headers"]).out;
    assert!(listed.lines().count() > 10 && listed.lines().all(|line| line.contains(" delta-")), "{listed}");
}

#[test]
fn short_help_is_short_and_long_help_ends_with_examples() {
    for verb in crate::cli::command::command_line::command().get_subcommands() {
        let name = verb.get_name();
        let (short, long) = (run(&[name, "-h"]).out, run(&[name, "--help"]).out);
        assert!(short.lines().count() <= 45, "{name}: {}", short.lines().count());
        assert!(short.lines().count() <= long.lines().count(), "{name}");
        assert!(!short.contains("--keepalive-timeout"), "{name}");
        assert!(long == run(&["help", name]).out || name == "descriptors", "{name}");
        if name == "man" {
            continue;
        }
        let last = long.trim_end().rsplit("\n\n").next().unwrap_or_default();
        assert!(last.starts_with("Examples:\n"), "{name}: {last}");
    }
    let status = run(&["status", "--help"]).out;
    assert!(status.contains("\nClient:\n") && status.contains("\nConnection:\n"), "{status}");
    let replay = run(&["replay", "--help"]).out;
    assert!(!replay.contains("\nClient:\n"), "a replay is never a client: {replay}");
}

#[test]
fn globs_select_names_of_resources() {
    let names = |what: &[&str]| run(&[&["get", TOUR, "-o", "name"], what].concat()).out;
    assert_eq!(names(&["cds", "re*"]), "cds/reviews\n");
    assert_eq!(names(&["cds/*r*"]), "cds/cart\ncds/reviews\ncds/search\ncds/ledger\n");
    assert_eq!(run(&["picture", TOUR, "--output", "-"]).out, run(&["picture", TOUR]).out);
}
