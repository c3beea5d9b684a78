//! The delay that the tap adds to traffic, in a histogram of fixed size.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use xdscope_present::metrics::DelayHistogram;

/// Buckets for each power of two of microseconds.
const STEPS: u32 = 4;
/// Buckets up to 2^25 microseconds, about half a minute.
const BUCKETS: usize = 96;
/// Chunks of a connection and direction that are all measured.
const FIRST_CHUNKS: u32 = 64;
/// Interval of measured chunks after the first ones.
const SAMPLED_CHUNKS: u32 = 16;

/// Ends of the classes of [`AddedDelay::histogram`], in microseconds: each is the end of a bucket.
const CLASS_ENDS: [u64; 10] =
    [1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// Time from having read a chunk to having written it, over all connections.
///
/// A receiver that is slow to read counts too. Percentiles are exact to a quarter.
#[derive(Debug)]
pub struct AddedDelay {
    buckets: [AtomicU64; BUCKETS],
    /// The sum of all delays, in microseconds.
    sum: AtomicU64,
}

impl Default for AddedDelay {
    fn default() -> Self {
        AddedDelay { buckets: [const { AtomicU64::new(0) }; BUCKETS], sum: AtomicU64::new(0) }
    }
}

/// Whether to measure the chunk with this number, from 0.
///
/// Measuring reads the clock once more, which a busy connection should not do for each chunk.
pub(super) fn is_measured(chunk: u32) -> bool {
    chunk < FIRST_CHUNKS || chunk.is_multiple_of(SAMPLED_CHUNKS)
}

impl AddedDelay {
    pub(super) fn record(&self, delay: Duration) {
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get(bucket_of(micros)) {
            bucket.fetch_add(1, Ordering::Relaxed);
            self.sum.fetch_add(micros, Ordering::Relaxed);
        }
    }

    /// Returns the delays in coarse classes.
    pub fn histogram(&self) -> DelayHistogram {
        let sum = Duration::from_micros(self.sum.load(Ordering::Relaxed));
        let classes = CLASS_ENDS.map(|end| (Duration::from_micros(end), 0)).to_vec();
        let mut histogram = DelayHistogram { classes, longer: 0, sum };
        for (bucket, count) in self.buckets.iter().enumerate() {
            let class = CLASS_ENDS.iter().position(|end| upper_micros(bucket) <= *end);
            let count = count.load(Ordering::Relaxed);
            match class.and_then(|class| histogram.classes.get_mut(class)) {
                Some((_, of_class)) => *of_class += count,
                None => histogram.longer += count,
            }
        }
        histogram
    }

    /// Returns the median and the 99th percentile; `None` without a measurement.
    pub fn percentiles(&self) -> Option<(Duration, Duration)> {
        let counts = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        let total: u64 = counts.iter().sum();
        let at = |percent: u64| {
            let rank = (total * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let reaches = |count: &u64| {
                seen += count;
                seen >= rank
            };
            let bucket = counts.iter().position(reaches)?;
            Some(Duration::from_micros(upper_micros(bucket)))
        };
        if total == 0 { None } else { Some((at(50)?, at(99)?)) }
    }
}

/// Returns the bucket of a delay.
fn bucket_of(micros: u64) -> usize {
    let steps = u64::from(STEPS);
    if micros < steps {
        return micros as usize;
    }
    let octave = micros.ilog2();
    let step = (micros >> (octave - STEPS.ilog2())) % steps;
    (((octave - 1) * STEPS) as usize + step as usize).min(BUCKETS - 1)
}

/// Returns the upper end of a bucket.
fn upper_micros(bucket: usize) -> u64 {
    let (bucket, steps) = (bucket as u64, u64::from(STEPS));
    if bucket < steps {
        return bucket + 1;
    }
    let octave = bucket / steps + 1;
    (steps + bucket % steps + 1) << (octave - u64::from(STEPS.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_exact_to_a_quarter() {
        for micros in (0..5000).chain([1 << 20, (1 << 20) + 1, (1 << 25) - 1]) {
            let upper = upper_micros(bucket_of(micros));
            assert!(micros < upper && upper <= micros + micros / 4 + 1, "{micros} is below {upper}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_the_recorded_delays() {
        let delay = AddedDelay::default();
        assert_eq!(delay.percentiles(), None);
        for _ in 0..98 {
            delay.record(Duration::from_micros(100));
        }
        for _ in 0..2 {
            delay.record(Duration::from_millis(9));
        }
        let (median, high) = delay.percentiles().expect("delays");
        assert_eq!((median.as_micros(), high.as_micros()), (112, 10_240));
    }

    #[test]
    fn classes_count_each_delay_once() {
        let delay = AddedDelay::default();
        let micros = [1, 15, 16, 1000, 5_000_000];
        micros.iter().for_each(|micros| delay.record(Duration::from_micros(*micros)));
        let histogram = delay.histogram();
        let count = |class: usize| histogram.classes[class].1;
        assert_eq!([count(0), count(1), count(2), count(3)], [2, 1, 0, 1]);
        assert_eq!((histogram.longer, histogram.sum), (1, Duration::from_micros(micros.iter().sum())));
    }

    #[test]
    fn first_chunks_are_all_measured() {
        assert!((0..FIRST_CHUNKS).all(is_measured));
        let later = (FIRST_CHUNKS..FIRST_CHUNKS + 160).filter(|chunk| is_measured(*chunk)).count();
        assert_eq!(later, 10);
    }
}
