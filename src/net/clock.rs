use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use xdscope_wire::event::{Clock, Time};

/// The runtime's timers have milliseconds; shorter waits block a thread.
const TIMER_RESOLUTION: Duration = Duration::from_millis(3);

/// The clock of a run, which starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start: Instant,
    meaning: Clock,
}

impl RunClock {
    /// Starts a clock.
    pub fn start() -> RunClock {
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let epoch = unix_time.and_then(|time| i128::try_from(time.as_nanos()).ok());
        RunClock { start: Instant::now(), meaning: Clock { epoch, untimed: false } }
    }

    /// Returns the meaning of the times.
    pub fn meaning(self) -> Clock {
        self.meaning
    }

    /// Returns the time since the start, in whole microseconds.
    ///
    /// Recordings keep microseconds, and a replay must have the times of the run.
    pub fn now(self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_mul(1000))
    }

    /// Returns a time as an instant of the process.
    pub(super) fn instant(self, at: Time) -> Instant {
        self.start + Duration::from_nanos(at.0)
    }

    /// Waits until `at`, to about 0.1 ms.
    pub(super) async fn reach(self, at: Time) {
        let left = at.since(self.now());
        if let Some(long) = left.checked_sub(TIMER_RESOLUTION) {
            tokio::time::sleep(long).await;
        }
        let left = at.since(self.now());
        if !left.is_zero() {
            // Fails only if `sleep` panics.
            let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
        }
    }
}
