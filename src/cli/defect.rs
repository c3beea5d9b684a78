//! Reports of panics: a panic is a defect, is reported in a file, and ends the program with code
//! 70.
//!
//! A report may quote what was on the wire. Only its owner can read the file.

use std::backtrace::Backtrace;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::app::session_dir;
use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::wire::content::Redact;

use super::error::{CliError, Exit};

/// Runs `work`, and turns a panic on this thread into an error that names the report in `dir`.
pub(super) fn guard(dir: Option<PathBuf>, work: impl FnOnce() -> Exit) -> Result<Exit, CliError> {
    let report: Arc<Mutex<Option<String>>> = Arc::default();
    let write = report.clone();
    let here = std::thread::current().id();
    let before: Arc<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync> = std::panic::take_hook().into();
    let other = before.clone();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != here {
            return other(info);
        }
        let text =
            format!("xdscope {}\n{info}\n\n{}\n", env!("CARGO_PKG_VERSION"), Backtrace::force_capture());
        *write.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(text);
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(Box::new(move |info| before(info)));
    result.map_err(|_| {
        let text = report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        describe(&text.unwrap_or_default(), dir.as_deref())
    })
}

/// Writes the report, and describes the defect. Without a file the message has the report.
fn describe(text: &str, dir: Option<&Path>) -> CliError {
    let clean = |text: &str| {
        let redactor = Redactor::new(Schema::builtin(), 0);
        redactor.text(text).unwrap_or_else(|| text.to_owned())
    };
    let what = clean(text.lines().nth(2).unwrap_or("no message").trim());
    let error = CliError::new(Exit::Defect, format!("a defect in xdscope: {what}"));
    match dir.map(|dir| write(dir, text)) {
        Some(Ok(path)) => error.next(format!("send {} with the steps that led here", path.display())),
        Some(Err(_)) | None => error.next(format!("send this with the steps that led here: {}", clean(text))),
    }
}

fn write(dir: &Path, text: &str) -> io::Result<PathBuf> {
    let (path, mut file) =
        session_dir::create_private(dir, &format!("defect-{}", std::process::id()), ".txt")?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_writes_a_report_for_its_owner() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("xdscope");
        for _ in 0..2 {
            let error = guard(Some(dir.clone()), || panic!("the seed of doubt")).unwrap_err();
            assert_eq!(error.exit, Exit::Defect);
            assert!(error.message.contains("the seed of doubt"), "{}", error.message);
        }
        let reports: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(reports.len(), 2, "a report replaces no other: {reports:?}");
        for path in reports {
            assert!(std::fs::read_to_string(&path).unwrap().contains("defect.rs"));
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
                assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
            }
        }
    }

    #[test]
    fn message_has_the_report_without_a_folder() {
        let error = guard(None, || panic!("refused: token=abcdef of doubt")).unwrap_err().render();
        assert!(
            error.contains("defect.rs") && error.contains("of doubt") && !error.contains("abcdef"),
            "{error}"
        );
    }
}
