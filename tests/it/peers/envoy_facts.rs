//! Compares the facts of xdscope behind a tap with the config dump and the statistics of a real
//! Envoy: secrets, on-demand clusters, warming, and refusals across a reconnect.
//!
//! Facts that depend on the version are compared with an earlier Envoy, too.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    bootstrap::{self, Variant},
    certs::Ca,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    http,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, bad_clusters, endpoints, listener, secret,
    },
    tap::{Recording, Tap},
    wait::{wait_for, wait_within},
    world::World,
};

const DOWNSTREAM_TLS: &str =
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext";
const HTTP: &str =
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ON_DEMAND: &str = "type.googleapis.com/envoy.extensions.filters.http.on_demand.v3.OnDemand";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// Longest wait for xdscope and Envoy to agree, of which a passing test needs a second or two.
const LIMIT: Duration = Duration::from_secs(20);

/// Version in force of a resource, and whether another version warms.
#[derive(Debug, PartialEq, Eq)]
struct Fact {
    in_force: Option<String>,
    is_warming: bool,
}

/// Version in force, compared with the newest version that the server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InForce {
    Nothing,
    Earlier,
    Newest,
}

/// Reads the fact in the object that xdscope prints for a resource.
fn stated(resource: &Value) -> Fact {
    // Envoy lists a secret as warming until the secret comes.
    let is_awaited_secret = resource["type"] == "sds" && resource["state"] == "waiting";
    Fact {
        in_force: resource["in_force"].as_str().map(str::to_owned),
        is_warming: resource["warming"].is_object() || is_awaited_secret,
    }
}

/// Compares the version in force with the newest version.
fn in_force(resource: &Value) -> InForce {
    match &resource["in_force"] {
        Value::Null => InForce::Nothing,
        version if *version == resource["version"] => InForce::Newest,
        _ => InForce::Earlier,
    }
}

/// A tap, and the Envoy behind it.
struct Observed {
    tap: Tap,
    envoy: Envoy,
}

impl Observed {
    /// Returns the recording so far.
    fn recording(&self) -> Recording {
        wait_for("a message in the recording", || self.tap.copy_of_recording())
    }

    /// Returns the object that xdscope prints for `KIND/NAME`; null while xdscope knows none.
    fn resource(&self, name: &str) -> Value {
        let Some(output) = self.recording().answer("get", &[name, "-o", "jsonl"]) else { return Value::Null };
        let text = String::from_utf8(output.stdout).expect("text");
        let mut objects = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        objects.find(|object| object["object"] == "resource").unwrap_or_default()
    }

    /// Returns the state of a type on its newest stream; null before the first one.
    fn state(&self, kind: &str) -> Value {
        let states = self.recording().states(&[]);
        states.into_iter().rfind(|state| state["type"] == kind).unwrap_or_default()
    }

    /// Returns the number of NACKs of a type on all streams.
    fn refusals(&self, kind: &str) -> u64 {
        let states = self.recording().states(&[]);
        let of_kind = states.iter().filter(|state| state["type"] == kind);
        of_kind.map(|state| state["nack_count"].as_u64().expect("a number")).sum()
    }

