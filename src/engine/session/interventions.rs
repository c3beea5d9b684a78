//! Interventions of xdscope in a stream, and whether both sides agree again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Outcome;
use super::divergence::{Divergence, SettlingMessage};
use super::outcome::SessionEvent;
use super::stream::Stream;
use super::track::Track;
use crate::wire::content::Catalog;
use crate::wire::event::{Dir, Seq, Side, Sym, Time};
use crate::wire::{End, Interference, Intervention, InterventionFacts, Message, MessageShape};

/// Interventions of a stream that are kept.
const MAX_INTERVENTIONS: usize = 4096;

impl Track {
    /// Ends the divergence once both sides agree again.
    fn note_agreement(&mut self, outcome: &Outcome, message: &Message, catalog: &Catalog) {
        let Some(diverged) = &mut self.diverged else { return };
        let names: Vec<Sym> = match &outcome.what {
            _ if !diverged.has_lost() => Vec::new(),
            SessionEvent::Response(_) if diverged.awaits_altered_push() => Vec::new(),
            SessionEvent::Response(_) => names_of(message, catalog),
            SessionEvent::Request(request) => request.removed.clone(),
            _ => return,
        };
        names.into_iter().for_each(|name| diverged.restore(catalog.text(name)));
        let (kind, answers) = match &outcome.what {
            SessionEvent::Response(response) => (response.kind, None),
            SessionEvent::Request(request) => (request.kind, request.answers),
            _ => return,
        };
        let nonce = message.response().map_or("", |response| response.nonce.as_str());
        let message = SettlingMessage { kind, nonce, n: outcome.seq, answers };
        self.diverged.take_if(|diverged| diverged.settles_with(&message));
    }
}

impl Stream {
    /// Assigns a push that has no type, or one that the client has never requested, to the push
    /// that xdscope has changed last, if that is still to come.
    fn claim_altered_push(&mut self, outcome: &mut Outcome) {
        let stated = outcome.track.and_then(|track| self.tracks.get(track));
        if self.interventions.is_empty() || stated.is_some_and(|track| track.traffic.requests > 0) {
            return;
        }
        let awaits = |track: &Track| track.diverged.as_ref().is_some_and(Divergence::awaits_changed_push);
        let Some(changed) = self.tracks.iter().position(awaits) else { return };
        let divergence = self.tracks.get_mut(changed).and_then(|track| track.diverged.as_mut());
        let divergence = divergence.map(|divergence| divergence.claim(outcome.seq));
        match outcome.track.and_then(|track| self.tracks.get_mut(track)) {
            Some(stated) => stated.diverged = divergence,
            None => outcome.track = Some(changed),
        }
    }

    /// Notes what a message means for the interventions of the stream.
    pub(super) fn note_message(&mut self, outcome: &mut Outcome, message: &Message, catalog: &Catalog) {
        if message.dir() == Dir::Resp {
            self.claim_altered_push(outcome);
        }
        if let Some(track) = outcome.track.and_then(|track| self.tracks.get_mut(track)) {
            track.note_agreement(outcome, message, catalog);
        }
    }

    /// Returns the intervention that has ended the stream, or because of which a peer has ended it.
    pub(crate) fn ended_by_xdscope(&self) -> Option<&Arc<InterventionFacts>> {
        let (_, end) = self.closed.as_ref()?;
        let is_cause = |of: &&Arc<InterventionFacts>| match of.interference {
            Interference::Ended | Interference::Blackholed => true,
            // The client opens another connection, and leaves this one.
            Interference::GoAway => end.by != Some(Side::Server),
            _ => false,
        };
        self.interventions.iter().rev().find(is_cause)
    }

    /// Notes the end of the stream. The end that a fault has made is not the one of a peer.
    pub(super) fn close(&mut self, end: &End, at: Time) {
        let is_made = |of: &Arc<InterventionFacts>| of.interference == Interference::Ended;
        let mut end = End::clone(end);
        if let Some(made) = self.interventions.last().filter(|of| is_made(of)) {
            end.by = None;
            end.note = Some(format!("by {}", made.by));
        }
        self.closed = Some((at, end));
        self.tracks.iter_mut().for_each(|track| track.ended = Some(at));
    }

