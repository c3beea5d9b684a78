use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::ErrorDetail;
use crate::content::{List, ListBuilder, MemoryBodies, Redact};
use crate::pb::{Fields, WIRE_VARINT, put_len_field, put_tag, put_varint};

fn any(url: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, url.as_bytes());
    put_len_field(&mut out, 2, value);
    out
}

fn cluster(name: &str, more: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    put_len_field(&mut value, 1, name.as_bytes());
    value.extend_from_slice(more);
    any("type.googleapis.com/envoy.config.cluster.v3.Cluster", &value)
}

fn sotw(version: &str, entries: &[Vec<u8>], nonce: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, version.as_bytes());
    for entry in entries {
        put_len_field(&mut out, 2, entry);
    }
    put_len_field(&mut out, 4, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
    put_len_field(&mut out, 5, nonce.as_bytes());
    out
}

fn request(names: &[String], nonce: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, b"41");
    for name in names {
        put_len_field(&mut out, 3, name.as_bytes());
    }
    put_len_field(&mut out, 4, b"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment");
    put_len_field(&mut out, 5, nonce.as_bytes());
    out
}

fn wrapper(name: &str, version: &str, payload: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, version.as_bytes());
    if let Some(payload) = payload {
        put_len_field(&mut out, 2, payload);
    }
    put_len_field(&mut out, 3, name.as_bytes());
    out
}

fn names(list: &List, catalog: &Catalog) -> Vec<String> {
    list.blobs().iter().map(|id| catalog.text(catalog.entry(*id).name).to_owned()).collect()
}

/// Rebuilds a message from its segments, as a reader of recordings does.
fn again(message: &Message, catalog: &mut Catalog) -> Message {
    let mut builder = MessageBuilder::new(message.shape);
    for segment in &message.segments {
        builder.push_segment(segment.clone(), catalog);
    }
    builder.finish(catalog).expect("within limits")
}

fn check(shape: MessageShape, bytes: &[u8], catalog: &mut Catalog) -> Message {
    let message = Message::parse(shape, bytes, catalog);
    assert_eq!(message.bytes(catalog).as_deref(), Some(bytes), "every byte is kept");
    let back = again(&message, catalog);
    assert_eq!(back, message, "read back from its segments");
    assert_eq!(Message::unpack(&message.pack(catalog), catalog).as_ref(), Some(&message), "put away");
    message
}

#[test]
fn reads_names_of_sotw_resources() {
    let mut catalog = Catalog::in_memory();
    let bytes = sotw("41", &[cluster("a", b""), cluster("b", b"")], "n1");
    let message = check(MessageShape::SotwResponse, &bytes, &mut catalog);
    let MessageBody::SotwResponse(body) = &message.body else { panic!("{message:?}") };
    assert_eq!((body.version_info.as_str(), body.nonce.as_str()), ("41", "n1"));
    assert_eq!(names(&body.resources, &catalog), ["a", "b"]);
}

#[test]
fn repeated_push_shares_list_and_change_adds_one_blob() {
    let mut catalog = Catalog::in_memory();
    let mut entries: Vec<_> = (0..1000).map(|i| cluster(&format!("c{i}"), b"")).collect();
    let first = Message::parse(MessageShape::SotwResponse, &sotw("1", &entries, "a"), &mut catalog);
    let count = catalog.blob_count();
    let second = Message::parse(MessageShape::SotwResponse, &sotw("2", &entries, "b"), &mut catalog);
    let lists = [first.resources(), second.resources()].map(|list| list.map(Arc::as_ptr));
    assert_eq!(lists[0], lists[1]);
    assert_eq!(catalog.blob_count(), count);
    entries[500] = cluster("c500", b"\x22\x02\x08\x05");
    let third = Message::parse(MessageShape::SotwResponse, &sotw("3", &entries, "c"), &mut catalog);
    assert_eq!(catalog.blob_count(), count + 1);
    let differ = third
        .resources()
        .zip(second.resources())
        .map(|(a, b)| a.blobs().iter().zip(b.blobs()).filter(|(a, b)| a != b).count());
    assert_eq!(differ, Some(1));
}

