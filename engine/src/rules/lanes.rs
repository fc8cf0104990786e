//! Matches for reinforcement learning, one per *lane* of the caller's arrays.
//!
//! The player to move sees the board turned so that its own home is at cell 0: for `x` cells have
//! their usual numbers, and for `o` cell `c` has the number `cells - 1 - c`. The action that moves a
//! piece from cell `a` to cell `b`, in these numbers, is `a * cells + b`. The last action is a pass.

use rand::SeedableRng;
use sternhalma_data::{Cell, Move, Side, State, Table, TableError};
use sternhalma_ggp::arena::derive_seed;
use sternhalma_ggp::gdl::network::Autoreset;
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

/// The rows of a lane in arrays. Every change of the lane is written to them.
pub struct LaneArrays<'a> {
    /// The pieces of the player to move, then those of the other: 0 or 1 per cell.
    pub observation: &'a mut [u8],
    /// By action: whether it is legal. All are if the match is over.
    pub legal: &'a mut [bool],
    /// The player to move, or -1 if the match is over.
    pub player: &'a mut i8,
    /// By player: the reward of the last step.
    pub reward: &'a mut [f32],
    /// Whether the match ended by the rules.
    pub terminated: &'a mut bool,
    /// Whether the match ended at the ply limit.
    pub truncated: &'a mut bool,
    /// The number of steps of the match.
    pub steps: &'a mut u32,
    /// With [`Autoreset::SameStep`]: the observation at the end of a match.
    pub final_observation: &'a mut [u8],
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

    /// Creates the lane with this number in the initial state, and writes it to arrays of zeros.
    pub fn lane(&self, number: usize, arrays: &mut LaneArrays) -> Lane {
        let state = self.game.initial();
        let played = Repetitions::new(&self.game, &state);
        let (pieces, rng) = (Pieces::none(), Rng::seed_from_u64(0));
        let mut lane = Lane { state, played, is_repeated: false, pieces, steps: 0, rng };
        lane.seed(0, number);
        self.enter(&mut lane, arrays);
        lane
    }

    /// Begins a new match.
    pub fn reset(&self, lane: &mut Lane, arrays: &mut LaneArrays) {
        self.set_state(lane, self.game.initial(), arrays);
    }

    /// Sets the state of the match, after which the number of steps is 0. The state is the first occurrence of its
    /// placement.
    pub fn set_state(&self, lane: &mut Lane, state: GameState, arrays: &mut LaneArrays) {
        self.leave(lane, arrays);
        (lane.state, lane.steps) = (state, 0);
        (lane.played, lane.is_repeated) = (Repetitions::new(&self.game, &state), false);
        arrays.reward.fill(0.0);
        self.enter(lane, arrays);
    }

    /// Returns whether a step accepts an action. Any is accepted if the match is over.
    pub fn accepts(&self, lane: &Lane, action: usize) -> bool {
        lane.is_over() || self.decode(lane.state.player(), action).is_some_and(|action| is_legal(lane, action))
    }

    /// Plays an [accepted](RewardedGame::accepts) action.
    pub fn step(&self, lane: &mut Lane, action: usize, autoreset: Autoreset, arrays: &mut LaneArrays) {
        if lane.is_over() {
            match autoreset {
                Autoreset::Never => self.skip(lane, arrays),
                _ => self.reset(lane, arrays),
            }
            return;
        }
        let Some(action) = self.decode(lane.state.player(), action) else { return };
        let before = self.potential(&lane.state);
        self.leave(lane, arrays);
        self.game.play_action(&mut lane.state, action);
        lane.is_repeated = lane.played.push(&self.game, &lane.state);
        lane.steps += 1;
        let gain = self.potential(&lane.state) - before;
        for (reward, side) in arrays.reward.iter_mut().zip([Side::X, Side::O]) {
            let result = match lane.state.outcome() {
                Some(Outcome::Won(winner)) if winner == side => 1.0,
                Some(Outcome::Won(_)) => -1.0,
                _ => 0.0,
            };
            *reward = result + if side == Side::X { gain } else { -gain };
        }
        self.enter(lane, arrays);
        if lane.is_over() && autoreset == Autoreset::SameStep {
            let ended = (*arrays.terminated, *arrays.truncated);
            let reward = [arrays.reward[0], arrays.reward[1]];
            arrays.final_observation.copy_from_slice(arrays.observation);
            self.reset(lane, arrays);
            arrays.reward.copy_from_slice(&reward);
            (*arrays.terminated, *arrays.truncated) = ended;
        }
    }

    /// Leaves a lane as it is in a step of other lanes.
    pub fn skip(&self, lane: &Lane, arrays: &mut LaneArrays) {
        arrays.reward.fill(0.0);
        *arrays.terminated &= lane.is_over();
        *arrays.truncated &= lane.is_over();
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
    fn leave(&self, lane: &Lane, arrays: &mut LaneArrays) {
        if lane.is_over() {
            arrays.legal.fill(false);
            return;
        }
        actions(lane).for_each(|action| arrays.legal[self.encode(lane.state.player(), action)] = false);
    }

    /// Writes the state of a lane to its arrays, except for the reward.
    fn enter(&self, lane: &mut Lane, arrays: &mut LaneArrays) {
        let (state, cells) = (&lane.state, self.game.board().cells());
        let player = state.player();
        let (own, other) = arrays.observation.split_at_mut(cells);
        for (plane, side) in [(own, player), (other, player.other())] {
            plane.fill(0);
            state.army(side).iter().for_each(|cell| plane[self.seen(player, cell)] = 1);
        }
        *arrays.steps = lane.steps;
        *arrays.truncated = state.outcome() == Some(Outcome::Draw) && state.ply() >= self.game.ply_limit();
        *arrays.terminated = lane.is_over() && !*arrays.truncated;
        if lane.is_over() {
            *arrays.player = -1;
            arrays.legal.fill(true);
            return;
        }
        *arrays.player = player as i8;
        lane.pieces = self.game.pieces(&lane.state, Filter::All);
        actions(lane).for_each(|action| arrays.legal[self.encode(player, action)] = true);
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

    /// The arrays of a lane.
    struct Rows {
        observation: Vec<u8>,
        legal: Vec<bool>,
        player: i8,
        reward: [f32; 2],
        flags: [bool; 2],
        steps: u32,
        last: Vec<u8>,
    }

    impl Rows {
        fn new(game: &RewardedGame) -> Rows {
            let cells = 2 * game.game().board().cells();
            let (observation, last) = (vec![0; cells], vec![0; cells]);
            let legal = vec![false; game.actions()];
            Rows { observation, legal, player: 0, reward: [0.0; 2], flags: [false; 2], steps: 0, last }
        }

        fn arrays(&mut self) -> LaneArrays<'_> {
            let [terminated, truncated] = &mut self.flags;
            LaneArrays {
                observation: &mut self.observation,
                legal: &mut self.legal,
                player: &mut self.player,
                reward: &mut self.reward,
                terminated,
                truncated,
                steps: &mut self.steps,
                final_observation: &mut self.last,
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
        let mut lane = game.lane(3, &mut rows.arrays());
        let mut ended = [0, 0];
        for _ in 0..2000 {
            let mut legal = Vec::new();
            game.game().legal(lane.state(), 0, &mut legal);
            let mut expected = vec![lane.is_over(); game.actions()];
            for action in legal.into_iter().filter(|_| !lane.is_over()) {
                let number = game.encode(lane.state().player(), action);
                assert_eq!(game.decode(lane.state().player(), number), Some(action));
                expected[number] = true;
            }
            assert_eq!(rows.legal, expected);
            assert_eq!(rows.observation.iter().filter(|&&piece| piece == 1).count(), 6);
            let action = game.random_action(&mut lane);
            assert!(game.accepts(&lane, action) && (lane.is_over() || !game.accepts(&lane, game.actions())));
            ended[0] += usize::from(rows.flags[0]);
            ended[1] += usize::from(rows.flags[1]);
            assert_eq!(rows.player == -1, lane.is_over());
            game.step(&mut lane, action, Autoreset::NextStep, &mut rows.arrays());
        }
        assert!(ended.iter().all(|&count| count > 0), "{ended:?}");
    }

    #[test]
    fn the_third_occurrence_of_a_placement_ends_a_match() {
        for (rules, ends) in [(RuleSet::NEWEST, true), (RuleSet::Paper, false)] {
            let checkers = ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All).with_rules(rules);
            let game = RewardedGame::new(checkers);
            let mut rows = Rows::new(&game);
            let mut lane = game.lane(0, &mut rows.arrays());
            for _ in 0..2 {
                for text in "b1-c1 d5-c5 c1-b1 c5-d5 b1-c1 d5-c5 c1-b1 c5-d5".split(' ') {
                    assert!(!lane.is_over(), "{rules:?}: {text}");
                    let mv = game.game().geometry().parse_move(text).unwrap();
                    let action = game.encode(lane.state().player(), Some(mv));
                    game.step(&mut lane, action, Autoreset::Never, &mut rows.arrays());
                }
                assert_eq!((lane.is_over(), rows.flags, rows.reward), (ends, [ends, false], [0.0; 2]), "{rules:?}");
                game.reset(&mut lane, &mut rows.arrays());
            }
        }
    }

    #[test]
    fn a_step_can_end_a_match_and_begin_another() {
        let game = game(1);
        let mut rows = Rows::new(&game);
        let mut lane = game.lane(0, &mut rows.arrays());
        let initial = rows.observation.clone();
        for number in 1..4 {
            let action = game.random_action(&mut lane);
            game.step(&mut lane, action, Autoreset::SameStep, &mut rows.arrays());
            assert_eq!((rows.flags, rows.steps, rows.player), ([false, true], 0, 0), "{number}");
            assert!(rows.observation == initial && rows.last != initial);
        }
        game.skip(&lane, &mut rows.arrays());
        assert_eq!(rows.flags, [false; 2]);
    }
}
