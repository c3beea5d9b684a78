//! Points in time for filters, `--at` and `:goto`.

use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use xdscope_wire::event::{Clock, Seq, Time};

use xdscope_wire::text::{parse_duration, parse_time_of_day};

/// A point in time of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterTime {
    /// `#487`.
    Message(Seq),
    /// `+30s` after the start of the source.
    Offset(Duration),
    /// `14:02` or `14:02:08.155`, as nanoseconds since midnight.
    TimeOfDay(u64),
    /// `2026-03-02T14:02:08Z`.
    Date(Timestamp),
}

/// In the form that [`FilterTime::parse`] reads.
impl fmt::Display for FilterTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterTime::Message(n) => write!(f, "#{}", n.0),
            FilterTime::Offset(time) => {
                let nanos = time.as_nanos();
                let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
                // The largest unit of which the time has a whole number.
                let whole = units.into_iter().find(|(_, size)| nanos.is_multiple_of(*size));
                let (unit, size) = whole.unwrap_or(("ns", 1));
                write!(f, "+{}{unit}", nanos / size)
            }
            FilterTime::TimeOfDay(nanos) => {
                let (secs, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                write!(f, "{:02}:{:02}:{:02}.{rest:09}", secs / 3600, secs / 60 % 60, secs % 60)
            }
            FilterTime::Date(time) => write!(f, "{time}"),
        }
    }
}

impl FilterTime {
    /// Parses a point in time in any form.
    pub fn parse(text: &str) -> Option<FilterTime> {
        if let Some(number) = text.strip_prefix('#') {
            return number.parse().ok().map(|n| FilterTime::Message(Seq(n)));
        }
        if let Some(offset) = text.strip_prefix('+') {
            return parse_duration(offset).map(FilterTime::Offset);
        }
        parse_time_of_day(text).map(FilterTime::TimeOfDay).or_else(|| text.parse().ok().map(FilterTime::Date))
    }

    /// Returns the time in a source whose clock is at `now`, or zero for a time before the start of
    /// the source.
    ///
    /// Returns `None` for a message number, and for a date if the source has no dates.
    pub fn time(&self, clock: Clock, now: Time, zone: &TimeZone) -> Option<Time> {
        let nanos = self.nanos(clock, now, zone)?.max(0);
        Some(Time(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Returns the time in nanoseconds since the start of the source. Negative before the start.
    pub(super) fn nanos(&self, clock: Clock, now: Time, zone: &TimeZone) -> Option<i128> {
        match self {
            FilterTime::Message(_) => None,
            FilterTime::Offset(offset) => i128::try_from(offset.as_nanos()).ok(),
            FilterTime::Date(date) => Some(date.as_nanosecond().saturating_sub(clock.epoch?)),
            FilterTime::TimeOfDay(nanos) => {
                let nanos = i128::from(*nanos);
                let Some(epoch) = clock.epoch else { return Some(nanos) };
                let start = Timestamp::from_nanosecond(epoch).ok()?.to_zoned(zone.clone());
                let on = |day: &Zoned| Some(day.start_of_day().ok()?.timestamp().as_nanosecond() + nanos);
                let first = on(&start)?;
                // If the source extends past midnight, a time before the start means the next day.
                let next = start.checked_add(1.day()).ok().and_then(|day| on(&day));
                let end = epoch.saturating_add(i128::from(now.0));
                Some(next.filter(|next| first < epoch && *next <= end).unwrap_or(first) - epoch)
            }
        }
    }
}
