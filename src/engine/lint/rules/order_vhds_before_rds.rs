//! A server sends a virtual host whose route configuration the client lacks.
//!
//! Why: Route configurations come before the virtual hosts that are added to them. A name that the
//! client requested itself is exempt.
//!
//! Example:
//! ```text
//! > rds sub=[r]
//! < rds n=1 [r@1]
//! > vhds sub=[*]
//! < vhds n=2 ["other/foo.com"@1]
//! ```
//!
//! Advice: Send the route configuration first.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use crate::lint::prelude::*;
use xdscope_wire::event::{Kind, Sym};

rule! {
    order-vhds-before-rds: Info, rows "H-09";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.track.kind != Some(Kind::Vhds) || !ctx.knows_all_of(&[Kind::Rds]) {
        return;
    }
    let routes = ctx.tracks_of(Kind::Rds);
    let catalog = ctx.catalog();
    let has_route = |text: &str| {
        let route = text.rsplit_once('/').and_then(|(route, _)| catalog.strings().find(route));
        let Some(route) = route else { return false };
        routes.iter().any(|(_, track)| track.sent.is_present(catalog, route))
    };
    let is_requested = |name: Sym| {
        !response.track.completeness.names_known || response.track.subscribed.names.contains(name)
    };
    let is_unknown = |name: &Sym| !is_requested(*name) && !has_route(catalog.text(*name));
    let names: Vec<Sym> = response.outcome.added.iter().copied().filter(is_unknown).collect();
    if !routes.is_empty() && !names.is_empty() {
        let text = "virtual host of a route configuration that the client does not have";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}
