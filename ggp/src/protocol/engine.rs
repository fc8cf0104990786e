//! The engine of a player's match, for any implementation of the rules.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sternhalma_game::Limits;
use sternhalma_gdl::{Reasoner, Rules, index_of_name};
use sternhalma_mcts::SearchClock;
use thiserror::Error;

use crate::Policy;
use crate::policy::{PolicyAgent, PolicyGame, SearchTask};

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

/// A move for each role, which an engine knows.
pub(super) struct Joint {
    /// The moves in the names of the rulesheet, by role.
    pub names: Vec<String>,
    /// A description of the first illegal move, if any.
    pub illegal: Option<String>,
}

/// The reason why an engine cannot play a joint move.
#[derive(Error, PartialEq, Eq, Debug)]
pub(super) enum JointError {
    /// The joint move does not have one move for each role.
    #[error("{found} moves for {roles} roles")]
    Count {
        /// The number of moves.
        found: usize,
        /// The number of roles.
        roles: usize,
    },
    /// No state has a move with the name.
    #[error("no move {name}")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// The progress of a search.
#[derive(Default)]
pub(super) struct Progress {
    /// The number of simulations.
    pub playouts: u64,
    /// The best move, if the role is to act under the play clock.
    pub best: Option<String>,
}

/// A match from the view of one player, with names as text.
pub(super) trait MatchEngine: Send {
    /// Returns the joint move with these names in the current state. Names may differ in case from those of the
    /// rulesheet.
    ///
    /// # Errors
    /// If the number of moves is wrong, or no state of the game has such a move.
    fn resolve(&self, joint: &[String]) -> Result<Joint, JointError>;

    /// Plays a joint move that was [resolved](MatchEngine::resolve) in the current state, even if it is illegal.
    ///
    /// # Panics
    /// If the joint move is that of another game.
    fn follow(&mut self, joint: &Joint);

    /// Returns the legal moves of the player's role.
    fn options(&self) -> Vec<String>;

    /// Returns whether a search can find a better move, now or later.
    fn thinks(&self) -> bool;

    /// Returns whether the outcome of the match is proved.
    fn is_solved(&self) -> bool;

    /// Returns whether the rules have used up much of their memory, so that a new engine should
    /// replace this one.
    fn is_crowded(&self) -> bool;

    /// Searches for a time under a clock.
    fn think(&mut self, time: Duration, clock: SearchClock) -> Progress;

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
        let role = index_of_name(&config.role, roles);
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
        match index_of_name(name, &self.names_of(role, &legal)) {
            Some(place) => Some((legal[place], true)),
            None => self.game.move_named(role, name).map(|mv| (mv, false)),
        }
    }
}

impl<G: Reasoner + PolicyGame + Send> MatchEngine for ReasonerEngine<G> {
    fn resolve(&self, joint: &[String]) -> Result<Joint, JointError> {
        let (found, roles) = (joint.len(), self.game.roles());
        if found != roles {
            return Err(JointError::Count { found, roles });
        }
        let (mut names, mut illegal) = (Vec::new(), None);
        for (role, name) in joint.iter().enumerate() {
            let (mv, legal) = self.named(role, name).ok_or_else(|| JointError::Unknown { name: name.clone() })?;
            if !legal {
                illegal.get_or_insert_with(|| format!("{name} is not legal for {}", self.game.role_names()[role]));
            }
            names.push(self.game.move_name(role, mv));
        }
        Ok(Joint { names, illegal })
    }

    fn follow(&mut self, joint: &Joint) {
        let named = |(role, name): (usize, &String)| self.game.move_named(role, name);
        let moves: Option<Vec<G::Move>> = joint.names.iter().enumerate().map(named).collect();
        let moves = moves.expect("a resolved joint move has moves of the game");
        // A tree has no edges for illegal moves, and none from a terminal state.
        if joint.illegal.is_some() || self.game.is_terminal(&self.state) {
            self.game.play_all(&mut self.state, &moves);
            self.agent.begin(&self.game, &self.state);
        } else {
            let acting = self.game.turn(&self.state).acting(self.game.roles());
            self.agent.advance(&self.game, &moves[acting]);
            self.game.play_all(&mut self.state, &moves);
        }
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

    fn think(&mut self, time: Duration, clock: SearchClock) -> Progress {
        if self.game.is_terminal(&self.state) {
            return Progress::default();
        }
        let task = SearchTask { clock, ..SearchTask::new(&self.game, &self.state, Limits::time(time), &self.hurry) };
        let acts = self.game.turn(&self.state).acting(self.game.roles()).contains(&self.role);
        if !acts || clock != SearchClock::Play {
            return Progress { playouts: self.agent.think(&task).playouts, best: None };
        }
        let found = self.agent.search(&task, self.role);
        Progress { playouts: found.spent.playouts, best: Some(self.game.move_name(self.role, found.best)) }
    }

    fn goals(&self) -> Vec<u8> {
        (0..self.game.roles()).map(|role| self.game.reached(&self.state, role).score()).collect()
    }
}
