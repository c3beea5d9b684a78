//! Likely reasons why subscribed resources are missing, and messages that editions of the protocol
//! read in two ways.

use xdscope_engine::graph::{self, Graph};
use xdscope_engine::readings::{OpenReading, open_readings, open_readings_of};
use xdscope_engine::store::{MissingAnswer, MissingAnswerCause};
use xdscope_present::report;
use xdscope_wire::event::{StreamId, TypeUrl};

use crate::data::Data;

/// The number of resources of a client from which on its clusters are not searched for reasons,
/// because that would hold up a frame.
const MAX_SEARCHED_RESOURCES: u64 = 20_000;

/// The facts that the reasons depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SessionKey {
    stream: StreamId,
    type_url: TypeUrl,
    /// Changes with the contents of the client's streams.
    fingerprint: u64,
}

/// The reasons for one type of one stream, looked up again when the client's session changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissingAnswers {
    key: Option<SessionKey>,
    pub answers: Vec<MissingAnswer>,
    /// Messages that editions of the protocol read in two ways.
    pub readings: Vec<OpenReading>,
}

impl MissingAnswers {
    /// Reads why answers are missing, once the session has changed.
    pub(crate) fn load(&mut self, data: &dyn Data, stream: Option<StreamId>, url: Option<&TypeUrl>) {
        let (Some(stream), Some(url)) = (stream, url) else {
            *self = MissingAnswers::default();
            return;
        };
        let (store, schema) = (data.store(), data.schema());
        let streams = graph::streams_of(store, stream);
        let fingerprint = graph::fingerprint(store, &streams);
        let key = SessionKey { stream, type_url: url.clone(), fingerprint };
        if self.key.as_ref() == Some(&key) {
            return;
        }
        self.key = Some(key);
        let Some(state) = store.state(stream, url) else {
            (self.answers, self.readings) = Default::default();
            return;
        };
        let cells = streams.iter().flat_map(|stream| store.summaries_of(*stream));
        if cells.map(|cell| cell.resources).sum::<u64>() < MAX_SEARCHED_RESOURCES {
            self.answers = report::missing_answers_of(store, schema, &state);
            self.readings = open_readings_of(store, schema, &state);
        } else {
            self.answers = report::missing_answers(store, &state, None::<&Graph>);
            self.readings = open_readings(store, &state, None::<&Graph>);
        }
    }

    /// The likely reason why a name is missing, marked as a guess, or that nothing is owed.
    pub(crate) fn why(&self, data: &dyn Data, name: &str) -> Option<String> {
        if let Some(answer) =
            self.answers.iter().find(|answer| answer.names.iter().any(|known| **known == *name))
        {
            return Some(format!("{} (guess)", report::missing_answer_reason(answer)));
        }
        let key = self.key.as_ref()?;
        let reason = MissingAnswerCause::of_name(data.store(), key.stream, &key.type_url, name)
            .filter(|reason| *reason == MissingAnswerCause::Unsubscribed)?;
        Some(report::missing_answer_reason(&MissingAnswer {
            reason,
            names: Vec::new(),
            what: None,
            at: None,
        }))
    }
}
