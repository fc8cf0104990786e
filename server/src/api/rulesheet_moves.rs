//! The moves that policies choose in states of rulesheets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_ggp::gdl::network::{NetworkGame, NetworkState};
use sternhalma_ggp::gdl::{ProverGame, ProverLimits, Reasoner};
use sternhalma_ggp::mcts::SearchResult;
use sternhalma_ggp::policy::{PolicyAgent, PolicyGame, SearchTask};
use sternhalma_ggp::util::FluentSet;
use sternhalma_ggp::{Limits, Policy};
use utoipa::ToSchema;

use super::rulesheets::{Position, failed};
use crate::app::App;
use crate::error::{ApiError, ErrorCode};
use crate::extract::{Json, NoParams, Path, Query, RulesheetPath};
use crate::openapi::Shared;
use crate::proofs::MAX_ROWS;
use crate::searches::{Search, StopOnDrop};

/// The policy that searches by default.
const DEFAULT_POLICY: &str = "adaptive";

/// The playouts of a search without limits.
const DEFAULT_PLAYOUTS: u64 = 1000;

/// The longest search, compilation of the rulesheet included.
const LONGEST: Duration = Duration::from_secs(60);

/// A state of a rulesheet, and what chooses a move in it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RulesheetMoveRequest)]
pub struct MoveBody {
    /// The fluents that hold; by default those of the initial state.
    state: Option<Vec<String>>,
    role: String,
    /// See docs/reference/policies.md; by default `adaptive`.
    policy: Option<String>,
    #[schema(minimum = 1)]
    playouts: Option<u64>,
    #[schema(exclusive_minimum = 0)]
    seconds: Option<f64>,
    #[serde(default)]
    seed: u64,
}

impl MoveBody {
    fn policy(&self) -> Result<Policy, ApiError> {
        self.policy.as_deref().unwrap_or(DEFAULT_POLICY).parse().map_err(ApiError::invalid)
    }

    fn limits(&self) -> Result<Limits, ApiError> {
        if self.playouts == Some(0) || self.seconds.is_some_and(|seconds| seconds <= 0.0) {
            return Err(ApiError::invalid("expected `playouts` and `seconds` greater than 0"));
        }
        let time = self.seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST));
        let given = Limits { playouts: self.playouts, time, ..Limits::default() };
        let limits = if given == Limits::default() { Limits::playouts(DEFAULT_PLAYOUTS) } else { given };
        Ok(limits.and(Limits::time(LONGEST)))
    }
}

/// The move that a policy chooses.
#[derive(Serialize, ToSchema)]
#[schema(as = RulesheetMove)]
pub struct MoveAnswer {
    #[serde(rename = "move")]
    mv: String,
    /// The moves that the search has visited, most visits first.
    moves: Vec<VisitRow>,
    playouts: u64,
    #[schema(minimum = 0)]
    seconds: f64,
    /// What played the rulesheet; none if there was nothing to choose.
    engine: Option<RulesheetEngine>,
}

/// What plays a rulesheet.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RulesheetEngine {
    Network,
    Prover,
}

/// A move that a search has visited.
#[derive(Serialize, ToSchema)]
struct VisitRow {
    #[serde(rename = "move")]
    mv: String,
    visits: u32,
    /// The mean reward from 0 to 1; none without visits.
    #[schema(minimum = 0, maximum = 1)]
    mean: Option<f64>,
    /// Whether the search has proved that the role reaches its best or worst goal.
    proved: bool,
}

/// Returns the move that a policy chooses.
#[utoipa::path(
    post,
    path = "/api/rulesheets/{rulesheet}/move",
    params(RulesheetPath),
    operation_id = "rulesheetMove",
    responses((status = 200, body = MoveAnswer), Shared<404>, Shared<500>)
)]
pub async fn choose(
    State(app): State<Arc<App>>,
    Path(RulesheetPath { rulesheet }): Path<RulesheetPath>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<MoveBody>,
) -> Result<Json<MoveAnswer>, ApiError> {
    let (policy, limits) = (body.policy()?, body.limits()?);
    let search = app.searches.begin()?;
    let stop = StopOnDrop(search.stop.clone());
    let shared = app.clone();
    let job = tokio::task::spawn_blocking(move || {
        let job = Job { app: &shared, body: &body, policy: policy.within(&search.memory), limits, search: &search };
        catch_unwind(AssertUnwindSafe(|| job.run(&rulesheet)))
    });
    let answer = tokio::time::timeout(LONGEST, job).await;
    // The search ends if the time is up, or if the client leaves, which drops this future.
    drop(stop);
    let broken = || ApiError::internal("the search failed; this is an error of the server");
    let answer = answer.map_err(|_| ApiError::busy("the rulesheet takes too long"))?;
    answer.map_err(|_| broken())?.map_err(|_| broken())?.map(Json)
}

