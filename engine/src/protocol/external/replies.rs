//! Parsing the output of external programs.

use sternhalma_data::Geometry;
use sternhalma_ggp::SearchStats;
use sternhalma_ggp::arena::{Fault, FaultKind, SearchValue};

use super::process::{excerpt, readable};
use crate::protocol::ugi::PASS;
use crate::rules::Action;

/// The prefix of a line that reports an error.
const ERROR: &str = "info string error:";

/// The maximum length of a name; longer names are cut.
const LONGEST_NAME: usize = 100;

/// The name and the options that a program declared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Introduction {
    /// The `id name` of the program, or an empty string if the program sent none.
    pub name: String,
    /// Its options.
    pub options: Vec<Offer>,
}

/// An option that a program declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// The smallest permitted number, if the option takes numbers.
    min: Option<i128>,
    /// The largest permitted number.
    max: Option<i128>,
}

impl Introduction {
    /// Parses a line before `ugiok`.
    pub fn add(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(name) = after(line, "id").and_then(|rest| after(rest, "name")) {
            self.name = readable(name).chars().take(LONGEST_NAME).collect();
        } else if let Some(offer) = after(line, "option").and_then(Offer::parse) {
            self.options.push(offer);
        }
    }

    /// Checks that all options to set are declared.
    ///
    /// # Errors
    ///
    /// Returns a fault for an option that is not declared.
    pub fn check(&self, options: &[(String, String)]) -> Result<(), Fault> {
        let Some((name, _)) = options.iter().find(|(name, _)| self.option(name).is_none()) else {
            return Ok(());
        };
        let known: Vec<&str> = self.options.iter().map(|offer| offer.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { excerpt(&known.join(", ")) };
        Err(FaultKind::Crash.fault(format!("it has no option {}; its options are {known}", excerpt(name))))
    }

    /// Returns the option with a name, in any case.
    pub fn option(&self, name: &str) -> Option<&Offer> {
        self.options.iter().find(|offer| offer.name.eq_ignore_ascii_case(name))
    }
}

impl Offer {
    /// Parses the text after `option`.
    fn parse(text: &str) -> Option<Offer> {
        let words: Vec<&str> = after(text, "name")?.split_whitespace().collect();
        let named = words.iter().position(|&word| word == "type").unwrap_or(words.len());
        let number = |key: &str| {
            let at = words[named..].iter().rposition(|&word| word == key)?;
            words[named..].get(at + 1)?.parse().ok()
        };
        let name = words[..named].join(" ");
        (!name.is_empty()).then(|| Offer { name, min: number("min"), max: number("max") })
    }

    /// Maps a seed into the permitted range.
    pub fn seed(&self, seed: u64) -> i128 {
        let (min, max) = (self.min.unwrap_or(0), self.max.unwrap_or(u64::MAX.into()));
        let numbers = max.saturating_sub(min).saturating_add(1).max(1);
        min + i128::from(seed) % numbers
    }
}

/// Returns the text after a word.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim())
}

/// Returns the message of a line that reports an error.
pub fn error(line: &str) -> Option<&str> {
    line.starts_with(ERROR).then_some(line)
}

/// Updates the cost and the value of a search from an `info` line.
pub fn note(spent: &mut SearchStats, value: &mut Option<SearchValue>, line: &str) {
    let mut words = line.split_whitespace();
    if words.next() != Some("info") {
        return;
    }
    while let Some(word) = words.next() {
        let counter: &mut dyn FnMut(u64) = match word {
            "nodes" => &mut |count| spent.expansions = count,
            "playouts" => &mut |count| spent.playouts = count,
            "depth" => &mut |count| spent.depth = count.try_into().unwrap_or(u32::MAX),
            "score" => {
                *value = score(words.next(), words.next()).or(*value);
                continue;
            }
            // The rest of the line is moves or text.
            "pv" | "string" => return,
            _ => continue,
        };
        if let Some(count) = words.next().and_then(|text| text.parse().ok()) {
            counter(count);
        }
    }
}

/// Returns the value of `score cp N` (hundredths) or `score mate N` (plies).
fn score(kind: Option<&str>, number: Option<&str>) -> Option<SearchValue> {
    let number: i32 = number?.parse().ok()?;
    match kind? {
        "cp" => Some(SearchValue::Lead(f64::from(number) / 100.0)),
        "mate" if number < 0 => Some(SearchValue::Lost(number.unsigned_abs())),
        "mate" => Some(SearchValue::Won(number.unsigned_abs())),
        _ => None,
    }
}

