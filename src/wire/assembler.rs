use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::content::{Catalog, UsedContent};
use crate::event::{Dir, Method, StreamId, Time, TypeUrl};

use super::{
    End, Frame, FramePayload, GapCause, Intervention, MessageBuilder, MessageShape, Open, Oversized,
    SharedValues,
};

/// Minimum time between two frames that count the traffic of an opaque stream.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Most memory of all unfinished messages, in bytes. Complete resources are stored elsewhere and do
/// not count.
pub const MAX_UNFINISHED_BYTES: usize = 34 << 20;

/// Memory of the metadata of a further stream, in bytes, once those of all streams are at the
/// limit.
pub const MIN_METADATA_BYTES: usize = 1 << 10;

/// Types of a stream whose messages are kept. Clients use some dozens.
pub const MAX_TYPES: usize = 128;

/// Most bytes of messages between two checks of the memory of unfinished messages.
const UNFINISHED_CHECK_BYTES: usize = 4 << 20;

/// Messages of a stream that are missing.
pub struct Gap {
    /// The direction of the messages; `None`: of either.
    pub dir: Option<Dir>,
    /// Number of the messages.
    pub messages: u64,
    /// Bytes of the messages.
    pub bytes: u64,
    /// Why they are missing.
    pub cause: GapCause,
}

impl Gap {
    /// Returns a gap of messages whose copy was lost.
    pub fn lost(dir: Option<Dir>, messages: u64, bytes: u64) -> Gap {
        Gap { dir, messages, bytes, cause: GapCause::Lost }
    }
}

/// Turns the traffic of live streams into frames.
///
/// Numbers the streams, builds the messages of xDS streams chunk by chunk, and counts the messages
/// of other streams.
pub struct Assembler {
    opened: u32,
    streams: BTreeMap<StreamId, LiveStream>,
    shared: SharedValues,
    /// Memory that all unfinished messages may take, in bytes. The metadata of all streams may take
    /// as much.
    max_unfinished: usize,
    /// Memory of the metadata of live streams, in bytes.
    metadata_bytes: usize,
    /// Streams that may be open before connections with several are limited.
    max_streams: usize,
    /// Bytes of messages since the memory of unfinished messages was checked.
    unchecked_bytes: usize,
}

impl Default for Assembler {
    fn default() -> Self {
        Assembler {
            opened: 0,
            streams: BTreeMap::new(),
            shared: SharedValues::default(),
            max_unfinished: MAX_UNFINISHED_BYTES,
            metadata_bytes: 0,
            max_streams: usize::MAX,
            unchecked_bytes: 0,
        }
    }
}

struct LiveStream {
    /// `None` on a stream that is not xDS, which is opaque (docs/protocol.md#a-19).
    method: Option<Method>,
    building: [Option<Box<MessageBuilder>>; 2],
    /// The types of its messages, up to [`MAX_TYPES`].
    types: HashSet<TypeUrl>,
    /// Memory of the metadata, in bytes.
    metadata_bytes: usize,
    counts: [Count; 2],
    counted: Time,
}

#[derive(Clone, Copy, Default)]
struct Count {
    messages: u64,
    bytes: u64,
}

fn side(dir: Dir) -> usize {
    match dir {
        Dir::Req => 0,
        Dir::Resp => 1,
    }
}

impl Assembler {
    /// Gives all unfinished messages `bytes` of memory, or the default of 34 MB if that is less.
    pub fn with_max_unfinished(self, bytes: usize) -> Assembler {
        Assembler { max_unfinished: bytes.min(MAX_UNFINISHED_BYTES), ..self }
    }

    /// Limits connections that have several streams once `streams` are open.
    pub fn with_max_streams(self, streams: usize) -> Assembler {
        Assembler { max_streams: streams, ..self }
    }

    /// Whether so many streams are open that only connections with few may open more.
    pub fn is_crowded(&self) -> bool {
        self.streams.len() >= self.max_streams
    }

    /// Returns the memory that all unfinished messages may take, in bytes.
    pub fn max_unfinished(&self) -> usize {
        self.max_unfinished
    }

    /// Marks the contents and names of unfinished messages as used, and forgets shared values.
    pub fn mark(&mut self, used: &mut UsedContent) {
        let building = self.streams.values().flat_map(|stream| stream.building.iter().flatten());
        building.for_each(|builder| builder.mark(used));
        self.shared = SharedValues::default();
    }

