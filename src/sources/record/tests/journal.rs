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

/// Reads all parts, and adds the number of each message in the session file to `numbers`.
fn read_numbers(
    writer: &JournalWriter<Parts>,
    reader: &mut JournalReader,
    catalog: &mut Catalog,
    numbers: &mut Vec<(u64, Frame)>,
    last: &mut u64,
) {
    for part in writer.sink().parts.take() {
        reader.begin(part.records.into());
        let mut frames = Vec::new();
        while reader.next(catalog, &mut frames) {
            *last += reader.take_skipped();
            for frame in frames.drain(..) {
                if matches!(frame.what, FramePayload::Message(_)) {
                    *last += 1;
                    numbers.push((*last, frame));
                }
            }
        }
    }
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

/// Messages have the numbers of the session file, whatever the journal lacks.
#[test]
fn messages_behind_refused_parts_keep_their_numbers() {
    let mut written = catalog();
    let frames = session(&mut written);
    let is_message = |frame: &&Frame| matches!(frame.what, FramePayload::Message(_));
    let all: Vec<&Frame> = frames.iter().filter(is_message).collect();
    for (free, segment) in [(3, 1000), (7, 1000), (7, 5), (frames.len(), 1000)] {
        let (mut writer, mut reader, mut read_back) = (writer(2), JournalReader::default(), catalog());
        let (mut numbers, mut last) = (Vec::new(), 0);
        for (n, frame) in (1..).zip(&frames) {
            writer.write(frame, &written);
            writer.flush();
            if n % free == 0 {
                read_numbers(&writer, &mut reader, &mut read_back, &mut numbers, &mut last);
            }
            if n % segment == 0 {
                writer.begin_segment();
            }
        }
        read_numbers(&writer, &mut reader, &mut read_back, &mut numbers, &mut last);
        writer.flush();
        read_numbers(&writer, &mut reader, &mut read_back, &mut numbers, &mut last);
        assert!(numbers.len() < all.len(), "{free}");
        assert!(last > numbers.len() as u64, "{free}");
        for (n, frame) in numbers {
            let own = all[n as usize - 1];
            assert_eq!((frame.at, frame.stream), (own.at, own.stream), "{free}: #{n}");
        }
    }
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
