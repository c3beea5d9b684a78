//! A setting of the system's allocator (docs/decisions/0019-allocator.md).

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The variable that glibc reads when a program starts.
pub const VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";

/// Bytes of a block that returns to the system when it is freed.
///
/// Without the setting, glibc raises the threshold to the largest block so far. Blocks up to 32 MB
/// then share regions that one small block keeps resident.
pub const BYTES: &str = "262144";

/// Verbs that run for long and meet peaks.
const VERBS: [&str; 3] = ["tap", "serve", "watch"];

/// Starts this program again with the setting, if its verb runs for long. The process stays the
/// same. Call first, before there are threads.
///
/// Returns if there is nothing to do, or if that fails: the program then needs more memory.
pub fn restart() {
    let is_glibc = cfg!(all(target_os = "linux", target_env = "gnu"));
    let mut args = std::env::args_os();
    let own_name = args.next();
    let is_long = args.any(|arg| VERBS.iter().any(|verb| arg == *verb));
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
