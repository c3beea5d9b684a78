//! A request both subscribes to and unsubscribes from a name.
//!
//! Why: The protocol does not define which of the two applies.
//!
//! Example:
//! ```text
//! > sub=[d] unsub=[d]
//! ```
//!
//! A first request with `*` in both lists is a note: ztunnel begins so to ask for names on demand.
//!
//! Advice: Put the name into one of the lists.
//!
//! Reference: API reference, `DeltaDiscoveryRequest`.

use crate::lint::prelude::*;
use crate::session::SymSet;

rule! {
    delta-sub-unsub-overlap: Warn, rows "F-12",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta() else { return };
    let unsubscribed: SymSet = body.unsubscribe.iter().copied().collect();
    let names: Vec<_> = body.subscribe.iter().copied().filter(|name| unsubscribed.contains(name)).collect();
    if !names.is_empty() {
        // ztunnel (`AdsClient::is_initial_request_on_demand`) begins a type on demand like this.
        let is_on_demand = request.outcome.first && names.iter().all(|name| ctx.text(*name) == "*");
        let (severity, text) = match is_on_demand {
            true => {
                (Some(Severity::Info), "subscribed and unsubscribed at first, to ask for names on demand")
            }
            false => (None, "subscribed and unsubscribed in one request"),
        };
        let text = text.to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &names).severity(severity));
    }
}
