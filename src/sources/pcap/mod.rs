//! Packet captures as sources: pcap and pcapng, decoded to the frames that a tap would have made.
//!
//! ```text
//! file ──▶ packet ──▶ order ──▶ connections ──▶ observe ──▶ Frame
//!  records  link, IP   TCP in     which end       HTTP/2, gRPC,
//!           and TCP    order      asks            REST polls
//! ```
//!
//! A capture may be cut, damaged, reordered or forged. Whatever could be read is kept; notices
//! report the rest. Segments in order are passed on from the file's buffer; later ones are
//! buffered, within limits, until their turn comes. Bytes that the capture lacks become a
//! [gap](xdscope_wire::FramePayload::Gap).
//!
//! Not supported: fragmented IP packets, and TLS (key logs can't be used).

pub(crate) mod connections;
mod file;
mod order;
mod packet;

#[cfg(test)]
mod tests;

pub use file::is_capture;

use std::io::{self, Read};
use std::sync::Arc;

use crate::observe::Pipeline;
use crate::record::Loaded;
use connections::{Connections, FrameOutput};
use file::CaptureFile;
use packet::PacketContent;
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact, UsedContent};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{count, plural};

/// Why a capture can't be opened. Damage behind the header is a notice, not an error.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Reading failed.
    #[error("can't read the capture")]
    Io(#[from] io::Error),
    /// The file ends within its header.
    #[error("the capture is cut off at byte {at}, within its header, and can't be read")]
    Cut {
        /// Length of the file, in bytes.
        at: u64,
    },
    /// The file does not begin with a header of either format.
    #[error("not a packet capture: neither a pcap nor a pcapng header")]
    Header,
}

/// The context in which a capture is read.
#[derive(Clone)]
pub struct Options {
    /// Redacts secrets before anything is stored.
    pub redact: Option<Arc<dyn Redact>>,
    /// The key of the content hashes.
    pub seed: u64,
    /// The descriptors that decode REST polls.
    pub schema: Arc<Schema>,
}

/// Packets handled per call of [`CaptureReader::next`].
const PACKETS_PER_READ: usize = 4096;

/// Reads a complete capture.
///
/// # Errors
/// See [`CaptureError`].
pub fn read(input: impl Read, options: &Options) -> Result<Loaded, CaptureError> {
    let (mut catalog, mut reading) = start(input, options)?;
    let mut frames = Vec::new();
    while reading.next(&mut catalog, &mut frames)? {}
    let clock = reading.clock();
    let (end, notices) = reading.finish();
    Ok(Loaded { catalog, clock, frames, end, notices, secrets: false })
}

/// Starts reading a capture.
///
/// # Errors
/// See [`CaptureError`].
pub fn start<R: Read>(input: R, options: &Options) -> Result<(Catalog, CaptureReader<R>), CaptureError> {
    let catalog = Catalog::new(options.seed, options.redact.clone(), Box::new(MemoryBodies::default()));
    // Headers are redacted in any case.
    let redact = options.redact.clone();
    let redact = redact.unwrap_or_else(|| Arc::new(Redactor::new(options.schema.clone(), options.seed)));
    let pipeline = Pipeline::new(move |name, value| redact.metadata(name, value));
    let pipeline = pipeline.with_rest(options.schema.clone());
    let mut reading = CaptureReader {
        file: CaptureFile::new(input)?,
        connections: Connections::new(pipeline),
        epoch: None,
        now: Time::ZERO,
        packets: Packets::default(),
        ended: false,
    };
    reading.epoch = reading.file.first_time()?;
    Ok((catalog, reading))
}

/// A capture that is read in order, some packets at a time.
pub struct CaptureReader<R> {
    file: CaptureFile<R>,
    connections: Connections,
    /// Nanoseconds from 1970 to the first packet.
    epoch: Option<u64>,
    now: Time,
    packets: Packets,
    ended: bool,
}