    /// Returns a list of Envoy's config dump.
    fn entries(&self, list: &str) -> Vec<Value> {
        let text = self.envoy.get(&format!("/config_dump?resource={list}"));
        let dump: Value = serde_json::from_str(&text).expect("a config dump");
        dump["configs"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the fact about `KIND/NAME` in Envoy's config dump.
    fn dumped(&self, name: &str) -> Fact {
        let (kind, name) = name.split_once('/').expect("KIND/NAME");
        match kind {
            "cds" => self.dumped_in_lists("clusters", name),
            "sds" => self.dumped_in_lists("secrets", name),
            _ => self.dumped_listener(name),
        }
    }

    /// Returns the fact about a resource whose versions are in two lists.
    fn dumped_in_lists(&self, kind: &str, name: &str) -> Fact {
        let is_named = |entry: &Value| entry["name"] == name || entry["cluster"]["name"] == name;
        let mut active = self.entries(&format!("dynamic_active_{kind}")).into_iter();
        let mut warming = self.entries(&format!("dynamic_warming_{kind}")).into_iter();
        let used = active.find(&is_named).unwrap_or_default();
        Fact {
            in_force: used["version_info"].as_str().map(str::to_owned),
            is_warming: warming.any(|entry| is_named(&entry)),
        }
    }

    fn dumped_listener(&self, name: &str) -> Fact {
        let mut listeners = self.entries("dynamic_listeners").into_iter();
        let found = listeners.find(|entry| entry["name"] == name).unwrap_or_default();
        Fact {
            in_force: found["active_state"]["version_info"].as_str().map(str::to_owned),
            is_warming: found["warming_state"].is_object(),
        }
    }

    /// Returns a statistic of Envoy; empty while Envoy has none of this name.
    fn stat(&self, name: &str) -> String {
        let text = self.envoy.get(&format!("/stats?filter={name}"));
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.unwrap_or_default().trim_matches('"').to_owned()
    }

    fn wait_for_stat(&self, name: &str, value: &str) {
        wait_for(&format!("{name}: {value}"), || (self.stat(name) == value).then_some(()));
    }

    /// Waits until xdscope and Envoy state the same fact about `KIND/NAME`, and this one.
    #[track_caller]
    fn agree(&self, name: &str, wanted: InForce, is_warming: bool) {
        let mut last = String::new();
        let agreed = wait_within(LIMIT, || {
            let resource = self.resource(name);
            let (own, dumped) = (stated(&resource), self.dumped(name));
            last = format!("xdscope: {own:?}, Envoy: {dumped:?}, {resource:#}");
            let is_wanted = own.is_warming == is_warming && in_force(&resource) == wanted;
            (own == dumped && is_wanted).then_some(())
        });
        assert!(agreed.is_some(), "{name}: not {wanted:?} in force, warming: {is_warming}\n{last}");
    }

    /// Waits until a listener warms in xdscope and in Envoy, which uses the earlier version, if
    /// there is one, and not the accepted one.
    #[track_caller]
    fn agree_on_warming(&self, name: &str, has_earlier: bool) {
        let mut last = String::new();
        let agreed = wait_within(LIMIT, || {
            let (own, dumped) = (stated(&self.resource(name)), self.dumped(name));
            last = format!("xdscope: {own:?}, Envoy: {dumped:?}");
            let is_earlier = dumped.in_force.is_some() == has_earlier && dumped.in_force != own.in_force;
            (own.is_warming && dumped.is_warming && is_earlier).then_some(())
        });
        assert!(agreed.is_some(), "{name}: not warming, earlier version: {has_earlier}: {last}");
    }

    /// Waits until this version of a type is in force in xdscope and in a statistic of Envoy.
    #[track_caller]
    fn agree_on_version(&self, kind: &str, stat: &str, version: &str) {
        let mut last = String::new();
        let agreed = wait_within(LIMIT, || {
            let (state, text) = (self.state(kind), self.stat(stat));
            last = format!("{stat}: {text:?}, {state:#}");
            (state["in_force"] == version && text == version).then_some(())
        });
        assert!(agreed.is_some(), "{kind}: not {version} in force\n{last}");
    }

    /// Waits until a type is in this state.
    #[track_caller]
    fn wait_for_state(&self, kind: &str, word: &str) {
        let mut last = Value::Null;
        let reached = wait_within(LIMIT, || {
            last = self.state(kind);
            (last["state"] == word).then_some(())
        });
        assert!(reached.is_some(), "{kind}: not {word}: {last:#}");
    }

    /// Waits until xdscope has counted the refusals that Envoy has counted, up to `lost` ones.
    /// Asserts that xdscope counts no others. The server may go on with refused pushes.
    #[track_caller]
    fn agree_on_refusals(&self, kind: &str, stat: &str, lost: u64) {
        let of_envoy = || self.stat(stat).parse::<u64>().expect("a number");
        let earlier = of_envoy();
        assert!(earlier > 0, "{stat}");
        let has_all = |count: &u64| count + lost >= earlier;
        let counted = wait_within(LIMIT, || Some(self.refusals(kind)).filter(has_all));
        let later = of_envoy();
        assert!(counted.is_some_and(|count| count <= later), "{counted:?}, {earlier} to {later}");
    }
}

/// A control plane, and an Envoy behind a tap that has a chain in version 1.
struct Scene {
    world: World,
    plane: ControlPlane,
    observed: Observed,
    snapshot: Snapshot,
    variant: Variant,
}

/// A release of Envoy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    Newest,
    /// 1.36, in which a runtime flag turns off the cache of endpoints.
    Older,
    /// 1.36 without the cache of endpoints, as before 1.32.
    OlderWithoutCache,
}

/// The flag of the cache of endpoints, on since 1.32. 1.40 has no flag.
const CACHE_FLAG: &str = "envoy.restart_features.use_eds_cache_for_ads";

impl Scene {
    /// Serves the chain with more clusters.
    fn open(test: &str, variant: Variant, more: &[Value]) -> Option<Scene> {
        Scene::with(test, variant, Release::Newest, more)
    }

