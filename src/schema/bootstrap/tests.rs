use serde_json::{Value, json};

use super::*;
use crate::bootstrap::DocumentError;
use xdscope_wire::event::{Kind, Variant};

fn refused(text: &str) -> String {
    match read(text) {
        Err(BootstrapError::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_the_examples() {
    let envoy = read(include_str!("../../../examples/bootstraps/envoy-ads.yaml")).unwrap();
    assert_eq!(envoy.servers().iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:18000"]);
    assert_eq!(envoy.variant(), Some(Variant::Ads));
    assert_eq!(envoy.initial_types, [(Kind::Lds, None), (Kind::Cds, None)]);
    assert!(envoy.node["id"].is_string(), "{}", envoy.node);
    let grpc = read(include_str!("../../../examples/bootstraps/grpc.json")).unwrap();
    assert_eq!(grpc.servers().iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:18000"]);
    assert!(grpc.node["id"].is_string(), "{}", grpc.node);
}

/// An Envoy bootstrap whose xDS cluster has the transport socket `socket`.
fn with_socket(socket: Value) -> String {
    let address = |port: u16| json!({"endpoint": {"address": {"socket_address": {"address": "cp", "port_value": port}}}});
    json!({
        "node": {"id": "n"},
        "dynamicResources": {"cdsConfig": {"apiConfigSource": {"apiType": "DELTA_GRPC",
            "grpcServices": [{"envoyGrpc": {"clusterName": "xds", "authority": "cp.mesh"},
                "initialMetadata": [{"key": "x-tenant", "value": "a"}]}]}}},
        "static_resources": {"clusters": [{"name": "other"}, {"name": "xds", "transport_socket": socket,
            "load_assignment": {"endpoints": [{"lb_endpoints": [address(1), address(2)]}]}}]},
    })
    .to_string()
}

fn tls(context: Value) -> Value {
    let url = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
    let mut config = json!({"@type": url, "sni": "cp.test"});
    config["common_tls_context"] = context;
    json!({"name": "tls", "typed_config": config})
}

#[test]
fn reads_tls_of_envoy_clusters() {
    let context = json!({
        "validation_context": {"trusted_ca": {"filename": "/ca.pem"},
            "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": "san.test"}}]},
        "tls_certificates": [{"certificate_chain": {"inline_string": "CHAIN"}, "private_key": {"inline_bytes": "S0VZ"}}],
    });
    let config = read(&with_socket(tls(context))).unwrap();
    assert_eq!((config.variant(), config.initial_types.len()), (Some(Variant::Delta), 1));
    let [first, second] = config.servers() else { panic!("{:?}", config.servers()) };
    assert_eq!((first.address.as_str(), second.address.as_str()), ("cp:1", "cp:2"));
    assert_eq!(first.authority.as_deref(), Some("cp.mesh"));
    assert_eq!(first.headers, [("x-tenant".to_owned(), "a".to_owned())]);
    let expected = ClientOptions {
        insecure: false,
        cacert: Some(Pem::File("/ca.pem".into())),
        cert: Some(Pem::Inline(b"CHAIN".to_vec())),
        key: Some(Pem::Inline(b"KEY".to_vec())),
        servername: Some("san.test".into()),
        any_name: false,
    };
    assert_eq!(first.tls, Some(expected));
    // Debug output does not contain the key.
    assert!(!format!("{first:?}").contains("CHAIN"));

    // Envoy accepts any name without matchers, and any certificate without a CA.
    let of = |context| read(&with_socket(tls(context))).unwrap().servers()[0].tls.clone().unwrap();
    let lax = of(json!({"combined_validation_context": {"default_validation_context":
        {"trusted_ca": {"filename": "/ca.pem"}}}}));
    assert_eq!((lax.insecure, lax.any_name, lax.servername.as_deref()), (false, true, Some("cp.test")));
    assert!(of(json!({})).insecure);
    let raw = json!({"typed_config": {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"}});
    assert_eq!(read(&with_socket(raw)).unwrap().servers()[0].tls, None);
}

#[test]
fn names_unsupported_fields_of_envoy() {
    let sds = json!({"tls_certificate_sds_secret_configs": [{"name": "own"}]});
    assert!(refused(&with_socket(tls(sds))).contains("tls_certificate_sds_secret_configs"));
    let alts = json!({"name": "envoy.transport_sockets.alts", "typed_config": {"@type": "type.googleapis.com/x.Alts"}});
    assert!(refused(&with_socket(alts)).contains("x.Alts"));
    let half = json!({"tls_certificates": [{"certificate_chain": {"filename": "/c"}}]});
    assert!(refused(&with_socket(tls(half))).contains("lacks its chain or its key"));
    let variable = json!({"validation_context": {"trusted_ca": {"environment_variable": "CA"}}});
    assert!(refused(&with_socket(tls(variable))).contains("trusted_ca of the cluster xds"));
    let cases = [
        (r#"{"dynamic_resources":{"cds_config":{"ads":{}}}}"#, "no ads_config"),
        (
            r#"{"dynamic_resources":{"cds_config":{"path_config_source":{"path":"/cds.yaml"}}}}"#,
            "xdscope watch /cds.yaml",
        ),
        (r#"{"dynamic_resources":{"lds_config":{"path":"/lds.yaml"}}}"#, "the file /lds.yaml"),
        (r#"{"dynamic_resources":{"cds_config":{"self":{}}}}"#, "no api_config_source"),
        (
            r#"{"dynamic_resources":{"ads_config":{"api_type":"DEPRECATED_AND_UNAVAILABLE_DO_NOT_USE"}}}"#,
            "api_type `DEPRECATED",
        ),
        (
            r#"{"dynamic_resources":{"ads_config":{"api_type":"GRPC","grpc_services":[{"envoy_grpc":{"cluster_name":"x"}}]}}}"#,
            "missing in static_resources",
        ),
    ];
    for (text, expected) in cases {
        assert!(refused(text).contains(expected), "{}", refused(text));
    }
}

fn google(credentials: Value) -> String {
    json!({"dynamic_resources": {"ads_config": {"api_type": "GRPC", "grpc_services": [
        {"google_grpc": {"target_uri": "dns:///cp:1", "channel_credentials": credentials,
            "call_credentials": [{"access_token": "t0ken"}]}}]}}})
    .to_string()
}

#[test]
fn reads_google_grpc_credentials() {
    let config = read(&google(json!({"ssl_credentials": {"root_certs": {"filename": "/ca.pem"}}}))).unwrap();
    let server = &config.servers()[0];
    assert_eq!(server.tls.as_ref().and_then(|tls| tls.cacert.clone()), Some(Pem::File("/ca.pem".into())));
    assert_eq!((server.address.as_str(), config.variant()), ("cp:1", Some(Variant::Ads)));
    assert_eq!(server.headers, [("authorization".to_owned(), "Bearer t0ken".to_owned())]);
    assert_eq!(read(&google(Value::Null)).unwrap().servers()[0].tls, None);
    assert!(refused(&google(json!({"google_default": {}}))).contains("google_default"));
}

#[test]
fn subscribes_to_locators_first() {
    let text = r#"{"dynamic_resources":{"cds_resources_locator":"xdstp://a/envoy.config.cluster.v3.Cluster/all/*",
        "cds_config":{"api_config_source":{"api_type":"AGGREGATED_DELTA_GRPC",
            "grpc_services":[{"google_grpc":{"target_uri":"cp:1"}}]}}}}"#;
    let config = read(text).unwrap();
    assert_eq!(config.variant(), Some(Variant::DeltaAds));
    let name = "xdstp://a/envoy.config.cluster.v3.Cluster/all/*".to_owned();
    assert_eq!(config.initial_types, [(Kind::Cds, Some(name))]);
}

/// `Bootstrap.config_sources` as Envoy 1.40 reads it: docs/protocol.md#k-24 and
/// docs/protocol.md#k-25.
#[test]
fn reads_a_source_for_each_authority() {
    let service = |uri: &str| json!([{"google_grpc": {"target_uri": uri}}]);
    let source = |uri: &str, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"authorities": names, "api_config_source":
            {"api_type": "AGGREGATED_DELTA_GRPC", "grpc_services": service(uri)}})
    };
    let glob = "xdstp://shop/envoy.config.cluster.v3.Cluster/all/*";
    let guard = "envoy.reloadable_features.xdstp_based_config_singleton_subscriptions";
    let mut bootstrap = json!({
        "dynamic_resources": {
            "ads_config": {"api_type": "DELTA_GRPC", "grpc_services": service("main:1")},
            "cds_resources_locator": glob,
            // Aggregated without servers means the ADS.
            "cds_config": {"api_config_source": {"api_type": "AGGREGATED_DELTA_GRPC"}},
        },
        "config_sources": [source("two:2", &["a", "b"]), source("three:3", &["b", "c"])],
        "default_config_source": source("main:1", &[]),
        "layered_runtime": {"layers": [{"name": "own", "static_layer": {guard: true}}]},
    });
    let of = |bootstrap: &Value| {
        let config = read(&bootstrap.to_string()).unwrap();
        let first = |source: &ConfigSource| format!("{} {}", source.variant.word(), source.servers[0]);
        let named: Vec<_> =
            config.authority_sources.iter().map(|(name, number)| format!("{name}={number}")).collect();
        (config.sources.iter().map(first).collect::<Vec<_>>().join(", "), named.join(" "), config)
    };
    let (sources, named, config) = of(&bootstrap);
    // Each source has its own streams, even where its servers are those of the ADS.
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, delta-ads three:3, delta-ads main:1");
    assert_eq!((named.as_str(), config.fallback), ("a=1 b=1 c=2", FallbackServer::Server(3)));
    assert_eq!((config.locator_sources, config.type_sources), (vec![(glob.to_owned(), 0)], vec![]));
    assert_eq!(config.notes, Vec::<String>::new());

    // Names of other authorities are asked for where the referring resource says.
    bootstrap.as_object_mut().unwrap().remove("default_config_source");
    bootstrap["config_sources"][1]["api_config_source"]["api_type"] = json!("AGGREGATED_GRPC");
    let (sources, _, config) = of(&bootstrap);
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, ads three:3");
    assert_eq!((config.fallback, config.notes.len()), (FallbackServer::Plain, 0));

    // With an ADS, servers and authorities beside the locator have no effect.
    bootstrap["dynamic_resources"]["cds_config"] = source("four:4", &["shop"]);
    let (sources, named, config) = of(&bootstrap);
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, ads three:3");
    assert_eq!((named.as_str(), config.locator_sources), ("a=1 b=1 c=2", vec![(glob.to_owned(), 0)]));
    assert!(config.notes[0].contains("the ADS is asked, as Envoy does"), "{:?}", config.notes);

    // The runtime flag can turn config_sources off.
    bootstrap["layered_runtime"]["layers"][0]["static_layer"][guard] = json!("false");
    let (sources, named, config) = of(&bootstrap);
    assert_eq!((sources.as_str(), named.as_str()), ("delta-ads main:1", ""));
    assert!(config.notes[1].contains("have no effect"), "{:?}", config.notes);
    bootstrap.as_object_mut().unwrap().remove("layered_runtime");
    let (_, named, config) = of(&bootstrap);
    assert_eq!(named, "a=1 b=1 c=2");
    assert!(config.notes[1].contains("only if its runtime has"), "{:?}", config.notes);

    // Without dynamic_resources, only the authorities have sources.
    bootstrap["dynamic_resources"] = json!({"cds_resources_locator": glob});
    let (sources, named, config) = of(&bootstrap);
    assert_eq!((sources.as_str(), named.as_str()), ("delta-ads two:2, ads three:3", "a=0 b=0 c=1"));
    assert_eq!((config.fallback, config.locator_sources), (FallbackServer::Nobody, vec![]));
    assert!(config.notes[0].contains("no cds_config beside it"), "{:?}", config.notes);

    bootstrap["config_sources"][1]["api_config_source"]["api_type"] = json!("DELTA_GRPC");
    assert!(
        refused(&bootstrap.to_string()).contains("config_sources[1]: its api_type is not AGGREGATED_GRPC")
    );
    bootstrap["config_sources"][1] = source("three:3", &[]);
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] has no authorities"));
    bootstrap["config_sources"][1] = json!({"authorities": [{"name": "x"}], "ads": {}});
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] is not an api_config_source"));
    bootstrap["config_sources"][1]["api_config_source"] = json!({"api_type": "AGGREGATED_GRPC"});
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] has no grpc_services"));
}

