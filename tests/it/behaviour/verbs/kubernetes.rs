//! Pods as sources, through a kubectl that the tests script.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::support::certs::Ca;
use crate::support::kubectl::{AdminPages, Kubectl, list, pod, sidecar};
use crate::support::process::Child;
use crate::support::tap::{Tap, has_words};
use crate::support::wait::wait_for;

const NODE: &str = "sidecar~10.0.0.7~reviews-1.shop~shop.svc.cluster.local";

/// The words of the API server about a right that the user does not have.
const FORBIDDEN: &str = "is forbidden: User \"jane\" cannot";

fn scripted() -> (TempDir, Kubectl) {
    let folder = tempfile::tempdir().expect("a folder");
    let kubectl = Kubectl::new(folder.path());
    (folder, kubectl)
}

/// A kubectl that forwards to the Envoy of the pod reviews-1.
fn with_reviews() -> (TempDir, Kubectl, AdminPages) {
    let (folder, kubectl) = scripted();
    let envoy = AdminPages::envoy(NODE, "1");
    kubectl.object("get-pod-reviews-1", &sidecar("shop", "reviews-1"));
    kubectl.forward("reviews-1", envoy.address);
    (folder, kubectl, envoy)
}

#[test]
fn pod_is_read_like_the_port_that_kubectl_forwards() {
    let (_folder, kubectl, envoy) = with_reviews();
    let typed = format!("envoy:{}", envoy.address);
    for args in [&["get"][..], &["get", "cds", "-o", "yaml"], &["status", "-o", "wide"]] {
        let of = |source: &str| {
            let (code, out) = kubectl.run(&[&[args[0], source, "-q"], &args[1..]].concat());
            (code, out.replace(source, "SOURCE"))
        };
        assert_eq!(of("k8s:shop/reviews-1"), of(&typed), "{args:?}");
    }
    kubectl.assert_all_ended();
    let (code, out) = kubectl.run(&["wait", "k8s:shop/reviews-1", "synced"]);
    assert_eq!(code, Some(0), "{out}");
    let flags = ["--context", "kind-a", "--as-user", "jane@x"];
    let (code, out) = kubectl.run(&[&["status", "k8s:shop/reviews-1:15000"][..], &flags].concat());
    assert_eq!(code, Some(0), "{out}");
    let last = kubectl.calls().lines().last().expect("a call").to_owned();
    let wanted =
        "port-forward --address=127.0.0.1 pod/reviews-1 :15000 --context=kind-a --as=jane@x --namespace=shop";
    assert_eq!(last, wanted);
    let recording = env!("CARGO_MANIFEST_DIR").to_owned() + "/tests/fixtures/cli/absent_cluster_dump.json";
    let (_, out) = kubectl.run(&["status", &recording, "--applied", "k8s:shop/reviews-1", "--context", "a"]);
    assert!(out.contains(NODE), "{out}");
    let (code, out) = kubectl.run(&["diff", "k8s:shop/reviews-1", &typed]);
    assert_eq!(code, Some(0), "{out}");
    kubectl.assert_all_ended();
}

