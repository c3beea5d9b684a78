//! The effect of each frame.

use bytes::Bytes;

use super::super::frames::FrameHead;
use super::super::literal::put_head;
use super::super::{
    ACK, CONTINUATION, DATA, END_STREAM, GOAWAY, HEADERS, Head, RST_STREAM, SETTINGS, WINDOW_UPDATE, index,
    unpadded,
};
use super::blocks::{BlockForm, ReadBlock};
use super::half::{DEFAULT_WINDOW, DataFrame, ParseState};
use super::stream::{Assembled, HalfEnd, StreamState, TooLong, Undecided};
use super::{MAX_UNDECIDED_REQUEST_BYTES, SpliceEvent, SplicedMessage, Splicer, Verdict};
use crate::event::Dir;

/// `SETTINGS_INITIAL_WINDOW_SIZE`.
const INITIAL_WINDOW_SIZE: u16 = 4;

impl Splicer {
    /// Handles a complete frame.
    pub(super) fn whole(
        &mut self,
        dir: Dir,
        head: FrameHead,
        frame: &Bytes,
    ) -> Result<Verdict, &'static str> {
        match head.kind {
            HEADERS | CONTINUATION => self.block_frame(dir, head, frame),
            SETTINGS if head.flags & ACK == 0 => {
                self.settings(dir, &frame[9..])?;
                Ok(Verdict::Pass)
            }
            SETTINGS => {
                // DATA that needs the settings follows their ACK.
                let half = &mut self.halves[index(dir)];
                half.push_part(frame.clone());
                half.frame_passed();
                half.windows.acknowledge();
                self.resize_streams(dir);
                Ok(Verdict::Taken)
            }
            RST_STREAM => Ok(self.reset_frame(dir, head, frame)),
            GOAWAY if dir == Dir::Resp => Ok(self.go_away_frame(frame)),
            WINDOW_UPDATE => self.window_update(dir, head, frame),
            DATA => self.held_data(dir, head, frame),
            _ => Ok(Verdict::Pass),
        }
    }

    /// Handles a frame with a part of a header block.
    fn block_frame(&mut self, dir: Dir, head: FrameHead, frame: &Bytes) -> Result<Verdict, &'static str> {
        match self.halves[index(dir)].blocks.read(head, frame)? {
            None => Ok(Verdict::Taken),
            Some(mut block) if self.only_headers => {
                let half = &mut self.halves[index(dir)];
                let frames = half.blocks.encode(&mut block);
                half.push_part(frames);
                Ok(Verdict::Taken)
            }
            Some(block) => Ok(self.block(dir, block, frame)),
        }
    }

    /// Handles a complete header block: it may open or end a stream.
    fn block(&mut self, dir: Dir, block: ReadBlock, frame: &Bytes) -> Verdict {
        let (stream, ends) = (block.stream, block.ends_stream());
        let is_new = dir == Dir::Req && stream > self.last_stream;
        if is_new {
            self.last_stream = stream;
        }
        let encoding = block.text(b"grpc-encoding");
        match self.streams.get(stream) {
            None if is_new && !ends => {
                let fields = block.fields.iter().map(|(name, value)| {
                    (String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(value).into_owned())
                });
                let head = Head::new(fields.collect());
                self.events.push_back(SpliceEvent::Opened { stream, head });
            }
            None => {}
            Some(StreamState::Undecided(_)) if !ends => self.streams.note_headers(stream, dir, encoding),
            // No message of this direction can match.
            Some(StreamState::Undecided(undecided)) if undecided.held[index(dir)].is_empty() => {
                self.leave(stream);
            }
            Some(StreamState::Undecided(_)) => {
                self.arm(stream);
                return self.end_half(dir, stream, HalfEnd::Trailers(block), Some(frame));
            }
            Some(StreamState::Armed(_)) if ends => {
                return self.end_half(dir, stream, HalfEnd::Trailers(block), Some(frame));
            }
            Some(StreamState::Armed(_)) => self.streams.note_headers(stream, dir, encoding),
            Some(StreamState::Ending | StreamState::Closed) => {
                self.halves[index(dir)].blocks.recode();
                if ends && dir == Dir::Req {
                    self.end_of_ending(stream);
                }
                return Verdict::Taken;
            }
        }
        self.send_block(dir, block, frame)
    }

    /// Sends a block that was just read. `frame` is its last frame.
    pub(super) fn send_block(&mut self, dir: Dir, mut block: ReadBlock, frame: &Bytes) -> Verdict {
        let half = &mut self.halves[index(dir)];
        let frames = match half.blocks.form(&mut block) {
            BlockForm::Unchanged if !half.is_stalled() => return Verdict::Pass,
            BlockForm::Unchanged => frame.clone(),
            BlockForm::Frames(frames) => frames,
        };
        half.send_in_order(block.stream, true, frames);
        Verdict::Taken
    }

    /// Notes the settings of a peer, which limit the direction towards this peer.
    fn settings(&mut self, dir: Dir, payload: &[u8]) -> Result<(), &'static str> {
        let towards = dir.opposite();
        let mut window = None;
        for entry in payload.chunks_exact(6) {
            let [a, b, value @ ..] = entry else { continue };
            let Ok(value) = <[u8; 4]>::try_from(value) else { continue };
            if u16::from_be_bytes([*a, *b]) == INITIAL_WINDOW_SIZE {
                window = Some(i64::from(u32::from_be_bytes(value)));
            }
        }
        self.halves[index(towards)].windows.announce(window)?;
        self.resize_streams(towards);
        Ok(())
    }

    /// Gives the armed streams the window of new streams, if it has changed.
    fn resize_streams(&mut self, towards: Dir) {
        let half = &mut self.halves[index(towards)];
        let size = half.windows.in_force();
        let change = size - std::mem::replace(&mut half.initial_window, size);
        if change != 0 {
            self.streams.resize(towards, change);
            self.send_pending(towards);
        }
        self.arm_long_requests();
    }

    /// Arms undecided streams until the first requests of all others can be complete.
    ///
    /// Their senders get no window back, and connections begin with little window.
    pub(super) fn arm_long_requests(&mut self) {
        let window = self.halves[index(Dir::Req)].initial_window.min(DEFAULT_WINDOW);
        let room = usize::try_from(window).unwrap_or(0);
        while self.streams.totals().expected > room
            && let Some(longest) = self.streams.longest_request()
        {
            self.arm(longest);
        }
    }

    /// Ends a stream by RST_STREAM, unless it has ended.
    fn reset_frame(&mut self, dir: Dir, head: FrameHead, frame: &Bytes) -> Verdict {
        let half = &mut self.halves[index(dir)];
        if matches!(self.streams.get(head.stream), Some(StreamState::Closed)) {
            return Verdict::Taken;
        }
        match self.streams.remove(head.stream) {
            None if !half.is_stalled() => Verdict::Pass,
            None => {
                half.send_reset(head.stream, frame.clone());
                Verdict::Taken
            }
            Some(StreamState::Undecided(undecided)) => {
                self.events.push_back(SpliceEvent::Ended { stream: head.stream });
                // The frames would have passed before the reset.
                self.replay_unchanged(*undecided);
                let half = &mut self.halves[index(dir)];
                if !half.is_stalled() {
                    return Verdict::Pass;
                }
                half.send_reset(head.stream, frame.clone());
                Verdict::Taken
            }
            Some(StreamState::Armed(mut halves)) => {
                let response = &mut halves[index(Dir::Resp)];
                if dir == Dir::Resp && response.end.is_some() {
                    // The server wants no more of the request; the response is complete.
                    response.reset = Some(frame.clone());
                    halves[index(Dir::Req)].abandon();
                    self.streams.insert(head.stream, StreamState::Armed(halves));
                    return Verdict::Taken;
                }
                self.events.push_back(SpliceEvent::Ended { stream: head.stream });
                Verdict::Pass
            }
            Some(StreamState::Ending | StreamState::Closed) => Verdict::Pass,
        }
    }

    /// Lowers the last stream of a GOAWAY after an own one.
    fn go_away_frame(&mut self, frame: &Bytes) -> Verdict {
        let Some((limit, last)) = self.going_away.zip(frame[9..].first_chunk::<4>()) else {
            return Verdict::Pass;
        };
        // The last stream of a later GOAWAY must not be higher (RFC 9113, "GOAWAY").
        if u32::from_be_bytes(*last) <= limit {
            return Verdict::Pass;
        }
        let changed = [&frame[..9], &limit.to_be_bytes(), &frame[13..]].concat();
        self.halves[index(Dir::Resp)].push_frame(changed.into());
        Verdict::Taken
    }

    fn window_update(&mut self, dir: Dir, head: FrameHead, frame: &Bytes) -> Result<Verdict, &'static str> {
        let size = frame[9..].try_into().map_err(|_| "sends a WINDOW_UPDATE of a wrong length")?;
        let size = u32::from_be_bytes(size) & 0x7fff_ffff;
        let towards = dir.opposite();
        if head.stream == 0 {
            let left = self.halves[index(towards)].grant(size);
            self.halves[index(towards)].send_stalled();
            self.return_credit(towards);
            self.send_pending(towards);
            if left == size {
                return Ok(Verdict::Pass);
            }
            if left > 0 {
                self.halves[index(dir)].push_frame(window_update(0, left));
            }
            return Ok(Verdict::Taken);
        }
        let mut state = self.streams.change(head.stream);
        match state.as_deref_mut() {
            None => Ok(Verdict::Pass),
            Some(StreamState::Undecided(undecided)) => {
                undecided.hold(dir, head, frame);
                if undecided.bytes > MAX_UNDECIDED_REQUEST_BYTES {
                    drop(state);
                    self.arm(head.stream);
                }
                Ok(Verdict::Taken)
            }
            Some(StreamState::Armed(_)) => {
                drop(state);
                self.widen(towards, head.stream, size);
                Ok(Verdict::Taken)
            }
            Some(StreamState::Ending | StreamState::Closed) => Ok(Verdict::Taken),
        }
    }

    /// Handles a DATA frame that was read completely: of an undecided stream, or without window.
    fn held_data(&mut self, dir: Dir, head: FrameHead, frame: &Bytes) -> Result<Verdict, &'static str> {
        let mut state = self.streams.change(head.stream);
        let undecided = match state.as_deref_mut() {
            Some(StreamState::Undecided(undecided)) => undecided,
            None => {
                self.halves[index(dir)].send_data(head, frame);
                return Ok(Verdict::Taken);
            }
            // The stream was decided about while the frame arrived.
            Some(_) => {
                drop(state);
                self.whole_data(dir, head, frame)?;
                return Ok(Verdict::Taken);
            }
        };
        undecided.hold(dir, head, frame);
        if dir == Dir::Req {
            let payload =
                unpadded(&frame[9..], head.flags).ok_or("sends DATA with more padding than frame")?;
            let mut payload = payload;
            let first = undecided.first.next(&mut payload, self.max_message_bytes);
            let encoding = undecided.encodings[index(dir)].clone();
            drop(state);
            match first {
                Ok(Some(first)) => {
                    let message = spliced(head.stream, dir, encoding, first);
                    self.events.push_back(SpliceEvent::FirstRequest { message });
                }
                Ok(None) if head.flags & END_STREAM != 0 => self.leave(head.stream),
                // A message that is too long is reported by the armed stream.
                Ok(None) | Err(TooLong { .. }) => self.arm_long_requests(),
            }
        }
        Ok(Verdict::Taken)
    }

    /// Reads a complete DATA frame of a stream that does not pass.
    pub(super) fn whole_data(
        &mut self,
        dir: Dir,
        head: FrameHead,
        frame: &Bytes,
    ) -> Result<(), &'static str> {
        self.halves[index(dir)].credit += head.len as u32;
        let payload = frame.slice(9..);
        let bytes = unpadded(&payload, head.flags).ok_or("sends DATA with more padding than frame")?;
        self.data(dir, head.stream, bytes, head.len);
        if head.flags & END_STREAM != 0 {
            self.data_ended(dir, head.stream);
        }
        Ok(())
    }

    /// The sender has ended a direction with DATA.
    fn data_ended(&mut self, dir: Dir, stream: u32) {
        match self.streams.get(stream) {
            Some(StreamState::Armed(_)) => {
                self.end_half(dir, stream, HalfEnd::Data, None);
            }
            Some(StreamState::Ending) if dir == Dir::Req => self.end_of_ending(stream),
            _ => {}
        }
    }

    /// Lets the frames of a stream pass that were held.
    pub(super) fn replay_unchanged(&mut self, undecided: Undecided) {
        for (dir, held) in Dir::ALL.into_iter().zip(undecided.held) {
            let half = &mut self.halves[index(dir)];
            for (head, frame) in held {
                match head.kind {
                    DATA => half.send_data(head, &frame),
                    _ => half.push_frame(frame),
                }
            }
        }
    }

    /// Reads a part of a DATA frame whose bytes do not pass.
    pub(super) fn data_part(&mut self, dir: Dir, mut frame: DataFrame) -> Result<(), &'static str> {
        let half = &mut self.halves[index(dir)];
        let (stream, before) = (frame.head.stream, frame.left);
        let mut part = Bytes::new();
        match frame.pad {
            None if frame.left == 0 => return Err("sends padded DATA without a padding length"),
            None => {
                let pad = usize::from(half.take(1)[0]);
                frame.left -= 1;
                if pad > frame.left {
                    return Err("sends DATA with more padding than frame");
                }
                frame.pad = Some(pad);
            }
            Some(pad) => {
                let rest = half.rest().len();
                part = half.take(rest.min(frame.left.saturating_sub(pad)));
                frame.left -= part.len();
                let padding = if frame.left <= pad { frame.left.min(rest - part.len()) } else { 0 };
                half.take(padding);
                frame.left -= padding;
            }
        }
        let is_over = frame.left == 0;
        half.state = if is_over { ParseState::Head } else { ParseState::Data(frame) };
        // The sender was charged for padding too.
        let charged = before - frame.left;
        half.credit += charged as u32;
        self.data(dir, stream, &part, charged);
        if is_over && frame.head.flags & END_STREAM != 0 {
            self.data_ended(dir, stream);
        }
        Ok(())
    }

    /// The client has ended its direction after the response was complete.
    pub(super) fn end_of_ending(&mut self, stream: u32) {
        if matches!(self.streams.get(stream), Some(StreamState::Ending)) {
            self.streams.remove(stream);
            self.halves[index(Dir::Req)].push_data(stream, END_STREAM, Bytes::new());
        }
    }
}

/// Returns a message for the caller.
pub(super) fn spliced(
    stream: u32,
    dir: Dir,
    encoding: Option<String>,
    Assembled { is_compressed, bytes }: Assembled,
) -> SplicedMessage {
    let encoding = is_compressed.then(|| encoding.unwrap_or_else(|| "identity".to_owned()));
    SplicedMessage { stream, dir, encoding, bytes: bytes.into() }
}

/// Returns a WINDOW_UPDATE frame.
pub(super) fn window_update(stream: u32, bytes: u32) -> Bytes {
    short_frame(WINDOW_UPDATE, stream, bytes)
}

/// Returns a frame whose payload is a number.
pub(super) fn short_frame(kind: u8, stream: u32, value: u32) -> Bytes {
    let mut out = Vec::with_capacity(13);
    put_head(&mut out, 4, kind, 0, stream);
    out.extend_from_slice(&value.to_be_bytes());
    out.into()
}
