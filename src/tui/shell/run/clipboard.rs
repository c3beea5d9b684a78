//! The terminal's clipboard, also at the other end of an SSH connection.

use xdscope_schema::base64;

/// The bytes that every terminal accepts in one OSC 52 sequence. More goes to a file.
pub(crate) const MAX_OSC52_BYTES: usize = 74_994;

/// The bytes that put `text` on the terminal's clipboard, wrapped for the multiplexer in between.
pub(crate) fn osc52(text: &str, multiplexer: Option<Multiplexer>) -> Vec<u8> {
    let plain = format!("\x1b]52;c;{}\x07", base64::encode(text.as_bytes()));
    match multiplexer {
        None => plain.into_bytes(),
        Some(Multiplexer::Tmux) => {
            format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")).into_bytes()
        }
        // screen accepts at most 768 bytes in one string.
        Some(Multiplexer::Screen) => {
            let mut out = Vec::new();
            for chunk in plain.as_bytes().chunks(700) {
                out.extend_from_slice(b"\x1bP");
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\x1b\\");
            }
            out
        }
    }
}

/// A terminal multiplexer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplexer {
    Tmux,
    Screen,
}

impl Multiplexer {
    /// The multiplexer by the values of `TMUX` and `TERM`.
    pub fn detect(tmux: Option<&str>, term: Option<&str>) -> Option<Multiplexer> {
        if tmux.is_some_and(|value| !value.is_empty()) {
            Some(Multiplexer::Tmux)
        } else if term.is_some_and(|term| term.starts_with("screen")) {
            Some(Multiplexer::Screen)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_base64_of_every_length() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64::encode(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn wraps_the_sequence_for_the_multiplexer() {
        assert_eq!(osc52("foo", None), b"\x1b]52;c;Zm9v\x07");
        assert_eq!(osc52("foo", Some(Multiplexer::Tmux)), b"\x1bPtmux;\x1b\x1b]52;c;Zm9v\x07\x1b\\");
        assert_eq!(osc52("foo", Some(Multiplexer::Screen)), b"\x1bP\x1b]52;c;Zm9v\x07\x1b\\");
        assert_eq!(Multiplexer::detect(Some("/tmp/x"), Some("screen-256color")), Some(Multiplexer::Tmux));
        assert_eq!(Multiplexer::detect(None, Some("screen")), Some(Multiplexer::Screen));
        assert_eq!(Multiplexer::detect(None, Some("xterm")), None);
    }
}
