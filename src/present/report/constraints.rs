//! Texts about constraints of the API that a resource breaks.

use xdscope_engine::constraints::{BrokenConstraint, BrokenConstraints};

/// Returns a line for each listed constraint, and one for the others:
/// `connect_timeout must be greater than 0s   named in the NACK`.
fn broken_constraints(broken: &BrokenConstraints) -> Vec<String> {
    let has_named = has_named(broken);
    lines(broken, |constraint| match (constraint.is_named, has_named) {
        (true, _) => format!("{}   named in the NACK", constraint.violation),
        (false, true) => format!("{}   not named in the NACK", constraint.violation),
        (false, false) => constraint.violation.to_string(),
    })
}

/// Returns the lines of `broken_constraints` for a NACK. A text that names the field of none has
/// another reason: there are no lines then.
pub fn constraints_of_nack(broken: &BrokenConstraints, has_text: bool) -> Vec<String> {
    if has_text && !has_named(broken) { Vec::new() } else { broken_constraints(broken) }
}

/// Returns a sentence for each listed constraint, and one for the others. The sentences stay clear
/// if their ends are cut off: `breaks connect_timeout must be greater than 0s` for a constraint
/// that the NACK names, `also breaks …` for the others.
pub fn broken_constraint_sentences(broken: &BrokenConstraints) -> Vec<String> {
    let has_named = has_named(broken);
    lines(broken, |constraint| match constraint.is_named || !has_named {
        true => format!("breaks {}", constraint.violation),
        false => format!("also breaks {}", constraint.violation),
    })
}

fn has_named(broken: &BrokenConstraints) -> bool {
    broken.listed.iter().any(|constraint| constraint.is_named)
}

fn lines(broken: &BrokenConstraints, text: impl Fn(&BrokenConstraint) -> String) -> Vec<String> {
    let more = (broken.more > 0).then(|| format!("and {} more", broken.more));
    broken.listed.iter().map(text).chain(more).collect()
}
