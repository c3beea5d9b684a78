//! Session files that are locked, exist, fill the disk, disappear or end: no frame is lost unseen.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

use crate::support::process::{Child, accepted};
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message};
use crate::support::tap::xdscope;
use crate::support::wait::{quiet_for, wait_for, wait_within};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A server that reads all connections.
fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in accepted(listener) {
            std::thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while let Ok(1..) = stream.read(&mut bytes) {}
            });
        }
    });
    address
}

/// Returns a tap that a shell starts after `setup`.
fn command(folder: &Path, setup: &str, record: &Path, args: &[&str]) -> Command {
    let program = xdscope(folder);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setup}; exec \"$0\" \"$@\"")]).arg(program.get_program());
    shell.env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
    shell.args(["tap", &sink().to_string(), "--listen", "127.0.0.1:0", "--record"]);
    shell.arg(record).args(args);
    if !args.contains(&"-o") {
        shell.args(["-o", "jsonl"]);
    }
    shell
}

/// A tap, and a client with an open stream.
struct Run {
    child: Child,
    address: SocketAddr,
    client: TcpStream,
}

impl Run {
    fn start(folder: &Path, setup: &str, record: &Path, args: &[&str]) -> Run {
        let log = (1..).map(|n| folder.join(format!("tap-{n}.log"))).find(|log| !log.exists());
        let mut child = Child::start(&mut command(folder, setup, record, args), &log.expect("a name"));
        let address = wait_for("the tap to listen", || {
            child.assert_running();
            let log = child.log();
            let line = log.lines().find_map(|line| line.split_once("listening on "))?.1;
            line.split_whitespace().next()?.parse().ok()
        });
        Run { child, address, client: connect(address) }
    }

    /// Sends a request for a name.
    fn request(&mut self, name: &str) {
        self.client.write_all(&request(name)).expect("the tap reads");
    }

    /// Sends a request for a name that zstd cannot shorten.
    fn large_request(&mut self, name: &str) {
        let mut state = name.bytes().fold(7u64, |state, byte| state * 31 + u64::from(byte));
        let noise = (0..30_000).map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            char::from(b'0' + (state >> 33) as u8 % 64)
        });
        self.request(&format!("{name}/{}", noise.collect::<String>()));
    }

    fn wait_for(&self, text: &str) {
        wait_for(text, || self.child.log().contains(text).then_some(()));
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(address).expect("a connection");
    client.write_all(&start()).expect("the tap reads");
    client
}

/// Returns the frames that open a stream.
fn start() -> Vec<u8> {
    [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat()
}

/// Returns a request for a name.
fn request(name: &str) -> Vec<u8> {
    let node = [field(1, "edge-1"), field(2, "edge")].concat();
    let node = [&[0x12, node.len() as u8], &node[..]].concat();
    let mut names = vec![0x1a];
    let mut len = name.len();
    while len >= 128 {
        names.push(len as u8 | 128);
        len >>= 7;
    }
    names.push(len as u8);
    names.extend(name.as_bytes());
    message(1, false, &[node, field(4, CLUSTER), names].concat())
}

fn output(folder: &Path, args: &[&str], file: &Path) -> Output {
    let output = xdscope(folder).args(&args[..1]).arg(file).args(&args[1..]).output();
    output.expect("xdscope runs")
}

/// Returns what the first tap in a folder said.
fn said(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("tap-1.log")).expect("a log")
}

/// Requested names up to `/`, and the number of messages that gaps stand for.
fn content(folder: &Path, file: &Path) -> (Vec<String>, u64) {
    let log = output(folder, &["log", "-o", "jsonl"], file);
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let rows = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let name = |row: Value| {
        let name = row["names"].get(0)?.as_str()?.to_owned();
        Some(name.split('/').next()?.to_owned())
    };
    let names = rows.filter_map(name).collect();
    let raw = output(folder, &["export", "--to", "raw"], file);
    let raw = String::from_utf8_lossy(&raw.stdout).into_owned();
    let rows = raw.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let gaps = rows.filter(|row| row["dir"] == "gap").filter_map(|row| row["messages"].as_u64()).sum();
    (names, gaps)
}

/// Runs a tap that must not start. Returns what it says.
#[track_caller]
fn refused(folder: &Path, record: &Path, args: &[&str]) -> String {
    let output = command(folder, ":", record, args).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    text
}

