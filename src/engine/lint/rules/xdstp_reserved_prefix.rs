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

use crate::lint::prelude::*;

rule! {
    xdstp-reserved-prefix: Info, rows "K-10";
    checks: StructuredNames(check)
}

use std::borrow::Cow;

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let sign = |text: &str| text.chars().next().is_some_and(|c| !c.is_alphanumeric());
    let number = |text: &str| text.parse::<f64>().is_ok();
    let is_reserved =
        |(key, value): (Cow<'_, str>, Cow<'_, str>)| sign(&key) || (sign(&value) && !number(&value));
    let bad = names.iter().filter(|(_, name)| name.parameters().any(is_reserved));
    let names: Vec<_> = bad.map(|(sym, _)| *sym).collect();
    if !names.is_empty() {
        let text = "context parameter begins with a reserved sign".to_owned();
        ctx.report(
            &RULE,
            FindingDraft { blame, text, names: &names, guess: true, ..FindingDraft::default() },
        );
    }
}
