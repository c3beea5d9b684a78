use serde_json::{Value, json};

use super::*;
use xdscope_wire::event::ApiVersion;
use xdscope_wire::pb::put_len_field;

/// Returns the references of a resource. Checks that the finder finds the same references in the
/// bytes.
fn read(kind: Kind, mut body: Value) -> Vec<Link> {
    body["@type"] = kind.type_url(ApiVersion::V3).unwrap().as_str().into();
    let schema = Schema::builtin();
    let any = schema.encode("google.protobuf.Any", &body).unwrap();
    let links = links_of(&schema, &schema.any_to_json(&any));
    let mut names: Vec<_> = links.iter().map(|link| (link.kind, link.name.clone(), link.source)).collect();
    let fast = ReferenceFinder::new(schema).references(&any).into_iter();
    let mut fast: Vec<_> = fast.map(|found| (found.kind, found.name, found.source)).collect();
    names.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    fast.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    assert_eq!(names, fast, "in the bytes");
    links
}

fn links(kind: Kind, body: Value) -> Vec<(String, Kind, String)> {
    read(kind, body).into_iter().map(|link| (link.path, link.kind, link.name)).collect()
}

fn one(path: &str, kind: Kind, name: &str) -> Vec<(String, Kind, String)> {
    vec![(path.to_owned(), kind, name.to_owned())]
}

fn any(name: &str, mut body: Value) -> Value {
    body["@type"] = format!("type.googleapis.com/{name}").into();
    body
}

/// A listener with one network filter.
fn with_filter(name: &str, body: Value) -> Value {
    json!({"name": "l", "filter_chains": [{"filters": [{"name": "f", "typed_config": any(name, body)}]}]})
}

const HCM: &str = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const TCP: &str = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";
const IN_FILTER: &str = "filter_chains[0].filters[0].typed_config";

// docs/protocol.md#a-15
#[test]
fn listeners_refer_to_routes() {
    let body = with_filter(HCM, json!({"rds": {"route_config_name": "r1", "config_source": {"ads": {}}}}));
    assert_eq!(links(Kind::Lds, body), one(&format!("{IN_FILTER}.rds.route_config_name"), Kind::Rds, "r1"));
    let api = json!({"name": "l", "api_listener": {"api_listener": any(HCM, json!({"rds":
        {"route_config_name": "r2"}}))}});
    assert_eq!(
        links(Kind::Lds, api),
        one("api_listener.api_listener.rds.route_config_name", Kind::Rds, "r2")
    );
    let scoped = with_filter(HCM, json!({"scoped_routes": {"name": "s", "scoped_rds": {}}}));
    assert_eq!(
        links(Kind::Lds, scoped),
        one(&format!("{IN_FILTER}.scoped_routes.scoped_rds"), Kind::Srds, "*")
    );
}

/// docs/protocol.md#i-06
#[test]
fn scoped_routes_state_the_source_of_their_routes() {
    let routes = |source: Value| {
        let mut body = with_filter(
            HCM,
            json!({"scoped_routes": {
            "name": "s", "scoped_rds": {}, "rds_config_source": source}}),
        );
        body["@type"] = Kind::Lds.type_url(ApiVersion::V3).unwrap().as_str().into();
        let schema = Schema::builtin();
        let any = schema.encode("google.protobuf.Any", &body).unwrap();
        let found = ReferenceFinder::new(schema).references(&any);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].routes.clone()
    };
    let grpc = json!([{"envoy_grpc": {"cluster_name": "routes"}}]);
    let own = json!({"api_config_source": {"api_type": "DELTA_GRPC", "grpc_services": grpc}});
    let stated = RouteSource { kind: SourceKind::DeltaGrpc, cluster: Some("routes".into()) };
    assert_eq!(routes(own), Some(Box::new(stated)));
    assert_eq!(
        routes(json!({"ads": {}})),
        Some(Box::new(RouteSource { kind: SourceKind::Ads, cluster: None }))
    );
}

#[test]
fn listeners_refer_to_clusters_secrets_and_filters() {
    let tcp = with_filter(TCP, json!({"cluster": "c1"}));
    assert_eq!(links(Kind::Lds, tcp), one(&format!("{IN_FILTER}.cluster"), Kind::Cds, "c1"));
    let weighted =
        with_filter(TCP, json!({"weighted_clusters": {"clusters": [{"name": "a"}, {"name": "b"}]}}));
    let names: Vec<_> = links(Kind::Lds, weighted).into_iter().map(|(_, _, name)| name).collect();
    assert_eq!(names, ["a", "b"]);
    let tls = any(
        "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        json!({"common_tls_context": {"tls_certificate_sds_secret_configs": [
            {"name": "cert", "sds_config": {"ads": {}}}, {"name": "of-the-bootstrap"}]}}),
    );
    let body =
        json!({"name": "l", "filter_chains": [{"transport_socket": {"name": "tls", "typed_config": tls}}]});
    let path = "filter_chains[0].transport_socket.typed_config.common_tls_context.\
                tls_certificate_sds_secret_configs[0].name";
    assert_eq!(links(Kind::Lds, body), one(path, Kind::Sds, "cert"));
    let body =
        with_filter(HCM, json!({"http_filters": [{"name": "ext", "config_discovery": {}}, {"name": "x"}]}));
    assert_eq!(
        links(Kind::Lds, body),
        one(&format!("{IN_FILTER}.http_filters[0].config_discovery"), Kind::Ecds, "ext")
    );
}

