//! Ends of streams in a row: their number, their causes and the intervals between them.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use xdscope_wire::End;
use xdscope_wire::event::{Code, Time};
use xdscope_wire::h2::{go_away_code, go_away_words, reset_words};

/// Intervals between ends that are compared with each other.
const MAX_COMPARED_GAPS: usize = 8;

/// Intervals that must be alike before they count as a period.
pub(crate) const MIN_ALIKE: usize = 3;

/// The part by which ages may differ that are alike.
pub(crate) const AGE_TOLERANCE: f64 = 0.05;

/// Causes of a series that are counted apart.
const MAX_CAUSES: usize = 8;

/// The cause of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// A status.
    Status(Code),
    /// A reset with an HTTP/2 error code.
    Reset(u32),
    /// A GOAWAY with an HTTP/2 error code.
    GoAway(u32),
    /// An unanswered PING.
    Keepalive,
    /// An end without a code, such as a broken connection.
    NoCode,
    /// Causes beyond the number that is counted apart.
    Other,
}

impl EndCause {
    fn from_end(end: &End) -> EndCause {
        match (&end.status, end.reset) {
            _ if is_keepalive_timeout(end.note.as_deref()) => EndCause::Keepalive,
            (Some((code, _)), _) => EndCause::Status(*code),
            (None, Some(code)) => EndCause::Reset(code),
            (None, None) => {
                let goaway = end.note.as_deref().and_then(go_away_code);
                goaway.map_or(EndCause::NoCode, EndCause::GoAway)
            }
        }
    }
}

impl Display for EndCause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            EndCause::Status(code) => write!(f, "{code}"),
            EndCause::Reset(code) => f.write_str(&reset_words(*code)),
            EndCause::GoAway(code) => f.write_str(&go_away_words(*code, "")),
            EndCause::Keepalive => f.write_str("keepalive timeout"),
            EndCause::NoCode => f.write_str("without a code"),
            EndCause::Other => f.write_str("with other codes"),
        }
    }
}

/// Whether the note on an end says that a PING was not answered (docs/protocol.md#i-12).
pub(crate) fn is_keepalive_timeout(note: Option<&str>) -> bool {
    note.is_some_and(|note| note.starts_with("keepalive"))
}

/// Ends of streams in a row.
#[derive(Clone, Debug)]
pub(crate) struct EndSeries {
    /// Index of the first stream.
    pub(crate) first_stream: usize,
    pub(crate) first: Time,
    /// Index of the newest stream.
    pub(crate) newest: usize,
    pub(crate) last: Time,
    pub(crate) count: u64,
    /// The causes with their numbers, in order of their first occurrence.
    pub(crate) causes: Vec<(EndCause, u64)>,
    /// Ages of the oldest and of the youngest stream.
    longest: Duration,
    shortest: Duration,
    /// The newest intervals between ends.
    gaps: VecDeque<Duration>,
    shortest_gap: Duration,
}

impl EndSeries {
    /// A series without ends. `index` is the first stream, which ends at `at`.
    pub(crate) fn new(index: usize, at: Time) -> EndSeries {
        EndSeries {
            first_stream: index,
            first: at,
            newest: index,
            last: at,
            count: 0,
            causes: Vec::new(),
            longest: Duration::ZERO,
            shortest: Duration::MAX,
            gaps: VecDeque::new(),
            shortest_gap: Duration::MAX,
        }
    }

    /// Adds the end of a stream of an age.
    pub(crate) fn add(&mut self, index: usize, at: Time, age: Duration, end: &End) {
        if self.count > 0 {
            let gap = at.since(self.last);
            self.shortest_gap = self.shortest_gap.min(gap);
            self.gaps.push_back(gap);
            if self.gaps.len() > MAX_COMPARED_GAPS {
                self.gaps.pop_front();
            }
        }
        (self.newest, self.last, self.count) = (index, at, self.count + 1);
        (self.longest, self.shortest) = (self.longest.max(age), self.shortest.min(age));
        count_cause(&mut self.causes, end);
    }

