//! Checks the table of protocol rules, `tests/rows.txt`: complete, backed by code and tests, and
//! shown in `docs/protocol.md`, an index, and `docs/protocol`, a page for each group.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::seen::Seen;

/// The groups of the table with their numbers of rows.
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

/// One line of the table.
pub struct Row {
    pub id: String,
    statement: String,
    source: String,
    code: String,
    pub held_by: String,
    /// Where users see the fact, see [`crate::docs::seen`].
    pub seen: String,
}

impl Row {
    fn parse(line: &str) -> Row {
        match line.split(" | ").collect::<Vec<_>>()[..] {
            [id, statement, source, code, held_by, seen] => Row {
                id: id.into(),
                statement: statement.into(),
                source: source.into(),
                code: code.into(),
                held_by: held_by.into(),
                seen: seen.into(),
            },
            _ => panic!("not six columns: {line}"),
        }
    }

    /// The reason why no test can hold the row, if there is none.
    fn unproven_reason(&self) -> Option<&str> {
        self.held_by.strip_prefix("none: ")
    }

    /// The line of the index, with the anchor that code and pages cite.
    fn index_line(&self, page: &str) -> String {
        let anchor = self.id.to_lowercase();
        format!("- <a id=\"{anchor}\"></a>[{}]({page}#{anchor}): {}\n", self.id, self.statement)
    }

