//! Matches for reinforcement learning, one per *lane* of the caller's rows.
//!
//! The player to move sees the board turned so that its own home is at cell 0: for `x` cells have
//! their usual numbers, and for `o` cell `c` has the number `cells - 1 - c`. The action that moves a
//! piece from cell `a` to cell `b`, in these numbers, is `a * cells + b`. The last action is a pass.
//!
//! Each change of a lane is written to its row in every array of [`EnvironmentRows`]: one item of `player`,
//! `terminated`, `truncated` and `steps`, one reward per player, and one truth value of `legal` per action. An
//! observation contains the pieces of the player to move, then those of the other player: 0 or 1 per cell. The planes
//! are not written.

use rand::SeedableRng;
use sternhalma_data::{Cell, Move, Side, State, Table, TableError};
use sternhalma_ggp::arena::derive_seed;
use sternhalma_ggp::gdl::network::{Autoreset, EnvironmentRows};
use sternhalma_ggp::{Game, Rng};

use crate::distances::Distances;
use crate::rules::filter::{Filter, Pieces, random_move};
use crate::rules::game::{Action, ChineseCheckers, GameState, Outcome};
use crate::rules::repetition::Repetitions;

/// A match.
#[derive(Clone, Debug)]
pub struct Lane {
    state: GameState,
    /// The placements since the state that was set, for the rule about repetition.
    played: Repetitions,
    /// Whether that rule has ended the match.
    is_repeated: bool,
    /// The moves of the player to move.
    pieces: Pieces,
    steps: u32,
    rng: Rng,
}

impl Lane {
    /// Returns the state of the match.
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// Seeds the generator of random actions of the lane with this number.
    pub fn seed(&mut self, seed: u64, number: usize) {
        self.rng = Rng::seed_from_u64(derive_seed(seed, number as u64));
    }

    fn is_over(&self) -> bool {
        self.state.outcome().is_some() || self.is_repeated
    }
}

/// The game of all lanes, with its rewards.
#[derive(Debug)]
pub struct RewardedGame {
    game: ChineseCheckers,
    /// The distances for shaped rewards, and the reward per move of lead.
    shaping: Option<(Distances, f32)>,
}

impl RewardedGame {
    /// Creates the game. A win is rewarded by 1 and a loss by -1.
    pub fn new(game: ChineseCheckers) -> RewardedGame {
        RewardedGame { game, shaping: None }
    }

    /// Adds to each reward the change of the lead (the distance of the other army minus that of the
    /// own), multiplied by `weight`.
    #[must_use]
    pub fn shaped(self, distances: Distances, weight: f32) -> RewardedGame {
        RewardedGame { shaping: Some((distances, weight)), ..self }
    }

    /// Returns the game.
    pub fn game(&self) -> &ChineseCheckers {
        &self.game
    }

    /// Returns the number of actions.
    pub fn actions(&self) -> usize {
        let cells = self.game.board().cells();
        cells * cells + 1
    }

    /// Creates the lane with this number in the initial state, and writes it to rows of zeros.
    pub fn lane(&self, number: usize, rows: &mut EnvironmentRows) -> Lane {
        let state = self.game.initial();
        let played = Repetitions::new(&self.game, &state);
        let (pieces, rng) = (Pieces::none(), Rng::seed_from_u64(0));
        let mut lane = Lane { state, played, is_repeated: false, pieces, steps: 0, rng };
        lane.seed(0, number);
        self.enter(&mut lane, rows);
        lane
    }

    /// Begins a new match.
    pub fn reset(&self, lane: &mut Lane, rows: &mut EnvironmentRows) {
        self.set_state(lane, self.game.initial(), rows);
    }

    /// Sets the state of the match, after which the number of steps is 0. The state is the first occurrence of its
    /// placement.
    pub fn set_state(&self, lane: &mut Lane, state: GameState, rows: &mut EnvironmentRows) {
        self.leave(lane, rows);
        (lane.state, lane.steps) = (state, 0);
        (lane.played, lane.is_repeated) = (Repetitions::new(&self.game, &state), false);
        rows.reward.fill(0.0);
        self.enter(lane, rows);
    }

