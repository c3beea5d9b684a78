//! Admin ports as sources: a port is read in rounds, and its newest dump is kept in a file that
//! verbs and screens read.

mod pods;
mod session_copy;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::app::live_copy::{CopyFolder, CopyState, LiveCopy};
use crate::net::admin::{AdminError, AdminPort};
use crate::net::csds::CsdsPort;
use crate::net::transport::Address;
pub use pods::{FindPods, PodPorts};
use session_copy::SessionCopy;
use xdscope_schema::{Schema, without_values};
use xdscope_sources::SourceError;
use xdscope_sources::peers::admin::{PageAnswer, PortFault, PortReader, PortStep};

/// The shortest pause between two rounds.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The pause between two rounds, as a multiple of the time of the last round: a large Envoy must
/// not spend most of its time on answers.
const PAUSE_FACTOR: u32 = 10;

/// The longest pause after errors.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The time that a whole answer may take.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A file name of a dump, which the form of its content is told by.
const DUMP_FILE: &str = "dump.json";

/// How the dumps of a port are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyForm {
    /// The newest dump, in a file that is replaced.
    Dump,
    /// A recording of what each dump has changed.
    Session,
}

/// How to keep the dumps of a port.
pub struct PortOptions {
    /// SOURCE as typed.
    pub name: String,
    pub form: CopyForm,
    /// Whether more rounds follow the first one.
    pub follows: bool,
    pub keep_secrets: bool,
    /// Bytes of memory for contents of a session.
    pub memory: usize,
    pub schema: Arc<Schema>,
    /// The folder for copies.
    pub parent: Option<PathBuf>,
}

