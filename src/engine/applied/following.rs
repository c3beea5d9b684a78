//! A source whose dump is read again and again: what each dump changes, as the next messages of the
//! sessions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{RequestFields, ResponseFields};
use xdscope_wire::event::{StreamId, Time, TypeUrl};
use xdscope_wire::{End, Frame, FramePayload};

use super::dump::{Dump, DumpClient, DumpContent, DumpEntry};
use super::session::{SessionWriter, response};

/// Turns dumps of one source into sessions that go on.
#[derive(Debug, Default)]
pub struct DumpFollower {
    /// The clients of the last dump.
    clients: Vec<FollowedClient>,
    last_stream: u32,
}

/// A client with an open stream.
#[derive(Debug)]
struct FollowedClient {
    stream: StreamId,
    /// The client in the last dump.
    last: DumpClient,
    /// Responses with resources that warm.
    pending: Vec<PendingPush>,
    last_nonce: u64,
}

/// A response without a verdict.
#[derive(Debug)]
struct PendingPush {
    type_url: TypeUrl,
    nonce: String,
    contents: Vec<(Arc<str>, DumpContent)>,
}

impl DumpFollower {
    /// Returns the frames of what a dump changes. `name` is that of the source.
    pub fn follow(&mut self, dump: Dump, name: &str, at: Time, catalog: &mut Catalog) -> Vec<Frame> {
        let mut out = Vec::new();
        let mut clients = Vec::new();
        for (index, client) in dump.clients.into_iter().enumerate() {
            // A dump without ids is of one client.
            let has_name = client.id.is_some() || index == 0;
            let known = self.clients.iter().position(|known| has_name && known.last.id == client.id);
            match known {
                Some(known) => {
                    let mut known = self.clients.remove(known);
                    let session = SessionWriter { stream: known.stream, at, catalog, out: &mut out };
                    known.change(client, session);
                    clients.push(known);
                }
                None => {
                    self.last_stream += 1;
                    let stream = StreamId(self.last_stream);
                    let mut session = SessionWriter { stream, at, catalog, out: &mut out };
                    session.of_client(dump.origin, name, &client);
                    session.statuses(&client, None);
                    clients.push(FollowedClient::new(stream, client));
                }
            }
        }
        out.extend(self.end(at, "the source has this client no longer"));
        self.clients = clients;
        out
    }

    /// Ends the streams of all clients. The next dump begins new ones.
    pub fn end(&mut self, at: Time, note: &str) -> Vec<Frame> {
        let end = || End { note: Some(note.to_owned()), ..End::default() };
        let ended = self.clients.drain(..);
        ended
            .map(|client| Frame { at, stream: client.stream, what: FramePayload::End(end().into()) })
            .collect()
    }
}

impl FollowedClient {
    fn new(stream: StreamId, client: DumpClient) -> FollowedClient {
        let mut pending: Vec<PendingPush> = Vec::new();
        for (type_url, _) in &client.types {
            let contents = warming_of(&client.entries_of(type_url));
            if !contents.is_empty() {
                pending.push(PendingPush { type_url: type_url.clone(), nonce: "warming".into(), contents });
            }
        }
        FollowedClient { stream, last: client, pending, last_nonce: 0 }
    }

    fn nonce(&mut self, word: &str) -> String {
        self.last_nonce += 1;
        format!("{word}+{}", self.last_nonce)
    }

    /// Adds the messages that lead from the last dump to `new`.
    fn change(&mut self, new: DumpClient, mut session: SessionWriter<'_>) {
        let old = std::mem::take(&mut self.last);
        let mut urls: Vec<&TypeUrl> = new.types.iter().map(|(url, _)| url).collect();
        let gone = old.types.iter().map(|(url, _)| url);
        urls.extend(gone.filter(|url| !new.types.iter().any(|(known, _)| known == *url)));
        for url in urls {
            let version = new.types.iter().find(|(known, _)| known == url);
            let version = version.and_then(|(_, version)| version.as_deref()).unwrap_or_default();
            let change = TypeChange { url, version, old: old.entries_of(url), new: new.entries_of(url) };
            self.change_type(&change, &mut session);
        }
        for status in &new.statuses {
            let before = old.statuses.iter().find(|before| before.type_url == status.type_url);
            let at = session.at;
            session.status_of(status, before, None, at);
        }
        self.last = new;
    }

