//! Fixtures that say which texts each view shows.
//!
//! A comment `# VIEW shows TEXT` or `# VIEW hides TEXT` of `tests/fixtures/views` is about the
//! output of a verb or about a screen. All views of these fixtures agree, see [`crate::behaviour::verbs::agree`].

use std::path::{Path, PathBuf};

use crate::docs::seen::output::{Fixture, run};

/// The views, and the verbs and flags that print them.
const VIEWS: [(&str, &[&str]); 10] = [
    ("status", &["status"]),
    ("wide-status", &["status", "-o", "wide"]),
    ("get", &["get", "-o", "wide"]),
    ("log", &["log"]),
    ("lint", &["lint"]),
    ("tree", &["get", "-o", "tree"]),
    ("graph", &["export", "--to", "dot"]),
    ("status-json", &["status", "-o", "json"]),
    ("get-json", &["get", "-o", "json"]),
    ("blame", &["blame"]),
];

/// The screens, and the keys that open them.
const SCREENS: [(&str, &str); 7] = [
    ("overview", ""),
    ("screen-2", "2"),
    ("screen-4", "4"),
    ("screen-list", "4jj"),
    ("screen-6", "6"),
    ("screen-7", "7"),
    ("screen-8", "8"),
];

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/views");
    let files = std::fs::read_dir(root).expect("a folder");
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no fixture");
    paths
}

/// Returns the complaint about a comment of a fixture. `None` for other comments.
fn complaint(path: &str, comment: &str) -> Option<String> {
    let (view, rest) = comment.split_once(' ')?;
    let (is_shown, text) = match rest.split_once(' ')? {
        ("shows", text) => (true, text),
        ("hides", text) => (false, text),
        _ => return None,
    };
    let output = output(path, view)?;
    (output.contains(text) != is_shown).then(|| format!("{path}: {comment}\n{output}"))
}

/// Returns the text of a view. `None` if there is no such view.
fn output(path: &str, view: &str) -> Option<String> {
    if let Some((_, keys)) = SCREENS.iter().find(|(name, _)| *name == view) {
        return Some(Fixture { path: path.to_owned() }.screen(keys).expect("a screen"));
    }
    let (_, flags) = VIEWS.iter().find(|(name, _)| *name == view)?;
    let args: Vec<String> = flags.iter().copied().chain([path]).map(str::to_owned).collect();
    Some(run(&args).all())
}

#[test]
fn views_show_texts() {
    let mut wrong = Vec::new();
    for path in fixtures() {
        let text = std::fs::read_to_string(&path).expect("a fixture");
        let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let names = || VIEWS.iter().map(|(view, _)| view).chain(SCREENS.iter().map(|(view, _)| view));
        let is_claim = |comment: &&&str| names().any(|view| comment.starts_with(&format!("{view} ")));
        assert!(comments.iter().any(|comment| is_claim(&comment)), "{} claims nothing", path.display());
        let path = path.display().to_string();
        wrong.extend(comments.iter().filter_map(|comment| complaint(&path, comment)));
    }
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}
