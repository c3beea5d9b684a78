use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::Endpoint;

use crate::content::Catalog;
use crate::event::{ApiVersion, Kind, Method, Variant};
use crate::net::rpc;
use crate::pb::put_len_field;
use crate::schema::Schema;
use crate::wire::{Body, ErrorDetail, Message, Shape};

/// One client of the demo.
#[derive(Clone, Debug)]
pub struct Client {
    pub node_id: String,
    pub node_cluster: String,
    pub variant: Variant,
    /// Refuses clusters whose `connect_timeout` is not positive, in Envoy's words.
    pub checks: bool,
}

/// Runs one client against `server` (`http://host:port`) until the stream ends: subscribes to all clusters
/// and listeners, then to the endpoints and routes that they name.
pub async fn run(client: Client, server: String, schema: Arc<Schema>) -> Result<(), Status> {
    let endpoint = Endpoint::from_shared(server).map_err(|e| Status::internal(e.to_string()))?;
    let channel = endpoint.connect().await.map_err(|e| Status::unavailable(e.to_string()))?;
    let path = Method::path(client.variant, None, ApiVersion::V3).unwrap_or_default();
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
    session.request(Kind::Cds, None).await?;
    session.request(Kind::Lds, None).await?;
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
        let bodies: Vec<Value> = message
            .resources()
            .iter()
            .flat_map(|list| list.blobs())
            .filter_map(|id| self.catalog.bytes(self.catalog.entry(*id).payload?))
            .map(|any| self.schema.any_to_json(&any))
            .collect();
        let refusal = if self.client.checks && kind == Kind::Cds { refuse(&bodies) } else { None };
        // Names that the good resources refer to are asked for before the verdict, as Envoy does.
        let follow = match kind {
            Kind::Cds => {
                let names = bodies.iter().filter_map(|cluster| cluster["name"].as_str());
                Some((Kind::Eds, names.map(str::to_owned).collect()))
            }
            Kind::Lds => Some((Kind::Rds, texts(&bodies, "route_config_name"))),
            _ => None,
        };
        let state = self.types.entry(kind).or_default();
        state.nonce = nonce;
        if refusal.is_none() {
            state.version = version;
        }
        if let Some((child, names)) = follow {
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

/// All texts under this key, at any depth.
fn texts(values: &[Value], wanted: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Value> = values.iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == wanted => {
                            found.insert(text.clone());
                        }
                        _ => open.push(value),
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
