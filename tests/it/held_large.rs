//! Held messages that are larger than the windows of their receiver.

use std::io::{Read, Write};
use std::net::TcpStream;

use xdscope::wire::pb::put_len_field;

use crate::support::{
    faulty::{Fault, Faulty, response},
    raw_h2::{PREFACE, ads_headers, field, frame, message},
    snapshot::CLUSTER,
    tap::Tap,
    wait::{PATIENCE, wait_for},
};

/// Frame types of HTTP/2.
const DATA: u8 = 0;
const WINDOW_UPDATE: u8 = 8;

/// Reads until the end of the connection and returns each window at once. Returns the bytes of
/// messages.
fn read_all(mut stream: TcpStream) -> usize {
    let mut bytes = 0;
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; len as usize];
        if stream.read_exact(&mut payload).is_err() {
            break;
        }
        if head[3] == DATA && len > 0 {
            bytes += payload.len();
            let updates = [0, 1].map(|number| frame(WINDOW_UPDATE, 0, number, &len.to_be_bytes()));
            // The tap may be gone by now.
            let _ = stream.write_all(&updates.concat());
        }
    }
    bytes
}

#[test]
fn a_held_message_beyond_the_windows_arrives_whole_when_the_tap_ends() {
    let cluster = |n: usize| {
        let mut cluster = Vec::new();
        put_len_field(&mut cluster, 1, format!("cluster-{n:060}").as_bytes());
        cluster
    };
    let push = response((0..10_000).map(cluster));
    assert!(push.len() > 1_000_000, "{} bytes, and windows have 65,535", push.len());
    let server = Faulty::start(vec![Fault::Sends(push.clone())]);
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::start(folder.path(), server.address, &["--fault", "type:cds kind:push => hold 1h"]);
    let mut client = TcpStream::connect(tap.address()).expect("a connection");
    client.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let start = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat();
    client.write_all(&start).expect("the tap reads");
    client.write_all(&message(1, false, &field(4, CLUSTER))).expect("the tap reads");
    wait_for("the push to be held", || tap.says("push held by fault 1").then_some(()));
    let reader = std::thread::spawn(move || read_all(client));
    tap.stop();
    assert_eq!(reader.join().expect("a count"), push.len());
}
