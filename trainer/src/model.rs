//! The models that are fitted: a linear one, and a network on top of it.
//!
//! The output of a model is a logit: its sigmoid is the expected result for the player to move.

use rand::{RngExt, SeedableRng};
use sternhalma_data::{Board, Cell, CellSet};
use sternhalma_engine::learned::{LinearWeights, MAX_HIDDEN, MAX_OUTPUT, NetworkWeights, OUTPUT_UNIT, UNIT};
use sternhalma_engine::players::PvsConfig;
use sternhalma_ggp::Rng;

use crate::samples::Sample;

/// A differentiable function of samples.
pub trait Model: Sync {
    /// Returns the output for a sample.
    fn logit(&self, parameters: &[f32], sample: &Sample) -> f32;

    /// Adds the gradient of a loss. `slope` gets the output for the sample and returns the derivative of the loss.
    fn add_gradient(
        &self,
        parameters: &[f32],
        sample: &Sample,
        slope: &mut dyn FnMut(f32) -> f32,
        gradient: &mut [f32],
    );

    /// Moves parameters into their range.
    fn clip(&self, _parameters: &mut [f32]) {}
}

/// A linear model: the lead according to the table, the pieces on each cell, the rows of the two rearmost pieces, and
/// the tempo. Mirrored cells share a weight.
pub struct LinearModel {
    board: Board,
    /// The hundredths of a move of a logit of 1.
    scale: f32,
    /// The parameter of each cell in goal order.
    cells: Vec<usize>,
    parameters: usize,
}

/// The places of the parameters of a linear model that belong to no cell.
const LEAD: usize = 0;
const REARMOST: usize = 1;
const SECOND: usize = 2;
const TEMPO: usize = 3;
const FIRST_CELL: usize = 4;

impl LinearModel {
    /// Creates the model of a board. A lead of `scale` hundredths of a move has the odds e to 1.
    pub fn new(board: Board, scale: f32) -> LinearModel {
        let geometry = board.geometry();
        let mut parameters = FIRST_CELL;
        let mut cells: Vec<usize> = Vec::new();
        for index in 0..board.cells() {
            let mirrored = geometry.mirror(CellSet::single(Cell::new(index))).first().expect("a cell has an image");
            cells.push(if mirrored.index() < index { cells[mirrored.index()] } else { parameters });
            parameters = parameters.max(cells[index] + 1);
        }
        LinearModel { board, scale, cells, parameters }
    }

    /// Returns the parameters with which the model is the evaluation of a player by rows.
    pub fn start(&self, config: &PvsConfig) -> Vec<f32> {
        let logit = |hundredths: i32| hundredths as f32 / self.scale;
        let mut parameters = vec![0.0; self.parameters];
        parameters[LEAD] = 1.0;
        parameters[REARMOST] = -logit(config.rearmost);
        parameters[SECOND] = -logit(config.second);
        parameters[TEMPO] = logit(config.tempo);
        for (index, &parameter) in self.cells.iter().enumerate() {
            parameters[parameter] = -logit(config.row) * self.board.geometry().row(Cell::new(index)) as f32;
        }
        parameters
    }

    /// Returns the hundredths of a move of a logit of 1, in which the lead of the table has the weight 1.
    pub fn unit(&self, parameters: &[f32]) -> f32 {
        self.scale / parameters[LEAD]
    }

    /// Returns the weights in hundredths of a move.
    pub fn weights(&self, parameters: &[f32]) -> LinearWeights {
        let weight = |parameter: usize| (parameters[parameter] * self.unit(parameters)).round() as i16;
        LinearWeights {
            cells: self.cells.iter().map(|&parameter| weight(parameter)).collect(),
            rearmost: -weight(REARMOST),
            second: -weight(SECOND),
            tempo: weight(TEMPO),
        }
    }

