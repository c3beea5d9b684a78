//! A message has fields that its published definition lacks.
//!
//! Why: The peer may use the wrong message for the method, because field numbers of SotW and delta
//! overlap, or may have a newer API. Delta resources in a SotW response are an error: clients take
//! their versions for types, and refuse them. `Resource` of v2 has no `ttl`, and a published
//! `ResourceLocator` is no string.
//!
//! Example:
//! ```text
//! > raw=+gYBeA==
//! ```
//!
//! Advice: Compare the API version of the peer with the method. Newer optional fields are
//! harmless.
//!
//! Reference: xDS protocol, "RPC Services and Methods for Each Variant".

use super::support::{names_with_locator, sender};
use crate::lint::prelude::*;
use crate::session::key;
use xdscope_wire::Message;
use xdscope_wire::text::plural;

rule! {
    unexpected-fields: Warn, rows "B-05, L-19, L-24",
    ends(Ending::Content);
    checks: Message(check), Response(check_form), Response(check_ttl), Response(check_locators)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let unknown = message.unknown_fields();
    if unknown.is_empty() {
        return;
    }
    let numbers: Vec<String> = unknown.iter().take(8).map(u32::to_string).collect();
    let text = format!("unknown field {} in {}", numbers.join(", "), message.shape.message());
    ctx.report(&RULE, FindingDraft::new(sender(message), text, &[]).guessed());
}

/// Reports resources of a `DeltaDiscoveryResponse` on a SotW stream.
fn check_form(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let entries = &response.scan.of_delta;
    if entries.is_empty() {
        return;
    }
    let count = plural(entries.len() as u64, "resource");
    let text = format!("a delta response on a SotW stream: {count} in a `Resource` instead of an `Any`");
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &[]).severity(Some(Severity::Error)));
}

/// Reports TTLs on the v2 transport: docs/protocol.md#l-19
fn check_ttl(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.unread_ttl.is_empty() {
        return;
    }
    let catalog = ctx.catalog();
    let names: Vec<_> = response.scan.unread_ttl.iter().map(|id| key(catalog, *id)).collect();
    let text = "unknown field 6 (ttl) in Resource of v2";
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
}

/// Reports locators in the form of the proposal: docs/protocol.md#l-24
fn check_locators(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = names_with_locator(response, |locator| locator.is_text);
    if !names.is_empty() {
        let text = "a locator that is a string, as in the proposal (xRFC TP1)";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}
