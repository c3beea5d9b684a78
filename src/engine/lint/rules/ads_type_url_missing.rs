//! A message on an ADS stream has no type URL.
//!
//! Why: On ADS the type URL tells which subscription a message belongs to. A delta request may
//! omit the type URL if all its names are structured, because such names contain their type.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > type=""
//! ```
//!
//! Advice: Set `type_url` in every message on an ADS stream.
//!
//! Reference: API reference, `DiscoveryRequest.type_url`.

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "ads-type-url-missing", "I-02", include_str!("ads_type_url_missing.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Message(check)];

use xdscope_wire::{Message, MessageBody};

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let is_decoded = super::super::exchange::undecodable(message).is_none();
    if !ctx.is_aggregated() || !message.type_url().is_empty() || !is_decoded {
        return;
    }
    let has_structured_names = match &message.body {
        MessageBody::DeltaRequest(request) => {
            let mut names = request.subscribe.iter().chain(request.unsubscribe.iter()).peekable();
            names.peek().is_some() && names.all(|name| ctx.text(*name).starts_with("xdstp:"))
        }
        _ => false,
    };
    let severity = has_structured_names.then_some(Severity::Info);
    let cause = has_structured_names.then_some("structured-names");
    let text = "ADS message without a type URL".to_owned();
    ctx.report(
        &RULE,
        FindingDraft {
            blame: super::support::sender(message),
            text,
            severity,
            cause,
            ..FindingDraft::default()
        },
    );
}
