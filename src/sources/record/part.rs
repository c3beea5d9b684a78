use std::collections::BTreeMap;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, GapCause};

/// A set of message numbers, one bit each.
#[derive(Clone, Debug, Default)]
pub struct SeqSet {
    words: Vec<u64>,
    len: u64,
}

impl SeqSet {
    /// Adds a number.
    pub fn insert(&mut self, n: Seq) {
        let (word, bit) = ((n.0 / 64) as usize, 1 << (n.0 % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// Whether the set has a number.
    pub fn contains(&self, n: Seq) -> bool {
        self.words.get((n.0 / 64) as usize).is_some_and(|word| word & (1 << (n.0 % 64)) != 0)
    }

    /// Returns the number of numbers.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the set has no numbers.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A stream of which a part is cut out.
#[derive(Clone, Debug, Default)]
struct StreamCut {
    /// Whether a message in front of the first retained one was left out.
    lacks_start: bool,
    /// The time of the first retained message.
    first_retained: Option<Time>,
    /// The node of a stream whose beginning was left out.
    node: Option<Vec<u8>>,
    /// Messages left out since the last retained one, and their bytes.
    omitted: (u64, u64),
    /// Whether a retained message was passed on.
    has_passed: bool,
}

/// The messages of a source that are retained. A source is read twice: first to note which messages
/// are retained, then to pass them on.
///
/// A stream without its beginning is marked as partial (◐) and keeps its node; omitted messages
/// become gaps. Streams without a retained message are dropped, unless no stream has one.
#[derive(Clone, Debug)]
pub struct Part {
    cuts: BTreeMap<StreamId, StreamCut>,
    numbers: SeqSet,
    /// The number of the last message that was passed on or left out.
    n: Seq,
    /// Number of messages passed on.
    passed: u64,
    /// The beginning of the part, once known.
    start: Option<Time>,
    /// Whether frames from before the part move to its beginning.
    has_cut_streams: bool,
}

impl Default for Part {
    fn default() -> Part {
        Part {
            cuts: BTreeMap::new(),
            numbers: SeqSet::default(),
            n: Seq(0),
            passed: 0,
            start: None,
            has_cut_streams: false,
        }
    }
}

impl Part {
    /// Notes a message, in order. `node` returns the node of its stream.
    pub fn note(
        &mut self,
        n: Seq,
        (stream, at): (StreamId, Time),
        is_retained: bool,
        node: impl FnOnce() -> Option<Vec<u8>>,
    ) {
        let cut = self.cuts.entry(stream).or_default();
        if !is_retained {
            cut.lacks_start |= cut.first_retained.is_none();
            return;
        }
        self.numbers.insert(n);
        if cut.first_retained.is_none() {
            cut.first_retained = Some(at);
            cut.node = cut.lacks_start.then(node).flatten();
        }
    }

    /// Ends the notes. Messages of streams that `is_picked` does not accept are left out.
    pub fn finish(mut self, is_picked: impl Fn(StreamId) -> bool) -> Part {
        self.cuts.retain(|stream, cut| cut.first_retained.is_some() && is_picked(*stream));
        self.start = self.cuts.values().filter_map(|cut| cut.first_retained).min();
        self.has_cut_streams = self.cuts.values().any(|cut| cut.lacks_start);
        self
    }

    /// Whether the part has a message.
    pub fn has_message(&self, stream: StreamId, n: Seq) -> bool {
        self.numbers.contains(n) && self.cuts.contains_key(&stream)
    }

    /// Whether the part has a message of the stream, or of no stream at all.
    pub fn has_stream(&self, stream: StreamId) -> bool {
        self.start.is_none() || self.cuts.contains_key(&stream)
    }

    /// Returns the number of messages that were passed on.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Appends what becomes of the next frame of the source. `is_kept` says whether a frame that is
    /// not a message is retained; it also gets the number of the latest message.
    pub fn pass(
        &mut self,
        mut frame: Frame,
        is_kept: impl FnOnce(&Frame, Seq) -> bool,
        out: &mut Vec<Frame>,
    ) {
        let begin = if self.has_cut_streams { self.start.unwrap_or(frame.at) } else { frame.at };
        let cut = self.cuts.get_mut(&frame.stream);
        let FramePayload::Message(message) = &frame.what else {
            let is_of_part = self.start.is_none() || cut.is_some();
            let is_gap = matches!(frame.what, FramePayload::Gap { .. });
            if (is_of_part || is_gap) && is_kept(&frame, self.n) {
                if let (FramePayload::Open(open), Some(cut)) =
                    (&mut frame.what, cut.filter(|cut| cut.lacks_start))
                {
                    open.partial = true;
                    open.node_hint = open.node_hint.take().or_else(|| cut.node.take());
                }
                frame.at = frame.at.max(begin);
                out.push(frame);
            }
            return;
        };
        self.n.0 += 1;
        let Some(cut) = cut else { return };
        if !self.numbers.contains(self.n) {
            cut.omitted = (cut.omitted.0 + 1, cut.omitted.1 + message.size);
            return;
        }
        let (messages, bytes) = std::mem::take(&mut cut.omitted);
        if messages > 0 && cut.has_passed {
            let what = FramePayload::Gap { dir: None, messages, bytes, cause: GapCause::Lost };
            out.push(Frame { what, ..frame.clone() });
        }
        cut.has_passed = true;
        self.passed += 1;
        out.push(frame);
    }
}

/// Retains the frames of a source in memory for which `is_kept` returns true, as [`Part`] does.
///
/// `keep` also gets the number of the latest message. Returns the number of retained messages.
pub fn retain_part(
    frames: &mut Vec<Frame>,
    catalog: &Catalog,
    mut is_kept: impl FnMut(&Frame, Seq) -> bool,
) -> u64 {
    let (mut n, mut part) = (Seq(0), Part::default());
    let mut nodes = BTreeMap::new();
    for frame in frames.iter() {
        if let FramePayload::Message(message) = &frame.what {
            n.0 += 1;
            if let Some(node) = message.node().and_then(|node| node.blob) {
                nodes.entry(frame.stream).or_insert(node);
            }
            let node = || Some(catalog.bytes(*nodes.get(&frame.stream)?)?.to_vec());
            part.note(n, (frame.stream, frame.at), is_kept(frame, n), node);
        }
    }
    let mut part = part.finish(|_| true);
    let mut out = Vec::new();
    for frame in frames.drain(..) {
        part.pass(frame, &mut is_kept, &mut out);
    }
    *frames = out;
    part.passed()
}
