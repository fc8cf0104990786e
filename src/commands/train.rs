use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::json;
use sternhalma_data::Board;
use sternhalma_data::table::Coverage;
use sternhalma_engine::learned::{LearnedWeights, MAX_HIDDEN};
use sternhalma_engine::players::PvsConfig;
use sternhalma_engine::{Config, Roster};
use sternhalma_trainer::{
    EpochLoss, FitOptions, LinearModel, NetworkModel, Sample, TrainingGame, fit, fit_scale, mean_loss, read_games,
    samples, split,
};

use crate::args::output::OutputPath;
use crate::args::player::{DEFAULT_PLAYER, distances};
use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::values::{count, count_in, number};

/// The passes over the samples for the linear model, which has few parameters.
const LINEAR_EPOCHS: u32 = 8;

/// The learning rate of the linear model.
const LINEAR_RATE: f32 = 0.01;

/// Train an evaluation from games of self-play
///
/// Reads files of `datagen` and writes a file of weights, which a player uses
/// with `evaluation=network,weights=FILE` or `evaluation=linear,weights=FILE`.
/// Prints the losses after each epoch. The same data, options and seed give
/// the same file with any number of threads.
#[derive(clap::Args)]
pub struct Args {
    /// Files of games, all for the same board
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// File of weights to write
    #[arg(short, long, value_name = "WEIGHTS")]
    output: OutputPath,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Model
    #[arg(long, default_value = "network")]
    model: ModelArg,
    /// Hidden units of the network for each player, up to 32
    #[arg(long, value_name = "N", default_value_t = MAX_HIDDEN, value_parser = count_in::<usize>(1..=MAX_HIDDEN as u64))]
    hidden: usize,
    /// Passes over the positions for the network
    #[arg(long, value_name = "N", default_value = "30", value_parser = count::<u32>(1))]
    epochs: u32,
    /// Positions per step
    #[arg(long, value_name = "N", default_value = "1024", value_parser = count::<usize>(1))]
    batch: usize,
    /// Learning rate of the network at the start
    #[arg(long, value_name = "R", default_value = "0.002", value_parser = number(0.0..=1.0))]
    rate: f64,
    /// Weight of the search score in the target; the rest is that of the result
    #[arg(long, value_name = "W", default_value = "0.7", value_parser = number(0.0..=1.0))]
    blend: f64,
    /// Percentage of the games that are held out
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = count_in::<u64>(0..=99))]
    held_out: u64,
    /// Seed of the first weights and of the order of the positions
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::<u64>(0))]
    seed: u64,
    /// Distance table [default: the best table of the board in the tables directory]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelArg {
    /// Values of cells, of the rearmost pieces and of the tempo
    Linear,
    /// The linear model and a network
    Network,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let (board, games) = read_data(&args.data)?;
    let sets = split(games, args.held_out, args.seed);
    let distances = distances(ctx, board, args.table.as_deref(), Coverage::Prefix)?;
    let inputs: Vec<&Path> = distances.table().iter().map(|table| table.path()).collect();
    let mut file = ctx.output(&args.output, args.force, &inputs)?;
    let stop = ctx.stop()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.get()).build()?;
    let trained = pool.install(|| {
        let [training, held_out] = sets.map(|games| samples(board, &games, &distances));
        train(args, board, [&training, &held_out], &|| stop.load(Relaxed))
    })?;
    if stop.load(Relaxed) {
        bail!("interrupted: {} is not written", args.output.display());
    }
    let bytes = trained.weights.to_bytes(args.hidden);
    file.write_all(&bytes).with_context(|| format!("{}: cannot write", args.output.display()))?;
    file.finish()?;
    let Trained { samples, scale, losses, .. } = trained;
    let value = json!({ "samples": samples, "scale": scale, "held_out": losses });
    output::answer(args.json, &value, || {
        let losses = losses.iter().map(|(name, loss)| format!("{name} {loss:.5}")).collect::<Vec<_>>().join(", ");
        let positions = counted(samples, "position");
        format!("{positions}, scale {scale:.1} hundredths of a move, held-out loss: {losses}")
    })
}

/// Reads the games of all files.
fn read_data(files: &[PathBuf]) -> Result<(Board, Vec<TrainingGame>)> {
    let (mut board, mut games) = (None, Vec::new());
    for path in files {
        let (setup, read) = read_games(path)?;
        let of_file = setup.game()?.board;
        match board {
            Some(board) if board != of_file => {
                bail!("{}: the games are on {of_file}, and those before on {board}", path.display())
            }
            _ => board = Some(of_file),
        }
        games.extend(read);
    }
    Ok((board.context("expected at least one file")?, games))
}

/// The result of a training.
struct Trained {
    weights: LearnedWeights,
    samples: usize,
    scale: f32,
    /// The held-out loss of each model.
    losses: Vec<(&'static str, f64)>,
}

/// Fits the linear model, and then the network if there is one.
fn train(args: &Args, board: Board, sets: [&[Sample]; 2], stopped: &dyn Fn() -> bool) -> Result<Trained> {
    let [training, held_out] = sets;
    if training.is_empty() {
        bail!("the games contain no position before the armies have passed each other");
    }
    let scale = fit_scale(training);
    let options = FitOptions {
        epochs: LINEAR_EPOCHS,
        batch: args.batch,
        rate: LINEAR_RATE,
        seed: args.seed,
        blend: args.blend as f32,
        scale,
    };
    status!("{} to fit, {} held out", counted(training.len(), "position"), held_out.len());
    let report = |model: &'static str, epochs: u32| {
        move |EpochLoss { epoch, training, held_out }| {
            status!("{model}, epoch {epoch} of {epochs}: loss {training:.5}, held out {held_out:.5}");
            !stopped()
        }
    };
    let linear = LinearModel::new(board, scale);
    let start = linear.start(&rows());
    let mut losses = vec![("rows", mean_loss(&linear, &start, held_out, &options))];
    let fixed = fit(&linear, start, board, sets, &options, &mut report("linear", options.epochs));
    losses.push(("linear", mean_loss(&linear, &fixed, held_out, &options)));
    let mut network = None;
    if args.model == ModelArg::Network {
        let model = NetworkModel::new(board, args.hidden, &linear, &fixed);
        let options = FitOptions { epochs: args.epochs, rate: args.rate as f32, ..options };
        let start = model.start(args.seed);
        let fitted = fit(&model, start, board, sets, &options, &mut report("network", options.epochs));
        losses.push(("network", mean_loss(&model, &fitted, held_out, &options)));
        network = Some(model.weights(&fitted));
    }
    let weights = LearnedWeights { board, linear: linear.weights(&fixed), network };
    Ok(Trained { weights, samples: training.len() + held_out.len(), scale, losses })
}

/// Returns the default player, whose rows are the start of the linear model.
fn rows() -> PvsConfig {
    match Roster::built_in().config(DEFAULT_PLAYER) {
        Ok(Config::Pvs(config)) => config,
        _ => unreachable!("the default player has a principal-variation search"),
    }
}
