//! A structured name has an asterisk elsewhere than in its last segment.
//!
//! Why: Only a final `/*` is a glob. Elsewhere the asterisk is an ordinary character, which is
//! rarely meant.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*/y"]
//! ```
//!
//! Advice: Move the asterisk to the end, or use another character.
//!
//! Reference: xRFC TP1, "Glob".

use crate::lint::prelude::*;

rule! {
    xdstp-glob-bad: Warn, rows "K-18",
    ends(Ending::Content);
    checks: StructuredNames(check)
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let is_bad = |id: &str| id != "*" && id.strip_suffix("/*").unwrap_or(id).contains('*');
    let names: Vec<_> = names.iter().filter(|(_, name)| is_bad(name.id)).map(|(sym, _)| *sym).collect();
    ctx.report_names(&RULE, blame, "asterisk elsewhere than in the last segment", &names);
}