// docs/protocol.md#a-15
#[test]
fn routes_refer_to_clusters() {
    let body = json!({"name": "r", "virtual_hosts": [{"routes": [
        {"route": {"cluster": "a", "request_mirror_policies": [{"cluster": "m"}]}},
        {"route": {"weighted_clusters": {"clusters": [{"name": "b"}, {"name": "c"}]}}},
        {"route": {"cluster_header": "x-cluster"}},
    ]}]});
    let at = |path: &str, name: &str| (format!("virtual_hosts[0].routes{path}"), Kind::Cds, name.to_owned());
    assert_eq!(
        links(Kind::Rds, body),
        [
            at("[0].route.cluster", "a"),
            at("[0].route.request_mirror_policies[0].cluster", "m"),
            at("[1].route.weighted_clusters.clusters[0].name", "b"),
            at("[1].route.weighted_clusters.clusters[1].name", "c"),
        ]
    );
    let vhds = json!({"name": "r", "vhds": {"config_source": {"ads": {}}}});
    assert_eq!(links(Kind::Rds, vhds), one("vhds", Kind::Vhds, "r/*"));
    let scoped = json!({"name": "s", "route_configuration_name": "r"});
    assert_eq!(links(Kind::Srds, scoped), one("route_configuration_name", Kind::Rds, "r"));
    let host = json!({"name": "r/a", "routes": [{"route": {"cluster": "late"}}]});
    assert_eq!(links(Kind::Vhds, host), one("routes[0].route.cluster", Kind::Cds, "late"));
}

// docs/protocol.md#a-15
#[test]
fn clusters_refer_to_endpoints_secrets_and_clusters() {
    let eds = |config: Value| json!({"name": "c", "type": "EDS", "eds_cluster_config": config});
    assert_eq!(
        links(Kind::Cds, eds(json!({"service_name": "e"}))),
        one("eds_cluster_config.service_name", Kind::Eds, "e")
    );
    assert_eq!(links(Kind::Cds, eds(json!({}))), one("eds_cluster_config", Kind::Eds, "c"));
    assert_eq!(links(Kind::Cds, json!({"name": "c", "type": "STATIC"})), []);
    let aggregate =
        any("envoy.extensions.clusters.aggregate.v3.ClusterConfig", json!({"clusters": ["a", "b"]}));
    let body =
        json!({"name": "c", "cluster_type": {"name": "envoy.clusters.aggregate", "typed_config": aggregate}});
    assert_eq!(
        links(Kind::Cds, body).last().cloned().into_iter().collect::<Vec<_>>(),
        one("cluster_type.typed_config.clusters[1]", Kind::Cds, "b")
    );
    let tls = any(
        "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        json!({"common_tls_context": {"validation_context_sds_secret_config": {"name": "ca", "sds_config": {}}}}),
    );
    let body =
        json!({"name": "c", "transport_socket_matches": [{"transport_socket": {"typed_config": tls}}]});
    let path = "transport_socket_matches[0].transport_socket.typed_config.common_tls_context.\
                validation_context_sds_secret_config.name";
    assert_eq!(links(Kind::Cds, body), one(path, Kind::Sds, "ca"));
}

#[test]
fn ignores_names_in_other_fields() {
    let body = json!({"name": "c", "alt_stat_name": "cluster", "metadata": {"filter_metadata": {"x": {"cluster": "a",
        "route_config_name": "r"}}}});
    assert_eq!(links(Kind::Cds, body), []);
}