    /// The section of the page of a group.
    fn section(&self) -> String {
        let quoted = |words: &str| words.split(' ').map(|word| format!("`{word}`")).collect::<Vec<_>>();
        let Row { id, statement, source, seen, .. } = self;
        let seen = Seen::parse(seen).unwrap_or_else(|why| panic!("{id}: {why}")).sentence();
        let proof = match self.unproven_reason() {
            Some(reason) => format!("- Not tested: {reason}."),
            None => {
                format!(
                    "- Code: {}\n- Held by: {}",
                    quoted(&self.code).join(", "),
                    quoted(&self.held_by).join(", ")
                )
            }
        };
        format!("### {id}\n\n{statement}\n\n- Source: {source}\n{proof}\n- {seen}\n")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = root().join(path);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

const TABLE: &str = "tests/rows.txt";
const PAGE: &str = "docs/protocol.md";
const GROUP_PAGES: &str = "docs/protocol";
const BEGIN: &str = "<!-- begin: generated from tests/rows.txt -->\n";
const END: &str = "<!-- end -->\n";

pub fn table() -> Vec<Row> {
    let text = read(TABLE).expect("the table is readable");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(Row::parse).collect()
}

/// A group of rows.
struct Group {
    letter: String,
    title: String,
    rows: Vec<Row>,
}

impl Group {
    fn read_all() -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for line in read(TABLE).expect("the table is readable").lines() {
            let title = line.strip_prefix("# ").and_then(|rest| rest.split_once(": "));
            let is_group = |letter: &str| GROUPS.iter().any(|(known, _)| letter == known.to_string());
            if let Some((letter, title)) = title.filter(|(letter, _)| is_group(letter)) {
                groups.push(Group { letter: letter.into(), title: title.into(), rows: Vec::new() });
            } else if !line.is_empty() && !line.starts_with('#') {
                groups.last_mut().expect("a title before the rows").rows.push(Row::parse(line));
            }
        }
        groups
    }

    /// Name of the page, such as `e.md`.
    fn file_name(&self) -> String {
        format!("{}.md", self.letter.to_lowercase())
    }

    /// The chapter of the index.
    fn index(&self) -> String {
        let page = format!("protocol/{}", self.file_name());
        let rows: String = self.rows.iter().map(|row| row.index_line(&page)).collect();
        format!("\n## {}: {}\n\n{rows}", self.letter, self.title)
    }

    /// The whole page of the group. `sources` are the definitions of the links to documents.
    fn page(&self, sources: &str) -> String {
        let sections: String = self.rows.iter().map(|row| format!("{}\n", row.section())).collect();
        let intro = "Rules of [the xDS protocol as xdscope reads it](../protocol.md), which explains the words \
                     and paths.";
        format!("# {}: {}\n\n{intro}\n\n{sections}{sources}", self.letter, self.title)
    }
}

/// Returns the pages about the protocol, by path, as they follow from the table.
///
/// Text around the generated part of the index is kept.
fn generated_pages() -> BTreeMap<String, String> {
    let index = read(PAGE).expect("the page is readable");
    let (before, rest) = index.split_once(BEGIN).expect("a begin mark");
    let (_, after) = rest.split_once(END).expect("an end mark");
    let is_source = |line: &&str| line.starts_with('[') && line.contains("]: https://");
    let sources: String = before.lines().filter(is_source).map(|line| format!("{line}\n")).collect();
    let groups = Group::read_all();
    let chapters: String = groups.iter().map(Group::index).collect();
    let page = |group: &Group| (format!("{GROUP_PAGES}/{}", group.file_name()), group.page(&sources));
    let mut pages: BTreeMap<_, _> = groups.iter().map(page).collect();
    pages.insert(PAGE.into(), [before, BEGIN, &chapters, "\n", END, after].concat());
    pages
}

#[test]
fn pages_match_table() {
    let pages = generated_pages();
    if std::env::var_os("UPDATE_PROTOCOL").is_some() {
        fs::create_dir_all(root().join(GROUP_PAGES)).expect("a folder");
        for (path, text) in &pages {
            fs::write(root().join(path), text).expect("written");
        }
    }
    for (path, text) in &pages {
        let is_current = read(path).is_ok_and(|shown| shown == *text);
        assert!(is_current, "{path} is stale: run UPDATE_PROTOCOL=1 cargo test --test it rows::");
    }
    let shown = fs::read_dir(root().join(GROUP_PAGES)).expect("the pages of the groups").flatten();
    let unknown: Vec<_> = shown
        .map(|entry| format!("{GROUP_PAGES}/{}", entry.file_name().to_string_lossy()))
        .filter(|path| !pages.contains_key(path))
        .collect();
    assert!(unknown.is_empty(), "pages of no group: {unknown:?}");
}

#[test]
fn table_has_each_row_once_in_order() {
    let ids: Vec<String> = table().into_iter().map(|row| row.id).collect();
    let all = GROUPS.iter().flat_map(|(group, rows)| (1..=*rows).map(move |n| format!("{group}-{n:02}")));
    assert_eq!(ids, all.collect::<Vec<_>>());
    assert_eq!(ids.len(), 226 + 38);
}

#[test]
fn statements_are_distinct_and_sourced() {
    let rows = table();
    let statements: BTreeSet<&str> = rows.iter().map(|row| row.statement.as_str()).collect();
    assert_eq!(statements.len(), rows.len(), "two rows have the same statement");
    for row in &rows {
        assert!(row.statement.len() > 15 && row.statement.ends_with('.'), "{}: not a sentence", row.id);
        assert!(row.source.contains('['), "{}: the source is not a public document", row.id);
        let reason = row.unproven_reason();
        assert!(reason.is_none_or(|reason| reason.len() > 15), "{} gives no reason", row.id);
        assert_eq!(reason.is_some(), row.code == "-", "{}: code without proof or proof without code", row.id);
    }
}

#[test]
fn rows_name_existing_code() {
    let mut wrong = Vec::new();
    for row in table().iter().filter(|row| row.unproven_reason().is_none()) {
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

/// Whether the text names the row by its id or by its anchor in `docs/protocol.md`.
fn names(text: &str, id: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word.eq_ignore_ascii_case(id))
}

/// Checks one proof of a row.
fn check_proof(id: &str, proof: &str, rules: &str) -> Result<(), String> {
    let script = |path: String| -> Result<String, String> {
        let text = read(path)?;
        let last = text.lines().last().unwrap_or_default();
        match last {
            "expect lint only" | "expect lint none" => Ok(text),
            _ => Err(format!("{proof} does not end with a closed list of findings: {last}")),
        }
    };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    if let Some(own) = proof.strip_prefix("rows/") {
        let text = script(format!("tests/fixtures/rows/{own}.xds"))?;
        let own_row = own == id && first(&text).starts_with(&format!("# {id} "));
        return own_row.then_some(()).ok_or(format!("{proof} belongs to another row"));
    }
    if let Some(name) = proof.strip_prefix("scripts/") {
        let text = script(format!("tests/fixtures/scripts/{name}.xds"))?;
        let facts = text.lines().filter(|line| line.starts_with("expect ")).count();
        let named = names(&first(&text), id) && facts > 1;
        return named.then_some(()).ok_or(format!("{proof} does not name it"));
    }
    if let Some(name) = proof.strip_prefix("lint/") {
        // Rules about bootstraps have YAML fixtures, which `src/engine/lint/tests.rs` checks.
        if read(format!("tests/fixtures/lint/{name}.yaml")).is_err() {
            script(format!("tests/fixtures/lint/{name}.xds"))?;
        }
        let rule = name.split('.').next().unwrap_or_default();
        let of_row = |line: &&str| line.split(" | ").next() == Some(rule) && names(line, id);
        return rules.lines().find(of_row).map(|_| ()).ok_or(format!("the rule {rule} does not name it"));
    }
    let (path, function) = proof.split_once("::").ok_or(format!("unknown form of proof: {proof}"))?;
    let text = read(path)?;
    let (before, _) = text.split_once(&format!("fn {function}(")).ok_or(format!("{proof} is missing"))?;
    let doc = before.lines().rev().take(4).collect::<Vec<_>>().join("\n");
    let tested = doc.contains("#[test]") && names(&doc, id);
    tested.then_some(()).ok_or(format!("{proof} does not name it"))
}

#[test]
fn rows_have_valid_proofs() {
    let rules = read("src/engine/lint/rules.txt").expect("the rules");
    let mut wrong = Vec::new();
    for row in table().iter().filter(|row| row.unproven_reason().is_none()) {
        for proof in row.held_by.split(' ') {
            wrong.extend(check_proof(&row.id, proof, &rules).err().map(|why| format!("{}: {why}", row.id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scripts_of_rows_are_used_and_state_their_row() {
    let rows = table();
    for entry in fs::read_dir(root().join("tests/fixtures/rows")).expect("the scripts").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".xds").expect("a script");
        let row = rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("unknown row {id}"));
        assert!(row.held_by.split(' ').any(|proof| proof == format!("rows/{id}")), "{id} is not used");
        let text = read(format!("tests/fixtures/rows/{name}")).expect("text");
        assert_eq!(text.lines().next(), Some(format!("# {id} {}", row.statement).as_str()));
        let facts = text.lines().filter(|line| line.starts_with("expect ")).count();
        assert!(facts > 1, "{id} expects findings only, and no facts");
    }
}

/// docs/protocol.md#h-07: the finding states how long the route pointed to a missing cluster.
#[test]
fn reports_duration_of_missing_cluster() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hole.xds");
    let script = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [X]\n> cds v=1 n=1\n> rds names=[r]\n\
                  +1s < rds v=1 n=2 [r{to: [Y]}]\n+1s > rds v=1 n=2 names=[r]\n\
                  +3.5s < cds v=2 n=3 [X Y]\n+3.5s > cds v=2 n=3\n";
    fs::write(&path, script).expect("a script");
    let mut lint = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    let output = lint.args(["lint", "-o", "jsonl", "--rule", "route-unknown-cluster"]).arg(&path).output();
    let text = String::from_utf8(output.expect("xdscope runs").stdout).expect("text");
    let finding: serde_json::Value = serde_json::from_str(text.trim()).expect("one finding");
    assert_eq!(finding["names"], serde_json::json!(["Y"]));
    assert!(
        finding["text"].as_str().is_some_and(|text| text.ends_with("the cluster arrived after 2.5s")),
        "{finding}"
    );
}

/// docs/protocol.md#e-45 and docs/protocol.md#l-11: a child without a parent is an orphan, not
/// removed.
#[test]
fn child_without_parent_is_orphan() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = |clusters: &str| {
        let path = folder.path().join("child.xds");
        let script = format!(
            "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [c{{eds}}]\n> cds v=1 n=1\n> eds names=[c]\n\
             < eds v=1 n=2 [c]\n> eds v=1 n=2 names=[c]\n< cds v=2 n=3 [{clusters}]\n> cds v=2 n=3\n"
        );
        fs::write(&path, script).expect("a script");
        let mut get = Command::new(env!("CARGO_BIN_EXE_xdscope"));
        let output =
            get.args(["get"]).arg(&path).args(["eds", "-o", "jsonl"]).output().expect("xdscope runs");
        let one: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one resource");
        one["state"].as_str().map(str::to_owned)
    };
    assert_eq!(states("d").as_deref(), Some("orphan"));
    assert_eq!(states("d c{eds}").as_deref(), Some("present"));
}
