use std::collections::HashMap;
use std::io::{self, Write};
use xdscope_wire::GapCause;

use serde_json::{Map, Value, json};

use super::{JsonCodec, NODE, base64};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Dir, StreamId, Time};
use xdscope_wire::text::json_safe;
use xdscope_wire::{End, Frame, FramePayload, Intervention, Open};

/// A writer of raw JSONL (`export --to raw`).
pub struct Writer<'a, W> {
    out: W,
    clock: Clock,
    json: Option<&'a dyn JsonCodec>,
    methods: HashMap<StreamId, String>,
    /// The number of messages without bytes, written as gaps.
    lost: u64,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Creates a writer. Times are RFC 3339 text if the clock has a date, else seconds. Without
    /// `json`, node hints are left out.
    pub fn new(out: W, clock: Clock, json: Option<&'a dyn JsonCodec>) -> Self {
        Writer { out, clock, json, methods: HashMap::new(), lost: 0 }
    }

    /// Writes a frame as one line; an end with a status takes two.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> io::Result<()> {
        match &frame.what {
            FramePayload::Open(open) => self.open(frame, open),
            FramePayload::Message(message) => {
                let dir = dir_word(message.dir());
                let Some(bytes) = message.bytes(catalog) else {
                    self.lost += 1;
                    return self.line(frame, "gap", [("messages", json!(1)), ("bytes", json!(message.size))]);
                };
                let method = self.methods.get(&frame.stream).cloned().unwrap_or_default();
                self.line(frame, dir, [("method", json!(method)), ("raw", json!(base64::encode(&bytes)))])
            }
            FramePayload::Opaque { dir, messages, bytes } => {
                let counts = [("messages", json!(messages)), ("bytes", json!(bytes))];
                self.line(frame, "gap", counts.into_iter().chain([("opaque", json!(dir_word(*dir)))]))
            }
            FramePayload::Gap { dir, messages, bytes, cause } => {
                let counts = [("messages", json!(messages)), ("bytes", json!(bytes))];
                let cause = (*cause != GapCause::Lost).then(|| ("cause", json!(cause.word())));
                let direction = dir.map(|dir| ("of", json!(dir_word(dir))));
                self.line(frame, "gap", counts.into_iter().chain(cause).chain(direction))
            }
            FramePayload::Intercepted(what) => self.intercepted(frame, what),
            FramePayload::End(end) => self.end(frame, end),
        }
    }

    fn intercepted(&mut self, frame: &Frame, what: &Intervention) -> io::Result<()> {
        let facts = &what.facts;
        let members = [
            ("interference", json!(facts.interference.word())),
            ("of", json!(dir_word(facts.dir))),
            ("delta", json!(facts.is_delta)),
            ("type_url", json!(facts.type_url.as_str())),
            ("version", json!(&*facts.version)),
            ("nonce", json!(&*facts.nonce)),
            ("by", json!(&*facts.by)),
        ];
        let messages = [("original", &what.original), ("sent", &what.sent)];
        let messages = messages
            .into_iter()
            .filter_map(|(name, bytes)| Some((name, json!(base64::encode(bytes.as_ref()?)))));
        let sent = what.sent.as_ref().map(|_| ("sent_as", json!(dir_word(what.sent_dir))));
        self.line(frame, "intercepted", members.into_iter().chain(messages).chain(sent))
    }

    /// Returns the number of messages whose content a damaged recording has lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn open(&mut self, frame: &Frame, open: &Open) -> io::Result<()> {
        self.methods.insert(frame.stream, open.method.clone());
        let node = open.node_hint.as_ref().zip(self.json).and_then(|(node, json)| json.decode(NODE, node));
        // A stream without an open line is partial.
        if open.partial && node.is_none() {
            return Ok(());
        }
        let mut metadata = Map::new();
        for (name, value) in &open.metadata {
            let value = Value::from(value.as_str());
            match metadata.get_mut(name) {
                None => {
                    metadata.insert(name.clone(), value);
                }
                Some(Value::Array(values)) => values.push(value),
                Some(first) => *first = json!([first.take(), value]),
            }
        }
        let metadata = (!metadata.is_empty()).then_some(Value::Object(metadata));
        let optional = [
            ("metadata", metadata),
            ("peer", open.peer.as_ref().map(|peer| json!(peer))),
            ("server", open.server.as_ref().map(|server| json!(server))),
            ("node_hint", node),
            ("partial", open.partial.then_some(json!(true))),
        ];
        let keys = [("method", Some(json!(open.method)))].into_iter().chain(optional);
        self.line(frame, "open", keys.filter_map(|(key, value)| Some((key, value?))))
    }

    fn end(&mut self, frame: &Frame, end: &End) -> io::Result<()> {
        self.methods.remove(&frame.stream);
        if let Some((code, message)) = &end.status {
            self.line(frame, "status", [("code", json!(code.0)), ("message", json!(message))])?;
        }
        let keys = [
            ("by", end.by.map(|by| json!(by.word()))),
            ("reset", end.reset.map(|reset| json!(reset))),
            ("note", end.note.as_ref().map(|note| json!(note))),
        ];
        self.line(frame, "close", keys.into_iter().filter_map(|(key, value)| Some((key, value?))))
    }

    fn line(
        &mut self,
        frame: &Frame,
        dir: &str,
        keys: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> io::Result<()> {
        let mut line = Map::new();
        line.insert("dir".into(), json!(dir));
        line.insert("t".into(), self.time(frame.at));
        line.insert("stream".into(), json!(frame.stream.0));
        line.extend(keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
        writeln!(self.out, "{}", json_safe(&Value::Object(line).to_string()))
    }

    fn time(&self, at: Time) -> Value {
        let date = self.clock.epoch.map(|epoch| epoch.saturating_add(at.0.into()));
        match date.and_then(|ns| jiff::Timestamp::from_nanosecond(ns).ok()) {
            Some(date) => json!(date.to_string()),
            None => json!(at.as_secs_f64()),
        }
    }
}

fn dir_word(dir: Dir) -> &'static str {
    match dir {
        Dir::Req => "c2s",
        Dir::Resp => "s2c",
    }
}