    /// Opens a stream and returns its id.
    pub fn open(&mut self, at: Time, mut open: Open, out: &mut Vec<Frame>) -> StreamId {
        let is_full = self.metadata_bytes.saturating_add(open.memory()) > self.max_unfinished;
        let omitted = if is_full { open.limit_metadata(MIN_METADATA_BYTES) } else { 0 };
        let metadata_bytes = open.memory();
        self.metadata_bytes = self.metadata_bytes.saturating_add(metadata_bytes);
        self.opened += 1;
        let id = StreamId(self.opened);
        let method = Method::of_path(&open.method);
        self.streams.insert(
            id,
            LiveStream {
                method,
                building: [None, None],
                types: HashSet::new(),
                metadata_bytes,
                counts: Default::default(),
                counted: at,
            },
        );
        out.push(Frame { at, stream: id, what: FramePayload::Open(Box::new(open)) });
        if omitted > 0 {
            self.headers_not_kept(at, id, omitted, out);
        }
        id
    }

    /// Adds decompressed bytes of the current message in this direction.
    pub fn data(&mut self, id: StreamId, dir: Dir, bytes: &[u8], catalog: &mut Catalog) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match &stream.method {
            Some(method) => {
                let shape = MessageShape::of(method, dir);
                let building =
                    stream.building[side(dir)].get_or_insert_with(|| Box::new(MessageBuilder::new(shape)));
                building.push(bytes, catalog);
                self.unchecked_bytes += bytes.len();
            }
            None => stream.counts[side(dir)].bytes += bytes.len() as u64,
        }
        if self.unchecked_bytes >= UNFINISHED_CHECK_BYTES.min(self.max_unfinished / 8) {
            self.unchecked_bytes = 0;
            self.limit_unfinished();
        }
    }

    /// Gives up the largest unfinished messages, which end as gaps, if all of them need too much
    /// memory.
    fn limit_unfinished(&mut self) {
        let all = || self.streams.values().flat_map(|stream| stream.building.iter().flatten());
        let mut held: usize = all().map(|builder| builder.held_bytes()).sum();
        if held <= self.max_unfinished {
            return;
        }
        let max = self.max_unfinished;
        let building = self.streams.values_mut().flat_map(|stream| stream.building.iter_mut().flatten());
        let mut building: Vec<_> = building.map(|builder| (builder.held_bytes(), builder)).collect();
        building.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (bytes, builder) in building {
            if held <= max {
                return;
            }
            builder.give_up(GapCause::Size);
            held -= bytes;
        }
    }

    /// Ends the current message in this direction. A message without bytes is an empty one.
    pub fn message(&mut self, at: Time, id: StreamId, dir: Dir, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match &stream.method {
            Some(method) => {
                let shape = MessageShape::of(method, dir);
                let building =
                    stream.building[side(dir)].take().unwrap_or_else(|| Box::new(MessageBuilder::new(shape)));
                let what = match building.finish(catalog) {
                    Ok(message) if !stream.add_type(message.type_url()) => {
                        return further_type(at, id, dir, message.size, out);
                    }
                    Ok(mut message) => {
                        self.shared.share(&mut message);
                        FramePayload::Message(std::sync::Arc::new(message))
                    }
                    Err(Oversized { cause, bytes }) => {
                        FramePayload::Gap { dir: Some(dir), messages: 1, bytes, cause }
                    }
                };
                out.push(Frame { at, stream: id, what });
            }
            None => {
                stream.counts[side(dir)].messages += 1;
                if at.since(stream.counted) >= COUNT_INTERVAL {
                    stream.count(at, id, out);
                }
            }
        }
    }

    /// Reports a PING on a connection, on the first xDS stream among those given
    /// (docs/protocol.md#i-12).
    pub fn ping(
        &mut self,
        at: Time,
        mut streams: impl Iterator<Item = StreamId>,
        dir: Dir,
        out: &mut Vec<Frame>,
    ) {
        if let Some(id) = streams.find(|id| self.is_xds(*id)) {
            out.push(Frame { at, stream: id, what: FramePayload::Opaque { dir, messages: 0, bytes: 0 } });
        }
    }

    /// Whether a stream has not ended.
    pub fn is_open(&self, id: StreamId) -> bool {
        self.streams.contains_key(&id)
    }

    /// Whether a stream has not ended, and its messages are discovery messages.
    pub fn is_xds(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.method.is_some())
    }

    /// Reports an intervention, with its messages as far as they are kept.
    pub fn intercepted(
        &mut self,
        at: Time,
        id: StreamId,
        what: Intervention,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        if !self.is_open(id) {
            return;
        }
        let what = what.kept(catalog);
        out.push(Frame { at, stream: id, what: FramePayload::Intercepted(Box::new(what)) });
    }

    /// Reports traffic without a message: a "not modified" response, or a request that gets no
    /// response (docs/protocol.md#d-03).
    pub fn passed(&mut self, at: Time, id: StreamId, dir: Dir, bytes: u64, out: &mut Vec<Frame>) {
        if self.streams.contains_key(&id) {
            out.push(Frame { at, stream: id, what: FramePayload::Opaque { dir, messages: 0, bytes } });
        }
    }

    /// Reports a message of another protocol than xDS by its size.
    pub fn counted(&mut self, at: Time, id: StreamId, dir: Dir, bytes: u64, out: &mut Vec<Frame>) {
        if self.streams.contains_key(&id) {
            out.push(Frame { at, stream: id, what: FramePayload::Opaque { dir, messages: 1, bytes } });
        }
    }

    /// Reports a gap. The messages that are being built in its direction, or in both, are lost.
    pub fn gap(&mut self, at: Time, id: StreamId, gap: Gap, out: &mut Vec<Frame>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Gap { dir, messages, bytes, cause } = gap;
        match dir {
            Some(dir) => stream.building[side(dir)] = None,
            None => stream.building = [None, None],
        }
        out.push(Frame { at, stream: id, what: FramePayload::Gap { dir, messages, bytes, cause } });
    }

    /// Reports header fields that are not kept. No message is missing.
    pub fn headers_not_kept(&mut self, at: Time, id: StreamId, bytes: u64, out: &mut Vec<Frame>) {
        let what = FramePayload::Gap { dir: None, messages: 0, bytes, cause: GapCause::Headers };
        out.push(Frame { at, stream: id, what });
    }

    /// Reports streams of the same connection that are not followed.
    pub fn streams_not_followed(&mut self, at: Time, id: StreamId, streams: u64, out: &mut Vec<Frame>) {
        let what = FramePayload::Gap { dir: None, messages: streams, bytes: 0, cause: GapCause::Streams };
        out.push(Frame { at, stream: id, what });
    }

    /// Drops the current message in this direction. The caller reports a gap later.
    pub fn drop_unfinished(&mut self, id: StreamId, dir: Dir) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.building[side(dir)] = None;
        }
    }

    /// Ends a stream. A message that the end cuts short becomes a gap.
    pub fn end(&mut self, at: Time, id: StreamId, end: End, out: &mut Vec<Frame>) {
        let Some(mut stream) = self.streams.remove(&id) else { return };
        self.metadata_bytes = self.metadata_bytes.saturating_sub(stream.metadata_bytes);
        stream.count(at, id, out);
        for dir in Dir::ALL {
            let Some(building) = &stream.building[side(dir)] else { continue };
            let (bytes, cause) = (building.size(), GapCause::Lost);
            let what = FramePayload::Gap { dir: Some(dir), messages: 1, bytes, cause };
            out.push(Frame { at, stream: id, what });
        }
        out.push(Frame { at, stream: id, what: FramePayload::End(Box::new(end)) });
    }

    /// Streams that have not ended.
    pub fn live(&self) -> impl Iterator<Item = StreamId> {
        self.streams.keys().copied()
    }
}

