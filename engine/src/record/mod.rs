//! Records of games as text (`docs/reference/game-records.md`): tags, moves with time,
//! score and depth, comments and variations.
//!
//! ```
//! use sternhalma_engine::record::AnnotatedGame;
//!
//! let text = "[Size \"5\"]\n[Pieces \"1\"]\n\n1. a1-b1 {a quiet start} (1. a1-a2 e5-e4) e5-d5 *";
//! let game: AnnotatedGame = text.parse()?;
//! assert_eq!(game.line.moves.len(), 2);
//! assert_eq!(game.line.moves[0].comments, ["a quiet start"]);
//! assert_eq!(game.line.moves[0].variations[0].moves.len(), 2);
//! assert_eq!(game.to_string().parse(), Ok(game));
//!
//! let error = text.replace("e5-d5", "e5-a1").parse::<AnnotatedGame>().unwrap_err();
//! assert_eq!(error.to_string(), "line 4, column 43: `e5-a1` is not legal for o at ply 1");
//! # Ok::<(), sternhalma_engine::record::RecordError>(())
//! ```

mod cursor;
mod error;
mod game;
mod history;
mod json;
mod logged;
mod parse;
mod print;
mod review;
#[cfg(test)]
mod tests;

pub use error::{RecordError, RecordFault};
pub use game::{AnnotatedGame, AnnotatedMove, MoveInfo, MoveLine, RULE_SET, Tag};
pub use history::GameHistory;
pub use json::{JsonGame, JsonGameError, JsonLine, JsonMove, JsonValue};
pub use logged::{LoggedGameError, check_logged};
pub use parse::MAX_NESTING;
pub use review::{MARK_LIMITS, Mark, MarkLimits, ReviewedMove, review};
