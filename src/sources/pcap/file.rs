use std::io::{self, Read};
use std::ops::Range;

use pcap_parser::pcapng::Block;
use pcap_parser::{LegacyPcapBlock, PcapError, PcapHeader};
use pcap_parser::{
    parse_block_be, parse_block_le, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header, parse_sectionheaderblock, traits::PcapNGPacketBlock,
};

use super::CaptureError;
use xdscope_wire::text::{count, plural};

/// Bytes per read: what fits into a core's own cache.
const READ_BYTES: usize = 256 << 10;
/// Longest record. Neither packets nor other relevant blocks are longer.
const MAX_RECORD_BYTES: usize = 16 << 20;
/// Most interfaces per section.
const MAX_INTERFACES: usize = 1 << 16;
/// The first four bytes of a pcapng file, in either byte order.
const SECTION_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Largest time in seconds since 1970: the year 2262.
const MAX_SECONDS: u64 = u64::MAX / 2 / 1_000_000_000;

/// Returns whether a file that begins with these bytes is a packet capture.
pub fn is_capture(first: &[u8]) -> bool {
    let magics = [0xa1b2_c3d4_u32, 0xa1b2_3c4d, 0xa1b2_cd34];
    let Some(magic) = first.first_chunk::<4>() else { return false };
    let is_section = || {
        *magic == SECTION_MAGIC && matches!(first.get(8..12), Some(b"\x1a\x2b\x3c\x4d" | b"\x4d\x3c\x2b\x1a"))
    };
    magics.iter().any(|known| *magic == known.to_le_bytes() || *magic == known.to_be_bytes()) || is_section()
}

/// A captured packet.
pub(super) struct Packet<'a> {
    /// Nanoseconds since 1970, if known.
    pub(super) at: Option<u64>,
    /// The LINKTYPE of the interface.
    pub(super) link: i32,
    pub(super) bytes: &'a [u8],
    /// The number of bytes that were not captured.
    pub(super) missing: u32,
}

/// A reader of the packets of a file. Buffers no more than the longest packet.
pub(super) struct CaptureFile<R> {
    input: R,
    buffer: Vec<u8>,
    /// The unused range of the buffer.
    start: usize,
    end: usize,
    /// The offset of that range in the file.
    offset: u64,
    form: CaptureFormat,
    /// A packet that was read ahead of its turn.
    ahead: Option<PacketLocation>,
    /// pcapng blocks with a packet in an unsupported form.
    pub(super) unread: u64,
    /// Why the file was not read to its end.
    pub(super) damage: Option<String>,
}

enum CaptureFormat {
    Pcap(PcapHeader),
    /// Whether the section is big-endian, and its interfaces.
    PcapNg {
        big_endian: bool,
        interfaces: Vec<Interface>,
    },
}

#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Ticks per second.
    ticks: u64,
    /// Seconds to add to each time.
    offset: i64,
}

