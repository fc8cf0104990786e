//! The routes of the interface.

mod analysis;
mod builds;
mod cache;
mod distances;
mod games;
mod positions;
mod program;
mod random;
mod records;
mod rulesheet_moves;
mod rulesheets;
mod states;
mod tables;
mod tournaments;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use serde_json::Value;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::answer::{JSON, typed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{NoParams, Query};
use crate::openapi::{complete, interface};

/// Returns the handlers of all routes. Their attributes have the paths and the methods.
fn routes() -> Vec<UtoipaMethodRouter<Arc<App>>> {
    vec![
        routes!(program::health),
        routes!(document),
        routes!(program::players),
        routes!(program::access),
        routes!(tables::list),
        routes!(tables::table, tables::delete),
        routes!(states::state),
        routes!(states::line),
        routes!(states::heat),
        routes!(random::random),
        routes!(distances::distances),
        routes!(positions::position),
        routes!(positions::play),
        routes!(analysis::analysis),
        routes!(builds::offer),
        routes!(builds::list, builds::start),
        routes!(builds::build, builds::cancel),
        routes!(games::begin),
        routes!(games::game),
        routes!(games::join),
        routes!(games::play),
        routes!(games::resign),
        routes!(games::rematch),
        routes!(games::follow),
        routes!(tournaments::list),
        routes!(tournaments::tournament),
        routes!(tournaments::games),
        routes!(tournaments::game),
        routes!(records::parse),
        routes!(records::page),
        routes!(records::print),
        routes!(rulesheets::list),
        routes!(rulesheets::rulesheet),
        routes!(rulesheets::state),
        routes!(rulesheet_moves::choose),
    ]
}

/// Returns the router of the interface.
pub fn router(app: Arc<App>) -> Router {
    let add = |router: Router<Arc<App>>, (_, paths, handlers): UtoipaMethodRouter<Arc<App>>| {
        paths.paths.into_iter().fold(router, |router, (path, item)| {
            let methods = [("GET", item.get), ("POST", item.post), ("DELETE", item.delete)];
            let allowed: Vec<&str> =
                methods.iter().filter(|method| method.1.is_some()).map(|method| method.0).collect();
            let allowed = allowed.join(", ");
            let refuse = move |request: Request| {
                let refusal = ApiError::method(request.method(), &allowed);
                async move { refusal }
            };
            router.route(&path, handlers.clone().fallback(refuse))
        })
    };
    routes().into_iter().fold(Router::new(), add).with_state(app)
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let routes = routes().into_iter().fold(OpenApiRouter::with_openapi(interface()), OpenApiRouter::routes);
    let mut document = routes.into_openapi();
    complete(&mut document);
    serde_json::to_value(document).expect("the keys of the document are texts")
});

/// Returns the OpenAPI document of the interface.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

/// Returns this document.
#[utoipa::path(get, path = "/api/openapi.json", responses((status = 200, body = Object)))]
async fn document(Query(NoParams {}): Query<NoParams>) -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
    typed(JSON, TEXT.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for (path, methods) in openapi()["paths"].as_object().unwrap() {
            let named: Vec<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            for (method, operation) in methods.as_object().unwrap() {
                let all = operation["parameters"].as_array().into_iter().flatten();
                let described: Vec<&str> =
                    all.filter(|of| of["in"] == "path").filter_map(|of| of["name"].as_str()).collect();
                assert_eq!(described, named, "{method} {path}");
            }
        }
    }

    #[test]
    fn every_schema_of_the_document_has_a_name_of_its_own() {
        let mut known = BTreeMap::new();
        for (name, schema) in routes().into_iter().flat_map(|(schemas, ..)| schemas) {
            let schema = serde_json::to_value(schema).unwrap();
            let before = known.entry(name.clone()).or_insert_with(|| schema.clone());
            assert_eq!(*before, schema, "two types have the name {name}");
        }
    }
}
