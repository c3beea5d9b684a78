//! A client does not request a member of a list.
//!
//! Why: A list of locators takes two steps: the list, then each member by its name.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/TCollection/c"]
//! < n=1 [list with xdstp://a/T/x]
//! > n=1
//! advance 15s
//! ```
//!
//! Advice: Subscribe to the members of a list, and unsubscribe from members that leave the list.
//!
//! Reference: xRFC TP1, "List".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Info,
    "xdstp-locator-not-followed",
    "K-13",
    include_str!("xdstp_locator_not_followed.rs"),
);

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Targets, check)];

fn check(ctx: &mut RuleContext<'_>) {
    let unfollowed = super::support::unfollowed(ctx, true);
    super::support::report_unfollowed(ctx, &RULE, "member of the list is not requested", &unfollowed);
}
