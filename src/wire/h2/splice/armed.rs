//! Armed streams: what the caller does, and the flow control of what it sends.

use bytes::Bytes;

use super::super::literal::{MAX_FRAME_BYTES, block_frames, put_head, put_literals};
use super::super::{END_STREAM, GOAWAY, RST_STREAM, WINDOW_UPDATE, index};
use super::frames::{short_frame, spliced, window_update};
use super::stream::{ArmedHalf, HalfEnd, StreamState, TooLong, Undecided};
use super::{SpliceEvent, SplicedMessage, Splicer, Verdict};
use crate::event::Dir;

/// `CANCEL` and `NO_ERROR` (RFC 9113, "Error Codes").
const CANCEL: u32 = 8;
const NO_ERROR: u32 = 0;

impl Splicer {
    /// Hands over all messages of a stream from now on.
    pub fn arm(&mut self, stream: u32) {
        let mut halves = [ArmedHalf::default(), ArmedHalf::default()];
        for (dir, half) in Dir::ALL.into_iter().zip(&mut halves) {
            half.resize(self.halves[index(dir)].initial_window);
        }
        halves[index(Dir::Req)].has_headers = true;
        let held = match self.streams.remove(stream) {
            Some(StreamState::Undecided(undecided)) => {
                let Undecided { held, encodings, has_response_headers, .. } = *undecided;
                halves[index(Dir::Resp)].has_headers = has_response_headers;
                for (half, encoding) in halves.iter_mut().zip(encodings) {
                    half.encoding = encoding;
                }
                held
            }
            _ => Default::default(),
        };
        self.streams.insert(stream, StreamState::Armed(Box::new(halves)));
        for (dir, held) in Dir::ALL.into_iter().zip(held) {
            for (head, frame) in held {
                let payload = frame.slice(9..);
                match head.kind {
                    WINDOW_UPDATE => {
                        let size = payload.as_ref().try_into().map_or(0, u32::from_be_bytes);
                        self.widen(dir.opposite(), stream, size & 0x7fff_ffff);
                    }
                    // An error is repeated for the next DATA of the stream.
                    _ => {
                        let _ = self.whole_data(dir, head, &frame);
                    }
                }
            }
            self.return_credit(dir);
        }
    }

    /// Keeps the frames of a stream until its first message is complete.
    pub fn watch(&mut self, stream: u32) {
        self.streams.insert(stream, StreamState::Undecided(Box::default()));
        self.arm_long_requests();
    }

    /// Lets a watched stream pass.
    pub fn pass(&mut self, stream: u32) {
        match self.streams.remove(stream) {
            Some(StreamState::Undecided(undecided)) => self.replay_unchanged(*undecided),
            Some(other) => {
                self.streams.insert(stream, other);
            }
            None => {}
        }
    }

    /// Lets a watched stream pass on which no first request comes.
    pub(super) fn leave(&mut self, stream: u32) {
        self.pass(stream);
        self.events.push_back(SpliceEvent::Ended { stream });
    }

    /// Counts a message that was handed over as decided about, after what was sent in its place.
    ///
    /// The end of the direction waits for the last message.
    pub fn settle(&mut self, message: &SplicedMessage) {
        let SplicedMessage { stream, dir, bytes, .. } = message;
        let mut state = self.streams.change(*stream);
        if let Some(StreamState::Armed(halves)) = state.as_deref_mut() {
            halves[index(*dir)].settle(bytes.len());
            drop(state);
            self.send_pending_of(*dir, *stream);
        }
    }

    /// Sends a message. Returns false if the stream has ended.
    pub fn send(&mut self, message: &SplicedMessage) -> bool {
        let SplicedMessage { stream, dir, encoding, bytes } = message;
        let mut state = self.streams.change(*stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return false };
        let half = &mut halves[index(*dir)];
        if half.is_ended {
            return false;
        }
        let mut prefix = vec![u8::from(encoding.is_some())];
        prefix.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        half.queue(prefix.into());
        half.queue(bytes.clone());
        drop(state);
        self.send_pending_of(*dir, *stream);
        true
    }

