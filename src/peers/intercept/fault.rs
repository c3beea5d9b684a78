use std::time::Duration;

use super::action::{ACTION_FORMS, Action};
use crate::engine::filter::{Filter, FilterError, WireStream, duration};
use crate::engine::store::MessageFact;
use crate::wire::event::{Dir, Time};

/// A fault that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no arrow.
    #[error("not an `EXPR => ACTION` pair")]
    NoArrow,
    /// There is nothing after the arrow.
    #[error("the action is missing after `=>`")]
    NoAction,
    /// The action has a wrong name.
    #[error("unknown action `{word}` (actions: {})", ACTION_FORMS.map(|form| form.split(' ').next().unwrap_or_default()).join(" "))]
    UnknownAction {
        /// The word in place of an action.
        word: String,
    },
    /// The action has wrong arguments.
    #[error("expected `{form}`")]
    Arguments {
        /// The form of the action.
        form: &'static str,
    },
    /// An option has a wrong value.
    #[error("`{0}` is not an option (nth=N every=N after=TIME times=N p=0..1)")]
    Option(String),
    /// A quoted text has no end.
    #[error("a quoted text has no end")]
    Quote,
    /// The filter is wrong.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

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
struct Fault {
    text: String,
    filter: Filter,
    action: Action,
    trigger: Trigger,
    matches: u64,
    fired: u64,
}

/// The faults of a run, with what they have counted.
///
/// Faults are tried in order, and the first that acts on a message is the only one.
#[derive(Clone, Debug, Default)]
pub struct FaultSet {
    faults: Vec<Fault>,
    random: u64,
    start: Option<Time>,
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
    fn parse(text: &str) -> Result<Fault, FaultError> {
        let (filter, action) = text.split_once("=>").ok_or(FaultError::NoArrow)?;
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
        let action = Action::parse(&words)?;
        Ok(Fault { text: text.trim().to_owned(), filter, action, trigger, matches: 0, fired: 0 })
    }
}

impl Trigger {
    /// Reads one option. Returns false if the word is not one.
    fn read(&mut self, word: &str) -> Result<bool, FaultError> {
        let Some((name, value)) = word.split_once('=') else { return Ok(false) };
        let wrong = || FaultError::Option(word.to_owned());
        let count = || value.parse().ok().filter(|count: &u64| *count > 0).ok_or_else(wrong);
        match name {
            "nth" => self.nth = Some(count()?),
            "every" => self.every = Some(count()?),
            "times" => self.times = Some(count()?),
            "after" => self.after = Some(duration(value).ok_or_else(wrong)?),
            "p" => {
                let p = value.parse().ok().filter(|p: &f64| (0.0..=1.0).contains(p));
                self.probability = Some(p.ok_or_else(wrong)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
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
        let faults = texts.into_iter().map(Fault::parse).enumerate();
        let faults = faults.map(|(i, fault)| fault.map_err(|error| (i, error))).collect::<Result<_, _>>()?;
        Ok(FaultSet { faults, random: seed, start: None })
    }

    /// Returns the number of faults.
    pub fn len(&self) -> u64 {
        self.faults.len() as u64
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
    pub(super) fn fire(&mut self, fact: &MessageFact, at: Time) -> Option<Fired> {
        let start = *self.start.get_or_insert(at);
        for (i, fault) in self.faults.iter_mut().enumerate() {
            let is_push = fact.dir == Some(Dir::Resp);
            let is_late = fault.trigger.after.is_none_or(|after| at.since(start) >= after);
            if !is_late || fault.action.is_for_pushes() && !is_push || !fault.filter.passing_message(fact) {
                continue;
            }
            fault.matches += 1;
            let Trigger { nth, every, times, probability, .. } = fault.trigger;
            let is_due = nth.is_none_or(|nth| fault.matches == nth)
                && every.is_none_or(|every| fault.matches.is_multiple_of(every))
                && times.is_none_or(|times| fault.fired < times);
            if is_due && probability.is_none_or(|p| next_random(&mut self.random) < p) {
                fault.fired += 1;
                let by = format!("fault {}: {}", i + 1, fault.text);
                return Some(Fired { by, action: fault.action.clone() });
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
    use super::*;

    fn action(text: &str) -> Action {
        Fault::parse(text).expect(text).action
    }

    #[test]
    fn parses_actions_and_options() {
        use crate::wire::event::Code;
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
            ("drop", "not an `EXPR => ACTION` pair"),
            ("type:cds =>", "the action is missing after `=>`"),
            ("type:cds => delay", "expected `delay TIME`"),
            ("type:cds => delay 2", "expected `delay TIME`"),
            ("type:cds => status 99", "expected `status CODE [TEXT]`"),
            (
                "type:cds => drop times=0",
                "`times=0` is not an option (nth=N every=N after=TIME times=N p=0..1)",
            ),
            ("type:cds => drop \"x", "a quoted text has no end"),
            ("stream:1 => drop", "`stream` is not known while a message passes at column 1"),
        ] {
            assert_eq!(Fault::parse(text).expect_err(text).to_string(), reason);
        }
        assert!(Fault::parse("=> explode").expect_err("unknown").to_string().starts_with("unknown action"));
    }

    #[test]
    fn every_form_of_an_action_is_read() {
        for form in ACTION_FORMS {
            let text = form.replace("PATH=VALUE", "a.b=1").replace("TIME", "2s");
            let text = text.replace("RATE", "1kB").replace("CODE [TEXT]", "14 text");
            Fault::parse(&format!("=> {text}")).expect(form);
        }
    }
}
