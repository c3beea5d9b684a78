//! Runs the screens in a real pseudo-terminal: they start, follow keys and sizes, and restore the
//! terminal.

mod starts;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_tui::Decoded;
use xdscope_tui::{Data, Feed, FeedError, HeldMessage, Info, Keymap, ScreenId, Seek, StoreData, Theme};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::Clock;

use crate::support::{
    bootstrap::Variant,
    control_plane::Flags,
    faulty::{Fault, Faulty},
    process::free_port,
    snapshot::Snapshot,
    tap::attempts,
    wait::{PATIENCE, pass, wait_for, wait_within},
    world::World,
};

/// The end of each frame of the screens, EndSynchronizedUpdate.
const END_OF_FRAME: &[u8] = b"\x1b[?2026l";

/// Time without a change after which a screen is complete.
const IDLE_TIME: Duration = Duration::from_millis(300);

/// Time between Escape and a key that are not one key with Alt, and time for the effect of the key.
const ESCAPE_TIME: Duration = Duration::from_millis(100);
const KEY_TIME: Duration = Duration::from_millis(500);

/// A program in a terminal. Dropping it kills the program.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// Everything that the program has written.
    written: Arc<Mutex<Vec<u8>>>,
    /// Held while nobody reads the terminal.
    gate: Arc<Mutex<()>>,
    /// The terminal modes before the program started, as text.
    modes: String,
    _home: tempfile::TempDir,
}

impl Terminal {
    pub fn start(program: &str, args: &[&str]) -> Terminal {
        Terminal::start_with(program, args, None)
    }

