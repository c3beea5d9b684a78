use xdscope_schema::Schema;
use xdscope_sources::pcap;

use super::Input;
use super::capture::{Form, Link, PLAIN, Writer};

/// Checks that packets with any headers are read or counted, and that the result does not depend on
/// the format of the capture.
///
/// Input: a byte with the link type, a byte with the number of bytes that were captured, then
/// packets: a length and as many bytes.
pub fn packet_headers(data: &[u8]) {
    const LINKS: [Link; 6] = [Link::Null, Link::Ethernet, Link::Vlan, Link::Raw, Link::Cooked, Link::Cooked2];
    let mut input = Input(data);
    let link = LINKS[usize::from(input.byte()) % LINKS.len()];
    let snaplen = usize::from(input.byte()) * 4;
    let mut packets = Vec::new();
    while !input.is_empty() {
        let len = input.byte();
        packets.push(input.bytes(len.into()));
    }
    let ng = Form { link, ng: true, big: true, nanos: true };
    let [a, b] = [Form { link, ..PLAIN }, ng].map(|form| read(form, snaplen, &packets));
    assert_eq!(a, b, "{link:?}");
}

/// Describes the frames and the notices.
fn read(form: Form, snaplen: usize, packets: &[&[u8]]) -> (Vec<String>, Vec<String>) {
    let mut writer = Writer::new(Vec::new(), form).expect("memory");
    writer.snaplen = snaplen;
    for (at, packet) in packets.iter().enumerate() {
        writer.packet(1_000_000_000 + at as u64 * 1000, packet).expect("memory");
    }
    let options = pcap::Options { redact: None, seed: 0, schema: Schema::builtin() };
    let loaded = pcap::read(writer.into_inner().as_slice(), &options).expect("a capture");
    let words = loaded.frames.iter().map(|frame| format!("{:?} {:?}", frame.stream, frame.what));
    (words.collect(), loaded.notices)
}
