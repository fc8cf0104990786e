//! Dynamic checks: random matches.

use std::collections::BTreeSet;

use rand::SeedableRng;
use sternhalma_game::messages::beginning;
use sternhalma_game::{MemoryBudget, Rng};

use super::{CheckOptions, Finding, Place, Rules, Severity};
use crate::network::Network;
use crate::syntax::{Code, Term};
use crate::{Goal, GroundError, Prover, ProverError, ProverLimits, ProverState};

/// The maximum number of steps of a match.
const MAX_STEPS: usize = 2_000;

/// Plays random matches and returns the findings, each kind once per role. Stops
/// early when a proof exceeds its limit of rows.
pub fn simulate(rules: &Rules, options: &CheckOptions) -> Vec<Finding> {
    if options.playouts == 0 {
        return Vec::new();
    }
    let limits = ProverLimits {
        rows: options.rows,
        memory: MemoryBudget::new(options.memory),
        interrupt: options.interrupt.clone(),
    };
    let started = Prover::bounded(rules, &limits).and_then(|mut prover| begin(&mut prover).map(|()| prover));
    let prover = match started {
        Ok(prover) => prover,
        Err(error) => return vec![not_started(&error, rules, options)],
    };
    let mut play = RandomPlay { prover, rules, findings: Vec::new(), reported: BTreeSet::new() };
    let mut rng = Rng::seed_from_u64(options.seed);
    for _ in 0..options.playouts {
        if let Err(error) = play.play(&mut rng) {
            play.findings.push(not_played(&error));
            break;
        }
    }
    play.findings
}

/// Computes what every engine needs of the initial state.
fn begin(prover: &mut Prover) -> Result<(), ProverError> {
    let start = prover.initial()?;
    if !prover.is_terminal(&start)? {
        (0..prover.roles().len()).try_for_each(|role| prover.legal(&start, role).map(drop))?;
    }
    Ok(())
}

/// Returns the finding that the prover cannot begin a match. It is an error if the network cannot
/// either, whatever the limits of memory and time.
fn not_started(error: &ProverError, rules: &Rules, options: &CheckOptions) -> Finding {
    use ProverError::{Interrupted, Memory, TooLong};
    if matches!(error, TooLong { .. } | Memory { .. } | Interrupted) {
        return not_played(error);
    }
    match Network::plain_within(rules, options.memory, &options.interrupt) {
        Ok(_) | Err(GroundError::TooLarge { .. } | GroundError::Stopped) => not_played(error),
        Err(other) => {
            let message = format!("No engine can play the rulesheet. Prover: {error}. Network: {other}.");
            Finding::error(Code::Refused, Place::default(), message).without_place()
        }
    }
}

fn not_played(error: &ProverError) -> Finding {
    Finding::warning(Code::NotPlayed, Place::default(), format!("The simulation stopped: {error}.")).without_place()
}

/// The maximum number of characters of a state, and of places of rules, in a message.
const MAX_STATE_CHARS: usize = 400;
const MAX_PLACES: usize = 10;

struct RandomPlay<'a> {
    prover: Prover,
    rules: &'a Rules,
    findings: Vec<Finding>,
    reported: BTreeSet<(Code, usize)>,
}

impl RandomPlay<'_> {
    fn play(&mut self, rng: &mut Rng) -> Result<(), ProverError> {
        let start = self.prover.initial()?;
        let mut last = start.clone();
        match self.prover.play_random(&start, MAX_STEPS, rng, |state| last.clone_from(state)) {
            Ok(played) => self.check_goals(&played.goals, &played.end),
            Err(ProverError::NoLegalMove { .. }) => self.report_stuck_roles(&last)?,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn report_stuck_roles(&mut self, state: &ProverState) -> Result<(), ProverError> {
        for role in 0..self.prover.roles().len() {
            if self.prover.legal(state, role)?.is_empty() {
                self.report(Code::NoLegalMove, role, state, "has no legal move in a state that is not terminal");
            }
        }
        Ok(())
    }

    /// Returns the places of the rules and facts of a relation that may be about a role.
    fn places_of(&self, relation: &str, role: &str) -> Vec<Place> {
        let is_of_role = |term: &Term| match term {
            Term::Constant(name) => name == role,
            Term::Variable(_) | Term::Function { .. } => true,
        };
        let rules = self
            .rules
            .iter()
            .filter(|rule| rule.head.name == relation && rule.head.args.first().is_some_and(is_of_role));
        rules.map(|rule| rule.place).collect()
    }

    fn check_goals(&mut self, goals: &[Goal], state: &ProverState) {
        for (role, goal) in goals.iter().enumerate() {
            let (code, what) = match goal {
                Goal::Value(_) => continue,
                Goal::None => (Code::NoGoal, "has no goal, which counts as 0, in a terminal state"),
                Goal::Several => (Code::SeveralGoals, "has several goals, which count as 0, in a terminal state"),
                Goal::NotANumber => (Code::GoalValue, "has a goal that is not from 0 to 100 in a terminal state"),
            };
            self.report(code, role, state, what);
        }
    }

    /// Reports an error about the moves or the goals of a role in a state. Its place is that of the first rule of them,
    /// or of the role if there is no rule.
    fn report(&mut self, code: Code, role: usize, state: &ProverState, what: &str) {
        if !self.reported.insert((code, role)) {
            return;
        }
        let (relation, noun) = if code == Code::NoLegalMove { ("legal", "moves") } else { ("goal", "goals") };
        let name = self.prover.text(self.prover.roles()[role]);
        let places = self.places_of(relation, &name);
        let rules = match places.as_slice() {
            [] => format!("No rule of `{relation}` is for this role."),
            [place] => format!("The rule of its {noun} is at {place}."),
            places => {
                let texts: Vec<String> = places.iter().take(MAX_PLACES).map(Place::to_string).collect();
                let more = if places.len() > MAX_PLACES { " and elsewhere" } else { "" };
                format!("The rules of its {noun} are at {}{more}.", texts.join(", "))
            }
        };
        let fluents: Vec<String> = state.fluents().iter().map(|&fluent| self.prover.text(fluent)).collect();
        let state = match fluents.is_empty() {
            true => "the empty one".to_owned(),
            false => beginning(&fluents.join(" "), MAX_STATE_CHARS),
        };
        let place = places.first().copied().or_else(|| self.places_of("role", &name).first().copied());
        let message = format!("{name} {what}: {state}. {rules}");
        self.findings.push(Finding { severity: Severity::Error, code, place, message });
    }
}
