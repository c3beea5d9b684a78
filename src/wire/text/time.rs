use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::event::{Clock, Time};

/// Formats a time of day with milliseconds, `14:02:08.155`.
///
/// A source without a date counts from its start, `+8.155s`; one without times gives `-`.
pub fn time_of_day(at: Time, clock: Clock, zone: &TimeZone) -> String {
    if clock.untimed {
        return "-".to_owned();
    }
    match date(at, clock) {
        Some(date) => date.to_zoned(zone.clone()).strftime("%H:%M:%S.%3f").to_string(),
        None => format!("+{}.{:03}s", at.0 / 1_000_000_000, at.0 / 1_000_000 % 1000),
    }
}

/// Formats a time of day with seconds: `14:02:08`, `+8s`.
pub fn time_of_day_secs(at: Time, clock: Clock, zone: &TimeZone) -> String {
    if clock.untimed {
        return "-".to_owned();
    }
    match date(at, clock) {
        Some(date) => date.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string(),
        None => format!("+{}s", at.0 / 1_000_000_000),
    }
}

fn date(at: Time, clock: Clock) -> Option<Timestamp> {
    Timestamp::from_nanosecond(clock.epoch?.checked_add(i128::from(at.0))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_time_by_clock_of_source() {
        let at = Time(8_155_000_000);
        let dated = Clock { epoch: Some(1_772_460_120_000_000_000), untimed: false };
        assert_eq!(time_of_day(at, dated, &TimeZone::UTC), "14:02:08.155");
        assert_eq!(time_of_day_secs(at, dated, &TimeZone::UTC), "14:02:08");
        let dateless = Clock::default();
        assert_eq!(time_of_day(at, dateless, &TimeZone::UTC), "+8.155s");
        assert_eq!(time_of_day_secs(at, dateless, &TimeZone::UTC), "+8s");
        assert_eq!(time_of_day(at, Clock { epoch: None, untimed: true }, &TimeZone::UTC), "-");
    }

    #[test]
    fn date_out_of_range_counts_from_start() {
        let clock = Clock { epoch: Some(i128::MAX), untimed: false };
        assert_eq!(time_of_day(Time(1), clock, &TimeZone::UTC), "+0.000s");
    }
}
