//! Plays a recorded script to a client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xdscope_wire::event::{Time, TypeUrl};
use xdscope_wire::text::type_label;

use super::request::Request;
use super::script::{Act, Need, Script, ScriptStep};
use super::{Next, PlaybackSpeed};

/// Names that a description lists.
const MAX_LISTED_NAMES: usize = 3;

/// A stream that sends the responses of a script.
#[derive(Debug)]
pub(super) struct ScriptPlayer {
    script: Arc<Script>,
    pace: PlaybackSpeed,
    at: usize,
    /// Time of the previous step, live and recorded.
    before: (Time, Time),
    /// Earliest time of the next step, after the client was late.
    floor: Time,
    /// Steps that are permitted (`--step`).
    leave: u64,
    types: BTreeMap<TypeUrl, TypeHistory>,
}

/// The requests and responses of one type.
#[derive(Debug, Default)]
struct TypeHistory {
    requests: u32,
    /// Names of all requests.
    names: BTreeSet<String>,
    /// Names of the newest request.
    last: Vec<String>,
    sent: Vec<String>,
    /// Number of sent responses with a verdict.
    answered: usize,
}

impl ScriptPlayer {
    /// Starts a script at `now`.
    pub(super) fn new(script: Arc<Script>, pace: PlaybackSpeed, now: Time) -> ScriptPlayer {
        let before = (now, script.opened);
        ScriptPlayer { script, pace, at: 0, before, floor: now, leave: 0, types: BTreeMap::new() }
    }

    /// Notes what a client asks for, on which steps of the script may wait.
    pub(super) fn request(&mut self, now: Time, delta: bool, url: &TypeUrl, request: &Request<'_>) {
        let open = self.open();
        let history = self.types.entry(url.clone()).or_default();
        let names: Vec<String> = request.names.iter().map(|name| name.to_string()).collect();
        let changes = match delta {
            true => !(names.is_empty() && request.unsubscribe.is_empty()),
            false => names != history.last,
        };
        if history.requests == 0 || changes {
            history.requests += 1;
        }
        history.names.extend(names.iter().cloned());
        history.last = names;
        if !request.nonce.is_empty()
            && let Some(of) = history.sent.iter().rposition(|nonce| *nonce == *request.nonce)
        {
            history.answered = history.answered.max(of + 1);
        }
        let still = self.open();
        let Some(step) = self.script.steps.get(self.at) else { return };
        for (recorded, _) in open.iter().filter(|i| !still.contains(i)).filter_map(|i| step.needs.get(*i)) {
            self.floor = self.floor.max(self.pace.after(now, *recorded, step.at));
        }
    }

    /// Permits one more step.
    pub(super) fn release(&mut self) {
        self.leave += 1;
    }

    /// Returns what to do next: send a step, wait for a time, or for the client.
    pub(super) fn next(&mut self, now: Time) -> Next {
        let script = self.script.clone();
        let Some(step) = script.steps.get(self.at) else { return Next::Idle };
        if !self.open().is_empty() {
            return Next::Idle;
        }
        let due = self.floor.max(self.pace.after(self.before.0, self.before.1, step.at));
        if self.pace == PlaybackSpeed::Step {
            let Some(left) = self.leave.checked_sub(1) else { return Next::Held(about(step)) };
            self.leave = left;
        } else if due > now {
            return Next::At(due);
        }
        self.before = (due, step.at);
        self.floor = due;
        self.at += 1;
        match &step.what {
            Act::Send { url, nonce, pieces, .. } => {
                self.types.entry(url.clone()).or_default().sent.push(nonce.to_string());
                Next::Send(pieces.clone())
            }
            Act::End { code, message } => Next::End(*code, message.clone()),
            Act::Reset(code) => Next::Reset(*code),
        }
    }

    /// Describes the requests that the next step still waits for.
    pub(super) fn waits_for(&self) -> Option<String> {
        let step = self.script.steps.get(self.at)?;
        let (_, need) = self.open().first().and_then(|i| step.needs.get(*i))?;
        let label = |url: &TypeUrl| type_label(url.as_str());
        Some(match need {
            Need::Ask { url, names, .. } if names.is_empty() => format!("a request for {}", label(url)),
            Need::Ask { url, names, .. } => {
                let named =
                    names.iter().take(MAX_LISTED_NAMES).map(|name| &**name).collect::<Vec<_>>().join(", ");
                let more = if names.len() > MAX_LISTED_NAMES { ", …" } else { "" };
                format!("a request for {} {named}{more}", label(url))
            }
            Need::Verdict { url, nonce } => format!("an answer to {} nonce {nonce}", label(url)),
        })
    }

    /// Returns the unmet needs of the next step.
    fn open(&self) -> Vec<usize> {
        let needs = self.script.steps.get(self.at).map_or(&[][..], |step| &step.needs);
        needs.iter().enumerate().filter(|(_, (_, need))| !self.is_met(need)).map(|(i, _)| i).collect()
    }

    /// Whether what a step of the script waits for has happened.
    fn is_met(&self, need: &Need) -> bool {
        match need {
            Need::Ask { url, nth, names } => self.types.get(url).is_some_and(|history| {
                history.requests >= *nth
                    || (history.requests > 0 && names.iter().all(|name| history.names.contains(&**name)))
            }),
            Need::Verdict { url, nonce } => {
                let Some(history) = self.types.get(url) else { return true };
                // A response that was not sent here gets no verdict.
                history
                    .sent
                    .iter()
                    .position(|sent| *sent == nonce.as_str())
                    .is_none_or(|place| place < history.answered)
            }
        }
    }
}

fn about(step: &ScriptStep) -> String {
    match &step.what {
        Act::Send { about, .. } => about.clone(),
        Act::End { code, .. } => format!("the end of the stream, {code}"),
        Act::Reset(code) => format!("the end of the stream, a reset with code {code}"),
    }
}
