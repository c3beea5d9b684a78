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

use crate::lint::prelude::*;

rule! {
    nonce-unknown: Error, rows "E-11, F-09",
    ends(Ending::Message(CorrectMessage::Ack)), about(Subject::StrayVerdict);
    checks: Request(check)
}

use crate::session::{RequestClass, Track};
use xdscope_wire::event::{Nonce, TypeUrl};

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let class = match request.outcome.class {
        Some(RequestClass::Initial) => !request.nonce().is_empty(),
        Some(RequestClass::UnknownNonce) => true,
        _ => false,
    };
    // `ads-type-url-missing` covers a request without a type.
    if !class || request.track.type_url.is_empty() {
        return;
    }
    let nonce = Nonce::from(request.nonce());
    let issued = |track: &&Track| track.responses.find(&nonce).is_some();
    let others = ctx.stream.all_tracks().filter(|track| track.type_url != request.track.type_url);
    let other = others.filter(|track| !track.type_url.is_empty()).find(issued);
    // The server has left the type out of the response: `ads-type-url-missing`.
    if other.is_none() && ctx.stream.find(&TypeUrl::default()).as_ref().is_some_and(issued) {
        return;
    }
    let (cause, text) = if let Some(other) = other {
        (
            "other-type",
            format!("nonce {nonce} was issued for {}", super::support::type_label(&other.type_url)),
        )
    } else if ctx.store.engine().issued_before(ctx.stream, &request.track.type_url, &nonce).is_some() {
        // A failed poll ends the track, but not the session of the client.
        if request.track.polled {
            return;
        }
        ("old-stream", format!("nonce {nonce} was issued on an earlier stream"))
    } else if request.sotw().is_some() && !ctx.has_full_history() {
        ("never", format!("nonce {nonce} was never issued, or before a nonce that was used already"))
    } else {
        ("never", format!("nonce {nonce} was never issued"))
    };
    let text = super::support::with_stated_error(text, request);
    let reason = super::support::stated_reason(request);
    ctx.report(&RULE, FindingDraft { text, cause: Some(cause), reason, ..FindingDraft::default() });
}
