//! Checks that documents cited in `src` exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("src is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// Returns the anchors that GitHub and mdBook give to the headings of a page, and its explicit
/// ids.
fn anchors(page: &str) -> BTreeSet<String> {
    let ids = page.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    let ids = ids.map(|(id, _)| id.to_owned());
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |title: String| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    titles.map(anchor).chain(ids).collect()
}

#[test]
fn references_in_src_resolve() {
    let reference = Regex::new(r"docs/[\w/-]+(?:\.[\w-]+)*\.md(?:#[\w-]+)?").expect("a pattern");
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut pages: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        for cited in reference.find_iter(&text) {
            count += 1;
            let (page, anchor) = cited.as_str().split_once('#').unwrap_or((cited.as_str(), ""));
            let known = pages
                .entry(page.to_owned())
                .or_insert_with(|| fs::read_to_string(root().join(page)).ok().map(|text| anchors(&text)));
            let resolves =
                known.as_ref().is_some_and(|anchors| anchor.is_empty() || anchors.contains(anchor));
            if !resolves {
                wrong.push(format!("{}: {}", file.display(), cited.as_str()));
            }
        }
    }
    assert!(count > 40, "only {count} references were found");
    assert!(wrong.is_empty(), "missing files or anchors:\n{}", wrong.join("\n"));
}
