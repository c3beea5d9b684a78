use serde_json::json;

use super::*;

fn refused(text: &str) -> String {
    match read(text) {
        Err(BootstrapError::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_examples_say_who_and_whom() {
    let envoy = read(include_str!("../../../examples/bootstraps/envoy-ads.yaml")).unwrap();
    assert_eq!(envoy.servers().iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:18000"]);
    assert_eq!(envoy.variant(), Some(Variant::Ads));
    assert_eq!(envoy.roots, [(Kind::Lds, None), (Kind::Cds, None)]);
    assert!(envoy.node["id"].is_string(), "{}", envoy.node);
    let grpc = read(include_str!("../../../examples/bootstraps/grpc.json")).unwrap();
    assert_eq!(grpc.servers().iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:18000"]);
    assert!(grpc.node["id"].is_string(), "{}", grpc.node);
}

/// An Envoy whose clusters come from the cluster `xds`, with this transport socket.
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
fn an_envoy_with_tls_says_what_it_trusts_and_presents() {
    let context = json!({
        "validation_context": {"trusted_ca": {"filename": "/ca.pem"},
            "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": "san.test"}}]},
        "tls_certificates": [{"certificate_chain": {"inline_string": "CHAIN"}, "private_key": {"inline_bytes": "S0VZ"}}],
    });
    let identity = read(&with_socket(tls(context))).unwrap();
    assert_eq!((identity.variant(), identity.roots.len()), (Some(Variant::Delta), 1));
    let [first, second] = identity.servers() else { panic!("{:?}", identity.servers()) };
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
    // A key is never told.
    assert!(!format!("{first:?}").contains("CHAIN"));

    // Without names to match, Envoy takes any; without a CA, anything.
    let of = |context| read(&with_socket(tls(context))).unwrap().servers()[0].tls.clone().unwrap();
    let lax = of(json!({"combined_validation_context": {"default_validation_context":
        {"trusted_ca": {"filename": "/ca.pem"}}}}));
    assert_eq!((lax.insecure, lax.any_name, lax.servername.as_deref()), (false, true, Some("cp.test")));
    assert!(of(json!({})).insecure);
    let raw = json!({"typed_config": {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"}});
    assert_eq!(read(&with_socket(raw)).unwrap().servers()[0].tls, None);
}

#[test]
fn what_an_envoy_can_have_and_we_not_is_named() {
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
            "static_resources has none",
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
fn google_grpc_has_credentials_of_its_own() {
    let identity =
        read(&google(json!({"ssl_credentials": {"root_certs": {"filename": "/ca.pem"}}}))).unwrap();
    let server = &identity.servers()[0];
    assert_eq!(server.tls.as_ref().and_then(|tls| tls.cacert.clone()), Some(Pem::File("/ca.pem".into())));
    assert_eq!((server.address.as_str(), identity.variant()), ("cp:1", Some(Variant::Ads)));
    assert_eq!(server.headers, [("authorization".to_owned(), "Bearer t0ken".to_owned())]);
    assert_eq!(read(&google(Value::Null)).unwrap().servers()[0].tls, None);
    assert!(refused(&google(json!({"google_default": {}}))).contains("google_default"));
}

#[test]
fn locators_are_what_an_envoy_begins_with() {
    let text = r#"{"dynamic_resources":{"cds_resources_locator":"xdstp://a/envoy.config.cluster.v3.Cluster/all/*",
        "cds_config":{"api_config_source":{"api_type":"AGGREGATED_DELTA_GRPC",
            "grpc_services":[{"google_grpc":{"target_uri":"cp:1"}}]}}}}"#;
    let identity = read(text).unwrap();
    assert_eq!(identity.variant(), Some(Variant::DeltaAds));
    let name = "xdstp://a/envoy.config.cluster.v3.Cluster/all/*".to_owned();
    assert_eq!(identity.roots, [(Kind::Cds, Some(name))]);
}

/// Rows K-24 and K-25, as `Bootstrap.config_sources` says and Envoy 1.40 does.
#[test]
fn an_envoy_may_have_a_source_for_each_authority() {
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
            // Aggregated and without servers: the ADS.
            "cds_config": {"api_config_source": {"api_type": "AGGREGATED_DELTA_GRPC"}},
        },
        "config_sources": [source("two:2", &["a", "b"]), source("three:3", &["b", "c"])],
        "default_config_source": source("main:1", &[]),
        "layered_runtime": {"layers": [{"name": "own", "static_layer": {guard: true}}]},
    });
    let of = |bootstrap: &Value| {
        let identity = read(&bootstrap.to_string()).unwrap();
        let first = |source: &Source| format!("{} {}", source.variant.word(), source.servers[0]);
        let named: Vec<_> =
            identity.authorities.iter().map(|(name, number)| format!("{name}={number}")).collect();
        (identity.sources.iter().map(first).collect::<Vec<_>>().join(", "), named.join(" "), identity)
    };
    let (sources, named, identity) = of(&bootstrap);
    // Each has streams of its own, even if its servers are those of the ADS.
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, delta-ads three:3, delta-ads main:1");
    assert_eq!((named.as_str(), identity.others), ("a=1 b=1 c=2", FallbackServer::Server(3)));
    assert_eq!((identity.beside, identity.kinds), (vec![(glob.to_owned(), 0)], vec![]));
    assert_eq!(identity.notes, Vec::<String>::new());

    // What has no source by its authority is asked for where a resource says. One of them in state of the world.
    bootstrap.as_object_mut().unwrap().remove("default_config_source");
    bootstrap["config_sources"][1]["api_config_source"]["api_type"] = json!("AGGREGATED_GRPC");
    let (sources, _, identity) = of(&bootstrap);
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, ads three:3");
    assert_eq!((identity.others, identity.notes.len()), (FallbackServer::Plain, 0));

    // Servers and authorities beside the locator change nothing as long as there is an ADS.
    bootstrap["dynamic_resources"]["cds_config"] = source("four:4", &["shop"]);
    let (sources, named, identity) = of(&bootstrap);
    assert_eq!(sources, "delta-ads main:1, delta-ads two:2, ads three:3");
    assert_eq!((named.as_str(), identity.beside), ("a=1 b=1 c=2", vec![(glob.to_owned(), 0)]));
    assert!(identity.notes[0].contains("the ADS is asked, as Envoy does"), "{:?}", identity.notes);

    // What Envoy's runtime says of it.
    bootstrap["layered_runtime"]["layers"][0]["static_layer"][guard] = json!("false");
    let (sources, named, identity) = of(&bootstrap);
    assert_eq!((sources.as_str(), named.as_str()), ("delta-ads main:1", ""));
    assert!(identity.notes[1].contains("have no effect"), "{:?}", identity.notes);
    bootstrap.as_object_mut().unwrap().remove("layered_runtime");
    let (_, named, identity) = of(&bootstrap);
    assert_eq!(named, "a=1 b=1 c=2");
    assert!(identity.notes[1].contains("only if its runtime has"), "{:?}", identity.notes);

    // Nothing but sources of authorities.
    bootstrap["dynamic_resources"] = json!({"cds_resources_locator": glob});
    let (sources, named, identity) = of(&bootstrap);
    assert_eq!((sources.as_str(), named.as_str()), ("delta-ads two:2, ads three:3", "a=0 b=0 c=1"));
    assert_eq!((identity.others, identity.beside), (FallbackServer::Nobody, vec![]));
    assert!(identity.notes[0].contains("no cds_config beside it"), "{:?}", identity.notes);

    bootstrap["config_sources"][1]["api_config_source"]["api_type"] = json!("DELTA_GRPC");
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1]: its api_type is AGGREGATED_GRPC"));
    bootstrap["config_sources"][1] = source("three:3", &[]);
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] has no authorities"));
    bootstrap["config_sources"][1] = json!({"authorities": [{"name": "x"}], "ads": {}});
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] is an api_config_source only"));
    bootstrap["config_sources"][1]["api_config_source"] = json!({"api_type": "AGGREGATED_GRPC"});
    assert!(refused(&bootstrap.to_string()).contains("config_sources[1] has no grpc_services"));
}

