//! Promises of the screens, on recordings of real control planes and clients.

use xdscope_engine::store::MessageKind;
use xdscope_wire::event::Kind;
use xdscope_wire::text::type_label;

use crate::input::screen_id::ScreenId;
use crate::tests::script::ScriptedStore;
use crate::tests::{ASCII, PLAIN, drawn, drawn_text, model, type_keys};

use super::meshes::RECORDINGS;
use super::places::replayed;

/// Clients of Istio, Envoy Gateway, Consul, gRPC and Kuma.
const MESHES: &str = "tests/fixtures/tui/meshes.xds";
const SCREENS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

fn sources() -> impl Iterator<Item = (&'static str, ScriptedStore)> {
    RECORDINGS.into_iter().chain([MESHES]).map(|path| (path, ScriptedStore::recorded(path)))
}

#[test]
fn client_with_the_worst_problem_is_the_first_row() {
    for (path, source) in sources() {
        let mut model = model(100, 30, PLAIN);
        type_keys(&mut model, &source.data(), "");
        let rows = &model.screens.overview.table.rows;
        assert!(!rows.is_empty(), "{path}");
        let problems = &model.common.problems;
        if problems.count() > 0 {
            assert_eq!(problems.worst.of_row(&rows[0]), Some(0), "{path}\n{}", drawn_text(&model));
        }
    }
}

#[test]
fn filters_show_what_the_messages_have() {
    for (path, source) in sources() {
        let store = source.store();
        let rows = || store.first_row()..store.rows();
        let types = ["cds", "eds", "lds", "rds", "sds"].map(|word| (format!("type:{word}"), word));
        for (filter, word) in types {
            let kind =
                |row: usize| store.place_of(row).map(|(_, url)| type_label(url.as_str()).to_lowercase());
            let wanted = rows().filter(|row| kind(*row).as_deref() == Some(word)).count();
            let mut model = replayed(&source, "3");
            type_keys(&mut model, &source.data(), &format!("/{filter}<enter>"));
            assert_eq!(model.screens.timeline.index.len(), wanted, "{path} {filter}");
            // A wrong expression keeps the rows of the last good one.
            type_keys(&mut model, &source.data(), "/kind:nak");
            assert!(model.screens.timeline.index.len() >= wanted.min(1), "{path}");
        }
        let is_nack = |row: &usize| store.exchange(*row).is_some_and(|row| row.kind == MessageKind::Nack);
        let mut model = replayed(&source, "3/kind:nack<enter>");
        assert_eq!(model.screens.timeline.index.len(), rows().filter(is_nack).count(), "{path}");
        type_keys(&mut model, &source.data(), "<esc>");
        assert_eq!(model.screens.timeline.index.len(), rows().count(), "{path}");
    }
}

#[test]
fn no_screen_shows_a_private_key_of_a_mesh() {
    for (path, source) in sources() {
        let mut model = model(160, 60, PLAIN);
        for keys in ["3v", "4", "5", "8"] {
            type_keys(&mut model, &source.data(), keys);
            for _ in 0..30 {
                let shown = drawn_text(&model);
                assert!(!shown.contains("PRIVATE KEY"), "{path} {keys}\n{shown}");
                type_keys(&mut model, &source.data(), "j");
            }
        }
    }
}

#[test]
fn screens_of_recordings_are_complete_in_ascii() {
    for (path, source) in sources() {
        for keys in SCREENS {
            let mut model = model(120, 36, ASCII);
            type_keys(&mut model, &source.data(), keys);
            let other = drawn(&model).content.iter().find(|cell| !cell.symbol().is_ascii()).cloned();
            assert!(other.is_none(), "{path} {keys}: {other:?}");
        }
    }
}

/// The place of each problem is the same from each screen, on all recordings.
#[test]
fn problems_of_recordings_lead_to_a_screen_with_their_names() {
    for (path, source) in sources() {
        let mut first = replayed(&source, "");
        first.common.size = (160, 45);
        for _ in 0..first.common.problems.count().min(12) {
            type_keys(&mut first, &source.data(), "}");
            let Some(problem) = first.common.problems.chosen().cloned() else { continue };
            let mut model = first.clone();
            type_keys(&mut model, &source.data(), "<enter>");
            assert_ne!(model.screen, ScreenId::Overview, "{path}\n{}", drawn_text(&model));
            let is_typed = Kind::of_type_url(problem.type_url.as_str()).is_some();
            let label = type_label(problem.type_url.as_str());
            assert!(
                !is_typed || drawn_text(&model).contains(&label),
                "{path} {label}\n{}",
                drawn_text(&model)
            );
        }
    }
}
