//! The rules of a game as text.

use sternhalma_engine::ChineseCheckers;

use crate::output::counted;

/// Returns the rules of the game on its board, under its rule set.
pub fn rules_text(game: &ChineseCheckers) -> String {
    let (board, rules) = (game.board(), game.rules());
    let (side, pieces) = (board.size(), counted(board.pieces(), "piece"));
    let corner = game.geometry().cell_name(sternhalma_data::Cell::new(board.cells() - 1));
    let mut lines = vec![
        format!("Chinese Checkers for two on a {side}x{side} board, {pieces} each, rules {}.", rules.option_name()),
        String::new(),
        format!("Aim      x starts in the corner a1, o in the corner {corner}. A player wins when the"),
        "         corner opposite its own is full and holds at least one of its pieces.".to_owned(),
        "         Pieces that the opponent leaves there count, too.".to_owned(),
        "Turns    x begins. Each turn moves one piece, by a step or by jumps. A player with".to_owned(),
        "         a legal move must move; a player without one passes.".to_owned(),
        "Step     To an empty neighbour, in any of the six directions, also backward.".to_owned(),
        "Jump     Over one neighbouring piece of either player to the empty cell just beyond".to_owned(),
        "         it. The same piece may jump again. Nothing is captured.".to_owned(),
        format!("Draw     When both pass in turn, and at ply {}.", game.setup().ply_limit),
    ];
    lines.extend(wrapped("Rules    ", rules.explanation()));
    if game.forbids_seals() {
        lines.extend(wrapped(
            "         ",
            "Such a move leaves cells that no piece of the opponent can step or jump to, because too many pieces of one \
             player surround them. A move that is refused names the cells. `--rules paper` allows these moves.",
        ));
    }
    lines.push("More     docs/guide/rules.md".to_owned());
    lines.join("\n")
}

/// Returns a text in lines of at most 84 characters. The first one begins with a heading, and the others with blanks.
fn wrapped(heading: &str, text: &str) -> Vec<String> {
    let mut lines = vec![heading.to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if last.len() + 1 + word.len() > 84 {
            lines.push(" ".repeat(heading.len()) + word);
        } else {
            if !last.ends_with(' ') {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, RuleSet};
    use sternhalma_engine::{ChineseCheckers, Filter};

    use super::*;

    #[test]
    fn the_rules_fit_a_screen_and_are_those_of_the_game() {
        for (side, pieces, rules, seals) in [
            (9, 6, RuleSet::BlockedGoal2, true),
            (9, 10, RuleSet::BlockedGoal1, true),
            (9, 6, RuleSet::Paper, false),
            (5, 3, RuleSet::BlockedGoal2, false),
        ] {
            let game = ChineseCheckers::new(Board::new(side, pieces).unwrap(), Filter::All).with_rules(rules);
            let text = rules_text(&game);
            let count = text.lines().count();
            assert!((10..=20).contains(&count), "{count} lines:\n{text}");
            assert!(text.lines().all(|line| line.len() <= 84), "{text}");
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in [&*format!("{side}x{side} board, {pieces} pieces"), rules.option_name(), rules.explanation()] {
                assert!(flat.contains(words), "{words}: {text}");
            }
            assert_eq!(flat.contains("step or jump to"), seals, "{text}");
        }
    }
}
