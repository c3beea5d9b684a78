//! A file's ending says one format, and its content is another.
//!
//! Why: Clients choose by the ending how to read a file, so this one can't be read by them.
//!
//! Example:
//! ```text
//! clusters.json:
//! version_info: "1"
//! ```
//!
//! Instead: give the file the ending of its content: .json, .yaml, .pb, .pb_text.
//!
//! Protocol: "Filesystem subscriptions"; row C-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "fs-format-mismatch",
    severity: Severity::Info,
    rows: "C-03",
    source: include_str!("fs_format_mismatch.rs"),
    on: &[On::Open(check)],
};

use crate::wire::Open;
use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>) {
    if case.stream.variant() != Some(Variant::File) {
        return;
    }
    let open = &case.stream.open;
    if let (Some(is), Some(says)) = (open.fact(Open::FORMAT), open.fact(Open::ENDING))
        && is != says
    {
        let text = format!("its ending says {says}, and it holds {is}");
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
