//! A nonce that was never issued for this type on this stream.
//!
//! Why: A nonce means something only on its own stream, and on ADS only for its own type. It dies with the
//! stream. Causes: `other-type` (issued for another type), `old-stream` (issued on an earlier stream), `never`.
//!
//! Example:
//! ```text
//! stream 2 sotw eds
//! > v=X n=A names=[foo]
//! ```
//!
//! Instead: keep nonces per stream and type, and forget them when the stream ends.
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows E-11, F-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nonce-unknown",
    severity: Severity::Error,
    rows: "E-11, F-09",
    source: include_str!("nonce_unknown.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::RequestClass;
use crate::wire::event::Nonce;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let class = match asking.outcome.class {
        Some(RequestClass::Initial) => !asking.nonce().is_empty(),
        Some(RequestClass::UnknownNonce) => true,
        _ => false,
    };
    if !class || !case.is_certain() {
        return;
    }
    let nonce = Nonce::from(asking.nonce());
    let issued = |track: &&crate::engine::session::Track| track.responses.find(&nonce).is_some();
    let mut others = case.stream.tracks.iter().filter(|track| track.type_url != asking.track.type_url);
    let mut before = case.store.engine().before(case.stream).filter_map(|s| s.find(&asking.track.type_url));
    let (cause, text) = if let Some(other) = others.find(issued) {
        ("other-type", format!("nonce {nonce} was issued for {}", super::label(&other.type_url)))
    } else if before.any(|track| issued(&track)) {
        ("old-stream", format!("nonce {nonce} was issued on an earlier stream"))
    } else {
        ("never", format!("nonce {nonce} was never issued"))
    };
    case.raise(&RULE, Found { text, cause: Some(cause), ..Found::default() });
}
