//! Checks settings: flag, environment, `config.toml`, default, and the errors of an invalid file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::process::Child;

const TOUR: &str = "tests/fixtures/cli/tour.xds";

/// Returns the program with this `config.toml`.
fn xdscope(home: &Path, config: &str) -> Command {
    let folder = home.join("xdscope");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.toml"), config).expect("the file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    command
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("XDG_CONFIG_HOME", home)
        .stdin(Stdio::null());
    command
}

fn text(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn prefers_flag_then_environment_then_file_then_default() {
    let home = tempfile::tempdir().expect("a folder");
    let status = |config: &str, env: Option<&str>, args: &[&str]| {
        let mut command = xdscope(home.path(), config);
        if let Some(value) = env {
            command.env("XDSCOPE_STALE_AFTER", value);
        }
        // Exit code 1: one push is stale.
        command.args(["status", TOUR, "--stream", "#2"]).args(args).output().expect("it runs").status.code()
    };
    assert_eq!(status("stale-after = \"5s\"", None, &[]), Some(1));
    assert_eq!(status("stale-after = \"1m\"", None, &[]), Some(0));
    assert_eq!(status("stale-after = \"1m\"", Some("5s"), &[]), Some(1));
    assert_eq!(status("stale-after = \"5s\"", Some("1m"), &[]), Some(0));
    assert_eq!(status("stale-after = \"1m\"", Some("1m"), &["--stale-after", "5s"]), Some(1));
}

#[test]
fn a_pipe_in_place_of_the_file_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = xdscope(home.path(), "");
    let file = home.path().join("xdscope/config.toml");
    fs::remove_file(&file).expect("the file");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).expect("a pipe");
    let mut child = Child::start(command.args(["status", TOUR]), &home.path().join("log"));
    assert_eq!(child.finish(), Some(2));
    assert!(child.log().contains("a named pipe, not a file"), "{}", child.log());
}

#[test]
fn doctor_shows_source_of_each_setting() {
    let home = tempfile::tempdir().expect("a folder");
    let output = xdscope(home.path(), "# mine\ntime = \"utc\"\nascii = true\nmemory = \"1GB\"\n")
        .env("XDSCOPE_MEMORY", "2GB")
        .env("XDSCOPE_SLOW_LINK", "yes")
        .args(["doctor", "-o", "json", "--stale-after", "3s"])
        .output()
        .expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let settings = report[0]["settings"].as_array().expect("settings");
    let setting = |name: &str| {
        let setting = settings.iter().find(|setting| setting["name"] == name).expect("a setting");
        let word = |key: &str| setting[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", word("value"), word("from"), word("where"))
    };
    assert_eq!(setting("time"), "utc file config.toml line 2");
    assert_eq!(setting("ascii"), "true file config.toml line 3");
    assert_eq!(setting("memory"), "2GB env XDSCOPE_MEMORY");
    assert_eq!(setting("slow-link"), "yes env XDSCOPE_SLOW_LINK");
    assert_eq!(setting("stale-after"), "3s flag --stale-after");
    assert_eq!(setting("theme"), "default default default");
    assert_eq!(report[0]["terminal"]["unicode"], false, "--ascii by the file");
    assert_eq!(report[0]["paths"]["config"], home.path().join("xdscope/config.toml").display().to_string());
}

#[test]
fn reports_line_and_remedy_of_file_errors() {
    let home = tempfile::tempdir().expect("a folder");
    for (config, line, wanted) in [
        ("\ntime = utc", 2, "next   NAME = \"VALUE\", with quotes around texts"),
        ("colour = \"never\"", 1, "unknown setting `colour`\n  next   one of ascii, color,"),
        ("color = \"blue\"", 1, "invalid color `blue`: one of auto, always, never, 16, 256, true"),
        (
            "ascii = true\nstale-after = \"soon\"",
            2,
            "invalid stale-after `soon`: expected a time such as 500ms",
        ),
        ("ascii = \"perhaps\"", 1, "true or false"),
        ("time = [1]", 1, "`time` must be a string, true or false, not a"),
        ("keys = 1", 1, "`keys` must be a table"),
        ("keep-secrets = true", 1, "unknown setting `keep-secrets`"),
        ("[keys]\nquit = \"Q\"\nlader = \"K\"", 3, "unknown command `lader`"),
        ("[keys]\nquit = \"F13\"", 2, "unknown key `F13`; keys are: a character"),
        ("[keys]\nquit = \"t\"", 2, "t is bound twice (everywhere): to next-type and to quit"),
        ("[keys]\nquit = 1", 2, "`quit` needs a key or a list of keys\n  next   quit = [\"Q\", \"Ctrl-q\"]"),
        ("redact = 1", 1, "`redact` must be a table\n  next   [redact]"),
        ("[redact]\nnames = []", 2, "unknown setting `redact.names`\n  next   one of headers, keys, fields"),
        ("[redact]\nkeys = \"x\"", 2, "`keys` must be a list of names\n  next   keys = [\"wifi_code\"]"),
        (
            "[redact]\nkeys = [\"x\"]\nheaders = [\"a b\"]",
            3,
            "`a b` is not a header name\n  next   a name such as",
        ),
        ("[redact]\nfields = [\"pin\"]", 2, "`pin` is not the full name of a field"),
    ] {
        let output = xdscope(home.path(), config).args(["status", TOUR]).output().expect("it runs");
        let (code, error) = text(&output);
        assert_eq!(code, Some(2), "{config}: {error}");
        assert!(error.contains(&format!("xdscope/config.toml line {line}: ")), "{config}: {error}");
        assert!(error.contains(wanted), "{config}: {error}");
        // Help works in spite of an invalid file.
        let help = xdscope(home.path(), config).args(["help", "config"]).output().expect("it runs");
        assert_eq!(help.status.code(), Some(0));
    }
}

#[test]
fn accepts_example_of_config_help() {
    let home = tempfile::tempdir().expect("a folder");
    let help = xdscope(home.path(), "").args(["help", "config"]).output().expect("it runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let file: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let output = xdscope(home.path(), &file.join("\n")).args(["doctor"]).output().expect("it runs");
    assert_eq!(text(&output), (Some(0), String::new()), "{help}");
}

#[test]
fn reports_variable_of_invalid_value() {
    let home = tempfile::tempdir().expect("a folder");
    let output = xdscope(home.path(), "").env("XDSCOPE_STALE_AFTER", "soon").args(["status", TOUR]).output();
    let (code, error) = text(&output.expect("it runs"));
    assert_eq!(code, Some(2));
    assert!(error.contains("next   unset XDSCOPE_STALE_AFTER"), "{error}");
}

#[test]
fn redacts_the_names_of_the_file() {
    let home = tempfile::tempdir().expect("a folder");
    let cluster = r#"{alt_stat_name: "abcdefgh", metadata: {filter_metadata: {a: {wifiCode: "abcdefgh"}}}}"#;
    let script = home.path().join("session.xds");
    let text = format!("stream 1 sotw cds\n> names=[*]\n< v=1 n=a [c{cluster}]\n");
    fs::write(&script, text).expect("a disk");
    let get = |config: &str| {
        let args = ["get", &script.display().to_string(), "cds", "-o", "yaml"].map(str::to_owned);
        let output = xdscope(home.path(), config).args(args).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text").matches("abcdefgh").count()
    };
    assert_eq!(get(""), 2);
    assert_eq!(get("[redact]\nkeys = [\"wifi_code\"]"), 1);
    assert_eq!(get("[redact]\nfields = [\"envoy.config.cluster.v3.Cluster.alt_stat_name\"]"), 1);
}
