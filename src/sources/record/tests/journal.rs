//! A journal yields the frames that were written, whatever its parts and segments.

use std::cell::RefCell;
use std::io;

use super::sample::*;
use crate::record::{JournalPart, JournalReader, JournalWriter, PartSink};
use xdscope_wire::content::{Catalog, MemoryBodies, UsedContent};
use xdscope_wire::{Frame, FramePayload};

/// The parts that are written and not read. Refuses parts while it has `max` of them.
struct Parts {
    parts: RefCell<Vec<JournalPart>>,
    max: usize,
}

impl PartSink for Parts {
    fn take(&mut self, part: JournalPart) -> io::Result<()> {
        if self.parts.get_mut().len() >= self.max {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.parts.get_mut().push(part);
        Ok(())
    }
}

fn writer(max: usize) -> JournalWriter<Parts> {
    JournalWriter::new(Parts { parts: RefCell::default(), max })
}

fn catalog() -> Catalog {
    Catalog::new(42, None, Box::new(MemoryBodies::default()))
}

/// Reads all parts. Drops all contents when a segment begins.
fn read(
    writer: &JournalWriter<Parts>,
    reader: &mut JournalReader,
    catalog: &mut Catalog,
    out: &mut Vec<Frame>,
) -> usize {
    let mut segments = 0;
    for part in writer.sink().parts.take() {
        if part.begins_segment {
            segments += 1;
            let mut used = UsedContent::default();
            for frame in out.iter() {
                if let FramePayload::Message(message) = &frame.what {
                    message.mark(&mut used);
                }
            }
            catalog.retain(used);
        }
        reader.begin(part.records.into());
        while reader.next(catalog, out) {}
    }
    segments
}

#[test]
fn frames_pass_unchanged() {
    let mut written = catalog();
    let frames = session(&mut written);
    for (flush, segment) in [(1, 1000), (1, 4), (5, 1000), (1000, 1000)] {
        let (mut writer, mut reader) = (writer(usize::MAX), JournalReader::default());
        let (mut read_back, mut out, mut segments) = (catalog(), Vec::new(), 0);
        for (n, frame) in (1..).zip(&frames) {
            assert!(writer.write(frame, &written));
            if n % flush == 0 {
                writer.flush();
            }
            if n % segment == 0 {
                writer.begin_segment();
            }
            segments += read(&writer, &mut reader, &mut read_back, &mut out);
        }
        writer.flush();
        segments += read(&writer, &mut reader, &mut read_back, &mut out);
        assert_eq!(describe(&out, &read_back), describe(&frames, &written), "{flush} {segment}");
        assert_eq!(segments, 1 + (frames.len() - 1) / segment);
    }
}

#[test]
fn equal_contents_of_segments_are_joined() {
    let mut written = catalog();
    let frames = session(&mut written);
    let (mut writer, mut reader, mut read_back, mut out) =
        (writer(usize::MAX), JournalReader::default(), catalog(), Vec::new());
    for _ in 0..2 {
        frames.iter().for_each(|frame| assert!(writer.write(frame, &written)));
        writer.begin_segment();
        read(&writer, &mut reader, &mut read_back, &mut out);
    }
    assert_eq!(read_back.totals(), written.totals());
}

#[test]
fn refused_parts_become_gaps() {
    let mut written = catalog();
    let frames = session(&mut written);
    let messages = |frames: &[Frame]| -> u64 {
        let count = |frame: &Frame| match &frame.what {
            FramePayload::Message(_) => 1,
            FramePayload::Gap { messages, .. } => *messages,
            _ => 0,
        };
        frames.iter().map(count).sum()
    };
    for free in [3, 7, frames.len()] {
        let (mut writer, mut reader, mut read_back, mut out) =
            (writer(2), JournalReader::default(), catalog(), Vec::new());
        let mut lost = false;
        for (n, frame) in (1..).zip(&frames) {
            let is_written = writer.write(frame, &written) && writer.flush();
            lost |= !is_written;
            if n % free == 0 {
                read(&writer, &mut reader, &mut read_back, &mut out);
            }
        }
        read(&writer, &mut reader, &mut read_back, &mut out);
        writer.flush();
        read(&writer, &mut reader, &mut read_back, &mut out);
        assert!(lost);
        assert_eq!(messages(&out), messages(&frames), "{free}");
        for frame in &out {
            if let FramePayload::Message(message) = &frame.what {
                assert!(message.bytes(&read_back).is_some(), "contents of lost parts are written again");
            }
        }
    }
}
