//! The check of a client: a control plane that misbehaves in named ways.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint::Blame;
use xdscope_engine::store::{self, EndFact, MessageFact, MessageKind, StateFact, TypeState, Wildcard};
use xdscope_schema::Schema;
use xdscope_sources::peers::server::{Order, Plan};
use xdscope_wire::NodeInfo;
use xdscope_wire::event::{Code, Dir, Kind, Seq, Side, StreamId, Time, TypeUrl, Variant};

use super::client_rows::{CLIENT_ROWS, ClientNeed, ClientRow, ClientStep};
use super::content::{self, Bad, ServedContent, Wanted};
use super::exchange::{self, Judged};
use super::{CheckOutcome, CheckTimes, MAX_MESSAGES, POLL_INTERVAL, RowResult, Stop};
use crate::app::process::signals;
use crate::app::run_config::StartError;
use crate::app::tap::{self, Front, Running};
use crate::net::serve::Control;
use crate::net::tls;
use crate::net::transport::Address;

/// gRPC's UNAVAILABLE.
const UNAVAILABLE: Code = Code(14);

/// The settings of a check of a client.
pub struct ClientCheckOptions {
    pub listen: Address,
    pub tls: Option<Arc<tls::Server>>,
    pub times: CheckTimes,
    /// How long the client may take to connect, at first and after its stream has ended.
    pub connect: Duration,
    pub schema: Arc<Schema>,
    pub store: store::Options,
    /// Ids of rows; empty: all.
    pub rows: Vec<String>,
}

/// A control plane for a client under test.
pub struct ClientCheck {
    running: Running,
    control: Control,
    options: ClientCheckOptions,
    content: ServedContent,
    /// The subscriptions that are served at present, and the generation of the content.
    wanted: Wanted,
    served: u64,
    /// The client was not in sync at the begin of a row.
    is_lost: bool,
}

/// A type of the client, on an open stream.
#[derive(Clone, Debug)]
struct Target {
    stream: StreamId,
    url: TypeUrl,
    variant: Variant,
    names: BTreeSet<Arc<str>>,
    is_wildcard: bool,
}

/// A row that is played.
struct Playing {
    target: Target,
    /// The first row of the timeline that belongs to the row of the check.
    from: usize,
    begun: Time,
    /// The newest response, once its number is known.
    response: Option<Seq>,
    /// The first row of the timeline after which the newest response stands.
    sent: usize,
}

