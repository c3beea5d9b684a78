use std::io::Write;

use super::sample::*;
use crate::record::{RecordReadError, VERSION, Writer, read};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::text::plural;
use xdscope_wire::{Frame, FramePayload, GapCause, MessageShape};

fn small() -> (Vec<String>, Vec<u8>) {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    (describe(&frames, &catalog), record(&frames, &catalog, 2))
}

#[test]
fn opens_recording_truncated_anywhere() {
    let (all, file) = small();
    let mut before = 0;
    for end in 0..file.len() {
        let Ok(loaded) = read(&file[..end]) else {
            assert_eq!(before, 0, "what opened once opens with more");
            continue;
        };
        let got = describe(&loaded.frames, &loaded.catalog);
        assert_eq!(got[..], all[..got.len()], "cut at {end}");
        assert!(got.len() >= before, "cut at {end}: more bytes, fewer frames");
        before = got.len();
        assert_eq!(loaded.notices.len(), 1, "cut at {end}: {:?}", loaded.notices);
    }
    assert_eq!(before, all.len());
}

#[test]
fn reports_truncated_and_damaged_headers() {
    let (_, file) = small();
    assert!(matches!(read(&file[..0]), Err(RecordReadError::Empty)));
    assert!(matches!(read(&file[..12]), Err(RecordReadError::Cut { at: 12 })));
    assert!(matches!(read(&file[..30]), Err(RecordReadError::Cut { at: 30 })));
    assert!(matches!(read(&b"something else"[..]), Err(RecordReadError::Unknown)));
    let mut newer = file.clone();
    newer[8] = VERSION as u8 + 2;
    let text = read(&newer[..]).map(|_| ()).unwrap_err().to_string();
    assert_eq!(text, "format version 3 is newer than this xdscope reads (1): update xdscope");
    let mut bad = file;
    bad[25] ^= 1;
    assert!(matches!(read(&bad[..]), Err(RecordReadError::Header { .. })));
}

#[test]
fn survives_flipped_bits() {
    let (all, file) = small();
    for at in 0..file.len() {
        for bit in [0, 3, 7] {
            let mut bad = file.clone();
            bad[at] ^= 1 << bit;
            let Ok(loaded) = read(&bad[..]) else { continue };
            let got = describe(&loaded.frames, &loaded.catalog);
            assert!(got.iter().all(|frame| all.contains(frame)), "byte {at} bit {bit}");
            assert!(!loaded.notices.is_empty(), "byte {at} bit {bit}");
        }
    }
}

/// A session of several segments.
fn large() -> (Vec<Frame>, Catalog, Vec<u8>) {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let mut frames = vec![frame(0, 1, opened(ADS))];
    for i in 0..8000 {
        let response = push(&[&cluster(i, 0), &cluster(i / 2, 0), &cluster(i * 7, 1)], i);
        frames.push(frame(2 * i, 1, message(MessageShape::SotwResponse, &response, &mut catalog)));
        frames.push(frame(2 * i + 1, 1, message(MessageShape::SotwRequest, &ack(i, None), &mut catalog)));
    }
    let file = record(&frames, &catalog, 20);
    (frames, catalog, file)
}

#[test]
fn damage_costs_one_segment() {
    let (frames, catalog, file) = large();
    let all = describe(&frames, &catalog);
    assert!(file.len() > 400 << 10, "several segments: {}", file.len());
    let at = file.len() / 2;
    let mut bad = file;
    bad[at] ^= 0x40;
    let loaded = read(&bad[..]).unwrap();
    let got = describe(&loaded.frames, &loaded.catalog);
    let same = got.iter().zip(&all).take_while(|(a, b)| a == b).count();
    // Later frames may refer to resources whose content was lost.
    let when = |frame: &Frame| (frame.at, frame.stream);
    let rest =
        loaded.frames.iter().rev().zip(frames.iter().rev()).take_while(|(a, b)| when(a) == when(b)).count();
    assert!(same > all.len() / 4, "the part before: {same}");
    assert!(rest > all.len() / 10, "the part after: {rest}");
    let lost = all.len() - got.len();
    assert!(lost > 0 && lost < all.len() / 3, "{lost} lost");
    assert!(loaded.notices[0].starts_with("damaged at byte "), "{:?}", loaded.notices);
    assert!(
        loaded.notices[0]
            .contains(&format!("{} and 0 other events are lost", plural(lost as u64, "message"))),
        "{:?}",
        loaded.notices
    );
}

