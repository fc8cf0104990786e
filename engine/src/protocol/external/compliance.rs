//! Checks whether a program follows the engine protocol (`docs/reference/ugi.md`).

use std::time::{Duration, Instant};

use rand::RngExt;
use sternhalma_data::{Cell, CellSet, Move, Position, Side};
use sternhalma_ggp::{Game, Rng};

use super::process::{ExternalProgram, Process, Wait, excerpt};
use super::replies::{self, Introduction};
use super::{ExternalPlayerError, ProgramCommand, ProtocolLog, RULES, option};
use crate::protocol::ugi::action_text;
use crate::rules::{ChineseCheckers, GameState, Repetitions};

/// The time for an answer that needs no search, and for a search of a few nodes.
const PROMPT: Duration = Duration::from_secs(10);

/// The time in which a search must end after `stop`, and the program after `quit`.
const SOON: Duration = Duration::from_secs(1);

/// The time without an answer that shows that a search continues.
const QUIET: Duration = Duration::from_millis(300);

/// The time of a timed search.
const MOVE_TIME: Duration = Duration::from_millis(200);

/// The tolerance of a timed search. Tournaments have the same.
const MARGIN: Duration = Duration::from_millis(100);

/// The number of attempts at a timed search: other processes may delay an answer.
const ATTEMPTS: usize = 3;

/// The plies of the game that the program plays against itself.
const PLIES: u32 = 12;

/// The random positions of each player among which those with moves that seal a goal are searched, and how many of
/// all are used.
const SEAL_DRAWS: u32 = 20_000;
const SEAL_POSITIONS: usize = 24;

/// The smallest number of pieces of a wall.
const WALL_PIECES: usize = 4;

