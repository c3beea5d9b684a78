//! Writes packet captures: TCP segments as pcap or pcapng in each of their variants.
#![allow(dead_code, reason = "included by tests, benchmarks and fuzz targets; each uses some of it")]

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

/// Format of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub ng: bool,
    pub big: bool,
    pub nanos: bool,
    pub link: Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Null,
    Ethernet,
    Vlan,
    Raw,
    Cooked,
    Cooked2,
}

pub const PLAIN: Form = Form { ng: false, big: false, nanos: false, link: Link::Ethernet };

/// A TCP segment.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Nanoseconds since 1970.
    pub at: u64,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub bytes: Vec<u8>,
}

pub struct Writer<W> {
    out: W,
    form: Form,
    /// Number of bytes captured of each packet.
    pub snaplen: usize,
}

impl<W: Write> Writer<W> {
    pub fn new(mut out: W, form: Form) -> io::Result<Writer<W>> {
        let link: u32 = match form.link {
            Link::Null => 0,
            Link::Ethernet | Link::Vlan => 1,
            Link::Raw => 101,
            Link::Cooked => 113,
            Link::Cooked2 => 276,
        };
        let (u16, u32) = (|n: u16| form.number16(n), |n: u32| form.number(n));
        if form.ng {
            let section =
                [u32(0x1a2b_3c4d), [u16(1), u16(0)].concat().try_into().expect("4"), [0xff; 4], [0xff; 4]];
            out.write_all(&form.block(0x0a0d_0d0a, &section.concat()))?;
            let mut interface = [u16(link as u16), u16(0)].concat();
            interface.extend(u32(0));
            // The if_tsresol option, unless it has the default value.
            if form.nanos {
                interface.extend([u16(9), u16(1)].concat());
                interface.extend([9, 0, 0, 0]);
                interface.extend([0; 4]);
            }
            out.write_all(&form.block(1, &interface))?;
        } else {
            let magic = if form.nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            out.write_all(&u32(magic))?;
            out.write_all(&[u16(2), u16(4)].concat())?;
            for n in [0, 0, 262_144, link] {
                out.write_all(&u32(n))?;
            }
        }
        Ok(Writer { out, form, snaplen: usize::MAX })
    }

    pub fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let packet = self.form.link(segment);
        self.packet(segment.at, &packet)
    }

    pub fn packet(&mut self, at: u64, packet: &[u8]) -> io::Result<()> {
        let form = self.form;
        let caught = &packet[..packet.len().min(self.snaplen)];
        let lens = [form.number(caught.len() as u32), form.number(packet.len() as u32)].concat();
        if form.ng {
            let ticks = if form.nanos { at } else { at / 1000 };
            let mut body =
                [form.number(0), form.number((ticks >> 32) as u32), form.number(ticks as u32)].concat();
            body.extend(lens);
            body.extend(caught);
            body.resize(body.len().next_multiple_of(4), 0);
            self.out.write_all(&form.block(6, &body))
        } else {
            let part = at % 1_000_000_000 / if form.nanos { 1 } else { 1000 };
            let times = [form.number((at / 1_000_000_000) as u32), form.number(part as u32)].concat();
            self.out.write_all(&[&times, &lens, caught].concat())
        }
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}

impl Form {
    fn number(self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn number16(self, n: u16) -> [u8; 2] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let len = self.number(body.len() as u32 + 12);
        [&self.number(kind)[..], &len, body, &len].concat()
    }

    fn link(self, segment: &Segment) -> Vec<u8> {
        let ip = ip(segment);
        let kind: &[u8] = if segment.from.is_ipv4() { &[8, 0] } else { &[0x86, 0xdd] };
        let family = if segment.from.is_ipv4() { 2 } else { 30 };
        match self.link {
            Link::Null => [&self.number(family)[..], &ip].concat(),
            Link::Ethernet => [&[0; 12][..], kind, &ip].concat(),
            Link::Vlan => [&[0; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2], kind, &ip].concat(),
            Link::Raw => ip,
            Link::Cooked => [&[0; 14][..], kind, &ip].concat(),
            Link::Cooked2 => [kind, &[0; 18][..], &ip].concat(),
        }
    }
}

