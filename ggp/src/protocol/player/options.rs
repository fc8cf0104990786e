//! The options of a player.

use std::sync::Arc;
use std::time::Duration;

use sternhalma_game::MemoryBudget;

use crate::policy::Policy;
use crate::protocol::engine::EngineFactory;

/// A function that receives one line per event.
pub type Logger = Arc<dyn Fn(&str) + Send + Sync>;

/// The settings of a player.
#[derive(Clone)]
pub struct PlayerOptions {
    /// Its name.
    pub name: String,
    /// The policy that finds the player's moves.
    pub policy: Policy,
    /// The time before the end of a clock at which the player answers. The
    /// player answers after half of the clock if that is later.
    pub margin: Duration,
    /// The time without messages, beyond the clock, after which a match is
    /// idle: the START of another match may end it.
    pub patience: Duration,
    /// Whether the player searches while it waits for the next message.
    pub ponder: bool,
    /// The seed of the player's random numbers.
    pub seed: u64,
    /// The memory of the trees, the prover and the networks of a match.
    pub memory: MemoryBudget,
    /// A factory of engines that are faster than the prover.
    pub compiler: Option<EngineFactory>,
    /// Receives the events.
    pub log: Logger,
}

impl Default for PlayerOptions {
    fn default() -> PlayerOptions {
        PlayerOptions {
            name: "sternhalma".into(),
            policy: Policy::default(),
            margin: Duration::from_millis(500),
            patience: Duration::from_secs(30),
            ponder: false,
            seed: 1,
            memory: MemoryBudget::unlimited(),
            compiler: None,
            log: Arc::new(|_| {}),
        }
    }
}
