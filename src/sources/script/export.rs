use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::ast::*;
use super::codec::Codec;
use super::timeline::Timeline;
use super::write::type_ref;
use super::{encode, payload, short};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::discovery::fields::{DiscoveryField, any, duration, map_entry, resource, resource_error};
use xdscope_wire::event::{Clock, Dir, Kind, Method, Side, StreamId, TYPE_PREFIX, Time, TypeUrl, Variant};
use xdscope_wire::http1::end_of_status;
use xdscope_wire::pb::{Fields, WireField};
use xdscope_wire::xdstp::locator;
use xdscope_wire::{End, ErrorDetail, Frame, FramePayload, Message, MessageShape, Open};

/// A session exported as a script.
pub struct Exported {
    /// The script.
    pub script: Script,
    /// Descriptions of what a script can't express and was left out.
    pub notices: Vec<String>,
}

/// Writes frames of a source that ends at `end` as a script.
///
/// Loading the script yields the same messages, byte for byte, and the same `end`, in whole
/// milliseconds. Messages without a short form are written as base64.
pub fn from_frames<'a>(
    frames: impl Iterator<Item = &'a Frame>,
    catalog: &Catalog,
    clock: Clock,
    end: Time,
    codec: &dyn Codec,
) -> Exported {
    let mut exporter = ScriptExporter::new(clock, codec, usize::MAX);
    frames.for_each(|frame| exporter.push(frame.clone(), catalog));
    let (items, notices) = exporter.finish(end, catalog);
    let lines = (1..).zip(items).map(|(number, item)| ScriptLine { number, statement: item }).collect();
    Exported { script: Script { file: String::new(), lines }, notices }
}

/// Frames to hold until the first request of a stream tells its node, which the script names before
/// the stream.
const MAX_HELD_FRAMES: usize = 1024;

/// A script that is written while its frames are read.
pub struct ScriptWriter<'a>(ScriptExporter<'a>);

impl<'a> ScriptWriter<'a> {
    /// Begins a script.
    pub fn new(clock: Clock, codec: &'a dyn Codec) -> ScriptWriter<'a> {
        ScriptWriter(ScriptExporter::new(clock, codec, MAX_HELD_FRAMES))
    }

    /// Takes the next frame. Returns the text that can be written.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> String {
        self.0.push(frame.clone(), catalog);
        text_of(std::mem::take(&mut self.0.items))
    }

    /// Marks the contents of frames that are not written as used.
    pub fn mark(&self, used: &mut UsedContent) {
        for frame in &self.0.held {
            if let FramePayload::Message(message) = &frame.what {
                message.mark(used);
            }
        }
    }

    /// Returns the rest of the text, up to the end of the source, and descriptions of what was left
    /// out.
    pub fn finish(self, end: Time, catalog: &Catalog) -> (String, Vec<String>) {
        let (items, notices) = self.0.finish(end, catalog);
        (text_of(items), notices)
    }
}

fn text_of(items: Vec<Statement>) -> String {
    let lines = items.into_iter().map(|statement| ScriptLine { number: 0, statement }).collect();
    super::write(&Script { file: String::new(), lines })
}

struct ScriptExporter<'a> {
    codec: &'a dyn Codec,
    time: Timeline,
    items: Vec<Statement>,
    notices: BTreeSet<String>,
    /// The node of the last `node` line.
    node: Option<ScriptNode>,
    server: String,
    streams: BTreeMap<u32, ExportedStream>,
    /// Whether a stream was written.
    has_streams: bool,
    /// Frames that are not written yet.
    held: VecDeque<Frame>,
    max_held: usize,
    /// The first requests of streams whose opening is held; `None` before the request.
    first_requests: BTreeMap<StreamId, Option<FirstRequest>>,
}

/// Facts of the first request of a stream that its opening lines state. Empty without a request.
#[derive(Default)]
struct FirstRequest {
    node: Option<ScriptNode>,
    type_url: TypeUrl,
}

struct ExportedStream {
    stream: ScriptStream,
    node: Option<ScriptNode>,
    sends_node: bool,
}