/// See docs/protocol.md#i-06.
#[test]
fn reads_separate_sources_for_listeners_and_clusters() {
    let api = |kind: &str, uri: &str| {
        json!({"api_config_source":
        {"api_type": kind, "grpc_services": [{"google_grpc": {"target_uri": uri}}]}})
    };
    let mut bootstrap = json!({"dynamic_resources": {
        "ads_config": api("GRPC", "main:1")["api_config_source"],
        "lds_config": api("DELTA_GRPC", "lds:1"),
        "cds_config": {"ads": {}},
    }});
    let of = |bootstrap: &Value| {
        let config = read(&bootstrap.to_string()).unwrap();
        let variants: Vec<_> = config.sources.iter().map(|source| source.variant).collect();
        (variants, config.type_sources.clone(), config)
    };
    let (variants, kinds, config) = of(&bootstrap);
    assert_eq!((variants, kinds), (vec![Variant::Ads, Variant::Delta], vec![(Kind::Lds, 1)]));
    assert_eq!(config.non_ads_type_sources[0], (Kind::Rds, 1));
    assert_eq!((config.initial_types.len(), config.notes.len()), (2, 0));
    // Without an ADS, references are asked for at the source of the referring type.
    bootstrap["dynamic_resources"].as_object_mut().unwrap().remove("ads_config");
    bootstrap["dynamic_resources"]["cds_config"] = api("GRPC", "cds:1");
    let (variants, kinds, _) = of(&bootstrap);
    assert_eq!(variants, [Variant::Delta, Variant::Sotw]);
    assert_eq!(kinds, [(Kind::Cds, 1), (Kind::Eds, 1), (Kind::Leds, 1)]);
    // Equal sources are merged.
    bootstrap["dynamic_resources"]["lds_config"] = api("GRPC", "cds:1");
    let (variants, kinds, _) = of(&bootstrap);
    assert_eq!((variants, kinds), (vec![Variant::Sotw], vec![]));
    // A type that is read from a file has no server.
    bootstrap["dynamic_resources"]["lds_config"] = json!({"path_config_source": {"path": "/lds.yaml"}});
    let (_, _, config) = of(&bootstrap);
    assert_eq!(config.initial_types, [(Kind::Cds, None)]);
    assert!(config.notes[0].contains("xdscope watch /lds.yaml"), "{:?}", config.notes);
}