/// A request for a move.
struct Job<'a> {
    app: &'a App,
    body: &'a MoveBody,
    policy: Policy,
    limits: Limits,
    search: &'a Search,
}

impl Job<'_> {
    fn run(&self, name: &str) -> Result<MoveAnswer, ApiError> {
        let (text, _) = self.app.rulesheets.read(name)?;
        let Search { stop, memory, .. } = self.search;
        let proofs = ProverLimits { rows: MAX_ROWS, memory: memory.part(memory.limit() / 8), interrupt: stop.clone() };
        let rules = self.app.rulesheets.playable(&text, &proofs)?;
        let mut position = Position::new(&rules, self.body.state.as_deref(), &proofs)?;
        let role = position.role(&self.body.role)?;
        if position.is_terminal()? {
            return Err(ApiError::invalid("the game is over").with_code(ErrorCode::GameOver));
        }
        let legal = position.legal(role)?;
        if let [only] = &legal[..] {
            return Ok(MoveAnswer { mv: only.clone(), moves: Vec::new(), playouts: 0, seconds: 0.0, engine: None });
        }
        let compiled = self.app.rulesheets.compile(&text, &rules, memory, stop)?;
        if let Ok(game) = &compiled.game
            && let Some(state) = network_state(game, &mut position)?
        {
            return self.search(game, &state, role, RulesheetEngine::Network);
        }
        let game = ProverGame::bounded(&rules, &proofs).map_err(failed)?;
        let state = game.state_from(&position.fluents()?).map_err(failed)?;
        self.search(&game, &state, role, RulesheetEngine::Prover)
    }

    /// Searches a state in which the role has a choice.
    fn search<G: Reasoner + PolicyGame>(
        &self,
        game: &G,
        state: &G::State,
        role: usize,
        engine: RulesheetEngine,
    ) -> Result<MoveAnswer, ApiError> {
        let mut agent: Box<dyn PolicyAgent<G>> = game.agent(&self.policy, role, self.body.seed);
        agent.begin(game, state);
        let found = agent.search(&SearchTask::new(game, state, self.limits, &self.search.stop), role);
        let SearchResult { best, moves, spent } = found;
        if self.search.stop.load(Relaxed) {
            return Err(ApiError::busy("the search was stopped"));
        }
        let mut rows: Vec<VisitRow> = moves
            .into_iter()
            .map(|(mv, stats)| {
                let mean = stats.mean().clamp(0.0, 1.0);
                let visited = stats.visits > 0;
                VisitRow {
                    mv: game.move_name(role, mv),
                    visits: stats.visits,
                    mean: visited.then_some(mean),
                    proved: stats.sum.is_infinite(),
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.visits));
        Ok(MoveAnswer {
            mv: game.move_name(role, best),
            moves: rows,
            playouts: spent.playouts,
            seconds: spent.time.as_secs_f64(),
            engine: Some(engine),
        })
    }
}

/// Returns the state of the network with these fluents. The network is right for reachable states only, so there is
/// none if the network and the prover differ about the state.
fn network_state(game: &NetworkGame, position: &mut Position) -> Result<Option<NetworkState>, ApiError> {
    let names = &game.network().fluents;
    let mut set = FluentSet::new(names.len());
    for fluent in position.fluents()? {
        let Some(number) = names.iter().position(|name| *name == fluent) else { return Ok(None) };
        set.insert(number);
    }
    let state = game.state_from(&set);
    if game.is_over(&state) {
        return Ok(None);
    }
    for role in 0..game.role_names().len() {
        let mut legal: Vec<String> =
            game.legal_of(&state, role).into_iter().map(|mv| game.move_name(role, mv)).collect();
        legal.sort_unstable();
        if legal.is_empty() || legal != position.legal(role)? {
            return Ok(None);
        }
    }
    Ok(Some(state))
}