/// The types of options.
const TYPES: [&str; 5] = ["check", "spin", "combo", "button", "string"];

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComplianceCheck {
    /// What is checked.
    pub name: &'static str,
    /// The result.
    pub result: CheckResult,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckResult {
    /// The program answered as expected.
    Passed,
    /// The check does not apply, for this reason.
    Skipped(&'static str),
    /// The expected and the actual reply.
    Failed(String),
}

type Check = fn(&mut Checker<'_>) -> Result<(), String>;

/// The checks in order. Each check starts the program if it does not run.
const CHECKS: [(&str, Check); 22] = [
    ("`id name` names the engine", |it| it.check_name()),
    ("each `option` has a name and a type", |it| it.check_options()),
    ("`isready` is answered by `readyok`", |it| it.ready("isready")),
    ("`setoption` accepts the declared defaults", |it| it.check_defaults()),
    ("unknown commands are ignored", |it| it.ready("xyzzy plugh\nisready")),
    ("`stop` without a search is ignored", |it| it.ready("stop\nisready")),
    ("`uginewgame` begins a game", |it| it.ready("uginewgame\nisready")),
    ("`position startpos`, `go nodes 100`: a legal move", |it| {
        let start = it.game.initial();
        it.check_move("position startpos", &start, "go nodes 100", PROMPT)
    }),
    ("`position startpos moves …`: legal moves of a game", |it| it.check_game()),
    ("`position fen …`: a legal move for o", |it| it.check_fen()),
    ("`position fen …`: a legal move where another one seals a goal", |it| it.check_seals()),
    ("`setoption` ignores or refuses numbers outside their bounds", |it| it.check_bounds()),
    ("`go movetime 200`: a legal move in time", |it| it.check_timed("go movetime 200", MOVE_TIME)),
    ("`go p1time 1000 p2time 1000`: a legal move in time", |it| {
        it.check_timed("go p1time 1000 p2time 1000", Duration::from_secs(1))
    }),
    ("`go` with a clock that is negative, 0, or of the other player alone: a legal move", |it| {
        it.check_limits(&["p1time -5 p2time 1000", "p1time 0 p2time 0", "p2time 1000"])
    }),
    ("`go` with limits that are unknown or have no number: a legal move", |it| {
        it.check_limits(&[
            "nodes 100 xyzzy 3",
            "p1time 1000 p2time 1000 movestogo 3",
            "xyzzy nodes 100",
            "movetime 50 depth",
        ])
    }),
    ("`go infinite`: no move before `stop`, a legal one after it", |it| it.check_infinite()),
    ("commands after `go` or `stop` wait for the `bestmove`", |it| it.check_waiting()),
    ("`isready` is answered during a search", |it| it.check_ready_during_search()),
    ("a second game after `uginewgame`", |it| {
        it.ready("uginewgame\nisready")?;
        let start = it.game.initial();
        it.check_move("position startpos", &start, "go nodes 100", PROMPT)
    }),
    ("`quit` ends the program", |it| it.check_end(|process| drop(process.say("quit\n".to_owned())))),
    ("the end of stdin ends the program", |it| it.check_end(Process::close_input)),
];

/// The check before all others.
const HANDSHAKE: &str = "`ugi` is answered by `ugiok`";

/// Checks a program against the protocol, with games on the board of `game`. Reports each check
/// when it is done. If the program does not start, the other checks are not reported. `log` gets the lines of the
/// protocol. Returns whether no check failed.
///
/// # Errors
///
/// Returns an error if the command line is invalid.
pub fn check_compliance(
    command: &str,
    game: ChineseCheckers,
    log: Option<&ProtocolLog>,
    mut report: impl FnMut(&ComplianceCheck),
) -> Result<bool, ExternalPlayerError> {
    let ProgramCommand { program, .. } = ProgramCommand::new(command, Vec::new(), None)?;
    let mut checker = Checker { program, game, log, process: None, lines: Vec::new(), skipped: None };
    let mut all = true;
    let mut add = |name: &'static str, result: Result<Option<&'static str>, String>| {
        let passed = result.is_ok();
        all &= passed;
        let result = match result {
            Ok(None) => CheckResult::Passed,
            Ok(Some(reason)) => CheckResult::Skipped(reason),
            Err(failure) => CheckResult::Failed(failure),
        };
        report(&ComplianceCheck { name, result });
        passed
    };
    if add(HANDSHAKE, checker.start().map(|()| None)) {
        for (name, check) in CHECKS {
            let result = checker.start().and_then(|()| check(&mut checker));
            if !add(name, result.map(|()| checker.skipped.take())) {
                // Late lines must not disturb the next check.
                checker.process = None;
            }
        }
    }
    Ok(all)
}

struct Checker<'a> {
    program: ExternalProgram,
    game: ChineseCheckers,
    /// The log of all lines.
    log: Option<&'a ProtocolLog>,
    process: Option<Process>,
    /// The lines before `ugiok`.
    lines: Vec<String>,
    /// The reason why the present check does not apply.
    skipped: Option<&'static str>,
}

impl Checker<'_> {
    /// Starts the program, if it does not run.
    fn start(&mut self) -> Result<(), String> {
        if self.process.as_mut().is_some_and(|process| !process.has_ended()) {
            return Ok(());
        }
        let trace = self.log.map(|log| log.of("engine"));
        self.process = Some(Process::start(&self.program, trace).map_err(|error| error.to_string())?);
        self.lines = self.ask("ugi", "ugiok", PROMPT)?;
        self.set_rules()
    }

    /// Sets the rule set of the games, if the program has the option.
    fn set_rules(&mut self) -> Result<(), String> {
        let introduction = self.introduction();
        let Some(offer) = introduction.option(RULES) else { return Ok(()) };
        self.send(option(&offer.name, self.game.rules().stored_name()).trim_end())
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("`start` comes before each check")
    }

    /// Sends lines.
    fn send(&mut self, lines: &str) -> Result<(), String> {
        self.process().say(format!("{lines}\n")).map_err(|fault| fault.to_string())
    }

    /// Returns the lines before the first that begins with a word, and then that line.
    fn until(&mut self, word: &str, time: Duration) -> Result<Vec<String>, String> {
        let mut wait = Wait::of(time);
        let mut lines: Vec<String> = Vec::new();
        loop {
            let heard = self.process().hear(&mut wait).map_err(|fault| {
                let last = lines.last().map_or_else(String::new, |line| format!(", after {}", excerpt(line)));
                format!("expected `{word}` within {} ms, got {fault}{last}", time.as_millis())
            })?;
            let Some(line) = heard else { continue };
            lines.push(line.text);
            if lines.last().and_then(|line| line.split_whitespace().next()) == Some(word) {
                return Ok(lines);
            }
        }
    }

    fn ask(&mut self, lines: &str, word: &str, time: Duration) -> Result<Vec<String>, String> {
        self.send(lines)?;
        self.until(word, time)
    }

    /// Checks that lines are answered by `readyok`, and that no search ends.
    fn ready(&mut self, lines: &str) -> Result<(), String> {
        let heard = self.ask(lines, "readyok", PROMPT)?;
        match heard.iter().find(|line| line.starts_with("bestmove")) {
            Some(line) => Err(format!("expected only `readyok`, got {}", excerpt(line))),
            None => Ok(()),
        }
    }

    fn introduction(&self) -> Introduction {
        let mut introduction = Introduction::default();
        self.lines.iter().for_each(|line| introduction.add(line));
        introduction
    }

    fn check_name(&mut self) -> Result<(), String> {
        if self.introduction().name.is_empty() {
            return Err("expected a line `id name NAME` before `ugiok`, got none".to_owned());
        }
        Ok(())
    }

    /// Returns the words of each line that declares an option.
    fn options(&self) -> impl Iterator<Item = Vec<&str>> {
        let words = self.lines.iter().map(|line| line.split_whitespace().collect::<Vec<&str>>());
        words.filter(|words| words.first() == Some(&"option"))
    }

    fn check_options(&mut self) -> Result<(), String> {
        for words in self.options() {
            let kind = words.iter().position(|&word| word == "type");
            let known = kind.and_then(|at| words.get(at + 1)).is_some_and(|kind| TYPES.contains(kind));
            if words.get(1) != Some(&"name") || kind.is_none_or(|at| at < 3) || !known {
                let types = TYPES.join(", ");
                let line = words.join(" ");
                return Err(format!(
                    "expected `option name NAME type TYPE …` with a type of {types}, got {}",
                    excerpt(&line)
                ));
            }
        }
        Ok(())
    }

    fn check_defaults(&mut self) -> Result<(), String> {
        let set: Vec<String> = self.options().filter_map(|words| default_line(&words)).collect();
        for line in set {
            let heard = self.ask(&format!("{line}\nisready"), "readyok", PROMPT)?;
            if let Some(error) = heard.iter().find_map(|line| replies::error(line)) {
                return Err(format!("expected {} to be accepted, got {}", excerpt(&line), excerpt(error)));
            }
        }
        self.set_rules()
    }

    /// Sets each number of an option below and above its bounds. Afterwards the program must be ready and play.
    fn check_bounds(&mut self) -> Result<(), String> {
        let outside: Vec<String> = self.options().flat_map(|words| lines_outside(&words)).collect();
        let start = self.game.initial();
        for line in outside {
            self.ready(&format!("{line}\nisready"))
                .and_then(|()| self.check_move("position startpos", &start, "go nodes 100", PROMPT))
                .map_err(|error| format!("after {}: {error}", excerpt(&line)))?;
        }
        self.check_defaults()
    }

    /// Checks that `go` with each of these limits is answered by a legal move of the initial position.
    fn check_limits(&mut self, limits: &[&str]) -> Result<(), String> {
        let start = self.game.initial();
        limits.iter().try_for_each(|limits| {
            let go = format!("go {limits}");
            self.check_move("position startpos", &start, &go, PROMPT).map_err(|error| format!("`{go}`: {error}"))
        })
    }

    /// Sends a position and a `go` at once with a search before them: none of the two may be lost.
    fn check_waiting(&mut self) -> Result<(), String> {
        let (start, mut next) = (self.game.initial(), self.game.initial());
        let mut legal = Vec::new();
        self.game.legal(&start, start.player() as usize, &mut legal);
        let first = *legal.first().ok_or("the board is too small for this check")?;
        self.game.play_action(&mut next, first);
        let text = action_text(self.game.geometry(), first);
        for search in ["go infinite\nstop", "go movetime 50"] {
            let second = format!("position startpos moves {text}\ngo nodes 100");
            let heard = self.ask(&format!("position startpos\n{search}\n{second}"), "bestmove", PROMPT)?;
            self.legal_move(&heard, &start)?;
            let heard = self.until("bestmove", PROMPT)?;
            self.legal_move(&heard, &next)?;
        }
        Ok(())
    }

    /// Checks the answer to a search, and returns its text.
    fn legal_move(&mut self, heard: &[String], state: &GameState) -> Result<String, String> {
        let line = heard.last().map_or("", String::as_str);
        let action = replies::best_move(self.game.geometry(), line).and_then(Result::ok);
        let mut legal = Vec::new();
        self.game.legal(state, state.player() as usize, &mut legal);
        match action.filter(|action| legal.contains(action)) {
            Some(action) => Ok(action_text(self.game.geometry(), action)),
            None => {
                let example = legal.first().map(|&action| action_text(self.game.geometry(), action));
                let (example, position) = (example.unwrap_or_default(), self.game.position(state));
                let why = action.flatten().and_then(|mv| self.game.why_forbidden(state, mv));
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                Err(format!(
                    "expected a legal move of {} in {position}, such as `bestmove {example}`, got {}{why}",
                    state.player(),
                    excerpt(line)
                ))
            }
        }
    }

    fn check_move(&mut self, position: &str, state: &GameState, go: &str, time: Duration) -> Result<(), String> {
        let heard = self.ask(&format!("{position}\n{go}"), "bestmove", time)?;
        self.legal_move(&heard, state).map(drop)
    }

    /// Lets the program play a game against itself.
    fn check_game(&mut self) -> Result<(), String> {
        let mut state = self.game.initial();
        let mut played = Repetitions::new(&self.game, &state);
        let mut moves = String::new();
        while state.ply() < PLIES && state.outcome().is_none() && !played.is_over() {
            let list = if moves.is_empty() { String::new() } else { format!(" moves{moves}") };
            let heard = self.ask(&format!("position startpos{list}\ngo nodes 100"), "bestmove", PROMPT)?;
            let text =
                self.legal_move(&heard, &state).map_err(|error| format!("`position startpos{list}`: {error}"))?;
            let action =
                crate::protocol::ugi::legal_action(&self.game, &state, &text).map_err(|error| error.to_string())?;
            self.game.play_action(&mut state, action);
            played.push(&self.game, &state);
            moves += " ";
            moves += &text;
        }
        Ok(())
    }

    fn check_fen(&mut self) -> Result<(), String> {
        let mut rng = rand::SeedableRng::seed_from_u64(1);
        let state = (self.game.random_state(5, &mut rng)).ok_or("the board is too small for this check")?;
        let position = format!("position fen {}", self.game.position(&state));
        self.check_move(&position, &state, "go nodes 100", PROMPT)
    }

    /// Checks the answers in positions in which a move that seals a goal is attractive.
    fn check_seals(&mut self) -> Result<(), String> {
        let states = if self.game.forbids_seals() { seal_positions(&self.game) } else { Vec::new() };
        if states.is_empty() {
            self.skipped = Some("the rules forbid no such move on this board");
        }
        states.iter().try_for_each(|state| {
            let position = format!("position fen {}", self.game.position(state));
            self.check_move(&position, state, "go nodes 100", PROMPT)
        })
    }

    /// Checks that the search of the command `go` answers within `time` and
    /// [`MARGIN`]. The best of [`ATTEMPTS`] counts.
    fn check_timed(&mut self, go: &str, time: Duration) -> Result<(), String> {
        let start = self.game.initial();
        let mut took = Duration::MAX;
        for _ in 0..ATTEMPTS {
            // A late answer is timed. A missing or illegal one ends the check at once.
            let started = Instant::now();
            self.check_move("position startpos", &start, go, time + PROMPT)?;
            took = took.min(started.elapsed());
            if took <= time + MARGIN {
                return Ok(());
            }
        }
        Err(format!("expected `bestmove` within {} ms, got it after {} ms", time.as_millis(), took.as_millis()))
    }

    /// Reads lines for a time in which no search may end.
    fn expect_search_to_go_on(&mut self) -> Result<(), String> {
        let until = Instant::now() + QUIET;
        let mut wait = Wait::of(PROMPT);
        while Instant::now() < until {
            let heard = self.process().hear(&mut wait).map_err(|fault| format!("expected a search, got {fault}"))?;
            if let Some(line) = heard.filter(|line| line.text.starts_with("bestmove")) {
                return Err(format!("expected no move before `stop`, got {}", excerpt(&line.text)));
            }
        }
        Ok(())
    }

    fn check_infinite(&mut self) -> Result<(), String> {
        let start = self.game.initial();
        self.send("position startpos\ngo infinite")?;
        self.expect_search_to_go_on()?;
        let heard = self.ask("stop", "bestmove", SOON)?;
        self.legal_move(&heard, &start).map(drop)
    }

    fn check_ready_during_search(&mut self) -> Result<(), String> {
        self.send("position startpos\ngo infinite")?;
        self.ready("isready")?;
        self.ask("stop", "bestmove", SOON).map(drop)
    }

    fn check_end(&mut self, end: impl FnOnce(&mut Process)) -> Result<(), String> {
        self.ready("isready")?;
        end(self.process());
        let until = Instant::now() + SOON;
        while !self.process().has_ended() {
            if Instant::now() >= until {
                self.process = None;
                return Err(format!("expected the program to end within {} ms, got a running one", SOON.as_millis()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Returns random positions with moves that only the rule against sealed goals forbids: first those in which such a
/// move advances by more rows than every legal one, and then those with the largest share of such moves.
fn seal_positions(game: &ChineseCheckers) -> Vec<GameState> {
    let mut rng: Rng = rand::SeedableRng::seed_from_u64(1);
    let (board, geometry, pieces) = (game.board(), game.geometry(), game.board().pieces());
    let all = CellSet::first_cells(board.cells());
    let mut found: Vec<((i32, usize), GameState)> = Vec::new();
    for draw in 0..2 * SEAL_DRAWS {
        let side = Side::BOTH[draw as usize % 2];
        // A wall around the goal of the other player has four pieces or more. They stand near it, and the others anywhere.
        let home = board.home(side);
        let near = home.into_iter().fold(home, |near, cell| near | geometry.neighbors(cell));
        let count = rng.random_range(pieces.min(WALL_PIECES)..=pieces).min(near.len());
        let mut own = random_cells(near, count, &mut rng);
        own |= random_cells(all - own, pieces - count, &mut rng);
        let other = random_cells(all - own, pieces, &mut rng);
        let [x, o] = if side == Side::X { [own, other] } else { [other, own] };
        let Some(position) = Position::new(geometry, x, o, side, 0) else { continue };
        let Some(state) = game.state(&position).filter(|state| state.outcome().is_none()) else { continue };
        let forbidden = game.forbidden(&state);
        let mut legal = Vec::new();
        game.legal(&state, side as usize, &mut legal);
        let most = |moves: &mut dyn Iterator<Item = Move>| moves.map(|mv| game.advance(side, mv)).max();
        let best = most(&mut forbidden.iter().map(|&(mv, _)| mv));
        let Some((best, other)) = best.zip(most(&mut legal.iter().flatten().copied())) else { continue };
        found.push(((best - other, 1000 * forbidden.len() / legal.len()), state));
    }
    found.sort_by_key(|&(key, _)| std::cmp::Reverse(key));
    found.into_iter().take(SEAL_POSITIONS).map(|(_, state)| state).collect()
}

/// Returns `count` of the cells.
fn random_cells(cells: CellSet, count: usize, rng: &mut Rng) -> CellSet {
    let mut cells: Vec<Cell> = cells.into_iter().collect();
    (0..count).map(|_| cells.swap_remove(rng.random_range(0..cells.len()))).collect()
}

/// Returns the line that sets an option to its declared default, or `None` if it has none.
fn default_line(words: &[&str]) -> Option<String> {
    let kind = words.iter().position(|&word| word == "type")?;
    let name = words.get(2..kind)?.join(" ");
    let start = kind + words[kind..].iter().position(|&word| word == "default")? + 1;
    let end = words[start..].iter().position(|word| ["min", "max", "var"].contains(word));
    let value = words[start..end.map_or(words.len(), |end| start + end)].join(" ");
    (!value.is_empty()).then(|| option(&name, &value).trim_end().to_owned())
}

/// Returns the lines that set a number one below its declared minimum, and one above its maximum.
fn lines_outside(words: &[&str]) -> Vec<String> {
    let Some(kind) = words.iter().position(|&word| word == "type") else { return Vec::new() };
    let bound = |name: &str| -> Option<i128> {
        words.get(kind + words[kind..].iter().position(|&word| word == name)? + 1)?.parse().ok()
    };
    let name = words.get(2..kind).unwrap_or_default().join(" ");
    let outside = [bound("min").and_then(|min| min.checked_sub(1)), bound("max").and_then(|max| max.checked_add(1))];
    outside.into_iter().flatten().map(|value| option(&name, &value.to_string()).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, RuleSet};

    use super::*;
    use crate::rules::Filter;

    #[test]
    fn the_most_attractive_moves_of_seal_positions_are_forbidden() {
        for (size, pieces) in [(7, 6), (9, 6), (9, 10)] {
            let board = Board::new(size, pieces).unwrap();
            let game = ChineseCheckers::new(board, Filter::All).with_rules(RuleSet::BlockedGoal2);
            let states = seal_positions(&game);
            assert_eq!(states.len(), SEAL_POSITIONS);
            let mut sides = [0, 0];
            for state in &states {
                let (side, position) = (state.player(), game.position(state));
                let moves: Vec<Move> = position.moves().collect();
                let best = moves.iter().map(|&mv| game.advance(side, mv)).max().unwrap();
                let best: Vec<Move> = moves.into_iter().filter(|&mv| game.advance(side, mv) == best).collect();
                assert!(best.iter().all(|&mv| game.cells_sealed_by(state, mv).is_some()), "{size} {pieces} {position}");
                sides[side as usize] += 1;
            }
            assert!(sides.iter().all(|&count| count > 4), "{sides:?}");
        }
    }

    #[test]
    fn numbers_outside_their_bounds_are_one_beyond_them() {
        for (line, expected) in [
            (
                "option name My Hash type spin default 16 min 1 max 18446744073709551615",
                &["setoption name My Hash value 0", "setoption name My Hash value 18446744073709551616"][..],
            ),
            ("option name Depth type spin default 3 min -2", &["setoption name Depth value -3"]),
            ("option name Player type string default min", &[]),
            ("option name min 3", &[]),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(lines_outside(&words), expected, "{line}");
        }
    }

    #[test]
    fn defaults_are_set_as_they_are_declared() {
        for (line, expected) in [
            ("option name Clear Hash type button", None),
            ("option name Seed type spin default 1 min 0 max 9", Some("setoption name Seed value 1")),
            (
                "option name My Style type combo default very bold var a",
                Some("setoption name My Style value very bold"),
            ),
            ("option name Path type string default", None),
            ("option name", None),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(default_line(&words).as_deref(), expected, "{line}");
        }
    }
}