#[test]
fn second_writer_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    let mut run = Run::start(folder.path(), ":", &file, &[]);
    for args in [&[][..], &["--force"]] {
        let text = refused(folder.path(), &file, args);
        assert!(text.contains("another xdscope is writing the file"), "{text}");
    }
    run.request("first");
    run.wait_for("first");
    run.child.interrupt();
    assert_eq!(content(folder.path(), &file).0, ["first"]);
}

#[test]
fn recording_is_overwritten_by_force_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    let mut run = Run::start(folder.path(), ":", &file, &[]);
    run.request("first");
    run.wait_for("first");
    run.child.interrupt();
    let text = refused(folder.path(), &file, &[]);
    assert!(text.contains("the file holds a recording") && text.contains("--force"), "{text}");
    let export = ["export", "--to", "xdsrec", "--output"];
    let path = file.to_str().expect("a path");
    let export = output(folder.path(), &[&export[..], &[path]].concat(), Path::new("examples/nack.xds"));
    assert_eq!(export.status.code(), Some(5), "{export:?}");
    assert_eq!(content(folder.path(), &file).0, ["first"]);
    let mut run = Run::start(folder.path(), ":", &file, &["--force"]);
    run.request("second");
    run.wait_for("second");
    run.child.interrupt();
    assert_eq!(content(folder.path(), &file).0, ["second"]);
}

#[test]
fn run_that_cannot_listen_leaves_files_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = taken.local_addr().expect("an address").to_string();
    let tap = |record: &Path| {
        let mut command = xdscope(folder.path());
        command.args(["tap", "127.0.0.1:1", "--listen", &listen, "--no-tui", "--force", "--record"]);
        let output = command.arg(record).output().expect("xdscope runs");
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let (new, old) = (folder.path().join("new.xdsrec"), folder.path().join("old.xdsrec"));
    tap(&new);
    assert!(!new.exists(), "nothing was recorded");
    let export = ["export", "--to", "xdsrec", "--output", old.to_str().expect("a path")];
    assert!(output(folder.path(), &export, Path::new("examples/nack.xds")).status.success());
    let recording = std::fs::read(&old).expect("a recording");
    tap(&old);
    assert_eq!(std::fs::read(&old).expect("a recording"), recording);
}

#[test]
fn dangling_link_is_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    let text = refused(folder.path(), &link, &["--force"]);
    assert!(text.contains(&format!("a link to {}, which does not exist", target.display())), "{text}");
    assert!(!target.exists());
}

#[test]
fn full_disk_costs_counted_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    // Blocks of 512 bytes. The limit must not end the log of the tap, so its lines are short.
    let mut run = Run::start(folder.path(), "ulimit -S -f 400", &file, &["-o", "text"]);
    for n in 0..40 {
        run.large_request(&format!("early-{n}"));
    }
    run.wait_for("stopped: File too large");
    let pid = Pid::from_raw(run.child.id() as i32);
    let limit = Rlimit { current: None, maximum: None };
    let before = prlimit(pid, Resource::Fsize, limit).expect("a higher limit");
    assert_eq!(before.current, Some(400 * 512));
    run.wait_for("goes on: ");
    for n in 0..5 {
        run.large_request(&format!("late-{n}"));
    }
    wait_for("the last request", || {
        content(folder.path(), &file).0.contains(&"late-4".to_owned()).then_some(())
    });
    run.child.interrupt();
    let (names, gaps) = content(folder.path(), &file);
    assert!(names.len() >= 6 && names.len() < 45, "{names:?}");
    assert_eq!(names.len() as u64 + gaps, 45, "{names:?}");
    assert_eq!(names.first().map(String::as_str), Some("early-0"));
    for n in 0..5 {
        assert!(names.contains(&format!("late-{n}")), "{names:?}");
    }
    let info = output(folder.path(), &["info"], &file);
    assert_eq!(info.status.code(), Some(0), "{info:?}");
    let said = said(folder.path());
    let missing = said.lines().filter(|line| line.contains(" missing")).filter_map(|line| {
        let (number, _) = line.split_once(" message")?;
        number.rsplit(' ').next()?.parse::<u64>().ok()
    });
    assert_eq!(missing.sum::<u64>(), gaps, "{said}");
}

