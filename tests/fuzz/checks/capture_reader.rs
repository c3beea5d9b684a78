use std::collections::HashSet;
use std::io::{self, Read};

use xdscope_schema::Schema;
use xdscope_sources::pcap::{self, Options};
use xdscope_wire::{Frame, FramePayload};

use super::Input;
use super::capture::{Form, Link, Segment, Writer};

/// Checks that any bytes are either rejected or read: each frame is on an open stream that has not
/// ended, and the result is the same for any division of the file.
///
/// Input: a byte of setup. 0: a file as is. Otherwise its bits are the format of a file, and the
/// following parts become segments of one connection, mixed with those of another: a byte (bit 0:
/// from the server, bits 1 to 5 the flags of TCP, bit 6 from another port, bit 7 with another
/// sequence number), a byte of length, with bit 7 two bytes with the difference, and as many bytes.
pub fn capture_reader(data: &[u8]) {
    let mut input = Input(data);
    let setup = input.byte();
    let file = if setup == 0 { input.0.to_vec() } else { build(input, setup) };
    let whole = read(&file[..]);
    assert_eq!(read(Drops(&file, 1)), whole, "a byte at a time");
    assert_eq!(read(Drops(&file, 61)), whole, "in pieces");
}

/// Describes frames and notices; `None` if the file is rejected.
fn read(input: impl Read) -> Option<Vec<String>> {
    let options = Options { redact: None, seed: 1, schema: Schema::builtin() };
    let loaded = pcap::read(input, &options).ok()?;
    let (mut open, mut words) = (HashSet::new(), Vec::new());
    let mut now = loaded.frames.first().map(|frame| frame.at).unwrap_or_default();
    for Frame { at, stream, what } in &loaded.frames {
        assert!(now <= *at, "time goes on");
        now = *at;
        let known = match what {
            FramePayload::Open(_) => open.insert(*stream),
            FramePayload::End(_) => open.remove(stream),
            _ => open.contains(stream),
        };
        assert!(known, "{stream:?} is not open, or twice: {what:?}");
        let what = match what {
            FramePayload::Message(message) => {
                let bytes = message.bytes(&loaded.catalog).expect("it is in memory");
                format!("{:?} {bytes:?}", message.shape)
            }
            other => format!("{other:?}"),
        };
        words.push(format!("{at:?} {stream:?} {what}"));
    }
    assert!(loaded.notices.len() < 20, "{:?}", loaded.notices);
    words.extend(loaded.notices);
    Some(words)
}

/// A file that is read this many bytes at a time.
struct Drops<'a>(&'a [u8], usize);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(into.len());
        self.0.read(&mut into[..len])
    }
}

fn build(mut input: Input<'_>, setup: u8) -> Vec<u8> {
    let links = [Link::Ethernet, Link::Null, Link::Vlan, Link::Raw, Link::Cooked, Link::Cooked2];
    let link = links[usize::from(setup >> 3) % links.len()];
    let form = Form { ng: setup & 1 != 0, big: setup & 2 != 0, nanos: setup & 4 != 0, link };
    let mut writer = Writer::new(Vec::new(), form).expect("memory");
    let (mut seq, mut at) = ([0xffff_fff0_u32, 7], 1_700_000_000_000_000_000);
    while !input.is_empty() {
        let (how, len) = (input.byte(), input.byte());
        let off = if how & 0x80 != 0 { i16::from_le_bytes([input.byte(), input.byte()]) } else { 0 };
        let bytes = input.bytes(len.into()).to_vec();
        let (side, flags) = (usize::from(how & 1), how >> 1 & 0x1f);
        let port = 40_000 + u16::from(how >> 6 & 1);
        let ends = [port, 15_010].map(|port| ([10, 0, 0, 1], port).into());
        let number = seq[side].wrapping_add_signed(off.into());
        at += 20_000_000;
        let end = number.wrapping_add(bytes.len() as u32 + u32::from(flags & 3 != 0));
        let (from, to) = (ends[side], ends[1 - side]);
        writer
            .segment(&Segment { at, from, to, seq: number, ack: seq[1 - side], flags, bytes })
            .expect("memory");
        if off == 0 {
            seq[side] = end;
        }
    }
    writer.into_inner()
}