/// Row I-06.
#[test]
fn listeners_and_clusters_may_have_sources_of_their_own() {
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
        let identity = read(&bootstrap.to_string()).unwrap();
        let variants: Vec<_> = identity.sources.iter().map(|source| source.variant).collect();
        (variants, identity.kinds.clone(), identity)
    };
    let (variants, kinds, identity) = of(&bootstrap);
    assert_eq!((variants, kinds), (vec![Variant::Ads, Variant::Delta], vec![(Kind::Lds, 1)]));
    assert_eq!(identity.own[0], (Kind::Rds, 1));
    assert_eq!((identity.roots.len(), identity.notes.len()), (2, 0));
    // Without an ADS, what is referred to comes from where the reference did.
    bootstrap["dynamic_resources"].as_object_mut().unwrap().remove("ads_config");
    bootstrap["dynamic_resources"]["cds_config"] = api("GRPC", "cds:1");
    let (variants, kinds, _) = of(&bootstrap);
    assert_eq!(variants, [Variant::Delta, Variant::Sotw]);
    assert_eq!(kinds, [(Kind::Cds, 1), (Kind::Eds, 1), (Kind::Leds, 1)]);
    // The same for both is one.
    bootstrap["dynamic_resources"]["lds_config"] = api("GRPC", "cds:1");
    let (variants, kinds, _) = of(&bootstrap);
    assert_eq!((variants, kinds), (vec![Variant::Sotw], vec![]));
    // What comes from a file is asked of nobody.
    bootstrap["dynamic_resources"]["lds_config"] = json!({"path_config_source": {"path": "/lds.yaml"}});
    let (_, _, identity) = of(&bootstrap);
    assert_eq!(identity.roots, [(Kind::Cds, None)]);
    assert!(identity.notes[0].contains("xdscope watch /lds.yaml"), "{:?}", identity.notes);
}

fn grpc(servers: Value) -> String {
    json!({"node": {"id": "n"}, "xds_servers": servers}).to_string()
}

#[test]
fn a_grpc_client_has_servers_in_order() {
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
    let identity = read(&text.to_string()).unwrap();
    let names: Vec<_> = identity.servers().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["https://one:1", "unix:/run/two.sock"]);
    let tls = identity.servers()[0].tls.clone().unwrap();
    assert_eq!((tls.cacert, tls.key), (Some(Pem::File("/ca.pem".into())), Some(Pem::File("/k.pem".into()))));
    assert_eq!(identity.authorities.len(), 2);
    assert_eq!(identity.authorities, [("a".to_owned(), 1), ("b".to_owned(), 0)]);
    assert_eq!(identity.sources[1].servers[0].to_string(), "https://three:3");
    assert_eq!(identity.others, FallbackServer::Nobody);
    assert!(identity.notes[0].contains("ignore_resource_deletion"), "{:?}", identity.notes);
    assert!(identity.notes[1].contains("`novel` has no effect"), "{:?}", identity.notes);
}

#[test]
fn what_a_grpc_client_can_have_and_we_not_is_named() {
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
fn what_is_no_bootstrap_is_refused() {
    assert!(matches!(read("a: 1"), Err(BootstrapError::NoBootstrap)));
    assert!(matches!(read("{"), Err(BootstrapError::Syntax(_))));
}
