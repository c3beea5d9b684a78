//! `picture`: a screen of a source as SVG or text.

use std::io::Write as _;
use std::path::Path;

use crossterm::event::KeyCode;

use crate::app::replay::{Options, ReplayFeed};
use xdscope_engine::analysis;
use xdscope_sources::ReplayPosition;
use xdscope_tui::Decoded;
use xdscope_tui::{ColorDepth, Feed as _, NamedTheme, PictureOptions, Seek, SvgColors, Theme};
use xdscope_wire::text::{display_safe, size};

use crate::cli::args::{Global, PictureArgs, PictureFormat};
use crate::cli::error::{CliError, Exit};
use crate::cli::live::{replay, screens};
use crate::cli::output::output_file;
use crate::cli::source;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;

/// The keys that have names.
const KEY_NAMES: [&str; 7] = ["enter", "tab", "esc", "up", "down", "left", "right"];
/// Number of keys that a picture takes.
const MAX_KEYS: usize = 200;

pub(crate) fn run(args: &PictureArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let screen = screens::wanted("--screen", Some(&args.screen))?;
    let keys = keys_of(&args.keys)?;
    let format = format_of(args)?;
    let is_file = !offline::is_server(&args.source.source) && args.source.source != "-";
    let source = if is_file { None } else { Some(source::open(&args.source, global, io)?) };
    let schema = match &source {
        Some(source) => source.schema.clone(),
        None => schema_flags::schema(&args.source.descriptors, global)?,
    };
    let zone = io.zone(args.time);
    let name = Path::new(&args.source.source).file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or(&args.source.source).to_owned();
    let options = Options {
        store: offline::options(&args.source.timers),
        meaning: crate::app::tap::meaning(schema.clone()),
        rules: analysis::bounded(&schema),
        idle: std::time::Duration::ZERO,
        speed: xdscope_tui::Speed::new(1.0),
        source: format!("replay {name}"),
        rerun: args.source.source.clone(),
        notices: Vec::new(),
        copies: std::env::temp_dir(),
        file: None,
        rewound: false,
        trouble: None,
    };
    let opened = match source {
        Some(source) => options.open(source.loaded),
        None => {
            let busy = Busy::start(&format!("reading {}", args.source.source), global, io);
            let read = replay::read_file(&args.source, &schema, &options, io);
            drop(busy);
            let (opened, notices) = read?;
            offline::say(&notices, global, io);
            opened
        }
    };
    let at = replay::position(&args.at, &opened.cursor, &zone)?;
    let feed = ReplayFeed::new(opened, options, Decoded(schema), None);
    if args.at != ReplayPosition::End && at != Seek::End {
        feed.replay(None, at).map_err(|why| CliError::usage(format!("--at: {why}")).next("--at start"))?;
    }
    let named = global.themes.get(&args.theme).unwrap_or(NamedTheme::DARK);
    let theme = Theme { palette: named.palette(ColorDepth::True), ascii: global.ascii };
    let busy = Busy::start("drawing the screen", global, io);
    let frame = xdscope_tui::picture(&feed, &PictureOptions { screen, size: args.size, theme, zone, keys });
    drop(busy);
    let text = match format {
        PictureFormat::Text => xdscope_tui::frame_text(&frame),
        PictureFormat::Svg => {
            let is_light = named == NamedTheme::LIGHT;
            let colors = if is_light { SvgColors::light() } else { SvgColors::dark() };
            let title = format!("xdscope, screen {} of {}", screen.title(), display_safe(&name));
            xdscope_tui::svg(&frame, &colors, &title)
        }
    };
    let Some(path) = output_file::named(args.output.as_deref()) else {
        io.stdout.write_all(text.as_bytes())?;
        return Ok(Exit::Yes);
    };
    output_file::save(path, args.force, &args.source.source, &text, io)?;
    if !global.quiet {
        io.say(&display_safe(&format!("{} written to {}", size(text.len() as u64), path.display())));
    }
    Ok(Exit::Yes)
}

/// Returns the format of `-o`, or else of the ending of `--output`.
pub(crate) fn format_of(args: &PictureArgs) -> Result<PictureFormat, CliError> {
    let ending = output_file::named(args.output.as_deref()).and_then(Path::extension);
    match (args.format, ending.map(|ending| ending.to_string_lossy().to_lowercase()).as_deref()) {
        (Some(format), _) => Ok(format),
        (None, None | Some("txt" | "text")) => Ok(PictureFormat::Text),
        (None, Some("svg")) => Ok(PictureFormat::Svg),
        (None, Some(other)) => {
            let error = CliError::usage(format!("--output: unknown ending `.{other}`"));
            Err(error.next("--output FILE.svg or FILE.txt").next("-o svg, for any name"))
        }
    }
}

/// Parses keys: characters, and names in angle brackets.
fn keys_of(text: &str) -> Result<Vec<KeyCode>, CliError> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let key = match named.map(|(name, _)| name.to_ascii_lowercase()).as_deref() {
            Some("enter") => Some(KeyCode::Enter),
            Some("tab") => Some(KeyCode::Tab),
            Some("esc") => Some(KeyCode::Esc),
            Some("up") => Some(KeyCode::Up),
            Some("down") => Some(KeyCode::Down),
            Some("left") => Some(KeyCode::Left),
            Some("right") => Some(KeyCode::Right),
            _ => None,
        };
        match (key, named) {
            (Some(key), Some((_, after))) => {
                keys.push(key);
                rest = after;
            }
            (None, Some((name, _))) if name.len() > 1 && name.chars().all(|c| c.is_ascii_alphabetic()) => {
                let error = CliError::usage(format!("--keys: unknown key <{}>", display_safe(name)));
                let near = crate::cli::command::suggest::near(&name.to_ascii_lowercase(), KEY_NAMES);
                let names = if near.is_empty() { KEY_NAMES.to_vec() } else { near };
                let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
                return Err(error.next(names.join(" ")));
            }
            _ => {
                keys.push(KeyCode::Char(first));
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    if keys.len() > MAX_KEYS {
        return Err(CliError::usage(format!("--keys: more than {MAX_KEYS} keys")));
    }
    Ok(keys)
}
