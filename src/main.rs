//! The `sternhalma` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // The macro is here, and not in the library, because a new commit compiles this file again.
    sternhalma::run(git_version::git_version!(
        args = ["--always", "--dirty=-modified", "--abbrev=9", "--exclude=*"],
        prefix = " (",
        suffix = ")",
        fallback = ""
    ))
}
