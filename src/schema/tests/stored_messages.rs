//! Secrets in messages of any encoding are redacted before a catalog stores them.

use std::sync::Arc;

use crate::Schema;
use crate::redact::Redactor;
use xdscope_wire::content::{BlobId, Catalog, MemoryBodies};
use xdscope_wire::pb::{Fields, put_len_field};
use xdscope_wire::{Message, MessageBody, MessageBuilder, MessageShape};

const KEY: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

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

fn wrapper(name: &str, version: &str, payload: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, version.as_bytes());
    if let Some(payload) = payload {
        put_len_field(&mut out, 2, payload);
    }
    put_len_field(&mut out, 3, name.as_bytes());
    out
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

/// A length-delimited field whose tag and length are longer than necessary.
fn padded(number: u8, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u8;
    assert!(len < 0x80, "one byte would not do");
    [&[number << 3 | 2 | 0x80, 0, len | 0x80, 0x80, 0], payload].concat()
}

fn redacting() -> Catalog {
    let redactor = Redactor::new(Schema::builtin(), 7);
    Catalog::new(7, Some(Arc::new(redactor)), Box::new(MemoryBodies::default()))
}

/// A Secret with `text` in a generic secret, which only the descriptors mark as sensitive.
fn secret(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let source = any_field(3, text.as_bytes());
    put_len_field(&mut out, 1, b"edge");
    put_len_field(&mut out, 5, &any_field(1, &source));
    any(SECRET, &out)
}

fn any_field(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, payload);
    out
}

#[test]
fn redacts_entries_in_any_encoding() {
    let (secret, other) = (secret("hush-hush"), secret("psst-psst"));
    // An `Any` with padded fields; wrappers with a repeated payload, with a padded payload, inside
    // another wrapper, and truncated.
    let padded_any = [padded(1, SECRET.as_bytes()), padded(2, &secret[SECRET.len() + 4..])].concat();
    let twice = [any_field(2, &secret), any_field(3, b"n"), any_field(2, &other)].concat();
    let loose = [any_field(3, b"n"), padded(2, &secret)].concat();
    let resource = "type.googleapis.com/envoy.service.discovery.v3.Resource";
    let inner = any(resource, &any_field(2, &any(resource, &any_field(2, &secret))));
    let cut = [any_field(3, b"n"), any_field(2, &secret), vec![0x0a, 0x7f]].concat();
    let sotw = [
        secret.clone(),
        padded_any,
        any(resource, &twice),
        any(resource, &loose),
        inner,
        any(resource, &cut),
    ];
    let delta = [twice, loose, cut, wrapper("n", "1", Some(&secret))];
    let sotw = sotw.iter().map(|entry| (MessageShape::SotwResponse, entry));
    for (shape, entry) in sotw.chain(delta.iter().map(|entry| (MessageShape::DeltaResponse, entry))) {
        let mut fields = vec![any_field(2, entry)];
        if entry.len() < 0x80 {
            fields.push(padded(2, entry));
        } else {
            // The length in three bytes.
            let len = entry.len();
            let head = [0x12, (len & 0x7f) as u8 | 0x80, (len >> 7) as u8 | 0x80, 0];
            fields.push([&head[..], entry].concat());
        }
        for field in fields {
            let mut catalog = redacting();
            let bytes = [any_field(5, b"nonce"), field, any_field(4, SECRET.as_bytes())].concat();
            let message = Message::parse(shape, &bytes, &mut catalog);
            assert!(message.redacted, "{entry:?}");
            assert_eq!(message.resources().map(|list| list.len()), Some(1));
            let kept = message.bytes(&catalog).expect("kept");
            for id in 0..catalog.blob_count() as u32 {
                let body = catalog.body(BlobId(id)).expect("kept");
                assert!(!body.windows(4).any(|four| four == b"hush" || four == b"psst"), "{body:?}");
            }
            assert!(!kept.windows(4).any(|four| four == b"hush" || four == b"psst"), "{kept:?}");
            assert!(kept.windows(10).any(|ten| ten == b"[redacted "), "{kept:?}");
            let back = again(&message, &mut catalog);
            assert_eq!(back.bytes(&catalog), Some(kept));
            // Without a redactor nothing is removed.
            let mut catalog = Catalog::in_memory();
            let message = Message::parse(shape, &bytes, &mut catalog);
            assert_eq!(message.bytes(&catalog), Some(bytes));
        }
    }
}

