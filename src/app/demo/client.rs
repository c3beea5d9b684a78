//! A node of the demo: the xDS client of [`xdscope_sources::peers::client`] and the mistakes that
//! it makes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_stream::StreamExt;
use tonic::transport::Channel;

use crate::net::clock::RunClock;
use crate::net::rpc;
use xdscope_schema::Schema;
use xdscope_schema::bootstrap::FallbackServer;
use xdscope_sources::peers::client::{Client, Config, Effect, Lane, Links, Refused, Ruling, ServerProfile};
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::NodeFields;
use xdscope_wire::event::{ApiVersion, Dir, Kind, Nonce, Sym, Time, TypeUrl, Variant};
use xdscope_wire::{ErrorDetail, Message, MessageBody, MessageShape};

/// A node of the demo, and how it behaves.
#[derive(Clone, Debug)]
pub(super) struct NodeProfile {
    pub id: String,
    pub cluster: String,
    pub variant: Variant,
    /// The first subscriptions. A type without names is subscribed to by wildcard.
    pub subscriptions: Vec<(Kind, Vec<String>)>,
    /// Subscribes to what accepted resources refer to.
    pub follows_references: bool,
    /// Rejects clusters whose `connect_timeout` is not positive, with Envoy's message.
    pub rejects_bad_clusters: bool,
    /// Leaves all responses of this type but the first unanswered.
    pub unanswered: Option<Kind>,
    /// Answers each response of this type after a delay.
    pub slow: Option<(Kind, Duration)>,
    /// Streams to open before the node stays away; `None`: no limit.
    pub max_streams: Option<u32>,
}

impl NodeProfile {
    /// A node that makes no mistakes.
    pub(super) fn new(
        id: &str,
        cluster: &str,
        variant: Variant,
        subscriptions: Vec<(Kind, Vec<String>)>,
    ) -> NodeProfile {
        NodeProfile {
            id: id.into(),
            cluster: cluster.into(),
            variant,
            subscriptions,
            follows_references: false,
            rejects_bad_clusters: false,
            unanswered: None,
            slow: None,
            max_streams: None,
        }
    }

    fn config(&self, links: &Option<Links>) -> Config {
        let node = NodeFields {
            id: &self.id,
            cluster: &self.cluster,
            user_agent_name: "xdscope-demo",
            ..NodeFields::default()
        };
        Config {
            profile: ServerProfile { variant: self.variant, legacy_wildcard: true },
            profiles: BTreeMap::new(),
            transport: ApiVersion::V3,
            poll_delay: Duration::ZERO,
            node: node.encode(),
            ack_delay: Duration::ZERO,
            links: links.clone(),
            structured: false,
            kinds: BTreeMap::new(),
            own: BTreeMap::new(),
            clusters: BTreeMap::new(),
            beside: BTreeMap::new(),
            authorities: BTreeMap::new(),
            others: FallbackServer::Plain,
            seed: 0,
        }
    }
}

/// Requests of a stream that may wait to be sent.
const MAX_QUEUED_REQUESTS: usize = 64;

/// Responses of a node that may wait to be handled.
const MAX_QUEUED_RESPONSES: usize = 64;

/// An event on a stream.
enum StreamEvent {
    Response(Bytes),
    Ended,
}

/// An event of the stream with this number.
struct StreamReport {
    lane: Lane,
    stream: u32,
    event: StreamEvent,
}

