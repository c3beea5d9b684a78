//! A limit on the time that the search for secrets may take while traffic arrives.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::net::lock;
use xdscope_wire::content::Redact;
use xdscope_wire::pb::{WireField, rebuild};

/// CPU time for texts that arrive at once. A recording must not lag behind for more than a second.
pub(crate) const BURST: Duration = Duration::from_millis(800);

/// Searches may take one part in this many of the time.
pub(crate) const TIME_DIVISOR: u32 = 2;

/// Longest text that is searched, in bytes. No more of an error is kept in memory.
pub(crate) const MAX_TEXT_BYTES: usize = 256 << 10;

/// The id in a node, and the type URL in an `Any`.
const IDENTIFYING_FIELD: u32 = 1;

/// A redactor that leaves out texts of peers once the search for secrets takes too long.
///
/// Peers choose how much text they send: in errors, their details, nodes and names of control
/// planes. The search takes up to a second for a megabyte, and delays the recording of all
/// connections. Each thread has a limit of its own.
pub(crate) struct LimitedRedactor {
    inner: Arc<dyn Redact>,
    state: Mutex<SearchTime>,
}

/// CPU time that searches have taken, less what they may take.
struct SearchTime {
    used: Duration,
    /// The time up to which `used` is reduced.
    at: Instant,
}

impl LimitedRedactor {
    pub(crate) fn new(inner: Arc<dyn Redact>) -> LimitedRedactor {
        let state = Mutex::new(SearchTime { used: Duration::ZERO, at: Instant::now() });
        LimitedRedactor { inner, state }
    }

    /// Runs a search, or returns `None` if there is no time left.
    fn search<T>(&self, search: impl FnOnce(&dyn Redact) -> T) -> Option<T> {
        if !lock(&self.state).allows(Instant::now()) {
            return None;
        }
        let begun = thread_time();
        let found = search(&*self.inner);
        let taken = thread_time().saturating_sub(begun);
        lock(&self.state).used += taken;
        Some(found)
    }
}

impl SearchTime {
    /// Subtracts the time that has passed. Returns whether another search may begin.
    fn allows(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at) / TIME_DIVISOR;
        (self.used, self.at) = (self.used.saturating_sub(passed), self.at.max(now));
        self.used < BURST
    }
}

/// Returns the CPU time of this thread. Other processes do not add to it.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

/// Returns the placeholder of a text that is not searched.
fn not_kept(bytes: usize) -> String {
    format!("[{bytes} B not kept: too much text to search for secrets]")
}

/// Empties all fields of a node or an `Any`, except for the one that identifies it.
fn identity(bytes: &[u8]) -> Option<Vec<u8>> {
    let clean = |field: &WireField<'_>| (field.number != IDENTIFYING_FIELD).then(Vec::new);
    rebuild(bytes, clean, |_| Some(Vec::new()))
}

impl Redact for LimitedRedactor {
    fn text(&self, text: &str) -> Option<String> {
        let (head, rest) = text.split_at(text.floor_char_boundary(MAX_TEXT_BYTES));
        let Some(clean) = self.search(|redactor| redactor.text(head)) else {
            return Some(not_kept(text.len()));
        };
        if rest.is_empty() {
            return clean;
        }
        Some(clean.unwrap_or_else(|| head.to_owned()) + &not_kept(rest.len()))
    }

    fn detail(&self, any: &[u8]) -> Option<Vec<u8>> {
        self.search(|redactor| redactor.detail(any)).unwrap_or_else(|| identity(any))
    }

    fn node(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.search(|redactor| redactor.node(bytes)).unwrap_or_else(|| identity(bytes))
    }

    fn warm(&self) {
        self.inner.warm();
    }

    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.resource(bytes)
    }

    fn wrapper(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.wrapper(bytes)
    }

    fn parameters(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.parameters(bytes)
    }

    fn metadata(&self, name: &str, value: &str) -> Option<String> {
        self.inner.metadata(name, value)
    }

    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.raw(bytes)
    }

    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.fields(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_schema::Schema;
    use xdscope_schema::redact::Redactor;
    use xdscope_wire::pb::put_len_field;

    fn limited(used: Duration) -> LimitedRedactor {
        let redactor = LimitedRedactor::new(Arc::new(Redactor::new(Schema::builtin(), 1)));
        // No time passes for the test.
        *redactor.state.lock().unwrap() = SearchTime { used, at: Instant::now() + Duration::from_secs(3600) };
        redactor
    }

    #[test]
    fn keeps_no_text_without_time_to_search_it() {
        let redactor = limited(BURST);
        let text = "refused: password=hunter2hunter2";
        assert_eq!(redactor.text(text), Some(not_kept(text.len())));
        let message = |last: u32, value: &str| {
            let mut out = Vec::new();
            put_len_field(&mut out, 1, b"proxy-1");
            put_len_field(&mut out, last, value.as_bytes());
            out
        };
        assert_eq!(redactor.detail(&message(2, text)), Some(message(2, "")));
        assert_eq!(redactor.node(&message(3, text)), Some(message(3, "")));
    }

    #[test]
    fn searches_take_time_that_comes_back() {
        let redactor = limited(Duration::ZERO);
        let text = "refused: password=hunter2hunter2";
        let clean = redactor.text(text).expect("a secret");
        assert!(clean.starts_with("refused: password=") && !clean.contains("hunter2"), "{clean}");
        let mut state = redactor.state.lock().unwrap();
        assert!(state.used > Duration::ZERO);
        state.used = 2 * BURST;
        let then = state.at;
        assert!(!state.allows(then));
        assert!(!state.allows(then + 2 * BURST), "what exceeds the limit is not forgotten");
        assert!(state.allows(then + 2 * BURST + Duration::from_millis(2)));
        assert_eq!(state.used, BURST - Duration::from_millis(1));
    }

    #[test]
    fn searches_the_beginning_of_a_long_text() {
        let redactor = limited(Duration::ZERO);
        let text = "é".repeat(MAX_TEXT_BYTES);
        let clean = redactor.text(&text).expect("a shorter text");
        assert!(clean.len() < MAX_TEXT_BYTES + 100 && clean.starts_with("éé"), "{}", clean.len());
        assert!(clean.ends_with(&not_kept(text.len() - MAX_TEXT_BYTES)));
    }
}
