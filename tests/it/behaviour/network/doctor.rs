//! Runs `doctor SERVER`, and a client whose server fails: each failure has its own message.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
};

use serde_json::Value;

use crate::support::{
    bootstrap::Variant,
    certs::{Ca, Pair, ServerTls},
    control_plane::Flags,
    process::{Child, accepted, free_port},
    snapshot::{CLUSTER, Snapshot},
    tap::{attempts, xdscope},
    wait::wait_for,
    world::World,
};

/// Starts a server on loopback that reads a little, writes `says`, and then closes or stays silent.
fn fake(says: &'static [u8], closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in accepted(listener) {
            let _ = stream.read(&mut [0; 256]);
            let _ = stream.write_all(says);
            if !closes {
                kept.push(stream);
            }
        }
    });
    address
}

/// Returns the exit code and the steps of `doctor`.
fn doctor(folder: &Path, server: &str, args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = xdscope(folder)
        .args(["doctor", server, "-o", "jsonl", "--connect-timeout", "5s"])
        .args(args)
        .output()
        .expect("xdscope runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    (output.status.code(), report["server"]["steps"].as_array().expect("steps").clone())
}

/// Returns the last step: its name, state, message and remedy.
fn last(steps: &[Value]) -> (String, String, String, String) {
    let step = steps.last().expect("a step");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let said = step["said"].as_array().expect("lines").iter().map(text).collect::<Vec<_>>().join("; ");
    (text(&step["step"]), text(&step["state"]), said, text(&step["next"]))
}

#[test]
fn doctor_reports_supported_protocols() {
    let Some(world) = World::open("doctor_reports_supported_protocols") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address")));
    let server = plane.address().to_string();
    // A server that needs more than a second counts as one that does not answer.
    let is_answered = |step: &Value| step["said"][0] == "answers: lds 1, cds 1";
    let (code, steps) = wait_for("both aggregated variants to answer in time", || {
        let (code, steps) = doctor(world.folder(), &server, &[]);
        let mut aggregated = steps.iter().filter(|step| step["step"] == "ads" || step["step"] == "delta-ads");
        aggregated.all(is_answered).then_some((code, steps))
    });
    assert_eq!(code, Some(0), "{steps:#?}");
    let names: Vec<_> = steps.iter().filter_map(|step| step["step"].as_str()).collect();
    let all = ["name", "port", "TLS", "HTTP/2", "ads", "delta-ads", "sotw", "delta", "reflection"];
    assert_eq!(names, all);
    for name in ["ads", "delta-ads"] {
        let step = steps.iter().find(|step| step["step"] == name).expect("a step");
        assert_eq!(
            (step["state"].as_str(), step["said"][0].as_str()),
            (Some("ok"), Some("answers: lds 1, cds 1"))
        );
    }
    assert!(steps[3]["said"][0].as_str().is_some_and(|said| said.starts_with("round trip")), "{steps:#?}");
    assert!(steps[4]["next"].as_str().is_some_and(|next| next.ends_with("--variant ads")), "{steps:#?}");
}

#[test]
fn doctor_distinguishes_tls_failures() {
    let Some(world) = World::open("doctor_distinguishes_tls_failures") else { return };
    let ca = Ca::new(world.folder(), "ca");
    let plane = |own: Pair, client_ca| {
        world.control_plane(Flags { tls: Some(ServerTls { own, client_ca }), ..Flags::default() })
    };
    let good = plane(ca.issue("good", &["cp.test"]), None);
    let (server, file) = (good.address().to_string(), ca.file.display().to_string());
    let folder = world.folder();

    let (code, steps) = doctor(folder, &server, &["--cacert", &file, "--servername", "cp.test"]);
    assert_eq!(code, Some(0), "{steps:#?}");
    let said = steps[2]["said"].to_string();
    for words in ["ALPN h2", "certificate for cp.test", "issued by CN=ca", "until "] {
        assert!(said.contains(words), "{words}: {said}");
    }

    // Plaintext to a TLS server, a wrong name, an untrusted CA.
    let (code, steps) = doctor(folder, &server, &[]);
    let (step, state, said, next) = last(&steps);
    assert_eq!((code, step.as_str(), state.as_str()), (Some(3), "HTTP/2", "failed"));
    assert!(said.contains("the server speaks TLS") && next.contains("--cacert"), "{said} {next}");
    let (_, steps) = doctor(folder, &server, &["--cacert", &file, "--servername", "other.test"]);
    let (step, _, said, next) = last(&steps);
    assert!(
        step == "TLS" && said.starts_with("wrong name") && next == "--servername cp.test",
        "{said} {next}"
    );
    let stranger = Ca::new(folder, "stranger").file.display().to_string();
    let (_, steps) = doctor(folder, &server, &["--cacert", &stranger, "--servername", "cp.test"]);
    let (_, _, said, next) = last(&steps);
    assert!(said.starts_with("unknown CA") && next == "--cacert FILE", "{said} {next}");

    let old = plane(ca.expired("old", &["cp.test"]), None);
    let (_, steps) =
        doctor(folder, &old.address().to_string(), &["--cacert", &file, "--servername", "cp.test"]);
    let (_, _, said, _) = last(&steps);
    assert!(said.starts_with("expired") && said.contains("expired on 2021"), "{said}");

    let mutual = plane(ca.issue("mutual", &["cp.test"]), Some(ca.file.clone()));
    let mutual = mutual.address().to_string();
    drop(old);
    let (code, steps) = doctor(folder, &mutual, &["--cacert", &file, "--servername", "cp.test"]);
    let (step, _, said, next) = last(&steps);
    assert_eq!((code, step.as_str(), next.as_str()), (Some(3), "HTTP/2", "--cert FILE --key FILE"), "{said}");
    assert!(said.contains("client certificate required"), "{said}");
    assert!(
        steps[2]["said"].to_string().contains("requests a client certificate: none was sent"),
        "{steps:#?}"
    );

    // TLS to a plaintext server.
    let plain = world.control_plane(Flags::default());
    let (_, steps) = doctor(folder, &plain.address().to_string(), &["--insecure"]);
    let (step, _, said, next) = last(&steps);
    assert!(step == "TLS" && said.contains("HTTP/2 in plaintext") && next == "--plaintext", "{said} {next}");
}

#[test]
fn doctor_distinguishes_non_xds_ports() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of = |server: &str| {
        let (code, steps) = doctor(folder, server, &[]);
        assert_eq!(code, Some(3), "{steps:#?}");
        last(&steps)
    };
    let (step, _, said, _) = of(&fake(b"HTTP/1.1 400 Bad Request\r\n\r\n", true));
    assert!(step == "HTTP/2" && said.contains("an HTTP/1 port: `HTTP/1.1 400 Bad Request`"), "{said}");
    let (_, _, said, _) = of(&fake(b"SSH-2.0-OpenSSH_9\r\n", true));
    assert!(said.contains("neither HTTP/2 nor HTTP/1 nor TLS"), "{said}");
    let (_, _, said, _) = of(&fake(b"", false));
    assert!(said.contains("no answer from the server in 5s"), "{said}");
    let (step, _, said, _) = of(&format!("127.0.0.1:{}", free_port()));
    assert!(step == "port" && said.contains("refused"), "{said}");
    let (step, _, _, _) = of("no-such-host.invalid:1");
    assert_eq!(step, "name");
    let (step, _, _, _) = of("unix:/no/such/socket");
    assert_eq!(step, "port");
}

