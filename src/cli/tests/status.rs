//! Tests of `status`.

use super::{CallOutput, Exit, GATEWAY, TOUR, objects, run, show};

#[test]
fn prints_matrix_with_worst_rows_first() {
    insta::assert_snapshot!(show(&["status", TOUR]));
    insta::assert_snapshot!("status-wide", show(&["status", TOUR, "-o", "wide"]));
    assert!(run(&["status", TOUR, "-o", "wide", "--ascii"]).out.is_ascii());
    insta::assert_snapshot!("status-ascii", show(&["status", TOUR, "--ascii", "-q", "--no-headers"]));
}

#[test]
fn exit_code_depends_on_selected_rows_only() {
    assert_eq!(run(&["status", TOUR, "--filter", "type:lds"]).exit, Exit::Yes);
    assert_eq!(run(&["status", TOUR, "--stream", "batch-9"]).exit, Exit::No, "the stream is lost");
    assert_eq!(run(&["status", TOUR, "--stream", "#2"]).exit, Exit::No);
    assert_eq!(run(&["status", TOUR, "--stream", "#2", "--stale-after", "1m"]).exit, Exit::Yes);
    let nothing = run(&["status", TOUR, "--filter", "node:nobody"]);
    assert_eq!((nothing.out.as_str(), nothing.exit), ("", Exit::Yes));
}

#[test]
fn prints_states_as_jsonl_and_adds_streams_to_json() {
    let states = objects(&["status", TOUR, "-o", "jsonl"]);
    let (problems, states): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|object| object["object"] == "problem");
    let words: Vec<_> = problems.iter().map(|problem| problem["problem"].as_str().unwrap()).collect();
    assert_eq!(words, ["nack", "failing", "stale", "miss"]);
    assert_eq!((&problems[0]["count"], &problems[0]["rules"]), (&2.into(), &serde_json::json!(["nack"])));
    assert!(states.iter().all(|state| state["object"] == "state"));
    assert_eq!(states.len(), 5);
    let output = run(&["status", TOUR, "-o", "json"]);
    let all: Vec<serde_json::Value> = serde_json::from_str(&output.out).unwrap();
    assert_eq!(all[..4], problems[..]);
    assert_eq!(all[4..9], states[..]);
    let streams: Vec<_> = all[9..].iter().map(|stream| (&stream["object"], &stream["stream"])).collect();
    assert_eq!(streams.len(), 3);
    assert_eq!(output.exit, Exit::No);
}

/// docs/protocol.md#h-02 and docs/protocol.md#h-03.
#[test]
fn lists_warming_resources_and_the_side_that_owes() {
    let output = run(&["status", "tests/fixtures/rows/H-02.xds"]);
    assert!(
        output.out.ends_with("n1: cluster c2 waits for EDS c2 since 20s (asked in #4): the server owes it\n"),
        "{}",
        output.out
    );
    let output = run(&["status", "tests/fixtures/rows/H-03.xds"]);
    assert!(output.out.contains("listener l1 waits for RDS r since"), "{}", output.out);
    assert!(!output.out.contains("listener l2") && !output.out.contains("listener l3"), "{}", output.out);
    let output = run(&["status", "tests/fixtures/rows/H-02.xds", "-o", "json"]);
    let objects: Vec<serde_json::Value> = serde_json::from_str(&output.out).expect("an array");
    let is_state =
        |object: &&serde_json::Value, word: &str| object["object"] == "state" && object["type"] == word;
    let state = |word: &str| objects.iter().find(|object| is_state(object, word)).expect("a state").clone();
    assert_eq!(state("cds")["warming"][0]["name"], "c2");
    assert_eq!(state("cds")["warming"][0]["waits_for"][0]["asked"], 4);
    assert_eq!(state("eds").get("warming"), None);
}

