//! Remedies for missing tables, in the words of a front end.

use std::path::Path;

use sternhalma_data::table::{TablesDir, parse_table_name};
use sternhalma_data::{Encoding, Prefix};
use sternhalma_ggp::messages::nearest;

/// The remedies for tables that a directory does not have.
pub struct TableAdvice<B> {
    names: Vec<String>,
    build: B,
}

impl<B: Fn(Option<(Prefix, Encoding)>) -> String> TableAdvice<B> {
    /// Creates the remedies for a tables directory, which need not exist. `build` returns the command or call that builds a
    /// table, or any table if none is given.
    pub fn new(dir: &Path, build: B) -> TableAdvice<B> {
        let files = TablesDir::new(dir).files().unwrap_or_default();
        TableAdvice { names: files.into_iter().map(|(name, _)| name).collect(), build }
    }

    /// Returns the remedy for a name without a table, as a clause that begins with `; `.
    pub fn for_name(&self, name: &str) -> String {
        let similar = nearest(name, self.names.iter().map(String::as_str));
        match (parse_table_name(name.strip_suffix(".sht").unwrap_or(name)), similar) {
            (Some(table), _) => format!("; {} builds it{}", (self.build)(Some(table)), self.existing()),
            (None, Some(similar)) => format!("; did you mean `{similar}`?"),
            (None, None) => format!("; {} builds tables{}", (self.build)(None), self.existing()),
        }
    }

    /// Returns the command or call that builds the table of a prefix.
    pub fn build(&self, prefix: Prefix) -> String {
        (self.build)(Some((prefix, Encoding::Byte)))
    }

    /// Lists the tables of the directory, as a clause that begins with `; `, or returns nothing if there are none.
    pub fn existing(&self) -> String {
        match &self.names[..] {
            [] => String::new(),
            names => format!("; the tables there are {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_table_has_one_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let build = |table: Option<(Prefix, Encoding)>| {
            table.map_or("any".to_owned(), |(prefix, encoding)| format!("build {prefix} {encoding}"))
        };
        let advice = || TableAdvice::new(dir.path(), build);
        assert_eq!(advice().for_name("mine"), "; any builds tables");
        std::fs::write(dir.path().join("5x5-3.sht"), "").unwrap();
        assert_eq!(advice().for_name("5x5-33"), "; did you mean `5x5-3`?");
        assert_eq!(advice().for_name("mine"), "; any builds tables; the tables there are 5x5-3");
        let prefix = parse_table_name("5x5-4").unwrap().0;
        let expected = format!("; build {prefix} byte builds it; the tables there are 5x5-3");
        assert_eq!(advice().for_name("5x5-4.sht"), expected);
    }
}
