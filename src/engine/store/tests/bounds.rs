use std::sync::Arc;

use crate::store::{Options, RowNote, Store, TypeState};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Clock, Kind, Seq, StreamId, Time, TypeUrl};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

/// Frames of one SotW CDS stream, made by hand.
pub(super) struct Hand {
    pub(super) store: Store,
    at: u64,
}

pub(super) fn cds() -> TypeUrl {
    Kind::Cds.type_url(ApiVersion::V3).unwrap()
}

impl Hand {
    pub(super) fn new(options: Options) -> Hand {
        let mut store = Store::new(Catalog::in_memory(), Clock::default(), options);
        let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters".to_owned();
        let open = Open { method, ..Open::default() };
        store.handle(Frame { at: Time(0), stream: StreamId(1), what: FramePayload::Open(Box::new(open)) });
        Hand { store, at: 0 }
    }

    fn send(&mut self, shape: MessageShape, bytes: &[u8]) {
        self.at += 1_000_000;
        let message = Message::parse(shape, bytes, self.store.catalog_mut());
        let what = FramePayload::Message(Arc::new(message));
        self.store.handle(Frame { at: Time(self.at), stream: StreamId(1), what });
    }

    pub(super) fn request(&mut self, version: &str, nonce: &str) {
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 1, version.as_bytes());
        put_len_field(&mut bytes, 5, nonce.as_bytes());
        self.send(MessageShape::SotwRequest, &bytes);
    }

    pub(super) fn response(&mut self, version: &str, nonce: &str, resources: impl Iterator<Item = Vec<u8>>) {
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 1, version.as_bytes());
        for resource in resources {
            let mut any = Vec::new();
            put_len_field(&mut any, 1, cds().as_str().as_bytes());
            put_len_field(&mut any, 2, &resource);
            put_len_field(&mut bytes, 2, &any);
        }
        put_len_field(&mut bytes, 5, nonce.as_bytes());
        self.send(MessageShape::SotwResponse, &bytes);
    }
}

pub(super) fn cluster(name: &str, rest: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, name.as_bytes());
    put_len_field(&mut out, 28, rest.as_bytes());
    out
}

#[test]
fn finds_single_change_in_any_order() {
    let mut hand = Hand::new(Options::default());
    hand.request("", "");
    let set = |changed: usize| {
        (0..3000).map(move |i| cluster(&format!("c{i}"), if i == changed { "b" } else { "a" }))
    };
    hand.response("1", "1", set(9999));
    hand.request("1", "1");
    hand.response("2", "2", set(1234));
    let row = hand.store.row(4).unwrap();
    assert_eq!((row.changed.len(), row.same, row.added.len(), row.removed.len()), (1, 2999, 0, 0));
    assert_eq!(&*row.changed[0], "c1234");
    hand.request("2", "2");
    // Sorted otherwise, two new, one gone, one changed back.
    let mut all: Vec<Vec<u8>> = set(9999).collect();
    all.remove(7);
    all.sort_by_key(|bytes| {
        xdscope_wire::pb::Fields::new(bytes).count() as u64
            ^ bytes.iter().map(|b| u64::from(*b) * 7919).sum::<u64>()
    });
    all.insert(100, cluster("new-a", "a"));
    all.push(cluster("new-b", "a"));
    hand.response("3", "3", all.into_iter());
    let row = hand.store.row(6).unwrap();
    assert_eq!((row.changed.len(), row.same), (1, 2998));
    assert_eq!(row.added.iter().map(|n| n.to_string()).collect::<Vec<_>>(), ["new-a", "new-b"]);
    assert_eq!(row.removed.iter().map(|n| n.to_string()).collect::<Vec<_>>(), ["c7"]);
    // The client uses the removed one until its ACK.
    assert_eq!(hand.store.states()[0].summary.resources, 3002);
    assert_eq!(hand.store.resource(StreamId(1), &cds(), "c1234").unwrap().version.as_deref(), Some("3"));
    assert_eq!(
        hand.store.resource(StreamId(1), &cds(), "c1234").unwrap().acked_version.as_deref(),
        Some("2")
    );
}

#[test]
fn ignores_difference_in_bytes_only() {
    let mut hand = Hand::new(Options::default());
    hand.store.set_meaning(Arc::new(|a: &[u8], b: &[u8]| {
        let sorted = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.sort_unstable();
            bytes
        };
        sorted(a) == sorted(b)
    }));
    hand.request("", "");
    hand.response("1", "1", [cluster("a", "xy"), cluster("b", "xy")].into_iter());
    hand.response("2", "2", [cluster("a", "yx"), cluster("b", "zz")].into_iter());
    let row = hand.store.row(3).unwrap();
    assert_eq!((row.same, row.changed.len(), &*row.changed[0]), (1, 1, "b"));
}

#[test]
fn compresses_messages_and_drops_oldest() {
    let mut hand = Hand::new(Options { history: 1_500_000, ..Options::default() });
    let mut whole = Hand::new(Options { history: usize::MAX, ..Options::default() });
    for hand in [&mut hand, &mut whole] {
        hand.request("", "");
        for i in 0..6000 {
            let content = std::iter::once(cluster("a", &i.to_string()));
            hand.response(&i.to_string(), &i.to_string(), content);
            hand.request(&i.to_string(), &i.to_string());
        }
    }
    let store = &hand.store;
    assert_eq!((store.messages(), store.rows()), (12_001, 12_002));
    let dropped = store.dropped();
    assert!((1000..11_000).contains(&dropped), "{dropped}");
    assert_eq!(whole.store.dropped(), 0);
    for n in 1..=12_001 {
        let facts = |store: &Store| store.row(store.row_of(Seq(n)).unwrap()).unwrap();
        if n > dropped {
            assert_eq!(store.message(Seq(n)), whole.store.message(Seq(n)), "#{n}");
            assert_eq!(format!("{:?}", facts(store)), format!("{:?}", facts(&whole.store)));
        } else {
            assert!(store.message(Seq(n)).is_none(), "#{n}");
        }
    }
    let old = store.row(store.row_of(Seq(3)).unwrap()).unwrap();
    assert_eq!((&*old.version, old.kind.word(), old.answers), ("0", "ack", Some(Seq(2))));
    assert!(matches!(old.note.as_deref(), Some(RowNote::NotKept)));
    assert_eq!(store.states()[0].versions.in_force.as_deref(), Some("5999"));
}

