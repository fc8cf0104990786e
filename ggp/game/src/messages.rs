//! Error messages in plain words: suggestions for misspelt names, and the messages of `serde` without the names of
//! types. Excerpts of texts for messages, and reading of text files.

use std::io;
use std::path::Path;

/// Returns the known name that is most similar to a word, if one is similar enough to be what was meant.
///
/// ```
/// use sternhalma_game::messages::nearest;
///
/// assert_eq!(nearest("utc", ["random", "uct", "nst"]), Some("uct"));
/// assert_eq!(nearest("Heur0", ["heur0", "heur1"]), Some("heur0"));
/// assert_eq!(nearest("chess", ["random", "uct", "nst"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let edits = |name: &str| {
        let lower = name.to_lowercase();
        let edits = strsim::damerau_levenshtein(&word, &lower);
        // A single letter is not similar to another one.
        let similar = edits <= (length / 3).max(1) && edits < length.max(lower.chars().count());
        match () {
            () if similar => Some(edits),
            // The beginning of a name is similar to it, but less than any misspelling.
            () if length >= 3 && lower.starts_with(&word) => Some(length + lower.len()),
            () => None,
        }
    };
    let ranked = known.into_iter().filter_map(|name| Some((edits(name)?, name)));
    ranked.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// Returns `; did you mean …?` if a known name is similar to a word, and otherwise `; `, a noun and the known names.
pub fn suggestion<'a>(word: &str, noun: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!("; the {noun} are {}", known.join(", ")),
    }
}

/// Returns the message of an error of `serde` in words of the file: keys and kinds of values in place of fields and
/// types.
///
/// ```
/// use sternhalma_game::messages::plain_serde;
///
/// assert_eq!(plain_serde("invalid type: string \"ten\", expected u64"), "expected a whole number ≥ 0, got \"ten\"");
/// assert_eq!(plain_serde("unknown field `gmaes`, expected `games` or `seed`"), "unknown key `gmaes`; did you mean `games`?");
/// ```
pub fn plain_serde(message: &str) -> String {
    let (found, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    if let Some((kind, name)) = unknown(found) {
        let (noun, nouns) = if kind == "field" { ("key", "keys") } else { ("value", "values") };
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!("unknown {noun} `{name}`{}", suggestion(name, nouns, known));
    }
    if let Some(name) = found.strip_prefix("missing field ") {
        return format!("the key {name} is missing");
    }
    match found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: ")) {
        Some(value) if !expected.is_empty() => format!("expected {}, got {}", plain_type(expected), plain_value(value)),
        _ => message.to_owned(),
    }
}

/// Splits `unknown field` or `unknown variant` and its name.
fn unknown(found: &str) -> Option<(&str, &str)> {
    let (kind, name) = found.strip_prefix("unknown ")?.split_once(' ')?;
    Some((kind, name.strip_prefix('`')?.strip_suffix('`')?))
}

/// The byte order mark with which some editors begin a text.
pub const BOM: char = '\u{feff}';

/// Returns a text without a byte order mark at its beginning.
///
/// ```
/// use sternhalma_game::messages::without_bom;
///
/// assert_eq!(without_bom("\u{feff}a1-a2"), "a1-a2");
/// assert_eq!(without_bom("a1-a2"), "a1-a2");
/// ```
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// Reads a text file, without a byte order mark.
///
/// # Errors
/// Returns an error if the file cannot be read or is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(if text.starts_with(BOM) { without_bom(&text).to_owned() } else { text })
}

/// The largest number of characters of an input that a message quotes.
const MAX_QUOTED: usize = 80;

/// The longest word that a message has outside quotations, in characters. Names of files are shorter.
const MAX_WORD: usize = 255;

/// The largest number of characters of a line of a message between two quotations. Only an input that has backticks
/// itself can cause more.
const MAX_UNQUOTED: usize = 2000;

/// Returns the beginning of a text, at most 80 characters and perhaps `…`.
///
/// ```
/// use sternhalma_game::messages::excerpt;
///
/// assert_eq!(excerpt("a1-a2"), "a1-a2");
/// assert_eq!(excerpt(&"é".repeat(1000)), "é".repeat(80) + "…");
/// ```
pub fn excerpt(text: &str) -> String {
    beginning(text, MAX_QUOTED)
}

