//! Fixtures that say which texts each view shows.
//!
//! A comment `# VIEW shows TEXT` or `# VIEW hides TEXT` of `tests/fixtures/views` is about the
//! output of a verb. All views of these fixtures agree, see [`crate::agree`].

use std::path::{Path, PathBuf};

use crate::seen::output::run;

/// The views, and the verbs and flags that print them.
const VIEWS: [(&str, &[&str]); 9] = [
    ("status", &["status"]),
    ("wide-status", &["status", "-o", "wide"]),
    ("get", &["get", "-o", "wide"]),
    ("log", &["log"]),
    ("lint", &["lint"]),
    ("tree", &["get", "-o", "tree"]),
    ("graph", &["export", "--to", "dot"]),
    ("status-json", &["status", "-o", "json"]),
    ("get-json", &["get", "-o", "json"]),
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
    let (_, flags) = VIEWS.iter().find(|(name, _)| *name == view)?;
    let (is_shown, text) = match rest.split_once(' ')? {
        ("shows", text) => (true, text),
        ("hides", text) => (false, text),
        _ => return None,
    };
    let args: Vec<String> = flags.iter().copied().chain([path]).map(str::to_owned).collect();
    let output = run(&args).all();
    (output.contains(text) != is_shown).then(|| format!("{path}: {comment}\n{output}"))
}

#[test]
fn views_show_texts() {
    let mut wrong = Vec::new();
    for path in fixtures() {
        let text = std::fs::read_to_string(&path).expect("a fixture");
        let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let is_claim =
            |comment: &&&str| VIEWS.iter().any(|(view, _)| comment.starts_with(&format!("{view} ")));
        assert!(comments.iter().any(|comment| is_claim(&comment)), "{} claims nothing", path.display());
        let path = path.display().to_string();
        wrong.extend(comments.iter().filter_map(|comment| complaint(&path, comment)));
    }
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}
