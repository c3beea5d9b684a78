//! Writes the seeds of the corpora from the scripts and the recording of the tests.
//!
//!     cargo run --manifest-path tests/fuzz/Cargo.toml --bin seeds

#[path = "../it/support/capture.rs"]
#[expect(clippy::duplicate_mod, reason = "the tests have it too")]
mod capture;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use xdscope_sources::record::{Header, Loaded, Writer, raw};
use xdscope_sources::script::{self, Codec};
use xdscope_wire::content::Catalog;
use xdscope_wire::pb::{Fields, put_len_field};
use xdscope_wire::{Frame, FramePayload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = texts(here)?;
    let sessions: Vec<Loaded> = texts.iter().filter_map(|text| load(text)).collect();
    let mut seeds = h2_observer();
    seeds.extend(frame_splitter());
    seeds.extend(capture_reader()?);
    seeds.extend(message_scan(&sessions));
    seeds.extend(recording_reader(&sessions, &here.join("../fixtures/recordings/v1.xdsrec"))?);
    for file in fs::read_dir(here.join("../../examples/bootstraps"))?.flatten() {
        seeds.push(("bootstrap", fs::read(file.path())?));
    }
    seeds.extend(texts.into_iter().map(|text| ("arrow_script", text.into_bytes())));
    for (n, (target, bytes)) in seeds.into_iter().enumerate() {
        let folder = here.join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        if bytes.len() < 4096 {
            fs::write(folder.join(format!("seed-{n:03}")), bytes)?;
        }
    }
    Ok(())
}

/// Returns all arrow scripts of examples and fixtures.
fn texts(here: &Path) -> std::io::Result<Vec<String>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["../../examples", "../fixtures/scripts", "../fixtures/lint"] {
        files.extend(fs::read_dir(here.join(folder))?.flatten().map(|entry| entry.path()));
    }
    files.retain(|file| file.extension().is_some_and(|ext| ext == "xds"));
    files.sort();
    files.iter().map(fs::read_to_string).collect()
}

/// Encodes content as JSON: descriptors would make the seeds longer, not better.
struct Plain;

impl Codec for Plain {
    fn encode(&self, _message: &str, json: &serde_json::Value) -> Result<Vec<u8>, script::CodecError> {
        let mut out = Vec::new();
        let name = json.get("name").or_else(|| json.get("cluster_name")).and_then(|name| name.as_str());
        put_len_field(&mut out, 1, name.unwrap_or_default().as_bytes());
        put_len_field(&mut out, 99, json.to_string().as_bytes());
        Ok(out)
    }

