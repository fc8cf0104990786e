//! The hill-climbing tuner [Roschke and Sturtevant 2013, section 4.2].
//!
//! The tuner varies one parameter at a time. Six players that differ in this
//! parameter play the present player, equally often first and second. The
//! variant with the most wins replaces the present player if it won more than
//! half of its games. A pass does this for every parameter. The range of
//! variation shrinks from pass to pass.

use serde::{Deserialize, Serialize};
use sternhalma_ggp::arena::{LogEntry, Schedule, WrongEntry, derive_seed};
use sternhalma_ggp::param_table::ParamError;
use sternhalma_ggp::statistics::Score;
use thiserror::Error;

use crate::players::{Config, PlayoutEnd};

/// Offsets of the six variants, as fractions of the reach.
const OFFSETS: [f64; 6] = [-1.0, -2.0 / 3.0, -1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0, 1.0];

/// The parameters to tune, and their ranges.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HillClimb {
    /// The number of passes over all parameters.
    pub passes: u32,
    /// The factor for the reach after each pass.
    pub shrink: f64,
    /// The parameters in order.
    #[serde(rename = "parameter")]
    pub parameters: Vec<ClimbParameter>,
}

/// A numeric parameter of a UCT player.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClimbParameter {
    /// Its name in `players.toml`.
    pub name: String,
    /// The smallest permitted value.
    pub least: f64,
    /// The largest permitted value.
    pub most: f64,
    /// The maximum distance from the present value in the first pass.
    pub reach: f64,
    /// Whether the parameter must be a whole number.
    #[serde(default)]
    pub whole: bool,
    /// The only kind of playout that uses the parameter; `None` if all kinds use it.
    #[serde(default)]
    pub end: Option<PlayoutEnd>,
}

/// A match between a variant and the present player.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The pass, from 0.
    pub pass: u32,
    /// The varied parameter.
    pub parameter: String,
    /// The value of the parameter in the present player.
    pub present: f64,
    /// The value of the parameter in the variant.
    pub value: f64,
    /// The result of the variant.
    #[serde(flatten)]
    pub score: Score,
}

/// Everything that determines a tuning run, and the first line of its log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningSetup {
    /// The player to tune.
    pub player: Config,
    /// The players that are tuned together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Config>,
    /// The passes and the parameters.
    pub tuning: HillClimb,
    /// The games of each trial.
    pub terms: Schedule,
}

impl TuningSetup {
    /// Returns all players that are tuned.
    pub fn players(&self) -> Vec<Config> {
        std::iter::once(&self.player).chain(&self.others).cloned().collect()
    }
}

impl LogEntry for Trial {
    type Head = TuningSetup;
    const RUN: &'static str = "tuning run";
    const ENTRY: &'static str = "trial";

    fn check(&self, setup: &TuningSetup) -> Result<(), WrongEntry> {
        let known = setup.tuning.parameters.iter().any(|parameter| parameter.name == self.parameter);
        if known { Ok(()) } else { Err(WrongEntry(format!("the run does not tune `{}`", self.parameter))) }
    }
}

/// The reason why players cannot be tuned.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum TuningError {
    /// A value of the tuning is not permitted.
    #[error("{name}: expected a number from {least} to {most}, got `{value}`")]
    Value {
        /// The name of the value.
        name: String,
        /// The smallest permitted value.
        least: f64,
        /// The largest permitted value.
        most: f64,
        /// The value.
        value: f64,
    },
    /// A player is no UCT player.
    #[error("only UCT players have parameters to tune")]
    NotUct,
    /// There is no player.
    #[error("there is no player to tune")]
    NoPlayer,
    /// The player has no number of this name.
    #[error("the player has no number `{0}`")]
    NoNumber(String),
    /// A player does not have a value of a parameter.
    #[error(transparent)]
    Parameter(#[from] ParamError),
}

impl HillClimb {
    /// Returns the built-in passes, parameters and ranges.
    pub fn built_in() -> HillClimb {
        toml::from_str(include_str!("../../tuning.toml")).expect("the tuning that ships is well-formed")
    }

