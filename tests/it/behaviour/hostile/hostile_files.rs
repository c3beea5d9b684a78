//! Small hostile files: each is refused or read within a gigabyte of address space and two minutes.
//!
//! The limits are those of an unoptimized build; the parsers that the files attack needed several
//! gigabytes, minutes, or the whole stack.

use std::hash::Hasher as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::time::Duration;

use twox_hash::XxHash3_64;
use xdscope_sources::record::Header;
use xdscope_wire::pb::put_len_field;

/// Kilobytes of address space of a process, of which the program and its threads take 200 MB.
const ADDRESS_SPACE: usize = 1 << 20;
/// Address space that loose blocks in memory would exceed.
const LITTLE_SPACE: usize = 400 << 10;
/// Seconds of processor time for a file, whatever else the processors do.
const CPU_SECONDS: u32 = 110;
/// Time for a file, after which its reader hangs.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs a verb on a file with this content, and returns its output.
#[track_caller]
fn read(verb: &[&str], name: &str, content: &[u8]) -> (Output, String) {
    read_within(ADDRESS_SPACE, verb, name, content)
}

/// Runs a verb within this many kilobytes of address space.
#[track_caller]
fn read_within(space: usize, verb: &[&str], name: &str, content: &[u8]) -> (Output, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, content).expect("a file");
    let mut command = limited(folder.path(), space);
    command.args(verb).arg(&file);
    let (done, wait) = channel();
    std::thread::spawn(move || done.send(command.output().expect("a process")).unwrap_or_default());
    let output =
        wait.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} takes more than {PATIENCE:?}"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    assert!(code.is_some_and(|code| code < 70), "{name}: {:?} {error}", output.status);
    assert!(error.len() < 10_000, "{name}: {} bytes of errors", error.len());
    (output, error)
}

/// Returns the program with a limit on its memory.
fn limited(folder: &Path, space: usize) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!(
        "ulimit -v {space} && ulimit -t {CPU_SECONDS} && exec timeout {} \"$0\" \"$@\"",
        PATIENCE.as_secs() - 10
    ));
    command.arg(env!("CARGO_BIN_EXE_xdscope"));
    command.env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder).env("RUST_BACKTRACE", "0");
    command
}

#[track_caller]
fn refuse(verb: &[&str], name: &str, content: &[u8], why: &str) {
    let (output, error) = read(verb, name, content);
    assert!(output.status.code() != Some(0) && error.contains(why), "{:?} {error}", output.status);
}

/// The values of a JSON list that needs a hundred times the memory of its text.
fn values() -> String {
    format!("[{}0]", "[0],".repeat(2_500_000))
}

#[test]
fn json_of_many_values() {
    let why = "the values need more than";
    refuse(&["status"], "x.json", format!("{{\"resources\": {}}}", values()).as_bytes(), why);
    refuse(&["lint"], "boot.json", format!("{{\"xds_servers\": {}}}", values()).as_bytes(), why);
    let line =
        format!("{{\"dir\":\"open\",\"t\":1,\"stream\":1,\"method\":\"/a\",\"node_hint\":{}}}\n", values());
    refuse(&["status"], "x.jsonl", line.as_bytes(), why);
}

#[test]
fn client_status_of_many_values() {
    read(&["status"], "x.pb", &[0x0a, 0].repeat(15_000_000));
}

#[test]
fn text_of_many_levels() {
    let text = "resources { [type.googleapis.com/google.protobuf.Value] { ".to_owned()
        + &"list_value { values { ".repeat(100_000);
    refuse(&["status"], "x.pbtxt", text.as_bytes(), "nested");
}

/// Encodes a `FileDescriptorProto` with imports, all of them public.
fn file(name: &str, imports: &[String], rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_len_field(&mut bytes, 1, name.as_bytes());
    imports.iter().for_each(|import| put_len_field(&mut bytes, 3, import.as_bytes()));
    (0..imports.len()).for_each(|import| bytes.extend([0x50, import as u8]));
    bytes.extend(rest);
    put_len_field(&mut bytes, 12, b"proto3");
    let mut set = Vec::new();
    put_len_field(&mut set, 1, &bytes);
    set
}

