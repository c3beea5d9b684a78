//! The background of the terminal: the question (OSC 11), and the answer among the keys.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Asks the terminal for the colour of its background.
pub(super) const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";
/// The longest time that the first frame waits for an answer.
pub(super) const MAX_ANSWER_TIME: Duration = Duration::from_millis(100);

/// The beginning of an answer.
const START: &str = "\x1b]11;";
/// The longest answer: `ESC ] 11 ; rgba:ffff/ffff/ffff/ffff ESC \`.
const MAX_ANSWER_LENGTH: usize = 64;
/// The longest pause after a lone ESC that may begin an answer. Afterwards it is the key.
const MAX_ESCAPE_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause within the beginning of an answer.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The brightness of a background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    Dark,
    Light,
}

impl Background {
    /// The built-in theme for this background.
    pub(super) fn theme(self) -> &'static str {
        match self {
            Background::Dark => "dark",
            Background::Light => "light",
        }
    }

    /// Parses `rgb:1e1e/1e1e/2e2e`, or `rgba:` with a fourth part; parts have one to four digits.
    fn parse(color: &str) -> Option<Background> {
        let parts = color.strip_prefix("rgb:").or_else(|| color.strip_prefix("rgba:"))?;
        let part = |text: &str| {
            let most = 16_u32.checked_pow(u32::try_from(text.len()).ok()?)?.checked_sub(1)?;
            Some(f64::from(u32::from_str_radix(text, 16).ok()?) / f64::from(most))
        };
        let parts = parts.split('/').map(part).collect::<Option<Vec<f64>>>()?;
        let [red, green, blue, ..] = parts[..] else { return None };
        let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
        Some(if brightness < 0.5 { Background::Dark } else { Background::Light })
    }
}

/// Takes the answer of the terminal out of the keys, whenever it comes and in how many pieces.
#[derive(Debug, Default)]
pub(super) struct AnswerFilter {
    /// The question was asked, and is not answered.
    is_waiting: bool,
    /// Keys that may begin an answer, and their characters.
    held: Vec<KeyEvent>,
    text: String,
    last_key: Option<Instant>,
}

