use loona_hpack::encoder::encode_integer;
use loona_hpack::{Decoder, Encoder};
use proptest::prelude::*;

use super::*;
use crate::h2::frames::FrameHead;
use crate::h2::literal::MAX_FRAME_BYTES;
use crate::h2::splice::blocks::MAX_BLOCK_BYTES;
use crate::h2::tests::{block, frame};
use crate::h2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PREFACE, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};

fn changes() -> Arc<Changes> {
    let headers = [("authorization", "Bearer ours"), ("x-tenant", "a"), ("x-tenant", "b")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Arc::new(Changes { authority: Some("cp.mesh".into()), headers })
}

fn run(bytes: &[u8], cuts: &[usize]) -> Result<Vec<u8>, SpliceError> {
    let mut splicer = HeaderSplicer::new(changes());
    let (mut out, mut rest, mut cuts) = (Vec::new(), bytes, cuts.iter().cycle());
    while !rest.is_empty() {
        let (now, later) = rest.split_at(cuts.next().copied().unwrap_or(rest.len()).min(rest.len()));
        splicer.push(Bytes::copy_from_slice(now))?.iter().for_each(|part| out.extend_from_slice(part));
        rest = later;
    }
    Ok(out)
}

/// Changes frames after a preface, and returns the frames that come out.
fn frames(input: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, SpliceError> {
    let out = run(&[PREFACE.to_vec(), input.concat()].concat(), &[])?;
    Ok(split(out.strip_prefix(PREFACE).expect("the preface")))
}

fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let len = FrameHead::parse(bytes[..9].try_into().expect("a head")).len;
        let (now, rest) = bytes.split_at(9 + len);
        out.push(now.to_vec());
        bytes = rest;
    }
    out
}

