//! The splicer between a client and a server of the `h2` crate, over pipes in memory.

mod world;

use std::collections::BTreeMap;

use super::*;
use world::{Fate, Plan, Stance, World};

/// Returns the bytes of each stream. Frames of a stream that waits may pass behind those of others.
fn by_stream(dir: Dir, bytes: &[u8]) -> BTreeMap<u32, Vec<u8>> {
    let mut rest = if dir == Dir::Req { &bytes[PREFACE.len()..] } else { bytes };
    let mut out = BTreeMap::<u32, Vec<u8>>::new();
    while let Some(head) = rest.first_chunk::<9>() {
        let head = FrameHead::parse(*head);
        let (frame, later) = rest.split_at(9 + head.len);
        out.entry(head.stream).or_default().extend_from_slice(frame);
        rest = later;
    }
    out
}

#[test]
fn last_stream_of_a_later_goaway_is_not_higher() {
    use crate::h2::tests::{block, frame};
    let mut splicer = Splicer::new(None, 1 << 20);
    let request = frame(1, 5, 3, &block(&[(":method", "POST"), (":path", "/a")]));
    splicer.push(Dir::Req, [PREFACE, &request].concat().into());
    assert!(matches!(splicer.next_event(Dir::Req), Ok(None)));
    splicer.push(Dir::Resp, frame(4, 0, 0, &[]).into());
    assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    splicer.take_output(Dir::Resp);
    splicer.go_away();
    let goaway = |last: u32| frame(7, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
    splicer.push(Dir::Resp, goaway(0x7fff_ffff).into());
    assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    assert_eq!(splicer.take_output(Dir::Resp).concat(), [goaway(3), goaway(3)].concat());
}

#[test]
fn nothing_comes_before_the_settings_of_a_side() {
    use crate::h2::tests::{block, frame};
    let mut splicer = Splicer::new(None, 1 << 20);
    let request = frame(1, 4, 1, &block(&[(":method", "POST"), (":path", "/a")]));
    splicer.push(
        Dir::Req,
        [PREFACE, &frame(4, 0, 0, &[]), &request, &frame(0, 0, 1, &[0; 100])].concat().into(),
    );
    assert!(matches!(splicer.next_event(Dir::Req), Ok(Some(SpliceEvent::Opened { .. }))));
    splicer.arm(1);
    while splicer.next_event(Dir::Req).expect("HTTP/2").is_some() {}
    assert_eq!(splicer.take_output(Dir::Resp), Vec::<Bytes>::new(), "window for the request waits");
    splicer.push(Dir::Resp, frame(4, 0, 0, &[]).into());
    assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    let out = splicer.take_output(Dir::Resp).concat();
    assert!(out.starts_with(&frame(4, 0, 0, &[])) && out.len() > 9, "{out:?}");
}

/// Returns the kinds of the frames.
fn kinds(parts: &[Bytes]) -> Vec<u8> {
    let (bytes, mut at, mut kinds) = (parts.concat(), 0, Vec::new());
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<9>()) {
        let head = FrameHead::parse(*head);
        kinds.push(head.kind);
        at += 9 + head.len;
    }
    kinds
}

#[test]
fn nothing_is_lost_at_a_pause() {
    use crate::h2::tests::frame;
    let mut splicer = Splicer::new(None, 1 << 20);
    splicer.push(Dir::Req, [PREFACE, &frame(8, 0, 0, &[0x40, 0, 0, 0])].concat().into());
    while splicer.next_event(Dir::Req).expect("HTTP/2").is_some() {}
    let data = frame(0, 0, 1, &vec![7; 16_000]);
    // Each part ends with a frame, after more output than the caller has room for.
    let parts = [frame(4, 0, 0, &[]), data.repeat(20), data.repeat(20), data];
    let mut passed = Vec::new();
    for part in &parts {
        splicer.push(Dir::Resp, part.clone().into());
        loop {
            let event = splicer.next_event(Dir::Resp).expect("HTTP/2");
            passed.extend(splicer.take_output(Dir::Resp));
            if event.is_none() || !splicer.has_input(Dir::Resp) {
                break;
            }
        }
    }
    assert_eq!(passed.concat(), parts.concat());
}

