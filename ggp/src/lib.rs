//! General game playing: game-independent search, policies and a game
//! description language. It knows no other crate of the project.
//!
//! Nothing is here yet; `ARCHITECTURE.md` says what belongs here.
#![forbid(unsafe_code)]
