//! Tests of calls, help, formats and errors, whatever the verb.

use super::{Exit, TOUR, run, show};

#[test]
fn bare_call_prints_at_most_ten_lines_and_the_demo_first() {
    let output = run(&[]);
    assert_eq!((output.exit, output.err.as_str()), (Exit::Yes, ""));
    assert!(output.out.lines().count() <= 10);
    let commands: Vec<_> = output.out.lines().filter(|line| line.starts_with("  xdscope")).collect();
    assert!(commands[0].starts_with("  xdscope demo"), "{commands:?}");
}

#[test]
fn prints_help_of_every_verb() {
    for verb in crate::cli::command::command_line::command().get_subcommands() {
        let name = verb.get_name();
        let help = run(&["help", name]);
        assert_eq!(help.exit, Exit::Yes, "{name}");
        insta::assert_snapshot!(format!("help-{name}"), help.out);
    }
}

#[test]
fn prints_help_of_every_topic() {
    for topic in ["config", "descriptors", "exit-codes", "filter", "keys", "states"] {
        insta::assert_snapshot!(format!("help-{topic}"), run(&["help", topic]).out);
    }
    assert_eq!(run(&["help", "nothing"]).exit, Exit::Usage);
    let all = run(&["help"]).out;
    for topic in ["config", "descriptors", "exit-codes", "filter", "json", "keys", "states"] {
        assert!(all.contains(&format!("\n  {topic} ")), "{topic}");
    }
}

#[test]
fn formats_agree_with_each_other() {
    assert_eq!(run(&["status", TOUR, "-o", "text"]).out, run(&["status", TOUR]).out);
    assert_eq!(run(&["get", TOUR, "cds", "-o", "text"]).out, run(&["get", TOUR, "cds"]).out);
    let names = run(&["status", TOUR, "-o", "name"]).out;
    assert!(names.lines().any(|name| name == "edge-gw-1"), "{names}");
    let lines = run(&["status", TOUR, "-o", "jsonl"]).out.lines().count();
    let yaml = run(&["status", TOUR, "-o", "yaml"]).out;
    assert_eq!(yaml.lines().filter(|line| *line == "---").count(), lines, "{yaml}");
    assert!(yaml.contains("state: nack"), "{yaml}");
    assert!(run(&["info", TOUR, "-o", "yaml"]).out.contains("object: stream"));
    let wide = run(&["log", TOUR, "-o", "wide", "--stream", "#1"]).out;
    assert!(wide.lines().next().is_some_and(|titles| titles.contains("NODE") && titles.contains("CLASS")));
    assert!(wide.lines().any(|line| line.ends_with("  initial")), "{wide}");
}

#[test]
fn suggests_a_verb_for_unknown_words() {
    let mut shown = String::new();
    for args in
        [&["show"][..], &["cat"], &["dump"], &["proxy"], &["open"], &["statsu"], &[TOUR], &["frobnicate"]]
    {
        shown.push_str(&format!("$ xdscope {}\n{}", args.join(" "), show(args)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn errors_suggest_a_next_step() {
    let mut shown = String::new();
    for args in [
        &["status"][..],
        &["status", "no-such.xdsrec"],
        &["replay", "cp.mesh:15010"],
        &["status", "proto"],
        &["log", TOUR, "--filter", "type:cds tpye:eds"],
        &["log", TOUR, "--filter", "state:nack"],
        &["log", TOUR, "--stream", "#9"],
        &["log", TOUR, "--stream", "nobody"],
        &["log", TOUR, "-o", "tree"],
        &["get", TOUR, "widgets"],
        &["get", TOUR, "cds/nothing"],
        &["get", TOUR, "eds", "--subscriptions", "-o", "yaml"],
        &["status", "Cargo.toml"],
    ] {
        shown.push_str(&format!("$ xdscope {}\n{}\n", args.join(" "), show(args)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn accepts_output_as_alias_of_format() {
    let names = show(&["status", TOUR, "-o", "name"]);
    assert_eq!(show(&["status", TOUR, "--format", "name"]), names);
    assert_eq!(show(&["status", TOUR, "--output", "name"]), names);
}

#[test]
fn tips_name_flags_that_resemble_the_typed_one() {
    for args in [&["status", TOUR, "--sort"][..], &["lint", TOUR, "--filter", "x"]] {
        let output = run(args);
        assert!(output.exit == Exit::Usage && !output.err.contains("tip:"), "{}", output.err);
    }
    let near = run(&["status", TOUR, "--filtr", "x"]);
    assert!(near.err.contains("tip: a similar argument exists: '--filter'"), "{}", near.err);
}

#[test]
fn explains_the_terms_of_the_glossary() {
    for term in ["blame", "in force", "missing"] {
        let output = run(&["explain", term]);
        assert!(
            output.exit == Exit::Yes && output.out.starts_with(&format!("{term} (glossary)\n")),
            "{}",
            output.err
        );
    }
}

#[test]
fn filters_find_missing_resources_in_either_word() {
    for state in ["missing", "miss"] {
        let filter = format!("state:{state}");
        let rows = run(&["get", TOUR, "eds", "--filter", &filter]);
        assert!(
            rows.exit == Exit::Yes && rows.out.contains("ledger-v2"),
            "{state}: {}{}",
            rows.out,
            rows.err
        );
        assert_eq!(run(&["status", TOUR, "--filter", &filter]).exit, Exit::No, "{state}");
    }
}

#[test]
fn reads_a_bounded_number_of_files_below_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = "version_info: \"1\"\nresources:\n- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: c}\n";
    std::fs::write(folder.path().join("a.yaml"), cluster).unwrap();
    let many = folder.path().join("many");
    std::fs::create_dir(&many).unwrap();
    for n in 0..xdscope_sources::MAX_FOLDER_ENTRIES {
        std::fs::File::create(many.join(format!("{n}.txt"))).unwrap();
    }
    let output = run(&["get", folder.path().to_str().unwrap()]);
    assert!(output.out.contains("CDS"), "{}", output.out);
    assert!(output.err.contains("looked at the first 20,000 files and folders"), "{}", output.err);
}

/// Errors of the parser name the next step like all others.
#[test]
fn unknown_flags_and_values_suggest_a_next_step() {
    let mut shown = String::new();
    for args in [
        &["status", TOUR, "--since", "5m"][..],
        &["status", TOUR, "--theme", "nope"],
        &["picture", TOUR, "--theme", "nope"],
        &["picture", TOUR, "--size", "20x5"],
        &["export", TOUR, "--to", "nope"],
        &["log", TOUR, "--filtr", "type:cds"],
    ] {
        let text = show(args);
        assert!(text.contains("  next   xdscope "), "{text}");
        shown.push_str(&format!("$ xdscope {}\n{text}", args.join(" ")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn lists_of_nodes_say_how_many_more_there_are() {
    let text: String = (1..=7).map(|n| format!("node n{n}\nstream {n} ads\n+{n}s {n} > cds\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seven.xds");
    std::fs::write(&file, text).unwrap();
    let output = run(&["status", file.to_str().unwrap(), "--node", "nosuch"]);
    assert!(output.err.contains("--node n5") && output.err.contains("2 more: "), "{}", output.err);
}
