//! Checks the documents of the tree: every link leads to a file or heading, and the summary lists
//! every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all Markdown files of the project that people read.
fn pages() -> Vec<PathBuf> {
    let top = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let mut pages: Vec<_> = top.iter().map(|name| root().join(name)).collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("docs is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns the text of a page without its fenced and indented code blocks.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).expect("a readable page");
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the targets of the inline links of a page.
fn links(prose: &str) -> Vec<String> {
    let after = prose.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Returns the anchors of a page: its headings in GitHub's form, and explicit ids.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).expect("a readable page");
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    let headings = text.lines().filter(|line| line.starts_with('#')).map(heading);
    let ids = text.split("id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    headings.chain(ids.map(|(id, _)| id.to_owned())).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages() {
        for link in links(&prose(&page)) {
            if link.starts_with("https://") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            let has_anchor = || anchor.is_empty() || anchors(&target).contains(anchor);
            if !target.exists() || !has_anchor() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(checked > 50, "only {checked} links were found");
}

#[test]
fn summary_lists_every_page_of_the_book() {
    let docs = root().join("docs");
    let listed: BTreeSet<_> =
        links(&prose(&docs.join("SUMMARY.md"))).into_iter().map(|link| docs.join(link)).collect();
    let is_record = |page: &Path| page.parent().is_some_and(|folder| folder.ends_with("decisions"));
    let missing: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&docs) && !page.ends_with("SUMMARY.md") && !is_record(page))
        .filter(|page| !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "pages that SUMMARY.md does not list: {missing:?}");
}

/// Whether the output of a command is the same on each machine.
///
/// Such a command reads files of the repository, or explains a word.
fn is_repeatable(command: &str) -> bool {
    command.contains(" examples/") || command.contains(" tests/fixtures/") || command.starts_with("explain ")
}

/// Returns the repeatable commands of a page, with the output that follows in a block.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut command = None;
    let mut lines = page.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if let Some(typed) = line.strip_prefix("$ xdscope ") {
            let (typed, _remark) = typed.split_once("  #").unwrap_or((typed, ""));
            command = Some(typed.to_owned()).filter(|typed| is_repeatable(typed));
        } else if line == "```text" {
            let output: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.extend(command.take().map(|command| (command, output.join("\n"))));
        } else if !line.is_empty() {
            command = None;
        }
    }
    found
}

#[test]
fn outputs_in_the_book_are_what_the_program_prints() {
    let mut checked = 0;
    for page in pages() {
        for (command, expected) in examples(&fs::read_to_string(&page).expect("a readable page")) {
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("exec \"$XDSCOPE\" {command}")])
                .env("XDSCOPE", env!("CARGO_BIN_EXE_xdscope"))
                .env("TZ", "UTC")
                .current_dir(root())
                .output()
                .expect("a shell");
            let printed = String::from_utf8_lossy(&output.stdout);
            // The block is indented with its list.
            let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_start).collect();
            assert_eq!(printed.join("\n"), expected, "{}: {command}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 0, "no page shows output");
}

#[test]
fn tests_of_the_threat_model_exist() {
    let docs = root().join("docs");
    let page = fs::read_to_string(docs.join("threat-model.md")).expect("the threat model");
    let link = Regex::new(r"\[`(\w+)`\]\(([\w./-]+\.rs)\)").expect("a pattern");
    let mut checked = 0;
    for found in link.captures_iter(&page) {
        let source = fs::read_to_string(docs.join(&found[2])).expect("a source file");
        assert!(source.contains(&format!("fn {}(", &found[1])), "{} has no test {}", &found[2], &found[1]);
        checked += 1;
    }
    assert!(checked > 40, "only {checked} links to tests");
    let unproved = page.lines().filter(|line| line.starts_with("| ") && !line.contains(".rs)"));
    let unproved: Vec<_> = unproved.filter(|line| !line.starts_with("| attack |")).collect();
    assert!(unproved.is_empty(), "lines without a test: {unproved:?}");
}

#[test]
fn decision_records_are_complete() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).expect("the index of decisions");
    let records: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&folder) && !page.ends_with("README.md"))
        .collect();
    assert!(records.len() >= 12, "{} records", records.len());
    for record in records {
        let name = record.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(index.contains(&format!("({name})")), "{name} is missing from the index");
        let text = fs::read_to_string(&record).expect("a record");
        assert!(text.starts_with(&format!("# {}: ", &name[..4])), "{name} has another number in its title");
    }
}
