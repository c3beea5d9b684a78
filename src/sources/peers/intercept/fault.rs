use std::time::Duration;

use super::action::{Action, OPTION_FORMS};
use super::contents::WireContents;
use super::error::FaultError;
use super::library::{expand, named};
use super::possible;
use xdscope_engine::filter::{Filter, WireStream};
use xdscope_engine::store::MessageFact;
use xdscope_wire::event::Time;
use xdscope_wire::text::parse_duration;

/// Which of the matching messages a fault acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Trigger {
    nth: Option<u64>,
    every: Option<u64>,
    after: Option<Duration>,
    times: Option<u64>,
    probability: Option<f64>,
}

/// `EXPR => ACTION`.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    text: String,
    pub(super) filter: Filter,
    pub(super) action: Action,
    trigger: Trigger,
    /// When the fault is in force, counted from the start of the run.
    stage: Option<PlanStage>,
    matches: u64,
    fired: u64,
}

/// A part of a run: its begin and its end after the first message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlanStage {
    pub(super) begin: Duration,
    pub(super) end: Duration,
}

/// The faults of a run, with what they have counted.
///
/// Faults are tried in order, and the first that acts on a message is the only one.
#[derive(Clone, Debug, Default)]
pub struct FaultSet {
    pub(super) faults: Vec<Fault>,
    random: u64,
    start: Option<Time>,
    /// The length of the fault plan.
    pub(super) plan: Option<Duration>,
}

/// A fault that acts on a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Fired {
    /// The fault, as `fault 1: type:cds => drop`.
    pub by: String,
    /// The action.
    pub action: Action,
}

impl Fault {
    /// Reads a fault: a filter, `=>` and an action, or the name of a known fault.
    fn parse(text: &str, stage: Option<PlanStage>) -> Result<Fault, FaultError> {
        let own = text.split_once("=>").map_or(text, |(_, action)| action);
        check_options(&words(own)?)?;
        let expanded = if text.contains("=>") { None } else { Some(expand(&words(text)?)?) };
        let (filter, action) =
            expanded.as_deref().unwrap_or(text).split_once("=>").ok_or(FaultError::NoArrow)?;
        if let Some(option) = option_among(filter) {
            return Err(FaultError::OptionBeforeArrow(option.to_owned()));
        }
        let filter = Filter::parse(filter.trim())?;
        filter.check_wire()?;
        let mut words = words(action)?;
        let mut trigger = Trigger::default();
        while let Some((word, is_quoted)) = words.last()
            && words.len() > 1
            && !is_quoted
            && trigger.read(word)?
        {
            words.pop();
        }
        let words: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
        let action = Action::parse(&words).map_err(|error| named_arguments(text, &expanded, error))?;
        possible::check(&filter, &action)?;
        if let (Some(nth), Some(every)) = (trigger.nth, trigger.every)
            && !nth.is_multiple_of(every)
        {
            return Err(FaultError::NeverDue { nth, every });
        }
        let is_late = |stage: PlanStage| trigger.after.is_some_and(|after| after >= stage.end - stage.begin);
        if stage.is_some_and(is_late) {
            return Err(FaultError::AfterStage);
        }
        Ok(Fault { text: text.trim().to_owned(), filter, action, trigger, stage, matches: 0, fired: 0 })
    }
}

impl Fault {
    /// Returns the fault with its number: `fault 1: type:cds => drop`.
    pub(super) fn title(&self, index: usize) -> String {
        format!("fault {}: {}", index + 1, self.text)
    }
}

impl PlanStage {
    const ALWAYS: PlanStage = PlanStage { begin: Duration::ZERO, end: Duration::MAX };
}

impl Trigger {
    /// Reads one option, unless it is set. Returns false if the word is not one.
    fn read(&mut self, word: &str) -> Result<bool, FaultError> {
        let Some((name, value)) = word.split_once('=') else { return Ok(false) };
        let form = OPTION_FORMS.iter().find(|form| form.split('=').next() == Some(name));
        let Some(form) = form else { return Ok(false) };
        let wrong = || FaultError::Option { word: word.to_owned(), form };
        let count = || value.parse().ok().filter(|count: &u64| *count > 0).ok_or_else(wrong);
        match name {
            "nth" => self.nth = self.nth.or(Some(count()?)),
            "every" => self.every = self.every.or(Some(count()?)),
            "times" => self.times = self.times.or(Some(count()?)),
            "after" => self.after = self.after.or(Some(parse_duration(value).ok_or_else(wrong)?)),
            _ => {
                let p = value.parse().ok().filter(|p: &f64| (0.0..=1.0).contains(p));
                let p = p.ok_or_else(wrong)?;
                if p == 0.0 {
                    return Err(FaultError::NoChance(word.to_owned()));
                }
                self.probability = self.probability.or(Some(p));
            }
        }
        Ok(true)
    }
}

