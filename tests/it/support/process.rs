//! Child processes that end with their owner.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    ops::Range,
    path::{Path, PathBuf},
    process::{self, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use super::wait::wait_for;

/// Number of bytes from the end of a log that a failing test shows.
const LOG_TAIL: usize = 4000;

/// A running program, with its output in a file. Dropping it kills the process by its id, and waits
/// for its end.
pub struct Child {
    process: process::Child,
    log: PathBuf,
}

impl Child {
    /// Starts `command` without input; its output is appended to `log`.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        command.stdin(Stdio::null()).stdout(appending(log));
        Self::spawn(command, log)
    }

    /// Starts `command` with a pipe as standard output; `log` gets its standard error.
    pub fn start_piped(command: &mut Command, log: &Path) -> (Self, ChildStdout) {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = Self::spawn(command, log);
        let output = child.process.stdout.take().expect("a piped standard output");
        (child, output)
    }

    /// Starts `command` with a pipe as standard error; `log` gets its standard output.
    pub fn start_mute(command: &mut Command, log: &Path) -> (Self, ChildStderr) {
        command.stdin(Stdio::null()).stdout(appending(log)).stderr(Stdio::piped());
        let mut process = command.spawn().expect("a program");
        let errors = process.stderr.take().expect("a piped standard error");
        (Self { process, log: log.to_owned() }, errors)
    }

    fn spawn(command: &mut Command, log: &Path) -> Self {
        let process = command
            .stderr(appending(log))
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {}: {e}", command.get_program().display()));
        Self { process, log: log.to_owned() }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the output so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends SIGINT, as Ctrl-C does, and waits for the end.
    ///
    /// # Panics
    /// Panics if the program does not end in time, or fails.
    pub fn interrupt(self) {
        let log = self.log.clone();
        let status = self.end_by("-INT");
        assert!(status.success(), "{} ended with {status}", log.display());
    }

    /// Sends a signal, and waits for the end.
    ///
    /// # Panics
    /// Panics if the program does not end in time.
    pub fn end_by(mut self, signal: &str) -> process::ExitStatus {
        let asked = Command::new("kill").args([signal, &self.id().to_string()]).status();
        assert!(asked.is_ok_and(|status| status.success()), "kill {signal}");
        wait_for("the end of a child after a signal", || self.process.try_wait().expect("its state"))
    }

    /// Kills the program, and waits for its end.
    pub fn kill(&mut self) {
        // An error means that the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Waits until the program ends by itself and returns its exit code.
    pub fn finish(&mut self) -> Option<i32> {
        wait_for("the end of a child", || self.process.try_wait().expect("its state")).code()
    }

    /// Panics if the program has ended; for use while waiting for an effect of it.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.process.try_wait().expect("the state of a child") {
            panic!("{} ended with {status}", self.log.display());
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let log = self.log();
            let tail = log.char_indices().rev().take(LOG_TAIL).last().map_or(0, |(start, _)| start);
            #[expect(clippy::print_stderr, reason = "shown by a failing test")]
            {
                eprintln!("--- end of {}\n{}", self.log.display(), &log[tail..]);
            }
        }
    }
}

/// A running program that answers lines on standard input with lines on standard output.
pub struct Talker {
    pub child: Child,
    input: ChildStdin,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Talker {
    /// Starts `command`; `log` gets its standard output and standard error.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::spawn(command, log);
        let input = child.process.stdin.take().expect("a piped standard input");
        let output = child.process.stdout.take().expect("a piped standard output");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (kept, mut copy) = (Arc::clone(&lines), appending(log));
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The log is for people; ignore write errors.
                let _ = writeln!(copy, "{line}");
                kept.lock().expect("the lines").push(line);
            }
        });
        Self { child, input, lines }
    }

    /// Writes one line to standard input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).expect("a child which listens");
    }

    /// Returns the lines of standard output from line `from` (the first is 0) on.
    pub fn lines(&self, from: usize) -> Vec<String> {
        self.lines.lock().expect("the lines").get(from..).unwrap_or_default().to_vec()
    }

    /// Returns the number of lines so far, from which to read later ones.
    pub fn count(&self) -> usize {
        self.lines.lock().expect("the lines").len()
    }
}

fn appending(log: &Path) -> File {
    let opened = OpenOptions::new().create(true).append(true).open(log);
    opened.unwrap_or_else(|e| panic!("cannot write {}: {e}", log.display()))
}

/// Ports that [`free_port`] returns, below those that Linux gives to sockets without a port.
const PORTS: Range<u16> = 20_000..32_000;

/// Ports that a test process takes at a time.
const PORT_BLOCK: u16 = 200;

/// Ports of this process that were not returned yet, and the sockets that keep them from others.
struct OwnPorts {
    ports: Range<u16>,
    blocks: Vec<UdpSocket>,
}

static OWN_PORTS: Mutex<OwnPorts> = Mutex::new(OwnPorts { ports: 0..0, blocks: Vec::new() });

/// Returns a free loopback port that nothing else takes by chance, for programs that cannot pick
/// one or start again on the same port. Each call returns another port.
pub fn free_port() -> u16 {
    let mut own = OWN_PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match own.ports.next() {
            Some(port) if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() => return port,
            Some(_) => {}
            None => {
                // The UDP port of the same number marks a block as taken until the process ends.
                let take = |first| Some((first, UdpSocket::bind((Ipv4Addr::LOCALHOST, first)).ok()?));
                let (first, block) =
                    PORTS.step_by(PORT_BLOCK.into()).find_map(take).expect("a free block of ports");
                own.ports = first..first + PORT_BLOCK;
                own.blocks.push(block);
            }
        }
    }
}

/// Returns the connections of a listener.
///
/// Other tests may hold all descriptors for a while: an `accept` that fails is tried again.
pub fn accepted(listener: TcpListener) -> impl Iterator<Item = TcpStream> {
    std::iter::repeat_with(move || wait_for("a descriptor for a connection", || listener.accept().ok()).0)
}

/// Returns the writer of a recording that goes on: a block has begun, and the file is locked.
pub fn reopened(path: &Path) -> File {
    let mut file = OpenOptions::new().append(true).open(path).expect("a recording");
    file.lock().expect("nobody else writes");
    file.write_all(&[0x10]).expect("the first byte of a block");
    file
}