/// docs/protocol.md#h-05.
#[test]
fn blames_server_while_updated_cluster_warms() {
    const SOURCE: &str = "tests/fixtures/scripts/S-35f.xds";
    let output = run(&["status", SOURCE, "-o", "wide"]);
    let line = output.out.lines().find(|line| line.starts_with("WARMING")).expect("a warming type");
    assert!(line.contains("CDS") && line.contains("the server owes it"), "{line}");
    assert!(!output.out.contains("client owes") && !output.out.contains("STALE"), "{}", output.out);
    assert_eq!(output.exit, Exit::No, "the time limit is over");
    let states = objects(&["status", SOURCE, "-o", "jsonl"]);
    let is_cds = |state: &&serde_json::Value| state["object"] == "state" && state["type"] == "cds";
    let cds = states.iter().find(is_cds).expect("clusters");
    assert_eq!((&cds["state"], &cds["warming"][0]["name"]), (&"warming".into(), &"c".into()));
    assert_eq!(cds["warming"][0]["waits_for"][0]["again"], true);
    assert_eq!(cds["warming"][0]["withheld"], 7);
    let tree = run(&["get", SOURCE, "-o", "tree"]);
    let line = tree.out.lines().find(|line| line.contains(" c  ")).expect("a cluster");
    assert!(line.contains("warming"), "{line}");
}

#[test]
fn counts_differences_to_the_applied_configuration_as_problems() {
    let dump = "tests/fixtures/cli/config_dump.json";
    let script = "node edge-gw-1\nstream 1 ads\n+0s > cds\n+10ms < cds v=41 n=c1 [cart search]\n\
                  +12ms > cds v=41 n=c1\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("applied.xds");
    std::fs::write(&file, script).unwrap();
    let flags = ["status", file.to_str().unwrap(), "--applied", dump];
    let clean = run(&flags[..2]);
    assert_eq!((clean.exit, clean.out.lines().next()), (Exit::Yes, Some("no problems")), "{}", clean.out);
    let text = run(&flags);
    let problem = "client accepted CDS search, but its dump differs: 1 missing";
    assert_eq!((text.exit, text.out.lines().next()), (Exit::No, Some("1 problem")), "{}", text.out);
    assert!(text.out.contains(problem) && text.out.contains("DIFFERS"), "{}", text.out);
    let object = run(&[&flags[..], &["-o", "jsonl"]].concat());
    let object: serde_json::Value = serde_json::from_str(object.out.lines().next().unwrap()).unwrap();
    assert_eq!((&object["problem"], &object["text"]), (&"not_applied".into(), &problem.into()));
}

/// Endpoints in a config dump have no versions.
#[test]
fn healthy_config_dump_is_no_problem() {
    let dump = "tests/fixtures/cli/healthy_dump.json";
    let status = run(&["status", dump]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::Yes, Some("no problems")), "{}", status.out);
    let findings = run(&["lint", dump]);
    assert!(!findings.out.contains("delta-version-empty"), "{}", findings.out);
}

/// A config dump with a route to a static cluster, and one to a cluster that the client lacks.
const ABSENT_CLUSTER_DUMP: &str = "tests/fixtures/cli/absent_cluster_dump.json";

#[test]
fn route_of_a_dump_to_an_absent_cluster_is_a_problem() {
    let status = run(&["status", ABSENT_CLUSTER_DUMP]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::No, Some("1 problem")), "{}", status.out);
    let line = status.out.lines().nth(1).unwrap();
    let text = "server: route shop points to cluster gone, which the client does not have";
    assert!(line.starts_with("WARN  edge-1 RDS") && line.ends_with(text), "{line}");
    let tree = run(&["get", ABSENT_CLUSTER_DUMP, "-o", "tree"]).out;
    assert!(tree.contains("CDS xds  static") && tree.contains("CDS gone  dangling: not in CDS"), "{tree}");
}

/// A config dump with listeners in use without routes, and a static one to a missing cluster.
const ABSENT_ROUTES_DUMP: &str = "tests/fixtures/cli/absent_routes_dump.json";

#[test]
fn listeners_of_a_dump_without_routes_or_clusters_are_problems() {
    let status = run(&["status", ABSENT_ROUTES_DUMP]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::No, Some("2 problems")), "{}", status.out);
    let texts = [
        "server: listener public is in use without RDS shop; static listener edge is in use without RDS site: \
         its requests get 404",
        "client and server: static listener raw points to cluster ledger, which the client does not have",
    ];
    assert!(texts.iter().all(|text| status.out.contains(text)), "{}", status.out);
    assert!(!status.out.contains("RDS ops") && !status.out.contains("RDS later"), "{}", status.out);
    let tree = run(&["get", ABSENT_ROUTES_DUMP, "-o", "tree"]).out;
    assert!(tree.contains("RDS shop  dangling: not in RDS") && tree.contains("RDS ops  present"), "{tree}");
}

