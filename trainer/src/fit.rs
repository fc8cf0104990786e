//! Fitting of models by Adam [Kingma and Ba 2015] on mini-batches.

use std::f32::consts::PI;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use sternhalma_data::Board;
use sternhalma_ggp::{Rng, derive_seed};

use crate::model::Model;
use crate::samples::{Sample, SampleScore, sigmoid};

/// The samples of a batch whose gradients are summed by one thread. The sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// The parameters of a fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FitOptions {
    /// The passes over the samples.
    pub epochs: u32,
    /// The samples of a step.
    pub batch: usize,
    /// The learning rate of the first step. It decreases to 0 along a half cosine.
    pub rate: f32,
    /// The seed of the order of the samples and of their reflections.
    pub seed: u64,
    /// The weight of the score in the target.
    pub blend: f32,
    /// The hundredths of a move whose odds are e to 1, in targets.
    pub scale: f32,
}

/// The mean losses of an epoch, in nats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EpochLoss {
    /// The epoch, from 1.
    pub epoch: u32,
    /// The loss of the samples during the epoch.
    pub training: f64,
    /// The loss of held-out samples after the epoch.
    pub held_out: f64,
}

/// Fits the parameters of a model to samples, each randomly reflected in each epoch. `report` gets the losses after
/// each epoch and returns whether to continue. Returns the parameters after the last epoch.
///
/// Uses the current thread pool of rayon; the result does not depend on its size.
pub fn fit(
    model: &impl Model,
    mut parameters: Vec<f32>,
    board: Board,
    [training, held_out]: [&[Sample]; 2],
    options: &FitOptions,
    report: &mut dyn FnMut(EpochLoss) -> bool,
) -> Vec<f32> {
    let mut adam = Adam::new(parameters.len());
    let mut order: Vec<u32> = (0..training.len() as u32).collect();
    let batch = options.batch.max(1);
    let steps = u64::from(options.epochs) * order.len().div_ceil(batch) as u64;
    let mut step = 0;
    for epoch in 1..=options.epochs {
        let seed = derive_seed(options.seed, epoch.into());
        order.shuffle(&mut Rng::seed_from_u64(seed));
        let mut total = 0.0;
        for batch in order.chunks(batch) {
            let (gradient, loss) = batch_gradient(model, &parameters, board, training, batch, seed, options);
            total += loss;
            let rate = options.rate * 0.5 * (1.0 + (PI * step as f32 / steps as f32).cos());
            step += 1;
            adam.step(&mut parameters, &gradient, 1.0 / batch.len() as f32, rate);
            model.clip(&mut parameters);
        }
        let loss = EpochLoss {
            epoch,
            training: total / training.len().max(1) as f64,
            held_out: mean_loss(model, &parameters, held_out, options),
        };
        if !report(loss) {
            break;
        }
    }
    parameters
}

/// Returns the summed gradient and the summed loss of some samples.
fn batch_gradient(
    model: &impl Model,
    parameters: &[f32],
    board: Board,
    samples: &[Sample],
    batch: &[u32],
    seed: u64,
    options: &FitOptions,
) -> (Vec<f32>, f64) {
    let of_chunk = |chunk: &[u32]| {
        let (mut gradient, mut total) = (vec![0.0; parameters.len()], 0.0);
        for &number in chunk {
            let sample = samples[number as usize];
            let is_mirrored = derive_seed(seed, number.into()) & 1 == 1;
            let sample = if is_mirrored { sample.mirrored(board) } else { sample };
            let target = sample.target(options.scale, options.blend);
            let mut slope = |logit: f32| {
                total += f64::from(loss(logit, target));
                sigmoid(logit) - target
            };
            model.add_gradient(parameters, &sample, &mut slope, &mut gradient);
        }
        (gradient, total)
    };
    let chunks: Vec<(Vec<f32>, f64)> = batch.par_chunks(CHUNK).map(of_chunk).collect();
    let mut sum = (vec![0.0; parameters.len()], 0.0);
    for (gradient, total) in chunks {
        sum.0.iter_mut().zip(&gradient).for_each(|(sum, part)| *sum += part);
        sum.1 += total;
    }
    sum
}

/// Returns the mean loss of samples, or 0 without samples.
pub fn mean_loss(model: &impl Model, parameters: &[f32], samples: &[Sample], options: &FitOptions) -> f64 {
    let of =
        |sample: &Sample| f64::from(loss(model.logit(parameters, sample), sample.target(options.scale, options.blend)));
    let chunks: Vec<f64> = samples.par_chunks(CHUNK).map(|chunk| chunk.iter().map(of).sum()).collect();
    chunks.iter().sum::<f64>() / samples.len().max(1) as f64
}

/// Returns the cross entropy of a target and the sigmoid of a logit.
fn loss(logit: f32, target: f32) -> f32 {
    // The logarithm of 1 + exp(logit), without overflow.
    logit.max(0.0) + (-logit.abs()).exp().ln_1p() - target * logit
}

/// Returns the scale, in hundredths of a move, with which scores predict the results best.
pub fn fit_scale(samples: &[Sample]) -> f32 {
    let scored: Vec<(f32, f32)> = samples
        .iter()
        .filter_map(|sample| match sample.score {
            SampleScore::Lead(lead) => Some((lead, sample.result)),
            SampleScore::Decided(_) => None,
        })
        .collect();
    let of = |scale: f32| -> f64 { scored.iter().map(|&(lead, result)| f64::from(loss(lead / scale, result))).sum() };
    // The loss is convex in the inverse of the scale, so it has one minimum.
    let (mut least, mut most) = (1.0 / 2000.0, 1.0 / 10.0);
    for _ in 0..30 {
        let third = (most - least) / 3.0;
        let (low, high) = (least + third, most - third);
        if of(1.0 / low) <= of(1.0 / high) {
            most = high;
        } else {
            least = low;
        }
    }
    2.0 / (least + most)
}

/// The optimizer Adam with its usual constants.
struct Adam {
    means: Vec<f32>,
    squares: Vec<f32>,
    /// The powers of the decay rates after the steps so far.
    decays: [f32; 2],
}

const DECAY: [f32; 2] = [0.9, 0.999];

impl Adam {
    fn new(parameters: usize) -> Adam {
        Adam { means: vec![0.0; parameters], squares: vec![0.0; parameters], decays: [1.0; 2] }
    }

    /// Changes the parameters against the gradient times `factor`.
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32], factor: f32, rate: f32) {
        self.decays = [self.decays[0] * DECAY[0], self.decays[1] * DECAY[1]];
        let corrections = self.decays.map(|decay| 1.0 / (1.0 - decay));
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((parameter, slope), (mean, square)) in parameters.iter_mut().zip(gradient).zip(moments) {
            let slope = slope * factor;
            *mean += (1.0 - DECAY[0]) * (slope - *mean);
            *square += (1.0 - DECAY[1]) * (slope * slope - *square);
            *parameter -= rate * *mean * corrections[0] / ((*square * corrections[1]).sqrt() + 1e-8);
        }
    }
}
