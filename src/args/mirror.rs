//! Options of the form of a table file.

use clap::Args;

/// Whether a table stores mirror images.
#[derive(Args)]
pub struct MirrorArgs {
    /// Store one state of each left-right mirrored pair [default: except with byte, if the table has whole rows]
    ///
    /// The goal and the covered cells must be whole rows of the board.
    #[arg(long, overrides_with = "no_mirror", help_heading = "Encoding")]
    mirror: bool,
    /// Store a state and its mirror image separately; `build` also searches both, with twice the memory
    #[arg(long, overrides_with = "mirror", help_heading = "Encoding")]
    no_mirror: bool,
}

impl MirrorArgs {
    /// Returns the argument that specifies the same form.
    pub fn argument(&self) -> Option<&'static str> {
        self.mirrored().map(|mirrored| if mirrored { "--mirror" } else { "--no-mirror" })
    }

    /// Returns whether the table is mirrored, or `None` for the default.
    pub fn mirrored(&self) -> Option<bool> {
        match (self.mirror, self.no_mirror) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}
