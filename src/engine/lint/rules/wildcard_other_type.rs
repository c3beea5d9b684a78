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

use crate::lint::prelude::*;

rule! {
    wildcard-other-type: Info, rows "E-42, L-07";
    checks: Request(check)
}

use crate::session::Wildcard;
use xdscope_wire::event::Kind;

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    // Wildcards are common for scoped routes, virtual hosts and endpoints of localities.
    let named =
        matches!(request.track.kind, Some(Kind::Rds | Kind::Eds | Kind::Sds | Kind::Rtds | Kind::Ecds));
    let begins = request.outcome.was == Wildcard::None && request.track.subscribed.is_wildcard();
    if named && begins {
        let text = format!("wildcard for {}", super::support::type_label(&request.track.type_url));
        ctx.report(&RULE, FindingDraft { text, ..FindingDraft::default() });
    }
}
