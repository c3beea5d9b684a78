use std::io::{self, Read};

use pcap_parser::pcapng::Block;
use pcap_parser::{LegacyPcapBlock, PcapError, PcapHeader};
use pcap_parser::{
    parse_block_be, parse_block_le, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header, parse_sectionheaderblock, traits::PcapNGPacketBlock,
};

use super::CaptureError;
use crate::wire::text::{count, plural};

/// Bytes that are read at a time: as many as stay in a core's own cache.
const STEP: usize = 256 << 10;
/// No packet is that long, nor is a block of anything else that matters.
const LARGEST: usize = 16 << 20;
/// Interfaces that are told apart in one section.
const INTERFACES: usize = 1 << 16;
/// The first four bytes of a pcapng file, in either byte order.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Seconds since 1970 beyond which a time is none: those of the year 2262.
const LATEST: u64 = u64::MAX / 2 / 1_000_000_000;

/// Whether these are the first bytes of a packet capture, in pcap or pcapng.
pub fn is_capture(first: &[u8]) -> bool {
    let magics = [0xa1b2_c3d4_u32, 0xa1b2_3c4d, 0xa1b2_cd34];
    let Some(magic) = first.first_chunk::<4>() else { return false };
    let is_section =
        || *magic == SECTION && matches!(first.get(8..12), Some(b"\x1a\x2b\x3c\x4d" | b"\x4d\x3c\x2b\x1a"));
    magics.iter().any(|known| *magic == known.to_le_bytes() || *magic == known.to_be_bytes()) || is_section()
}

/// A packet as it was captured.
pub(super) struct Packet<'a> {
    /// Nanoseconds since 1970, where that is known.
    pub(super) at: Option<u64>,
    /// LINKTYPE of its interface.
    pub(super) link: i32,
    pub(super) bytes: &'a [u8],
    /// Bytes of it that were not captured.
    pub(super) missing: u32,
}

/// The packets of a file, one at a time. Holds no more than the longest of them.
pub(super) struct File<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of the buffer is still to be used.
    start: usize,
    end: usize,
    /// Where in the file that stands.
    offset: u64,
    form: Form,
    /// A packet that was looked at before its turn.
    ahead: Option<Found>,
    /// Blocks of pcapng that hold a packet in a form that is not read.
    pub(super) unread: u64,
    /// Why it was not read to its end.
    pub(super) damage: Option<String>,
}

enum Form {
    Pcap(PcapHeader),
    /// Big-endian, and the interfaces of the section.
    PcapNg {
        big: bool,
        interfaces: Vec<Interface>,
    },
}

#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Ticks a second.
    ticks: u64,
    /// Seconds to add.
    offset: i64,
}