fn texts(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Reads the fields of a block with a new decoder.
fn read(block: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let fields = Decoder::new().decode(block).expect("HPACK that stands for itself");
    fields.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Changes frames that give one frame, and returns its flags and fields.
fn one(input: &[Vec<u8>]) -> (u8, Vec<(String, String)>) {
    let out = frames(input).expect("it can be changed");
    assert_eq!(out.len(), 1, "{out:?}");
    (out[0][4], read(&out[0][9..]))
}

const OURS: [(&str, &str); 3] = [("authorization", "Bearer ours"), ("x-tenant", "a"), ("x-tenant", "b")];

#[test]
fn replaces_authority_and_headers() {
    let sent = block(&[
        (":method", "POST"),
        (":authority", "tap:18001"),
        (":path", "/a.B/C"),
        ("host", "tap:18001"),
        ("authorization", "Bearer theirs"),
        ("te", "trailers"),
        ("authorization", "Bearer more of theirs"),
    ]);
    let (flags, fields) = one(&[frame(HEADERS, END_HEADERS, 1, &sent)]);
    assert_eq!(flags, END_HEADERS);
    let kept = [
        (":method", "POST"),
        (":authority", "cp.mesh"),
        (":path", "/a.B/C"),
        ("host", "cp.mesh"),
        ("te", "trailers"),
    ];
    assert_eq!(fields, texts(&[&kept[..], &OURS].concat()));
}

#[test]
fn adds_missing_authority_to_pseudo_headers() {
    let sent = block(&[(":method", "POST"), (":path", "/"), ("te", "trailers")]);
    let (_, fields) = one(&[frame(HEADERS, END_HEADERS, 1, &sent)]);
    let kept = [(":method", "POST"), (":path", "/"), (":authority", "cp.mesh"), ("te", "trailers")];
    assert_eq!(fields, texts(&[&kept[..], &OURS].concat()));
    // Without `:authority` and `host`.
    let (_, fields) = one(&[frame(HEADERS, END_HEADERS, 1, &block(&[(":method", "POST")]))]);
    assert_eq!(fields[1], (":authority".into(), "cp.mesh".into()));
}

#[test]
fn keeps_client_authority_by_default() {
    let changes = Changes { authority: None, headers: texts(&[("x-tenant", "a")]) };
    let mut splicer = HeaderSplicer::new(Arc::new(changes));
    let sent = block(&[(":method", "POST"), (":authority", "tap")]);
    let sent = [PREFACE, &frame(HEADERS, END_HEADERS, 1, &sent)].concat();
    let out: Vec<u8> = splicer.push(sent.into()).expect("HTTP/2").concat();
    let fields = read(&out[PREFACE.len() + 9..]);
    assert_eq!(fields, texts(&[(":method", "POST"), (":authority", "tap"), ("x-tenant", "a")]));
}

#[test]
fn re_encodes_trailers_with_their_own_fields() {
    let mut client = Encoder::new();
    let fields = [(&b"x-tenant"[..], &b"mine"[..]), (b"x-sum", b"1")];
    let request = client.encode([(&b":method"[..], &b"POST"[..])].into_iter().chain(fields));
    let trailers = client.encode(fields);
    assert!(trailers.len() < 5, "they refer to the request");
    let out = frames(&[
        frame(HEADERS, END_HEADERS, 1, &request),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers),
    ]);
    let out = out.expect("it can be changed");
    assert_eq!(out[1][4], END_HEADERS | END_STREAM);
    assert_eq!(read(&out[1][9..]), texts(&[("x-tenant", "mine"), ("x-sum", "1")]));
}

#[test]
fn drops_padding_and_keeps_priority_and_end_of_stream() {
    let sent = block(&[(":method", "GET")]);
    let payload = [&[3][..], &[0x80, 0, 0, 9, 200], &sent, &[0; 3]].concat();
    let flags = END_HEADERS | END_STREAM | PADDED | PRIORITY;
    let out = frames(&[frame(HEADERS, flags, 7, &payload)]).expect("it can be changed");
    assert_eq!(out[0][3..9], [HEADERS, END_HEADERS | END_STREAM | PRIORITY, 0, 0, 0, 7]);
    assert_eq!(out[0][9..14], [0x80, 0, 0, 9, 200]);
    let kept = [(":method", "GET"), (":authority", "cp.mesh")];
    assert_eq!(read(&out[0][14..]), texts(&[&kept[..], &OURS].concat()));
}

#[test]
fn joins_continuation_frames() {
    let sent = block(&[(":method", "POST"), ("te", "trailers")]);
    let (_, fields) = one(&[
        frame(HEADERS, PADDED, 1, &[&[2], &sent[..4], &[0, 0]].concat()),
        frame(CONTINUATION, 0, 1, &[]),
        frame(CONTINUATION, 0, 1, &sent[4..9]),
        frame(CONTINUATION, END_HEADERS, 1, &sent[9..]),
    ]);
    let kept = [(":method", "POST"), (":authority", "cp.mesh"), ("te", "trailers")];
    assert_eq!(fields, texts(&[&kept[..], &OURS].concat()));
}

#[test]
fn splits_long_block_into_small_frames() {
    let long = "v".repeat(40_000);
    let sent = Encoder::new().encode([(&b":method"[..], &b"POST"[..]), (b"x-long", long.as_bytes())]);
    let payload = [&[0, 0, 0, 0, 16][..], &sent].concat();
    let sent = frame(HEADERS, END_HEADERS | END_STREAM | PRIORITY, 5, &payload);
    let out = frames(&[sent]).expect("it can be changed");
    let heads: Vec<_> = out.iter().map(|frame| (frame.len() - 9, frame[3], frame[4], frame[8])).collect();
    assert_eq!(heads[0], (MAX_FRAME_BYTES, HEADERS, END_STREAM | PRIORITY, 5));
    assert_eq!(heads[1], (MAX_FRAME_BYTES, CONTINUATION, 0, 5));
    assert_eq!((heads.len(), heads[2].1, heads[2].2), (3, CONTINUATION, END_HEADERS));
    let whole: Vec<u8> = out.iter().flat_map(|frame| &frame[9..]).copied().collect();
    assert!(read(&whole[5..]).contains(&("x-long".into(), long)));
}

#[test]
fn repeats_table_size_updates() {
    // To zero, and to 5,000 in more than one byte.
    let updates = [0x20, 0x3f, 0xe9, 0x26];
    let sent = [&updates[..], &block(&[(":method", "POST")])].concat();
    let out = frames(&[frame(HEADERS, END_HEADERS, 1, &sent)]).expect("it can be changed");
    assert_eq!(out[0][9..13], updates);
    assert_eq!(out[0][13], 0x10, "then the fields");
}

#[test]
fn never_indexes_fields() {
    let mut client = Encoder::new();
    let fields = [(&b":method"[..], &b"POST"[..]), (b":path", b"/a.B/C"), (b"cookie", b"c")];
    let blocks = [client.encode(fields), client.encode(fields)];
    let out = frames(&blocks.map(|block| frame(HEADERS, END_HEADERS, 1, &block))).expect("it can be changed");
    assert_eq!(out[0], out[1], "the second stands for itself, too");
    let mut rest = &out[0][9..];
    while let [first, name, tail @ ..] = rest {
        assert_eq!(*first, 0x10, "a literal that is never indexed, with its name");
        let tail = &tail[usize::from(*name)..];
        rest = &tail[1 + usize::from(tail[0])..];
    }
}

#[test]
fn keeps_binary_values() {
    let value = [0, 0xff, 0x80, b'x'];
    let sent = Encoder::new().encode([(&b":method"[..], &b"POST"[..]), (b"trace-bin", &value)]);
    let out = frames(&[frame(HEADERS, END_HEADERS, 1, &sent)]).expect("it can be changed");
    let fields = Decoder::new().decode(&out[0][9..]).expect("HPACK");
    assert!(fields.contains(&(b"trace-bin".to_vec(), value.to_vec())));
}

#[test]
fn passes_data_as_slices_of_input() {
    let mut splicer = HeaderSplicer::new(changes());
    splicer.push(Bytes::from_static(PREFACE)).expect("HTTP/2");
    let data: Bytes = [frame(DATA, 0, 1, &[7; 100_000]), frame(PING, 0, 0, &[0; 8])].concat().into();
    let out = splicer.push(data.clone()).expect("frames");
    assert_eq!(out.len(), 1, "all of it in one");
    assert_eq!((out[0].as_ptr(), out[0].len()), (data.as_ptr(), data.len()));
}

#[test]
fn passes_frame_head_that_arrives_in_two_chunks() {
    let sent = [PREFACE.to_vec(), frame(PING, 0, 0, &[1; 8]), frame(DATA, 0, 1, b"data")].concat();
    for step in 1..sent.len() {
        assert_eq!(run(&sent, &[step]).as_deref(), Ok(&sent[..]), "in steps of {step}");
    }
}

/// Frames that an armed connection would hold or refuse pass as they arrive: more DATA than any
/// window allows, settings that nobody acknowledges, and frames of a wrong or large length.
#[test]
fn other_frames_pass_as_they_arrive() {
    let settings: Vec<u8> = (0..2_000).flat_map(|_| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 1])).collect();
    let sent = [
        PREFACE.to_vec(),
        frame(DATA, 0, 1, &[7; 200_000]),
        settings,
        frame(SETTINGS, 0, 0, &[1; 200_000]),
        frame(WINDOW_UPDATE, 0, 0, &[0; 3]),
        frame(WINDOW_UPDATE, 0, 1, &[0xff; 4]),
        frame(RST_STREAM, 0, 1, &[]),
        frame(GOAWAY, 0, 0, &[0; 2]),
        frame(DATA, PADDED, 3, &[200, 0]),
        frame(77, 0xff, 9, &[3; 300]),
    ];
    let sent = sent.concat();
    for step in [1, 7, 1_000, sent.len()] {
        let mut splicer = HeaderSplicer::new(changes());
        let (mut given, mut out) = (0, Vec::new());
        for chunk in sent.chunks(step) {
            given += chunk.len();
            let parts = splicer.push(Bytes::copy_from_slice(chunk)).expect("frames");
            parts.iter().for_each(|part| out.extend_from_slice(part));
            assert!(given - out.len() < 9, "no more than an incomplete head is kept");
        }
        assert!(out == sent, "in steps of {step}");
    }
}

