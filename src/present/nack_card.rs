//! The card of a group of NACKs: labels and texts, for the NACK screen and the report.

use std::borrow::Cow;

use jiff::tz::TimeZone;

use crate::nack_effect::nack_effect_text;
use crate::partial_use::partial_use_text;
use crate::report::{self, Role};
use xdscope_engine::nack::{
    Extracted, FieldRules, InUse, NackGroup, NackReport, RefusedResource, without_long_dumps,
};
use xdscope_engine::store::{NackFact, Verdict, WarmingFact};
use xdscope_schema::owners::Owner;
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{count, display_safe, latency, plural, shown_name, time_of_day};

/// Owners of refused resources on a card.
const MAX_OWNER_LINES: usize = 3;
/// Warming resources on a card.
const MAX_SHOWN_WARMING: usize = 3;

/// A labelled text of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardLine {
    /// The label.
    pub label: &'static str,
    /// The text.
    pub text: String,
    /// How the text looks.
    pub role: Role,
}

/// A group with its report, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct NackCard<'a> {
    /// The NACKs.
    pub group: &'a NackGroup,
    /// The report on them.
    pub report: &'a NackReport,
    /// Resources of the type that warm now.
    pub warming: &'a [WarmingFact],
    /// The clock of the source.
    pub clock: Clock,
    /// The time of the view.
    pub now: Time,
    /// The zone of times of day.
    pub zone: &'a TimeZone,
}

/// Returns the words of the client, without long dumps.
pub fn nack_message(nack: &NackFact) -> Cow<'_, str> {
    match (nack.implied, nack.message.trim_end()) {
        (true, _) => {
            "(refused by its version alone: without error_detail, current servers do not see a NACK)".into()
        }
        (false, "") => "(the client gave no reason)".into(),
        (false, text) => without_long_dumps(text),
    }
}

/// Whether a NACK has a text in which the client could name a field.
pub fn has_text(nack: &NackFact) -> bool {
    !nack.implied && !nack.message.trim().is_empty()
}

/// Returns the version that the client keeps; the versions in force of the first refused resources
/// on a delta stream, or if the client has accepted a later response. Empty if there is none.
pub fn kept_version(group: &NackGroup) -> String {
    match (&group.kept, &group.refused) {
        (Some(kept), _) if !kept.is_empty() => report::versions_of(kept),
        (_, Some(refused)) => report::kept_version(refused),
        (Some(_), None) => String::new(),
        (None, None) => group.in_force.as_deref().unwrap_or_default().to_owned(),
    }
}

/// Returns the refused version, or the refused names if there is none.
pub fn refused_version(group: &NackGroup) -> String {
    let version = group.last().map(report::refused_version).filter(|version| !version.is_empty());
    version.or_else(|| group.refused.as_ref().map(report::refused_names)).unwrap_or_default()
}

