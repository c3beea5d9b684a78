//! Edits a text in the user's editor, in a private temporary file.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use tempfile::TempDir;

use super::open::open_without_waiting;

/// Interval at which a running editor is looked at.
const CHECK_INTERVAL: Duration = Duration::from_millis(30);

/// Bytes of an edited text, which is read as a whole.
const MAX_EDITED_BYTES: u64 = 256 << 20;

/// The editor without `VISUAL` and `EDITOR`.
const DEFAULT_EDITOR: &str = "vi";

/// An editor that did not return a text.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The file for the editor cannot be written.
    #[error("cannot write a file for the editor: {0}")]
    File(#[source] io::Error),
    /// The editor left something that cannot be read.
    #[error("cannot read what {editor} left: {source}; nothing is sent")]
    Left {
        editor: String,
        #[source]
        source: io::Error,
    },
    /// The editor cannot be started.
    #[error("cannot start {editor}: {source}; EDITOR names another one")]
    Start {
        editor: String,
        #[source]
        source: io::Error,
    },
    /// The editor failed.
    #[error("{editor} ended with {status}: nothing is sent")]
    Failed { editor: String, status: ExitStatus },
}

/// Returns the user's editor: `VISUAL`, `EDITOR` or vi, in the order of git.
pub fn of_user(env: impl Fn(&str) -> Option<String>) -> String {
    let given = ["VISUAL", "EDITOR"].into_iter().find_map(|name| env(name).filter(|text| !text.is_empty()));
    given.unwrap_or_else(|| DEFAULT_EDITOR.to_owned())
}

/// Runs an editor on a text. Returns the edited text; `None` if `is_over` has become true, which
/// ends the editor.
///
/// Only the user can read the file, which is removed afterwards.
///
/// # Errors
///
/// The editor cannot be run, or fails.
pub fn edit(
    editor: &str,
    name: &str,
    text: &str,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<Option<String>, EditorError> {
    let folder = private_folder().map_err(EditorError::File)?;
    let path = folder.path().join(name);
    write_private(&path, text).map_err(EditorError::File)?;
    // The shell splits the words of the editor, as git lets it. A plain command replaces the shell,
    // so that it can be ended.
    let exec = if editor.contains(['=', ';', '|', '&']) { "" } else { "exec " };
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{exec}{editor} \"$@\"")).arg(editor).arg(&path);
    let failed = |source| EditorError::Start { editor: editor.to_owned(), source };
    let mut child = command.spawn().map_err(failed)?;
    match wait(&mut child, is_over).map_err(failed)? {
        None => Ok(None),
        Some(status) if status.success() => {
            let left = |source| EditorError::Left { editor: editor.to_owned(), source };
            read_edited(&path).map(Some).map_err(left)
        }
        Some(status) => Err(EditorError::Failed { editor: editor.to_owned(), status }),
    }
}

/// Creates a folder that only the user can list, for as long as the value lives.
pub fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("xdscope-").permissions(Permissions::from_mode(0o700)).tempdir()
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Reads what an editor left in place of the file.
fn read_edited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = open_without_waiting(path)?.take(MAX_EDITED_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_EDITED_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 256 MiB"));
    }
    Ok(text)
}

/// Waits for an editor; `None` if it had to be ended.
fn wait(child: &mut Child, is_over: &mut dyn FnMut() -> bool) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_over() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn script(folder: &Path, text: &str) -> String {
        let path = folder.join("editor.sh");
        fs::write(&path, text).expect("a script");
        format!("sh {}", path.display())
    }

    #[test]
    fn editor_changes_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = folder.path().join("seen");
        let text = format!(
            "ls -l \"$1\" > {0}; ls -ld \"$(dirname \"$1\")\" >> {0}; echo \"$1\" >> {0}; sed -i s/5s/1s/ \"$1\"\n",
            seen.display()
        );
        let editor = script(folder.path(), &text);
        let edited = edit(&editor, "h1.yaml", "timeout: 5s\n", &mut || false).expect("it runs");
        assert_eq!(edited.as_deref(), Some("timeout: 1s\n"));
        let seen = fs::read_to_string(seen).expect("what the editor saw");
        assert!(seen.starts_with("-rw-------") && seen.contains("\ndrwx------"), "{seen}");
        let path = seen.lines().last().expect("a path");
        assert!(path.ends_with("/h1.yaml") && !Path::new(path).exists(), "{path}");
    }

    #[test]
    fn failed_and_ended_editors_return_nothing() {
        let error = edit("false", "h1.yaml", "", &mut || false).expect_err("it fails");
        assert!(error.to_string().starts_with("false ended with exit status: 1"), "{error}");
        let error = edit("no-such-editor", "h1.yaml", "", &mut || false).expect_err("it fails");
        assert!(error.to_string().contains("127"), "{error}");
        let ended = edit("sleep 60; :", "h1.yaml", "", &mut || true).expect("it runs");
        assert_eq!(ended, None);
    }

    #[test]
    fn pipes_and_huge_files_of_editors_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for (left, why) in [
            ("rm \"$1\"; mkfifo \"$1\"\n", "a named pipe"),
            ("truncate -s 1T \"$1\"\n", "larger than 256 MiB"),
        ] {
            let error =
                edit(&script(folder.path(), left), "h1.yaml", "", &mut || false).expect_err("refused");
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn editor_is_chosen_as_git_does() {
        let env = |given: &'static [(&str, &str)]| {
            move |name: &str| given.iter().find(|(of, _)| *of == name).map(|(_, text)| (*text).to_owned())
        };
        assert_eq!(of_user(env(&[("VISUAL", "code -w"), ("EDITOR", "ed")])), "code -w");
        assert_eq!(of_user(env(&[("VISUAL", ""), ("EDITOR", "ed")])), "ed");
        assert_eq!(of_user(env(&[])), "vi");
    }
}
