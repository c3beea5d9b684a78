//! The items that every rule uses.

pub(super) use super::alarm::Alarm;
pub(super) use super::context::RuleContext;
pub(super) use super::exchange::{RequestContext, ResponseContext};
pub(super) use super::rule::{CorrectMessage, Ending, Rule, Sentence, Severity, Subject};
pub(super) use super::structured::ParsedName;
pub(super) use crate::lint::findings::finding::{Blame, FindingDraft};
pub(super) use crate::lint::rule::check::Check;

/// Declares the rule of a file, and its checks.
///
/// The id is the name of the file, with hyphens; the manual is the first comment of the file.
/// Further properties, such as `ends(Ending::State)`, are methods of [`Rule`]. Each check is a
/// [`Check`].
macro_rules! rule {
    (
        $first:ident $(- $part:tt)*: $severity:ident, rows $rows:literal $(, $property:ident($value:expr))*;
        checks: $($check:ident($($argument:expr),+)),+
    ) => {
        pub(super) static RULE: Rule = Rule::new(
            Severity::$severity,
            concat!(stringify!($first) $(, "-", stringify!($part))*),
            $rows,
            include_str!(concat!(stringify!($first) $(, "_", stringify!($part))*, ".rs")),
        )
        $(.$property($value))*;

        pub(super) static CHECKS: &[Check] = &[$(Check::$check($($argument),+)),+];
    };
}
pub(super) use rule;
