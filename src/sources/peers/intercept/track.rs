use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::contents::WireContents;
use xdscope_engine::store::MessageKind;
use xdscope_wire::discovery::fields::DiscoveryField;

/// Texts that are remembered of each kind.
const MAX_REMEMBERED: usize = 64;

/// The beliefs of client and server about one type of a stream.
#[derive(Default)]
pub(super) struct Track {
    /// Number of pushes.
    pushes: u64,
    /// The newest push that the client never sees.
    withheld: Option<Withheld>,
    /// The nonces of the newest push and of the push before.
    nonces: VecDeque<String>,
    /// Texts that the client was told in place of others, newest last.
    nonce_aliases: VecDeque<(String, String)>,
    version_aliases: VecDeque<(String, String)>,
    /// The names of the newest request that has arrived.
    names: Option<Vec<Arc<str>>>,
    /// The newest request that was sent, as the client sent it.
    last_request: Option<WireContents>,
    /// Nonces that the client has answered.
    answered: VecDeque<String>,
    /// Answers to leave out, by nonce: of repeated pushes, and all.
    repeated: VecDeque<(String, Arc<str>)>,
    dropped_answers: VecDeque<(String, Arc<str>)>,
    copies: VecDeque<CopiedPush>,
    /// Answers to send with the nonce before.
    stale_answers: VecDeque<(String, Arc<str>)>,
    /// Names that the newest requests lack, because the server must not hear of them.
    pub(super) left_out: BTreeSet<Arc<str>>,
    /// Delta: resources of the client that the server has never sent, and the fault.
    foreign: Option<(BTreeSet<Arc<str>>, Arc<str>)>,
    /// Bytes of the track that [`ClientMemory`](super::client_memory::ClientMemory) counts.
    pub(super) counted: usize,
}

/// A push that the client never sees, because of a fault.
struct Withheld {
    number: u64,
    nonce: String,
    by: Arc<str>,
}

/// A copy of a push, made because of a fault.
struct CopiedPush {
    nonce: String,
    by: Arc<str>,
    /// The client gets the copy before the push.
    is_before: bool,
}

/// The fate of a request.
pub(super) enum RequestFate {
    /// The request is sent as it is.
    Unchanged,
    /// The request is sent with the texts that the server sent, which the client was not told.
    Translated(bytes::Bytes),
    /// The request is sent with these bytes, because of this fault.
    Restated(bytes::Bytes, Arc<str>),
    /// The request is not sent, because of this fault.
    Dropped(Arc<str>),
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > MAX_REMEMBERED {
        list.pop_front();
    }
}

fn take_by_nonce(list: &mut VecDeque<(String, Arc<str>)>, nonce: &str) -> Option<Arc<str>> {
    let place = list.iter().position(|(known, _)| known == nonce)?;
    list.remove(place).map(|(_, by)| by)
}

fn original<'a>(aliases: &'a VecDeque<(String, String)>, text: &'a str) -> &'a str {
    let alias = aliases.iter().rev().find(|(told, _)| told == text);
    alias.map_or(text, |(_, original)| original)
}

impl Track {
    /// Returns the memory of the texts and the newest request, in bytes.
    pub(super) fn memory(&self) -> usize {
        let nonces: usize = self.nonces.iter().chain(&self.answered).map(String::len).sum();
        let aliases = self.nonce_aliases.iter().chain(&self.version_aliases);
        let aliases: usize = aliases.map(|(told, original)| told.len() + original.len()).sum();
        nonces + aliases + self.last_request.as_ref().map_or(0, WireContents::memory)
    }

    /// Notes a push that has arrived. Returns its number.
    pub(super) fn pushed(&mut self, response: &WireContents) -> u64 {
        self.pushes += 1;
        remember(&mut self.nonces, response.nonce.clone());
        self.pushes
    }

    /// Notes a request that has arrived. Returns its kind.
    pub(super) fn requested(&mut self, request: &WireContents) -> MessageKind {
        let before = self.names.replace(request.names().to_vec());
        if request.is_nack() {
            MessageKind::Nack
        } else if self.pushes > 0 && !request.nonce.is_empty() && !self.is_answered(&request.nonce) {
            MessageKind::Ack
        } else {
            request.kind_of_names(before.as_deref())
        }
    }

    /// Notes a push that the client never sees.
    pub(super) fn withhold(&mut self, number: u64, response: &WireContents, by: &Arc<str>) {
        if self.withheld.as_ref().is_none_or(|other| other.number < number) {
            self.withheld = Some(Withheld { number, nonce: response.nonce.clone(), by: by.clone() });
        }
    }

    /// Notes a push that was sent to the client.
    pub(super) fn delivered(&mut self, number: u64) {
        self.withheld.take_if(|withheld| withheld.number < number);
    }

    /// Whether the client has requested nothing yet.
    pub(super) fn is_first_request(&self) -> bool {
        self.last_request.is_none()
    }

    /// Returns the names of the newest request that was sent.
    pub(super) fn sent_names(&self) -> &[Arc<str>] {
        self.last_request.as_ref().map_or(&[], WireContents::names)
    }

    /// Whether the newest request that was sent has a name.
    pub(super) fn has_sent(&self, name: &Arc<str>) -> bool {
        self.sent_names().contains(name)
    }

