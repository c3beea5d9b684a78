use serde_json::{Value, json};

use super::object::Object;

/// The parts of a `doctor` object.
pub struct DoctorOf {
    /// The version of xdscope, such as `0.1.0`.
    pub version: &'static str,
    /// Whether stdin is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// The value of `TERM`.
    pub term: Option<String>,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
    /// Whether output is coloured.
    pub color: bool,
    /// Whether output has characters beyond ASCII.
    pub unicode: bool,
    /// Whether the terminal can show screens.
    pub screens: bool,
    /// How text is copied to the clipboard.
    pub clipboard: String,
    /// Whether the file exists, and its path.
    pub config: Option<(bool, String)>,
    /// The directory of kept sessions.
    pub state: Option<String>,
    /// The settings in effect.
    pub settings: Vec<SettingOf>,
    /// The server that was checked.
    pub server: Option<ServerOf>,
}

/// A server that was checked.
pub struct ServerOf {
    /// The address as typed.
    pub address: String,
    /// The checks in order.
    pub steps: Vec<StepOf>,
}

/// One check of a server.
pub struct StepOf {
    /// The name of the check, such as `dns` or `tls`.
    pub step: &'static str,
    /// One of `STEP_STATES`.
    pub state: &'static str,
    /// Lines of text: the findings.
    pub said: Vec<String>,
    /// The duration in milliseconds.
    pub ms: Option<f64>,
    /// The command or change that may help.
    pub next: Option<String>,
}

/// Results of a step of `doctor SERVER`.
pub(super) const STEP_STATES: [&str; 3] = ["ok", "none", "failed"];

/// One setting.
pub struct SettingOf {
    /// The name of the setting.
    pub name: String,
    /// The value as text.
    pub value: String,
    /// One of `FROM`.
    pub from: &'static str,
    /// The flag, the variable, or the line of the file.
    pub where_from: String,
}

/// Sources of settings, in order of precedence.
pub(super) const FROM: [&str; 4] = ["flag", "env", "file", "default"];

/// The `doctor` object: the terminal, the paths, the settings.
pub fn doctor(of: &DoctorOf) -> Value {
    let mut out = Object::new("doctor");
    out.put("version", of.version);
    out.put(
        "terminal",
        json!({
            "stdin": of.stdin_is_terminal,
            "stdout": of.stdout_is_terminal,
            "term": of.term,
            "columns": of.size.map(|size| size.0),
            "rows": of.size.map(|size| size.1),
            "color": of.color,
            "unicode": of.unicode,
            "screens": of.screens,
            "clipboard": of.clipboard,
        }),
    );
    out.put(
        "paths",
        json!({
            "config": of.config.as_ref().map(|(_, path)| path),
            "config_exists": of.config.as_ref().is_some_and(|(exists, _)| *exists),
            "sessions": of.state,
        }),
    );
    let settings = of.settings.iter().map(|setting| {
        json!({
            "name": setting.name, "value": setting.value, "from": setting.from, "where": setting.where_from,
        })
    });
    out.put("settings", settings.collect::<Vec<Value>>());
    if let Some(server) = &of.server {
        let steps = server.steps.iter().map(|step| {
            json!({
                "step": step.step, "state": step.state, "said": step.said, "ms": step.ms, "next": step.next,
            })
        });
        out.put("server", json!({ "address": server.address, "steps": steps.collect::<Vec<Value>>() }));
    }
    out.done()
}