impl NackCard<'_> {
    /// Returns resources and fields at fault, the constraints, and the effects on traffic.
    pub fn faults(&self) -> Vec<CardLine> {
        let mut lines = Lines(Vec::new());
        let card = self.report;
        let text = self.group.last().map(nack_message).unwrap_or_default();
        let has_text = self.group.last().is_some_and(has_text);
        for entry in &card.nack.entries {
            match &entry.name {
                Some(name) => lines.add(
                    "resource",
                    found(name, "named in the text", "guessed from the push"),
                    role(name),
                ),
                None if has_text => lines.add("resource", "not named in the text", Role::Muted),
                None => {}
            }
            match &entry.field {
                Some(path) => {
                    lines.add("field", found(path, "from the text", "guessed from the content"), role(path))
                }
                None if has_text => lines.add("field", "not named in the text", Role::Muted),
                None => {}
            }
            let has_reason = !entry.reason.trim().is_empty();
            // The text above has the only reason already.
            let is_new = card.nack.entries.len() > 1 || !text.contains(entry.reason.trim());
            if has_text && has_reason && is_new {
                lines.add("why", entry.reason.as_str(), Role::Plain);
            }
        }
        let owners: Vec<&Owner> = card.subjects.iter().flat_map(|subject| &subject.owners).collect();
        for owner in owners.iter().take(MAX_OWNER_LINES) {
            lines.add("owner", report::owner_line(owner), Role::Plain);
        }
        if let Some(more) = owners.len().checked_sub(MAX_OWNER_LINES).filter(|more| *more > 0) {
            lines.add("owner", format!("and {more} more"), Role::Muted);
        }
        // A broken constraint that the NACK names says more than the rule.
        let names_broken = |subject: &RefusedResource| subject.broken.listed.iter().any(|of| of.is_named);
        for subject in card.subjects.iter().filter(|subject| !names_broken(subject)) {
            let Some(FieldRules { field, rules }) = &subject.rules else { continue };
            let field = field.rsplit('.').next().unwrap_or_default();
            for rule in rules {
                lines.add("rule", format!("{rule}   of {field}, by the descriptors"), Role::Plain);
            }
        }
        for effect in &card.effects {
            let role = match effect.in_use {
                InUse::Nothing => Role::Bad,
                InUse::Earlier(_) | InUse::Unknown => Role::Plain,
                InUse::Later | InUse::Gone(_) => Role::Muted,
            };
            lines.add("effect", nack_effect_text(effect), role);
        }
        for subject in &card.subjects {
            for text in report::constraints_of_nack(&subject.broken, has_text) {
                let of = match card.subjects.len() {
                    2.. => format!("   of {}", subject.name.value),
                    _ => String::new(),
                };
                lines.add("breaks", format!("{text}{of}"), Role::Warn);
            }
        }
        lines.0
    }

    /// Returns the last good version, repeats, the rest of the push, and the recovery.
    pub fn history(&self) -> Vec<CardLine> {
        let (card, group) = (self.report, self.group);
        let mut lines = Lines(Vec::new());
        for subject in &card.subjects {
            let (text, role) = self.last_good(subject);
            lines.add("last good", text, role);
        }
        let numbers = |list: Vec<u64>| list.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(" ");
        let pushes = numbers(group.nacks.iter().filter_map(|nack| nack.refused).map(|n| n.0).collect());
        let pushes = if pushes.is_empty() { "before the recording" } else { &pushes };
        let refusals = numbers(group.nacks.iter().map(|nack| nack.n.0).collect());
        lines.add("messages", format!("pushed {pushes}   refused {refusals}"), Role::Plain);
        if let Some(text) = group.nacks.iter().rev().find_map(report::other_refusal) {
            lines.add("or", text, Role::Warn);
        }
        if group.nacks.len() > 1 {
            lines.add("loop", self.repeats(), Role::Warn);
        }
        if let Some(pushed) = card.pushed {
            let others = card.others.filter(|others| *others > 0);
            let others = others.map(|n| format!("; the text does not mention the other {}", count(n)));
            let text = format!("{}{}", plural(pushed, "resource"), others.unwrap_or_default());
            lines.add("push", text, Role::Plain);
        }
        if let Some(partial_use) = card.partial_use {
            lines.add("partly", partial_use_text(partial_use, card.is_delta), Role::Warn);
        }
        for warming in self.warming.iter().take(MAX_SHOWN_WARMING) {
            let now = (!self.clock.untimed).then_some(self.now);
            lines.add("warming", display_safe(&report::warming(warming, now)), Role::Warn);
        }
        let (text, role) = self.recovery();
        lines.add("recovery", text, role);
        lines.0
    }

    /// The last good version of a resource, and its acknowledgement.
    fn last_good(&self, subject: &RefusedResource) -> (String, Role) {
        let name = &subject.name.value;
        let Some((version, _)) = &subject.good else {
            let text = match &subject.in_use {
                InUse::Earlier(version) if !version.is_empty() => {
                    format!("not seen: the client has version {version} from before")
                }
                InUse::Earlier(_) => "not seen: the client has a version from before".to_owned(),
                InUse::Unknown => "not known: the start of the stream was not recorded".to_owned(),
                InUse::Nothing | InUse::Later | InUse::Gone(_) => format!("none: no ACK of {name} was seen"),
            };
            return (text, Role::Muted);
        };
        let by = version.verdict.filter(|by| by.verdict == Verdict::Accepted);
        let by = by.map(|by| format!(", acked {} (#{})", time_of_day(by.at, self.clock, self.zone), by.n.0));
        let on = subject.good_stream.map(|stream| format!(" on the earlier stream #{}", stream.0));
        (format!("{name} {}{}{}", version.version, by.unwrap_or_default(), on.unwrap_or_default()), Role::Ok)
    }

    /// The number of refusals, the time between them, and what the server does about them.
    fn repeats(&self) -> String {
        let card = self.report;
        let gaps: Vec<String> = card.gaps.iter().take(12).map(|gap| latency(*gap)).collect();
        let gaps = if gaps.is_empty() { String::new() } else { format!(", {} apart", gaps.join(" ")) };
        let error = if card.same_error { "error identical" } else { "errors differ" };
        let server = match card.same_push {
            Some(true) => "The server re-sends what was refused.",
            Some(false) => "The server changed something in between.",
            None => "",
        };
        let times = count(self.group.nacks.len() as u64);
        format!("refused {times} times{gaps}, {error}. {server}").trim_end().to_owned()
    }

    /// Returns the ACK that ended the refusals, or the version in force while there is none.
    pub fn recovery(&self) -> (String, Role) {
        if let Some(fact) = &self.report.recovery {
            let at = time_of_day(fact.at, self.clock, self.zone);
            let version =
                if fact.version.is_empty() { String::new() } else { format!(" of {}", fact.version) };
            return (format!("ACK{version} by #{} at {at}", fact.n.0), Role::Ok);
        }
        if self.group.is_mended {
            return ("a later version was accepted".to_owned(), Role::Ok);
        }
        if self.group.is_settled_later {
            return ("over: the client has reconnected since".to_owned(), Role::Muted);
        }
        if !self.group.is_open {
            return ("over: the client gave up the refused resources".to_owned(), Role::Muted);
        }
        (format!("none yet; {}", self.in_use()), Role::Bad)
    }

    /// The version that the client uses, of the first resource that it refuses or of the type.
    fn in_use(&self) -> String {
        let shown =
            |version: &str| if version.is_empty() { "(no version)".to_owned() } else { version.to_owned() };
        let unknown = || "what is in force was not recorded".to_owned();
        if let Some(refused) = &self.group.refused {
            let name = shown_name(&refused.name);
            return match &refused.in_force {
                Some(version) => format!("{name} {} is in force", shown(version)),
                None if !refused.knows_in_force => unknown(),
                None => format!("no version of {name} is in force"),
            };
        }
        let is_unseen = self.group.last().is_some_and(|nack| nack.refused.is_none());
        let is_unknown = || self.report.effects.iter().any(|effect| effect.in_use == InUse::Unknown);
        match &self.group.in_force {
            Some(version) => format!("{} is in force", shown(version)),
            None if is_unseen || is_unknown() => unknown(),
            None => "nothing is in force on this stream".to_owned(),
        }
    }
}

/// The lines of a card.
struct Lines(Vec<CardLine>);

impl Lines {
    fn add(&mut self, label: &'static str, text: impl AsRef<str>, role: Role) {
        self.0.push(CardLine { label, text: text.as_ref().to_owned(), role });
    }
}

fn role(found: &Extracted) -> Role {
    if found.guessed { Role::Warn } else { Role::Plain }
}

fn found(found: &Extracted, stated: &str, guessed: &str) -> String {
    match found.guessed {
        false => format!("{}   {stated}", found.value),
        true => format!("{} ?   {guessed}", found.value),
    }
}
