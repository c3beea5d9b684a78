//! A writer that is killed leaves everything it flushed, and flushes do not change the finished
//! file.

use std::io;
use std::sync::{Arc, Mutex};

use super::sample::*;
use crate::open_recording;
use crate::record::Writer;
use crate::record::output::Output;
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape};

/// One call to the system.
#[derive(Clone)]
enum Op {
    Write(u64, Vec<u8>),
    Cut(u64),
}

/// A file that remembers how it was made.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<Op>>>);

impl Output for Logged {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().push(Op::Write(at, bytes.to_vec()));
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self) -> Option<u64> {
        None
    }
    fn rewrites(&self) -> bool {
        true
    }
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().push(Op::Cut(len));
        Ok(())
    }
}

/// Does the first bytes of a call to a file.
fn apply(file: &mut Vec<u8>, op: &Op, part: usize) {
    match op {
        Op::Write(at, bytes) => {
            let (at, bytes) = (*at as usize, &bytes[..part.min(bytes.len())]);
            file.resize(file.len().max(at + bytes.len()), 0);
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Op::Cut(len) => file.truncate(*len as usize),
    }
}

fn deltas(catalog: &mut Catalog, count: u64) -> Vec<Frame> {
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
    let mut frames = vec![frame(0, 1, opened(method))];
    for i in 0..count {
        frames.push(frame(i * 500, 1, message(MessageShape::DeltaResponse, &delta(i % 40, i), catalog)));
    }
    frames
}

#[test]
fn keeps_flushed_frames_whenever_killed() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = deltas(&mut catalog, 700);
    let log = Logged::default();
    let mut writer = Writer::over(Box::new(log.clone()), header()).unwrap();
    // How many frames were flushed after so many calls.
    let mut flushed = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        writer.write(frame, &catalog).unwrap();
        writer.flush().unwrap();
        flushed.resize(log.0.lock().unwrap().len(), i);
        flushed.push(i + 1);
        flushed.truncate(log.0.lock().unwrap().len());
    }
    let before = log.0.lock().unwrap().len();
    writer.finish().unwrap();
    let ops = log.0.lock().unwrap().clone();
    flushed.resize(ops.len(), frames.len());
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Cut(_))).count(), 3, "loose blocks are replaced");
    assert!(before + 3 <= ops.len());

    let all = describe(&frames, &catalog);
    let (mut file, mut done) = (Vec::new(), 0);
    for (i, op) in ops.iter().enumerate() {
        // Cut more finely where blocks are replaced.
        let near = ops[i..ops.len().min(i + 3)].iter().any(|op| matches!(op, Op::Cut(_)));
        let len = if let Op::Write(_, bytes) = op { bytes.len() } else { 0 };
        let parts: Vec<usize> = match near {
            true => {
                (0..len).step_by(len / 23 + 1).chain([1, 5, 12, 13, 14, 22, len.saturating_sub(1)]).collect()
            }
            false => vec![len / 2],
        };
        for part in parts.into_iter().filter(|_| done > 0 && (near || i % 50 == 0)) {
            let mut killed = file.clone();
            apply(&mut killed, op, part);
            let loaded = load(&killed);
            let got = loaded.frames.len();
            assert!(got >= done, "call {i} cut at {part}: {got} of {done}: {:?}", loaded.notices);
            assert_eq!(describe(&loaded.frames, &loaded.catalog), all[..got], "call {i} cut at {part}");
            // While it is finished, nothing may be missing any more.
            let said = loaded.notices.len();
            assert!(said == 1 || i >= before && said == 0, "call {i} cut at {part}: {:?}", loaded.notices);
        }
        apply(&mut file, op, usize::MAX);
        done = flushed[i];
    }
    assert_eq!(load(&file).notices, Vec::<String>::new());
    assert_eq!(file, record(&frames, &catalog, usize::MAX), "as if nothing was flushed in between");
}

#[test]
fn reads_file_that_is_being_written() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = deltas(&mut catalog, 700);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.xdsrec");
    let mut writer = Writer::in_file(std::fs::File::create_new(&path).unwrap(), header()).unwrap();
    let mut early = None;
    for (i, frame) in frames.iter().enumerate() {
        writer.write(frame, &catalog).unwrap();
        writer.flush().unwrap();
        assert_eq!(writer.bytes_written(), std::fs::metadata(&path).unwrap().len());
        if i == 100 {
            early = Some(open_recording(&path).unwrap());
        }
    }
    writer.finish().unwrap();
    let early = early.unwrap();
    assert_eq!(describe(&early.frames, &early.catalog), describe(&frames[..101], &catalog));
    let FramePayload::Message(last) = &early.frames[100].what else { panic!("a message") };
    let Message { size, .. } = **last;
    assert_eq!(last.bytes(&early.catalog).unwrap().len() as u64, size);
    let whole = open_recording(&path).unwrap();
    assert_eq!(describe(&whole.frames, &whole.catalog), describe(&frames, &catalog));
}
