//! The state of a game at the terminal, and the replies to commands.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use sternhalma_data::{Board, CellSet, Side};
use sternhalma_engine::record::MoveInfo;
use sternhalma_engine::ugi::UgiError;
use sternhalma_engine::{Action, ChineseCheckers, Filter, GameHistory, GameSetup, Outcome, ugi};

use super::command::PlayCommand;
use super::input::LineInput;
use super::rules::rules_text;
use super::seats::{SeatFactory, Seats};
use super::strength::Strength;
use sternhalma_files::{OutputError, OutputFile};

use crate::args::position::read_game;
use crate::drawing::drawing;
use crate::error::one_line;
use crate::output::{counted, print_line};
use crate::search_text::{line_text, value_text};
use crate::values::DEFAULT_SIZE;

/// The pieces of an army in the game that shops sell.
const FULL_PIECES: u64 = 10;

/// What follows a command.
pub enum Reply {
    Continue,
    Quit,
}

/// A game at the terminal.
pub struct PlaySession<'a> {
    factory: &'a SeatFactory<'a>,
    history: GameHistory,
    seats: Seats,
    strength: Strength,
    /// The number of games before this one.
    games: u64,
    flipped: bool,
    /// Whether a person reads the output, which then has times.
    terminal: bool,
    /// The file of the last `save` or `load`.
    file: Option<PathBuf>,
    /// Whether the board has changed since it was drawn.
    changed: bool,
}

