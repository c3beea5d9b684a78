//! A client does not request the target of a redirect.
//!
//! Why: A redirect answers the request. The resource itself arrives under the other name, if the
//! client requests that name.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x"]
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/T/y"@1]
//! > n=1
//! advance 15s
//! ```
//!
//! Advice: Subscribe to the target of a redirect.
//!
//! Reference: xRFC TP1, "Server redirects".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Info,
    "xdstp-redirect-not-followed",
    "K-27",
    include_str!("xdstp_redirect_not_followed.rs"),
);

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Targets, check)];

fn check(ctx: &mut RuleContext<'_>) {
    let unfollowed = super::support::unfollowed(ctx, false);
    super::support::report_unfollowed(ctx, &RULE, "target of the redirect is not requested", &unfollowed);
}
