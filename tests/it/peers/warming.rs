//! Warming of a real Envoy behind the tap: each view says what is waited for, and that the server
//! owes it, for as long as Envoy itself says so.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    certs::Ca,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    http,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, endpoints, listener, route, secret},
    tap::{Recording, Tap, xdscope},
    wait::wait_for,
    world::World,
};

const EXTENSION: &str = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
const SCOPE: &str = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
const DOWNSTREAM_TLS: &str =
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext";

/// Returns the config source of a variant without Envoy's limit of 15 s for the first response.
fn patient(variant: Variant) -> Value {
    let mut source = variant.config_source();
    source["initial_fetch_timeout"] = json!("0s");
    source
}

fn cluster(name: &str, timeout: &str, variant: Variant) -> Value {
    json!({
        "name": name,
        "type": "EDS",
        "connect_timeout": timeout,
        "eds_cluster_config": { "eds_config": patient(variant) },
    })
}

fn cluster_with_secret(name: &str, secret: &str, variant: Variant) -> Value {
    let mut out = crate::support::snapshot::cluster_with_secret(name, secret, variant);
    let context = &mut out["transport_socket"]["typed_config"]["common_tls_context"];
    context["tls_certificate_sds_secret_configs"][0]["sds_config"] = patient(variant);
    out
}

/// A control plane, a tap and an Envoy that has a chain in version 1.
struct Scene {
    world: World,
    plane: ControlPlane,
    tap: Tap,
    envoy: Envoy,
    chain: Snapshot,
}

impl Scene {
    fn open(test: &str, variant: Variant) -> Option<Scene> {
        let world = World::open(test)?;
        let mut plane = world.control_plane(Flags::default());
        let tap = world.tap(plane.address(), &[]);
        let mut envoy = world.envoy("edge-1", variant, tap.address());
        let chain =
            Snapshot::chain(variant, envoy.admin()).with(CLUSTER, "1", vec![cluster("echo", "1s", variant)]);
        plane.set(&chain);
        envoy.wait_live();
        for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
            plane.wait_for_ack(0, type_url, "1");
        }
        let scene = Scene { world, plane, tap, envoy, chain };
        // The recording lags behind.
        for kind in ["cds", "eds", "lds", "rds"] {
            scene.wait_for_warming(kind, "synced", &[]);
        }
        Some(scene)
    }

    /// Changes the snapshot, which stays changed.
    fn set(&mut self, type_url: &'static str, version: &str, resources: Vec<Value>) {
        self.chain = self.chain.clone().with(type_url, version, resources);
        self.plane.set(&self.chain);
    }

    /// The recording so far.
    fn live(&self) -> Recording {
        Recording { file: self.tap.recording.clone() }
    }

    /// Waits until a type has this state, and until exactly these of its resources warm.
    ///
    /// Returns the state, and a copy of the recording that does not grow.
    fn wait_for_warming(&self, kind: &str, state: &str, names: &[&str]) -> (Value, Recording) {
        let copy = self.world.folder().join("copy.xdsrec");
        wait_for(&format!("{kind} {state} with {names:?} warming"), || {
            fs::copy(&self.tap.recording, &copy).expect("a copy");
            let found = states(&copy)?.into_iter().find(|one| one["type"] == kind)?;
            (found["state"] == state && warming(&found) == names).then_some(found)
        });
        let recording = Recording { file: copy };
        (recording.state(kind), recording)
    }

    /// Returns the listeners that Envoy itself reports as warming.
    fn warming_listeners(&self) -> BTreeSet<String> {
        let dump: Value =
            serde_json::from_str(&self.envoy.get("/config_dump?resource=dynamic_listeners")).expect("JSON");
        let items = dump["configs"].as_array().cloned().unwrap_or_default();
        let items = items.iter().filter(|item| item["warming_state"].is_object());
        items.filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the clusters that Envoy itself reports as warming.
    fn warming_clusters(&self) -> BTreeSet<String> {
        let dump: Value =
            serde_json::from_str(&self.envoy.get("/config_dump?resource=dynamic_warming_clusters"))
                .expect("JSON");
        let items = dump["configs"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["cluster"]["name"].as_str().map(str::to_owned)).collect()
    }

    /// Waits until Envoy itself reports exactly these clusters as warming.
    fn wait_for_warming_clusters(&self, wanted: &[&str]) {
        let what = format!("Envoy to say that {wanted:?} warm");
        wait_for(&what, || (self.warming_clusters() == names(wanted)).then_some(()));
    }

    /// Ends with everything in sync, and without a word about needless responses.
    fn end_in_sync(self) {
        let live = self.live();
        wait_for("everything in sync", || {
            let states = states(&live.file)?;
            let is_synced = |state: &Value| state["state"] == "synced" && state["warming"].is_null();
            states.iter().all(is_synced).then_some(())
        });
        let findings = live.objects("lint", &[]);
        for rule in ["delta-redundant-resource", "sotw-needless-update", "response-unanswered"] {
            assert!(findings.iter().all(|finding| finding["rule"] != rule), "{rule}: {findings:#?}");
        }
        assert!(findings.iter().all(|finding| finding["blame"] != "client"), "{findings:#?}");
    }
}