impl AnswerFilter {
    pub(super) fn begin(&mut self) {
        self.is_waiting = true;
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Takes in a key. Returns the background once the answer is whole; keys that are not part of
    /// an answer go to `keys`.
    pub(super) fn take(
        &mut self,
        key: KeyEvent,
        now: Instant,
        keys: &mut Vec<KeyEvent>,
    ) -> Option<Background> {
        if !self.is_waiting {
            keys.push(key);
            return None;
        }
        let before = self.text.len();
        push_chars(key, &mut self.text);
        self.held.push(key);
        self.last_key = Some(now);
        let Some(body) = self.text.strip_prefix(START) else {
            if !START.starts_with(&self.text) {
                self.text.clear();
                // The last key may begin an answer itself.
                let last = if before > 0 { self.held.pop() } else { None };
                keys.append(&mut self.held);
                return last.and_then(|last| self.take(last, now, keys));
            }
            return None;
        };
        let color = body.strip_suffix('\x07').or_else(|| body.strip_suffix("\x1b\\"));
        if color.is_none() && self.text.len() < MAX_ANSWER_LENGTH {
            return None;
        }
        let background = color.and_then(Background::parse);
        *self = AnswerFilter::default();
        background
    }

    /// The time until held keys are given up; `None` if there are none.
    pub(super) fn pause_left(&self, now: Instant) -> Option<Duration> {
        let is_begun = self.text.starts_with(START) || self.held.is_empty();
        let last = self.last_key.filter(|_| !is_begun)?;
        let most = if self.text.len() == 1 { MAX_ESCAPE_PAUSE } else { MAX_PAUSE };
        Some(most.saturating_sub(now.saturating_duration_since(last)))
    }

    /// Gives up keys that began no answer.
    pub(super) fn release(&mut self, now: Instant, keys: &mut Vec<KeyEvent>) {
        if self.pause_left(now) == Some(Duration::ZERO) {
            self.text.clear();
            keys.append(&mut self.held);
        }
    }
}

/// Adds the characters that a terminal sends for a key. A key without any cannot be in an answer.
fn push_chars(key: KeyEvent, text: &mut String) {
    match (key.code, key.modifiers - KeyModifiers::SHIFT) {
        (KeyCode::Esc, KeyModifiers::NONE) => text.push('\x1b'),
        (KeyCode::Char(c), KeyModifiers::NONE) => text.push(c),
        (KeyCode::Char(c), KeyModifiers::ALT) => text.extend(['\x1b', c]),
        (KeyCode::Char('g'), KeyModifiers::CONTROL) => text.push('\x07'),
        _ => text.push('\0'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that crossterm reads from these bytes if they arrive together.
    fn keys_of(bytes: &str) -> Vec<KeyEvent> {
        let mut chars = bytes.chars();
        let mut keys = Vec::new();
        while let Some(c) = chars.next() {
            keys.push(match c {
                '\x1b' => match chars.next() {
                    Some(next) => KeyEvent::new(KeyCode::Char(next), KeyModifiers::ALT),
                    None => KeyCode::Esc.into(),
                },
                '\x07' => KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL),
                c => KeyCode::Char(c).into(),
            });
        }
        keys
    }

    fn filtered(pieces: &[&str]) -> (Option<Background>, Vec<KeyEvent>) {
        let mut filter = AnswerFilter::default();
        filter.begin();
        let (mut keys, mut found, mut now) = (Vec::new(), None, Instant::now());
        for piece in pieces {
            for key in keys_of(piece) {
                let answer = filter.take(key, now, &mut keys);
                found = found.or(answer);
            }
            now += Duration::from_millis(30);
            filter.release(now, &mut keys);
        }
        filter.release(now + MAX_PAUSE, &mut keys);
        (found, keys)
    }

    #[test]
    fn reads_the_background_of_usual_terminals() {
        for (answer, background) in [
            ("\x1b]11;rgb:0000/0000/0000\x1b\\", Background::Dark),
            ("\x1b]11;rgb:ffff/ffff/ffff\x07", Background::Light),
            ("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", Background::Dark),
            ("\x1b]11;rgb:fd/f6/e3\x07", Background::Light),
            ("\x1b]11;rgba:0000/2b2b/3636/ffff\x07", Background::Dark),
        ] {
            assert_eq!(filtered(&[answer]), (Some(background), vec![]), "{answer:?}");
        }
        assert_eq!(filtered(&["\x1b]11;?wrong\x07"]), (None, vec![]));
        assert_eq!(filtered(&["\x1b]11;rgb:fffff/g/\x07"]), (None, vec![]));
    }

    #[test]
    fn pieces_of_an_answer_never_become_keys() {
        let answer = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\";
        for cut in 1..answer.len() {
            let (head, tail) = answer.split_at(cut);
            assert_eq!(filtered(&[head, tail]), (Some(Background::Dark), vec![]), "cut at {cut}");
            let (keys, typed) = (keys_of("j3"), format!("{answer}3"));
            assert_eq!(filtered(&["j", &typed]), (Some(Background::Dark), keys));
        }
        let single: Vec<String> = answer.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert_eq!(filtered(&single), (Some(Background::Dark), vec![]));
    }

    #[test]
    fn keys_stay_keys() {
        for typed in ["j", "\x1b", "\x1b]", "\x1b]1", "\x1b]12", "q\x07", "\x1bx", "11;rgb:"] {
            assert_eq!(filtered(&[typed]), (None, keys_of(typed)), "{typed:?}");
        }
        // Esc acts before the next key.
        let mut filter = AnswerFilter::default();
        filter.begin();
        let (mut keys, now) = (Vec::new(), Instant::now());
        filter.take(KeyCode::Esc.into(), now, &mut keys);
        assert_eq!(filter.pause_left(now), Some(MAX_ESCAPE_PAUSE));
        filter.release(now + MAX_ESCAPE_PAUSE, &mut keys);
        assert_eq!(keys, [KeyCode::Esc.into()]);
        filter.take(KeyCode::Esc.into(), now, &mut keys);
        filter.take(KeyCode::Esc.into(), now, &mut keys);
        assert_eq!(keys.len(), 2, "the second Esc may begin an answer, the first one cannot");
    }
}