    fn decode(&self, _message: &str, _bytes: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

fn load(text: &str) -> Option<Loaded> {
    script::load(&script::parse(text, "seed").ok()?, &Plain).ok()
}

type Seed = (&'static str, Vec<u8>);

fn h2_observer() -> Vec<Seed> {
    let request: &[u8] =
        b"\x83\x86\x04\x04/a.B\x41\x02cp\x5f\x10application/grpc\x40\x0dgrpc-encoding\x04gzip";
    let part = |how: u8, kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[how, kind, flags, stream, payload.len() as u8][..], payload].concat()
    };
    let message = |text: &str| [&[0, 0, 0, 0, text.len() as u8][..], text.as_bytes()].concat();
    let settings = part(0, 4, 0, 0, &[0, 1, 0, 0, 16, 0]);
    let open = part(0, 1, 4, 1, request);
    // The header block of the second call consists of references to the first one.
    let again = part(0, 1, 4, 3, &[0x83, 0x86, 0x84, 0xc0, 0xbf, 0xbe]);
    let answer = part(1, 1, 4, 1, b"\x88");
    let data = part(0, 0, 0, 1, &[message("one"), message("two")].concat());
    let padded = part(1, 0, 8, 1, &[&[2][..], &message("answer"), &[0, 0]].concat());
    let trailers = part(1, 1, 5, 1, b"\x40\x0bgrpc-status\x0214\x40\x0cgrpc-message\x07not%20x");
    let split = [
        part(0, 1, 0x28, 1, &[&[1, 0, 0, 0, 0, 9][..], &request[..9], &[0]].concat()),
        part(0, 9, 4, 1, &request[9..]),
    ];
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&[7; 300]).expect("packs");
        let packed = encoder.finish().expect("packs");
        part(0, 0, 1, 1, &[&[1, 0, 0, 0, packed.len() as u8][..], &packed].concat())
    };
    let end = [
        part(1, 3, 0, 1, &[0, 0, 0, 8]),
        part(0, 7, 0, 0, b"\0\0\0\x01\0\0\0\x02bye"),
        part(1, 5, 4, 1, &[&[0, 0, 0, 2][..], request].concat()),
        part(0, 0x42, 0, 0, b"an extension"),
    ];
    let join = |parts: &[&[u8]]| [&[6][..], &parts.concat()].concat();
    let all = [
        join(&[&settings, &open, &answer, &data, &padded, &trailers]),
        join(&[&open, &again, &data, &end[0]]),
        join(&[&split[0], &split[1], &gzip, &answer, &trailers]),
        join(&[&settings, &open, &end[1], &end[2], &end[3], &trailers]),
        join(&[
            &open,
            &part(0, 0, 1, 1, &message("last")),
            &part(1, 1, 5, 1, b"\x88\x40\x0bgrpc-status\x010"),
        ]),
        join(&[
            &part(0, 1, 5, 1, b"\x82\x87\x84\x41\x01h"),
            &part(1, 1, 4, 1, b"\x8d"),
            &part(1, 0, 1, 1, b"{}"),
        ]),
        join(&[&split[0], &data]),
        join(&[&open, &part(0, 9, 4, 1, b""), &part(0, 0, 8, 1, &[9, 0])]),
    ];
    let mut seeds: Vec<Seed> = all.into_iter().map(|seed| ("h2_observer", seed)).collect();
    for start in [&b"POST /v3/discovery:clusters HTTP/1.1\r\n"[..], b"\x16\x03\x01\x02\0", b"PRI * HTTP/1.9"]
    {
        seeds.push(("h2_observer", [&[1, 2, start.len() as u8][..], start].concat()));
    }
    seeds
}

/// Makes seeds from a small session in several forms: complete, without its beginning, with a
/// missing part, reset; and as parts.
fn capture_reader() -> std::io::Result<Vec<Seed>> {
    use capture::{ACK, ADS, FIN, Form, Link, PLAIN, RST, SYN, Session, Writer};
    let mut field = Vec::new();
    put_len_field(&mut field, 4, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
    let grpc = [&[0, 0, 0, 0, field.len() as u8][..], &field].concat();
    let mut all = Vec::new();
    let mut session = Session::new(|segment| all.push(segment));
    session.size = 60;
    session.connect();
    session.greet();
    session.open(1, ADS);
    session.message(1, 0, &grpc);
    session.message(1, 1, &grpc);
    session.segment(0, FIN | ACK, &[]);
    session.segment(1, RST | ACK, &[]);
    let mut missing = all.clone();
    missing.remove(all.len() - 6);
    let mut tangled = all.clone();
    tangled[6..].reverse();
    let forms = [
        (PLAIN, all.clone()),
        (Form { ng: true, big: true, nanos: true, link: Link::Cooked2 }, all.clone()),
        (Form { link: Link::Raw, ..PLAIN }, all[8..].to_vec()),
        (Form { ng: true, link: Link::Null, ..PLAIN }, missing),
        (Form { big: true, link: Link::Vlan, ..PLAIN }, tangled),
    ];
    let mut seeds = Vec::new();
    for (form, segments) in forms {
        let mut writer = Writer::new(vec![0], form)?;
        segments.iter().try_for_each(|segment| writer.segment(segment))?;
        seeds.push(("capture_reader", writer.into_inner()));
    }
    let mut parts = vec![9];
    for segment in &all {
        let server = u8::from(segment.from.port() == 15_010);
        parts.extend([server | segment.flags << 1, segment.bytes.len() as u8]);
        parts.extend(&segment.bytes);
    }
    seeds.push((
        "capture_reader",
        [&parts[..], &[SYN << 1 | 0x40, 0, 0x80 | ACK << 1, 3, 9, 0, 1, 2, 3]].concat(),
    ));
    Ok(seeds)
}

fn frame_splitter() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for setup in 0..10 {
        let parts: [&[u8]; 5] =
            [b"\x00\x05plain", b"\x21\x06packed", b"\x02\x04fake", b"\x01\x00", b"\x00\x00"];
        seeds.push(("frame_splitter", [&[setup, 0x21 + setup][..], &parts.concat()].concat()));
    }
    seeds.push(("frame_splitter", b"\0\0\x03\x0c\0\0\0\0\x02ab\0\0\0\0\x09c".to_vec()));
    seeds
}