impl ClientCheck {
    /// Begins to listen.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(options: ClientCheckOptions) -> Result<ClientCheck, StartError> {
        let snapshot = Arc::default();
        let control = Control::new(Plan::Snapshots { by_node: Default::default(), all: snapshot });
        let running = Running::start(
            tap::Options {
                front: Front::Serve {
                    listen: options.listen.clone(),
                    from: "check".to_owned(),
                    tls: options.tls.clone(),
                    control: control.clone(),
                    say: Arc::new(|_| ()),
                    faults: None,
                },
                decode: true,
                record: None,
                keep_secrets: false,
                copies: Default::default(),
                store: options.store,
                schema: options.schema.clone(),
                verb: "check",
            },
            None,
        )?;
        let content = ServedContent { schema: options.schema.clone(), generation: 1, is_aggregated: true };
        Ok(ClientCheck {
            running,
            control,
            options,
            content,
            wanted: Wanted::new(),
            served: 0,
            is_lost: false,
        })
    }

    /// Returns the address that clients connect to.
    pub fn listening(&self) -> &Address {
        &self.running.tap.listening[0]
    }

    /// Plays all rows to the client that connects. Each result is reported when its row has ended.
    ///
    /// Returns false if no client has connected in time.
    pub fn run(&mut self, report: &mut dyn FnMut(RowResult)) -> bool {
        if self.in_sync(ClientNeed::Nothing).is_err() && self.store(|store| store.streams().is_empty()) {
            return false;
        }
        let rows: Vec<&ClientRow> = CLIENT_ROWS
            .iter()
            .filter(|row| self.options.rows.is_empty() || self.options.rows.iter().any(|id| id == row.id))
            .collect();
        for row in rows {
            let begun = Instant::now();
            let result = self.play(row);
            report(RowResult { took: begun.elapsed(), ..result });
        }
        true
    }

    fn store<T>(&self, read: impl FnOnce(&Analysis) -> T) -> T {
        match &self.running.shared {
            Some(shared) => read(&shared.store()),
            None => unreachable!("messages are decoded"),
        }
    }

    fn play(&mut self, row: &'static ClientRow) -> RowResult {
        let mut playing = match self.in_sync(row.need) {
            Ok(playing) => playing,
            Err(stop) => return result(row, None, stop.outcome(), vec![stop.into_text()]),
        };
        let stop = row.steps.iter().try_for_each(|step| self.step(*step, &mut playing)).err();
        let variant = Some(playing.target.variant);
        if let Some(Stop::NotRun(why)) = stop {
            return result(row, variant, CheckOutcome::NotRun, vec![why]);
        }
        let judged = self.judge(row, &playing);
        let mut reasons = Vec::new();
        let outcome = match stop {
            Some(stop) => {
                // The next row begins with a client that is in sync.
                self.content.generation += 1;
                self.serve();
                let outcome = stop.outcome();
                reasons.push(stop.into_text());
                outcome
            }
            None => judged.outcome(),
        };
        reasons.extend(judged.broken);
        reasons.extend(judged.notes.into_iter().map(|note| format!("note: {note}")));
        RowResult { script: judged.script, ..result(row, variant, outcome, reasons) }
    }

    fn judge(&self, row: &ClientRow, playing: &Playing) -> Judged {
        let schema = &self.options.schema;
        self.store(|store| {
            let of_row = store.findings().iter().filter(|finding| finding.last >= playing.begun);
            let script = exchange::script_of_rows(store, playing.from, schema);
            let rows = row.judged(playing.target.variant.is_delta());
            exchange::judged(of_row, &rows, Blame::Client, script)
        })
    }

    fn step(&mut self, step: ClientStep, playing: &mut Playing) -> Result<(), Stop> {
        match step {
            ClientStep::Good => {
                self.note_sent(playing);
                self.content.generation += 1;
                self.serve();
                Ok(())
            }
            ClientStep::Push(bad) => {
                let order = self.content.order(bad, &self.wanted, &playing.target.url);
                self.note_sent(playing);
                self.control.order(order);
                if bad == Bad::Garbage {
                    return Ok(());
                }
                let url = match bad {
                    Bad::UnsubscribedType => content::unsubscribed(&self.wanted, &playing.target.url),
                    _ => playing.target.url.clone(),
                };
                self.find_responses(playing, &url, 1)
            }
            ClientStep::PushTwo => {
                let url = playing.target.url.clone();
                self.note_sent(playing);
                for _ in 0..2 {
                    self.control.order(self.content.order(Bad::Repeated, &self.wanted, &url));
                }
                self.find_responses(playing, &url, 2)
            }
            ClientStep::Ack => self.verdict(playing, MessageKind::Ack),
            ClientStep::Nack => self.verdict(playing, MessageKind::Nack),
            ClientStep::Quiet => self.quiet(),
            ClientStep::Open => self.check_open(playing),
            ClientStep::End => {
                self.note_sent(playing);
                self.end_streams();
                Ok(())
            }
            ClientStep::Back => self.back(playing),
            ClientStep::StatesVersions => self.check_versions(playing),
        }
    }

    fn end_streams(&self) {
        self.control.order(Order::End(UNAVAILABLE, "ended by xdscope check".to_owned()));
    }

    fn note_sent(&self, playing: &mut Playing) {
        playing.sent = self.store(|store| store.rows());
        playing.response = None;
    }

    /// Waits until so many responses of a type have been recorded. The last one is the newest.
    fn find_responses(&mut self, playing: &mut Playing, url: &TypeUrl, count: usize) -> Result<(), Stop> {
        let from = playing.sent;
        let response = self.wait(self.options.connect, |store| {
            let facts = (from..store.rows()).filter_map(|row| store.row(row));
            let sent = facts.filter(|fact| fact.dir == Some(Dir::Resp) && fact.type_url == *url);
            sent.skip(count - 1).last()?.n
        })?;
        let missing = || Stop::Unanswered("the client has no open stream of the type any more".to_owned());
        playing.response = Some(response.ok_or_else(missing)?);
        Ok(())
    }

    /// Waits for the verdict on the newest response.
    fn verdict(&mut self, playing: &mut Playing, wanted: MessageKind) -> Result<(), Stop> {
        if playing.response.is_none() {
            let url = playing.target.url.clone();
            self.find_responses(playing, &url, 1)?;
        }
        let response = playing.response;
        let from = playing.sent;
        let is_verdict = |fact: &MessageFact| {
            fact.answers == response && matches!(fact.kind, MessageKind::Ack | MessageKind::Nack)
        };
        let found = self.wait(self.options.times.answer, |store| {
            (from..store.rows())
                .filter_map(|row| store.row(row))
                .find(is_verdict)
                .map(|fact| (fact.kind, fact.error.clone()))
        })?;
        let Some((kind, error)) = found else {
            let text = format!("no ACK or NACK came within {:?}", self.options.times.answer);
            return Err(Stop::Unanswered(text));
        };
        match (wanted, kind) {
            (MessageKind::Ack, MessageKind::Nack) => {
                let text = error.map(|(_, text)| text.to_string()).unwrap_or_default();
                Err(Stop::Failed(format!("a NACK in place of an ACK: {text}")))
            }
            (MessageKind::Nack, MessageKind::Ack) => {
                Err(Stop::Failed("an ACK in place of a NACK".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn quiet(&mut self) -> Result<(), Stop> {
        self.wait(self.options.times.settle, |_| None::<()>).map(drop)
    }

    fn check_open(&self, playing: &Playing) -> Result<(), Stop> {
        match self.store(|store| store.stream(playing.target.stream)?.end) {
            None => Ok(()),
            // The client has sent a request that cannot be answered.
            Some(EndFact { by: Some(Side::Server), message, .. }) => {
                let why = message.unwrap_or_default();
                Err(Stop::Failed(format!("xdscope had to end the stream: {why}")))
            }
            Some(_) => Err(Stop::Failed("the client has ended the stream".to_owned())),
        }
    }

    /// Waits for another stream with the subscription of the one before.
    fn back(&mut self, playing: &mut Playing) -> Result<(), Stop> {
        let before = playing.target.clone();
        let found = self.wait(self.options.connect, |store| {
            let states = store.states();
            let mut later = states
                .iter()
                .filter(|state| state.summary.stream > before.stream && state.summary.type_url == before.url);
            let state = later.next_back()?;
            let target = Target::of(state)?;
            let has_all =
                before.names.is_subset(&target.names) && (target.is_wildcard || !before.is_wildcard);
            has_all.then_some(target)
        })?;
        let why = || {
            let url = xdscope_wire::text::type_label(before.url.as_str());
            format!("no other stream with the same names of {url} within {:?}", self.options.connect)
        };
        playing.target = found.ok_or_else(|| Stop::Unanswered(why()))?;
        Ok(())
    }

    /// Checks what the first request on the newest stream states.
    fn check_versions(&self, playing: &Playing) -> Result<(), Stop> {
        let Target { stream, url, variant, .. } = &playing.target;
        let states = self.store(|store| {
            let facts = (playing.sent..store.rows()).filter_map(|row| store.row(row));
            let mut requests = facts
                .filter(|fact| fact.dir == Some(Dir::Req) && fact.stream == *stream && fact.type_url == *url);
            let first = requests.next()?;
            Some(if variant.is_delta() { first.stated.is_some() } else { !first.version.is_empty() })
        });
        let what = if variant.is_delta() { "initial_resource_versions" } else { "version_info" };
        match states {
            Some(true) => Ok(()),
            _ => Err(Stop::Failed(format!("the first request of the new stream has no {what}"))),
        }
    }

    /// Waits until the client has acknowledged everything and is silent, as it may ask for more
    /// after an ACK. Returns a row that begins there.
    fn in_sync(&mut self, need: ClientNeed) -> Result<Playing, Stop> {
        let CheckTimes { answer, settle } = self.options.times;
        // A client that is lost for one row is lost for the others.
        let connect = if self.is_lost { settle * 2 } else { self.options.connect };
        let mut found = self.find_target(need, connect.min(answer))?;
        if found.is_none() {
            // Another stream and other content repair what the row before has left.
            self.content.generation += 1;
            self.end_streams();
            found = self.find_target(need, connect)?;
        }
        self.is_lost = found.is_none();
        match found {
            Some(Ok(playing)) => Ok(playing),
            Some(Err(why)) => Err(Stop::NotRun(why.to_owned())),
            None => {
                let states = self.store(|store| store.states());
                let open = states.iter().filter(|state| is_open(state) && !is_settled(state));
                let word = |state: &StateFact| {
                    let label = xdscope_wire::text::type_label(state.summary.type_url.as_str());
                    format!("{label} {}", state.summary.state.word())
                };
                let open: Vec<String> = open.map(word).collect();
                let why = if open.is_empty() { "no stream is open".to_owned() } else { open.join(", ") };
                Err(Stop::NotRun(format!("the client was not in sync before the row: {why}")))
            }
        }
    }

    /// Waits for a client that is in sync. Returns a row that begins there, or what the client
    /// lacks for the row.
    fn find_target(
        &mut self,
        need: ClientNeed,
        time: Duration,
    ) -> Result<Option<Result<Playing, &'static str>>, Stop> {
        let settle = self.options.times.settle;
        let (mut rows, mut since) = (0, Instant::now());
        self.wait(time, |store| {
            if std::mem::replace(&mut rows, store.rows()) != store.rows() {
                since = Instant::now();
            }
            let open: Vec<StateFact> = store.states().into_iter().filter(is_open).collect();
            if open.is_empty() || !open.iter().all(is_settled) || since.elapsed() < settle {
                return None;
            }
            let target = open.iter().filter_map(Target::of).min_by_key(|target| target.rank(need))?;
            let (from, begun) = (store.rows(), store.now());
            let fits = target.fits(need, store);
            Some(fits.map(|()| Playing { target, from, begun, response: None, sent: from }))
        })
    }

    /// Serves what the clients ask for until something holds; `None` if that takes too long.
    fn wait<T>(
        &mut self,
        time: Duration,
        mut holds: impl FnMut(&Analysis) -> Option<T>,
    ) -> Result<Option<T>, Stop> {
        let begun = Instant::now();
        let first = self.store(|store| store.messages());
        loop {
            self.serve();
            if let Some(found) = self.store(&mut holds) {
                return Ok(Some(found));
            }
            if signals::is_interrupted() || signals::cause().is_some() {
                return Err(Stop::NotRun("interrupted".to_owned()));
            }
            if self.store(|store| store.messages()) > first + MAX_MESSAGES {
                return Err(Stop::Failed(format!("more than {MAX_MESSAGES} messages")));
            }
            if begun.elapsed() >= time {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Serves what the open streams have subscribed to, in the present generation.
    fn serve(&mut self) {
        let (wanted, is_aggregated) = self.store(|store| {
            let mut wanted = Wanted::new();
            let mut is_aggregated = true;
            for state in store.states().iter().filter(|state| is_open(state)) {
                is_aggregated &= state.summary.variant.is_aggregated();
                let (names, is_wildcard) = wanted.entry(state.summary.type_url.clone()).or_default();
                *is_wildcard |= has_wildcard(state);
                names.extend(state.subscription.names.iter().map(ToString::to_string));
            }
            (wanted, is_aggregated)
        });
        // Between two streams of the client nothing changes.
        if wanted.is_empty() || (wanted == self.wanted && self.content.generation == self.served) {
            return;
        }
        self.content.is_aggregated = is_aggregated;
        (self.wanted, self.served) = (wanted, self.content.generation);
        let all = Arc::new(self.content.snapshot(&self.wanted));
        self.control.serve(Plan::Snapshots { by_node: Default::default(), all });
    }
}

impl Target {
    /// Returns the target of a state; `None` if its stream is closed.
    fn of(state: &StateFact) -> Option<Target> {
        is_open(state).then(|| Target {
            stream: state.summary.stream,
            url: state.summary.type_url.clone(),
            variant: state.summary.variant,
            names: state.subscription.names.iter().cloned().collect(),
            is_wildcard: has_wildcard(state),
        })
    }

    fn kind(&self) -> Option<Kind> {
        Kind::of_type_url(self.url.as_str()).map(|(kind, _)| kind)
    }

    /// Returns the order of preference for a row, the best first.
    fn rank(&self, need: ClientNeed) -> (bool, usize) {
        let fits = match need {
            ClientNeed::Names => !self.is_wildcard && !self.names.is_empty(),
            ClientNeed::PartialSotw => self.kind().is_some_and(|kind| !kind.full_state()),
            ClientNeed::Wildcard => self.is_wildcard,
            ClientNeed::Nothing | ClientNeed::Delta | ClientNeed::Aggregated | ClientNeed::Ttl => true,
        };
        let order = [Kind::Cds, Kind::Eds, Kind::Rds, Kind::Lds];
        let at = order.iter().position(|kind| self.kind() == Some(*kind)).unwrap_or(order.len());
        // Clients apply an empty list of listeners in silence.
        (!fits, at)
    }

    /// Returns what the client lacks for a row.
    fn fits(&self, need: ClientNeed, store: &Analysis) -> Result<(), &'static str> {
        let (fits, why) = match need {
            ClientNeed::Nothing => (true, ""),
            ClientNeed::Delta => (self.variant.is_delta(), "needs a client of the delta protocol"),
            ClientNeed::Aggregated => {
                (self.variant.is_aggregated(), "needs a client with all types on one stream")
            }
            ClientNeed::PartialSotw if self.variant.is_delta() => {
                (false, "needs a client of the SotW protocol")
            }
            ClientNeed::Names | ClientNeed::PartialSotw | ClientNeed::Wildcard => {
                (!self.rank(need).0, "needs another kind of subscription")
            }
            ClientNeed::Ttl => {
                let node = store.stream(self.stream).and_then(|stream| stream.node);
                let has = |feature: &str| {
                    node.as_ref().is_some_and(|node| node.client_features.iter().any(|has| has == feature))
                };
                let wraps = self.variant.is_delta() || has(NodeInfo::WRAPPER_FEATURE);
                (has(NodeInfo::TTL_FEATURE) && wraps, "needs a client that announces times to live")
            }
        };
        if fits { Ok(()) } else { Err(why) }
    }
}

fn is_open(state: &StateFact) -> bool {
    state.summary.last_state.is_none() && state.summary.state != TypeState::Closed
}

fn is_settled(state: &StateFact) -> bool {
    matches!(state.summary.state, TypeState::Synced | TypeState::Idle)
}

fn has_wildcard(state: &StateFact) -> bool {
    matches!(state.subscription.wildcard, Wildcard::Legacy | Wildcard::Explicit | Wildcard::Ambiguous)
}

fn result(
    row: &'static ClientRow,
    variant: Option<Variant>,
    outcome: CheckOutcome,
    reasons: Vec<String>,
) -> RowResult {
    RowResult {
        id: row.id,
        title: row.title,
        variant: variant.map(Variant::word),
        protocol: row.protocol(variant.is_some_and(Variant::is_delta)),
        outcome,
        reasons,
        script: None,
        took: Default::default(),
    }
}
