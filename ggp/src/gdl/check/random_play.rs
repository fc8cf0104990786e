//! Errors that random matches reveal.

use std::collections::BTreeSet;

use rand::SeedableRng;

use super::options::CheckOptions;
use crate::Rng;
use crate::gdl::prover::{Prover, ProverError, State};
use crate::gdl::reasoner::Goal;
use crate::gdl::syntax::{Code, Finding, Place, Rules, Severity};

/// The maximum number of steps of a match.
const MOST_STEPS: usize = 2_000;

/// Plays random matches until the playouts or the rows are used up. Reports
/// each kind of finding once per role.
pub fn simulate(rules: &Rules, options: &CheckOptions) -> Vec<Finding> {
    if options.playouts == 0 {
        return Vec::new();
    }
    let mut prover = match Prover::new(rules) {
        Ok(prover) => prover,
        Err(error) => return vec![not_played(&error)],
    };
    prover.set_limit(options.rows);
    let mut simulation = Simulation { prover, findings: Vec::new(), told: BTreeSet::new() };
    let mut rng = Rng::seed_from_u64(options.seed);
    for _ in 0..options.playouts {
        if let Err(error) = simulation.play(&mut rng) {
            simulation.findings.push(not_played(&error));
            break;
        }
    }
    simulation.findings
}

fn not_played(error: &ProverError) -> Finding {
    Finding::warning(Code::NotPlayed, Place::default(), format!("The simulation stopped: {error}.")).without_place()
}

struct Simulation {
    prover: Prover,
    findings: Vec<Finding>,
    told: BTreeSet<(Code, usize)>,
}

impl Simulation {
    fn play(&mut self, rng: &mut Rng) -> Result<(), ProverError> {
        let mut state = self.prover.initial()?;
        for _ in 0..MOST_STEPS {
            if self.prover.is_terminal(&state)? {
                return self.end(&state);
            }
            match self.prover.random_moves(&state, rng) {
                Ok(joint) => state = self.prover.next(&state, &joint)?,
                Err(ProverError::NoLegalMove { .. }) => return self.stuck(&state),
                Err(error) => return Err(error),
            }
        }
        Err(ProverError::Endless { steps: MOST_STEPS })
    }

    fn stuck(&mut self, state: &State) -> Result<(), ProverError> {
        for role in 0..self.prover.roles().len() {
            if self.prover.legal(state, role)?.is_empty() {
                let name = self.prover.text(self.prover.roles()[role]);
                let message = format!("{name} has no legal move in a state that is not terminal.");
                self.tell(Severity::Error, Code::NoLegalMove, role, message);
            }
        }
        Ok(())
    }

    fn end(&mut self, state: &State) -> Result<(), ProverError> {
        for (role, goal) in self.prover.goals(state)?.into_iter().enumerate() {
            let name = self.prover.text(self.prover.roles()[role]);
            let (code, what) = match goal {
                Goal::Value(_) => continue,
                Goal::None => (Code::NoGoal, "has no goal in a terminal state, which counts as 0"),
                Goal::Several => (Code::SeveralGoals, "has several goals in a terminal state, which count as 0"),
                Goal::NotANumber => (Code::GoalValue, "has a goal that is not a number from 0 to 100"),
            };
            self.tell(Severity::Error, code, role, format!("{name} {what}."));
        }
        Ok(())
    }

    fn tell(&mut self, severity: Severity, code: Code, role: usize, message: String) {
        if self.told.insert((code, role)) {
            self.findings.push(Finding { severity, code, place: None, message });
        }
    }
}
