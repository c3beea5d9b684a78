use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::net::rpc;
use crate::schema::Schema;
use crate::wire::content::Catalog;
use crate::wire::event::{ApiVersion, Kind, Method, Variant};
use crate::wire::pb::put_len_field;
use crate::wire::{Body, ErrorDetail, Message, Shape};

/// One client of the demo.
#[derive(Clone, Debug)]
pub struct Client {
    pub node_id: String,
    pub node_cluster: String,
    pub variant: Variant,
    /// What it subscribes to at first; no names mean everything. Not aggregated: a stream for each.
    pub asks: Vec<(Kind, Vec<String>)>,
    /// Subscribes to the endpoints, routes and secrets that its resources name.
    pub follows: bool,
    /// Refuses clusters whose `connect_timeout` is not positive, in Envoy's words.
    pub checks: bool,
    /// Answers nothing but the first response of this type.
    pub silent: Option<Kind>,
    /// Answers this type so much later.
    pub slow: Option<(Kind, Duration)>,
    /// How often it connects, all in all.
    pub connects: u32,
}

/// Between the end of a stream and the next attempt.
const BACK_OFF: Duration = Duration::from_secs(1);

/// Runs one client against `server` (`http://host:port`) until its last stream ends.
pub async fn run(client: Client, server: String, schema: Arc<Schema>) -> Result<(), Status> {
    for attempt in 1..=client.connects {
        let end = connection(&client, server.clone(), &schema).await;
        if attempt == client.connects {
            return end;
        }
        tokio::time::sleep(BACK_OFF).await;
    }
    Ok(())
}

/// Runs clients of one stream each over one connection, until the last of them ends.
pub async fn run_together(clients: Vec<Client>, server: String, schema: Arc<Schema>) -> Result<(), Status> {
    let channel = connect(server).await?;
    let mut streams = tokio::task::JoinSet::new();
    for client in clients {
        streams.spawn(stream(client, channel.clone(), schema.clone()));
    }
    while let Some(end) = streams.join_next().await {
        end.map_err(|e| Status::internal(e.to_string()))??;
    }
    Ok(())
}

async fn connect(server: String) -> Result<Channel, Status> {
    let endpoint = Endpoint::from_shared(server).map_err(|e| Status::internal(e.to_string()))?;
    endpoint.connect().await.map_err(|e| Status::unavailable(e.to_string()))
}

async fn connection(client: &Client, server: String, schema: &Arc<Schema>) -> Result<(), Status> {
    let channel = connect(server).await?;
    if client.variant.is_aggregated() {
        return stream(client.clone(), channel, schema.clone()).await;
    }
    let mut streams = tokio::task::JoinSet::new();
    for ask in &client.asks {
        let client = Client { asks: vec![ask.clone()], ..client.clone() };
        streams.spawn(stream(client, channel.clone(), schema.clone()));
    }
    while let Some(end) = streams.join_next().await {
        end.map_err(|e| Status::internal(e.to_string()))??;
    }
    Ok(())
}

async fn stream(client: Client, channel: Channel, schema: Arc<Schema>) -> Result<(), Status> {
    let only = client.asks.first().map(|(kind, _)| *kind).filter(|_| !client.variant.is_aggregated());
    let path = Method::path(client.variant, only, ApiVersion::V3).unwrap_or_default();
    // The response headers come only after the first request is on its way.
    let (requests, ready) = mpsc::channel(16);
    let mut session = Session {
        delta: client.variant.is_delta(),
        client,
        schema,
        catalog: Catalog::in_memory(),
        types: BTreeMap::new(),
        greeted: false,
        requests,
    };
    for (kind, names) in session.client.asks.clone() {
        session.types.entry(kind).or_default().names = names.into_iter().collect();
        session.request(kind, None).await?;
    }
    let mut responses = rpc::open(channel, &path, ready).await?;
    while let Some(response) = responses.next().await {
        session.take(&response?).await?;
    }
    Ok(())
}

#[derive(Default)]
struct Type {
    version: String,
    nonce: String,
    names: BTreeSet<String>,
    asked: bool,
}

struct Session {
    delta: bool,
    client: Client,
    schema: Arc<Schema>,
    catalog: Catalog,
    types: BTreeMap<Kind, Type>,
    greeted: bool,
    requests: mpsc::Sender<Bytes>,
}