/// A dump may have no routes, those whose names match, or chosen fields.
#[test]
fn dump_that_may_lack_routes_says_nothing_of_listeners() {
    let text = std::fs::read_to_string(ABSENT_ROUTES_DUMP).unwrap();
    let dump: serde_json::Value = serde_json::from_str(&text).unwrap();
    let without = |name: &str| {
        let mut dump = dump.clone();
        let configs = dump["configs"].as_array_mut().unwrap();
        configs.retain(|config| !config["@type"].as_str().unwrap().ends_with(name));
        dump
    };
    let mut selected = dump.clone();
    for config in selected["configs"].as_array_mut().unwrap() {
        config.as_object_mut().unwrap().remove("static_clusters");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config_dump.json");
    for dump in [without("RoutesConfigDump"), without("ClustersConfigDump"), selected] {
        std::fs::write(&file, dump.to_string()).unwrap();
        let status = run(&["status", file.to_str().unwrap()]);
        assert!(!status.out.contains("without RDS"), "{dump}: {}", status.out);
    }
}

/// The clusters of routes are static, warm, are fetched on demand, or are chosen by requests.
#[test]
fn healthy_routes_of_a_dump_are_no_problem() {
    let dump = "tests/fixtures/cli/healthy_routes_dump.json";
    let status = run(&["status", dump]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::Yes, Some("no problems")), "{}", status.out);
    let tree = run(&["get", dump, "-o", "tree"]).out;
    assert!(tree.contains("CDS xds  static") && !tree.contains("dangling"), "{tree}");
}

/// A dump may have no clusters, those whose names match, or chosen fields. Clusters on demand come
/// later.
#[test]
fn dump_that_may_lack_clusters_says_nothing_of_routes() {
    let text = std::fs::read_to_string(ABSENT_CLUSTER_DUMP).unwrap();
    let dump: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut dump = dump.clone();
        dump["configs"].as_array_mut().unwrap().iter_mut().for_each(change);
        dump
    };
    let is = |config: &serde_json::Value, name: &str| config["@type"].as_str().unwrap().ends_with(name);
    let without_section = changed(&|config| {
        if is(config, "ClustersConfigDump") {
            *config = serde_json::json!({ "@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump" });
        }
    });
    let selected = changed(&|config| {
        config.as_object_mut().unwrap().remove("static_clusters");
    });
    let masked = changed(&|config| {
        let fields = config.as_object_mut().unwrap();
        ["bootstrap", "static_clusters", "version_info"].iter().for_each(|name| _ = fields.remove(*name));
    });
    let on_demand = changed(&|config| {
        if is(config, "ListenersConfigDump") {
            let filter = serde_json::json!({ "odcds": { "source": { "ads": {} } } });
            config["static_listeners"] = serde_json::json!([{ "listener": { "filter": filter } }]);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config_dump.json");
    for dump in [&without_section, &selected, &masked, &on_demand] {
        std::fs::write(&file, dump.to_string()).unwrap();
        let status = run(&["status", file.to_str().unwrap()]);
        assert_eq!(status.out.lines().next(), Some("no problems"), "{dump}: {}", status.out);
    }
}

/// A config dump with active and warming resources, and without endpoints.
const CLUSTERS_DUMP: &str = "tests/fixtures/cli/clusters_dump.json";

/// A dump has no requests: nothing is "not requested", and only resources listed as warming warm.
#[test]
fn dump_says_itself_what_warms() {
    let status = run(&["status", CLUSTERS_DUMP]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::Yes, Some("no problems")), "{}", status.out);
    for line in ["cluster next waits for SDS site-cert", "listener public warms"] {
        assert!(status.out.contains(line), "{line}: {}", status.out);
    }
    assert!(!status.out.contains("cluster cart") && !status.out.contains("request"), "{}", status.out);
    let tree = run(&["get", CLUSTERS_DUMP, "-o", "tree"]).out;
    assert!(tree.contains("EDS cart  not in the dump") && !tree.contains("neither requested"), "{tree}");
    let states = run(&["status", CLUSTERS_DUMP, "-o", "jsonl"]).out;
    let states = states.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let warming: Vec<serde_json::Value> =
        states.filter(|object| object["state"] == "warming").map(|object| object["type"].clone()).collect();
    assert_eq!(warming, ["lds", "cds"]);
}

/// Envoy lists an extension that it has requested and not received, without version and content.
#[test]
fn extension_that_never_came_is_not_present() {
    let table = run(&["get", CLUSTERS_DUMP, "ecds"]).out;
    let line = |name: &str| table.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("site.headers").contains("waiting"), "{table}");
    assert!(!line("site.limits").contains("waiting"), "{table}");
}

