//! Pods, workloads and config maps, as `kubectl get -o json` prints them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Longest name of an object.
const MAX_NAME_BYTES: usize = 253;

/// The key of the ConfigMap that Istio writes to each namespace.
const ROOT_KEY: &str = "root-cert.pem";

/// Whether a text is the name of an object or namespace, which no program reads as a flag.
pub fn is_object_name(text: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= MAX_NAME_BYTES
        && text.bytes().all(is_part)
        && is_end(text.bytes().next())
        && is_end(text.bytes().last())
}

/// Whether a text can be a selector of labels.
pub fn is_selector(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./=!,() ".contains(c);
    !text.is_empty() && text.chars().all(is_part)
}

/// A pod, as far as its ports and its identity are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Pod IP; empty before it has one.
    pub ip: String,
    pub service_account: String,
    /// `Running`, `Pending`, or `Terminating` for a pod that is being deleted.
    pub phase: String,
    /// The containers, those of the start that go on running included.
    pub containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Container {
    pub name: String,
    pub image: String,
    pub args: Vec<String>,
    pub ports: Vec<ContainerPort>,
    #[serde(rename = "restartPolicy")]
    restart_policy: Option<String>,
}

/// A port that a container names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContainerPort {
    pub name: String,
    #[serde(rename = "containerPort")]
    pub port: u16,
}

/// The reason why an answer of kubectl has no such objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    #[error("the answer of kubectl is not an object in JSON: {0}")]
    Syntax(String),
    #[error("the selector of this object selects no pods")]
    NoSelector,
    #[error("the ConfigMap has no {ROOT_KEY}")]
    NoRoot,
}

/// A list of pods, or one pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PodAnswer {
    items: Option<Vec<PodObject>>,
    metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodObject {
    metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
    labels: BTreeMap<String, String>,
    #[serde(rename = "deletionTimestamp")]
    deleted: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    containers: Vec<Container>,
    #[serde(rename = "initContainers")]
    init_containers: Vec<Container>,
    #[serde(rename = "serviceAccountName")]
    service_account: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
    #[serde(rename = "podIP")]
    ip: String,
}

impl Pod {
    /// Reads the answer to `get pods` or `get pod NAME`. Pods without a valid name are left out.
    ///
    /// # Errors
    /// The answer is not JSON, or not of pods.
    pub fn read(answer: &[u8]) -> Result<Vec<Pod>, ObjectError> {
        let answer: PodAnswer = serde_json::from_slice(answer).map_err(syntax)?;
        let PodAnswer { items, metadata, spec, status } = answer;
        let objects = items.unwrap_or_else(|| vec![PodObject { metadata, spec, status }]);
        let pods = objects.into_iter().map(Pod::from);
        Ok(pods.filter(|pod| is_object_name(&pod.name) && is_object_name(&pod.namespace)).collect())
    }

    /// Whether the pod runs, and is not being deleted.
    pub fn is_running(&self) -> bool {
        self.phase == "Running"
    }

    /// Returns a container by its name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// Returns the value of a label; an empty text without it.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// Returns the ports that containers name.
    pub fn ports(&self) -> impl Iterator<Item = &ContainerPort> {
        self.containers.iter().flat_map(|container| &container.ports)
    }
}

