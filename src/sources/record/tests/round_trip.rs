use proptest::prelude::*;

use super::sample::*;
use crate::open_recording as open;
use crate::record::Writer;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Dir, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{
    Frame, FramePayload, Interference, Intervention, InterventionFacts, Message, MessageShape,
};

#[test]
fn round_trips_session() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    for every in [1, 3, 1000] {
        let loaded = load(&record(&frames, &catalog, every));
        assert_eq!(
            describe(&loaded.frames, &loaded.catalog),
            describe(&frames, &catalog),
            "flush every {every}"
        );
        assert_eq!(loaded.notices, Vec::<String>::new());
        assert_eq!((loaded.clock, loaded.end), (header().clock, Time(14_000_000)));
    }
}

fn intervention(catalog: &mut Catalog) -> Intervention {
    let facts = InterventionFacts {
        interference: Interference::Bounced,
        dir: Dir::Resp,
        is_delta: false,
        type_url: CDS.into(),
        version: "7".into(),
        nonce: "n7".into(),
        by: "fault 1: type:cds => bounce no".into(),
    };
    let original = Some(push(&[&cluster(1, 1)], 7).into());
    let what = Intervention { facts, original, sent: Some("".into()), sent_dir: Dir::Req };
    what.kept(catalog)
}

#[test]
fn interventions_are_beside_the_frames() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let mut frames = session(&mut catalog);
    let what = intervention(&mut catalog);
    let plain = load(&record(&frames, &catalog, 3));
    for at in [11, 5, 2] {
        let Frame { at: time, stream, .. } = frames[at - 1];
        let what = FramePayload::Intercepted(Box::new(what.clone()));
        frames.insert(at, Frame { at: time, stream, what });
    }
    let loaded = load(&record(&frames, &catalog, 3));
    assert_eq!(loaded.notices, Vec::<String>::new(), "they are not counted");
    let read: Vec<_> = loaded
        .frames
        .iter()
        .filter_map(|frame| match &frame.what {
            FramePayload::Intercepted(read) => Some((frame.at, frame.stream, (**read).clone())),
            _ => None,
        })
        .collect();
    let wanted: Vec<_> = frames
        .iter()
        .filter_map(|frame| match &frame.what {
            FramePayload::Intercepted(_) => Some((frame.at, frame.stream, what.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(read, wanted);
    let others = loaded.frames.iter().filter(|frame| !matches!(frame.what, FramePayload::Intercepted(_)));
    let others: Vec<Frame> = others.cloned().collect();
    assert_eq!(describe(&others, &loaded.catalog), describe(&plain.frames, &plain.catalog));
}

#[test]
fn ends_after_last_frame() {
    let file = SharedFile::default();
    let mut writer = Writer::new(file.clone(), header()).unwrap();
    writer.write(&frame(1, 1, opened(ADS)), &Catalog::in_memory()).unwrap();
    writer.advance(Time(9_000_000));
    writer.finish().unwrap();
    assert_eq!(load(&file.bytes()).end, Time(9_000_000));
}

#[test]
fn next_file_keeps_times_before_the_end_of_the_last_one() {
    let (folder, catalog) = (tempfile::tempdir().unwrap(), Catalog::in_memory());
    let file = |name: &str| std::fs::File::create_new(folder.path().join(name)).unwrap();
    let mut writer = Writer::in_file(file("a"), header()).unwrap();
    writer.write(&frame(1, 1, opened(ADS)), &catalog).unwrap();
    // The clock is ahead of frames that wait to be written.
    writer.advance(Time(9_000_000));
    writer.rotate(file("b"), &header(), &catalog).unwrap();
    writer.write(&frame(2, 2, opened(ADS)), &catalog).unwrap();
    writer.finish().unwrap();
    let times = |name: &str| {
        let loaded = open(&folder.path().join(name)).unwrap();
        (loaded.frames.last().unwrap().at, loaded.end)
    };
    assert_eq!(times("a"), (Time(1_000_000), Time(9_000_000)));
    assert_eq!(times("b"), (Time(2_000_000), Time(9_000_000)));
}

#[test]
fn reads_bodies_from_file() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let mut frames = vec![frame(0, 1, opened(ADS))];
    for i in 0..200 {
        let clusters: Vec<_> = (0..100).map(|j| cluster(i * 100 + j, i)).collect();
        let entries: Vec<_> = clusters.iter().map(Vec::as_slice).collect();
        frames.push(frame(i, 1, message(MessageShape::SotwResponse, &push(&entries, i), &mut catalog)));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.xdsrec");
    let mut writer = Writer::new(std::fs::File::create_new(&path).unwrap(), header()).unwrap();
    for frame in &frames {
        writer.write(frame, &catalog).unwrap();
    }
    writer.finish().unwrap();
    let loaded = open(&path).unwrap();
    // Back to front, so that segments which are no longer at hand are read again.
    for (was, is) in frames.iter().zip(&loaded.frames).rev() {
        let (was, is) = (std::slice::from_ref(was), std::slice::from_ref(is));
        assert!(describe(is, &loaded.catalog) == describe(was, &catalog), "at {:?}", was[0].at);
    }
}

#[test]
fn records_only_content_that_frames_need() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    let loaded = load(&record(&frames[11..], &catalog, 1));
    assert_eq!(describe(&loaded.frames[..], &loaded.catalog)[..4], describe(&frames[11..], &catalog)[..4]);
    assert!(loaded.catalog.blob_count() <= 4, "{}", loaded.catalog.blob_count());
}

/// Takes out what follows `secret:`.
struct NoSecrets;

impl Redact for NoSecrets {
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let at = bytes.windows(7).position(|w| w == b"secret:")?;
        let mut any = Vec::new();
        put_len_field(&mut any, 1, b"t/secret");
        put_len_field(&mut any, 2, &bytes[at..at + 7]);
        Some(any)
    }
    fn text(&self, text: &str) -> Option<String> {
        text.contains("secret:").then(|| "[redacted]".into())
    }
    fn raw(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
    fn fields(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn redacted_content_keeps_hash_without_secret() {
    let mut catalog =
        Catalog::new(42, Some(std::sync::Arc::new(NoSecrets)), Box::new(MemoryBodies::default()));
    let mut any = Vec::new();
    put_len_field(&mut any, 1, b"t/secret");
    put_len_field(&mut any, 2, b"secret:hunter2");
    let mut resource = b"\x0a\x01v\x1a\x01n".to_vec();
    put_len_field(&mut resource, 2, &any);
    let mut response = Vec::new();
    put_len_field(&mut response, 2, &resource);
    let frames = vec![
        frame(0, 1, opened(ADS)),
        frame(1, 1, message(MessageShape::SotwResponse, &push(&[&any], 1), &mut catalog)),
        frame(2, 1, message(MessageShape::DeltaResponse, &response, &mut catalog)),
    ];
    let bytes = record(&frames, &catalog, 1);
    let loaded = load(&bytes);
    assert_eq!(describe(&loaded.frames, &loaded.catalog), describe(&frames, &catalog));
    let FramePayload::Message(message) = &loaded.frames[2].what else { panic!("a message") };
    assert!(message.redacted && message.size == response.len() as u64);
    let kept = message.bytes(&loaded.catalog).unwrap();
    assert!(!kept.windows(7).any(|w| w == b"hunter2"));
}

fn shape() -> impl Strategy<Value = MessageShape> {
    prop_oneof![
        Just(MessageShape::SotwRequest),
        Just(MessageShape::SotwResponse),
        Just(MessageShape::DeltaRequest),
        Just(MessageShape::DeltaResponse)
    ]
}

/// Fields that are nearly those of a discovery message, some cut short.
fn wire_bytes() -> impl Strategy<Value = Vec<u8>> {
    let inner = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        (0u64..30).prop_map(|i| cluster(i, 0)),
        (0u64..5).prop_map(|i| delta(i, i)),
        (250usize..300).prop_map(|n| vec![b'a'; n]),
    ];
    let field = (1u32..10, inner, any::<bool>()).prop_map(|(number, inner, odd)| {
        let mut out = Vec::new();
        put_len_field(&mut out, number, &inner);
        if odd && inner.len() < 128 {
            // Encode the length in two bytes.
            out.splice(1..2, [inner.len() as u8 | 0x80, 0]);
        }
        out
    });
    (proptest::collection::vec(field, 0..30), 0usize..4).prop_map(|(fields, cut)| {
        let mut bytes = fields.concat();
        bytes.truncate(bytes.len().saturating_sub(cut.saturating_sub(1)));
        bytes
    })
}

proptest! {
    #[test]
    fn messages_round_trip_byte_for_byte(
        messages in proptest::collection::vec((1u32..4, shape(), wire_bytes()), 0..20),
        every in 1usize..5,
    ) {
        let mut catalog = Catalog::in_memory();
        let frames: Vec<Frame> = messages
            .iter()
            .zip(1..)
            .map(|((stream, shape, bytes), ms)| {
                let what = FramePayload::Message(std::sync::Arc::new(Message::parse(*shape, bytes, &mut catalog)));
                frame(ms, *stream, what)
            })
            .collect();
        let loaded = load(&record(&frames, &catalog, every));
        let back: Vec<_> = loaded
            .frames
            .iter()
            .filter_map(|frame| match &frame.what {
                FramePayload::Message(m) => Some((frame.stream.0, m.shape, m.bytes(&loaded.catalog).unwrap())),
                _ => None,
            })
            .collect();
        prop_assert_eq!(back, messages);
    }
}
