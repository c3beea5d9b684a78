//! A virtual host is sent for a route configuration that the client does not have.
//!
//! Why: Route configurations come before the virtual hosts that are added to them.
//!
//! Example:
//! ```text
//! > rds sub=[r]
//! < rds n=1 [r@1]
//! > vhds sub=["other/foo.com"]
//! < vhds n=2 ["other/foo.com"@1]
//! ```
//!
//! Instead: send the route configuration first.
//!
//! Protocol: "Eventual consistency considerations"; row H-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "order-vhds-before-rds",
    severity: Severity::Info,
    rows: "H-09",
    source: include_str!("order_vhds_before_rds.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::{Kind, Sym};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.track.kind != Some(Kind::Vhds) || !case.is_certain() {
        return;
    }
    let routes = case.tracks_of(Kind::Rds);
    let catalog = case.catalog();
    let here = |text: &str| {
        let route = text.rsplit_once('/').and_then(|(route, _)| catalog.strings().find(route));
        route.is_some_and(|route| routes.iter().any(|(_, track)| track.sent.is_present(catalog, route)))
    };
    let unknown = |name: &&Sym| !here(catalog.text(**name));
    let names: Vec<Sym> = answer.outcome.added.iter().filter(unknown).copied().collect();
    if !routes.is_empty() && !names.is_empty() {
        let text = "virtual host of a route configuration that the client does not have".to_owned();
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, names: &names, guess: true, ..Found::default() },
        );
    }
}