    /// Notes resources of the client that the server has never sent, so that it cannot remove them.
    pub(super) fn remember_foreign(&mut self, names: BTreeSet<Arc<str>>, by: &Arc<str>) {
        self.foreign = (!names.is_empty()).then(|| (names, by.clone()));
    }

    /// Returns a push that also removes the resources that the server has never sent.
    pub(super) fn take_foreign(&mut self, response: &WireContents) -> Option<(bytes::Bytes, Arc<str>)> {
        let (mut names, by) = self.foreign.take()?;
        response.all_names().for_each(|name| _ = names.remove(name));
        if names.is_empty() { None } else { Some((response.with_removed(&names)?, by)) }
    }

    /// Notes that the client was told other texts than the server sent.
    pub(super) fn told(&mut self, sent: &WireContents, original: &WireContents) {
        if sent.nonce != original.nonce {
            remember(&mut self.nonce_aliases, (sent.nonce.clone(), original.nonce.clone()));
        }
        if sent.version != original.version {
            remember(&mut self.version_aliases, (sent.version.clone(), original.version.clone()));
        }
    }

    pub(super) fn repeat(&mut self, response: &WireContents, by: &Arc<str>) {
        remember(&mut self.repeated, (response.nonce.clone(), by.clone()));
    }

    /// Notes a copy of a push that the client gets under another nonce.
    pub(super) fn copied(
        &mut self,
        copy: &WireContents,
        response: &WireContents,
        by: &Arc<str>,
        is_before: bool,
    ) {
        self.told(copy, response);
        remember(&mut self.copies, CopiedPush { nonce: copy.nonce.clone(), by: by.clone(), is_before });
    }

    /// Returns the fault because of which an answer to a copy is left out.
    ///
    /// A client may answer only the last of two pushes: then that answer is the one to the push.
    fn answers_copy(&mut self, request: &WireContents) -> Option<Arc<str>> {
        let place = self.copies.iter().position(|copy| copy.nonce == request.nonce)?;
        let CopiedPush { nonce, by, is_before } = self.copies.remove(place)?;
        let is_second = is_before || self.is_answered(original(&self.nonce_aliases, &nonce));
        (is_second && !request.changes_subscription(self.last_request.as_ref())).then_some(by)
    }

    pub(super) fn drop_answer(&mut self, response: &WireContents, by: &Arc<str>) {
        remember(&mut self.dropped_answers, (response.nonce.clone(), by.clone()));
    }

    pub(super) fn make_answer_stale(&mut self, response: &WireContents, by: &Arc<str>) {
        remember(&mut self.stale_answers, (response.nonce.clone(), by.clone()));
    }

    fn is_answered(&self, nonce: &str) -> bool {
        self.answered.iter().any(|answered| answered == nonce)
    }

    /// Returns a NACK of a push in the name of the client; `None` before its first request.
    pub(super) fn nack(&self, response: &WireContents, text: &str) -> Option<bytes::Bytes> {
        let mut last = self.last_request.clone()?;
        let version = original(&self.version_aliases, &last.version);
        if version != last.version {
            last.bytes = last.with(DiscoveryField::Version, version);
        }
        Some(last.into_nack(&response.nonce, text))
    }

    /// Returns the nonce before this one.
    pub(super) fn nonce_before(&self, nonce: &str) -> Option<&str> {
        let place = self.nonces.iter().rposition(|known| known == nonce)?;
        self.nonces.get(place.checked_sub(1)?).map(String::as_str)
    }

    /// Decides about a request that is to be sent.
    pub(super) fn request(&mut self, request: &WireContents) -> RequestFate {
        if let Some(by) = self.answers_copy(request) {
            return RequestFate::Dropped(by);
        }
        let nonce = original(&self.nonce_aliases, &request.nonce).to_owned();
        let is_first_answer = !nonce.is_empty() && !self.is_answered(&nonce);
        let is_same = self.last_request.as_ref().is_some_and(|last| last.says_what(request));
        if is_first_answer {
            remember(&mut self.answered, nonce.clone());
            if let Some(by) = take_by_nonce(&mut self.dropped_answers, &nonce) {
                return RequestFate::Dropped(by);
            }
        } else if is_same && let Some(by) = take_by_nonce(&mut self.repeated, &nonce) {
            return RequestFate::Dropped(by);
        }
        self.last_request = Some(request.clone());
        let version = original(&self.version_aliases, &request.version);
        let mut out = request.clone();
        if version != request.version {
            out.bytes = out.with(DiscoveryField::Version, version);
        }
        if is_first_answer && let Some(by) = take_by_nonce(&mut self.stale_answers, &nonce) {
            let Some(before) = self.nonce_before(&nonce) else { return RequestFate::Unchanged };
            return RequestFate::Restated(out.with(DiscoveryField::Nonce, before), by);
        }
        if let Some(Withheld { nonce: withheld, by, .. }) = &self.withheld
            && !request.is_delta()
            && !nonce.is_empty()
            && nonce != *withheld
        {
            // The server ignores requests with an older nonce than the one it sent last.
            return RequestFate::Restated(out.with(DiscoveryField::Nonce, withheld), by.clone());
        }
        if nonce != request.nonce || out.bytes != request.bytes {
            let bytes =
                if nonce == request.nonce { out.bytes } else { out.with(DiscoveryField::Nonce, &nonce) };
            return RequestFate::Translated(bytes);
        }
        RequestFate::Unchanged
    }
}