    /// Checks the passes and the ranges.
    ///
    /// # Errors
    ///
    /// Returns the first value that is not permitted, with its bounds.
    pub fn check(&self) -> Result<(), TuningError> {
        let number = |name: &str, value: f64, [least, most]: [f64; 2]| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(TuningError::Value { name: name.to_owned(), least, most, value }),
        };
        number("passes", self.passes.into(), [1.0, 1000.0])?;
        number("shrink", self.shrink, [0.001, 1.0])?;
        self.parameters.iter().try_for_each(|ClimbParameter { name, least, most, reach, .. }| {
            number(&format!("`least` of `{name}`"), *least, [-1e6, 1e6])?;
            number(&format!("`most` of `{name}`"), *most, [*least, 1e6])?;
            number(&format!("`reach` of `{name}`"), *reach, [1e-6, 1e6])
        })
    }

    /// Returns the largest number of trials.
    pub fn most_trials(&self) -> u64 {
        u64::from(self.passes) * self.parameters.len() as u64 * OFFSETS.len() as u64
    }

    /// Returns the values that a pass tries for a parameter with the value
    /// `present`.
    pub fn variants(&self, parameter: &ClimbParameter, pass: u32, present: f64) -> Vec<f64> {
        let reach = parameter.reach * self.shrink.powi(pass as i32);
        let reach = if parameter.whole { reach.max(3.0) } else { reach };
        let mut values: Vec<f64> = Vec::new();
        for offset in OFFSETS {
            let value = (present + offset * reach).clamp(parameter.least, parameter.most);
            // Six digits distinguish players and are readable.
            let value = if parameter.whole { value.round() } else { (value * 1e6).round() / 1e6 };
            if value != present && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

/// Tunes players and returns them, or `None` if `play` stopped. All of them get
/// the same values; the climb starts at the values of the first. The score of a
/// variant is the sum over the players.
///
/// `play` plays a variant (first) against the present player with the openings
/// of a seed; it returns `None` to stop. `known` has the trials of an earlier
/// run with the same arguments, which are not repeated. `report` receives each
/// new trial.
///
/// # Errors
///
/// Returns an error if a value of `tuning` is not [permitted](HillClimb::check), if a player does not have a parameter
/// to tune, or if there is no player.
pub fn tune(
    tuning: &HillClimb,
    start: &[Config],
    seed: u64,
    known: &[Trial],
    mut play: impl FnMut(&Config, &Config, u64) -> Option<Score>,
    mut report: impl FnMut(&Trial),
) -> Result<Option<Vec<Config>>, TuningError> {
    tuning.check()?;
    let end = |config: &Config| match config {
        Config::Uct(uct) => Ok(uct.end),
        _ => Err(TuningError::NotUct),
    };
    let ends: Vec<PlayoutEnd> = start.iter().map(end).collect::<Result<_, _>>()?;
    let used = |parameter: &&ClimbParameter| ends.iter().all(|&own| parameter.end.is_none_or(|end| end == own));
    let parameters: Vec<&ClimbParameter> = tuning.parameters.iter().filter(used).collect();
    let mut present = start.to_vec();
    let first = start.first().ok_or(TuningError::NoPlayer)?;
    for parameter in &parameters {
        present = with_number(&present, parameter, number(first, &parameter.name)?)?;
    }
    for pass in 0..tuning.passes {
        for (index, parameter) in parameters.iter().enumerate() {
            let value = number(&present[0], &parameter.name)?;
            let variants = tuning.variants(parameter, pass, value);
            let trial = |(slot, &to): (usize, &f64)| -> Option<Result<Trial, TuningError>> {
                let is_this = |trial: &&Trial| {
                    (trial.pass, trial.parameter.as_str(), trial.present, trial.value)
                        == (pass, parameter.name.as_str(), value, to)
                };
                if let Some(trial) = known.iter().find(is_this) {
                    return Some(Ok(trial.clone()));
                }
                let variants = match with_number(&present, parameter, to) {
                    Ok(variants) => variants,
                    Err(why) => return Some(Err(why)),
                };
                let number =
                    (u64::from(pass) * parameters.len() as u64 + index as u64) * OFFSETS.len() as u64 + slot as u64;
                let mut score = Score::default();
                for (variant, present) in variants.iter().zip(&present) {
                    score.join(play(variant, present, derive_seed(seed, number))?);
                }
                let trial = Trial { pass, parameter: parameter.name.clone(), present: value, value: to, score };
                report(&trial);
                Some(Ok(trial))
            };
            let trials: Option<Result<Vec<Trial>, TuningError>> = variants.iter().enumerate().map(trial).collect();
            let Some(trials) = trials.transpose()? else { return Ok(None) };
            let best = trials.iter().fold(None, |best: Option<&Trial>, trial| match best {
                Some(best) if best.score.rate() >= trial.score.rate() => Some(best),
                _ => Some(trial),
            });
            if let Some(best) = best.filter(|best| best.score.rate() > 0.5) {
                present = with_number(&present, parameter, best.value)?;
            }
        }
    }
    Ok(Some(present))
}

fn number(config: &Config, name: &str) -> Result<f64, TuningError> {
    let number = config.get(name).and_then(|text| text.parse().ok());
    number.ok_or_else(|| TuningError::NoNumber(name.to_owned()))
}

/// Returns the players with another value of a parameter.
fn with_number(configs: &[Config], parameter: &ClimbParameter, value: f64) -> Result<Vec<Config>, TuningError> {
    let text = if parameter.whole { (value as i64).to_string() } else { value.to_string() };
    let changed = |config: &Config| {
        let mut config = config.clone();
        config.set(&parameter.name, &text).map(|()| config).map_err(TuningError::Parameter)
    };
    configs.iter().map(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::players::Roster;
    use std::sync::Mutex;
    use sternhalma_ggp::arena::{Budget, Entrant, Log};

    fn uct(config: &Config) -> (f64, f64, u32) {
        match config {
            Config::Uct(uct) => (uct.search.selection.c(), uct.random, uct.threshold),
            _ => panic!("a UCT player"),
        }
    }

    /// Lets the player win more games the nearer it is to (c, random,
    /// threshold) = (0.9, 0.5, 7).
    fn nearer_wins(a: &Config, b: &Config, _: u64) -> Option<Score> {
        let off = |config| {
            let (c, random, threshold) = uct(config);
            (c - 0.9).abs() + (random - 0.5).abs() + (f64::from(threshold) - 7.0).abs() / 10.0
        };
        let wins = (500.0 + 100.0 * (off(b) - off(a))) as u64;
        Some(Score { games: 1000, wins, losses: 1000 - wins, draws: 0 })
    }

    #[test]
    fn the_climb_ends_near_the_top() {
        let start = [Roster::built_in().config("base0").unwrap()];
        let trials = Mutex::new(Vec::new());
        let keep = |trial: &Trial| trials.lock().unwrap().push(trial.clone());
        let tuned = tune(&HillClimb::built_in(), &start, 1, &[], nearer_wins, keep).unwrap().unwrap();
        let (c, random, threshold) = uct(&tuned[0]);
        assert!((c - 0.9).abs() < 0.2 && (random - 0.5).abs() < 0.2 && threshold.abs_diff(7) < 4, "{tuned:?}");

        // A climb with all trials known plays no games.
        let known = trials.into_inner().unwrap();
        assert!(known.iter().all(|trial| trial.parameter != "depth"), "played-out games have no depth");
        let nothing = |_: &Config, _: &Config, _| -> Option<Score> { panic!("every trial is known") };
        let again = tune(&HillClimb::built_in(), &start, 1, &known, nothing, |_| ()).unwrap().unwrap();
        assert_eq!(again, tuned);
    }

    #[test]
    fn an_interrupted_run_resumes_from_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let player = Roster::built_in().config("base0").unwrap();
        let entrants = ["variant", "present"].map(Entrant::named).to_vec();
        let terms = Schedule::new(entrants, Budget::default(), 4);
        let setup = TuningSetup { player, others: Vec::new(), tuning: HillClimb::built_in(), terms };
        for most in [3, 5, usize::MAX] {
            let (log, known) = Log::<Trial>::open(&path, &setup).unwrap();
            let mut games = 0;
            let play = |a: &Config, b: &Config, seed| {
                games += 1;
                nearer_wins(a, b, seed).filter(|_| games <= most)
            };
            let log = Mutex::new(log);
            let append = |trial: &Trial| log.lock().unwrap().append(trial).unwrap();
            let tuned = tune(&setup.tuning, &setup.players(), 1, &known, play, append).unwrap();
            assert_eq!(tuned.is_some(), most == usize::MAX);
        }
        let (head, known) = Log::<Trial>::read(&path).unwrap();
        assert_eq!(head, setup);
        let whole = tune(&setup.tuning, &setup.players(), 1, &[], nearer_wins, |_| ()).unwrap();
        let nothing = |_: &Config, _: &Config, _| -> Option<Score> { panic!("every trial is known") };
        assert_eq!(tune(&setup.tuning, &setup.players(), 1, &known, nothing, |_| ()).unwrap(), whole);
        let other = TuningSetup { tuning: HillClimb { passes: 9, ..setup.tuning.clone() }, ..setup };
        let error = Log::<Trial>::open(&path, &other).unwrap_err().to_string();
        assert!(error.contains("different tuning run"), "{error}");
    }

    #[test]
    fn values_that_are_not_permitted_are_refused() {
        let refused = |change: fn(&mut HillClimb)| {
            let mut tuning = HillClimb::built_in();
            change(&mut tuning);
            tuning.check().unwrap_err().to_string()
        };
        assert_eq!(HillClimb::built_in().check(), Ok(()));
        assert_eq!(refused(|tuning| tuning.passes = 0), "passes: expected a number from 1 to 1000, got `0`");
        assert_eq!(refused(|tuning| tuning.shrink = f64::NAN), "shrink: expected a number from 0.001 to 1, got `NaN`");
        assert_eq!(
            refused(|tuning| tuning.parameters[1].most = -2.0),
            "`most` of `random`: expected a number from 0 to 1000000, got `-2`"
        );
        assert!(
            refused(|tuning| tuning.parameters[0].least = f64::NAN).starts_with("`least` of `threshold`: expected")
        );
        assert!(refused(|tuning| tuning.parameters[0].reach = 0.0).starts_with("`reach` of `threshold`: expected"));
    }

    #[test]
    fn a_variant_must_win_more_than_half() {
        let start = [Roster::built_in().config("heur0").unwrap()];
        let half = |_: &Config, _: &Config, _| Some(Score { games: 4, wins: 2, losses: 2, draws: 0 });
        assert_eq!(tune(&HillClimb::built_in(), &start, 1, &[], half, |_| ()).unwrap(), Some(start.to_vec()));
        assert_eq!(tune(&HillClimb::built_in(), &start, 1, &[], |_, _, _| None, |_| ()).unwrap(), None);
        let greedy = [Roster::built_in().config("greedy").unwrap()];
        assert_eq!(tune(&HillClimb::built_in(), &greedy, 1, &[], half, |_| ()), Err(TuningError::NotUct));
    }

    #[test]
    fn players_that_are_tuned_together_share_the_values() {
        let [base, end] = ["base0,c=1.5", "end0"].map(|name| Roster::built_in().config(name).unwrap());
        let mut tuning = HillClimb::built_in();
        tuning.parameters.retain(|parameter| parameter.name == "c");
        // The second player wants a larger constant than the first.
        let play = |a: &Config, b: &Config, _: u64| {
            let best = if a.get("end") == end.get("end") { 1.4 } else { 1.0 };
            let off = |config| (uct(config).0 - best).powi(2);
            let wins = (500.0 + 100.0 * (off(b) - off(a))).clamp(0.0, 1000.0) as u64;
            Some(Score { games: 1000, wins, losses: 1000 - wins, draws: 0 })
        };
        let tuned = tune(&tuning, &[base, end.clone()], 1, &[], play, |trial| assert_eq!(trial.score.games, 2000));
        let tuned = tuned.unwrap().unwrap();
        let [base, end] = [uct(&tuned[0]), uct(&tuned[1])];
        assert!(base.0 == end.0 && (base.0 - 1.2).abs() < 0.15, "{base:?} {end:?}");
        assert_eq!(tune(&tuning, &[], 1, &[], play, |_| ()), Err(TuningError::NoPlayer));
    }

    #[test]
    fn six_variants_lie_around_the_present_value() {
        let tuning = HillClimb::built_in();
        let named = |name: &str| tuning.parameters.iter().find(|p| p.name == name).unwrap();
        assert_eq!(tuning.variants(named("random"), 0, 0.5), [0.2, 0.3, 0.4, 0.6, 0.7, 0.8]);
        assert_eq!(tuning.variants(named("random"), 1, 0.5), [0.35, 0.4, 0.45, 0.55, 0.6, 0.65]);
        assert_eq!(tuning.variants(named("threshold"), 0, 18.0), [0.0, 6.0, 12.0, 24.0, 30.0, 36.0]);
        // Values at the edge are tried once.
        assert_eq!(tuning.variants(named("c"), 0, 0.0), [0.1, 0.2, 0.3]);
    }
}