#[test]
fn headers_pass_before_any_other_frame() {
    let mut splicer = HeaderSplicer::new(changes());
    splicer.push(Bytes::from_static(PREFACE)).expect("HTTP/2");
    let request = frame(HEADERS, END_HEADERS, 1, &block(&[(":method", "POST")]));
    assert_eq!(splicer.push(request.into()).expect("a request").len(), 1);
}

#[test]
fn incomplete_block_takes_its_own_bytes_only() {
    let mut splicer = HeaderSplicer::new(changes());
    let sent = [PREFACE.to_vec(), frame(HEADERS, 0, 1, &block(&[(":method", "POST")]))].concat();
    splicer.push(sent.into()).expect("HTTP/2");
    let before = splicer.0.memory();
    let empty: Vec<u8> = (0..20_000).flat_map(|_| frame(CONTINUATION, 0, 1, &[])).collect();
    splicer.push(empty.into()).expect("the block goes on");
    assert_eq!(splicer.0.memory(), before);
}

#[test]
fn reports_why_headers_cannot_be_changed() {
    let good = block(&[(":method", "POST")]);
    let huge = vec![0; MAX_BLOCK_BYTES];
    // A table entry of 4 KB, and then one byte for each use.
    let entry = Encoder::new().encode([(&b"x"[..], &[b'v'; 4000][..])]);
    let bomb = [entry, vec![0x80 | 62; 100]].concat();
    let headers = |flags, payload: &[u8]| frame(HEADERS, flags, 1, payload);
    for (sent, why) in [
        (vec![headers(END_HEADERS, &[0x80])], "not HPACK"),
        (vec![headers(END_HEADERS, &[0xff, 0xff, 0xff])], "not HPACK"),
        (vec![headers(END_HEADERS | PADDED, &[9, 0])], "more padding"),
        (vec![headers(END_HEADERS | PRIORITY, &[0; 4])], "too short"),
        (vec![headers(0, &good), frame(DATA, 0, 1, b"x")], "interrupts"),
        (vec![headers(0, &good), frame(CONTINUATION, 0, 3, &good)], "interrupts"),
        (vec![frame(CONTINUATION, END_HEADERS, 1, &good)], "never began"),
        (vec![frame(PUSH_PROMISE, END_HEADERS, 1, &good)], "a push"),
        (vec![headers(END_HEADERS, &[&huge[..], &[0]].concat())], "more than 64 KiB"),
        (vec![headers(0, &huge), frame(CONTINUATION, 0, 1, &[0])], "more than 64 KiB"),
        (vec![headers(END_HEADERS, &bomb)], "more than 256 KiB"),
    ] {
        let error = frames(&sent).expect_err(why).to_string();
        assert!(error.starts_with("the client ") && error.contains(why), "{why}: {error}");
    }
    for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[22, 3, 1, 0, 200], b"PRI * HTTP/2.0\r\n\r\nSMALL"] {
        for cut in [1, 100] {
            assert!(run(other, &[cut]).is_err_and(|error| error.to_string().contains("HTTP/2")));
        }
    }
}

