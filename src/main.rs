//! The `sternhalma` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(extension) = sternhalma_cpu::missing_extension() {
        return sternhalma::refuse_processor(extension);
    }
    // The macro is here, and not in the library, because a new commit compiles this file again.
    sternhalma::run(git_version::git_version!(
        args = ["--always", "--dirty=-modified", "--abbrev=9", "--exclude=*"],
        fallback = ""
    ))
}
