//! Runs each recipe of docs/fault-recipes.md between a control plane and a client, and compares
//! the last lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::behaviour::network::fault_runs::{Plane, watch};
use crate::support::{process::Child, wait::wait_for};

/// A command of the page, and the lines below it.
struct Recipe {
    title: String,
    command: String,
    lines: Vec<String>,
}

fn recipes() -> Vec<Recipe> {
    let text = fs::read_to_string("docs/fault-recipes.md").expect("the page");
    let (mut recipes, mut title) = (Vec::<Recipe>::new(), String::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            title = heading.to_owned();
        } else if let Some(command) = line.strip_prefix("    $ ") {
            recipes.push(Recipe { title: title.clone(), command: command.to_owned(), lines: Vec::new() });
        } else if let Some(printed) = line.strip_prefix("    ") {
            recipes.last_mut().expect("a command").lines.push(printed.to_owned());
        }
    }
    recipes
}

/// Replaces what differs between runs: times and the id of the client.
fn general(text: &str) -> String {
    let text = Regex::new(r"\d+\.\d+s").expect("a pattern").replace_all(text, "Ts").into_owned();
    Regex::new(r"(?m)^(edge-1|xdscope-\d+):").expect("a pattern").replace_all(&text, "NODE:").into_owned()
}

/// Factor of all times of the page, for a client that starts on busy cores.
const SLOWNESS: u32 = 3;

/// Returns a command with times that are [`SLOWNESS`] times as long.
fn slower(command: &str) -> String {
    let times = Regex::new(r" (\d+)s\b").expect("a pattern");
    let slow = |found: &regex::Captures<'_>| {
        let seconds: u32 = found[1].parse().expect("a number");
        format!(" {}s", seconds * SLOWNESS)
    };
    times.replace_all(command, slow).into_owned()
}

fn shell(folder: &Path, command: &str) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_xdscope")).parent().expect("a folder").display().to_string();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec {command}")])
        .current_dir(folder)
        .env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    shell
}

#[test]
fn every_recipe_does_what_the_page_says() {
    let plane = Plane::start();
    let folder = plane.folder();
    let recipes = recipes();
    let titles: std::collections::BTreeSet<&str> =
        recipes.iter().map(|recipe| recipe.title.as_str()).collect();
    assert_eq!(titles.len(), 10, "{titles:?}");
    for (number, recipe) in recipes.iter().enumerate() {
        let Recipe { title, command, lines } = recipe;
        if !command.starts_with("xdscope ") {
            let made = shell(folder, &slower(command.trim_start_matches("exec "))).status();
            assert!(made.is_ok_and(|status| status.success()), "{command}");
            continue;
        }
        let command = slower(&command.replace("cp.mesh:15010", &plane.address().to_string()));
        let log = folder.join(format!("recipe-{number}.log"));
        let mut tap = Child::start(&mut shell(folder, &format!("{command} --listen 127.0.0.1:0")), &log);
        let address = wait_for(title, || {
            tap.assert_running();
            let log = tap.log();
            let line = log.lines().find_map(|line| line.split_once("listening on "))?.1.to_owned();
            line.split_whitespace().next()?.parse().ok()
        });
        let client = watch(folder, address);
        let code = tap.finish();
        drop(client);
        let log = general(&tap.log());
        let is_late = lines.iter().any(|line| line.contains("timed out"));
        assert_eq!(code, Some(if is_late { 4 } else { 0 }), "{title}: {log}");
        for line in lines {
            assert!(log.contains(&general(line)), "{title}: no `{line}` in {log}");
        }
        if command.contains("--junit") {
            let junit = fs::read_to_string(folder.join("faults.xml")).expect("the results");
            assert!(junit.contains("<testsuites tests=\"2\" failures=\"0\">"), "{junit}");
        }
    }
}
