//! A setting of the system's allocator (docs/decisions/0019-allocator.md).

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// The variable that glibc reads when a program starts.
pub const VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";

/// Bytes of a block that returns to the system when it is freed.
///
/// Without the setting, glibc raises the threshold to the largest block so far. Blocks up to 32 MB
/// then share regions that one small block keeps resident.
pub const BYTES: &str = "262144";

/// Verbs that run for long and meet peaks, or read a session with a time cursor.
const VERBS: [&str; 6] = ["tap", "serve", "watch", "attach", "replay", "picture"];

/// Starts this program again with the setting, if its verb runs for long or is left out in front of
/// a file. The process stays the same. Call first, before there are threads.
///
/// Returns if there is nothing to do, or if that fails: the program then needs more memory.
pub fn restart() {
    let is_glibc = cfg!(all(target_os = "linux", target_env = "gnu"));
    let mut args = std::env::args_os();
    let own_name = args.next();
    let first = args.next();
    // A file without a verb is replayed.
    let is_file = first.as_ref().is_some_and(|first| Path::new(first).is_file());
    let is_long = is_file || first.into_iter().chain(args).any(|arg| VERBS.iter().any(|verb| arg == *verb));
    if !is_glibc || !is_long || std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    if let Some(name) = own_name {
        command.arg0(name);
    }
    // Returns if it fails only.
    let _ = command.args(std::env::args_os().skip(1)).env(VARIABLE, BYTES).exec();
}