    fn with(test: &str, variant: Variant, release: Release, more: &[Value]) -> Option<Scene> {
        let world = World::open(test)?;
        let mut plane = world.control_plane(Flags::default());
        let tap = world.tap(plane.address(), &[]);
        let mut config = bootstrap::envoy("edge-1", variant, tap.address(), None);
        if release == Release::OlderWithoutCache {
            let layer = json!({ "name": "cache", "static_layer": { CACHE_FLAG: false } });
            config["layered_runtime"] = json!({ "layers": [layer] });
        }
        let mut envoy = match release {
            Release::Newest => world.envoy_of("edge-1", &config),
            Release::Older | Release::OlderWithoutCache => world.older_envoy_of("edge-1", &config),
        };
        let clusters = [vec![cluster("echo", 1, "0s", variant)], more.to_vec()].concat();
        let snapshot = Snapshot::chain(variant, envoy.admin()).with(CLUSTER, "1", clusters);
        plane.set(&snapshot);
        envoy.wait_live();
        for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
            plane.wait_for_ack(0, type_url, "1");
        }
        Some(Scene { world, plane, observed: Observed { tap, envoy }, snapshot, variant })
    }

    /// Changes the snapshot, which stays changed.
    fn set(&mut self, type_url: &'static str, version: &str, resources: Vec<Value>) {
        self.snapshot = self.snapshot.clone().with(type_url, version, resources);
        self.plane.set(&self.snapshot);
    }

    /// Returns the cluster of the chain, as in version 1.
    fn echo(&self) -> Value {
        cluster("echo", 1, "0s", self.variant)
    }

    /// Returns a secret with a new certificate.
    fn secret(&self, name: &str) -> Value {
        let pair = Ca::new(self.world.folder(), "ca").issue(name, &["own.test"]);
        let pem = |file: &Path| fs::read_to_string(file).expect("PEM");
        secret(name, &pem(&pair.cert), &pem(&pair.key))
    }

    fn endpoints(&self, name: &str, weight: u32) -> Value {
        let mut out = endpoints(name, self.observed.envoy.admin());
        out["endpoints"][0]["load_balancing_weight"] = json!(weight);
        out
    }
}

/// Returns a config source with Envoy's limit for the first response, `0s` for none.
fn source(timeout: &str, variant: Variant) -> Value {
    let mut source = variant.config_source();
    source["initial_fetch_timeout"] = json!(timeout);
    source
}

/// Returns a cluster with EDS endpoints; `seconds` tells one version from another.
fn cluster(name: &str, seconds: u32, timeout: &str, variant: Variant) -> Value {
    json!({
        "name": name,
        "type": "EDS",
        "connect_timeout": format!("{seconds}s"),
        "eds_cluster_config": { "eds_config": source(timeout, variant) },
    })
}

/// Returns a cluster that needs nothing else.
fn plain(name: &str, seconds: u32) -> Value {
    json!({ "name": name, "type": "STATIC", "connect_timeout": format!("{seconds}s") })
}

/// Returns a cluster that needs a secret for its upstream TLS.
fn cluster_with_secret(name: &str, secret: &str, timeout: &str, variant: Variant) -> Value {
    let mut out = crate::support::snapshot::cluster_with_secret(name, secret, variant);
    let context = &mut out["transport_socket"]["typed_config"]["common_tls_context"];
    context["tls_certificate_sds_secret_configs"][0]["sds_config"] = source(timeout, variant);
    out
}

/// Returns a listener that needs a secret. Envoy replaces the whole listener if `bytes` changes.
fn listener_with_secret(name: &str, secret: &str, bytes: u32, variant: Variant) -> Value {
    let needed = json!({ "name": secret, "sds_config": source("0s", variant) });
    let context = json!({ "tls_certificate_sds_secret_configs": [needed] });
    let tls = json!({ "@type": DOWNSTREAM_TLS, "common_tls_context": context });
    let mut out = with_buffer(listener(name, "r-in", variant), bytes);
    out["filter_chains"][0]["transport_socket"] = json!({ "name": "tls", "typed_config": tls });
    out
}

fn with_buffer(mut listener: Value, bytes: u32) -> Value {
    listener["per_connection_buffer_limit_bytes"] = json!(bytes);
    listener
}

#[test]
fn envoy_and_xdscope_agree_on_secrets_over_ads() {
    secrets("envoy_and_xdscope_agree_on_secrets_over_ads", Variant::Ads);
}

#[test]
fn envoy_and_xdscope_agree_on_secrets_over_delta_ads() {
    secrets("envoy_and_xdscope_agree_on_secrets_over_delta_ads", Variant::DeltaAds);
}

