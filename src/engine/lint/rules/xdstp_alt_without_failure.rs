//! A client requests an alternative although the first source is available.
//!
//! Why: `alt=` in a locator names the fallback for an unreachable source. The client has an open,
//! answered stream on which it requests the first name.
//!
//! Example:
//! ```text
//! < cds n=1 [c{eds: "xdstp://a/T/foo#alt=xdstp://b/T/bar"}@1]
//! > eds sub=["xdstp://a/T/foo"]
//! > eds sub=["xdstp://b/T/bar"]
//! ```
//!
//! Advice: Request the alternative only when the first source fails.
//!
//! Reference: xRFC TP1, "Alternatives".

use crate::lint::prelude::*;
use crate::lint::structured_names::structured_names;
use xdscope_wire::event::Sym;

rule! {
    xdstp-alt-without-failure: Info, rows "K-29";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if ctx.source_state.alternatives.is_empty() || request.outcome.added.is_empty() {
        return;
    }
    let names = structured_names(ctx, &request.outcome.added);
    let (client, needs) = (ctx.client(), ctx.store.engine().needs());
    let is_early = |(name, _): &&ParsedName<'_>| {
        let primary = needs.primary_of(&client, ctx.text(*name));
        primary.is_some_and(|primary| is_healthy(ctx, &primary))
    };
    let names: Vec<Sym> = names.iter().filter(is_early).map(|(name, _)| *name).collect();
    let text = "alternative requested while the stream of the first name is healthy";
    ctx.report_names(&RULE, Blame::Client, text, &names);
}

/// Whether the client requests the name on an open stream that has had responses.
fn is_healthy(ctx: &RuleContext<'_>, canonical: &str) -> bool {
    let catalog = ctx.catalog();
    let Some(name) = catalog.strings().find(canonical) else { return false };
    let name = catalog.first_spelling(name);
    let Some(mut open) = ctx.store.engine().open_of_client(ctx.stream) else { return false };
    open.any(|(_, stream)| {
        stream.traffic.has_response
            && stream.known_tracks().any(|track| track.subscribed.names.contains(name))
    })
}
