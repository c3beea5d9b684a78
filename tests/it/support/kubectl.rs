//! A `kubectl` that answers as a test says, in the words of the real one, and admin ports that it
//! forwards to.
//!
//! The words are those of kubectl 1.28 and 1.33 in front of an API server that refuses and forwards
//! (`kubectl get`, `create token` and `port-forward`, tried by hand); they stand in
//! `staging/src/k8s.io/kubectl/pkg/cmd` of kubernetes/kubernetes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::tap::xdscope;
use super::wait::{pass, wait_for};

/// The program: each answer is a file with words for the shell.
const SCRIPT: &str = r#"#!/bin/sh
dir=$(dirname "$0")
echo "$*" >> "$dir/calls"
case $1 in
port-forward)
  answer=forward-${3#pod/}
  port=${4#:}
  echo $$ >> "$dir/forwards" ;;
get)
  answer=get-$2
  case $3 in --*) ;; *) answer=$answer-$3 ;; esac ;;
*) answer=$1-$2 ;;
esac
if [ ! -e "$dir/$answer" ]; then
  echo "Error from server (NotFound): $answer not found" >&2
  exit 1
fi
. "$dir/$answer"
"#;

/// A folder with the program, and what it answers.
pub struct Kubectl {
    folder: PathBuf,
}

impl Kubectl {
    /// Writes the program to a folder below `folder`.
    pub fn new(folder: &Path) -> Kubectl {
        let folder = folder.join("kubectl-path");
        fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join("kubectl");
        fs::write(&program, SCRIPT).expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        Kubectl { folder }
    }

    /// Sets the words for the shell that answer a call: `get-pods`, `forward-POD`, `create-token`.
    pub fn answer(&self, call: &str, words: &str) {
        let new = self.folder.join("new");
        fs::write(&new, words).expect("an answer");
        fs::rename(new, self.folder.join(call)).expect("an answer");
    }

    /// Sets an object that answers a call.
    pub fn object(&self, call: &str, object: &Value) {
        let file = self.folder.join(format!("{call}.json"));
        fs::write(&file, object.to_string()).expect("an object");
        self.answer(call, &format!("cat '{}'\n", file.display()));
    }

    /// Forwards to a pod: to a server on loopback.
    pub fn forward(&self, pod: &str, to: SocketAddr) {
        let words = format!("echo \"Forwarding from {to} -> $port\"\nexec sleep 600\n");
        self.answer(&format!("forward-{pod}"), &words);
    }

    /// Returns xdscope with this program in its path.
    pub fn xdscope(&self) -> Command {
        let mut command = xdscope(self.folder.parent().expect("a folder"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command
    }

    /// Runs a verb, and returns the exit code and all output.
    pub fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.xdscope().args(args).output().expect("xdscope runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    /// Returns the arguments of all calls so far.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.folder.join("calls")).unwrap_or_default()
    }

    /// Returns the process ids of all forwards so far.
    pub fn forwards(&self) -> Vec<u32> {
        let ids = fs::read_to_string(self.folder.join("forwards")).unwrap_or_default();
        ids.lines().map(|line| line.parse().expect("a process id")).collect()
    }

    /// Waits until no forward runs.
    pub fn assert_all_ended(&self) {
        wait_for("the end of all forwards", || self.forwards().into_iter().all(is_gone).then_some(()));
    }
}

/// Whether a process has ended, or waits to be reaped.
fn is_gone(id: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{id}/stat"));
    state.map_or(true, |state| state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

/// Returns a pod that runs, with these containers.
pub fn pod(namespace: &str, name: &str, labels: &Value, containers: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace, "labels": labels },
        "spec": { "serviceAccountName": name, "containers": containers },
        "status": { "phase": "Running", "podIP": "10.0.0.7" },
    })
}

/// Returns a pod with a sidecar of Istio.
pub fn sidecar(namespace: &str, name: &str) -> Value {
    let containers = json!([
        { "name": "app", "image": "app:1", "ports": [{ "containerPort": 8080, "name": "http" }] },
        { "name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.29.0", "args": ["proxy", "sidecar"] },
    ]);
    pod(namespace, name, &json!({ "app": "reviews" }), &containers)
}

/// Returns a list as `kubectl get -o json` prints it.
pub fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items, "metadata": { "resourceVersion": "" } })
}

type Pages = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// An admin port, whose pages a test writes. It stops with this value.
pub struct AdminPages {
    pub address: SocketAddr,
    is_over: Arc<AtomicBool>,
    /// Whether requests get no answer.
    pub is_silent: Arc<AtomicBool>,
}

impl AdminPages {
    /// Serves the pages of a path.
    pub fn start(pages: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> AdminPages {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let (is_over, is_silent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let pages: Pages = Arc::new(pages);
        let (over, silent) = (is_over.clone(), is_silent.clone());
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let Ok((stream, _)) = listener.accept() else {
                    pass(Duration::from_millis(5));
                    continue;
                };
                let (pages, over, silent) = (pages.clone(), over.clone(), silent.clone());
                thread::spawn(move || serve(stream, &pages, &over, &silent));
            }
        });
        AdminPages { address, is_over, is_silent }
    }

    /// Serves the pages of an Envoy of this node, with a cluster in this version.
    pub fn envoy(node: &str, version: &'static str) -> AdminPages {
        let node = node.to_owned();
        AdminPages::start(move |path| envoy_page(&node, version, path))
    }
}

impl Drop for AdminPages {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Answers the requests of a connection.
fn serve(mut stream: TcpStream, pages: &Pages, is_over: &AtomicBool, is_silent: &AtomicBool) {
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let (mut path, mut line) = (String::new(), String::new());
    while !is_over.load(Ordering::Relaxed) {
        match reader.read_line(&mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => continue,
        }
        if let Some(asked) = line.strip_prefix("GET ") {
            path = asked.split(' ').next().unwrap_or_default().to_owned();
        }
        if line == "\r\n" {
            while is_silent.load(Ordering::Relaxed) && !is_over.load(Ordering::Relaxed) {
                pass(Duration::from_millis(50));
            }
            let (status, body) = pages(&path).map_or((404, "not found".to_owned()), |body| (200, body));
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
        line.clear();
    }
}

fn envoy_page(node: &str, version: &str, path: &str) -> Option<String> {
    let of_type = |name: &str| format!("type.googleapis.com/envoy.admin.v3.{name}ConfigDump");
    let cluster = json!({ "version_info": version, "cluster": {
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "name": "outbound|80||reviews.shop.svc.cluster.local",
        "connect_timeout": format!("{version}s"),
    } });
    let answer = match path {
        "/server_info" => json!({
            "version": "abc/1.40.0/Clean/RELEASE/BoringSSL", "state": "LIVE", "uptime_current_epoch": "9s",
        }),
        "/config_dump?include_eds" => json!({ "configs": [
            { "@type": of_type("Bootstrap"), "bootstrap": { "node": { "id": node } } },
            { "@type": of_type("Clusters"), "version_info": version, "dynamic_active_clusters": [cluster] },
        ] }),
        _ if path.contains("dynamic_active_clusters") => json!({ "configs": [version] }),
        _ => return None,
    };
    Some(answer.to_string())
}