impl<R: Read> File<R> {
    pub(super) fn new(input: R) -> Result<File<R>, CaptureError> {
        let form = Form::PcapNg { big: false, interfaces: Vec::new() };
        let (ahead, unread, damage) = (None, 0, None);
        let mut file =
            File { input, buffer: vec![0; STEP], start: 0, end: 0, offset: 0, form, ahead, unread, damage };
        if !file.has(24)? {
            return Err(CaptureError::Cut { at: file.end as u64 });
        }
        if !file.rest().starts_with(&SECTION) {
            let (_, header) = parse_pcap_header(file.rest()).map_err(|_| CaptureError::Header)?;
            file.consume(header.size());
            file.form = Form::Pcap(header);
        }
        Ok(file)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn consume(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }

    /// Reads until so many bytes are there; false at the end of the file.
    fn has(&mut self, len: usize) -> io::Result<bool> {
        while self.end - self.start < len {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.buffer.len() < len {
                self.buffer.resize(len.next_multiple_of(STEP), 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// A number of the next record's head, which is there.
    fn number(&self, at: usize, big: bool) -> usize {
        let bytes = self.rest().get(at..at + 4).and_then(|bytes| bytes.first_chunk()).copied();
        let bytes = bytes.unwrap_or_default();
        (if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }) as usize
    }

    /// Makes the next record stand whole at the front of the buffer; its length. `None`: there is none any more.
    fn record(&mut self) -> io::Result<Option<usize>> {
        let (head, what) = match &self.form {
            Form::Pcap(header) => (if header.is_modified_format() { 24 } else { 16 }, "packet"),
            Form::PcapNg { .. } => (12, "block"),
        };
        let whole = self.has(head)?;
        if self.start == self.end {
            return Ok(None);
        }
        let len = match &mut self.form {
            _ if !whole => 0,
            Form::Pcap(header) => {
                let big = header.is_bigendian();
                self.number(8, big).saturating_add(head)
            }
            Form::PcapNg { big, .. } => {
                let mut big = *big;
                if self.rest().starts_with(&SECTION) {
                    // The order of its bytes is written in a section's head.
                    big = self.number(8, true) == 0x1a2b_3c4d;
                }
                self.number(4, big)
            }
        };
        if whole && (len < head || len > LARGEST) {
            let (at, len) = (count(self.offset), count(len as u64));
            return Ok(self.stop(format!("at byte {at} stands a {what} of {len} bytes, which can't be")));
        }
        if !whole || !self.has(len)? {
            let (at, there) = (count(self.offset), plural((self.end - self.start) as u64, "byte"));
            return Ok(
                self.stop(format!("the file ends within the {what} at byte {at}: {there} of it are there"))
            );
        }
        Ok(Some(len))
    }

    fn stop(&mut self, why: String) -> Option<usize> {
        self.damage = Some(why);
        self.start = self.end;
        None
    }

    /// The time of the first packet that has one; of pcapng, where the first packet has none, none.
    pub(super) fn first_time(&mut self) -> io::Result<Option<u64>> {
        self.ahead = self.find()?;
        Ok(self.ahead.as_ref().and_then(|found| found.at))
    }

    /// The next packet; `None` at the end of what can be read.
    pub(super) fn next(&mut self) -> io::Result<Option<Packet<'_>>> {
        let found = if self.ahead.is_some() { self.ahead.take() } else { self.find()? };
        let Some(Found { at, link, within, missing }) = found else { return Ok(None) };
        let bytes = self.buffer.get(within.0..within.1).unwrap_or_default();
        Ok(Some(Packet { at, link, bytes, missing }))
    }

    /// Where in the buffer the next packet stands.
    fn find(&mut self) -> io::Result<Option<Found>> {
        while self.damage.is_none() {
            let Some(len) = self.record()? else { return Ok(None) };
            let at = self.start;
            let (place, packed) = (self.offset, at..at + len);
            self.consume(len);
            let Some(bytes) = self.buffer.get(packed.clone()) else { return Ok(None) };
            let found = match &mut self.form {
                Form::Pcap(header) => legacy(header, bytes).map(Some),
                Form::PcapNg { big, interfaces } => block(big, interfaces, bytes, &mut self.unread),
            };
            match found {
                Ok(None) => {}
                Ok(Some(found)) => {
                    let within = (packed.start + found.within.0, packed.start + found.within.1);
                    return Ok(Some(Found { within, ..found }));
                }
                Err(()) => {
                    self.stop(format!("the block at byte {} is damaged", count(place)));
                }
            }
        }
        Ok(None)
    }
}

/// A packet, by its place within its record, or within the buffer.
struct Found {
    at: Option<u64>,
    link: i32,
    within: (usize, usize),
    missing: u32,
}

fn legacy(header: &PcapHeader, bytes: &[u8]) -> Result<Found, ()> {
    let parse = match header {
        header if header.is_modified_format() => parse_pcap_frame_modified,
        header if header.is_bigendian() => parse_pcap_frame_be,
        _ => parse_pcap_frame,
    };
    let (_, LegacyPcapBlock { ts_sec, ts_usec, caplen, origlen, data }) = parse(bytes).map_err(|_| ())?;
    let nanos = u64::from(ts_usec) * if header.is_nanosecond_precision() { 1 } else { 1000 };
    let at = Some(u64::from(ts_sec) * 1_000_000_000 + nanos).filter(|_| nanos < 1_000_000_000);
    // The upper bits say what stands behind each packet.
    let link = header.network.0 & 0xffff;
    let within = (bytes.len() - data.len(), bytes.len());
    Ok(Found { at, link, within, missing: origlen.saturating_sub(caplen) })
}

/// Takes in a block; the packet, if it holds one.
fn block(
    big: &mut bool,
    interfaces: &mut Vec<Interface>,
    bytes: &[u8],
    unread: &mut u64,
) -> Result<Option<Found>, ()> {
    let block = match bytes {
        bytes if bytes.starts_with(&SECTION) => {
            let (_, section) = parse_sectionheaderblock(bytes).map_err(gone)?;
            *big = section.big_endian();
            interfaces.clear();
            return Ok(None);
        }
        bytes if *big => parse_block_be(bytes).map_err(gone)?.1,
        bytes => parse_block_le(bytes).map_err(gone)?.1,
    };
    let within = |data: &[u8]| (bytes.len().min(HEAD_OF_EPB), bytes.len().min(HEAD_OF_EPB + data.len()));
    match block {
        Block::InterfaceDescription(description) => {
            let ticks = description.ts_resolution().filter(|ticks| *ticks > 0).unwrap_or(1_000_000);
            if interfaces.len() < INTERFACES {
                let (link, offset) = (description.linktype.0, description.ts_offset());
                interfaces.push(Interface { link, ticks, offset });
            }
        }
        Block::EnhancedPacket(packet) => {
            let interface = interfaces.get(packet.if_id as usize).ok_or(())?;
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let missing = packet.origlen.saturating_sub(packet.caplen);
            let (at, link) = (interface.time(ticks), interface.link);
            return Ok(Some(Found { at, link, within: within(packet.packet_data()), missing }));
        }
        Block::SimplePacket(packet) => {
            let interface = interfaces.first().ok_or(())?;
            let data = packet.packet_data();
            let start = 12;
            let missing = packet.origlen.saturating_sub(data.len() as u32);
            let within = (start, start + data.len());
            return Ok(Some(Found { at: None, link: interface.link, within, missing }));
        }
        Block::Unknown(unknown) if unknown.block_type == OBSOLETE => *unread += 1,
        _ => {}
    }
    Ok(None)
}

/// Bytes in front of the data of an Enhanced Packet Block.
const HEAD_OF_EPB: usize = 28;
/// The Packet Block, which the Enhanced one took the place of in 2009.
const OBSOLETE: u32 = 2;

fn gone(_: pcap_parser::nom::Err<PcapError<&[u8]>>) {}

impl Interface {
    /// Nanoseconds since 1970.
    fn time(&self, ticks: u64) -> Option<u64> {
        let (seconds, rest) = (ticks / self.ticks, ticks % self.ticks);
        let seconds = i64::try_from(seconds).ok()?.checked_add(self.offset)?;
        let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds < LATEST)?;
        let nanos = u128::from(rest) * 1_000_000_000 / u128::from(self.ticks);
        Some(seconds * 1_000_000_000 + u64::try_from(nanos).ok()?)
    }
}
