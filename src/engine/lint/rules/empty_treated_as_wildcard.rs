//! A server treats an empty list as a wildcard although names were requested.
//!
//! Why: Once a request has named anything, an empty list means that the client wants nothing.
//!
//! Example:
//! ```text
//! > cds v=2 n=b names=[]
//! advance 20s
//! < cds v=3 n=c [A B]
//! ```
//!
//! Advice: Remember whether the client has named anything on the stream.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::prelude::*;

rule! {
    empty-treated-as-wildcard: Warn, rows "E-40";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(since) = ctx.state.requests.emptied_at else { return };
    if !response.is_full_state() {
        return;
    }
    if ctx.has_timestamps() && ctx.at.since(since) > ctx.options.timers.ack && ctx.has_all_since_time(since) {
        let names: Vec<_> = response.names(ctx.catalog()).collect();
        let text = "sent to a client that has unsubscribed from everything";
        ctx.report_names(&RULE, Blame::Server, text, &names);
    }
}
