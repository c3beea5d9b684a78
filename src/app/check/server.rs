//! The check of a control plane: finds what it serves in each variant, and plays the rows.

use std::time::Instant;

use xdscope_engine::analysis;
use xdscope_engine::lint::Blame;
use xdscope_engine::store::{self, ResourceState, Store};
use xdscope_wire::discovery::fields::node;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl, Variant};
use xdscope_wire::pb::{Fields, put_len_field};

use super::exchange::{self, Judged};
use super::player::{Player, Resources, is_unimplemented};
use super::rows::{ChangeKind, SERVER_ROWS, ServerRow};
use super::{ChangeCommand, CheckOutcome, CheckTimes, POLL_INTERVAL, RowResult, Stop};
use crate::app::client::{AckPolicy, Options, Progress, Running};
use crate::app::run_config::StartError;

/// Names of resources that a row waits for.
const MAX_KNOWN_NAMES: usize = 1000;

/// A control plane and the rows to check.
pub struct ServerCheck<'a, E> {
    /// Makes the options of a client, with what finds the resources of the server.
    pub client: &'a mut dyn FnMut(Variant) -> Result<Options, E>,
    pub variants: Vec<Variant>,
    /// Ids of rows; empty: all.
    pub rows: Vec<String>,
    pub times: CheckTimes,
    pub change: Option<ChangeCommand>,
}

/// A variant of the server, as a new client finds it.
enum Found {
    Resources(Resources),
    /// No row of the variant can run.
    Nothing(String),
    /// No connection, or the server ended every stream.
    Broken(Box<Progress>),
}

/// The end of a check.
pub enum Checked {
    Done,
    /// No variant could be checked, because of this connection error.
    Unreachable(Box<Progress>),
}

impl<E: From<StartError>> ServerCheck<'_, E> {
    /// Checks all variants, one after another. Each result is reported when its row has ended.
    ///
    /// # Errors
    /// The options of a client are wrong, or a client cannot start.
    pub fn run(&mut self, report: &mut dyn FnMut(RowResult)) -> Result<Checked, E> {
        let (mut is_reached, mut broken) = (false, None);
        for variant in self.variants.clone() {
            let found = self.find(variant)?;
            let why = match found {
                Found::Resources(resources) => {
                    is_reached = true;
                    self.check(variant, &resources, report)?;
                    continue;
                }
                Found::Nothing(why) => {
                    is_reached = true;
                    why
                }
                Found::Broken(progress) => {
                    let why = failure(&progress).unwrap_or_default();
                    broken.get_or_insert(progress);
                    why
                }
            };
            for row in self.rows_of(variant) {
                report(result(row, variant, CheckOutcome::NotRun, vec![why.clone()]));
            }
        }
        Ok(match broken.filter(|_| !is_reached) {
            Some(progress) => Checked::Unreachable(progress),
            None => Checked::Done,
        })
    }

    fn rows_of(&self, variant: Variant) -> Vec<&'static ServerRow> {
        let is_wanted = |row: &&ServerRow| {
            row.variants.contains(&variant)
                && (self.rows.is_empty() || self.rows.iter().any(|id| id == row.id))
        };
        SERVER_ROWS.iter().filter(is_wanted).collect()
    }

    /// Subscribes to everything, and to what it refers to, to learn names.
    fn find(&mut self, variant: Variant) -> Result<Found, E> {
        let options = (self.client)(variant)?;
        let options =
            Options { store: limits(options.store, self.times), ack_policy: AckPolicy::Auto, ..options };
        let running = Running::start(options, None)?;
        let begun = Instant::now();
        let progress = loop {
            let progress = running.progress();
            let is_done = progress.begun && progress.unanswered.is_empty();
            let is_broken = progress.failed.is_some() || progress.ended.is_some();
            if is_done || begun.elapsed() >= self.times.answer {
                break progress;
            }
            // Streams of other types may still be answered.
            if is_broken && (variant.is_aggregated() || begun.elapsed() >= self.times.settle) {
                break progress;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let resources = resources(&running.shared.store());
        Ok(match resources {
            Some(resources) => Found::Resources(resources),
            None if progress.failed.is_some() => Found::Broken(Box::new(progress)),
            None => match &progress.ended {
                Some(ended) if is_unimplemented(ended) => Found::Nothing(format!("not served: {ended}")),
                Some(_) => Found::Broken(Box::new(progress)),
                None => Found::Nothing(format!(
                    "the server has sent no resource within {:?}; WHAT names those to ask for",
                    self.times.answer
                )),
            },
        })
    }

    fn check(
        &mut self,
        variant: Variant,
        resources: &Resources,
        report: &mut dyn FnMut(RowResult),
    ) -> Result<(), E> {
        for row in self.rows_of(variant) {
            let begun = Instant::now();
            let mut played = self.play(row, variant, resources)?;
            // A server may end streams for reasons of its own, such as their age.
            if matches!(&played.stop, Some(Stop::Ended(_))) {
                played = self.play(row, variant, resources)?;
            }
            report(RowResult { took: begun.elapsed(), ..played.result(row, variant) });
        }
        Ok(())
    }

    /// Plays one row with a client of its own.
    fn play(&mut self, row: &'static ServerRow, variant: Variant, of: &Resources) -> Result<Played, E> {
        if let Some(why) = self.lacks(row, of) {
            return Ok(Played { stop: Some(Stop::NotRun(why.to_owned())), judged: None });
        }
        let mut options = (self.client)(variant)?;
        let schema = options.schema.clone();
        options.store = limits(options.store, self.times);
        options.ack_policy = AckPolicy::Auto;
        options.collect = true;
        options.wants = Vec::new();
        options.client.profile.legacy_wildcard = row.is_legacy_wildcard.unwrap_or(!variant.is_delta());
        options.client.links = if row.follows { analysis::rules(&schema).links } else { None };
        if !row.has_features {
            options.client.node = without_features(&options.client.node);
        }
        let store = options.store;
        let running = Running::start(options, None)?;
        let mut player = Player::new(&running, of, variant, self.times, self.change.as_ref());
        let stop = player.play(row.steps).err();
        let judged = running.into_loaded();
        let judged =
            judged.map(|loaded| exchange::judge(loaded, &row.judged(variant), Blame::Server, store, &schema));
        if let (true, Some(change)) = (row.needs_change(), &self.change) {
            // The next row finds the first state, or says what it lacks.
            let _ = change.run(ChangeKind::Restore);
        }
        Ok(Played { stop, judged })
    }

    /// Returns what a row needs and does not have.
    fn lacks(&self, row: &ServerRow, of: &Resources) -> Option<&'static str> {
        if row.needs_change() && self.change.is_none() {
            return Some("needs --change");
        }
        if row.needs_two_types() && of.whole == of.named {
            return Some("needs endpoints or routes beside clusters or listeners");
        }
        (row.needs_both_roots() && of.other.is_none()).then_some("needs listeners beside clusters")
    }
}