#[test]
fn removed_recording_is_begun_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    let mut run = Run::start(folder.path(), ":", &file, &[]);
    run.request("first");
    wait_for("the first request", || (content(folder.path(), &file).0 == ["first"]).then_some(()));
    std::fs::remove_file(&file).expect("a file");
    run.wait_for("session.xdsrec was removed");
    run.request("second");
    wait_for("the second request", || {
        (file.exists() && content(folder.path(), &file).0 == ["second"]).then_some(())
    });
    run.child.interrupt();
    assert_eq!(content(folder.path(), &file).0, ["second"]);
    let status = output(folder.path(), &["status"], &file);
    assert!(String::from_utf8_lossy(&status.stdout).contains("edge-1"), "{status:?}");
    let said = said(folder.path());
    assert!(said.contains(&format!("recording goes on in {}", file.display())), "{said}");
}

#[test]
fn end_names_the_file_that_holds_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, moved) = (folder.path().join("session.xdsrec"), folder.path().join("moved.xdsrec"));
    let mut run = Run::start(folder.path(), ":", &file, &[]);
    run.request("first");
    wait_for("the first request", || (content(folder.path(), &file).0 == ["first"]).then_some(()));
    std::fs::rename(&file, &moved).expect("another name");
    std::fs::write(&file, "another file").expect("a file");
    run.child.interrupt();
    assert!(said(folder.path()).contains(&format!("session kept: {} ", moved.display())));
    assert_eq!(content(folder.path(), &moved).0, ["first"]);
}

#[test]
fn end_says_that_a_removed_session_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    let mut run = Run::start(folder.path(), ":", &file, &[]);
    run.request("first");
    wait_for("the first request", || (content(folder.path(), &file).0 == ["first"]).then_some(()));
    std::fs::remove_file(&file).expect("a file");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &file).expect("a link");
    run.child.interrupt();
    let said = said(folder.path());
    assert!(said.contains("session.xdsrec was removed: nothing of it is kept"), "{said}");
    assert!(!said.contains("session kept"), "{said}");
}

#[test]
fn recordings_are_files_and_results_replace_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pipe, old) = (folder.path().join("pipe"), folder.path().join("old.xdsrec"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .expect("a pipe");
    for args in [&[][..], &["--force"]] {
        let text = refused(folder.path(), &pipe, args);
        assert!(text.contains("a pipe or a device, not a file"), "{text}");
    }
    let export = ["export", "--to", "xdsrec", "--output", old.to_str().expect("a path")];
    assert!(output(folder.path(), &export, Path::new("examples/nack.xds")).status.success());
    let new = folder.path().join("new.xdsrec");
    let text = refused(folder.path(), &new, &["--until", "synced", "--junit", export[4]]);
    assert!(text.contains("the file holds a recording"), "{text}");
}

#[test]
fn session_goes_on_in_further_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    std::fs::create_dir(&sessions).expect("a folder");
    let file = sessions.join("session.xdsrec");
    let args = ["--record-max", "100kB", "--keep", "3"];
    let mut run = Run::start(folder.path(), ":", &file, &args);
    for n in 0..30 {
        run.large_request(&format!("request-{n}"));
        // A repeated name: its content is in each file that needs the content.
        run.request("constant");
        run.wait_for(&format!("request-{n}/"));
    }
    run.child.interrupt();
    let files: BTreeSet<PathBuf> =
        std::fs::read_dir(&sessions).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(!files.contains(&file), "{files:?}");
    let mut all = Vec::new();
    let mut by_number: Vec<_> = files.into_iter().collect();
    by_number.sort_by_key(|path| path.to_string_lossy().len());
    for path in &by_number {
        let (names, gaps) = content(folder.path(), path);
        assert!(gaps == 0 && names.contains(&"constant".to_owned()), "{}: {names:?}", path.display());
        let status = output(folder.path(), &["status"], path);
        assert!(String::from_utf8_lossy(&status.stdout).contains("edge-1"), "{status:?}");
        let info = output(folder.path(), &["info"], path);
        assert!(!String::from_utf8_lossy(&info.stderr).contains("lost"), "{info:?}");
        all.extend(names);
    }
    assert_eq!(all.last().map(String::as_str), Some("constant"));
    // The folder is one timeline of one stream.
    let (names, gaps) = content(folder.path(), &sessions);
    assert_eq!((names, gaps), (all.clone(), 0));
    let status = output(folder.path(), &["status", "-o", "json"], &sessions);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert_eq!(status.matches("\"object\":\"stream\"").count(), 1, "{status}");
    for verb in ["replay", "info", "lint"] {
        let output = output(folder.path(), &[verb], &sessions);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        assert!(!said.contains("left out") && !said.contains("lost"), "{said}");
    }
    // Another session in the folder would be another timeline.
    let export = ["export", "--to", "xdsrec", "--output"];
    let path = sessions.join("other.xdsrec");
    let export = [&export[..], &[path.to_str().expect("a path")]].concat();
    assert!(output(folder.path(), &export, Path::new("examples/nack.xds")).status.success());
    let refused = output(folder.path(), &["status"], &sessions);
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("holds 2 sessions"), "{refused:?}");
    assert_eq!(all.iter().filter(|name| **name == "request-29").count(), 1, "{all:?}");
}

