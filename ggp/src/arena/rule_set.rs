//! The names of rule sets in the descriptions of games.
//!
//! The description of a board game has the name of its rule set in the field `rules`. Without the
//! field the name is `paper`, as in logs of earlier versions. The field of a rulesheet, which also
//! has an `engine`, is a digest.

use serde_json::{Map, Value};

/// The name of the rule set of a game whose description has none.
const DEFAULT: &str = "paper";

/// Removes the name of the rule set from the description of a game if it is the default.
pub(super) fn leave_out_default(game: &mut Value) {
    if let Value::Object(fields) = game
        && fields.get("rules").is_some_and(|rules| rules == DEFAULT)
    {
        fields.remove("rules");
    }
}

/// Returns the names of the rule sets of two games that differ in nothing else.
pub(super) fn different_names<'a>(a: &'a Value, b: &'a Value) -> Option<[&'a str; 2]> {
    let (a, b) = (a.as_object()?, b.as_object()?);
    let others = |game: &Map<String, Value>| Map::from_iter(game.clone().into_iter().filter(|(key, _)| key != "rules"));
    let names = [name(a)?, name(b)?];
    (names[0] != names[1] && others(a) == others(b)).then_some(names)
}

/// Returns the name of the rule set of a game that is not a rulesheet.
fn name(game: &Map<String, Value>) -> Option<&str> {
    if game.contains_key("engine") {
        return None;
    }
    game.get("rules").map_or(Some(DEFAULT), Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_board_games_that_differ_in_nothing_else_have_different_names() {
        let old = json!({ "side": 9, "pieces": 6 });
        let new = json!({ "side": 9, "pieces": 6, "rules": "blocked-goal" });
        assert_eq!(different_names(&old, &new), Some(["paper", "blocked-goal"]));
        assert_eq!(different_names(&new, &old), Some(["blocked-goal", "paper"]));
        assert_eq!(different_names(&new, &new), None);
        assert_eq!(different_names(&new, &json!({ "side": 9, "pieces": 10 })), None);
        let sheets = ["ab", "cd"].map(|digest| json!({ "engine": "network", "rules": digest }));
        assert_eq!(different_names(&sheets[0], &sheets[1]), None);
        assert_eq!(different_names(&sheets[0], &new), None);
    }

    #[test]
    fn the_default_is_left_out() {
        for (mut game, expected) in [
            (json!({ "side": 9, "rules": "paper" }), json!({ "side": 9 })),
            (json!({ "side": 9, "rules": "blocked-goal" }), json!({ "side": 9, "rules": "blocked-goal" })),
            (json!(null), json!(null)),
        ] {
            leave_out_default(&mut game);
            assert_eq!(game, expected);
        }
    }
}
