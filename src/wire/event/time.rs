/// Nanoseconds since the zero of its source. The zero's date, if it has one, is in [`Clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    pub const ZERO: Time = Time(0);

    pub fn from_secs_f64(secs: f64) -> Time {
        Time((secs.max(0.0) * 1e9) as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This time moved on by `by`.
    pub fn after(self, by: std::time::Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// What a source's times mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Unix time of [`Time::ZERO`] in nanoseconds; `None` for a source without a date (an arrow script).
    pub epoch: Option<i128>,
    /// The source has no timestamps at all (`notime`): every timer is off (section 0.2).
    pub untimed: bool,
}
