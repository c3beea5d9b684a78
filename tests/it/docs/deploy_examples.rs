//! The examples of `examples/container`, `kubernetes`, `helm` and `systemd` name flags, ports,
//! probes and files that exist, and give a tap no more rights than needed.
//!
//! Tools that check more run where they are on PATH.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use super::optional_tool;
use crate::support::tap::xdscope;

/// Folder of the token of a service account in a container.
const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Folder of the configuration in packages, images and pods.
const CONFIG_FOLDER: &str = "/etc/xdscope";

/// Highest exposure of the unit that `systemd-analyze security` may find, in tenths.
const MAX_EXPOSURE: &str = "--threshold=19";

/// The folders of `examples/kubernetes` that a user applies.
const KUBERNETES: [&str; 3] = ["sidecar", "gateway", "workload"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns a list, empty if it is absent.
fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

/// A pod with a tap, and the configuration of the tap.
#[derive(Clone)]
struct TappedPod {
    place: String,
    /// `metadata` and `spec` of the pod.
    template: Value,
    /// `xdscope.toml`.
    config: String,
}

/// Messages of `tap --check-config` about the command line of a tap.
struct CheckedConfig {
    listens: String,
    metrics: String,
}

/// Runs `tap --check-config` with the arguments of a container or unit, and this configuration.
fn check_config(args: &[&str], config: &str) -> Result<CheckedConfig, String> {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("xdscope.toml");
    // Sessions of the examples are in folders that this machine may not have.
    let config = config.replace("/var/lib/xdscope", &home.path().display().to_string());
    fs::write(&file, config).expect("written");
    let args = args.iter().map(|arg| arg.replace("/etc/xdscope/xdscope.toml", &file.display().to_string()));
    let output = xdscope(home.path()).args(args).arg("--check-config").output().expect("xdscope runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let fact = |name: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        word.map(str::to_owned).ok_or_else(|| format!("no {name} in {printed}"))
    };
    Ok(CheckedConfig { listens: fact("tap ")?, metrics: fact("metrics ")? })
}

impl TappedPod {
    /// Returns the pod of a Deployment of `examples`, or of a patch of one.
    fn read(deployment: &str, config: &str) -> TappedPod {
        let template = yaml(&read(deployment))["spec"]["template"].clone();
        TappedPod { place: format!("{deployment} with {config}"), template, config: read(config) }
    }

    /// Returns the container of the tap, and whether it is a sidecar.
    fn tap(&self) -> Option<(&Value, bool)> {
        let spec = &self.template["spec"];
        let is_tap = |container: &&Value| container["name"] == "tap";
        let sidecar = list(&spec["initContainers"]).iter().find(is_tap).map(|tap| (tap, true));
        sidecar.or_else(|| list(&spec["containers"]).iter().find(is_tap).map(|tap| (tap, false)))
    }

    /// Fails with the first thing that is wrong with the pod.
    fn check(&self) -> Result<(), String> {
        let (tap, is_sidecar) = self.tap().ok_or("no container `tap`")?;
        if is_sidecar && tap["restartPolicy"] != "Always" {
            return Err("a sidecar goes on running: restartPolicy is Always".to_owned());
        }
        self.check_rights(tap)?;
        self.check_volumes(tap)?;
        check_probes(tap, is_sidecar)?;
        self.check_ports(tap)
    }

    /// Fails if the container may do more than it needs.
    fn check_rights(&self, tap: &Value) -> Result<(), String> {
        let wanted = [
            ("/runAsNonRoot", json!(true)),
            ("/readOnlyRootFilesystem", json!(true)),
            ("/allowPrivilegeEscalation", json!(false)),
            ("/capabilities/drop", json!(["ALL"])),
            ("/seccompProfile/type", json!("RuntimeDefault")),
        ];
        let right = |path: &str| {
            let of_container = tap["securityContext"].pointer(path);
            of_container.or_else(|| self.template["spec"]["securityContext"].pointer(path))
        };
        for (path, value) in wanted {
            if right(path) != Some(&value) {
                return Err(format!("securityContext{path} is {:?}, not {value}", right(path)));
            }
        }
        if right("/runAsUser").and_then(Value::as_u64).is_none_or(|user| user == 0) {
            return Err("runAsUser is not the number of a user".to_owned());
        }
        if tap["resources"]["limits"]["memory"].is_null() {
            return Err("no limit of memory".to_owned());
        }
        Ok(())
    }

    /// Fails if a volume is missing, the configuration is elsewhere, or the tap has a token.
    fn check_volumes(&self, tap: &Value) -> Result<(), String> {
        let spec = &self.template["spec"];
        let mounts: BTreeMap<&str, &str> = list(&tap["volumeMounts"])
            .iter()
            .map(|mount| (text(&mount["mountPath"]), text(&mount["name"])))
            .collect();
        for name in mounts.values() {
            if !list(&spec["volumes"]).iter().any(|volume| volume["name"] == *name) {
                return Err(format!("no volume {name}"));
            }
        }
        for folder in [CONFIG_FOLDER, "/var/lib/xdscope"] {
            if !mounts.contains_key(folder) {
                return Err(format!("nothing is mounted at {folder}"));
            }
        }
        // The other containers of a sidecar's pod may need the token.
        if spec["automountServiceAccountToken"] != false && !mounts.contains_key(TOKEN_FOLDER) {
            return Err("the tap has a token of the service account".to_owned());
        }
        Ok(())
    }

    /// Fails if the ports of the container are not those of its configuration.
    fn check_ports(&self, tap: &Value) -> Result<(), String> {
        let args: Vec<&str> = list(&tap["args"]).iter().map(text).collect();
        let checked = check_config(&args, &self.config)?;
        let port = |name: &str| {
            let port = list(&tap["ports"]).iter().find(|port| port["name"] == name);
            port.map(|port| port["containerPort"].to_string()).unwrap_or_default()
        };
        for (name, address) in [("tap-xds", &checked.listens), ("tap-metrics", &checked.metrics)] {
            let listens = address.rsplit(':').next().unwrap_or_default();
            if port(name) != listens {
                return Err(format!("port {name} is {}, and the tap listens on {address}", port(name)));
            }
        }
        if !checked.metrics.starts_with("0.0.0.0:") {
            return Err(format!("probes cannot reach {}", checked.metrics));
        }
        let annotations = &self.template["metadata"]["annotations"];
        let scraped = &annotations["prometheus.io/port"];
        if !scraped.is_null()
            && (*scraped != port("tap-metrics") || annotations["prometheus.io/path"] != "/metrics")
        {
            return Err(format!("Prometheus would scrape {annotations}"));
        }
        Ok(())
    }
}

/// Fails if a probe asks for another path or port than the one that it is for.
fn check_probes(tap: &Value, is_sidecar: bool) -> Result<(), String> {
    let mut probes = vec![("readinessProbe", "/readyz"), ("livenessProbe", "/livez")];
    if is_sidecar {
        probes.push(("startupProbe", "/readyz"));
    }
    for (probe, path) in probes {
        let get = &tap[probe]["httpGet"];
        if get["path"] != path || get["port"] != "tap-metrics" {
            return Err(format!("{probe} asks for {get}, not for {path} on tap-metrics"));
        }
    }
    Ok(())
}

/// The pods of the files as they are.
fn pods() -> Vec<TappedPod> {
    let beside = |folder: &str| format!("kubernetes/{folder}/xdscope.toml");
    vec![
        TappedPod::read("kubernetes/base/tap.yaml", &beside("sidecar")),
        TappedPod::read("kubernetes/base/tap.yaml", &beside("workload")),
        TappedPod::read("kubernetes/gateway/tap.yaml", &beside("gateway")),
    ]
}

/// Checks what a tool made of the files: pods, their configuration, and the ports of services.
fn check_rendered(place: &str, rendered: &str) {
    let documents: Vec<Value> = rendered.split("\n---\n").map(yaml).collect();
    let of_kind = |kind: &str| documents.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
    let mut taps = 0;
    for deployment in of_kind("Deployment") {
        let template = deployment["spec"]["template"].clone();
        let volumes = list(&template["spec"]["volumes"]).iter();
        let mut names = volumes.filter(|volume| volume["name"] == "xdscope-config");
        let name = &names.next().expect("a volume with the configuration")["configMap"]["name"];
        let mut maps = of_kind("ConfigMap").into_iter().filter(|map| map["metadata"]["name"] == *name);
        let config =
            &maps.next().unwrap_or_else(|| panic!("{place}: no ConfigMap {name}"))["data"]["xdscope.toml"];
        let pod = TappedPod { place: place.to_owned(), template, config: text(config).to_owned() };
        pod.check().unwrap_or_else(|why| panic!("{place}: {why}"));
        taps += 1;
        for service in of_kind("Service") {
            let labels = &pod.template["metadata"]["labels"];
            let selector = service["spec"]["selector"].as_object().expect("a selector");
            assert!(selector.iter().all(|(key, value)| labels[key] == *value), "{place}: {selector:?}");
            assert_eq!(service["spec"]["ports"][0]["targetPort"], "tap-xds", "{place}");
        }
    }
    assert_eq!(taps, 1, "{place} has one Deployment with a tap");
}

#[test]
fn pods_have_few_rights_and_name_what_exists() {
    for pod in pods() {
        pod.check().unwrap_or_else(|why| panic!("{}: {why}", pod.place));
    }
}

#[test]
fn pods_that_are_wrong_are_found() {
    let changes = [
        ("/spec/initContainers/0/restartPolicy", json!("Never"), "restartPolicy is Always"),
        ("/spec/initContainers/0/securityContext/runAsUser", json!("xdscope"), "runAsUser"),
        (
            "/spec/initContainers/0/securityContext/readOnlyRootFilesystem",
            json!(false),
            "readOnlyRootFilesystem",
        ),
        ("/spec/initContainers/0/volumeMounts/2/mountPath", json!("/token"), "a token"),
        ("/spec/volumes/0/name", json!("other"), "no volume xdscope-config"),
        ("/spec/initContainers/0/readinessProbe/httpGet/path", json!("/ready"), "readinessProbe asks"),
        ("/spec/initContainers/0/ports/1/containerPort", json!(9908), "port tap-metrics is 9908"),
        ("/spec/initContainers/0/args/1", json!("--settings"), "--settings"),
    ];
    let pod = pods().remove(0);
    for (path, value, expected) in changes {
        let mut wrong = pod.clone();
        *wrong.template.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value;
        let found = wrong.check().expect_err(path);
        assert!(found.contains(expected), "{path}: {found}");
    }
    let wrong = TappedPod { config: pod.config.replace("keep = 4", "kept = 4"), ..pod };
    let found = wrong.check().expect_err("an unknown key");
    assert!(found.contains("kept"), "{found}");
}

/// The arguments of the other containers are verbs and flags of the program.
#[test]
fn other_containers_use_flags_that_exist() {
    let home = tempfile::tempdir().expect("a folder");
    let mut checked = 0;
    for file in ["kubernetes/sidecar/control-plane.yaml", "kubernetes/workload/workload.yaml"] {
        let deployment = yaml(&read(file));
        for container in list(&deployment["spec"]["template"]["spec"]["containers"]) {
            let args: Vec<&str> = list(&container["args"]).iter().map(text).collect();
            let help = optional_tool::output(xdscope(home.path()).args([args[0], "--help"]));
            for flag in args.iter().filter(|arg| arg.starts_with("--")) {
                let is_known = Regex::new(&format!(r"{flag}\b[^-]")).expect("a pattern").is_match(&help);
                assert!(is_known, "{file}: {flag}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 5, "only {checked} flags");
}

#[test]
fn kustomize_builds_each_folder() {
    let Some(kustomize) = optional_tool::find("kustomize", "kustomize_builds_each_folder") else { return };
    for folder in KUBERNETES {
        let folder = root().join("kubernetes").join(folder);
        let rendered = optional_tool::output(Command::new(&kustomize).arg("build").arg(&folder));
        check_rendered(&folder.display().to_string(), &rendered);
    }
}

#[test]
fn configuration_of_the_chart_can_be_used() {
    let values = yaml(&read("helm/xdscope/values.yaml"));
    let server = text(&values["server"]);
    let args = ["tap", server, "--config", "/etc/xdscope/xdscope.toml", "--metrics", "0.0.0.0:9909"];
    check_config(&args, text(&values["config"])).expect("a configuration");
    let chart = yaml(&read("helm/xdscope/Chart.yaml"));
    for member in ["version", "appVersion"] {
        assert_eq!(chart[member], env!("CARGO_PKG_VERSION"), "{member} of Chart.yaml");
    }
}

#[test]
fn helm_renders_the_chart() {
    let Some(helm) = optional_tool::find("helm", "helm_renders_the_chart") else { return };
    let chart = root().join("helm/xdscope");
    optional_tool::output(Command::new(&helm).args(["lint", "--strict"]).arg(&chart));
    let other_ports = "ports.xds=18009,ports.metrics=9908,certificates=tls,replicas=1";
    for set in ["replicas=2", other_ports] {
        let mut template = Command::new(&helm);
        template.args(["template", "tap"]).arg(&chart).args(["--set", set]);
        check_rendered(&format!("the chart with {set}"), &optional_tool::output(&mut template));
    }
}

#[test]
fn unit_runs_a_tap_that_can_start() {
    let unit = read("systemd/xdscope-tap.service");
    let start =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/xdscope ")).expect("a command");
    let args: Vec<&str> = start.split(' ').collect();
    let checked = check_config(&args, &read("config/xdscope.toml")).expect("a configuration");
    let port = checked.metrics.rsplit(':').next().expect("a port");
    assert!(unit.contains(&format!(":{port}/readyz")), "the unit names the probe of {}", checked.metrics);
}

#[test]
fn unit_is_hardened() {
    let Some(analyze) = optional_tool::find("systemd-analyze", "unit_is_hardened") else { return };
    let mut security = Command::new(analyze);
    security.args(["security", "--no-pager", "--offline=true", MAX_EXPOSURE]);
    optional_tool::output(security.arg(root().join("systemd/xdscope-tap.service")));
}

#[test]
fn image_has_nothing_but_the_program() {
    let dockerfile = read("container/Dockerfile");
    let (_, last) = dockerfile.rsplit_once("\nFROM ").expect("stages");
    assert!(last.starts_with("scratch\n"), "{last}");
    let instruction = |name: &str| {
        let mut lines = last.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        lines.next_back().unwrap_or_else(|| panic!("no {name} in {last}")).to_owned()
    };
    let user = Regex::new(r"^[1-9][0-9]*:[1-9][0-9]*$").expect("a pattern");
    assert!(user.is_match(&instruction("USER")), "a number, which runAsNonRoot compares");
    assert_eq!(instruction("ENTRYPOINT"), "[\"/xdscope\"]", "no shell");
    assert!(instruction("ENV").contains("XDG_STATE_HOME=/var/lib "), "sessions are in the volume");
    assert_eq!(instruction("VOLUME"), "/var/lib/xdscope");
    let rust = dockerfile.lines().find_map(|line| line.strip_prefix("ARG RUST=")).expect("a version");
    assert!(rust.starts_with(env!("CARGO_PKG_RUST_VERSION")), "{rust} is the rust-version of Cargo.toml");
    for pod in pods() {
        let user = &pod.tap().expect("a tap").0["securityContext"]["runAsUser"];
        let user = if user.is_null() { &pod.template["spec"]["securityContext"]["runAsUser"] } else { user };
        assert_eq!(instruction("USER"), format!("{user}:{user}"), "{}", pod.place);
    }
}

/// Every example says what it is for and how to try it.
#[test]
fn examples_say_what_they_are_for() {
    let mut checked = 0;
    for folder in ["container", "helm", "kubernetes", "prometheus", "release", "systemd", "config"] {
        for file in files(&root().join(folder)) {
            let is_note = file.ends_with("NOTES.txt") || file.ends_with("Dockerfile.dockerignore");
            let text = fs::read_to_string(&file).expect("an example");
            if file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
                && !text.contains("{{")
            {
                yaml(&text);
            }
            let head: Vec<&str> = text.lines().take(25).collect();
            assert!(is_note || head.join("\n").to_lowercase().contains("to try "), "{}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 25, "only {checked} files");
}
