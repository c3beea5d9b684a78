use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::problems::problems;
use crate::store::{Options, ResourceState, Store, TypeState};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Time};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

fn cluster(name: &str, timeout: &str) -> Value {
    json!({"@type": CLUSTER, "name": name, "type": "EDS", "connect_timeout": timeout})
}

fn section(name: &str, mut fields: Value) -> Value {
    fields["@type"] = json!(format!("type.googleapis.com/envoy.admin.v3.{name}"));
    fields
}

fn dump(configs: &[Value]) -> Dump {
    let text = json!({ "configs": configs }).to_string();
    read("dump.json", text.as_bytes(), &Schema::builtin()).unwrap()
}

fn store_of(dump: &Dump) -> Store {
    let mut catalog = Catalog::in_memory();
    let frames = dump.frames("dump.json", &mut catalog);
    let mut store = Store::new(catalog, Clock { epoch: None, untimed: true }, Options::default());
    frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(Time::ZERO);
    store
}

/// Returns the name, state, rejection, newest version and accepted version of each resource.
fn resources(store: &Store) -> Vec<(String, ResourceState, bool, Option<String>, Option<String>)> {
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    let states = store.states();
    let all = states.iter().flat_map(|state| store.resources(state.summary.stream, &state.summary.type_url));
    all.map(|fact| {
        (fact.name.to_string(), fact.state, fact.refused, text(&fact.version), text(&fact.acked_version))
    })
    .collect()
}

#[test]
fn converts_config_dump_to_session() {
    let dump = dump(&[
        section("BootstrapConfigDump", json!({"bootstrap": {"node": {"id": "edge-1", "cluster": "edge"}}})),
        section(
            "ClustersConfigDump",
            json!({
                "version_info": "3",
                "static_clusters": [{"cluster": cluster("xds", "1s")}],
                "dynamic_active_clusters": [
                    {"version_info": "1", "cluster": cluster("a", "1s")},
                    {"version_info": "2", "cluster": cluster("b", "1s"), "error_state": {
                        "details": "no", "version_info": "3", "failed_configuration": cluster("b", "0s")}}],
                "dynamic_warming_clusters": [{"version_info": "3", "cluster": cluster("a", "2s")}],
            }),
        ),
        section(
            "SecretsConfigDump",
            json!({"dynamic_warming_secrets": [{"name": "s", "version_info": "uninitialized",
                "secret": {"@type": SECRET, "name": "s"}}]}),
        ),
    ]);
    assert_eq!((dump.origin, dump.notices.as_slice()), (DumpOrigin::ConfigDump, &[][..]));
    let store = store_of(&dump);
    let of = |text: &str| Some(text.to_owned());
    assert_eq!(
        resources(&store),
        [
            ("a".into(), ResourceState::Present, false, of("3"), of("1")),
            ("b".into(), ResourceState::Present, true, of("3"), of("2")),
            ("s".into(), ResourceState::Waiting, false, None, None),
        ]
    );
    let states = store.states();
    let clusters = states.iter().find(|state| state.summary.type_url.as_str() == CLUSTER).unwrap();
    assert_eq!((clusters.summary.state, clusters.summary.node.as_deref()), (TypeState::Nack, Some("edge-1")));
    assert_eq!(&*clusters.verdicts.nacks[0].message, "b: no");
    let stream = &store.streams()[0];
    assert_eq!(stream.variant.map(|variant| variant.word()), Some("dump"));
}

#[test]
fn csds_clients_have_separate_streams() {
    let resource = |name: &str, status: &str, body: Value| json!({"typeUrl": CLUSTER, "name": name, "versionInfo": "7", "xdsConfig": body, "clientStatus": status});
    let text = json!({"config": [
        {"node": {"id": "one"}, "clientScope": "a", "genericXdsConfigs": [resource("a", "ACKED", cluster("a", "1s"))]},
        {"node": {"id": "two"}, "xdsConfig": [{"clusterConfig": {"dynamicActiveClusters":
            [{"versionInfo": "1", "cluster": cluster("c", "1s"), "clientStatus": "ACKED"}]}}]},
        {"node": {"id": "one"}, "clientScope": "b", "genericXdsConfigs": [
            resource("gone", "DOES_NOT_EXIST", Value::Null), resource("asked", "REQUESTED", Value::Null),
            json!({"type_url": CLUSTER, "name": "static", "is_static_resource": true})]},
    ]});
    let dump = read("csds.json", text.to_string().as_bytes(), &Schema::builtin()).unwrap();
    assert_eq!((dump.origin, dump.clients.len()), (DumpOrigin::Csds, 2));
    let store = store_of(&dump);
    let states: Vec<_> = resources(&store).into_iter().map(|(name, state, ..)| (name, state)).collect();
    assert_eq!(
        states,
        [
            ("a".into(), ResourceState::Present),
            ("gone".into(), ResourceState::Absent),
            ("asked".into(), ResourceState::Waiting),
            ("c".into(), ResourceState::Present),
        ]
    );
}