/// docs/protocol.md#h-02
#[test]
fn applied_dump_names_the_secrets_that_a_client_waits_for() {
    let script = "tests/fixtures/views/listeners-not-requested.xds";
    let status = run(&["status", script, "--applied", CLUSTERS_DUMP]).out;
    let problem = "which is not behind this tap; its dump has not received SDS site-cert: the likely cause";
    assert!(status.contains(problem), "{status}");
    assert!(status.contains("SDS applied: 1 resource requested and not received: site-cert"), "{status}");
}

/// docs/protocol.md#f-02
#[test]
fn missing_versions_are_no_problem() {
    let script = "tests/fixtures/lint/delta-version-empty.bad.xds";
    let status = run(&["status", script]);
    assert_eq!((status.exit, status.out.lines().next()), (Exit::Yes, Some("no problems")), "{}", status.out);
}

/// A CSDS response of a client that refuses a cluster and the newest version of a listener.
fn refusing_dump() -> String {
    let url = |name: &str| format!("type.googleapis.com/envoy.config.{name}");
    let (cluster, listener) = (url("cluster.v3.Cluster"), url("listener.v3.Listener"));
    let entry = |url: &str, name: &str| {
        serde_json::json!({
            "type_url": url, "name": name, "version_info": "1", "client_status": "ACKED",
            "xds_config": {"@type": url, "name": name},
        })
    };
    let refused = |url: &str, name: &str, version: &str| {
        let details = format!("{name} is bad");
        let error_state = serde_json::json!({"details": details, "version_info": version});
        serde_json::json!({
            "type_url": url, "name": name, "client_status": "NACKED", "error_state": error_state,
        })
    };
    let mut updated = entry(&listener, "L");
    updated["client_status"] = "NACKED".into();
    updated["error_state"] = serde_json::json!({"details": "L is bad", "version_info": "2"});
    let resources = [entry(&cluster, "c1"), refused(&cluster, "c2", "1"), updated];
    let client = serde_json::json!({"node": {"id": "n"}, "generic_xds_configs": resources});
    serde_json::json!({"config": [client]}).to_string()
}

#[test]
fn dump_that_refuses_what_the_client_accepted_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let (file, dump) = (folder.path().join("accepted.xds"), folder.path().join("csds.json"));
    let script = "node n\nstream 1 ads\n> cds\n< cds v=1 n=a [c1 c2]\n> cds v=1 n=a\n";
    std::fs::write(&file, script).unwrap();
    std::fs::write(&dump, refusing_dump()).unwrap();
    let (file, dump) = (file.to_str().unwrap(), dump.to_str().unwrap());
    let output = run(&["status", file, "--applied", dump]);
    let text = "client accepted CDS c2, but its dump differs: 1 refused: c2 is bad";
    assert!(output.out.contains(text) && output.out.contains("DIFFERS"), "{}", output.out);
    assert_eq!(output.exit, Exit::No);
    // A client that refuses on the stream too has one problem.
    let refused = script.replace("> cds v=1 n=a\n", "> cds n=a nack=\"c2 is bad\"\n");
    std::fs::write(file, refused).unwrap();
    let output = run(&["status", file, "--applied", dump]);
    assert!(output.out.starts_with("1 problem\nNACK "), "{}", output.out);
}

#[test]
fn refusals_of_a_dump_have_the_versions_of_their_resources() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("csds.json");
    std::fs::write(&dump, refusing_dump()).unwrap();
    let dump = dump.to_str().unwrap();
    let output = run(&["status", dump]);
    for text in [
        "client refused CDS c2 1; none in force: c2 is bad",
        "client refused LDS L 2; version 1 in force: L is bad",
    ] {
        assert!(output.out.contains(text), "{}", output.out);
    }
    let listener = run(&["get", dump, "lds"]).out;
    assert!(listener.contains("L     2    NACK, 1 in force"), "{listener}");
}

