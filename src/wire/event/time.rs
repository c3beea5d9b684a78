/// Nanoseconds since the zero of the source. [`Clock`] has the date of that zero, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    /// The zero of the source.
    pub const ZERO: Time = Time(0);

    /// The end of time: later times are cut to it.
    pub const MAX: Time = Time(u64::MAX);

    /// Returns a time in seconds as nanoseconds; zero if negative.
    pub fn from_secs_f64(secs: f64) -> Time {
        Time((secs.max(0.0) * 1e9) as u64)
    }

    /// Returns the time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns this time plus `by`, saturating.
    pub fn after(self, by: std::time::Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// The meaning of the times of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Unix time of [`Time::ZERO`] in nanoseconds; `None` without a date, as in an arrow script.
    pub epoch: Option<i128>,
    /// The source has no timestamps (`notime`), so that every timer is off.
    pub untimed: bool,
}

impl Clock {
    /// Returns a time in seconds of Unix time. `None` if the source has no dates or no timestamps.
    pub fn unix_seconds(&self, at: Time) -> Option<i64> {
        if self.untimed {
            return None;
        }
        i64::try_from(self.epoch?.saturating_add(i128::from(at.0)).div_euclid(1_000_000_000)).ok()
    }
}
