//! Remarks on nonces that do not answer the newest response (docs/protocol.md#e-08,
//! docs/protocol.md#f-09).

use crate::session::{Ambiguity, Engine, Outcome, RequestClass, RequestOutcome, SessionEvent, Stream, Track};
use xdscope_wire::event::Seq;
use xdscope_wire::{Message, MessageBody};

use super::row_note::{NonceNote, NonceReadings, RowNote};

/// Returns the remark on a request; `None` if its nonce is in order.
pub(crate) fn note(
    engine: &Engine,
    stream: &Stream,
    outcome: &Outcome,
    message: &Message,
) -> Option<RowNote> {
    let SessionEvent::Request(request) = &outcome.what else { return None };
    let nonce = || request.referenced.map(|response| response.seq);
    if let Some(ambiguous) = request.ambiguous {
        return Some(RowNote::Nonce(both_readings(request, ambiguous, message)));
    }
    let Some(class) = request.class else {
        // A delta verdict on a response before the recording, after one on a recorded response.
        return (!request.partial).then_some(RowNote::Nonce(NonceNote::NotRecorded));
    };
    let note = match class {
        RequestClass::NonceDropped => NonceNote::Missing,
        RequestClass::Initial if message.request()?.response_nonce.is_empty() => return None,
        RequestClass::Initial | RequestClass::UnknownNonce => {
            crossed(engine, stream, outcome.track?, message)?
        }
        RequestClass::OlderNonce => NonceNote::Older(nonce()?),
        RequestClass::StaleNonce if request.answers.is_none() => NonceNote::NotNewest(nonce()?),
        RequestClass::SettledNonce => NonceNote::Settled(nonce()?),
        RequestClass::NewestNonce if request.is_late_nack() => NonceNote::Settled(nonce()?),
        _ => return None,
    };
    Some(RowNote::Nonce(note))
}

/// Returns both readings of a request whose nonce fits more than one response, or is empty.
fn both_readings(request: &RequestOutcome, ambiguous: Ambiguity, message: &Message) -> NonceNote {
    let is_empty = message.request().is_some_and(|request| request.response_nonce.is_empty());
    let is_delta = matches!(message.body, MessageBody::DeltaRequest(_));
    let answered = request.answers.unwrap_or(Seq(0));
    let readings = match ambiguous {
        Ambiguity::OtherResponse(other) => NonceReadings::OtherResponse(answered, other),
        Ambiguity::Crossing => NonceReadings::Crossing(answered),
        Ambiguity::Verdict(pending) if is_delta => NonceReadings::NamesOrAck(pending),
        Ambiguity::Verdict(pending) => NonceReadings::NoVerdictOrRefusal(pending),
    };
    NonceNote::Ambiguous { is_empty, readings }
}

/// Describes a nonce that no response of the type has on its stream.
fn crossed(engine: &Engine, stream: &Stream, own: usize, message: &Message) -> Option<NonceNote> {
    let nonce = message.request()?.response_nonce;
    let track = stream.tracks.get(own)?;
    let issued =
        |track: &Track| track.responses.get(track.responses.find(nonce)?).map(|response| response.seq);
    let others = stream.tracks.iter().enumerate().filter(|(index, _)| *index != own);
    let mut found: Vec<_> =
        others.filter_map(|(_, track)| Some((issued(track)?, track.type_url.clone()))).collect();
    // A response without a type may be of any type.
    found.sort_by_key(|(_, type_url)| type_url.is_empty());
    if let Some((response, type_url)) = found.into_iter().next() {
        return Some(NonceNote::OfOtherType { response, type_url });
    }
    if let Some((stream, response)) = engine.issued_before(stream, &track.type_url, nonce) {
        return Some(NonceNote::OfEarlierStream { response, stream });
    }
    Some(if track.completeness.has_lost { NonceNote::NotRecorded } else { NonceNote::Unknown })
}
