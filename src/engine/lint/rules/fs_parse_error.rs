//! A file cannot be read as a DiscoveryResponse.
//!
//! Why: The content is not the JSON, YAML, text or binary form of the message. The client keeps
//! its previous configuration, or starts without one.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < raw=/w==
//! ```
//!
//! Advice: Write a new file, read it back with the descriptors, and rename it over the old one.
//!
//! Reference: xDS protocol, "Filesystem subscriptions".

use crate::lint::exchange::undecodable;
use crate::lint::findings::lasting::Lasting;
use crate::lint::prelude::*;
use xdscope_wire::Message;

rule! {
    fs-parse-error: Error, rows "C-01",
    ends(Ending::State), about(Subject::UnusedFile);
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let Some(reason) = undecodable(message) else { return };
    if !ctx.is_file() {
        return;
    }
    let bytes = message.bytes(ctx.catalog()).unwrap_or_default();
    // For text the error of the binary reader is useless. The notices of the source have the
    // error of the text reader.
    let text = match bytes.is_ascii() && !bytes.is_empty() {
        true => "not a DiscoveryResponse in any supported format".to_owned(),
        false => format!("not a DiscoveryResponse: {reason}"),
    };
    let found = FindingDraft::new(Blame::Server, text, &[]);
    ctx.report_lasting(&RULE, found, Lasting::unused_file(ctx.at));
}
