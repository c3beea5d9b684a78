//! A request has a nonce that was never issued for its type on its stream.
//!
//! Why: A nonce is valid on its own stream, and on ADS for its own type. Causes: `other-type`
//! (issued for another type), `old-stream` (issued on an earlier stream), `never`. A nonce that may
//! be of a response before the recording, or in a gap of it, is no finding: on a delta stream the
//! verdicts on such responses may come at any time. Neither is the nonce of an ADS response without
//! a type URL, because the server has left the type out.
//!
//! Example:
//! ```text
//! stream 2 sotw eds
//! > v=X n=A names=[foo]
//! ```
//!
//! Advice: Keep nonces per stream and type, and forget them when the stream ends.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use super::support::{stated_reason, type_label, with_stated_error};
use crate::lint::prelude::*;
use crate::session::{RequestClass, Track};
use xdscope_wire::event::{Nonce, TypeUrl};

rule! {
    nonce-unknown: Error, rows "E-11, F-09",
    ends(Ending::Message(CorrectMessage::Ack)), about(Subject::StrayVerdict);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let is_unknown = match request.outcome.class {
        Some(RequestClass::Initial) => !request.nonce().is_empty(),
        Some(RequestClass::UnknownNonce) => true,
        _ => false,
    };
    // `ads-type-url-missing` covers a request without a type.
    if !is_unknown || request.track.type_url.is_empty() {
        return;
    }
    let Some((cause, origin)) = origin(ctx, request, &Nonce::from(request.nonce())) else { return };
    let text = with_stated_error(format!("nonce {} {origin}", request.nonce()), request);
    let draft = FindingDraft::new(Blame::Client, text, &[]);
    ctx.report(&RULE, FindingDraft { cause: Some(cause), reason: stated_reason(request), ..draft });
}

/// Returns the cause of a finding and what is known about the origin of the nonce; `None` if the
/// nonce is in order.
fn origin(
    ctx: &RuleContext<'_>,
    request: &RequestContext<'_>,
    nonce: &Nonce,
) -> Option<(&'static str, String)> {
    let type_url = &request.track.type_url;
    let issued = |track: &&Track| track.responses.find(nonce).is_some();
    let mut others =
        ctx.stream.all_tracks().filter(|track| track.type_url != *type_url && !track.type_url.is_empty());
    if let Some(other) = others.find(issued) {
        return Some(("other-type", format!("was issued for {}", type_label(&other.type_url))));
    }
    // The server has left the type out of the response: `ads-type-url-missing`.
    if ctx.stream.find(&TypeUrl::default()).as_ref().is_some_and(issued) {
        return None;
    }
    if ctx.store.engine().issued_before(ctx.stream, type_url, nonce).is_some() {
        // A failed poll ends the track, but not the session of the client.
        let origin = ("old-stream", "was issued on an earlier stream".to_owned());
        return if request.track.polled { None } else { Some(origin) };
    }
    let text = match request.sotw().is_some() && !ctx.has_full_history() {
        true => "was never issued, or before a nonce that was used already",
        false => "was never issued",
    };
    Some(("never", text.to_owned()))
}
