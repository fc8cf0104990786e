//! Tests of files, of reproducibility, and of models against finite differences.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_data::{Board, RuleSet};
use sternhalma_engine::learned::LearnedWeights;
use sternhalma_engine::players::PvsConfig;
use sternhalma_engine::{
    ChineseCheckers, Config, Distances, EnginePlayer, Filter, GameSetup, Outcome, PreparedPlayer, Roster,
};
use sternhalma_ggp::MemoryBudget;

use super::*;

const PLAYER: &str = "sternhalma,table_megabytes=1";

fn board() -> Board {
    Board::new(7, 3).unwrap()
}

fn setup() -> SelfPlaySetup {
    SelfPlaySetup::new(GameSetup::new(board()).with_rules(RuleSet::NEWEST), PLAYER, 60)
}

fn play() -> SelfPlay {
    SelfPlay::new(setup(), &[], Distances::estimated(board())).unwrap()
}

fn prepared() -> PreparedPlayer {
    let config = Roster::built_in().config(PLAYER).unwrap();
    config.prepare(setup().game().unwrap(), Some(&Distances::estimated(board()))).unwrap()
}

fn new_player() -> Box<dyn EnginePlayer> {
    prepared().start(&MemoryBudget::unlimited()).unwrap()
}

#[test]
fn a_game_that_cannot_begin_is_an_error() {
    let none = AtomicBool::new(false);
    for (ply_limit, opening_plies) in [(2, [4, 10]), (900, [900, 900])] {
        let setup = SelfPlaySetup { ply_limit, opening_plies, ..setup() };
        let play = SelfPlay::new(setup, &[], Distances::estimated(board())).unwrap();
        let error = play.game_of(&mut *new_player(), 7, &none).unwrap_err();
        assert!(error.to_string().starts_with("no opening can be drawn for game 7"), "{error}");
        assert_eq!(play.check_opening(7, &none), Err(error));
        assert_eq!(play.check_opening(7, &AtomicBool::new(true)), Ok(()), "a stopped search draws nothing");
        let dir = tempfile::tempdir().unwrap();
        let (mut file, _) = GameFile::open(&dir.path().join("games"), play.setup()).unwrap();
        let generated = generate(
            &play,
            (&prepared(), &MemoryBudget::unlimited()),
            &mut file,
            10,
            NonZeroUsize::MIN,
            &none,
            &mut |_| (),
        );
        assert!(matches!(generated, Err(GenerateError::Opening(_))), "{generated:?}");
    }
    let setup = SelfPlaySetup { opening_plies: [4, 10_001], ..setup() };
    let error = SelfPlay::new(setup, &[], Distances::estimated(board())).err().unwrap();
    assert_eq!(error.to_string(), "expected 0 to 10000 random plies of an opening, got 10001");
}

fn some_games(count: u64) -> Vec<TrainingGame> {
    let (play, mut player) = (play(), new_player());
    (0..count).map(|number| play.game_of(&mut *player, number, &AtomicBool::new(false)).unwrap().unwrap()).collect()
}

fn some_samples() -> Vec<Sample> {
    samples(board(), &some_games(12), &Distances::estimated(board()))
}

fn pvs_config() -> PvsConfig {
    match Roster::built_in().config(PLAYER).unwrap() {
        Config::Pvs(config) => config,
        other => panic!("{other:?} is no PVS player"),
    }
}

/// Generates games up to a number of positions, and returns the bytes of the file.
fn generated(path: &Path, positions: u64, threads: usize, stop_after: Option<u64>) -> Vec<u8> {
    let (mut file, _) = GameFile::open(path, &setup()).unwrap();
    let stop = AtomicBool::new(false);
    let mut report = |positions| stop.store(stop_after.is_some_and(|most| positions >= most), Relaxed);
    let threads = NonZeroUsize::new(threads).unwrap();
    generate(&play(), (&prepared(), &MemoryBudget::unlimited()), &mut file, positions, threads, &stop, &mut report)
        .unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn files_contain_the_games_and_their_results() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("games.bin");
    let games = some_games(20);
    let (mut file, _) = GameFile::open(&path, &setup()).unwrap();
    file.append(&games[..7]).unwrap();
    file.append(&games[7..]).unwrap();
    assert_eq!((file.games(), read_games(&path).unwrap()), (20, (setup(), games.clone())));
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 6 * positions as u64 + 500, "{bytes} bytes for {positions} positions");
    // Each game ends when it is decided, and not before.
    let rules = ChineseCheckers::of(setup().game().unwrap(), Filter::All);
    for game in &games {
        let mut last = None;
        game.for_each_state(&rules, |state, ply| {
            assert!(state.outcome().is_none() && !rules.have_passed(state));
            last = Some((*state, ply.action));
        });
        let (mut state, action) = last.unwrap();
        rules.play_action(&mut state, action);
        match state.outcome() {
            Some(Outcome::Won(side)) => assert_eq!(game.winner, Some(side)),
            Some(Outcome::Draw) => assert_eq!(game.winner, None),
            None => assert!(game.winner.is_none() || rules.have_passed(&state)),
        }
    }
}

