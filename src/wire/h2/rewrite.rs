//! Replaces headers in the requests of an HTTP/2 connection.
//!
//! Everything but header blocks passes unchanged, in slices of the input. Once one block is
//! changed, all later ones are encoded anew: they refer to earlier blocks, which the server has not
//! seen.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use loona_hpack::Decoder;

use super::frames::FrameHead;
use super::headers::decoder;
use super::literal::{HeaderField, block_frames, put_literals, size_updates};
use super::{CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PREFACE, PRIORITY, PUSH_PROMISE, unpadded};

/// Longest header block in bytes, compressed and decompressed. Servers accept less.
pub(super) const MAX_BLOCK_BYTES: usize = 64 << 10;
pub(super) const MAX_FIELDS: usize = 256 << 10;

/// The changes to make in each request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Replaces `:authority`, and `host` if the client sends that.
    pub authority: Option<String>,
    /// Replaces all headers with these names, which are in lower case.
    pub headers: Vec<(String, String)>,
}

/// Omits the values, which may be secrets.
impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Changes").field(&self.names()).finish()
    }
}

/// The reason why the headers of a connection cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client {0}")]
pub struct Unchanged(&'static str);

/// The direction from client to server of one connection.
pub struct Rewrite {
    changes: Arc<Changes>,
    decoder: Decoder<'static>,
    state: RewriteState,
    /// The head of the next frame, as far as it has arrived.
    start: [u8; 9],
    have: usize,
    open: Option<Open>,
}

enum RewriteState {
    /// In the preface, after this many bytes.
    Preface(usize),
    Head,
    /// This many bytes of a frame still pass unchanged.
    Passing(usize),
    /// In a frame of a header block.
    Block {
        head: FrameHead,
        payload: Vec<u8>,
    },
}

/// An incomplete header block.
struct Open {
    stream: u32,
    flags: u8,
    /// The priority fields before the block, unchanged.
    priority: Vec<u8>,
    block: Vec<u8>,
}

impl Rewrite {
    /// Creates a rewriter for a new connection.
    pub fn new(changes: Arc<Changes>) -> Rewrite {
        let (decoder, state) = (decoder(), RewriteState::Preface(0));
        Rewrite { changes, decoder, state, start: [0; 9], have: 0, open: None }
    }

    /// Reads the next bytes of the client and returns the bytes to send, in order.
    ///
    /// # Errors
    ///
    /// If the headers cannot be changed. Nothing that follows can be sent then.
    pub fn push(&mut self, bytes: &Bytes) -> Result<Vec<Bytes>, Unchanged> {
        let mut out = Vec::new();
        // Bytes between `from` and `at` pass unchanged.
        let (mut from, mut at) = (0, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.state {
                RewriteState::Preface(seen) => {
                    let want = &PREFACE[*seen..];
                    let take = want.len().min(rest.len());
                    if rest[..take] != want[..take] {
                        return Err(Unchanged("does not begin as HTTP/2 does"));
                    }
                    *seen += take;
                    at += take;
                    if *seen == PREFACE.len() {
                        self.state = RewriteState::Head;
                    }
                }
                RewriteState::Passing(left) => {
                    let take = rest.len().min(*left);
                    *left -= take;
                    at += take;
                    if *left == 0 {
                        self.state = RewriteState::Head;
                    }
                }
                RewriteState::Head => {
                    let held = self.have;
                    let take = rest.len().min(self.start.len() - held);
                    self.start[held..held + take].copy_from_slice(&rest[..take]);
                    if held + take < self.start.len() {
                        self.have += take;
                        pass(bytes, from, at, &mut out);
                        (from, at) = (bytes.len(), bytes.len());
                        continue;
                    }
                    self.have = 0;
                    let head = FrameHead::parse(self.start);
                    if self.is_of_block(head)? {
                        pass(bytes, from, at, &mut out);
                        at += take;
                        from = at;
                        self.state = RewriteState::Block { head, payload: Vec::with_capacity(head.len) };
                        self.block(&[], &mut out)?;
                    } else {
                        if held > 0 {
                            out.push(Bytes::copy_from_slice(&self.start[..held]));
                        }
                        at += take;
                        self.state = RewriteState::Passing(head.len);
                    }
                }
                RewriteState::Block { head, payload } => {
                    let take = rest.len().min(head.len - payload.len());
                    at += take;
                    from = at;
                    self.block(&rest[..take], &mut out)?;
                }
            }
        }
        pass(bytes, from, at, &mut out);
        Ok(out)
    }

    /// Whether the frame with this head is part of a header block.
    fn is_of_block(&self, head: FrameHead) -> Result<bool, Unchanged> {
        let size = match (&self.open, head.kind) {
            (None, HEADERS) => 0,
            (Some(open), CONTINUATION) if open.stream == head.stream => open.block.len(),
            (Some(_), _) => return Err(Unchanged("interrupts a header block by another frame")),
            (None, CONTINUATION) => return Err(Unchanged("continues a header block that never began")),
            (None, PUSH_PROMISE) => return Err(Unchanged("announces a push, which only servers may")),
            _ => return Ok(false),
        };
        if size + head.len > MAX_BLOCK_BYTES {
            return Err(Unchanged("sends a header block of more than 64 KiB"));
        }
        Ok(true)
    }

    /// Reads more of a frame of a header block.
    fn block(&mut self, bytes: &[u8], out: &mut Vec<Bytes>) -> Result<(), Unchanged> {
        let RewriteState::Block { head, payload } = &mut self.state else { return Ok(()) };
        payload.extend_from_slice(bytes);
        if payload.len() < head.len {
            return Ok(());
        }
        let (head, payload) = (*head, std::mem::take(payload));
        self.state = RewriteState::Head;
        let mut open = match self.open.take() {
            Some(mut open) => {
                open.block.extend_from_slice(&payload);
                open
            }
            None => {
                let short = Unchanged("sends HEADERS with more padding than frame");
                let payload = unpadded(&payload, head.flags).ok_or(short)?;
                let len = if head.flags & PRIORITY != 0 { 5 } else { 0 };
                let short = Unchanged("sends HEADERS too short for its priority");
                let (priority, block) = payload.split_at_checked(len).ok_or(short)?;
                let flags = head.flags & (END_STREAM | PRIORITY);
                Open { stream: head.stream, flags, priority: priority.to_vec(), block: block.to_vec() }
            }
        };
        if head.flags & END_HEADERS == 0 {
            self.open = Some(open);
            return Ok(());
        }
        open.block = self.rewritten(&open.block)?;
        out.push(open.into_frames());
        Ok(())
    }

    /// Returns the header block that replaces the client's.
    fn rewritten(&mut self, block: &[u8]) -> Result<Vec<u8>, Unchanged> {
        let (mut fields, mut size): (Vec<HeaderField>, usize) = (Vec::new(), 0);
        let decoded = self.decoder.decode_with_cb(block, |name, value| {
            // One byte can stand for a whole table entry. RFC 9113 counts fields in this way.
            size += name.len() + value.len() + 32;
            if size <= MAX_FIELDS {
                fields.push((name.into_owned(), value.into_owned()));
            }
        });
        decoded.map_err(|_| Unchanged("sends a header block that is not HPACK"))?;
        if size > MAX_FIELDS {
            return Err(Unchanged("sends headers of more than 256 KiB"));
        }
        // Trailers keep their fields.
        if fields.iter().any(|(name, _)| name == b":method") {
            self.changes.apply(&mut fields);
        }
        // A server that reduced its table expects the announcement (RFC 7541, "Maximum Table
        // Size"). The table has no entries.
        let mut out = size_updates(block).to_vec();
        put_literals(&mut out, &fields);
        Ok(out)
    }
}

/// Appends the part of `bytes` that passes unchanged.
fn pass(bytes: &Bytes, from: usize, to: usize, out: &mut Vec<Bytes>) {
    if from < to {
        out.push(bytes.slice(from..to));
    }
}

impl Changes {
    /// Returns the changed names, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.authority.iter().map(|_| ":authority").collect();
        for (name, _) in &self.headers {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn apply(&self, fields: &mut Vec<HeaderField>) {
        fields.retain(|(name, _)| self.headers.iter().all(|(given, _)| given.as_bytes() != name));
        if let Some(authority) = &self.authority {
            for (name, value) in fields.iter_mut() {
                if name == b":authority" || name == b"host" {
                    *value = authority.clone().into();
                }
            }
            if fields.iter().all(|(name, _)| name != b":authority") {
                // Pseudo-headers come first.
                let at = fields.iter().position(|(name, _)| !name.starts_with(b":"));
                let at = at.unwrap_or(fields.len());
                fields.insert(at, (b":authority".to_vec(), authority.clone().into()));
            }
        }
        fields.extend(self.headers.iter().map(|(name, value)| (name.clone().into(), value.clone().into())));
    }
}

impl Open {
    fn into_frames(mut self) -> Bytes {
        let mut payload = std::mem::take(&mut self.priority);
        payload.append(&mut self.block);
        block_frames(self.stream, self.flags, &payload)
    }
}

#[cfg(test)]
mod tests;