/// Returns what `status` prints for a CSDS response with one resource.
fn status_of_client(resource: serde_json::Value) -> CallOutput {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("csds.json");
    let client = serde_json::json!({"node": {"id": "n"}, "generic_xds_configs": [resource]});
    std::fs::write(&dump, serde_json::json!({"config": [client]}).to_string()).unwrap();
    run(&["status", dump.to_str().unwrap()])
}

/// A client lists only what it wants: what it does not get is missing, whoever is at fault.
#[test]
fn resources_that_a_dump_lists_without_content_are_missing() {
    let dump = "tests/fixtures/cli/csds-missing.json";
    let CallOutput { out, exit, .. } = run(&["status", dump]);
    for text in [
        "LDS web:80 is not sent (DEADLINE_EXCEEDED)",
        "LDS api:80 is not sent, \"not allowed\" (UNKNOWN)",
        "server says that CDS gone does not exist",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    assert!(out.starts_with("3 problems\n") && !out.contains("NACK") && !out.contains("refused"), "{out}");
    assert_eq!(exit, Exit::No);
    let states = objects(&["status", dump, "-o", "jsonl"]);
    let state = |label: &str| {
        let mut states = states.iter().filter(|object| object["object"] == "state");
        states.find(|object| object["type"] == label).map(|object| object["state"].clone())
    };
    assert_eq!((state("lds"), state("cds")), (Some("miss".into()), Some("miss".into())));
    assert_eq!((state("rds"), state("eds")), (Some("synced".into()), Some("wait".into())));
}

#[test]
fn resources_of_a_dump_that_are_still_requested_are_no_problem() {
    let url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let content = serde_json::json!({"@type": url, "name": "c"});
    for resource in [
        serde_json::json!({"type_url": url, "name": "c", "client_status": "REQUESTED"}),
        serde_json::json!({"type_url": url, "name": "c", "client_status": "ACKED", "xds_config": content}),
    ] {
        let status = status_of_client(resource);
        assert!(status.out.starts_with("no problems\n"), "{}", status.out);
    }
}

#[test]
fn rejection_in_a_dump_names_its_resource_for_certain() {
    let error_state = serde_json::json!({"details": "error adding listener 'l': filter foo not found"});
    let resource = serde_json::json!({
        "type_url": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": "l",
        "client_status": "NACKED", "error_state": error_state,
    });
    let status = status_of_client(resource).out;
    let text = "none in force: l: error adding listener 'l': filter foo not found";
    assert!(status.contains(text) && !status.contains("guess"), "{status}");
}

#[test]
fn missing_resource_and_cluster_that_warms_for_it_are_one_problem() {
    let script = "node edge-1\nstream 1 ads\n+0s > cds\n+1s < cds v=1 n=a [x{type: EDS, \
                  eds_cluster_config: {eds_config: {ads: {}}}}]\n+1s > cds v=1 n=a\n\
                  +1s > eds names=[x]\n+30s > lds\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("warming.xds");
    std::fs::write(&file, script).unwrap();
    let text = run(&["status", file.to_str().unwrap()]).out;
    assert_eq!(text.lines().next(), Some("1 problem"), "{text}");
    assert!(text.contains("server owes EDS x, asked in #4; needed by cluster x, which warms"), "{text}");
}

/// docs/protocol.md#f-34
#[test]
fn resource_stays_refused_after_ack_of_later_response() {
    let output = run(&["status", "tests/fixtures/cli/still-refused.xds"]);
    let text = "REFUSED  n1 CDS  30s  client still refuses CDS b 2 (#4), though it accepted a later response; version 1 in force: b bad";
    assert!(output.out.starts_with("1 problem\n") && output.out.contains(text), "{}", output.out);
    assert_eq!(output.exit, Exit::No);
}

/// docs/protocol.md#h-05
#[test]
fn server_owes_what_warmed_when_stream_closed() {
    let output = run(&["status", "tests/fixtures/cli/closed-while-warming.xds"]);
    let text = "UNAVAILABLE gone; last request EDS #6; server owed EDS c for cluster c (#7)\n";
    assert!(output.out.contains(text) && !output.out.contains("client owed"), "{}", output.out);
    assert!(output.out.starts_with("1 problem\nFAILING "), "{}", output.out);
}

/// docs/protocol.md#h-05
#[test]
fn cluster_goes_on_warming_after_a_reconnect() {
    let output = run(&["get", "tests/fixtures/cli/reconnected-while-warming.xds", "-o", "tree"]);
    assert!(output.out.contains("warming"), "{}", output.out);
    let output = run(&["status", "tests/fixtures/cli/reconnected-while-warming.xds"]);
    assert!(output.out.contains("FAILING"), "the server owes endpoints: {}", output.out);
    let waits = "n1: cluster d waits for EDS d since 45s (asked in #8): the server owes it";
    assert!(output.out.contains(waits), "{}", output.out);
}

/// Clusters and endpoints on streams of their own, which close together.
#[test]
fn warming_on_two_streams_outlasts_their_end() {
    let file = "tests/fixtures/cli/warming-on-two-streams.xds";
    let output = run(&["status", file]);
    assert!(output.out.contains("server owed EDS d for cluster d (#4)"), "{}", output.out);
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.xds");
    let text = std::fs::read_to_string(file).unwrap();
    let text =
        format!("{text}+41s stream 3 sotw cds\n> v=1\nstream 4 sotw eds\n> v=1 names=[c d]\nadvance 5s\n");
    std::fs::write(&again, text).unwrap();
    let output = run(&["status", again.to_str().unwrap()]);
    let waits = "n1: cluster d waits for EDS d since 45s";
    assert!(output.out.contains(waits), "{}", output.out);
}

/// A reconnect to a server that owes nothing and stays silent.
#[test]
fn wait_and_status_agree_on_a_reconnect() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reconnect.xds");
    let path = file.to_str().unwrap();
    let start = "node n\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n+60s 1 close status=14 \"gone\"\n\
                 +61s stream 2 ads\n";
    for (rest, exit) in [
        ("> cds v=1\nadvance 5s\n", Exit::Yes),
        ("> cds v=1\nadvance 16s\n", Exit::Yes),
        ("> cds\nadvance 5s\n", Exit::No),
        ("advance 4s\n", Exit::No),
    ] {
        std::fs::write(&file, format!("{start}{rest}")).unwrap();
        let status = run(&["status", path]);
        assert_eq!(status.exit, exit, "{rest:?}: {}", status.out);
        let waited = run(&["wait", path, "synced", "--timeout", "10ms"]).exit;
        assert_eq!(waited == Exit::Yes, exit == Exit::Yes, "{rest:?}: {waited:?}");
    }
}