impl Session {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let shape = if self.delta { Shape::DeltaResponse } else { Shape::SotwResponse };
        let message = Message::parse(shape, bytes, &mut self.catalog);
        let (version, nonce) = match &message.body {
            Body::SotwResponse(m) => (m.version_info.to_string(), m.nonce.to_string()),
            Body::DeltaResponse(m) => (m.system_version_info.to_string(), m.nonce.to_string()),
            _ => return Err(Status::internal("undecodable response")),
        };
        let Some((kind, _)) = Kind::of_type_url(message.type_url().as_str()) else { return Ok(()) };
        let answered = self.types.get(&kind).is_some_and(|state| !state.version.is_empty());
        if self.client.silent == Some(kind) && answered {
            return Ok(());
        }
        if let Some((_, time)) = self.client.slow.filter(|(slow, _)| *slow == kind) {
            tokio::time::sleep(time).await;
        }
        let read = message.resources().filter(|_| self.client.follows || self.client.checks);
        let bodies: Vec<Value> = read
            .iter()
            .flat_map(|list| list.blobs())
            .filter_map(|id| self.catalog.bytes(self.catalog.entry(*id).payload?))
            .map(|any| self.schema.any_to_json(&any))
            .collect();
        let refusal = if self.client.checks && kind == Kind::Cds { refuse(&bodies) } else { None };
        // Names that the good resources refer to are asked for before the verdict, as Envoy does.
        let follow = match kind {
            _ if !self.client.follows => vec![],
            Kind::Cds => {
                let service = |cluster: &Value| {
                    let service = &cluster["eds_cluster_config"]["service_name"];
                    service.as_str().or(cluster["name"].as_str()).map(str::to_owned)
                };
                vec![(Kind::Eds, bodies.iter().filter_map(service).collect())]
            }
            Kind::Lds => {
                vec![(Kind::Rds, texts(&bodies, "route_config_name")), (Kind::Sds, sds_names(&bodies))]
            }
            _ => vec![],
        };
        let state = self.types.entry(kind).or_default();
        state.nonce = nonce;
        if refusal.is_none() {
            state.version = version;
        }
        for (child, names) in follow {
            self.subscribe(child, names).await?;
        }
        self.request(kind, refusal).await
    }

    /// Asks for more names of a type.
    async fn subscribe(&mut self, kind: Kind, names: BTreeSet<String>) -> Result<(), Status> {
        let state = self.types.entry(kind).or_default();
        let new: BTreeSet<_> = names.difference(&state.names).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        state.names.extend(new.iter().cloned());
        if !self.delta {
            return self.request(kind, None).await;
        }
        state.asked = true;
        self.send(kind, &new, "", "", None).await
    }

    /// The first request of a type, or the verdict on its newest response.
    async fn request(&mut self, kind: Kind, error: Option<ErrorDetail>) -> Result<(), Status> {
        let state = self.types.entry(kind).or_default();
        let names = if self.delta && state.asked { BTreeSet::new() } else { state.names.clone() };
        state.asked = true;
        let (version, nonce) = (state.version.clone(), state.nonce.clone());
        self.send(kind, &names, &version, &nonce, error).await
    }

    async fn send(
        &mut self,
        kind: Kind,
        names: &BTreeSet<String>,
        version: &str,
        nonce: &str,
        error: Option<ErrorDetail>,
    ) -> Result<(), Status> {
        let url = kind.type_url(ApiVersion::V3).unwrap_or_default();
        let mut node = Vec::new();
        put_len_field(&mut node, 1, self.client.node_id.as_bytes());
        put_len_field(&mut node, 2, self.client.node_cluster.as_bytes());
        put_len_field(&mut node, 6, b"xdscope-demo");
        // Field numbers of DiscoveryRequest and DeltaDiscoveryRequest.
        let (node_at, names_at, url_at, nonce_at, error_at) =
            if self.delta { (1, 3, 2, 6, 7) } else { (2, 3, 4, 5, 6) };
        let mut out = Vec::new();
        if !self.delta && !version.is_empty() {
            put_len_field(&mut out, 1, version.as_bytes());
        }
        if !self.greeted {
            put_len_field(&mut out, node_at, &node);
            self.greeted = true;
        }
        for name in names {
            put_len_field(&mut out, names_at, name.as_bytes());
        }
        put_len_field(&mut out, url_at, url.as_str().as_bytes());
        if !nonce.is_empty() {
            put_len_field(&mut out, nonce_at, nonce.as_bytes());
        }
        if let Some(error) = error {
            put_len_field(&mut out, error_at, &error.encode());
        }
        self.requests.send(out.into()).await.map_err(|_| Status::cancelled("the stream ended"))
    }
}

/// Envoy's refusal of clusters whose timeout breaks the constraint on it.
fn refuse(clusters: &[Value]) -> Option<ErrorDetail> {
    let bad = clusters.iter().find(|cluster| cluster["connect_timeout"] == "0s")?;
    let name = bad["name"].as_str().unwrap_or_default();
    let message = format!(
        "Error adding/updating cluster(s) {name}: Proto constraint validation failed \
         (ClusterValidationError.ConnectTimeout: value must be greater than 0s)"
    );
    Some(ErrorDetail { code: 13, message: message.into(), details: Vec::new() })
}

/// Names of the secrets that are to come by SDS.
fn sds_names(listeners: &[Value]) -> BTreeSet<String> {
    let configs = under(listeners, "tls_certificate_sds_secret_configs");
    let configs = configs.into_iter().flat_map(|configs| configs.as_array().into_iter().flatten());
    configs.filter_map(|config| config["name"].as_str()).map(str::to_owned).collect()
}

/// All texts under this key, at any depth.
fn texts(values: &[Value], wanted: &str) -> BTreeSet<String> {
    under(values, wanted).into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// All values under this key, at any depth.
fn under<'a>(values: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    let mut open: Vec<&Value> = values.iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get(wanted));
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