    /// Notes an intervention after the message `after`. Returns the index of its track.
    pub(super) fn intercepted(
        &mut self,
        (facts, lost): (&InterventionFacts, BTreeSet<Arc<str>>),
        after: Seq,
        at: Time,
    ) -> Option<usize> {
        let facts = Arc::new(facts.clone());
        if self.interventions.len() < MAX_INTERVENTIONS {
            self.interventions.push(facts.clone());
        }
        let is_of_all = facts.interference == Interference::Blackholed;
        // A correction brings both sides together again, once a push is acknowledged.
        let is_correction = facts.interference == Interference::Corrected;
        for track in &mut self.tracks {
            if !is_correction && (is_of_all || track.type_url == facts.type_url) {
                let what = (facts.clone(), lost.clone());
                track.diverged = Divergence::after(track.diverged.take(), what, after, at);
            }
        }
        self.tracks.iter().position(|track| track.type_url == facts.type_url)
    }
}

/// Returns the names of the resources of a response, and of those that it removes.
fn names_of(message: &Message, catalog: &Catalog) -> Vec<Sym> {
    let Some(response) = message.response() else { return Vec::new() };
    let sent = response.resources.blobs().iter().map(|id| catalog.name(*id));
    sent.chain(response.removed.iter().copied()).collect()
}

