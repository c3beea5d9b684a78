use std::collections::HashSet;

use xdscope_sources::record::{Loaded, raw};
use xdscope_wire::FramePayload;

/// Checks that any lines are read or reported, that each frame lies within its stream, and that the
/// messages are written and read back unchanged.
///
/// Input: the lines.
pub fn raw_jsonl(data: &[u8]) {
    let loaded = raw::read(data).expect("memory");
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(loaded.notices.len() <= lines + 2, "{} notices", loaded.notices.len());
    let mut open = HashSet::new();
    for frame in &loaded.frames {
        match frame.what {
            FramePayload::Open(_) => assert!(open.insert(frame.stream), "{:?} is opened twice", frame.stream),
            _ => assert!(open.contains(&frame.stream), "{:?} is not open", frame.stream),
        }
    }
    let mut writer = raw::Writer::new(Vec::new(), loaded.clock, None);
    for frame in &loaded.frames {
        writer.write(frame, &loaded.catalog).expect("memory");
    }
    let text = writer.finish().expect("memory");
    let again = raw::read(text.as_slice()).expect("memory");
    assert_eq!(messages(&again), messages(&loaded), "{}", String::from_utf8_lossy(&text));
}

fn messages(loaded: &Loaded) -> Vec<Option<Vec<u8>>> {
    let messages = loaded.frames.iter().filter_map(|frame| match &frame.what {
        FramePayload::Message(message) => Some(message.bytes(&loaded.catalog)),
        _ => None,
    });
    messages.collect()
}
