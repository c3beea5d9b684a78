//! All views of one source agree: problems, states, counts and exit codes.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use crate::docs::seen::output::{Fixture, Output, run};

/// Folders of `tests/fixtures` whose arrow scripts are compared.
const FOLDERS: [&str; 7] = ["cli", "lint", "misbehave", "rows", "scripts", "tui", "views"];

/// Fixtures that must be found; a smaller number means that a folder has moved.
const MIN_FIXTURES: usize = 500;

/// The screens, Overview first, and the keys that open them.
const SCREENS: [(&str, &str); 9] = [
    ("Overview", ""),
    ("Stream", "2"),
    ("Timeline", "3"),
    ("Resources", "4"),
    ("Diff", "5"),
    ("NACK", "6"),
    ("Subs", "7"),
    ("Graph", "8"),
    ("Lint", "9"),
];

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"));
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "xds"));
    paths.sort();
    assert!(paths.len() >= MIN_FIXTURES, "{} fixtures", paths.len());
    paths
}

/// The number before ` problem` in a line: `! 2 problems`, `no problems`; `None` without the word.
fn problem_count(line: &str) -> Option<usize> {
    let (before, _) = line.split_once(" problem")?;
    let word = before.rsplit([' ', '"']).next()?;
    if word == "no" { Some(0) } else { word.replace(',', "").parse().ok() }
}

/// The number of problems that a verdict stands for: `+2 more  }` beside the worst.
fn verdict_count(line: &str) -> Option<usize> {
    if ["in sync", "no problem", "no stream yet"].iter().any(|words| line.contains(words)) {
        return Some(0);
    }
    match line.rsplit_once('+').and_then(|(_, end)| end.trim_end().strip_suffix("more  }")) {
        Some(more) => more.trim().replace(',', "").parse::<usize>().ok().map(|more| more + 1),
        None => Some(1),
    }
}

/// Whether a problem is neither in time nor over.
fn is_wrong(problem: &Value) -> bool {
    ["warning", "error"].contains(&problem["urgency"].as_str().unwrap_or_default())
}

fn output(verb: &str, path: &str, flags: &[&str]) -> Output {
    let args: Vec<String> = [verb, path].iter().chain(flags).map(|arg| (*arg).to_owned()).collect();
    run(&args)
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the complaints about one fixture.
fn disagreements(path: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let json = output("status", path, &["-o", "jsonl"]);
    // A fixture without a session has no problems and no states.
    if ![0, 1].contains(&json.exit) {
        return wrong;
    }
    let objects = objects(&json.out);
    let of = |kind: &str| objects.iter().filter(|object| object["object"] == kind).collect::<Vec<_>>();
    let problems = of("problem");
    let expected = problems.iter().filter(|problem| is_wrong(problem)).count();
    let mut check = |view: &'static str, found: Option<usize>| {
        if found.unwrap_or(0) != expected {
            wrong.push(format!("{view} says {found:?} of {expected} problems"));
        }
    };
    let table = output("status", path, &[]);
    check("status", table.out.lines().next().and_then(problem_count));
    let lint = output("lint", path, &[]);
    if [0, 1].contains(&lint.exit) {
        check("lint", lint.err.lines().last().and_then(problem_count));
    }
    for (view, verb, flags) in
        [("get", "get", &[][..]), ("log", "log", &[]), ("tree", "get", &["-o", "tree"])]
    {
        check(view, output(verb, path, flags).err.lines().find_map(problem_count));
    }
    let fixture = Fixture { path: path.to_owned() };
    let screens = match fixture.screens(SCREENS.map(|(_, keys)| keys)) {
        Ok(screens) => screens,
        Err(why) => return vec![why],
    };
    for ((view, _), shown) in SCREENS.iter().zip(&screens) {
        check(view, shown.lines().next().and_then(problem_count));
    }
    let overview = screens.into_iter().next().unwrap_or_default();
    check("verdict", overview.lines().nth(1).and_then(verdict_count));
    for (view, exit) in [("status", table.exit), ("status -o jsonl", json.exit)] {
        if (exit == 1) != (expected > 0) {
            wrong.push(format!("{view} exits with {exit} at {expected} problems"));
        }
    }
    wrong.extend(sentences_differ(&problems, &table.out, &overview));
    wrong.extend(words_differ(&of("state"), path));
    wrong.extend(severities_differ(&problems, path));
    wrong.extend(page_differs(&objects, path));
    wrong
}