impl<'a> ScriptExporter<'a> {
    fn new(clock: Clock, codec: &'a dyn Codec, max_held: usize) -> ScriptExporter<'a> {
        ScriptExporter {
            codec,
            time: Timeline::new(clock.untimed),
            items: if clock.untimed { vec![Statement::NoTime] } else { Vec::new() },
            notices: BTreeSet::new(),
            node: None,
            server: "cp".into(),
            streams: BTreeMap::new(),
            has_streams: false,
            held: VecDeque::new(),
            max_held,
            first_requests: BTreeMap::new(),
        }
    }

    /// Takes a frame, and writes frames up to the first stream whose node is unknown.
    fn push(&mut self, frame: Frame, catalog: &Catalog) {
        match &frame.what {
            FramePayload::Open(_) => {
                self.first_requests.insert(frame.stream, None);
            }
            FramePayload::Message(message) if message.shape.dir() == Dir::Req => {
                if let Some(first @ None) = self.first_requests.get_mut(&frame.stream) {
                    let node = node_of(message, catalog);
                    *first = Some(FirstRequest { node, type_url: message.type_url() });
                }
            }
            FramePayload::End(_) => {
                if let Some(first @ None) = self.first_requests.get_mut(&frame.stream) {
                    *first = Some(FirstRequest::default());
                }
            }
            _ => {}
        }
        self.held.push_back(frame);
        while self.held.front().is_some_and(|first| self.is_ready(first)) || self.held.len() > self.max_held {
            self.write_first(catalog);
        }
    }

    /// Whether nothing that follows changes how a frame is written.
    fn is_ready(&self, frame: &Frame) -> bool {
        let is_open = matches!(frame.what, FramePayload::Open(_));
        !is_open || self.first_requests.get(&frame.stream).is_some_and(Option::is_some)
    }

    /// Writes the oldest of the frames that are held back.
    fn write_first(&mut self, catalog: &Catalog) {
        let Some(frame) = self.held.pop_front() else { return };
        let first = match &frame.what {
            FramePayload::Open(_) => self.first_requests.remove(&frame.stream).flatten(),
            _ => None,
        };
        self.frame(&frame, first.unwrap_or_default(), catalog);
    }

    fn finish(mut self, end: Time, catalog: &Catalog) -> (Vec<Statement>, Vec<String>) {
        while !self.held.is_empty() {
            self.write_first(catalog);
        }
        // Answers that are missing are missed with the time that passes after the last message. A
        // part of a millisecond counts as one, so that no timer is lost.
        let rest = end.since(self.time.now()).as_nanos().div_ceil(1_000_000);
        if rest > 0 && self.has_streams && !self.time.untimed {
            let rest = Duration::from_millis(u64::try_from(rest).unwrap_or(u64::MAX));
            self.items.push(Statement::Advance(rest));
        }
        (self.items, self.notices.into_iter().collect())
    }

    /// Writes the statements of a frame.
    fn frame(&mut self, frame: &Frame, first: FirstRequest, catalog: &Catalog) {
        let number = frame.stream.0;
        match &frame.what {
            FramePayload::Open(open) => self.open(number, open, first, frame.at),
            FramePayload::Message(message) => {
                let dir = message.dir();
                let Some(bytes) = message.bytes(catalog) else {
                    self.notices.insert("messages whose content the recording has lost".into());
                    let gap = ScriptGap {
                        dir: Some(dir),
                        messages: 1,
                        bytes: message.size,
                        ..ScriptGap::default()
                    };
                    return self.gap(number, frame.at, gap);
                };
                let Some(live) = self.streams.get_mut(&number) else { return };
                let body = live.body(self.codec, dir, &bytes);
                if dir == Dir::Req {
                    live.sends_node = live.stream.variant == Variant::Rest;
                }
                let at = self.step(frame.at);
                self.items.push(Statement::Message { at, stream: Some(number), body });
            }
            FramePayload::End(end) => {
                if let Some(live) = self.streams.remove(&number) {
                    let at = self.step(frame.at);
                    let stream = Some(number);
                    let is_rest = live.stream.variant == Variant::Rest;
                    let status = if is_rest { http_status(end) } else { None };
                    self.items.push(match status {
                        Some((http, http_text)) => {
                            let http = Some(http);
                            let response = ScriptResponse { http, http_text, ..ScriptResponse::default() };
                            Statement::Message { at, stream, body: MessageBody::Response(response) }
                        }
                        None => Statement::End { at, stream, end: ending(end) },
                    });
                }
            }
            FramePayload::Opaque { dir: Dir::Resp, .. }
                if self.streams.get(&number).is_some_and(|live| live.stream.variant == Variant::Rest) =>
            {
                let at = self.step(frame.at);
                let body =
                    MessageBody::Response(ScriptResponse { http: Some(304), ..ScriptResponse::default() });
                self.items.push(Statement::Message { at, stream: Some(number), body });
            }
            // A PING.
            FramePayload::Opaque { messages: 0, bytes: 0, .. } if self.streams.contains_key(&number) => {}
            FramePayload::Opaque { .. } => {
                self.notices.insert("streams that are not xDS".into());
            }
            FramePayload::Intercepted(_) => {
                self.notices.insert("what a tap with faults did".into());
            }
            FramePayload::Gap { dir, messages, bytes, cause } => {
                let gap = ScriptGap { dir: *dir, messages: *messages, bytes: *bytes, cause: *cause };
                self.gap(number, frame.at, gap);
            }
        }
    }

    /// Writes that a part of a stream is missing.
    fn gap(&mut self, stream: u32, at: Time, gap: ScriptGap) {
        if !self.streams.contains_key(&stream) {
            self.notices.insert("gaps in streams that are not xDS".into());
            return;
        }
        let at = self.step(at);
        self.items.push(Statement::Gap { at, stream: Some(stream), gap });
    }

    /// Advances the clock. Returns the time to write, or `None` if the line before implies it.
    fn step(&mut self, at: Time) -> Option<Time> {
        let usual = self.time.clone().step(None);
        self.time.step(Some(at));
        (usual != at && !self.time.untimed).then_some(at)
    }

    /// Writes the opening of a stream, once its first request is known.
    fn open(&mut self, number: u32, open: &Open, first: FirstRequest, at: Time) {
        let Some(mut stream) = stream(number, open, &first.type_url) else {
            self.notices.insert("streams that are not xDS".into());
            return;
        };
        if stream.path().as_deref() != Some(open.method.as_str()) {
            stream.method = Some(open.method.clone());
        }
        let node = open.node_hint.as_deref().and_then(ScriptNode::decode).or(first.node);
        if node.is_some() && node != self.node {
            self.items.extend(node.clone().map(Statement::Node));
            self.node = node;
        }
        if let Some(server) = open.server.as_ref().filter(|server| **server != self.server) {
            self.items.push(Statement::Server(server.clone()));
            self.server.clone_from(server);
        }
        self.has_streams = true;
        let now = self.time.now();
        self.time.open(Some(at));
        let at = (now != at && !self.time.untimed).then_some(at);
        self.items.push(Statement::Stream { at, stream: stream.clone() });
        if open.partial {
            self.items.push(Statement::Partial(number));
        }
        self.streams
            .insert(number, ExportedStream { stream, node: self.node.clone(), sends_node: !open.partial });
    }
}

/// Returns the node of a request.
fn node_of(message: &Message, catalog: &Catalog) -> Option<ScriptNode> {
    let bytes = message.bytes(catalog).unwrap_or_default();
    let is_node =
        |field: &WireField<'_>| DiscoveryField::of(message.shape, field.number) == Some(DiscoveryField::Node);
    let node = Fields::new(&bytes).map_while(Result::ok).find(is_node);
    node.and_then(|field| ScriptNode::decode(field.bytes()))
}

/// Returns the stream line of an opening, or `None` if the method is no subscription. `type_url` is
/// the type of the first request.
fn stream(number: u32, open: &Open, type_url: &TypeUrl) -> Option<ScriptStream> {
    let StreamKind { variant, ty, transport } = match Method::parse(&open.method) {
        Some(Method { variant, kind, transport, .. }) => {
            StreamKind { variant, ty: kind.map_or(TypeRef::Implied, TypeRef::Word), transport }
        }
        None => parse_path(&open.method).or_else(|| unknown_rest_path(&open.method, type_url))?,
    };
    Some(ScriptStream { number, variant, ty, transport, profile: open.profile, method: None })
}

/// Parses a REST path of an unknown name, whose polls are of the type.
fn unknown_rest_path(path: &str, type_url: &TypeUrl) -> Option<StreamKind> {
    let method = Method::of_path(path).filter(|method| method.variant == Variant::Rest)?;
    let ty = type_ref(type_url.as_str(), method.transport);
    (!type_url.is_empty()).then_some(StreamKind { variant: Variant::Rest, ty, transport: method.transport })
}

/// Returns the HTTP status that ended a poll, and the body of the response.
fn http_status(end: &End) -> Option<(u16, String)> {
    let (_, text) = end.status.as_ref()?;
    let text = text.strip_prefix("HTTP status ")?;
    let (status, body) = text.split_once(": ").unwrap_or((text, ""));
    let status = status.parse().ok()?;
    let is_whole = *end == end_of_status(status, body.as_bytes()) && !matches!(status, 200 | 304);
    is_whole.then(|| (status, body.to_owned()))
}

fn ending(end: &End) -> StreamEnd {
    match (&end.status, end.reset, end.by) {
        (Some((code, text)), ..) => StreamEnd::Status(code.0, text.clone()),
        (None, None, None | Some(Side::Client)) => StreamEnd::Close,
        (None, _, side) => StreamEnd::Reset(side.unwrap_or(Side::Server)),
    }
}

fn text(field: &WireField<'_>) -> Option<String> {
    String::from_utf8(field.bytes().to_vec()).ok()
}

impl ExportedStream {
    /// Returns the short form of a message if it encodes to the same bytes.
    fn body(&self, codec: &dyn Codec, dir: Dir, bytes: &[u8]) -> MessageBody {
        let short = match dir {
            Dir::Req => self.request(bytes),
            Dir::Resp => self.response(codec, bytes),
        };
        short.unwrap_or_else(|| MessageBody::Raw(dir, bytes.to_vec()))
    }

