//! Sets `cfg(repository)` in the repository, where tests read files that the package of this crate does not contain.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(repository)");
    if Path::new("experiments").is_dir() {
        println!("cargo::rustc-cfg=repository");
    }
}
