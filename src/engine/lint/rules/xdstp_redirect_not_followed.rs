//! The client was redirected, and does not ask for the target.
//!
//! Why: A redirect answers the request; the resource itself comes under the other name, if the client asks for
//! it.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x"]
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/T/y"@1]
//! > n=1
//! advance 15s
//! ```
//!
//! Instead: subscribe to the target of a redirect.
//!
//! Protocol: "xDS transport: redirects (TP1)"; row K-27.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-redirect-not-followed",
    severity: Severity::Info,
    rows: "K-27",
    source: include_str!("xdstp_redirect_not_followed.rs"),
    on: &[On::Alarm(Alarm::Targets, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let left = super::left_alone(case, false);
    super::raise_left(case, &RULE, "redirected, and the target is not asked for", left);
}
