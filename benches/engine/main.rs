//! Measures the cost of the engine with all rules on one core, against splitting and hashing the
//! same bytes in the same run.
//!
//! `cargo bench --bench engine` prints one line per figure. `-- --quick` runs less, to check that
//! the bench works; `-- held|month|small|repush|first|scale|limit|broken` runs one group. Bytes are parsed, stored and
//! checked by the rules as in a tap, without sockets and recording. Figures are medians over rounds
//! that alternate with their reference.

mod broken;
#[path = "../clusters/mod.rs"]
mod clusters;
mod held;
mod limit;
mod month;
mod push;
mod scale;
mod small;

use std::sync::Arc;
use std::time::Instant;

use xdscope::app::tap::meaning;
use xdscope_engine::analysis::{Analysis, bounded, rules};
use xdscope_engine::lint;
use xdscope_engine::store::{Options, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::pb::Fields;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

/// Memory is measured first, while the heap is small.
const GROUPS: [(&str, fn(bool)); 8] = [
    ("held", held::run),
    ("month", month::run),
    ("small", small::run),
    ("repush", push::repeated),
    ("first", push::first),
    ("scale", scale::run),
    ("limit", limit::run),
    ("broken", broken::run),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let any = GROUPS.iter().any(|(name, _)| has(name));
    for (name, run) in GROUPS {
        if !any || has(name) {
            run(has("--quick"));
        }
    }
}

/// Prints one line of the report.
fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("somebody reads");
}

/// The rules applied to an engine.
#[derive(Clone, Copy, PartialEq)]
enum Judged {
    /// The rules of a live tap, with a limit on decoded contents.
    Live,
    /// The rules of `xdscope lint` on a recording.
    All,
}

/// A source with rules, fed with gRPC messages.
struct Engine {
    watched: Analysis,
    now: u64,
}

impl Engine {
    fn new(schema: &Arc<Schema>, judged: Judged) -> Engine {
        Engine::with_budget(schema, judged, Options::default().history)
    }

    /// `budget`: bytes from which old facts may be dropped.
    fn with_budget(schema: &Arc<Schema>, judged: Judged, budget: usize) -> Engine {
        let redactor = Arc::new(Redactor::new(schema.clone(), 1));
        let catalog = Catalog::new(1, Some(redactor), Box::new(MemoryBodies::default()));
        let clock = Clock { epoch: Some(1 << 60), untimed: false };
        let options = Options { history: budget, ..Options::default() };
        let mut store = Store::new(catalog, clock, options);
        store.set_meaning(meaning(schema.clone()));
        let options: lint::Options = match judged {
            Judged::Live => bounded(schema),
            Judged::All => rules(schema),
        };
        Engine { watched: Analysis::new(store, options), now: 0 }
    }

    fn open(&mut self, stream: StreamId, method: &str) {
        let method = format!("/envoy.service.discovery.v3.AggregatedDiscoveryService/{method}");
        let open = Open { method, peer: Some("10.0.0.1:5000".into()), ..Open::default() };
        self.watched.handle(Frame { at: Time(self.now), stream, what: FramePayload::Open(Box::new(open)) });
    }

    /// Feeds one gRPC message, half a millisecond after the previous one: timers of rules expire,
    /// and thousands of names wait for a timer.
    fn message(&mut self, stream: StreamId, shape: MessageShape, grpc: &[u8]) {
        self.now += 500_000;
        let message = Message::parse(shape, &grpc[5..], self.watched.catalog_mut());
        let what = FramePayload::Message(Arc::new(message));
        self.watched.handle(Frame { at: Time(self.now), stream, what });
    }
}

/// Hashes each field of a message and keeps one number, as the reference.
fn split_and_hash(grpc: &[u8]) -> u128 {
    let fields = Fields::new(&grpc[5..]).flatten();
    fields.fold(0, |sum, field| sum ^ twox_hash::XxHash3_128::oneshot(field.raw))
}

/// Returns the elapsed seconds.
fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}