    fn change_type(&mut self, change: &TypeChange<'_>, session: &mut SessionWriter<'_>) {
        let TypeChange { url, version, old, new } = change;
        let url = url.as_str();
        let before: HashMap<&str, &DumpEntry> = old.iter().map(|entry| (&*entry.name, *entry)).collect();
        let names: HashSet<&str> = new.iter().map(|entry| &*entry.name).collect();
        let was = |entry: &DumpEntry| before.get(&*entry.name).copied();
        let added: Vec<&str> =
            new.iter().filter(|entry| was(entry).is_none()).map(|entry| &*entry.name).collect();
        if !added.is_empty() {
            session.request(RequestFields { type_url: url, names: added, ..RequestFields::default() });
        }
        let settled = self.settle(change, session);
        let active = new.iter().filter_map(|entry| Some((*entry, entry.active.as_ref()?)));
        let active: Vec<_> = active
            .filter(|(entry, content)| {
                was(entry).and_then(|entry| entry.active.as_ref()) != Some(*content)
                    && !settled.contains(&entry.name)
            })
            .collect();
        if !active.is_empty() {
            let nonce = self.nonce("applied");
            session.push(url, version, &nonce, &active);
            session.verdict(url, &nonce, None);
        }
        let failing: Vec<&DumpEntry> = new
            .iter()
            .copied()
            .filter(|entry| entry.error.is_some() && was(entry).is_none_or(|was| was.error != entry.error))
            .collect();
        if !failing.is_empty() {
            let nonce = self.nonce("errors");
            session.errors(url, version, &nonce, &failing);
        }
        for entry in new {
            if let Some(refused) = &entry.refused
                && was(entry).is_none_or(|was| was.refused != entry.refused)
            {
                let nonce = self.nonce("refused");
                session.refusal(url, &nonce, entry, refused);
            }
        }
        let gone: Vec<&str> =
            old.iter().map(|entry| &*entry.name).filter(|name| !names.contains(name)).collect();
        if !gone.is_empty() {
            let nonce = self.nonce("removed");
            session.send(ResponseFields { removed: gone.clone(), ..response(url, version, &nonce) }, []);
            session.verdict(url, &nonce, None);
            session.request(RequestFields { type_url: url, unsubscribe: gone, ..RequestFields::default() });
        }
        self.warm(change, session);
    }

    /// Acknowledges the responses of a type of which nothing warms any more. Returns the names that
    /// are in use as these responses have them.
    fn settle(&mut self, change: &TypeChange<'_>, session: &mut SessionWriter<'_>) -> HashSet<Arc<str>> {
        let still = warming_of(&change.new);
        let mut settled = HashSet::new();
        self.pending.retain(|push| {
            if push.type_url != *change.url || push.contents.iter().any(|content| still.contains(content)) {
                return true;
            }
            session.verdict(push.type_url.as_str(), &push.nonce, None);
            for (name, content) in &push.contents {
                let is_used =
                    |entry: &&DumpEntry| entry.name == *name && entry.active.as_ref() == Some(content);
                if change.new.iter().any(is_used) {
                    settled.insert(name.clone());
                }
            }
            false
        });
        settled
    }

    /// Sends what has begun to warm.
    fn warm(&mut self, change: &TypeChange<'_>, session: &mut SessionWriter<'_>) {
        let known = |found: &(Arc<str>, DumpContent)| {
            let mut of_type = self.pending.iter().filter(|push| push.type_url == *change.url);
            of_type.any(|push| push.contents.contains(found))
        };
        let mut contents = warming_of(&change.new);
        contents.retain(|found| !known(found));
        if contents.is_empty() {
            return;
        }
        let nonce = self.nonce("warming");
        let is_new = |entry: &&DumpEntry| contents.iter().any(|(name, _)| *name == entry.name);
        let entries = change.new.iter().copied().filter(is_new);
        let pushed: Vec<_> = entries.filter_map(|entry| Some((entry, entry.warming.as_ref()?))).collect();
        session.push(change.url.as_str(), change.version, &nonce, &pushed);
        self.pending.push(PendingPush { type_url: change.url.clone(), nonce, contents });
    }
}

/// A type of a client, before and after.
struct TypeChange<'a> {
    url: &'a TypeUrl,
    /// Version of the type now.
    version: &'a str,
    old: Vec<&'a DumpEntry>,
    new: Vec<&'a DumpEntry>,
}

