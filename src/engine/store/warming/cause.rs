//! The intervention of xdscope because of which a resource warms.

use std::sync::Arc;

use crate::session::{Consequence, NeededResource, Stream, Track};
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Dir, Nonce, Seq};

use crate::store::Store;

/// Returns the intervention because of which a resource of a track warms since a response: one
/// in that resource or in those that it needs, else one in any type of the stream.
pub(super) fn cause_of_warming(
    store: &Store,
    stream: &Stream,
    track: &Track,
    name: &Arc<str>,
    response: Seq,
    needs: &[NeededResource],
) -> Option<Arc<InterventionFacts>> {
    // Resources that the client needs once more have overtaken the response.
    if needs.iter().any(|need| need.is_resend)
        && let Some(cause) = postponed(stream, track, response)
    {
        return Some(cause.clone());
    }
    let own = cause_of_lack(track, name);
    if let Some(own) = own
        && let Some(diverged) = &track.interventions.diverged
        && diverged.has_lost_resource(name)
    {
        return Some(own.clone());
    }
    if let Some(cause) = needs.iter().find_map(|need| cause_of_missing_need(store, stream, need)) {
        return Some(cause);
    }
    own.or_else(|| stream.tracks.iter().find_map(|track| track.caused_by(&Consequence::default()))).cloned()
}

/// Returns the intervention because of which a client lacks a resource that another one needs.
fn cause_of_missing_need(
    store: &Store,
    stream: &Stream,
    need: &NeededResource,
) -> Option<Arc<InterventionFacts>> {
    let carriers = store.carriers(stream, need.kind);
    let tracks = carriers.iter().flat_map(|carrier| &carrier.tracks);
    let mut tracks = tracks.filter(|track| track.kind == Some(need.kind));
    tracks.find_map(|track| cause_of_lack(track, &need.name).cloned())
}

/// Returns the intervention that sent a response later than the server did.
fn postponed<'a>(stream: &'a Stream, track: &Track, response: Seq) -> Option<&'a Arc<InterventionFacts>> {
    let is_of_type = |facts: &&Arc<InterventionFacts>| {
        facts.interference.postpones() && facts.dir == Dir::Resp && facts.type_url == track.type_url
    };
    let is_response = |facts: &&Arc<InterventionFacts>| {
        let nonce = Nonce::from(&*facts.nonce);
        let mut sent = track.responses.with_nonce(&nonce).filter_map(|order| track.responses.get(order));
        sent.any(|sent| sent.seq == response)
    };
    stream.interventions.iter().rev().filter(is_of_type).find(is_response)
}

/// Returns the intervention because of which a client lacks a resource of a type.
fn cause_of_lack<'a>(track: &'a Track, name: &Arc<str>) -> Option<&'a Arc<InterventionFacts>> {
    let names = std::slice::from_ref(name);
    track.caused_by(&Consequence { names, dir: Some(Dir::Resp), ..Consequence::default() })
}
