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

use super::support::{sender, type_label};
use crate::lint::exchange::undecodable;
use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::{Seq, TypeUrl};
use xdscope_wire::text::shown_name;
use xdscope_wire::{Message, MessageBody};

rule! {
    ads-type-url-missing: Error, rows "I-02";
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let is_decoded = undecodable(message).is_none();
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
    let (text, response) = text_and_response(ctx, message);
    let mut draft = FindingDraft::new(sender(message), text, &[]).evidence(response.as_slice());
    if has_structured_names {
        (draft.severity, draft.cause) = (Some(Severity::Info), Some("structured-names"));
    }
    ctx.report(&RULE, draft);
}

/// Returns the sentence, with the type that the message likely means: that of the response with the
/// nonce, or of the resources. Returns that response, too.
fn text_and_response(ctx: &RuleContext<'_>, message: &Message) -> (String, Option<Seq>) {
    let text = "ADS message without a type URL";
    if let Some(request) = message.request() {
        let find = |track: &Track| {
            let response = track.responses.get(track.responses.find(request.response_nonce)?)?;
            Some((response.seq, track.type_url.clone()))
        };
        let mut typed = ctx.stream.all_tracks().filter(|track| !track.type_url.is_empty());
        return match typed.find_map(find) {
            Some((seq, url)) => {
                let label = type_label(&url);
                let nonce = shown_name(request.response_nonce.as_str());
                (format!("{text}; its nonce {nonce} is that of {label} (#{})", seq.0), Some(seq))
            }
            None => (text.to_owned(), None),
        };
    }
    let blobs = message.resources().map_or(&[][..], |list| list.blobs());
    let mut types = blobs.iter().map(|id| ctx.text(ctx.catalog().entry(*id).type_url));
    match types.find(|url| !url.is_empty()) {
        Some(url) => {
            let url = TypeUrl::from(url);
            (format!("{text}; its resources are of {}", type_label(&url)), None)
        }
        None => (text.to_owned(), None),
    }
}