    /// Returns the type reference of a type URL on this stream.
    fn type_ref(&self, url: &str) -> TypeRef {
        if self.stream.type_url(&TypeRef::Implied) == TypeUrl::from(url)
            && !self.stream.variant.is_aggregated()
        {
            return TypeRef::Implied;
        }
        type_ref(url, self.stream.transport)
    }

    /// Reads a request as fields of a script; `None` if they cannot express it.
    fn request(&self, bytes: &[u8]) -> Option<MessageBody> {
        let delta = self.stream.variant.is_delta();
        let shape = if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
        let mut out = ScriptRequest::default();
        let (mut url, mut node) = (String::new(), None);
        for field in Fields::new(bytes) {
            let field = field.ok()?;
            match DiscoveryField::of(shape, field.number)? {
                DiscoveryField::Version => out.version = text(&field)?,
                DiscoveryField::Node => node = Some(field.bytes()),
                DiscoveryField::Names if delta => out.subscribe.push(text(&field)?),
                DiscoveryField::Names => out.names.push(text(&field)?),
                DiscoveryField::Unsubscribe => out.unsubscribe.push(text(&field)?),
                DiscoveryField::InitialVersions => out.initial.push(pair(field.bytes())?),
                DiscoveryField::TypeUrl => url = text(&field)?,
                DiscoveryField::Nonce => out.nonce = text(&field)?,
                DiscoveryField::ErrorDetail => {
                    let detail = ErrorDetail::parse(field.bytes());
                    out.nack = Some((detail.code, detail.message.to_string()));
                }
                _ => return None,
            }
        }
        out.ty = self.type_ref(&url);
        let own = self.node.as_ref().map(ScriptNode::encode);
        let usual = if self.sends_node { own.as_deref() } else { None };
        out.node = match node {
            _ if node == usual => NodeUse::Usual,
            None => NodeUse::Without,
            Some(_) if node == own.as_deref() => NodeUse::Sent,
            Some(_) => return None,
        };
        (encode::request(&self.stream, &out, node) == bytes).then_some(MessageBody::Request(out))
    }