#[test]
fn finds_config_source_of_reference() {
    let sources =
        |kind: Kind, body: Value| read(kind, body).into_iter().map(|link| link.source).collect::<Vec<_>>();
    let eds =
        |config: Value| json!({"name": "c", "type": "EDS", "eds_cluster_config": {"eds_config": config}});
    for (config, source) in [
        (json!({"ads": {}}), Some(SourceKind::Ads)),
        (json!({"self": {}}), Some(SourceKind::Own)),
        (json!({"path_config_source": {"path": "/x"}}), Some(SourceKind::Path)),
        (json!({"api_config_source": {"api_type": "GRPC"}}), Some(SourceKind::Grpc)),
        (json!({"api_config_source": {"api_type": "DELTA_GRPC"}}), Some(SourceKind::DeltaGrpc)),
        (json!({"api_config_source": {"api_type": "REST"}}), Some(SourceKind::Rest)),
        (json!({"api_config_source": {"api_type": "AGGREGATED_GRPC"}}), Some(SourceKind::Ads)),
        (json!({"api_config_source": {"api_type": "AGGREGATED_DELTA_GRPC"}}), Some(SourceKind::Ads)),
        (json!({"path": "/x"}), Some(SourceKind::Path)),
        (json!({}), None),
    ] {
        assert_eq!(sources(Kind::Cds, eds(config.clone())), [source], "{config}");
    }
    let named = json!({"name": "c", "eds_cluster_config": {"service_name": "e", "eds_config": {"ads": {}}}});
    assert_eq!(sources(Kind::Cds, named), [Some(SourceKind::Ads)]);
    let rds = with_filter(HCM, json!({"rds": {"route_config_name": "r", "config_source": {"ads": {}}}}));
    assert_eq!(sources(Kind::Lds, rds), [Some(SourceKind::Ads)]);
    let vhds =
        json!({"name": "r", "vhds": {"config_source": {"api_config_source": {"api_type": "DELTA_GRPC"}}}});
    assert_eq!(sources(Kind::Rds, vhds), [Some(SourceKind::DeltaGrpc)]);
}

// docs/protocol.md#k-23
#[test]
fn looks_up_authority_in_config_source_first() {
    let way = |name: &str, authorities: Value| {
        let config = json!({"ads": {}, "authorities": authorities});
        let eds = json!({"service_name": name, "eds_config": config});
        read(Kind::Cds, json!({"name": "c", "type": "EDS", "eds_cluster_config": eds})).remove(0).authority
    };
    let name = "xdstp://shop.example/envoy.config.endpoint.v3.ClusterLoadAssignment/cart";
    let authority = || "shop.example".to_owned();
    assert_eq!(
        way(name, json!([{"name": "other"}, {"name": "shop.example"}])),
        Some(AuthorityLookup::ConfigSource { authority: authority() })
    );
    assert_eq!(
        way(name, json!([{"name": "other"}])),
        Some(AuthorityLookup::Bootstrap { authority: authority() })
    );
    assert_eq!(way(name, json!([])), Some(AuthorityLookup::Bootstrap { authority: authority() }));
    assert_eq!(way("cart", json!([{"name": "shop.example"}])), None);
}

#[test]
fn name_fields_exist_in_the_api() {
    let schema = Schema::builtin();
    for (message, field, _) in walk::NAME_FIELDS {
        let known = schema.message(message).unwrap_or_else(|| panic!("{message}"));
        assert!(known.get_field_by_name(field).is_some(), "{message}.{field}");
    }
}

#[test]
fn v2_messages_have_the_fields_of_their_v3_equivalents() {
    let schema = Schema::builtin();
    for (v2, v3) in walk::V2_MESSAGES {
        let known = schema.message(v2).unwrap_or_else(|| panic!("{v2}"));
        assert!(schema.message(v3).is_some(), "{v3}");
        for (_, field, _) in walk::NAME_FIELDS.iter().filter(|(message, _, _)| *message == v3) {
            assert!(known.get_field_by_name(field).is_some(), "{v2}.{field}");
        }
    }
    let secret = json!({"name": "s", "sds_config": {"ads": {}}});
    let tls = json!({"@type": "type.googleapis.com/envoy.api.v2.auth.UpstreamTlsContext",
        "common_tls_context": {"tls_certificate_sds_secret_configs": [secret]}});
    let body = json!({"@type": Kind::Cds.type_url(ApiVersion::V2).unwrap().as_str(), "name": "c",
        "eds_cluster_config": {"eds_config": {"ads": {}}},
        "transport_socket": {"name": "tls", "typed_config": tls}});
    let cluster = schema.encode(
        "envoy.api.v2.Cluster",
        &json!({"name": "c",
        "eds_cluster_config": {"eds_config": {"ads": {}}}, "transport_socket": body["transport_socket"]}),
    );
    let mut any = Vec::new();
    put_len_field(&mut any, 1, Kind::Cds.type_url(ApiVersion::V2).unwrap().as_str().as_bytes());
    put_len_field(&mut any, 2, &cluster.unwrap());
    let found = ReferenceFinder::new(schema.clone()).references(&any).into_iter();
    let found: Vec<_> = found.map(|found| (found.kind, found.name, found.source)).collect();
    let ads = Some(SourceKind::Ads);
    assert_eq!(found, [(Kind::Eds, "c".to_owned(), ads), (Kind::Sds, "s".to_owned(), ads)]);
    let links = links_of(&schema, &body).into_iter();
    let links: Vec<_> = links.map(|link| (link.kind, link.name, link.source)).collect();
    assert_eq!(links, found);
}
