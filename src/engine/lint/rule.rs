use std::sync::OnceLock;

use super::Severity;
use super::bootstrap::{Bootstrap, Spot};
use super::clock::Alarm;
use super::context::{RequestContext, ResponseContext, RuleContext};
use super::rules::ALL;
use crate::wire::Message;
use crate::wire::event::Dir;

/// One rule of the catalog.
#[derive(Debug)]
pub struct Rule {
    /// `sotw-nonce-regression`.
    pub id: &'static str,
    pub severity: Severity,
    /// Protocol rows: `E-10`, or `E-43, F-29`.
    pub rows: &'static str,
    /// The source of the rule, whose first lines are its manual.
    pub(super) source: &'static str,
    pub(super) on: &'static [On],
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Rule {
    /// What it is, why, an example, what to do instead, and where the protocol says so. Lines of text.
    pub fn manual(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let mut out = String::new();
        for line in lines.filter(|line| !line.starts_with("```")) {
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    /// The first sentence of the manual.
    pub fn title(&self) -> &'static str {
        let first = self.source.lines().next().unwrap_or_default();
        first.trim_start_matches("//!").trim().trim_end_matches('.')
    }
}

/// What a rule listens to.
#[derive(Debug)]
pub(super) enum On {
    Open(fn(&mut RuleContext<'_>)),
    Close(fn(&mut RuleContext<'_>)),
    /// Any message, one that can't be read too.
    Message(fn(&mut RuleContext<'_>, &Message)),
    Request(fn(&mut RuleContext<'_>, &RequestContext<'_>)),
    Response(fn(&mut RuleContext<'_>, &ResponseContext<'_>)),
    Alarm(Alarm, fn(&mut RuleContext<'_>)),
    /// Something that holds no message.
    Passed(fn(&mut RuleContext<'_>, Dir)),
    /// A bootstrap, which is no session.
    Bootstrap(fn(&Bootstrap) -> Vec<Spot>),
}

/// The rules by what they listen to.
#[derive(Clone, Default)]
pub(super) struct Listeners {
    pub(super) open: Vec<fn(&mut RuleContext<'_>)>,
    pub(super) close: Vec<fn(&mut RuleContext<'_>)>,
    pub(super) message: Vec<fn(&mut RuleContext<'_>, &Message)>,
    pub(super) request: Vec<fn(&mut RuleContext<'_>, &RequestContext<'_>)>,
    pub(super) response: Vec<fn(&mut RuleContext<'_>, &ResponseContext<'_>)>,
    pub(super) passed: Vec<fn(&mut RuleContext<'_>, Dir)>,
    pub(super) alarm: Vec<(Alarm, fn(&mut RuleContext<'_>))>,
}

impl Listeners {
    pub(super) fn all() -> Listeners {
        let mut out = Listeners::default();
        for on in ALL.iter().flat_map(|rule| rule.on) {
            match on {
                On::Open(check) => out.open.push(*check),
                On::Close(check) => out.close.push(*check),
                On::Message(check) => out.message.push(*check),
                On::Request(check) => out.request.push(*check),
                On::Response(check) => out.response.push(*check),
                On::Alarm(alarm, check) => out.alarm.push((*alarm, *check)),
                On::Passed(check) => out.passed.push(*check),
                On::Bootstrap(_) => {}
            }
        }
        out
    }
}

/// The rules that are checked, worst first, then by name.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    static SORTED: OnceLock<Vec<&'static Rule>> = OnceLock::new();
    let sorted = SORTED.get_or_init(|| {
        let mut all = ALL.to_vec();
        all.sort_by_key(|rule| (std::cmp::Reverse(rule.severity), rule.id));
        all
    });
    sorted.iter().copied()
}

/// A rule by its id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.id == id)
}