/// Returns the error of an action: wrong arguments of a named fault are those of its name.
fn named_arguments(text: &str, expanded: &Option<String>, error: FaultError) -> FaultError {
    let fault = expanded.as_ref().and_then(|_| named(text.split_whitespace().next()?));
    fault.map_or(error, FaultError::NamedArguments)
}

/// Returns the first option among the words of an expression.
fn option_among(filter: &str) -> Option<&str> {
    let is_option = |word: &&str| matches!(Trigger::default().read(word), Ok(true));
    filter.split_whitespace().find(is_option)
}

/// Refuses options of the same name in a text.
fn check_options(words: &[(String, bool)]) -> Result<(), FaultError> {
    let name = |(word, is_quoted): &(String, bool)| {
        let (name, _) = word.split_once('=')?;
        let is_option = !is_quoted && OPTION_FORMS.iter().any(|form| form.split('=').next() == Some(name));
        is_option.then(|| name.to_owned())
    };
    // Options come last: other words in between are arguments.
    let names: Vec<String> = words.iter().rev().map_while(name).collect();
    let twice = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
    twice.map_or(Ok(()), |(_, name)| Err(FaultError::Twice(name.clone())))
}

/// Splits words at spaces. Returns whether each begins with a quote.
fn words(text: &str) -> Result<Vec<(String, bool)>, FaultError> {
    let (mut out, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let is_quoted = rest.starts_with('"');
        let (mut word, mut in_quotes, mut end) = (String::new(), false, rest.len());
        for (at, c) in rest.char_indices() {
            match c {
                '"' => in_quotes = !in_quotes,
                c if c.is_whitespace() && !in_quotes => {
                    end = at;
                    break;
                }
                c => word.push(c),
            }
        }
        if in_quotes {
            return Err(FaultError::Quote);
        }
        out.push((word, is_quoted));
        rest = rest[end..].trim_start();
    }
    Ok(out)
}

impl FaultSet {
    /// Parses faults, one a text. `seed` decides about `p=`.
    ///
    /// # Errors
    ///
    /// The index and the error of the first fault that cannot be read.
    pub fn parse<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        seed: u64,
    ) -> Result<FaultSet, (usize, FaultError)> {
        let mut set = FaultSet { faults: Vec::new(), random: seed, start: None, plan: None };
        for (i, text) in texts.into_iter().enumerate() {
            set.add(text, None).map_err(|error| (i, error))?;
        }
        Ok(set)
    }

    /// Adds a fault, which is in force during a stage.
    pub(super) fn add(&mut self, text: &str, stage: Option<PlanStage>) -> Result<(), FaultError> {
        self.faults.push(Fault::parse(text, stage)?);
        Ok(())
    }

    /// Replaces the faults. Those that stay keep counting, and the run does not start over.
    pub fn renew(&mut self, newer: FaultSet) {
        let mut before = std::mem::take(&mut self.faults);
        let keep = |newer: Fault| {
            let is_same = |old: &Fault| old.text == newer.text && old.stage == newer.stage;
            before.iter().position(is_same).map_or(newer, |at| before.remove(at))
        };
        self.faults = newer.faults.into_iter().map(keep).collect();
    }

    /// Returns how long the plan lasts from the first message on; `None` without a plan.
    pub fn plan_length(&self) -> Option<Duration> {
        self.plan
    }

    /// Returns the expressions of the faults.
    pub fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.faults.iter().map(|fault| &fault.filter)
    }

    /// Returns the number of faults.
    pub fn len(&self) -> u64 {
        self.faults.len() as u64
    }

    /// Returns the faults that have acted on nothing, as `fault 1: type:cds => drop`.
    pub fn idle(&self) -> Vec<String> {
        let faults = self.faults.iter().enumerate().filter(|(_, fault)| fault.fired == 0);
        faults.map(|(i, fault)| fault.title(i)).collect()
    }

    /// Whether there are no faults.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether a message of a stream may match.
    pub fn may_match(&self, stream: &WireStream<'_>) -> bool {
        self.faults.iter().any(|fault| fault.filter.may_match(stream))
    }

    /// Returns the fault that acts on a message now.
    pub(super) fn fire(&mut self, fact: &MessageFact, message: &WireContents, at: Time) -> Option<Fired> {
        let since = at.since(*self.start.get_or_insert(at));
        for (i, fault) in self.faults.iter_mut().enumerate() {
            let PlanStage { begin, end } = fault.stage.unwrap_or(PlanStage::ALWAYS);
            let is_in_force =
                since >= begin.saturating_add(fault.trigger.after.unwrap_or_default()) && since < end;
            let is_allowed = fault.action.kinds().contains(&fact.kind) && message.allows(&fault.action);
            if !is_in_force || !is_allowed || !fault.filter.passing_message(fact) {
                continue;
            }
            fault.matches += 1;
            let Trigger { nth, every, times, probability, .. } = fault.trigger;
            let is_due = nth.is_none_or(|nth| fault.matches == nth)
                && every.is_none_or(|every| fault.matches.is_multiple_of(every))
                && times.is_none_or(|times| fault.fired < times);
            if is_due && probability.is_none_or(|p| next_random(&mut self.random) < p) {
                fault.fired += 1;
                return Some(Fired { by: fault.title(i), action: fault.action.clone() });
            }
        }
        None
    }

    /// Returns a number to choose a byte by.
    pub(super) fn random_index(&mut self, len: usize) -> usize {
        (next_random(&mut self.random) * len as f64) as usize
    }
}