    /// Reads a response as fields of a script; `None` if they cannot express it.
    fn response(&self, codec: &dyn Codec, bytes: &[u8]) -> Option<MessageBody> {
        let delta = self.stream.variant.is_delta();
        let shape = if delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
        let mut out = ScriptResponse::default();
        let (mut url, mut entries) = (String::new(), Vec::new());
        for field in Fields::new(bytes) {
            let field = field.ok()?;
            match DiscoveryField::of(shape, field.number)? {
                DiscoveryField::Version if delta => out.system_version = text(&field)?,
                DiscoveryField::Version => out.version = text(&field)?,
                DiscoveryField::Resources => entries.push(field.bytes()),
                DiscoveryField::TypeUrl => url = text(&field)?,
                DiscoveryField::Nonce => out.nonce = text(&field)?,
                DiscoveryField::Removed => out.removed.push(text(&field)?),
                DiscoveryField::ControlPlane => {
                    let id = Fields::new(field.bytes()).next();
                    out.control_plane =
                        Some(id.and_then(Result::ok).and_then(|id| text(&id)).unwrap_or_default());
                }
                DiscoveryField::ResourceErrors => out.errors.push(resource_error(field.bytes())?),
                _ => return None,
            }
        }
        out.ty = self.type_ref(&url);
        let short = |bytes: &&[u8]| {
            self.entry(codec, &out.ty, bytes).unwrap_or_else(|| ScriptEntry::Raw(bytes.to_vec()))
        };
        out.resources = entries.iter().map(short).collect();
        (encode::response(codec, &self.stream, &out).as_deref() == Ok(bytes))
            .then_some(MessageBody::Response(out))
    }

