use std::io::{self, BufRead};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use sternhalma_data::{Cell, Geometry, Move, Side};
use sternhalma_engine::{Action, ChineseCheckers, EnginePlayer, Filter, GameState, Outcome as End};
use sternhalma_ggp::arena::derive_seed;
use sternhalma_ggp::{Game, Limits};

use crate::args::board::PositionArgs;
use crate::args::limits::LimitArgs;
use crate::args::player::{DEFAULT_PLAYER, PlayerArgs, PlayerFactory};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};

/// Play a game in the terminal, or watch one
///
/// Enter moves such as `c1-e3`. `moves` lists the legal moves. `quit` ends the
/// game with exit code 1.
#[derive(clap::Args)]
pub struct Args {
    /// Player of `x`, which moves first: a player name, or `human`
    #[arg(short, value_name = "PLAYER", default_value = "human")]
    x: String,
    /// Player of `o`
    #[arg(short, value_name = "PLAYER", default_value = DEFAULT_PLAYER)]
    o: String,
    /// Seed of the players
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    position: PositionArgs,
    #[command(flatten)]
    players: PlayerArgs,
}

/// A participant of the game.
enum Competitor {
    Human,
    Engine(Box<dyn EnginePlayer>),
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let position = args.position.position()?;
    let roster = args.players.roster()?;
    let names = [&args.x, &args.o];
    let config = |name: &&String| (*name != "human").then(|| roster.config(name)).transpose();
    let configs = names.iter().map(config).collect::<Result<Vec<_>, _>>()?;
    let board = sternhalma_data::Board::new(position.geometry().size() as u64, position.army(Side::X).len() as u64)?;
    let engines: Vec<_> = configs.iter().flatten().cloned().collect();
    let factory = args.players.factory(ctx, board, &engines)?;
    let game = ChineseCheckers::new(board, Filter::All).with_ply_limit(factory.ply_limit());
    let state = game.state(&position).context("both armies need the same number of pieces")?;
    let mut competitors = Vec::new();
    for (number, config) in configs.iter().enumerate() {
        competitors.push(competitor(&factory, config.as_ref(), derive_seed(args.seed, number as u64))?);
    }
    play(&game, state, &mut competitors, args.limits.limits())
}

fn competitor(factory: &PlayerFactory, config: Option<&sternhalma_engine::Config>, seed: u64) -> Result<Competitor> {
    let Some(config) = config else { return Ok(Competitor::Human) };
    let mut player = factory.player(config)?;
    player.reset(seed);
    Ok(Competitor::Engine(player))
}

fn play(
    game: &ChineseCheckers,
    mut state: GameState,
    competitors: &mut [Competitor],
    limits: Limits,
) -> Result<CommandOutcome> {
    output::print_line(&diamond(game, &state, None))?;
    while state.outcome().is_none() {
        let side = state.player();
        let action = match &mut competitors[side as usize] {
            Competitor::Engine(player) => player.choose(&state, limits, &AtomicBool::new(false)).action,
            Competitor::Human => match ask(game, &state)? {
                Some(action) => action,
                None => return Ok(CommandOutcome::NotFound),
            },
        };
        game.play_action(&mut state, action);
        for competitor in competitors.iter_mut() {
            if let Competitor::Engine(player) = competitor {
                player.observe(action);
            }
        }
        let text = action.map_or("pass".to_owned(), |mv| game.geometry().move_text(mv));
        output::print_line(&format!("\n{}. {side} {text}", state.ply()))?;
        output::print_line(&diamond(game, &state, action))?;
    }
    output::print_line(&match state.outcome() {
        Some(End::Won(side)) => format!("{side} wins at ply {}", state.ply()),
        _ => format!("a draw at ply {}", state.ply()),
    })?;
    Ok(CommandOutcome::Answered)
}

/// Asks until a legal move is entered. Returns none for `quit`.
fn ask(game: &ChineseCheckers, state: &GameState) -> Result<Option<Action>> {
    let mut legal = Vec::new();
    game.legal(state, state.player() as usize, &mut legal);
    if legal == [None] {
        status!("{} has no legal move and passes", state.player());
        return Ok(Some(None));
    }
    loop {
        output::prompt(&format!("{} to move: ", state.player()));
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).context("cannot read stdin")? == 0 {
            return Ok(None);
        }
        match line.trim() {
            "quit" => return Ok(None),
            "moves" => {
                let names: Vec<String> = legal.iter().flatten().map(|&mv| game.geometry().move_text(mv)).collect();
                status!("{}", names.join(" "));
            }
            text => match game.geometry().parse_move(text) {
                Ok(mv) if legal.contains(&Some(mv)) => return Ok(Some(Some(mv))),
                Ok(_) => status!("{text} is not legal here; `moves` lists the legal moves"),
                Err(error) => status!("{error}"),
            },
        }
    }
}

/// Draws the board as a diamond that stands on `a1`, one row per line, with the
/// cells of the last move in brackets.
fn diamond(game: &ChineseCheckers, state: &GameState, last: Action) -> String {
    let geometry = game.geometry();
    let side = geometry.size();
    let rows = (0..2 * side - 1).rev().map(|row| {
        let cells: String = row_cells(geometry, row).map(|cell| cell_text(state, last, cell)).collect();
        let width = row.min(2 * side - 2 - row) + 1;
        let first = row_cells(geometry, row).next().map(|cell| geometry.cell_name(cell)).unwrap_or_default();
        format!("{}{}  {first}", " ".repeat(2 * (side - width)), cells)
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn row_cells(geometry: &Geometry, row: usize) -> impl Iterator<Item = Cell> + '_ {
    (0..geometry.cells()).map(Cell::new).filter(move |&cell| geometry.row(cell) == row)
}

fn cell_text(state: &GameState, last: Action, cell: Cell) -> String {
    let piece = [(Side::X, 'x'), (Side::O, 'o')].into_iter().find(|(side, _)| state.army(*side).contains(cell));
    let letter = piece.map_or('.', |(_, letter)| letter);
    match last {
        Some(Move { from, to }) if cell == from || cell == to => format!("[{letter}] "),
        _ => format!(" {letter}  "),
    }
}
