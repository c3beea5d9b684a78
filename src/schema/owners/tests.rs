use serde_json::{Value as Json, json};

use super::*;
use crate::Schema;

fn any(message: &str, body: &Json) -> Vec<u8> {
    let mut body = body.clone();
    body["@type"] = json!(format!("type.googleapis.com/{message}"));
    Schema::builtin().encode("google.protobuf.Any", &body).expect("a message")
}

fn shown(message: &str, body: &Json) -> Vec<String> {
    owners_of(&any(message, body), "").iter().map(Owner::to_string).collect()
}

fn istio(kind: &str, name: &str) -> Json {
    let path = format!("/apis/networking.istio.io/v1/namespaces/shop/{kind}/{name}");
    json!({ "filter_metadata": { "istio": { "config": path } } })
}

#[test]
fn each_message_with_metadata_has_the_owners_of_istio() {
    let cluster = json!({ "name": "a", "metadata": istio("destination-rule", "reviews") });
    assert_eq!(shown("envoy.config.cluster.v3.Cluster", &cluster), ["DestinationRule shop/reviews"]);

    let chain = |name: &str| json!({ "metadata": istio("virtual-service", name) });
    let listener = json!({
        "name": "a",
        "metadata": istio("gateway", "front"),
        "filter_chains": [chain("one"), chain("one"), chain("two")],
        "default_filter_chain": chain("three"),
    });
    let owners = ["Gateway shop/front", "one", "two", "three"];
    let owners = owners.map(|name| match name.contains(' ') {
        true => name.to_owned(),
        false => format!("VirtualService shop/{name}"),
    });
    let mut found = shown("envoy.config.listener.v3.Listener", &listener);
    found.sort();
    let mut wanted = owners.to_vec();
    wanted.sort();
    assert_eq!(found, wanted);

    let route = json!({
        "match": { "prefix": "/" },
        "route": { "cluster": "a" },
        "metadata": istio("virtual-service", "route"),
    });
    let host = json!({
        "name": "host", "domains": ["*"], "routes": [route], "metadata": istio("virtual-service", "host"),
    });
    let both = ["VirtualService shop/route", "VirtualService shop/host"];
    assert_eq!(shown("envoy.config.route.v3.VirtualHost", &host), both);
    let routes = json!({ "name": "80", "virtual_hosts": [host], "metadata": istio("gateway", "all") });
    let mut all = both.to_vec();
    all.push("Gateway shop/all");
    assert_eq!(shown("envoy.config.route.v3.RouteConfiguration", &routes), all);
}

#[test]
fn services_of_a_cluster_of_istio_are_owners() {
    let services = json!([{ "host": "a.shop.svc.cluster.local", "name": "a", "namespace": "shop" }]);
    let cluster = json!({ "metadata": { "filter_metadata": { "istio": { "services": services } } } });
    assert_eq!(shown("envoy.config.cluster.v3.Cluster", &cluster), ["Service shop/a"]);
    let entries = json!([{ "host": "www.a.com", "name": "www.a.com", "namespace": "shop" }]);
    let cluster = json!({ "metadata": { "filter_metadata": { "istio": { "services": entries } } } });
    assert_eq!(shown("envoy.config.cluster.v3.Cluster", &cluster), ["ServiceEntry shop/www.a.com?"]);
}

#[test]
fn marks_of_other_gateways_are_owners() {
    let gateway = json!({
        "resources": [{ "kind": "HTTPRoute", "namespace": "shop", "name": "front", "sectionName": "a" }],
        "policies": [{ "kind": "BackendTrafficPolicy", "namespace": "shop", "name": "retries" }],
    });
    let marked = |key: &str, mark: &Json| {
        let cluster = json!({ "metadata": { "filter_metadata": { key: mark } } });
        shown("envoy.config.cluster.v3.Cluster", &cluster)
    };
    let both = ["HTTPRoute shop/front", "BackendTrafficPolicy shop/retries"];
    assert_eq!(marked("envoy-gateway", &gateway), both);
    let rule = json!({ "kind": "HTTPRoute", "group": "gateway.networking.k8s.io", "namespace": "shop",
        "name": "front", "rule": "0" });
    assert_eq!(marked("dev.kgateway.route", &rule), ["HTTPRoute shop/front"]);
    assert_eq!(marked("io.kgateway.route", &rule), ["HTTPRoute shop/front"]);
    assert_eq!(marked("acme", &rule), [""; 0]);
}

#[test]
fn name_is_a_guess_behind_the_metadata() {
    let by_name = |name: &str| owners_of(&[], name).first().map(Owner::to_string);
    let name = "outbound|80|v1|reviews.shop.svc.cluster.local";
    assert_eq!(by_name(name).as_deref(), Some("Service shop/reviews?"));
    let name = "outbound_.80_.v1_.reviews.shop.svc.cluster.local";
    assert_eq!(by_name(name).as_deref(), Some("Service shop/reviews?"));
    assert_eq!(by_name("httproute/shop/front/rule/0").as_deref(), Some("HTTPRoute shop/front?"));
    for name in [
        "",
        "a",
        "BlackHoleCluster",
        "inbound|80||",
        "outbound|443||example.com",
        "a/b/c",
        "|||",
        "outbound|80||.shop.svc",
        "outbound|80||a..svc",
        "httproute//a",
        "httproute/a/",
    ] {
        assert_eq!(by_name(name), None, "{name}");
    }
    let cluster = json!({ "name": "a", "metadata": istio("destination-rule", "reviews") });
    let cluster = any("envoy.config.cluster.v3.Cluster", &cluster);
    assert_eq!(owners_of(&cluster, name).len(), 1);
    assert_eq!(owners_of(&cluster, name)[0].path(), "DestinationRule/shop/reviews");
}

#[test]
fn incomplete_and_foreign_marks_are_no_owners() {
    for config in ["", "/", "a/b/c/d/e", "/apis/g/v/namespaces/shop/virtual-service/"] {
        let cluster = json!({ "metadata": { "filter_metadata": { "istio": { "config": config } } } });
        let found = shown("envoy.config.cluster.v3.Cluster", &cluster);
        assert_eq!(found, [""; 0], "{config}");
    }
    let number =
        json!({ "metadata": { "filter_metadata": { "istio": { "config": 5, "services": [1, {}] } } } });
    assert_eq!(shown("envoy.config.cluster.v3.Cluster", &number), [""; 0]);
}

#[test]
fn owners_of_a_resource_are_bounded() {
    let routes: Vec<Json> =
        (0..1000).map(|n| json!({ "metadata": istio("virtual-service", &n.to_string()) })).collect();
    let host = json!({ "name": "host", "routes": routes });
    assert_eq!(shown("envoy.config.route.v3.VirtualHost", &host).len(), MAX_OWNERS);
}

proptest::proptest! {
    #[test]
    fn any_bytes_and_names_have_owners_or_none(bytes: Vec<u8>, name: String) {
        owners_of(&bytes, &name);
    }
}
