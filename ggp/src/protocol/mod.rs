//! Matches between players and a game manager, in the protocol of the public
//! managers of general game playing.
//!
//! A manager sends [`Message`]s, a player answers with [`Reply`]s. A
//! [`GgpPlayer`] answers messages within their clocks; [`play_match`] is a
//! game manager. Player and manager are independent of the transport. The
//! module `http`, behind the feature of that name, sends messages over HTTP.
//!
//! A match of one move:
//!
//! ```
//! use std::time::Instant;
//! use sternhalma_ggp::protocol::{GgpPlayer, PlayerOptions};
//!
//! let player = GgpPlayer::new(PlayerOptions { policy: "random".parse()?, ..PlayerOptions::default() });
//! let rules = "(role a) (init (n 1)) (legal a go) (<= (next (n 2)) (does a go)) (<= terminal (true (n 2))) (goal a 100)";
//! let start = format!("( START m1 a ( {rules} ) 5 5 )");
//! for (message, reply) in [(&*start, "ready"), ("( PLAY m1 NIL )", "go"), ("( STOP m1 ( go ) )", "done")] {
//!     assert_eq!(player.answer(message.parse()?, Instant::now()).to_string(), reply);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
#[cfg(feature = "http")]
pub mod http;
mod manager;
mod message;
mod player;
#[cfg(feature = "http")]
mod request;

pub use engine::EngineFactory;
pub use manager::{
    MatchConfig, MatchEnd, MatchError, MatchRecord, MatchStep, PlayerError, PlayerErrorKind, Transport, TransportError,
    play_match,
};
pub use message::{Message, MessageError, Reply};
pub use player::{GgpPlayer, Logger, PlayerOptions};