/// Returns at most `most` characters from the start of a text, with `…` if it is cut.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Returns at most 80 characters of a line around the character with an index from 0, with `…` where the line is cut,
/// and the index of that character in the result.
///
/// ```
/// use sternhalma_game::messages::excerpt_around;
///
/// assert_eq!(excerpt_around("a1-a2", 3), ("a1-a2".to_owned(), 3));
/// let line = "é".repeat(500) + "!";
/// assert_eq!(excerpt_around(&line, 500), ("…".to_owned() + &"é".repeat(40) + "!", 41));
/// assert_eq!(excerpt_around(&line, 9), ("é".repeat(80) + "…", 9));
/// ```
pub fn excerpt_around(line: &str, column: usize) -> (String, usize) {
    let half = MAX_QUOTED / 2;
    let start = if column < MAX_QUOTED { 0 } else { column - half };
    let end = if start == 0 { MAX_QUOTED } else { column + half };
    let part: String = line.chars().skip(start).take(end - start).collect();
    let [before, after] = [start > 0, line.chars().nth(end).is_some()].map(|cut| if cut { "…" } else { "" });
    (format!("{before}{part}{after}"), column - start + before.chars().count())
}

/// Returns a message whose quotations, in backticks, are [excerpts](excerpt), and which has no word of more than 255
/// characters outside of them.
///
/// ```
/// use sternhalma_game::messages::shorten_quotes;
///
/// let message = |text: &str| format!("`{text}` is not a move; expected e.g. `a1-a2`");
/// assert_eq!(shorten_quotes(&message("a1")), message("a1"));
/// assert_eq!(shorten_quotes(&message(&"a".repeat(1 << 20))), message(&("a".repeat(80) + "…")));
/// assert_eq!(shorten_quotes(&("a".repeat(256) + ": no file")), "a".repeat(80) + "…: no file");
/// ```
pub fn shorten_quotes(message: &str) -> String {
    let parts = message.split('`').enumerate();
    let short = parts.map(|(index, part)| if index % 2 == 1 { excerpt(part) } else { shorten_words(part) });
    short.collect::<Vec<_>>().join("`")
}

/// Returns a text with shortened words and lines. Punctuation after a word is kept.
fn shorten_words(text: &str) -> String {
    let line = |line: &str| {
        let word = |word: &str| {
            let name = word.trim_end_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
            match name.chars().nth(MAX_WORD) {
                Some(_) => excerpt(name) + &beginning(&word[name.len()..], MAX_QUOTED),
                None => word.to_owned(),
            }
        };
        beginning(&line.split_inclusive(char::is_whitespace).map(word).collect::<String>(), MAX_UNQUOTED)
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn plain_type(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number ≥ 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "bool" | "a boolean" => "`true` or `false`".to_owned(),
        "a string" | "string" | "str" | "path string" => "a text in quotation marks".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.contains(" enum ") => "a table".to_owned(),
        other => other.replace("an array of length", "a list of length"),
    }
}

fn plain_value(value: &str) -> String {
    let kinds = ["string ", "integer ", "floating point ", "boolean "];
    match value {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => kinds.into_iter().find_map(|kind| value.strip_prefix(kind)).unwrap_or(value).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognised() {
        let players = ["sternhalma", "heur0", "heur1", "base0", "greedy", "random", "mcts", "c", "k"];
        for (word, name) in [
            ("heuro", Some("heur0")),
            ("Heur0", Some("heur0")),
            ("HEUR1", Some("heur1")),
            ("greddy", Some("greedy")),
            ("stern", Some("sternhalma")),
            ("cc", Some("c")),
            ("x", None),
            ("", None),
            ("minimax", None),
        ] {
            assert_eq!(nearest(word, players), name, "{word}");
        }
    }

    #[test]
    fn messages_of_serde_are_plain() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only errors are of interest")]
        struct Options {
            games: u64,
            ratio: f64,
            quick: bool,
            names: Vec<String>,
        }
        // JSON adds the place of the error to its message.
        let message = |json: &str| {
            let error = serde_json::from_str::<Options>(json).unwrap_err().to_string();
            plain_serde(error.split(" at line").next().unwrap())
        };
        for (json, expected) in [
            (r#"{"games":"ten"}"#, "expected a whole number ≥ 0, got \"ten\""),
            (r#"{"games":-1}"#, "expected a whole number ≥ 0, got `-1`"),
            (r#"{"ratio":true}"#, "expected a number, got `true`"),
            (r#"{"quick":3}"#, "expected `true` or `false`, got `3`"),
            (r#"{"names":"a"}"#, "expected a list, got \"a\""),
            (r#"{"names":[{}]}"#, "expected a text in quotation marks, got a table"),
            (r#"{"gmaes":3}"#, "unknown key `gmaes`; did you mean `games`?"),
            (r#"{"colour":3}"#, "unknown key `colour`; the keys are games, ratio, quick, names"),
            (r#"{"games":3}"#, "the key `ratio` is missing"),
        ] {
            assert_eq!(message(json), expected, "{json}");
        }
    }
}
