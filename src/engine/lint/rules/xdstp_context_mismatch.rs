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

use crate::lint::findings::finding::Finding;
use crate::lint::prelude::*;
use crate::session::{Track, key};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::{Name, named};

rule! {
    xdstp-context-mismatch: Error, rows "K-17, K-21",
    ends(Ending::Response), about(Subject::ContextParameters);
    checks: Response(check), Fault(has_fault)
}

/// Subscribed names to compare with the names of a response.
const MAX_COMPARED_NAMES: usize = 4096;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() || !response.track.completeness.names_known {
        return;
    }
    let (catalog, track) = (ctx.catalog(), response.track);
    let names = response.scan.structured.iter().map(|id| key(catalog, *id));
    let is_unasked = |name: &Sym| {
        let entry = track.sent.get(catalog, *name);
        !track.covers(catalog, *name, entry.as_ref()) && !ctx.was_just_unsubscribed(*name)
    };
    let unasked: Vec<Sym> = names.filter(is_unasked).collect();
    let names = with_other_context(ctx, track, &unasked);
    ctx.report_names(&RULE, Blame::Server, "requested with other context parameters", &names);
}

/// Whether the client still waits for a name that the server sent with other parameters, or the
/// server has neither removed nor replaced such a member of a glob.
fn has_fault(ctx: &RuleContext<'_>, track: &Track, finding: &Finding) -> bool {
    let catalog = ctx.catalog();
    let names = finding.names.iter().take(MAX_COMPARED_NAMES);
    let names: Vec<Sym> = names.filter_map(|name| named(catalog, name)).collect();
    let waiting = track.waiting.owed().map(|(name, _)| name).take(MAX_COMPARED_NAMES);
    !xdscope_wire::xdstp::with_other_context(catalog, waiting, &names).is_empty()
        || names.iter().any(|name| ctx.is_left(track, *name) && lacks_member(catalog, track, *name))
}

/// Whether the server has not sent the member of a subscribed glob that a name stands for: the name
/// with the parameters of the glob.
fn lacks_member(catalog: &Catalog, track: &Track, name: Sym) -> bool {
    let Some(own) = Name::parse(catalog.text(name)) else { return false };
    let member = |glob: Sym| {
        let glob = Name::parse(catalog.text(glob))?;
        let folder = glob.id.strip_suffix('*')?;
        if !own.id.starts_with(folder) || (glob.authority, glob.kind) != (own.authority, own.kind) {
            return None;
        }
        Some(Name { context: glob.context, directives: None, ..own.clone() }.canonical())
    };
    let mut members = track.subscription.globs.names().filter_map(member).peekable();
    let is_sent =
        |member: String| named(catalog, &member).is_some_and(|name| track.sent.is_present(catalog, name));
    members.peek().is_some() && !members.any(is_sent)
}

/// Returns those of the names that the client subscribes to with other context parameters.
pub(super) fn with_other_context(ctx: &RuleContext<'_>, track: &Track, names: &[Sym]) -> Vec<Sym> {
    let wanted = track.subscribed.names.iter().take(MAX_COMPARED_NAMES);
    xdscope_wire::xdstp::with_other_context(ctx.catalog(), wanted, names)
}