    /// Calls `visit` with each parameter and its feature, the derivative of the output.
    fn for_each_feature(&self, sample: &Sample, mut visit: impl FnMut(usize, f32)) {
        visit(LEAD, sample.lead / self.scale);
        visit(TEMPO, 1.0);
        for (army, sign) in sample.armies.into_iter().zip([1.0, -1.0]) {
            army.iter().for_each(|cell| visit(self.cells[cell.index()], sign));
            // In goal order the last cell is that of the rearmost piece.
            let last = army.last();
            let second = last.and_then(|last| army.without(last).last());
            let row = |cell: Option<Cell>| cell.map_or(0.0, |cell| self.board.geometry().row(cell) as f32);
            visit(REARMOST, sign * row(last));
            visit(SECOND, sign * row(second));
        }
    }
}

impl Model for LinearModel {
    fn logit(&self, parameters: &[f32], sample: &Sample) -> f32 {
        let mut logit = 0.0;
        self.for_each_feature(sample, |parameter, feature| logit += parameters[parameter] * feature);
        logit
    }

    fn add_gradient(
        &self,
        parameters: &[f32],
        sample: &Sample,
        slope: &mut dyn FnMut(f32) -> f32,
        gradient: &mut [f32],
    ) {
        let slope = slope(self.logit(parameters, sample));
        self.for_each_feature(sample, |parameter, feature| gradient[parameter] += slope * feature);
    }
}

/// A network on top of a linear model with fixed parameters. [`NetworkWeights`] describes its layers.
///
/// Its parameters are the weights of each input for each hidden unit, the biases of the hidden units, the output
/// weights for the player to move and for the other player, and the bias of the output.
pub struct NetworkModel<'a> {
    board: Board,
    hidden: usize,
    linear: &'a LinearModel,
    fixed: &'a [f32],
}

/// The largest absolute value of an input weight or a bias. Sums of the largest armies fit into 16 bits.
const MAX_INPUT: f32 = 4.0;

impl NetworkModel<'_> {
    /// Creates a network with up to [`MAX_HIDDEN`] hidden units on top of a linear model.
    pub fn new<'a>(board: Board, hidden: usize, linear: &'a LinearModel, fixed: &'a [f32]) -> NetworkModel<'a> {
        NetworkModel { board, hidden: hidden.min(MAX_HIDDEN), linear, fixed }
    }

    fn inputs(&self) -> usize {
        2 * self.board.cells()
    }

    /// Returns random input weights; the output weights are 0, so the model begins as the linear model.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        let mut rng = Rng::seed_from_u64(seed);
        let inputs = self.inputs() * self.hidden;
        let mut parameters: Vec<f32> = (0..inputs).map(|_| rng.random_range(-0.25..0.25)).collect();
        parameters.extend((0..self.hidden).map(|_| rng.random_range(0.0..0.5)));
        parameters.resize(inputs + 3 * self.hidden + 1, 0.0);
        parameters
    }

    /// Returns the input weights, the biases, the output weights of both players, and the output bias.
    fn parts<'p>(&self, parameters: &'p [f32]) -> (&'p [f32], &'p [f32], [&'p [f32]; 2], f32) {
        let (inputs, rest) = parameters.split_at(self.inputs() * self.hidden);
        let (biases, rest) = rest.split_at(self.hidden);
        let (own, rest) = rest.split_at(self.hidden);
        let (other, bias) = rest.split_at(self.hidden);
        (inputs, biases, [own, other], bias[0])
    }

    /// Calls `visit` with each active input of a perspective: 0 is that of the player to move.
    fn for_each_input(&self, sample: &Sample, perspective: usize, mut visit: impl FnMut(usize)) {
        let cells = self.board.cells();
        let [own, other] = [sample.armies[perspective], sample.armies[1 - perspective]];
        own.iter().for_each(|cell| visit(cell.index()));
        // The goal orders of the players are the reverse of each other.
        other.iter().for_each(|cell| visit(2 * cells - 1 - cell.index()));
    }

    /// Returns the hidden sums of a perspective.
    fn sums(&self, parameters: &[f32], sample: &Sample, perspective: usize) -> [f32; MAX_HIDDEN] {
        let (inputs, biases, _, _) = self.parts(parameters);
        let mut sums = [0.0; MAX_HIDDEN];
        sums[..self.hidden].copy_from_slice(biases);
        self.for_each_input(sample, perspective, |input| {
            let weights = &inputs[input * self.hidden..][..self.hidden];
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        });
        sums
    }

    fn output(&self, parameters: &[f32], sums: &[[f32; MAX_HIDDEN]; 2]) -> f32 {
        let (_, _, outputs, bias) = self.parts(parameters);
        let weighted = |(sums, outputs): (&[f32; MAX_HIDDEN], &[f32])| -> f32 {
            sums.iter().zip(outputs).map(|(sum, output)| sum.clamp(0.0, 1.0).powi(2) * output).sum()
        };
        sums.iter().zip(outputs).map(weighted).sum::<f32>() + bias
    }

    /// Returns the integer weights of the network.
    pub fn weights(&self, parameters: &[f32]) -> NetworkWeights {
        let (inputs, biases, outputs, bias) = self.parts(parameters);
        let rounded = |weights: &[f32], unit: i16| {
            let mut integers = [0; MAX_HIDDEN];
            integers.iter_mut().zip(weights).for_each(|(to, weight)| *to = (weight * f32::from(unit)).round() as i16);
            integers
        };
        let unit = self.linear.unit(self.fixed);
        NetworkWeights {
            scale: unit.round() as i32,
            inputs: inputs.chunks(self.hidden).map(|weights| rounded(weights, UNIT)).collect(),
            biases: rounded(biases, UNIT),
            outputs: outputs.map(|weights| rounded(weights, OUTPUT_UNIT)),
            bias: (bias * unit).round() as i16,
        }
    }
}

