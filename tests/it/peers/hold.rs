//! Messages that a person holds on screen 0, between an Envoy and go-control-plane.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use xdscope::net::tap::{Arms, Config, HoldDesk, SharedFaults, Tls};
use xdscope_engine::hold::HoldCommand;
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::HoldOptions;

use crate::behaviour::verbs::screen::{Terminal, port_after, run_panicking_screens};
use crate::peers::intercept::{CLUSTER_DUMP, ENDPOINT_DUMP, dump, interventions};
use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    process::free_port,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, endpoints},
    tap::Recording,
    wait::{PATIENCE, wait_for},
    world::World,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_xdscope");

/// A control plane, a tap with screens, and an Envoy.
struct Scene {
    plane: ControlPlane,
    terminal: Terminal,
    recording: PathBuf,
    envoy: Envoy,
    chain: Snapshot,
}

/// Starts a tap with screens. Returns the terminal and the address for clients.
fn start_tap(plane: &ControlPlane, recording: &Path, listen: &str, args: &[&str], editor: &str) -> Terminal {
    let (upstream, file) = (plane.address().to_string(), recording.to_str().expect("a path"));
    let tap = ["tap", &upstream, "--listen", listen, "--plaintext", "--force", "--record", file];
    Terminal::start_with(PROGRAM, &[&tap[..], args].concat(), Some(("EDITOR", Path::new(editor))))
}

/// Waits until a tap listens, and returns its address. No client may connect before: screens with
/// clients do not show the address.
fn address_of(terminal: &Terminal) -> SocketAddr {
    terminal.until("Listening on 127.0.0.1:");
    let port = port_after(&terminal.text(), "Listening on 127.0.0.1:");
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Writes an editor that changes the timeout of clusters.
fn editor(world: &World, script: &str) -> String {
    let path = world.folder().join("editor.sh");
    std::fs::write(&path, script).expect("a script");
    format!("sh {}", path.display())
}

/// Serves version 1 of a chain to an Envoy, and waits until its routes are acknowledged.
fn serve_chain(plane: &mut ControlPlane, envoy: &mut Envoy) -> Snapshot {
    let chain = Snapshot::chain(Variant::Ads, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    chain
}

impl Scene {
    fn open(test: &str, variant: Variant, args: &[&str], script: &str) -> Option<Scene> {
        let world = World::open(test)?;
        let mut plane = world.control_plane(Flags::default());
        let recording = world.folder().join("tap.xdsrec");
        let terminal = start_tap(&plane, &recording, "127.0.0.1:0", args, &editor(&world, script));
        let tap = address_of(&terminal);
        let envoy = world.envoy("edge-1", variant, tap);
        let chain = Snapshot::chain(variant, envoy.admin());
        plane.set(&chain);
        Some(Scene { plane, terminal, recording, envoy, chain })
    }

    /// Waits until version 1 of all types is acknowledged.
    fn settle(&mut self) {
        self.envoy.wait_live();
        for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
            self.plane.wait_for_ack(0, type_url, "1");
        }
    }

    /// Serves a version of the endpoints, with another address if `is_moved`, and waits until it is
    /// held as the message with this number. Returns the mark before.
    fn hold_endpoints(&mut self, version: &str, is_moved: bool, id: &str) -> usize {
        let mark = self.plane.mark();
        let address = if is_moved { self.plane.address() } else { self.envoy.admin() };
        self.plane.set(&self.chain.clone().with(ENDPOINTS, version, vec![endpoints("echo", address)]));
        self.plane.wait_for(mark, "the push", |e| e.is_response(ENDPOINTS) && e.version == version);
        self.terminal.until("HOLDING 1");
        self.terminal.press("0");
        self.terminal.until(&format!("send {id} as it is"));
        mark
    }

    /// Ends the tap by a signal. Returns the recording.
    fn end(mut self) -> Recording {
        self.terminal.signal("TERM");
        assert_eq!(self.terminal.end(), 143);
        self.terminal.assert_restored();
        Recording { file: self.recording }
    }
}

/// Returns what was done, and by whom.
fn done(recording: &Recording) -> Vec<String> {
    let text = |what: &Value, field: &str| what[field].as_str().expect("a text").to_owned();
    let words = |what: Value| format!("{} {}", text(&what, "interference"), text(&what, "by"));
    interventions(recording).into_iter().map(words).collect()
}

fn pushes(recording: &Recording, version: &str) -> usize {
    let is_push = |m: &Value| m["kind"] == "push" && m["type"] == "eds" && m["version"] == version;
    recording.messages().into_iter().filter(is_push).count()
}

#[test]
fn held_push_is_allowed_bounced_and_dropped() {
    for (test, variant) in [("held_ads", Variant::Ads), ("held_delta", Variant::DeltaAds)] {
        let args = ["--intercept", "type:eds kind:push", "--hold-timeout", "1h"];
        let Some(mut scene) = Scene::open(test, variant, &args, "exit 1\n") else { return };
        scene.terminal.until("HOLDING 1");
        scene.terminal.press("0");
        scene.terminal.until("send h1 as it is");
        scene.terminal.press("A");
        scene.settle();
        let mark = scene.hold_endpoints("2", true, "h2");
        // Other types are not held up, and this one is.
        assert!(scene.plane.events(mark).iter().all(|e| !e.is_request(ENDPOINTS)));
        scene.terminal.press("A");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        let mark = scene.hold_endpoints("3", false, "h3");
        scene.terminal.press("Bnot today\ry");
        let nack = scene.plane.wait_for(mark, "the NACK", |e| e.is_nack(ENDPOINTS));
        assert_eq!(nack.error.map(|error| error.message).as_deref(), Some("not today"));
        if variant == Variant::DeltaAds {
            // The server regards the NACK as the end of the matter.
            scene.plane.close_streams(14, "scripted");
        }
        scene.terminal.until("send h4 as it is");
        let mark = scene.plane.mark();
        scene.terminal.press("Xy");
        scene.terminal.until("h4 is dropped");
        scene.terminal.press("Z");
        scene.terminal.until("disarmed: everything that was held");
        scene.plane.close_streams(14, "scripted");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "3");
        let recording = scene.end();
        assert_eq!(recording.state("eds")["state"], "synced");
        let done = done(&recording);
        for wanted in ["held hand: h1", "held hand: h4", "bounced hand: h3", "dropped hand: h4"] {
            assert!(done.iter().any(|text| text == wanted), "{wanted} in {done:?}");
        }
    }
}

