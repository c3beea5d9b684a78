//! A name begins like a structured name but does not have its form.
//!
//! Why: `xdstp://AUTHORITY/TYPE/ID` needs a type and an id. Clients and servers reject names that
//! they cannot read. A percent sign begins an encoded character, so that two hexadecimal digits
//! follow.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a"]
//! ```
//!
//! Advice: Write authority, type and id. The authority may be empty.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use crate::lint::prelude::*;
use crate::lint::structured_names::{is_given, is_repeated};
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::is_malformed;

rule! {
    xdstp-malformed: Error, rows "K-02",
    ends(Ending::Content), about(Subject::MalformedName);
    checks: Request(check_request), Response(check_response)
}

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let names = bad_names(ctx, request.outcome.added.iter().copied());
    let is_given = |name: &Sym| is_given(ctx, request.track.kind, *name);
    let (given, chosen): (Vec<Sym>, Vec<Sym>) = names.into_iter().partition(is_given);
    report(ctx, Blame::Client, "", &chosen);
    report(ctx, Blame::Server, ", and a resource of the server refers to it", &given);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let sent = response.scan.structured.iter().map(|id| catalog.entry(*id).name);
    let mut names = bad_names(ctx, sent.chain(response.view.removed.iter().copied()));
    names.retain(|name| !is_repeated(ctx, response, *name));
    report(ctx, Blame::Server, "", &names);
}

fn bad_names(ctx: &RuleContext<'_>, names: impl Iterator<Item = Sym>) -> Vec<Sym> {
    names.filter(|name| is_malformed(ctx.text(*name))).collect()
}

fn report(ctx: &mut RuleContext<'_>, blame: Blame, remark: &str, names: &[Sym]) {
    if !names.is_empty() {
        let text = format!("not in the form xdstp://AUTHORITY/TYPE/ID{remark}");
        ctx.report(&RULE, FindingDraft::new(blame, text, names));
    }
}
