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
use xdscope_wire::Open;

rule! {
    fs-format-mismatch: Info, rows "C-03";
    checks: Open(check)
}

fn check(ctx: &mut RuleContext<'_>) {
    if !ctx.is_file() {
        return;
    }
    let open = &ctx.stream.open;
    if let (Some(content), Some(suffix)) = (open.fact(Open::FORMAT), open.fact(Open::ENDING))
        && content != suffix
    {
        let text = format!("the suffix means {suffix}, but the content is {content}");
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]));
    }
}
