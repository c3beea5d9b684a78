//! Shortens a session that tells engine and model apart.

use xdscope_wire::content::Catalog;

use super::compare::{Difference, run};
use super::script::{Step, StepEvent};

/// Removes steps, then parts of messages, as long as the session still fails.
pub(super) fn shrink(
    catalog: &mut Catalog,
    steps: &[Step],
    drops: bool,
    first: Difference,
) -> (Vec<Step>, Difference) {
    let mut best = ShortestSession { steps: steps[..=first.step].to_vec(), difference: first, drops };
    loop {
        let before = best.steps.len();
        let mut at = best.steps.len();
        while at > 0 {
            at -= 1;
            let mut shorter = best.steps.clone();
            shorter.remove(at);
            best.replace_if_failing(catalog, shorter);
            at = at.min(best.steps.len());
        }
        for at in 0..best.steps.len() {
            for part in 0.. {
                let mut simpler = best.steps.clone();
                match simpler.get_mut(at).map(|step| simplify(step, part)) {
                    Some(Some(true)) => best.replace_if_failing(catalog, simpler),
                    Some(Some(false)) => {}
                    _ => break,
                }
            }
        }
        if best.steps.len() == before {
            return (best.steps, best.difference);
        }
    }
}

/// The shortest session so far that fails.
struct ShortestSession {
    steps: Vec<Step>,
    difference: Difference,
    /// Whether the catalog drops unused content after each step.
    drops: bool,
}

impl ShortestSession {
    fn replace_if_failing(&mut self, catalog: &mut Catalog, steps: Vec<Step>) {
        if let Err(found) = run(catalog, &steps, self.drops) {
            self.steps = steps[..=found.step].to_vec();
            self.difference = found;
        }
    }
}

/// Removes one part of a message. Returns whether anything changed; `None` after the last part.
fn simplify(step: &mut Step, part: usize) -> Option<bool> {
    let lists = match &mut step.event {
        StepEvent::Request { ask, .. } => {
            if part == 0 {
                return Some(std::mem::take(&mut ask.error));
            }
            let claims = ask.claims.len();
            if part <= claims {
                ask.claims.remove(part - 1);
                return Some(true);
            }
            vec![&mut ask.names, &mut ask.unsubscribe]
        }
        StepEvent::Response { push, .. } => {
            let entries = push.entries.len();
            if part < entries {
                push.entries.remove(part);
                return Some(true);
            }
            vec![&mut push.removed]
        }
        _ if part == 0 => return Some(std::mem::take(&mut step.wait) > 0),
        _ => return None,
    };
    // Parts are numbered from the end here: lists are short, and a wrong number ends the search.
    let mut from = part;
    for list in lists {
        if from < list.len() {
            list.remove(from);
            return Some(true);
        }
        from -= list.len();
    }
    (part < 12).then_some(false)
}
