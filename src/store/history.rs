use std::sync::Arc;

use crate::content::Catalog;
use crate::event::{Dir, Seq, Sym, Time};
use crate::session::{Class, Happened, MessageKind, Outcome, ResponseOutcome};
use crate::wire::{Body, Message, Segment};

use super::rows::key_text;

/// One row of the timeline, compact: texts are resolved when it is shown.
pub(super) struct Row {
    pub(super) at: Time,
    /// Index of the stream.
    pub(super) stream: u32,
    /// Index of the track on it.
    pub(super) track: Option<u16>,
    pub(super) kind: MessageKind,
    pub(super) class: Option<Class>,
    pub(super) implied: bool,
    /// 0 for the opening and closing of a stream.
    pub(super) seq: u64,
    /// 0 if nothing.
    pub(super) answers: u64,
    pub(super) same: u32,
    pub(super) names: Option<Box<Names>>,
    /// What is odd about it, in words.
    pub(super) note: Option<Box<str>>,
    pub(super) content: Content,
}

/// The names that a row changed.
#[derive(Default)]
pub(super) struct Names {
    pub(super) added: Which,
    pub(super) changed: Box<[Sym]>,
    pub(super) removed: Box<[Sym]>,
}

/// Names of a message: a first request adds all it names, a first push all it holds.
#[derive(Default)]
pub(super) enum Which {
    #[default]
    Nothing,
    All,
    These(Box<[Sym]>),
}

/// What is still known of a row's message.
pub(super) enum Content {
    None,
    Whole(Arc<Message>),
    /// The oldest bodies go first once the history is full.
    Dropped(Box<Dropped>),
}

pub(super) struct Dropped {
    pub(super) dir: Dir,
    pub(super) version: Arc<str>,
    pub(super) nonce: Arc<str>,
    pub(super) count: u64,
    pub(super) size: u64,
    pub(super) error: Option<(i32, Arc<str>)>,
}

/// The timeline: every message, and the opening and closing of streams.
pub(super) struct History {
    rows: Vec<Row>,
    /// Of these rows and their messages so many have come; those after them came once, before it went back.
    shown: End,
    /// The row of each message, by its number less one.
    by_seq: Vec<u32>,
    /// Bytes that the messages kept take up, about.
    bytes: usize,
    budget: usize,
    /// Rows before this one have lost their messages.
    first_whole: usize,
    dropped: u64,
    last_list: u128,
}

/// An end of the history.
#[derive(Clone, Copy, Default)]
pub(super) struct End {
    rows: usize,
    messages: usize,
}