    /// Returns whether a step accepts an action. Any is accepted if the match is over.
    pub fn accepts(&self, lane: &Lane, action: usize) -> bool {
        lane.is_over() || self.decode(lane.state.player(), action).is_some_and(|action| is_legal(lane, action))
    }

    /// Plays an [accepted](RewardedGame::accepts) action.
    pub fn step(&self, lane: &mut Lane, action: usize, autoreset: Autoreset, rows: &mut EnvironmentRows) {
        if lane.is_over() {
            match autoreset {
                Autoreset::Never => self.skip(lane, rows),
                _ => self.reset(lane, rows),
            }
            return;
        }
        let Some(action) = self.decode(lane.state.player(), action) else { return };
        let before = self.potential(&lane.state);
        self.leave(lane, rows);
        self.game.play_action(&mut lane.state, action);
        lane.is_repeated = lane.played.push(&self.game, &lane.state);
        lane.steps += 1;
        let gain = self.potential(&lane.state) - before;
        for (reward, side) in rows.reward.iter_mut().zip([Side::X, Side::O]) {
            let result = match lane.state.outcome() {
                Some(Outcome::Won(winner)) if winner == side => 1.0,
                Some(Outcome::Won(_)) => -1.0,
                _ => 0.0,
            };
            *reward = result + if side == Side::X { gain } else { -gain };
        }
        self.enter(lane, rows);
        if lane.is_over() && autoreset == Autoreset::SameStep {
            let ended = (rows.terminated[0], rows.truncated[0]);
            let reward = [rows.reward[0], rows.reward[1]];
            rows.final_observation.copy_from_slice(rows.observation);
            self.reset(lane, rows);
            rows.reward.copy_from_slice(&reward);
            (rows.terminated[0], rows.truncated[0]) = ended;
        }
    }

    /// Leaves a lane as it is in a step of other lanes.
    pub fn skip(&self, lane: &Lane, rows: &mut EnvironmentRows) {
        rows.reward.fill(0.0);
        rows.terminated[0] &= u8::from(lane.is_over());
        rows.truncated[0] &= u8::from(lane.is_over());
    }

    /// Returns a uniformly random legal action, or 0 if the match is over.
    pub fn random_action(&self, lane: &mut Lane) -> usize {
        if lane.is_over() { 0 } else { self.encode(lane.state.player(), random_move(&lane.pieces, &mut lane.rng)) }
    }

    /// Returns the distances of both armies in a table: `x`, then `o`. A distance is `None` if the
    /// table does not cover the army.
    ///
    /// # Errors
    /// If the table is damaged.
    pub fn distances(&self, lane: &Lane, table: &Table) -> Result<[Option<u8>; 2], TableError> {
        let of = |side| Ok(table.probe(self.game.ranked(&lane.state, side).0)?.distance().map(|distance| distance.0));
        Ok([of(Side::X)?, of(Side::O)?])
    }

    /// Writes to `best`, by action, whether it is one of the legal actions after which the distance
    /// of the own army is smallest. If the table covers none of these armies, or the match is over,
    /// all legal actions are best.
    ///
    /// # Errors
    /// If the table is damaged.
    pub fn best_actions(&self, lane: &Lane, table: &Table, best: &mut [bool]) -> Result<(), TableError> {
        best.fill(lane.is_over());
        if lane.is_over() {
            return Ok(());
        }
        let player = lane.state.player();
        let army = lane.state.army(player);
        let distance = |action: Action| -> Result<(usize, u8), TableError> {
            let after = action.map_or(army, |Move { from, to }| army.without(from).with(to));
            let distance = table.probe(State::from_army(self.game.board(), player, after))?.distance();
            Ok((self.encode(player, action), distance.map_or(u8::MAX, |distance| distance.0)))
        };
        let found = actions(lane).map(distance).collect::<Result<Vec<_>, _>>()?;
        let smallest = found.iter().map(|(_, distance)| *distance).min();
        let of_smallest = found.into_iter().filter(|(_, distance)| Some(*distance) == smallest);
        of_smallest.for_each(|(action, _)| best[action] = true);
        Ok(())
    }

