//! The commands of a person at the board.

use std::path::PathBuf;

/// An input line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayCommand {
    Help,
    /// The rules of the game.
    Rules,
    /// The legal moves, or those of the piece on a cell.
    Moves(Option<String>),
    Hint,
    /// The board, with or without the names of all cells.
    Board {
        names: bool,
    },
    Flip,
    Position,
    Undo,
    Redo,
    /// The strength to set, or none to show it.
    Level(Option<String>),
    /// The pieces of the other army size to begin with, or none for the same start.
    New(Option<String>),
    Resign,
    /// The file to write, or none for the file of the last `save` or `load`.
    Save(Option<PathBuf>),
    Load(PathBuf),
    Quit,
    /// The text of a move.
    Move(String),
}

/// The names of the commands, their arguments and their help.
const COMMANDS: [(&str, &str, &str); 15] = [
    ("help", "", "list the commands"),
    ("rules", "", "explain the rules of the game"),
    ("moves", "[CELL]", "list the legal moves, or those of the piece on a cell"),
    ("hint", "", "show a good move"),
    ("board", "[names]", "draw the board; `board names` names every cell"),
    ("flip", "", "turn the board by 180 degrees"),
    ("pos", "", "print the position as text, e.g. for `sternhalma analyse`"),
    ("undo", "", "take back your last move and the reply"),
    ("redo", "", "play again what was taken back"),
    ("level", "[N]", "show or set the strength of the computer, 1 to 10"),
    ("new", "[N]", "start again, or start a game with N pieces each"),
    ("resign", "", "give up the game"),
    ("save", "[FILE]", "write the game to a file"),
    ("load", "FILE", "continue the game of a file"),
    ("quit", "", "leave"),
];

impl PlayCommand {
    /// Parses a line; a blank line is not a command.
    ///
    /// # Errors
    ///
    /// Returns a message if a command has too few or too many arguments.
    pub fn parse(line: &str) -> Result<Option<PlayCommand>, String> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let name = match &*name.to_ascii_lowercase() {
            "" => return Ok(None),
            "?" => "help".to_owned(),
            "exit" | "q" => "quit".to_owned(),
            name => name.to_owned(),
        };
        let Some((name, usage, _)) = COMMANDS.into_iter().find(|(command, ..)| *command == name) else {
            return Ok(Some(PlayCommand::Move(line.to_owned())));
        };
        let wrong = || format!("expected `{}`", format!("{name} {usage}").trim_end());
        if usage.is_empty() && !rest.is_empty() || !usage.is_empty() && !usage.starts_with('[') && rest.is_empty() {
            return Err(wrong());
        }
        let argument = (!rest.is_empty()).then(|| rest.to_owned());
        Ok(Some(match name {
            "help" => PlayCommand::Help,
            "rules" => PlayCommand::Rules,
            "moves" => PlayCommand::Moves(argument),
            "hint" => PlayCommand::Hint,
            "board" => match argument.as_deref() {
                None => PlayCommand::Board { names: false },
                Some("names") => PlayCommand::Board { names: true },
                Some(_) => return Err(wrong()),
            },
            "flip" => PlayCommand::Flip,
            "pos" => PlayCommand::Position,
            "undo" => PlayCommand::Undo,
            "redo" => PlayCommand::Redo,
            "level" => PlayCommand::Level(argument),
            "new" => PlayCommand::New(argument),
            "resign" => PlayCommand::Resign,
            "save" => PlayCommand::Save(argument.map(|path| unquoted(&path).into())),
            "load" => PlayCommand::Load(unquoted(rest).into()),
            _ => PlayCommand::Quit,
        }))
    }

    /// Returns the list of commands.
    pub fn help() -> String {
        let lines = COMMANDS.map(|(name, usage, help)| format!("  {:15}{help}", format!("{name} {usage}")));
        format!("A move is two cells: `a2-a4`, `a2a4` or `a2 a4`.\n{}", lines.join("\n"))
    }

    /// Returns the names of the commands.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COMMANDS.into_iter().map(|(name, ..)| name)
    }
}

/// Returns the name of a file without the quotation marks around it.
fn unquoted(name: &str) -> &str {
    let inner = |mark: char| name.strip_prefix(mark)?.strip_suffix(mark).filter(|inner| !inner.is_empty());
    inner('"').or_else(|| inner('\'')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_meaning_and_other_lines_are_moves() {
        for name in PlayCommand::names() {
            let line = if name == "load" { "load FILE" } else { name };
            let command = PlayCommand::parse(line).unwrap().unwrap();
            assert!(!matches!(command, PlayCommand::Move(_)), "{name}");
            assert_eq!(command == PlayCommand::Quit, name == "quit", "{name}");
        }
        for (line, command) in [
            ("  HELP ", PlayCommand::Help),
            ("?", PlayCommand::Help),
            ("exit", PlayCommand::Quit),
            ("save  my game.shg", PlayCommand::Save(Some("my game.shg".into()))),
            ("save \"my game.shg\"", PlayCommand::Save(Some("my game.shg".into()))),
            ("load 'my game.shg'", PlayCommand::Load("my game.shg".into())),
            ("save my\"game", PlayCommand::Save(Some("my\"game".into()))),
            ("save \"", PlayCommand::Save(Some("\"".into()))),
            ("moves c1", PlayCommand::Moves(Some("c1".to_owned()))),
            ("board names", PlayCommand::Board { names: true }),
            ("new 10", PlayCommand::New(Some("10".to_owned()))),
            (" C1 e3 ", PlayCommand::Move("C1 e3".to_owned())),
        ] {
            assert_eq!(PlayCommand::parse(line), Ok(Some(command)), "{line}");
        }
        assert_eq!(PlayCommand::parse(" \t"), Ok(None));
        for (line, usage) in [("undo 3", "`undo`"), ("load", "`load FILE`"), ("board x", "`board [names]`")] {
            assert_eq!(PlayCommand::parse(line), Err(format!("expected {usage}")), "{line}");
        }
    }
}