/// A cluster needs a secret that is absent, then present, then another one.
fn secrets(test: &str, variant: Variant) {
    let Some(mut scene) = Scene::open(test, variant, &[]) else { return };
    scene.set(CLUSTER, "2", vec![scene.echo(), cluster_with_secret("safe", "own", "0s", variant)]);
    scene.observed.agree("cds/safe", InForce::Nothing, true);
    scene.observed.agree("sds/own", InForce::Nothing, true);
    scene.observed.wait_for_state("cds", "warming");
    assert_eq!(scene.observed.stat("cluster_manager.warming_clusters"), "1");
    assert_eq!(scene.observed.stat("sds.own.version_text"), "");
    let safe = scene.observed.resource("cds/safe");
    let need = &safe["warming"]["waits_for"][0];
    assert_eq!((&need["type"], &need["name"]), (&json!("sds"), &json!("own")));

    scene.set(SECRET, "1", vec![scene.secret("own")]);
    scene.observed.agree("sds/own", InForce::Newest, false);
    scene.observed.agree("cds/safe", InForce::Newest, false);
    scene.observed.agree_on_version("sds", "sds.own.version_text", "1");
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "2");
    scene.observed.wait_for_state("cds", "synced");
    assert_eq!(scene.observed.stat("cluster_manager.warming_clusters"), "0");

    scene.set(SECRET, "2", vec![scene.secret("own")]);
    scene.observed.agree_on_version("sds", "sds.own.version_text", "2");
    scene.observed.agree("sds/own", InForce::Newest, false);
    assert_eq!(scene.observed.stat("sds.own.update_rejected"), "0");
}

/// Envoy keeps a secret that a response leaves out.
#[test]
fn removed_secret_stays_in_force() {
    let variant = Variant::Ads;
    let Some(mut scene) = Scene::open("removed_secret_stays_in_force", variant, &[]) else { return };
    scene.set(SECRET, "1", vec![scene.secret("own")]);
    scene.set(CLUSTER, "2", vec![scene.echo(), cluster_with_secret("safe", "own", "0s", variant)]);
    scene.observed.agree("sds/own", InForce::Newest, false);
    scene.set(SECRET, "2", Vec::new());
    scene.plane.wait_for_ack(0, SECRET, "2");
    wait_for("the recorded removal", || (scene.observed.state("sds")["in_force"] == "2").then_some(()));
    scene.observed.agree("sds/own", InForce::Newest, false);
    scene.observed.agree("cds/safe", InForce::Newest, false);
}

#[test]
fn envoy_and_xdscope_agree_on_a_warming_listener_over_ads() {
    warming_listener("envoy_and_xdscope_agree_on_a_warming_listener_over_ads", Variant::Ads);
}

#[test]
fn envoy_and_xdscope_agree_on_a_warming_listener_over_delta_ads() {
    warming_listener("envoy_and_xdscope_agree_on_a_warming_listener_over_delta_ads", Variant::DeltaAds);
}

/// Envoy acknowledges a listener at once, and uses the earlier version, or none, while the
/// listener waits for a secret: xdscope states the accepted version, and that it warms.
fn warming_listener(test: &str, variant: Variant) {
    let Some(mut scene) = Scene::open(test, variant, &[]) else { return };
    let base = listener("in", "r-in", variant);
    let listeners =
        |secret: &str, bytes: u32| vec![base.clone(), listener_with_secret("safe", secret, bytes, variant)];
    scene.set(LISTENER, "2", listeners("own", 4096));
    scene.plane.wait_for_ack(0, LISTENER, "2");
    scene.observed.wait_for_state("lds", "warming");
    assert_eq!(scene.observed.stat("listener_manager.total_listeners_warming"), "1");
    scene.observed.agree_on_warming("lds/safe", false);
    let own = scene.secret("own");
    scene.set(SECRET, "1", vec![own.clone()]);
    scene.observed.agree("lds/safe", InForce::Newest, false);

    scene.set(LISTENER, "3", listeners("next", 8192));
    scene.plane.wait_for_ack(0, LISTENER, "3");
    scene.observed.agree_on_warming("lds/safe", true);
    scene.set(SECRET, "2", vec![own, scene.secret("next")]);
    scene.observed.agree("lds/safe", InForce::Newest, false);
    scene.observed.wait_for_state("lds", "synced");
}

#[test]
fn envoy_and_xdscope_agree_on_an_updated_cluster_over_ads() {
    let test = "envoy_and_xdscope_agree_on_an_updated_cluster_over_ads";
    updated_cluster(test, Variant::Ads, Release::Newest);
}

