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
    (stream, track): (&Stream, &Track),
    (name, response): (&Arc<str>, Seq),
    needs: &[NeededResource],
) -> Option<Arc<InterventionFacts>> {
    // Resources that the client needs once more have overtaken the response.
    if needs.iter().any(|need| need.is_resend)
        && let Some(cause) = postponed(stream, track, response)
    {
        return Some(cause.clone());
    }
    let is_own = track.interventions.diverged.as_ref().is_some_and(|of| of.has_lost_resource(name));
    let own = of_resource(track, name);
    let of_needs = || {
        needs.iter().find_map(|need| {
            let carriers = store.carriers(stream, need.kind);
            let mut tracks = carriers.iter().flat_map(|carrier| carrier.tracks.iter());
            tracks.find_map(|track| {
                of_resource(track, &need.name).filter(|_| track.kind == Some(need.kind)).cloned()
            })
        })
    };
    let others = || stream.tracks.iter().find_map(|track| track.caused_by(&Consequence::default()));
    own.filter(|_| is_own).cloned().or_else(of_needs).or_else(|| own.or_else(others).cloned())
}

/// Returns the intervention that sent a response later than the server did.
fn postponed<'a>(stream: &'a Stream, track: &Track, response: Seq) -> Option<&'a Arc<InterventionFacts>> {
    let is_of_type = |of: &&Arc<InterventionFacts>| {
        of.interference.postpones() && of.dir == Dir::Resp && of.type_url == track.type_url
    };
    let is_response = |of: &&Arc<InterventionFacts>| {
        let nonce = Nonce::from(&*of.nonce);
        let mut sent = track.responses.with_nonce(&nonce).filter_map(|order| track.responses.get(order));
        sent.any(|sent| sent.seq == response)
    };
    stream.interventions.iter().rev().filter(is_of_type).find(is_response)
}

/// Returns the intervention because of which a client lacks a resource of a type.
fn of_resource<'a>(track: &'a Track, name: &Arc<str>) -> Option<&'a Arc<InterventionFacts>> {
    let names = std::slice::from_ref(name);
    track.caused_by(&Consequence { names, dir: Some(Dir::Resp), ..Consequence::default() })
}
