//! A server does not answer a glob without members.
//!
//! Why: A server should report an empty glob in `removed_resources`. Otherwise the client cannot
//! tell an empty glob from a slow server. The server reports an empty glob on each request: also
//! if the client requests the glob again, or on its next stream. A server that has sent members of
//! the glob, and is silent about a second request, owes the members: `delta-subscribe-unanswered`.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! advance 15s
//! ```
//!
//! Advice: List the glob in `removed_resources` while it has no members.
//!
//! Reference: xRFC TP1, "Glob".

use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::is_glob;

rule! {
    xdstp-empty-glob-silent: Warn, rows "K-20",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    super::delta_subscribe_unanswered::unanswered(
        ctx,
        &RULE,
        "glob without members, and not reported as removed",
        |ctx, overdue| is_empty_glob(ctx, overdue.name),
    );
}

/// Whether a name is a glob, and the client has no member of it.
pub(super) fn is_empty_glob(ctx: &RuleContext<'_>, name: Sym) -> bool {
    let has_members = |track: &Track| track.globs_with_members(ctx.catalog()).contains(&name);
    is_glob(ctx.text(name)) && !ctx.current_track().is_some_and(has_members)
}
