//! Prints how much features of mobility and blocking lower the held-out loss of the learned evaluations.
//!
//! ```sh
//! cargo run --release -p sternhalma-trainer --example mobility -- data6.bin 9x9-6.sht [EPOCHS]
//! ```
//!
//! `data6.bin` is a file of `sternhalma datagen`. The linear model and the network are fitted without and with three
//! features: the moves of a player, its pieces without a move toward its goal, and the cells of its goal that the
//! opponent occupies. Each is the difference between the player to move and the opponent. The network has 10 epochs
//! by default.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use sternhalma_data::{Board, CellSet, Side, State, Table};
use sternhalma_engine::learned::MAX_HIDDEN;
use sternhalma_engine::{Config, Distances, Roster};
use sternhalma_trainer::{
    FitOptions, LinearModel, Model, NetworkModel, Sample, fit, fit_scale, mean_loss, read_games, samples, split,
};

/// The number of additional features.
const FEATURES: usize = 3;

/// A model with additional features. Their parameters follow those of the inner model.
struct WithMoves<'a, M> {
    inner: &'a M,
    board: Board,
}

impl<M> WithMoves<'_, M> {
    /// Returns the features of a sample: the moves in tens, the pieces without a forward move, and the occupied cells.
    fn features(&self, sample: &Sample) -> [f32; FEATURES] {
        let turned = sample.armies.map(|army| State::from_army(self.board, Side::X, army).cells());
        let own = self.features_of(sample.armies[0], turned[1]);
        let other = self.features_of(sample.armies[1], turned[0]);
        std::array::from_fn(|feature| own[feature] - other[feature])
    }

    /// Returns the features of a player. Both armies are in the goal order of the player.
    fn features_of(&self, own: CellSet, other: CellSet) -> [f32; FEATURES] {
        let geometry = self.board.geometry();
        let (mut moves, mut blocked) = (0, 0);
        for from in own.iter() {
            let to = geometry.destinations((own | other).without(from), from);
            moves += to.len();
            blocked += usize::from(!to.iter().any(|to| geometry.row(to) < geometry.row(from)));
        }
        let occupied = other & CellSet::first_cells(self.board.pieces());
        [moves as f32 / 10.0, blocked as f32, occupied.len() as f32]
    }

    /// Returns the part of the output that the features contribute, given their parameters.
    fn contribution(&self, parameters: &[f32], features: &[f32; FEATURES]) -> f32 {
        parameters.iter().zip(features).map(|(parameter, feature)| parameter * feature).sum()
    }
}

impl<M: Model> Model for WithMoves<'_, M> {
    fn logit(&self, parameters: &[f32], sample: &Sample) -> f32 {
        let (inner, own) = parameters.split_at(parameters.len() - FEATURES);
        self.inner.logit(inner, sample) + self.contribution(own, &self.features(sample))
    }

    fn add_gradient(
        &self,
        parameters: &[f32],
        sample: &Sample,
        slope: &mut dyn FnMut(f32) -> f32,
        gradient: &mut [f32],
    ) {
        let (inner, own) = parameters.split_at(parameters.len() - FEATURES);
        let (inner_gradient, own_gradient) = gradient.split_at_mut(inner.len());
        let features = self.features(sample);
        let contribution = self.contribution(own, &features);
        let mut derivative = 0.0;
        let mut inner_slope = |logit: f32| {
            derivative = slope(logit + contribution);
            derivative
        };
        self.inner.add_gradient(inner, sample, &mut inner_slope, inner_gradient);
        own_gradient.iter_mut().zip(features).for_each(|(to, feature)| *to += derivative * feature);
    }

    fn clip(&self, parameters: &mut [f32]) {
        let inner = parameters.len() - FEATURES;
        self.inner.clip(&mut parameters[..inner]);
    }
}

/// Samples for training and held-out ones, with the options of the fits.
struct Experiment<'a> {
    board: Board,
    sets: [&'a [Sample]; 2],
    options: FitOptions,
}

impl Experiment<'_> {
    /// Fits a model and prints its held-out loss. Returns the parameters.
    fn fit(&self, name: &str, model: &impl Model, start: Vec<f32>, epochs: u32, rate: f32) -> Vec<f32> {
        let options = FitOptions { epochs, rate, ..self.options };
        let parameters = fit(model, start, self.board, self.sets, &options, &mut |_| true);
        println!("{name}: {:.5}", mean_loss(model, &parameters, self.sets[1], &options));
        parameters
    }

    /// Fits a model with the additional features, which begin at 0, and prints its held-out loss.
    fn fit_with_moves(&self, name: &str, model: &impl Model, mut start: Vec<f32>, epochs: u32, rate: f32) {
        start.extend([0.0; FEATURES]);
        let model = WithMoves { inner: model, board: self.board };
        let parameters = self.fit(name, &model, start, epochs, rate);
        let own = &parameters[parameters.len() - FEATURES..];
        println!("  per ten moves {:.3}, blocked piece {:.3}, occupied goal cell {:.3}", own[0], own[1], own[2]);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, table, rest @ ..] = &*arguments else { return Err("expected DATA TABLE [EPOCHS]".into()) };
    let epochs = rest.first().map_or(Ok(10), |text| text.parse())?;
    let (setup, games) = read_games(Path::new(data))?;
    let board = setup.game()?.board;
    let distances = Distances::new(Arc::new(Table::open(Path::new(table))?));
    // The same games are held out as those of `sternhalma train`.
    let [training, held_out] = split(games, 5, 1).map(|games| samples(board, &games, &distances));
    let scale = fit_scale(&training);
    let options = FitOptions { epochs: 0, batch: 1024, rate: 0.0, seed: 1, blend: 0.7, scale };
    let experiment = Experiment { board, sets: [&training, &held_out], options };
    println!("{} positions, {} held out", training.len(), held_out.len());

    let Config::Pvs(rows) = Roster::built_in().config("sternhalma")? else { return Err("expected a search".into()) };
    let linear = LinearModel::new(board, scale);
    let fixed = experiment.fit("linear", &linear, linear.start(&rows), 8, 0.01);
    experiment.fit_with_moves("linear with the features", &linear, linear.start(&rows), 8, 0.01);
    let network = NetworkModel::new(board, MAX_HIDDEN, &linear, &fixed);
    experiment.fit("network", &network, network.start(1), epochs, 0.005);
    experiment.fit_with_moves("network with the features", &network, network.start(1), epochs, 0.005);
    Ok(())
}
