//! Compares answers with the OpenAPI document.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};
use sternhalma_server::openapi;

/// The validators that were made, by the place of their schema in the document.
static VALIDATORS: Mutex<Option<HashMap<String, Validator>>> = Mutex::new(None);

/// Returns the path of the document that a request is for.
fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next()?;
    let paths = openapi()["paths"].as_object()?;
    let matches = |template: &str| {
        let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        let same = |(part, given): (&&str, &&str)| part.starts_with('{') && !given.is_empty() || part == given;
        template.len() == path.len() && template.iter().zip(&path).all(same)
    };
    // A path without parameters comes first.
    let mut found: Vec<&str> = paths.keys().map(String::as_str).filter(|template| matches(template)).collect();
    found.sort_by_key(|template| template.matches('{').count());
    found.first().copied()
}

/// Follows a reference of the document.
fn resolved(value: &Value) -> &Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.map_or(value, |pointer| openapi().pointer(pointer).expect("the reference leads somewhere"))
}

/// Checks that the document describes an answer: its status, its content type and its value.
#[track_caller]
pub fn check_answer(method: &str, path: &str, status: u16, content_type: Option<&str>, body: &[u8]) {
    // The document describes requests in HTTP with a method that a path has.
    let Some(template) = template(path).filter(|_| ![405, 431, 414].contains(&status)) else { return };
    let operation = &openapi()["paths"][template][method.to_lowercase()];
    if operation.is_null() {
        return;
    }
    let response = &operation["responses"][status.to_string()];
    assert!(!response.is_null(), "{method} {template}: the document does not have the status {status}");
    let response = resolved(response);
    let Some(content) = response["content"].as_object() else {
        assert!(body.is_empty(), "{method} {template} {status}: the document has no body");
        return;
    };
    let content_type = content_type.unwrap_or_default();
    let media = content.get(content_type).unwrap_or_else(|| panic!("{method} {template} {status}: `{content_type}`"));
    if content_type != "application/json" {
        return;
    }
    let value: Value = serde_json::from_slice(body).expect("the body is JSON");
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validators = validators.get_or_insert_default();
    let validator = validators.entry(media["schema"].to_string()).or_insert_with(|| {
        let schema = json!({ "allOf": [media["schema"]], "components": openapi()["components"] });
        jsonschema::validator_for(&schema).expect("the schema is valid")
    });
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{method} {path} {status}: {errors:?} in {value}");
}
