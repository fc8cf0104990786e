//! Rulesheets and policies as the backend of a tournament.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use sternhalma_game::MemoryBudget;
use sternhalma_gdl::network::{LaneGame, Network, NetworkGame, NetworkState};
use sternhalma_gdl::{ProverGame, ProverLimits, Reasoner, Rulesheet, digest};

use super::lock_step::check_budgets;
use super::run::run;
use super::{
    ArenaError, Backend, Contestant, ContestantError, GameObserver, LockStepSetup, Openings, PolicyPlayer, Schedule,
    Standings, TournamentSetup, run_in_lock_step,
};
use crate::Policy;
use crate::policy::PolicyGame;

/// Simultaneous games per thread in lock step, by default. Fewer games leave lanes empty, and the
/// trees of more games exceed the caches.
const GAMES_PER_THREAD: NonZeroUsize = NonZeroUsize::new(128).expect("128 is not 0");

/// The way to play a rulesheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RulesEngine {
    /// With the network, or with the prover if the rulesheet has no network.
    #[default]
    Auto,
    /// With the network.
    Network,
    /// With the prover.
    Prover,
    /// With the network, in lock step. Contains the number of simultaneous games, or 0 for the
    /// default.
    LockStep(usize),
}

/// Checks that the budgets of a schedule bound all searches of policies, and that the engine can play with them.
///
/// # Errors
/// Returns an error if a search would not end, or if a policy cannot play in lock step with its budget.
pub fn check_policies(schedule: &Schedule, engine: RulesEngine, policies: &[Policy]) -> Result<(), ArenaError> {
    schedule.check_budgets(|player, limits| {
        let counted = limits.playouts.is_some() || limits.expansions.is_some();
        counted || limits.time.is_some() || policies[player] == Policy::Random
    })?;
    if matches!(engine, RulesEngine::LockStep(_)) {
        check_budgets(schedule, policies)?;
    }
    Ok(())
}

/// Creates the backend for a rulesheet that is played by policies. The rules and all searches share
/// the memory.
///
/// # Errors
/// Returns an error if the rulesheet is invalid or the engine cannot play it.
pub fn rules_backend(
    sheet: &Rulesheet,
    engine: RulesEngine,
    policies: Vec<Policy>,
    memory: &MemoryBudget,
) -> Result<Box<dyn Backend>, ArenaError> {
    let rules = sheet.rules().map_err(rules_error)?;
    let compile = || Network::within(rules, memory.limit() / 2, &AtomicBool::new(false));
    let mut notice = None;
    let network = match engine {
        RulesEngine::Prover => None,
        RulesEngine::Auto => compile().map_err(|error| notice = Some(error.to_string())).ok(),
        RulesEngine::Network | RulesEngine::LockStep(_) => Some(compile().map_err(rules_error)?),
    };
    let policies = policies.into_iter().map(|policy| policy.within(memory)).collect();
    let digest = sheet.digest().to_owned();
    let Some(network) = network else {
        let limits = ProverLimits { memory: memory.part(memory.limit() / 2), ..ProverLimits::default() };
        let game = Arc::new(ProverGame::bounded(rules, &limits).map_err(rules_error)?);
        return Ok(Box::new(RulesBackend {
            game,
            name: "prover",
            engine,
            digest,
            policies,
            openings: None,
            lock_step: None,
            notice,
        }));
    };
    let game = Arc::new(NetworkGame::new(network).with_rules(rules.clone()).within(memory));
    let lock_step = match engine {
        RulesEngine::LockStep(games) => {
            let lanes = game.lanes().map_err(|error| rules_error(error.clone()))?.clone();
            Some(LockStepGames { game: game.clone(), lanes, games, openings: None })
        }
        _ => None,
    };
    Ok(Box::new(RulesBackend { game, name: "sequential", engine, digest, policies, openings: None, lock_step, notice }))
}

fn rules_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ArenaError {
    ArenaError::Rules(error.into())
}

/// Replaces the text of a rulesheet by its digest. Older logs contain the text.
pub(super) fn replace_rules_by_digest(game: &mut Value) {
    if let Some(Value::String(rules)) = game.get_mut("rules")
        && rules.contains('(')
    {
        *rules = digest(rules);
    }
}

/// A rulesheet and its players.
struct RulesBackend<G: PolicyGame + Reasoner> {
    game: Arc<G>,
    /// The name of the engine in logs.
    name: &'static str,
    engine: RulesEngine,
    digest: String,
    policies: Vec<Policy>,
    /// The openings of the schedule, unless games are in lock step.
    openings: Option<Openings<G::State>>,
    lock_step: Option<LockStepGames>,
    /// The reason why there is no network, if the prover plays in its place.
    notice: Option<String>,
}

/// Games in lock step.
struct LockStepGames {
    game: Arc<NetworkGame>,
    lanes: Arc<LaneGame>,
    /// The number of simultaneous games, or 0 for the default.
    games: usize,
    /// The openings of the schedule.
    openings: Option<Openings<NetworkState>>,
}

impl<G: PolicyGame + Reasoner + Send> Backend for RulesBackend<G> {
    fn game(&self) -> Value {
        json!({ "engine": self.name, "rules": self.digest })
    }

    fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    fn roles(&self) -> usize {
        self.game.role_names().len()
    }

    fn players(&self) -> Vec<Value> {
        let describe = |policy: &Policy| match policy.revision() {
            None => json!({ "policy": policy.to_string() }),
            Some(revision) => json!({ "policy": policy.to_string(), "revision": revision }),
        };
        self.policies.iter().map(describe).collect()
    }

    fn set_schedule(&mut self, schedule: &Schedule) -> Result<(), ArenaError> {
        check_policies(schedule, self.engine, &self.policies)?;
        match &mut self.lock_step {
            Some(lanes) => lanes.openings = Some(Openings::new(&*lanes.game, schedule)?),
            None => self.openings = Some(Openings::new(&*self.game, schedule)?),
        }
        Ok(())
    }

    fn concurrency(&self, threads: NonZeroUsize) -> NonZeroUsize {
        match &self.lock_step {
            Some(lock_step) => NonZeroUsize::new(lock_step.games).unwrap_or(threads.saturating_mul(GAMES_PER_THREAD)),
            None => threads,
        }
    }

    fn draw_openings(&self, schedule: &Schedule, stop: &AtomicBool) -> Result<(), ArenaError> {
        if let Some(LockStepGames { game, openings: Some(openings), .. }) = &self.lock_step {
            openings.draw(&**game, schedule, stop)?;
        }
        if let Some(openings) = &self.openings {
            openings.draw(&*self.game, schedule, stop)?;
        }
        Ok(())
    }

    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        observer: &mut GameObserver<'_>,
    ) -> Result<(), ArenaError> {
        if let Some(LockStepGames { game, lanes, openings, .. }) = &self.lock_step {
            let (policies, games) = (&self.policies[..], self.concurrency(threads));
            let setup = LockStepSetup { game, lanes, policies, games, openings: openings.as_ref() };
            return run_in_lock_step(setup, standings, threads, stop, observer);
        }
        let contestants = |entrant: usize| -> Result<Box<dyn Contestant<G>>, ContestantError> {
            Ok(Box::new(PolicyPlayer::new(self.policies[entrant].clone())))
        };
        let openings = self.openings.as_ref();
        let setup = TournamentSetup { game: &*self.game, contestants: &contestants, adjudicator: None, openings };
        run(&setup, standings, threads, stop, observer)
    }
}
