//! The catalog of rules: look-up by id, and the checks of all rules.

use std::sync::OnceLock;

use super::check::{Check, Checks, HasClientFault, HasFault};
use crate::lint::bootstrap::{Bootstrap, BootstrapProblem};
use crate::lint::findings::finding::{Blame, Finding};
use crate::lint::rule::Rule;
use crate::lint::rules::ALL;
use xdscope_wire::event::{StreamId, Time, TypeUrl};

/// Findings of one rule in one bootstrap.
const MAX_PROBLEMS_PER_RULE: usize = 100;

/// Returns all rules, worst first, then by id.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    static SORTED: OnceLock<Vec<&'static Rule>> = OnceLock::new();
    let sorted = SORTED.get_or_init(|| {
        let mut all: Vec<&'static Rule> = ALL.iter().map(|(rule, _)| *rule).collect();
        all.sort_by_key(|rule| (std::cmp::Reverse(rule.severity), rule.id));
        all
    });
    sorted.iter().copied()
}

/// Returns the rule of that id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    ALL.iter().map(|(rule, _)| *rule).find(|rule| rule.id == id)
}

/// Returns the checks of all rules.
pub(crate) fn checks() -> Checks {
    Checks::new(ALL.iter().flat_map(|(_, checks)| checks.iter()))
}

/// Returns the check whether findings of a rule last, if the rule has one.
pub(crate) fn fault_check(rule: &Rule) -> Option<HasFault> {
    fault_checks(rule).find_map(|check| match check {
        Check::Fault(has_fault) => Some(*has_fault),
        _ => None,
    })
}

/// Returns the check whether findings of a rule about several types of a client last, if the rule
/// has one.
pub(crate) fn client_fault_check(rule: &Rule) -> Option<HasClientFault> {
    fault_checks(rule).find_map(|check| match check {
        Check::ClientFault(has_fault) => Some(*has_fault),
        _ => None,
    })
}

/// Whether a rule has a check whether its findings last.
pub(crate) fn has_fault_check(rule: &Rule) -> bool {
    fault_checks(rule).next().is_some()
}

/// Returns the checks whether findings of a rule last. Few rules have one, and messages ask often.
fn fault_checks(rule: &Rule) -> impl Iterator<Item = &'static Check> {
    static CHECKS: OnceLock<Vec<(&'static str, &'static Check)>> = OnceLock::new();
    let all = CHECKS.get_or_init(|| {
        let all = ALL.iter().flat_map(|(rule, checks)| checks.iter().map(|check| (rule.id, check)));
        all.filter(|(_, check)| matches!(check, Check::Fault(_) | Check::ClientFault(_))).collect()
    });
    all.iter().filter(move |(id, _)| *id == rule.id).map(|(_, check)| *check)
}

/// Returns the checks of one rule.
#[cfg(test)]
pub(crate) fn checks_of(id: &str) -> &'static [Check] {
    ALL.iter().find(|(rule, _)| rule.id == id).map_or(&[], |(_, checks)| checks)
}

impl Bootstrap {
    /// Checks the bootstrap against the rules about bootstraps.
    pub fn findings(&self) -> Vec<Finding> {
        let mut out = Vec::new();
        for (rule, checks) in ALL {
            let checks = checks.iter().filter_map(|check| match check {
                Check::Bootstrap(check) => Some(check),
                _ => None,
            });
            let problems = checks.flat_map(|check| check(self)).take(MAX_PROBLEMS_PER_RULE);
            out.extend(problems.map(|problem| finding(rule, problem)));
        }
        out
    }
}

fn finding(rule: &'static Rule, problem: BootstrapProblem) -> Finding {
    Finding {
        rule,
        severity: rule.severity,
        cause: None,
        reason: None,
        blame: Blame::Client,
        caused_by: None,
        stream: StreamId(0),
        node: None,
        type_url: TypeUrl::default(),
        names: Vec::new(),
        at: None,
        messages: Vec::new(),
        first: Time::ZERO,
        last: Time::ZERO,
        count: 1,
        intervals: None,
        text: problem.text,
        over: None,
        guess: false,
        varies: false,
        place: Some(problem.place.into()),
    }
}