impl From<PodObject> for Pod {
    fn from(object: PodObject) -> Pod {
        let PodObject { metadata, spec, status } = object;
        let goes_on = |container: &Container| container.restart_policy.as_deref() == Some("Always");
        let mut containers = spec.containers;
        containers.extend(spec.init_containers.into_iter().filter(goes_on));
        Pod {
            namespace: metadata.namespace,
            name: metadata.name,
            labels: metadata.labels,
            ip: status.ip,
            service_account: spec.service_account,
            phase: if metadata.deleted.is_some() { "Terminating".to_owned() } else { status.phase },
            containers,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Owner {
    spec: OwnerSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnerSpec {
    selector: serde_json::Map<String, serde_json::Value>,
}

/// Returns the selector of the pods of a deployment, daemon set, stateful set or service.
///
/// # Errors
/// The answer is not JSON, or has no selector that kubectl could take.
pub fn selector_of(answer: &[u8]) -> Result<String, ObjectError> {
    let owner: Owner = serde_json::from_slice(answer).map_err(syntax)?;
    let selector = owner.spec.selector;
    let mut terms = Vec::new();
    // A service has the labels themselves.
    let is_labels = !selector.contains_key("matchLabels") && !selector.contains_key("matchExpressions");
    let labels =
        if is_labels { Some(&selector) } else { selector.get("matchLabels").and_then(|of| of.as_object()) };
    for (key, value) in labels.into_iter().flatten() {
        terms.push(format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    let expressions = selector.get("matchExpressions").and_then(|of| of.as_array());
    for expression in expressions.into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values = values.filter_map(|value| value.as_str()).collect::<Vec<_>>().join(",");
        terms.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return Err(ObjectError::NoSelector),
        });
    }
    let text = terms.join(",");
    if is_selector(&text) { Ok(text) } else { Err(ObjectError::NoSelector) }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigMap {
    data: BTreeMap<String, String>,
}

/// Returns the root certificate of the mesh, in PEM, of the ConfigMap `istio-ca-root-cert`.
///
/// # Errors
/// The answer is not JSON, or has no certificate.
pub fn root_certificate(answer: &[u8]) -> Result<String, ObjectError> {
    let map: ConfigMap = serde_json::from_slice(answer).map_err(syntax)?;
    map.data.into_iter().find(|(key, _)| key == ROOT_KEY).map(|(_, pem)| pem).ok_or(ObjectError::NoRoot)
}

/// The error of the parser, without values of the answer.
fn syntax(error: serde_json::Error) -> ObjectError {
    ObjectError::Syntax(xdscope_schema::without_values(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_never_flags() {
        for name in ["reviews-1", "kube-system", "a", "0.b"] {
            assert!(is_object_name(name), "{name}");
        }
        for name in ["", "-x", "--all", "a b", "a;b", "$(x)", "A", "a/b", "a-", &"a".repeat(254)] {
            assert!(!is_object_name(name), "{name}");
        }
        assert!(is_selector("app=reviews,version in (v1, v2),!canary"));
        assert!(!is_selector("app=`id`") && !is_selector(""));
    }

    #[test]
    fn pods_have_the_containers_that_go_on_running() {
        let pod = json!({
            "metadata": { "name": "reviews-1", "namespace": "shop", "labels": { "app": "reviews" } },
            "spec": {
                "serviceAccountName": "reviews",
                "containers": [{ "name": "app", "image": "app:1", "ports": [{ "containerPort": 8080 }] }],
                "initContainers": [
                    { "name": "istio-init", "image": "proxyv2" },
                    { "name": "istio-proxy", "image": "proxyv2", "restartPolicy": "Always" },
                ],
            },
            "status": { "phase": "Running", "podIP": "10.0.0.7" },
        });
        let mut gone = pod.clone();
        gone["metadata"]["deletionTimestamp"] = json!("2026-11-30T15:53:24Z");
        let mut hostile = pod.clone();
        hostile["metadata"]["name"] = json!("--kubeconfig=x");
        let list = json!({ "kind": "List", "items": [pod, gone, hostile] });
        let pods = Pod::read(list.to_string().as_bytes()).expect("pods");
        assert_eq!(pods.len(), 2);
        assert!(pods[0].is_running() && !pods[1].is_running());
        let names: Vec<&str> = pods[0].containers.iter().map(|container| container.name.as_str()).collect();
        assert_eq!(names, ["app", "istio-proxy"]);
        assert_eq!(pods[0].label("app"), "reviews");
        assert!(Pod::read(b"<html>").is_err());
    }

    #[test]
    fn selectors_of_workloads_and_services() {
        let of = |selector: serde_json::Value| {
            selector_of(json!({ "spec": { "selector": selector } }).to_string().as_bytes())
        };
        let expressions = json!([
            { "key": "tier", "operator": "In", "values": ["a", "b"] },
            { "key": "old", "operator": "DoesNotExist" },
        ]);
        assert_eq!(
            of(json!({ "matchLabels": { "app": "reviews" }, "matchExpressions": expressions })).as_deref(),
            Ok("app=reviews,tier in (a,b),!old")
        );
        assert_eq!(of(json!({ "app": "reviews" })).as_deref(), Ok("app=reviews"));
        assert_eq!(of(json!({})), Err(ObjectError::NoSelector));
        assert_eq!(of(json!({ "app": "$(id)" })), Err(ObjectError::NoSelector));
    }
}
