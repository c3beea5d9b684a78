//! A client has two aggregated streams to one server.
//!
//! Why: One stream per client is the rule: only on one stream can a server order updates. Hot restarts, several
//! channels in one process look the same. Streams for names of other authorities are meant to be apart.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > cds
//! stream 2 ads
//! > cds
//! advance 6s
//! ```
//!
//! Instead: look whether it is one client, and whether its old stream should have ended.
//!
//! Protocol: "Aggregated Discovery Service"; rows I-03, K-25.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ads-multiple-streams",
    severity: Severity::Info,
    rows: "I-03, K-25",
    source: include_str!("ads_multiple_streams.rs"),
    on: &[On::Alarm(Alarm::Settled, check)],
};

use std::collections::BTreeSet;

use crate::engine::session::{Name, Stream};
use crate::wire::content::Catalog;

/// The authorities of all names that a stream asks for (row K-25); `None` where one has none.
fn authorities<'a>(catalog: &'a Catalog, stream: &Stream) -> Option<BTreeSet<&'a str>> {
    let names = stream.tracks.iter().flat_map(|track| track.want.names.iter());
    names.map(|name| Name::parse(catalog.text(name)).map(|name| name.authority)).collect()
}

fn check(case: &mut RuleContext<'_>) {
    let named = case.stream.node.as_ref().is_some_and(|node| !node.id.is_empty());
    if !case.is_aggregated() || !named {
        return;
    }
    let own = authorities(case.catalog(), case.stream);
    let apart = |other: &Stream| match (&own, authorities(case.catalog(), other)) {
        (Some(own), Some(other)) => !own.is_empty() && !other.is_empty() && own.is_disjoint(&other),
        _ => false,
    };
    let before = case.store.engine().before(case.stream);
    let others: Vec<_> =
        before.filter(|stream| stream.closed.is_none() && !apart(stream)).map(|stream| stream.id.0).collect();
    if let Some(other) = others.first() {
        let text = format!("aggregated stream beside stream {other} of the same client, for 5s and more");
        case.raise(&RULE, Found { text, guess: true, ..Found::default() });
    }
}
