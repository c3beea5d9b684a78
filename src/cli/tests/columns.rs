//! Custom columns show what the JSON objects have, and Markdown what tables of text have.

use serde_json::Value;

use super::{Exit, TOUR, run};

/// Verbs with custom columns, and two fields of their objects.
const VERBS: &[(&[&str], [&str; 2])] = &[
    (&["status", TOUR], ["node", "type"]),
    (&["log", TOUR], ["n", "kind"]),
    (&["log", TOUR, "--filter", "kind:nack"], ["n", "version"]),
    (&["get", TOUR], ["name", "version"]),
    (&["get", TOUR, "--subscriptions"], ["type", "node"]),
    (&["get", TOUR, "nodes"], ["node", "stream"]),
    (&["diff", TOUR, "@start"], ["op", "name"]),
    (&["lint", TOUR], ["rule", "severity"]),
    (&["lint", "--list-rules"], ["rule", "source"]),
];

#[test]
fn rows_are_those_of_the_objects() {
    for (args, fields) in VERBS {
        let columns = format!("-o=custom-columns=A:.{},B:.{}", fields[0], fields[1]);
        let shown = run(&[*args, &[&columns]].concat());
        let rows: Vec<Vec<&str>> = shown.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.first().map(Vec::as_slice), Some(&["A", "B"][..]), "{args:?}: {}", shown.err);
        let objects = run(&[*args, &["-o", "jsonl"]].concat()).out;
        let cells = objects.lines().filter_map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            let cell = |field: &&str| match &object[field] {
                Value::Null => "<none>".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let cells: Vec<String> = fields.iter().map(cell).collect();
            cells.iter().any(|cell| cell != "<none>").then(|| cells.join(" "))
        });
        let rows: Vec<String> = rows[1..].iter().map(|row| row.join(" ")).collect();
        assert!(!rows.is_empty(), "{args:?}");
        assert_eq!(rows, cells.collect::<Vec<_>>(), "{args:?}");
    }
}

#[test]
fn titles_can_be_left_out() {
    let shown = run(&["log", TOUR, "--no-headers", "-o", "custom-columns=N:.n"]);
    assert_eq!(shown.out.lines().next(), Some("1"), "{}", shown.err);
}

#[test]
fn faults_in_columns_are_named() {
    for (columns, fault) in [("NODE", "`NODE` is not TITLE:PATH"), ("N:.n[", "`.n[` is not a path")] {
        let shown = run(&["log", TOUR, "-o", &format!("custom-columns={columns}")]);
        assert!(shown.exit == Exit::Usage && shown.err.contains(fault), "{}", shown.all());
    }
    // A verb without tables has no columns.
    let shown = run(&["info", TOUR, "-o", "custom-columns=N:.n"]);
    assert!(shown.exit == Exit::Usage && shown.err.contains("invalid value"), "{}", shown.all());
}

/// Verbs with tables, and the format of text with the same rows.
const TABLES: &[(&[&str], &str)] = &[
    (&["status", TOUR, "--node", "edge-gw-1", "--no-headers"], "table"),
    (&["log", TOUR], "wide"),
    (&["get", TOUR], "table"),
    (&["get", TOUR, "cds"], "table"),
    (&["get", TOUR, "nodes"], "table"),
    (&["get", TOUR, "--subscriptions"], "table"),
    (&["get", TOUR, "cds", "--subscriptions"], "table"),
    (&["diff", TOUR, "@start"], "table"),
    (&["lint", TOUR], "text"),
    (&["lint", "--list-rules"], "text"),
];

#[test]
fn markdown_has_the_rows_of_the_table() {
    for (args, form) in TABLES {
        let (text, markdown) = (run(&[*args, &["-o", form]].concat()), run(&[*args, &["-o", "md"]].concat()));
        let lines: Vec<&str> = markdown.out.lines().collect();
        // Markdown has titles always, and a rule below.
        let titles = if args.contains(&"--no-headers") { 2 } else { 1 };
        assert_eq!(lines.len(), text.out.lines().count() + titles, "{args:?}: {}", markdown.all());
        let cells = |line: &&str| line.replace("\\|", "").matches('|').count();
        let widest = lines.first().map(cells);
        assert!(lines.iter().all(|line| Some(cells(line)) == widest), "{args:?}: {}", markdown.out);
        assert!(lines[1].chars().all(|c| "|-:".contains(c)), "{args:?}: {}", markdown.out);
    }
}

#[test]
fn markdown_of_status_begins_with_the_problems() {
    let out = run(&["status", TOUR, "-o", "md"]).out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..3], ["4 problems", "", "| STATE | WHERE | AGE | PROBLEM |"], "{out}");
    assert!(out.contains("\n\n| NODE | VARIANT |"), "{out}");
    let bodies = run(&["log", TOUR, "-o", "md", "--body"]);
    assert_eq!((bodies.exit, bodies.out.as_str()), (Exit::Usage, ""), "{}", bodies.err);
}
