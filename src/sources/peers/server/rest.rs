//! REST polls: each request has the whole subscription of one type (docs/protocol.md#d-01).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xdscope_wire::discovery::encode::ResponseFields;
use xdscope_wire::event::{Method, TypeUrl, Variant};

use super::request::Request;
use super::snapshot::{EntryForm, Type};
use super::{MAX_COUNTED_NODES, Plan, script};

/// The response that each client was sent last, by node id and type.
///
/// Polls have no stream, so the state of a client is found by its node.
#[derive(Debug, Default)]
pub struct RestPolls {
    served: BTreeMap<(String, TypeUrl), ServedPoll>,
    nonces: u64,
}

/// The response that a client was sent last.
#[derive(Debug, PartialEq, Eq)]
struct ServedPoll {
    names: BTreeSet<String>,
    version: String,
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollAnswer {
    /// An encoded `DiscoveryResponse`.
    Response(Vec<u8>),
    /// The client has everything: nothing to send until the plan changes
    /// (docs/protocol.md#d-07).
    Unchanged,
    /// The request is not a `DiscoveryRequest`.
    Malformed,
    /// The plan has scripts, which are streams.
    NotServed,
}

impl RestPolls {
    /// Answers an encoded `DiscoveryRequest` that was posted to the path of `method`.
    pub fn answer(&mut self, plan: &Plan, method: &Method, request: &[u8]) -> PollAnswer {
        let Some(request) = Request::read(false, request) else { return PollAnswer::Malformed };
        let node = request.node.as_deref().unwrap_or_default().to_owned();
        let Some(snapshot) = plan.snapshot(&node) else { return PollAnswer::NotServed };
        let url = script::effective(method, TypeUrl::from(&*request.type_url));
        let none = Arc::default();
        let known = snapshot.of_type(url.as_str()).unwrap_or(&none);
        let names: BTreeSet<String> = request.names.iter().map(|name| name.to_string()).collect();
        let now = ServedPoll { names, version: known.stated_version(false).to_owned() };
        let key = (node, url);
        // An empty version is the first poll of a client, unless it refuses the first response.
        let is_first = request.version.is_empty() && request.error.is_none();
        let resources = wanted(known, &now.names);
        let has_all = self.served.get(&key) == Some(&now);
        if resources.is_empty() || (has_all && !is_first) {
            return PollAnswer::Unchanged;
        }
        self.nonces += 1;
        let nonce = format!("{:x}", self.nonces);
        let fields = ResponseFields {
            version: &now.version,
            type_url: key.1.as_str(),
            nonce: &nonce,
            control_plane: Some(super::subscriptions::IDENTIFIER),
            ..ResponseFields::default()
        };
        // Heartbeats need a stream.
        let form = EntryForm { delta: false, has_ttls: false };
        let entries = known.encoded_some(&resources, form);
        let response = [fields.head(false), entries.to_vec(), fields.tail(false)].concat();
        // Bounds the memory for clients that change their id each time.
        if self.served.len() > MAX_COUNTED_NODES {
            self.served.clear();
        }
        self.served.insert(key, now);
        PollAnswer::Response(response)
    }
}

/// Returns the resources that a poll covers: all for an empty list or `*`.
fn wanted(known: &Type, names: &BTreeSet<String>) -> BTreeSet<Arc<str>> {
    if names.is_empty() || names.contains("*") {
        return known.names().cloned().collect();
    }
    names.iter().flat_map(|name| known.covered_names(name)).cloned().collect()
}

/// Returns the method of a published path that REST clients post to.
pub fn rest_method(path: &str) -> Option<Method> {
    Method::of_path(path).filter(|method| method.variant == Variant::Rest && method.kind.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::server::{Snapshot, SnapshotResource};
    use xdscope_wire::discovery::encode::{RequestFields, encode_any};

    const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

    fn plan(content: &[u8]) -> Plan {
        let resource = |name: &str| {
            let any = encode_any(EDS, content).into();
            let resource = SnapshotResource::new("1".into(), any);
            (Arc::from(name), resource)
        };
        let known = Type::new("7".into(), ["a", "b"].map(resource).into());
        let all = Arc::new(Snapshot::new([(TypeUrl::from(EDS), known)].into()));
        Plan::Snapshots { by_node: BTreeMap::new(), all }
    }

    struct Client {
        polls: RestPolls,
        plan: Plan,
    }

    impl Client {
        /// Returns the version that answers a poll, or the kind of the answer.
        fn poll(&mut self, version: &str, names: &[&str]) -> String {
            let fields =
                RequestFields { version_info: version, names: names.to_vec(), ..RequestFields::default() };
            let method = rest_method("/v3/discovery:endpoints").expect("a method");
            match self.polls.answer(&self.plan, &method, &fields.encode(false)) {
                PollAnswer::Response(bytes) => {
                    let mut fields = xdscope_wire::pb::Fields::new(&bytes).map_while(Result::ok);
                    fields.find(|field| field.number == 1).expect("a version").text().into_owned()
                }
                other => format!("{other:?}"),
            }
        }
    }

    /// docs/protocol.md#d-07, docs/protocol.md#e-30
    #[test]
    fn answers_polls_with_news_only() {
        let mut client = Client { polls: RestPolls::default(), plan: plan(b"one") };
        assert_eq!(client.poll("", &["a"]), "7");
        assert_eq!(client.poll("7", &["a"]), "Unchanged");
        assert_eq!(client.poll("6", &["a"]), "Unchanged", "a refused response is not sent again");
        assert_eq!(client.poll("7", &["a", "b"]), "7", "new names are answered");
        assert_eq!(client.poll("", &["a", "b"]), "7", "the client has started again");
        assert_eq!(client.poll("7", &["none"]), "Unchanged");
        client.plan = plan(b"two").after(&client.plan);
        assert!(client.poll("7", &["a", "b"]).starts_with("7+"), "changed content has another version");
        assert_eq!(rest_method("/v3/discovery:nothing"), None);
        assert_eq!(rest_method("/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"), None);
    }

    #[test]
    fn refuses_malformed_polls() {
        let method = rest_method("/v3/discovery:clusters").expect("a method");
        let answer = RestPolls::default().answer(&plan(b""), &method, b"\xff\xff");
        assert_eq!(answer, PollAnswer::Malformed);
    }
}
