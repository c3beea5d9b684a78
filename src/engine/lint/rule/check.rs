//! Checks of rules, by the event that they listen to.

use crate::lint::alarm::Alarm;
use crate::lint::bootstrap::{Bootstrap, BootstrapProblem};
use crate::lint::context::RuleContext;
use crate::lint::exchange::{RequestContext, ResponseContext};
use crate::lint::findings::finding::{Blame, Finding};
use crate::lint::structured::ParsedName;
use crate::session::Track;
use xdscope_wire::Message;
use xdscope_wire::event::Dir;

/// A function of a rule, by the event that it checks.
#[derive(Debug)]
pub(crate) enum Check {
    Open(fn(&mut RuleContext<'_>)),
    Close(fn(&mut RuleContext<'_>)),
    /// Any message, including undecodable ones.
    Message(fn(&mut RuleContext<'_>, &Message)),
    Request(fn(&mut RuleContext<'_>, &RequestContext<'_>)),
    Response(fn(&mut RuleContext<'_>, &ResponseContext<'_>)),
    /// Structured names that a request adds or a response delivers, with the side that sent them.
    StructuredNames(StructuredNamesCheck),
    Alarm(Alarm, fn(&mut RuleContext<'_>)),
    /// A frame without a message.
    Passed(fn(&mut RuleContext<'_>, Dir)),
    /// A finding that a response which the client accepts may have ended.
    Fault(HasFault),
    /// A finding that a response of any type which the client accepts may have ended.
    ClientFault(HasClientFault),
    /// A bootstrap file.
    Bootstrap(fn(&Bootstrap) -> Vec<BootstrapProblem>),
}

/// A check of structured names.
type StructuredNamesCheck = fn(&mut RuleContext<'_>, Blame, &[ParsedName<'_>]);

/// Whether a resource of a finding still breaks the rule, as far as the track goes.
pub(crate) type HasFault = fn(&RuleContext<'_>, &Track, &Finding) -> bool;

/// Whether a resource of a finding still breaks the rule, in all types of the client.
pub(crate) type HasClientFault = fn(&RuleContext<'_>, &Finding) -> bool;

/// A check that runs when an alarm is due.
type AlarmCheck = fn(&mut RuleContext<'_>);

/// Checks by the event that they listen to.
#[derive(Clone, Default)]
pub(crate) struct Checks {
    pub(crate) open: Vec<fn(&mut RuleContext<'_>)>,
    pub(crate) close: Vec<fn(&mut RuleContext<'_>)>,
    pub(crate) message: Vec<fn(&mut RuleContext<'_>, &Message)>,
    pub(crate) request: Vec<fn(&mut RuleContext<'_>, &RequestContext<'_>)>,
    pub(crate) response: Vec<fn(&mut RuleContext<'_>, &ResponseContext<'_>)>,
    pub(crate) structured_names: Vec<StructuredNamesCheck>,
    pub(crate) passed: Vec<fn(&mut RuleContext<'_>, Dir)>,
    pub(crate) alarm: Vec<(Alarm, AlarmCheck)>,
}

impl Checks {
    pub(crate) fn new(checks: impl Iterator<Item = &'static Check>) -> Checks {
        let mut out = Checks::default();
        for check in checks {
            match check {
                Check::Open(check) => out.open.push(*check),
                Check::Close(check) => out.close.push(*check),
                Check::Message(check) => out.message.push(*check),
                Check::Request(check) => out.request.push(*check),
                Check::Response(check) => out.response.push(*check),
                Check::Alarm(alarm, check) => out.alarm.push((*alarm, *check)),
                Check::StructuredNames(check) => out.structured_names.push(*check),
                Check::Passed(check) => out.passed.push(*check),
                Check::Fault(_) | Check::ClientFault(_) | Check::Bootstrap(_) => {}
            }
        }
        out
    }

    /// Hands the structured names of a message to the checks, unless there are none.
    pub(crate) fn check_names(&self, ctx: &mut RuleContext<'_>, sender: Blame, names: &[ParsedName<'_>]) {
        if names.is_empty() {
            return;
        }
        for check in &self.structured_names {
            check(ctx, sender, names);
        }
    }
}
