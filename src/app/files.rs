//! Files that each hold a DiscoveryResponse and are read again when they change.
//!
//! Each file is a stream, and each version of it is accepted or rejected here.

pub(crate) mod folder;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use xdscope_schema::Schema;
use xdscope_sources::peers::client;
use xdscope_sources::record::ResponseFile;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::{Frame, FramePayload};

use super::analysis_thread::{RunningAnalysis, Sink};
use super::live_state::LiveState;
use super::run_config::{RunConfig, StartError, StartedRun};
use crate::app::recording::frame_sink::FrameSink;
use crate::app::recording::recording_file::SessionFile;
use crate::net::clock::RunClock;
use folder::{FileChange, Folder};

/// How often files are checked. A changed file must have been stable for as long.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The files to watch and the settings of the run.
pub struct Options {
    /// A file or a directory.
    pub path: PathBuf,
    /// The path and the open session file; `None`: no recording.
    pub record: Option<SessionFile>,
    pub keep_secrets: bool,
    pub store: xdscope_engine::store::Options,
    pub schema: Arc<Schema>,
    /// The title of the run, such as `watch clusters.yaml`.
    pub source: String,
}

/// A running watch of files. Dropping it ends the watch.
pub struct Running {
    pub shared: Arc<LiveState>,
    pub recording: Option<PathBuf>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    analysis: RunningAnalysis,
}

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let Options { path, record, keep_secrets, store, schema, source } = options;
        let config = RunConfig {
            record,
            keep_secrets,
            seed: None,
            store,
            schema: schema.clone(),
            source,
            limits_search: false,
        };
        let StartedRun { frames, shared, analysis, recording, clock, .. } = config.begin(sink)?;
        let mut work = WatchWorker {
            frames,
            shared: shared.clone(),
            schema,
            clock,
            folder: Folder::new(path, store.history),
            files: BTreeMap::new(),
            bad: BTreeMap::new(),
        };
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("files".into()).spawn(move || {
            work.look();
            while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                work.look();
            }
            work.frames.finish(clock.now());
        });
        let thread = Some(thread.map_err(StartError::Thread)?);
        Ok(Running { shared, recording, stop: Some(stop), thread, analysis })
    }

    /// Completes the session file. Returns its path and size.
    pub fn stop(mut self) -> Option<(PathBuf, u64)> {
        self.join();
        self.shared.kept()
    }

    fn join(&mut self) {
        self.stop = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that reads files panicked; what it had recorded is kept");
        }
        self.analysis.join();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}

struct WatchWorker {
    frames: FrameSink,
    shared: Arc<LiveState>,
    schema: Arc<Schema>,
    clock: RunClock,
    folder: Folder,
    /// The watched files by name, as streams.
    files: BTreeMap<String, ResponseFile>,
    /// The errors of files that are wrong now.
    bad: BTreeMap<String, String>,
}

impl WatchWorker {
    fn look(&mut self) {
        let journal = self.frames.journal().clone();
        journal.set_writer_idle(false);
        let mut has_changed = false;
        for (name, seen) in self.folder.look() {
            has_changed = true;
            let now = self.clock.now();
            match trouble(&name, seen, now, &mut self.files, &self.schema, &mut self.frames) {
                Some(what) if self.files.contains_key(&name) => {
                    self.bad.insert(name, format!("{what}; what was in force stays so"))
                }
                Some(what) => self.bad.insert(name, what),
                None => self.bad.remove(&name),
            };
            self.frames.drop_old(|_| {});
            self.frames.hand_on();
        }
        self.frames.flush_file(self.clock.now());
        journal.set_writer_idle(true);
        if has_changed {
            let words: Vec<String> = self.bad.iter().map(|(name, what)| format!("{name}: {what}")).collect();
            self.shared.set_trouble((!words.is_empty()).then(|| words.join("\n")));
        }
    }
}

/// Takes the change of a file. Returns what is wrong with the file now.
fn trouble(
    name: &str,
    seen: FileChange,
    now: Time,
    files: &mut BTreeMap<String, ResponseFile>,
    schema: &Schema,
    sink: &mut FrameSink,
) -> Option<String> {
    let content = match seen {
        FileChange::Content(content) => content,
        FileChange::Gone if files.contains_key(name) => return Some("is gone".into()),
        FileChange::Gone => return Some("the file does not exist yet".into()),
        FileChange::Failed(error) => return Some(format!("cannot be read: {error}")),
    };
    let number = StreamId(u32::try_from(files.len()).unwrap_or(u32::MAX).saturating_add(1));
    let file = files.entry(name.to_owned()).or_insert_with(|| ResponseFile::new(number, name.to_owned()));
    let mut frames = Vec::new();
    let read = file.read(now, &content, schema, &mut sink.catalog, &mut frames);
    let wrong = match read {
        Ok(_) => rejected(&frames, &sink.catalog, schema),
        Err(error) => match error.attempts.first() {
            Some(attempt) => Some(format!("not a DiscoveryResponse: {attempt}")),
            None => Some(error.to_string()),
        },
    };
    for frame in frames {
        sink.write(&frame);
    }
    wrong.map(|wrong| format!("rejected: {wrong}"))
}

/// Returns why a client would reject the response: a generic error, or a constraint of its type.
fn rejected(frames: &[Frame], catalog: &Catalog, schema: &Schema) -> Option<String> {
    frames.iter().find_map(|frame| match &frame.what {
        FramePayload::Message(message) => {
            client::check(message, catalog).or_else(|| client::validated(message, catalog, schema))
        }
        _ => None,
    })
}
