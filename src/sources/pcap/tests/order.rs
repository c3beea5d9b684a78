use proptest::prelude::*;

use crate::sources::pcap::order::{Half, Piece};
use crate::wire::event::Time;

/// What came out: the bytes, and for each gap where it was and how long.
#[derive(Debug, Default, PartialEq, Eq)]
struct Got {
    bytes: Vec<u8>,
    gaps: Vec<(usize, u64)>,
}

impl Got {
    fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            Piece::Gap(bytes) => self.gaps.push((self.bytes.len(), bytes)),
        }
    }
}

/// Segments of a stream that begins at `first`, by place and length; each with the stream's own bytes.
fn run(first: u32, stream: &[u8], segments: &[(usize, usize)]) -> Got {
    let (mut half, mut got) = (Half::default(), Got::default());
    half.begin(first);
    for (at, len) in segments {
        let seq = first.wrapping_add(*at as u32);
        half.take(seq, &stream[*at..at + len], 0, false, &mut |piece| got.take(piece));
    }
    half.finish(&mut |piece| got.take(piece));
    assert_eq!(half.held(), 0);
    got
}

fn stream(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// The stream cut at these places.
fn cut(len: usize, cuts: &[usize]) -> Vec<(usize, usize)> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % len).chain([0, len]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
}

proptest! {
    #[test]
    fn any_cut_any_order_any_copies_give_the_stream(
        first in any::<u32>(),
        len in 1usize..3000,
        cuts in prop::collection::vec(any::<usize>(), 0..30),
        copies in prop::collection::vec((any::<usize>(), any::<usize>()), 0..20),
        order in prop::collection::vec(any::<u32>(), 60),
    ) {
        let stream = stream(len);
        let mut segments = cut(len, &cuts);
        // Copies may be cut elsewhere, and overlap.
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
    fn a_lost_segment_is_one_gap(
        first in any::<u32>(),
        len in 3usize..3000,
        cuts in prop::collection::vec(any::<usize>(), 2..30),
        lost in any::<prop::sample::Index>(),
        order in prop::collection::vec(any::<u32>(), 60),
    ) {
        let stream = stream(len);
        let mut segments = cut(len, &cuts);
        prop_assume!(segments.len() > 2);
        // Of the last one nothing tells but the end.
        let (at, lost) = segments.remove(lost.index(segments.len() - 1));
        let mut shuffled: Vec<_> = order.iter().cycle().zip(segments).collect();
        shuffled.sort_by_key(|(order, _)| **order);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(_, segment)| segment).collect();
        let got = run(first, &stream, &shuffled);
        prop_assert_eq!(got.gaps, [(at, lost as u64)]);
        prop_assert!(got.bytes == [&stream[..at], &stream[at + lost..]].concat());
    }

    #[test]
    fn no_segments_harm(
        segments in prop::collection::vec((any::<u32>(), 0usize..2000, 0u32..3000, any::<bool>(), any::<u32>()), 0..200)
    ) {
        let (mut half, stream) = (Half::default(), stream(2000));
        for (i, (seq, len, missing, fin, ack)) in segments.into_iter().enumerate() {
            half.take(seq, &stream[..len], missing, fin, &mut |_| ());
            half.acked(ack);
            half.look(Time(i as u64 * 100_000_000), &mut |_| ());
        }
        half.finish(&mut |_| ());
        prop_assert_eq!(half.held(), 0);
    }
}

/// Bytes that were sent twice and differ: what the receiver took is what came first.
#[test]
fn the_first_copy_is_taken() {
    let (mut half, mut got) = (Half::default(), Got::default());
    half.begin(10);
    for (seq, bytes) in [(12, "cd"), (11, "XXXX"), (14, "YY"), (10, "aZ")] {
        half.take(seq, bytes.as_bytes(), 0, false, &mut |piece| got.take(piece));
    }
    assert_eq!(String::from_utf8_lossy(&got.bytes), "aXcdXY");
    assert_eq!(got.gaps, []);
}

/// What the other side has will not be sent again.
#[test]
fn what_was_acknowledged_and_never_seen_is_given_up() {
    let (mut half, mut got) = (Half::default(), Got::default());
    half.begin(0);
    half.take(0, b"ab", 0, false, &mut |piece| got.take(piece));
    half.take(5, b"fg", 0, false, &mut |piece| got.take(piece));
    half.look(Time(0), &mut |piece| got.take(piece));
    half.look(Time(10_000_000_000), &mut |piece| got.take(piece));
    assert_eq!(got.gaps, [], "nobody says that it arrived");
    half.acked(7);
    half.look(Time(10_000_000_000), &mut |piece| got.take(piece));
    assert_eq!(got.gaps, [], "it may be out of order");
    half.look(Time(11_500_000_000), &mut |piece| got.take(piece));
    assert_eq!((got.bytes.as_slice(), got.gaps.as_slice()), (&b"abfg"[..], &[(2, 3)][..]));
}

#[test]
fn an_end_that_was_not_seen_is_no_gap_and_more_is() {
    for (acked, gaps) in [(3, vec![]), (4, vec![(2, 2)])] {
        let (mut half, mut got) = (Half::default(), Got::default());
        half.begin(0);
        half.take(0, b"ab", 0, false, &mut |piece| got.take(piece));
        half.acked(acked);
        half.finish(&mut |piece| got.take(piece));
        assert_eq!(got.gaps, gaps);
    }
}

#[test]
fn what_waits_is_bounded() {
    let (mut half, mut got) = (Half::default(), Got::default());
    half.begin(0);
    let segment = vec![1; 60_000];
    for i in 0..2000u32 {
        half.take(1000 + i * 60_001, &segment, 0, false, &mut |piece| got.take(piece));
        assert!(half.held() < 5 << 20, "{}", half.held());
    }
    assert!(got.gaps.len() > 1900, "holes were given up");
}

#[test]
fn the_end_comes_with_the_last_byte() {
    let mut half = Half::default();
    half.begin(7);
    half.take(9, b"c", 0, true, &mut |_| ());
    assert!(!half.is_over());
    half.take(7, b"ab", 0, false, &mut |_| ());
    assert!(half.is_over());
}