/// A state that breaks a rule blocks `wait synced` until it is over, a message does not.
#[test]
fn wait_and_status_agree_on_broken_rules() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.xds");
    let path = file.to_str().unwrap();
    let expired = "node n feature=xds.config.supports-resource-ttl\nstream 1 delta eds\n> sub=[r]\n\
                   < n=1 [r@1 ttl=10s]\n> n=1\nadvance 60s\n";
    let refreshed = format!("{expired}< n=2 [r@1 ttl=99s]\n> n=2\n");
    let unclassified = "node n\nstream 1 delta cds\n>\n< n=1 [A@1]\n> n=1\n> sub=[C]\n< n=2 [C@1]\n> n=2\n\
                        > unsub=[C]\nadvance 60s\n";
    let changed = "node n\nstream 1 sotw eds\n> names=[a]\n< v=1 n=a [a]\n\
                   > v=1 n=a names=[a] node={cluster: other}\n";
    for (script, is_problem, is_met) in [
        (expired, true, false),
        (refreshed.as_str(), false, true),
        (unclassified, true, false),
        (changed, true, true),
    ] {
        std::fs::write(&file, script).unwrap();
        let status = run(&["status", path]);
        assert_eq!(status.exit == Exit::No, is_problem, "{script}: {}", status.out);
        let waited = run(&["wait", path, "synced", "--timeout", "10ms"]).exit;
        assert_eq!(waited == Exit::Yes, is_met, "{script}: {waited:?}");
    }
}

/// docs/protocol.md#e-07
#[test]
fn nack_does_not_hide_fault_that_no_client_refuses() {
    let output = run(&["status", "tests/fixtures/cli/nack-and-nonce.xds"]);
    assert!(output.out.starts_with("2 problems\nNACK "), "{}", output.out);
    assert!(output.out.contains("\nERROR ") && output.out.contains("nonce"), "{}", output.out);
}

