//! Facts of resources.

use std::sync::Arc;

use crate::session::{OwedAgain, Presence, Refusal, ResourceEntry, Stream, Track, nameless};
use xdscope_wire::event::{StreamId, Sym, Time, TypeUrl, Variant};
use xdscope_wire::xdstp::{is_structured, named};

use super::{
    AbsentBy, InForceFact, OwedAgainFact, RefusalFact, ResourceErrorFact, ResourceFact, ResourceState, Store,
    TtlFact,
};

impl Store {
    /// Returns the resources of a type, then the names that were never sent.
    pub(super) fn resource_facts(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<ResourceFact> {
        let Some(stream) = self.engine.stream(stream) else { return Vec::new() };
        let Some(track) = stream.find(type_url) else { return Vec::new() };
        let entries = track.sent.entries(&self.catalog);
        let mut facts: Vec<_> = entries
            .iter()
            .map(|(name, entry)| self.resource_fact(stream, track, *name, Some(entry)))
            .collect();
        let never_sent = track.names_never_sent(&self.catalog);
        facts.extend(never_sent.map(|name| self.resource_fact(stream, track, name, None)));
        facts
    }

    /// Returns the resource of a name, which may have directives if it is an `xdstp` name
    /// (docs/protocol.md#k-06).
    pub(super) fn resource_named(&self, stream: StreamId, url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        let known = self.resource_on_wire(stream, url, name);
        if known.is_some() || !is_structured(name) {
            return known;
        }
        self.resource_on_wire(stream, url, name.split_once('#')?.0)
    }

    /// Returns the key of a resource: its name, or the hash of content whose name is unknown
    /// (docs/protocol.md#a-18).
    pub(super) fn key_named(&self, track: &Track, text: &str) -> Option<Sym> {
        let known = named(&self.catalog, text);
        if known.is_some() || !text.starts_with('#') {
            return known;
        }
        let is_meant = |key: &Sym| nameless(*key).is_some() && *self.text(*key) == *text;
        track.sent.entries(&self.catalog).into_iter().map(|(key, _)| key).find(is_meant)
    }

    /// Whether a name is an alias that the newest version of a resource has no longer
    /// (docs/protocol.md#f-30).
    fn is_former_alias(&self, requested: Sym, name: Sym, entry: &ResourceEntry) -> bool {
        let requested = self.catalog.first_spelling(requested);
        let Some(blob) = entry.blob else { return false };
        let mut aliases = self.catalog.entry(blob).aliases.iter();
        requested != name
            && entry.is_present()
            && !aliases.any(|alias| self.catalog.first_spelling(*alias) == requested)
    }

    /// Returns the resource of a name as messages spell it, also by an alias.
    fn resource_on_wire(&self, stream: StreamId, url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        let stream = self.engine.stream(stream)?;
        let track = stream.find(url)?;
        let requested = self.key_named(track, name)?;
        let name = track.canonical(&self.catalog, requested);
        let entry = track.sent.get(&self.catalog, name);
        if entry.is_some_and(|entry| self.is_former_alias(requested, name, &entry)) {
            let gone = entry.map(|entry| ResourceEntry { state: Presence::Removed, ..entry });
            let fact = self.resource_fact(stream, track, name, gone.as_ref());
            return Some(ResourceFact {
                name: self.text(requested),
                aliases: Vec::new(),
                version: None,
                acked_version: None,
                in_force: None,
                content: None,
                hash: None,
                size: 0,
                ..fact
            });
        }
        let is_glob = track.subscription.globs.contains(&self.catalog, name);
        if entry.is_none() && !track.is_awaited(name) && !is_glob {
            return None;
        }
        let fact = self.resource_fact(stream, track, name, entry.as_ref());
        let is_answered = is_glob && entry.is_none() && fact.state == ResourceState::Present;
        let is_empty = is_answered && !track.has_members(&self.catalog, name);
        Some(if is_empty { ResourceFact { state: ResourceState::Empty, ..fact } } else { fact })
    }

    /// Returns the indices of the names whose facts `wanted` accepts. The facts have no content
    /// hash.
    pub fn pick(
        &self,
        stream: StreamId,
        url: &TypeUrl,
        names: &[Arc<str>],
        mut wanted: impl FnMut(&ResourceFact) -> bool,
    ) -> Vec<usize> {
        let stream = self.engine.stream(stream);
        let Some((stream, track)) = stream.and_then(|stream| Some((stream, stream.find(url)?))) else {
            return Vec::new();
        };
        let mut picks = |text: &Arc<str>| {
            let name = track.canonical(&self.catalog, self.key_named(track, text)?);
            let entry = track.sent.get(&self.catalog, name);
            let is_glob = track.subscription.globs.contains(&self.catalog, name);
            if entry.is_none() && !track.is_awaited(name) && !is_glob {
                return None;
            }
            Some(wanted(&self.fact_without_hash(stream, track, name, entry.as_ref(), self.now)))
        };
        (0..names.len()).filter(|at| names.get(*at).and_then(&mut picks) == Some(true)).collect()
    }

    /// Returns the fact of a resource with the hash of its content.
    fn resource_fact(
        &self,
        stream: &Stream,
        track: &Track,
        name: Sym,
        entry: Option<&ResourceEntry>,
    ) -> ResourceFact {
        let fact = self.fact_without_hash(stream, track, name, entry, self.now);
        let hash = fact.content.map(|id| format!("{:032x}", self.catalog.blob(id).hash));
        ResourceFact { hash, ..fact }
    }

    /// Returns the fact of a resource at a time. Hashing the content is left out.
    pub(super) fn fact_without_hash(
        &self,
        stream: &Stream,
        track: &Track,
        name: Sym,
        entry: Option<&ResourceEntry>,
        now: Time,
    ) -> ResourceFact {
        let (state, absent_by) = track.resource_state(&self.catalog, name, entry, now, self.limits);
        // The server says why it does not send the resource, and not that it does not exist.
        let (state, absent_by) = match absent_by {
            Some(AbsentBy::Server) if track.is_withheld(name) => (ResourceState::Waiting, None),
            _ => (state, absent_by),
        };
        let in_force = self.used_in_state(track, name, state);
        let in_force = in_force.map(|entry| self.in_force_fact(&entry));
        let sent_blob = entry.and_then(|entry| entry.blob);
        let sent = sent_blob.map(|blob| self.catalog.entry(blob));
        let content = sent.and_then(|sent| sent.payload).or(sent_blob);
        // The server takes the client for one that has the refused content.
        let content = match track.is_kept_although_refused(name, entry) {
            true => in_force.as_ref().and_then(|known| known.content),
            false => content,
        };
        let blob = content.map(|id| self.catalog.blob(id));
        let accepted = track.accepted.get(&self.catalog, name).filter(ResourceEntry::is_present);
        let (refusal, earlier_refusal) = match track.is_refusal_superseded(name, entry) {
            true => (None, self.refusal_fact(stream, track, name).map(Box::new)),
            false => (self.refusal_fact(stream, track, name), None),
        };
        let is_pending =
            entry.is_some_and(|entry| entry.is_present() && track.responses.is_pending(entry.order));
        let version = self.version_of_entry(track, entry, state);
        // A version is accepted as a whole: content that the client has is sent again with the
        // next.
        let is_accepted = match &in_force {
            Some(known) => known.content == content && Some(&known.version) == version.as_ref(),
            None => false,
        };
        let deadline = track.ttl.deadlines.get(name).copied();
        let is_file = stream.variant() == Some(Variant::File);
        let is_down = stream.closed.is_some() && track.lifetime.replaced.is_none() && !is_file;
        ResourceFact {
            stream: stream.id,
            node: stream.peers.node_id.clone(),
            type_url: track.type_url.clone(),
            name: self.text(name),
            aliases: sent.map_or(&[][..], |sent| sent.aliases).iter().map(|a| self.text(*a)).collect(),
            version,
            acked_version: accepted.map(|entry| self.text(entry.version)),
            state,
            is_stream_down: is_down && matches!(state, ResourceState::Present | ResourceState::Kept),
            owed_again: self.owed_again(track, name, entry, now),
            refused: refusal.as_ref().is_some_and(|refusal| refusal.is_named),
            is_unanswered: is_pending && refusal.is_none() && !is_accepted,
            is_removal_unanswered: refusal.as_ref().is_none_or(|refusal| !refusal.is_removal)
                && track.is_removal_unanswered(&self.catalog, name, entry),
            is_unreadable: sent_blob.is_some_and(|id| self.catalog.is_unreadable(id)),
            refusal,
            earlier_refusal,
            in_force,
            absent_by,
            unclassified: track.subscription.unclassified.get(&name).map(|(at, seq)| (*seq, *at)),
            origin: track.origin(&self.catalog, name, entry),
            hash: None,
            size: blob.map_or(0, |blob| u64::from(blob.size)),
            ttl_deadline: deadline,
            ttl_left: deadline.map(|deadline| deadline.since(track.lifetime.ttl_clock(now))),
            ttl: track.ttl.records.get(&name).map(|record| Box::new(TtlFact::from(record))),
            error: track.errors.get(&name).map(|error| {
                let is_present = entry.is_some_and(ResourceEntry::is_present);
                Box::new(ResourceErrorFact::new(self.text(name), error, !is_present))
            }),
            content,
        }
    }

    /// Returns the version of a sent resource, or the one that the client claims for a resource
    /// from a stream that is not recorded.
    fn version_of_entry(
        &self,
        track: &Track,
        entry: Option<&ResourceEntry>,
        state: ResourceState,
    ) -> Option<Arc<str>> {
        match entry {
            Some(entry) => Some(self.text(entry.version)),
            None if state == ResourceState::Kept => {
                track.carried.claimed_version.map(|version| self.text(version))
            }
            None => None,
        }
    }

    /// Returns what the client uses of a resource: version and content.
    fn in_force_fact(&self, entry: &ResourceEntry) -> InForceFact {
        let content = entry.blob.map(|id| self.catalog.entry(id).payload.unwrap_or(id));
        InForceFact { version: self.text(entry.version), content }
    }

    /// Returns the refusal of the newest content of a resource, or of its removal.
    fn refusal_fact(&self, stream: &Stream, track: &Track, name: Sym) -> Option<RefusalFact> {
        let fact = |refusal: Refusal, is_removal: bool| RefusalFact {
            nack: refusal.nack,
            push: refusal.response,
            is_named: refusal.is_named,
            is_removal,
            rest: refusal.rest,
            knows_in_force: stream.knows_in_force(track),
            is_guess: track.nack(refusal.nack).is_some_and(|nack| nack.may_refuse.is_some()),
            version: self.text(refusal.version),
            content: refusal.blob.map(|id| self.catalog.entry(id).payload.unwrap_or(id)),
        };
        let removal = track.refused.removal(name).map(|refusal| fact(refusal, true));
        let content =
            || track.refused.get(name).or(track.refused_before(name).map(|earlier| earlier.refusal));
        removal.or_else(|| content().map(|refusal| fact(refusal, false)))
    }

    fn owed_again(
        &self,
        track: &Track,
        name: Sym,
        entry: Option<&ResourceEntry>,
        now: Time,
    ) -> Option<OwedAgainFact> {
        let OwedAgain { is_newer, is_removal, since } = track.owed_again(name, entry)?;
        let ended = track.lifetime.clock(now);
        let is_late = self.limits.is_late(since, ended);
        Some(OwedAgainFact { is_newer, is_removal, since, is_late })
    }
}
