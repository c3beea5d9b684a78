//! Announcements of new problems: the terminal's bell, or a notification of the desktop.

use std::collections::HashSet;

use crate::common::Common;
use xdscope_wire::text::display_safe;

use super::clipboard::Multiplexer;

/// Characters of a notification.
const MAX_NOTICE_CHARS: usize = 200;

/// The way in which a new problem is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// The bell of the terminal (BEL).
    Bell,
    /// A notification of the desktop (OSC 9), in terminals that have them.
    Osc9,
}

/// The problems that are known, and the newest one that was not announced yet.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    /// `None` until the first list: what is there at first is not new.
    known: Option<HashSet<String>>,
    pending: Option<String>,
}

impl Alerts {
    /// Takes in the current problems. A problem that comes back is new again.
    pub(crate) fn update(&mut self, common: &Common) {
        let known = self.known.take();
        let mut keys = HashSet::new();
        for (key, problem) in common.problems.keys() {
            let is_new = known.as_ref().is_some_and(|known| !known.contains(&key));
            if is_new && self.pending.is_none() {
                self.pending = Some(common.problem_words(problem));
            }
            keys.insert(key);
        }
        self.known = Some(keys);
    }

    /// Returns the words of a new problem, once.
    pub fn take(&mut self) -> Option<String> {
        self.pending.take()
    }
}

/// The bytes that announce a problem on the terminal.
pub(crate) fn sequence(notify: Notify, words: &str, multiplexer: Option<Multiplexer>) -> Vec<u8> {
    match notify {
        Notify::Bell => vec![7],
        Notify::Osc9 => {
            let safe = display_safe(words);
            let text: String = safe.chars().filter(|c| !c.is_control()).take(MAX_NOTICE_CHARS).collect();
            let plain = format!("\x1b]9;xdscope: {text}\x07");
            match multiplexer {
                Some(Multiplexer::Tmux) => {
                    format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")).into_bytes()
                }
                _ => plain.into_bytes(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script::{REFUSED, ScriptedStore};
    use crate::tests::typed;

    #[test]
    fn announces_a_problem_once_and_again_when_it_comes_back() {
        let source = ScriptedStore::new(REFUSED);
        let model = typed(&source.data(), "");
        let mut alerts = Alerts::default();
        let mut none = model.common.clone();
        none.problems.all.clear();
        alerts.update(&model.common);
        assert_eq!(alerts.take(), None, "what is there at first is not new");
        alerts.update(&none);
        alerts.update(&model.common);
        let words = alerts.take().expect("a new problem");
        assert!(words.starts_with("edge CDS NACK: client refused CDS 42"), "{words}");
        alerts.update(&model.common);
        assert_eq!(alerts.take(), None);
    }

    #[test]
    fn sequence_has_no_control_characters_of_a_peer() {
        assert_eq!(sequence(Notify::Bell, "x", None), [7]);
        let bytes = sequence(Notify::Osc9, "a\x07b\x1b]52;c;x\x07", None);
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.starts_with("\x1b]9;xdscope: a") && text.ends_with('\x07'), "{text:?}");
        assert_eq!(text.matches(['\x07', '\x1b']).count(), 2, "{text:?}");
        let wrapped = sequence(Notify::Osc9, "a", Some(Multiplexer::Tmux));
        assert!(wrapped.starts_with(b"\x1bPtmux;\x1b\x1b]9;"));
    }
}
