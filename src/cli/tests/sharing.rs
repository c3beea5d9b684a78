//! Tests of `sessions`, `picture`, `export --to md` and completions.

use std::io::Cursor;

use super::*;

/// An environment with a folder of sessions.
pub(super) fn at(dir: &std::path::Path) -> Environment {
    let home: &'static str = Box::leak(dir.display().to_string().into_boxed_str());
    let env: &'static [(&str, &str)] =
        Box::leak(vec![("LANG", "C.UTF-8"), ("XDG_STATE_HOME", home), ("HOME", home)].into_boxed_slice());
    Environment { env, ..Environment::default() }
}

/// Makes a folder with two sessions; the second is the last one.
fn two_sessions() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("xdscope");
    std::fs::create_dir(&sessions).unwrap();
    for (name, source, age) in
        [("session-20260302-140208", TOUR, 60), ("session-20260302-150000", GATEWAY, 0)]
    {
        let path = sessions.join(format!("{name}.xdsrec"));
        let output = run(&["export", source, "--to", "xdsrec", "--output", path.to_str().unwrap()]);
        assert_eq!(output.exit, Exit::Yes, "{}", output.err);
        let modified = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
    }
    dir
}

#[test]
fn sessions_are_listed_named_opened_and_removed() {
    let dir = two_sessions();
    let sessions = |args: &[&str]| at(dir.path()).run(&[&["sessions"], args].concat());
    let names = |args: &[&str]| sessions(&[&["-o", "name"], args].concat()).out;
    assert_eq!(names(&[]), "session-20260302-150000\nsession-20260302-140208\n");
    assert_eq!(names(&["-n", "1"]), "session-20260302-150000\n");
    let table = sessions(&[]).out;
    assert!(table.starts_with("SESSION ") && table.contains("gateway.xds"), "{table}");
    let locked = std::fs::File::open(dir.path().join("xdscope/session-20260302-140208.xdsrec")).unwrap();
    locked.try_lock().unwrap();
    assert!(sessions(&[]).out.contains("being written"));
    let refused = sessions(&["remove", "session-20260302-140208", "--yes"]);
    assert!(refused.exit == Exit::No && refused.err.contains("is being written"), "{}", refused.err);
    drop(locked);
    assert_eq!(sessions(&["name", "last", "../x"]).exit, Exit::Usage);
    let taken = sessions(&["name", "last", "session-20260302-140208"]);
    assert!(taken.exit == Exit::Unreadable && taken.err.contains("there is a session"), "{}", taken.err);
    assert_eq!(sessions(&["name", "last", "before-upgrade"]).exit, Exit::Yes);
    assert_eq!(names(&[]), "before-upgrade\nsession-20260302-140208\n");
    let near = sessions(&["open", "before-upgrad"]);
    assert!(near.exit == Exit::Unreadable && near.err.contains("next   before-upgrade"), "{}", near.err);
    let opened = sessions(&["open", "before-upgrade"]);
    assert_eq!(opened.out, run(&["log", GATEWAY]).out);
    assert!(opened.err.starts_with("xdscope: opening before-upgrade"), "{}", opened.err);
    let unsure = sessions(&["remove", "before-upgrade"]);
    assert!(unsure.exit == Exit::Usage && unsure.err.contains("--yes"), "{}", unsure.err);
    let answer = |text: &'static str| {
        let environment =
            Environment { terminal: true, stdin: Box::new(Cursor::new(text)), ..at(dir.path()) };
        environment.run(&["sessions", "remove", "session-*"])
    };
    let no = answer("\n");
    assert!(no.exit == Exit::No && no.err.contains("remove 1 session"), "{}", no.err);
    assert_eq!(names(&[]).lines().count(), 2);
    assert_eq!(answer("y\n").exit, Exit::Yes);
    assert_eq!(names(&[]), "before-upgrade\n");
    assert_eq!(sessions(&["remove", "before-upgrade", "-y"]).exit, Exit::Yes);
    assert_eq!(sessions(&[]).err, "xdscope: no session is kept; xdscope demo records one\n");
}

