//! A type misses something if, and only if, a problem says what.

use crate::analysis::{load, play, scripts_in};
use xdscope_engine::analysis::Analysis;
use xdscope_engine::problems::{Problem, ProblemFact};
use xdscope_engine::store::{StateFact, TypeState};
use xdscope_schema::Schema;

const FOLDERS: [&str; 6] = ["lint", "rows", "scripts", "tui", "cli", "views"];

/// A script whose server removes the alternative of a name after the time limit: the rules
/// judge the name only once.
const UNSERVED: &str = "S-44.xds";

/// Returns the states of open streams that no problem or finding explains, and the problems without
/// such a state.
fn disagreements(analysis: &Analysis) -> Vec<String> {
    let (states, problems) = (analysis.states(), analysis.problems());
    let is_about = |problem: &ProblemFact, state: &StateFact| {
        problem.is_wrong()
            && problem.type_url == state.type_url
            && problem.all_streams().any(|stream| stream == state.stream)
    };
    let explains = |problem: &ProblemFact, state: TypeState| match &problem.problem {
        Problem::Broken(finding) => state == TypeState::Expired && finding.rule.id == "ttl-expired",
        _ => state == TypeState::Miss && problem.state() == Some(state),
    };
    let mut out = Vec::new();
    for state in states.iter().filter(|of| matches!(of.state, TypeState::Miss | TypeState::Expired)) {
        let is_explained = |problem: &ProblemFact| is_about(problem, state) && explains(problem, state.state);
        if !problems.iter().any(is_explained) {
            let word = state.state.word();
            out.push(format!("{} {}: {word} without a problem", state.stream.0, state.type_url));
        }
        let is_found = |name| analysis.findings().iter().any(|finding| finding.names.contains(name));
        let is_overdue = state.overdue > 0 && state.overdue as usize == state.missing.len();
        for name in state.missing.iter().filter(|name| is_overdue && !is_found(name)) {
            out.push(format!("{} {}: no finding about {name}", state.stream.0, state.type_url));
        }
    }
    // A resource that is used without another one has come itself.
    let is_missing = |problem: &&ProblemFact| {
        problem.state() == Some(TypeState::Miss) && !matches!(problem.problem, Problem::Warming(_))
    };
    for problem in problems.iter().filter(|of| of.is_wrong() && of.closed.is_none()).filter(is_missing) {
        // A worse state hides that something is missing.
        let is_shown = |state: &&StateFact| {
            use TypeState::{Miss, Nack, Rejected, Stale, Warming};
            is_about(problem, state) && matches!(state.state, Miss | Nack | Rejected | Stale | Warming)
        };
        if !states.iter().any(|state| is_shown(&state)) {
            out.push(format!("{} {}: a problem without a state", problem.stream.0, problem.type_url));
        }
    }
    out
}

#[test]
fn states_problems_and_findings_agree_on_what_is_missing() {
    let schema = Schema::builtin();
    let mut wrong = Vec::new();
    for file in scripts_in(&FOLDERS).into_iter().filter(|file| !file.ends_with(UNSERVED)) {
        let Some(loaded) = load(&file, &schema) else { continue };
        let found = disagreements(&play(loaded, &schema, false));
        wrong.extend(found.into_iter().map(|text| format!("{}: {text}", file.display())));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
