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

use super::support::report_unfollowed;
use crate::lint::memory::track::TargetOrigin;
use crate::lint::prelude::*;

rule! {
    xdstp-locator-not-followed: Info, rows "K-13";
    checks: Alarm(Alarm::Targets, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    report_unfollowed(ctx, &RULE, TargetOrigin::List, "member of the list is not requested");
}