#[test]
fn compares_applied_with_sent_resources() {
    let node = section("BootstrapConfigDump", json!({"bootstrap": {"node": {"id": "edge-1"}}}));
    let sent = |clusters: &[Value]| {
        let items: Vec<_> = clusters.iter().map(|one| json!({"version_info": "2", "cluster": one})).collect();
        store_of(&dump(&[
            node.clone(),
            section("ClustersConfigDump", json!({"dynamic_active_clusters": items})),
        ]))
    };
    let store = sent(&["same", "older", "warm", "gone"].map(|name| cluster(name, "2s")));
    let has = dump(&[
        node.clone(),
        section(
            "ClustersConfigDump",
            json!({
                "dynamic_active_clusters": [
                    {"version_info": "1", "cluster": cluster("same", "2s")},
                    {"version_info": "1", "cluster": cluster("older", "1s")},
                    {"version_info": "1", "cluster": cluster("warm", "1s")},
                    {"version_info": "1", "cluster": cluster("more", "1s")}],
                "dynamic_warming_clusters": [{"version_info": "2", "cluster": cluster("warm", "2s")}],
            }),
        ),
    ]);
    let applied = AppliedState::new(has, Schema::builtin());
    let state = &store.states()[0];
    let diff = applied.compare(state, &store).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<Arc<str>>>();
    let expected = AppliedDiff {
        total: 4,
        applied: 1,
        warming: names(&["warm"]),
        differing: names(&["older"]),
        missing: names(&["gone"]),
        extra: names(&["more"]),
        ..AppliedDiff::default()
    };
    assert_eq!(diff, expected);
    assert!(diff.is_problem());
    // Another node, and a type that the dump lacks.
    let other = section("BootstrapConfigDump", json!({"bootstrap": {"node": {"id": "edge-2"}}}));
    let clusters = section("ClustersConfigDump", json!({}));
    let diff = |configs: &[Value]| AppliedState::new(dump(configs), Schema::builtin()).compare(state, &store);
    assert_eq!(diff(&[other, clusters.clone()]), None);
    assert_eq!(diff(&[node, section("RoutesConfigDump", json!({}))]), None);
    // A dump without a bootstrap matches all nodes.
    assert_eq!(diff(&[clusters]).map(|account| account.missing.len()), Some(4));
}

#[test]
fn leaves_out_unknown_fields_with_a_notice() {
    let mut novel = cluster("a", "1s");
    novel["novel_field"] = json!(1);
    let mut odd = cluster("b", "1s");
    odd["connect_timeout"] = json!("soon");
    let of = |cluster: &Value| json!({"version_info": "1", "cluster": cluster, "novel": true});
    let dump = dump(&[section(
        "ClustersConfigDump",
        json!({"dynamic_active_clusters": [of(&novel), of(&odd)], "novel_list": [1]}),
    )]);
    let named = |resource: &DumpedResource, name: &str| {
        resource.type_url == CLUSTER && resource.name.as_deref() == Some(name)
    };
    let [DumpNotice::UnknownField(first, error), DumpNotice::InvalidResource(second, _)] = &dump.notices[..]
    else {
        panic!("{:?}", dump.notices)
    };
    assert!(named(first, "a") && error.to_string().contains("novel_field"), "{:?}", dump.notices);
    assert!(named(second, "b"), "{:?}", dump.notices);
    assert_eq!(dump.clients[0].entries.len(), 2);
}

#[test]
fn dumps_of_pods_are_one_dump() {
    let clusters = |name: &str| {
        section("ClustersConfigDump", json!({"dynamic_active_clusters": [{"cluster": cluster(name, "1s")}]}))
    };
    let node = section("BootstrapConfigDump", json!({"bootstrap": {"node": {"id": "edge-1"}}}));
    let value = json!({"pods": [
        {"pod": "shop/a", "dump": {"configs": [node, clusters("a")]}},
        {"pod": "shop/b", "dump": {"configs": [clusters("b")]}},
        {"pod": "shop/c", "error": "refused"},
        {"pod": "shop/d", "dump": {"pods": []}},
    ]});
    let dump = read("dump.json", value.to_string().as_bytes(), &Schema::builtin()).unwrap();
    let ids: Vec<Option<&str>> = dump.clients.iter().map(|client| client.id.as_deref()).collect();
    assert_eq!(ids, [Some("edge-1"), Some("shop/b")]);
    let unread: Vec<&str> = dump
        .notices
        .iter()
        .map(|notice| match notice {
            DumpNotice::UnreadPod { pod, .. } => pod.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(unread, ["shop/c", "shop/d"]);
    let none = json!({"pods": [{"pod": "shop/c", "error": "refused"}]}).to_string();
    assert_eq!(read("dump.json", none.as_bytes(), &Schema::builtin()).unwrap_err(), DumpError::NotADump);
}

#[test]
fn reports_malformed_endpoints() {
    let malformed =
        json!({"@type": ENDPOINTS, "cluster_name": "c", "endpoints": ["x", {"lb_endpoints": [1]}]});
    let dump = dump(&[section(
        "EndpointsConfigDump",
        json!({"dynamic_endpoint_configs": [{"endpoint_config": malformed}]}),
    )]);
    assert!(
        matches!(&dump.notices[..], [DumpNotice::InvalidResource(resource, _)]
        if resource.name.as_deref() == Some("c")),
        "{:?}",
        dump.notices
    );
}

#[test]
fn removes_envoys_additions_to_endpoints() {
    let mut assignment = json!({"cluster_name": "c", "policy": {"overprovisioning_factor": 140}, "endpoints": [
        {"locality": {}, "load_balancing_weight": 0, "lb_endpoints": [{"health_status": "HEALTHY",
            "load_balancing_weight": 1, "endpoint": {"health_check_config": {}, "address": {}}}]},
        {"locality": {"region": "r"}, "lbEndpoints": [{"healthStatus": "UNHEALTHY"}]}]});
    additions::remove_additions(&mut assignment);
    let expected = json!({"cluster_name": "c", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {}}}]},
        {"locality": {"region": "r"}, "lbEndpoints": [{"healthStatus": "UNHEALTHY"}]}]});
    assert_eq!(assignment, expected);
}

