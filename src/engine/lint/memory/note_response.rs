//! Memory of a response, updated after all rules have checked the response.

use super::track::{MAX_NAMES, MAX_PUSHES, MAX_RESPONSES, SentResponse};
use crate::lint::alarm::Alarm;
use crate::lint::context::RuleContext;
use crate::lint::exchange::ResponseContext;
use crate::session::key;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Sym;

impl RuleContext<'_> {
    /// Remembers a response for the messages that follow.
    pub(crate) fn note_response(&mut self, response: &ResponseContext<'_>) {
        let Some(seq) = self.seq else { return };
        self.note_echo(response);
        let (catalog, track, outcome) = (self.catalog(), response.track, response.outcome);
        let sent = SentResponse {
            seq,
            list: response.view.resources.clone(),
            version: response.view.version.clone(),
            duplicates: outcome.duplicates.clone(),
            has_changes: !outcome.changed.is_empty(),
        };
        let state = &mut *self.state;
        // A track forgets responses when those of all tracks are many.
        let oldest = track.responses.oldest().map_or(seq, |oldest| oldest.seq);
        while state.responses.pending.len() == MAX_RESPONSES
            || state.responses.pending.front().is_some_and(|sent| sent.seq < oldest)
        {
            state.responses.pending.pop_front();
        }
        state.responses.pending.push_back(sent.clone());
        state.responses.newest = Some(sent);
        (state.requests.has_new_names, state.requests.has_changed_names) = (false, false);
        state.requests.has_resubscribed = false;
        (state.requests.requests_since_response, state.requests.stale_requests_since_response) = (0, 0);
        if response.is_full_state() && !response.is_heartbeat() {
            let content = |name: &Sym| track.sent.get(catalog, *name).and_then(|entry| entry.blob);
            let left_out = outcome.removed.iter().take(MAX_NAMES);
            state.responses.left_out = left_out.filter_map(|name| Some((*name, content(name)?))).collect();
        }
        let names = response.scan.structured.iter().map(|id| catalog.entry(*id).name);
        state.note_spellings(catalog, names.chain(response.view.removed.iter().copied()));
        self.note_entries(response);
        self.note_push(response);
        let deadline = |id: &BlobId| track.ttl.deadlines.get(key(catalog, *id)).copied();
        if let Some(first) = response.scan.ttl.iter().filter_map(deadline).min() {
            self.arm(Alarm::Ttl, first);
        }
        self.note_contents(response);
        self.note_targets(response);
        self.note_deliveries(response);
        self.note_references(response);
        if self.is_grpc() {
            self.arm(Alarm::Unanswered, self.at.after(self.options.timers.ack));
        }
    }

    /// Remembers TTLs and aliases.
    fn note_entries(&mut self, response: &ResponseContext<'_>) {
        let catalog = self.catalog();
        let state = &mut *self.state;
        if !state.ttl.ttl_versions.is_empty() {
            for id in response.view.resources.blobs() {
                let entry = catalog.entry(*id);
                if entry.ttl.is_none() {
                    state.ttl.ttl_versions.remove(&key(catalog, *id));
                }
            }
        }
        for id in &response.scan.ttl {
            let entry = catalog.entry(*id);
            if entry.payload.is_some() && state.ttl.ttl_versions.len() < MAX_NAMES {
                state.ttl.ttl_versions.insert(key(catalog, *id), entry.version);
            }
        }
        for id in &response.scan.aliased {
            let entry = catalog.entry(*id);
            for alias in entry.aliases {
                if state.references.aliases.len() < MAX_NAMES {
                    state.references.aliases.insert(*alias, key(catalog, *id));
                }
            }
        }
    }

    /// Remembers how much of a SotW push was unchanged.
    fn note_push(&mut self, response: &ResponseContext<'_>) {
        let Some(push) = response.repeated_bytes() else { return };
        let pushes = &mut self.state.responses.pushes;
        // The newest push is judged with those that are remembered.
        if pushes.len() + 1 == MAX_PUSHES {
            pushes.pop_front();
        }
        pushes.push_back(push);
    }
}
