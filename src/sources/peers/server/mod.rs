//! An xDS control plane as a state machine, for one stream of one client.
//!
//! The counterpart of [`crate::peers::client`]. Pure: no clock, no sockets, no async. The owner of
//! a [`ServerStream`] reports events (`handle_*`, with the time) and does what
//! [`next`](ServerStream::next) returns until that is to wait.
//!
//! ```text
//!   request   ─▶ ┌────────┐ ─▶ Send  a response, its bytes in pieces
//!   new plan  ─▶ │ Stream │ ─▶ End   with a gRPC status
//!   release   ─▶ └────────┘ ─▶ At, Held, Idle: wait
//! ```
//!
//! A [`Plan`] has the responses, in one of two ways:
//!
//! - **Snapshots**: the resources of each type, as a server had sent them last. Supports SotW and
//!   delta, aggregated and single-type streams, wildcards, names and globs. The server does not
//!   track the resources of a client: they follow from the subscription, because everything wanted
//!   is sent at once. A stream costs only its names, and a push of 100,000 resources is one buffer
//!   for all clients. A rejected resource is sent again only after a change
//!   (docs/protocol.md#e-30). A resource with a TTL has heartbeats as long as it exists.
//! - **Scripts**: the recorded responses of each stream, unchanged. Each is sent once the client
//!   has said what the recorded client had said before, at the recorded pace or another.

mod faults;
mod heartbeats;
mod order;
mod playing;
mod request;
mod rest;
mod script;
mod snapshot;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use xdscope_wire::event::{Code, Method, Time, TypeUrl};

pub use faults::Faults;
pub use order::{Order, PushedContent, PushedEntry};
use playing::ScriptPlayer;
use request::Request;
pub use rest::{PollAnswer, RestPolls, rest_method};
pub use script::{Script, ScriptsReader, TooLarge};
pub use snapshot::{Snapshot, SnapshotResource, Type};
use subscriptions::Subscriptions;

/// gRPC's INVALID_ARGUMENT.
const INVALID: Code = Code(3);
const UNIMPLEMENTED: Code = Code(12);
const UNAVAILABLE: Code = Code(14);

/// Nodes whose streams are counted.
const MAX_COUNTED_NODES: usize = 10_000;

/// The next action of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this message, given in pieces.
    Send(Vec<Bytes>),
    /// End the stream with this status.
    End(Code, String),
    /// Reset the stream with this HTTP/2 error code.
    Reset(u32),
    /// Wait until this time.
    At(Time),
    /// Wait for [`ServerStream::release`]; the text describes the next step.
    Held(String),
    /// Wait for the client.
    Idle,
}

/// The speed of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlaybackSpeed {
    /// A multiple of the recorded speed.
    Times(f64),
    /// As fast as the client reads.
    Full,
    /// One step at a time, each after [`ServerStream::release`].
    Step,
}

impl PlaybackSpeed {
    /// Returns the due time of a step recorded at `then`, if time `recorded` corresponds to `live`.
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

/// The responses for each client.
#[derive(Debug)]
pub enum Plan {
    /// A snapshot for each listed node id, and one for all other nodes.
    Snapshots {
        /// Snapshot by node id.
        by_node: BTreeMap<String, Arc<Snapshot>>,
        /// The snapshot for all other nodes.
        all: Arc<Snapshot>,
    },
    /// Recorded streams, replayed.
    Scripts(Scripts),
}

/// Scripts in the order in which their streams were opened.
#[derive(Debug)]
pub struct Scripts {
    scripts: Vec<Arc<Script>>,
    pace: PlaybackSpeed,
    /// Streams that a node has opened of each kind. The first gets the first script, and so on,
    /// round robin.
    opened: Mutex<BTreeMap<(String, String), usize>>,
}

impl Scripts {
    /// Creates scripts that are played at this speed.
    pub fn new(scripts: Vec<Script>, pace: PlaybackSpeed) -> Scripts {
        let scripts = scripts.into_iter().map(Arc::new).collect();
        Scripts { scripts, pace, opened: Mutex::default() }
    }

    /// All scripts, in the order in which their streams were opened.
    pub fn all(&self) -> &[Arc<Script>] {
        &self.scripts
    }

