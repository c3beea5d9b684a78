//! Likely reasons for what does not come, for the screens that say what is waited for.

use crate::engine::graph::{self, Graph};
use crate::engine::store::{MissingAnswer, MissingAnswerCause};
use crate::present::report;
use crate::wire::event::{StreamId, TypeUrl};

use crate::tui::data::Data;

/// From so many resources of a client on, its clusters are not asked: a screen may not wait for that.
const LARGE: u64 = 20_000;

/// The reasons of one type of one stream, looked up again when the client's session has gone on.
#[derive(Clone, Debug, Default)]
pub struct Silent {
    of: Option<(StreamId, TypeUrl, u64)>,
    pub known: Vec<MissingAnswer>,
}

impl Silent {
    pub fn load(&mut self, data: &dyn Data, stream: Option<StreamId>, url: Option<&TypeUrl>) {
        let place = stream.zip(url);
        let Some(((stream, url), (store, schema))) = place.zip(data.source()) else {
            *self = Silent::default();
            return;
        };
        let streams = graph::streams_of(store, stream);
        let key = (stream, url.clone(), graph::fingerprint(store, &streams));
        if self.of.as_ref() == Some(&key) {
            return;
        }
        self.of = Some(key);
        self.known = store.state(stream, url).map_or(Vec::new(), |state| {
            let cells = streams.iter().flat_map(|stream| store.summaries_of(*stream));
            match cells.map(|cell| cell.resources).sum::<u64>() < LARGE {
                true => report::silences_of(store, schema, &state),
                false => report::silences(store, &state, None::<&Graph>),
            }
        });
    }

    /// Why one name may not have come, marked as the guess that it is; or that nothing is owed.
    pub fn why(&self, data: &dyn Data, name: &str) -> Option<String> {
        if let Some(silence) = self.known.iter().find(|silence| silence.names.iter().any(|of| **of == *name))
        {
            return Some(format!("{} (?)", silence.why()));
        }
        let (stream, url, _) = self.of.as_ref()?;
        let (store, _) = data.source()?;
        let reason = store
            .silence_of(*stream, url, name)
            .filter(|reason| *reason == MissingAnswerCause::Unsubscribed)?;
        Some(MissingAnswer { reason, names: Vec::new(), what: None, at: None }.why())
    }
}
