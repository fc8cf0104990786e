//! The engine of a player's match, for any implementation of the rules.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::message::place_of;
use crate::gdl::{Reasoner, Rules};
use crate::mcts::SearchClock;
use crate::policy::{PolicyAgent, PolicyGame, SearchTask};
use crate::{Limits, Policy};

/// Makes an engine for a rulesheet that is faster than the prover, such as a
/// compiled network. The creation may take long, or fail. A player begins with
/// the prover and switches to the engine when it is ready.
///
/// ```
/// use sternhalma_ggp::gdl::ProverGame;
/// use sternhalma_ggp::protocol::EngineFactory;
///
/// let compiler = EngineFactory::new(|rules, _stop| ProverGame::new(rules));
/// ```
#[derive(Clone)]
pub struct EngineFactory(Arc<Compile>);

type Compile = dyn Fn(&Rules, &EngineConfig) -> EngineResult + Send + Sync;

/// A faster engine, or the reason why it could not be made.
pub(super) type EngineResult = Result<Box<dyn MatchEngine>, String>;

impl EngineFactory {
    /// Creates a factory from a function. The flag is set when the match is
    /// over; a long compilation may test it and return any error.
    pub fn new<G, E>(make: impl Fn(&Rules, &AtomicBool) -> Result<G, E> + Send + Sync + 'static) -> EngineFactory
    where
        G: Reasoner + PolicyGame + Send,
        E: fmt::Display,
    {
        EngineFactory(Arc::new(move |rules, config| {
            let game = make(rules, &config.over).map_err(|error| error.to_string())?;
            Ok(Box::new(ReasonerEngine::new(game, config)?))
        }))
    }

    pub(super) fn compile(&self, rules: &Rules, config: &EngineConfig) -> EngineResult {
        self.0(rules, config)
    }
}

/// The settings of an engine: the player's role, policy and flags.
#[derive(Clone)]
pub(super) struct EngineConfig {
    pub role: String,
    pub policy: Policy,
    pub seed: u64,
    /// Ends a search.
    pub hurry: Arc<AtomicBool>,
    /// Set when the match is over for this player.
    pub over: Arc<AtomicBool>,
}

/// A match from the view of one player, with names as text.
pub(super) trait MatchEngine: Send {
    /// Plays a joint move. Returns the joint move in the names of the
    /// rulesheet, with a description of illegal moves, if any. If the joint
    /// move cannot be played, nothing changes.
    fn follow(&mut self, joint: &[String]) -> Result<(Vec<String>, Option<String>), String>;

    /// Returns whether a joint move is legal and has a move for each role.
    fn allows(&self, joint: &[String]) -> bool;

    /// Returns the legal moves of the player's role.
    fn options(&self) -> Vec<String>;

    /// Returns whether a search can find a better move, now or later.
    fn thinks(&self) -> bool;

    /// Returns whether the outcome of the match is proved.
    fn is_solved(&self) -> bool;

    /// Returns whether the rules have used up much of their memory, so that a new engine should
    /// replace this one.
    fn is_crowded(&self) -> bool;

    /// Searches for a time under a clock. Returns the number of simulations,
    /// and the best move if the role is to act under the play clock.
    fn think(&mut self, time: Duration, clock: SearchClock) -> (u64, Option<String>);

    /// Returns the goals, in the order of roles.
    fn goals(&self) -> Vec<u8>;
}

pub(super) struct ReasonerEngine<G: Reasoner> {
    game: G,
    state: G::State,
    role: usize,
    policy: Policy,
    agent: Box<dyn PolicyAgent<G>>,
    hurry: Arc<AtomicBool>,
}

impl<G: Reasoner + PolicyGame> ReasonerEngine<G> {
    pub fn new(game: G, config: &EngineConfig) -> Result<ReasonerEngine<G>, String> {
        let roles = game.role_names();
        let role = place_of(&config.role, roles);
        let role = role.ok_or_else(|| format!("no role {}: the roles are {}", config.role, roles.join(", ")))?;
        let mut agent = game.agent(&config.policy, role, config.seed);
        let state = game.initial();
        agent.begin(&game, &state);
        Ok(ReasonerEngine { state, game, role, policy: config.policy.clone(), agent, hurry: config.hurry.clone() })
    }

    fn names_of(&self, role: usize, moves: &[G::Move]) -> Vec<String> {
        moves.iter().map(|&mv| self.game.move_name(role, mv)).collect()
    }

    /// Returns the move with a name, and whether it is legal.
    fn named(&self, role: usize, name: &str) -> Option<(G::Move, bool)> {
        let legal = self.game.legal_of(&self.state, role);
        match place_of(name, &self.names_of(role, &legal)) {
            Some(place) => Some((legal[place], true)),
            None => self.game.move_named(role, name).map(|mv| (mv, false)),
        }
    }
}

impl<G: Reasoner + PolicyGame + Send> MatchEngine for ReasonerEngine<G> {
    fn follow(&mut self, joint: &[String]) -> Result<(Vec<String>, Option<String>), String> {
        let roles = self.game.roles();
        if joint.len() != roles {
            return Err(format!("{} moves for {roles} roles", joint.len()));
        }
        let (mut moves, mut illegal) = (Vec::new(), None);
        for (role, name) in joint.iter().enumerate() {
            let (mv, legal) = self.named(role, name).ok_or_else(|| format!("no move {name}"))?;
            if !legal {
                illegal.get_or_insert_with(|| format!("{name} is not legal for {}", self.game.role_names()[role]));
            }
            moves.push(mv);
        }
        if illegal.is_some() || self.game.is_terminal(&self.state) {
            self.game.play_all(&mut self.state, &moves);
            self.agent.begin(&self.game, &self.state);
        } else {
            let acting = self.game.turn(&self.state).acting(roles);
            self.agent.advance(&self.game, &moves[acting]);
            self.game.play_all(&mut self.state, &moves);
        }
        let names = moves.iter().enumerate().map(|(role, &mv)| self.game.move_name(role, mv)).collect();
        Ok((names, illegal))
    }

    fn allows(&self, joint: &[String]) -> bool {
        let legal = |(role, name): (usize, &String)| self.named(role, name).is_some_and(|(_, legal)| legal);
        joint.len() != self.game.roles() || joint.iter().enumerate().all(legal)
    }

    fn options(&self) -> Vec<String> {
        self.names_of(self.role, &self.game.legal_of(&self.state, self.role))
    }

    fn thinks(&self) -> bool {
        self.policy.thinks() && !self.game.is_terminal(&self.state)
    }

    fn is_solved(&self) -> bool {
        self.agent.is_solved()
    }

    fn is_crowded(&self) -> bool {
        self.game.is_crowded()
    }

    fn think(&mut self, time: Duration, clock: SearchClock) -> (u64, Option<String>) {
        if self.game.is_terminal(&self.state) {
            return (0, None);
        }
        let task = SearchTask { clock, ..SearchTask::new(&self.game, &self.state, Limits::time(time), &self.hurry) };
        let acts = self.game.turn(&self.state).acting(self.game.roles()).contains(&self.role);
        if !acts || clock != SearchClock::Play {
            return (self.agent.think(&task).playouts, None);
        }
        let found = self.agent.search(&task, self.role);
        (found.spent.playouts, Some(self.game.move_name(self.role, found.best)))
    }

    fn goals(&self) -> Vec<u8> {
        (0..self.game.roles()).map(|role| self.game.reached(&self.state, role).score()).collect()
    }
}
