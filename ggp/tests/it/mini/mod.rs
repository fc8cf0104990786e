//! The strategies of MINI-Player compared with values computed by hand, and
//! the features that they use compared with single evaluations.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sternhalma_ggp::Mcts;
use sternhalma_ggp::features::StateFeatures;
use sternhalma_ggp::gdl::Rules;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::mcts::playout::mini::{Chances, MiniConfig, MiniPlayout, Strategy};
use sternhalma_ggp::mcts::{Decision, MctsConfig, ToTheEnd, Uct};

mod allocation;
mod features;
mod playout;
mod quality;

fn data(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mini").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Parses a number that is written as a fraction.
fn fraction(value: &Value) -> f64 {
    let text = value.as_str().unwrap();
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
}

fn ready(text: &str) -> (NetworkGame, Box<dyn StateFeatures<NetworkGame>>) {
    let rules = Rules::parse(text).unwrap();
    let game = NetworkGame::new(Network::new(&rules).unwrap()).with_rules(rules);
    let anatomy = game.features();
    (game, anatomy)
}

/// Returns a player that follows one strategy whenever it can.
fn always(strategy: Strategy) -> MiniConfig {
    let chances = Chances { goal: 1.0, symbols: 1.0, mobility: 1.0, exploration: 1.0, history: 1.0 };
    MiniConfig { strategies: vec![strategy], chances, ..MiniConfig::mini() }
}

fn playout(game: &NetworkGame, role: usize, config: MiniConfig) -> MiniPlayout<NetworkGame> {
    MiniPlayout::new(game, role, Some(game.features()), config)
}

/// Returns a search that keeps to the moves of the root and plays out the
/// rest.
fn search(
    game: &NetworkGame,
    role: usize,
    config: MiniConfig,
    seed: u64,
) -> Mcts<NetworkGame, Uct, MiniPlayout<NetworkGame>, ToTheEnd> {
    let settings = MctsConfig { decision: Decision::EffectiveQuality, ..MctsConfig::default() };
    Mcts::new(Uct::new(0.4), playout(game, role, config), ToTheEnd, settings, seed)
}