fn grpc(servers: Value) -> String {
    json!({"node": {"id": "n"}, "xds_servers": servers}).to_string()
}

#[test]
fn reads_grpc_servers_in_order() {
    let files =
        json!({"ca_certificate_file": "/ca.pem", "certificate_file": "/c.pem", "private_key_file": "/k.pem"});
    let text = json!({
        "node": {"id": "n"},
        "xds_servers": [
            {"server_uri": "dns:///one:1", "channel_creds": [{"type": "google_default"}, {"type": "tls", "config": files}],
                "server_features": ["xds_v3", "ignore_resource_deletion", "novel"]},
            {"server_uri": "unix:///run/two.sock", "channel_creds": [{"type": "insecure"}]},
        ],
        "authorities": {"a": {"xds_servers": [{"server_uri": "three:3", "channel_creds": [{"type": "tls"}]}]}, "b": {}},
    });
    let config = read(&text.to_string()).unwrap();
    let names: Vec<_> = config.servers().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["https://one:1", "unix:/run/two.sock"]);
    let tls = config.servers()[0].tls.clone().unwrap();
    assert_eq!((tls.cacert, tls.key), (Some(Pem::File("/ca.pem".into())), Some(Pem::File("/k.pem".into()))));
    assert_eq!(config.authority_sources.len(), 2);
    assert_eq!(config.authority_sources, [("a".to_owned(), 1), ("b".to_owned(), 0)]);
    assert_eq!(config.sources[1].servers[0].to_string(), "https://three:3");
    assert_eq!(config.fallback, FallbackServer::Nobody);
    assert!(config.notes[0].contains("ignore_resource_deletion"), "{:?}", config.notes);
    assert!(config.notes[1].contains("`novel` has no effect"), "{:?}", config.notes);
}

