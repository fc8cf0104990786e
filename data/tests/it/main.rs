//! Table files: reading, loading, damage.

mod damage;
mod golden;
#[cfg(unix)]
mod load;
mod probe;
mod stream;