#[test]
fn followed_session_goes_on_in_further_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    std::fs::create_dir(&sessions).expect("a folder");
    let mut run = Run::start(folder.path(), ":", &sessions, &["--record-max", "100kB"]);
    run.large_request("request-0");
    run.wait_for("request-0/");
    let mut follow = xdscope(folder.path());
    follow.args(["log", "--follow", "-o", "jsonl"]).arg(&sessions);
    let follow = Child::start(&mut follow, &folder.path().join("follow.log"));
    for n in 1..10 {
        run.large_request(&format!("request-{n}"));
        run.wait_for(&format!("request-{n}/"));
    }
    let requested = || {
        // A notice on stderr may stand behind a row.
        let object = |row: &str| serde_json::Deserializer::from_str(row).into_iter::<Value>().next()?.ok();
        let name = |row: Value| Some(row["names"].get(0)?.as_str()?.split('/').next()?.to_owned());
        follow.log().lines().filter_map(object).filter_map(name).collect::<Vec<_>>()
    };
    let names = wait_for("the last row", || Some(requested()).filter(|names| names.len() >= 10));
    run.child.interrupt();
    assert!(std::fs::read_dir(&sessions).expect("a folder").count() > 1, "further files");
    let wanted: Vec<String> = (0..10).map(|n| format!("request-{n}")).collect();
    assert_eq!(names, wanted, "each row once, in order");
    let watch = output(folder.path(), &["watch"], &sessions);
    let said = String::from_utf8_lossy(&watch.stderr).into_owned();
    assert!(said.contains("is a recording (.xdsrec), which does not change"), "{said}");
}

#[test]
fn soft_descriptor_limit_is_raised() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), "ulimit -S -n 40", &folder.path().join("session.xdsrec"), &[]);
    let clients: Vec<_> = (0..60).map(|_| connect(run.address)).collect();
    wait_for("60 connections", || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", run.child.id())).expect("descriptors").count();
        (open > 120).then_some(())
    });
    drop(clients);
    assert!(!run.child.log().contains("accept failed"), "{}", run.child.log());
    run.child.interrupt();
}

/// Time in which a tap that warned at each failed `accept` would write many warnings.
const WARNINGS_TIME: Duration = Duration::from_millis(500);

/// Time after which a connection that is not served is given up for another one.
const SERVED_TIME: Duration = Duration::from_secs(5);

#[test]
fn tap_without_descriptors_accepts_again_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.xdsrec");
    let run = Run::start(folder.path(), "ulimit -n 40", &file, &[]);
    let clients: Vec<_> = (0..60).filter_map(|_| TcpStream::connect(run.address).ok()).collect();
    run.wait_for("all descriptors of the process are in use");
    quiet_for(WARNINGS_TIME, "more than 3 warnings", || run.child.log().matches("accept failed").count() > 3);
    drop(clients);
    wait_for("a connection that is served", || {
        // The first connections may come before descriptors are free.
        let mut client = TcpStream::connect(run.address).ok()?;
        client.write_all(&[start(), request("late")].concat()).ok()?;
        wait_within(SERVED_TIME, || run.child.log().contains("\"late\"").then_some(()))
    });
    run.child.interrupt();
}