impl History {
    pub(super) fn new(budget: usize) -> History {
        History {
            rows: Vec::new(),
            shown: End::default(),
            by_seq: Vec::new(),
            bytes: 0,
            budget,
            first_whole: 0,
            dropped: 0,
            last_list: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shown.rows
    }

    pub(super) fn get(&self, index: usize) -> Option<&Row> {
        self.rows.get(index).filter(|_| index < self.shown.rows)
    }

    pub(super) fn row_of(&self, n: Seq) -> Option<usize> {
        let at = usize::try_from(n.0.checked_sub(1)?).ok()?;
        self.by_seq.get(at).filter(|_| at < self.shown.messages).map(|row| *row as usize)
    }

    pub(super) fn message(&self, n: Seq) -> Option<&Message> {
        match &self.rows.get(self.row_of(n)?)?.content {
            Content::Whole(message) => Some(message),
            _ => None,
        }
    }

    /// Messages whose content is not kept any more.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds the row of an outcome, if it has one.
    pub(super) fn push(
        &mut self,
        stream: usize,
        outcome: &Outcome,
        message: Option<Arc<Message>>,
        note: Option<Box<str>>,
        catalog: &Catalog,
    ) {
        if matches!(outcome.what, Happened::Counted | Happened::Passed(_)) {
            return;
        }
        self.shown.messages += usize::from(outcome.seq.is_some());
        self.shown.rows += 1;
        // It came before: the same frame makes the same row.
        if self.shown.rows <= self.rows.len() {
            return;
        }
        let mut row = Row {
            at: outcome.at,
            stream: u32::try_from(stream).unwrap_or(u32::MAX),
            track: outcome.track.and_then(|track| u16::try_from(track).ok()),
            kind: MessageKind::Open,
            class: None,
            implied: false,
            seq: outcome.seq.map_or(0, |seq| seq.0),
            answers: 0,
            same: 0,
            names: None,
            note: None,
            content: Content::None,
        };
        let mut names = Names::default();
        match &outcome.what {
            Happened::Counted | Happened::Passed(_) | Happened::Open => {}
            Happened::Close => row.kind = MessageKind::Close,
            Happened::Aside => {
                let request = message.as_ref().is_some_and(|message| message.dir() == Dir::Req);
                row.kind = if request { MessageKind::Repeat } else { MessageKind::Push };
            }
            Happened::Request(request) => {
                row.kind = request.kind;
                row.class = request.class;
                row.implied = request.implied;
                row.answers = request.answers.map_or(0, |seq| seq.0);
                row.note = note;
                names.added = which(&request.added, message.as_deref());
                names.removed = request.removed.as_slice().into();
            }
            Happened::Response(response) => {
                row.kind = response.kind;
                row.answers = response.answers.map_or(0, |seq| seq.0);
                row.note = oddities(response, catalog);
                row.same = u32::try_from(response.same).unwrap_or(u32::MAX);
                names.added = which(&response.added, message.as_deref());
                names.changed = response.changed.as_slice().into();
                names.removed = response.removed.as_slice().into();
            }
        }
        let none =
            matches!(names.added, Which::Nothing) && names.changed.is_empty() && names.removed.is_empty();
        row.names = (!none).then(|| Box::new(names));
        if row.seq > 0 {
            self.by_seq.push(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        }
        if let Some(message) = message {
            self.bytes += self.weight(&message);
            row.content = Content::Whole(message);
        }
        self.rows.push(row);
        self.make_room();
    }

    /// About what the message takes up beyond content that is stored anyway.
    fn weight(&mut self, message: &Message) -> usize {
        let mut bytes = weight(message);
        if let Some(list) = message.resources() {
            // The same list again is the same allocation.
            if self.last_list != list.fingerprint() {
                bytes += list.len() * 4;
            }
            self.last_list = list.fingerprint();
        }
        bytes
    }

    /// Where it ends now.
    pub(super) fn end(&self) -> End {
        self.shown
    }

    /// Ends where it ended once. What came since is kept: the frames that follow are those that followed then.
    pub(super) fn back_to(&mut self, end: End) {
        self.shown = end;
    }

    fn make_room(&mut self) {
        while self.bytes > self.budget && self.first_whole + 1 < self.rows.len() {
            self.drop_one();
        }
    }

    /// Drops the messages of all rows so far.
    pub(super) fn drop_all(&mut self) {
        while self.first_whole < self.rows.len() {
            self.drop_one();
        }
        self.bytes = 0;
    }

    fn drop_one(&mut self) {
        let Some(row) = self.rows.get_mut(self.first_whole) else { return };
        self.first_whole += 1;
        if let Content::Whole(message) = &row.content {
            let lists = message.resources().map_or(0, |list| list.len() * 4);
            self.bytes = self.bytes.saturating_sub(weight(message) + lists);
            self.dropped += 1;
            row.content = Content::Dropped(Box::new(Dropped::of(message)));
            if let Some(names) = &mut row.names {
                names.forget_all();
            }
        }
    }
}

/// What a person should know of a response beyond its counts (rows E-43, F-03).
fn oddities(response: &ResponseOutcome, catalog: &Catalog) -> Option<Box<str>> {
    let mut notes = Vec::new();
    if !response.twice.is_empty() {
        let names = response.twice.iter().take(3).map(|name| key_text(catalog, *name).to_string());
        let more = if response.twice.len() > 3 { ", …" } else { "" };
        notes.push(format!("more than once: {}{more}", names.collect::<Vec<_>>().join(", ")));
    }
    if response.nonce_reused {
        notes.push("nonce issued before".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join("; ").into())
}

/// Bytes that a message takes up in memory, about: without the names and the list, which are shared as a rule.
pub fn weight(message: &Message) -> usize {
    let segments = message.segments.iter().map(|segment| match segment {
        Segment::Inline(bytes) => bytes.len() + 40,
        _ => 24,
    });
    size_of::<Message>() + 160 + segments.sum::<usize>()
}

/// Names as they are kept: all that the message has are not listed again.
fn which(names: &[Sym], message: Option<&Message>) -> Which {
    let all = match message.map(|message| &message.body) {
        Some(Body::SotwRequest(m)) => m.resource_names.len() == names.len(),
        Some(Body::DeltaRequest(m)) => m.subscribe.len() == names.len(),
        Some(Body::SotwResponse(m)) => m.resources.len() == names.len(),
        Some(Body::DeltaResponse(m)) => m.resources.len() == names.len(),
        _ => false,
    };
    match names.is_empty() {
        true => Which::Nothing,
        false if all => Which::All,
        false => Which::These(names.into()),
    }
}

impl Names {
    /// Without the message "all of its names" says nothing.
    fn forget_all(&mut self) {
        if matches!(self.added, Which::All) {
            self.added = Which::Nothing;
        }
    }
}

/// How many names or resources a message carries.
pub(super) fn count(message: &Message) -> u64 {
    let names = match &message.body {
        Body::SotwRequest(m) => m.resource_names.len() + m.resource_locators.len(),
        Body::DeltaRequest(m) => m.subscribe.len() + m.locators_subscribe.len(),
        Body::SotwResponse(m) => m.resources.len(),
        Body::DeltaResponse(m) => m.resources.len(),
        Body::Undecodable { .. } => 0,
    };
    names as u64
}

/// `version_info` or `system_version_info`, and nonce.
pub(super) fn version_and_nonce(message: &Message) -> (&str, &str) {
    match &message.body {
        Body::SotwRequest(m) => (m.version_info.as_str(), m.response_nonce.as_str()),
        Body::SotwResponse(m) => (m.version_info.as_str(), m.nonce.as_str()),
        Body::DeltaRequest(m) => ("", m.response_nonce.as_str()),
        Body::DeltaResponse(m) => (m.system_version_info.as_str(), m.nonce.as_str()),
        Body::Undecodable { .. } => ("", ""),
    }
}

impl Dropped {
    fn of(message: &Message) -> Dropped {
        let (version, nonce) = version_and_nonce(message);
        Dropped {
            dir: message.dir(),
            version: Arc::from(version),
            nonce: Arc::from(nonce),
            count: count(message),
            size: message.size,
            error: message.error_detail().map(|error| (error.code, error.message.clone())),
        }
    }
}