#[test]
fn edited_push_is_what_the_client_has() {
    for (test, variant) in [("edited_ads", Variant::Ads), ("edited_delta", Variant::DeltaAds)] {
        let args = ["--intercept", "type:cds kind:push", "--hold-timeout", "1h"];
        let script = "sed -i 's/connect_timeout: 1s/connect_timeout: 9s/' \"$1\"\n";
        let Some(mut scene) = Scene::open(test, variant, &args, script) else { return };
        scene.terminal.until("HOLDING 1");
        scene.terminal.press("0");
        scene.terminal.until("the client has acknowledged nothing of this type");
        scene.terminal.press("E");
        scene.terminal.until("what would be sent in place of h1");
        scene.terminal.until("y send");
        scene.terminal.until("9s");
        scene.terminal.press("y");
        scene.terminal.until("h1 is sent as edited");
        scene.envoy.wait_live();
        let clusters = dump(&scene.envoy, CLUSTER_DUMP);
        assert!(clusters.iter().any(|cluster| cluster["connect_timeout"] == "9s"), "{clusters:?}");
        let recording = scene.end();
        let rows = interventions(&recording);
        assert_eq!(done(&recording), ["held hand: h1", "changed hand: h1"], "{rows:?}");
        assert!(!recording.state("cds")["diverged"].is_null());
    }
}

#[test]
fn held_messages_go_when_the_tap_quits_or_is_ended() {
    for (test, is_signal) in [("held_quit", false), ("held_term", true)] {
        let args = ["--intercept", "type:eds kind:push version:2", "--hold-timeout", "1h"];
        let Some(mut scene) = Scene::open(test, Variant::Ads, &args, "") else { return };
        scene.settle();
        scene.hold_endpoints("2", true, "h1");
        let recording = if is_signal {
            scene.end()
        } else {
            scene.terminal.press("\x03");
            scene.terminal.until("pass through this");
            scene.terminal.press("y");
            assert_eq!(scene.terminal.end(), 0);
            scene.terminal.assert_restored();
            Recording { file: scene.recording }
        };
        assert_eq!(pushes(&recording, "2"), 1, "{test}: the push went on, unmodified");
        assert_eq!(done(&recording), ["held hand: h1"]);
    }
}

#[test]
fn held_messages_go_after_the_timeout() {
    // The screens show the held message before that, also on busy cores.
    let args = ["--intercept", "type:eds kind:push version:2", "--hold-timeout", "10s"];
    let Some(mut scene) = Scene::open("held_timeout", Variant::Ads, &args, "") else { return };
    scene.settle();
    let mark = scene.hold_endpoints("2", true, "h1");
    scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
    scene.terminal.until("1 message sent unmodified because nobody decided");
    assert_eq!(pushes(&scene.end(), "2"), 1);
}

