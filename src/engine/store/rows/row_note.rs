//! Remarks on rows of the timeline, as facts; `present` words them.

use std::sync::Arc;

use crate::session::NotKeptPart;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};
use xdscope_wire::pb::plain::{Put, Take};
use xdscope_wire::{InterventionFacts, Tls};

use crate::store::EndFact;

/// A remark on a row of the timeline.
#[derive(Clone, Debug)]
pub enum RowNote {
    /// The stream opened.
    Opened {
        /// Path of the method.
        method: String,
        /// The TLS sessions of both legs.
        tls: Tls,
    },
    /// The stream closed.
    Closed(EndFact),
    /// A poll was answered with 304.
    Unchanged,
    /// Messages are missing, or cannot be read.
    Gap(NotKeptPart),
    /// xdscope did something to a message.
    Intercepted(Arc<InterventionFacts>),
    /// The message cannot be decoded, for this reason.
    Undecodable(Arc<str>),
    /// The content of the message is not kept any more.
    NotKept,
    /// The request carries an unusual nonce.
    Nonce(NonceNote),
    /// The response is unusual.
    Response(ResponseNote),
}

/// An unusual nonce of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NonceNote {
    /// None, although the client has used one before.
    Missing,
    /// Never issued.
    Unknown,
    /// Not issued by a recorded response of a stream that is not recorded whole.
    NotRecorded,
    /// Issued for another type.
    OfOtherType {
        /// The response with the nonce.
        response: Seq,
        /// The type of the response; empty if the response states none.
        type_url: TypeUrl,
    },
    /// Issued on an earlier stream of the client.
    OfEarlierStream {
        /// The response with the nonce.
        response: Seq,
        /// The stream of the response.
        stream: StreamId,
    },
    /// Issued by this response, before one that the client has answered.
    Older(Seq),
    /// Issued by this response, which is not the newest.
    NotNewest(Seq),
    /// Issued by this response, which has its verdict.
    Settled(Seq),
    /// Empty, or issued more than once, so that there are two readings of the request.
    Ambiguous {
        /// Whether the nonce is empty.
        is_empty: bool,
        /// Both readings.
        readings: NonceReadings,
    },
}

/// The reading of a request that counts, and the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceReadings {
    /// A verdict on the first response, or on the second one.
    OtherResponse(Seq, Seq),
    /// An ACK of this response, or a request that was sent before it.
    Crossing(Seq),
    /// Delta: a change of names, or an ACK of this response as well.
    NamesOrAck(Seq),
    /// SotW: no verdict on this response, or a refusal by version.
    NoVerdictOrRefusal(Seq),
}

/// An unusual response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseNote {
    /// The first names that the response has more than once.
    pub repeated: Vec<Arc<str>>,
    /// Whether the response has further repeated names.
    pub has_more: bool,
    /// Whether the nonce was issued before on this track.
    pub is_nonce_reused: bool,
}

impl RowNote {
    /// Passes the texts from the wire to `visit` until `visit` returns true. Returns whether it
    /// did.
    pub fn any_text(&self, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        match self {
            RowNote::Opened { method, .. } => visit(method),
            RowNote::Closed(end) => {
                let texts = [&end.message, &end.note].into_iter().flatten();
                end.code.is_some_and(|code| visit(&code.to_string()))
                    || texts.into_iter().any(|text| visit(text))
            }
            RowNote::Intercepted(facts) => {
                visit(facts.interference.word()) || visit(&facts.by) || visit(&facts.version)
            }
            RowNote::Undecodable(reason) => visit(reason),
            RowNote::Response(note) => note.repeated.iter().any(|name| visit(name)),
            RowNote::Unchanged | RowNote::Gap(_) | RowNote::NotKept | RowNote::Nonce(_) => false,
        }
    }

    /// Encodes the remark on a message.
    pub(crate) fn pack(&self, put: &mut Put) {
        match self {
            RowNote::Opened { .. }
            | RowNote::Closed(_)
            | RowNote::Unchanged
            | RowNote::Gap(_)
            | RowNote::Intercepted(_)
            | RowNote::NotKept => put.number(0),
            RowNote::Undecodable(reason) => {
                put.number(1);
                put.text(reason);
            }
            RowNote::Response(note) => {
                put.number(2);
                put.each(note.repeated.iter(), |put, name| put.text(name));
                put.flag(note.has_more);
                put.flag(note.is_nonce_reused);
            }
            RowNote::Nonce(note) => note.pack(put),
        }
    }