#[test]
fn descriptor_sets() {
    let verb = ["explain", "Cluster.name", "--protoset"];
    let refuse = |set: &[u8], why| refuse(&verb, "x.bin", set, why);
    refuse(b"\x0a\x0d\x0a\x01a\x62\x08edition9", "syntax \"edition9\" is not supported");
    read(&verb, "x.bin", &file("a", &["a".to_owned()], b""));
    let lattice = (0..40).flat_map(|n| {
        let imports: Vec<String> = (n + 1..40).take(3).map(|import| import.to_string()).collect();
        file(&n.to_string(), &imports, b"")
    });
    read(&verb, "x.bin", &lattice.collect::<Vec<_>>());
    refuse(&file("a", &[], &[0x22, 0].repeat(2_000_000)), "\"\" is not the name of a message");
    let mut package = Vec::new();
    put_len_field(&mut package, 2, ("a.".repeat(30_000) + "a").as_bytes());
    refuse(&file("a", &[], &package), "is not a package name");
}

/// Returns a block of a recording (proto/recording.proto).
fn block(kind: u8, payload: &[u8], raw: usize) -> Vec<u8> {
    let mut head = vec![0xd5, 0xb1, kind];
    head.extend(&(payload.len() as u32).to_le_bytes()[..3]);
    head.extend(&(raw as u32).to_le_bytes()[..3]);
    let mut hash = XxHash3_64::new();
    hash.write(&head);
    hash.write(payload);
    [&head, &(hash.finish() as u32).to_le_bytes()[..], payload].concat()
}

/// Returns a recording of one segment: `count` blocks of `block`, compressed together.
fn packed(count: usize, window_log: u32, content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(window_log).expect("a window");
    let mut file = Header::default().encode();
    for number in 0..count {
        encoder.write_all(content).expect("memory");
        encoder.flush().expect("memory");
        let payload = std::mem::take(encoder.get_mut());
        file.extend(block(if number == 0 { 1 } else { 2 }, &payload, content.len()));
    }
    file
}

/// A `Gap` of stream 1.
const GAP: [u8; 6] = [0x3a, 4, 8, 1, 16, 1];

#[test]
fn recording_that_decompresses_to_gigabytes() {
    // One blob of 4 GB that never ends.
    let mut content = vec![0; 1 << 20];
    content[..6].copy_from_slice(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    let file = packed(2_000, 20, &content);
    assert!(file.len() < 400_000, "{}", file.len());
    read(&["status"], "x.xdsrec", &file);
    // Records that can be read.
    let gaps = GAP.repeat((1 << 20) / GAP.len());
    read(&["status"], "x.xdsrec", &packed(60, 20, &gaps));
}

#[test]
fn recording_with_a_large_window() {
    let gaps = GAP.repeat((1 << 20) / GAP.len());
    let (_, error) = read(&["info"], "x.xdsrec", &packed(3, 28, &gaps));
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn recording_of_loose_blocks() {
    // Each of them waits for the compressed block that replaces it.
    let mut file = Header::default().encode();
    (0..2_000_000).for_each(|number| file.extend(block(if number == 0 { 3 } else { 4 }, &[], 0)));
    read_within(LITTLE_SPACE, &["info"], "x.xdsrec", &file);
    // A field that is not known, in each block.
    let mut field = vec![0; 1 << 20];
    field[..4].copy_from_slice(&[0x7a, 0xfc, 0xff, 0x3f]);
    let mut file = Header::default().encode();
    (0..300).for_each(|number| file.extend(block(if number == 0 { 3 } else { 4 }, &field, field.len())));
    read_within(LITTLE_SPACE, &["info"], "x.xdsrec", &file);
}