#[test]
fn keeps_every_byte_of_entries_without_secrets() {
    let mut catalog = redacting();
    let entry = cluster("a", b"");
    let twice = [any_field(2, &entry), any_field(3, b"n"), any_field(2, &entry)].concat();
    for (shape, field) in [
        (MessageShape::SotwResponse, padded(2, &entry)),
        (MessageShape::DeltaResponse, padded(2, &wrapper("a", "1", Some(&entry)))),
        (MessageShape::DeltaResponse, any_field(2, &twice)),
        (MessageShape::DeltaResponse, any_field(2, &[any_field(3, b"n"), padded(2, &entry)].concat())),
        (MessageShape::SotwResponse, any_field(2, b"\x0a\x7fcut")),
    ] {
        let message = check(shape, &field, &mut catalog);
        assert!(!message.redacted && message.resources().is_some_and(|list| list.len() == 1));
    }
}

#[test]
fn redacts_private_keys_in_unreadable_bytes() {
    let key = KEY.as_bytes();
    let long = [key, &[b' '; 300]].concat();
    let cut =
        [any_field(1, b"v"), vec![0x12, 0xff, 0x7f], SECRET.into(), vec![0x80], key.to_vec(), vec![0xff]];
    let garbage = [any_field(1, b"v"), vec![0x07], key.to_vec()];
    let unknown = [any_field(1, b"v"), any_field(99, key), any_field(98, &long)];
    let damaged = [any_field(2, &[&[0x12, 0x7f], &key[..80]].concat()), any_field(5, b"n")];
    for bytes in [cut.concat(), garbage.concat(), unknown.concat(), damaged.concat()] {
        for step in [7, bytes.len()] {
            for shape in [MessageShape::SotwResponse, MessageShape::DeltaResponse, MessageShape::SotwRequest]
            {
                let mut catalog = redacting();
                let mut builder = MessageBuilder::new(shape);
                for chunk in bytes.chunks(step) {
                    builder.push(chunk, &mut catalog);
                }
                let message = builder.finish(&mut catalog).expect("within limits");
                let kept = message.bytes(&catalog).expect("kept");
                assert!(message.redacted, "{shape:?} {bytes:?}");
                assert!(!kept.windows(4).any(|four| four == b"MIIE" || four == b"BAQE"), "{kept:?}");
                assert_eq!(kept.len(), bytes.len(), "only the key is overwritten");
            }
        }
    }
}

/// A key without an end marker extends over the next fields, whose tags and lengths are letters
/// too.
#[test]
fn redaction_keeps_field_boundaries() {
    let line = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg".as_slice();
    let letters = [b'M'; 77].as_slice();
    let body = [letters, b"-----END PRIVATE KEY-----\n"].concat();
    let group = [&[0x6b][..], &any_field(1, line), &any_field(1, letters), &[0x6c]].concat();
    let many = any_field(3, &body).repeat(20);
    let node = any_field(1, &[any_field(1, line), any_field(1, letters)].concat());
    let cut = [&any_field(1, line)[..], b"2z", letters].concat();
    for bytes in
        [[any_field(1, line), any_field(6, letters), any_field(1, letters)].concat(), group, many, node, cut]
    {
        for shape in [
            MessageShape::SotwResponse,
            MessageShape::DeltaResponse,
            MessageShape::SotwRequest,
            MessageShape::DeltaRequest,
        ] {
            let mut catalog = redacting();
            let message = Message::parse(shape, &bytes, &mut catalog);
            let kept = message.bytes(&catalog).expect("kept");
            assert!(message.redacted && message.size == bytes.len() as u64, "{shape:?}");
            assert!(!kept.windows(8).any(|part| b"MIIEvQIBADANBgMMMMMMMM".windows(8).any(|key| key == part)));
            let heads = |bytes| {
                Fields::new(bytes).map(|field| field.map(|f| (f.number, f.raw.len()))).collect::<Vec<_>>()
            };
            assert_eq!(heads(&kept), heads(&bytes), "{shape:?}");
            let back = catalog.with_clean(|catalog| again(&message, catalog));
            if !matches!(message.body, MessageBody::Undecodable { .. }) {
                assert_eq!(format!("{:?}", back.body), format!("{:?}", message.body), "{shape:?}");
            }
        }
    }
}
