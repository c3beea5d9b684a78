//! Texts about what a Kubernetes object made.

use xdscope_engine::made::{MadeSince, Outcome, OutcomeCounts};
use xdscope_wire::text::count;

use super::Role;

/// Returns the word of an outcome, and its role.
pub fn outcome_word(outcome: Outcome) -> (&'static str, Role) {
    match outcome {
        Outcome::Refused => ("refused", Role::Bad),
        Outcome::Missing => ("missing", Role::Warn),
        Outcome::Unanswered => ("not answered", Role::Warn),
        Outcome::Pending => ("pending", Role::Pending),
        Outcome::InForce => ("in force", Role::Ok),
        Outcome::Gone => ("gone", Role::Muted),
    }
}

/// Returns the numbers of outcomes, the worst first: `2 refused, 1,204 in force`.
pub fn outcome_counts(counts: &OutcomeCounts) -> String {
    let met = Outcome::ALL.into_iter().filter(|outcome| counts.of(*outcome) > 0);
    let parts = met.map(|outcome| format!("{} {}", count(counts.of(outcome)), outcome_word(outcome).0));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the message since which a resource is as it is: `#19`, `asked in #8`.
pub fn made_since(since: &MadeSince) -> String {
    match since {
        MadeSince::Push(push) => format!("#{}", push.n.0),
        MadeSince::Request { n, .. } => format!("asked in #{}", n.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_outcome_is_counted_first() {
        let mut counts = OutcomeCounts::default();
        assert_eq!(outcome_counts(&counts), "");
        [Outcome::InForce, Outcome::Refused, Outcome::InForce].into_iter().for_each(|of| counts.add(of));
        assert_eq!(outcome_counts(&counts), "1 refused, 2 in force");
    }
}