/// Returns the move of a `bestmove` line, or `None` for another line.
///
/// # Errors
///
/// Returns a fault if the line has no valid move.
pub fn best_move(geometry: &Geometry, line: &str) -> Option<Result<Action, Fault>> {
    let mut words = line.split_whitespace();
    if words.next() != Some("bestmove") {
        return None;
    }
    let action = match (words.next(), words.next()) {
        (Some(PASS), None | Some("ponder")) => Some(None),
        (Some(text), None | Some("ponder")) => geometry.parse_move(text).ok().map(Some),
        _ => None,
    };
    Some(action.ok_or_else(|| FaultKind::Garbage.fault(format!("it said {}", excerpt(line)))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sternhalma_data::Board;

    use super::*;

    fn introduced(lines: &[&str]) -> Introduction {
        let mut introduction = Introduction::default();
        lines.iter().for_each(|line| introduction.add(line));
        introduction
    }

    #[test]
    fn introductions_contain_name_and_options() {
        let parsed = introduced(&[
            "id name  Engine of\u{1b}[31m mine ",
            "id author name me",
            "option name Clear Hash type button",
            "option name seed type spin default min min -5 max 4",
            "option name Style type combo default a var min var 3",
            "option named x",
            "option",
            "options name y",
        ]);
        assert_eq!(parsed.name, "Engine of [31m mine");
        let names: Vec<&str> = parsed.options.iter().map(|offer| offer.name.as_str()).collect();
        assert_eq!(names, ["Clear Hash", "seed", "Style"]);
        let seed = parsed.option("Seed").unwrap();
        assert_eq!((seed.min, seed.max), (Some(-5), Some(4)));
        let options = |names: &[&str]| names.iter().map(|name| (name.to_string(), String::new())).collect::<Vec<_>>();
        assert_eq!(parsed.check(&options(&["SEED", "clear hash"])), Ok(()));
        let fault = parsed.check(&options(&["seed", "Hash"])).unwrap_err();
        assert!(fault.detail.contains("`Hash`; its options are `Clear Hash, seed, Style`"), "{fault}");
    }

    #[test]
    fn seeds_fall_within_the_numbers_of_the_option() {
        let seed =
            |rest: &str, seed| introduced(&[&format!("option name Seed type spin {rest}")]).options[0].seed(seed);
        assert_eq!(seed("min 0 max 18446744073709551615", u64::MAX), u64::MAX.into());
        assert_eq!(seed("", u64::MAX), u64::MAX.into());
        assert_eq!((seed("min 1 max 10", 9), seed("min 1 max 10", 10)), (10, 1));
        assert_eq!(seed("min 7 max 3", 9), 7);
    }

    #[test]
    fn the_last_score_counts() {
        let mut value = None;
        for (line, expected) in [
            ("info depth 3", None),
            ("info depth 3 score cp -35 nodes 7", Some(SearchValue::Lead(-0.35))),
            ("info score cp red", Some(SearchValue::Lead(-0.35))),
            ("info score mate 3", Some(SearchValue::Won(3))),
            ("info score mate -4 pv a1-a2", Some(SearchValue::Lost(4))),
            ("info string score cp 5", Some(SearchValue::Lost(4))),
        ] {
            note(&mut SearchStats::default(), &mut value, line);
            assert_eq!(value, expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_seed_is_taken(min: i64, over: u64, seed: u64) {
            let max = i128::from(min) + i128::from(over);
            let line = format!("option name Seed type spin default 1 min {min} max {max}");
            let number = introduced(&[&line]).options[0].seed(seed);
            prop_assert!((min.into()..=max).contains(&number));
        }

        #[test]
        fn no_line_panics(
            line in prop_oneof![
                ".*",
                "((id|option|info|bestmove|name|type|min|max|depth|nodes|string|pv|seed|a1-a2|pass|é|-?[0-9]{1,40})[ \t]){0,12}",
            ],
            seed: u64,
        ) {
            let parsed = introduced(&[&line]);
            parsed.options.iter().for_each(|offer| drop(offer.seed(seed).to_string()));
            note(&mut SearchStats::default(), &mut None, &line);
            best_move(Board::new(5, 3).unwrap().geometry(), &line);
        }
    }
}
