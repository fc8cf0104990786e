//! The parts of the OpenAPI document that do not follow from the types and the handlers of the routes: the errors that
//! every route has, and the values of other crates.

use std::collections::BTreeMap;

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi, PartialSchema, ToSchema};

use crate::answer::JSON;
use crate::error::{ErrorBody, ErrorCode};

/// The statuses that answers share, with the names and the descriptions of their answers in the document.
const SHARED: [(u16, &str, &str); 10] = [
    (304, "NotModified", "The client has the answer already."),
    (400, "Invalid", "The request is wrong in itself."),
    (403, "Forbidden", "The request comes from another site, or without the token."),
    (404, "Missing", "There is no such thing."),
    (408, "Timeout", "The body did not arrive in time."),
    (409, "Conflict", "The request contradicts the present state."),
    (413, "TooLarge", "The request is too large."),
    (415, "MediaType", "The body has another content type."),
    (500, "Failed", "A file is damaged, or the server has an error."),
    (
        503,
        "Busy",
        "The server is busy or lacks resources. `Retry-After` has the seconds after which the request may succeed.",
    ),
];

/// The statuses of every route: of its parameters, of the guard, and of the limits.
const OF_ALL: [u16; 3] = [400, 403, 503];

/// The statuses of every route with a body.
const OF_BODIES: [u16; 3] = [408, 413, 415];

/// The document without its paths, and without the schemas that its paths contain.
#[derive(OpenApi)]
#[openapi(
    info(title = "Sternhalma", description = "Distances, players and game records of Chinese Checkers."),
    // Relative to the address of the document, since a proxy may serve the interface under a path of its own.
    servers((url = "..")),
    components(schemas(ErrorBody, ErrorCode))
)]
struct Interface;

/// An answer with a status of [`SHARED`], as one that a route names.
pub struct Shared<const STATUS: u16>;

impl<const STATUS: u16> IntoResponses for Shared<STATUS> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        shared(&[STATUS]).collect()
    }
}

/// Returns references to shared answers.
fn shared(statuses: &[u16]) -> impl Iterator<Item = (String, RefOr<Response>)> {
    let of = SHARED.iter().filter(|(status, ..)| statuses.contains(status));
    of.map(|(status, name, _)| (status.to_string(), Ref::from_response_name(*name).into()))
}

/// Returns the document of an interface without routes.
pub fn interface() -> utoipa::openapi::OpenApi {
    let mut document = Interface::openapi();
    let error = || Content::builder().schema(Some(Ref::from_schema_name("Error"))).build();
    let components = document.components.get_or_insert_default();
    for (status, name, about) in SHARED {
        let response = ResponseBuilder::new().description(about);
        let response = if status < 400 { response } else { response.content(JSON, error()) };
        components.responses.insert(name.to_owned(), response.build().into());
    }
    document
}

/// Adds what all operations and all answers have in common.
pub fn complete(document: &mut utoipa::openapi::OpenApi) {
    document.components.get_or_insert_default().schemas.values_mut().for_each(require_keys);
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten() {
            let responses = &mut operation.responses.responses;
            for response in responses.values_mut() {
                let RefOr::T(response) = response else { continue };
                if response.description.is_empty() {
                    response.description = "The answer.".to_owned();
                }
                // The schema of a media type is that of a whole body, and the one here is that of an event.
                if let Some(RefOr::T(events)) = response.content.get_mut("text/event-stream") {
                    events.schema = None;
                }
            }
            responses.extend(shared(&OF_ALL));
            if operation.request_body.is_some() {
                responses.extend(shared(&OF_BODIES));
            }
        }
    }
}

/// Requires all keys of the schemas that permit other keys: those are answers, which leave out no key.
fn require_keys(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) if object.additional_properties.is_none() => {
            object.required = object.properties.keys().cloned().collect();
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(require_keys),
        _ => {}
    }
}

/// Returns the schema of a text.
fn text(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// Returns the schema of a name.
fn name(names: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names))
}

/// Declares types that stand for values of other crates in the document.
macro_rules! values {
    ($($(#[doc = $about:literal])+ $name:ident = $schema:expr;)*) => {$(
        $(#[doc = $about])+
        pub struct $name;

        impl ToSchema for $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.description(Some(concat!($($about),+).trim())).into()
            }
        }
    )*};
}