    /// Returns the short form of an entry if it encodes to the same bytes.
    fn entry(&self, codec: &dyn Codec, ty: &TypeRef, bytes: &[u8]) -> Option<ScriptEntry> {
        let entry = if self.stream.variant.is_delta() {
            ScriptEntry::Plain(self.wrapper(codec, ty, bytes)?)
        } else {
            let (url, value) = any_parts(bytes)?;
            if url == "type.googleapis.com/envoy.service.discovery.v3.Resource" {
                ScriptEntry::Wrapped(self.wrapper(codec, ty, value)?)
            } else {
                let mut resource = ScriptResource::default();
                self.payload(codec, ty, bytes, &mut resource)?;
                ScriptEntry::Plain(resource)
            }
        };
        let same = encode::resource_entry(codec, &self.stream, ty, &entry).as_deref() == Ok(bytes);
        same.then_some(entry)
    }

    /// Decodes a `Resource` message.
    fn wrapper(&self, codec: &dyn Codec, ty: &TypeRef, bytes: &[u8]) -> Option<ScriptResource> {
        let mut out = ScriptResource { content: ResourceContent::Unset, ..ScriptResource::default() };
        let mut payload = None;
        for field in Fields::new(bytes) {
            let field = field.ok()?;
            match field.number {
                resource::VERSION => out.version = text(&field)?,
                resource::RESOURCE => payload = Some(field.bytes()),
                resource::NAME => out.name = text(&field)?,
                resource::ALIASES => out.aliases.push(text(&field)?),
                resource::TTL => {
                    let mut nanos = 0;
                    for part in Fields::new(field.bytes()) {
                        let part = part.ok()?;
                        let unit = if part.number == duration::SECONDS { 1_000_000_000 } else { 1 };
                        nanos += i128::from(part.varint() as i64) * unit;
                    }
                    out.ttl = Some(Ttl(nanos));
                }
                _ => return None,
            }
        }
        if let Some(payload) = payload {
            self.payload(codec, ty, payload, &mut out)?;
        }
        Some(out)
    }

    /// Decodes the type, the content and, if still unset, the name of a payload.
    fn payload(&self, codec: &dyn Codec, ty: &TypeRef, bytes: &[u8], out: &mut ScriptResource) -> Option<()> {
        let (url, value) = any_parts(bytes)?;
        let message = url.strip_prefix(TYPE_PREFIX)?;
        if message == locator::MESSAGE {
            out.content = ResourceContent::Redirect(locator::decode(value)?);
            return Some(());
        }
        let kind = Kind::of_message(message).map(|(kind, _)| kind);
        if out.name.is_empty() {
            let number = kind.and_then(Kind::name_field).unwrap_or(1);
            let name = Fields::new(value).map_while(Result::ok).find(|field| field.number == number);
            out.name = text(&name?)?;
        }
        let collection =
            short::collection(&out.name).is_some_and(|item| message == format!("{item}Collection"));
        if !collection && self.stream.type_url(ty) != TypeUrl::from(url.as_str()) {
            out.ty = type_ref(&url, self.stream.transport);
        }
        if matches!(&out.ty, TypeRef::Url(url) if !url.chars().all(super::lex::is_bare)) {
            return None;
        }
        let fields = match kind {
            Some(kind) if payload::smallest(kind, &out.name) == value => None,
            None if collection && value.is_empty() => None,
            _ => {
                let mut json = codec.decode(message, value)?;
                let key = payload::name_key(kind);
                if let (Some(key), Some(map)) = (key, json.as_object_mut()) {
                    let camel = if key == "cluster_name" { "clusterName" } else { key };
                    for key in [key, camel] {
                        if map.get(key).and_then(|name| name.as_str()) == Some(&out.name) {
                            map.shift_remove(key);
                        }
                    }
                }
                Some(json)
            }
        };
        out.content = ResourceContent::Fields { fields, tag: None };
        Some(())
    }
}

fn any_parts(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (mut url, mut value) = (String::new(), &[][..]);
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        match field.number {
            any::TYPE_URL => url = text(&field)?,
            any::VALUE => value = field.bytes(),
            _ => return None,
        }
    }
    Some((url, value))
}

/// Decodes a map entry of two texts.
fn pair(bytes: &[u8]) -> Option<(String, String)> {
    let (mut key, mut value) = (String::new(), String::new());
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        *if field.number == map_entry::KEY { &mut key } else { &mut value } = text(&field)?;
    }
    Some((key, value))
}

/// Decodes the name and message of a `resource_errors` entry.
fn resource_error(bytes: &[u8]) -> Option<(String, String)> {
    let (mut name, mut message) = (String::new(), String::new());
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        match field.number {
            resource_error::RESOURCE_NAME => {
                name = Fields::new(field.bytes()).next().and_then(Result::ok).and_then(|name| text(&name))?
            }
            _ => message = ErrorDetail::parse(field.bytes()).message.to_string(),
        }
    }
    Some((name, message))
}