/// Each view tells clients with one node id apart: by cluster, server or stream.
#[test]
fn tells_clients_with_one_node_id_apart() {
    const TWINS: &str = "tests/fixtures/cli/twins.xds";
    insta::assert_snapshot!("status-twins", show(&["status", TWINS]));
    insta::assert_snapshot!("lint-twins", show(&["lint", TWINS]));
    let wide = run(&["status", TWINS, "-o", "wide", "--no-headers"]).out;
    let has = |start: &str| wide.lines().any(|line| line.starts_with(start));
    assert!(has("n1 cluster=a  ") && has("n2 server=cp1  ") && has("n3  "), "{wide}");
}

/// docs/protocol.md#h-05: a client that has answered such a push does not wait with its answers.
#[test]
fn client_that_answers_while_it_warms_withholds_nothing() {
    let cluster = "x{type: EDS, eds_cluster_config: {eds_config: {ads: {}}}}";
    let script = format!(
        "node edge-1\nstream 1 ads\n+0s > cds\n+1s < cds v=1 n=a [{cluster} y]\n+1s > cds nack=\"y: bad\" n=a\n\
         +2s > eds names=[x]\n+30s < cds v=1 n=b [{cluster} y]\n+31s > lds\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("warming.xds");
    std::fs::write(&file, script).unwrap();
    let output = run(&["status", file.to_str().unwrap(), "-o", "wide"]);
    assert!(output.out.contains("needed by cluster x, which warms"), "{}", output.out);
    assert!(!output.out.contains("withholds"), "{}", output.out);
}

/// A complete file is answered at once, whatever the timeout.
#[test]
fn wait_does_not_wait_for_a_complete_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tour.xdsrec");
    let path = file.to_str().unwrap();
    assert_eq!(run(&["export", TOUR, "--to", "xdsrec", "--output", path]).exit, Exit::Yes);
    let started = std::time::Instant::now();
    let output = run(&["wait", path, "synced", "--timeout", "60s"]);
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(output.exit, Exit::Never, "{}", output.err);
    assert!(output.err.contains("which is complete: no more messages come"), "{}", output.err);
    // A script that is being written may grow.
    let script = folder.path().join("tour.xds");
    std::fs::copy(TOUR, &script).unwrap();
    let now = std::fs::File::options().append(true).open(&script).unwrap();
    now.set_modified(std::time::SystemTime::now()).unwrap();
    let output = run(&["wait", script.to_str().unwrap(), "synced", "--timeout", "50ms"]);
    assert!(output.err.contains("timed out"), "{}", output.err);
}

/// Timers of names that are in use fire ever more seldom.
#[test]
fn a_century_without_a_message_costs_no_time() {
    let began = std::time::Instant::now();
    for fixture in ["tests/fixtures/views/channels.xds", "tests/fixtures/cli/gaps.xds", GATEWAY] {
        let output = run(&["status", fixture, "--at", "+36500d"]);
        assert!(output.out.contains("NODE"), "{fixture}: {}{}", output.out, output.err);
    }
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

/// docs/protocol.md#a-19
#[test]
fn unary_calls_are_no_subscriptions() {
    let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters";
    let line = |dir: &str, raw: &str| {
        let line = serde_json::json!({"dir": dir, "t": 0.0, "stream": 1, "method": method, "raw": raw});
        format!("{line}\n")
    };
    let type_url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let request = [&[0x12, 0x04, 0x0a, 0x02][..], b"n1", &[0x22, 0x33], type_url.as_bytes()].concat();
    let response = [&[0x0a, 0x01][..], b"1", &[0x22, 0x33], type_url.as_bytes()].concat();
    let text = [
        line("c2s", &xdscope_schema::base64::encode(&request)),
        line("s2c", &xdscope_schema::base64::encode(&response)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unary.jsonl");
    std::fs::write(&path, text.concat()).unwrap();
    let status = run(&["status", path.to_str().unwrap()]);
    assert_eq!(status.exit, Exit::Unreadable);
    assert!(status.err.contains("holds no xDS message: 1 stream of other protocols"), "{}", status.err);
}
