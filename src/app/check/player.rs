//! Plays the steps of a row as a client.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use xdscope_engine::store::{AbsentBy, MessageFact, ResourceState, StateFact, Store};
use xdscope_present::json::type_word;
use xdscope_sources::peers::client::RawRequest;
use xdscope_wire::event::{Code, Dir, StreamId, TypeUrl, Variant};

use super::rows::{ChangeKind, RowNames, ServerStep, Subject};
use super::{ChangeCommand, CheckTimes, MAX_MESSAGES, POLL_INTERVAL, Stop};
use crate::app::client::{Command, Progress, Running};
use crate::app::process::signals;

/// A name that no server has.
const UNKNOWN_NAME: &str = "xdscope-check-unknown";

/// A version that no server has given.
const OUTDATED_VERSION: &str = "xdscope-check-outdated";

/// Unknown names of [`RowNames::Many`].
const MANY: usize = 1000;

/// Why a command cannot be sent.
const STUCK: &str = "the client cannot send: the server reads too slowly";

/// The text of each NACK.
const REFUSAL: &str = "refused by xdscope check";

/// The resources of a server that steps are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resources {
    /// The type with a wildcard, and the names that the wildcard has.
    pub whole: TypeUrl,
    pub known: Vec<String>,
    /// Listeners beside clusters.
    pub other: Option<TypeUrl>,
    /// The type whose resources are requested by name, and some of its names.
    pub named: TypeUrl,
    pub names: Vec<String>,
}

impl Resources {
    fn type_url(&self, of: Subject) -> &TypeUrl {
        match of {
            Subject::Whole => &self.whole,
            Subject::Named => &self.named,
        }
    }

    /// Returns the names of a step, or why there are too few.
    fn names(&self, of: Subject, names: RowNames) -> Result<Vec<String>, Stop> {
        let known = match of {
            Subject::Whole => &self.known,
            Subject::Named => &self.names,
        };
        let nth = |n: usize| {
            known.get(n).cloned().ok_or_else(|| {
                let word = type_word(self.type_url(of)).to_uppercase();
                Stop::NotRun(format!("needs {} of {word}: the server has {}", n + 1, known.len()))
            })
        };
        Ok(match names {
            RowNames::First => vec![nth(0)?],
            RowNames::Second => vec![nth(1)?],
            RowNames::Both => vec![nth(0)?, nth(1)?],
            RowNames::Known => known.clone(),
            RowNames::Missing => vec![UNKNOWN_NAME.to_owned()],
            RowNames::Many => {
                let unknown = (1..=MANY).map(|n| format!("{UNKNOWN_NAME}-{n}"));
                unknown.chain([nth(0)?]).collect()
            }
        })
    }
}

/// A client that plays steps.
pub(super) struct Player<'a> {
    pub running: &'a Running,
    pub resources: &'a Resources,
    pub variant: Variant,
    pub times: CheckTimes,
    pub change: Option<&'a ChangeCommand>,
    /// Figures at the last step that asked for something.
    asked: Figures,
}

/// Figures of all streams.
#[derive(Clone, Debug, Default)]
struct Figures {
    pushes: BTreeMap<TypeUrl, u64>,
    rows: usize,
}

impl Figures {
    fn count(store: &Store) -> Figures {
        let mut pushes = BTreeMap::new();
        for state in store.states() {
            *pushes.entry(state.summary.type_url).or_default() += state.traffic.pushes;
        }
        Figures { pushes, rows: store.rows() }
    }

    fn of(&self, url: &TypeUrl) -> u64 {
        self.pushes.get(url).copied().unwrap_or_default()
    }
}