/// Names the folder of a re-executed test: the upstream is in `upstream`, the address of the tap
/// goes to `listen`, `held` exists once a message is held, and the screens panic once `now` exists.
const PANIC: &str = "XDSCOPE_TEST_PANICS_WHILE_HOLDING";

/// Runs a tap that holds messages, and screens that panic.
fn run_panicking_tap(folder: &Path) {
    let upstream = std::fs::read_to_string(folder.join("upstream")).expect("an address");
    let desk = HoldDesk::new(HoldOptions { timeout: Duration::from_secs(3600), ..HoldOptions::default() });
    desk.command(HoldCommand::Arm("type:eds kind:push version:2".into())).expect("an expression");
    let (queue, held) = (desk.clone(), folder.join("held"));
    std::thread::spawn(move || {
        wait_for("a held message", || queue.is_holding().then_some(()));
        std::fs::write(held, "").expect("written");
    });
    let arms = Arms {
        faults: SharedFaults::default(),
        desk: Some(desk),
        schema: Schema::builtin(),
        memory: 64 << 20,
    };
    let address = |text: &str| text.parse().expect("an address");
    let config = Config {
        maps: vec![(address("127.0.0.1:0"), address(&upstream))],
        queue: None,
        connect_timeout: PATIENCE,
        tls: Tls::default(),
        changes: None,
        arms: Some(arms),
    };
    let tap = xdscope::net::tap::Tap::start(config).expect("a tap");
    std::fs::write(folder.join("listen"), tap.listening[0].to_string()).expect("written");
    run_panicking_screens(folder.join("now"));
}

#[test]
fn held_messages_go_when_the_screens_panic() {
    if let Some(folder) = std::env::var_os(PANIC) {
        return run_panicking_tap(Path::new(&folder));
    }
    let Some(world) = World::open("held_panic") else { return };
    let mut plane = world.control_plane(Flags::default());
    std::fs::write(world.folder().join("upstream"), plane.address().to_string()).expect("written");
    let program = std::env::current_exe().expect("this program");
    let args = ["--exact", "peers::hold::held_messages_go_when_the_screens_panic", "--nocapture"];
    let more = Some((PANIC, world.folder()));
    let mut terminal = Terminal::start_with(program.to_str().expect("a path"), &args, more);
    let tap =
        wait_for("the tap", || std::fs::read_to_string(world.folder().join("listen")).ok()?.parse().ok());
    let mut envoy = world.envoy("edge-1", Variant::Ads, tap);
    let chain = serve_chain(&mut plane, &mut envoy);
    let mark = plane.mark();
    let before = dump(&envoy, ENDPOINT_DUMP);
    plane.set(&chain.with(ENDPOINTS, "2", vec![endpoints("echo", plane.address())]));
    plane.wait_for(mark, "the push", |e| e.is_response(ENDPOINTS) && e.version == "2");
    wait_for("the hold", || world.folder().join("held").exists().then_some(()));
    assert_eq!(dump(&envoy, ENDPOINT_DUMP), before, "the push is held");
    std::fs::write(world.folder().join("now"), "").expect("written");
    assert_eq!(terminal.end(), 101);
    wait_for("the push", || (dump(&envoy, ENDPOINT_DUMP) != before).then_some(()));
}

/// An editor is open when the tap has to end.
#[test]
fn open_editor_does_not_keep_the_tap() {
    let args = ["--intercept", "type:eds kind:push version:2", "--hold-timeout", "1h"];
    let script = "echo the editor is open; exec sleep 600\n";
    let Some(mut scene) = Scene::open("held_editor", Variant::Ads, &args, script) else { return };
    scene.settle();
    scene.hold_endpoints("2", true, "h1");
    scene.terminal.press("E");
    scene.terminal.until("the editor is open");
    assert_eq!(pushes(&scene.end(), "2"), 1);
}

#[test]
fn arms_at_run_time() {
    let Some(world) = World::open("armed_at_run_time") else { return };
    let mut plane = world.control_plane(Flags::default());
    let recording = world.folder().join("tap.xdsrec");
    let mut terminal = start_tap(&plane, &recording, "127.0.0.1:0", &[], "");
    let tap = address_of(&terminal);
    let mut before = world.envoy("before", Variant::Ads, tap);
    let chain = Snapshot::chain(Variant::Ads, before.admin());
    plane.set(&chain);
    before.wait_live();
    terminal.press("Itype:cds kind:push\r");
    terminal.until("hold messages that match `type:cds kind:push`?");
    terminal.press("y0");
    terminal.until("armed: type:cds kind:push");
    terminal.until("covers 0 of 1 open stream. Nothing can be held on 1 connection");
    let mut after = world.envoy("after", Variant::Ads, tap);
    plane.set(&Snapshot::chain(Variant::Ads, after.admin()));
    terminal.until("HOLDING 1");
    terminal.until("covers 1 of 2 open streams");
    terminal.press("Z");
    after.wait_live();
    terminal.press("Itype:cds kind:push version:2\ry");
    terminal.until("armed: messages that match `type:cds kind:push version:2`");
    let mark = plane.mark();
    terminal.press("Ry");
    terminal.until("connections closed");
    plane.wait_for(mark, "the client again", |e| e.event == "request" && e.node == "before");
    terminal.until("covers 2 of 2 open streams");
    terminal.press("I");
    terminal.until("hold messages that match: ");
    terminal.press("\x1b");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 143);
    assert_eq!(done(&Recording { file: recording }), ["held hand: h1"]);
}

