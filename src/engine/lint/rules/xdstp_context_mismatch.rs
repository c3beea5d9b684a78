//! A resource is delivered with other context parameters than were asked for.
//!
//! Why: Parameters are part of the name. With others it is another resource, and the one that was asked for is
//! still missing.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/my/*?node_type=ingress"]
//! < n=1 ["xdstp://a/T/my/foo"@1]
//! ```
//!
//! Instead: repeat the parameters of the request in the names of the response.
//!
//! Protocol: "xDS transport: structured names (TP1)"; rows K-17, K-21.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-context-mismatch",
    severity: Severity::Error,
    rows: "K-17, K-21",
    source: include_str!("xdstp_context_mismatch.rs"),
    on: &[On::Response(check)],
};

use crate::engine::session::{Name, Track, is_glob};
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.scan.structured.is_empty() || !case.is_certain() {
        return;
    }
    let (catalog, track) = (case.catalog(), answer.track);
    let names = answer.scan.structured.iter().map(|id| catalog.entry(*id).name);
    let other = |name: &Sym| {
        let slot = track.sent.get(catalog, *name);
        !track.covers(catalog, *name, slot.as_ref())
            && !case.just_let_go(*name)
            && near(case, track, *name).is_some()
    };
    let names: Vec<_> = names.filter(other).collect();
    if !names.is_empty() {
        let text = "asked for with other context parameters".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}

/// What is subscribed to and differs from the name in its parameters only.
pub(super) fn near(case: &RuleContext<'_>, track: &Track, name: Sym) -> Option<Sym> {
    let catalog = case.catalog();
    let own = Name::parse(catalog.text(name))?;
    track.want.names.iter().find(|wanted| {
        let text = catalog.text(*wanted);
        let Some(wanted) = Name::parse(text) else { return false };
        let path = match is_glob(text) {
            true => wanted
                .id
                .strip_suffix('*')
                .is_some_and(|dir| own.id.starts_with(dir) && own.id.len() > dir.len()),
            false => wanted.id == own.id,
        };
        path && (wanted.authority, wanted.kind) == (own.authority, own.kind) && wanted.context != own.context
    })
}
