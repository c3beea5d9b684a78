//! A client writes polls with proto field names.
//!
//! Why: The canonical JSON mapping uses `versionInfo`. Readers must accept `version_info` too, but
//! not every server uses a protobuf library.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"version_info": "1"}
//! ```
//!
//! Advice: Write JSON names, and read both.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use crate::lint::prelude::*;
use xdscope_wire::Open;
use xdscope_wire::event::Variant;

rule! {
    rest-noncanonical: Info, rows "D-04";
    checks: Open(check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let is_rest = ctx.stream.variant() == Some(Variant::Rest);
    if is_rest && ctx.stream.open.fact(Open::JSON_NAMES) == Some("proto") {
        let text = "writes proto field names instead of JSON names";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
    }
}