#[test]
fn knows_stream_whose_opening_is_lost() {
    let (_, _, mut file) = large();
    file[200] ^= 0x40;
    let loaded = read(&file[..]).unwrap();
    let FramePayload::Open(open) = &loaded.frames[0].what else { panic!("{:?}", loaded.frames[0]) };
    assert!(open.partial && open.method == ADS && open.peer.is_some());
    assert!(matches!(loaded.frames[1].what, FramePayload::Message(_)));
}

#[test]
fn reads_flushed_frames() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    let file = SharedFile::default();
    let mut writer = Writer::new(file.clone(), header()).unwrap();
    for (i, frame) in frames.iter().enumerate() {
        writer.write(frame, &catalog).unwrap();
        writer.flush().unwrap();
        let loaded = load(&file.bytes());
        assert_eq!(loaded.frames.len(), i + 1);
        assert!(loaded.notices[0].starts_with("not closed"), "{:?}", loaded.notices);
    }
    assert_eq!(writer.bytes_written(), file.bytes().len() as u64);
    drop(writer);
}

#[test]
fn counts_frames_lost_to_full_disk() {
    #[derive(Clone)]
    struct Disk(SharedFile, std::sync::Arc<std::sync::atomic::AtomicBool>);
    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.1.load(std::sync::atomic::Ordering::Relaxed) {
                // Half of it, as disks do.
                let _ = self.0.write(&bytes[..bytes.len() / 2]);
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    let disk = Disk(SharedFile::default(), Default::default());
    let mut writer = Writer::new(disk.clone(), header()).unwrap();
    for (i, frame) in frames.iter().enumerate() {
        disk.1.store(i == 6, std::sync::atomic::Ordering::Relaxed);
        writer.write(frame, &catalog).unwrap();
        assert_eq!(writer.flush().is_err(), i == 6);
    }
    writer.finish().unwrap();
    let loaded = load(&disk.0.bytes());
    assert_eq!(loaded.frames.len(), frames.len());
    let FramePayload::Message(lost) = &frames[6].what else { panic!("{:?}", frames[6]) };
    let gap = FramePayload::Gap { dir: None, messages: 1, bytes: lost.size, cause: GapCause::Lost };
    assert_eq!(format!("{:?}", loaded.frames[6].what), format!("{gap:?}"));
    assert!(loaded.notices[0].contains("1 message and 0 other events are lost"), "{:?}", loaded.notices);
}

#[test]
fn keeps_beginning_of_truncated_short_recording() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let mut frames = vec![frame(0, 1, opened(ADS))];
    for i in 0..300 {
        frames.push(frame(
            i * 500,
            1,
            message(MessageShape::SotwResponse, &push(&[&cluster(i, i)], i), &mut catalog),
        ));
    }
    let whole = record(&frames, &catalog, 1);
    let all = describe(&frames, &catalog);
    let mut lost = Vec::new();
    for end in [whole.len() - 1, whole.len() * 3 / 4, whole.len() / 2] {
        let loaded = load(&whole[..end]);
        assert_eq!(describe(&loaded.frames, &loaded.catalog), all[..loaded.frames.len()]);
        assert_eq!(loaded.notices.len(), 1, "{:?}", loaded.notices);
        lost.push(all.len() - loaded.frames.len());
    }
    assert!(
        lost[0] <= 40 && lost[1] <= 150 && lost[2] <= 250,
        "{lost:?} of {} in {} bytes",
        all.len(),
        whole.len()
    );
}