/// Returns an IP packet with the segment.
pub fn ip(segment: &Segment) -> Vec<u8> {
    let Segment { from, to, seq, ack, flags, bytes, .. } = segment;
    let mut tcp = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
    tcp.extend(seq.to_be_bytes());
    tcp.extend(ack.to_be_bytes());
    tcp.extend([0x50, *flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(bytes);
    // The length is zero, as with segmentation offload to the network card.
    let len = |head: usize| u16::try_from(tcp.len() + head).unwrap_or(0).to_be_bytes();
    match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let head =
                [&[0x45, 0], &len(20)[..], &[0, 0, 0x40, 0, 64, 6, 0, 0], &from.octets(), &to.octets()];
            [&head.concat()[..], &tcp].concat()
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let head = [&[0x60, 0, 0, 0], &len(0)[..], &[6, 64], &from.octets(), &to.octets()];
            [&head.concat()[..], &tcp].concat()
        }
        _ => panic!("addresses of two kinds"),
    }
}

/// An HTTP/2 connection of a client (side 0) and its server (side 1), in segments.
pub struct Session<F> {
    put: F,
    pub ends: [SocketAddr; 2],
    /// Maximum size of a segment in bytes.
    pub size: usize,
    /// Sequence number of each side.
    pub seq: [u32; 2],
    /// Nanoseconds since 1970.
    pub at: u64,
}

/// Path of a state-of-the-world ADS stream.
pub const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

impl<F: FnMut(Segment)> Session<F> {
    /// Creates a session without segments. The server's sequence numbers wrap around soon.
    pub fn new(put: F) -> Session<F> {
        let ends = ["10.0.0.1:40000", "10.0.0.2:15010"].map(|end| end.parse().expect("an address"));
        Session { put, ends, size: 1448, seq: [1000, 0xffff_f000], at: 1_700_000_000_000_000_000 }
    }

    /// Writes the TCP handshake.
    pub fn connect(&mut self) {
        for (side, flags) in [(0, SYN), (1, SYN | ACK), (0, ACK)] {
            self.segment(side, flags, &[]);
        }
    }

    /// Writes the preface and the settings of both sides.
    pub fn greet(&mut self) {
        let settings = frame(4, 0, 0, &[]);
        self.send(0, &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..]].concat());
        self.send(1, &settings);
    }

    /// Opens a call with this stream id, and accepts it.
    pub fn open(&mut self, stream: u32, path: &str) {
        let head = [(":method", "POST"), (":path", path), ("content-type", "application/grpc")];
        self.send(0, &frame(1, 4, stream, &block(&head)));
        self.send(1, &frame(1, 4, stream, &block(&[(":status", "200")])));
    }

    /// Writes a gRPC message with its prefix, in frames of 16 KiB.
    pub fn message(&mut self, stream: u32, side: usize, grpc: &[u8]) {
        let mut out = Vec::with_capacity(grpc.len() + grpc.len() / 1000 + 9);
        grpc.chunks(16_384).for_each(|part| out.extend(frame(0, 0, stream, part)));
        self.send(side, &out);
    }

    /// Writes bytes in segments, every second one acknowledged.
    pub fn send(&mut self, side: usize, bytes: &[u8]) {
        for (n, part) in bytes.chunks(self.size).enumerate() {
            self.segment(side, ACK, part);
            if n % 2 == 1 {
                self.segment(1 - side, ACK, &[]);
            }
        }
    }

    pub fn segment(&mut self, side: usize, flags: u8, bytes: &[u8]) {
        let (from, to) = (self.ends[side], self.ends[1 - side]);
        let (seq, ack) = (self.seq[side], if flags & ACK == 0 { 0 } else { self.seq[1 - side] });
        self.at += 1000 + bytes.len() as u64;
        (self.put)(Segment { at: self.at, from, to, seq, ack, flags, bytes: bytes.to_vec() });
        let long = bytes.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.seq[side] = seq.wrapping_add(long);
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns a header block of literals.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}
