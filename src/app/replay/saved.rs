//! Marks saved beside their recording: `session.xdsrec.marks`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use xdscope_tui::Marked;
use xdscope_wire::event::{Seq, Time};

/// The largest file of marks, in bytes: there are 62 letters.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The marked positions by letter.
pub type Letters = BTreeMap<char, Marked>;

/// Returns the path of a recording's marks.
pub fn path(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".marks");
    name.into()
}

/// Returns the marks of a recording; none if there are none or they cannot be read.
pub fn read(recording: &Path) -> Letters {
    let mut text = String::new();
    let file = File::open(path(recording));
    if file.and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text)).is_err() {
        return Letters::new();
    }
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let marks = value.get("marks").and_then(Value::as_object).into_iter().flatten();
    let marks = marks.filter_map(|(letter, place)| {
        let mut letters = letter.chars();
        let letter = letters.next().filter(|c| c.is_ascii_alphanumeric() && letters.next().is_none())?;
        let number = |key: &str| place.get(key).and_then(Value::as_u64);
        Some((letter, Marked { n: Seq(number("n")?), at: Time(number("at_ns")?) }))
    });
    marks.collect()
}

/// Saves marks by replacing the file at once.
///
/// # Errors
/// The folder cannot be written.
pub fn write(recording: &Path, marks: &Letters) -> io::Result<()> {
    let places = marks
        .iter()
        .map(|(letter, marked)| (letter.to_string(), json!({"n": marked.n.0, "at_ns": marked.at.0})));
    let value = json!({"object": "marks", "schema": 1, "marks": places.collect::<serde_json::Map<_, _>>()});
    let path = path(recording);
    let mut half = path.clone().into_os_string();
    half.push(".new");
    fs::write(&half, format!("{value}\n"))?;
    fs::rename(&half, &path)
}

/// Removes the marks of a recording that was overwritten.
pub fn forget(recording: &Path) {
    // Most recordings have no marks.
    let _ = fs::remove_file(path(recording));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_saved_marks_and_ignores_other_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("session.xdsrec");
        assert!(read(&recording).is_empty(), "there are none yet");
        let marks: Letters =
            [('a', 18), ('Z', 20)].map(|(c, n)| (c, Marked { n: Seq(n), at: Time(n * 1000) })).into();
        write(&recording, &marks).expect("a file");
        assert_eq!(read(&recording), marks);
        let odd = r#"{"marks": {"ab": {"n": 1, "at_ns": 1}, "\u001b": {"n": 1, "at_ns": 1}, "c": {"n": -1},
                       "d": {"n": 4, "at_ns": 5}}}"#;
        fs::write(path(&recording), odd).expect("a file");
        assert_eq!(read(&recording).into_keys().collect::<String>(), "d");
        fs::write(path(&recording), "\u{0}not json").expect("a file");
        assert!(read(&recording).is_empty());
        forget(&recording);
        assert!(!path(&recording).exists());
    }
}
