//! Remarks on nonces that do not answer the newest response (docs/protocol.md#e-08,
//! docs/protocol.md#f-09).

use crate::engine::session::{Ambiguity, Outcome, RequestClass, RequestOutcome, SessionEvent, Stream, Track};
use crate::wire::event::Kind;
use crate::wire::{Message, MessageBody};

/// Returns `nonce of #4, which is not the newest`; `None` if the nonce is in order.
pub(super) fn note(stream: &Stream, outcome: &Outcome, message: &Message) -> Option<Box<str>> {
    let SessionEvent::Request(request) = &outcome.what else { return None };
    let nonce = || request.referenced.map(|response| format!("nonce of #{}", response.seq.0));
    if let Some(ambiguous) = request.ambiguous {
        return Some(other_reading(request, ambiguous, message).into());
    }
    let text = match request.class? {
        RequestClass::NonceDropped => "no nonce, after one was used".to_owned(),
        RequestClass::UnknownNonce => crossed(stream, outcome.track?, message),
        RequestClass::OlderNonce => format!("{}, older than one used before", nonce()?),
        RequestClass::StaleNonce if request.answers.is_none() => {
            format!("{}, which is not the newest", nonce()?)
        }
        RequestClass::SettledNonce => format!("{}, which is settled", nonce()?),
        _ => return None,
    };
    Some(text.into())
}

/// Describes both readings of a request whose nonce fits more than one response, or is empty.
fn other_reading(request: &RequestOutcome, ambiguous: Ambiguity, message: &Message) -> String {
    let nonce = match message.request().is_some_and(|request| request.response_nonce.is_empty()) {
        true => "no nonce",
        false => "repeated nonce",
    };
    let is_delta = matches!(message.body, MessageBody::DeltaRequest(_));
    let answered = request.answers.map_or(0, |seq| seq.0);
    match ambiguous {
        Ambiguity::OtherResponse(other) => {
            format!("{nonce}: counts for #{answered}, may mean #{}", other.0)
        }
        Ambiguity::Crossing => format!("{nonce} and no version: accepts #{answered}, or was sent before it"),
        Ambiguity::Verdict(pending) if is_delta => {
            format!("{nonce}: changes names, may also accept #{}", pending.0)
        }
        Ambiguity::Verdict(pending) => {
            format!("{nonce}: not a verdict on #{}, or a refusal by version", pending.0)
        }
    }
}

/// Describes a nonce that no response of the type has.
fn crossed(stream: &Stream, own: usize, message: &Message) -> String {
    let nonce = message.request().map(|request| request.response_nonce);
    let issued =
        |track: &Track| track.responses.get(track.responses.find(nonce?)?).map(|response| response.seq);
    let others = stream.tracks.iter().enumerate().filter(|(index, _)| *index != own);
    let found = others.filter_map(|(_, track)| Some((issued(track)?, track.type_url.as_str()))).next();
    match found {
        Some((seq, url)) => {
            let label = Kind::of_type_url(url).map_or(url, |(kind, _)| kind.label());
            format!("nonce of #{}, which is of {label}", seq.0)
        }
        None => "nonce never issued".to_owned(),
    }
}
