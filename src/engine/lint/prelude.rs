//! The items that every rule uses.

pub(super) use super::alarm::Alarm;
pub(super) use super::check::Check;
pub(super) use super::context::RuleContext;
pub(super) use super::exchange::{RequestContext, ResponseContext};
pub(super) use super::finding::{Blame, FindingDraft};
pub(super) use super::rule::{CorrectMessage, Ending, Rule, Severity};
pub(super) use super::structured::ParsedName;
