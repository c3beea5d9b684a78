//! Taps and control planes that end: clients go on elsewhere.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::process::{Child, free_port};
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message};
use crate::support::snapshot::CLUSTER;
use crate::support::tap::{Recording, Tap, xdscope};
use crate::support::wait::{PATIENCE, pass, wait_for};

/// Frame types of HTTP/2.
const DATA: u8 = 0;
const GOAWAY: u8 = 7;

/// Time after which the client tries the next address.
const RETRY_TIME: Duration = Duration::from_millis(20);

/// Opens an ADS stream, and calls `take` with each frame until the connection ends.
fn stream(server: SocketAddr, mut take: impl FnMut(u8, &[u8])) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let start = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat();
    stream.write_all(&start)?;
    stream.write_all(&message(1, false, &field(4, CLUSTER)))?;
    let mut head = [0; 9];
    loop {
        stream.read_exact(&mut head)?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload)?;
        take(head[3], &payload);
    }
}

/// A client that knows several addresses of its control plane, as a cluster of an Envoy does.
struct Client {
    /// Streams that have got a response.
    streams: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Client {
    fn start(servers: Vec<SocketAddr>) -> Client {
        let client = Client { streams: Arc::default(), is_over: Arc::default() };
        let (streams, is_over) = (client.streams.clone(), client.is_over.clone());
        std::thread::spawn(move || {
            for server in servers.into_iter().cycle() {
                let mut has_response = false;
                // A connection that ends, or cannot be opened: the next server is asked.
                let _ = stream(server, |kind, _| {
                    if kind == DATA && !std::mem::replace(&mut has_response, true) {
                        streams.fetch_add(1, Ordering::Relaxed);
                    }
                });
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                pass(RETRY_TIME);
            }
        });
        client
    }

    fn wait_for_stream(&self, number: usize) {
        wait_for("a response on the next stream", || {
            (self.streams.load(Ordering::Relaxed) >= number).then_some(())
        });
    }
}

/// Starts a tap that records to a folder, as a supervisor does.
fn tap(folder: &Path, listen: SocketAddr, server: SocketAddr) -> Child {
    let mut command = xdscope(folder);
    command.args(["tap", &server.to_string(), "--listen", &listen.to_string(), "--no-tui", "--record"]);
    let mut child = Child::start(command.arg(folder), &folder.join("log"));
    wait_for("the tap to listen", || {
        child.assert_running();
        TcpStream::connect(listen).ok()
    });
    child
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "xdsrec")).collect()
}

/// The pattern of docs/tap.md: a restarted tap leaves its clients to the other one.
#[test]
fn clients_of_two_taps_restarted_in_turn_always_have_one() {
    let root = tempfile::tempdir().expect("a folder");
    let server = Tap::serve(root.path(), Path::new("examples/nack.xds"), &[]);
    let address = || format!("127.0.0.1:{}", free_port()).parse().expect("an address");
    let taps: [(PathBuf, SocketAddr); 2] = ["a", "b"].map(|name| (root.path().join(name), address()));
    let start = |(folder, listen): &(PathBuf, SocketAddr)| tap(folder, *listen, server.address());
    taps.iter().for_each(|(folder, _)| std::fs::create_dir(folder).expect("a folder"));
    let mut running = [0, 1].map(|number| Some(start(&taps[number])));
    let client = Client::start(taps.iter().map(|(_, listen)| *listen).collect());
    client.wait_for_stream(1);
    for number in [0, 1] {
        running[number].take().expect("a tap").interrupt();
        // The other tap serves the client while this one is down.
        client.wait_for_stream(2 + number);
        running[number] = Some(start(&taps[number]));
    }
    client.is_over.store(true, Ordering::Relaxed);
    running.into_iter().flatten().for_each(Child::interrupt);
    for (folder, _) in &taps {
        let files = recordings(folder);
        assert_eq!(files.len(), 2, "a file of each run: {files:?}");
    }
    let files = taps.iter().flat_map(|(folder, _)| recordings(folder));
    let messages: usize = files
        .filter_map(|file| Recording { file }.answer("log", &["-o", "jsonl"]))
        .map(|output| String::from_utf8_lossy(&output.stdout).matches("\"n\":").count())
        .sum();
    assert!(messages >= 6, "a request and a response of each stream: {messages}");
}

#[test]
fn a_control_plane_that_ends_sends_goaway() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Tap::serve(folder.path(), Path::new("examples/nack.xds"), &[]);
    let (has_response, address) = (Arc::new(AtomicBool::new(false)), server.address());
    let answered = has_response.clone();
    let client = std::thread::spawn(move || {
        let mut goaway = None;
        let end = stream(address, |kind, payload| match kind {
            DATA => answered.store(true, Ordering::Relaxed),
            GOAWAY => goaway = Some(payload.to_vec()),
            _ => {}
        });
        end.expect_err("the end of the connection");
        goaway
    });
    wait_for("a response", || has_response.load(Ordering::Relaxed).then_some(()));
    server.stop();
    let goaway = client.join().expect("a client").expect("a GOAWAY before the end");
    // No error: the highest stream, and code 0.
    assert_eq!(goaway.get(..8), Some(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0][..]));
}
