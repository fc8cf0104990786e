//! `tournament show --game`: one game of a log, move by move.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use sternhalma_data::{Board, Side};
use sternhalma_engine::record::{AnnotatedGame, check_logged};
use sternhalma_engine::{ChineseCheckers, Filter, GameSetup, ugi};
use sternhalma_ggp::arena::{GameLog, GameRecord, MoveSearch, Schedule, SearchValue, result_text};
use sternhalma_ggp::gdl::Document;

use crate::drawing::drawing;
use crate::output::{self, CommandOutcome, print_line};
use crate::search_text::value_text;

/// The format in which a game is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GameFormat {
    Boards,
    Record,
    Json,
}

/// Prints the game with a number.
pub fn show(schedule: &Schedule, records: &[GameRecord], number: u64, format: GameFormat) -> Result<CommandOutcome> {
    let record = find(schedule, records, number)?;
    let is_board = schedule.game.get("pieces").is_some();
    match format {
        GameFormat::Json => {
            let titles = schedule.titles(record.id);
            return output::answer(true, &json!({ "number": number, "titles": titles, "game": record }), String::new);
        }
        GameFormat::Record if !is_board => {
            bail!("only games of Chinese Checkers have a game record; leave out --record")
        }
        GameFormat::Record => print_line(logged(schedule, record)?.to_string().trim_end())?,
        GameFormat::Boards if is_board => print_line(&boards(schedule, record)?)?,
        GameFormat::Boards => print_line(&joint_moves(schedule, record))?,
    }
    Ok(CommandOutcome::Answered)
}

/// Prints all games as records, in the order in which they start.
pub fn show_records(schedule: &Schedule, records: &[GameRecord]) -> Result<CommandOutcome> {
    if schedule.game.get("pieces").is_none() {
        bail!("only games of Chinese Checkers have a game record; leave out --record");
    }
    let mut order: Vec<&GameRecord> = records.iter().collect();
    order.sort_by_key(|record| schedule.number(record.id));
    for record in order {
        print_line(&logged(schedule, record)?.to_string())?;
    }
    Ok(CommandOutcome::Answered)
}

/// Returns the game with a number in a log, as a record.
pub fn read_logged(log: &Path, number: u64) -> Result<AnnotatedGame> {
    let (schedule, records) = GameLog::read_checked(log, &check_logged)?;
    schedule.check()?;
    logged(&schedule, find(&schedule, &records, number)?)
}

fn find<'a>(schedule: &Schedule, records: &'a [GameRecord], number: u64) -> Result<&'a GameRecord> {
    let total = Schedule { shard: None, ..schedule.clone() }.total();
    let id = schedule.numbered(number).with_context(|| format!("expected a game from 1 to {total}, got {number}"))?;
    records.iter().find(|record| record.id == id).with_context(|| {
        format!("game {number} of {total} is not in the log: it was not played yet, or belongs to another shard")
    })
}

fn logged(schedule: &Schedule, record: &GameRecord) -> Result<AnnotatedGame> {
    AnnotatedGame::from_log(schedule, record).map_err(|why| anyhow!("the game cannot be replayed: {why}"))
}

fn heading(schedule: &Schedule, record: &GameRecord) -> String {
    let titles = schedule.titles(record.id);
    let round = &schedule.rounds[record.id.round].name;
    let round = if round.is_empty() { String::new() } else { format!(", {round}") };
    let (number, result) = (schedule.number(record.id), result_text(&record.goals));
    format!("game {number}{round}: {} {result} at ply {}", titles.join(" - "), record.plies)
}

/// Returns the reason for the end of a game.
fn ending(schedule: &Schedule, record: &GameRecord) -> String {
    let result = result_text(&record.goals);
    match &record.fault {
        Some(fault) => {
            let title = schedule.titles(record.id)[fault.role];
            format!("{result}, {title}: {}", fault.fault.to_string().replace(char::is_control, " "))
        }
        None => format!("{result}, end: {}", json!(record.end).as_str().unwrap_or_default()),
    }
}

/// Returns the board and the position before the first move and after each move.
fn boards(schedule: &Schedule, record: &GameRecord) -> Result<String> {
    let game = logged(schedule, record)?;
    let (geometry, pieces) = (game.start.geometry(), game.start.army(Side::X).len());
    let board = Board::new(geometry.size() as u64, pieces as u64)?.for_two()?;
    let rules = ChineseCheckers::of(GameSetup { board, rules: game.rules, ply_limit: game.ply_limit }, Filter::All);
    let mut state = rules.state(&game.start).context("the position is not one of the board")?;
    let titles = schedule.titles(record.id);
    let mut text = format!("{}\n\n{}\n{}\n", heading(schedule, record), drawing().draw(&game.start), game.start);
    for (at, mv) in game.line.moves.iter().enumerate() {
        let side = state.player();
        rules.play_action(&mut state, mv.action);
        let search = record.searches.get(at).map_or_else(String::new, search_text);
        let action = ugi::action_text(geometry, mv.action);
        let _ = writeln!(text, "\n{}. {side} {}: {action}{search}", state.ply(), titles[side as usize]);
        let position = rules.position(&state);
        let _ = writeln!(text, "{}\n{position}", drawing().last_move(mv.action).draw(&position));
    }
    Ok(text + "\n" + &ending(schedule, record))
}

/// Returns the joint moves of a game of a rulesheet.
fn joint_moves(schedule: &Schedule, record: &GameRecord) -> String {
    let mut text = heading(schedule, record) + "\n";
    if !record.opening.is_empty() {
        let _ = writeln!(text, "opening: {}", record.opening);
    }
    let mut searches = record.searches.iter();
    let opening = record.plies as usize - record.moves.len().min(record.plies as usize);
    for (ply, joint) in (opening + 1..).zip(&record.moves) {
        // A ply has a search for each role that acts.
        let moves: Vec<String> = match Document::parse(joint) {
            Ok(document) => document.expressions().map(ToString::to_string).collect(),
            Err(_) => vec![joint.clone()],
        };
        let moves: Vec<String> =
            moves.into_iter().map(|mv| mv + &searches.next().map_or_else(String::new, search_text)).collect();
        let _ = writeln!(text, "{ply}. {}", moves.join(" | "));
    }
    text + &ending(schedule, record)
}

/// Returns the data of a search, as far as they are known.
fn search_text(search: &MoveSearch) -> String {
    let number = |name: &str, number: u64| if number > 0 { format!("  {name} {number}") } else { String::new() };
    let score = search.score.map_or_else(String::new, |score: SearchValue| format!("  {}", value_text(score)));
    let time = if search.seconds > 0.0 { format!("  {:.3} s", search.seconds) } else { String::new() };
    let (depth, nodes) = (number("depth", search.depth.into()), number("nodes", search.nodes));
    score + &depth + &nodes + &number("playouts", search.playouts) + &time
}