    /// Clears what [`enter`](RewardedGame::enter) has written, before a lane changes.
    fn leave(&self, lane: &Lane, rows: &mut EnvironmentRows) {
        if lane.is_over() {
            rows.legal.fill(0);
            return;
        }
        actions(lane).for_each(|action| rows.legal[self.encode(lane.state.player(), action)] = 0);
    }

    /// Writes the state of a lane to its rows, except for the reward.
    fn enter(&self, lane: &mut Lane, rows: &mut EnvironmentRows) {
        let (state, cells) = (&lane.state, self.game.board().cells());
        let player = state.player();
        let (own, other) = rows.observation.split_at_mut(cells);
        for (plane, side) in [(own, player), (other, player.other())] {
            plane.fill(0);
            state.army(side).iter().for_each(|cell| plane[self.seen(player, cell)] = 1);
        }
        let is_truncated = state.outcome() == Some(Outcome::Draw) && state.ply() >= self.game.ply_limit();
        rows.steps[0] = lane.steps;
        rows.truncated[0] = u8::from(is_truncated);
        rows.terminated[0] = u8::from(lane.is_over() && !is_truncated);
        if lane.is_over() {
            rows.player[0] = -1;
            rows.legal.fill(1);
            return;
        }
        rows.player[0] = player as i8;
        lane.pieces = self.game.pieces(&lane.state, Filter::All);
        actions(lane).for_each(|action| rows.legal[self.encode(player, action)] = 1);
    }

    /// Returns the lead of `x`, multiplied by the weight of shaped rewards.
    fn potential(&self, state: &GameState) -> f32 {
        let Some((distances, weight)) = &self.shaping else { return 0.0 };
        let [x, o] = [Side::X, Side::O].map(|side| {
            let (army, rank) = self.game.ranked(state, side);
            distances.of(army, rank) as f32
        });
        weight * (o - x)
    }

    /// Returns the number of a cell as a player sees it, or the cell with that number.
    fn seen(&self, player: Side, cell: Cell) -> usize {
        match player {
            Side::X => cell.index(),
            Side::O => self.game.board().cells() - 1 - cell.index(),
        }
    }

    fn encode(&self, player: Side, action: Action) -> usize {
        let cells = self.game.board().cells();
        action.map_or(cells * cells, |Move { from, to }| self.seen(player, from) * cells + self.seen(player, to))
    }

    /// Returns the action of a player with a number, or `None` if there is none.
    pub fn decode(&self, player: Side, action: usize) -> Option<Action> {
        let cells = self.game.board().cells();
        let cell = |number: usize| Cell::new(self.seen(player, Cell::new(number)));
        match action {
            _ if action == cells * cells => Some(None),
            _ if action < cells * cells => Some(Some(Move { from: cell(action / cells), to: cell(action % cells) })),
            _ => None,
        }
    }
}

/// Returns the legal actions of a lane whose match is not over.
fn actions(lane: &Lane) -> impl Iterator<Item = Action> + '_ {
    let moves = lane.pieces.iter().flat_map(|(from, to)| to.iter().map(move |to| Some(Move { from, to })));
    moves.chain(lane.pieces.is_empty().then_some(None))
}