    pub fn start_with(program: &str, args: &[&str], more: Option<(&str, &Path)>) -> Terminal {
        let size = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let home = tempfile::tempdir().expect("a folder");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env_clear();
        for (key, value) in
            [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("PS1", "READY ")]
        {
            command.env(key, value);
        }
        for key in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(key, home.path());
        }
        if let Some((key, value)) = more {
            command.env(key, value);
        }
        let modes = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(30, 100, 0)));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let shown = screen.clone();
        let written = Arc::new(Mutex::new(Vec::new()));
        let kept = written.clone();
        let gate: Arc<Mutex<()>> = Arc::default();
        let passed = gate.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                drop(passed.lock().unwrap_or_else(PoisonError::into_inner));
                // What is written is shown.
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&buffer[..n]);
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..n]);
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Terminal { child, master: pair.master, keys, screen, written, gate, modes, _home: home }
    }

    /// Returns what nobody reads the terminal while it is locked.
    pub fn gate(&self) -> Arc<Mutex<()>> {
        self.gate.clone()
    }

    pub fn demo() -> Terminal {
        let terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["demo"]);
        terminal.until("edge-gw-1");
        terminal
    }

    pub fn text(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    pub fn wait(&self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let shown = wait_within(PATIENCE, || self.shows(&is).then_some(()));
        assert!(shown.is_some(), "{what} did not come:\n{}", self.text());
    }

    /// Clears the screen, has the program repaint it, and returns whether the screen is as before.
    fn repaints_the_same(&mut self, is_whole: impl Fn(&vt100::Screen) -> bool) -> bool {
        self.wait_until_idle();
        let before = {
            let mut shown = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *shown, vt100::Parser::new(30, 100, 0)).screen().contents_formatted()
        };
        self.press("\x0c");
        self.wait("the whole screen again", is_whole);
        let same = |screen: &vt100::Screen| screen.contents_formatted() == before;
        wait_within(REPAINT_TIME, || self.shows(same).then_some(())).is_some()
    }

    fn shows(&self, is: impl Fn(&vt100::Screen) -> bool) -> bool {
        is(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen())
    }

    /// Returns a field of the state of each thread of the program.
    #[cfg(target_os = "linux")]
    fn of_threads(&self, field: &str) -> Vec<String> {
        let id = self.child.process_id().expect("a process");
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("its threads");
        let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
            let value = status.lines().find_map(|line| line.strip_prefix(field))?;
            Some(value.trim().to_owned())
        };
        threads.filter_map(of_thread).collect()
    }

    /// Returns how often threads of the program began to wait.
    #[cfg(target_os = "linux")]
    fn waits(&self) -> u64 {
        let counts = self.of_threads("voluntary_ctxt_switches:");
        counts.iter().map(|count| count.parse::<u64>().expect("a number")).sum()
    }

    /// Whether all threads of the program wait. On busy cores one may be about to draw.
    fn is_waiting(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.of_threads("State:").iter().all(|state| state.starts_with('S'));
        #[cfg(not(target_os = "linux"))]
        true
    }

    /// Resizes the terminal as a window manager does.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen_mut().set_size(rows, columns);
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("another size");
    }

    /// Waits until the program has written these bytes.
    pub fn until_written(&self, bytes: &[u8]) {
        let is_written = |_: &vt100::Screen| {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.windows(bytes.len()).any(|part| part == bytes)
        };
        self.wait(&format!("{bytes:?}"), is_written);
    }

    pub fn until(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the last frame is complete, nothing has been drawn for a while, and the program
    /// is not about to draw.
    fn wait_until_idle(&self) {
        let written = || {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            (self.is_waiting() && written.ends_with(END_OF_FRAME)).then_some(written.len())
        };
        let idle = wait_within(PATIENCE, || {
            let before = written()?;
            pass(IDLE_TIME);
            (written()? == before).then_some(())
        });
        assert!(idle.is_some(), "it never stops drawing:\n{}", self.text());
    }

    /// Presses Escape and a key until `is` holds.
    ///
    /// Only time tells Escape followed by a key from the key with Alt, so a slow program may need
    /// several attempts.
    fn escape_to(&mut self, key: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let there = wait_within(PATIENCE, || {
            self.press("\x1b");
            pass(ESCAPE_TIME);
            self.press(key);
            wait_within(KEY_TIME, || self.shows(&is).then_some(()))
        });
        assert!(there.is_some(), "{key} does not lead there:\n{}", self.text());
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
        self.keys.flush().expect("keys");
    }

    /// Returns the id of the process.
    pub fn process(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    pub fn signal(&self, name: &str) {
        let id = self.process().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Waits for the end of the program and returns the exit code.
    pub fn end(&mut self) -> u32 {
        self.status().exit_code()
    }

    /// Waits for the end of the program and returns the name of the signal that ended it.
    pub fn end_by_signal(&mut self) -> Option<String> {
        self.status().signal().map(str::to_owned)
    }

    fn status(&mut self) -> ExitStatus {
        let ended = wait_within(PATIENCE, || self.child.try_wait().expect("its state"));
        ended.unwrap_or_else(|| panic!("it does not end:\n{}", self.text()))
    }

    /// Asserts that the terminal is restored: the shell's screen, cursor and modes.
    pub fn assert_restored(&self) {
        self.wait("the shell's screen", |screen| {
            !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
        });
        self.assert_modes_restored();
    }

    /// Asserts that the modes are restored, of a terminal that nobody reads.
    pub fn assert_modes_restored(&self) {
        assert_eq!(modes(&*self.master), self.modes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns the modes of a terminal.
fn modes(master: &dyn MasterPty) -> String {
    let modes = master.get_termios().expect("its modes");
    format!("{:?} {:?} {:?}", modes.input_flags, modes.output_flags, modes.local_flags)
}

#[test]
fn screens_follow_keys_and_restore_terminal() {
    let mut terminal = Terminal::demo();
    assert_ne!(modes(&*terminal.master), terminal.modes, "keys come one by one");
    for (key, title) in [
        ("2", "[2 Stream]"),
        ("3", "[3 Timeline]"),
        ("4", "[4 Resources]"),
        ("5", "[5 Diff]"),
        ("6", "[6 NACK"),
        ("1", "[1 Overview]"),
    ] {
        terminal.press(key);
        terminal.until(title);
    }
    for (columns, rows) in [(80, 24), (200, 60), (100, 30)] {
        terminal.resize(columns, rows);
        // The last line shows the keys.
        terminal.wait("the keys in the last line", |screen| {
            screen.rows(0, columns).last().is_some_and(|line| line.contains("quit"))
        });
    }
    terminal.press("6");
    terminal.until("[6 NACK");
    // A demo serves nobody else: no question, from any screen.
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
    terminal.until("session kept: ");
}

#[test]
fn tour_of_the_demo_follows_the_keys() {
    let mut terminal = Terminal::demo();
    terminal.until("tour, step 1 of 11");
    // The tour says so only once a client has refused a push.
    terminal.until("is refused.");
    for (keys, text) in [
        ("}", "tour, step 2 of 11"),
        ("6", "the resource at fault (reviews)"),
        ("d", "the first is connect_timeout"),
        ("3L", "one arrow each"),
        ("/kind:nack\r", "tour, step 6 of 11"),
        ("\x1b", "The filter is off"),
        ("7", "tour, step 7 of 11"),
        ("8", "from listeners to endpoints"),
        (":payments-v3-1c2a\ra", "ended: how long each lasted"),
        (":reviews\r", "tour, step 10 of 11"),
        (",", "lists all keys, y copies"),
    ] {
        terminal.press(keys);
        terminal.until(text);
    }
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
}

#[test]
fn mouse_opens_tabs_and_is_given_back() {
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["demo", "--mouse"]);
    terminal.until("Shift and drag selects text");
    terminal.until("edge-gw-1");
    let is_used = |screen: &vt100::Screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None;
    terminal.wait("the mouse", is_used);
    terminal.press("\x1b[<0;16;3M\x1b[<0;16;3m");
    terminal.until("[2 Stream]");
    terminal.press(":set mouse off\r");
    terminal.wait("no mouse", |screen| !is_used(screen));
    terminal.press(":set mouse on\r");
    terminal.wait("the mouse again", is_used);
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
    terminal.wait("no mouse after the end", |screen| !is_used(screen));
}

#[test]
fn new_problem_is_announced() {
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["demo", "--notify", "osc9"]);
    terminal.until_written(b"\x1b]9;xdscope: ");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["demo", "--notify", "bell"]);
    terminal.until_written(b"\x07");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn signals_restore_terminal() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 0)] {
        let mut terminal = Terminal::demo();
        terminal.signal(signal);
        assert_eq!(terminal.end(), code, "{signal}");
        terminal.assert_restored();
        terminal.until("session kept: ");
    }
}