/// The numbers of packets of each kind.
#[derive(Default)]
struct Packets {
    segments: u64,
    other: u64,
    fragments: u64,
    damaged: u64,
    unknown: u64,
    /// The link type of the last packet with an unknown one.
    link: i32,
}

impl<R: Read> CaptureReader<R> {
    /// Returns the capture's clock, which is zero at the first packet.
    pub fn clock(&self) -> Clock {
        Clock { epoch: self.epoch.map(i128::from), untimed: false }
    }

    /// Appends the next frames to `out`, and their content to the catalog that came with the
    /// reader.
    ///
    /// Returns false at the end of the capture.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut to = FrameOutput { catalog, out };
        for _ in 0..PACKETS_PER_READ {
            let Some(packet) = self.file.next()? else {
                self.ended = true;
                self.connections.finish(self.now, &mut to);
                break;
            };
            if let (Some(at), Some(epoch)) = (packet.at, self.epoch) {
                // Packets of several interfaces may be slightly out of order.
                self.now = self.now.max(Time(at.saturating_sub(epoch)));
            }
            match packet::read(packet.link, packet.bytes, packet.missing) {
                PacketContent::Segment(segment) => {
                    self.packets.segments += 1;
                    self.connections.take(self.now, &segment, &mut to);
                }
                PacketContent::Other => self.packets.other += 1,
                PacketContent::Fragment => self.packets.fragments += 1,
                PacketContent::Damaged => self.packets.damaged += 1,
                PacketContent::UnknownLink => {
                    self.packets.unknown += 1;
                    self.packets.link = packet.link;
                }
            }
        }
        Ok(true)
    }

    /// Marks the contents of unfinished messages as used.
    pub fn mark(&mut self, used: &mut UsedContent) {
        self.connections.mark(used);
    }

    /// Returns the time at which the capture ends, and messages to the user about what could not be
    /// read.
    pub fn finish(self) -> (Time, Vec<String>) {
        let (packets, counts) = (&self.packets, self.connections.counts());
        let mut notices: Vec<String> =
            self.file.damage.iter().map(|why| format!("{why}; the rest is skipped")).collect();
        let mut say = |n: u64, words: &dyn Fn() -> String| {
            if n > 0 {
                notices.push(words());
            }
        };
        say(u64::from(packets.segments == 0), &|| {
            let all = packets.other + packets.unknown;
            format!("no TCP in this capture of {}", plural(all, "packet"))
        });
        say(packets.unknown, &|| {
            format!("{} of unsupported link type {} skipped", plural(packets.unknown, "packet"), packets.link)
        });
        say(self.file.unread, &|| {
            format!("{} in obsolete Packet Blocks skipped", plural(self.file.unread, "packet"))
        });
        say(packets.fragments, &|| {
            format!("{} skipped: reassembly is not supported", plural(packets.fragments, "IP fragment"))
        });
        say(packets.damaged, &|| {
            format!("{} with damaged headers skipped", plural(packets.damaged, "packet"))
        });
        say(counts.gaps, &|| {
            let (bytes, places) = (count(counts.missing), plural(counts.gaps, "place"));
            format!("{bytes} bytes of TCP streams are missing from the capture, in {places}")
        });
        say(counts.tls, &|| {
            format!(
                "{} under TLS can't be decrypted (key logs are not supported): record the traffic with \
                 `xdscope tap` in front of the server",
                plural(counts.tls, "connection")
            )
        });
        say(counts.midway, &|| {
            let begun = plural(counts.midway, "connection");
            format!(
                "{begun} began before the capture: the methods of their streams are inferred from their messages"
            )
        });
        say(counts.without_client, &|| {
            format!("the client of {} is unknown", plural(counts.without_client, "connection"))
        });
        say(counts.unlisted, &|| {
            format!("{} more that can't be read", plural(counts.unlisted, "connection"))
        });
        say(counts.unfollowed, &|| {
            format!("{} skipped: more than 65,536 connections at a time", plural(counts.unfollowed, "packet"))
        });
        (self.now, notices)
    }
}
