//! Screens of recordings of real meshes: what tells names apart can be read at any width.

use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn_text, model, type_keys};
use xdscope_present::text::width;

/// Recordings of real control planes and clients.
pub(super) const RECORDINGS: [&str; 7] = [
    "tests/fixtures/recordings/istio.xdsrec",
    "examples/healthy/istio-sidecar.xdsrec",
    "examples/healthy/istio-reconnect.xdsrec",
    "examples/healthy/envoy-delta.xdsrec",
    "examples/healthy/envoy-sotw.xdsrec",
    "examples/healthy/grpc.xdsrec",
    "examples/too-many-pings.xdsrec",
];
const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

/// Node ids as control planes of meshes see them, two of each.
const NODES: [(&str, [&str; 2]); 5] = [
    (
        "Istio",
        [
            "router~10.244.0.12~gw-1.istio-system~istio-system.svc.cluster.local",
            "router~10.244.0.13~gw-2.istio-system~istio-system.svc.cluster.local",
        ],
    ),
    (
        "Envoy Gateway",
        ["envoy-default-eg-e41e7b31-5d6c8f9b7d-7xk2p", "envoy-default-eg-e41e7b31-5d6c8f9b7d-q9wzn"],
    ),
    ("Consul", ["web-7d9f8b6c5d-2xk4q-web-sidecar-proxy", "web-7d9f8b6c5d-9ztlm-web-sidecar-proxy"]),
    ("gRPC", ["orders-7f6d9c8b5-abcde~8080", "orders-7f6d9c8b5-fghij~8080"]),
    ("Kuma", ["default.backend-5c9d7f8b6d-k2xvq.kuma-demo", "default.backend-5c9d7f8b6d-w8znt.kuma-demo"]),
];

/// A name of a resource that each of two nodes has, and their versions.
fn script(nodes: [&str; 2]) -> String {
    let client = |at: usize, node: &str| {
        format!(
            "node \"{node}\"\nstream {at} ads\n{at} > cds\n\
             {at} < cds v=\"2026-11-22T16:0{at}:53Z/{at}\" n={at} [c]\n{at} > cds v=\"2026-11-22T16:0{at}:53Z/{at}\" n={at}\n"
        )
    };
    format!("{}{}", client(1, nodes[0]), client(2, nodes[1]))
}

#[test]
fn rows_of_two_nodes_differ_at_each_width() {
    for (mesh, nodes) in NODES {
        let source = ScriptedStore::new(&script(nodes));
        for (columns, rows) in SIZES {
            let mut model = model(columns, rows, PLAIN);
            type_keys(&mut model, &source.data(), "");
            let shown = drawn_text(&model);
            let names: Vec<&str> =
                model.screens.overview.table.rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), 2, "{mesh}");
            let lines: Vec<&str> = shown.lines().skip(5).take(2).collect();
            let first =
                |line: &str| line.trim_start_matches(['▌', ' ']).split("  ").next().unwrap_or("").to_owned();
            assert_ne!(first(lines[0]), first(lines[1]), "{mesh} {columns}\n{shown}");
            assert!(!shown.contains("server="), "{mesh}: one server does not tell clients apart\n{shown}");
        }
    }
}

#[test]
fn versions_lose_what_all_of_them_share() {
    let source = ScriptedStore::new(&script(NODES[0].1));
    for (columns, rows) in SIZES {
        let mut model = model(columns, rows, PLAIN);
        type_keys(&mut model, &source.data(), "3");
        let list = drawn_text(&model);
        let list = list.lines().take(12).collect::<Vec<_>>().join("\n");
        assert!(list.contains("01:53Z/1") && list.contains("02:53Z/2"), "{columns}\n{list}");
        assert!(!list.contains("2026-11-22T16:01:53Z/1"), "{columns}\n{list}");
    }
}

#[test]
fn istio_keeps_the_columns_beside_its_names() {
    let source = ScriptedStore::recorded(RECORDINGS[0]);
    let mut model = model(120, 36, PLAIN);
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    let titles = shown.lines().nth(4).unwrap_or_default();
    assert!(titles.contains("ACK p50 p99") && titles.contains("REASON"), "{shown}");
    assert!(!shown.contains(".svc.cluster.local  "), "{shown}");
}

/// How often the streams of a client of Istio failed is not cut off at 120 columns, and neither is
/// the reason.
#[test]
fn istio_keeps_the_column_of_streams_that_fail() {
    let node = NODES[0].1[0];
    let stream = |at: usize| {
        let [open, end] = [at * 250, at * 250 + 3].map(|millis| format!("+{millis}ms"));
        format!(
            "stream {at} delta-ads\n{open} {at} > sds sub=[shop-cert]\n\
             {end} {at} close status=16 \"authentication failure\"\n"
        )
    };
    let streams: String = (1..=18).map(stream).collect();
    let source = ScriptedStore::new(&format!("node \"{node}\"\n{streams}"));
    let mut model = model(120, 36, PLAIN);
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    let (titles, row) = (shown.lines().nth(4).unwrap_or_default(), shown.lines().nth(5).unwrap_or_default());
    assert!(titles.contains("STREAM") && titles.contains("REASON"), "{shown}");
    assert!(row.contains("↻ 18 in 4s") && row.contains("UNAUTHENTICATED"), "{shown}");
    assert!(row.contains("gw-1.istio-system"), "{shown}");
}

/// No line is wider than the terminal, no screen shows a title over a cell, and each screen has
/// content.
#[test]
fn each_screen_of_each_recording_is_drawn() {
    for path in RECORDINGS {
        let source = ScriptedStore::recorded(path);
        for (columns, rows) in SIZES {
            for keys in ["1", "}", "2", "2a", "3", "3L", "4", "5", "6", "7", "8", "9"] {
                let mut model = model(columns, rows, PLAIN);
                type_keys(&mut model, &source.data(), keys);
                let shown = drawn_text(&model);
                let body = shown.lines().skip(4).filter(|line| !line.trim().is_empty()).count();
                assert!(body > 2, "{path} {keys} {columns}\n{shown}");
                assert!(
                    shown.lines().all(|line| width(line) <= usize::from(columns)),
                    "{path} {keys} {columns}"
                );
            }
        }
    }
}

#[test]
fn healthy_recordings_have_no_problem() {
    for path in RECORDINGS.into_iter().filter(|path| path.contains("healthy")) {
        let source = ScriptedStore::recorded(path);
        let mut model = model(100, 30, PLAIN);
        type_keys(&mut model, &source.data(), "");
        assert_eq!(model.common.problems.count(), 0, "{path}\n{}", drawn_text(&model));
    }
}
