//! Makes the picture in the README: runs `xdscope demo` in a pseudo-terminal, and copies the screen
//! into the first text block of the README.
//!
//! `cargo run --release --example picture`, in the project's folder.

use std::error::Error;
use std::io::Read;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const SIZE: PtySize = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };

/// Time until the demo has shown its NACK, waits and reconnects.
const AFTER: Duration = Duration::from_secs(14);

/// Number of screen lines in the picture.
const LINES: usize = 23;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // With arguments, as in the pseudo-terminal, the example runs xdscope itself.
    if std::env::args().nth(1).is_some() {
        return Ok(xdscope::cli::run(std::env::args_os()));
    }
    put(&picture()?)?;
    Ok(ExitCode::SUCCESS)
}

fn picture() -> Result<String, Box<dyn Error>> {
    let pair = native_pty_system().openpty(SIZE)?;
    let home = tempfile::tempdir()?;
    let mut command = CommandBuilder::new(std::env::current_exe()?);
    command.arg("demo");
    command.env("TERM", "xterm-256color");
    command.env("XDG_STATE_HOME", home.path());
    command.env("XDG_CONFIG_HOME", home.path());
    let mut child = pair.slave.spawn_command(command)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let (pieces, shown) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            if pieces.send(buffer[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut screen = vt100::Parser::new(SIZE.rows, SIZE.cols, 0);
    let end = Instant::now() + AFTER;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        match shown.recv_timeout(left) {
            Ok(piece) => screen.process(&piece),
            Err(_) => break,
        }
    }
    let rows: Vec<String> = screen.screen().rows(0, SIZE.cols).take(LINES).collect();
    child.kill()?;
    child.wait()?;
    let rows = rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>();
    Ok(rows.join("\n").trim_end().to_owned())
}

fn put(picture: &str) -> Result<(), Box<dyn Error>> {
    const OPEN: &str = "```text\n";
    let readme = std::fs::read_to_string("README.md")?;
    let (before, rest) = readme.split_once(OPEN).ok_or("README.md has no text block")?;
    let (_, after) = rest.split_once("\n```").ok_or("the text block of README.md has no end")?;
    std::fs::write("README.md", format!("{before}{OPEN}{picture}\n```{after}"))?;
    Ok(())
}
