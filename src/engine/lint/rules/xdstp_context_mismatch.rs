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

use std::collections::HashMap;

use crate::engine::session::{Name, Track, is_glob, key};
use crate::wire::event::Sym;

/// Subscribed names to compare with the names of a response.
const MAX_COMPARED_NAMES: usize = 4096;

/// Authority, type and id of a name; for a glob the part of the id before the asterisk.
type NamePath<'a> = (&'a str, &'a str, &'a str);

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() || !response.track.names_known {
        return;
    }
    let (catalog, track) = (ctx.catalog(), response.track);
    let names = response.scan.structured.iter().map(|id| key(catalog, *id));
    let is_unasked = |name: &Sym| {
        let slot = track.sent.get(catalog, *name);
        !track.covers(catalog, *name, slot.as_ref()) && !ctx.was_just_unsubscribed(*name)
    };
    let unasked: Vec<Sym> = names.filter(is_unasked).collect();
    let names = with_other_context(ctx, track, &unasked);
    if !names.is_empty() {
        let text = "requested with other context parameters".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}

/// The context parameters of a name, sorted.
type Parameters<'a> = Vec<(&'a str, &'a str)>;

/// Returns those of the names that the client subscribes to with other context parameters.
pub(super) fn with_other_context(ctx: &RuleContext<'_>, track: &Track, names: &[Sym]) -> Vec<Sym> {
    if names.is_empty() {
        return Vec::new();
    }
    let catalog = ctx.catalog();
    let parsed = |name: Sym| {
        let mut name = Name::parse(catalog.text(name))?;
        name.context.sort_unstable();
        Some(name)
    };
    // By path, whether of a glob or not: the parameters, until two names of one path differ.
    let mut wanted: HashMap<(NamePath<'_>, bool), Option<Parameters<'_>>> = HashMap::new();
    for name in track.subscribed.names.iter().take(MAX_COMPARED_NAMES) {
        let Some(own) = parsed(name) else { continue };
        let is_glob = is_glob(catalog.text(name));
        let id = if is_glob { own.id.trim_end_matches('*') } else { own.id };
        let known = wanted.entry(((own.authority, own.kind, id), is_glob));
        known
            .and_modify(|known| {
                if known.as_ref().is_some_and(|known| *known != own.context) {
                    *known = None;
                }
            })
            .or_insert(Some(own.context));
    }
    let differs = |name: &Sym| {
        let Some(own) = parsed(*name) else { return false };
        let above = own.id.match_indices('/').map(|(at, _)| own.id.split_at(at + 1));
        let above = above.filter(|(_, rest)| !rest.is_empty()).map(|(dir, _)| (dir, true));
        std::iter::once((own.id, false)).chain(above).any(|(id, is_glob)| {
            let known = wanted.get(&((own.authority, own.kind, id), is_glob));
            known.is_some_and(|known| known.as_ref() != Some(&own.context))
        })
    };
    names.iter().copied().filter(differs).collect()
}
