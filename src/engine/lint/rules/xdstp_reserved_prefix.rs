//! A context parameter begins with a sign.
//!
//! Why: Such prefixes are reserved, percent-encoded ones too. The proposal does not say whether
//! keys or values are meant; negative numbers are accepted.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?~k=v"]
//! ```
//!
//! Advice: Begin keys and values with a letter or a digit.
//!
//! Reference: xRFC TP1, "Context parameters".

use std::borrow::Cow;

use crate::lint::prelude::*;

rule! {
    xdstp-reserved-prefix: Info, rows "K-10";
    checks: StructuredNames(check)
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let has_sign = |text: &str| text.chars().next().is_some_and(|c| !c.is_alphanumeric());
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_reserved = |(key, value): (Cow<'_, str>, Cow<'_, str>)| {
        has_sign(&key) || (has_sign(&value) && !is_number(&value))
    };
    let bad = names.iter().filter(|(_, name)| name.parameters().any(is_reserved));
    let names: Vec<_> = bad.map(|(sym, _)| *sym).collect();
    if !names.is_empty() {
        let text = "context parameter begins with a reserved sign";
        ctx.report(&RULE, FindingDraft::new(blame, text, &names).guessed());
    }
}