/// Returns the delta resources that the client has otherwise than the server sent them, after an
/// intervention whose messages are kept.
pub(super) fn lost_names(catalog: &mut Catalog, what: &Intervention) -> BTreeSet<Arc<str>> {
    let Intervention { facts, original, sent, sent_dir } = what;
    let sent = sent.as_ref().filter(|_| *sent_dir == Dir::Resp);
    let is_known = match facts.interference {
        Interference::Dropped | Interference::Bounced => true,
        Interference::Changed => sent.is_some(),
        _ => false,
    };
    let original = original.as_ref().filter(|_| is_known && facts.is_delta && facts.dir == Dir::Resp);
    let Some(original) = original else { return BTreeSet::new() };
    let mut contents = |bytes: &[u8]| {
        let message = Message::parse(MessageShape::DeltaResponse, bytes, catalog);
        let Some(response) = message.response() else { return BTreeSet::new() };
        let name = |name: Sym| Arc::<str>::from(catalog.text(name));
        let sent = response.resources.blobs().iter().map(|id| (name(catalog.name(*id)), Some(id.0)));
        sent.chain(response.removed.iter().map(|gone| (name(*gone), None))).collect::<BTreeSet<_>>()
    };
    let (was, is) = (contents(original), sent.map(|sent| contents(sent)).unwrap_or_default());
    was.symmetric_difference(&is).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::session::MessageKind;
    use crate::engine::store::{Options, StateFact, Store};
    use crate::wire::discovery::encode::{RequestFields, ResourceFields, ResponseFields, encode_any};
    use crate::wire::event::{Clock, StreamId};
    use crate::wire::{Frame, FramePayload, Open};

    const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/";

    /// A session of one client with one type, and a message each 10 ms.
    pub(crate) struct Session(pub(crate) Store);

    impl Session {
        pub(crate) fn new() -> Session {
            let mut session = Session::of("StreamAggregatedResources");
            session.request("", "");
            session
        }

        fn of(method: &str) -> Session {
            let clock = Clock { epoch: None, untimed: false };
            let mut session = Session(Store::new(Catalog::in_memory(), clock, Options::default()));
            let method = format!("{ADS}{method}");
            session.handle(FramePayload::Open(Box::new(Open { method, ..Open::default() })));
            session
        }

        pub(crate) fn handle(&mut self, what: FramePayload) {
            let at = self.0.now().after(std::time::Duration::from_millis(10));
            self.0.handle(Frame { at, stream: StreamId(1), what });
        }

        fn message(&mut self, shape: MessageShape, bytes: &[u8]) {
            let message = Message::parse(shape, bytes, self.0.catalog_mut());
            self.handle(FramePayload::Message(Arc::new(message)));
        }

        pub(crate) fn request(&mut self, version_info: &str, response_nonce: &str) {
            let fields =
                RequestFields { version_info, type_url: CDS, response_nonce, ..RequestFields::default() };
            self.message(MessageShape::SotwRequest, &fields.encode(false));
        }

        pub(crate) fn push(&mut self, version: &str, nonce: &str) {
            let fields = ResponseFields { version, type_url: CDS, nonce, ..ResponseFields::default() };
            self.message(MessageShape::SotwResponse, &fields.encode::<&[u8]>(false, []));
        }

        pub(crate) fn intercept(&mut self, interference: Interference, dir: Dir) {
            self.intercept_nonce(interference, dir, "n2");
        }

        fn intercept_nonce(&mut self, interference: Interference, dir: Dir, nonce: &str) {
            let facts = InterventionFacts {
                interference,
                dir,
                is_delta: false,
                type_url: CDS.into(),
                version: "2".into(),
                nonce: nonce.into(),
                by: "fault 1".into(),
            };
            let what = Intervention { facts, original: None, sent: None, sent_dir: dir };
            self.handle(FramePayload::Intercepted(Box::new(what)));
        }

        fn state(&self) -> StateFact {
            self.0.states().remove(0)
        }

        fn is_diverged(&self) -> bool {
            self.state().diverged.is_some()
        }
    }

    #[test]
    fn ends_with_the_ack_of_a_later_push() {
        let mut session = Session::new();
        session.push("1", "n1");
        session.request("1", "n1");
        session.intercept(Interference::Dropped, Dir::Resp);
        assert!(session.is_diverged());
        session.request("1", "n1");
        assert!(session.is_diverged(), "an answer to an earlier push says nothing");
        session.push("3", "n3");
        assert!(session.is_diverged());
        session.request("3", "n3");
        assert!(!session.is_diverged());
    }

    #[test]
    fn postponed_answer_ends_it_when_it_is_sent() {
        let mut session = Session::new();
        session.push("1", "n1");
        session.request("1", "n1");
        session.intercept(Interference::Delayed, Dir::Req);
        session.push("2", "n2");
        session.request("2", "n2");
        assert!(session.is_diverged(), "the later answer waits behind the first");
        session.intercept(Interference::Released, Dir::Req);
        assert!(!session.is_diverged());
        session.intercept(Interference::Dropped, Dir::Resp);
        session.intercept(Interference::Held, Dir::Req);
        session.intercept(Interference::Released, Dir::Req);
        assert!(session.is_diverged(), "a push was dropped too");
    }

    #[test]
    fn earlier_answer_does_not_end_it_while_a_push_is_postponed() {
        let mut session = Session::new();
        session.intercept_nonce(Interference::Delayed, Dir::Resp, "n1");
        session.intercept_nonce(Interference::Delayed, Dir::Resp, "n2");
        session.push("1", "n1");
        session.request("1", "n1");
        assert!(session.is_diverged(), "n2 is still to come");
        session.push("2", "n2");
        session.request("2", "n2");
        assert!(!session.is_diverged());
    }

    #[test]
    fn reordered_pushes_leave_the_client_with_the_older_one() {
        let mut session = Session::new();
        session.intercept_nonce(Interference::Reordered, Dir::Resp, "n1");
        session.push("2", "n2");
        session.request("2", "n2");
        session.push("1", "n1");
        session.request("1", "n1");
        assert!(session.is_diverged());
        session.push("3", "n3");
        session.request("3", "n3");
        assert!(!session.is_diverged());
    }

    #[test]
    fn divergence_says_what_each_side_has() {
        let mut session = Session::new();
        session.intercept(Interference::Changed, Dir::Resp);
        session.push("2", "n2");
        session.request("2", "n2");
        session.intercept_nonce(Interference::Dropped, Dir::Resp, "n3");
        session.intercept_nonce(Interference::Bounced, Dir::Resp, "n4");
        let diverged = session.state().diverged.expect("diverged");
        assert_eq!((diverged.offered.as_deref(), diverged.withheld, diverged.refused), (Some("2"), 2, 1));
        assert_eq!(diverged.runs_changed.as_deref(), Some("2"));
        assert_eq!(
            crate::present::report::diverged(&diverged),
            "diverged: push refused for the client by fault 1, 3 interventions in all; client never got 2 pushes, \
             the newest of version 2; server got 1 NACK from xdscope; client runs version 2 as changed"
        );
        session.push("3", "n5");
        let diverged = session.state().diverged.expect("diverged");
        assert_eq!((diverged.offered, diverged.withheld), (None, 2), "the newest push came through");
    }

    #[test]
    fn correction_is_no_divergence() {
        let mut session = Session::new();
        session.intercept(Interference::Corrected, Dir::Req);
        assert!(!session.is_diverged());
    }

    /// Returns a delta push with resources of these names, each with this text as its content.
    fn delta_push(nonce: &str, resources: &[(&str, &str)]) -> Vec<u8> {
        let entries = resources.iter().map(|(name, text)| {
            let any = encode_any(CDS, text.as_bytes());
            ResourceFields { version: text, payload: Some(&any), name, ..ResourceFields::default() }.encode()
        });
        ResponseFields { type_url: CDS, nonce, ..ResponseFields::default() }.encode(true, entries)
    }

    /// A delta push that xdscope changed or dropped, and a later one of another resource.
    fn delta_session(sent: Option<&[(&str, &str)]>) -> Session {
        let mut session = Session::of("DeltaAggregatedResources");
        let request =
            |nonce| RequestFields { type_url: CDS, response_nonce: nonce, ..RequestFields::default() };
        session.message(MessageShape::DeltaRequest, &request("").encode(true));
        let original = delta_push("n1", &[("a", "1"), ("b", "1")]);
        let sent = sent.map(|sent| delta_push("n1", sent));
        let facts = InterventionFacts {
            interference: if sent.is_some() { Interference::Changed } else { Interference::Dropped },
            dir: Dir::Resp,
            is_delta: true,
            type_url: CDS.into(),
            version: "".into(),
            nonce: "n1".into(),
            by: "fault 1".into(),
        };
        let (original, bytes) = (Some(original.into()), sent.clone().map(Into::into));
        let what = Intervention { facts, original, sent: bytes, sent_dir: Dir::Resp };
        session.handle(FramePayload::Intercepted(Box::new(what)));
        for (nonce, push) in [("n1", sent), ("n2", Some(delta_push("n2", &[("c", "1")])))] {
            if let Some(push) = push {
                session.message(MessageShape::DeltaResponse, &push);
                session.message(MessageShape::DeltaRequest, &request(nonce).encode(true));
            }
        }
        session
    }

    #[test]
    fn delta_resource_is_wrong_until_it_is_sent_again() {
        let sent: [Option<&[(&str, &str)]>; 3] = [None, Some(&[("a", "9"), ("b", "1")]), Some(&[("b", "1")])];
        for sent in sent {
            let mut session = delta_session(sent);
            assert!(session.is_diverged(), "{sent:?}: another resource repairs nothing");
            session.message(MessageShape::DeltaResponse, &delta_push("n3", &[("a", "1"), ("b", "1")]));
            let ack = RequestFields { type_url: CDS, response_nonce: "n3", ..RequestFields::default() };
            session.message(MessageShape::DeltaRequest, &ack.encode(true));
            assert!(!session.is_diverged(), "{sent:?}");
        }
        let same = Some(&[("a", "1"), ("b", "1")][..]);
        assert!(!delta_session(same).is_diverged(), "no resource was changed");
    }

    #[test]
    fn changed_push_is_part_of_the_divergence() {
        let mut session = Session::new();
        session.intercept(Interference::Changed, Dir::Resp);
        session.push("2", "n2");
        session.request("2", "n2");
        assert!(session.is_diverged(), "the client has other content than the server sent");
        session.push("3", "n3");
        session.request("3", "n3");
        assert!(!session.is_diverged());
    }

    #[test]
    fn intervention_is_a_row_without_a_number() {
        let mut session = Session::new();
        session.intercept(Interference::Dropped, Dir::Resp);
        let row = session.0.row(session.0.rows() - 1).expect("a row");
        assert_eq!((row.kind, row.n, &*row.nonce), (MessageKind::Intercepted, None, "n2"));
        assert_eq!(row.type_url.as_str(), CDS);
    }
}
