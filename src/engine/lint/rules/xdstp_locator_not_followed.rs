//! A member of a list is not asked for, though the client has the list.
//!
//! Why: Lists of locators take two steps: the list, then each of its members by its name.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/TCollection/c"]
//! < n=1 [list with xdstp://a/T/x]
//! > n=1
//! advance 15s
//! ```
//!
//! Instead: subscribe to the members of a list, and let go of those that left it.
//!
//! Protocol: "xDS transport: collections (TP1)"; row K-13.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-locator-not-followed",
    severity: Severity::Info,
    rows: "K-13",
    source: include_str!("xdstp_locator_not_followed.rs"),
    on: &[On::Alarm(Alarm::Targets, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let left = super::left_alone(case, true);
    super::raise_left(case, &RULE, "in the list, and a member is not asked for", left);
}
