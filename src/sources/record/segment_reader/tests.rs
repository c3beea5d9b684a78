//! Limits of what a recording may ask for, and numbers of blobs.

use super::super::header::Header;
use super::*;
use xdscope_wire::pb::put_len_field;

/// Encodes a message with a list of two entries, repeated `again` times.
fn message(again: usize) -> Vec<u8> {
    let mut message = vec![0x18, 1];
    put_len_field(&mut message, 8, &[0x2a, 2, 1, 0]);
    for _ in 0..again {
        put_len_field(&mut message, 8, &[0x10, 1]);
    }
    message
}

/// Returns a reader of a file without content, and the catalog of the contents.
fn reader() -> (SegmentReader, Catalog) {
    let reader = SegmentReader::new(FileBodies::new(Box::new(std::io::Cursor::new(Vec::new()))));
    let catalog = Catalog::new(0, None, Box::new(reader.bodies.clone().unwrap()));
    (reader, catalog)
}

fn read(entries_left: u64, again: usize) -> Option<FramePayload> {
    let (mut reader, mut catalog) = reader();
    reader.entries_left = entries_left;
    let state = SegmentCursor { number: 0, raw: Bytes::new(), at: 0 };
    reader.blob(decode::blob(b""), &state, &mut catalog);
    reader.message(&message(again), &mut catalog)
}

/// Reads a highly compressed segment of this many blobs.
fn blobs(left: u64, blobs: usize) -> (u64, Vec<String>) {
    let (mut reader, mut catalog) = reader();
    reader.blobs_left = left;
    let mut raw = Vec::new();
    for _ in 0..blobs {
        put_len_field(&mut raw, encode::BLOB, b"");
    }
    let block =
        Block { offset: 0, packed_len: 5, raw_len: raw.len() as u32, starts_segment: true, is_loose: false };
    reader.push_region(FileRegion::Segment(raw, vec![block]));
    reader.read_some(&mut catalog);
    (catalog.blob_count() as u64, reader.finish(&Header::default()).1)
}

#[test]
fn limits_blobs_by_file_size() {
    let (all, notices) = blobs(2, 7);
    assert!(all == 7 && notices.iter().all(|text| !text.contains("decompresses to more")), "{notices:?}");
    let (some, notices) = blobs(2, 8);
    assert!(some == 7 && notices.iter().any(|text| text.contains("decompresses to more")), "{notices:?}");
}

#[test]
fn limits_frames_and_notices_by_file_size() {
    let read = |record: &dyn Fn(&mut Vec<u8>, u64)| {
        let mut reader = SegmentReader::new(FileBodies::new(Box::new(std::io::Cursor::new(Vec::new()))));
        reader.frames_left = 1000;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone().unwrap()));
        let mut raw = Vec::new();
        (1..5000).for_each(|n| record(&mut raw, n));
        reader.push_region(FileRegion::Segment(raw, Vec::new()));
        let mut frames = 0;
        loop {
            reader.read_some(&mut catalog);
            if reader.frames.is_empty() {
                break;
            }
            frames += reader.frames.drain(..).count();
        }
        (frames, reader.finish(&Header::default()).1)
    };
    let (frames, notices) = read(&|raw, _| put_len_field(raw, encode::OPEN, b""));
    assert!(frames == 1000 && notices.iter().any(|text| text.contains("decompresses to more")));
    let fields = [0x32, 0].repeat(99);
    let (frames, _) = read(&|raw, _| put_len_field(raw, encode::OPEN, &fields));
    assert_eq!(frames, 10);
    let (_, notices) = read(&|raw, n| {
        put_len_field(raw, encode::START, &[0x10, (n % 128) as u8 | 0x80, (n / 128) as u8]);
    });
    assert!(notices.len() <= MAX_LOSS_NOTICES + 2, "{} notices", notices.len());
}

#[test]
fn resolves_blob_numbers_across_loss_and_reuse() {
    let (mut reader, mut catalog) = reader();
    let state = SegmentCursor { number: 0, raw: Bytes::new(), at: 0 };
    let blobs = |reader: &mut SegmentReader, catalog: &mut Catalog, start: u32, count: usize| {
        reader.start(SegmentStart { blobs: start, ..SegmentStart::default() });
        (0..count).for_each(|_| reader.blob(decode::blob(b""), &state, catalog));
    };
    blobs(&mut reader, &mut catalog, 0, 3);
    blobs(&mut reader, &mut catalog, 5, 2);
    let ids = |reader: &mut SegmentReader, catalog: &mut Catalog| -> Vec<Option<u32>> {
        (0..8).map(|number| Some(reader.id(number, catalog)?.0)).collect()
    };
    // Numbers 3 and 4 are lost; their stand-ins come last.
    let all = [0, 1, 2, 5, 6, 3, 4].map(Some);
    assert_eq!(ids(&mut reader, &mut catalog)[..7], all);
    assert_eq!(ids(&mut reader, &mut catalog)[7], None);
    blobs(&mut reader, &mut catalog, 7, 1);
    assert_eq!(ids(&mut reader, &mut catalog)[..8], [0, 1, 2, 5, 6, 3, 4, 7].map(Some));
    // A hostile file numbers backwards.
    blobs(&mut reader, &mut catalog, 1, 1);
    assert_eq!(ids(&mut reader, &mut catalog)[..3], [Some(0), Some(8), None]);
}

#[test]
fn limits_list_entries() {
    assert!(read(2, 0).is_some());
    assert!(read(1, 0).is_none());
    // Joining two lists counts their four entries again.
    assert!(read(6, 1).is_some());
    assert!(read(5, 1).is_none());
}

#[test]
fn limits_list_entries_by_file_size() {
    let (mut reader, mut catalog) = reader();
    let mut raw = Vec::new();
    put_len_field(&mut raw, encode::BLOB, b"");
    put_len_field(&mut raw, encode::MESSAGE, &message(0));
    // Each list takes the entries of the one before twice.
    for power in 1..30u32 {
        let mut runs = Vec::new();
        let entries = 1u64 << power;
        for number in [0, 0, entries, 0, entries * 2 - 1, entries] {
            xdscope_wire::pb::put_varint(&mut runs, number);
        }
        let (mut list, mut record) = (vec![0x18, 1], vec![0x18, 1]);
        put_len_field(&mut list, 4, &runs);
        put_len_field(&mut record, 8, &list);
        put_len_field(&mut raw, encode::MESSAGE, &record);
    }
    reader.push_region(FileRegion::Segment(raw, Vec::new()));
    let (mut longest, mut messages) = (0, 0);
    loop {
        reader.read_some(&mut catalog);
        if reader.frames.is_empty() {
            break;
        }
        for frame in reader.frames.drain(..) {
            let FramePayload::Message(message) = frame.what else { continue };
            longest = longest.max(message.resources().map_or(0, |list| list.len()));
            messages += 1;
        }
    }
    let notices = reader.finish(&Header::default()).1;
    // Longer lists are more than a message may have, but are read as the base of others.
    assert_eq!((longest, messages), (1 << 18, 18), "{notices:?}");
    assert!(notices.iter().any(|text| text.contains("more content than its size allows")), "{notices:?}");
}