#[test]
fn learns_runs_of_repeated_entries() {
    let (mut catalog, mut list) = (Catalog::in_memory(), ListBuilder::default());
    let entries: Vec<_> = (0..30).map(|i| cluster(&format!("c{i}"), b"")).collect();
    let bytes = sotw("1", &entries, "a");
    for version in ["2", "3"] {
        let again = Message::parse(MessageShape::SotwResponse, &sotw(version, &entries, "b"), &mut catalog);
        assert_eq!(again.resources().map(|list| list.len()), Some(30));
    }
    // After the version and the first entry, which follows no other.
    let first = 3 + 2 + entries[0].len();
    list.push(&mut catalog, &entries[0], false);
    let known = list.push_known(&catalog, &bytes[first..]);
    let eight: usize = entries[1..9].iter().map(|entry| 2 + entry.len()).sum();
    assert_eq!(known, Some((eight, false)));
    let mut other = bytes[first..].to_vec();
    other[eight] ^= 1;
    assert_eq!(list.push_known(&catalog, &other), None);
    assert!(list.push_known(&catalog, &bytes[first + eight..]).is_some());
}

/// How a push differs from the previous one.
fn edits() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..70usize, 0..4u8), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_own_entries_whatever_the_previous_push(
        pushes in prop::collection::vec((edits(), 1..3000usize), 2..8),
    ) {
        let mut catalog = Catalog::in_memory();
        let mut entries: Vec<_> = (0..60).map(|i| cluster(&format!("c{i}"), &vec![0x22; i % 7])).collect();
        for (fresh, (edits, step)) in pushes.into_iter().enumerate() {
            for (at, edit) in edits {
                let at = at % entries.len();
                match edit {
                    0 => entries[at] = cluster(&format!("changed{fresh}"), b""),
                    1 => entries.insert(at, cluster(&format!("new{fresh}"), b"")),
                    2 => drop(entries.remove(at)),
                    _ => entries.swap(at, 0),
                }
            }
            let bytes = sotw(&fresh.to_string(), &entries, "n");
            let mut builder = MessageBuilder::new(MessageShape::SotwResponse);
            bytes.chunks(step).for_each(|chunk| builder.push(chunk, &mut catalog));
            let message = builder.finish(&mut catalog).expect("within limits");
            prop_assert_eq!(message.bytes(&catalog), Some(bytes));
            let held = catalog.blob_count();
            let each: Vec<_> = entries.iter().map(|entry| catalog.intern_entry(entry, false, None)).collect();
            prop_assert_eq!(message.resources().map(|list| list.blobs().to_vec()), Some(each));
            prop_assert_eq!(catalog.blob_count(), held);
        }
    }
}

#[test]
fn delta_and_sotw_share_payloads() {
    let mut catalog = Catalog::in_memory();
    let payload = cluster("a", b"");
    let mut bytes = Vec::new();
    put_len_field(&mut bytes, 2, &wrapper("a", "7", Some(&payload)));
    put_len_field(&mut bytes, 2, &wrapper("gone", "", None));
    let message = check(MessageShape::DeltaResponse, &bytes, &mut catalog);
    let sotw = Message::parse(MessageShape::SotwResponse, &sotw("1", &[payload], "n"), &mut catalog);
    let delta = catalog.entry(message.resources().expect("a response").blobs()[0]);
    assert_eq!(delta.payload, sotw.resources().map(|list| list.blobs()[0]));
    assert_eq!((catalog.text(delta.name), catalog.text(delta.version)), ("a", "7"));
    let unset = catalog.entry(message.resources().expect("a response").blobs()[1]);
    assert_eq!((catalog.text(unset.name), unset.payload), ("gone", None));
}

