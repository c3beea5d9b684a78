//! A server sends a resource with other context parameters than requested.
//!
//! Why: Context parameters are part of the name. With others the name is another resource, and the
//! requested one is missing.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/my/*?node_type=ingress"]
//! < n=1 ["xdstp://a/T/my/foo"@1]
//! ```
//!
//! Advice: Repeat the parameters of the request in the names of the response.
//!
//! Reference: xRFC TP1, "Collections".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Error,
    "xdstp-context-mismatch",
    "K-17, K-21",
    include_str!("xdstp_context_mismatch.rs"),
);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use crate::engine::session::{Name, Track, is_glob, key};
use crate::wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() || !ctx.has_full_history() {
        return;
    }
    let (catalog, track) = (ctx.catalog(), response.track);
    let names = response.scan.structured.iter().map(|id| key(catalog, *id));
    let other = |name: &Sym| {
        let slot = track.sent.get(catalog, *name);
        !track.covers(catalog, *name, slot.as_ref())
            && !ctx.was_just_unsubscribed(*name)
            && near(ctx, track, *name).is_some()
    };
    let names: Vec<_> = names.filter(other).collect();
    if !names.is_empty() {
        let text = "requested with other context parameters".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}

/// Returns the subscribed name that differs in its context parameters only.
pub(super) fn near(ctx: &RuleContext<'_>, track: &Track, name: Sym) -> Option<Sym> {
    let catalog = ctx.catalog();
    let own = Name::parse(catalog.text(name))?;
    track.subscribed.names.iter().find(|wanted| {
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
