//! The program: its health, its interface and its players.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

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

#[derive(Serialize)]
pub struct Players {
    players: Vec<PlayerRow>,
}

#[derive(Serialize)]
struct PlayerRow {
    name: String,
    about: Option<String>,
}

pub async fn players(State(app): State<Arc<App>>, Params(NoParams {}): Params<NoParams>) -> Json<Players> {
    let roster = &app.roster;
    let row = |name: &str| PlayerRow { name: name.to_owned(), about: roster.about(name).map(str::to_owned) };
    Json(Players { players: roster.names().map(row).collect() })
}
