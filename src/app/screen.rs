//! The screens over a live source.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::content::BlobId;
use crate::event::Seq;
use crate::schema::{self, Names, Schema};
use crate::store::{MessageFact, Store};
use crate::text::{display_safe, hex};
use crate::tui::{Bodies, Data, Feed, Format, Info, Mode, Msg, StoreData};

use super::body;
use super::live::Shared;
use super::signals::Signal;

/// Bodies by the descriptors.
pub struct Decoded(pub Arc<Schema>);

impl Bodies for Decoded {
    fn body(&self, store: &Store, n: Seq, format: Format, limit: usize) -> Vec<String> {
        let text = match format {
            Format::Hex => return hex(&body::bytes(store, n).unwrap_or_default(), limit),
            Format::Yaml | Format::Text => body::json(store, &self.0, n).map(|value| schema::to_yaml(&value)),
            Format::Json => body::json(store, &self.0, n).and_then(|v| serde_json::to_string_pretty(&v).ok()),
        };
        match text {
            Some(text) => text.lines().take(limit).map(|line| display_safe(line).into_owned()).collect(),
            None => vec!["(the content of this message is not held any more)".into()],
        }
    }

    fn json(&self, store: &Store, fact: &MessageFact) -> String {
        crate::json::message(fact, &store.clock()).to_string()
    }

    fn content(&self, store: &Store, id: BlobId, format: Format, limit: usize) -> Vec<String> {
        let Some(bytes) = store.catalog().bytes(id) else {
            return vec!["(this content is not held any more)".into()];
        };
        let tree = |names| self.0.tree("google.protobuf.Any", &bytes, names);
        let text = match format {
            Format::Hex => return hex(&bytes, limit),
            Format::Text => self.0.text_format(&bytes),
            Format::Json => serde_json::to_string_pretty(&tree(Names::Json)).ok(),
            Format::Yaml => None,
        };
        let text = text.unwrap_or_else(|| schema::to_yaml(&tree(Names::Original)));
        text.lines().take(limit).map(|line| display_safe(line).into_owned()).collect()
    }

    fn schema(&self) -> &Schema {
        &self.0
    }
}

/// What the screens say of a run besides its facts.
pub struct About {
    pub source: String,
    pub recording: Option<PathBuf>,
    /// What to do so that something appears.
    pub empty: Vec<String>,
    pub notice: Option<String>,
    /// Where copies too large for the clipboard go.
    pub copies: PathBuf,
}

/// A live source as the screens want it.
pub struct LiveFeed {
    pub shared: Arc<Shared>,
    pub bodies: Decoded,
    pub about: About,
}

impl Feed for LiveFeed {
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        let store = self.shared.store();
        with(&StoreData { store: &store, bodies: &self.bodies });
    }

    fn revision(&self) -> u64 {
        self.shared.revision()
    }

    fn info(&self) -> Info {
        let store = self.shared.store();
        let streams = store.streams();
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = self.about.recording.as_ref();
        Info {
            source: self.about.source.clone(),
            mode: Mode::Live,
            recording: path.map(|path| (name(path), self.shared.recorded())),
            dropped: streams.iter().map(|stream| stream.gaps).sum(),
            rerun: path.map_or_else(|| "SOURCE".into(), |path| path.display().to_string()),
            clients: streams.iter().filter(|stream| stream.closed.is_none()).count() as u64,
            empty: self.about.empty.clone(),
            notice: self.shared.recording_error().or_else(|| self.about.notice.clone()),
        }
    }

    fn save_copy(&self, text: &str) -> io::Result<String> {
        std::fs::create_dir_all(&self.about.copies)?;
        let path = self.about.copies.join("copy.txt");
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }
}

/// Signals as the screens want them.
pub fn messages(signals: Receiver<Signal>) -> io::Result<Receiver<Msg>> {
    let (send, receive) = channel();
    std::thread::Builder::new().name("messages".into()).spawn(move || {
        for signal in signals {
            let message = match signal {
                Signal::Stop => Msg::Stop,
                Signal::Suspend => Msg::Suspend,
            };
            if send.send(message).is_err() {
                return;
            }
        }
    })?;
    Ok(receive)
}