struct OpenStream {
    number: u32,
    requests: mpsc::Sender<Bytes>,
    task: AbortHandle,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The time from a rejected response to the subscription to the endpoints of its good clusters.
///
/// A response with endpoints may follow at once: its nonce must be answered first.
const WARMING_DELAY: Duration = Duration::from_millis(200);

/// An action that a node takes later.
enum Delayed {
    /// Accept the response with this nonce.
    Accept { type_url: TypeUrl, nonce: Nonce },
    /// Subscribe to these endpoints.
    Subscribe { names: Vec<Sym> },
}

/// A running node.
struct Node {
    profile: NodeProfile,
    schema: Arc<Schema>,
    links: Option<Links>,
    catalog: Catalog,
    client: Client,
    channel: Channel,
    clock: RunClock,
    streams: BTreeMap<Lane, OpenStream>,
    streams_opened: u32,
    events: mpsc::Sender<StreamReport>,
    delayed: BTreeMap<Time, Delayed>,
    /// Types of which a response was accepted.
    accepted: BTreeSet<Kind>,
}

/// Runs a node over `channel`, until it has opened as many streams as it may.
pub(super) async fn run(profile: NodeProfile, channel: Channel, schema: Arc<Schema>, links: Option<Links>) {
    let (events, received) = mpsc::channel(MAX_QUEUED_RESPONSES);
    let links = if profile.follows_references { links } else { None };
    let node = Node {
        client: Client::new(profile.config(&links)),
        links,
        profile,
        schema,
        catalog: Catalog::in_memory(),
        channel,
        clock: RunClock::start(),
        streams: BTreeMap::new(),
        streams_opened: 0,
        events,
        delayed: BTreeMap::new(),
        accepted: BTreeSet::new(),
    };
    node.run(received).await;
}

impl Node {
    async fn run(mut self, mut events: mpsc::Receiver<StreamReport>) {
        self.subscribe();
        loop {
            if !self.perform_effects().await {
                return;
            }
            let delayed = self.delayed.keys().next().copied();
            let due = self.client.due().into_iter().chain(delayed).min();
            let wait = due.map_or(Duration::MAX, |due| due.since(self.clock.now()));
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.handle(event),
                    None => return,
                },
                () = tokio::time::sleep(wait) => self.handle_timeout(),
            }
        }
    }

    fn handle_timeout(&mut self) {
        let now = self.clock.now();
        while let Some(entry) = self.delayed.first_entry().filter(|entry| *entry.key() <= now) {
            match entry.remove() {
                Delayed::Accept { type_url, nonce } => {
                    self.client.rule(now, &type_url, Some(&nonce), Ruling::Accept, &mut self.catalog);
                }
                Delayed::Subscribe { names } => {
                    let Some(url) = Kind::Eds.type_url(ApiVersion::V3) else { continue };
                    let subscribed = self.client.subscribe(now, &url, &names, &mut self.catalog);
                    self.report(subscribed);
                }
            }
        }
        self.client.handle_timeout(now, &mut self.catalog);
    }

    fn subscribe(&mut self) {
        let now = self.clock.now();
        for (kind, names) in self.profile.subscriptions.clone() {
            let Some(url) = kind.type_url(ApiVersion::V3) else { continue };
            let names: Vec<_> = names.iter().map(|name| self.catalog.intern(name)).collect();
            let subscribed = if names.is_empty() {
                self.client.wildcard(now, &url, true, &mut self.catalog)
            } else {
                self.client.subscribe(now, &url, &names, &mut self.catalog)
            };
            self.report(subscribed);
        }
    }

    fn report(&self, subscribed: Result<(), Refused>) {
        if let Err(error) = subscribed {
            tracing::error!("{}: {error}", self.profile.id);
        }
    }

    /// Returns whether the node goes on.
    async fn perform_effects(&mut self) -> bool {
        let effects: Vec<Effect> = self.client.effects().collect();
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Open { lane, path, .. } => {
                    if self.profile.max_streams.is_some_and(|max| self.streams_opened >= max) {
                        return false;
                    }
                    self.open(lane, path);
                    self.client.handle_opened(lane, &self.catalog);
                    effects.extend(self.client.effects());
                }
                Effect::Send { lane, bytes } => {
                    if let Some(stream) = self.streams.get(&lane) {
                        // A stream that has ended reports that by itself.
                        let _ = stream.requests.send(bytes.into()).await;
                    }
                }
                Effect::Close { lane } => {
                    self.streams.remove(&lane);
                }
            }
        }
        true
    }

    fn open(&mut self, lane: Lane, path: String) {
        self.streams_opened += 1;
        let stream = self.streams_opened;
        let (requests, queued) = mpsc::channel(MAX_QUEUED_REQUESTS);
        let (channel, events) = (self.channel.clone(), self.events.clone());
        let task = tokio::spawn(async move {
            let report = |event| events.send(StreamReport { lane, stream, event });
            if let Ok(mut responses) = rpc::open(channel, &path, queued).await {
                while let Some(Ok(response)) = responses.next().await {
                    if report(StreamEvent::Response(response)).await.is_err() {
                        return;
                    }
                }
            }
            // A node that has stopped needs no report.
            let _ = report(StreamEvent::Ended).await;
        });
        self.streams.insert(lane, OpenStream { number: stream, requests, task: task.abort_handle() });
    }

    fn handle(&mut self, report: StreamReport) {
        let StreamReport { lane, stream, event } = report;
        if self.streams.get(&lane).is_none_or(|open| open.number != stream) {
            return;
        }
        let now = self.clock.now();
        match event {
            StreamEvent::Response(bytes) => self.handle_response(now, lane, &bytes),
            StreamEvent::Ended => {
                self.streams.remove(&lane);
                self.client.handle_ended(now, lane, &mut self.catalog);
            }
        }
    }

    fn handle_response(&mut self, now: Time, lane: Lane, bytes: &[u8]) {
        let shape = MessageShape::new(self.profile.variant.is_delta(), Dir::Resp);
        let message = Arc::new(Message::parse(shape, bytes, &mut self.catalog));
        let ruling = self.ruling(now, &message);
        self.client.handle_response(now, lane, message, ruling, &mut self.catalog);
    }

    /// The answer to a response, with the node's mistakes.
    fn ruling(&mut self, now: Time, message: &Message) -> Ruling {
        let type_url = message.type_url();
        let Some((kind, _)) = Kind::of_type_url(type_url.as_str()) else { return Ruling::Accept };
        if kind == Kind::Cds
            && self.profile.rejects_bad_clusters
            && let Some(error) = self.cluster_error(message)
        {
            self.subscribe_to_endpoints(now, message);
            return Ruling::Refuse(error);
        }
        if self.profile.unanswered == Some(kind) && self.accepted.contains(&kind) {
            return Ruling::Hold;
        }
        self.accepted.insert(kind);
        if let Some((slow, delay)) = self.profile.slow
            && slow == kind
            && let Some(nonce) = nonce(message)
        {
            self.delayed.insert(now.after(delay), Delayed::Accept { type_url, nonce });
            return Ruling::Hold;
        }
        Ruling::Accept
    }

    /// Subscribes to the endpoints of the clusters in a rejected response, because Envoy takes
    /// over its good clusters.
    fn subscribe_to_endpoints(&mut self, now: Time, message: &Message) {
        let (Some(links), Some(list)) = (&self.links, message.resources()) else { return };
        let any = list.blobs().iter().filter_map(|id| self.catalog.bytes(self.catalog.entry(*id).payload?));
        let references: Vec<_> = any.flat_map(|any| links(&any)).collect();
        let endpoints = references.iter().filter(|reference| reference.kind == Kind::Eds);
        let names: Vec<_> = endpoints.map(|reference| self.catalog.intern(&reference.name)).collect();
        self.delayed.insert(now.after(WARMING_DELAY), Delayed::Subscribe { names });
    }

    /// Envoy's error for a cluster whose timeout violates its constraint.
    fn cluster_error(&self, message: &Message) -> Option<ErrorDetail> {
        let clusters = message.resources()?.blobs().iter();
        let mut clusters = clusters
            .filter_map(|id| self.catalog.bytes(self.catalog.entry(*id).payload?))
            .map(|any| self.schema.any_to_json(&any));
        let bad = clusters.find(|cluster| cluster["connect_timeout"] == "0s")?;
        let name = bad["name"].as_str().unwrap_or_default();
        let message = format!(
            "Error adding/updating cluster(s) {name}: Proto constraint validation failed \
             (ClusterValidationError.ConnectTimeout: value must be greater than 0s)"
        );
        Some(ErrorDetail { code: INTERNAL, message: message.into(), details: Vec::new() })
    }
}

/// The gRPC status code that Envoy puts into its `error_detail`.
const INTERNAL: i32 = 13;

fn nonce(message: &Message) -> Option<Nonce> {
    match &message.body {
        MessageBody::SotwResponse(response) => Some(response.nonce.clone()),
        MessageBody::DeltaResponse(response) => Some(response.nonce.clone()),
        _ => None,
    }
}
