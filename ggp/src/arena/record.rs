//! Records of games.

use serde::{Deserialize, Serialize};
use sternhalma_game::SearchStats;

use super::search_record::is_zero;
use super::{Fault, GameId, MoveSearch, Schedule};

/// The record of a finished game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GameRecord {
    /// The place of the game in the tournament.
    #[serde(flatten)]
    pub id: GameId,
    /// By role: the name of the player.
    pub players: Vec<String>,
    /// The opening, as [`ArenaGame::opening`](super::ArenaGame::opening) parses it.
    pub opening: String,
    /// The text of the joint moves after the opening.
    pub moves: Vec<String>,
    /// The number of plies, including those of the opening.
    pub plies: u32,
    /// The reason for the end of the game.
    pub end: Termination,
    /// By role: the goal, 0 to 100.
    pub goals: Vec<u8>,
    /// The fault that ended the game, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<RoleFault>,
    /// By role: the cost of all searches.
    pub spent: Vec<Totals>,
    /// The searches for `moves`, in order of plies and, within a ply, of the roles that act. The
    /// list is empty if no search is known, as in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<MoveSearch>,
    /// The program that played the game, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The program that played a game, and the speed of its machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The name and the version of the program.
    pub program: String,
    /// The speed of one thread of the machine in a workload that the program defines, in items
    /// per second. It makes times and rates of different machines comparable.
    pub machine_rate: f64,
}

/// The rule that gives the players of a pairing their points in a game with several roles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scoring {
    /// The player whose best role has the higher goal gets the point. Equal goals give half a
    /// point each.
    #[default]
    Players,
    /// The roles with the highest goal share the point. A player gets the sum of the shares of
    /// its roles.
    Seats,
}

/// The reason for the end of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// A terminal state.
    Rules,
    /// The ply limit.
    PlyLimit,
    /// The third occurrence of a state.
    Repetition,
    /// A state whose result is certain.
    Adjudicated,
    /// A fault of a player.
    Fault,
}

/// A fault and the role at fault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleFault {
    /// The role.
    pub role: usize,
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
}

/// The cost of a number of searches.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Number of searches, including those that chose no move.
    pub moves: u64,
    /// Node expansions.
    pub expansions: u64,
    /// Playouts.
    pub playouts: u64,
    /// Time, in seconds.
    pub seconds: f64,
    /// Number of searches whose tree or tables could not grow within the memory limit. The number is 0 in older logs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_limited: u64,
}

impl Totals {
    /// Adds the cost of one search. A zero cost means that no search was run, and is not counted.
    pub fn add(&mut self, spent: SearchStats) {
        self.join(Totals {
            moves: u64::from(spent != SearchStats::default()),
            expansions: spent.expansions,
            playouts: spent.playouts,
            seconds: spent.time.as_secs_f64(),
            memory_limited: u64::from(spent.memory_limited),
        });
    }

    /// Adds other totals. Counts that do not fit become the largest number, because a log may
    /// contain any numbers.
    pub fn join(&mut self, other: Totals) {
        self.moves = self.moves.saturating_add(other.moves);
        self.expansions = self.expansions.saturating_add(other.expansions);
        self.playouts = self.playouts.saturating_add(other.playouts);
        self.seconds += other.seconds;
        self.memory_limited = self.memory_limited.saturating_add(other.memory_limited);
    }
}

impl GameRecord {
    /// Returns how the fields of the record contradict each other, if they do. The rules of the game are not needed.
    pub(super) fn contradiction(&self, schedule: &Schedule) -> Option<String> {
        let GameRecord { goals, plies, end, moves, searches, .. } = self;
        let seats = schedule.seats(self.id);
        let guilty = self.fault.as_ref().map(|fault| seats[fault.role]);
        let forfeited = |guilty| seats.iter().zip(goals).all(|(&seat, &goal)| (seat == guilty) == (goal == 0));
        let is_draw = [Termination::PlyLimit, Termination::Repetition].contains(end);
        match guilty {
            _ if goals.iter().any(|&goal| goal > 100) => {
                Some(format!("a goal is at most 100, and its goals are {goals:?}"))
            }
            None if *end == Termination::Fault => Some("it ended by a fault, and has none".to_owned()),
            Some(_) if *end != Termination::Fault => Some("it has a fault, and did not end by one".to_owned()),
            Some(guilty) if !forfeited(guilty) => {
                Some(format!("the player at fault loses, and its goals are {goals:?}"))
            }
            _ if is_draw && goals.iter().any(|&goal| goal != 50) => {
                Some(format!("it ended as a draw, and its goals are {goals:?}"))
            }
            _ if *end == Termination::PlyLimit && *plies < schedule.ply_limit => {
                Some(format!("it ended at the ply limit of {}, and has {plies} plies", schedule.ply_limit))
            }
            _ if moves.len() > *plies as usize => Some(format!("it has {plies} plies, and {} moves", moves.len())),
            _ => {
                let chosen: usize = moves.iter().map(|joint| count_terms(joint)).sum();
                (!searches.is_empty() && searches.len() != chosen)
                    .then(|| format!("it has {} searches, and {chosen} chosen moves", searches.len()))
            }
        }
    }