#[test]
fn many_pods_are_one_matrix() {
    let (_folder, kubectl) = scripted();
    let node = |name: &str| format!("sidecar~10.0.0.7~{name}.shop~shop.svc.cluster.local");
    let names: Vec<String> = (0..40).map(|number| format!("reviews-{number:02}")).collect();
    let envoys: Vec<AdminPages> = names.iter().map(|name| AdminPages::envoy(&node(name), "1")).collect();
    let mut pods: Vec<_> = names.iter().map(|name| sidecar("shop", name)).collect();
    pods.push(pod("shop", "plain", &json!({}), &json!([{ "name": "app", "image": "app:1" }])));
    let mut pending = sidecar("shop", "reviews-late");
    pending["status"]["phase"] = json!("Pending");
    pods.push(pending);
    for (name, envoy) in names.iter().zip(&envoys) {
        kubectl.forward(name, envoy.address);
    }
    kubectl.object("get-pods", &list(&pods));
    kubectl.object(
        "get-deployment-reviews",
        &json!({ "spec": { "selector": { "matchLabels": { "app": "reviews" } } } }),
    );
    let (code, out) = kubectl.run(&["status", "k8s:", "-A", "--as", "istio"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(names.iter().all(|name| out.contains(&node(name))), "{out}");
    assert!(kubectl.calls().contains("get pods --all-namespaces --output=json"), "{}", kubectl.calls());
    kubectl.assert_all_ended();

    kubectl.object("get-pods", &list(&pods[..2]));
    let (code, out) = kubectl.run(&["status", "k8s:shop/deploy/reviews"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains(&node("reviews-00")) && out.contains(&node("reviews-01")), "{out}");
    assert!(kubectl.calls().contains("get pods --selector=app=reviews --output=json --namespace=shop"));
    let (code, out) = kubectl.run(&["status", "k8s:shop", "-l", "app in (reviews, web)"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(kubectl.calls().contains("get pods --selector=app in (reviews, web) --output=json"));

    let refused = format!(
        "echo 'error: error upgrading connection: pods \"reviews-01\" {FORBIDDEN} create resource \"pods/portforward\" in API group \"\" in the namespace \"shop\"' >&2; exit 1\n"
    );
    kubectl.answer("forward-reviews-01", &refused);
    let (code, out) = kubectl.run(&["status", "k8s:shop", "-l", "app=reviews"]);
    assert_eq!(code, Some(4), "an answer is missing: {out}");
    assert!(out.contains(&node("reviews-00")) && !out.contains(&node("reviews-01")), "{out}");
    let words = "pod shop/reviews-01 is not in the table: cannot reach k8s:shop/reviews-01:15000: kubectl port-forward: error";
    assert!(out.contains(words), "{out}");
    assert!(out.contains("lacks the right to create pods/portforward in the namespace shop"), "{out}");
    kubectl.assert_all_ended();
}

#[test]
fn errors_are_those_of_kubectl() {
    let (folder, kubectl, envoy) = with_reviews();
    let fails = |args: &[&str], code: i32, words: &[&str]| {
        let (found, out) = kubectl.run(args);
        assert_eq!(found, Some(code), "{args:?}: {out}");
        for words in words {
            assert!(has_words(&out, words), "{args:?}: {words}: {out}");
        }
    };
    let gone = "echo 'Error from server (NotFound): pods \"gone\" not found' >&2; exit 1\n";
    kubectl.answer("get-pod-gone", gone);
    fails(
        &["status", "k8s:shop/gone"],
        3,
        &[
            "kubectl get pod gone: Error from server (NotFound): pods \"gone\" not found",
            "kubectl get pods -n shop",
        ],
    );
    let closed = format!(
        "echo 'Error from server (Forbidden): pods {FORBIDDEN} list resource \"pods\" in API group \"\" at the cluster scope' >&2; exit 1\n"
    );
    kubectl.answer("get-pods", &closed);
    fails(
        &["status", "k8s:", "-A"],
        3,
        &["lacks the right to list pods in all namespaces", "kubectl auth can-i list pods -A"],
    );
    kubectl.answer(
        "get-pod-reviews-1",
        "echo 'Error in configuration: context was not found for specified context: nope' >&2; exit 1\n",
    );
    fails(
        &["get", "k8s:shop/reviews-1", "cds", "--context", "nope"],
        3,
        &["context was not found for specified context: nope"],
    );

    kubectl.object("get-pod-plain", &pod("shop", "plain", &json!({}), &json!([
        { "name": "app", "ports": [{ "containerPort": 8080, "name": "http" }, { "containerPort": 9090 }] },
    ])));
    fails(
        &["status", "k8s:shop/plain"],
        2,
        &["its containers name 8080 (http), 9090", "k8s:shop/plain:8080 --as grpc"],
    );
    kubectl.object("get-pods", &list(&[]));
    fails(
        &["status", "k8s:shop", "-l", "app=x"],
        3,
        &["there are no such pods", "kubectl get pods -n shop -l app=x"],
    );
    kubectl.object("get-pod-reviews-1", &sidecar("shop", "reviews-1"));
    let refused = "echo \"Forwarding from 127.0.0.1:1 -> $port\"\necho 'E1130 19:12:11.123456   12345 portforward.go:424] \"Unhandled Error\" err=\"an error occurred forwarding 1 -> 15000: connection refused\"' >&2\nexec sleep 600\n";
    kubectl.answer("forward-reviews-1", refused);
    fails(&["status", "k8s:shop/reviews-1"], 3, &["kubectl port-forward -n shop pod/reviews-1 15000"]);
    for (args, words) in [
        (&["status", "k8s:shop/x;id"][..], "not the name of an object"),
        (&["status", "k8s:shop/--all"], "not the name of an object"),
        (&["status", "k8s:shop", "-l", "app=$(id)"], "not a selector of labels"),
        (&["status", "k8s:shop", "-A"], "-A has no effect"),
        (&["status", "k8s:shop/reviews-1", "-l", "a=b"], "-l has no effect"),
        (&["status", "tests/x.xds", "--context", "a"], "--context has no effect"),
        (&["watch", "k8s:shop/reviews-1", "cds"], "WHAT has no effect"),
    ] {
        fails(args, 2, &[words]);
    }
    let empty = folder.path().join("empty");
    std::fs::create_dir_all(&empty).expect("a folder");
    let mut command = kubectl.xdscope();
    let output = command.env("PATH", &empty).args(["status", "k8s:shop/reviews-1"]).output().expect("a run");
    let out = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{out}");
    assert!(out.contains("kubectl get pod reviews-1: there is no program of this name in PATH"), "{out}");
    kubectl.assert_all_ended();
    drop(envoy);
}

#[test]
fn hostile_output_is_bounded_and_escaped() {
    let (_folder, kubectl, _envoy) = with_reviews();
    for words in [
        "yes '\u{1b}[2J error' >&2\n",
        "yes | tr -d '\\n'\n",
        "printf 'Forwarding from 127.0.0.1:99999 -> 1\\n'; exec sleep 600\n",
        "printf 'Forwarding from 10.0.0.1:80 -> 1\\n'; exec sleep 600\n",
        "printf '\\033]0;x\\007'; exit 0\n",
    ] {
        kubectl.answer("forward-reviews-1", words);
        let (code, out) = kubectl.run(&["status", "k8s:shop/reviews-1"]);
        assert_eq!(code, Some(3), "{words}: {out}");
        assert!(out.len() < 4000 && !out.contains(['\u{1b}', '\u{7}']), "{words}: {out}");
    }
    kubectl.answer("get-pod-reviews-1", "printf '{\"metadata\": {\"name\": \"\\033[2J\"}}'\n");
    let (code, out) = kubectl.run(&["status", "k8s:shop/reviews-1"]);
    assert!(code == Some(3) && !out.contains('\u{1b}'), "{out}");
    kubectl.assert_all_ended();
}

#[test]
fn forward_that_dies_comes_back_on_another_port() {
    let (folder, kubectl, envoy) = with_reviews();
    let log = folder.path().join("follow.log");
    let mut follower =
        Child::start(kubectl.xdscope().args(["log", "k8s:shop/reviews-1", "-f", "-o", "jsonl"]), &log);
    wait_for("the rows of the first dump", || follower.log().contains("\"cds\"").then_some(()));
    let second = AdminPages::envoy(NODE, "2");
    kubectl.forward("reviews-1", second.address);
    let first = kubectl.forwards()[0];
    assert!(Command::new("kill").arg(first.to_string()).status().is_ok_and(|status| status.success()));
    drop(envoy);
    wait_for("rows through the second forward", || {
        follower.assert_running();
        follower.log().contains("\"version\":\"2\"").then_some(())
    });
    assert!(kubectl.forwards().len() >= 2);
    follower.end_by("-TERM");
    kubectl.assert_all_ended();
}

#[test]
fn forward_that_hangs_is_started_again() {
    let (folder, kubectl, envoy) = with_reviews();
    let log = folder.path().join("follow.log");
    let mut follower =
        Child::start(kubectl.xdscope().args(["log", "k8s:shop/reviews-1", "-f", "-o", "jsonl"]), &log);
    wait_for("the rows of the first dump", || follower.log().contains("\"cds\"").then_some(()));
    let second = AdminPages::envoy(NODE, "2");
    kubectl.forward("reviews-1", second.address);
    envoy.is_silent.store(true, Ordering::Relaxed);
    wait_for("rows through the second forward", || {
        follower.assert_running();
        follower.log().contains("\"version\":\"2\"").then_some(())
    });
    follower.end_by("-INT");
    kubectl.assert_all_ended();
}

#[test]
fn kubectl_that_hangs_ends_in_time() {
    let (_folder, kubectl, _envoy) = with_reviews();
    kubectl.answer("forward-reviews-1", "echo 'waiting for a login' >&2\nexec sleep 600\n");
    let begun = Instant::now();
    let (code, out) = kubectl.run(&["status", "k8s:shop/reviews-1"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("waiting for a login"), "{out}");
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    kubectl.assert_all_ended();
}

#[test]
fn mesh_is_one_table() {
    let (_folder, kubectl) = scripted();
    let proxy = |name: &str, acked: &str, error: &str| {
        json!({ "cluster_id": "Kubernetes", "proxy": name, "proxy_type": "sidecar", "istio_version": "1.29.0", "resources": {
            "type.googleapis.com/envoy.config.cluster.v3.Cluster":
                { "sent": "n2", "acked": acked, "sentTime": "2026-11-30T15:53:24Z", "lastError": error },
        } })
    };
    let answers = [
        json!([proxy("reviews-1.shop", "n2", "")]).to_string(),
        json!([proxy("ledger-1.shop", "n1", "Error adding/updating cluster(s) outbound|80||x: duplicate")])
            .to_string(),
    ];
    let [one, two] =
        answers.map(|answer| AdminPages::start(move |path| (path == "/debug/syncz").then(|| answer.clone())));
    let labels = json!({ "app": "istiod", "istio.io/rev": "default" });
    let istiod = |name: &str| {
        pod(
            "istio-system",
            name,
            &labels,
            &json!([{ "name": "discovery", "image": "docker.io/istio/pilot:1.29.0" }]),
        )
    };
    kubectl.object("get-pods", &list(&[istiod("istiod-1"), istiod("istiod-2")]));
    kubectl.forward("istiod-1", one.address);
    kubectl.forward("istiod-2", two.address);
    let (code, out) = kubectl.run(&["status", "istio:"]);
    assert_eq!(code, Some(1), "{out}");
    for words in ["reviews-1.shop", "ledger-1.shop", "duplicate"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(
        kubectl.calls().contains("get pods --selector=app=istiod --output=json --namespace=istio-system")
    );
    kubectl.answer("forward-istiod-2", "echo 'error: lost connection to pod' >&2; exit 1\n");
    let (code, out) = kubectl.run(&["status", "istio:"]);
    assert_eq!(code, Some(4), "a part of the mesh is unknown: {out}");
    assert!(out.contains("pod istio-system/istiod-2 is not in the table"), "{out}");
    kubectl.assert_all_ended();
}

#[test]
fn istiod_is_asked_with_the_identity_of_a_proxy() {
    let (folder, kubectl) = scripted();
    let ca = Ca::new(folder.path(), "root");
    let pair = ca.issue("istiod", &["istiod.istio-system.svc"]);
    let source = env!("CARGO_MANIFEST_DIR").to_owned() + "/examples/healthy/istio-sidecar.xdsrec";
    let path = |path: &std::path::Path| path.to_str().expect("a path").to_owned();
    let (cert, key) = (path(&pair.cert), path(&pair.key));
    let istiod = Tap::serve(folder.path(), source.as_ref(), &["--listen-cert", &cert, "--listen-key", &key]);
    let labels = json!({ "app": "istiod", "istio.io/rev": "default" });
    let object = pod("istio-system", "istiod-1", &labels, &json!([{ "name": "discovery" }]));
    kubectl.object("get-pods", &list(&[object]));
    kubectl.object("get-pod-reviews-1", &sidecar("shop", "reviews-1"));
    let root = std::fs::read_to_string(&ca.file).expect("a certificate");
    kubectl.object("get-configmap-istio-ca-root-cert", &json!({ "data": { "root-cert.pem": root } }));
    kubectl.answer("create-token", "echo abc.DEF-secret.ghi\n");
    kubectl.forward("istiod-1", istiod.address());
    let (code, out) = kubectl.run(&["get", "istio:", "cds", "--istio=shop/reviews-1"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("outbound|"), "{out}");
    let calls = kubectl.calls();
    assert!(
        calls.contains("create token reviews-1 --audience=istio-ca --duration=1h --namespace=shop"),
        "{calls}"
    );
    assert!(
        calls.contains("port-forward --address=127.0.0.1 pod/istiod-1 :15012 --namespace=istio-system"),
        "{calls}"
    );
    assert!(!calls.contains("DEF-secret") && !out.contains("DEF-secret"));
    let recorded = folder.path().join("serve.xdsrec");
    wait_for("the recorded stream", || {
        let (_, rows) = kubectl.run(&["log", &path(&recorded), "-o", "jsonl"]);
        assert!(!rows.contains("DEF-secret"), "{rows}");
        rows.contains(NODE).then_some(())
    });
    let (_, raw) = kubectl.run(&["export", &path(&recorded), "--to", "raw"]);
    assert!(!raw.contains("DEF-secret"), "{raw}");
    assert!(raw.contains("authorization"), "the token was sent: {raw}");

    let other = Ca::new(folder.path(), "other");
    let root = std::fs::read_to_string(&other.file).expect("a certificate");
    kubectl.object("get-configmap-istio-ca-root-cert", &json!({ "data": { "root-cert.pem": root } }));
    let (code, out) = kubectl.run(&["get", "istio:", "cds", "--istio"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("TLS failed"), "{out}");
    kubectl.answer(
        "create-token",
        &format!("echo 'error: failed to create token: serviceaccounts \"default\" {FORBIDDEN} create resource \"serviceaccounts/token\" in API group \"\" in the namespace \"istio-system\"' >&2; exit 1\n"),
    );
    let (code, out) = kubectl.run(&["get", "istio:", "cds", "--istio"]);
    assert_eq!(code, Some(3), "{out}");
    let words = "lacks the right to create serviceaccounts/token in the namespace istio-system";
    assert!(out.contains(words), "{out}");
    kubectl.assert_all_ended();
}
