use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use xdscope_wire::content::{Catalog, List, UsedContent};
use xdscope_wire::event::{Code, Dir, Method, Nonce, Side, StreamId, Sym, Time, TypeUrl, Variant};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::text::{plural, type_label};
use xdscope_wire::{End, Frame, FramePayload, Message, MessageBody, Segment};

/// The control plane's part of a recorded stream, and the client requests that it depends on.
#[derive(Debug)]
pub struct Script {
    /// The recorded stream.
    pub stream: StreamId,
    /// Its method.
    pub method: Method,
    /// Node id of the recorded client, if it had one.
    pub node: Option<String>,
    /// Resources that lack redacted content: type and name.
    pub incomplete: BTreeSet<(TypeUrl, Arc<str>)>,
    pub(super) opened: Time,
    pub(super) steps: Vec<ScriptStep>,
}

/// An action of the control plane.
#[derive(Debug)]
pub(super) struct ScriptStep {
    pub at: Time,
    pub what: Act,
    /// Requests of the client since the previous step, each with its time.
    pub needs: Vec<(Time, Need)>,
}

#[derive(Debug)]
pub(super) enum Act {
    /// `about` describes the response.
    Send {
        url: TypeUrl,
        nonce: Nonce,
        about: String,
        pieces: Vec<Bytes>,
    },
    End {
        code: Code,
        message: String,
    },
    Reset(u32),
}

/// A request that a step waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The `nth` request that changes the subscription to the type, or any that has these names.
    Ask { url: TypeUrl, nth: u32, names: Vec<Arc<str>> },
    /// An ACK or NACK of the response with this nonce, or of a later one of the type.
    Verdict { url: TypeUrl, nonce: Nonce },
}

/// The responses exceed the limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the responses take more than {limit} bytes")]
pub struct TooLarge {
    /// The limit in bytes.
    pub limit: u64,
}

impl Script {
    /// Number of responses.
    pub fn responses(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.what, Act::Send { .. })).count()
    }

    /// Time from the first to the last step.
    pub fn lasts(&self) -> Duration {
        self.steps.last().map_or(Duration::ZERO, |step| step.at.since(self.opened))
    }

    /// Returns the kind of the stream: `ads`, `delta-ads`, `sotw CDS`.
    pub fn kind(&self) -> String {
        kind_word(&self.method)
    }

    /// Whether the script can be played on a stream of this method: equal variant and equal type,
    /// if any.
    pub(super) fn fits(&self, method: &Method) -> bool {
        (self.method.variant, self.method.kind) == (method.variant, method.kind)
    }
}

/// Reads scripts from frames, in the order in which the streams were opened.
///
/// Reads the xDS streams over gRPC on which something was sent.
pub struct ScriptsReader {
    open: BTreeMap<StreamId, ScriptReader>,
    pieces: Pieces,
}

impl ScriptsReader {
    /// Returns a reader of responses that take at most `limit` bytes in total.
    pub fn new(limit: u64) -> ScriptsReader {
        ScriptsReader { open: BTreeMap::new(), pieces: Pieces { lists: HashMap::new(), held: 0, limit } }
    }

