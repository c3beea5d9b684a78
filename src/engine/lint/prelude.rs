//! The items that every rule uses.

pub(super) use super::alarm::Alarm;
pub(super) use super::context::RuleContext;
pub(super) use super::exchange::{RequestContext, ResponseContext};
pub(super) use super::rule::{CorrectMessage, Ending, Rule, Sentence, Severity, Subject};
pub(super) use super::structured::ParsedName;
pub(super) use crate::lint::findings::finding::{Blame, FindingDraft};
pub(super) use crate::lint::rule::check::Check;
