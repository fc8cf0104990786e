//! Rulesheets and their states. The server keeps no state: each request contains one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_ggp::gdl::{
    Finding, FluentDomains, Goal, IllegalMove, Prover, ProverError, ProverLimits, ProverState, Rules, Rulesheet,
    TermId, find_move,
};
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{ApiError, ErrorCode};
use crate::extract::{Json, NoParams, Path, Query, RulesheetPath};
use crate::openapi::{self, Shared};
use crate::rulesheets::{Source, invalid, parse_valid, valid};

/// The most rows of the proof of the roles, with which a rulesheet is listed.
const LISTING_ROWS: u64 = 100_000;

/// The most bytes of the fluents of a state, and of the moves of a role.
const MAX_TEXT: usize = 16 << 20;

/// The rulesheets by name.
#[derive(Serialize, ToSchema)]
pub struct Rulesheets {
    rulesheets: Vec<RulesheetRow>,
}

/// A rulesheet of the list.
#[derive(Serialize, ToSchema)]
#[schema(as = Rulesheet)]
pub struct RulesheetRow {
    name: String,
    source: Source,
    /// The roles, in order; none if the rulesheet has an error.
    roles: Vec<String>,
    error: Option<String>,
}

impl RulesheetRow {
    fn new(name: String, source: Source, rules: Result<Rules, ApiError>, limits: &ProverLimits) -> RulesheetRow {
        let limits = ProverLimits { rows: LISTING_ROWS, ..limits.clone() };
        let roles = rules.and_then(|rules| {
            let prover = prover(&rules, &limits)?;
            texts(&prover, prover.roles())
        });
        match roles {
            Ok(roles) => RulesheetRow { name, source, roles, error: None },
            Err(error) => RulesheetRow { name, source, roles: Vec::new(), error: Some(error.to_string()) },
        }
    }
}

/// Lists the rulesheets.
#[utoipa::path(
    get,
    path = "/api/rulesheets",
    operation_id = "rulesheets",
    responses((status = 200, body = Rulesheets), Shared<500>)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<Rulesheets>, ApiError> {
    let shared = app.clone();
    let list = move |limits: &ProverLimits| {
        let row = |(name, source): (String, Source)| {
            let rules = shared.rulesheets.read(&name).and_then(|(text, _)| parse_valid(&text));
            RulesheetRow::new(name, source, rules, limits)
        };
        Ok(Json(Rulesheets { rulesheets: shared.rulesheets.names()?.into_iter().map(row).collect() }))
    };
    app.proofs.run(list).await
}

/// A rulesheet with its text.
#[derive(Serialize, ToSchema)]
pub struct RulesheetDetails {
    #[serde(flatten)]
    row: RulesheetRow,
    text: String,
    findings: Vec<FindingRow>,
}

/// A finding of the checker, as `sternhalma gdl check --json` prints it.
#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct FindingRow {
    #[schema(value_type = openapi::Severity)]
    severity: String,
    code: &'static str,
    #[schema(minimum = 1)]
    line: Option<u32>,
    #[schema(minimum = 1)]
    column: Option<u32>,
    message: String,
}

impl From<Finding> for FindingRow {
    fn from(finding: Finding) -> FindingRow {
        FindingRow {
            severity: finding.severity.to_string(),
            code: finding.code.name(),
            line: finding.place.map(|place| place.line),
            column: finding.place.map(|place| place.column),
            message: finding.message,
        }
    }
}