impl Model for NetworkModel<'_> {
    fn logit(&self, parameters: &[f32], sample: &Sample) -> f32 {
        let sums = [0, 1].map(|perspective| self.sums(parameters, sample, perspective));
        self.linear.logit(self.fixed, sample) + self.output(parameters, &sums)
    }

    fn add_gradient(
        &self,
        parameters: &[f32],
        sample: &Sample,
        slope: &mut dyn FnMut(f32) -> f32,
        gradient: &mut [f32],
    ) {
        let hidden = self.hidden;
        let sums = [0, 1].map(|perspective| self.sums(parameters, sample, perspective));
        let slope = slope(self.linear.logit(self.fixed, sample) + self.output(parameters, &sums));
        let outputs = self.parts(parameters).2;
        let first_output = (self.inputs() + 1) * hidden;
        for perspective in [0, 1] {
            let mut by_sum = [0.0; MAX_HIDDEN];
            let output_gradient = &mut gradient[first_output + perspective * hidden..][..hidden];
            for unit in 0..hidden {
                let sum = sums[perspective][unit];
                let active = sum.clamp(0.0, 1.0);
                output_gradient[unit] += slope * active * active;
                by_sum[unit] = if active == sum { 2.0 * slope * outputs[perspective][unit] * active } else { 0.0 };
            }
            let mut add = |row: usize| {
                let row = &mut gradient[row * hidden..][..hidden];
                row.iter_mut().zip(&by_sum).for_each(|(to, by)| *to += by);
            };
            // The row after the inputs has the biases.
            add(self.inputs());
            self.for_each_input(sample, perspective, add);
        }
        *gradient.last_mut().expect("the output has a bias") += slope;
    }

    fn clip(&self, parameters: &mut [f32]) {
        let (inner, rest) = parameters.split_at_mut((self.inputs() + 1) * self.hidden);
        inner.iter_mut().for_each(|weight| *weight = weight.clamp(-MAX_INPUT, MAX_INPUT));
        let most = f32::from(MAX_OUTPUT) / f32::from(OUTPUT_UNIT);
        rest[..2 * self.hidden].iter_mut().for_each(|weight| *weight = weight.clamp(-most, most));
    }
}