/// A word with `*` stands for several sessions only where it is one.
#[test]
fn globs_of_sessions_remove_no_session_by_surprise() {
    let dir = two_sessions();
    let sessions = |args: &[&str]| at(dir.path()).run(&[&["sessions"], args].concat());
    let count = || sessions(&["-o", "name"]).out.lines().count();
    for name in ["*", "a*b", "a\nb"] {
        let refused = sessions(&["name", "last", name]);
        assert!(refused.exit == Exit::Usage && refused.err.contains("not a name of a session"), "{name:?}");
    }
    for all in ["*", "**"] {
        let refused = sessions(&["remove", all, "--yes"]);
        assert!(refused.exit == Exit::Usage && refused.err.contains("stands for every session"), "{all}");
        assert!(refused.err.contains("next   xdscope sessions remove 'session-*' --yes"), "{}", refused.err);
    }
    assert_eq!(count(), 2);
    // A name that an earlier version gave.
    let state = dir.path().join("xdscope");
    std::fs::copy(state.join("session-20260302-140208.xdsrec"), state.join("session-*.xdsrec")).unwrap();
    assert_eq!(sessions(&["remove", "session-*", "--yes"]).exit, Exit::Yes);
    assert_eq!(count(), 2, "the session of this name only");
    assert_eq!(sessions(&["remove", "session-*", "--yes"]).exit, Exit::Yes);
    assert_eq!(count(), 0);
}

#[test]
fn replay_without_a_file_opens_the_last_session_and_says_which() {
    let dir = two_sessions();
    let output = at(dir.path()).run(&["replay"]);
    assert_eq!(output.out, run(&["log", GATEWAY]).out);
    assert!(output.err.contains("opening the last session, session-20260302-150000"), "{}", output.err);
    let empty = tempfile::tempdir().unwrap();
    let none = at(empty.path()).run(&["replay"]);
    assert!(none.exit == Exit::Usage && none.err.contains("no session is kept"), "{}", none.err);
}

