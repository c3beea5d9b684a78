//! The table of diagnoses in docs/diagnoses.md: at most two keys from the first screen.

use std::path::Path;

use crate::input::screen_id::ScreenId;
use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn_text, model, type_keys};
use xdscope_engine::problems::{Problem, ProblemFact};

use super::every_key::harness_key;
use super::meshes::RECORDINGS;
use super::places::{PROBLEMS, replayed};

const TABLE: &str = include_str!("../../../../docs/diagnoses.md");

/// The words in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn ten_diagnoses_need_at_most_two_keys() {
    let source = ScriptedStore::new(PROBLEMS);
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("? |"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let [question, keys, screen, text] = row.as_slice() else { panic!("not four cells: {row:?}") };
        let keys = quoted(keys);
        assert!(keys.len() <= 2, "{question}");
        let typed: String = keys.iter().map(|key| harness_key(key)).collect();
        let wanted = quoted(text).concat();
        let [mut live, mut small] = [(100, 40), (80, 24)].map(|(width, height)| model(width, height, PLAIN));
        type_keys(&mut live, &source.data(), &typed);
        type_keys(&mut small, &source.data(), &typed);
        let mut replayed = replayed(&source, "");
        replayed.common.size = (100, 40);
        type_keys(&mut replayed, &source.data(), &typed);
        for model in [&live, &replayed, &small] {
            let shown = drawn_text(model);
            assert!(shown.contains(&wanted), "{question} {keys:?}: {wanted}\n{shown}");
            assert!(
                ScreenId::ALL.iter().any(|id| id.title() == *screen && *id == model.screen),
                "{question}"
            );
        }
    }
}

/// A question, at most two keys, and the words about a problem that must then be on the screen;
/// `None` if the problem does not raise the question.
type Diagnosis = (&'static str, &'static str, fn(&ProblemFact) -> Option<Vec<String>>);

/// The beginning of a name, which stays when the name is cut.
fn head(name: &str) -> String {
    name.chars().take(8).collect()
}

const DIAGNOSES: [Diagnosis; 10] = [
    ("which resource is refused", "6", |problem| match &problem.problem {
        Problem::Refused(_) => Some(vec![head(problem.resource_names().first()?)]),
        _ => None,
    }),
    ("why is it refused", "6", |problem| match &problem.problem {
        Problem::Refused(_) => Some(vec![problem.reason()?.split(": ").last()?.chars().take(20).collect()]),
        _ => None,
    }),
    ("which name never came", "7", |problem| match &problem.problem {
        Problem::Owed(owed) => Some(vec![head(owed.names.first()?)]),
        _ => None,
    }),
    ("what is stuck in warming", "8", |problem| match &problem.problem {
        Problem::Warming(warming) => Some(vec![head(&warming.first.name)]),
        _ => None,
    }),
    ("which client does not answer", "", |problem| match &problem.problem {
        Problem::Unanswered { .. } => Some(vec![head(problem.node.as_deref()?), "STALE".to_owned()]),
        _ => None,
    }),
    ("whose streams fail", "", |problem| match &problem.problem {
        Problem::Failing(_) => Some(vec![head(problem.node.as_deref()?), "FAILING".to_owned()]),
        _ => None,
    }),
    ("which route points nowhere", "9", |problem| match &problem.problem {
        Problem::Broken(finding) if finding.rule.id.contains("route") => Some(vec![head(finding.rule.id)]),
        _ => None,
    }),
    ("what changed", "5", |problem| match &problem.problem {
        Problem::Refused(_) => Some(vec!["push #".to_owned(), head(problem.resource_names().first()?)]),
        _ => None,
    }),
    ("who has the change", "5W", |problem| match &problem.problem {
        Problem::Refused(_) => Some(vec![head(problem.node.as_deref()?)]),
        _ => None,
    }),
    ("which server is silent", "", |problem| match &problem.problem {
        Problem::Owed(_) if problem.blame.word() == "server" => {
            Some(vec![head(problem.node.as_deref()?), "server owes".to_owned()])
        }
        _ => None,
    }),
];

/// The scripts in some folders of fixtures, and the recordings of real clients.
fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["tests/fixtures/tui", "tests/fixtures/views", "tests/fixtures/cli"];
    let scripts = folders.into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.map(move |entry| format!("{folder}/{}", entry.file_name().to_string_lossy()))
    });
    let scripts = scripts.filter(|path| path.ends_with(".xds"));
    let mut paths: Vec<String> = scripts.chain(RECORDINGS.map(str::to_owned)).collect();
    paths.sort();
    paths
}

/// The fewest recordings on which a diagnosis is made.
const MIN_RECORDINGS: usize = 5;

#[test]
fn each_diagnosis_takes_two_keys_on_five_recordings() {
    let mut answered = [0; DIAGNOSES.len()];
    let mut unanswered = Vec::new();
    for path in sources() {
        let source = ScriptedStore::recorded(&path);
        let mut first = model(160, 45, PLAIN);
        type_keys(&mut first, &source.data(), "");
        for ((question, keys, words), answered) in DIAGNOSES.into_iter().zip(&mut answered) {
            // The keys are about the worst problem that raises the question.
            let mut problems = first.common.problems.all.iter().filter(|problem| problem.is_wrong());
            let Some(wanted) = problems.find_map(words) else { continue };
            assert!(keys.len() <= 2);
            let mut model = first.clone();
            type_keys(&mut model, &source.data(), keys);
            let shown = drawn_text(&model);
            let missing = wanted.iter().filter(|word| !shown.contains(*word));
            let missing = missing.map(|word| format!("{question} {keys}, {path}: {word}\n{shown}"));
            *answered += usize::from(missing.clone().count() == 0);
            unanswered.extend(missing);
        }
    }
    assert!(unanswered.is_empty(), "{}", unanswered.join("\n\n"));
    for ((question, ..), answered) in DIAGNOSES.iter().zip(answered) {
        assert!(answered >= MIN_RECORDINGS, "{question}: {answered} recordings");
    }
}
