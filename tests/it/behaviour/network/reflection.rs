//! Checks descriptors that a real server provides by reflection.

use std::process::Output;

use crate::support::{
    certs::{Ca, ServerTls},
    control_plane::Flags,
    tap::{Tap, xdscope},
    world::World,
};

fn run(world: &World, args: &[&str]) -> Output {
    xdscope(world.folder()).args(args).output().expect("xdscope runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn reads_same_descriptors_from_both_versions() {
    let Some(world) = World::open("reads_same_descriptors_from_both_versions") else { return };
    let mut lists = Vec::new();
    for version in ["v1", "v1alpha"] {
        let plane = world.control_plane(Flags { reflection: version, ..Flags::default() });
        let server = plane.address().to_string();
        let output = run(&world, &["descriptors", "list", "grpc.health", "--reflection", &server]);
        assert_eq!(output.status.code(), Some(0), "{version}: {}", text(&output.stderr));
        lists.push(text(&output.stdout));
        let set = world.folder().join(format!("{version}.set"));
        let path = set.to_str().expect("a path");
        let output = run(&world, &["descriptors", "build", "-o", path, "--reflection", &server]);
        assert_eq!(output.status.code(), Some(0), "{version}: {}", text(&output.stderr));
        let output = run(&world, &["descriptors", "list", "grpc.health", "--protoset", path]);
        let again = text(&output.stdout);
        assert!(
            again.contains("user  grpc.health.v1.HealthCheckRequest"),
            "the written descriptors can be read: {again}"
        );
    }
    assert_eq!(lists[0], lists[1]);
    assert!(lists[0].contains("grpc.health.v1.HealthCheckRequest"), "{}", lists[0]);
    let plain = run(&world, &["descriptors", "list", "grpc.health"]);
    assert_eq!(text(&plain.stdout), "", "it came from the server");
}

#[test]
fn requests_types_by_name_over_tls() {
    let Some(world) = World::open("requests_types_by_name_over_tls") else { return };
    let ca = Ca::new(world.folder(), "root");
    let tls = Some(ServerTls { own: ca.issue("plane", &["cp.test"]), client_ca: None });
    let plane = world.control_plane(Flags { tls, ..Flags::default() });
    let (server, ca) = (plane.address().to_string(), ca.file.display().to_string());
    let reach = ["--reflection", &server, "--cacert", &ca, "--servername", "cp.test", "-H", "x-a: b"];
    let symbol =
        ["--reflection-symbol", "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"];
    let listed = |args: &[&str]| {
        let output = run(&world, &[&["descriptors", "list", "tcp_proxy.v3.TcpProxy"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().filter(|line| line.starts_with("user")).count()
    };
    assert_eq!(listed(&reach), 0);
    assert!(listed(&[&reach[..], &symbol].concat()) > 0);

    let unknown =
        run(&world, &[&["descriptors", "list"], &reach[..], &["--reflection-symbol", "no.Such"]].concat());
    assert_eq!(unknown.status.code(), Some(3));
    assert!(text(&unknown.stderr).contains("does not know no.Such"), "{}", text(&unknown.stderr));
}

#[test]
fn reports_failed_step_and_remedy() {
    let Some(world) = World::open("reports_failed_step_and_remedy") else { return };
    let plane = world.control_plane(Flags::default());
    let server = plane.address().to_string();
    let output = run(&world, &["descriptors", "list", "--reflection", &server, "--insecure"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert_eq!(
        error,
        format!(
            "xdscope: cannot reach {server}: TLS failed, the server answered in plaintext\n  tried  name ok, port ok, \
             TLS handshake\n  next   --plaintext\n"
        )
    );
    drop(plane);
    let output = run(&world, &["descriptors", "list", "--reflection", &server]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("refused") && error.contains("tried  name ok, port"), "{error}");
}

#[test]
fn asks_connected_server_where_it_has_reflection() {
    let Some(world) = World::open("asks_connected_server_where_it_has_reflection") else { return };
    let plane = world.control_plane(Flags { reflection: "v1", ..Flags::default() });
    let wait = "--resource-timeout=2s";
    let output = run(&world, &["get", &plane.address().to_string(), "cds", "--reflection", "auto", wait]);
    assert!(!text(&output.stderr).contains("reflection"), "{}", text(&output.stderr));
    let script = world.folder().join("a.xds");
    std::fs::write(&script, "node edge\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n").expect("a file");
    let plain = Tap::serve(world.folder(), &script, &[]);
    let output = run(&world, &["get", &plain.address().to_string(), "cds", "--reflection", "auto", wait]);
    let error = text(&output.stderr);
    assert!(error.contains("no server reflection") && error.contains("built-in descriptors"), "{error}");
    // A file has no server.
    let output = run(&world, &["get", script.to_str().expect("a path"), "--reflection", "auto"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
