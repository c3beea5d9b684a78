//! A client repeats a request.
//!
//! Why: A request that changes no names and answers no response carries no information. Three in a
//! second look like a loop.
//!
//! Severity: `info`; `warn` for a loop, ten times in a row: the client repeats the request and
//! the server is silent, or, on a delta stream, the client subscribes again with each ACK to what
//! it has, and the server sends that each time.
//!
//! Example:
//! ```text
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! ```
//!
//! Advice: Send a request when the names change or when a response needs a verdict.
//!
//! Reference: xDS protocol, "Resource updates".

use std::time::Duration;

use crate::lint::memory::track::EchoRun;
use crate::lint::prelude::*;
use crate::session::{MessageKind, RequestClass};

rule! {
    request-repeat: Info, rows "E-50";
    checks: Request(check), Response(check_resent)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !ctx.has_timestamps()
        || !request.has_class(RequestClass::NewestNonce)
        || request.outcome.kind != MessageKind::Repeat
        || !ctx.is_grpc()
    {
        return;
    }
    let at = ctx.at;
    ctx.state.runs.recent_repeats.retain(|then| at.since(*then) <= Duration::from_secs(1));
    ctx.state.runs.recent_repeats.push_back(at);
    if ctx.state.runs.recent_repeats.len() > 3 {
        ctx.state.runs.recent_repeats.pop_front();
    }
    if ctx.state.runs.recent_repeats.len() < 3 {
        return;
    }
    // A client asks again for what an update of another type needs: docs/protocol.md#h-05
    let is_unprompted = ctx.is_server_silent_since(ctx.state.runs.repeats);
    let before = if is_unprompted { ctx.state.runs.repeats } else { EchoRun::default() };
    ctx.state.runs.repeats = before.next(at);
    if ctx.state.runs.repeats.is_loop() {
        let text = "identical request again and again, and server does not answer";
        let draft = FindingDraft::new(Blame::Client, text, &[]);
        return ctx.report_loop(&RULE, ctx.state.runs.repeats, draft);
    }
    ctx.report(&RULE, FindingDraft::new(Blame::Client, "identical request three times in a second", &[]));
}

/// Reports a client that subscribes again to what it has, and a server that sends it each time.
fn check_resent(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_asked = response.view.is_delta && ctx.state.requests.has_resubscribed;
    let is_resent = is_asked
        && !response.view.resources.is_empty()
        && ctx.is_echo(response)
        && super::sotw_needless_update::same_content(ctx, response);
    ctx.state.runs.resent = if is_resent { ctx.state.runs.resent.next(ctx.at) } else { EchoRun::default() };
    if ctx.state.runs.resent.is_loop() {
        let text = "client subscribes again with each ACK to what it has, and server sends it again";
        let draft = FindingDraft::new(Blame::Both, text, &[]);
        ctx.report_loop(&RULE, ctx.state.runs.resent, draft);
    }
}