#[test]
fn unwraps_sotw_wrapper() {
    let mut catalog = Catalog::in_memory();
    let inner =
        wrapper("rt", "3", Some(&any("type.googleapis.com/envoy.service.runtime.v3.Runtime", b"\x0a\x02rt")));
    let entry = any("type.googleapis.com/envoy.service.discovery.v3.Resource", &inner);
    let message = check(MessageShape::SotwResponse, &sotw("1", &[entry], "n"), &mut catalog);
    let entry = catalog.entry(message.resources().expect("a response").blobs()[0]);
    assert!(entry.wrapped);
    assert_eq!((catalog.text(entry.name), catalog.text(entry.version)), ("rt", "3"));
    assert_eq!(catalog.text(entry.type_url), "type.googleapis.com/envoy.service.runtime.v3.Runtime");
}

#[test]
fn stores_long_list_of_names_once() {
    let mut catalog = Catalog::in_memory();
    let list: Vec<_> = (0..200).map(|i| format!("cluster-{i}")).collect();
    let first = check(MessageShape::SotwRequest, &request(&list, "a"), &mut catalog);
    let second = check(MessageShape::SotwRequest, &request(&list, "b"), &mut catalog);
    let (MessageBody::SotwRequest(first), MessageBody::SotwRequest(second)) = (&first.body, &second.body)
    else {
        panic!()
    };
    assert_eq!(first.resource_names.len(), 200);
    assert!(Arc::ptr_eq(&first.resource_names, &second.resource_names));
    assert_eq!(second.response_nonce.as_str(), "b");
}

#[test]
fn joins_separate_runs_of_names() {
    let mut catalog = Catalog::in_memory();
    let mut bytes = request(&["a".into()], "n");
    put_len_field(&mut bytes, 3, b"b");
    let message = check(MessageShape::SotwRequest, &bytes, &mut catalog);
    let MessageBody::SotwRequest(body) = &message.body else { panic!() };
    let texts: Vec<_> = body.resource_names.iter().map(|name| catalog.text(*name)).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn reads_empty_status_as_nack() {
    let mut catalog = Catalog::in_memory();
    let mut bytes = request(&[], "n");
    put_len_field(&mut bytes, 6, b"");
    let message = check(MessageShape::SotwRequest, &bytes, &mut catalog);
    assert_eq!(message.error_detail(), Some(&ErrorDetail::default()));
}

#[test]
fn keeps_undecodable_bytes_with_reason() {
    let mut catalog = Catalog::in_memory();
    for bytes in [&b"\x0a\x02ok\xff\xff"[..], b"\x07", b"\x0a\x7fshort"] {
        let message = check(MessageShape::SotwResponse, bytes, &mut catalog);
        assert!(matches!(message.body, MessageBody::Undecodable { .. }), "{bytes:?}");
    }
}

#[test]
fn keeps_and_lists_unknown_fields() {
    let mut catalog = Catalog::in_memory();
    let mut bytes = sotw("1", &[], "n");
    put_tag(&mut bytes, 99, WIRE_VARINT);
    put_varint(&mut bytes, 5);
    let message = check(MessageShape::SotwResponse, &bytes, &mut catalog);
    let MessageBody::SotwResponse(body) = &message.body else { panic!() };
    assert_eq!(body.unknown_fields, [99]);
}

/// Removes the word `hush` everywhere.
struct Hush;

impl Redact for Hush {
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (url, value) = (Fields::new(bytes).next()?.ok()?, Fields::new(bytes).nth(1)?.ok()?);
        let text = value.text().into_owned();
        text.contains("hush").then(|| any(&url.text(), text.replace("hush", "*").as_bytes()))
    }
    fn text(&self, text: &str) -> Option<String> {
        text.contains("hush").then(|| text.replace("hush", "*"))
    }
    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = bytes.to_vec();
        while let Some(at) = out.windows(4).position(|four| four == b"hush") {
            out[at..at + 4].fill(b'*');
        }
        (out != bytes).then_some(out)
    }
    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.raw(bytes)
    }
}