#[test]
fn server_that_resets_after_its_answer_does_not_discard_what_is_held() {
    use crate::h2::tests::{block, frame};
    let mut splicer = Splicer::new(None, 1 << 20);
    let request = frame(1, 4, 1, &block(&[(":method", "POST"), (":path", "/a")]));
    splicer.push(Dir::Req, [PREFACE, &frame(4, 0, 0, &[]), &request].concat().into());
    assert!(matches!(splicer.next_event(Dir::Req), Ok(Some(SpliceEvent::Opened { .. }))));
    splicer.arm(1);
    assert!(matches!(splicer.next_event(Dir::Req), Ok(None)));
    let head = frame(1, 4, 1, &block(&[(":status", "200")]));
    let trailers = frame(1, 5, 1, &block(&[("grpc-status", "0")]));
    let data = frame(0, 0, 1, b"\0\0\0\0\x02hi");
    let reset = frame(3, 0, 1, &[0; 4]);
    splicer.push(Dir::Resp, [frame(4, 0, 0, &[]), head, data, trailers, reset].concat().into());
    let Ok(Some(SpliceEvent::Message { message })) = splicer.next_event(Dir::Resp) else {
        panic!("the message")
    };
    assert_eq!(&message.bytes[..], b"hi");
    assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    assert_eq!(kinds(&splicer.take_output(Dir::Resp)), [4, 1], "settings and headers");
    splicer.send(&message);
    splicer.settle(&message);
    assert_eq!(kinds(&splicer.take_output(Dir::Resp)), [0, 0, 1, 3], "message, trailers, reset");
}

#[test]
fn stream_that_begins_without_window_gets_that_of_the_server() {
    use crate::h2::tests::{block, frame};
    let mut splicer = Splicer::new(None, 1 << 20);
    splicer.push(Dir::Resp, frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]).into());
    assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    splicer.take_output(Dir::Resp);
    let request = frame(1, 4, 1, &block(&[(":method", "POST"), (":path", "/a")]));
    splicer.push(Dir::Req, [PREFACE, &frame(4, 0, 0, &[]), &request].concat().into());
    assert!(matches!(splicer.next_event(Dir::Req), Ok(Some(SpliceEvent::Opened { .. }))));
    splicer.watch(1);
    assert!(matches!(splicer.next_event(Dir::Req), Ok(None)));
    for size in [3, 900] {
        splicer.push(Dir::Resp, frame(8, 0, 1, &[0, 0, (size >> 8) as u8, size as u8]).into());
        assert!(matches!(splicer.next_event(Dir::Resp), Ok(None)));
    }
    // The client gets the window back for its data later.
    assert_eq!(splicer.take_output(Dir::Resp).concat(), frame(8, 0, 1, &[0, 0, 0, 3]));
}

/// Returns the bytes of DATA in frames.
fn data_bytes(parts: &[Bytes]) -> usize {
    let (bytes, mut at, mut sum) = (parts.concat(), 0, 0);
    while let Some([a, b, c, kind, ..]) = bytes.get(at..at + 9) {
        let len = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        sum += if *kind == 0 { len } else { 0 };
        at += 9 + len;
    }
    sum
}

#[test]
fn data_beyond_the_first_window_follows_the_ack_of_the_settings() {
    use crate::h2::tests::{block, frame};
    let mut splicer = Splicer::new(None, 1 << 20);
    let mut read = |dir: Dir, bytes: Vec<u8>| {
        splicer.push(dir, bytes.into());
        while let Ok(Some(event)) = splicer.next_event(dir) {
            match event {
                SpliceEvent::Opened { stream, .. } => splicer.arm(stream),
                SpliceEvent::Message { message } => {
                    assert!(splicer.send(&message));
                    splicer.settle(&message);
                }
                other => panic!("{other:?}"),
            }
        }
        splicer.take_output(Dir::Resp)
    };
    let request = frame(1, 4, 1, &block(&[(":method", "POST"), (":path", "/a")]));
    let larger = [frame(4, 0, 0, &[0, 4, 0, 0x10, 0, 0]), frame(8, 0, 0, &[0, 0x10, 0, 0])].concat();
    read(Dir::Req, [PREFACE, &larger, &request].concat());
    let mut message = vec![0];
    message.extend_from_slice(&200_000_u32.to_be_bytes());
    message.resize(5 + 200_000, b'x');
    let frames = message.chunks(16_384).flat_map(|chunk| frame(0, 0, 1, chunk));
    let headers = frame(1, 4, 1, &block(&[(":status", "200")]));
    let response = [frame(4, 0, 0, &[]), headers, frames.collect()].concat();
    assert_eq!(data_bytes(&read(Dir::Resp, response)), 65_535);
    let rest = read(Dir::Resp, frame(4, 1, 0, &[]));
    assert_eq!(rest.first().map(|first| first[3]), Some(4), "the ACK is first");
    assert_eq!(data_bytes(&rest), 5 + 200_000 - 65_535);
}