#[test]
fn envoy_and_xdscope_agree_on_an_updated_cluster_over_delta_ads() {
    let test = "envoy_and_xdscope_agree_on_an_updated_cluster_over_delta_ads";
    updated_cluster(test, Variant::DeltaAds, Release::Newest);
}

#[test]
fn older_envoy_and_xdscope_agree_on_an_updated_cluster_over_ads() {
    let test = "older_envoy_and_xdscope_agree_on_an_updated_cluster_over_ads";
    updated_cluster(test, Variant::Ads, Release::Older);
}

#[test]
fn older_envoy_and_xdscope_agree_on_an_updated_cluster_over_delta_ads() {
    let test = "older_envoy_and_xdscope_agree_on_an_updated_cluster_over_delta_ads";
    updated_cluster(test, Variant::DeltaAds, Release::Older);
}

/// An updated cluster keeps its earlier version until its endpoints come again, and goes on with
/// the cached endpoints after its timeout: docs/protocol.md#h-05.
fn updated_cluster(test: &str, variant: Variant, release: Release) {
    let Some(mut scene) = Scene::with(test, variant, release, &[]) else { return };
    scene.set(CLUSTER, "2", vec![cluster("echo", 2, "0s", variant)]);
    scene.observed.agree("cds/echo", InForce::Earlier, true);
    assert_eq!(scene.observed.stat("cluster.echo.warming_state"), "1");
    scene.set(ENDPOINTS, "2", vec![scene.endpoints("echo", 2)]);
    scene.observed.agree("cds/echo", InForce::Newest, false);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "2");
    scene.observed.agree_on_version("eds", "cluster.echo.version_text", "2");
    assert_eq!(scene.observed.stat("cluster.echo.assignment_use_cached"), "0");

    scene.set(CLUSTER, "3", vec![cluster("echo", 3, "6s", variant)]);
    scene.observed.agree("cds/echo", InForce::Earlier, true);
    scene.observed.wait_for_stat("cluster.echo.assignment_use_cached", "1");
    scene.observed.agree("cds/echo", InForce::Newest, false);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "3");
    scene.observed.wait_for_state("cds", "synced");
}

/// Without its cache an Envoy uses the updated cluster after its timeout, too: the version in force
/// is that of the update. No message tells of the flag.
#[test]
fn updated_cluster_is_in_force_without_cached_endpoints() {
    let (test, variant) = ("updated_cluster_is_in_force_without_cached_endpoints", Variant::Ads);
    let Some(mut scene) = Scene::with(test, variant, Release::OlderWithoutCache, &[]) else { return };
    scene.set(CLUSTER, "2", vec![cluster("echo", 2, "4s", variant)]);
    scene.observed.agree("cds/echo", InForce::Earlier, true);
    scene.observed.wait_for_stat("cluster.echo.init_fetch_timeout", "1");
    scene.observed.agree("cds/echo", InForce::Newest, false);
    scene.observed.agree_on_version("cds", CDS_VERSION, "2");
    assert_eq!(scene.observed.stat("cluster.echo.assignment_use_cached"), "0");
}

#[test]
fn clusters_beside_a_warming_one_are_in_force_after_the_ack_over_ads() {
    beside_warming("clusters_beside_a_warming_one_are_in_force_after_the_ack_over_ads", Variant::Ads);
}

#[test]
fn clusters_beside_a_warming_one_are_in_force_after_the_ack_over_delta_ads() {
    beside_warming(
        "clusters_beside_a_warming_one_are_in_force_after_the_ack_over_delta_ads",
        Variant::DeltaAds,
    );
}

/// Envoy withholds the ACK of a push while one of its clusters warms.
fn beside_warming(test: &str, variant: Variant) {
    let more = [plain("plain", 1), plain("gone", 1)];
    let Some(mut scene) = Scene::open(test, variant, &more) else { return };
    scene.set(CLUSTER, "2", vec![scene.echo(), plain("plain", 2), cluster("late", 1, "0s", variant)]);
    scene.observed.agree("cds/late", InForce::Nothing, true);
    scene.set(ENDPOINTS, "2", vec![scene.endpoints("echo", 1), scene.endpoints("late", 1)]);
    scene.observed.agree("cds/late", InForce::Newest, false);
    scene.observed.agree("cds/plain", InForce::Newest, false);
    scene.observed.agree("cds/gone", InForce::Nothing, false);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "2");
}

#[test]
fn clusters_stop_warming_after_their_timeout() {
    timed_out("clusters_stop_warming_after_their_timeout", Variant::Ads, "6s");
}

