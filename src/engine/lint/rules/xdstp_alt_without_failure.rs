//! An alternative is asked for while the resource that it stands in for can be had.
//!
//! Why: `alt=` in a locator names what to ask for when the source of the first is out of reach. A stream on which the client
//! asks for the first one is open and was answered.
//!
//! Example:
//! ```text
//! < cds n=1 [c{eds: "xdstp://a/T/foo#alt=xdstp://b/T/bar"}@1]
//! > eds sub=["xdstp://a/T/foo"]
//! > eds sub=["xdstp://b/T/bar"]
//! ```
//!
//! Instead: turn to the alternative when the source of the first fails, and only then.
//!
//! Protocol: "xDS transport: locators and failover (TP1)"; row K-29.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-alt-without-failure",
    severity: Severity::Info,
    rows: "K-29",
    source: include_str!("xdstp_alt_without_failure.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::Name;
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if case.world.alternatives.is_empty() || asking.outcome.added.is_empty() {
        return;
    }
    let names = super::structured(case, &asking.outcome.added);
    let early = names.iter().filter(|(_, name)| {
        let primary = case.world.alternatives.get(&name.canonical());
        primary.is_some_and(|primary| is_healthy(case, primary))
    });
    let names: Vec<Sym> = early.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = "an alternative, and the stream of what it stands in for is healthy".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}

/// The client asks for the name on a stream that is open and has been answered.
fn is_healthy(case: &RuleContext<'_>, canonical: &str) -> bool {
    let (catalog, node) = (case.catalog(), case.stream.node_id.as_ref());
    let same = |name: Sym| Name::parse(catalog.text(name)).is_some_and(|name| name.canonical() == canonical);
    let mut open = case.store.engine().streams().iter().filter(|stream| {
        let own = stream.id == case.stream.id || (node.is_some() && stream.node_id.as_ref() == node);
        own && stream.closed.is_none() && stream.tracks.iter().any(|track| track.traffic.pushes > 0)
    });
    open.any(|stream| stream.tracks.iter().any(|track| track.want.names.iter().any(same)))
}