    /// Ends a stream with a status for the client. `message` is percent-encoded.
    ///
    /// Returns false if the stream has ended.
    pub fn end_with_status(&mut self, stream: u32, code: u32, message: &str) -> bool {
        let Some(StreamState::Armed(halves)) = self.streams.get(stream) else { return false };
        let is_begun = halves[index(Dir::Resp)].has_headers;
        let is_over = halves[index(Dir::Req)].end.is_some();
        let mut fields = Vec::new();
        if !is_begun {
            fields.push((b":status".to_vec(), b"200".to_vec()));
            fields.push((b"content-type".to_vec(), b"application/grpc".to_vec()));
        }
        fields.push((b"grpc-status".to_vec(), code.to_string().into_bytes()));
        fields.push((b"grpc-message".to_vec(), message.as_bytes().to_vec()));
        let mut payload = Vec::new();
        put_literals(&mut payload, &fields);
        let responses = &mut self.halves[index(Dir::Resp)];
        responses.push_frame(block_frames(stream, END_STREAM, &payload));
        if !is_over {
            responses.push_frame(short_frame(RST_STREAM, stream, NO_ERROR));
        }
        self.halves[index(Dir::Req)].push_frame(short_frame(RST_STREAM, stream, CANCEL));
        self.close(stream);
        true
    }

    /// Resets a stream on both sides, for the client with this error code.
    ///
    /// Returns false if the stream has ended.
    pub fn reset(&mut self, stream: u32, code: u32) -> bool {
        let is_armed = matches!(self.streams.get(stream), Some(StreamState::Armed(_)));
        if is_armed {
            self.halves[index(Dir::Resp)].push_frame(short_frame(RST_STREAM, stream, code));
            self.halves[index(Dir::Req)].push_frame(short_frame(RST_STREAM, stream, CANCEL));
            self.close(stream);
        }
        is_armed
    }

    /// Tells the client to open no more streams on this connection.
    pub fn go_away(&mut self) {
        self.going_away = Some(self.last_stream);
        let mut frame = Vec::with_capacity(17);
        put_head(&mut frame, 8, GOAWAY, 0, 0);
        frame.extend_from_slice(&self.last_stream.to_be_bytes());
        frame.extend_from_slice(&NO_ERROR.to_be_bytes());
        self.halves[index(Dir::Resp)].push_frame(frame.into());
    }

    fn close(&mut self, stream: u32) {
        self.streams.insert(stream, StreamState::Closed);
        self.events.push_back(SpliceEvent::Ended { stream });
    }

    /// Adds a window update to an armed stream, and sends the messages that wait for it.
    pub(super) fn widen(&mut self, towards: Dir, stream: u32, bytes: u32) {
        let mut state = self.streams.change(stream);
        if let Some(StreamState::Armed(halves)) = state.as_deref_mut() {
            halves[index(towards)].widen(bytes);
            drop(state);
            self.send_pending_of(towards, stream);
        }
    }

    /// Reads payload of an armed stream. The sender was charged for `charged` bytes.
    pub(super) fn data(&mut self, dir: Dir, stream: u32, mut bytes: &[u8], charged: usize) {
        let mut state = self.streams.change(stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return };
        let half = &mut halves[index(dir)];
        while !bytes.is_empty() {
            let message = match half.incoming.next(&mut bytes, self.max_message_bytes) {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(TooLong { bytes }) => {
                    self.events.push_back(SpliceEvent::TooLong { stream, bytes });
                    break;
                }
            };
            half.hand_over(message.bytes.len());
            let message = spliced(stream, dir, half.encoding.clone(), message);
            self.events.push_back(SpliceEvent::Message { message });
        }
        half.owe(charged);
        drop(state);
        self.return_stream_credit(dir, stream);
    }

