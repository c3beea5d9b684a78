//! Versions of a resource or a type over time, while messages are kept.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::nack::StatedFaults;
use crate::session::{MessageKind, PushedVersion, Response, Stream, Track, hollow, key, nameless};
use xdscope_wire::Message;
use xdscope_wire::content::{BlobId, List};
use xdscope_wire::event::{Seq, StreamId, Sym, Time, TypeUrl};

use super::{NackFact, Store};
use crate::store::rows::history::Row;
use crate::store::rows::line::version_and_nonce;

/// Rows that are searched backwards; older ones are not searched.
pub(super) const MAX_SEARCHED_ROWS: usize = 1 << 18;

/// Resources of a response up to which the text of a NACK is compared with their names.
const MAX_COMPARED_NAMES: usize = 4096;

/// The verdict of the client on a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The client sent an ACK.
    Accepted,
    /// The client sent a NACK.
    Refused,
}

/// A verdict, and the request that gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictFact {
    /// The verdict.
    pub verdict: Verdict,
    /// The request.
    pub n: Seq,
    /// Time of the request.
    pub at: Time,
}

/// A track and its indices.
struct TrackPlace<'a> {
    /// Index of the stream in the engine.
    stream: u32,
    /// Index of the track on the stream.
    index: u16,
    track: &'a Track,
}

impl TrackPlace<'_> {
    fn has(&self, row: &Row) -> bool {
        row.stream == self.stream && row.track == Some(self.index)
    }
}

/// One content of a resource on one stream, pushed once or several times in a row.
#[derive(Clone, Debug)]
pub struct VersionFact {
    /// Version of the resource, else of the response.
    pub version: Arc<str>,
    /// Nonce of the newest push.
    pub nonce: Arc<str>,
    /// The first push.
    pub first: Seq,
    /// The newest push.
    pub last: Seq,
    /// Time of the first push.
    pub at: Time,
    /// Number of pushes.
    pub pushes: u64,
    /// The newest verdict on a push.
    pub verdict: Option<VerdictFact>,
    /// The content; `None` if the resource was removed.
    pub content: Option<BlobId>,
}

/// A response that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedFact {
    /// The request that accepted it.
    pub n: Seq,
    /// Time of the request.
    pub at: Time,
    /// Version of the response.
    pub version: Arc<str>,
}

/// Contents of a resource, as far as the rows were searched.
#[derive(Clone, Debug)]
pub struct Versions {
    /// The versions, newest first.
    pub versions: Vec<VersionFact>,
    /// Rows that remain to be searched.
    rows: Range<usize>,
    verdicts: HashMap<Seq, VerdictFact>,
}

impl Versions {
    /// Prepares a search of the rows before `row`.
    pub fn before(row: usize) -> Versions {
        Versions {
            versions: Vec::new(),
            rows: row.saturating_sub(MAX_SEARCHED_ROWS)..row,
            verdicts: HashMap::new(),
        }
    }

