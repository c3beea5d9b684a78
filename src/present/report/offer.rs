use xdscope_engine::store::{MessageFact, OfferFact, OfferVerdict};
use xdscope_wire::text::{latency, shown_name};

/// Returns what a response offers and the verdict on it: `acked by #4 after 9ms`, `full state`,
/// `1 → 2`. `arrow` stands between two versions.
pub fn offer(fact: &MessageFact, arrow: &str) -> Vec<String> {
    let Some(offer) = &fact.details.offer else { return Vec::new() };
    let mut out = Vec::new();
    out.extend(offer_verdict(offer));
    out.extend(offer.is_full_state.map(|is_full| offered_set(is_full).to_owned()));
    out.extend(offer_change(offer, &fact.version, arrow));
    out
}

/// Returns the verdict on a response: `acked by #4 after 9ms`, `skipped by #6`, `pending`.
pub fn offer_verdict(offer: &OfferFact) -> Option<String> {
    let word = offer.verdict.map(OfferVerdict::word)?;
    let by = offer.by.map(|by| format!(" by #{}", by.0)).unwrap_or_default();
    let after = offer.latency.map(|time| format!(" after {}", latency(time))).unwrap_or_default();
    Some(format!("{word}{by}{after}"))
}

/// Returns whether a SotW response holds all resources of its type, or a part of them.
pub fn offered_set(is_full_state: bool) -> &'static str {
    if is_full_state { "full state" } else { "partial" }
}

/// Returns the version of the response before and this one: `1 → 2`, or `version unchanged`. `None`
/// for the first response, and for responses without a version.
pub fn offer_change(offer: &OfferFact, version: &str, arrow: &str) -> Option<String> {
    let before = offer.previous_version.as_deref()?;
    match before == version {
        true if version.is_empty() => None,
        true => Some("version unchanged".to_owned()),
        false => Some(format!("{} {arrow} {}", shown_name(before), shown_name(version))),
    }
}