/// Returns the text of a rulesheet and the findings of the checker.
#[utoipa::path(
    get,
    path = "/api/rulesheets/{rulesheet}",
    params(RulesheetPath),
    responses((status = 200, body = RulesheetDetails), Shared<404>, Shared<500>)
)]
pub async fn rulesheet(
    State(app): State<Arc<App>>,
    Path(RulesheetPath { rulesheet: name }): Path<RulesheetPath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<RulesheetDetails>, ApiError> {
    let shared = app.clone();
    let details = move |limits: &ProverLimits| {
        let (text, source) = shared.rulesheets.read(&name)?;
        let (findings, rules) = match Rulesheet::parse(&text) {
            Ok(sheet) => {
                let findings = shared.rulesheets.findings(&sheet, limits)?;
                (findings.to_vec(), valid(&sheet, &findings))
            }
            Err(error) => (vec![error.clone().into()], Err(invalid(&error.into()))),
        };
        let row = RulesheetRow::new(name, source, rules, limits);
        Ok(Json(RulesheetDetails { row, text, findings: findings.into_iter().map(FindingRow::from).collect() }))
    };
    app.proofs.run(details).await
}

/// A state of a rulesheet, and moves to play in it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RulesheetStateRequest)]
pub struct StateBody {
    /// The fluents that hold; by default those of the initial state.
    state: Option<Vec<String>>,
    /// The moves to play, by role. A role with one legal move may be left out.
    moves: Option<BTreeMap<String, String>>,
}

/// A state of a rulesheet.
#[derive(Serialize, ToSchema)]
#[schema(as = RulesheetState)]
pub struct StateAnswer {
    /// The fluents that hold, in alphabetical order.
    state: Vec<String>,
    terminal: bool,
    roles: Vec<RoleRow>,
    /// The moves of all roles that led to the state, if the request has some.
    played: Option<BTreeMap<String, String>>,
}

/// A role in a state.
#[derive(Serialize, ToSchema)]
#[schema(as = RulesheetRole)]
struct RoleRow {
    role: String,
    /// The legal moves; none in a terminal state.
    legal: Vec<String>,
    /// The goal, if exactly one can be proven.
    #[schema(maximum = 100)]
    goal: Option<u8>,
}

/// Returns a state of a rulesheet, or the state after the moves of the roles.
#[utoipa::path(
    post,
    path = "/api/rulesheets/{rulesheet}/state",
    params(RulesheetPath),
    operation_id = "rulesheetState",
    responses((status = 200, body = StateAnswer), Shared<404>, Shared<500>)
)]
pub async fn state(
    State(app): State<Arc<App>>,
    Path(RulesheetPath { rulesheet: name }): Path<RulesheetPath>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<StateBody>,
) -> Result<Json<StateAnswer>, ApiError> {
    let shared = app.clone();
    let answer = move |limits: &ProverLimits| {
        let (text, _) = shared.rulesheets.read(&name)?;
        let rules = shared.rulesheets.playable(&text, limits)?;
        let mut position = Position::new(&rules, body.state.as_deref(), limits)?;
        let played = body.moves.map(|moves| position.play(&moves)).transpose()?;
        Ok(Json(position.answer(played)?))
    };
    app.proofs.run(answer).await
}

/// A state, and the prover that evaluates it.
pub struct Position {
    prover: Prover,
    roles: Vec<String>,
    state: ProverState,
}

impl Position {
    /// Creates the state in which exactly these fluents hold, or the initial state.
    ///
    /// # Errors
    /// If the prover fails, or no state of a match has one of the fluents.
    pub fn new(rules: &Rules, fluents: Option<&[String]>, limits: &ProverLimits) -> Result<Position, ApiError> {
        let mut prover = prover(rules, limits)?;
        let roles = texts(&prover, prover.roles())?;
        let state = match fluents {
            None => prover.initial().map_err(failed)?,
            Some(fluents) => {
                let domains = FluentDomains::new(rules);
                let term = |fluent: &String| match prover.term(fluent) {
                    Ok(term) if domains.admit(fluent) => Ok(term),
                    Ok(_) => Err(ApiError::invalid(format!(
                        "`{fluent}` is not a fluent of the rulesheet: no `init` or `next` can make it"
                    ))),
                    Err(error) => Err(ApiError::invalid(format!("{error}; expected a fluent such as `(turn x)`"))),
                };
                ProverState::new(fluents.iter().map(term).collect::<Result<_, _>>()?)
            }
        };
        Ok(Position { prover, roles, state })
    }

    /// Returns the number of a role.
    ///
    /// # Errors
    /// If there is no such role.
    pub fn role(&self, name: &str) -> Result<usize, ApiError> {
        let unknown =
            || ApiError::invalid(format!("there is no role `{name}`; the roles are {}", self.roles.join(", ")));
        self.roles.iter().position(|role| role == name).ok_or_else(unknown)
    }