/// Reports a message of a type beyond [`MAX_TYPES`]. Consecutive ones share a gap.
fn further_type(at: Time, id: StreamId, in_dir: Dir, size: u64, out: &mut Vec<Frame>) {
    if let Some(Frame { stream, what: FramePayload::Gap { dir, messages, bytes, cause }, .. }) =
        out.last_mut()
        && (*stream, *dir, *cause) == (id, Some(in_dir), GapCause::Types)
    {
        *messages += 1;
        *bytes = bytes.saturating_add(size);
        return;
    }
    let what = FramePayload::Gap { dir: Some(in_dir), messages: 1, bytes: size, cause: GapCause::Types };
    out.push(Frame { at, stream: id, what });
}

impl LiveStream {
    /// Notes the type of a message. Returns false if there are too many others.
    fn add_type(&mut self, url: TypeUrl) -> bool {
        if self.types.len() >= MAX_TYPES {
            return self.types.contains(&url);
        }
        self.types.insert(url);
        true
    }

    /// Reports the messages that passed uncounted since the last report.
    fn count(&mut self, at: Time, id: StreamId, out: &mut Vec<Frame>) {
        self.counted = at;
        for dir in [Dir::Req, Dir::Resp] {
            let Count { messages, bytes } = std::mem::take(&mut self.counts[side(dir)]);
            if messages + bytes > 0 {
                out.push(Frame { at, stream: id, what: FramePayload::Opaque { dir, messages, bytes } });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::put_len_field;

    fn kinds(frames: &[Frame]) -> Vec<String> {
        frames
            .iter()
            .map(|frame| match &frame.what {
                FramePayload::Open(open) => format!("open {}", open.method),
                FramePayload::Message(message) => format!("{:?} {} B", message.shape, message.size),
                FramePayload::Opaque { dir, messages, bytes } => {
                    format!("opaque {} {messages} {bytes}", dir.word())
                }
                FramePayload::Intercepted(what) => what.facts.interference.word().to_owned(),
                FramePayload::Gap { messages, bytes, .. } => format!("gap {messages} {bytes}"),
                FramePayload::End(_) => "end".to_owned(),
            })
            .collect()
    }

    fn open(method: &str) -> Open {
        Open { method: method.into(), ..Open::default() }
    }

    /// docs/protocol.md#a-19
    #[test]
    fn builds_messages_on_xds_streams_and_counts_others() {
        let mut catalog = Catalog::in_memory();
        let (mut assembler, mut out) = (Assembler::default(), Vec::new());
        let ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
        let xds = assembler.open(Time::ZERO, open(ads), &mut out);
        let health = assembler.open(Time::ZERO, open("/grpc.health.v1.Health/Watch"), &mut out);
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 2, b"type");
        let (first, second) = bytes.split_at(3);
        assembler.data(xds, Dir::Req, first, &mut catalog);
        assembler.data(health, Dir::Resp, b"abc", &mut catalog);
        assembler.data(xds, Dir::Req, second, &mut catalog);
        assembler.message(Time(1), xds, Dir::Req, &mut catalog, &mut out);
        assembler.message(Time(1), health, Dir::Resp, &mut catalog, &mut out);
        assembler.message(Time(2), xds, Dir::Resp, &mut catalog, &mut out);
        assembler.data(xds, Dir::Resp, b"\x0a\x05", &mut catalog);
        assembler.end(Time(3), health, End::default(), &mut out);
        assembler.end(Time(4), xds, End::default(), &mut out);
        assert_eq!(
            kinds(&out),
            [
                format!("open {ads}").as_str(),
                "open /grpc.health.v1.Health/Watch",
                "DeltaRequest 6 B",
                "DeltaResponse 0 B",
                "opaque resp 1 3",
                "end",
                "gap 1 2",
                "end",
            ]
        );
    }

    #[test]
    fn messages_with_many_names_are_gaps_while_names_fill_the_memory() {
        let mut catalog = Catalog::in_memory();
        catalog.set_max_text_bytes(2 << 20);
        let (mut assembler, mut out) = (Assembler::default(), Vec::new());
        let ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
        let stream = assembler.open(Time::ZERO, open(ads), &mut out);
        out.clear();
        for (round, count) in [(0, 40_000), (1, 40_000), (2, 40_000), (3, 40_000), (4, 10)] {
            let mut bytes = Vec::new();
            (0..count).for_each(|i| put_len_field(&mut bytes, 3, format!("name-{round}-{i}").as_bytes()));
            assembler.data(stream, Dir::Req, &bytes, &mut catalog);
            assembler.message(Time::ZERO, stream, Dir::Req, &mut catalog, &mut out);
        }
        let causes = out.iter().map(|frame| match &frame.what {
            FramePayload::Gap { cause, .. } => Some(*cause),
            _ => None,
        });
        let causes: Vec<Option<GapCause>> = causes.collect();
        assert!(causes[0].is_none() && causes[4].is_none(), "{causes:?}");
        assert_eq!(causes[3], Some(GapCause::Names), "{causes:?}");
    }

    #[test]
    fn shortens_long_paths_once_the_metadata_take_their_memory() {
        let max = 1 << 20;
        let (mut assembler, mut out) = (Assembler::default().with_max_unfinished(max), Vec::new());
        for _ in 0..100 {
            assembler.open(Time::ZERO, open(&"ö".repeat(30_000)), &mut out);
        }
        assert!(assembler.metadata_bytes <= max + 100 * MIN_METADATA_BYTES, "{}", assembler.metadata_bytes);
        let gaps = out.iter().filter(|frame| matches!(frame.what, FramePayload::Gap { bytes: 59_800, .. }));
        assert_eq!(gaps.count(), 100 - max / 60_000);
    }

    #[test]
    fn limits_the_metadata_of_all_streams() {
        let max = 1 << 20;
        let (mut assembler, mut out) = (Assembler::default().with_max_unfinished(max), Vec::new());
        let mut with_metadata = || {
            let metadata = vec![("k".to_owned(), "v".to_owned()), ("long".to_owned(), "v".repeat(60_000))];
            let id = assembler.open(Time::ZERO, Open { metadata, ..open("/a/b") }, &mut out);
            (id, assembler.metadata_bytes)
        };
        let opened: Vec<_> = (0..40).map(|_| with_metadata()).collect();
        assert!(opened.iter().all(|(_, bytes)| *bytes <= max + 40 * MIN_METADATA_BYTES), "{opened:?}");
        let kept = out.iter().filter_map(|frame| match &frame.what {
            FramePayload::Open(open) => Some(open.metadata.len()),
            _ => None,
        });
        let kept: Vec<usize> = kept.collect();
        assert_eq!((kept[0], kept[39]), (2, 1));
        let gaps = out.iter().filter(|frame| matches!(frame.what, FramePayload::Gap { bytes: 60_004, .. }));
        assert_eq!(gaps.count(), kept.iter().filter(|kept| **kept == 1).count());
        for (id, _) in opened {
            assembler.end(Time::ZERO, id, End::default(), &mut out);
        }
        assert_eq!(assembler.metadata_bytes, 0);
    }

    #[test]
    fn keeps_messages_of_the_first_types_of_a_stream() {
        let mut catalog = Catalog::in_memory();
        let (mut assembler, mut out) = (Assembler::default(), Vec::new());
        let ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
        let id = assembler.open(Time::ZERO, open(ads), &mut out);
        out.clear();
        for number in (0..MAX_TYPES + 3).chain([0]) {
            let mut request = Vec::new();
            put_len_field(&mut request, 4, format!("type.googleapis.com/a.B{number}").as_bytes());
            assembler.data(id, Dir::Req, &request, &mut catalog);
            assembler.message(Time::ZERO, id, Dir::Req, &mut catalog, &mut out);
        }
        let gap = |frame: &Frame| match frame.what {
            FramePayload::Gap { cause, messages, .. } => Some((cause, messages)),
            _ => None,
        };
        assert_eq!(out.len(), MAX_TYPES + 2);
        assert_eq!(gap(&out[MAX_TYPES]), Some((GapCause::Types, 3)));
        assert_eq!(out.iter().filter_map(gap).count(), 1);
    }

    #[test]
    fn gives_up_the_largest_unfinished_messages_of_all_streams() {
        let mut catalog = Catalog::in_memory();
        let max = 30 << 20;
        let (mut assembler, mut out) = (Assembler::default().with_max_unfinished(max), Vec::new());
        let ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
        let streams: Vec<StreamId> =
            (0..60).map(|_| assembler.open(Time::ZERO, open(ads), &mut out)).collect();
        // A type URL of 16 MB begins; the first stream sends little of it.
        let mut begin = |id, bytes| {
            assembler.data(id, Dir::Req, b"\x22\x80\x80\x80\x08", &mut catalog);
            assembler.data(id, Dir::Req, &vec![b'y'; bytes], &mut catalog);
        };
        begin(streams[0], 100);
        streams[1..].iter().for_each(|id| begin(*id, 4 << 20));
        let building = assembler.streams.values().flat_map(|stream| stream.building.iter().flatten());
        let held: Vec<usize> = building.map(|builder| builder.held_bytes()).collect();
        let all = max + UNFINISHED_CHECK_BYTES;
        assert!(held.iter().sum::<usize>() <= all && held[0] >= 100, "{held:?}");
        assert!(held.iter().filter(|bytes| **bytes > 4_000_000).count() >= 6, "{held:?}");
    }
}
