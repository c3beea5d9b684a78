//! `doctor`: checks the terminal, lists paths and settings, and probes a server.

use clap::ArgMatches;
use clap::parser::ValueSource;

use xdscope_present::json::StepOf;
use xdscope_present::json::{DoctorOf, ServerOf, SettingOf, doctor};
use xdscope_present::text::shell_word;
use xdscope_wire::event::Variant;
use xdscope_wire::text::display_safe;

use super::args::{DoctorArgs, Format, Global};
use super::error::{CliError, Exit};
use crate::cli::command::settings;
use crate::cli::command::settings::Config;
use crate::cli::output::json_out::Objects;
use crate::cli::terminal::io::Io;
use crate::net::own_secrets::OwnSecrets;

pub(super) fn run(
    args: &DoctorArgs,
    global: &Global,
    config: &Config,
    matches: &ArgMatches,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let report = report(global, config, matches, io);
    let report = DoctorOf { server: server(args)?, ..report };
    if args.format == Format::Text {
        write(&report, io)?;
    } else {
        let out = &mut *io.stdout;
        let mut objects = if args.format == Format::Json { Objects::array(out) } else { Objects::lines(out) };
        objects.put(&doctor(&report))?;
        objects.finish()?;
    }
    let good = report.server.as_ref().is_none_or(speaks);
    Ok(if good { Exit::Yes } else { Exit::Connection })
}

/// Whether a server can act as a control plane: it is reachable, and serves a variant.
fn speaks(server: &ServerOf) -> bool {
    server.steps.iter().any(|step| step.state == "ok" && Variant::parse(step.step).is_some())
}

fn server(args: &DoctorArgs) -> Result<Option<ServerOf>, CliError> {
    let Some(typed) = &args.server else { return Ok(None) };
    let (address, tls) = crate::cli::peer::connect::reach(typed, &args.connect)?;
    let headers = args.connect.headers_now()?;
    let patient = crate::net::doctor::DoctorTarget {
        address: &address,
        tls: tls.as_ref(),
        authority: args.connect.authority.as_deref(),
        headers: &headers,
        node_id: &args.node_id,
        timeout: args.connect_timeout,
    };
    let steps = patient
        .examine()
        .map_err(|error| CliError::new(Exit::Defect, "cannot start the runtime").because(error))?;
    let secrets = OwnSecrets::new(&headers);
    let steps = steps.into_iter().map(|step| StepOf {
        step: step.name,
        state: step.state.word(),
        said: step.lines.into_iter().map(|line| secrets.clean(line)).collect(),
        ms: step.took.map(|took| took.as_secs_f64() * 1000.0),
        next: step.next,
    });
    let mut steps: Vec<StepOf> = steps.collect();
    let best = steps.iter().find(|step| step.state == "ok" && Variant::parse(step.step).is_some());
    if let Some(variant) = best.map(|step| step.step)
        && let Some(step) = steps.iter_mut().find(|step| step.step == variant)
    {
        step.next = Some(format!("xdscope watch {} --variant {variant}", shell_word(typed)));
    }
    Ok(Some(ServerOf { address: address.to_string(), steps }))
}

fn report(global: &Global, config: &Config, matches: &ArgMatches, io: &Io<'_>) -> DoctorOf {
    let style = io.style(global);
    let screens = io.stdin_is_terminal && io.stdout_is_terminal && !io.is_dumb();
    let settings =
        settings::CONFIGURABLE_FLAGS.into_iter().filter_map(|name| setting(name, config, matches)).collect();
    DoctorOf {
        version: env!("CARGO_PKG_VERSION"),
        stdin_is_terminal: io.stdin_is_terminal,
        stdout_is_terminal: io.stdout_is_terminal,
        term: (io.env)("TERM"),
        size: size(io),
        color: style.color,
        unicode: !style.ascii,
        screens,
        clipboard: clipboard(io).to_owned(),
        config: settings::path(io).map(|path| (path.exists(), path.display().to_string())),
        state: io.state_dir().map(|path| path.display().to_string()),
        settings,
        server: None,
    }
}

