//! An xDS control plane as a state machine: what is answered to which request, on one stream of one client. The
//! counterpart of [`crate::peers::client`].
//!
//! Pure: no clock, no sockets, no async. Whoever owns a [`Stream`] tells it what happened (`handle_*`, with the time) and
//! does what [`next`](Stream::next) says, until that is to wait.
//!
//! ```text
//!   request   ─▶ ┌────────┐ ─▶ Send  a response, its bytes in pieces
//!   new plan  ─▶ │ Stream │ ─▶ End   with a gRPC status
//!   leave     ─▶ └────────┘ ─▶ At, Held, Idle: wait
//! ```
//!
//! What it says is in a [`Plan`], one of two:
//!
//! * **Snapshots**: of each type the resources, as a server had sent them last. All variants: SotW and delta, aggregated
//!   and a stream for each type, wildcards, names, globs. A client's holdings are not kept: they are what it wants of the
//!   snapshot, as everything that it wants is sent at once. So a stream costs its names, and a push of 100,000 resources is
//!   one buffer for all clients. What was refused is sent again only when it has changed (row E-30).
//! * **Scripts**: of each recorded stream the responses, to be sent as they were, each when the client has said what the
//!   recorded one had said before it, at the recorded pace or another.

mod faults;
mod playing;
mod request;
mod script;
mod snapshot;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::wire::event::{Code, Method, Rpc, Time, TypeUrl};

pub use faults::Faults;
use playing::Playing;
use request::Request;
pub use script::{Script, TooLarge};
pub use snapshot::{Resource, Snapshot, Type};
use subscriptions::Subscriptions;

/// gRPC's INVALID_ARGUMENT and UNIMPLEMENTED.
const INVALID: Code = Code(3);
const UNIMPLEMENTED: Code = Code(12);
const UNAVAILABLE: Code = Code(14);

/// Nodes whose streams are counted.
const NODES: usize = 10_000;

/// What a stream does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this message: its bytes, in pieces.
    Send(Vec<Bytes>),
    /// End the stream with this status.
    End(Code, String),
    /// Reset it with this HTTP/2 error code.
    Reset(u32),
    /// Nothing before then.
    At(Time),
    /// Nothing before [`Stream::release`]; what comes then, in words.
    Held(String),
    /// Nothing before the client says something.
    Idle,
}

/// How fast a script is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlaybackSpeed {
    /// So many times the recorded speed.
    Times(f64),
    /// As fast as the client takes it.
    Full,
    /// One by one, each with leave.
    Step,
}

impl PlaybackSpeed {
    /// When something is due that was recorded at `then`, where `recorded` was at `live`.
    fn after(self, live: Time, recorded: Time, then: Time) -> Time {
        match self {
            PlaybackSpeed::Times(speed) if speed > 0.0 => {
                let seconds = then.since(recorded).as_secs_f64() / speed;
                live.after(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
            }
            _ => live,
        }
    }
}

/// What is served to whom.
#[derive(Debug)]
pub enum Plan {
    /// A node whose id has one gets its own, all others that of all.
    Snapshots {
        by_node: BTreeMap<String, Arc<Snapshot>>,
        all: Arc<Snapshot>,
    },
    Scripts(Scripts),
}

/// Scripts in the order in which their streams were opened.
#[derive(Debug)]
pub struct Scripts {
    scripts: Vec<Arc<Script>>,
    pace: PlaybackSpeed,
    /// How many streams of a kind a node has opened: the first gets the first script, and so on, round and round.
    opened: Mutex<BTreeMap<(String, String), usize>>,
}

impl Scripts {
    pub fn new(scripts: Vec<Script>, pace: PlaybackSpeed) -> Scripts {
        let scripts = scripts.into_iter().map(Arc::new).collect();
        Scripts { scripts, pace, opened: Mutex::default() }
    }

    pub fn all(&self) -> &[Arc<Script>] {
        &self.scripts
    }

    /// The script for a stream that `node` has opened now: its own where it was recorded, otherwise anybody's.
    fn take(&self, node: &str, method: &Method) -> Option<Arc<Script>> {
        let fits: Vec<&Arc<Script>> = self.scripts.iter().filter(|script| script.fits(method)).collect();
        let own: Vec<_> =
            fits.iter().filter(|script| script.node.as_deref() == Some(node)).copied().collect();
        let of = if own.is_empty() { fits } else { own };
        // Nothing panics while it is held.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // Clients that take another name each time begin anew.
        if opened.len() > NODES {
            opened.clear();
        }
        let nth = opened.entry((node.to_owned(), script::kind_word(method))).or_default();
        let script = of.get(nth.checked_rem(of.len())?).copied().cloned();
        *nth += 1;
        script
    }

