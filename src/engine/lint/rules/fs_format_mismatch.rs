//! The suffix of a file and its content are of different formats.
//!
//! Why: Clients choose the format by the suffix, so they cannot read the file.
//!
//! Example:
//! ```text
//! clusters.json:
//! version_info: "1"
//! ```
//!
//! Advice: Use the suffix of the format: .json, .yaml, .pb or .pb_text.
//!
//! Reference: xDS protocol, "Filesystem subscriptions".

use crate::lint::prelude::*;

rule! {
    fs-format-mismatch: Info, rows "C-03";
    checks: Open(check)
}

use xdscope_wire::Open;
use xdscope_wire::event::Variant;

fn check(ctx: &mut RuleContext<'_>) {
    if ctx.stream.variant() != Some(Variant::File) {
        return;
    }
    let open = &ctx.stream.open;
    if let (Some(is), Some(says)) = (open.fact(Open::FORMAT), open.fact(Open::ENDING))
        && is != says
    {
        let text = format!("the suffix means {says}, but the content is {is}");
        ctx.report(&RULE, FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() });
    }
}