impl<R: Read> CaptureFile<R> {
    pub(super) fn new(input: R) -> Result<CaptureFile<R>, CaptureError> {
        let form = CaptureFormat::PcapNg { big_endian: false, interfaces: Vec::new() };
        let (ahead, unread, damage) = (None, 0, None);
        let mut file = CaptureFile {
            input,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            form,
            ahead,
            unread,
            damage,
        };
        if !file.fill(24)? {
            let first = file.rest();
            let may_be_capture = first.len() < 4 || is_capture(first) || first.starts_with(&SECTION_MAGIC);
            let cut = CaptureError::Cut { at: first.len() as u64 };
            return Err(if may_be_capture { cut } else { CaptureError::Header });
        }
        if !file.rest().starts_with(&SECTION_MAGIC) {
            let (_, header) = parse_pcap_header(file.rest()).map_err(|_| CaptureError::Header)?;
            file.consume(header.size());
            file.form = CaptureFormat::Pcap(header);
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

    /// Buffers this many bytes. Returns false at the end of the file.
    fn fill(&mut self, len: usize) -> io::Result<bool> {
        while self.end - self.start < len {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.buffer.len() < len {
                self.buffer.resize(len.next_multiple_of(READ_BYTES), 0);
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

    /// Reads a number in the head of the next record, which is buffered.
    fn number(&self, at: usize, big: bool) -> usize {
        let bytes = self.rest().get(at..at + 4).and_then(|bytes| bytes.first_chunk()).copied();
        let bytes = bytes.unwrap_or_default();
        (if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }) as usize
    }

    /// Buffers the next record and returns its length, or `None` at the end.
    fn record(&mut self) -> io::Result<Option<usize>> {
        let (head, what) = match &self.form {
            CaptureFormat::Pcap(header) => (if header.is_modified_format() { 24 } else { 16 }, "packet"),
            CaptureFormat::PcapNg { .. } => (12, "block"),
        };
        let has_head = self.fill(head)?;
        if self.start == self.end {
            return Ok(None);
        }
        let len = match &mut self.form {
            _ if !has_head => 0,
            CaptureFormat::Pcap(header) => {
                let big = header.is_bigendian();
                self.number(8, big).saturating_add(head)
            }
            CaptureFormat::PcapNg { big_endian: big, .. } => {
                let mut big = *big;
                if self.rest().starts_with(&SECTION_MAGIC) {
                    // A section header states its own byte order.
                    big = self.number(8, true) == 0x1a2b_3c4d;
                }
                self.number(4, big)
            }
        };
        if has_head && (len < head || len > MAX_RECORD_BYTES) {
            let (at, len) = (count(self.offset), count(len as u64));
            return Ok(
                self.stop(format!("the {what} at byte {at} claims an impossible length of {len} bytes"))
            );
        }
        if !has_head || !self.fill(len)? {
            let (at, there) = (count(self.offset), plural((self.end - self.start) as u64, "byte"));
            return Ok(self.stop(format!("the file ends within the {what} at byte {at}, after {there}")));
        }
        Ok(Some(len))
    }

    fn stop(&mut self, why: String) -> Option<usize> {
        self.damage = Some(why);
        self.start = self.end;
        None
    }

    /// Returns the time of the first packet, if it has one.
    pub(super) fn first_time(&mut self) -> io::Result<Option<u64>> {
        self.ahead = self.locate()?;
        Ok(self.ahead.as_ref().and_then(|found| found.at))
    }

    /// Returns the next packet, or `None` at the end of the readable part.
    pub(super) fn next(&mut self) -> io::Result<Option<Packet<'_>>> {
        let found = if self.ahead.is_some() { self.ahead.take() } else { self.locate()? };
        let Some(PacketLocation { at, link, range, missing }) = found else { return Ok(None) };
        let bytes = self.buffer.get(range).unwrap_or_default();
        Ok(Some(Packet { at, link, bytes, missing }))
    }

    /// Locates the next packet in the buffer.
    fn locate(&mut self) -> io::Result<Option<PacketLocation>> {
        while self.damage.is_none() {
            let Some(len) = self.record()? else { return Ok(None) };
            let at = self.start;
            let (offset, packed) = (self.offset, at..at + len);
            self.consume(len);
            let Some(bytes) = self.buffer.get(packed.clone()) else { return Ok(None) };
            let found = match &mut self.form {
                CaptureFormat::Pcap(header) => locate_in_pcap(header, bytes).map(Some),
                CaptureFormat::PcapNg { big_endian: big, interfaces } => {
                    locate_in_pcapng(big, interfaces, bytes, &mut self.unread)
                }
            };
            match found {
                Ok(None) => {}
                Ok(Some(found)) => {
                    let range = packed.start + found.range.start..packed.start + found.range.end;
                    return Ok(Some(PacketLocation { range, ..found }));
                }
                Err(DamagedBlock) => {
                    self.stop(format!("the block at byte {} is damaged", count(offset)));
                }
            }
        }
        Ok(None)
    }
}

/// A packet's position within its record, or within the buffer.
struct PacketLocation {
    at: Option<u64>,
    link: i32,
    range: Range<usize>,
    missing: u32,
}

/// Reads the header of a packet: its time, its length and its link type.
fn locate_in_pcap(header: &PcapHeader, bytes: &[u8]) -> Result<PacketLocation, DamagedBlock> {
    let parse = match header {
        header if header.is_modified_format() => parse_pcap_frame_modified,
        header if header.is_bigendian() => parse_pcap_frame_be,
        _ => parse_pcap_frame,
    };
    let (_, LegacyPcapBlock { ts_sec, ts_usec, caplen, origlen, data }) = parse(bytes)?;
    let nanos = u64::from(ts_usec) * if header.is_nanosecond_precision() { 1 } else { 1000 };
    let at = (nanos < 1_000_000_000).then_some(u64::from(ts_sec) * 1_000_000_000 + nanos);
    // The upper bits say what follows each packet.
    let link = header.network.0 & 0xffff;
    let range = bytes.len() - data.len()..bytes.len();
    Ok(PacketLocation { at, link, range, missing: origlen.saturating_sub(caplen) })
}

/// Parses a block, and returns its packet if it holds one.
fn locate_in_pcapng(
    big: &mut bool,
    interfaces: &mut Vec<Interface>,
    bytes: &[u8],
    unread: &mut u64,
) -> Result<Option<PacketLocation>, DamagedBlock> {
    let block = match bytes {
        bytes if bytes.starts_with(&SECTION_MAGIC) => {
            let (_, section) = parse_sectionheaderblock(bytes)?;
            *big = section.big_endian();
            interfaces.clear();
            return Ok(None);
        }
        bytes if *big => parse_block_be(bytes)?.1,
        bytes => parse_block_le(bytes)?.1,
    };
    let range_of =
        |data: &[u8]| bytes.len().min(EPB_HEADER_BYTES)..bytes.len().min(EPB_HEADER_BYTES + data.len());
    match block {
        Block::InterfaceDescription(description) => {
            let ticks = description.ts_resolution().filter(|ticks| *ticks > 0).unwrap_or(1_000_000);
            if interfaces.len() < MAX_INTERFACES {
                let (link, offset) = (description.linktype.0, description.ts_offset());
                interfaces.push(Interface { link, ticks, offset });
            }
        }
        Block::EnhancedPacket(packet) => {
            let interface = interfaces.get(packet.if_id as usize).ok_or(DamagedBlock)?;
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let missing = packet.origlen.saturating_sub(packet.caplen);
            let (at, link) = (interface.time(ticks), interface.link);
            return Ok(Some(PacketLocation { at, link, range: range_of(packet.packet_data()), missing }));
        }
        Block::SimplePacket(packet) => {
            let interface = interfaces.first().ok_or(DamagedBlock)?;
            let data = packet.packet_data();
            let missing = packet.origlen.saturating_sub(data.len() as u32);
            let range = SPB_HEADER_BYTES..SPB_HEADER_BYTES + data.len();
            return Ok(Some(PacketLocation { at: None, link: interface.link, range, missing }));
        }
        Block::Unknown(unknown) if unknown.block_type == PACKET_BLOCK => *unread += 1,
        _ => {}
    }
    Ok(None)
}

/// Bytes in front of the data of an Enhanced Packet Block.
const EPB_HEADER_BYTES: usize = 28;
/// Bytes in front of the data of a Simple Packet Block.
const SPB_HEADER_BYTES: usize = 12;
/// The Packet Block, superseded by the Enhanced Packet Block in 2009.
const PACKET_BLOCK: u32 = 2;

/// A block that is not what its type or the interfaces of its section promise.
#[derive(Debug, thiserror::Error)]
#[error("the block is damaged")]
struct DamagedBlock;

impl From<pcap_parser::nom::Err<PcapError<&[u8]>>> for DamagedBlock {
    fn from(_: pcap_parser::nom::Err<PcapError<&[u8]>>) -> Self {
        DamagedBlock
    }
}

impl Interface {
    /// Converts ticks to nanoseconds since 1970.
    fn time(&self, ticks: u64) -> Option<u64> {
        let (seconds, rest) = (ticks / self.ticks, ticks % self.ticks);
        let seconds = i64::try_from(seconds).ok()?.checked_add(self.offset)?;
        let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds < MAX_SECONDS)?;
        let nanos = u128::from(rest) * 1_000_000_000 / u128::from(self.ticks);
        Some(seconds * 1_000_000_000 + u64::try_from(nanos).ok()?)
    }
}