/// Returns the value of a flag, and where the value comes from.
fn setting(name: &str, config: &Config, matches: &ArgMatches) -> Option<SettingOf> {
    let id = name.replace('-', "_");
    let value = matches.try_get_raw(&id).ok()??.next()?.to_string_lossy().into_owned();
    let from = match matches.value_source(&id) {
        Some(ValueSource::CommandLine) => ("flag", format!("--{name}")),
        Some(ValueSource::EnvVariable) => ("env", settings::variable(name)),
        _ => match config.presets.iter().find(|preset| preset.name == name) {
            Some(preset) => ("file", format!("config.toml line {}", preset.line)),
            None => ("default", "default".to_owned()),
        },
    };
    Some(SettingOf { name: name.to_owned(), value, from: from.0, where_from: from.1 })
}

fn size(io: &Io<'_>) -> Option<(u16, u16)> {
    if io.stdout_is_terminal { xdscope_tui::terminal_size() } else { None }
}

/// Describes how `y` reaches the clipboard.
fn clipboard(io: &Io<'_>) -> &'static str {
    if !io.stdout_is_terminal || io.is_dumb() {
        "none: no terminal"
    } else if (io.env)("TMUX").is_some() {
        "OSC 52 through tmux, which must allow it: set -g allow-passthrough on"
    } else if (io.env)("TERM").is_some_and(|term| term.starts_with("screen")) {
        "OSC 52 through screen"
    } else {
        "OSC 52, if the terminal allows it"
    }
}

fn write(of: &DoctorOf, io: &mut Io<'_>) -> Result<(), CliError> {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let out = &mut *io.stdout;
    writeln!(out, "xdscope    {}", of.version)?;
    writeln!(out, "terminal   stdin {}, stdout {}", yes(of.stdin_is_terminal), yes(of.stdout_is_terminal))?;
    writeln!(out, "  TERM     {}", display_safe(of.term.as_deref().unwrap_or("not set")))?;
    match of.size {
        Some((columns, rows)) => writeln!(out, "  size     {columns}x{rows}")?,
        None => writeln!(out, "  size     not known")?,
    }
    writeln!(out, "  colour   {}", yes(of.color))?;
    writeln!(out, "  unicode  {}", yes(of.unicode))?;
    writeln!(out, "  screens  {}", yes(of.screens))?;
    writeln!(out, "  copying  {}", of.clipboard)?;
    let there = |there: bool| if there { "" } else { " (not there)" };
    match &of.config {
        Some((exists, path)) => writeln!(out, "config     {path}{}", there(*exists))?,
        None => writeln!(out, "config     none: neither XDG_CONFIG_HOME nor HOME")?,
    }
    writeln!(out, "sessions   {}", of.state.as_deref().unwrap_or("none: neither XDG_STATE_HOME nor HOME"))?;
    writeln!(out, "settings")?;
    for setting in &of.settings {
        writeln!(out, "  {:<17} {:<8} {}", setting.name, setting.value, setting.where_from)?;
    }
    if let Some(server) = &of.server {
        writeln!(out, "server     {}", display_safe(&server.address))?;
        for step in &server.steps {
            let took = step.ms.map(|ms| format!(" ({ms:.1}ms)")).unwrap_or_default();
            for (at, text) in step.said.iter().enumerate() {
                let (name, state) = if at == 0 { (step.step, step.state) } else { ("", "") };
                let took = if at == 0 { took.as_str() } else { "" };
                writeln!(out, "  {name:<10} {state:<6}  {}{took}", display_safe(text))?;
            }
            if let Some(next) = &step.next {
                writeln!(out, "  {:<10} {:<6}  next: {}", "", "", display_safe(next))?;
            }
        }
    }
    Ok(())
}
