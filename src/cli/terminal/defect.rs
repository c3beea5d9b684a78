//! Reports of panics: a panic is a defect, is reported in a file, and ends the program with code
//! 70.
//!
//! A report may quote what was on the wire. Only its owner can read the file.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::app::recording::session_dir;
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::content::Redact;

use crate::cli::error::{CliError, Exit};

thread_local! {
    /// The report of the last panic on a guarded thread; `None` on other threads.
    static REPORT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`, and turns a panic on this thread into an error that names the report in `dir`.
pub(crate) fn guard(dir: Option<PathBuf>, work: impl FnOnce() -> Exit) -> Result<Exit, CliError> {
    // Once for the process: two threads that each set a hook and restore another would take away
    // each other's.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match REPORT.with_borrow(Option::is_some) {
            true => REPORT.set(Some(describe_panic(info))),
            false => other(info),
        }));
    });
    REPORT.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(work));
    let report = REPORT.take().unwrap_or_default();
    result.map_err(|_| describe(&report, dir.as_deref()))
}

fn describe_panic(info: &PanicHookInfo<'_>) -> String {
    format!("xdscope {}\n{info}\n\n{}\n", env!("CARGO_PKG_VERSION"), Backtrace::force_capture())
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