#[test]
fn names_unsupported_fields_of_grpc() {
    let of = |server: Value| refused(&grpc(json!([server])));
    let default = json!({"server_uri": "cp:1", "channel_creds": [{"type": "google_default"}]});
    assert!(of(default).contains("`google_default`"));
    assert!(of(json!({"server_uri": "cp:1"})).contains("has no channel_creds"));
    assert!(
        of(json!({"channel_creds": [{"type": "insecure"}]})).contains("xds_servers[0] has no server_uri")
    );
    let half = json!({"server_uri": "cp:1", "channel_creds": [{"type": "tls", "config": {"certificate_file": "/c"}}]});
    assert!(of(half).contains("belong together"));
    let call = json!({"server_uri": "cp:1", "channel_creds": [{"type": "tls"}], "call_creds": [{"type": "jwt_token_file"}]});
    assert!(of(call).contains("jwt_token_file"));
    assert!(matches!(read(&grpc(json!([]))), Err(BootstrapError::NoServer)));
}

#[test]
fn rejects_text_that_is_not_a_bootstrap() {
    assert!(matches!(read("a: 1"), Err(BootstrapError::Document(DocumentError::NotABootstrap))));
    assert!(matches!(read("{"), Err(BootstrapError::Document(DocumentError::Syntax(_)))));
}

/// docs/protocol.md#l-20
#[test]
fn reads_bootstraps_of_both_api_versions() {
    let v2 = json!({
        "dynamic_resources": {
            "ads_config": {
                "api_type": "GRPC",
                "grpc_services": { "envoy_grpc": { "cluster_name": "xds" } },
            },
            "lds_config": { "ads": {} },
            "cds_config": { "ads": {} },
        },
        "static_resources": { "clusters": [{
            "name": "xds",
            "http2_protocol_options": {},
            "hosts": [{ "socket_address": { "address": "cp.mesh", "port_value": 18000 } }],
        }]},
    });
    let config = read(&v2.to_string()).expect("a bootstrap");
    assert_eq!(config.servers()[0].address, "cp.mesh:18000");
    assert_eq!(config.variant(), Some(Variant::Ads));
    assert_eq!(config.clusters.len(), 1, "a cluster that references can name");
}
