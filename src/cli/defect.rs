//! Reports of panics: a panic is a defect, is reported in a file, and ends the program with code
//! 70.

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::error::{CliError, Exit};

/// Runs `work`, and turns a panic on this thread into an error that names the report.
pub(super) fn guard(work: impl FnOnce() -> Exit) -> Result<Exit, CliError> {
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
        describe(&text.unwrap_or_default())
    })
}

fn describe(text: &str) -> CliError {
    let what = text.lines().nth(2).unwrap_or("no message").trim().to_owned();
    let error = CliError::new(Exit::Defect, format!("a defect in xdscope: {what}"));
    let path = report_path();
    match std::fs::write(&path, text) {
        Ok(()) => error.next(format!("send {} with the steps that led here", path.display())),
        Err(_) => error.next(format!("send this with the steps that led here: {text}")),
    }
}

fn report_path() -> PathBuf {
    std::env::temp_dir().join(format!("xdscope-defect-{}.txt", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_writes_a_report() {
        let error = guard(|| panic!("the seed of doubt")).unwrap_err();
        assert_eq!(error.exit, Exit::Defect);
        assert!(error.message.contains("the seed of doubt"), "{}", error.message);
        let report = std::fs::read_to_string(report_path()).unwrap();
        std::fs::remove_file(report_path()).unwrap();
        assert!(report.contains("defect.rs"), "{report}");
    }
}
