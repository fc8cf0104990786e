use std::path::Path;

use anyhow::Result;
use serde_json::json;
use sternhalma_data::{Position, Side};

use crate::args::board::BoardArgs;
use crate::args::position::{parse_position, with_file_context};
use crate::args::rule_set::GameRulesArgs;
use crate::args::state::SideArg;
use crate::drawing::{drawing, lone_army};
use crate::output::{self, CommandOutcome};

/// Draw a position
///
/// The board stands on a1, from where `x` starts. An empty cell is `.`, and an
/// empty cell of a home is `:`. Both ends of each row are named.
#[derive(clap::Args)]
pub struct Args {
    /// Position string or `startpos`, perhaps with `moves a2-a4 …`; the file of a saved game; or the cells or `#RANK` of one army [default: startpos]
    #[arg(num_args = 0..)]
    position: Vec<String>,
    /// Name every cell
    #[arg(long, short)]
    labels: bool,
    /// Turn the board, as the player of `o` sees it
    #[arg(long, short)]
    flip: bool,
    /// Print JSON: the position string, and the cells of both armies
    #[arg(long, conflicts_with_all = ["labels", "flip"])]
    json: bool,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    rules: GameRulesArgs,
    #[command(flatten)]
    side: SideArg,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let position = args.position()?;
    let cells = |side| position.geometry().cells_text(position.army(side));
    let value = json!({ "position": position.to_string(), "x": cells(Side::X), "o": cells(Side::O) });
    output::answer(args.json, &value, || {
        let picture = drawing().labels(args.labels).flipped(args.flip).draw(&position);
        format!("{picture}\n{position}")
    })
}

impl Args {
    /// Returns the position. A state is a position in which the other army has no pieces.
    fn position(&self) -> Result<Position> {
        let text = self.position.join(" ");
        let first = text.split_whitespace().next().unwrap_or("startpos");
        if text.contains('/') || first.eq_ignore_ascii_case("startpos") || Path::new(&text).is_file() {
            return parse_position(&text, self.board, self.rules.rules);
        }
        let board = self.board.board()?;
        let army = match text.strip_prefix('#') {
            Some(rank) => board.parse_rank(rank)?.state(board.pieces()).to_army(board, self.side.side()),
            None => with_file_context(&text, board.geometry().parse_cells(&text))?,
        };
        Ok(lone_army(board, self.side.side(), army))
    }
}
