//! A resource is named in two spellings.
//!
//! Why: The order of context parameters is irrelevant, and so is the percent-encoding of characters
//! that need none. Peers that compare names as text see two resources.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?a=1&b=2" "xdstp://a/T/x?b=2&a=1"]
//! ```
//!
//! Advice: Write the parameters in one order, and encode only delimiters.
//!
//! Reference: xRFC TP1, "Normalization".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    xdstp-name-variant: Info, rows "K-08";
    checks: StructuredNames(check)
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let catalog = ctx.catalog();
    let without_directives = |name| catalog.text(name).split('#').next();
    let is_variant = |name: &Sym| {
        let first = catalog.first_spelling(*name);
        without_directives(first) != without_directives(*name) && !ctx.state.requests.spellings.contains(name)
    };
    let mut variants: Vec<Sym> = names.iter().map(|(name, _)| *name).filter(is_variant).collect();
    variants.dedup();
    ctx.report_names(&RULE, blame, "another spelling of the same resource", &variants);
}
