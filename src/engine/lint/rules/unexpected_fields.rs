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

use crate::lint::prelude::*;

rule! {
    unexpected-fields: Warn, rows "B-05, L-19, L-24",
    ends(Ending::Content);
    checks: Message(check), Response(of_delta), Response(ttl), Response(text_locators)
}

use super::super::structured::ListEntry;
use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, message: &xdscope_wire::Message) {
    let unknown = message.unknown_fields();
    if unknown.is_empty() {
        return;
    }
    let numbers: Vec<String> = unknown.iter().take(8).map(u32::to_string).collect();
    let text = format!("unknown field {} in {}", numbers.join(", "), message.shape.message());
    ctx.report(
        &RULE,
        FindingDraft { blame: super::support::sender(message), text, guess: true, ..FindingDraft::default() },
    );
}

/// Reports resources of a `DeltaDiscoveryResponse` on a SotW stream.
fn of_delta(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let entries = &response.scan.of_delta;
    if entries.is_empty() {
        return;
    }
    let count = xdscope_wire::text::plural(entries.len() as u64, "resource");
    let text = format!("a delta response on a SotW stream: {count} in a `Resource` instead of an `Any`");
    let severity = Some(Severity::Error);
    let draft = FindingDraft { blame: Blame::Server, severity, text, ..FindingDraft::default() };
    ctx.report(&RULE, draft);
}

/// Reports TTLs on the v2 transport: docs/protocol.md#l-19
fn ttl(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.unread_ttl.is_empty() {
        return;
    }
    let catalog = ctx.catalog();
    let names: Vec<_> = response.scan.unread_ttl.iter().map(|id| crate::session::key(catalog, *id)).collect();
    let text = "unknown field 6 (ttl) in Resource of v2".to_owned();
    ctx.report(&RULE, FindingDraft { guess: true, ..FindingDraft::new(Blame::Server, text, &names) });
}

/// Reports locators in the form of the proposal: docs/protocol.md#l-24
fn text_locators(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let redirects = response.scan.redirects.iter().filter(|(_, locator)| locator.is_text);
    let is_text = |entry: &ListEntry| matches!(entry, ListEntry::Locator(locator) if locator.is_text);
    let lists = response.scan.collections.iter().filter(|(_, entries)| entries.iter().any(is_text));
    let names: Vec<Sym> = redirects.map(|(name, _)| *name).chain(lists.map(|(name, _)| *name)).collect();
    if !names.is_empty() {
        let text = "a locator that is a string, as in the proposal (xRFC TP1)".to_owned();
        ctx.report(&RULE, FindingDraft { guess: true, ..FindingDraft::new(Blame::Server, text, &names) });
    }
}