impl<'a> PlaySession<'a> {
    /// Creates a session with the game of a file.
    pub fn load(factory: &'a SeatFactory<'a>, path: &Path, strength: Strength) -> Result<PlaySession<'a>> {
        let session = PlaySession::new(factory, read_game(path)?, strength)?;
        Ok(PlaySession { file: Some(path.to_owned()), ..session })
    }

    /// Creates a session that continues a game.
    pub fn new(factory: &'a SeatFactory<'a>, history: GameHistory, strength: Strength) -> Result<PlaySession<'a>> {
        let seats = factory.seats(history.rules().setup())?;
        let flipped = factory.is_human(Side::O) && !factory.is_human(Side::X);
        let terminal = LineInput::is_terminal();
        Ok(PlaySession { factory, history, seats, strength, games: 0, flipped, terminal, file: None, changed: true })
    }

    /// Returns the introduction: who plays, how to win, and what to type.
    pub fn banner(&self) -> String {
        let (board, level) = (self.history.rules().board(), self.strength.text());
        let [x, o] = Side::BOTH.map(|side| self.factory.name(side));
        let players = match Side::BOTH.map(|side| self.factory.is_human(side)) {
            [true, true] => "You play both sides.".to_owned(),
            [true, false] => format!("You play x, {o} plays o ({level})."),
            [false, true] => format!("You play o, {x} plays x ({level})."),
            [false, false] => format!("{x} plays x, {o} plays o ({level})."),
        };
        let mut lines = vec![
            format!("Chinese Checkers, {board}. {players}"),
            "x starts in the corner a1, o in the opposite corner. A player wins when the".to_owned(),
            "corner opposite its own is full and holds at least one of its pieces.".to_owned(),
        ];
        if self.factory.has_human() {
            // The legal moves are those of the player to move.
            let is_first = self.factory.is_human(self.history.state().player());
            let example = self.history.legal().first().copied().filter(|_| is_first);
            let example = example.map_or(String::new(), |action| format!(", such as `{}`", self.action_text(action)));
            if self.is_small_start() {
                lines.push(format!("`new {FULL_PIECES}` starts the game of the shop, with {FULL_PIECES} pieces each."));
            }
            lines.push(format!(
                "Enter a move as two cells{example}. `rules` explains the game, `help` lists the commands."
            ));
        }
        lines.join("\n")
    }

    /// Returns whether a game with fewer pieces than that of the shop begins, on its board.
    fn is_small_start(&self) -> bool {
        let board = self.history.rules().board();
        let is_start = self.history.actions().len() == 0 && self.history.start().ply() == 0;
        is_start && board.size() as u64 == DEFAULT_SIZE && (board.pieces() as u64) < FULL_PIECES
    }

    /// Returns the prompt of the next line.
    pub fn prompt(&self) -> String {
        match self.history.outcome() {
            Some(_) => "game over> ".to_owned(),
            None => format!("{} to move> ", self.history.state().player()),
        }
    }

    /// Returns the lines that a terminal completes: legal moves and commands.
    pub fn words(&self) -> Vec<String> {
        let moves = self.history.legal().into_iter().map(|action| self.action_text(action));
        moves.chain(PlayCommand::names().map(str::to_owned)).collect()
    }

    /// Plays until a person is to move, or the game is over. Draws the board if
    /// it has changed.
    pub fn advance(&mut self) -> Result<()> {
        let mut over = self.history.outcome().is_some();
        if !self.factory.has_human() {
            self.draw(false)?;
        }
        while !over {
            if let Some(choice) = self.seats.choose(self.factory, &self.history, self.games, self.strength) {
                if choice.stopped {
                    print_line("The search was stopped; this is the best move found so far.")?;
                }
                self.play(choice.action, choice.info)?;
            } else if self.history.legal() == [None] {
                print_line(&format!("{} has no legal move and passes.", self.history.state().player()))?;
                self.play(None, MoveInfo::default())?;
            } else {
                break;
            }
            over = self.history.outcome().is_some();
            if !self.factory.has_human() {
                self.draw(false)?;
            }
        }
        if self.changed {
            if self.factory.has_human() {
                self.draw(false)?;
            }
            if over {
                self.print_result()?;
            }
        }
        self.changed = false;
        Ok(())
    }

    /// Prints the result of a finished game, with the ply of its last position.
    fn print_result(&self) -> Result<()> {
        let ply = self.history.state().ply();
        let result = match self.history.outcome() {
            Some(Outcome::Won(side)) => format!("{side} wins at ply {ply}"),
            _ if self.history.is_repeated() => format!("a draw by repetition at ply {ply}"),
            _ => format!("a draw at ply {ply}"),
        };
        print_line(&result)
    }

    /// Plays an action and prints it.
    fn play(&mut self, action: Action, info: MoveInfo) -> Result<()> {
        let side = self.history.state().player();
        self.history.play(action, info.clone());
        self.changed = true;
        let mut line = format!("{}. {side} {}", self.history.state().ply(), self.action_text(action));
        if let Some((_, path)) = self.history.last_path().filter(|(_, path)| path.len() > 2) {
            let landings = path[1..path.len() - 1].iter().map(|&cell| self.history.rules().geometry().cell_name(cell));
            line += &format!(" via {}", landings.collect::<Vec<_>>().join(" "));
        }
        if let Some(score) = info.score {
            let depth = info.depth.map_or(String::new(), |depth| format!(", depth {depth}"));
            let time = info.time.filter(|_| self.terminal);
            let time = time.map_or(String::new(), |time| format!(", {:.1} s", time.as_secs_f64()));
            line += &format!("  ({}{depth}{time})", value_text(score));
        }
        print_line(&line)
    }

    /// Draws the board with the last move.
    fn draw(&mut self, names: bool) -> Result<()> {
        let path = self.history.last_path();
        let marked: CellSet = path.iter().flat_map(|(_, path)| path.iter().copied()).collect();
        let drawing = drawing()
            .labels(names)
            .flipped(self.flipped)
            .home(self.history.rules().board().pieces())
            .last_move(path.map(|(mv, _)| mv))
            .marked(marked);
        print_line(&drawing.draw(&self.history.position()))
    }

    fn action_text(&self, action: Action) -> String {
        ugi::action_text(self.history.rules().geometry(), action)
    }

    /// Executes a line. Mistakes are reported, and the game continues.
    ///
    /// # Errors
    ///
    /// Fails only if stdout cannot be written.
    pub fn obey(&mut self, line: &str) -> Result<Reply> {
        let done = match PlayCommand::parse(line) {
            Ok(None) => Ok(()),
            Ok(Some(PlayCommand::Quit)) => return Ok(Reply::Quit),
            Ok(Some(command)) => self.execute(command),
            Err(message) => return print_line(&message).map(|()| Reply::Continue),
        };
        match done {
            Err(error) if !crate::error::is_broken_pipe(&error) => print_line(&one_line(&error))?,
            done => done?,
        }
        Ok(Reply::Continue)
    }

    fn execute(&mut self, command: PlayCommand) -> Result<()> {
        match command {
            PlayCommand::Help => print_line(&PlayCommand::help()),
            PlayCommand::Rules => print_line(&rules_text(self.history.rules())),
            PlayCommand::Moves(cell) => self.list_moves(cell.as_deref()),
            PlayCommand::Hint => self.hint(),
            PlayCommand::Board { names } => self.draw(names),
            PlayCommand::Flip => {
                self.flipped = !self.flipped;
                self.draw(false)
            }
            PlayCommand::Position => print_line(&self.history.position().to_string()),
            PlayCommand::Undo => self.undo(),
            PlayCommand::Redo => self.redo(),
            PlayCommand::Level(None) => print_line(&self.strength.text()),
            PlayCommand::Level(Some(level)) => {
                self.strength = Strength::parse_level(&level)?;
                print_line(&self.strength.text())
            }
            PlayCommand::New(None) => self.restart(),
            PlayCommand::New(Some(pieces)) => self.start_with(&pieces),
            PlayCommand::Resign => self.resign(),
            PlayCommand::Save(path) => self.save(path),
            PlayCommand::Load(path) => self.replace(&path),
            PlayCommand::Move(text) => self.enter(&text),
            PlayCommand::Quit => Ok(()),
        }
    }

    fn ensure_unfinished(&self) -> Result<()> {
        if self.history.outcome().is_some() {
            bail!("the game is over; `new` starts another one, `undo` takes the last move back");
        }
        Ok(())
    }

    /// Plays the move that a person has typed.
    fn enter(&mut self, text: &str) -> Result<()> {
        let geometry = self.history.rules().geometry();
        let is_cell = |text: &str| geometry.parse_cell(text.trim()).is_ok();
        let lower = text.to_ascii_lowercase();
        let cells: Vec<&str> = lower.split(['-', ' ']).filter(|cell| !cell.is_empty()).collect();
        let mv = match geometry.parse_typed_move(text) {
            Ok(mv) => mv,
            Err(_) if is_cell(&lower) => return self.list_moves(Some(text)),
            Err(_) if cells.len() > 2 && cells.iter().all(|cell| is_cell(cell)) => {
                let (first, last) = (cells[0], cells[cells.len() - 1]);
                bail!("a chain of jumps is entered by its first and last cell: `{first}-{last}`");
            }
            Err(_) if lower == "analyse" => {
                bail!("`analyse` is a command of the program: `save FILE`, and then `sternhalma analyse --game FILE`")
            }
            Err(error) => {
                let message = format!("`{text}` is neither a move nor a command; `help` lists the commands");
                let is_move = cells.first().is_some_and(|cell| is_cell(cell));
                return if is_move { Err(error).context(message) } else { Err(anyhow!(message)) };
            }
        };
        self.ensure_unfinished()?;
        if !self.history.legal().contains(&Some(mv)) {
            let text = self.action_text(Some(mv));
            match ugi::legal_action(self.history.rules(), self.history.state(), &text) {
                Err(sealed @ UgiError::SealedGoal(_)) => bail!(sealed),
                _ => bail!("{text} is not legal here; `moves` lists the legal moves"),
            }
        }
        self.play(Some(mv), MoveInfo::default())
    }

    /// Prints the legal moves of the piece on a cell, whose name may be in either
    /// case, or of all pieces.
    ///
    /// # Errors
    ///
    /// Fails if the game is over, or if no piece of the player to move can move from
    /// the cell.
    fn list_moves(&self, cell: Option<&str>) -> Result<()> {
        self.ensure_unfinished()?;
        let geometry = self.history.rules().geometry();
        let cell = cell.map(|name| geometry.parse_cell(&name.to_ascii_lowercase())).transpose()?;
        let moves: Vec<_> = self.history.legal().into_iter().flatten().collect();
        let army = self.history.state().army(self.history.state().player());
        let lines = army.iter().filter(|&from| cell.is_none_or(|cell| cell == from)).filter_map(|from| {
            let own: Vec<Action> = moves.iter().filter(|mv| mv.from == from).copied().map(Some).collect();
            (!own.is_empty()).then(|| format!("  {:4}{}", geometry.cell_name(from), line_text(geometry, &own)))
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            bail!("no piece of {} can move from there", self.history.state().player());
        }
        print_line(&lines.join("\n"))
    }

    fn hint(&mut self) -> Result<()> {
        self.ensure_unfinished()?;
        let Some(best) = self.seats.advise(self.factory, &self.history, self.strength.hint_limits())? else {
            return Ok(());
        };
        let value = best.info.value.map_or(String::new(), |value| format!("  ({}", value_text(value)));
        let depth = if value.is_empty() { String::new() } else { format!(", depth {})", best.info.spent.depth) };
        let line = line_text(self.history.rules().geometry(), &best.info.line);
        print_line(&format!("hint: {}{value}{depth}  line: {line}", self.action_text(best.action)))
    }

    /// Returns whether a person is to choose a move. A forced pass is no choice.
    fn awaits_person(&self) -> bool {
        self.factory.is_human(self.history.state().player()) && self.history.legal() != [None]
    }

    /// Takes moves back until a person is to move.
    fn undo(&mut self) -> Result<()> {
        self.changed = true;
        if self.history.reopen() {
            return Ok(());
        }
        let mut taken = 0;
        while self.history.undo().is_some() {
            taken += 1;
            if self.awaits_person() {
                return print_line(&format!("{} taken back", counted(taken, "move")));
            }
        }
        (0..taken).for_each(|_| _ = self.history.redo());
        self.changed = false;
        bail!("there is no move of yours to take back")
    }

    /// Plays moves that were taken back, at least one, until a person is to move.
    fn redo(&mut self) -> Result<()> {
        let mut played = 0;
        while self.history.redo().is_some() {
            played += 1;
            if self.awaits_person() {
                break;
            }
        }
        if played == 0 {
            bail!("there is no move to play again");
        }
        self.changed = true;
        print_line(&format!("{} played again", counted(played, "move")))
    }

    fn restart(&mut self) -> Result<()> {
        let position = self.history.rules().position(self.history.start());
        let rules = ChineseCheckers::of(self.history.rules().setup(), Filter::All);
        let history = GameHistory::at(rules, position);
        self.begin(history.context("the start is a position of the board")?)
    }

    /// Begins a game with a number of pieces per army.
    fn start_with(&mut self, pieces: &str) -> Result<()> {
        let setup = self.history.rules().setup();
        let number = pieces.parse::<u64>().ok().filter(|&number| number > 0);
        let pieces =
            number.with_context(|| format!("expected a number of pieces, such as `new 10`, got `{pieces}`"))?;
        let board = Board::new(setup.board.size() as u64, pieces)?.for_two()?;
        self.begin(GameHistory::new(ChineseCheckers::of(GameSetup { board, ..setup }, Filter::All)))?;
        print_line(&format!("{board}"))
    }

    /// Begins another game.
    fn begin(&mut self, history: GameHistory) -> Result<()> {
        if !self.seats.fit(&history) {
            self.seats = self.factory.seats(history.rules().setup())?;
        }
        self.seats.forget();
        self.games += 1;
        self.history = history;
        self.changed = true;
        // `save` must not replace the earlier game.
        self.file = None;
        Ok(())
    }

    fn resign(&mut self) -> Result<()> {
        self.ensure_unfinished()?;
        let side = self.history.state().player();
        self.history.resign(side);
        self.changed = true;
        print_line(&format!("{side} resigns"))
    }

    fn save(&mut self, path: Option<PathBuf>) -> Result<()> {
        let path = path.or_else(|| self.file.clone()).context("expected `save FILE`")?;
        let mut game = self.history.record();
        let date = &humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()[..10];
        let [x, o] = Side::BOTH.map(|side| self.factory.name(side));
        for (name, value) in [("Event", "a game in the terminal"), ("Date", date), ("PlayerX", x), ("PlayerO", o)] {
            if game.tag(name).is_none() {
                game.set_tag(name, value);
            }
        }
        // A file of this session may be replaced.
        let replace = self.file.as_ref() == Some(&path);
        let mut file = match OutputFile::create(&path, replace, &[]) {
            Err(OutputError::Exists { path }) => {
                bail!("{}: the file exists; save under another name, or remove it", path.display())
            }
            created => created?,
        };
        let written = file.write_all(game.to_string().as_bytes());
        written.with_context(|| format!("{}: cannot write", path.display()))?;
        file.finish()?;
        print_line(&format!("saved {}", path.display()))?;
        self.file = Some(path);
        Ok(())
    }

    fn replace(&mut self, path: &Path) -> Result<()> {
        self.begin(read_game(path)?)?;
        self.file = Some(path.to_owned());
        let players = Side::BOTH.map(|side| {
            let tag = if side == Side::X { "PlayerX" } else { "PlayerO" };
            self.history.tag(tag).unwrap_or("?").to_owned()
        });
        let plies = counted(self.history.actions().len(), "move");
        print_line(&format!("{}: {plies}, {} against {}", path.display(), players[0], players[1]))
    }
}