impl<'a> Player<'a> {
    pub(super) fn new(
        running: &'a Running,
        resources: &'a Resources,
        variant: Variant,
        times: CheckTimes,
        change: Option<&'a ChangeCommand>,
    ) -> Player<'a> {
        Player { running, resources, variant, times, change, asked: Figures::default() }
    }

    /// Plays all steps. An error says at which one, and why, the row ends early.
    pub(super) fn play(&mut self, steps: &[ServerStep]) -> Result<(), Stop> {
        steps.iter().try_for_each(|step| self.step(*step))
    }

    fn step(&mut self, step: ServerStep) -> Result<(), Stop> {
        let url = |of: Subject| self.resources.type_url(of).clone();
        match step {
            ServerStep::Wildcard(of) => self.ask(Command::Wildcard { type_url: url(of), wanted: true }),
            ServerStep::Roots => {
                let roots = [&self.resources.whole].into_iter().chain(&self.resources.other);
                let roots: Vec<TypeUrl> = roots.cloned().collect();
                roots
                    .into_iter()
                    .try_for_each(|type_url| self.ask(Command::Wildcard { type_url, wanted: true }))
            }
            ServerStep::EndWildcard(of) => self.ask(Command::Wildcard { type_url: url(of), wanted: false }),
            ServerStep::Subscribe(of, names) => {
                let names = self.resources.names(of, names)?;
                self.ask(Command::Subscribe { type_url: url(of), names })
            }
            ServerStep::Unsubscribe(of, names) => {
                let names = self.resources.names(of, names)?;
                self.ask(Command::Unsubscribe { type_url: url(of), names })
            }
            ServerStep::SubscribeTwice(of) => self.subscribe_twice(of),
            ServerStep::UnsubscribeUnknown(of) => {
                let unsubscribe = self.resources.names(of, RowNames::Missing)?;
                self.raw(of, RawRequest { unsubscribe, ..RawRequest::default() })
            }
            ServerStep::Hold(of, names) => self.hold(of, names),
            ServerStep::Stale(of, names) => self.stale(of, names),
            ServerStep::Refuse(of) => {
                self.ask(Command::Refuse { type_url: url(of), text: Some(REFUSAL.to_owned()) })
            }
            ServerStep::Accept(of) => self.ask(Command::Refuse { type_url: url(of), text: None }),
            ServerStep::Reconnect => self.ask(Command::Reconnect),
            ServerStep::Change(kind) => self.change(kind),
            ServerStep::Has(of, names) => self.has(of, names),
            ServerStep::Gone(of, names) => self.gone(of, names),
            ServerStep::Sent(of, names) => self.sent(of, names),
            ServerStep::Silence(of) => self.silence(of),
            ServerStep::Refused(of) => {
                let url = url(of);
                let is_refused =
                    |state: &StateFact| state.summary.type_url == url && state.verdicts.nack_count > 0;
                self.wait(
                    |store, _| store.states().iter().any(is_refused),
                    || format!("no response of {} came that could be refused", label(&url)),
                )
            }
            ServerStep::Settled => self.settled(),
            ServerStep::News => self.row_after(
                &|fact| fact.dir == Some(Dir::Resp) && !(fact.changed.is_empty() && fact.added.is_empty()),
                "no new or changed resource came after the change",
            ),
            ServerStep::Removal => {
                let removed = |fact: &MessageFact| fact.dir == Some(Dir::Resp) && !fact.removed.is_empty();
                self.row_after(&removed, "no resource was removed after the change")
            }
            ServerStep::Timed => self.timed(),
            ServerStep::Pause => self.pause(),
            ServerStep::Open(_) => self.check_open(),
        }
    }

    /// Sends a command, and notes what had come before it.
    fn ask(&mut self, command: Command) -> Result<(), Stop> {
        // The client counts what it has received before it handles the command.
        self.running.progress();
        self.asked = Figures::count(&self.running.shared.store());
        match self.running.command(command) {
            true => Ok(()),
            false => Err(Stop::Failed(STUCK.to_owned())),
        }
    }

    fn raw(&mut self, of: Subject, request: RawRequest) -> Result<(), Stop> {
        self.ask(Command::Raw { type_url: self.resources.type_url(of).clone(), request })
    }

    /// Opens the stream of a type without a request.
    fn open(&mut self, of: Subject) -> Result<(), Stop> {
        let type_url = self.resources.type_url(of).clone();
        self.ask(Command::Subscribe { type_url, names: Vec::new() })?;
        self.wait(
            |store, progress| progress.open && !store.streams().is_empty(),
            || "no stream opened".to_owned(),
        )
    }

    /// Sends two requests without waiting for what the server sends meanwhile.
    fn subscribe_twice(&mut self, of: Subject) -> Result<(), Stop> {
        let names = self.resources.names(of, RowNames::Both)?;
        self.open(of)?;
        let type_url = self.resources.type_url(of);
        let commands = names
            .into_iter()
            .map(|name| Command::Subscribe { type_url: type_url.clone(), names: vec![name] });
        match commands.into_iter().all(|command| self.running.command(command)) {
            true => Ok(()),
            false => Err(Stop::Failed(STUCK.to_owned())),
        }
    }

    /// Sends the first request of a type by hand.
    fn hold(&mut self, of: Subject, names: RowNames) -> Result<(), Stop> {
        let names = self.resources.names(of, names)?;
        self.open(of)?;
        let held = names.iter().map(|name| (name.clone(), OUTDATED_VERSION.to_owned())).collect();
        self.raw(of, RawRequest { names, held, ..RawRequest::default() })
    }

    /// Sends a request with the nonce of the first response of the stream.
    fn stale(&mut self, of: Subject, names: RowNames) -> Result<(), Stop> {
        let (names, url) = (self.resources.names(of, names)?, self.resources.type_url(of).clone());
        let (nonces, version) = {
            let store = self.running.shared.store();
            let facts = (0..store.rows()).filter_map(|row| store.row(row));
            let nonces = facts.filter(|fact| fact.dir == Some(Dir::Resp) && fact.type_url == url);
            let nonces: Vec<String> = nonces.map(|fact| fact.nonce.to_string()).collect();
            let state = store.states().into_iter().rev().find(|state| state.summary.type_url == url);
            (nonces, state.and_then(|state| state.versions.in_force))
        };
        let (Some(nonce), true) = (nonces.first(), nonces.len() > 1) else {
            return Err(Stop::NotRun("needs two responses, and one has come".to_owned()));
        };
        let version = version.filter(|_| !self.variant.is_delta());
        let version = version.as_deref().unwrap_or_default().to_owned();
        self.raw(of, RawRequest { names, nonce: nonce.clone(), version, ..RawRequest::default() })
    }

    fn change(&mut self, kind: ChangeKind) -> Result<(), Stop> {
        let Some(command) = self.change else {
            return Err(Stop::NotRun("needs --change".to_owned()));
        };
        self.running.progress();
        self.asked = Figures::count(&self.running.shared.store());
        command.run(kind).map_err(Stop::NotRun)
    }

    fn has(&self, of: Subject, names: RowNames) -> Result<(), Stop> {
        let url = self.resources.type_url(of);
        let mut names = self.resources.names(of, names)?;
        names.retain(|name| !name.starts_with(UNKNOWN_NAME));
        let missing = |store: &Store| {
            let stream = newest_stream(store, url);
            let has = |name: &String| {
                let fact = stream.and_then(|stream| store.resource(stream, url, name));
                fact.is_some_and(|fact| {
                    let sent = [ResourceState::Present, ResourceState::Orphan, ResourceState::Redirected];
                    sent.contains(&fact.state)
                })
            };
            names.iter().find(|name| !has(name)).cloned()
        };
        self.wait(
            |store, _| missing(store).is_none(),
            || {
                let name = missing(&self.running.shared.store()).unwrap_or_default();
                format!("{}/{name} was not sent", type_word(url))
            },
        )
    }

    fn gone(&self, of: Subject, names: RowNames) -> Result<(), Stop> {
        let (url, names) = (self.resources.type_url(of), self.resources.names(of, names)?);
        let is_reported = |store: &Store, name: &String| {
            let stream = newest_stream(store, url);
            stream.and_then(|stream| store.resource(stream, url, name)).is_some_and(|fact| match fact.state {
                ResourceState::Absent => fact.absent_by != Some(AbsentBy::Timer),
                ResourceState::Removed => true,
                _ => false,
            })
        };
        let name = names.first().cloned().unwrap_or_default();
        self.wait(
            |store, _| names.iter().all(|name| is_reported(store, name)),
            || format!("{}/{name} does not exist, and was not reported as removed", type_word(url)),
        )
    }

    fn sent(&self, of: Subject, names: RowNames) -> Result<(), Stop> {
        let (url, names) = (self.resources.type_url(of), self.resources.names(of, names)?);
        let name = names.first().cloned().unwrap_or_default();
        let is_about = |fact: &MessageFact| {
            let mut sent = fact.names.iter().chain(&fact.removed);
            is_response(fact, url) && sent.any(|sent| **sent == *name)
        };
        self.row_after(&is_about, &format!("{}/{name} was not sent again", type_word(url)))
    }

    fn silence(&self, of: Subject) -> Result<(), Stop> {
        let (url, from) = (self.resources.type_url(of), self.asked.rows);
        self.pause()?;
        let store = self.running.shared.store();
        let mut facts = (from..store.rows()).filter_map(|row| store.row(row));
        match facts.find(|fact| is_response(fact, url) && fact.count > 0) {
            None => Ok(()),
            Some(fact) => {
                let names = xdscope_present::report::names(&fact.names, 3);
                Err(Stop::Failed(format!("sent without a subscription: {names}")))
            }
        }
    }

    /// Waits until everything has come. A client that has not begun lacks nothing.
    fn settled(&self) -> Result<(), Stop> {
        let roots: Vec<&TypeUrl> = [&self.resources.whole].into_iter().chain(&self.resources.other).collect();
        let has_begun = |store: &Store| {
            let figures = Figures::count(store);
            roots.iter().all(|url| figures.of(url) > 0)
        };
        self.wait(
            |store, progress| progress.open && progress.unanswered.is_empty() && has_begun(store),
            || {
                let unanswered = self.running.progress().unanswered;
                let first = unanswered.first().map(|(url, name)| match name {
                    Some(name) => format!("{}/{name}", type_word(url)),
                    None => label(url),
                });
                format!("{} was not sent", first.unwrap_or_default())
            },
        )
    }

    /// Waits for a row after the last step that asked.
    fn row_after(&self, is_wanted: &dyn Fn(&MessageFact) -> bool, what: &str) -> Result<(), Stop> {
        let from = self.asked.rows;
        self.wait(
            |store, _| (from..store.rows()).filter_map(|row| store.row(row)).any(|fact| is_wanted(&fact)),
            || what.to_owned(),
        )
    }

    /// Waits until a time to live has passed, which the server must have extended before.
    fn timed(&self) -> Result<(), Stop> {
        let left = {
            let store = self.running.shared.store();
            let states = store.states();
            let facts = states.iter().flat_map(|of| store.resources(of.summary.stream, &of.summary.type_url));
            facts.filter_map(|fact| fact.ttl_left).min()
        };
        let Some(left) = left else {
            return Err(Stop::NotRun("needs a resource with a time to live".to_owned()));
        };
        if left > self.times.answer {
            let why = format!("the shortest time to live is {left:.1?}, longer than --timeout");
            return Err(Stop::NotRun(why));
        }
        self.rest(left + self.times.settle)
    }

    fn pause(&self) -> Result<(), Stop> {
        self.rest(self.times.settle)
    }

    fn rest(&self, time: Duration) -> Result<(), Stop> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.look(&self.running.progress())?;
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), Stop> {
        let progress = self.running.progress();
        self.look(&progress)?;
        if progress.open { Ok(()) } else { Err(Stop::Failed("the stream is not open".to_owned())) }
    }

    /// Checks what ends a row at any time.
    fn look(&self, progress: &Progress) -> Result<(), Stop> {
        if signals::is_interrupted() || signals::cause().is_some() {
            return Err(Stop::NotRun("interrupted".to_owned()));
        }
        if let Some(ended) = &progress.ended {
            return Err(match is_unimplemented(ended) {
                true => Stop::NotRun(format!("not served: {ended}")),
                false => Stop::Ended(format!("the server ended the stream: {ended}")),
            });
        }
        if let Some(failed) = &progress.failed {
            return Err(Stop::Ended(failed.what.clone()));
        }
        if let Some(refused) = &progress.refused {
            return Err(Stop::NotRun(refused.to_string()));
        }
        if self.running.shared.store().messages() > MAX_MESSAGES {
            return Err(Stop::Failed(format!("more than {MAX_MESSAGES} messages")));
        }
        Ok(())
    }

    /// Waits until something holds, or the time for an answer has passed.
    fn wait(&self, holds: impl Fn(&Store, &Progress) -> bool, what: impl Fn() -> String) -> Result<(), Stop> {
        let begun = Instant::now();
        loop {
            let progress = self.running.progress();
            if holds(&self.running.shared.store(), &progress) {
                return Ok(());
            }
            self.look(&progress)?;
            if begun.elapsed() >= self.times.answer {
                return Err(Stop::Unanswered(format!("{} within {:?}", what(), self.times.answer)));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Whether a stream ended because the server does not have its method.
pub(super) fn is_unimplemented(ended: &str) -> bool {
    ended.contains(&Code(12).to_string())
}

/// Returns the newest stream that has a type.
fn newest_stream(store: &Store, url: &TypeUrl) -> Option<StreamId> {
    let states = store.states();
    states.iter().rev().find(|state| state.summary.type_url == *url).map(|state| state.summary.stream)
}

fn is_response(fact: &MessageFact, url: &TypeUrl) -> bool {
    fact.dir == Some(Dir::Resp) && fact.type_url == *url
}

fn label(url: &TypeUrl) -> String {
    xdscope_wire::text::type_label(url.as_str())
}