/// Messages that the source lacks have numbers and no rows.
#[test]
fn skipped_numbers_have_no_rows() {
    let mut hand = Hand::new(Options { history: 400_000, ..Options::default() });
    let mut kept = Vec::new();
    hand.request("", "");
    for i in 0..4000_u64 {
        if i % 7 == 0 {
            hand.store.skip_messages(i % 5);
        }
        hand.response(&i.to_string(), &i.to_string(), std::iter::once(cluster("a", &i.to_string())));
        kept.push((hand.store.messages(), i));
        hand.request(&i.to_string(), &i.to_string());
        if hand.store.is_over_budget() {
            hand.store.drop_old_facts(|_| {});
        }
    }
    let store = &hand.store;
    assert!(store.first_row() > 0 && store.messages() > 9000, "{} {}", store.first_row(), store.messages());
    let (mut rows, mut messages) = (0, 0);
    for n in 1..=store.messages() {
        let Some(row) = store.row_of(Seq(n)).and_then(|row| store.row(row)) else { continue };
        assert_eq!(row.n, Some(Seq(n)));
        rows += 1;
        let Ok(place) = kept.binary_search_by_key(&n, |(n, _)| *n) else { continue };
        assert_eq!(&*row.version, &kept[place].1.to_string(), "#{n}");
        messages += usize::from(store.message(Seq(n)).is_some());
    }
    assert_eq!(rows, store.rows() - store.first_row());
    assert!(messages > 100, "{messages}");
}

#[test]
fn drops_large_contents_of_few_rows() {
    let budget = 32 << 20;
    let mut hand = Hand::new(Options { history: budget, ..Options::default() });
    hand.request("", "");
    let mut state: u64 = 1;
    let mut most = 0;
    for i in 0..100 {
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{state:016x}")
        };
        let content: String = (0..65_536).map(|_| word()).collect();
        hand.response(&i.to_string(), &i.to_string(), std::iter::once(cluster("a", &content)));
        hand.request(&i.to_string(), &i.to_string());
        if hand.store.is_over_budget() {
            hand.store.drop_old_facts(|_| {});
        }
        most = most.max(hand.store.memory());
    }
    assert!(most < budget + budget / 2, "{most}");
    assert!(hand.store.first_row() > 100, "{}", hand.store.first_row());
    assert_eq!(hand.store.states()[0].versions.in_force.as_deref(), Some("99"));
}

#[test]
fn drops_the_metadata_of_ended_streams() {
    let budget = 16 << 20;
    let mut store =
        Store::new(Catalog::in_memory(), Clock::default(), Options { history: budget, ..Options::default() });
    let (method, mut most) = ("/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters", 0);
    for number in 1..=2000 {
        let metadata =
            vec![("first".to_owned(), number.to_string()), ("long".to_owned(), "v".repeat(60_000))];
        let open = Open { method: method.to_owned(), metadata, ..Open::default() };
        for what in [FramePayload::Open(Box::new(open)), FramePayload::End(Box::default())] {
            store.handle(Frame { at: Time(number * 1_000_000), stream: StreamId(number as u32), what });
        }
        if store.is_over_budget() {
            store.drop_old_facts(|_| {});
        }
        let held: usize = store.engine.streams().iter().map(|stream| stream.open.memory()).sum();
        assert!(held <= store.memory(), "{held}");
        most = most.max(held);
    }
    assert!(most < 2 * budget, "{most}");
    let kept = store.engine.streams().iter().last().map(|stream| stream.open.metadata[0].1.clone());
    assert_eq!(kept.as_deref(), Some("2000"));
}

#[test]
fn shows_reason_for_undecodable_message() {
    let mut hand = Hand::new(Options::default());
    hand.request("", "");
    hand.send(MessageShape::SotwResponse, b"\x0a\xff");
    let row = hand.store.row(2).unwrap();
    assert!(matches!(row.note.as_deref(), Some(RowNote::Undecodable(_))));
    assert_eq!(row.type_url, cds());
    assert_eq!(hand.store.states()[0].traffic.pushes, 0);
}

/// A client that never answers leaves a bounded number of responses, and its answer to the newest
/// one counts.
#[test]
fn few_of_many_unanswered_responses_stay() {
    const RESPONSES: usize = 20_000;
    let mut hand = Hand::new(Options::default());
    hand.request("", "");
    for i in 0..RESPONSES {
        let text = i.to_string();
        hand.response(&text, &text, std::iter::once(cluster("a", &text)));
    }
    let pending = |store: &Store| {
        let streams = store.engine().open_streams();
        streams
            .flat_map(|stream| &stream.tracks)
            .map(|track| track.responses.pending().count())
            .sum::<usize>()
    };
    assert!((1..=1 << 14).contains(&pending(&hand.store)), "{}", pending(&hand.store));
    let newest = (RESPONSES - 1).to_string();
    hand.request(&newest, &newest);
    assert_eq!(pending(&hand.store), 0);
    let states = hand.store.states();
    assert_eq!(states.first().map(|state| state.summary.state), Some(TypeState::Synced));
}
