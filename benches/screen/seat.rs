//! A simulated user: presses keys, and measures the response.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;
use jiff::tz::TimeZone;
use xdscope::app::live_state::LiveState;
use xdscope::app::screen::{LiveFeed, RunInfo};
use xdscope::app::{replay, tap};
use xdscope_engine::analysis::bounded;
use xdscope_engine::store;
use xdscope_schema::Schema;
use xdscope_tui::Decoded;
use xdscope_tui::{Model, Msg, Painter, ScreenId, Screens, Speed, Theme, blank};

const SIZE: (u16, u16) = (200, 60);
/// Timeout of a key.
const LONGEST: Duration = Duration::from_secs(5);
/// Shortest wait of the terminal's own loop.
const GLANCE: Duration = Duration::from_millis(1);
/// The longest wait without a key: the interval of frames.
const LONGEST_WAIT: Duration = Duration::from_millis(33);

/// A terminal that only counts bytes.
#[derive(Clone, Default)]
pub struct Counter(Rc<Cell<u64>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Delays of keys in seconds, with the keys.
#[derive(Default)]
pub struct Waits(Vec<(f64, String)>);

impl Waits {
    pub fn add(&mut self, wait: Duration, key: String) {
        self.0.push((wait.as_secs_f64(), key));
    }

    pub fn extend(&mut self, waits: Waits) {
        self.0.extend(waits.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns p50, p99 and the maximum.
    pub fn figures(&mut self) -> [f64; 3] {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |share: usize| self.0.get((self.0.len() * share / 100).min(self.0.len().saturating_sub(1)));
        [50, 99, 100].map(|share| at(share).map_or(f64::NAN, |(wait, _)| *wait))
    }

    /// Returns the three slowest keys, the slowest last. Call after [`Waits::figures`].
    pub fn worst(&self) -> String {
        let keys: Vec<&str> = self.0.iter().rev().take(3).map(|(_, key)| key.as_str()).collect();
        keys.join(" ")
    }
}

pub struct Seat {
    pub screens: Screens<io::BufWriter<Counter>>,
    feed: LiveFeed<'static>,
    written: Counter,
}

impl Seat {
    pub fn new(shared: Arc<LiveState>, schema: Arc<Schema>) -> Seat {
        let about = RunInfo {
            source: "tap 127.0.0.1:18001 → cp.mesh:15010".into(),
            recording: None,
            empty: Vec::new(),
            notice: None,
            copies: std::env::temp_dir(),
            keep_secrets: false,
            serves_clients: true,
            is_demo: false,
            has_tour: false,
            no_hold: None,
            sessions: Vec::new(),
        };
        let replay = replay::Options {
            store: store::Options::default(),
            meaning: tap::meaning(schema.clone()),
            rules: bounded(&schema),
            idle: Duration::ZERO,
            speed: Speed::new(1.0),
            source: about.source.clone(),
            rerun: String::new(),
            notices: Vec::new(),
            copies: std::env::temp_dir(),
            file: None,
            rewound: true,
            trouble: None,
        };
        let feed = LiveFeed::new(shared, Decoded(schema), about, replay);
        let theme = Theme::SIXTEEN;
        let model = Model::new(SIZE, theme, TimeZone::UTC);
        let written = Counter::default();
        let out = io::BufWriter::with_capacity(1 << 16, written.clone());
        Seat { screens: Screens::new(model, out, false), feed, written }
    }

    /// Measures the reference: a blank frame of this size on a terminal with other content, in
    /// seconds.
    pub fn blank(&self) -> f64 {
        let mut painter = Painter::new(io::BufWriter::with_capacity(1 << 16, Counter::default()));
        let mut took: Vec<f64> = (0..201)
            .map(|_| {
                painter.forget();
                let start = Instant::now();
                painter.paint(blank(SIZE), None).expect("a terminal that takes all");
                start.elapsed().as_secs_f64()
            })
            .collect();
        took.sort_by(f64::total_cmp);
        took[took.len() / 2]
    }

    /// Runs one iteration of the terminal's loop. Returns true once the screen is complete.
    fn turn(&mut self, messages: Vec<Msg>) -> bool {
        self.screens.turn(&self.feed, messages);
        self.screens.paint().expect("a terminal that takes all");
        !self.screens.is_dirty()
    }

    /// Presses keys in turn and measures the delay of each frame.
    pub fn press(&mut self, keys: &[KeyEvent], gap: Duration) -> Waits {
        let (send, pressed) = channel();
        let keys = keys.to_vec();
        let hand = std::thread::spawn(move || {
            for (i, key) in keys.into_iter().enumerate() {
                // Frames must not be synchronised with the keys.
                std::thread::sleep(gap + gap / 8 * (i as u32 * 5 % 7));
                if send.send((Instant::now(), key)).is_err() {
                    return;
                }
            }
        });
        let (mut waits, mut waiting) = (Waits::default(), Vec::<(Instant, String)>::new());
        loop {
            let (messages, end) = self.receive(&pressed, &mut waiting);
            if self.turn(messages) {
                let now = Instant::now();
                waiting.drain(..).for_each(|(at, key)| waits.add(now.duration_since(at), key));
            }
            if end && waiting.is_empty() {
                break;
            }
        }
        hand.join().expect("a hand");
        waits
    }

    fn receive(
        &self,
        pressed: &Receiver<(Instant, KeyEvent)>,
        waiting: &mut Vec<(Instant, String)>,
    ) -> (Vec<Msg>, bool) {
        let (mut messages, mut wait) = (Vec::new(), self.wait());
        loop {
            match pressed.recv_timeout(wait) {
                Ok((at, key)) => {
                    waiting.push((at, key.code.to_string()));
                    messages.push(Msg::Key(key));
                    wait = GLANCE;
                }
                Err(error) => return (messages, error == RecvTimeoutError::Disconnected),
            }
        }
    }

    /// Returns how long to wait for a key. No waker ends the wait, so changes are polled.
    fn wait(&self) -> Duration {
        self.screens.wait(&self.feed).timeout.unwrap_or(LONGEST_WAIT).clamp(GLANCE, LONGEST_WAIT)
    }

    /// Measures the time until the first match is painted, and until all matches are found.
    pub fn find(&mut self, typed: Msg, screen: ScreenId) -> (Duration, Duration) {
        let (start, mut first, mut typed) = (Instant::now(), None, vec![typed]);
        loop {
            let painted = self.turn(std::mem::take(&mut typed));
            let model = &self.screens.model;
            let found = match screen {
                ScreenId::Resources => model.screens.resources.tree.types.iter().map(|list| list.len()).sum(),
                _ => model.screens.subscriptions.len(),
            };
            if painted && found > 0 && model.common.filter.is_some() {
                first.get_or_insert_with(|| start.elapsed());
            }
            if !model.is_searching() || start.elapsed() > LONGEST {
                return (first.unwrap_or_else(|| start.elapsed()), start.elapsed());
            }
            std::thread::sleep(self.wait());
        }
    }

    /// Lets time pass without a key.
    pub fn rest(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            self.turn(Vec::new());
            std::thread::sleep(self.wait().min(left.max(GLANCE)));
        }
    }

    /// Returns the number of bytes written to the terminal.
    pub fn written(&self) -> u64 {
        self.written.0.get()
    }
}

/// Returns the CPU time of this thread.
pub fn cpu() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = schedstat.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}