    /// Ends a direction of an armed stream by its sender, behind what waits there.
    ///
    /// `frame` is the last frame of trailers that were just read.
    pub(super) fn end_half(&mut self, dir: Dir, stream: u32, end: HalfEnd, frame: Option<&Bytes>) -> Verdict {
        let mut state = self.streams.change(stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return Verdict::Taken };
        let half = &mut halves[index(dir)];
        let rest = half.incoming.take_rest();
        half.queue(rest);
        match (end, frame) {
            (HalfEnd::Trailers(block), Some(frame)) if half.is_drained() => {
                drop(state);
                let verdict = self.send_block(dir, block, frame);
                self.half_ended(dir, stream);
                verdict
            }
            (end, _) => {
                if matches!(end, HalfEnd::Trailers(_)) {
                    self.halves[index(dir)].blocks.recode();
                }
                half.end = Some(end);
                drop(state);
                self.send_pending_of(dir, stream);
                Verdict::Taken
            }
        }
    }

    /// Notes that the receiver of a direction knows its end.
    fn half_ended(&mut self, dir: Dir, stream: u32) {
        let mut state = self.streams.change(stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return };
        halves[index(dir)].is_ended = true;
        halves[index(dir)].end.get_or_insert(HalfEnd::Data);
        let reset = halves[index(dir)].reset.take();
        let request = &halves[index(Dir::Req)];
        let (is_told, is_over) = (request.is_ended, request.end.is_some());
        let is_answered = halves[index(Dir::Resp)].is_ended;
        drop(state);
        if is_answered {
            // Requests that wait are of no use to a server that has answered.
            self.streams.insert(stream, StreamState::Ending);
            if let Some(reset) = reset {
                self.streams.remove(stream);
                self.halves[index(Dir::Resp)].push_frame(reset);
            } else if is_told {
                self.streams.remove(stream);
            } else if is_over {
                self.end_of_ending(stream);
            }
            self.events.push_back(SpliceEvent::Ended { stream });
        }
    }

    /// Sends what waits in a direction, as far as the windows allow.
    pub(super) fn send_pending(&mut self, dir: Dir) {
        for stream in self.streams.pending(dir) {
            self.send_pending_of(dir, stream);
        }
    }

    /// Sends what waits in a direction of a stream, as far as the windows allow.
    pub(super) fn send_pending_of(&mut self, dir: Dir, stream: u32) {
        let mut state = self.streams.change(stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return };
        let (half, connection) = (&mut halves[index(dir)], &mut self.halves[index(dir)]);
        let mut has_sent_end = false;
        while half.has_pending() {
            let room = half.window.min(connection.window());
            let Ok(room @ 1..) = usize::try_from(room) else { break };
            let bytes = half.take_pending(room.min(MAX_FRAME_BYTES));
            half.window -= bytes.len() as i64;
            connection.charge(bytes.len() as i64);
            has_sent_end = half.is_drained() && matches!(half.end, Some(HalfEnd::Data));
            connection.push_data(stream, if has_sent_end { END_STREAM } else { 0 }, bytes);
        }
        let is_over = half.is_drained() && half.end.is_some() && !half.is_ended;
        if is_over {
            match half.end.take() {
                Some(HalfEnd::Trailers(mut block)) => {
                    let frames = connection.blocks.encode(&mut block);
                    connection.send_in_order(stream, true, frames);
                }
                _ if has_sent_end => {}
                _ => connection.push_data(stream, END_STREAM, Bytes::new()),
            }
            drop(state);
            self.half_ended(dir, stream);
        } else {
            drop(state);
        }
        self.return_stream_credit(dir, stream);
    }

    /// Returns window of a stream to the sender of a direction.
    fn return_stream_credit(&mut self, dir: Dir, stream: u32) {
        let mut state = self.streams.change(stream);
        let Some(StreamState::Armed(halves)) = state.as_deref_mut() else { return };
        let credit = halves[index(dir)].take_credit();
        if credit > 0 {
            self.halves[index(dir.opposite())].push_frame(window_update(stream, credit));
        }
    }

    /// Returns window of the connection to the sender of a direction.
    pub(super) fn return_credit(&mut self, dir: Dir) {
        let credit = std::mem::take(&mut self.halves[index(dir)].credit);
        if credit > 0 {
            self.halves[index(dir.opposite())].push_frame(window_update(0, credit));
        }
    }
}