#[test]
fn pictures_are_svg_or_text() {
    let text = run(&["picture", GATEWAY, "--size", "100x30"]).out;
    assert_eq!(text.lines().count(), 30);
    assert!(text.contains("1 Overview") && text.contains("edge-gw-1"), "{text}");
    let dir = tempfile::tempdir().unwrap();
    for (screen, theme) in
        [("nack", "dark"), ("overview", "light"), ("timeline", "mono"), ("graph", "contrast")]
    {
        let path = dir.path().join(format!("{screen}.svg"));
        let path = path.to_str().unwrap();
        let output = run(&["picture", GATEWAY, "--screen", screen, "--theme", theme, "--output", path]);
        assert_eq!(output.exit, Exit::Yes, "{}", output.err);
        let svg = std::fs::read_to_string(path).unwrap();
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("<title>xdscope"),
            "{svg}"
        );
        assert!(!svg.chars().any(|c| c.is_control() && c != '\n'), "{screen}");
        assert_eq!(run(&["picture", GATEWAY, "--screen", screen, "--output", path]).exit, Exit::Unreadable);
    }
    let again = |args: &[&str]| run(&[&["picture", TOUR, "-o", "svg"], args].concat()).out;
    assert_eq!(again(&[]), again(&[]), "pictures are the same each time");
    assert_ne!(again(&["--at", "nack"]), again(&[]));
    assert!(
        run(&["picture", TOUR, "--screen", "timeline", "--keys", "/kind:nack<Enter>"])
            .out
            .contains("kind:nack")
    );
    let help = run(&["picture", "-h"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    let screens = xdscope_tui::ScreenId::ALL.map(|screen| screen.title().to_lowercase()).join(", ");
    assert!(help.contains(&screens), "{help}");
    for args in [&["--size", "20x5"][..], &["--size", "x"], &["--screen", "nothing"]] {
        assert_eq!(run(&[&["picture", TOUR], args].concat()).exit, Exit::Usage, "{args:?}");
    }
}

/// Returns the text in the last fence of a bug report.
fn script_of(report: &str) -> String {
    let (_, section) = report.split_once("## Reproduce").expect("a section");
    let (_, script) = section.split_once("```text\n").expect("a script");
    script.split_once("\n```").expect("an end").0.to_owned() + "\n"
}

/// Returns word and place of the problems of a source.
fn problems(source: &str) -> Vec<String> {
    let environment =
        Environment { stdin: Box::new(Cursor::new(source.to_owned())), ..Environment::default() };
    let out = environment.run(&["status", "-", "-o", "jsonl"]).out;
    let objects = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let problems = objects.filter(|object| object["object"] == "problem");
    problems.map(|of| format!("{} {} {}", of["problem"], of["node"], of["type"])).collect()
}

#[test]
fn bug_reports_show_the_problem_again() {
    for fixture in [TOUR, GATEWAY, "tests/fixtures/tui/refused.xds", "tests/fixtures/cli/twins.xds"] {
        let all = problems(&std::fs::read_to_string(fixture).unwrap());
        let mut reported = 0;
        for number in 1..=20 {
            let output = run(&["export", fixture, "--to", "md", "--problem", &number.to_string()]);
            if output.exit != Exit::Yes {
                assert!(output.err.contains("no problem"), "{}", output.err);
                break;
            }
            reported += 1;
            let shown = problems(&script_of(&output.out));
            let wanted = &all[number - 1];
            assert!(
                shown.contains(wanted),
                "{fixture} {number}: {wanted} is not in {shown:?}\n{}",
                output.out
            );
            assert!(output.out.contains(&format!("xdscope {}", env!("CARGO_PKG_VERSION"))), "{}", output.out);
        }
        assert!(reported > 0, "{fixture}");
    }
    let report = run(&["export", TOUR, "--to", "md", "--node", "edge-gw-1"]).out;
    insta::assert_snapshot!("bug-report", report.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn bug_reports_of_one_node_name_its_own_rules() {
    let script = "node a\nstream 1 ads\n1 > lds\n1 < lds v=1 n=a [l]\n1 > lds v=1 n=zzz\n1 > lds v=1 n=a\n\
                  node b\nstream 2 ads\n2 > cds\n2 < cds v=1 n=b [x]\n2 > cds n=b nack=\"x: bad\"\n";
    for (node, rule) in [("a", "nonce-unknown"), ("b", "nack")] {
        let environment = Environment { stdin: Box::new(Cursor::new(script)), ..Environment::default() };
        let out = environment.run(&["export", "-", "--to", "md", "--node", node]).out;
        assert!(out.contains(&format!("| rules | {rule} |")), "{node}: {out}");
    }
}

#[test]
fn bug_reports_of_large_pushes_have_the_resources_that_show_the_problem() {
    let comment = "x".repeat(400);
    let cluster = |name: &str, timeout: u8| {
        format!("{name}{{connect_timeout: {timeout}s, alt_stat_name: \"{name}-{comment}\"}}")
    };
    let clusters = |bad| {
        let all = (0..119).map(|i| cluster(&format!("c{i}"), if i == 57 { bad } else { 5 }));
        all.collect::<Vec<_>>().join(" ")
    };
    let error = "Error adding/updating cluster(s) c57: Proto constraint validation failed \
                 (ClusterValidationError.ConnectTimeout: value must be greater than 0s)";
    let script = format!(
        "node edge\nstream 1 ads\n> cds\n< cds v=1 n=1 [{}]\n> cds v=1 n=1\n< cds v=2 n=2 [{}]\n\
         > cds v=1 n=2 nack=\"{error}\"\n",
        clusters(5),
        clusters(0)
    );
    let stdin = Box::new(Cursor::new(script));
    let output = Environment { stdin, ..Environment::default() }.run(&["export", "-", "--to", "md"]);
    assert!(output.out.contains("the messages and resources that show the problem"), "{}", output.err);
    let shown = script_of(&output.out);
    assert!(shown.len() < 10_000 && shown.contains("c57") && !shown.contains("c56"), "{shown}");
    assert_eq!(problems(&shown), ["\"nack\" \"edge\" \"cds\""]);
}

#[test]
fn bug_reports_escape_texts_from_the_wire() {
    let script = "node \"a|b<img>*x*\"\nstream 1 sotw cds\n> names=[r]\n< v=1 n=o [r]\n\
                  > v= n=o names=[r] nack=\"bad ```\\n# title\"\n";
    let environment = Environment { stdin: Box::new(Cursor::new(script)), ..Environment::default() };
    let out = environment.run(&["export", "-", "--to", "md"]).out;
    let (words, _) = out.split_once("## Messages").unwrap();
    assert!(words.contains("a\\|b&lt;img>\\*x\\*") && !words.contains("<img"), "{out}");
    assert!(out.contains("````text\nbad ```\n# title\n````"), "{out}");
}

/// Returns what a shell is offered for a command line.
fn candidates(shell: &str, words: &[&str]) -> Vec<String> {
    let env: &'static [(&str, &str)] = match shell {
        "fish" => &[("XDSCOPE_COMPLETE", "fish")],
        _ => &[("XDSCOPE_COMPLETE", "nosuch")],
    };
    let output = Environment { env, ..Environment::default() }.run(&[&["--", "xdscope"], words].concat());
    assert_eq!((output.err.as_str(), output.exit), ("", Exit::Yes));
    let first = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    output.out.lines().map(first).collect()
}

#[test]
fn completions_offer_names_of_the_source() {
    let fish = |words: &[&str]| candidates("fish", words);
    assert_eq!(fish(&["status", TOUR, "--node", "edge"]), ["edge-gw-1"]);
    assert_eq!(fish(&["log", TOUR, "--stream", ""]), ["#1", "#2", "#3"]);
    assert_eq!(fish(&["get", TOUR, "cds/re"]), ["cds/reviews"]);
    assert!(fish(&["get", TOUR, "cds", "re"]).contains(&"reviews".to_owned()));
    let types = fish(&["get", TOUR, ""]);
    assert!(
        ["cds", "eds", "lds", "rds", "nodes"].iter().all(|word| types.iter().any(|of| of == word)),
        "{types:?}"
    );
    assert_eq!(fish(&["lint", TOUR, "--rule", "nack-res"]), ["nack-resend-loop"]);
    assert_eq!(fish(&["picture", TOUR, "--screen", "na"]), ["nack"]);
    assert_eq!(fish(&["demo", "--scenario", "nack"]), ["nack-loop"]);
    assert_eq!(fish(&["wait", TOUR, "sy"]), ["synced"]);
    assert_eq!(fish(&["log", TOUR, "--filter", "kind:na"]), ["kind:nack"]);
    assert_eq!(fish(&["log", TOUR, "--filter", "node:ed"]), ["node:edge-gw-1"]);
    assert_eq!(fish(&["explain", "Cluster.connect_t"]), ["Cluster.connect_timeout"]);
    assert_eq!(
        fish(&["explain", "Cluster.common_lb_config.healthy_p"]),
        ["Cluster.common_lb_config.healthy_panic_threshold"]
    );
    assert_eq!(fish(&["explain", "Clust"]), ["Cluster", "ClusterLoadAssignment"]);
    assert_eq!(fish(&["diff", TOUR, "cds/re"]), ["cds/reviews"]);
    assert_eq!(fish(&["diff", TOUR, "cds/reviews", "4"]), ["41", "42"]);
    assert_eq!(fish(&["status", TOUR, "--at", "e"]), ["end"]);
    assert!(fish(&["status", TOUR, "--at", "#"]).iter().all(|n| n.starts_with('#')));
    assert!(fish(&["stat"]).contains(&"status".to_owned()));
    assert!(fish(&["help", "exit"]).contains(&"exit-codes".to_owned()));
    assert!(fish(&["status", "tests/fixtures/cli/to"]).contains(&"tests/fixtures/cli/tour.xds".to_owned()));
    assert!(candidates("nosuch", &["stat"]).is_empty());
    let hostile = script_file(
        "node \"no\\u001b[31m\"\nstream 1 sotw cds\n> names=[\"na\\u202e\"]\nnode nod\nstream 2 sotw cds\n>\n",
    );
    let hostile = hostile.path().to_str().expect("a path").to_owned();
    assert_eq!(fish(&["status", &hostile, "--node", "n"]), ["nod"]);
    assert!(fish(&["status", "no-such.xdsrec", "--node", ""]).is_empty());
}

#[test]
fn bug_report_about_ended_streams_lists_how_they_ended() {
    let script = "node flapping\nstream 1 ads\n+0s 1 > cds\n+1s 1 close status=14 \"gone\"\n\
                  stream 2 ads\n+2s 2 > cds\n+3s 2 close status=14 \"gone\"\n\
                  node other\nstream 3 ads\n+4s 3 > cds\n+5s 3 < cds v=1 n=a [a]\n+6s 3 > cds v=1 n=a\n";
    let environment = Environment { stdin: Box::new(Cursor::new(script)), ..Environment::default() };
    let output = environment.run(&["export", "-", "--to", "md"]);
    let messages = output.out.split("## Reproduce").next().unwrap_or_default();
    assert_eq!(messages.matches(" close  UNAVAILABLE gone").count(), 2, "{}", output.out);
    let script = script_of(&output.out);
    assert!(!script.contains("other") || !script.contains("< cds"), "messages of another client: {script}");
    assert!(output.err.contains("problem 1 of 1, flapping, with a script of 2 messages"), "{}", output.err);
}

/// A recording has dates and its script has none: the times are written in another form.
#[test]
fn bug_report_about_a_dated_source_has_a_script() {
    let dated = |line: &str| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["t"] = (event["t"].as_f64().unwrap() + 1_772_459_520.0).into();
        format!("{event}\n")
    };
    let raw: String = run(&["export", GATEWAY, "--to", "raw"]).out.lines().map(dated).collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dated.jsonl");
    std::fs::write(&path, raw).unwrap();
    let output = run(&["export", path.to_str().unwrap(), "--to", "md", "--node", "edge-gw-1"]);
    assert!(output.out.contains("2 times since 13:52:40"), "{}", output.out);
    let dates =
        "Times are UTC, from 2026-03-02 13:52:00 to 2026-03-02 13:53:00; ages count back from the end.";
    assert!(output.out.contains(dates), "{}", output.out);
    assert!(output.err.contains("with a script of "), "{}", output.err);
    assert_eq!(script_of(&output.out).matches(" nack=").count(), 2, "{}", output.out);
}

#[test]
fn empty_sessions_are_not_the_last_one() {
    let dir = two_sessions();
    // The header alone: its length is in the file.
    let bytes = std::fs::read(dir.path().join("xdscope/session-20260302-150000.xdsrec")).unwrap();
    let length = u32::from_le_bytes(bytes[10..14].try_into().unwrap()) as usize;
    std::fs::write(dir.path().join("xdscope/before.xdsrec"), &bytes[..18 + length]).unwrap();
    let output = at(dir.path()).run(&["replay"]);
    assert!(output.err.contains("opening the last session, session-20260302-150000"), "{}", output.err);
}

#[test]
fn picture_of_the_graph_is_complete() {
    for fixture in [TOUR, GATEWAY] {
        let text = run(&["picture", fixture, "--screen", "graph", "--size", "100x30"]).out;
        assert!(!text.contains("looking up") && !text.contains("reading resources"), "{text}");
    }
}
