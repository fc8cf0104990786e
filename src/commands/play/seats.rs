//! The participants of a game.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Result;
use sternhalma_data::Side;
use sternhalma_data::table::Coverage;
use sternhalma_engine::record::MoveInfo;
use sternhalma_engine::{
    Action, AnalysedMove, Config, Distances, Follower, GameHistory, GameSetup, SearchInfo, WeightsFiles, analyse,
};
use sternhalma_ggp::arena::derive_seed;
use sternhalma_ggp::{Limits, MemoryBudget};

use super::build_offer::offer_table;
use super::strength::Strength;
use crate::args::player::{
    DEFAULT_PLAYER, PlayerArgs, distances_or_estimates, estimates, open_distances, player_config,
};
use crate::context::CommandContext;

/// The name of a person among the players.
const HUMAN: &str = "human";

/// Creates the participants of games.
pub struct SeatFactory<'a> {
    ctx: &'a CommandContext,
    args: &'a PlayerArgs,
    names: [String; 2],
    /// The configurations of the players that are not people.
    configs: [Option<Config>; 2],
    /// The configuration of the player that gives hints.
    adviser: Config,
    seed: u64,
    /// Whether a person can be asked to build a missing table.
    offers_table: bool,
    /// Set to end a search.
    stop: Arc<AtomicBool>,
    memory: MemoryBudget,
    weights: WeightsFiles,
}

/// The participants of games with the same setup.
pub struct Seats {
    setup: GameSetup,
    players: [Option<Follower>; 2],
    distances: Option<Distances>,
    adviser: Option<Follower>,
}

impl<'a> SeatFactory<'a> {
    pub fn new(
        ctx: &'a CommandContext,
        args: &'a PlayerArgs,
        names: [String; 2],
        seed: u64,
        offers_table: bool,
    ) -> Result<SeatFactory<'a>> {
        let roster = args.roster()?;
        let [x, o] = names.each_ref().map(|name| (name != HUMAN).then(|| player_config(&roster, name)).transpose());
        let (configs, adviser) = ([x?, o?], player_config(&roster, DEFAULT_PLAYER)?);
        // A person can stop a search with Ctrl-C. Without a person, Ctrl-C ends the program.
        let stop = if offers_table && configs.contains(&None) { ctx.stop()? } else { Arc::default() };
        Ok(SeatFactory {
            ctx,
            args,
            names,
            configs,
            adviser,
            seed,
            offers_table,
            stop,
            memory: MemoryBudget::unlimited(),
            weights: WeightsFiles::default(),
        })
    }

    /// Limits the memory of the players and of the one that gives hints.
    pub fn within(self, memory: &MemoryBudget) -> SeatFactory<'a> {
        SeatFactory { memory: memory.clone(), ..self }
    }

    /// Returns a player with a third of the memory.
    fn follower(&self, config: &Config, setup: GameSetup, distances: Option<&Distances>) -> Result<Follower> {
        let memory = self.memory.part(self.memory.limit() / 3);
        Ok(Follower::new(config.prepare_from(setup, distances, &self.weights)?.start(&memory)?))
    }

    /// Returns whether a person plays a side.
    pub fn is_human(&self, side: Side) -> bool {
        self.configs[side as usize].is_none()
    }

    /// Returns whether a person plays at least one side.
    pub fn has_human(&self) -> bool {
        self.configs.contains(&None)
    }

    /// Returns the name of the player of a side.
    pub fn name(&self, side: Side) -> &str {
        &self.names[side as usize]
    }

    /// Returns the participants of games.
    pub fn seats(&self, setup: GameSetup) -> Result<Seats> {
        let board = setup.board.for_two()?;
        let mut distances = None;
        if self.configs.iter().flatten().any(Config::needs_table) {
            let open = || open_distances(self.ctx, board, self.args.table(), Coverage::Prefix);
            distances = open()?;
            if distances.is_none() && self.offers_table && self.has_human() && offer_table(self.ctx, board)? {
                distances = open()?;
            }
            if distances.is_none() {
                distances = Some(estimates(self.ctx, board)?);
            }
        }
        let mut seats = Seats { setup, players: [None, None], distances, adviser: None };
        for (seat, config) in seats.players.iter_mut().zip(&self.configs) {
            let make = |config| self.follower(config, setup, seats.distances.as_ref());
            *seat = config.as_ref().map(make).transpose()?;
        }
        Ok(seats)
    }
}

/// The choice of a player, and whether a person stopped its search.
pub struct SeatChoice {
    pub action: Action,
    pub info: MoveInfo,
    pub stopped: bool,
}

impl Seats {
    /// Returns whether the participants can play this game.
    pub fn fit(&self, history: &GameHistory) -> bool {
        self.setup == history.rules().setup()
    }

    /// Begins another game.
    pub fn forget(&mut self) {
        self.players.iter_mut().chain([&mut self.adviser]).flatten().for_each(Follower::forget);
    }

    /// Returns the choice of the player to move in the game with this number, or
    /// `None` if a person is to move.
    pub fn choose(
        &mut self,
        factory: &SeatFactory<'_>,
        history: &GameHistory,
        game: u64,
        strength: Strength,
    ) -> Option<SeatChoice> {
        let side = history.state().player() as u64;
        let follower = self.players[side as usize].as_mut()?;
        let actions: Vec<Action> = history.actions().collect();
        let seed = derive_seed(factory.seed, 2 * game + side);
        let player = follower.follow(history.start(), &actions, seed);
        let (state, stop, mut last) = (history.state(), &*factory.stop, None);
        let mut watch = |info: &SearchInfo| last = Some(info.clone());
        let choice = match strength {
            Strength::Level(level) => level.think(player, state, Limits::default(), seed, stop, &mut watch),
            Strength::Limits(limits) => player.think(state, limits, stop, &mut watch),
        };
        let last = last.unwrap_or(SearchInfo { spent: choice.spent, value: None, is_race: false, line: Vec::new() });
        let info = MoveInfo::from(&SearchInfo { spent: choice.spent, ..last });
        Some(SeatChoice { action: choice.action, info, stopped: factory.stop.swap(false, Relaxed) })
    }

    /// Returns the best move for the player to move.
    pub fn advise(
        &mut self,
        factory: &SeatFactory<'_>,
        history: &GameHistory,
        limits: Limits,
    ) -> Result<Option<AnalysedMove>> {
        if self.adviser.is_none() {
            let distances = match &self.distances {
                Some(distances) => distances.clone(),
                None => distances_or_estimates(factory.ctx, self.setup.board, factory.args.table())?,
            };
            let distances = self.distances.insert(distances);
            self.adviser = Some(factory.follower(&factory.adviser, self.setup, Some(distances))?);
        }
        let Some(adviser) = &mut self.adviser else { return Ok(None) };
        // A hint does not depend on earlier hints.
        let player = adviser.follow_anew(history.start(), &history.actions().collect::<Vec<_>>(), factory.seed);
        let found = analyse(player, history.state(), limits, 1, &factory.stop).into_iter().next();
        factory.stop.store(false, Relaxed);
        Ok(found)
    }
}
