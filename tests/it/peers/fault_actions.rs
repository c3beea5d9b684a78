//! Actions of an armed tap that break or starve a connection of a real Envoy, and taps that are
//! killed while they hold messages: Envoy and control plane agree afterwards.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::peers::intercept::{Scene, words};
use crate::support::{
    bootstrap::Variant,
    snapshot::{ENDPOINTS, endpoints},
    wait::{quiet_for, wait_for},
};

/// Time in which a client would answer a push, or connect again.
const SILENCE: Duration = Duration::from_secs(1);

const VARIANTS: [(&str, Variant); 2] = [("ads", Variant::Ads), ("delta", Variant::DeltaAds)];

impl Scene {
    /// Serves version 3 of the endpoints, with another address than before. Returns the mark before.
    fn change_again(&mut self) -> usize {
        let mark = self.plane.mark();
        let moved = endpoints("echo", "127.0.0.1:9".parse().expect("an address"));
        self.plane.set(&self.chain.clone().with(ENDPOINTS, "3", vec![moved]));
        mark
    }

    /// Kills the tap, and starts one without faults in its place.
    fn replace_tap(&mut self) {
        let folder = self.world.folder().join("again");
        self.tap.restart(&folder, self.plane.address());
    }
}

/// Acts on a settled Envoy of each variant, behind a tap with a fault.
fn with_fault(name: &str, fault: &str, act: impl Fn(Scene, Variant)) {
    for (suffix, variant) in VARIANTS {
        let Some(mut scene) = Scene::open(&format!("{name}_{suffix}"), variant, &[fault]) else { return };
        scene.settle();
        act(scene, variant);
    }
}

#[test]
fn throttled_push_arrives_at_the_rate() {
    with_fault("throttled", "type:eds kind:push version:2 => throttle 100B/s", |mut scene, variant| {
        let start = Instant::now();
        let mark = scene.change_endpoints("2");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        // An endpoint has more than 100 bytes.
        assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
        assert_eq!(words(&scene.converge(variant)), ["delayed"]);
    });
}

#[test]
fn truncated_push_ends_the_stream_of_envoy() {
    with_fault("truncated", "type:eds kind:push version:2 => truncate times=1", |mut scene, variant| {
        let mark = scene.change_endpoints("2");
        scene.plane.wait_for(mark, "another stream", |e| e.event == "open");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        assert_eq!(words(&scene.converge(variant)), ["changed"]);
    });
}

#[test]
fn corrupt_push_is_overcome() {
    with_fault("corrupt", "type:eds kind:push version:2 => corrupt times=1", |mut scene, variant| {
        let mark = scene.change_endpoints("2");
        wait_for("the push", || scene.tap.says("push changed by fault 1").then_some(()));
        scene.plane.close_streams(14, "scripted");
        scene.plane.wait_for(mark, "another stream", |e| e.event == "open");
        let mark = scene.change_again();
        scene.plane.wait_for_ack(mark, ENDPOINTS, "3");
        assert_eq!(words(&scene.converge(variant)), ["changed"]);
    });
}

#[test]
fn black_hole_lasts_until_the_connection_is_gone() {
    with_fault("black_hole", "type:eds kind:push version:2 => blackhole", |mut scene, variant| {
        let mark = scene.change_endpoints("2");
        wait_for("the black hole", || {
            scene.tap.log().contains("connection silenced by fault 1").then_some(())
        });
        quiet_for(SILENCE, "an answer or another stream through a black hole", || {
            scene.plane.events(mark).iter().any(|e| e.event == "open" || e.is_request(ENDPOINTS))
        });
        scene.replace_tap();
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        scene.converge(variant);
    });
}

#[test]
fn goaway_moves_later_streams_to_another_connection() {
    with_fault("goaway", "type:eds kind:push version:2 => goaway times=1", |mut scene, variant| {
        let mark = scene.change_endpoints("2");
        scene.plane.wait_for_ack(mark, ENDPOINTS, "2");
        scene.plane.close_streams(14, "scripted");
        scene.plane.wait_for(mark, "another stream", |e| e.event == "open");
        let mark = scene.change_again();
        scene.plane.wait_for_ack(mark, ENDPOINTS, "3");
        let recording = scene.converge(variant);
        assert_eq!(words(&recording), ["goaway"]);
        let streams = recording.objects("status", &[]).into_iter().chain(recording.objects("info", &[]));
        let peers: BTreeSet<String> = streams
            .filter(|object| object["object"] == "stream")
            .filter_map(|stream| stream["peer"].as_str().map(str::to_owned))
            .collect();
        assert!(peers.len() >= 2, "{peers:?}");
    });
}

#[test]
fn clients_recover_from_a_tap_that_dies_while_it_holds_messages() {
    // The first request, the first push, an answer, and a later push; postponed in each way.
    for (name, fault, is_settled) in [
        ("subscribe", "type:cds kind:subscribe => hold 1h", false),
        ("push", "type:cds kind:push => hold 1h", false),
        ("ack", "type:eds kind:ack => hold 1h", false),
        ("later", "type:eds kind:push version:2 => hold 1h", true),
        ("delayed", "type:eds kind:push version:2 => delay 1h", true),
        ("delayed_ack", "type:eds kind:ack => delay 1h nth=2", true),
        ("throttled", "type:eds kind:push version:2 => throttle 1B/s", true),
    ] {
        for (suffix, variant) in VARIANTS {
            let test = format!("killed_while_holding_{name}_{suffix}");
            let Some(mut scene) = Scene::open(&test, variant, &[fault]) else { return };
            if is_settled {
                scene.settle();
                scene.change_endpoints("2");
            }
            wait_for(&format!("{test}: the hold"), || {
                let log = scene.tap.log();
                ["held by fault 1", "delayed by fault 1"].iter().any(|word| log.contains(word)).then_some(())
            });
            let mark = scene.plane.mark();
            scene.replace_tap();
            scene.plane.wait_for(mark, "another stream", |e| e.event == "open");
            scene.envoy.wait_live();
            scene.change_again();
            scene.plane.wait_for_ack(mark, ENDPOINTS, "3");
            scene.converge(variant);
        }
    }
}