fn warming_of(entries: &[&DumpEntry]) -> Vec<(Arc<str>, DumpContent)> {
    let warming = entries.iter().filter_map(|entry| Some((entry.name.clone(), entry.warming.clone()?)));
    warming.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::applied::read;
    use crate::store::{Options, ResourceState, Store};
    use xdscope_schema::Schema;
    use xdscope_wire::event::Clock;

    const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

    fn cluster(name: &str, version: u32) -> Value {
        let body = json!({ "@type": CLUSTER, "name": name, "connect_timeout": format!("{version}s") });
        json!({ "version_info": version.to_string(), "cluster": body })
    }

    fn dump(active: &[Value], warming: &[Value]) -> Dump {
        let section = json!({
            "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
            "version_info": "1",
            "dynamic_active_clusters": active,
            "dynamic_warming_clusters": warming,
        });
        let text = json!({ "configs": [section] }).to_string();
        read("dump.json", text.as_bytes(), &Schema::builtin()).expect("a dump")
    }

    /// Returns the store after these dumps, and the number of frames of each.
    fn followed(dumps: &[Dump]) -> (Store, Vec<usize>) {
        let (mut follower, mut catalog) = (DumpFollower::default(), Catalog::in_memory());
        let mut frames = Vec::new();
        let mut counts = Vec::new();
        for (dump, seconds) in dumps.iter().zip(1..) {
            let at = Time(seconds * 1_000_000_000);
            let new = follower.follow(dump.clone(), "envoy:a:1", at, &mut catalog);
            counts.push(new.len());
            frames.extend(new);
        }
        let mut store = Store::new(catalog, Clock::default(), Options::default());
        frames.into_iter().for_each(|frame| store.handle(frame));
        (store, counts)
    }

    /// Returns the resources that the client of a store has, and those that warm.
    fn facts(store: &Store) -> Vec<String> {
        let states = store.states();
        let all =
            states.iter().flat_map(|state| store.resources(state.summary.stream, &state.summary.type_url));
        let known = all.filter(|fact| fact.version.is_some() && fact.state == ResourceState::Present);
        let mut facts: Vec<String> = known
            .map(|fact| {
                let in_force = fact.in_force.map(|in_force| in_force.version);
                format!("{} {:?} in force {in_force:?}", fact.name, fact.version)
            })
            .collect();
        facts.extend(store.warming().iter().map(|fact| format!("{} warms", fact.name)));
        facts.extend(states.iter().map(|state| format!("{:?}", state.summary.state)));
        facts
    }

    #[test]
    fn each_dump_leads_to_its_own_state() {
        let warming = [cluster("b", 2)];
        let dumps = [
            dump(&[cluster("a", 1), cluster("b", 1)], &[]),
            dump(&[cluster("a", 1), cluster("b", 1)], &[]),
            dump(&[cluster("a", 2), cluster("b", 1)], &[]),
            dump(&[cluster("a", 2), cluster("b", 1)], &warming),
            dump(&[cluster("a", 2), cluster("b", 1), cluster("c", 1)], &warming),
            dump(&[cluster("a", 2), cluster("b", 2), cluster("c", 1)], &[]),
            dump(&[cluster("b", 2), cluster("c", 1)], &[]),
        ];
        for count in 1..=dumps.len() {
            let (store, _) = followed(&dumps[..count]);
            let (alone, _) = followed(&dumps[count - 1..count]);
            assert_eq!(facts(&store), facts(&alone), "after {count} dumps");
        }
        let (_, counts) = followed(&dumps);
        // Nothing; a push and its ACK; a push; a subscription, a push and its ACK; the ACK of what
        // has warmed; a removal, its ACK, and the end of the subscription.
        assert_eq!(counts[1..], [0, 2, 1, 3, 1, 3]);
    }

    #[test]
    fn streams_end_with_the_source() {
        let (mut follower, mut catalog) = (DumpFollower::default(), Catalog::in_memory());
        let one = dump(&[cluster("a", 1)], &[]);
        follower.follow(one.clone(), "envoy:a:1", Time(1), &mut catalog);
        let ended = follower.end(Time(2), "refused");
        assert!(matches!(&ended[..], [Frame { stream: StreamId(1), what: FramePayload::End(_), .. }]));
        let again = follower.follow(one, "envoy:a:1", Time(3), &mut catalog);
        assert!(matches!(again[0], Frame { stream: StreamId(2), what: FramePayload::Open(_), .. }));
    }
}