fn is_legal(lane: &Lane, action: Action) -> bool {
    match action {
        Some(Move { from, to }) => lane.pieces.iter().any(|(piece, targets)| piece == from && targets.contains(to)),
        None => lane.pieces.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::{Board, RuleSet};

    use super::*;

    /// The rows of a lane.
    struct Rows {
        observation: Vec<u8>,
        legal: Vec<u8>,
        player: [i8; 1],
        reward: [f32; 2],
        flags: [u8; 2],
        steps: [u32; 1],
        last: Vec<u8>,
    }

    impl Rows {
        fn new(game: &RewardedGame) -> Rows {
            let cells = 2 * game.game().board().cells();
            let (observation, last) = (vec![0; cells], vec![0; cells]);
            let legal = vec![0; game.actions()];
            Rows { observation, legal, player: [0], reward: [0.0; 2], flags: [0; 2], steps: [0], last }
        }

        fn rows(&mut self) -> EnvironmentRows<'_> {
            let (terminated, truncated) = self.flags.split_at_mut(1);
            EnvironmentRows {
                observation: &mut self.observation,
                legal: &mut self.legal,
                player: &mut self.player,
                reward: &mut self.reward,
                terminated,
                truncated,
                steps: &mut self.steps,
                final_observation: &mut self.last,
                ..EnvironmentRows::default()
            }
        }
    }

    fn game(ply_limit: u32) -> RewardedGame {
        RewardedGame::new(ChineseCheckers::new(Board::new(4, 3).unwrap(), Filter::All).with_ply_limit(ply_limit))
    }

    #[test]
    fn lanes_follow_the_game() {
        let game = game(60);
        let mut rows = Rows::new(&game);
        let mut lane = game.lane(3, &mut rows.rows());
        let mut ended = [0, 0];
        for _ in 0..2000 {
            let mut legal = Vec::new();
            game.game().legal(lane.state(), 0, &mut legal);
            let mut expected = vec![u8::from(lane.is_over()); game.actions()];
            for action in legal.into_iter().filter(|_| !lane.is_over()) {
                let number = game.encode(lane.state().player(), action);
                assert_eq!(game.decode(lane.state().player(), number), Some(action));
                expected[number] = 1;
            }
            assert_eq!(rows.legal, expected);
            assert_eq!(rows.observation.iter().filter(|&&piece| piece == 1).count(), 6);
            let action = game.random_action(&mut lane);
            assert!(game.accepts(&lane, action) && (lane.is_over() || !game.accepts(&lane, game.actions())));
            ended[0] += usize::from(rows.flags[0]);
            ended[1] += usize::from(rows.flags[1]);
            assert_eq!(rows.player == [-1], lane.is_over());
            game.step(&mut lane, action, Autoreset::NextStep, &mut rows.rows());
        }
        assert!(ended.iter().all(|&count| count > 0), "{ended:?}");
    }

    #[test]
    fn the_third_occurrence_of_a_placement_ends_a_match() {
        for (rules, ends) in [(RuleSet::NEWEST, true), (RuleSet::Paper, false)] {
            let checkers = ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All).with_rules(rules);
            let game = RewardedGame::new(checkers);
            let mut rows = Rows::new(&game);
            let mut lane = game.lane(0, &mut rows.rows());
            for _ in 0..2 {
                for text in "b1-c1 d5-c5 c1-b1 c5-d5 b1-c1 d5-c5 c1-b1 c5-d5".split(' ') {
                    assert!(!lane.is_over(), "{rules:?}: {text}");
                    let mv = game.game().geometry().parse_move(text).unwrap();
                    let action = game.encode(lane.state().player(), Some(mv));
                    game.step(&mut lane, action, Autoreset::Never, &mut rows.rows());
                }
                let flags = [u8::from(ends), 0];
                assert_eq!((lane.is_over(), rows.flags, rows.reward), (ends, flags, [0.0; 2]), "{rules:?}");
                game.reset(&mut lane, &mut rows.rows());
            }
        }
    }

    #[test]
    fn a_step_can_end_a_match_and_begin_another() {
        let game = game(1);
        let mut rows = Rows::new(&game);
        let mut lane = game.lane(0, &mut rows.rows());
        let initial = rows.observation.clone();
        for number in 1..4 {
            let action = game.random_action(&mut lane);
            game.step(&mut lane, action, Autoreset::SameStep, &mut rows.rows());
            assert_eq!((rows.flags, rows.steps, rows.player), ([0, 1], [0], [0]), "{number}");
            assert!(rows.observation == initial && rows.last != initial);
        }
        game.skip(&lane, &mut rows.rows());
        assert_eq!(rows.flags, [0; 2]);
    }
}