#[test]
fn clusters_stop_warming_after_a_short_timeout() {
    timed_out("clusters_stop_warming_after_a_short_timeout", Variant::DeltaAds, "2s");
}

/// Clusters go on without the endpoints and the secret that do not come before their timeout.
fn timed_out(test: &str, variant: Variant, timeout: &str) {
    let Some(mut scene) = Scene::open(test, variant, &[]) else { return };
    let late = cluster("late", 1, timeout, variant);
    let safe = cluster_with_secret("safe", "never", timeout, variant);
    scene.set(CLUSTER, "2", vec![scene.echo(), late, safe]);
    scene.observed.wait_for_stat("cluster.late.init_fetch_timeout", "1");
    scene.observed.wait_for_stat("sds.never.init_fetch_timeout", "1");
    scene.observed.agree("cds/late", InForce::Newest, false);
    scene.observed.agree("cds/safe", InForce::Newest, false);
    scene.observed.agree("sds/never", InForce::Nothing, true);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "2");
    scene.observed.wait_for_state("cds", "synced");
}

/// Clusters of xdscope's own server, and an Envoy with a route to a cluster on demand.
struct OnDemand {
    _server: Tap,
    observed: Observed,
    folder: PathBuf,
}

impl OnDemand {
    fn open(test: &str, variant: Variant) -> Option<OnDemand> {
        let world = World::open(test)?;
        let folder = world.folder().to_owned();
        fs::create_dir(folder.join("resources")).expect("a folder");
        write_clusters(&folder, "1", &[plain("always", 1)]);
        let server = Tap::serve(&folder, &folder.join("resources"), &["--reload"]);
        let tap = world.tap(server.address(), &[]);
        let mut config = bootstrap::envoy("edge-1", variant, tap.address(), None);
        config["dynamic_resources"].as_object_mut().expect("an object").remove("lds_config");
        config["static_resources"]["listeners"] = json!([on_demand_listener(variant)]);
        let mut envoy = world.envoy_of("edge-1", &config);
        envoy.wait_live();
        let scene = OnDemand { _server: server, observed: Observed { tap, envoy }, folder };
        scene.observed.agree("cds/always", InForce::Newest, false);
        Some(scene)
    }

    /// Returns a cluster that answers.
    fn late(&self) -> Value {
        let mut late = plain("late", 1);
        late["load_assignment"] = endpoints("late", self.observed.envoy.admin());
        late
    }

    /// Requests a page through the listener, whose route leads to the cluster `late`.
    fn request(&self) -> thread::JoinHandle<u16> {
        let address = self.observed.envoy.listener("in");
        thread::spawn(move || http::get(address, "/").expect("an answer").status)
    }

    fn wait_for_resource_state(&self, name: &str, word: &str) {
        wait_for(&format!("{name} {word}"), || (self.observed.resource(name)["state"] == word).then_some(()));
    }
}

/// Replaces the clusters of the server.
fn write_clusters(folder: &Path, version: &str, clusters: &[Value]) {
    let typed = |cluster: &Value| {
        let mut typed = cluster.clone();
        typed["@type"] = json!(CLUSTER);
        typed
    };
    let resources: Vec<Value> = clusters.iter().map(typed).collect();
    let response = json!({ "version_info": version, "type_url": CLUSTER, "resources": resources });
    let next = folder.join("next.json");
    fs::write(&next, response.to_string()).expect("a file");
    fs::rename(next, folder.join("resources/cds.json")).expect("a renamed file");
}

/// Returns a listener with one route, to the cluster `late`, which Envoy requests on demand.
fn on_demand_listener(variant: Variant) -> Value {
    let route =
        json!({ "match": { "prefix": "/" }, "route": { "cluster": "late", "prefix_rewrite": "/ready" } });
    let routes = json!({
        "name": "inline",
        "validate_clusters": false,
        "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [route] }],
    });
    let discovery = json!({ "source": variant.config_source(), "timeout": "60s" });
    let on_demand = json!({ "@type": ON_DEMAND, "odcds": discovery });
    let filters = json!([
        { "name": "envoy.filters.http.on_demand", "typed_config": on_demand },
        { "name": "router", "typed_config": { "@type": ROUTER } },
    ]);
    let http = json!({ "@type": HTTP, "stat_prefix": "in", "route_config": routes, "http_filters": filters });
    json!({
        "name": "in",
        "address": bootstrap::socket_address("127.0.0.1:0".parse().expect("an address")),
        "filter_chains": [{ "filters": [{ "name": "http", "typed_config": http }] }],
    })
}