values! {
    /// The name of a cell.
    Cell = text("^[a-k](1[01]|[1-9])$");
    /// A move from cell to cell, or `pass`.
    Move = text("^([a-k](1[01]|[1-9])-[a-k](1[01]|[1-9])|pass)$");
    /// `x` starts at a1 and moves to the opposite corner, `o` moves to a1.
    Side = name(["x", "o"]);
    /// The winner, or a draw.
    Result = name(["x", "o", "draw"]);
    /// The rules of the game. `blocked-goal` is the first version of the rules against blocked goals, `blocked-goal-2`
    /// the newest. A record without rules has `paper`.
    RuleSet = name(sternhalma_data::RuleSet::ALL.map(sternhalma_data::RuleSet::stored_name));
    /// The state of the server.
    Status = name(["ok"]);
    /// How grave a finding is.
    Severity = name(["warning", "error"]);
    /// The result of a record, `*` for an unfinished game.
    RecordResult = name(["1-0", "0-1", "1/2-1/2", "*"]);
    /// How a table stores its distances.
    Encoding = name(["byte", "mod3", "zstd", "ans"]);
    /// The reason for the end of a game.
    End = name(["rules", "ply-limit", "repetition", "adjudicated", "fault"]);
    /// Moves to the goal.
    Moves = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(sternhalma_data::Distance::MAX.0));
    /// A name and a value.
    Pair = ArrayBuilder::new().items(String::schema()).min_items(Some(2)).max_items(Some(2));
    /// The losses of an inaccuracy, a mistake and a blunder.
    Losses = ArrayBuilder::new().items(f64::schema()).min_items(Some(3)).max_items(Some(3));
    /// A shortest chain of hops: the source, and each cell on which the piece lands. Empty for a pass.
    Path = ArrayBuilder::new().items(Ref::from_schema_name("Cell"));
}

pub use described::{Distance, KnownDistance, Record, SearchValue};

/// Types of the document that have the form of serialised types of other crates.
#[allow(dead_code, reason = "the document is all that is made of these types")]
mod described {
    use utoipa::ToSchema;

    use super::{Move, Moves, Pair, RecordResult, RuleSet};

    /// The moves that an army needs alone on the board.
    #[derive(ToSchema)]
    pub struct Distance {
        /// Moves to the goal; null if the table does not cover the state.
        distance: Option<Moves>,
        /// False if the distance is an upper bound.
        exact: Option<bool>,
    }

    /// The moves that an army needs alone on the board, which the table covers.
    #[derive(ToSchema)]
    pub struct KnownDistance {
        distance: Moves,
        /// False if the distance is an upper bound.
        exact: bool,
    }

    /// The value for the player to move: its kind, and the number of moves, of the reward, or of plies.
    #[derive(ToSchema)]
    #[serde(tag = "kind", content = "value", rename_all = "lowercase")]
    #[schema(as = Value)]
    pub enum SearchValue {
        Lead(f64),
        Reward(f64),
        Won(u32),
        Lost(u32),
    }

    /// A recorded game, see docs/reference/game-records.md.
    #[derive(ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Record {
        /// The names and values of the tags that do not follow from the other keys.
        #[serde(default)]
        tags: Vec<Pair>,
        /// The position before the first move.
        position: String,
        #[serde(default)]
        rules: RuleSet,
        /// The ply at which the game is a draw.
        #[serde(default)]
        ply_limit: u32,
        #[serde(default)]
        comments: Vec<String>,
        game: Vec<RecordMove>,
        #[serde(default)]
        result: RecordResult,
    }

    /// A move of a record.
    #[derive(ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct RecordMove {
        #[serde(rename = "move")]
        #[schema(value_type = Move)]
        mv: String,
        value: Option<SearchValue>,
        /// The depth of the search, in plies.
        depth: Option<u32>,
        /// The number of node expansions.
        nodes: Option<u64>,
        #[schema(minimum = 0)]
        seconds: Option<f64>,
        /// Other keys and values.
        #[serde(default)]
        data: Vec<Pair>,
        #[serde(default)]
        comments: Vec<String>,
        /// Lines that start with another move in place of this one.
        #[serde(default)]
        variations: Vec<RecordLine>,
    }

    /// A variation.
    #[derive(ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct RecordLine {
        #[serde(default)]
        comments: Vec<String>,
        #[schema(no_recursion)]
        game: Vec<RecordMove>,
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use sternhalma_ggp::arena::Termination;

    use super::*;

    /// Returns the names of a schema.
    fn names<T: PartialSchema>() -> Vec<Value> {
        serde_json::to_value(T::schema()).unwrap()["enum"].as_array().unwrap().clone()
    }

    fn parsed<T: DeserializeOwned>(names: Vec<Value>) -> Vec<T> {
        names.into_iter().map(|name| serde_json::from_value(name).unwrap()).collect()
    }

    #[test]
    fn names_are_those_of_the_other_crates() {
        assert_eq!(
            parsed::<sternhalma_data::Side>(names::<Side>()),
            [sternhalma_data::Side::X, sternhalma_data::Side::O]
        );
        assert_eq!(parsed::<sternhalma_data::RuleSet>(names::<RuleSet>()), sternhalma_data::RuleSet::ALL);
        assert_eq!(parsed::<Termination>(names::<End>()).len(), 5);
        for name in names::<Encoding>() {
            assert_eq!(name.as_str().unwrap().parse::<sternhalma_data::Encoding>().unwrap().to_string(), name);
        }
    }
}
