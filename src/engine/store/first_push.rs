//! The push that brought a content, of many resources in one pass over the rows.

use std::collections::HashMap;
use std::sync::Arc;

use crate::session::{MessageKind, hollow};
use xdscope_wire::Message;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId, Sym, Time, TypeUrl};

use super::Store;
use super::rows::history::Row;
use super::rows::line::version_and_nonce;
use super::versions::MAX_SEARCHED_ROWS;

/// A content of a resource that was sent on a stream.
#[derive(Clone, Copy, Debug)]
pub struct SentContent<'a> {
    /// The stream.
    pub stream: StreamId,
    /// The type.
    pub type_url: &'a TypeUrl,
    /// The name of the resource.
    pub name: &'a str,
    /// The content; `None` for the removal of the resource.
    pub content: Option<BlobId>,
}

/// The first of the pushes in a row that have a content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstPushFact {
    /// The push.
    pub n: Seq,
    /// Time of the push.
    pub at: Time,
    /// Version of the resource, else of the response.
    pub version: Arc<str>,
}

/// Indices of the stream and of the track of a row.
type RowPlace = (u32, u16);

/// Content and version of a resource in a response.
struct Mention {
    content: Option<BlobId>,
    version: Arc<str>,
}

/// Returns the first push of each content on its stream, as far as messages are kept; `None` if
/// no push on the stream has the content.
pub(super) fn first_pushes(store: &Store, contents: &[SentContent<'_>]) -> Vec<Option<FirstPushFact>> {
    let mut found: Vec<Option<FirstPushFact>> = vec![None; contents.len()];
    // The contents that an earlier push may have, and the names of their resources.
    let mut open: HashMap<RowPlace, Vec<(usize, Sym)>> = HashMap::new();
    for (index, sent) in contents.iter().enumerate() {
        if let Some((place, name)) = place_and_name(store, sent) {
            open.entry(place).or_default().push((index, name));
        }
    }
    let oldest = store.rows().saturating_sub(MAX_SEARCHED_ROWS);
    for row in (oldest..store.rows()).rev().filter_map(|row| store.history.get(row)) {
        if open.is_empty() {
            break;
        }
        let Some(place) = row.track.map(|track| (row.stream, track)) else { continue };
        let Some(names) = open.get_mut(&place) else { continue };
        let is_response =
            matches!(row.kind, MessageKind::Push | MessageKind::Resend | MessageKind::Heartbeat);
        if !is_response {
            continue;
        }
        let Some((n, message)) = row.n().zip(store.history.message_of(row, &store.catalog)) else {
            continue;
        };
        names.retain(|(index, name)| {
            let (Some(sent), Some(first)) = (contents.get(*index), found.get_mut(*index)) else {
                return false;
            };
            match mention(store, row, &message, *name) {
                None => true,
                Some(mention) if mention.content == sent.content => {
                    *first = Some(FirstPushFact { n, at: row.at, version: mention.version });
                    true
                }
                // A later content, or the one before.
                Some(_) => first.is_none(),
            }
        });
        if names.is_empty() {
            open.remove(&place);
        }
    }
    found
}

fn place_and_name(store: &Store, sent: &SentContent<'_>) -> Option<(RowPlace, Sym)> {
    let stream_index = store.engine.index(sent.stream)?;
    let stream = store.engine.stream(sent.stream)?;
    let track_index = stream.position(sent.type_url)?;
    let track = stream.tracks.get(track_index)?;
    let name = track.canonical(&store.catalog, store.key_named(track, sent.name)?);
    Some(((u32::try_from(stream_index).ok()?, u16::try_from(track_index).ok()?), name))
}

/// Returns what a response says about a resource; `None` if nothing. A heartbeat says nothing
/// about the content.
fn mention(store: &Store, row: &Row, message: &Message, name: Sym) -> Option<Mention> {
    let (version, _) = version_and_nonce(message);
    let Some(entry) = message.resources().and_then(|list| store.find_entry(list, name)) else {
        let is_removed = store.history.removes(row, name);
        return is_removed.then(|| Mention { content: None, version: Arc::from(version) });
    };
    if hollow(&store.catalog, entry) {
        return None;
    }
    let resource = store.catalog.entry(entry);
    let version = match resource.version {
        Sym::EMPTY => Arc::from(version),
        own => store.text(own),
    };
    Some(Mention { content: Some(resource.payload.unwrap_or(entry)), version })
}