/// Delta says that a requested cluster does not exist; the cluster comes and goes later.
#[test]
fn envoy_and_xdscope_agree_on_delta_clusters_on_demand() {
    let test = "envoy_and_xdscope_agree_on_delta_clusters_on_demand";
    let Some(scene) = OnDemand::open(test, Variant::DeltaAds) else { return };
    assert_eq!(scene.request().join().expect("a request"), 503);
    scene.wait_for_resource_state("cds/late", "absent");
    scene.observed.agree("cds/late", InForce::Nothing, false);
    scene.observed.agree("cds/always", InForce::Newest, false);
    assert_eq!(scene.observed.state("cds")["absent"], json!(["late"]));
    scene.observed.agree_on_version("cds", "cluster_manager.odcds.version_text", "1");

    write_clusters(&scene.folder, "2", &[plain("always", 1), scene.late()]);
    scene.observed.agree("cds/late", InForce::Newest, false);
    scene.observed.agree_on_version("cds", "cluster_manager.odcds.version_text", "2");
    assert_eq!(scene.observed.state("cds")["absent"], json!([]));
    assert_eq!(scene.request().join().expect("a request"), 200);

    write_clusters(&scene.folder, "3", &[plain("always", 1)]);
    scene.wait_for_resource_state("cds/late", "removed");
    scene.observed.agree("cds/late", InForce::Nothing, false);
    scene.observed.agree("cds/always", InForce::Newest, false);
    assert_eq!(scene.observed.stat("cluster_manager.odcds.update_rejected"), "0");
}

/// The first cluster on demand replaces the wildcard in SotW: Envoy drops all other clusters.
/// The HTTP request waits until the cluster comes.
#[test]
fn envoy_and_xdscope_agree_on_sotw_clusters_on_demand() {
    let test = "envoy_and_xdscope_agree_on_sotw_clusters_on_demand";
    let Some(scene) = OnDemand::open(test, Variant::Ads) else { return };
    let waiting = scene.request();
    scene.wait_for_resource_state("cds/late", "waiting");
    scene.observed.agree("cds/late", InForce::Nothing, false);
    scene.observed.agree("cds/always", InForce::Nothing, false);
    let state = scene.observed.state("cds");
    assert_eq!((&state["wildcard"], &state["missing"]), (&json!("none"), &json!(["late"])), "{state:#}");

    write_clusters(&scene.folder, "2", &[plain("always", 1), scene.late()]);
    assert_eq!(waiting.join().expect("a request"), 200);
    scene.observed.agree("cds/late", InForce::Newest, false);
    scene.observed.agree("cds/always", InForce::Nothing, false);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "2");

    write_clusters(&scene.folder, "3", &[plain("always", 1)]);
    scene.wait_for_resource_state("cds/late", "removed");
    scene.observed.agree("cds/late", InForce::Nothing, false);
    scene.observed.agree_on_version("cds", "cluster_manager.cds.version_text", "3");
}

#[test]
fn envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_ads() {
    let test = "envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_ads";
    refusals(test, Variant::Ads, Release::Newest);
}

#[test]
fn envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_delta_ads() {
    let test = "envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_delta_ads";
    refusals(test, Variant::DeltaAds, Release::Newest);
}

#[test]
fn older_envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_ads() {
    let test = "older_envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_ads";
    refusals(test, Variant::Ads, Release::Older);
}

#[test]
fn older_envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_delta_ads() {
    let test = "older_envoy_and_xdscope_agree_on_refusals_across_a_reconnect_over_delta_ads";
    refusals(test, Variant::DeltaAds, Release::Older);
}

const CDS_REJECTED: &str = "cluster_manager.cds.update_rejected";
const LDS_REJECTED: &str = "listener_manager.lds.update_rejected";
const CDS_VERSION: &str = "cluster_manager.cds.version_text";
const LDS_VERSION: &str = "listener_manager.lds.version_text";

