//! Analysis of a state: its best moves, each with its value and line.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_ggp::Limits;

use crate::players::interface::{EnginePlayer, SearchInfo, SearchValue};
use crate::rules::{Action, GameState};

/// A move of an analysed state, with the result of the search that chose it.
#[derive(Clone, PartialEq, Debug)]
pub struct AnalysedMove {
    /// The move, or a pass.
    pub action: Action,
    /// The value, the line and the cost of the search. The value is that of the
    /// last completed depth.
    pub info: SearchInfo,
}

/// Returns up to `lines` moves of a state in which the game is not over, by
/// value. Each further move has its own search, with these limits, among the
/// moves that were not chosen yet. Moves of the same value are in the order of
/// their choice. Fewer moves are returned if the state has fewer, if the player
/// can choose only one, or after `stop` is set.
pub fn analyse(
    player: &mut dyn EnginePlayer,
    state: &GameState,
    limits: Limits,
    lines: usize,
    stop: &AtomicBool,
) -> Vec<AnalysedMove> {
    analyse_watched(player, state, limits, lines, stop, &mut |_, _| ())
}

/// Returns moves like [`analyse`], and reports the progress of each search to
/// `watch` with the index of its move, in the order of the searches.
pub fn analyse_watched(
    player: &mut dyn EnginePlayer,
    state: &GameState,
    limits: Limits,
    lines: usize,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(usize, &SearchInfo),
) -> Vec<AnalysedMove> {
    let mut found: Vec<AnalysedMove> = Vec::new();
    let mut chosen = Vec::new();
    while found.len() < lines && player.exclude(&chosen) && (found.is_empty() || !stop.load(Relaxed)) {
        let mut last = None;
        let choice = player.think(state, limits, stop, &mut |info| {
            watch(found.len(), info);
            last = Some(info.clone());
        });
        if !found.is_empty() && choice.action.is_none_or(|mv| chosen.contains(&mv)) {
            break;
        }
        let line = vec![choice.action];
        let mut info = last.unwrap_or(SearchInfo { spent: choice.spent, value: None, is_race: false, line });
        if info.line.first() != Some(&choice.action) {
            info.line = vec![choice.action];
        }
        info.spent = choice.spent;
        found.push(AnalysedMove { action: choice.action, info });
        let Some(mv) = choice.action else { break };
        chosen.push(mv);
    }
    player.exclude(&[]);
    found.sort_by(|a, b| order(b.info.value).total_cmp(&order(a.info.value)));
    found
}

/// Returns a number that is larger for better values.
fn order(value: Option<SearchValue>) -> f64 {
    /// A number above every lead and every number of plies.
    const PROOF: f64 = 1e12;
    match value {
        None => 0.0,
        Some(SearchValue::Lead(value) | SearchValue::Reward(value)) => value,
        Some(SearchValue::Won(plies)) => PROOF - f64::from(plies),
        Some(SearchValue::Lost(plies)) => f64::from(plies) - PROOF,
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, Move};
    use sternhalma_ggp::{Game, MemoryBudget};

    use super::*;
    use crate::distances::Distances;
    use crate::players::roster::Roster;
    use crate::rules::{ChineseCheckers, Filter};

    fn analysed(name: &str, position: &str, lines: usize) -> (Vec<Move>, Vec<AnalysedMove>) {
        let board = Board::new(4, 3).unwrap();
        let game = ChineseCheckers::new(board, Filter::All);
        let state = game.state(&position.parse().unwrap()).unwrap();
        let config = Roster::built_in().config(name).unwrap();
        let distances = Distances::estimated(board);
        let mut player =
            config.prepare(game.setup(), Some(&distances)).unwrap().start(&MemoryBudget::unlimited()).unwrap();
        let mut legal = Vec::new();
        game.legal(&state, state.player() as usize, &mut legal);
        let limits = Limits { depth: Some(4), ..Limits::expansions(2000) };
        let found = analyse(&mut *player, &state, limits, lines, &AtomicBool::new(false));
        (legal.into_iter().flatten().collect(), found)
    }

    #[test]
    fn the_lines_of_an_analysis_are_all_moves_best_first() {
        let (legal, found) = analysed("sternhalma", "2oo/3o/x3/xx2 x 0", 100);
        assert_eq!(found.len(), legal.len());
        for mv in legal {
            assert_eq!(found.iter().filter(|line| line.action == Some(mv)).count(), 1, "{mv:?}");
        }
        let values: Vec<f64> = found
            .iter()
            .map(|line| match line.info.value {
                Some(SearchValue::Lead(lead)) => lead,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
        assert!(found.iter().all(|line| line.info.line[0] == line.action && line.info.spent.depth == 4));
    }

    #[test]
    fn a_win_comes_before_other_moves() {
        let (_, found) = analysed("sternhalma", "2xx/2x1/4/ooo1 x 20", 2);
        assert_eq!(found[0].info.value, Some(SearchValue::Won(1)), "{found:?}");
        assert_eq!(found.len(), 2);
        assert_ne!(found[0].action, found[1].action);
    }

    #[test]
    fn proven_values_are_beyond_all_others() {
        let values = [
            SearchValue::Won(1),
            SearchValue::Won(9),
            SearchValue::Lead(1e6),
            SearchValue::Lead(-0.5),
            SearchValue::Lost(8),
            SearchValue::Lost(2),
        ];
        assert!(values.map(|value| order(Some(value))).is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn other_players_choose_one_move() {
        for name in ["greedy", "base0", "ab-avg"] {
            let (_, found) = analysed(name, "2oo/3o/x3/xx2 x 0", 3);
            assert_eq!(found.len(), 1, "{name}");
        }
    }
}