/// Returns the states in a recording; `None` while it has no message.
fn states(file: &Path) -> Option<Vec<Value>> {
    let folder = file.parent().expect("a folder");
    let output =
        xdscope(folder).arg("status").arg(file).args(["-o", "jsonl"]).output().expect("xdscope runs");
    let lines = String::from_utf8(output.stdout).expect("text");
    let mut states: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    states.retain(|object| object["object"] == "state");
    (!states.is_empty()).then_some(states)
}

/// Returns the names of the warming resources of a state.
fn warming(state: &Value) -> Vec<&str> {
    let items = state["warming"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["name"].as_str()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn updated_cluster_goes_on_with_cached_endpoints_over_ads() {
    cached_endpoints("updated_cluster_goes_on_with_cached_endpoints_over_ads", Variant::Ads);
}

#[test]
fn updated_cluster_goes_on_with_cached_endpoints_over_delta_ads() {
    cached_endpoints("updated_cluster_goes_on_with_cached_endpoints_over_delta_ads", Variant::DeltaAds);
}

/// An Envoy goes on with the endpoints that it has after its timeout: docs/protocol.md#h-05.
fn cached_endpoints(test: &str, variant: Variant) {
    let Some(mut scene) = Scene::open(test, variant) else { return };
    let mut next = cluster("echo", "2s", variant);
    next["eds_cluster_config"]["eds_config"]["initial_fetch_timeout"] = json!("6s");
    scene.set(CLUSTER, "2", vec![next]);
    scene.wait_for_warming("cds", "warming", &["echo"]);
    let (_, recording) = scene.wait_for_warming("cds", "synced", &[]);
    let stats = scene.envoy.get("/stats?filter=assignment_use_cached");
    assert!(stats.contains("cluster.echo.assignment_use_cached: 1"), "{stats}");
    let status = recording.text("status", &[]);
    assert!(status.starts_with("no problems") && !status.contains("without"), "{status}");
    scene.end_in_sync();
}

#[test]
fn updated_cluster_waits_for_endpoints_over_ads() {
    updated_cluster("updated_cluster_waits_for_endpoints_over_ads", Variant::Ads);
}

#[test]
fn updated_cluster_waits_for_endpoints_over_delta_ads() {
    updated_cluster("updated_cluster_waits_for_endpoints_over_delta_ads", Variant::DeltaAds);
}

/// An update of a cluster without endpoints after it: docs/protocol.md#h-05.
fn updated_cluster(test: &str, variant: Variant) {
    let Some(mut scene) = Scene::open(test, variant) else { return };
    scene.set(CLUSTER, "2", vec![cluster("echo", "2s", variant)]);
    let (state, recording) = scene.wait_for_warming("cds", "warming", &["echo"]);
    scene.wait_for_warming_clusters(&["echo"]);
    let warming = &state["warming"][0];
    assert_eq!((&warming["owes"], &warming["update"]), (&json!("server"), &json!(true)), "{state:#}");
    assert!(warming["since"].is_string() && warming["withheld"].is_number(), "{state:#}");
    let need = &warming["waits_for"][0];
    assert_eq!((&need["type"], &need["name"], &need["again"]), (&json!("eds"), &json!("echo"), &json!(true)));

    // Every other view tells the same.
    let waits = "cluster echo waits for EDS echo again";
    let is_told = |text: &str| text.lines().any(|line| line.contains(waits) && line.contains("server owes"));
    for view in [
        recording.text("status", &[]),
        recording.text("status", &["-o", "wide"]),
        recording.text("get", &["-o", "tree"]),
    ] {
        assert!(is_told(&view) && !view.contains("client owes"), "{view}");
    }
    let found = recording.objects("get", &["cds/echo"]);
    assert_eq!(found[0]["warming"], *warming, "{found:#?}");
    assert!(recording.text("get", &["cds"]).contains("warming"));
    let graph = recording.text("export", &["--to", "dot", "-q"]);
    assert!(graph.lines().any(|line| line.contains("CDS\\necho") && line.contains("warming")), "{graph}");

    let mut moved = endpoints("echo", scene.envoy.admin());
    moved["endpoints"][0]["load_balancing_weight"] = json!(2);
    scene.set(ENDPOINTS, "2", vec![moved]);
    scene.wait_for_warming("cds", "synced", &[]);
    scene.wait_for_warming_clusters(&[]);
    let findings = scene.live().objects("lint", &["--timers", "warm=1ms"]);
    let is_stuck = |finding: &&Value| {
        let text = finding["text"].as_str().unwrap_or_default();
        finding["rule"] == "warming-stuck" && text.contains("again after an update")
    };
    let stuck = findings.iter().find(is_stuck).unwrap_or_else(|| panic!("{findings:#?}"));
    assert_eq!((&stuck["blame"], &stuck["names"]), (&json!("server"), &json!(["echo"])), "{stuck}");
    scene.end_in_sync();
}

#[test]
fn cluster_waits_for_its_first_secret_only() {
    let test = "cluster_waits_for_its_first_secret_only";
    let Some(mut scene) = Scene::open(test, Variant::Ads) else { return };
    let clusters = |timeout: &str| {
        let mut safe = cluster_with_secret("safe", "own", Variant::Ads);
        safe["connect_timeout"] = json!(timeout);
        vec![cluster("echo", "1s", Variant::Ads), safe]
    };
    scene.set(CLUSTER, "2", clusters("1s"));
    let (state, recording) = scene.wait_for_warming("cds", "warming", &["safe"]);
    scene.wait_for_warming_clusters(&["safe"]);
    assert_eq!(state["warming"][0]["waits_for"][0]["name"], "own");
    let text = recording.text("status", &[]);
    assert!(text.contains("cluster safe waits for SDS own since"), "{text}");
    let pair = Ca::new(scene.world.folder(), "ca").issue("own", &["own.test"]);
    let pem = |path: &Path| fs::read_to_string(path).expect("PEM");
    scene.set(SECRET, "1", vec![secret("own", &pem(&pair.cert), &pem(&pair.key))]);
    scene.wait_for_warming("cds", "synced", &[]);
    // The secret is held, so an update of the cluster does not wait.
    scene.set(CLUSTER, "3", clusters("2s"));
    scene.plane.wait_for_ack(0, CLUSTER, "3");
    scene.wait_for_warming("cds", "synced", &[]);
    scene.wait_for_warming_clusters(&[]);

    // The certificate that the secret holds expires; its key stays hidden.
    let secrets = scene.live().objects("get", &["sds/own"]);
    let certificate = &secrets[0]["certificate"];
    assert_eq!(certificate["names"], json!(["own.test"]), "{secrets:#?}");
    assert!(certificate["not_after"].as_str().is_some_and(|date| date.contains('T')), "{certificate}");
    let tree = scene.live().text("get", &["sds", "-o", "tree"]);
    assert!(tree.contains("certificate own.test expires in ") && !tree.contains("PRIVATE KEY"), "{tree}");
    scene.end_in_sync();
}

/// A listener with another HTTP filter, other routes or TLS.
fn listener_with(name: &str, change: impl Fn(&mut Value)) -> Value {
    let mut out = listener(name, "r-in", Variant::Ads);
    change(&mut out["filter_chains"][0]);
    out
}

fn http_of(chain: &mut Value) -> &mut Value {
    &mut chain["filters"][0]["typed_config"]
}

#[test]
fn listeners_wait_for_routes_secrets_filters_and_scopes() {
    let test = "listeners_wait_for_routes_secrets_filters_and_scopes";
    let Some(mut scene) = Scene::open(test, Variant::Ads) else { return };
    let source = || patient(Variant::Ads);
    let routed = |name: &str, route: &str| {
        listener_with(name, |chain| {
            http_of(chain)["rds"] = json!({ "route_config_name": route, "config_source": source() });
        })
    };
    let scene_waits = |scene: &Scene, name: &str, text: &str| {
        scene.wait_for_warming("lds", "warming", &[name]);
        wait_for("Envoy to say so too", || (scene.warming_listeners() == names(&[name])).then_some(()));
        // The request of the client comes after the listener.
        wait_for("the server to owe it", || {
            let status = scene.live().text("status", &[]);
            let waits = status.contains(&format!("listener {name} waits for {text} since"));
            let is_owed = |line: &str| line.contains(name) && line.contains("the server owes it");
            (waits && status.lines().any(is_owed)).then_some(())
        });
    };
    let scene_is_warm = |scene: &Scene| {
        scene.wait_for_warming("lds", "synced", &[]);
        wait_for("Envoy's listeners to be warm", || scene.warming_listeners().is_empty().then_some(()));
    };

    // A new listener, then an updated one, with routes that the server does not send.
    let base = listener("in", "r-in", Variant::Ads);
    scene.set(LISTENER, "2", vec![base.clone(), routed("more", "r-more")]);
    scene_waits(&scene, "more", "RDS r-more");
    scene.set(ROUTE, "2", vec![route("r-in", "echo"), route("r-more", "echo")]);
    scene_is_warm(&scene);
    scene.set(LISTENER, "3", vec![base.clone(), routed("more", "r-next")]);
    scene_waits(&scene, "more", "RDS r-next");
    let routes = || ["r-in", "r-more", "r-next"].map(|name| route(name, "echo")).to_vec();
    scene.set(ROUTE, "3", routes());
    scene_is_warm(&scene);

    // A secret for TLS.
    let safe = listener_with("safe", |chain| {
        let own = json!({ "name": "own", "sds_config": source() });
        let tls = json!({ "@type": DOWNSTREAM_TLS, "common_tls_context": { "tls_certificate_sds_secret_configs": [own] } });
        chain["transport_socket"] = json!({ "name": "tls", "typed_config": tls });
    });
    scene.set(LISTENER, "4", vec![base.clone(), safe]);
    scene_waits(&scene, "safe", "SDS own");
    let pair = Ca::new(scene.world.folder(), "ca").issue("own", &["own.test"]);
    let pem = |path: &Path| fs::read_to_string(path).expect("PEM");
    scene.set(SECRET, "1", vec![secret("own", &pem(&pair.cert), &pem(&pair.key))]);
    scene_is_warm(&scene);

    // A discovered filter.
    let filtered = listener_with("filtered", |chain| {
        let discovery = json!({ "config_source": source(), "type_urls": [ROUTER] });
        http_of(chain)["http_filters"] = json!([{ "name": "router", "config_discovery": discovery }]);
    });
    scene.set(LISTENER, "5", vec![base.clone(), filtered]);
    scene_waits(&scene, "filtered", "ECDS router");
    let router = json!({ "name": "router", "typed_config": { "@type": ROUTER } });
    scene.set(EXTENSION, "1", vec![router]);
    scene_is_warm(&scene);

    // Scopes, each with routes.
    let scoped = listener_with("scoped", |chain| {
        let http = http_of(chain);
        http.as_object_mut().expect("an object").remove("rds");
        let extractor = json!({ "header_value_extractor": { "name": "host", "index": 0 } });
        http["scoped_routes"] = json!({
            "name": "scopes",
            "scope_key_builder": { "fragments": [extractor] },
            "rds_config_source": source(),
            "scoped_rds": { "scoped_rds_config_source": source() },
        });
    });
    scene.set(LISTENER, "6", vec![base, scoped]);
    scene_waits(&scene, "scoped", "SRDS *");
    let scope = json!({
        "name": "s",
        "route_configuration_name": "r-in",
        "key": { "fragments": [{ "string_key": "a" }] },
    });
    scene.set(SCOPE, "1", vec![scope]);
    scene_is_warm(&scene);
    scene.end_in_sync();
}

/// Requests fail while a route points to a cluster that is unknown, or that warms for the first
/// time: docs/protocol.md#h-07, docs/protocol.md#h-11.
#[test]
fn requests_get_503_until_the_cluster_is_warm() {
    let test = "requests_get_503_until_the_cluster_is_warm";
    let Some(mut scene) = Scene::open(test, Variant::Ads) else { return };
    let address = scene.envoy.listener("in");
    let answers = |status: u16| {
        wait_for(&format!("an answer {status}"), || {
            http::get(address, "/ready").ok().filter(|answer| answer.status == status).map(|_| ())
        });
    };
    let clusters_without = |scene: &Scene, state: &str| {
        wait_for(&format!("a cluster {state}"), || {
            let routes = scene.live().objects("get", &["rds/r-in"]);
            let missing = routes.first()?["unavailable_clusters"].as_array()?.first()?.clone();
            (missing["name"] == "late" && missing["state"] == state).then_some(missing)
        })
    };
    answers(200);
    scene.set(ROUTE, "2", vec![route("r-in", "late")]);
    answers(503);
    let absent = clusters_without(&scene, "dangling");
    assert!(absent["since"].is_string(), "{absent}");
    let tree = scene.live().text("get", &["rds", "-o", "tree"]);
    assert!(tree.contains("CDS late") && tree.contains("503 since "), "{tree}");
    scene.set(CLUSTER, "2", ["echo", "late"].map(|name| cluster(name, "1s", Variant::Ads)).to_vec());
    let warming = clusters_without(&scene, "warming");
    assert_eq!(warming["since"], absent["since"], "the window began with the route");
    answers(503);
    let backend = scene.envoy.admin();
    scene.set(ENDPOINTS, "2", ["echo", "late"].map(|name| endpoints(name, backend)).to_vec());
    answers(200);
    wait_for("the end of the window", || {
        let routes = scene.live().objects("get", &["rds/r-in"]);
        routes.first()?.get("unavailable_clusters").is_none().then_some(())
    });
    scene.end_in_sync();
}
