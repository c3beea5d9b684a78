//! Work of readers for contents that later ones are compared with.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sample::*;
use crate::record::RecordingReader;
use xdscope_engine::store::{MessageKind, Options, Store};
use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::pb::put_len_field;

const DELTA: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// Clusters of the stream: several times the bytes of each cache whose size is fixed.
const CLUSTERS: u64 = 30_000;
const UPDATES: u64 = 2_000;

/// A file that counts how often bytes are looked up in it.
struct Counted(Cursor<Arc<[u8]>>, Arc<AtomicUsize>);

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.seek(to)
    }
}

/// Returns a delta response with these clusters and versions.
fn update(clusters: impl Iterator<Item = (u64, u64)>, n: u64) -> Vec<u8> {
    let mut response = Vec::new();
    for (i, version) in clusters {
        let mut resource = Vec::new();
        put_len_field(&mut resource, 3, format!("service-{i}").as_bytes());
        put_len_field(&mut resource, 1, version.to_string().as_bytes());
        put_len_field(&mut resource, 2, &cluster(i, version));
        put_len_field(&mut response, 2, &resource);
    }
    put_len_field(&mut response, 4, CDS.as_bytes());
    put_len_field(&mut response, 5, nonce(n).as_bytes());
    response
}

/// Records a session in which clusters change in random order. Returns the file.
fn random_updates() -> Arc<[u8]> {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let mut dice = Dice(7);
    let mut frames = vec![frame(0, 1, opened(DELTA))];
    let mut request = Vec::new();
    put_len_field(&mut request, 2, CDS.as_bytes());
    put_len_field(&mut request, 3, b"*");
    frames.push(frame(0, 1, message(MessageShape::DeltaRequest, &request, &mut catalog)));
    for first in (0..CLUSTERS).step_by(100) {
        let all = update((first..first + 100).map(|i| (i, 0)), first);
        frames.push(frame(first, 1, message(MessageShape::DeltaResponse, &all, &mut catalog)));
    }
    for n in CLUSTERS..CLUSTERS + UPDATES {
        let one = update(std::iter::once((dice.roll(CLUSTERS), 1)), n);
        frames.push(frame(n, 1, message(MessageShape::DeltaResponse, &one, &mut catalog)));
    }
    record(&frames, &catalog, 1000).into()
}

/// Reads a file into a store, and calls `see` after each frame. Returns the lookups in the file.
fn lookups(file: &Arc<[u8]>, history: usize, states_only: bool, mut see: impl FnMut(&Store)) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let bodies = Counted(Cursor::new(file.clone()), count.clone());
    let (catalog, mut reading) = RecordingReader::new(&file[..], bodies).expect("a header");
    let options = Options { history, ..Options::default() };
    let mut store = crate::store(options, catalog, reading.clock(), &Schema::builtin());
    if states_only {
        store.keep_states_only();
    }
    let mut frames = Vec::new();
    while reading.next(store.catalog_mut(), &mut frames).expect("a file in memory") {
        for frame in frames.drain(..) {
            store.handle(frame);
            see(&store);
        }
    }
    count.load(Ordering::Relaxed)
}

#[test]
fn compared_contents_are_not_read_again() {
    let file = random_updates();
    let found = lookups(&file, 512 << 20, false, |_| {});
    assert_eq!(found, 0, "each lookup decompresses a segment");
}

#[test]
fn states_need_no_contents() {
    let file = random_updates();
    let (mut pushes, mut messages) = (0, 0);
    let found = lookups(&file, 4 << 20, true, |store| {
        pushes += u64::from(store.latest_kind() == Some(MessageKind::Push));
        messages = store.messages();
        assert_eq!(store.rows(), 0);
    });
    assert_eq!(messages, 1 + CLUSTERS / 100 + UPDATES);
    assert!(pushes > CLUSTERS / 100 + UPDATES / 2, "{pushes}");
    assert_eq!(found, 0, "hashes stand for contents");
}
