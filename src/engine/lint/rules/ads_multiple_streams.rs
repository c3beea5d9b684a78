//! A client has two ADS streams to one server.
//!
//! Why: A client should have one ADS stream, because a server can order updates only within a
//! stream. A hot restart and several channels in one process look alike. Streams for names of
//! different authorities, or for names with and without one, are exempt.
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
//! Advice: Check whether both streams belong to one process, and whether the old stream should
//! have ended.
//!
//! Reference: xDS protocol, "Aggregated Discovery Service".

use std::collections::BTreeSet;

use crate::lint::prelude::*;
use crate::session::Stream;
use xdscope_wire::content::Catalog;
use xdscope_wire::xdstp::Name;

rule! {
    ads-multiple-streams: Info, rows "I-03, K-25";
    checks: Alarm(Alarm::Settled, check)
}

/// Returns the authorities of all names that a stream subscribes to; `None` stands for plain names
/// and wildcards.
///
/// docs/protocol.md#k-25
fn authorities<'a>(catalog: &'a Catalog, stream: &Stream) -> BTreeSet<Option<&'a str>> {
    let authority = |name| Name::parse(catalog.text(name)).map(|name| name.authority);
    let names = stream.tracks.iter().flat_map(|track| track.subscribed.names.iter());
    let mut all: BTreeSet<Option<&str>> = names.map(authority).collect();
    if all.is_empty() || stream.tracks.iter().any(|track| track.subscribed.may_be_wildcard()) {
        all.insert(None);
    }
    all
}

fn check(ctx: &mut RuleContext<'_>) {
    let has_id = ctx.stream.peers.node.as_ref().is_some_and(|node| !node.id.is_empty());
    if !ctx.is_aggregated() || !has_id {
        return;
    }
    let own = authorities(ctx.catalog(), ctx.stream);
    let overlaps = |other: &&Stream| !own.is_disjoint(&authorities(ctx.catalog(), other));
    let mut open = ctx.store.engine().before(ctx.stream).filter(|stream| stream.closed.is_none());
    if let Some(other) = open.find(overlaps) {
        let other = other.id.0;
        let text = format!("second ADS stream of the client, open for 5s or more beside stream {other}");
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).guessed());
    }
}
