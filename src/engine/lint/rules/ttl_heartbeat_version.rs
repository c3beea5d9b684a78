//! A heartbeat has a version other than the last one sent.
//!
//! Why: A heartbeat has no payload and the version that was last sent. With another version the
//! client cannot tell what is refreshed, and the TTL runs on.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=10s]
//! < n=2 [r@2 unset ttl=10s]
//! ```
//!
//! Advice: Send heartbeats with the version of the resource, and updates with a payload.
//!
//! Reference: xDS protocol, "TTL".

use super::support::names_without_payload;
use crate::lint::prelude::*;
use crate::session::Hollow;

rule! {
    ttl-heartbeat-version: Warn, rows "G-11, G-06",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = names_without_payload(response, Hollow::OtherVersion);
    ctx.report_names(&RULE, Blame::Server, "heartbeat with a version other than the last one sent", &names);
}
