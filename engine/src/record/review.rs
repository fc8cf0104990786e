//! Comparison of the moves of a game with the best moves.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_data::Side;
use sternhalma_ggp::Limits;

use super::history::GameHistory;
use crate::players::{EnginePlayer, Follower, SearchValue, analyse};
use crate::rules::{Action, Outcome, Repetitions};

/// The class of a mistake, by its loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// `?!`
    Inaccuracy,
    /// `?`
    Mistake,
    /// `??`
    Blunder,
}

/// The losses from which a move is an inaccuracy, a mistake and a blunder. Losses of distance are those of a table, for
/// games without searches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MarkLimits {
    /// Losses of lead, in moves.
    pub lead: [f64; 3],
    /// Losses of mean reward.
    pub reward: [f64; 3],
    /// Losses of distance, in moves.
    pub distance: [f64; 3],
}

/// The limits of all reviews, those on the page too.
pub const MARK_LIMITS: MarkLimits =
    MarkLimits { lead: [1.5, 3.0, 5.0], reward: [0.2, 0.4, 0.6], distance: [1.0, 2.0, 3.0] };

/// A move of a game, and the best move of a search of the position before it. Values are for the player that moves.
#[derive(Clone, PartialEq, Debug)]
pub struct ReviewedMove {
    /// The ply of the position before the move.
    pub ply: u32,
    /// The player that moves.
    pub side: Side,
    /// The move.
    pub action: Action,
    /// The value of the position after the move, if the search has one.
    pub value: Option<SearchValue>,
    /// The best move.
    pub best: Action,
    /// The value of the position before the move.
    pub best_value: Option<SearchValue>,
}

impl ReviewedMove {
    /// Returns the difference of both values if they are leads, or mean rewards. The best move loses nothing.
    pub fn loss(&self) -> Option<f64> {
        if self.action == self.best {
            return Some(0.0);
        }
        match (self.best_value?, self.value?) {
            (SearchValue::Lead(best), SearchValue::Lead(value))
            | (SearchValue::Reward(best), SearchValue::Reward(value)) => Some(best - value),
            _ => None,
        }
    }

    /// Returns the class of the mistake, by [`MARK_LIMITS`].
    pub fn mark(&self) -> Option<Mark> {
        if self.action == self.best {
            return None;
        }
        let (best, value) = (self.best_value?, self.value?);
        let limits = match best {
            SearchValue::Lead(_) => MARK_LIMITS.lead,
            _ => MARK_LIMITS.reward,
        };
        match self.loss() {
            Some(loss) => {
                let marks = [Mark::Inaccuracy, Mark::Mistake, Mark::Blunder];
                marks.into_iter().zip(limits).rfind(|(_, limit)| loss >= *limit).map(|(mark, _)| mark)
            }
            None => match height(best) - height(value) {
                lost if lost > 1.0 => Some(Mark::Blunder),
                lost if lost > 0.5 => Some(Mark::Mistake),
                _ => None,
            },
        }
    }
}

/// Returns a number from -1 for a loss to 1 for a win.
fn height(value: SearchValue) -> f64 {
    match value {
        SearchValue::Won(_) => 1.0,
        SearchValue::Lost(_) => -1.0,
        SearchValue::Reward(reward) => reward.clamp(-0.98, 0.98),
        SearchValue::Lead(lead) => 0.95 * (lead / 8.0).tanh(),
    }
}

/// Returns a value for the other player.
fn reversed(value: SearchValue) -> SearchValue {
    match value {
        SearchValue::Lead(lead) => SearchValue::Lead(-lead),
        SearchValue::Reward(reward) => SearchValue::Reward(-reward),
        SearchValue::Won(plies) => SearchValue::Lost(plies),
        SearchValue::Lost(plies) => SearchValue::Won(plies),
    }
}