/// Makes one message for each shape and set of fields.
fn message_scan(sessions: &[Loaded]) -> Vec<Seed> {
    let (mut seen, mut seeds) = (BTreeSet::new(), Vec::new());
    for loaded in sessions {
        for frame in &loaded.frames {
            let FramePayload::Message(message) = &frame.what else { continue };
            let Some(bytes) = message.bytes(&loaded.catalog) else { continue };
            let fields: BTreeSet<u32> = Fields::new(&bytes).flatten().map(|field| field.number).collect();
            let shape = message.shape as u8;
            if bytes.len() < 1500 && seen.insert((shape, fields)) {
                seeds.push(("message_scan", [&[shape | (seeds.len() as u8) << 2][..], &bytes].concat()));
            }
        }
    }
    seeds
}

/// Shared output of a writer.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes seeds from recordings as they are, and with their segments uncompressed.
fn recording_reader(sessions: &[Loaded], file: &Path) -> Result<Vec<Seed>, Box<dyn std::error::Error>> {
    let mut seeds = vec![("recording_reader", [&[0, 200][..], &fs::read(file)?].concat())];
    for (n, loaded) in sessions.iter().enumerate().step_by(9) {
        let mut writer = raw::Writer::new(Vec::new(), loaded.clock, None);
        let all: Vec<&Frame> = loaded.frames.iter().collect();
        for frame in &all {
            writer.write(frame, &loaded.catalog)?;
        }
        if n % 2 == 0 {
            seeds.push(("recording_reader", [&[0, 128][..], &writer.finish()?].concat()));
        }
        let blocks = record(&all, &loaded.catalog, 3)?;
        for kinds in [[1, 2], [3, 4], [3, 6]] {
            let mut seed = vec![1 + (n as u8 & 6), 10 * (n as u8 % 25)];
            for (i, block) in blocks.iter().enumerate() {
                let kind = kinds[usize::from(i > 0)];
                seed.push(kind);
                seed.extend_from_slice(&(block.len() as u16).to_le_bytes());
                seed.extend(matches!(kind, 5 | 6).then_some(1));
                seed.extend_from_slice(block);
            }
            seeds.push(("recording_reader", seed));
        }
    }
    Ok(seeds)
}

/// Returns the blocks of a recording of one segment, uncompressed: a flush after each `step`
/// frames.
fn record(
    frames: &[&Frame],
    catalog: &Catalog,
    step: usize,
) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    let out = Shared::default();
    let header = Header { seed: catalog.seed(), ..Header::default() };
    let start = header.encode().len();
    let mut writer = Writer::new(out.clone(), header)?;
    for part in frames.chunks(step) {
        for frame in part {
            writer.write(frame, catalog)?;
        }
        writer.flush()?;
    }
    writer.finish()?;
    let file = out.0.lock().map_err(|_| "a panic")?.clone();
    let (mut packed, mut lengths, mut rest) = (Vec::new(), Vec::new(), &file[start..]);
    while let Some((&[_, _, _, p0, p1, p2, r0, r1, r2, ..], body)) = rest.split_first_chunk::<13>() {
        let len = u32::from_le_bytes([p0, p1, p2, 0]) as usize;
        lengths.push(u32::from_le_bytes([r0, r1, r2, 0]) as usize);
        packed.extend_from_slice(&body[..len]);
        rest = &body[len..];
    }
    let mut decoder = zstd::stream::read::Decoder::new(&packed[..])?;
    let mut blocks = Vec::new();
    for len in lengths {
        let mut block = vec![0; len];
        decoder.read_exact(&mut block)?;
        blocks.push(block);
    }
    Ok(blocks)
}