/// Envoy refuses version 2, refuses it again after a reconnect, and accepts version 3.
fn refusals(test: &str, variant: Variant, release: Release) {
    let more = [plain("kept", 1), plain("rest", 1)];
    let Some(mut scene) = Scene::with(test, variant, release, &more) else { return };
    let base = || listener("in", "r-in", variant);
    scene.observed.agree_on_version("cds", CDS_VERSION, "1");
    scene.observed.agree_on_version("lds", LDS_VERSION, "1");

    scene.set(CLUSTER, "2", vec![scene.echo(), broken("kept"), plain("rest", 2)]);
    let mut without_address = base();
    without_address.as_object_mut().expect("an object").remove("address");
    scene.set(LISTENER, "2", vec![without_address]);
    for type_url in [CLUSTER, LISTENER] {
        scene.plane.wait_for(0, "a NACK", |event| event.is_nack(type_url));
    }
    assert_refused(&scene.observed, 0);
    scene.observed.agree_on_version("cds", CDS_VERSION, "1");
    scene.observed.agree_on_version("lds", LDS_VERSION, "1");

    reconnect(&mut scene.plane, &[CLUSTER, LISTENER]);
    wait_for("the second stream", || (scene.observed.state("lds")["stream"] == 2).then_some(()));
    // The server answers each SotW NACK with the refused push, so the end may lose a NACK.
    let lost = u64::from(!variant.is_delta());
    assert_refused(&scene.observed, lost);
    if !variant.is_delta() {
        scene.observed.agree_on_version("cds", CDS_VERSION, "1");
        scene.observed.agree_on_version("lds", LDS_VERSION, "1");
    }

    scene.set(CLUSTER, "3", vec![scene.echo(), plain("kept", 3), plain("rest", 3)]);
    scene.set(LISTENER, "3", vec![with_buffer(base(), 4096)]);
    scene.observed.agree_on_version("cds", CDS_VERSION, "3");
    scene.observed.agree_on_version("lds", LDS_VERSION, "3");
    for (kind, stat) in [("cds", CDS_REJECTED), ("lds", LDS_REJECTED)] {
        scene.observed.wait_for_state(kind, "synced");
        scene.observed.agree_on_refusals(kind, stat, lost);
    }
    for name in ["cds/kept", "cds/rest", "lds/in"] {
        scene.observed.agree(name, InForce::Newest, false);
    }
    assert!(failures(&scene.observed).is_empty());
}

/// Returns a cluster that Envoy refuses, alone of its push.
fn broken(name: &str) -> Value {
    let mut broken = bad_clusters().remove(0);
    broken["name"] = json!(name);
    broken["load_assignment"]["cluster_name"] = json!(name);
    broken
}

/// Ends all streams, and waits until Envoy has refused pushes of these types on a new stream.
fn reconnect(plane: &mut ControlPlane, types: &[&str]) {
    let mark = plane.mark();
    plane.close_streams(14, "bye");
    let opened = plane.wait_for(mark, "a new stream", |event| event.event == "open");
    for type_url in types {
        plane.wait_for(mark, "a NACK", |event| event.is_nack(type_url) && event.stream == opened.stream);
    }
}

/// Returns the refusals of listeners in the config dump: refused content and reason.
fn failures(observed: &Observed) -> Vec<Value> {
    let listeners = observed.entries("dynamic_listeners").into_iter();
    listeners.map(|entry| entry["error_state"].clone()).filter(Value::is_object).collect()
}

/// Asserts that both sides state one refused cluster and one refused listener, and use the rest.
fn assert_refused(observed: &Observed, lost: u64) {
    observed.agree("cds/kept", InForce::Earlier, false);
    observed.agree("lds/in", InForce::Earlier, false);
    observed.agree("cds/rest", InForce::Newest, false);
    observed.wait_for_state("cds", "nack");
    observed.wait_for_state("lds", "nack");
    observed.agree_on_refusals("cds", CDS_REJECTED, lost);
    observed.agree_on_refusals("lds", LDS_REJECTED, lost);
    let failures = failures(observed);
    let [failure] = failures.as_slice() else { panic!("{failures:#?}") };
    assert_eq!(failure["failed_configuration"]["name"], "in");
    let reason = failure["details"].as_str().expect("a reason");
    let state = observed.state("lds");
    let message = state["nacks"][0]["message"].as_str().expect("a message");
    assert!(message.contains(reason), "{failure:#} {state:#}");
    for name in ["cds/kept", "lds/in"] {
        wait_for("the refused resource", || (observed.resource(name)["refused"] == true).then_some(()));
    }
}

/// A delta request states no version of its type: that of the earlier stream stays in force.
#[test]
fn delta_version_stays_in_force_across_a_reconnect() {
    let test = "delta_version_stays_in_force_across_a_reconnect";
    let Some(mut scene) = Scene::open(test, Variant::DeltaAds, &[]) else { return };
    scene.set(CLUSTER, "2", vec![scene.echo(), broken("more")]);
    scene.plane.wait_for(0, "a NACK", |event| event.is_nack(CLUSTER));
    scene.observed.agree_on_version("cds", CDS_VERSION, "1");
    reconnect(&mut scene.plane, &[CLUSTER]);
    wait_for("the second stream", || (scene.observed.state("cds")["stream"] == 2).then_some(()));
    scene.observed.agree_on_version("cds", CDS_VERSION, "1");
}