/// A row that was played.
struct Played {
    stop: Option<Stop>,
    judged: Option<Judged>,
}

impl Played {
    fn result(self, row: &'static ServerRow, variant: Variant) -> RowResult {
        let mut reasons = Vec::new();
        let outcome = match (self.stop, &self.judged) {
            (Some(Stop::NotRun(why)), _) => return result(row, variant, CheckOutcome::NotRun, vec![why]),
            (Some(stop), _) => {
                let outcome = stop.outcome();
                reasons.push(stop.into_text());
                outcome
            }
            (None, Some(judged)) => judged.outcome(),
            (None, None) => CheckOutcome::NotRun,
        };
        let Some(judged) = self.judged else { return result(row, variant, outcome, reasons) };
        reasons.extend(judged.broken);
        reasons.extend(judged.notes.into_iter().map(|note| format!("note: {note}")));
        RowResult { script: judged.script, ..result(row, variant, outcome, reasons) }
    }
}

fn result(
    row: &'static ServerRow,
    variant: Variant,
    outcome: CheckOutcome,
    reasons: Vec<String>,
) -> RowResult {
    RowResult {
        id: row.id,
        title: row.title,
        variant: Some(variant.word()),
        protocol: row.protocol(variant),
        outcome,
        reasons,
        script: None,
        took: Default::default(),
    }
}

/// Limits of the facts of a row: a name is late when the row gives up.
fn limits(options: store::Options, times: CheckTimes) -> store::Options {
    store::Options { resource_timeout: times.answer, ..options }
}

/// Returns the words of a connection that failed, or of a stream that the server ended.
fn failure(progress: &Progress) -> Option<String> {
    progress.failed.as_ref().map(|failed| failed.what.clone()).or_else(|| progress.ended.clone())
}

/// Returns what a server has sent: the type of a wildcard, and one whose resources are named.
fn resources(store: &Store) -> Option<Resources> {
    let of = |kind: Kind| {
        let url = kind.type_url(ApiVersion::V3)?;
        let names = names(store, &url);
        (!names.is_empty()).then_some((url, names))
    };
    let listeners = of(Kind::Lds);
    let other = listeners.as_ref().filter(|_| of(Kind::Cds).is_some()).map(|(url, _)| url.clone());
    let (whole, known) = of(Kind::Cds).or(listeners).or_else(|| of(Kind::Eds))?;
    let mut children: Vec<_> = [Kind::Eds, Kind::Rds].into_iter().filter_map(of).collect();
    // Most rows need two names.
    children.sort_by_key(|(_, names)| names.len() < 2);
    let (named, names) = children.into_iter().next().unwrap_or_else(|| (whole.clone(), known.clone()));
    Some(Resources { whole, known, other, named, names })
}

fn names(store: &Store, url: &TypeUrl) -> Vec<String> {
    let streams = store.states().into_iter().filter(|state| state.summary.type_url == *url);
    let facts = streams.flat_map(|state| store.resources(state.summary.stream, url));
    let sent = facts.filter(|fact| matches!(fact.state, ResourceState::Present | ResourceState::Orphan));
    sent.map(|fact| fact.name.to_string()).take(MAX_KNOWN_NAMES).collect()
}

/// Returns an encoded node without `client_features`.
fn without_features(encoded: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = Fields::new(encoded).map_while(Result::ok);
    for field in fields.filter(|field| field.number != node::CLIENT_FEATURES) {
        put_len_field(&mut out, field.number, field.bytes());
    }
    out
}
