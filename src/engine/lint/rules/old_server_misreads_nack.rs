//! A NACK has the version of the response, which older servers read as an ACK.
//!
//! Why: Some servers compare version and nonce instead of checking `error_detail`. Such a NACK is
//! legal if a newly requested resource at an unchanged version was rejected.
//!
//! Example:
//! ```text
//! > eds v=1 n=1 names=[A B]
//! < eds v=1 n=2 [B]
//! > eds v=1 n=2 names=[A B] nack="B is invalid"
//! ```
//!
//! Advice: Make sure that the server checks `error_detail`.
//!
//! Reference: xDS protocol, "NACK".

use crate::lint::prelude::*;

rule! {
    old-server-misreads-nack: Info, rows "L-08, E-23";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if let Some(version) = super::nack_version_refused::claims_refused(request) {
        let text = format!(
            "NACK of version {version} that reports version {version}: a server that compares versions takes it for an ACK"
        );
        ctx.report(&RULE, FindingDraft::new(Blame::Both, text, &[]).evidence(request.answered()));
    }
}
