//! The table of the protocol's rows, tests/rows.txt, against the sources: no row is missing, each names code that
//! is there, and what holds it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The groups of the protocol's table, how many rows each has, and the fields of messages.
const GROUPS: [(char, u32); 13] = [
    ('A', 19),
    ('B', 7),
    ('C', 6),
    ('D', 7),
    ('E', 51),
    ('F', 36),
    ('G', 12),
    ('H', 12),
    ('I', 14),
    ('J', 5),
    ('K', 33),
    ('L', 24),
    ('M', 38),
];

struct Row {
    id: String,
    says: String,
    code: String,
    held: String,
}

impl Row {
    /// Why nothing holds it; `None`: something does.
    fn reason(&self) -> Option<&str> {
        self.held.strip_prefix("none: ")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = root().join(path);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

fn table() -> Vec<Row> {
    let text = read("tests/rows.txt").expect("the table");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows = lines.map(|line| match line.split(" | ").collect::<Vec<_>>()[..] {
        [id, says, code, held] => {
            Row { id: id.into(), says: says.into(), code: code.into(), held: held.into() }
        }
        _ => panic!("four columns: {line}"),
    });
    rows.collect()
}

#[test]
fn every_row_is_there_once_in_order() {
    let ids: Vec<String> = table().into_iter().map(|row| row.id).collect();
    let all = GROUPS.iter().flat_map(|(group, rows)| (1..=*rows).map(move |n| format!("{group}-{n:02}")));
    assert_eq!(ids, all.collect::<Vec<_>>());
    assert_eq!(ids.len(), 226 + 38);
}

#[test]
fn every_row_says_something_of_its_own() {
    let rows = table();
    let said: BTreeSet<&str> = rows.iter().map(|row| row.says.as_str()).collect();
    assert_eq!(said.len(), rows.len(), "no two rows say the same");
    for row in &rows {
        assert!(row.says.len() > 15, "{}", row.id);
        assert!(row.reason().is_none_or(|why| why.len() > 15), "{} says why", row.id);
        assert_eq!(row.reason().is_some(), row.code == "-", "{}: code and proof go together", row.id);
    }
}

#[test]
fn every_row_names_code_that_is_there() {
    let mut wrong = Vec::new();
    for row in table().iter().filter(|row| row.reason().is_none()) {
        for place in row.code.split(' ') {
            let (path, item) = place.split_once('#').unwrap_or((place, ""));
            let words = |text: String| {
                let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                item.is_empty() || words.any(|word| word == item)
            };
            match read(path).map(words) {
                Ok(true) if path.starts_with("src/") => {}
                Ok(_) => wrong.push(format!("{}: no `{item}` in {path}", row.id)),
                Err(error) => wrong.push(format!("{}: {error}", row.id)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the row's id stands there as a word of its own.
fn names(text: &str, id: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == id)
}

/// What is wrong with something that is said to hold a row.
fn holds(id: &str, proof: &str, rules: &str) -> Result<(), String> {
    let script = |path: String| -> Result<String, String> {
        let text = read(path)?;
        let last = text.lines().last().unwrap_or_default();
        match last {
            "expect lint only" | "expect lint none" => Ok(text),
            _ => Err(format!("{proof} is not closed: {last}")),
        }
    };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    if let Some(own) = proof.strip_prefix("rows/") {
        let text = script(format!("tests/fixtures/rows/{own}.xds"))?;
        let own_row = own == id && first(&text).starts_with(&format!("# {id} "));
        return own_row.then_some(()).ok_or(format!("{proof} is of another row"));
    }
    if let Some(name) = proof.strip_prefix("scripts/") {
        let text = script(format!("tests/fixtures/scripts/{name}.xds"))?;
        let facts = text.lines().filter(|line| line.starts_with("expect ")).count();
        let named = names(&first(&text), id) && facts > 1;
        return named.then_some(()).ok_or(format!("{proof} does not name it"));
    }
    if let Some(name) = proof.strip_prefix("lint/") {
        // A bootstrap is no session, so its rules have files of their own kind; a test holds them against all rules.
        if read(format!("tests/fixtures/lint/{name}.yaml")).is_err() {
            script(format!("tests/fixtures/lint/{name}.xds"))?;
        }
        let rule = name.split('.').next().unwrap_or_default();
        let of_row = |line: &&str| line.split(" | ").next() == Some(rule) && names(line, id);
        return rules.lines().find(of_row).map(|_| ()).ok_or(format!("{rule} is no rule of it"));
    }
    let (path, function) = proof.split_once("::").ok_or(format!("what is {proof}?"))?;
    let text = read(path)?;
    let (before, _) = text.split_once(&format!("fn {function}(")).ok_or(format!("no {proof}"))?;
    let doc: String = before.lines().rev().take(4).collect();
    let tested = doc.contains("#[test]") && names(&doc, id);
    tested.then_some(()).ok_or(format!("{proof} does not name it"))
}

#[test]
fn every_row_is_held_or_says_why_not() {
    let rules = read("src/engine/lint/rules.txt").expect("the rules");
    let mut wrong = Vec::new();
    for row in table().iter().filter(|row| row.reason().is_none()) {
        for proof in row.held.split(' ') {
            wrong.extend(holds(&row.id, proof, &rules).err().map(|why| format!("{}: {why}", row.id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_script_of_a_row_is_in_the_table_and_says_what_the_row_says() {
    let rows = table();
    for entry in fs::read_dir(root().join("tests/fixtures/rows")).expect("the scripts").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".xds").expect("a script");
        let row = rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{id} is no row"));
        assert!(row.held.split(' ').any(|proof| proof == format!("rows/{id}")), "{id} is not used");
        let text = read(format!("tests/fixtures/rows/{name}")).expect("text");
        assert_eq!(text.lines().next(), Some(format!("# {id} {}", row.says).as_str()));
        let facts = text.lines().filter(|line| line.starts_with("expect ")).count();
        assert!(facts > 1, "{id} states nothing but what is not found");
    }
}

/// Row H-07: how long a route led nowhere.
#[test]
fn a_black_hole_has_its_duration() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hole.xds");
    let script = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [X]\n> cds v=1 n=1\n> rds names=[r]\n\
                  +1s < rds v=1 n=2 [r{to: [Y]}]\n+1s > rds v=1 n=2 names=[r]\n\
                  +3.5s < cds v=2 n=3 [X Y]\n+3.5s > cds v=2 n=3\n";
    fs::write(&path, script).expect("a script");
    let mut lint = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    let output = lint.args(["lint", "-o", "jsonl", "--rule", "route-unknown-cluster"]).arg(&path).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let finding: serde_json::Value = serde_json::from_str(text.trim()).expect("one finding");
    assert_eq!(finding["names"], serde_json::json!(["Y"]));
    assert!(finding["text"].as_str().is_some_and(|text| text.ends_with("it came after 2.5s")), "{finding}");
}

/// Rows E-45 and L-11: what nothing refers to any more is an orphan, never removed.
#[test]
fn a_child_whose_parent_goes_is_an_orphan() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = |clusters: &str| {
        let path = folder.path().join("child.xds");
        let script = format!(
            "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [c{{eds}}]\n> cds v=1 n=1\n> eds names=[c]\n\
             < eds v=1 n=2 [c]\n> eds v=1 n=2 names=[c]\n< cds v=2 n=3 [{clusters}]\n> cds v=2 n=3\n"
        );
        fs::write(&path, script).expect("a script");
        let mut get = Command::new(env!("CARGO_BIN_EXE_xdscope"));
        let output = get.args(["get"]).arg(&path).args(["eds", "-o", "jsonl"]).output().expect("it runs");
        let one: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one resource");
        one["state"].as_str().map(str::to_owned)
    };
    assert_eq!(states("d").as_deref(), Some("orphan"));
    assert_eq!(states("d c{eds}").as_deref(), Some("present"));
}