    /// Returns the script for a new stream of `node`: one that was recorded from the node,
    /// otherwise any.
    fn take(&self, node: &str, method: &Method) -> Option<Arc<Script>> {
        let fits: Vec<&Arc<Script>> = self.scripts.iter().filter(|script| script.fits(method)).collect();
        let own: Vec<_> =
            fits.iter().filter(|script| script.node.as_deref() == Some(node)).copied().collect();
        let scripts = if own.is_empty() { fits } else { own };
        // Nothing panics while the lock is held.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // Bounds the memory for clients that change their id each time.
        if opened.len() > MAX_COUNTED_NODES {
            opened.clear();
        }
        let nth = opened.entry((node.to_owned(), script::kind_word(method))).or_default();
        let script = scripts.get(nth.checked_rem(scripts.len())?).copied().cloned();
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
    /// Returns this plan as the successor of another, with new versions for changed content
    /// ([`Snapshot::after`]).
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
pub struct ServerStream {
    method: Method,
    plan: Arc<Plan>,
    opened: Time,
    /// Id of the client's node, once the first request has arrived.
    node: Option<String>,
    part: StreamPlan,
    out: VecDeque<Next>,
}

/// The part of the plan that the stream plays.
#[derive(Debug)]
enum StreamPlan {
    /// The client is not known yet.
    Unknown,
    Snapshot(Subscriptions),
    Script(ScriptPlayer),
    /// The stream has ended.
    Over,
}

impl ServerStream {
    /// Opens a stream at `now`; `None` if the path is not a streaming method of xDS.
    pub fn open(path: &str, plan: Arc<Plan>, now: Time) -> Option<ServerStream> {
        let method = Method::parse(path)?;
        Some(ServerStream {
            method,
            plan,
            opened: now,
            node: None,
            part: StreamPlan::Unknown,
            out: VecDeque::new(),
        })
    }

    /// Reports a message of the client.
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
            StreamPlan::Snapshot(subscriptions) => {
                self.out.extend(subscriptions.request(now, &url, &request).map(Next::Send));
            }
            StreamPlan::Script(playing) => playing.request(now, delta, &url, &request),
            StreamPlan::Unknown | StreamPlan::Over => {}
        }
    }

    /// Selects the part of the plan, when the first request has identified the client.
    fn begin(&mut self, node: String) {
        let (delta, plan) = (self.method.variant.is_delta(), self.plan.clone());
        self.part = match &*plan {
            Plan::Snapshots { by_node, all } => {
                let snapshot = by_node.get(&node).unwrap_or(all).clone();
                StreamPlan::Snapshot(Subscriptions::new(delta, snapshot, self.opened))
            }
            Plan::Scripts(scripts) => match scripts.take(&node, &self.method) {
                Some(script) => StreamPlan::Script(ScriptPlayer::new(script, scripts.pace, self.opened)),
                None => {
                    let (kind, has) = (script::kind_word(&self.method), scripts.kinds());
                    return self.end(UNIMPLEMENTED, format!("no {kind} stream was recorded, only {has}"));
                }
            },
        };
        self.node = Some(node);
    }

    /// Replaces the plan at `now`. A script that has begun continues.
    pub fn handle_plan(&mut self, now: Time, plan: Arc<Plan>) {
        self.plan = plan;
        let StreamPlan::Snapshot(subscriptions) = &mut self.part else { return };
        if let Some(snapshot) = self.plan.snapshot(self.node.as_deref().unwrap_or_default()) {
            self.out.extend(subscriptions.serve(now, snapshot).into_iter().map(Next::Send));
        }
    }

    /// Carries out an order. A script that has begun is not changed.
    pub fn handle_order(&mut self, order: &Order) {
        match (&mut self.part, order) {
            (StreamPlan::Snapshot(_), Order::End(code, message)) => self.end(*code, message.clone()),
            (StreamPlan::Snapshot(subscriptions), Order::Push(url, content)) => {
                self.out.extend(subscriptions.push(url, content).map(|bytes| Next::Send(vec![bytes])));
            }
            (StreamPlan::Snapshot(subscriptions), Order::Bytes(url, bytes))
                if subscriptions.has_type(url) =>
            {
                self.out.push_back(Next::Send(vec![bytes.clone()]));
            }
            _ => {}
        }
    }

    /// Permits one more step of a script.
    pub fn release(&mut self) {
        if let StreamPlan::Script(playing) = &mut self.part {
            playing.release();
        }
    }

    /// Returns the next action at `now`. Call it again until the action is to wait.
    pub fn next(&mut self, now: Time) -> Next {
        if let Some(next) = self.out.pop_front() {
            return next;
        }
        let next = match &mut self.part {
            StreamPlan::Script(playing) => playing.next(now),
            StreamPlan::Snapshot(subscriptions) => subscriptions.next(now),
            StreamPlan::Unknown | StreamPlan::Over => Next::Idle,
        };
        if matches!(next, Next::End(..) | Next::Reset(_)) {
            self.part = StreamPlan::Over;
        }
        next
    }

    /// Number of responses in the queue.
    pub fn queued(&self) -> usize {
        self.out.len()
    }

    /// Describes what a script waits for.
    pub fn waits_for(&self) -> Option<String> {
        match &self.part {
            StreamPlan::Script(playing) => playing.waits_for(),
            _ => None,
        }
    }

    fn end(&mut self, code: Code, message: String) {
        self.part = StreamPlan::Over;
        self.node.get_or_insert_default();
        self.out.push_back(Next::End(code, message));
    }
}
