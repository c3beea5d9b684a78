//! A dump as the session that would have led to it: for each type a subscription, what is in use and was
//! acknowledged, what was refused, and what is warming and so not acknowledged yet. Times are not known.

use crate::wire::content::Catalog;
use crate::wire::event::{Method, StreamId, Time, TypeUrl};
use crate::wire::pb::put_len_field;
use crate::wire::{ErrorDetail, Frame, FramePayload, Message, Open, Shape};

use super::{Client, Content, Dump, Entry, Lack, Origin};

/// A dump has no code of a refusal: gRPC's UNKNOWN.
const UNKNOWN: i32 = 2;

impl Dump {
    /// The frames of all clients, a stream each. `name` is the file's.
    pub fn frames(&self, name: &str, catalog: &mut Catalog) -> Vec<Frame> {
        let mut frames = Vec::new();
        for (client, id) in self.clients.iter().zip(1..) {
            let mut session = Session { stream: StreamId(id), catalog: &mut *catalog, out: &mut frames };
            session.open(self.origin, name, client);
            let node = client.node.clone().unwrap_or_default();
            for (at, (type_url, version)) in client.types.iter().enumerate() {
                let entries: Vec<&Entry> =
                    client.entries.iter().filter(|entry| entry.type_url == *type_url).collect();
                let node = if at == 0 { Some(node.as_slice()) } else { None };
                session.of_type(type_url, version.as_deref().unwrap_or_default(), &entries, node);
            }
        }
        frames
    }
}

struct Session<'a> {
    stream: StreamId,
    catalog: &'a mut Catalog,
    out: &'a mut Vec<Frame>,
}

impl Session<'_> {
    fn open(&mut self, origin: Origin, name: &str, client: &Client) {
        let word = match origin {
            Origin::ConfigDump => "config dump",
            Origin::Csds => "CSDS",
        };
        let open = Open {
            method: Method::DUMP.into(),
            server: Some(name.to_owned()),
            metadata: vec![("xdscope-dump".into(), word.into())],
            node_hint: client.node.clone(),
            ..Open::default()
        };
        self.out.push(Frame {
            at: Time::ZERO,
            stream: self.stream,
            what: FramePayload::Open(Box::new(open)),
        });
    }

    fn say(&mut self, shape: Shape, bytes: &[u8]) {
        let message = Message::parse(shape, bytes, self.catalog);
        self.out.push(Frame {
            at: Time::ZERO,
            stream: self.stream,
            what: FramePayload::Message(message.into()),
        });
    }

    fn of_type(&mut self, type_url: &TypeUrl, version: &str, entries: &[&Entry], node: Option<&[u8]>) {
        let url = type_url.as_str();
        let mut request = Vec::new();
        if let Some(node) = node {
            put_len_field(&mut request, 1, node);
        }
        put_len_field(&mut request, 2, url.as_bytes());
        for entry in entries {
            put_len_field(&mut request, 3, entry.name.as_bytes());
        }
        self.say(Shape::DeltaRequest, &request);

        let active = entries.iter().filter_map(|entry| Some((*entry, entry.active.as_ref()?)));
        let gone = entries.iter().filter(|entry| entry.lack == Some(Lack::DoesNotExist));
        let gone: Vec<&str> = gone.map(|entry| &*entry.name).collect();
        let active: Vec<_> = active.collect();
        if !active.is_empty() || !gone.is_empty() {
            self.push(url, version, "applied", &active, &gone);
            self.verdict(url, "applied", None);
        }
        for (at, (entry, refused)) in
            entries.iter().filter_map(|entry| Some((*entry, entry.refused.as_ref()?))).enumerate()
        {
            let nonce = format!("refused-{}", at + 1);
            // Without its content there is nothing to show but the error.
            let content = refused.content.any.is_some().then_some((entry, &refused.content));
            let version = refused.content.version.as_deref().unwrap_or_default();
            self.push(url, version, &nonce, content.as_slice(), &[]);
            let named = refused.text.contains(&*entry.name);
            let text = if named { refused.text.clone() } else { format!("{}: {}", entry.name, refused.text) };
            self.verdict(url, &nonce, Some(text));
        }
        let warming = entries.iter().filter_map(|entry| Some((*entry, entry.warming.as_ref()?)));
        let warming: Vec<_> = warming.collect();
        if !warming.is_empty() {
            self.push(url, version, "warming", &warming, &[]);
        }
    }

    fn push(&mut self, url: &str, version: &str, nonce: &str, held: &[(&Entry, &Content)], gone: &[&str]) {
        let mut response = Vec::new();
        put_len_field(&mut response, 1, version.as_bytes());
        for (entry, content) in held {
            let Some(any) = &content.any else { continue };
            let mut resource = Vec::with_capacity(any.len() + 64);
            put_len_field(&mut resource, 1, content.version.as_deref().unwrap_or_default().as_bytes());
            put_len_field(&mut resource, 2, any);
            put_len_field(&mut resource, 3, entry.name.as_bytes());
            put_len_field(&mut response, 2, &resource);
        }
        put_len_field(&mut response, 4, url.as_bytes());
        put_len_field(&mut response, 5, nonce.as_bytes());
        gone.iter().for_each(|name| put_len_field(&mut response, 6, name.as_bytes()));
        self.say(Shape::DeltaResponse, &response);
    }

    fn verdict(&mut self, url: &str, nonce: &str, error: Option<String>) {
        let mut request = Vec::new();
        put_len_field(&mut request, 2, url.as_bytes());
        put_len_field(&mut request, 6, nonce.as_bytes());
        if let Some(text) = error {
            let text = self.catalog.clean_text(text);
            let detail = ErrorDetail { code: UNKNOWN, message: text.into(), ..ErrorDetail::default() };
            put_len_field(&mut request, 7, &detail.encode());
        }
        self.say(Shape::DeltaRequest, &request);
    }
}