    /// The interval between the ends, if all are alike.
    pub(crate) fn period(&self) -> Option<Duration> {
        let mean = alike(self.gaps.iter().copied(), 0.2)?;
        (self.shortest_gap.saturating_mul(2) > mean).then_some(mean)
    }

    /// The newest interval, if the intervals have grown to twice the shortest: a client waits
    /// longer after each failure.
    pub(crate) fn back_off(&self) -> Option<Duration> {
        let last = *self.gaps.back()?;
        let mut pairs = self.gaps.iter().zip(self.gaps.iter().skip(1));
        // Clients add a jitter of up to 20 % in both directions.
        let is_growing = pairs.all(|(before, after)| *after * 3 >= *before * 2);
        let has_grown = last >= self.shortest_gap.saturating_mul(2);
        (self.gaps.len() >= MIN_ALIKE && is_growing && has_grown).then_some(last)
    }

    /// Whether three streams or more ended, all at about one age.
    pub(crate) fn has_one_age(&self) -> bool {
        let ages = [self.shortest, self.longest, self.longest];
        self.count >= MIN_ALIKE as u64 && alike(ages.into_iter(), AGE_TOLERANCE).is_some()
    }

    /// The age at which the streams ended, if it is about one.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.has_one_age().then_some(self.longest)
    }

    /// The age beyond which a stream has outlived those of the series.
    pub(crate) fn outlived_at(&self) -> Duration {
        self.longest.saturating_mul(2)
    }
}

pub(crate) fn count_cause(causes: &mut Vec<(EndCause, u64)>, end: &End) {
    let cause = EndCause::from_end(end);
    let place = |cause: EndCause| causes.iter().position(|(known, _)| *known == cause);
    let place = place(cause).or_else(|| place(EndCause::Other));
    if let Some((_, count)) = place.and_then(|place| causes.get_mut(place)) {
        *count += 1;
    } else {
        let is_full = causes.len() >= MAX_CAUSES;
        causes.push((if is_full { EndCause::Other } else { cause }, 1));
    }
}

/// Returns the mean of values, if they are about equal.
pub(crate) fn alike(values: impl Iterator<Item = Duration>, tolerance: f64) -> Option<Duration> {
    let values: Vec<f64> = values.map(|value| value.as_secs_f64()).collect();
    let (min, max) = values.iter().fold((f64::MAX, 0.0_f64), |(min, max), v| (min.min(*v), max.max(*v)));
    let is_regular = values.len() >= MIN_ALIKE && max > 0.0 && max - min <= tolerance * max;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    is_regular.then(|| Duration::from_secs_f64(mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(gaps: &[u64]) -> (Option<u64>, Option<u64>) {
        let mut series = EndSeries::new(0, Time::ZERO);
        let mut at = Time::ZERO;
        series.add(0, at, Duration::ZERO, &End::default());
        for (index, gap) in gaps.iter().enumerate() {
            at = at.after(Duration::from_secs(*gap));
            series.add(index + 1, at, Duration::ZERO, &End::default());
        }
        (series.period().map(|period| period.as_secs()), series.back_off().map(|period| period.as_secs()))
    }

    #[test]
    fn tells_a_period_from_a_back_off() {
        assert_eq!(after(&[16, 16]), (None, None));
        assert_eq!(after(&[16, 16, 16]), (Some(16), None));
        assert_eq!(after(&[16, 17, 15, 16]), (Some(16), None));
        assert_eq!(after(&[1, 2, 4, 8, 16]), (None, Some(16)));
        let capped = [&[1, 2, 4, 8][..], &[16; 12]].concat();
        assert_eq!(after(&capped), (None, Some(16)), "the first intervals were shorter");
        assert_eq!(after(&[7, 1, 30, 2]), (None, None));
    }

    #[test]
    fn counts_a_limited_number_of_causes() {
        let mut series = EndSeries::new(0, Time::ZERO);
        for code in 0..20 {
            let end = End { status: Some((Code(code), String::new())), ..End::default() };
            series.add(0, Time::ZERO, Duration::ZERO, &end);
        }
        assert_eq!(series.causes.len(), MAX_CAUSES + 1);
        assert_eq!(series.causes.last(), Some(&(EndCause::Other, 12)));
    }
}