    /// Decodes what [`RowNote::pack`] wrote.
    pub(crate) fn unpack(take: &mut Take<'_>) -> Option<RowNote> {
        Some(match take.number()? {
            0 => RowNote::NotKept,
            1 => RowNote::Undecodable(take.text()?.into()),
            2 => RowNote::Response(ResponseNote {
                repeated: take.each(|take| take.text().map(Arc::from))?,
                has_more: take.flag()?,
                is_nonce_reused: take.flag()?,
            }),
            tag => RowNote::Nonce(NonceNote::unpack(tag, take)?),
        })
    }
}

impl NonceNote {
    fn pack(&self, put: &mut Put) {
        let mut put_note = |tag: u64, seqs: &[Seq]| {
            put.number(tag);
            seqs.iter().for_each(|seq| put.number(seq.0));
        };
        match self {
            NonceNote::Missing => put_note(3, &[]),
            NonceNote::Unknown => put_note(4, &[]),
            NonceNote::NotRecorded => put_note(13, &[]),
            NonceNote::OfEarlierStream { response, stream } => {
                put_note(14, &[*response]);
                put.number(u64::from(stream.0));
            }
            NonceNote::Older(seq) => put_note(5, &[*seq]),
            NonceNote::NotNewest(seq) => put_note(6, &[*seq]),
            NonceNote::Settled(seq) => put_note(7, &[*seq]),
            NonceNote::OfOtherType { response, type_url } => {
                put_note(8, &[*response]);
                put.text(type_url.as_str());
            }
            NonceNote::Ambiguous { is_empty, readings } => {
                match readings {
                    NonceReadings::OtherResponse(one, other) => put_note(9, &[*one, *other]),
                    NonceReadings::Crossing(seq) => put_note(10, &[*seq]),
                    NonceReadings::NamesOrAck(seq) => put_note(11, &[*seq]),
                    NonceReadings::NoVerdictOrRefusal(seq) => put_note(12, &[*seq]),
                }
                put.flag(*is_empty);
            }
        }
    }

    fn unpack(tag: u64, take: &mut Take<'_>) -> Option<NonceNote> {
        let mut seq = || take.number().map(Seq);
        let readings = match tag {
            3 => return Some(NonceNote::Missing),
            4 => return Some(NonceNote::Unknown),
            13 => return Some(NonceNote::NotRecorded),
            5 => return Some(NonceNote::Older(seq()?)),
            6 => return Some(NonceNote::NotNewest(seq()?)),
            7 => return Some(NonceNote::Settled(seq()?)),
            8 => {
                let response = seq()?;
                return Some(NonceNote::OfOtherType { response, type_url: TypeUrl::from(take.text()?) });
            }
            14 => {
                let response = seq()?;
                let stream = StreamId(u32::try_from(take.number()?).ok()?);
                return Some(NonceNote::OfEarlierStream { response, stream });
            }
            9 => NonceReadings::OtherResponse(seq()?, seq()?),
            10 => NonceReadings::Crossing(seq()?),
            11 => NonceReadings::NamesOrAck(seq()?),
            12 => NonceReadings::NoVerdictOrRefusal(seq()?),
            _ => return None,
        };
        Some(NonceNote::Ambiguous { is_empty: take.flag()?, readings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let ambiguous = |is_empty, readings| NonceNote::Ambiguous { is_empty, readings };
        let nonces = [
            NonceNote::Missing,
            NonceNote::Unknown,
            NonceNote::OfOtherType { response: Seq(5), type_url: TypeUrl::from("t/A") },
            NonceNote::OfEarlierStream { response: Seq(6), stream: StreamId(2) },
            NonceNote::Older(Seq(1)),
            NonceNote::NotNewest(Seq(2)),
            NonceNote::Settled(Seq(3)),
            ambiguous(true, NonceReadings::OtherResponse(Seq(4), Seq(u64::MAX))),
            ambiguous(false, NonceReadings::Crossing(Seq(6))),
            ambiguous(false, NonceReadings::NamesOrAck(Seq(7))),
            ambiguous(true, NonceReadings::NoVerdictOrRefusal(Seq(8))),
        ];
        for note in nonces {
            let mut put = Put::default();
            RowNote::Nonce(note.clone()).pack(&mut put);
            let Some(RowNote::Nonce(back)) = RowNote::unpack(&mut Take::new(&put.0)) else {
                panic!("{note:?}")
            };
            assert_eq!(back, note);
        }
        let response =
            ResponseNote { repeated: vec!["a".into(), "".into()], has_more: true, is_nonce_reused: false };
        let mut put = Put::default();
        RowNote::Response(response.clone()).pack(&mut put);
        assert!(
            matches!(RowNote::unpack(&mut Take::new(&put.0)), Some(RowNote::Response(back)) if back == response)
        );
    }
}
