use std::process::ExitCode;

fn main() -> ExitCode {
    xdscope::cli::run(std::env::args_os())
}