/// Searches each position of a game with a player that has followed the game to it, and returns the moves, fewer after
/// `stop` is set. Calls `advance` after each search. Searches do not depend on each other.
///
/// Cost: one search per position.
pub fn review(
    game: &GameHistory,
    player: Box<dyn EnginePlayer>,
    seed: u64,
    limits: Limits,
    stop: &AtomicBool,
    advance: &mut dyn FnMut(),
) -> Vec<ReviewedMove> {
    let (rules, actions) = (game.rules(), game.actions().collect::<Vec<_>>());
    let mut follower = Follower::new(player);
    let mut state = *game.start();
    let mut played = Repetitions::new(rules, &state);
    let mut reviewed: Vec<ReviewedMove> = Vec::new();
    for ply in 0..=actions.len() {
        let side = state.player();
        let over = state.outcome().or_else(|| played.is_over().then_some(Outcome::Draw));
        let found = match over {
            Some(_) => None,
            None => {
                follower.forget();
                let player = follower.follow(game.start(), &actions[..ply], seed);
                analyse(player, &state, limits, 1, stop).into_iter().next()
            }
        };
        advance();
        let value = match over {
            Some(Outcome::Won(winner)) if winner == side => Some(SearchValue::Won(0)),
            Some(Outcome::Won(_)) => Some(SearchValue::Lost(0)),
            Some(Outcome::Draw) => Some(SearchValue::Lead(0.0)),
            None => found.as_ref().and_then(|found| found.info.value),
        };
        if let Some(last) = reviewed.last_mut() {
            last.value = value.map(reversed);
        }
        let (Some(found), Some(&action), false) = (found, actions.get(ply), stop.load(Relaxed)) else { break };
        reviewed.push(ReviewedMove {
            ply: state.ply(),
            side,
            action,
            value: None,
            best: found.action,
            best_value: found.info.value,
        });
        rules.play_action(&mut state, action);
        played.push(rules, &state);
    }
    reviewed
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, Position};
    use sternhalma_ggp::MemoryBudget;

    use super::*;
    use crate::distances::Distances;
    use crate::players::Roster;
    use crate::rules::{ChineseCheckers, Filter};

    fn reviewed(best: SearchValue, value: SearchValue) -> ReviewedMove {
        let mv = |text| Board::new(5, 3).unwrap().geometry().parse_move(text).ok();
        let (action, best_action) = (mv("a1-a3"), mv("a2-a3"));
        let (value, best_value) = (Some(value), Some(best));
        ReviewedMove { ply: 0, side: Side::X, action, value, best: best_action, best_value }
    }

    #[test]
    fn marks_follow_from_the_loss() {
        use SearchValue::{Lead, Lost, Reward, Won};
        for (best, value, loss, mark) in [
            (Lead(2.0), Lead(1.0), Some(1.0), None),
            (Lead(2.0), Lead(0.5), Some(1.5), Some(Mark::Inaccuracy)),
            (Lead(2.0), Lead(-1.5), Some(3.5), Some(Mark::Mistake)),
            (Lead(2.0), Lead(-3.0), Some(5.0), Some(Mark::Blunder)),
            (Reward(0.5), Reward(0.1), Some(0.4), Some(Mark::Mistake)),
            (Won(3), Lead(8.0), None, None),
            (Won(3), Lead(0.5), None, Some(Mark::Mistake)),
            (Won(3), Lead(0.0), None, Some(Mark::Mistake)),
            (Won(3), Lost(2), None, Some(Mark::Blunder)),
            (Lead(1.0), Lost(4), None, Some(Mark::Blunder)),
        ] {
            let reviewed = reviewed(best, value);
            assert_eq!((reviewed.loss(), reviewed.mark()), (loss, mark), "{best:?} {value:?}");
            let played = ReviewedMove { best: reviewed.action, ..reviewed };
            assert_eq!((played.loss(), played.mark()), (Some(0.0), None));
        }
    }

    #[test]
    fn a_missed_win_is_marked() {
        let board = Board::new(4, 1).unwrap();
        // x wins with c4-d4, and o with b1-a1.
        let position: Position = "2x1/4/4/1o2 x 10".parse().unwrap();
        let mut game = GameHistory::at(ChineseCheckers::new(board, Filter::All), position).unwrap();
        for text in ["c4-b4", "b1-a1"] {
            game.play_text(text).unwrap();
        }
        let config = Roster::built_in().config("sternhalma,table_megabytes=1").unwrap();
        let player = config.prepare(game.rules().setup(), Some(&Distances::estimated(board))).unwrap();
        let mut searches = 0;
        let start = || player.start(&MemoryBudget::unlimited()).unwrap();
        let none = AtomicBool::new(false);
        let moves = review(&game, start(), 1, Limits::expansions(200), &none, &mut || searches += 1);
        let geometry = board.geometry();
        let text = |action: Action| geometry.move_text(action.unwrap());
        let found: Vec<_> = moves.iter().map(|mv| (text(mv.action), text(mv.best), mv.mark())).collect();
        let expected = [("c4-b4", "c4-d4", Some(Mark::Blunder)), ("b1-a1", "b1-a1", None)];
        assert_eq!(found, expected.map(|(played, best, mark)| (played.to_owned(), best.to_owned(), mark)));
        assert_eq!(searches, 3);
        assert_eq!((moves[0].best_value, moves[1].value), (Some(SearchValue::Won(1)), Some(SearchValue::Won(0))));
        // A stopped review has the moves before.
        assert_eq!(review(&game, start(), 1, Limits::expansions(200), &AtomicBool::new(true), &mut || ()), []);
    }
}
