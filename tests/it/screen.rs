//! The screens in a real pseudo-terminal: they come up, follow keys and sizes, and give the terminal back.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::{
    bootstrap::Variant, control_plane::Flags, process::free_port, snapshot::Snapshot, world::World,
};

/// Longest wait for anything to appear.
const LIMIT: Duration = Duration::from_secs(20);

/// A program in a terminal. Dropping it kills the program.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// The modes before the program started, as text.
    modes: String,
    _home: tempfile::TempDir,
}

impl Terminal {
    fn start(program: &str, args: &[&str]) -> Terminal {
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
        let modes = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(30, 100, 0)));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let shown = screen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&buffer[..n]);
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Terminal { child, master: pair.master, keys, screen, modes, _home: home }
    }

    fn demo() -> Terminal {
        let terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["demo"]);
        terminal.until("edge-gw-1");
        terminal
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    fn wait(&self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + LIMIT;
        while !is(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen()) {
            assert!(Instant::now() < end, "{what} did not come:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn until(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
        self.keys.flush().expect("keys");
    }

    fn signal(&self, name: &str) {
        let id = self.child.process_id().expect("a process").to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Waits for its end; its exit code.
    fn end(&mut self) -> u32 {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                return status.exit_code();
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The terminal is as it was before: the shell's screen, its cursor, its modes.
    fn given_back(&self) {
        self.wait("the shell's screen", |screen| {
            !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
        });
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

/// The modes of a terminal.
fn modes(master: &dyn MasterPty) -> String {
    let modes = master.get_termios().expect("its modes");
    format!("{:?} {:?} {:?}", modes.input_flags, modes.output_flags, modes.local_flags)
}

#[test]
fn screens_follow_keys_and_sizes_and_give_the_terminal_back() {
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
        terminal.screen.lock().unwrap_or_else(PoisonError::into_inner).screen_mut().set_size(rows, columns);
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        terminal.master.resize(size).expect("another size");
        // The last line is where the keys are.
        terminal.wait("the keys in the last line", |screen| {
            screen.rows(0, columns).last().is_some_and(|line| line.contains("quit"))
        });
    }
    terminal.press("q");
    terminal.until("quitting ends the streams");
    terminal.press("y");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
    terminal.until("session kept: ");
}

#[test]
fn signals_end_it_and_the_terminal_is_as_before() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut terminal = Terminal::demo();
        terminal.signal(signal);
        assert_eq!(terminal.end(), 0, "{signal}");
        terminal.given_back();
        terminal.until("session kept: ");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back() {
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
    terminal.until("quitting ends the streams");
    terminal.press("y");
    terminal.until("session kept: ");
    terminal.press("exit\n");
    terminal.end();
}

#[test]
fn a_client_opens_the_screens_and_says_why_nothing_comes() {
    let Some(world) = World::open("a_client_opens_the_screens") else { return };
    let port = free_port();
    let server = format!("127.0.0.1:{port}");
    let watch = ["watch", &server, "--node-id", "watcher-1"];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &watch);
    terminal.until("cannot reach 127.0.0.1");
    terminal.until("next in");
    let mut plane = world.control_plane(Flags { port, ..Flags::default() });
    plane.set(&Snapshot::chain(Variant::Ads, "127.0.0.1:9".parse().expect("an address")));
    terminal.until("watcher-1");
    terminal.until("SYNCED");
    terminal.until("subscribed as a client");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 0);
}
