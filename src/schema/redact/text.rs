//! Redaction of texts from peers.
//!
//! Examples are NACKs with an Envoy dump of a Secret, with a resource printed by Go, or with JSON.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::known::FoundSecret;
use super::{raw, shown};
use crate::secret_names::SecretNames;

/// PEM blocks of private keys, including truncated blocks and blocks with escaped line breaks.
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?s)-----BEGIN[A-Z0-9 +]*PRIVATE[ +]KEY(?:[ +]BLOCK)?-----.*?(-----END[A-Z0-9 +]*PRIVATE[ +]KEY(?:[ +]BLOCK)?-----|$)",
    )
        .expect("a pattern of ours")
});

/// Redacts a text. Returns `None` if the text has no secrets.
///
/// `known` are the places of known secrets.
pub(super) fn clean(
    text: &str,
    known: Vec<FoundSecret>,
    names: &SecretNames,
    mark: &dyn Fn(&[u8]) -> String,
) -> Option<String> {
    let mut holes: Vec<(Range<usize>, String)> = Vec::new();
    let mark_of = |place: &Range<usize>| mark(text.get(place.clone()).unwrap_or_default().as_bytes());
    for FoundSecret { place, of } in known {
        let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
        let mark = of.map_or_else(|| mark_of(&place), |(len, hash)| super::placeholder(len, hash));
        holes.push((place, mark));
    }
    for found in PEM.find_iter(text) {
        holes.push((found.range(), mark_of(&found.range())));
    }
    for place in raw::putty_keys(text.as_bytes()).filter(|place| !place.is_empty()) {
        holes.push((place.clone(), mark_of(&place)));
    }
    for place in shown::find(text.as_bytes(), names, true) {
        let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
        holes.push((place.clone(), mark_of(&place)));
    }
    join(text, holes)
}

/// Replaces parts of a text. Returns `None` if there are none.
fn join(text: &str, mut holes: Vec<(Range<usize>, String)>) -> Option<String> {
    if holes.is_empty() {
        return None;
    }
    // Merge overlapping ranges. The sort is stable, so that the placeholder of a known secret wins.
    holes.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (place, mark) in holes {
        if place.start >= at {
            out.push_str(&text[at..place.start]);
            out.push_str(&mark);
            at = place.end;
        } else {
            at = at.max(place.end);
        }
    }
    out.push_str(&text[at..]);
    Some(out)
}