#[test]
fn redacts_before_storing() {
    let mut catalog = Catalog::new(7, Some(Arc::new(Hush)), Box::new(MemoryBodies::default()));
    let secret = any("type.googleapis.com/x.Y", b"says hush here");
    let mut bytes = Vec::new();
    put_len_field(&mut bytes, 2, &wrapper("s", "1", Some(&secret)));
    let delta = Message::parse(MessageShape::DeltaResponse, &bytes, &mut catalog);
    let sotw = Message::parse(MessageShape::SotwResponse, &sotw("1", &[secret], "n"), &mut catalog);
    let mut nack = request(&[], "n");
    let status = ErrorDetail { code: 13, message: "bad: hush".into(), details: Vec::new() };
    put_len_field(&mut nack, 6, &status.encode());
    let nack = Message::parse(MessageShape::SotwRequest, &nack, &mut catalog);
    assert_eq!(nack.error_detail().map(|e| &*e.message), Some("bad: *"));
    for message in [delta, sotw, nack] {
        assert!(message.redacted);
        let bytes = message.bytes(&catalog).expect("kept");
        assert!(!bytes.windows(4).any(|four| four == b"hush"));
        let back = again(&message, &mut catalog);
        assert!(!matches!(back.body, MessageBody::Undecodable { .. }));
        assert_eq!(back.bytes(&catalog), Some(bytes));
    }
}

#[test]
fn joins_many_runs_in_linear_time() {
    let parts = 100_000;
    // Empty fields, and one unknown field in between.
    for (shape, number) in [(MessageShape::SotwRequest, 3), (MessageShape::SotwResponse, 2)] {
        let mut part = Vec::new();
        put_len_field(&mut part, number, b"");
        put_len_field(&mut part, 100, b"");
        let begun = std::time::Instant::now();
        let mut catalog = Catalog::in_memory();
        let message = Message::parse(shape, &part.repeat(parts), &mut catalog);
        let count = match &message.body {
            MessageBody::SotwRequest(request) => request.resource_names.len(),
            MessageBody::SotwResponse(response) => response.resources.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(count, parts);
        assert!(begun.elapsed().as_secs() < 15, "{shape:?}: {:?}", begun.elapsed());
    }
}

proptest! {
    #[test]
    fn keeps_any_bytes_in_any_chunks(
        bytes in prop::collection::vec(any_byte(), 0..400),
        step in 1usize..50,
        shape in prop::sample::select(vec![
            MessageShape::SotwRequest, MessageShape::SotwResponse, MessageShape::DeltaRequest, MessageShape::DeltaResponse,
        ]),
    ) {
        let mut catalog = Catalog::in_memory();
        let mut builder = MessageBuilder::new(shape);
        for chunk in bytes.chunks(step) {
            builder.push(chunk, &mut catalog);
        }
        let message = builder.finish(&mut catalog).expect("within limits");
        let kept = message.bytes(&catalog);
        prop_assert_eq!(kept.as_deref(), Some(bytes.as_slice()));
        let back = again(&message, &mut catalog);
        prop_assert_eq!(back.bytes(&catalog), Some(bytes));
        let packed = message.pack(&catalog);
        // Truncated bytes are refused without a panic.
        prop_assert!((0..packed.len()).all(|end| Message::unpack(&packed[..end], &catalog).is_none()));
        prop_assert_eq!(Message::unpack(&packed, &catalog), Some(message));
    }
}

/// Bytes that are often tags and lengths of the discovery messages.
fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => prop::sample::select(vec![0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x42, 0x4a]),
        4 => 0u8..12,
        1 => proptest::num::u8::ANY,
    ]
}

#[test]
fn accepts_resource_bytes_as_payload() {
    let mut catalog = Catalog::in_memory();
    let inner = wrapper("a", "1", Some(&cluster("a", b"")));
    let mut bytes = Vec::new();
    put_len_field(&mut bytes, 2, &inner);
    put_len_field(&mut bytes, 2, &wrapper("b", "2", Some(&inner)));
    check(MessageShape::DeltaResponse, &bytes, &mut catalog);
}