    /// Whether all rows were searched.
    pub fn is_complete(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Store {
    fn place(&self, stream: StreamId, url: &TypeUrl) -> Option<TrackPlace<'_>> {
        let stream = self.engine.index(stream)?;
        let tracks = &self.engine.streams().get(stream)?.tracks;
        let index = tracks.iter().position(|track| track.type_url == *url)?;
        Some(TrackPlace {
            stream: u32::try_from(stream).ok()?,
            index: u16::try_from(index).ok()?,
            track: tracks.get(index)?,
        })
    }

    /// Returns the contents of a resource on a stream, newest first, while messages are kept.
    pub fn versions(&self, stream: StreamId, url: &TypeUrl, name: &str) -> Vec<VersionFact> {
        let mut found = Versions::before(self.rows());
        self.more_versions(stream, url, name, MAX_SEARCHED_ROWS, &mut found);
        found.versions
    }

    /// Continues the search in at most `rows` more rows.
    pub fn more_versions(
        &self,
        stream: StreamId,
        url: &TypeUrl,
        name: &str,
        rows: usize,
        found: &mut Versions,
    ) {
        let to = found.rows.end.min(self.rows());
        let from = found.rows.start.max(to.saturating_sub(rows));
        found.rows.end = from;
        let place = self.place(stream, url).and_then(|place| {
            let name = self.key_named(place.track, name)?;
            Some((place, name))
        });
        let Some((place, name)) = place else {
            return;
        };
        let name = place.track.canonical(&self.catalog, name);
        let (verdicts, out) = (&mut found.verdicts, &mut found.versions);
        for row in (from..to).rev().filter_map(|row| self.history.get(row)) {
            if !place.has(row) {
                continue;
            }
            let verdict = match self.kind_of_row(row) {
                MessageKind::Ack => Some(Verdict::Accepted),
                MessageKind::Nack => Some(Verdict::Refused),
                _ => None,
            };
            if let (Some(verdict), Some(answers), Some(n)) = (verdict, row.answers(), row.n()) {
                verdicts.insert(answers, VerdictFact { verdict, n, at: row.at });
            }
            if !matches!(row.kind, MessageKind::Push | MessageKind::Resend | MessageKind::Heartbeat) {
                continue;
            }
            if let Some((n, message)) = row.n().zip(self.history.message_of(row, &self.catalog)) {
                self.version(n, row, &message, name, verdicts.get(&n).copied(), out);
            }
        }
    }

    /// Returns the version of a response without a verdict.
    pub(crate) fn pushed_version(&self, stream: &Stream, response: &Response) -> PushedVersion {
        let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
        PushedVersion::from_response(&self.catalog, response, is_delta, |name| self.text(name))
    }

    /// Returns the last entry of a list with this key.
    pub(super) fn find_entry(&self, list: &List, name: Sym) -> Option<BlobId> {
        match nameless(name) {
            Some(_) => list.blobs().iter().rev().copied().find(|id| key(&self.catalog, *id) == name),
            None => list.find(&self.catalog, name),
        }
    }

    /// Adds the version of a resource in a response, or extends the newest one.
    fn version(
        &self,
        n: Seq,
        row: &Row,
        message: &Message,
        name: Sym,
        verdict: Option<VerdictFact>,
        out: &mut Vec<VersionFact>,
    ) {
        let found = message.resources().and_then(|list| self.find_entry(list, name));
        if found.is_none() && !self.history.removes(row, name) {
            return;
        }
        let entry = found.map(|id| self.catalog.entry(id));
        // A heartbeat does not change the content.
        if found.is_some_and(|id| hollow(&self.catalog, id)) {
            return;
        }
        let (version, nonce) = version_and_nonce(message);
        let own = entry.map(|entry| entry.version).filter(|version| *version != Sym::EMPTY);
        let version: Arc<str> = own.map_or_else(|| Arc::from(version), |own| self.text(own));
        let content = found.map(|id| self.catalog.entry(id).payload.unwrap_or(id));
        match out.last_mut() {
            Some(newer) if newer.content == content && newer.version == version => {
                newer.first = n;
                newer.at = row.at;
                newer.pushes += 1;
                newer.verdict = newer.verdict.or(verdict);
            }
            _ => out.push(VersionFact {
                version,
                nonce: Arc::from(nonce),
                first: n,
                last: n,
                at: row.at,
                pushes: 1,
                verdict,
                content,
            }),
        }
    }

    /// Returns the first ACK after NACK `nack.n` of a response later than the refused one.
    pub fn accepted_after(&self, stream: StreamId, url: &TypeUrl, nack: &NackFact) -> Option<AcceptedFact> {
        let (n, refused) = (nack.n, nack.refused);
        let place = self.place(stream, url)?;
        let from = self.history.row_of(n)? + 1;
        let rows =
            (from..self.history.len().min(from + MAX_SEARCHED_ROWS)).filter_map(|row| self.history.get(row));
        let mut rows = rows.filter(|row| place.has(row));
        let ack = rows.find(|row| row.kind == MessageKind::Ack && row.answers() > refused)?;
        let response = self.history.get(self.history.row_of(ack.answers()?)?)?;
        let version = self.history.line(response).map_or_else(|| Arc::from(""), |line| line.version);
        Some(AcceptedFact { n: ack.n()?, at: ack.at, version })
    }

    /// Returns the names and payloads of a response in its order; `None` if the message was
    /// dropped.
    pub fn pushed(&self, n: Seq) -> Option<Vec<(Arc<str>, BlobId)>> {
        let message = self.message(n)?;
        let list = message.resources()?;
        let entry = |id: &BlobId| {
            (self.text(key(&self.catalog, *id)), self.catalog.entry(*id).payload.unwrap_or(*id))
        };
        Some(list.blobs().iter().map(entry).collect())
    }

    /// Returns the names of the resources of a response, in the order of the response; `None` if
    /// the response was dropped, or has more than `most` resources.
    pub fn pushed_names(&self, n: Seq, most: usize) -> Option<Vec<Arc<str>>> {
        let message = self.message(n)?;
        let list = message.resources().filter(|list| list.blobs().len() <= most)?;
        Some(list.blobs().iter().map(|id| self.text(key(&self.catalog, *id))).collect())
    }

    /// Reads the text of a NACK of a response: a fault without a name is about the only resource.
    pub fn nack_faults(&self, text: &str, response: Option<Seq>) -> StatedFaults {
        StatedFaults::read(text, &self.compared_names(response))
    }

    /// Reads the text of a NACK of a response, and adds no name that the text leaves out.
    pub fn stated_nack_faults(&self, text: &str, response: Option<Seq>) -> StatedFaults {
        let response = if StatedFaults::depend_on_names(text) { response } else { None };
        StatedFaults::stated(text, &self.compared_names(response))
    }

    /// Returns the names in a response; none if the response is unknown or has too many.
    fn compared_names(&self, response: Option<Seq>) -> Vec<Arc<str>> {
        let names = response.and_then(|response| self.pushed_names(response, MAX_COMPARED_NAMES));
        names.unwrap_or_default()
    }

    /// Whether two responses have equal resources; `None` if one of them was dropped.
    pub fn same_push(&self, a: Seq, b: Seq) -> Option<bool> {
        let list = |n| Some(self.message(n)?.resources()?.fingerprint());
        Some(list(a)? == list(b)?)
    }

    /// Returns the names of a type: sent ones, then missing ones, then globs with members.
    pub fn resource_names(&self, stream: StreamId, url: &TypeUrl) -> Vec<Arc<str>> {
        self.first_resource_names(stream, url, usize::MAX)
    }

    /// Returns the first names of a type.
    pub fn first_resource_names(&self, stream: StreamId, url: &TypeUrl, most: usize) -> Vec<Arc<str>> {
        self.resource_names_from(stream, url, 0, most)
    }

    /// Returns names of a type from a position on. Positions are those of one moment.
    pub fn resource_names_from(
        &self,
        stream: StreamId,
        url: &TypeUrl,
        from: usize,
        most: usize,
    ) -> Vec<Arc<str>> {
        let Some(TrackPlace { track, .. }) = self.place(stream, url) else { return Vec::new() };
        let sent = track.sent.entries(&self.catalog);
        let never_sent = track.names_never_sent(&self.catalog);
        let names = sent.iter().map(|(name, _)| *name).chain(never_sent).skip(from).take(most);
        let mut names: Vec<Arc<str>> = names.map(|name| self.text(name)).collect();
        // Globs come last, once the other names end.
        let room = most.saturating_sub(names.len());
        if room > 0 {
            names.extend(self.globs(stream, url).names().into_iter().take(room));
        }
        names
    }

    /// Returns a number that changes whenever the names of a type can have changed.
    pub fn names_mark(&self, stream: StreamId, url: &TypeUrl) -> u64 {
        self.place(stream, url).map_or(0, |place| place.track.traffic.name_changes + 1)
    }

    /// Whether one of the rows affects a resource: a response with the resource, its removal, or a
    /// verdict.
    pub fn is_news(&self, stream: StreamId, url: &TypeUrl, name: &str, rows: Range<usize>) -> bool {
        let Some(place) = self.place(stream, url) else { return true };
        let Some(name) = self.key_named(place.track, name) else { return true };
        let name = place.track.canonical(&self.catalog, name);
        let mut rows = rows.filter_map(|row| self.history.get(row)).filter(|row| place.has(row));
        rows.any(|row| match row.kind {
            MessageKind::Ack | MessageKind::Nack => {
                let answered = row.answers().and_then(|n| self.history.get(self.history.row_of(n)?));
                answered.is_none_or(|answered| self.may_mention(answered, name))
            }
            _ => self.may_mention(row, name),
        })
    }

    /// Whether a row sends or removes a resource. True if the message is not kept.
    fn may_mention(&self, row: &Row, name: Sym) -> bool {
        let Some(message) = self.history.message_of(row, &self.catalog) else { return true };
        message.resources().is_some_and(|list| self.find_entry(list, name).is_some())
            || self.history.removes(row, name)
    }

    /// Returns a number that changes whenever the resources of a type can have changed.
    pub fn mark(&self, stream: StreamId, url: &TypeUrl) -> u64 {
        let Some(TrackPlace { track, .. }) = self.place(stream, url) else { return 0 };
        (track.traffic.pushes << 32) + (u64::from(track.traffic.requests) << 1) + 1
    }
}
