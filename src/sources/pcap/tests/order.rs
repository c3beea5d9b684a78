use proptest::prelude::*;

use crate::pcap::order::{StreamPiece, StreamReassembler, StreamSegment};
use xdscope_wire::event::Time;

/// The output: the bytes, and the offset and length of each gap.
#[derive(Debug, Default, PartialEq, Eq)]
struct Got {
    bytes: Vec<u8>,
    gaps: Vec<(usize, u64)>,
}

impl Got {
    fn take(&mut self, piece: StreamPiece<'_>) {
        match piece {
            StreamPiece::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            StreamPiece::Gap(bytes) => self.gaps.push((self.bytes.len(), bytes)),
        }
    }
}

/// Returns a segment that was captured whole.
fn segment_at(seq: u32, bytes: &[u8]) -> StreamSegment<'_> {
    StreamSegment { seq, bytes, ..StreamSegment::default() }
}

/// Reassembles segments, given by position and length, of a stream that starts at `first`.
fn run(first: u32, stream: &[u8], segments: &[(usize, usize)]) -> Got {
    let (mut half, mut got) = (StreamReassembler::default(), Got::default());
    half.begin(first);
    for (at, len) in segments {
        let seq = first.wrapping_add(*at as u32);
        half.take(segment_at(seq, &stream[*at..at + len]), &mut |piece| got.take(piece));
    }
    half.finish(&mut |piece| got.take(piece));
    assert_eq!(half.waiting_bytes(), 0);
    got
}

fn stream(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Cuts the stream at these positions.
fn cut(len: usize, cuts: &[usize]) -> Vec<(usize, usize)> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % len).chain([0, len]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
}

proptest! {
    #[test]
    fn reassembles_any_order_with_duplicates(
        first in any::<u32>(),
        len in 1usize..3000,
        cuts in prop::collection::vec(any::<usize>(), 0..30),
        copies in prop::collection::vec((any::<usize>(), any::<usize>()), 0..20),
        order in prop::collection::vec(any::<u32>(), 60),
    ) {
        let stream = stream(len);
        let mut segments = cut(len, &cuts);
        // Retransmissions may be cut elsewhere, and overlap.
        for (at, copy) in copies {
            let at = at % len;
            segments.push((at, copy % (len - at) + 1));
        }
        let mut shuffled: Vec<_> = order.iter().cycle().zip(segments).collect();
        shuffled.sort_by_key(|(order, _)| **order);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(_, segment)| segment).collect();
        let got = run(first, &stream, &shuffled);
        prop_assert_eq!(got.gaps, []);
        prop_assert!(got.bytes == stream);
    }

    #[test]
    fn reports_lost_segment_as_one_gap(
        first in any::<u32>(),
        len in 3usize..3000,
        cuts in prop::collection::vec(any::<usize>(), 2..30),
        lost in any::<prop::sample::Index>(),
        order in prop::collection::vec(any::<u32>(), 60),
    ) {
        let stream = stream(len);
        let mut segments = cut(len, &cuts);
        prop_assume!(segments.len() > 2);
        // The last segment leaves no gap.
        let (at, lost) = segments.remove(lost.index(segments.len() - 1));
        let mut shuffled: Vec<_> = order.iter().cycle().zip(segments).collect();
        shuffled.sort_by_key(|(order, _)| **order);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(_, segment)| segment).collect();
        let got = run(first, &stream, &shuffled);
        prop_assert_eq!(got.gaps, [(at, lost as u64)]);
        prop_assert!(got.bytes == [&stream[..at], &stream[at + lost..]].concat());
    }

    #[test]
    fn survives_arbitrary_segments(
        segments in prop::collection::vec((any::<u32>(), 0usize..2000, 0u32..3000, any::<bool>(), any::<u32>()), 0..200)
    ) {
        let (mut half, stream) = (StreamReassembler::default(), stream(2000));
        for (i, (seq, len, missing, fin, ack)) in segments.into_iter().enumerate() {
            half.take(StreamSegment { seq, bytes: &stream[..len], missing, fin }, &mut |_| ());
            half.acknowledge(ack);
            half.check_gap(Time(i as u64 * 100_000_000), &mut |_| ());
        }
        half.finish(&mut |_| ());
        prop_assert_eq!(half.waiting_bytes(), 0);
    }
}

#[test]
fn keeps_first_of_differing_copies() {
    let (mut half, mut got) = (StreamReassembler::default(), Got::default());
    half.begin(10);
    for (seq, bytes) in [(12, "cd"), (11, "XXXX"), (14, "YY"), (10, "aZ")] {
        half.take(segment_at(seq, bytes.as_bytes()), &mut |piece| got.take(piece));
    }
    assert_eq!(String::from_utf8_lossy(&got.bytes), "aXcdXY");
    assert_eq!(got.gaps, []);
}

#[test]
fn gives_up_acknowledged_gap() {
    let (mut half, mut got) = (StreamReassembler::default(), Got::default());
    half.begin(0);
    half.take(segment_at(0, b"ab"), &mut |piece| got.take(piece));
    half.take(segment_at(5, b"fg"), &mut |piece| got.take(piece));
    half.check_gap(Time(0), &mut |piece| got.take(piece));
    half.check_gap(Time(10_000_000_000), &mut |piece| got.take(piece));
    assert_eq!(got.gaps, [], "nothing is acknowledged");
    half.acknowledge(7);
    half.check_gap(Time(10_000_000_000), &mut |piece| got.take(piece));
    assert_eq!(got.gaps, [], "the segment may be out of order");
    half.check_gap(Time(11_500_000_000), &mut |piece| got.take(piece));
    assert_eq!((got.bytes.as_slice(), got.gaps.as_slice()), (&b"abfg"[..], &[(2, 3)][..]));
}

#[test]
fn does_not_count_unseen_fin_as_gap() {
    for (acked, gaps) in [(3, vec![]), (4, vec![(2, 2)])] {
        let (mut half, mut got) = (StreamReassembler::default(), Got::default());
        half.begin(0);
        half.take(segment_at(0, b"ab"), &mut |piece| got.take(piece));
        half.acknowledge(acked);
        half.finish(&mut |piece| got.take(piece));
        assert_eq!(got.gaps, gaps);
    }
}

#[test]
fn bounds_waiting_bytes() {
    let (mut half, mut got) = (StreamReassembler::default(), Got::default());
    half.begin(0);
    let segment = vec![1; 60_000];
    for i in 0..2000u32 {
        half.take(segment_at(1000 + i * 60_001, &segment), &mut |piece| got.take(piece));
        assert!(half.waiting_bytes() < 5 << 20, "{}", half.waiting_bytes());
    }
    assert!(got.gaps.len() > 1900, "holes were given up");
}

#[test]
fn ends_with_last_byte() {
    let mut half = StreamReassembler::default();
    half.begin(7);
    half.take(StreamSegment { fin: true, ..segment_at(9, b"c") }, &mut |_| ());
    assert!(!half.is_over());
    half.take(segment_at(7, b"ab"), &mut |_| ());
    assert!(half.is_over());
}