#[test]
fn debug_output_omits_values() {
    let shown = format!("{:?}", changes());
    assert_eq!(shown, r#"Changes([":authority", "authorization", "x-tenant"])"#);
}

/// An item that the client sends.
#[derive(Clone, Debug)]
enum Sent {
    Block { fields: Vec<(String, String)>, trailers: bool, pad: Option<u8>, priority: bool, cut: usize },
    Table(usize),
    Other(u8, Vec<u8>),
}

fn sent() -> impl Strategy<Value = Sent> {
    let name = prop::sample::select(vec!["te", "cookie", "x-tenant", "x-a", "user-agent", "authorization"]);
    let field = (name, "[a-z]{0,40}").prop_map(|(name, value)| (name.to_owned(), value));
    let pad = prop::option::of(0u8..20);
    let fields = prop::collection::vec(field, 0..6);
    let block = (fields, any::<bool>(), pad, any::<bool>(), 0usize..60);
    let others = prop::sample::select(vec![DATA, PING, 2, 3, 4, 8, 77]);
    prop_oneof![
        4 => block.prop_map(|(fields, trailers, pad, priority, cut)| {
            Sent::Block { fields, trailers, pad, priority, cut }
        }),
        1 => prop::sample::select(vec![0, 100, 4096]).prop_map(Sent::Table),
        3 => (others, prop::collection::vec(any::<u8>(), 0..50)).prop_map(|(kind, bytes)| Sent::Other(kind, bytes)),
    ]
}

/// Encodes the items with one encoder, and returns the expected output: bytes or fields.
fn written(all: &[Sent]) -> (Vec<u8>, Vec<Result<Vec<u8>, Vec<(String, String)>>>) {
    let (mut client, mut out, mut expected) = (Encoder::new(), PREFACE.to_vec(), Vec::new());
    let mut update = Vec::new();
    for one in all {
        match one {
            Sent::Other(kind, bytes) => {
                let frame = frame(*kind, 0, 1, bytes);
                out.extend_from_slice(&frame);
                expected.push(Ok(frame));
            }
            Sent::Table(size) => {
                client.set_max_table_size(*size);
                update = encode_integer(*size, 5);
                update[0] |= 0x20;
            }
            Sent::Block { fields, trailers, pad, priority, cut } => {
                let mut fields = fields.clone();
                if !trailers {
                    fields.splice(0..0, texts(&[(":method", "POST"), (":authority", "tap"), (":path", "/")]));
                }
                // A block with nothing but a table size update is not valid.
                if fields.is_empty() {
                    continue;
                }
                let said = std::mem::take(&mut update);
                let pairs = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
                let whole = [said, client.encode(pairs)].concat();
                let (now, later) = whole.split_at(*cut.min(&whole.len()));
                let mut flags = if later.is_empty() { END_HEADERS } else { 0 };
                let mut payload = Vec::new();
                if let Some(pad) = pad {
                    flags |= PADDED;
                    payload.push(*pad);
                }
                if *priority {
                    flags |= PRIORITY;
                    payload.extend_from_slice(&[0, 0, 0, 0, 15]);
                }
                payload.extend_from_slice(now);
                payload.extend(std::iter::repeat_n(0, usize::from(pad.unwrap_or(0))));
                out.extend(frame(HEADERS, flags, 1, &payload));
                if !later.is_empty() {
                    out.extend(frame(CONTINUATION, END_HEADERS, 1, later));
                }
                if !trailers {
                    fields.retain(|(name, _)| !["authorization", "x-tenant"].contains(&name.as_str()));
                    fields[1].1 = "cp.mesh".into();
                    fields.extend(texts(&OURS));
                }
                expected.push(Err(fields));
            }
        }
    }
    (out, expected)
}

proptest! {
    #[test]
    fn rewrites_the_same_in_any_chunks(
        all in prop::collection::vec(sent(), 0..20),
        cuts in prop::collection::vec(1usize..70, 1..8),
    ) {
        let (bytes, expected) = written(&all);
        let whole = run(&bytes, &[]).expect("it can be changed");
        prop_assert_eq!(&run(&bytes, &cuts).expect("it can be changed"), &whole);
        let out = split(whole.strip_prefix(PREFACE).expect("the preface"));
        prop_assert_eq!(out.len(), expected.len());
        for (frame, expected) in out.iter().zip(&expected) {
            match expected {
                Ok(same) => prop_assert_eq!(frame, same),
                Err(fields) => {
                    let skip = if frame[4] & PRIORITY != 0 { 14 } else { 9 };
                    prop_assert_eq!(&read(&frame[skip..]), fields);
                }
            }
        }
    }

    #[test]
    fn accepts_any_input(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        cuts in prop::collection::vec(1usize..40, 1..5),
    ) {
        let sent = [PREFACE.to_vec(), frame(HEADERS, END_HEADERS, 1, &block(&[(":method", "GET")])), bytes].concat();
        let whole = run(&sent, &[]);
        prop_assert_eq!(run(&sent, &cuts), whole);
    }
}
