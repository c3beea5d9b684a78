//! The pictures of all screens in `docs/screens` are current.
//!
//! To write them: `UPDATE_PICTURES=1 cargo test --test it pictures::`

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::hold_picture;
use crate::support::tap::xdscope;

/// The session that the pictures show.
const SESSION: &str = "tests/fixtures/tui/gateway.xds";
const FOLDER: &str = "docs/screens";
const PAGE: &str = "docs/screens.md";

/// Screens with their questions, and the keys that bring each to its answer.
const SCREENS: [(&str, &str, &str); 9] = [
    ("overview", "Is every client in sync?", ""),
    ("stream", "What was this client offered, and what does it use?", ""),
    ("timeline", "Which message answers which?", ""),
    ("resources", "What exactly is configured, since when, and what does a field mean?", "<Enter>"),
    ("diff", "What changed?", ""),
    ("nack", "Who refused what, why, and which version was good?", ""),
    ("subs", "Who subscribed to what, and what never arrived?", ""),
    ("graph", "How do resources depend on each other, and what is warming?", ""),
    ("lint", "Which rules of the protocol were broken?", ""),
];
const SIZES: [&str; 3] = ["80x24", "120x36", "200x60"];
const THEMES: [&str; 2] = ["dark", "light"];

/// Clients of Istio, Envoy Gateway, Consul, gRPC and Kuma, and the screens that show their names.
const MESHES: &str = "tests/fixtures/tui/meshes.xds";
const MESH_SCREENS: [&str; 2] = ["overview", "timeline"];
const MESH_SIZES: [&str; 4] = ["80x24", "120x36", "160x45", "200x60"];

/// Size that the page shows; it links the others.
const SHOWN_SIZE: &str = "120x36";
/// Bytes of all pictures.
const MAX_BYTES: usize = 1_500_000;

/// The screen that no recording can show, with its question.
const HOLD: (&str, &str) = ("hold", "What is held, and what will each choice cause?");

fn picture(folder: &Path, session: &str, screen: &str, size: &str, theme: &str, keys: &str) -> String {
    let mut command = xdscope(folder);
    command.args(["picture", session, "--screen", screen, "--size", size, "--theme", theme]);
    command.args(["--time", "utc", "-o", "svg", "--keys", keys]);
    let output = command.output().expect("xdscope runs");
    assert!(output.status.success(), "{screen}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the page that shows the pictures.
fn page() -> String {
    let mut out = String::from(
        "# All screens\n\nOne session, ten questions. `xdscope picture` makes these pictures from\n\
         `tests/fixtures/tui/gateway.xds`; [Show it to someone](share.md) tells how to make your own. Only a live tap\n\
         can show the last screen.\n",
    );
    let screens = SCREENS.iter().map(|(screen, question, _)| (screen, question)).chain([(&HOLD.0, &HOLD.1)]);
    for (at, (screen, question)) in screens.enumerate() {
        let _ = write!(out, "\n## {} {screen}\n\n{question}\n\n", (at + 1) % 10);
        let _ = writeln!(
            out,
            "<picture><source media=\"(prefers-color-scheme: light)\" srcset=\"screens/{screen}-{SHOWN_SIZE}-light.svg\">\
             <img src=\"screens/{screen}-{SHOWN_SIZE}-dark.svg\" alt=\"Screen {screen}: {question}\"></picture>\n"
        );
        let links = SIZES.iter().flat_map(|size| {
            THEMES.iter().map(move |theme| format!("[{size} {theme}](screens/{screen}-{size}-{theme}.svg)"))
        });
        let _ = writeln!(out, "{}", links.collect::<Vec<_>>().join(" · "));
    }
    let _ = write!(
        out,
        "\n## Names of meshes\n\nClients of Istio, Envoy Gateway, Consul, gRPC and Kuma, two of each, from\n\
         `{MESHES}`. The part that tells two names apart stays at each width.\n"
    );
    for screen in MESH_SCREENS {
        let _ = write!(
            out,
            "\n![Screen {screen} of five meshes](screens/meshes-{screen}-{SHOWN_SIZE}-dark.svg)\n\n"
        );
        let links = MESH_SIZES
            .iter()
            .map(|size| format!("[{screen} {size}](screens/meshes-{screen}-{size}-dark.svg)"));
        let _ = writeln!(out, "{}", links.collect::<Vec<_>>().join(" · "));
    }
    out
}

#[test]
fn pictures_of_all_screens_are_current() {
    let home = tempfile::tempdir().expect("a folder");
    let is_update = std::env::var_os("UPDATE_PICTURES").is_some();
    if is_update {
        fs::create_dir_all(FOLDER).expect("a folder");
        fs::write(PAGE, page()).expect("written");
    }
    let (mut stale, mut bytes) = (Vec::new(), 0);
    let mut check = |name: String, drawn: String| {
        let path = format!("{FOLDER}/{name}.svg");
        bytes += drawn.len();
        if is_update {
            fs::write(&path, &drawn).expect("written");
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&drawn) {
            stale.push(path);
        }
    };
    let screens = SCREENS.into_iter().map(|(screen, _, keys)| (screen, Some(keys)));
    for (screen, keys) in screens.chain([(HOLD.0, None)]) {
        for size in SIZES {
            for theme in THEMES {
                let drawn = match keys {
                    Some(keys) => picture(home.path(), SESSION, screen, size, theme, keys),
                    None => hold_picture::picture(SESSION, size, theme),
                };
                check(format!("{screen}-{size}-{theme}"), drawn);
            }
        }
    }
    for screen in MESH_SCREENS {
        for size in MESH_SIZES {
            let drawn = picture(home.path(), MESHES, screen, size, "dark", "");
            check(format!("meshes-{screen}-{size}-dark"), drawn);
        }
    }
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    let is_page_stale = fs::read_to_string(PAGE).ok().as_deref() != Some(&page());
    assert!(
        stale.is_empty() && !is_page_stale,
        "{} pictures are stale: UPDATE_PICTURES=1 cargo test --test it pictures::  {stale:?}",
        stale.len()
    );
    // Nothing else lies in the folder.
    let screens = SCREENS.len() + 1;
    let pictures = screens * SIZES.len() * THEMES.len() + MESH_SCREENS.len() * MESH_SIZES.len();
    assert_eq!(fs::read_dir(FOLDER).expect("the folder").count(), pictures);
}