#[test]
fn games_do_not_depend_on_threads_and_interruptions() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["one", "three", "resumed"].map(|name| dir.path().join(name));
    let one = generated(&paths[0], 400, 1, None);
    assert!(one == generated(&paths[1], 400, 3, None));
    let part = generated(&paths[2], 400, 2, Some(150));
    assert!(part.len() < one.len());
    generated(&paths[2], 400, 2, None);
    // An interruption adds a border between blocks.
    assert_eq!(read_games(&paths[2]).unwrap(), read_games(&paths[0]).unwrap());
    // A complete file is not changed.
    assert!(one == generated(&paths[0], 400, 1, None));
}

#[test]
fn a_finished_game_is_written_although_the_next_one_takes_long() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("games");
    let (mut file, _) = GameFile::open(&path, &setup()).unwrap();
    let size = || std::fs::metadata(&path).unwrap().len();
    let empty = size();
    let (sender, finished) = std::sync::mpsc::channel();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let interval = std::time::Duration::from_secs(1);
        let (file, stopped) = (&mut file, &stop);
        let writer = scope
            .spawn(move || crate::generate::write_in_order(file, &finished, u64::MAX, interval, stopped, &mut |_| ()));
        sender.send(Ok((0, some_games(1).remove(0)))).unwrap();
        let written = (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            size() > empty
        });
        stop.store(true, Relaxed);
        writer.join().unwrap().unwrap();
        assert!(written, "the game is on the disk before the generation ends");
    });
}

#[test]
fn damaged_ends_are_removed_and_other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("games.bin");
    let games = some_games(6);
    let write = |blocks: &[&[TrainingGame]]| {
        let _ = std::fs::remove_file(&path);
        let (mut file, _) = GameFile::open(&path, &setup()).unwrap();
        blocks.iter().for_each(|games| file.append(games).unwrap());
        std::fs::read(&path).unwrap()
    };
    let first = write(&[&games[..3]]);
    let whole = write(&[&games[..3], &games[3..]]);
    for length in (first.len() + 1..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(
            matches!(read_games(&path), Err(GameFileError::Damaged { offset, .. }) if offset == first.len() as u64)
        );
        let (file, opened) = GameFile::open(&path, &setup()).unwrap();
        assert_eq!((file.games(), opened.removed), (3, (length - first.len()) as u64));
        drop(file);
        assert!(std::fs::read(&path).unwrap() == first);
    }
    let mut damaged = whole.clone();
    damaged[first.len() + 20] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(GameFile::open(&path, &setup()).unwrap().0.games(), 3);
    // A part of the header is completed.
    std::fs::write(&path, &whole[..9]).unwrap();
    assert_eq!(GameFile::open(&path, &setup()).unwrap().0.games(), 0);
    std::fs::write(&path, &whole).unwrap();
    let held = GameFile::open(&path, &setup()).unwrap();
    assert!(matches!(GameFile::open(&path, &setup()), Err(GameFileError::Locked { .. })));
    drop(held);
    let other = SelfPlaySetup { nodes: 61, ..setup() };
    let error = GameFile::open(&path, &other).unwrap_err().to_string();
    assert!(error.contains("`nodes` is 60 in the file, not 61"), "{error}");
    let mut other_byte = whole.clone();
    other_byte[40] ^= 1;
    for (bytes, found) in
        [(&b"PNG"[..], "too few bytes"), (&[b'x'; 99], "other bytes"), (&other_byte, "a damaged header")]
    {
        std::fs::write(&path, bytes).unwrap();
        let error = GameFile::open(&path, &other).unwrap_err().to_string();
        assert!(error.contains(found) && std::fs::read(&path).unwrap() == bytes, "{error}");
    }
}

#[test]
fn samples_are_seen_by_the_player_to_move() {
    let found = some_samples();
    let geometry = board().geometry();
    for sample in &found {
        let rows = |army: usize| sample.armies[army].iter().map(|cell| geometry.row(cell) as f32).sum::<f32>();
        // The estimate of the distance is a number of moves per row.
        assert!((sample.lead - 37.0 * (rows(1) - rows(0))).abs() < 0.1, "{sample:?}");
        assert_eq!(sample.mirrored(board()).mirrored(board()), *sample);
    }
    let [won, lost] = [1.0, 0.0].map(|result| found.iter().filter(|sample| sample.result == result).count());
    assert!(won > 20 && lost > 20, "{won} {lost}");
}

