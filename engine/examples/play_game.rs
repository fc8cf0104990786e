//! Plays a game between two players and prints the moves.
//!
//! Run the example with `cargo run --release -p sternhalma-engine --example
//! play_game [X] [O]`. The default is `nst` against `greedy` on a board of size
//! 5 with 3 pieces. Players that need a table are refused.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use sternhalma_data::{Board, Side};
use sternhalma_engine::{ChineseCheckers, Filter, Outcome, Roster, ugi};
use sternhalma_ggp::{Game, Limits, MemoryBudget};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let names = [args.next().unwrap_or("nst".to_owned()), args.next().unwrap_or("greedy".to_owned())];
    let board = Board::new(5, 3)?;
    let game = ChineseCheckers::new(board, Filter::All);
    let mut players = Vec::new();
    for name in &names {
        let player = Roster::built_in().config(name)?.prepare(game.setup(), None)?;
        let mut player = player.start(&MemoryBudget::unlimited())?;
        player.reset(1);
        players.push(player);
    }

    let mut state = game.initial();
    while state.outcome().is_none() {
        let mover = state.player() as usize;
        let choice = players[mover].choose(&state, Limits::expansions(2_000), &AtomicBool::new(false));
        println!("{}: {}", names[mover], ugi::action_text(game.geometry(), choice.action));
        game.play_action(&mut state, choice.action);
        players.iter_mut().for_each(|player| player.observe(choice.action));
    }
    match state.outcome() {
        Some(Outcome::Won(Side::X)) => println!("{} wins", names[0]),
        Some(Outcome::Won(Side::O)) => println!("{} wins", names[1]),
        _ => println!("a draw"),
    }
    Ok(())
}