/// Starts `watch` and returns the process with its log.
fn watch(world: &World, server: &str, name: &str, args: &[&str]) -> Child {
    let mut command = xdscope(world.folder());
    command.args(["watch", server, "--no-tui", "--no-record"]).args(args);
    Child::start(&mut command, &world.folder().join(format!("{name}.log")))
}

#[test]
fn client_reports_server_failure() {
    let Some(world) = World::open("client_reports_server_failure") else { return };
    let goaway = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b";
    let reset = b"\0\0\0\x04\0\0\0\0\0\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07";
    for (name, says, closes) in [
        ("goaway", &goaway[..], false),
        ("reset", &reset[..], false),
        ("garbage", b"\xff\xfe\xfd this is no HTTP/2 at all, and goes on for a while", false),
        ("closed", b"", true),
    ] {
        let child = watch(&world, &fake(says, closes), name, &[]);
        let log = wait_for(name, || Some(child.log()).filter(|log| attempts(log) >= 2));
        assert!(
            log.contains("127.0.0.1") || log.contains("the stream broke") || log.contains("ended"),
            "{log}"
        );
        assert!(!log.contains("panicked"), "{log}");
        child.interrupt();
    }
}

#[test]
fn client_survives_server_restart() {
    let Some(world) = World::open("client_survives_server_restart") else { return };
    let port = free_port();
    let flags = || Flags { port, ..Flags::default() };
    let chain = Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address"));
    let mut plane = world.control_plane(flags());
    plane.set(&chain);
    let server = SocketAddr::from(([127, 0, 0, 1], port)).to_string();
    let child = watch(&world, &server, "outlives", &[]);
    plane.wait_for_ack(0, CLUSTER, "1");
    // The server is killed without a graceful stop.
    drop(plane);
    wait_for("a message about the end", || {
        let log = child.log();
        (log.contains("the stream broke") && log.contains("cannot reach")).then_some(())
    });
    let mut plane = world.control_plane(flags());
    plane.set(&chain);
    let first = plane.wait_for(0, "a request", |event| event.is_request(CLUSTER));
    assert_eq!((first.nonce.as_str(), first.version.as_str()), ("", "1"), "the version in force is stated");
    wait_for("a message about the reconnect", || child.log().contains("xdscope: connected\n").then_some(()));
    child.interrupt();
}