    /// Reads the next frame.
    ///
    /// # Errors
    ///
    /// The responses take more than the limit.
    pub fn read(&mut self, frame: &Frame, catalog: &Catalog) -> Result<(), TooLarge> {
        let Frame { at, stream, what } = frame;
        match what {
            FramePayload::Open(opened) => {
                let Some(method) = Method::parse(&opened.method) else { return Ok(()) };
                let mut reader = ScriptReader::new(*stream, method, *at);
                reader.script.node =
                    opened.node_hint.as_deref().map(|node| xdscope_wire::NodeInfo::parse(node).id);
                self.open.insert(*stream, reader);
            }
            FramePayload::Message(message) => {
                let Some(reader) = self.open.get_mut(stream) else { return Ok(()) };
                match message.dir() {
                    Dir::Req => reader.request(*at, message, catalog),
                    Dir::Resp => reader.response(*at, message, &mut self.pieces, catalog)?,
                }
            }
            FramePayload::End(end) => {
                if let Some(reader) = self.open.get_mut(stream) {
                    reader.end(*at, end);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Marks the names as used to which later requests are compared.
    pub fn mark(&self, used: &mut UsedContent) {
        for requests in self.open.values().flat_map(|reader| reader.types.values()) {
            used.names(&requests.names);
        }
    }

    /// Forgets which lists are known, because the catalog has dropped contents.
    pub fn forget_lists(&mut self) {
        self.pieces.lists.clear();
    }

    /// Returns the scripts.
    pub fn finish(self) -> Vec<Script> {
        let scripts = self.open.into_values().map(|reader| reader.script);
        scripts.filter(|script| !script.steps.is_empty()).collect()
    }
}

/// A stream while its frames are read.
struct ScriptReader {
    script: Script,
    /// ACKs and NACKs since the last step.
    verdicts: Vec<(Time, Need)>,
    types: BTreeMap<TypeUrl, TypeRequests>,
}

/// A type while the frames of its stream are read.
#[derive(Default)]
struct TypeRequests {
    requests: u32,
    names: BTreeSet<Sym>,
    /// Needs since the last response of the type.
    needs: Vec<(Time, Need)>,
}

impl ScriptReader {
    fn new(stream: StreamId, method: Method, opened: Time) -> ScriptReader {
        let script =
            Script { stream, method, node: None, incomplete: BTreeSet::new(), opened, steps: Vec::new() };
        ScriptReader { script, verdicts: Vec::new(), types: BTreeMap::new() }
    }

    /// Notes what the recorded client asked for before the next response.
    fn request(&mut self, at: Time, message: &Message, catalog: &Catalog) {
        if let Some(node) = message.node().filter(|node| !node.id.is_empty()) {
            self.script.node.get_or_insert_with(|| node.id.clone());
        }
        let url = effective(&self.script.method, message.type_url());
        let asking = self.types.entry(url.clone()).or_default();
        let (nonce, added, changes) = match &message.body {
            MessageBody::SotwRequest(request) => {
                let now: BTreeSet<Sym> = request.resource_names.iter().copied().collect();
                let added: Vec<Sym> = now.difference(&asking.names).copied().collect();
                let changes = now != asking.names;
                asking.names = now;
                (&request.response_nonce, added, changes)
            }
            MessageBody::DeltaRequest(request) => {
                let changes = !(request.subscribe.is_empty() && request.unsubscribe.is_empty());
                (&request.response_nonce, request.subscribe.to_vec(), changes)
            }
            _ => return,
        };
        if asking.requests == 0 || changes {
            asking.requests += 1;
            let names = added.into_iter().map(|name| Arc::from(catalog.text(name))).collect();
            asking.needs.push((at, Need::Ask { url: url.clone(), nth: asking.requests, names }));
        }
        if !nonce.is_empty() {
            self.verdicts.push((at, Need::Verdict { url, nonce: nonce.clone() }));
        }
    }

    /// Adds a step that sends a recorded response.
    fn response(
        &mut self,
        at: Time,
        message: &Message,
        pieces: &mut Pieces,
        catalog: &Catalog,
    ) -> Result<(), TooLarge> {
        let response = message.response().map(|response| (response.nonce.clone(), response.version.clone()));
        let (nonce, version) = response.unwrap_or_default();
        let url = effective(&self.script.method, message.type_url());
        let count = message.resources().map_or(0, |list| list.len() as u64);
        let about = format!(
            "{} version {version} nonce {nonce}, {}",
            type_label(url.as_str()),
            plural(count, "resource")
        );
        // Content that a damaged recording has lost cannot be sent.
        let Some(bytes) = pieces.encode(message, catalog)? else { return Ok(()) };
        if message.redacted
            && let Some(list) = message.resources()
        {
            for entry in list.blobs().iter().filter(|entry| catalog.blob(**entry).redacted) {
                let name = Arc::from(catalog.text(catalog.name(*entry)));
                self.script.incomplete.insert((url.clone(), name));
            }
        }
        let mut needs = std::mem::take(&mut self.verdicts);
        if let Some(asking) = self.types.get_mut(&url) {
            needs.append(&mut asking.needs);
        }
        self.script.steps.push(ScriptStep {
            at,
            what: Act::Send { url, nonce, about, pieces: bytes },
            needs,
        });
        Ok(())
    }

    /// Adds a step that ends the stream as the recorded server did.
    fn end(&mut self, at: Time, end: &End) {
        let what = match end {
            End { by: Some(Side::Client), .. } => return,
            End { status: Some((code, message)), .. } => Act::End { code: *code, message: message.clone() },
            End { reset: Some(code), .. } => Act::Reset(*code),
            End { by: Some(Side::Server), note, .. } => {
                Act::End { code: Code(14), message: note.clone().unwrap_or_default() }
            }
            _ => return,
        };
        let needs = std::mem::take(&mut self.verdicts);
        self.script.steps.push(ScriptStep { at, what, needs });
    }
}

/// Returns the type of a message: the method's if the message has none (docs/protocol.md#i-02).
pub(super) fn effective(method: &Method, url: TypeUrl) -> TypeUrl {
    match method.kind {
        Some(kind) if url.is_empty() => kind.type_url(method.transport).unwrap_or_default(),
        _ => url,
    }
}

/// Bytes of messages, each list of entries once.
struct Pieces {
    lists: HashMap<u128, Bytes>,
    held: u64,
    limit: u64,
}

impl Pieces {
    /// Returns the bytes of a message; `None` if they are lost.
    fn encode(&mut self, message: &Message, catalog: &Catalog) -> Result<Option<Vec<Bytes>>, TooLarge> {
        let mut out = Vec::new();
        for segment in &message.segments {
            let piece = match segment {
                Segment::Inline(bytes) => Some(Bytes::copy_from_slice(bytes)),
                Segment::Run(blob) => catalog.bytes(*blob),
                Segment::Field { number, blob } => catalog.bytes(*blob).map(|bytes| field(*number, &bytes)),
                Segment::List { number, list } => match self.lists.get(&list.fingerprint()) {
                    Some(known) => {
                        out.push(known.clone());
                        continue;
                    }
                    None => self.list(*number, list, catalog),
                },
            };
            let Some(piece) = piece else { return Ok(None) };
            self.held += piece.len() as u64;
            if self.held > self.limit {
                return Err(TooLarge { limit: self.limit });
            }
            if let Segment::List { list, .. } = segment {
                self.lists.insert(list.fingerprint(), piece.clone());
            }
            out.push(piece);
        }
        Ok(Some(out))
    }

    /// Encodes the entries of a list, up to the limit of bytes.
    fn list(&self, number: u32, list: &List, catalog: &Catalog) -> Option<Bytes> {
        let mut out = Vec::new();
        for blob in list.blobs() {
            put_len_field(&mut out, number, &catalog.bytes(*blob)?);
            // A few bytes of a hostile recording may stand for millions of entries. The caller
            // reports the excess.
            if out.len() as u64 > self.limit {
                break;
            }
        }
        Some(out.into())
    }
}

fn field(number: u32, bytes: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    put_len_field(&mut out, number, bytes);
    out.into()
}

/// Returns the kind of a stream: `ads`, `delta-ads`, `sotw CDS`.
pub(super) fn kind_word(method: &Method) -> String {
    let variant: Variant = method.variant;
    match method.kind {
        Some(kind) => format!("{} {}", variant.word(), kind.label()),
        None => variant.word().to_owned(),
    }
}
