//! The program: its health, its interface and its players.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use sternhalma_engine::Level;
use sternhalma_ggp::policy::NAMED_POLICIES;

use crate::answer::{JSON, typed};
use crate::app::App;
use crate::extract::{Json, NoParams, Params};
use crate::openapi::openapi_text;

#[derive(Serialize)]
pub struct Health {
    status: &'static str,
    version: &'static str,
}

pub async fn health(Params(NoParams {}): Params<NoParams>) -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

pub async fn document(Params(NoParams {}): Params<NoParams>) -> Response {
    typed(JSON, openapi_text())
}

/// What can play, and how strongly.
#[derive(Serialize)]
pub struct Players {
    /// The players of Chinese Checkers.
    players: Vec<NamedRow>,
    /// The node expansions per move of the levels, from level 1.
    levels: Vec<u64>,
    /// The policies of rulesheets.
    policies: Vec<NamedRow>,
}

#[derive(Serialize)]
struct NamedRow {
    name: String,
    about: Option<String>,
}

pub async fn players(State(app): State<Arc<App>>, Params(NoParams {}): Params<NoParams>) -> Json<Players> {
    let roster = &app.roster;
    let row = |name: &str, about: Option<&str>| NamedRow { name: name.to_owned(), about: about.map(str::to_owned) };
    Json(Players {
        players: roster.names().map(|name| row(name, roster.about(name))).collect(),
        levels: (1..=Level::HIGHEST).flat_map(Level::try_from).map(Level::nodes).collect(),
        policies: NAMED_POLICIES.iter().map(|policy| row(policy.name, Some(policy.about))).collect(),
    })
}
