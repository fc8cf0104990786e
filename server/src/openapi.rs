//! The description of the interface for programs.

use std::sync::LazyLock;

use serde_json::{Value, json};

const PATHS: &str = include_str!("../openapi/paths.json");
const COMPONENTS: &str = include_str!("../openapi/components.json");

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let parse = |text| serde_json::from_str::<Value>(text).expect("the files of the document are JSON");
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sternhalma",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            "description": "Distances, players and game records of Chinese Checkers.",
        },
        "paths": parse(PATHS),
        "components": parse(COMPONENTS),
    })
});

static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());

/// Returns the OpenAPI document of the interface.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

/// Returns the document as text.
pub fn openapi_text() -> &'static str {
    &TEXT
}