/// Returns a number from 0 to below 1 (SplitMix64).
fn next_random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::super::action::ACTION_FORMS;
    use super::*;

    fn action(text: &str) -> Action {
        Fault::parse(text, None).expect(text).action
    }

    #[test]
    fn parses_actions_and_options() {
        use xdscope_wire::event::Code;
        assert_eq!(action("type:cds => drop nth=2 times=1"), Action::Drop);
        assert_eq!(action("=> delay 1500ms"), Action::Delay(Duration::from_millis(1500)));
        let status = Action::Status(Code(14), "no such p=1 thing".into());
        assert_eq!(action("kind:push => status UNAVAILABLE \"no such p=1 thing\""), status);
        assert_eq!(action("=> status 14 no such \"p=1\" thing"), status);
        let set = Action::Set { path: vec!["lb_policy".into()], value: "RING_HASH".into() };
        assert_eq!(action("=> set lb_policy=RING_HASH p=0.5"), set);
        assert_eq!(action("=> throttle 10kB/s"), Action::Throttle(10_000));
        assert_eq!(action("=> bounce bad config"), Action::Bounce("bad config".into()));
    }

    #[test]
    fn rejects_what_it_cannot_do() {
        for (text, reason) in [
            ("type:cds =>", "the action is missing after `=>`"),
            ("type:cds => delay", "expected `delay TIME`"),
            ("type:cds => delay 2", "expected `delay TIME`"),
            ("type:cds => status", "expected `status CODE [TEXT]`"),
            ("type:cds => drop times=0", "`times=0` is not of the form `times=N`"),
            ("type:cds => drop after=5", "`after=5` is not of the form `after=TIME`"),
            ("type:cds => drop p=2", "`p=2` is not of the form `p=0..1`"),
            (
                "type:cds => drop time=1",
                "`time=1` is not an option of `drop` (options: nth=N every=N after=TIME times=N p=0..1)",
            ),
            ("type:cds => drop nth=1 nth=2", "`nth` is given twice"),
            ("server-max-age 1", "expected `server-max-age TIME`"),
            (
                "eds-unanswerd reviews",
                "neither `EXPR => ACTION` nor a named fault: did you mean `eds-unanswered`? (xdscope help faults lists them)",
            ),
            ("type:cds => drop \"x", "a quoted text has no end"),
            (
                "type:cds times=1 => drop",
                "`times=1` is an option: it belongs behind the action, as in `EXPR => ACTION times=1`",
            ),
            ("type:cds => pad 65MiB", "`pad` takes at most 64 MiB"),
            ("stream:1 => drop", "`stream` is not known while a message passes at column 1"),
        ] {
            assert_eq!(Fault::parse(text, None).expect_err(text).to_string(), reason);
        }
        let unknown = Fault::parse("=> explode", None).expect_err("unknown").to_string();
        assert!(unknown.starts_with("unknown action `explode` (actions: drop delay"), "{unknown}");
        let near = Fault::parse("=> dorp", None).expect_err("unknown").to_string();
        assert_eq!(near, "unknown action `dorp`; near: drop, drop-ack");
    }

    #[test]
    fn every_form_of_an_action_is_read() {
        for form in ACTION_FORMS {
            let text = form.replace("PATH=VALUE", "a.b=1").replace("TIME", "2s");
            let text = text.replace("RATE", "1kB").replace("CODE [TEXT]", "14 text").replace("SIZE", "5MB");
            Fault::parse(&format!("=> {}", text.replace(['[', ']'], "")), None).expect(form);
            if let Some((short, _)) = form.split_once(" [").filter(|(_, rest)| *rest != "TEXT]") {
                Fault::parse(&format!("=> {short}"), None).expect(form);
            }
        }
    }
}