#[test]
fn ctrl_z_suspends_and_fg_resumes() {
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"]);
    terminal.until("READY");
    terminal.press(&format!("{} demo\n", env!("CARGO_BIN_EXE_xdscope")));
    terminal.until("edge-gw-1");
    terminal.press("\x1a");
    terminal.until("Stopped");
    terminal.wait("the shell's screen", |screen| !screen.alternate_screen() && !screen.hide_cursor());
    terminal.press("fg\n");
    terminal
        .wait("the screens", |screen| screen.alternate_screen() && screen.contents().contains("edge-gw-1"));
    terminal.press("3");
    terminal.until("[3 Timeline]");
    terminal.press("\x03");
    terminal.until("session kept: ");
    terminal.press("exit\n");
    terminal.end();
}

/// Repaints of which one has to show the screen as before.
const REPAINTS: usize = 3;
/// Longest time of a repaint.
const REPAINT_TIME: Duration = Duration::from_secs(20);

/// Random sizes and keys leave the same screen as a full repaint at that size.
#[test]
fn random_keys_and_sizes_match_full_repaint() {
    const KEYS: [&str; 25] = [
        "1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "j", "k", "\t", "\r", "\x1b[B", "\x1b[A", "}", "{",
        ",", ".", "g", "G", "t", "?", "m",
    ];
    for seed in [1, 7, 2026] {
        // A copy, because marks are stored next to the recording.
        let folder = tempfile::tempdir().expect("a folder");
        let session = folder.path().join("tour.xds");
        let tour = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cli/tour.xds");
        std::fs::copy(tour, &session).expect("a copy");
        let session = session.to_str().expect("a path");
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", session]);
        terminal.until("REPLAY");
        let mut state: u64 = seed;
        let mut below = |limit: u64| {
            // The MMIX generator of Knuth; its high bits are the random ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..60 {
            match below(3) {
                0 => terminal.resize(1 + below(220) as u16, 1 + below(70) as u16),
                _ => terminal.press(KEYS[below(KEYS.len() as u64) as usize]),
            }
            if below(4) == 0 {
                pass(Duration::from_millis(below(30)));
            }
        }
        // Closes all overlays, then resizes there and back immediately.
        let is_whole = |screen: &vt100::Screen| {
            let rows: Vec<String> = screen.rows(0, 100).collect();
            rows[0].contains("REPLAY") && rows[2].contains("[3 Timeline]") && rows[29].contains(": command")
        };
        terminal.resize(100, 30);
        terminal.escape_to("3", is_whole);
        terminal.resize(20, 5);
        terminal.resize(100, 30);
        terminal.wait("the whole screen", is_whole);
        // A notice may end before the repaint: without one, the next repaint is the same.
        let is_same = (0..REPAINTS).any(|_| terminal.repaints_the_same(is_whole));
        assert!(is_same, "not the previous screen (seed {seed}):\n{}", terminal.text());
        terminal.signal("TERM");
        assert_eq!(terminal.end(), 143, "seed {seed}");
        terminal.assert_restored();
    }
}

/// A closed terminal ends the program, although nobody signals its process group.
#[test]
fn closed_terminal_ends_program() {
    let size = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
    let home = tempfile::tempdir().expect("a folder");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_xdscope"));
    command.args(["demo", "--no-record"]);
    command.env_clear();
    command.env("TERM", "xterm-256color");
    command.env("HOME", home.path());
    let mut child = pair.slave.spawn_command(command).expect("it starts");
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut screen = vt100::Parser::new(30, 100, 0);
    let mut buffer = [0; 4096];
    while !screen.screen().contents().contains("edge-gw-1") {
        let n = reader.read(&mut buffer).expect("a screen");
        assert_ne!(n, 0, "it ended:\n{}", screen.screen().contents());
        screen.process(&buffer[..n]);
    }
    drop(reader);
    drop(pair.master);
    if wait_within(PATIENCE, || child.try_wait().expect("its state")).is_none() {
        child.kill().expect("its end");
        panic!("it goes on without a terminal");
    }
}

/// Names the file that tells a re-executed test when to panic.
const PANIC: &str = "XDSCOPE_TEST_PANICS_AT";

/// Data that panics on the next read once a file exists.
struct Panics {
    at: PathBuf,
    store: Store,
    bodies: Decoded,
}

impl Feed for Panics {
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        with(&StoreData { store: &self.store, findings: &[], bodies: &self.bodies, applied: None });
    }
    fn revision(&self) -> u64 {
        assert!(!self.at.exists(), "a defect of ours");
        0
    }
    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }
    fn info(&self) -> Info {
        Info { source: "before the panic".into(), ..Info::default() }
    }
    fn replay(&self, _: Option<HeldMessage>, _: Seek) -> Result<(), FeedError> {
        Err("nothing to go back in".into())
    }
    fn save_copy(&self, _: &str) -> std::io::Result<String> {
        Err(std::io::Error::other("nowhere"))
    }
}

