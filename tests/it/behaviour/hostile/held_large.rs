//! Messages that an armed tap holds or makes larger than windows and memory are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use xdscope_wire::pb::put_len_field;

use crate::support::{
    faulty::{Fault, Faulty, response},
    raw_h2::{PREFACE, ads_headers, field, frame, message},
    snapshot::CLUSTER,
    tap::Tap,
    wait::{PATIENCE, pass, wait_for},
};

/// Frame types of HTTP/2.
const DATA: u8 = 0;
const WINDOW_UPDATE: u8 = 8;

/// Reads until the end of the connection, or until there are `enough` bytes of messages, and returns
/// each window at once, as far as the tap takes it. Returns the bytes of messages.
fn read_until(enough: usize, mut stream: TcpStream) -> usize {
    let mut bytes = 0;
    let mut head = [0; 9];
    while bytes < enough && stream.read_exact(&mut head).is_ok() {
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; len as usize];
        if stream.read_exact(&mut payload).is_err() {
            break;
        }
        if head[3] == DATA && len > 0 {
            bytes += payload.len();
            let updates = [0, 1].map(|number| frame(WINDOW_UPDATE, 0, number, &len.to_be_bytes()));
            if stream.write_all(&updates.concat()).is_err() {
                break;
            }
        }
    }
    bytes
}

/// Returns a push of clusters.
fn push_of(clusters: usize) -> Bytes {
    let cluster = |n: usize| {
        let mut cluster = Vec::new();
        put_len_field(&mut cluster, 1, format!("cluster-{n:060}").as_bytes());
        cluster
    };
    response((0..clusters).map(cluster))
}

/// A client whose only push a fault acts on.
struct Pushed {
    tap: Tap,
    client: TcpStream,
    _folder: tempfile::TempDir,
}

impl Pushed {
    fn open(push: Bytes, args: &[&str]) -> Pushed {
        let server = Faulty::start(vec![Fault::Sends(push)]);
        let folder = tempfile::tempdir().expect("a folder");
        let tap = Tap::start(folder.path(), server.address, args);
        let mut client = TcpStream::connect(tap.address()).expect("a connection");
        client.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let start = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat();
        client.write_all(&start).expect("the tap reads");
        client.write_all(&message(1, false, &field(4, CLUSTER))).expect("the tap reads");
        Pushed { tap, client, _folder: folder }
    }
}

#[test]
fn a_held_message_beyond_the_windows_arrives_whole_when_the_tap_ends() {
    let push = push_of(10_000);
    assert!(push.len() > 1_000_000, "{} bytes, and windows have 65,535", push.len());
    let Pushed { tap, client, _folder } =
        Pushed::open(push.clone(), &["--fault", "type:cds kind:push => hold 1h"]);
    wait_for("the push to be held", || tap.says("push held by fault 1").then_some(()));
    let reader = std::thread::spawn(move || read_until(usize::MAX, client));
    tap.stop();
    assert_eq!(reader.join().expect("a count"), push.len());
}

/// Time for which a client leaves messages unread: longer than the silence after which a tap that
/// stops considers them handled, and shorter than its patience.
const UNREAD_TIME: Duration = Duration::from_millis(400);

/// The client answers while it reads, as real ones do, and gives up if it cannot.
#[test]
fn a_held_message_arrives_at_a_client_that_reads_late_when_the_tap_ends() {
    let push = push_of(300);
    let size = push.len();
    let Pushed { tap, client, _folder } =
        Pushed::open(push.clone(), &["--fault", "type:cds kind:push => hold 1h"]);
    wait_for("the push to be held", || tap.says("push held by fault 1").then_some(()));
    let reader = std::thread::spawn(move || {
        let mut sent = vec![0; 2 * size];
        wait_for("the whole push in the socket", || {
            (client.peek(&mut sent).expect("a connection") > size).then_some(())
        });
        pass(UNREAD_TIME);
        read_until(usize::MAX, client)
    });
    tap.stop();
    assert_eq!(reader.join().expect("a count"), push.len());
}

#[test]
fn a_message_beyond_the_memory_of_armed_connections_arrives() {
    const PADDING: usize = 20 << 20;
    let args = ["--memory", "64MB", "--fault", "type:cds kind:push => pad 20MiB times=1"];
    let Pushed { tap, client, _folder } = Pushed::open(push_of(1), &args);
    assert!(read_until(PADDING, client) >= PADDING);
    tap.stop();
}
