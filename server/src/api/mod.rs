//! The routes of the interface.

mod analysis;
mod builds;
mod cache;
mod distances;
mod positions;
mod program;
mod random;
mod records;
mod rulesheet_moves;
mod rulesheets;
mod states;
mod tables;
mod tournaments;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, delete, get, post};

use crate::app::App;
use crate::error::ApiError;

/// A path of the interface, its methods, and their handlers.
pub struct Route {
    /// The path, with names of parameters in braces.
    pub path: &'static str,
    /// The methods, in upper case.
    pub methods: &'static [&'static str],
    handlers: MethodRouter<Arc<App>>,
}

/// Returns all routes.
pub fn routes() -> Vec<Route> {
    let route = |path, methods, handlers| Route { path, methods, handlers };
    vec![
        route("/healthz", &["GET"], get(program::health)),
        route("/api/openapi.json", &["GET"], get(program::document)),
        route("/api/players", &["GET"], get(program::players)),
        route("/api/tables", &["GET"], get(tables::list)),
        route("/api/tables/{table}", &["GET"], get(tables::table)),
        route("/api/tables/{table}/state", &["GET"], get(states::state)),
        route("/api/tables/{table}/line", &["GET"], get(states::line)),
        route("/api/tables/{table}/heat", &["GET"], get(states::heat)),
        route("/api/tables/{table}/random", &["GET"], get(random::random)),
        route("/api/tables/{table}/distances", &["POST"], post(distances::distances)),
        route("/api/position", &["GET"], get(positions::position)),
        route("/api/position/play", &["POST"], post(positions::play)),
        route("/api/analysis", &["GET"], get(analysis::analysis)),
        route("/api/builds", &["GET", "POST"], get(builds::list).post(builds::start)),
        route("/api/builds/{id}", &["GET", "DELETE"], delete(builds::cancel).get(builds::build)),
        route("/api/tournaments", &["GET"], get(tournaments::list)),
        route("/api/tournaments/{log}", &["GET"], get(tournaments::tournament)),
        route("/api/tournaments/{log}/games", &["GET"], get(tournaments::games)),
        route("/api/tournaments/{log}/games/{number}", &["GET"], get(tournaments::game)),
        route("/api/records/parse", &["POST"], post(records::parse)),
        route("/api/records/page", &["POST"], post(records::page)),
        route("/api/records/print", &["POST"], post(records::print)),
        route("/api/rulesheets", &["GET"], get(rulesheets::list)),
        route("/api/rulesheets/{rulesheet}", &["GET"], get(rulesheets::rulesheet)),
        route("/api/rulesheets/{rulesheet}/state", &["POST"], post(rulesheets::state)),
        route("/api/rulesheets/{rulesheet}/move", &["POST"], post(rulesheet_moves::choose)),
    ]
}

/// Returns the router of the interface.
pub fn router(app: Arc<App>) -> Router {
    let add = |router: Router<Arc<App>>, route: Route| {
        let allowed = route.methods.join(", ");
        let refuse = move |request: Request| {
            let refusal = ApiError::method(request.method(), &allowed);
            async move { refusal }
        };
        router.route(route.path, route.handlers.fallback(refuse))
    };
    routes().into_iter().fold(Router::new(), add).with_state(app)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi::openapi;

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        let paths = openapi()["paths"].as_object().unwrap();
        let described: BTreeSet<(String, String)> = paths
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (path.clone(), method.to_uppercase()))
            })
            .collect();
        let mut routed = BTreeSet::new();
        for Route { path, methods, .. } in routes() {
            routed.extend(methods.iter().map(|method| (path.to_owned(), method.to_string())));
        }
        assert_eq!(described, routed);
    }
}