#[test]
fn held_messages_leave_the_queue_with_a_reset_stream() {
    let args = ["--intercept", "type:eds kind:push version:2", "--hold-timeout", "1h"];
    let faults = ["--fault", "type:lds kind:push version:2 => reset times=1"];
    let args = [&args[..], &faults].concat();
    let Some(mut scene) = Scene::open("held_on_a_reset_stream", Variant::Ads, &args, "") else { return };
    scene.settle();
    let mark = scene.hold_endpoints("2", true, "h1");
    let changed = scene.chain.clone().with(LISTENER, "2", Vec::new());
    scene.plane.set(&changed);
    scene.plane.wait_for(mark, "another stream", |e| e.event == "open");
    scene.terminal.until("covers 1 of 1 open stream");
    scene.terminal.until("nothing is held");
    scene.end();
}

/// The tap is killed while a push is held, while it is edited, and while it is released; the client
/// recovers when the tap returns.
#[test]
fn client_recovers_from_a_killed_tap() {
    for (state, keys, shown) in [
        ("holding", "0", "send h1 as it is"),
        ("editing", "0E", "the editor is open"),
        ("releasing", "", "HOLDING 1"),
    ] {
        let Some(world) = World::open(&format!("killed_while_{state}")) else { return };
        let mut plane = world.control_plane(Flags::default());
        let recording = world.folder().join("tap.xdsrec");
        let listen = format!("127.0.0.1:{}", free_port());
        let args = ["--intercept", "type:eds kind:push version:2", "--hold-timeout", "1h"];
        let editor = editor(&world, "echo the editor is open; exec sleep 10\n");
        let mut terminal = start_tap(&plane, &recording, &listen, &args, &editor);
        let tap = address_of(&terminal);
        let mut envoy = world.envoy("edge-1", Variant::Ads, tap);
        let chain = serve_chain(&mut plane, &mut envoy);
        let mark = plane.mark();
        plane.set(&chain.with(ENDPOINTS, "2", vec![endpoints("echo", plane.address())]));
        terminal.until("HOLDING 1");
        terminal.press(keys);
        terminal.until(shown);
        if state == "releasing" {
            terminal.signal("TERM");
        }
        terminal.signal("KILL");
        if state != "releasing" {
            // Without a stream no answer can come any more.
            plane.wait_for(mark, "the end of the stream", |e| e.event == "close");
            assert!(plane.events(mark).iter().all(|e| !e.is_request(ENDPOINTS) || e.nonce.is_empty()));
        }
        drop(terminal);
        let _again = start_tap(&plane, &recording, &listen, &[], "");
        plane.wait_for_ack(mark, ENDPOINTS, "2");
    }
}

#[test]
fn read_only_holds_nothing() {
    let upstream = format!("127.0.0.1:{}", free_port());
    let tap = ["tap", &upstream, "--listen", "127.0.0.1:0", "--no-record", "--read-only"];
    let mut terminal = Terminal::start(PROGRAM, &tap);
    terminal.until("Listening on 127.0.0.1:");
    terminal.press("0");
    terminal.until("--read-only forbids to hold messages");
    for key in ["I", "A", "E", "X", "B", "Z"] {
        // A question would take the next key, so that Overview would not open.
        terminal.press(key);
        terminal.press("1");
        terminal.wait("Overview", |screen| {
            let shown = screen.contents();
            assert!(!shown.contains("y yes"), "{key}: {shown}");
            shown.contains("[1 Overview]")
        });
        terminal.press("0");
        terminal.until("[0 Hold");
        terminal.until("--read-only forbids to hold messages");
    }
    terminal.press("\x03");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn intercept_needs_screens() {
    let output = std::process::Command::new(PROGRAM)
        .args(["tap", "127.0.0.1:1", "--intercept", "type:cds", "--no-tui", "--no-record"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("--fault 'EXPR => hold 5s'"), "{text}");
}