/// Compares the broken rules of `status -o jsonl` with the findings of `lint -o jsonl`: a warning
/// that is not over belongs to a problem, and a problem that is a finding has its severity.
fn severities_differ(problems: &[&Value], path: &str) -> Vec<String> {
    let findings = objects(&output("lint", path, &["-o", "jsonl", "--fail-on", "warn"]).out);
    let lasts = |finding: &&Value| finding["over"].is_null();
    let is_rule =
        |problem: &Value, rule: &Value| problem["rules"].as_array().is_some_and(|of| of.contains(rule));
    let mut wrong = Vec::new();
    for finding in findings.iter().filter(lasts).filter(|finding| finding["severity"] != "info") {
        let is_listed = |problem: &&&Value| is_wrong(problem) && is_rule(problem, &finding["rule"]);
        if !problems.iter().any(|problem| is_listed(&problem)) {
            wrong.push(format!("status lacks the {} {}", finding["severity"], finding["rule"]));
        }
    }
    let rules = ["warn", "error"];
    for problem in problems.iter().filter(|of| rules.contains(&of["problem"].as_str().unwrap_or_default())) {
        let has_severity =
            |finding: &Value| finding["severity"] == problem["problem"] && is_rule(problem, &finding["rule"]);
        if !findings.iter().any(has_severity) {
            wrong.push(format!("lint has no {} for {}", problem["problem"], problem["text"]));
        }
    }
    wrong
}

/// Compares the objects in the page of `report` with those of `status`, and the headline with their
/// number.
fn page_differs(objects: &[Value], path: &str) -> Vec<String> {
    let page = output("report", path, &["--output", "-"]).out;
    let text = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let data: Vec<Value> = text.and_then(|(text, _)| serde_json::from_str(text).ok()).unwrap_or_default();
    let same = |kind: &str| {
        let of = |list: &[Value]| list.iter().filter(|of| of["object"] == kind).cloned().collect::<Vec<_>>();
        of(objects) == of(&data)
    };
    let mut wrong = Vec::new();
    for kind in ["problem", "state"] {
        if !same(kind) {
            wrong.push(format!("report has other objects `{kind}` than status"));
        }
    }
    let shown = page.split_once("<h1>").and_then(|(_, rest)| problem_count(rest.split_once("</h1>")?.0));
    let expected = objects.iter().filter(|object| object["object"] == "problem" && is_wrong(object)).count();
    if shown != Some(expected) {
        wrong.push(format!("report says {shown:?} of {expected} problems"));
    }
    wrong
}

/// Compares the sentences of `status -o jsonl` with the table of `status` and with Overview.
fn sentences_differ(problems: &[&Value], table: &str, overview: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    // Both list a limited number of lines.
    for problem in problems.iter().filter(|problem| is_wrong(problem)).take(5) {
        let text = problem["text"].as_str().unwrap_or_default();
        let start: String = text.chars().take(60).collect();
        // Overview breaks long texts between words, and shortens names.
        let head: String = text.chars().take(30).collect();
        let head = match head.split_once("xdstp:") {
            Some((before, _)) => before.to_owned(),
            None => head,
        };
        for (view, shown, wanted) in [("status", table, &start), ("Overview", overview, &head)] {
            if !shown.contains(wanted.trim_end()) && text.is_ascii() && !text.contains('\\') {
                wrong.push(format!("{view} lacks the problem `{start}`"));
            }
        }
    }
    wrong
}

/// Compares the state words of `status -o jsonl` with those of `status -o wide`.
fn words_differ(states: &[&Value], path: &str) -> Vec<String> {
    let wide = output("status", path, &["-o", "wide", "--no-headers", "-q"]).out;
    let cells = |line: &str| {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let [_, stream, _, _, state, ..] = cells.as_slice() else { return None };
        let word = |state: &str| state.split(['×', ' ']).next().map(str::to_lowercase);
        // The last state of a closed stream stands behind a sign.
        let shown = match state.strip_prefix("# ") {
            Some(last) => format!("closed, {}", word(last)?),
            None => word(state)?,
        };
        Some(format!("#{stream} {shown}"))
    };
    let shown: Vec<String> = wide.lines().take(states.len()).filter_map(cells).collect();
    let word = |state: &&Value| {
        let word = match (state["variant"].as_str(), state["state"].as_str()?) {
            (Some("file"), "synced") => "applied",
            (Some("file"), "nack") => "rejected",
            (_, word) => word,
        };
        let last = state["last_state"].as_str().map(|last| format!(", {last}")).unwrap_or_default();
        Some(format!("#{} {word}{last}", state["stream"]))
    };
    let expected: Vec<String> = states.iter().filter_map(word).collect();
    if shown == expected { Vec::new() } else { vec![format!("status -o wide {shown:?}, JSON {expected:?}")] }
}

#[test]
fn all_views_of_each_fixture_agree() {
    let paths = fixtures();
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for worker in 0..2 {
            let (paths, wrong) = (&paths, &wrong);
            scope.spawn(move || {
                for path in paths.iter().skip(worker).step_by(2) {
                    let path = path.display().to_string();
                    let found = disagreements(&path);
                    let found = found.into_iter().map(|why| format!("{path}: {why}"));
                    wrong.lock().expect("complaints").extend(found);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("complaints");
    wrong.sort();
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn reads_counts_out_of_lines() {
    assert_eq!(problem_count("LIVE  ! 12 problems  14:02:31"), Some(12));
    assert_eq!(problem_count("xdscope: no problems: 1 note; xdscope explain nack says more"), Some(0));
    assert_eq!(problem_count("NODE  VARIANT  CDS"), None);
}
