//! The `sternhalma` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    sternhalma::run()
}
