use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(30);

/// Exponential back-off with jitter, for reopening streams.
///
/// Starts at half a second and doubles up to 30 s. Each wait is drawn between half of that and all
/// of it, so that the clients of one server do not return at the same time.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    attempts: u32,
    random: u64,
}

impl Backoff {
    pub(super) fn new(seed: u64) -> Backoff {
        Backoff { attempts: 0, random: seed }
    }

    /// Failed attempts since the last success.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    pub(super) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Returns the wait before the next attempt.
    pub(super) fn next(&mut self) -> Duration {
        let whole = FIRST.saturating_mul(1 << self.attempts.min(16)).min(MOST);
        self.attempts = self.attempts.saturating_add(1);
        let share = self.draw() % 1001;
        whole / 2 + whole.mul_f64(share as f64 / 2000.0)
    }

    /// Returns `wait` plus up to a quarter of it, so that clients that began together spread out.
    pub(super) fn spread(&mut self, wait: Duration) -> Duration {
        wait + wait.mul_f64((self.draw() % 1001) as f64 / 4000.0)
    }

    /// Returns the next number of the splitmix64 sequence.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_within_bounds_with_jitter() {
        let mut waits = Vec::new();
        for seed in 0..50 {
            let mut backoff = Backoff::new(seed);
            for n in 0..20u32 {
                let whole = FIRST.saturating_mul(1 << n.min(10)).min(MOST);
                let wait = backoff.next();
                assert!(wait >= whole / 2 && wait <= whole, "{n}: {wait:?} of {whole:?}");
                waits.push(wait);
            }
            backoff.reset();
            assert!(backoff.next() <= FIRST);
        }
        let mut backoff = Backoff::new(1);
        let spread = backoff.spread(FIRST);
        assert!(spread >= FIRST && spread <= FIRST.mul_f64(1.25) && spread != backoff.spread(FIRST));
        waits.sort();
        waits.dedup();
        assert!(waits.len() > 500, "jitter: {}", waits.len());
    }
}