/// Runs the screens in a child process, until they panic.
pub fn run_panicking_screens(at: PathBuf) {
    let catalog = Catalog::new(7, None, Box::new(MemoryBodies::default()));
    let store = Store::new(catalog, Clock::default(), Default::default());
    let feed = Panics { at, store, bodies: Decoded(Schema::builtin()) };
    // The sender stays alive to the end.
    let (_send, messages) = mpsc::channel();
    let (_waker, wake) = xdscope_tui::wake_pair().expect("a pipe");
    let options = xdscope_tui::Options {
        asks_background: false,
        theme: Theme::default(),
        palettes: Vec::new(),
        zone: jiff::tz::TimeZone::UTC,
        keys: Keymap::default(),
        screen: ScreenId::Overview,
        slow_link: false,
        mouse: false,
        notify: None,
        multiplexer: None,
        messages,
        wake,
    };
    xdscope_tui::run(&feed, options).expect("a terminal");
}

#[test]
fn panic_restores_terminal_and_is_printed() {
    if let Some(at) = std::env::var_os(PANIC) {
        return run_panicking_screens(at.into());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("now");
    let program = std::env::current_exe().expect("this program");
    let args = ["--exact", "behaviour::verbs::screen::panic_restores_terminal_and_is_printed", "--nocapture"];
    let mut terminal = Terminal::start_with(program.to_str().expect("a path"), &args, Some((PANIC, &at)));
    terminal.wait("the screens", |screen| {
        screen.alternate_screen() && screen.contents().contains("before the panic")
    });
    assert_ne!(modes(&*terminal.master), terminal.modes, "keys come one by one");
    std::fs::write(&at, "").expect("a file");
    assert_eq!(terminal.end(), 101);
    terminal.assert_restored();
    terminal.until("a defect of ours");
}

#[test]
fn watch_opens_screens_and_explains_missing_responses() {
    let Some(world) = World::open("watch_opens_screens_and_explains_missing_responses") else { return };
    let port = free_port();
    let server = format!("127.0.0.1:{port}");
    let watch = ["watch", &server, "--node-id", "watcher-1"];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &watch);
    terminal.until("cannot reach 127.0.0.1");
    terminal.until("next in");
    terminal.until("DISCONNECTED");
    terminal.until(&format!("xdscope doctor {server}"));
    let mut plane = world.control_plane(Flags { port, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address")));
    terminal.until("watcher-1");
    terminal.until("in sync");
    terminal.until("LIVE");
    terminal.until("subscribed as a client");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 143);
}

#[test]
fn keys_control_subscriptions_and_acks() {
    let Some(world) = World::open("keys_control_subscriptions_and_acks") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address")));
    let server = format!("127.0.0.1:{}", plane.address().port());
    let watch = ["watch", &server, "cds", "--ack", "ask", "--no-expand", "--no-record", "--view", "timeline"];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &watch);
    terminal.until("push");
    terminal.press("A");
    terminal.until("y send");
    terminal.press("y");
    terminal.until("ack #");
    terminal.press("S");
    terminal.until("adds");
    terminal.press("\u{15}lds/*\r");
    terminal.until("subscribe lds/*?");
    terminal.press("y");
    terminal.until("sent: ");
    terminal.until("← LDS");
    terminal.press("B");
    terminal.until("the text of it");
    terminal.press("not this one\r");
    terminal.until("y send");
    terminal.press("y");
    terminal.until("NACK #");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 143);
}

