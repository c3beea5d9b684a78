//! Control characters in the texts of peers are in no output of any verb, in no form.

use serde_json::json;

use super::planted::calls;
use super::{Exit, run};
use xdscope_schema::Schema;
use xdscope_schema::base64;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::text::must_escape;

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// Sets the title of a terminal, colours, reorders and overwrites text.
const HOSTILE: &str = "a\u{1b}]0;PWN\u{7}b\u{9b}31mc\u{202e}d\re\u{2028}f";

/// Returns a session in raw JSONL in which every text is hostile.
fn session() -> String {
    let schema = Schema::builtin();
    let message = |name: &str, value: serde_json::Value| {
        let bytes = schema.encode(&format!("envoy.service.discovery.v3.{name}"), &value).expect(name);
        let dir = if name == "DiscoveryRequest" { "c2s" } else { "s2c" };
        json!({"dir": dir, "t": 1.0, "stream": 1, "method": ADS, "raw": base64::encode(&bytes)})
    };
    let open = json!({"dir": "open", "t": 0.0, "stream": 1, "method": ADS, "peer": HOSTILE, "server": HOSTILE,
        "metadata": {"x-text": HOSTILE, ":authority": HOSTILE}});
    let node = json!({"id": HOSTILE, "cluster": HOSTILE, "user_agent_name": HOSTILE,
        "user_agent_version": HOSTILE, "locality": {"zone": HOSTILE}, "metadata": {HOSTILE: HOSTILE}});
    let owner = json!({"kind": HOSTILE, "namespace": HOSTILE, "name": HOSTILE});
    let marks = json!({"filter_metadata": {"envoy-gateway": {"resources": [owner]}}});
    let cluster = json!({"@type": CLUSTER, "name": HOSTILE, "alt_stat_name": HOSTILE, "metadata": marks});
    let other = format!("type.googleapis.com/x/{HOSTILE}");
    let mut widget = Vec::new();
    put_len_field(&mut widget, 1, other.as_bytes());
    put_len_field(&mut widget, 2, HOSTILE.as_bytes());
    let mut response = Vec::new();
    put_len_field(&mut response, 1, HOSTILE.as_bytes());
    put_len_field(&mut response, 2, &widget);
    put_len_field(&mut response, 4, other.as_bytes());
    put_len_field(&mut response, 5, HOSTILE.as_bytes());
    let lines = [
        open,
        message("DiscoveryRequest", json!({"node": node, "type_url": CLUSTER})),
        message(
            "DiscoveryResponse",
            json!({"version_info": HOSTILE, "nonce": HOSTILE, "type_url": CLUSTER, "resources": [cluster],
                "control_plane": {"identifier": HOSTILE}}),
        ),
        message(
            "DiscoveryRequest",
            json!({"response_nonce": HOSTILE, "type_url": CLUSTER, "error_detail": {"message": HOSTILE}}),
        ),
        message("DiscoveryRequest", json!({"type_url": other, "resource_names": [HOSTILE]})),
        json!({"dir": "s2c", "t": 2.0, "stream": 1, "method": ADS, "raw": base64::encode(&response)}),
        json!({"dir": "status", "t": 3.0, "stream": 1, "code": 14, "message": HOSTILE}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn no_output_has_control_characters_of_peers() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("hostile.jsonl");
    std::fs::write(&source, session()).expect("a disk");
    let source = source.to_str().expect("text");
    assert!(run(&["log", source]).out.contains("\\x1b]0;PWN\\x07"), "the texts are in the session");
    let outputs = folder.path().join("outputs");
    std::fs::create_dir(&outputs).expect("a disk");
    for call in calls(source, &outputs) {
        let args: Vec<&str> =
            call.iter().map(String::as_str).filter(|arg| *arg != "--node" && *arg != "n").collect();
        let output = run(&args);
        assert!(output.exit != Exit::Defect, "{args:?} {}", output.err);
        let found = output.all().chars().find(|c| must_escape(*c) && *c != '\n');
        assert_eq!(found, None, "{args:?}: {:?}", output.all());
    }
    for form in ["raw", "jsonl", "script", "dot", "mermaid", "md"] {
        let text = std::fs::read_to_string(outputs.join(form)).unwrap_or_default();
        let found = text.chars().find(|c| must_escape(*c) && *c != '\n');
        assert_eq!(found, None, "{form}: {text:?}");
    }
}
