//! Readers of admin ports as state machines: which page to get next, and the dump that the pages
//! make up.
//!
//! A dump has a form that files have, too, so that a port is read like a file.

mod csds;
mod envoy;
mod istiod;
mod ztunnel;

pub use csds::{CsdsReader, FETCH_CLIENT_STATUS};
pub use envoy::EnvoyReader;
pub use istiod::IstiodReader;
pub use ztunnel::ZtunnelReader;

/// The next step of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortStep {
    /// A page.
    Get(PageRequest),
    /// The round has ended, with a new dump. `None`: nothing has changed since the last one.
    Dump(Option<Vec<u8>>),
}

/// A request for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Which of the addresses of the source to ask, from 0.
    pub port: usize,
    /// Path and query.
    pub path: String,
}

/// The answer to a request for a page.
#[derive(Clone, Debug)]
pub struct PageAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A port that is not what its SOURCE says, or that answers nonsense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PortFault {
    /// The page, and the answer of the port.
    pub what: String,
    /// Whether another service has answered.
    pub is_other_service: bool,
}

/// A reader of the pages of one port.
///
/// A round begins with [`PortReader::next`], and goes on with [`PortReader::take`] for each page,
/// until the next step is a dump.
pub trait PortReader: Send {
    /// Returns the next step of this round; after the end of a round, the first step of the next.
    /// `now` is the Unix time in nanoseconds.
    fn next(&mut self, now: i128) -> PortStep;

    /// Takes the answer to the page that the last step wanted.
    ///
    /// # Errors
    /// The answer is not one of such a port.
    fn take(&mut self, answer: PageAnswer) -> Result<(), PortFault>;

    /// Begins from the start, after an error: the port may be another process.
    fn restart(&mut self);
}

/// Bytes of an answer that an error shows.
const MAX_SHOWN_BYTES: usize = 80;

impl PortFault {
    /// The fault of an answer that another service gives.
    fn other_service(page: &str, answer: &PageAnswer, wanted: &str) -> PortFault {
        let what = format!("GET {page}: {}, and {wanted} was expected", answer.shown());
        PortFault { what, is_other_service: true }
    }
}

impl PageAnswer {
    /// Describes the answer in a few words: `HTTP 404 "not found"`.
    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(self.body.get(..MAX_SHOWN_BYTES).unwrap_or(&self.body));
        let line = text.lines().next().unwrap_or_default().trim();
        let end = if self.body.len() > line.len() + 1 { "…" } else { "" };
        match line.is_empty() {
            true => format!("HTTP {}", self.status),
            false => format!("HTTP {} \"{line}{end}\"", self.status),
        }
    }
}
