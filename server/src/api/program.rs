//! The program: its health and its players.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sternhalma_engine::Level;
use sternhalma_ggp::arena::MOVE_NODES;
use sternhalma_ggp::policy::NAMED_POLICIES;
use utoipa::ToSchema;

use crate::app::App;
use crate::extract::{Json, NoParams, Query};
use crate::openapi;
use crate::rows::{MarkLimitsRow, RulesRow};

/// The health of the server.
#[derive(Serialize, ToSchema)]
pub struct Health {
    #[schema(value_type = openapi::Status)]
    status: &'static str,
    /// The version of the program.
    version: &'static str,
}

/// Returns whether the server answers.
#[utoipa::path(get, path = "/healthz", responses((status = 200, body = Health)))]
pub async fn health(Query(NoParams {}): Query<NoParams>) -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// What can play, and how strongly.
#[derive(Serialize, ToSchema)]
pub struct Players {
    /// The players of Chinese Checkers.
    players: Vec<NamedRow>,
    /// The node expansions per move of the levels, from level 1.
    levels: Vec<u64>,
    /// The node expansions of a search without limits.
    #[schema(minimum = 1)]
    nodes: u64,
    /// The rule sets of Chinese Checkers, the newest first.
    rules: Vec<RulesRow>,
    /// The losses from which moves are marked.
    marks: MarkLimitsRow,
    /// The policies of rulesheets.
    policies: Vec<NamedRow>,
}

/// A name, and what it stands for.
#[derive(Serialize, ToSchema)]
#[schema(as = Named)]
struct NamedRow {
    name: String,
    about: Option<String>,
}

/// Lists the players that can search, their levels, the rule sets, the losses of marked moves, and the policies of rulesheets.
#[utoipa::path(get, path = "/api/players", responses((status = 200, body = Players)))]
pub async fn players(State(app): State<Arc<App>>, Query(NoParams {}): Query<NoParams>) -> Json<Players> {
    let roster = &app.roster;
    let row = |name: &str, about: Option<&str>| NamedRow { name: name.to_owned(), about: about.map(str::to_owned) };
    Json(Players {
        players: roster.names().map(|name| row(name, roster.about(name))).collect(),
        levels: (1..=Level::HIGHEST).flat_map(Level::try_from).map(Level::nodes).collect(),
        nodes: MOVE_NODES,
        rules: RulesRow::all(),
        marks: MarkLimitsRow::new(),
        policies: NAMED_POLICIES.iter().map(|policy| row(policy.name, Some(policy.about))).collect(),
    })
}

/// How browsers on other machines reach the page.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Access {
    /// The addresses of the page for other machines, without the token; none if they cannot connect.
    pages: Vec<String>,
    /// What follows the address of the page: `?token=` and the token, or nothing.
    query: String,
}

/// Returns the addresses of the page, for links to it.
#[utoipa::path(get, path = "/api/access", responses((status = 200, body = Access)))]
pub async fn access(State(app): State<Arc<App>>, Query(NoParams {}): Query<NoParams>) -> Json<Access> {
    Json(Access { pages: app.guard.other_pages(), query: app.guard.access() })
}