/// Compares the gradient of a model with finite differences at random parameters.
fn check_gradient(model: &impl Model, parameters: &[f32], samples: &[Sample]) {
    const STEP: f32 = 1e-3;
    let mut nonzero = 0;
    for sample in samples {
        let mut gradient = vec![0.0; parameters.len()];
        model.add_gradient(parameters, sample, &mut |logit| logit - 3.0, &mut gradient);
        let loss = |place: usize, by: f32| {
            let mut moved = parameters.to_vec();
            moved[place] += by;
            (model.logit(&moved, sample) - 3.0).powi(2) / 2.0
        };
        for (place, &slope) in gradient.iter().enumerate() {
            let expected = (loss(place, STEP) - loss(place, -STEP)) / (2.0 * STEP);
            assert!((slope - expected).abs() < 0.02 + 0.02 * expected.abs(), "{place}: {slope} and {expected}");
            nonzero += usize::from(slope.abs() > 0.05);
        }
    }
    assert!(nonzero > 3 * samples.len(), "{nonzero}");
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let samples: Vec<Sample> = some_samples().into_iter().step_by(23).collect();
    let linear = LinearModel::new(board(), 200.0);
    let fixed = linear.start(&pvs_config());
    check_gradient(&linear, &fixed, &samples);
    let network = NetworkModel::new(board(), 6, &linear, &fixed);
    let mut parameters = network.start(3);
    let first_output = parameters.len() - 13;
    for (number, parameter) in parameters[first_output..].iter_mut().enumerate() {
        *parameter = (number as f32 - 5.0) / 10.0;
    }
    check_gradient(&network, &parameters, &samples);
}

#[test]
fn the_linear_model_starts_as_the_evaluation_by_rows() {
    let config = pvs_config();
    let linear = LinearModel::new(board(), 173.0);
    let weights = linear.weights(&linear.start(&config));
    let found = [weights.rearmost, weights.second, weights.tempo].map(i32::from);
    assert_eq!(found, [config.rearmost, config.second, config.tempo]);
    for (index, &weight) in weights.cells.iter().enumerate() {
        let row = board().geometry().row(sternhalma_data::Cell::new(index)) as i32;
        assert_eq!(i32::from(weight), -config.row * row);
    }
}

#[test]
fn fits_improve_repeat_and_agree_with_their_integers() {
    let samples = some_samples();
    let (training, held_out) = samples.split_at(samples.len() * 4 / 5);
    let scale = fit_scale(training);
    assert!((20.0..1000.0).contains(&scale), "{scale}");
    let linear = LinearModel::new(board(), scale);
    let options = FitOptions { epochs: 20, batch: 64, rate: 0.01, seed: 5, blend: 0.5, scale };
    let start = linear.start(&pvs_config());
    let fitted = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut losses = Vec::new();
            let mut report = |loss: EpochLoss| {
                losses.push(loss);
                true
            };
            let fixed = fit(&linear, start.clone(), board(), [training, held_out], &options, &mut report);
            let network = NetworkModel::new(board(), 8, &linear, &fixed);
            let parameters = fit(&network, network.start(1), board(), [training, held_out], &options, &mut report);
            (fixed, parameters, losses)
        })
    };
    let (fixed, parameters, losses) = fitted(1);
    assert!((fixed.clone(), parameters.clone(), losses.clone()) == fitted(3));
    let before = mean_loss(&linear, &start, training, &options);
    let network = NetworkModel::new(board(), 8, &linear, &fixed);
    let after = [mean_loss(&linear, &fixed, training, &options), mean_loss(&network, &parameters, training, &options)];
    assert!(before > after[0] && after[0] > after[1] + 0.005, "{before} {after:?}");
    assert_eq!((losses.len(), losses[39].epoch), (40, 20));
    // The integers of the engine.
    let weights = network.weights(&parameters);
    for sample in &samples {
        let [own, other] = [0, 1].map(|perspective| {
            let army = sternhalma_data::State::from_cells(sample.armies[1 - perspective]);
            weights.sums(sample.armies[perspective], army.to_army(board(), sternhalma_data::Side::X))
        });
        let unit = linear.unit(&fixed);
        let expected = (network.logit(&parameters, sample) - linear.logit(&fixed, sample)) * unit;
        let found = weights.output(&own, &other) as f32;
        assert!((found - expected).abs() < 2.0 + 0.04 * unit, "{found} {expected}");
    }
    let learned =
        LearnedWeights { board: board(), linear: linear.weights(&fixed), network: Some(network.weights(&parameters)) };
    assert_eq!(LearnedWeights::parse(&learned.to_bytes(8)), Ok(learned));
}