    fn kinds(&self) -> String {
        let mut kinds: Vec<String> = self.scripts.iter().map(|script| script.kind()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.join(", ")
    }
}

impl Plan {
    /// This one in place of another: versions of what changed are new ([`Snapshot::after`]).
    pub fn after(self, before: &Plan) -> Plan {
        let (Plan::Snapshots { by_node, all }, Plan::Snapshots { all: known, .. }) = (&self, before) else {
            return self;
        };
        let over = |now: &Arc<Snapshot>, known: &Arc<Snapshot>| Arc::new(Snapshot::clone(now).after(known));
        let of_node = |(node, now): (&String, &Arc<Snapshot>)| {
            let known = before.snapshot(node).unwrap_or_default();
            (node.clone(), over(now, &known))
        };
        Plan::Snapshots { by_node: by_node.iter().map(of_node).collect(), all: over(all, known) }
    }

    fn snapshot(&self, node: &str) -> Option<Arc<Snapshot>> {
        match self {
            Plan::Snapshots { by_node, all } => Some(by_node.get(node).unwrap_or(all).clone()),
            Plan::Scripts(_) => None,
        }
    }
}

/// One stream of one client.
#[derive(Debug)]
pub struct Stream {
    method: Method,
    plan: Arc<Plan>,
    opened: Time,
    /// The id of the client's node, once it has said something.
    node: Option<String>,
    part: Part,
    out: VecDeque<Next>,
}

/// What is played on it.
#[derive(Debug)]
enum Part {
    /// It is not known yet who the client is.
    Unknown,
    Snapshot(Subscriptions),
    Script(Playing),
    /// It has ended.
    Over,
}

impl Stream {
    /// A stream that was opened at `now` by this gRPC path. `None`: there is no such streaming method of xDS.
    pub fn open(path: &str, plan: Arc<Plan>, now: Time) -> Option<Stream> {
        let method = Method::parse(path).filter(|method| method.rpc == Rpc::Stream)?;
        Some(Stream { method, plan, opened: now, node: None, part: Part::Unknown, out: VecDeque::new() })
    }

    /// The client has sent this message.
    pub fn handle_request(&mut self, now: Time, bytes: &[u8]) {
        let delta = self.method.variant.is_delta();
        let Some(request) = Request::read(delta, bytes) else {
            return self.end(INVALID, "the request can't be decoded".into());
        };
        let url = script::effective(&self.method, TypeUrl::from(&*request.type_url));
        if url.is_empty() {
            return self.end(INVALID, "an aggregated stream needs a type_url in each request".into());
        }
        if self.node.is_none() {
            self.begin(request.node.as_deref().unwrap_or_default().to_owned());
        }
        match &mut self.part {
            Part::Snapshot(subscriptions) => {
                self.out.extend(subscriptions.request(now, &url, &request).map(Next::Send));
            }
            Part::Script(playing) => playing.request(now, delta, &url, &request),
            Part::Unknown | Part::Over => {}
        }
    }

    /// The first request says who it is.
    fn begin(&mut self, node: String) {
        let (delta, plan) = (self.method.variant.is_delta(), self.plan.clone());
        self.part = match &*plan {
            Plan::Snapshots { by_node, all } => {
                let snapshot = by_node.get(&node).unwrap_or(all).clone();
                Part::Snapshot(Subscriptions::new(delta, snapshot, self.opened))
            }
            Plan::Scripts(scripts) => match scripts.take(&node, &self.method) {
                Some(script) => Part::Script(Playing::new(script, scripts.pace, self.opened)),
                None => {
                    let (kind, has) = (script::kind_word(&self.method), scripts.kinds());
                    return self.end(UNIMPLEMENTED, format!("no {kind} stream was recorded, only {has}"));
                }
            },
        };
        self.node = Some(node);
    }

    /// Something else is served from now on. A script that has begun goes on.
    pub fn handle_plan(&mut self, plan: Arc<Plan>) {
        self.plan = plan;
        let Part::Snapshot(subscriptions) = &mut self.part else { return };
        if let Some(snapshot) = self.plan.snapshot(self.node.as_deref().unwrap_or_default()) {
            self.out.extend(subscriptions.serve(snapshot).into_iter().map(Next::Send));
        }
    }

    /// One more step may be taken.
    pub fn release(&mut self) {
        if let Part::Script(playing) = &mut self.part {
            playing.release();
        }
    }

    /// What is to be done at `now`; to be asked again until it is to wait.
    pub fn next(&mut self, now: Time) -> Next {
        if let Some(next) = self.out.pop_front() {
            return next;
        }
        let next = match &mut self.part {
            Part::Script(playing) => playing.next(now),
            Part::Snapshot(subscriptions) => subscriptions.next(now),
            Part::Unknown | Part::Over => Next::Idle,
        };
        if matches!(next, Next::End(..) | Next::Reset(_)) {
            self.part = Part::Over;
        }
        next
    }

    /// Responses that wait to be sent.
    pub fn queued(&self) -> usize {
        self.out.len()
    }

    /// What a script waits for, in words.
    pub fn waits_for(&self) -> Option<String> {
        match &self.part {
            Part::Script(playing) => playing.waits_for(),
            _ => None,
        }
    }

    fn end(&mut self, code: Code, message: String) {
        self.part = Part::Over;
        self.node.get_or_insert_default();
        self.out.push_back(Next::End(code, message));
    }
}
