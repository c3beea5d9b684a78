//! Packet captures of 1 GB: opening against reading the file.

use std::fs::File;
use std::hash::Hasher;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use twox_hash::XxHash3_64;
use xdscope_schema::Schema;
use xdscope_sources::pcap::{self, Options};
use xdscope_wire::FramePayload;

use crate::capture::{self, ADS, Form, Link, Session, Writer};
use crate::large::{Took, median, run};
use crate::traffic::Dice;
use crate::{clusters, say};

/// Writes pushes of 10,000 clusters, one changed in each.
fn churn(path: &Path, pushes: usize, form: Form, size: usize) -> u64 {
    let count = 10_000;
    let out = BufWriter::with_capacity(1 << 20, File::create(path).expect("a file"));
    let mut writer = Writer::new(out, form).expect("a disk");
    let mut session = Session::new(|segment| writer.segment(&segment).expect("a disk"));
    session.size = size;
    session.connect();
    session.greet();
    session.open(1, ADS);
    let mut dice = Dice(7);
    let mut content: Vec<Vec<u8>> = (0..count).map(|i| clusters::cluster(i, 5)).collect();
    session.message(1, 0, &clusters::request(clusters::CLUSTER, 0));
    for version in 1..=pushes {
        let changed = dice.roll(count);
        content[changed] = clusters::cluster(changed, 5 + version as u64);
        session.message(1, 1, &clusters::response(clusters::CLUSTER, version, &content));
        session.message(1, 0, &clusters::request(clusters::CLUSTER, version));
    }
    writer.into_inner().flush().expect("a disk");
    std::fs::metadata(path).expect("the file").len()
}

/// Counts the messages in a capture.
fn messages(path: &Path) -> usize {
    let options = Options { redact: None, seed: 1, schema: Schema::builtin() };
    let loaded = pcap::read(File::open(path).expect("the file"), &options).expect("a capture");
    assert_eq!(loaded.notices, Vec::<String>::new());
    loaded.frames.iter().filter(|frame| matches!(frame.what, FramePayload::Message(_))).count()
}

/// Measures a plain read with a hash over the file, in seconds.
fn plain(path: &Path) -> f64 {
    let start = Instant::now();
    let (mut file, mut hash, mut buffer) =
        (File::open(path).expect("the file"), XxHash3_64::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer).expect("a disk") {
            0 => break,
            read => hash.write(&buffer[..read]),
        }
    }
    std::hint::black_box(hash.finish());
    start.elapsed().as_secs_f64()
}

pub fn open(quick: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let ng = Form { ng: true, nanos: true, ..capture::PLAIN };
    let kinds = [
        ("pcap, segments of 1,448 bytes", capture::PLAIN, 1448),
        ("pcap of a loopback, segments of 32 KB", Form { link: Link::Null, ..capture::PLAIN }, 32_768),
        ("pcapng, segments of 1,448 bytes", ng, 1448),
    ];
    for (word, form, size) in kinds {
        let path = dir.path().join("large.pcap");
        let pushes = if quick { 5 } else { 250 };
        let bytes = churn(&path, pushes, form, size);
        assert_eq!(messages(&path), 2 * pushes + 1);
        let (mut status, mut reference): (Vec<Took>, Vec<f64>) = Default::default();
        for _ in 0..5 {
            reference.push(plain(&path));
            status.push(run("status", &path));
        }
        reference.sort_by(f64::total_cmp);
        let (status, reference) = (median(status), reference[2]);
        say(&format!("{word}: {:.2} GB", bytes as f64 / 1e9));
        say(&format!(
            "  status: {:.0} ms, peak {:.0} MB; {:.2} x reading and hashing the file ({:.0} ms)",
            status.wall * 1e3,
            status.peak,
            status.wall / reference,
            reference * 1e3
        ));
    }
}
