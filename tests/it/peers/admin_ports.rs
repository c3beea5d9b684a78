//! The admin port of a real Envoy as a source: its facts are those of the saved dump and of the
//! tap.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    control_plane::Flags,
    kubectl::{Kubectl, list, sidecar},
    process::Child,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, endpoints, listener},
    tap::xdscope,
    wait::wait_for,
    world::World,
};

/// A source of verbs: a file, or an admin port.
struct Source<'a> {
    folder: &'a Path,
    name: String,
}

impl Source<'_> {
    /// Returns what a verb prints.
    fn text(&self, verb: &str, args: &[&str]) -> String {
        let output =
            xdscope(self.folder).arg(verb).arg(&self.name).args(args).output().expect("xdscope runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{verb} {args:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the JSON objects that a verb prints.
    fn objects(&self, verb: &str, args: &[&str]) -> Vec<Value> {
        serde_json::from_str(&self.text(verb, &[args, &["-o", "json"]].concat())).expect("a list of objects")
    }

    /// Returns the states of all types.
    fn states(&self, args: &[&str]) -> Vec<Value> {
        let objects = self.objects("status", args).into_iter();
        objects.filter(|object| object["object"] == "state").collect()
    }
}

/// Runs a verb, and returns the exit code and all output.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = xdscope(folder).args(args).output().expect("xdscope runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Returns the name and version in force of the resources of these types.
fn in_force(source: &Source<'_>) -> BTreeSet<(String, String, String)> {
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    ["lds", "rds", "cds", "eds"]
        .iter()
        .flat_map(|kind| source.objects("get", &[kind]))
        .filter(|object| object["object"] == "resource" && object["state"] == "present")
        .map(|object| (text(&object, "type"), text(&object, "name"), text(&object, "in_force")))
        .collect()
}

/// Returns a config source without Envoy's limit of 15 s for the first response.
fn patient(variant: Variant) -> Value {
    let mut source = variant.config_source();
    source["initial_fetch_timeout"] = json!("0s");
    source
}

#[test]
fn admin_port_has_the_facts_of_the_dump_and_of_the_tap() {
    let test = "admin_port_has_the_facts_of_the_dump_and_of_the_tap";
    let Some(world) = World::open(test) else { return };
    let variant = Variant::DeltaAds;
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let source = |name: String| Source { folder: world.folder(), name };
    let live = source(format!("envoy:{}", envoy.admin()));
    let saved = source(world.folder().join("dump.json").display().to_string());
    fs::write(&saved.name, envoy.get("/config_dump?include_eds")).expect("a file");
    assert_eq!(live.text("get", &["-o", "name"]), saved.text("get", &["-o", "name"]));
    assert_eq!(live.text("get", &["cds", "-o", "yaml"]), saved.text("get", &["cds", "-o", "yaml"]));
    let words = |source: &Source<'_>| -> Vec<(Value, Value, Value)> {
        let states = source.states(&[]);
        states.iter().map(|of| (of["type"].clone(), of["state"].clone(), of["node"].clone())).collect()
    };
    assert_eq!(words(&live), words(&saved));
    let recorded = wait_for("a recording of the chain", || {
        let copy = source(tap.copy_of_recording()?.file.display().to_string());
        (in_force(&copy).len() == in_force(&live).len()).then_some(copy)
    });
    let names = |facts: BTreeSet<(String, String, String)>| -> BTreeSet<(String, String)> {
        facts.into_iter().map(|(kind, name, _)| (kind, name)).collect()
    };
    assert_eq!(names(in_force(&live)), names(in_force(&recorded)));
    let name = live.name.as_str();
    let (code, out) = run(world.folder(), &["diff", &recorded.name, name, "lds", "rds", "cds", "eds", "-q"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let applied = recorded.states(&["--applied", name]);
    let whole =
        |of: &Value| of["applied"].is_null() || of["applied"]["applied"] == of["applied"]["resources"];
    assert!(applied.iter().all(whole) && applied.iter().any(|of| of["applied"].is_object()), "{applied:#?}");

    let objects = live.objects("status", &[]);
    let stream = objects.iter().find(|object| object["object"] == "stream").expect("a stream");
    assert_eq!((&stream["admin"]["state"], &stream["admin"]["connected"]), (&json!("LIVE"), &json!(true)));
    assert!(stream["admin"]["version"].as_str().is_some_and(|text| text.starts_with("1.")), "{stream}");
    let states = live.states(&[]);
    let clusters = states.iter().find(|state| state["type"] == "cds").expect("clusters");
    assert!(clusters["updates"]["success"].as_u64() >= Some(1), "{clusters}");
    assert_eq!(clusters["updates"]["rejected"], 0, "{clusters}");
    drop(tap);
}

#[test]
fn admin_port_says_what_a_listener_waits_for() {
    let Some(world) = World::open("admin_port_says_what_a_listener_waits_for") else { return };
    let variant = Variant::Ads;
    let mut plane = world.control_plane(Flags::default());
    let mut envoy = world.envoy("edge-1", variant, plane.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let folder = world.folder().to_owned();
    let name = format!("envoy:{}", envoy.admin());
    let log = folder.join("follow.log");
    let mut command = xdscope(&folder);
    command.args(["log", &name, "-f", "-o", "jsonl"]);
    let mut follower = Child::start(&mut command, &log);
    wait_for("the rows of the first dump", || follower.log().contains("\"lds\"").then_some(()));

    let mut waits = listener("waits", "no-such-route", variant);
    let manager = &mut waits["filter_chains"][0]["filters"][0]["typed_config"];
    manager["rds"]["config_source"] = patient(variant);
    let more = chain
        .with(CLUSTER, "2", vec![cluster("echo", variant), cluster("new", variant)])
        .with(ENDPOINTS, "2", ["echo", "new"].map(|name| endpoints(name, envoy.admin())).to_vec())
        .with(LISTENER, "2", vec![listener("in", "r-in", variant), waits]);
    plane.set(&more);
    let (code, out) = run(&folder, &["wait", &name, "type:cds name:new", "--timeout", "30s"]);
    assert_eq!(code, Some(0), "{out}");
    wait_for("Envoy's reason", || {
        let (_, out) = run(&folder, &["status", &name, "-o", "wide"]);
        out.contains("listener waits waits for RDS no-such-route").then_some(())
    });
    wait_for("a row for the new cluster", || {
        let rows = follower.log();
        let rows = rows.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_push = |row: &Value| row["type"] == "cds" && row["dir"] == "resp";
        (rows.filter(is_push).count() >= 2).then_some(())
    });
    follower.assert_running();
    follower.kill();

    // An Envoy that ends is a row and an error, and the verb goes on.
    let (code, out) = run(&folder, &["wait", &name, "type:cds name:never", "--timeout", "2s"]);
    assert_eq!(code, Some(4), "{out}");
    envoy.child.kill();
    let (code, out) = run(&folder, &["get", &name]);
    assert!(code == Some(3) && out.contains("Connection refused"), "{out}");
}

#[test]
fn admin_port_of_an_older_envoy_can_be_followed() {
    let Some(world) = World::open("admin_port_of_an_older_envoy_can_be_followed") else { return };
    let variant = Variant::Ads;
    let mut plane = world.control_plane(Flags::default());
    let bootstrap = crate::support::bootstrap::envoy("edge-0", variant, plane.address(), None);
    let mut envoy = world.older_envoy_of("edge-0", &bootstrap);
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let name = format!("envoy:{}", envoy.admin());
    let args = ["wait", &name, "type:cds name:new", "--timeout", "30s"];
    let mut waiting = Child::start(xdscope(world.folder()).args(args), &world.folder().join("wait.log"));
    let more = chain.with(CLUSTER, "2", vec![cluster("echo", variant), cluster("new", variant)]).with(
        ENDPOINTS,
        "2",
        ["echo", "new"].map(|name| endpoints(name, envoy.admin())).to_vec(),
    );
    plane.set(&more);
    assert_eq!(waiting.finish(), Some(0), "{}", waiting.log());
}

#[test]
fn pod_has_the_facts_of_its_envoy() {
    let Some(world) = World::open("pod_has_the_facts_of_its_envoy") else { return };
    let variant = Variant::Ads;
    let mut plane = world.control_plane(Flags::default());
    let mut envoy = world.envoy("edge-1", variant, plane.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let kubectl = Kubectl::new(world.folder());
    kubectl.object("get-pod-edge-1", &sidecar("shop", "edge-1"));
    kubectl.object("get-pods", &list(&[sidecar("shop", "edge-1")]));
    kubectl.forward("edge-1", envoy.admin());
    let typed = format!("envoy:{}", envoy.admin());
    for args in [&["get", "-o", "name"][..], &["get", "cds", "-o", "yaml"], &["get", "lds", "-o", "yaml"]] {
        let of = |source: &str| kubectl.run(&[&[args[0], source, "-q"], &args[1..]].concat());
        let wanted = of(&typed);
        assert_eq!(wanted.0, Some(0), "{}", wanted.1);
        assert_eq!(of("k8s:shop/edge-1"), wanted, "{args:?}");
        assert_eq!(of("k8s:shop"), wanted, "{args:?}");
    }
    kubectl.object("get-pod-plane-1", &sidecar("xds", "plane-1"));
    kubectl.forward("plane-1", plane.address());
    let node = ["--node-id", "edge-2"];
    let (code, asked) = kubectl.run(&[&["get", "k8s:xds/plane-1:15010", "cds", "-q"], &node[..]].concat());
    let (_, wanted) = kubectl.run(&[&["get", &plane.address().to_string(), "cds", "-q"], &node[..]].concat());
    assert_eq!((code, asked), (Some(0), wanted));
    kubectl.assert_all_ended();
}
