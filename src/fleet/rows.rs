//! Facts to rows. Each word is the one that `log`, `status` and `lint` print for the fact.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint::Finding;
use xdscope_engine::made::{owners_of_finding, owners_of_problem};
use xdscope_engine::nack;
use xdscope_engine::owners::owners_of_content;
use xdscope_engine::problems::{self, ProblemFact};
use xdscope_engine::store::{
    MessageFact, MessageKind, OfferVerdict, RowNote, StateFact, Store, StreamFact, TypeState,
};
use xdscope_present::json::type_word;
use xdscope_present::{bodies, report};
use xdscope_schema::owners::{Owner, OwnerSource};
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Clock, Dir, Seq, StreamId, Time, TypeUrl};

use crate::batch::{BatchError, BatchFiles, BatchId, FinishedBatch};
use crate::columns::{ContentHash, Moment, RowKey};
use crate::tables::{
    ContentRow, FindingRow, GapRow, MessageRow, ProblemRow, ResourceRow, StreamRow, VerdictRow,
};

/// Contents that are remembered as written; beyond, a content may be written twice.
const MAX_KNOWN_CONTENTS: usize = 1 << 18;

/// The batch of a session file, while the file is read.
pub struct Batch {
    files: BatchFiles,
    schema: Arc<Schema>,
    key: RowKey,
    /// Nanoseconds from 1970 to the zero of the session's clock.
    epoch: i128,
    types: HashMap<TypeUrl, Arc<str>>,
    contents: HashMap<u128, KnownContent>,
    /// Responses whose verdict was not known when their rows were written.
    pending: Vec<Seq>,
    /// The first moment with a row.
    first: Option<Moment>,
}

/// A content that was seen in the batch.
struct KnownContent {
    /// The day of the newest row in `contents`, in days since 1970.
    day: i64,
    owner: Option<(Arc<str>, bool)>,
}

impl Batch {
    /// Begins the batch `id` in a folder. `clock` is that of the session.
    ///
    /// # Errors
    /// The session has no dates, or the folder cannot be written.
    pub fn create(
        folder: &Path,
        id: &BatchId,
        clock: Clock,
        schema: &Arc<Schema>,
    ) -> Result<Batch, BatchError> {
        let epoch = clock.epoch.filter(|_| !clock.untimed).ok_or(BatchError::Undated)?;
        let key = RowKey {
            batch: id.to_string().into(),
            tap: id.tap().clone(),
            run: id.run().clone(),
            at: Moment::default(),
        };
        Ok(Batch {
            files: BatchFiles::create(folder, id)?,
            schema: schema.clone(),
            key,
            epoch,
            types: HashMap::new(),
            contents: HashMap::new(),
            pending: Vec::new(),
            first: None,
        })
    }

    fn moment(&self, at: Time) -> Moment {
        Moment(i64::try_from(self.epoch.saturating_add(i128::from(at.0))).unwrap_or(i64::MAX))
    }

    fn key(&mut self, at: Time) -> RowKey {
        let at = self.moment(at);
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        RowKey { at, ..self.key.clone() }
    }

    /// Returns the word of a type; `None` without a type.
    fn type_word(&mut self, type_url: &TypeUrl) -> Option<Arc<str>> {
        if type_url.is_empty() {
            return None;
        }
        if let Some(word) = self.types.get(type_url) {
            return Some(word.clone());
        }
        let word: Arc<str> = type_word(type_url).into();
        self.types.insert(type_url.clone(), word.clone());
        Some(word)
    }

