//! The `xdscope` program: hands its arguments to the library and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    xdscope::app::process::allocator::restart();
    xdscope::cli::run(std::env::args_os())
}
