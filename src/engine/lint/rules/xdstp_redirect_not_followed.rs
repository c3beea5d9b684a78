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

use super::support::report_unfollowed;
use crate::lint::memory::track::TargetOrigin;
use crate::lint::prelude::*;

rule! {
    xdstp-redirect-not-followed: Info, rows "K-27";
    checks: Alarm(Alarm::Targets, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    report_unfollowed(ctx, &RULE, TargetOrigin::Redirect, "target of the redirect is not requested");
}