    /// Returns the fluents that hold, in alphabetical order.
    ///
    /// # Errors
    /// If their texts are too long.
    pub fn fluents(&self) -> Result<Vec<String>, ApiError> {
        texts(&self.prover, self.state.fluents()).map(sorted)
    }

    /// Returns whether the game is over.
    ///
    /// # Errors
    /// If the prover fails.
    pub fn is_terminal(&mut self) -> Result<bool, ApiError> {
        self.prover.is_terminal(&self.state).map_err(failed)
    }

    /// Returns the legal moves of a role, in alphabetical order.
    ///
    /// # Errors
    /// If the prover fails, or the texts of the moves are too long.
    pub fn legal(&mut self, role: usize) -> Result<Vec<String>, ApiError> {
        let moves = self.prover.legal(&self.state, role).map_err(failed)?;
        texts(&self.prover, &moves).map(sorted)
    }

    /// Plays the moves of the roles, and returns those of all roles.
    fn play(&mut self, moves: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ApiError> {
        moves.keys().try_for_each(|name| self.role(name).map(drop))?;
        if self.is_terminal()? {
            return Err(ApiError::invalid("the game is over").with_code(ErrorCode::GameOver));
        }
        let mut joint = Vec::new();
        for role in 0..self.roles.len() {
            let given = moves.get(&self.roles[role]).map(String::as_str);
            joint.push(self.chosen(role, given)?);
        }
        self.state = self.prover.next(&self.state, &joint).map_err(failed)?;
        Ok(self.roles.iter().cloned().zip(texts(&self.prover, &joint)?).collect())
    }

    /// Returns the given move of a role, or its only one.
    fn chosen(&mut self, role: usize, given: Option<&str>) -> Result<TermId, ApiError> {
        let legal = self.prover.legal(&self.state, role).map_err(failed)?;
        let name = &self.roles[role];
        match (given, &legal[..]) {
            (_, []) => Err(ApiError::invalid(format!("{name} has no legal move, although the game is not over"))),
            (None, &[only]) => Ok(only),
            (None, _) => Err(ApiError::invalid(format!("expected a move of {name}, which has {} moves", legal.len()))),
            (Some(text), legal) => {
                let illegal =
                    |error: IllegalMove| ApiError::invalid(error.to_string()).with_code(ErrorCode::IllegalMove);
                Ok(legal[find_move(text, name, &texts(&self.prover, legal)?).map_err(illegal)?])
            }
        }
    }

    fn answer(mut self, played: Option<BTreeMap<String, String>>) -> Result<StateAnswer, ApiError> {
        let terminal = self.is_terminal()?;
        let goals = self.prover.goals(&self.state).map_err(failed)?;
        let mut rows = Vec::new();
        for (role, goal) in goals.into_iter().enumerate() {
            let legal = if terminal { Vec::new() } else { self.legal(role)? };
            let goal = if let Goal::Value(value) = goal { Some(value) } else { None };
            rows.push(RoleRow { role: self.roles[role].clone(), legal, goal });
        }
        Ok(StateAnswer { state: self.fluents()?, terminal, roles: rows, played })
    }
}

/// Returns the texts of terms.
///
/// # Errors
/// If they are too long. Terms share parts, so their texts can be much larger than the terms.
fn texts(prover: &Prover, terms: &[TermId]) -> Result<Vec<String>, ApiError> {
    let length: usize = terms.iter().map(|&term| prover.text_length(term)).sum();
    if length > MAX_TEXT {
        let limit = MAX_TEXT >> 20;
        return Err(unplayable(format!("the terms of a state, or the moves of a role, have more than {limit} MiB")));
    }
    Ok(terms.iter().map(|&term| prover.text(term)).collect())
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

fn prover(rules: &Rules, limits: &ProverLimits) -> Result<Prover, ApiError> {
    Prover::bounded(rules, limits).map_err(failed)
}

/// Returns the error of a proof that failed.
pub fn failed(error: ProverError) -> ApiError {
    match error {
        ProverError::Interrupted => ApiError::busy("the rulesheet takes too long; try again later"),
        _ => unplayable(error),
    }
}

fn unplayable(why: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("the rulesheet cannot be played: {why}")).with_code(ErrorCode::InvalidRulesheet)
}