#[test]
fn rejects_other_files() {
    let read = |text: &str| {
        super::read("x.json", text.as_bytes(), &Schema::builtin()).map(|dump| dump.clients.len())
    };
    for text in
        ["{}", "[]", "1", r#"{"configs": []}"#, r#"{"configs": [{"@type": "other"}]}"#, r#"{"config": 1}"#]
    {
        assert_eq!(read(text), Err(DumpError::NotADump), "{text}");
    }
    assert!(matches!(read(r#"{"configs": [{"@ty"#), Err(DumpError::Syntax(_))));
    assert_eq!(read(r#"{"config": []}"#), Ok(0));
    assert_eq!(super::read("x", b"\xff\xfe", &Schema::builtin()).err(), Some(DumpError::NotADump));
}

#[test]
fn empty_sections_owe_nothing() {
    let empty = ["RoutesConfigDump", "ScopedRoutesConfigDump", "EndpointsConfigDump", "SecretsConfigDump"];
    let mut sections: Vec<Value> = empty.iter().map(|name| section(name, json!({}))).collect();
    sections.push(section("EcdsConfigDump", json!({"ecds_filters": []})));
    // A server has sent an empty list of clusters, and no list of listeners.
    sections.push(section("ClustersConfigDump", json!({"version_info": "7", "static_clusters": []})));
    sections.push(section("ListenersConfigDump", json!({})));
    let store = store_of(&dump(&sections));
    let states: Vec<_> = store
        .states()
        .iter()
        .map(|state| (state.summary.type_url.to_string(), state.summary.state))
        .collect();
    assert_eq!(states, [(CLUSTER.to_owned(), TypeState::Synced)]);
    let found = problems(&store, &[]);
    assert!(found.is_empty(), "{found:?}");
    let nothing = store_of(&dump(&[section("RoutesConfigDump", json!({}))]));
    assert!(nothing.states().is_empty() && problems(&nothing, &[]).is_empty());
}

/// gRPC's CSDS response names the version of a rejected resource, and lacks its content.
#[test]
fn rejections_without_content_belong_to_their_resources() {
    let resource = |name: &str, config: Option<Value>| {
        let mut entry = json!({"typeUrl": CLUSTER, "name": name, "clientStatus": "NACKED",
            "errorState": {"versionInfo": "2", "details": "unsupported cluster type"}});
        if let Some(config) = config {
            entry["versionInfo"] = json!("1");
            entry["xdsConfig"] = config;
        }
        entry
    };
    let text = json!({"config": [{"node": {"id": "cart"}, "genericXdsConfigs": [
        resource("held", Some(cluster("held", "1s"))), resource("never", None),
        {"typeUrl": CLUSTER, "name": "good", "versionInfo": "2", "clientStatus": "ACKED",
            "xdsConfig": cluster("good", "1s")}]}]});
    let dump = read("csds.json", text.to_string().as_bytes(), &Schema::builtin()).unwrap();
    let store = store_of(&dump);
    let of = |text: &str| Some(text.to_owned());
    assert_eq!(
        resources(&store),
        [
            ("held".into(), ResourceState::Present, true, of("1"), of("1")),
            ("good".into(), ResourceState::Present, false, of("2"), of("2")),
            ("never".into(), ResourceState::Present, true, of("2"), None),
        ]
    );
    let state = &store.states()[0];
    let messages: Vec<_> = state.verdicts.nacks.iter().map(|nack| (&*nack.message, &*nack.version)).collect();
    assert_eq!(messages, [("held: unsupported cluster type", "2"), ("never: unsupported cluster type", "2")]);
    // The content in use stays visible.
    let held = store.resource(state.summary.stream, &state.summary.type_url, "held").unwrap();
    let body = Schema::builtin().any_to_json(&store.catalog().bytes(held.content.unwrap()).unwrap());
    assert_eq!(body["name"], "held");
}