#[test]
fn messages_trickle_through_windows_that_are_smaller_than_a_prefix() {
    const STANCES: [Stance; 3] = [Stance::Arm, Stance::Watch, Stance::WatchThenArm];
    const FATES: [Fate; 3] = [Fate::Now, Fate::Later, Fate::Twice];
    for seed in 0..12 {
        let window = Some(1 + seed as u32 % 5);
        World::run(Plan { max: 400, window, seed, stances: &STANCES, fates: &FATES, streams: 4 }).check();
    }
}

#[test]
fn streams_that_are_not_armed_keep_every_byte() {
    for seed in 0..12 {
        let stances = &[Stance::Pass, Stance::Watch];
        // First messages that exceed a window arm their streams.
        let plan = Plan { seed, stances, fates: &[Fate::Now], streams: 6, max: 6_000, window: Some(65_535) };
        let world = World::run(plan);
        for dir in Dir::ALL {
            let (was, is) = (&world.bytes_in[index(dir)], &world.bytes_out[index(dir)]);
            assert!(by_stream(dir, was) == by_stream(dir, is), "seed {seed} {dir:?}");
        }
        world.check();
    }
}

#[test]
fn messages_of_armed_streams_arrive_unchanged_in_order() {
    for seed in 0..25 {
        let plan = Plan {
            max: 90_000,
            window: None,
            seed,
            stances: &[Stance::Arm],
            fates: &[Fate::Now, Fate::Later],
            streams: 7,
        };
        World::run(plan).check();
    }
}

#[test]
fn no_window_is_exceeded_beside_dropped_and_repeated_messages() {
    const STANCES: [Stance; 4] = [Stance::Arm, Stance::Pass, Stance::WatchThenArm, Stance::Watch];
    const FATES: [Fate; 4] = [Fate::Now, Fate::Later, Fate::Drop, Fate::Twice];
    for seed in 100..140 {
        World::run(Plan { max: 90_000, window: None, seed, stances: &STANCES, fates: &FATES, streams: 9 })
            .check();
    }
}

#[test]
fn stream_ends_with_a_status_and_others_go_on() {
    for seed in 0..6 {
        let fates = &[Fate::Now, Fate::Now, Fate::Status];
        World::run(Plan {
            max: 90_000,
            window: None,
            seed,
            stances: &[Stance::Arm, Stance::Pass],
            fates,
            streams: 8,
        })
        .check();
    }
}

#[test]
fn stream_is_reset_and_others_go_on() {
    for seed in 0..6 {
        let fates = &[Fate::Now, Fate::Later, Fate::Reset];
        World::run(Plan {
            max: 90_000,
            window: None,
            seed,
            stances: &[Stance::Arm, Stance::Pass],
            fates,
            streams: 8,
        })
        .check();
    }
}

#[test]
fn names_side_that_cannot_be_followed() {
    let mut splicer = Splicer::new(None, 1 << 20);
    splicer.push(Dir::Req, Bytes::from_static(b"GET / HTTP/1.1\r\n"));
    let error = splicer.next_event(Dir::Req).expect_err("it is not HTTP/2");
    assert_eq!(error.to_string(), "the client does not begin as HTTP/2 does");
    let mut splicer = Splicer::new(None, 1 << 20);
    splicer.push(Dir::Resp, Bytes::from_static(b"\0\0\x01\x05\x04\0\0\0\x01\x82"));
    let error = splicer.next_event(Dir::Resp).expect_err("it is a push");
    assert_eq!(error.by, Side::Server);
}

proptest::proptest! {
    #[test]
    fn accepts_any_input(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600),
        step in 1usize..40,
        stance in 0..3,
    ) {
        use crate::h2::tests::{block, frame};
        let request = block(&[(":method", "POST"), (":path", "/a"), ("content-type", "application/grpc")]);
        let mut splicer = Splicer::new(None, 1 << 20);
        let client = [PREFACE, &frame(1, 4, 1, &request), &bytes].concat();
        for (dir, bytes) in [(Dir::Req, client), (Dir::Resp, bytes)] {
            for chunk in bytes.chunks(step) {
                splicer.push(dir, Bytes::copy_from_slice(chunk));
                loop {
                    match splicer.next_event(dir) {
                        Ok(Some(SpliceEvent::Opened { stream, .. })) if stance == 1 => splicer.arm(stream),
                        Ok(Some(SpliceEvent::Opened { stream, .. })) if stance == 2 => splicer.watch(stream),
                        Ok(Some(SpliceEvent::FirstRequest { message })) => splicer.arm(message.stream),
                        Ok(Some(SpliceEvent::Message { message })) => {
                            splicer.send(&message);
                            splicer.settle(&message);
                        }
                        Ok(Some(SpliceEvent::TooLong { stream, .. })) => {
                            splicer.reset(stream, 2);
                        }
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(_) => return Ok(()),
                    }
                }
            }
        }
    }
}
