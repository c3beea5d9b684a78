//! Packet captures as sources: pcap and pcapng, down to the frames that a tap would have made of the same connections.
//!
//! ```text
//! file ──▶ packet ──▶ order ──▶ connections ──▶ observe ──▶ Frame
//!  records  link, IP   TCP in     which end       HTTP/2, gRPC,
//!           and TCP    order      asks            REST polls
//! ```
//!
//! A capture is somebody else's file: what it holds may be cut, damaged, out of order or made up. What was read stays,
//! the rest is said in notices. Segments in order are passed on where they stand in the file's buffer; others are held
//! until their turn comes, within limits. Bytes that are not in the capture are a [`wire::What::Gap`](crate::wire::What).
//!
//! Not read: fragments of IP packets, and what is under TLS (there is no support for key logs).

mod connections;
mod file;
mod order;
mod packet;

#[cfg(test)]
mod tests;

pub use file::is_capture;

use std::io::{self, Read};
use std::sync::Arc;

use crate::schema::{Schema, redact};
use crate::sources::observe::Pipeline;
use crate::sources::record::Loaded;
use crate::wire::Frame;
use crate::wire::content::{Catalog, MemoryBodies, Redact};
use crate::wire::event::{Clock, Time};
use crate::wire::text::{count, plural};
use connections::{Connections, Sink};
use file::File;
use packet::Content;

/// Why a capture can't be opened at all. Damage past the header is no error but a notice.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("can't read the capture")]
    Io(#[from] io::Error),
    #[error("the capture ends at byte {at}, within its header: nothing of it can be read")]
    Cut { at: u64 },
    #[error("not a packet capture: it begins as neither pcap nor pcapng")]
    Header,
}

/// What reading needs beyond bytes.
#[derive(Clone)]
pub struct Options {
    /// Takes secrets out before anything is kept.
    pub redact: Option<Arc<dyn Redact>>,
    /// Keys the content hashes.
    pub seed: u64,
    /// Reads REST polls.
    pub schema: Arc<Schema>,
}

/// Packets that are taken at a time.
const BATCH: usize = 4096;

/// Reads all of a capture.
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

/// Begins to read a capture.
///
/// # Errors
/// See [`CaptureError`].
pub fn start<R: Read>(input: R, options: &Options) -> Result<(Catalog, Reading<R>), CaptureError> {
    let catalog = Catalog::new(options.seed, options.redact.clone(), Box::new(MemoryBodies::default()));
    let pipeline = Pipeline::new(redact::metadata).with_rest(options.schema.clone());
    let mut reading = Reading {
        file: File::new(input)?,
        connections: Connections::new(pipeline),
        epoch: None,
        now: Time::ZERO,
        packets: Packets::default(),
        ended: false,
    };
    reading.epoch = reading.file.first_time()?;
    Ok((catalog, reading))
}

/// A capture that is read from its beginning on, some packets at a time.
pub struct Reading<R> {
    file: File<R>,
    connections: Connections,
    /// When the first packet passed, in nanoseconds since 1970.
    epoch: Option<u64>,
    now: Time,
    packets: Packets,
    ended: bool,
}

/// How many there were of each kind.
#[derive(Default)]
struct Packets {
    segments: u64,
    other: u64,
    fragments: u64,
    damaged: u64,
    unknown: u64,
    /// The last link layer that is not known.
    link: i32,
}

impl<R: Read> Reading<R> {
    /// Times are those of the packets; the first one's is zero.
    pub fn clock(&self) -> Clock {
        Clock { epoch: self.epoch.map(i128::from), untimed: false }
    }

    /// Appends the next frames to `out`, and their content to the catalog that came with this. False at the end: there
    /// are none any more.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut to = Sink { catalog, out };
        for _ in 0..BATCH {
            let Some(packet) = self.file.next()? else {
                self.ended = true;
                self.connections.finish(self.now, &mut to);
                break;
            };
            if let (Some(at), Some(epoch)) = (packet.at, self.epoch) {
                // Packets of several interfaces are not quite in order.
                self.now = self.now.max(Time(at.saturating_sub(epoch)));
            }
            match packet::read(packet.link, packet.bytes, packet.missing) {
                Content::Segment(segment) => {
                    self.packets.segments += 1;
                    self.connections.take(self.now, &segment, &mut to);
                }
                Content::Other => self.packets.other += 1,
                Content::Fragment => self.packets.fragments += 1,
                Content::Damaged => self.packets.damaged += 1,
                Content::UnknownLink => {
                    self.packets.unknown += 1;
                    self.packets.link = packet.link;
                }
            }
        }
        Ok(true)
    }

    /// Where the clock stops, and what a person must know: damage, what is missing, what can't be read.
    pub fn finish(self) -> (Time, Vec<String>) {
        let (packets, counts) = (&self.packets, self.connections.counts());
        let mut notices: Vec<String> =
            self.file.damage.iter().map(|why| format!("{why}; the rest is not read")).collect();
        let mut say = |n: u64, words: &dyn Fn() -> String| {
            if n > 0 {
                notices.push(words());
            }
        };
        say(u64::from(packets.segments == 0), &|| {
            format!(
                "there is no TCP in this capture, in {}",
                plural(packets.other + packets.unknown, "packet")
            )
        });
        say(packets.unknown, &|| {
            format!("{} of link layer {} not read", plural(packets.unknown, "packet"), packets.link)
        });
        say(self.file.unread, &|| {
            format!("{} in the obsolete form not read", plural(self.file.unread, "packet"))
        });
        say(packets.fragments, &|| format!("{} of IP not read", plural(packets.fragments, "fragment")));
        say(packets.damaged, &|| format!("{} with damaged headers", plural(packets.damaged, "packet")));
        say(counts.gaps, &|| {
            let (bytes, places) = (count(counts.missing), plural(counts.gaps, "place"));
            format!("{bytes} bytes of TCP streams are not in the capture, in {places}")
        });
        say(counts.tls, &|| {
            format!(
                "{} under TLS can't be read from a capture (key logs are not supported): `xdscope tap` in front of \
                 the server records what passes",
                plural(counts.tls, "connection")
            )
        });
        say(counts.begun, &|| {
            let begun = plural(counts.begun, "connection");
            format!(
                "{begun} began before the capture: the methods of their streams are told by their messages"
            )
        });
        say(counts.sideless, &|| {
            format!("of {} it can't be told which end is the client", plural(counts.sideless, "connection"))
        });
        say(counts.unlisted, &|| {
            format!("{} that can't be read not listed", plural(counts.unlisted, "connection"))
        });
        say(counts.beyond, &|| {
            format!("{} of connections beyond 65,536 at a time not read", plural(counts.beyond, "packet"))
        });
        (self.now, notices)
    }
}