    /// Adds rows of the timeline. Ranges follow each other, as [`Store::row`] counts.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn put_rows(&mut self, store: &Store, rows: Range<usize>) -> Result<(), BatchError> {
        self.put_settled(store)?;
        let mut streams = HashMap::new();
        for fact in rows.filter_map(|row| store.row(row)) {
            let stream = streams.entry(fact.stream).or_insert_with(|| store.stream(fact.stream));
            if let Some(RowNote::Gap(part)) = fact.note.as_deref() {
                let row = GapRow {
                    key: self.key(fact.at),
                    stream: fact.stream.0.into(),
                    node: fact.node.clone(),
                    dir: fact.dir.map(Dir::word),
                    r#type: self.type_word(&fact.type_url),
                    cause: part.cause.word(),
                    messages: part.messages,
                    bytes: part.bytes,
                };
                self.files.put(row)?;
            }
            if let Some(n) = fact.n {
                self.put_message(store, &fact, n, stream.as_ref())?;
            }
        }
        Ok(())
    }

    fn put_message(
        &mut self,
        store: &Store,
        fact: &MessageFact,
        n: Seq,
        stream: Option<&StreamFact>,
    ) -> Result<(), BatchError> {
        let of_stream = || stream.and_then(|stream| stream.control_plane.clone());
        let control_plane = fact.details.control_plane.clone().or_else(of_stream);
        let line = fact.line();
        let row = MessageRow {
            key: self.key(fact.at),
            seq: n.0,
            stream: fact.stream.0.into(),
            node: fact.node.clone(),
            peer: stream.and_then(|stream| stream.peer.as_deref()).map(Arc::from),
            control_plane: control_plane.clone(),
            variant: stream.and_then(|stream| stream.variant).map(|variant| variant.word()),
            dir: fact.dir.map(Dir::word),
            kind: fact.kind.word(),
            class: fact.class.map(|class| class.word()),
            r#type: self.type_word(&fact.type_url),
            type_url: fact.type_url.as_str().into(),
            version: fact.version.clone(),
            nonce: fact.nonce.clone(),
            answers: fact.answers.map(|n| n.0),
            latency_ns: fact.latency.map(nanoseconds),
            items: fact.count,
            added: line.added,
            changed: line.changed,
            removed: line.removed,
            same: fact.same,
            bytes: fact.size,
            error_code: fact.error.as_ref().map(|(code, _)| code.0.into()),
            error_text: fact.error.as_ref().map(|(_, text)| text.clone()),
            partial: fact.partial,
        };
        self.files.put(row)?;
        if fact.dir == Some(Dir::Resp) {
            self.put_resources(store, fact, n, &control_plane)?;
        } else if fact.kind == MessageKind::Nack {
            self.put_refused(store, fact, n, &control_plane)?;
        }
        match &fact.details.offer {
            Some(offer) if offer.verdict == Some(OfferVerdict::Pending) => self.pending.push(n),
            Some(_) => self.put_verdict(fact, n, control_plane)?,
            None => {}
        }
        Ok(())
    }

    /// Adds the resources of a response.
    fn put_resources(
        &mut self,
        store: &Store,
        fact: &MessageFact,
        n: Seq,
        control_plane: &Option<Arc<str>>,
    ) -> Result<(), BatchError> {
        let row = ResourceRow {
            seq: n.0,
            push: Some(n.0),
            version: fact.version.clone(),
            ..self.resource_row(fact, control_plane)
        };
        let added: HashSet<&str> = fact.added.iter().map(|name| &**name).collect();
        let changed: HashSet<&str> = fact.changed.iter().map(|name| &**name).collect();
        for (name, content) in store.pushed(n).unwrap_or_default() {
            let change = match &*name {
                name if added.contains(name) => "added",
                name if changed.contains(name) => "changed",
                _ => "same",
            };
            let mut row = ResourceRow { change, ..row.clone() };
            row.bytes = Some(store.catalog().blob(content).size.into());
            // A heartbeat has no content.
            if store.catalog().entry(content).payload.is_some() {
                row.hash = Some(ContentHash(store.catalog().blob(content).hash));
                (row.owner, row.owner_guess) = self.put_content(store, &row, &name, content)?.unzip();
            }
            self.files.put(ResourceRow { name, ..row })?;
        }
        for name in &fact.removed {
            self.files.put(ResourceRow { name: name.clone(), change: "removed", ..row.clone() })?;
        }
        Ok(())
    }

    /// Adds the resources that a NACK names; one row without a name if the NACK names none.
    fn put_refused(
        &mut self,
        store: &Store,
        fact: &MessageFact,
        n: Seq,
        control_plane: &Option<Arc<str>>,
    ) -> Result<(), BatchError> {
        let push = fact.answers.and_then(|n| store.line(store.row_of(n)?));
        let pushed = fact.answers.and_then(|n| store.pushed(n)).unwrap_or_default();
        let row = ResourceRow {
            seq: n.0,
            push: fact.answers.map(|n| n.0),
            version: push.map(|push| push.row.version).unwrap_or_default(),
            change: "refused",
            ..self.resource_row(fact, control_plane)
        };
        let faults = nack::of_message(store, &self.schema, n).unwrap_or_default().entries;
        let mut named = BTreeSet::new();
        for name in faults.into_iter().filter_map(|fault| fault.name) {
            if !named.insert(name.value.clone()) {
                continue;
            }
            let mut row = ResourceRow { name_guess: Some(name.guessed), ..row.clone() };
            // The last entry of a name wins.
            if let Some((_, content)) = pushed.iter().rev().find(|(known, _)| **known == *name.value) {
                let blob = store.catalog().blob(*content);
                (row.hash, row.bytes) = (Some(ContentHash(blob.hash)), Some(blob.size.into()));
                (row.owner, row.owner_guess) = owner_of_content(store, *content).unzip();
            }
            self.files.put(ResourceRow { name: name.value.into(), ..row })?;
        }
        if named.is_empty() {
            self.files.put(row)?;
        }
        Ok(())
    }

    /// Returns the row of a resource in a message, without the resource.
    fn resource_row(&mut self, fact: &MessageFact, control_plane: &Option<Arc<str>>) -> ResourceRow {
        ResourceRow {
            key: self.key(fact.at),
            stream: fact.stream.0.into(),
            node: fact.node.clone(),
            control_plane: control_plane.clone(),
            r#type: self.type_word(&fact.type_url),
            type_url: fact.type_url.as_str().into(),
            ..ResourceRow::default()
        }
    }

    /// Adds a content of a resource, unless the batch has the content on this day.
    ///
    /// Returns the owner, and whether the name alone tells the owner.
    fn put_content(
        &mut self,
        store: &Store,
        row: &ResourceRow,
        name: &Arc<str>,
        content: BlobId,
    ) -> Result<Option<(Arc<str>, bool)>, BatchError> {
        let blob = store.catalog().blob(content);
        let day = crate::batch::day_of(row.key.at);
        let known = self.contents.get(&blob.hash);
        if let Some(known) = known.filter(|known| known.day == day) {
            return Ok(known.owner.clone());
        }
        let owner = match known {
            Some(known) => known.owner.clone(),
            None => owner_of_content(store, content),
        };
        if self.contents.len() >= MAX_KNOWN_CONTENTS {
            self.contents.clear();
        }
        self.contents.insert(blob.hash, KnownContent { day, owner: owner.clone() });
        let json = bodies::payload(store, &self.schema, content, FieldNames::Json);
        self.files.put(ContentRow {
            key: row.key.clone(),
            hash: ContentHash(blob.hash),
            r#type: row.r#type.clone(),
            type_url: row.type_url.clone(),
            name: name.clone(),
            bytes: blob.size.into(),
            redacted: blob.redacted,
            json: json.map(|json| json.to_string()),
        })?;
        Ok(owner)
    }

    /// Adds the verdicts of earlier responses that are known by now.
    fn put_settled(&mut self, store: &Store) -> Result<(), BatchError> {
        for n in std::mem::take(&mut self.pending) {
            let Some(fact) = store.row_of(n).and_then(|row| store.row(row)) else { continue };
            let verdict = fact.details.offer.as_ref().and_then(|offer| offer.verdict);
            if verdict == Some(OfferVerdict::Pending) {
                self.pending.push(n);
            } else {
                self.put_late_verdict(store, &fact, n)?;
            }
        }
        Ok(())
    }

    fn put_late_verdict(&mut self, store: &Store, fact: &MessageFact, n: Seq) -> Result<(), BatchError> {
        let of_stream = || store.stream(fact.stream)?.control_plane;
        let control_plane = fact.details.control_plane.clone().or_else(of_stream);
        self.put_verdict(fact, n, control_plane)
    }

    fn put_verdict(
        &mut self,
        fact: &MessageFact,
        n: Seq,
        control_plane: Option<Arc<str>>,
    ) -> Result<(), BatchError> {
        let Some(offer) = &fact.details.offer else { return Ok(()) };
        let row = VerdictRow {
            key: self.key(fact.at),
            seq: n.0,
            stream: fact.stream.0.into(),
            node: fact.node.clone(),
            control_plane,
            r#type: self.type_word(&fact.type_url),
            type_url: fact.type_url.as_str().into(),
            version: fact.version.clone(),
            nonce: fact.nonce.clone(),
            verdict: offer.verdict.map(OfferVerdict::word),
            answered_by: offer.by.map(|n| n.0),
            latency_ns: offer.latency.map(nanoseconds),
        };
        self.files.put(row)
    }

    /// Adds what is known at the end of the session, and completes the batch.
    ///
    /// # Errors
    /// A file cannot be written, or the folder has the batch with other rows.
    pub fn finish(mut self, analysis: &Analysis) -> Result<FinishedBatch, BatchError> {
        let store = analysis.store();
        self.put_settled(store)?;
        for n in std::mem::take(&mut self.pending) {
            if let Some(fact) = store.row_of(n).and_then(|row| store.row(row)) {
                self.put_late_verdict(store, &fact, n)?;
            }
        }
        self.put_streams(store)?;
        let problems = analysis.problems();
        for problem in &problems {
            self.put_problem(store, problem, analysis.findings())?;
        }
        self.put_findings(store, analysis.findings())?;
        let last = self.moment(store.now());
        self.files.finish((self.first.unwrap_or(last), last))
    }

    fn put_streams(&mut self, store: &Store) -> Result<(), BatchError> {
        let mut states: HashMap<StreamId, Vec<StateFact>> = HashMap::new();
        for state in store.states() {
            states.entry(state.summary.stream).or_default().push(state);
        }
        for stream in store.streams() {
            let row = self.stream_row(&stream);
            let states = states.remove(&stream.stream).unwrap_or_default();
            if states.is_empty() {
                self.files.put(row)?;
                continue;
            }
            for state in states {
                let row = self.with_state(row.clone(), &state);
                self.files.put(row)?;
            }
        }
        Ok(())
    }

    fn stream_row(&mut self, fact: &StreamFact) -> StreamRow {
        let node = fact.node.as_deref();
        let text = |text: &String| Arc::from(text.as_str());
        let [region, zone, _] = node.map(|node| node.locality.each_ref().map(text)).map_or_else(
            || [None, None, None],
            |[region, zone, sub_zone]| [Some(region), Some(zone), Some(sub_zone)],
        );
        StreamRow {
            key: self.key(fact.opened),
            stream: fact.stream.0.into(),
            node: node.map(|node| text(&node.id)),
            cluster: node.map(|node| text(&node.cluster)),
            region,
            zone,
            user_agent: node.map(|node| text(&node.user_agent)),
            user_agent_version: node.map(|node| text(&node.user_agent_version)),
            method: fact.method.clone(),
            variant: fact.variant.map(|variant| variant.word()),
            peer: fact.peer.clone(),
            server: fact.server.clone(),
            control_plane: fact.control_plane.clone(),
            opened: (!fact.partial).then(|| self.moment(fact.opened)),
            closed: fact.closed.map(|at| self.moment(at)),
            end_text: fact.end.as_ref().map(report::end_words).filter(|text| !text.is_empty()),
            end_code: fact.end.as_ref().and_then(|end| end.code).map(|code| code.0.into()),
            reconnect_of: fact.reconnect_of.map(|stream| stream.0.into()),
            messages: fact.messages,
            bytes_in: fact.bytes_in,
            bytes_out: fact.bytes_out,
            gaps: fact.gaps,
            ..StreamRow::default()
        }
    }

    fn with_state(&mut self, row: StreamRow, state: &StateFact) -> StreamRow {
        StreamRow {
            r#type: self.type_word(&state.summary.type_url),
            type_url: Some(state.summary.type_url.as_str().into()),
            state: Some(state.summary.state.word()),
            last_state: state.summary.last_state.map(TypeState::word),
            since: Some(self.moment(state.summary.since)),
            in_force: state.versions.in_force.clone(),
            offered: state.versions.offered.clone(),
            resources: Some(state.summary.resources),
            refused: Some(state.summary.refused),
            missing: Some(state.subscription.missing.len() as u64),
            nack_count: Some(state.verdicts.nack_count),
            pushes: Some(state.traffic.pushes),
            bytes: Some(state.traffic.bytes),
            bytes_same: Some(state.traffic.bytes_same),
            ack_p50_ms: state.verdicts.ack_ms.map(|(p50, _)| p50),
            ack_p99_ms: state.verdicts.ack_ms.map(|(_, p99)| p99),
            ..row
        }
    }

    fn put_problem(
        &mut self,
        store: &Store,
        problem: &ProblemFact,
        findings: &[Finding],
    ) -> Result<(), BatchError> {
        let nodes: BTreeSet<Arc<str>> = problem.places().filter_map(|place| place.node).collect();
        let rules = problem.findings.iter().filter_map(|index| findings.get(*index));
        let rules: BTreeSet<&str> = rules.map(|finding| finding.rule.id).collect();
        let row = ProblemRow {
            key: self.key(problem.since),
            problem: problem.kind.word(),
            urgency: problem.urgency.word(),
            blame: problem.blame.word(),
            caused_by: problem.diverged.as_ref().map(|facts| facts.by.clone()),
            stream: problem.stream.0.into(),
            streams: problem.streams,
            node: problem.node.clone(),
            nodes: nodes.len() as u64,
            r#type: self.type_word(&problem.type_url),
            last: problem.last.map(|at| self.moment(at)),
            closed: problem.closed.map(|at| self.moment(at)),
            ended: problem.over.map(|at| self.moment(at)),
            occurrences: problem.count,
            at_seq: problem.at.map(|n| n.0),
            rules: rules.into_iter().collect::<Vec<_>>().join(","),
            text: report::problem(problem, &store.clock()),
            quote: problem.quote().map(|quote| quote.to_string()),
            owner: owners_of_problem(store, problem).first().map(Owner::path),
            guess: problem.is_guess(),
        };
        self.files.put(row)
    }

    /// Adds the findings in the order of `lint`, which numbers their groups.
    fn put_findings(&mut self, store: &Store, findings: &[Finding]) -> Result<(), BatchError> {
        let mut findings = findings.to_vec();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.first, finding.at));
        let problems = problems::problems(store, &findings);
        let groups = problems::findings_by_cause(&problems, &findings);
        let groups = problems::group_numbers(&groups, findings.len());
        for (finding, group) in findings.iter().zip(groups) {
            let row = FindingRow {
                key: self.key(finding.first),
                rule: finding.rule.id,
                severity: finding.severity.word(),
                cause: finding.cause,
                blame: finding.blame.word(),
                caused_by: finding.caused_by.as_ref().map(|facts| facts.by.clone()),
                stream: finding.stream.0.into(),
                node: finding.node.clone(),
                r#type: self.type_word(&finding.type_url),
                name: finding.names.first().cloned(),
                names: finding.names.len() as u64,
                at_seq: finding.at.map(|n| n.0),
                last: self.moment(finding.last),
                ended: finding.over.map(|at| self.moment(at)),
                occurrences: finding.count,
                text: finding.text.clone(),
                varies: finding.varies,
                guess: finding.guess,
                cause_group: group,
                owner: owners_of_finding(store, finding).first().map(Owner::path),
            };
            self.files.put(row)?;
        }
        Ok(())
    }
}

/// Returns the first owner of a content, and whether the owner is a guess.
fn owner_of_content(store: &Store, content: BlobId) -> Option<(Arc<str>, bool)> {
    let owners = owners_of_content(store.catalog(), content);
    let owner = owners.first()?;
    Some((owner.path().into(), owner.source == OwnerSource::Name))
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