    /// Returns the score of the first player of the pairing: 1 if its best role has a higher
    /// goal than the best role of the second, 0 if lower, 0.5 if equal. Returns `None` for a
    /// game with one role.
    pub fn score(&self, schedule: &Schedule) -> Option<f64> {
        if self.goals.len() < 2 {
            return None;
        }
        let seats = schedule.seats(self.id);
        let best = |second: usize| {
            seats.iter().zip(&self.goals).filter(|&(&seat, _)| seat == second).map(|(_, goal)| goal).max()
        };
        Some(match best(0).cmp(&best(1)) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
    }

    /// Returns the points of the first player of the pairing, 0 to 1. The second player gets
    /// the rest. Returns `None` for a game with one role.
    pub fn points(&self, schedule: &Schedule, scoring: Scoring) -> Option<f64> {
        let top = self.goals.iter().max().filter(|_| self.goals.len() > 1)?;
        if scoring == Scoring::Players {
            return self.score(schedule);
        }
        let seats = schedule.seats(self.id);
        let best: Vec<usize> =
            seats.into_iter().zip(&self.goals).filter(|(_, goal)| *goal == top).map(|it| it.0).collect();
        Some(best.iter().filter(|&&seat| seat == 0).count() as f64 / best.len() as f64)
    }

    /// Returns the cost of each player of the pairing, over all its roles.
    pub fn spent_by(&self, schedule: &Schedule) -> [Totals; 2] {
        let mut spent = [Totals::default(); 2];
        schedule.seats(self.id).into_iter().zip(&self.spent).for_each(|(seat, &of)| spent[seat].join(of));
        spent
    }
}

/// Returns the number of terms of a joint move: words, or lists in parentheses, with blanks between them.
fn count_terms(joint: &str) -> usize {
    let (mut depth, mut terms, mut is_word) = (0_usize, 0, false);
    for byte in joint.bytes() {
        let is_blank = byte.is_ascii_whitespace();
        terms += usize::from(depth == 0 && !is_blank && (byte == b'(' || !is_word));
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_word = !is_blank && byte != b'(' && byte != b')';
    }
    terms
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::schedule::tests::schedule;
    use super::*;

    /// Returns the record of a game without moves.
    pub fn record_of(id: GameId, goals: &[u8]) -> GameRecord {
        GameRecord {
            id,
            players: Vec::new(),
            opening: String::new(),
            moves: Vec::new(),
            plies: 0,
            end: Termination::Rules,
            goals: goals.to_vec(),
            fault: None,
            spent: vec![Totals::default(); goals.len()],
            searches: Vec::new(),
            origin: None,
        }
    }

    fn record(game: u64, goals: &[u8]) -> GameRecord {
        let spent = vec![Totals { moves: 1, ..Totals::default() }; goals.len()];
        GameRecord { spent, ..record_of(GameId { round: 0, pairing: 0, game }, goals) }
    }

    #[test]
    fn terms_of_joint_moves_are_counted() {
        for (joint, count) in [
            ("", 0),
            ("a1-a2", 1),
            ("noop (mark 1 (s 2))", 2),
            ("(mark 1 2) noop", 2),
            ("(a)(b) c", 3),
            ("a (b", 2),
            ("  a  b ", 2),
        ] {
            assert_eq!(count_terms(joint), count, "{joint}");
        }
    }

    #[test]
    fn seats_share_the_point() {
        let three = schedule(3, &["a", "b"], &[6]);
        let seats = |game, goals: [u8; 3]| record(game, &goals).points(&three, Scoring::Seats).unwrap();
        let players = |game, goals: [u8; 3]| record(game, &goals).points(&three, Scoring::Players).unwrap();
        // Game 0 is a, b, a, and game 1 is b, a, b.
        assert_eq!((seats(0, [100, 0, 0]), players(0, [100, 0, 0])), (1.0, 1.0));
        assert_eq!((seats(0, [0, 100, 0]), players(0, [0, 100, 0])), (0.0, 0.0));
        assert_eq!((seats(0, [50, 50, 0]), players(0, [50, 50, 0])), (0.5, 0.5));
        assert_eq!((seats(0, [50, 0, 50]), players(0, [50, 0, 50])), (1.0, 1.0));
        assert_eq!((seats(0, [30, 30, 30]), players(0, [30, 30, 30])), (2.0 / 3.0, 0.5));
        assert_eq!((seats(1, [0, 0, 0]), players(1, [0, 0, 0])), (1.0 / 3.0, 0.5));
        // With two roles both rules agree.
        let two = schedule(2, &["a", "b"], &[2]);
        for goals in [[100, 0], [0, 100], [50, 50], [20, 10]] {
            let points = |scoring| record(1, &goals).points(&two, scoring);
            assert_eq!(points(Scoring::Seats), points(Scoring::Players));
        }
        let one = schedule(1, &["a", "b"], &[2]);
        assert_eq!(record(0, &[70]).points(&one, Scoring::Seats), None);
    }

    #[test]
    fn the_highest_goal_scores() {
        let schedule = schedule(3, &["a", "b"], &[6]);
        let record = |game, goals: [u8; 3]| record(game, &goals);
        assert_eq!(schedule.seats(record(0, [0; 3]).id), [0, 1, 0]);
        assert_eq!(record(0, [50, 100, 0]).score(&schedule), Some(0.0));
        assert_eq!(record(1, [50, 100, 0]).score(&schedule), Some(1.0));
        assert_eq!(record(0, [0, 50, 50]).score(&schedule), Some(0.5));
        assert_eq!(record(0, [0; 3]).spent_by(&schedule).map(|spent| spent.moves), [2, 1]);
    }
}
