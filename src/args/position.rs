//! Positions of the two-player game: as text, or in the file of a game.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Error, Result, bail};
use clap::Args;
use sternhalma_data::{Position, RuleSet};
use sternhalma_engine::record::AnnotatedGame;
use sternhalma_engine::{ChineseCheckers, Filter, GameHistory, board_of};

use super::board::BoardArgs;

/// The size of the largest record that is read.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// The position of a command that plays or counts moves.
#[derive(Args, Clone)]
pub struct PositionArgs {
    /// Position string or `startpos`, perhaps with `moves a2-a4 …`; or the file of a saved game [default: startpos]
    #[arg(num_args = 0..)]
    position: Vec<String>,
    #[command(flatten)]
    board: BoardArgs,
}

impl PositionArgs {
    /// Returns the position and its rule set: the given one, that of a saved game, or `otherwise`. A position string
    /// contains the size of its board.
    ///
    /// # Errors
    /// If the text is not a position, or a move is illegal.
    pub fn with_rules(&self, rules: Option<RuleSet>, otherwise: RuleSet) -> Result<(Position, RuleSet)> {
        let text = self.position.join(" ");
        let path = Path::new(&text);
        if path.is_file() {
            let game = read_game(path)?;
            return Ok((game.position(), rules.unwrap_or(game.rules().rules())));
        }
        let rules = rules.unwrap_or(otherwise);
        Ok((parse_position(&text, self.board, rules)?, rules))
    }

    /// Returns the game up to the position, with the rule set that [`with_rules`](PositionArgs::with_rules) returns and
    /// this ply limit. A result that a saved game declares does not count.
    ///
    /// # Errors
    /// If the text is not a position, or a move is illegal.
    pub fn game(&self, rule_set: Option<RuleSet>, otherwise: RuleSet, ply_limit: u32) -> Result<GameHistory> {
        let text = self.position.join(" ");
        let path = Path::new(&text);
        if !path.is_file() {
            return parse_game(&text, self.board, |rules| {
                rules.with_rules(rule_set.unwrap_or(otherwise)).with_ply_limit(ply_limit)
            });
        }
        let mut record = read_record(path)?;
        (record.rules, record.ply_limit) = (rule_set.unwrap_or(record.rules), ply_limit);
        record.result = None;
        let game = GameHistory::from_record(rules(&record.start)?, &record);
        let (path, rules) = (path.display(), record.rules.option_name());
        game.with_context(|| {
            format!(
                "{path}: a move of the game is illegal with the rules {rules} and the ply limit {ply_limit}; give its \
                 last position instead of the file"
            )
        })
    }
}

/// Parses the text of a position, whose moves follow the given rules. `startpos` is on the given board.
pub fn parse_position(text: &str, board: BoardArgs, rule_set: RuleSet) -> Result<Position> {
    let path = Path::new(text);
    if path.is_file() {
        return Ok(read_game(path)?.position());
    }
    if !text.contains(" moves ") {
        return parse_start(text, board);
    }
    Ok(parse_game(text, board, |rules| rules.with_rules(rule_set))?.position())
}

/// Parses the text of a position, and returns the game with its moves by the rules that `change` makes of those of
/// the board.
fn parse_game(
    text: &str,
    board: BoardArgs,
    change: impl FnOnce(ChineseCheckers) -> ChineseCheckers,
) -> Result<GameHistory> {
    let (start, moves) = text.split_once(" moves ").unwrap_or((text, ""));
    let position = parse_start(start, board)?;
    let game = GameHistory::at(change(rules(&position)?), position);
    let mut game = game.expect("the board is that of the position");
    for text in moves.split_whitespace() {
        game.play_text(text)?;
    }
    Ok(game)
}

/// Parses the text of a position without moves.
fn parse_start(text: &str, board: BoardArgs) -> Result<Position> {
    let parsed = if text.contains('/') {
        text.strip_prefix("fen ").unwrap_or(text).parse()
    } else {
        board.board()?.for_two()?.parse_position(if text.is_empty() { "startpos" } else { text })
    };
    with_file_context(text, parsed)
}

/// Returns the parsed value, or an error. If the text is a single word, the error also reports that there is no file of this name.
pub fn with_file_context<T>(text: &str, parsed: Result<T, impl Into<Error>>) -> Result<T> {
    parsed.map_err(|error| {
        let error = error.into();
        if text.contains([' ', ',']) { error } else { error.context(format!("there is no file `{text}`")) }
    })
}

/// Returns the rules of the board of a position.
pub fn rules(position: &Position) -> Result<ChineseCheckers> {
    Ok(ChineseCheckers::new(board_of(position)?, Filter::All))
}

/// Reads the game of a file.
pub fn read_game(path: &Path) -> Result<GameHistory> {
    let record = read_record(path)?;
    let history = GameHistory::from_record(rules(&record.start)?, &record);
    Ok(history.expect("the moves of a parsed record are legal"))
}

/// Reads the beginning of a text, up to a number of bytes.
fn read_at_most(path: &Path, bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(bytes).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads the record of a file.
pub fn read_record(path: &Path) -> Result<AnnotatedGame> {
    let text = read_at_most(path, MAX_RECORD_BYTES + 1).with_context(|| format!("{}: cannot read", path.display()))?;
    if text.len() as u64 > MAX_RECORD_BYTES {
        bail!("{}: the file has more than 16 MiB", path.display());
    }
    if text.trim_start().starts_with('{') {
        let path = path.display();
        bail!(
            "{path}: this is the log of a tournament, not the record of a game; `tournament show` and `export-game` take \
             its game N with --game N, and `analyse --game` with --number N"
        );
    }
    text.parse().with_context(|| path.display().to_string())
}
