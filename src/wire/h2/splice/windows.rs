use std::collections::VecDeque;

use super::half::DEFAULT_WINDOW;

/// Settings of a peer that may wait for an ACK.
const MAX_PENDING: usize = 1_000;

/// The windows for new streams that a peer has announced in its settings.
///
/// The peer expects a larger window to be used only after the ACK of its settings, and a smaller
/// one possibly before (RFC 9113, "Settings Synchronization").
pub(super) struct StreamWindows {
    acknowledged: i64,
    /// The windows of settings without an ACK, the oldest first.
    pending: VecDeque<i64>,
}

impl Default for StreamWindows {
    fn default() -> StreamWindows {
        StreamWindows { acknowledged: DEFAULT_WINDOW, pending: VecDeque::new() }
    }
}

impl StreamWindows {
    /// Adds the settings of a frame; `None` if they do not change the window.
    pub(super) fn announce(&mut self, window: Option<i64>) -> Result<(), &'static str> {
        if self.pending.len() >= MAX_PENDING {
            return Err("sends more settings than its peer has acknowledged");
        }
        let newest = self.pending.back().copied().unwrap_or(self.acknowledged);
        self.pending.push_back(window.unwrap_or(newest));
        Ok(())
    }

    /// Notes the ACK of the oldest settings without one.
    pub(super) fn acknowledge(&mut self) {
        self.acknowledged = self.pending.pop_front().unwrap_or(self.acknowledged);
    }

    /// Returns the window that the peer accepts now, whichever settings it has applied.
    pub(super) fn in_force(&self) -> i64 {
        self.pending.iter().copied().fold(self.acknowledged, i64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_window_waits_for_its_ack_and_a_smaller_one_does_not() {
        let mut windows = StreamWindows::default();
        windows.announce(Some(1 << 20)).expect("few settings");
        assert_eq!(windows.in_force(), DEFAULT_WINDOW);
        windows.announce(Some(100)).expect("few settings");
        windows.announce(None).expect("few settings");
        assert_eq!(windows.in_force(), 100);
        windows.acknowledge();
        assert_eq!(windows.in_force(), 100, "the client may have applied the second settings");
        windows.announce(Some(500)).expect("few settings");
        windows.acknowledge();
        windows.acknowledge();
        assert_eq!(windows.in_force(), 100);
        windows.acknowledge();
        assert_eq!(windows.in_force(), 500);
        windows.acknowledge();
        assert_eq!(windows.in_force(), 500, "an ACK of nothing changes nothing");
    }

    #[test]
    fn settings_without_an_ack_are_bounded() {
        let mut windows = StreamWindows::default();
        let refused = (0..=MAX_PENDING).find_map(|_| windows.announce(None).err());
        assert!(refused.is_some());
    }
}
