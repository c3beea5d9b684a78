//! Runs a session through the engine and the model.

use crate::session::Engine;
use xdscope_wire::content::{Catalog, UsedContent};

use super::frames::{frame, stream_id, type_url};
use super::observed;
use super::script::{Step, StepEvent};
use super::world::{MessageFacts, World};

/// A place where engine and model differ.
#[derive(Debug)]
pub(super) struct Difference {
    /// The step after which they differ.
    pub(super) step: usize,
    /// Both sides, for people.
    pub(super) text: String,
}

/// Feeds a session to both, and compares all facts after each step.
///
/// Steps without a place are skipped, so that a session can be shortened anywhere. `drops`: after
/// each step the catalog drops everything to which the engine does not refer.
pub(super) fn run(catalog: &mut Catalog, steps: &[Step], drops: bool) -> Result<World, Difference> {
    let (mut engine, mut world) = (Engine::new(true), World::default());
    for (at, step) in steps.iter().enumerate() {
        if !world.allows(step) {
            world.now += step.wait;
            continue;
        }
        let delta = world.streams.get(step.stream).is_some_and(|stream| stream.delta);
        let expected = world.apply(step);
        let frame = frame(catalog, step, world.now, delta);
        let found = engine.handle(catalog, &frame, false);
        check(at, "effect", &sorted(expected), &observed::effect(catalog, &found.what))?;
        if drops {
            let mut used = UsedContent::default();
            engine.mark(catalog, &mut used);
            catalog.mark_references(&mut used);
            engine.retain_derived(&mut used);
            catalog.retain(used);
        }
        let kinds = world.streams[step.stream].tracks.iter().map(|track| track.kind);
        for kind in kinds.filter(|kind| concerns(&step.event, *kind)).collect::<Vec<_>>() {
            compare_track(catalog, &engine, &world, (at, step.stream, kind))?;
        }
    }
    let last = steps.len().saturating_sub(1);
    for (stream, model) in world.streams.iter().enumerate() {
        for track in &model.tracks {
            compare_track(catalog, &engine, &world, (last, stream, track.kind))?;
        }
    }
    Ok(world)
}

/// Whether an event can change a type of its stream: types are independent
/// (docs/protocol.md#i-01). The end of the session compares all of them.
fn concerns(event: &StepEvent, of: usize) -> bool {
    match event {
        StepEvent::Request { kind, .. } | StepEvent::Response { kind, .. } => *kind == of,
        _ => true,
    }
}

fn compare_track(
    catalog: &Catalog,
    engine: &Engine,
    world: &World,
    (at, stream, kind): (usize, usize, usize),
) -> Result<(), Difference> {
    let expected = world.streams[stream].find(kind).map(|track| track.facts(world.now));
    let found = engine.stream(stream_id(stream)).and_then(|stream| stream.find(&type_url(kind)));
    let found = found.map(|track| observed::track(catalog, track, world.now));
    check(at, super::script::TYPES[kind], &expected, &found)
}

fn check<T: PartialEq + std::fmt::Debug>(
    step: usize,
    what: &str,
    expected: &T,
    found: &T,
) -> Result<(), Difference> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (format!("{expected:#?}"), format!("{found:#?}"));
    let diff = similar::TextDiff::from_lines(&expected, &found);
    let text = format!("{what} (- model, + engine):\n{}", diff.unified_diff().context_radius(4));
    Err(Difference { step, text })
}

/// Lists of names have no order.
fn sorted(mut effect: MessageFacts) -> MessageFacts {
    let lists = match &mut effect {
        MessageFacts::None => return effect,
        MessageFacts::Request(facts) => vec![&mut facts.added, &mut facts.removed],
        MessageFacts::Response(facts) => vec![&mut facts.added, &mut facts.changed, &mut facts.removed],
    };
    lists.into_iter().for_each(|list| list.sort_unstable());
    effect
}