#[test]
fn read_only_disables_client_keys() {
    let Some(world) = World::open("read_only_disables_client_keys") else { return };
    let mut plane = world.control_plane(Flags::default());
    plane.set(&Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address")));
    let server = format!("127.0.0.1:{}", plane.address().port());
    let watch = ["watch", &server, "cds", "--read-only", "--no-expand", "--no-record", "--view", "timeline"];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &watch);
    terminal.until("ack #");
    terminal.press("S");
    terminal.until("this sends nothing");
    terminal.until("without --read-only");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 143);
}

#[test]
fn screen_quotes_server_refusal() {
    let denied = vec![("grpc-status", "16".to_owned()), ("grpc-message", "token of yesterday".to_owned())];
    let server = Faulty::start(vec![Fault::Headers(200, denied); 3]).address.to_string();
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["watch", &server, "cds"]);
    terminal.until("UNAUTHENTICATED: token of yesterday");
    terminal.wait("the second attempt", |screen| attempts(&screen.contents()) >= 2);
    // The client is accepted later, without a restart.
    terminal.until("in sync");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

/// Nobody else's streams end with a run that reads files.
#[test]
fn watch_of_files_quits_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clusters.json");
    let cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let response =
        serde_json::json!({"version_info": "7", "resources": [{"@type": cluster, "name": "cart"}]});
    std::fs::write(&file, response.to_string()).expect("a file");
    let file = file.to_str().expect("a path");
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["watch", file, "--view", "timeline"]);
    terminal.until("cart");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

/// Screens of nothing would look as if all were well.
#[test]
fn replay_shows_what_warms() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/scripts/S-35f.xds");
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", script]);
    // The first screen shows the problem, and the word of the state.
    terminal.until("waits for EDS c again");
    terminal.until("WARMING");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn replay_of_empty_file_ends_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [("empty.xdsrec", ""), ("comments.xds", "# nothing happens here\n")] {
        let file = folder.path().join(name);
        std::fs::write(&file, content).expect("a file");
        let path = file.to_str().expect("a path");
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", path]);
        terminal.until("holds no xDS message");
        if terminal.shows(vt100::Screen::alternate_screen) {
            // The machine was so busy that screens opened before the file was read: they say the same.
            terminal.press("q");
        }
        assert_eq!(terminal.end(), 5, "{}", terminal.text());
        terminal.until("holds no xDS message");
    }
}

/// Returns the digits after `mark`.
pub fn port_after(text: &str, mark: &str) -> u16 {
    let rest = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}")).1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no port after {mark} in:\n{text}"))
}

#[test]
fn snippets_contain_the_bound_port() {
    let upstream = format!("127.0.0.1:{}", free_port());
    let tap = ["tap", &upstream, "--listen", "127.0.0.1:0", "--no-record"];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &tap);
    terminal.until("--rewrite-bootstrap envoy.yaml");
    let text = terminal.text();
    let port = port_after(&text, "Listening on 127.0.0.1:");
    assert!(port > 0, "{text}");
    std::net::TcpStream::connect(("127.0.0.1", port)).expect("the tap listens there");
    for mark in ["port_value: ", "\"server_uri\": \"127.0.0.1:", "--listen 127.0.0.1:"] {
        assert_eq!(port_after(&text, mark), port, "{mark} in:\n{text}");
    }
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

/// Time that is longer than the interval of any timer of the screens.
#[cfg(target_os = "linux")]
const SLEEP_TIME: Duration = Duration::from_secs(2);

#[test]
#[cfg(target_os = "linux")]
fn sleeps_while_a_replay_is_paused() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings/v1.xdsrec");
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", recording]);
    terminal.until("1 Overview");
    terminal.wait_until_idle();
    // Work from before may end late on busy cores. A timer that repeats leaves no such time.
    wait_for("a time in which no thread wakes up, as nothing changes", || {
        let before = terminal.waits();
        pass(SLEEP_TIME);
        (terminal.waits() == before).then_some(())
    });
    // Keys, sizes and signals still arrive.
    terminal.press("3");
    terminal.until("[3 Timeline]");
    terminal.resize(70, 20);
    terminal.wait("the new size", |screen| screen.contents().lines().all(|line| line.chars().count() <= 70));
    terminal.signal("TERM");
    terminal.end();
    terminal.assert_restored();
}