/// The reason why a port cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error(transparent)]
    Page(#[from] AdminError),
    #[error(transparent)]
    Fault(#[from] PortFault),
    #[error(transparent)]
    Dump(#[from] SourceError),
    #[error("cannot keep a copy of the dump")]
    Folder(#[from] io::Error),
}

impl PortError {
    /// The error of a dump that is not JSON.
    fn not_json(error: &impl ToString) -> PortError {
        let what = format!("the dump is not JSON: {}", without_values(error.to_string()));
        PortError::Fault(PortFault { what, is_other_service: true })
    }
}

/// A port, by the protocol that it speaks.
pub enum Port {
    Http(Box<AdminPort>),
    Csds(Box<CsdsPort>),
}

impl Port {
    async fn get(&mut self, path: &str) -> Result<PageAnswer, AdminError> {
        match self {
            Port::Http(port) => port.get(path).await,
            Port::Csds(port) => port.get().await,
        }
    }

    fn address(&self) -> &Address {
        match self {
            Port::Http(port) => port.address(),
            Port::Csds(port) => port.address(),
        }
    }
}

/// The addresses that one reader asks.
pub struct PortGroup {
    /// Namespace and name of a pod; empty for addresses that users type.
    pub name: String,
    pub ports: Vec<Port>,
    pub reader: Box<dyn PortReader>,
}

impl PortGroup {
    /// Reads the pages of a round. Returns the dump if it is new.
    async fn round(&mut self) -> Result<Option<Vec<u8>>, PortError> {
        loop {
            match self.reader.next(unix_nanos()) {
                PortStep::Get(page) => {
                    let Some(port) = self.ports.get_mut(page.port) else { return Ok(None) };
                    let answer = port.get(&page.path).await?;
                    self.reader.take(answer)?;
                }
                PortStep::Dump(dump) => return Ok(dump),
            }
        }
    }

    /// Ends forwards until the next round.
    fn pause(&self) {
        for port in &self.ports {
            if let Address::Pod(forward) = port.address() {
                forward.pause();
            }
        }
    }
}

/// The ports that a source is read from.
pub enum PortSource {
    One(PortGroup),
    Pods(Box<PodPorts>),
}

impl PortSource {
    async fn round(&mut self) -> Result<Option<Vec<u8>>, PortError> {
        match self {
            PortSource::One(group) => group.round().await,
            PortSource::Pods(pods) => pods.round().await,
        }
    }

    /// Returns what cannot be read, although the round has succeeded.
    fn trouble(&self) -> Option<String> {
        match self {
            PortSource::One(_) => None,
            PortSource::Pods(pods) => pods.trouble(),
        }
    }
}

/// Reads a source once, and goes on reading on a thread if the options say so.
///
/// # Errors
/// No port can be reached, or another service answers, or the copy cannot be written.
pub fn open(options: PortOptions, source: PortSource) -> Result<LiveCopy, PortError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = CopyFolder::create(options.parent.as_deref())?;
    let (name, follows) = (options.name.clone(), options.follows);
    let sink = match options.form {
        CopyForm::Dump => CopySink::Dump(DumpFile::new(&folder)),
        CopyForm::Session => CopySink::Session(Box::new(SessionCopy::create(&folder, options)?)),
    };
    let path = sink.path().to_owned();
    let mut poller = Poller { source, sink, _folder: folder };
    runtime.block_on(poller.round())?;
    let state = Arc::new(CopyState::default());
    state.set_trouble(poller.source.trouble());
    let shared = state.clone();
    let work = move || {
        if follows {
            poller.run(&runtime, &shared);
        }
        // The copy stays until nobody reads it.
        while !shared.sleep(MAX_PAUSE) {}
        // Do not wait for a name that is still being resolved.
        runtime.shutdown_background();
    };
    let thread = std::thread::Builder::new().name("port".into()).spawn(work)?;
    Ok(LiveCopy::new(name, path, state, Some(thread)))
}

/// Reads a port in rounds.
struct Poller {
    source: PortSource,
    sink: CopySink,
    _folder: CopyFolder,
}

impl Poller {
    /// Reads the pages of a round, and keeps the dump if it is new.
    async fn round(&mut self) -> Result<(), PortError> {
        match self.source.round().await? {
            Some(dump) => self.sink.write(&dump),
            None => Ok(()),
        }
    }

    /// Reads rounds until the copy is not wanted any more.
    fn run(&mut self, runtime: &tokio::runtime::Runtime, state: &CopyState) {
        let mut pause = POLL_INTERVAL;
        while !state.sleep(pause) {
            if let PortSource::Pods(pods) = &mut self.source {
                pods.look(&|| state.is_stopped());
            }
            let begun = Instant::now();
            let result = runtime.block_on(async {
                tokio::select! {
                    result = self.round() => Some(result),
                    () = state.stopped() => None,
                }
            });
            match result {
                None => return,
                Some(Ok(())) => {
                    state.set_trouble(self.source.trouble());
                    pause = POLL_INTERVAL.max(begun.elapsed() * PAUSE_FACTOR).min(MAX_PAUSE);
                }
                Some(Err(error)) => {
                    let why = error.to_string();
                    tracing::warn!("{why}; xdscope tries again");
                    if let PortSource::One(group) = &mut self.source {
                        group.reader.restart();
                    }
                    self.sink.lose(&why);
                    state.set_trouble(Some(why));
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }
}

/// Returns the Unix time in nanoseconds.
fn unix_nanos() -> i128 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(time.as_nanos()).unwrap_or_default()
}

/// The destination of dumps.
enum CopySink {
    Dump(DumpFile),
    Session(Box<SessionCopy>),
}

impl CopySink {
    fn path(&self) -> &Path {
        match self {
            CopySink::Dump(file) => &file.path,
            CopySink::Session(copy) => copy.path(),
        }
    }

    fn write(&mut self, dump: &[u8]) -> Result<(), PortError> {
        match self {
            CopySink::Dump(file) => Ok(file.replace(dump)?),
            CopySink::Session(copy) => copy.write(dump),
        }
    }

    /// Notes that the port cannot be read any more.
    fn lose(&mut self, why: &str) {
        if let CopySink::Session(copy) = self {
            copy.lose(why);
        }
    }
}

/// The newest dump in a file.
struct DumpFile {
    path: PathBuf,
    /// The length of the file.
    len: usize,
}

impl DumpFile {
    fn new(folder: &CopyFolder) -> DumpFile {
        DumpFile { path: folder.path().join(DUMP_FILE), len: 0 }
    }

    /// Replaces the file, so that a reader sees one dump or the other.
    fn replace(&mut self, dump: &[u8]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(dump)?;
        // Readers tell a change by the size.
        let end: &[u8] = if dump.len() == self.len { b"\n" } else { b"" };
        file.write_all(end)?;
        file.flush()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        self.len = dump.len() + end.len();
        Ok(())
    }
}

impl Drop for DumpFile {
    fn drop(&mut self) {
        // The folder is removed in any case.
        let _ = fs::remove_file(&self.path);
    }
}
