//! Games as files that open without a server.

mod bundle;
mod document;
mod module;
mod saved;
mod script;

pub use bundle::PageError;
pub use saved::{SavedGame, SavedGameError, Search};

#[cfg(test)]
mod tests {
    use super::module::Module;
    use crate::assets;

    #[test]
    fn every_module_of_the_page_can_be_parsed() {
        let scripts: Vec<String> = assets::paths().filter(|path| path.ends_with(".js")).collect();
        assert!(scripts.len() > 30);
        for path in scripts {
            match Module::parse(&assets::text(&path).unwrap()) {
                Ok(module) => assert!(!module.code.contains("import(") && !module.code.contains("/**"), "{path}"),
                // Views that are loaded when they are opened are not part of saved games.
                Err((line, error)) => assert!(error.starts_with("a dynamic import"), "{path}, line {line}: {error}"),
            }
        }
    }
}
