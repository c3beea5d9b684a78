//! A client uses a wildcard for a type other than listeners and clusters.
//!
//! Why: The protocol defines wildcards for listeners and clusters. Servers may answer with
//! everything, with nothing, or not at all.
//!
//! Example:
//! ```text
//! > eds names=[*]
//! ```
//!
//! Advice: Request names.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use super::support::type_label;
use crate::lint::prelude::*;
use crate::session::Wildcard;
use xdscope_wire::event::Kind;

rule! {
    wildcard-other-type: Info, rows "E-42, L-07";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    // Wildcards are common for scoped routes, virtual hosts and endpoints of localities.
    let has_names =
        matches!(request.track.kind, Some(Kind::Rds | Kind::Eds | Kind::Sds | Kind::Rtds | Kind::Ecds));
    let begins = request.outcome.was == Wildcard::None && request.track.subscribed.is_wildcard();
    if has_names && begins {
        let text = format!("wildcard for {}", type_label(&request.track.type_url));
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
    }
}
