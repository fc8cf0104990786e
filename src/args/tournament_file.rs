//! Tournament files: one tournament, or a series with one per game.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Args, Command};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use sternhalma_ggp::arena::{SeriesGame, SeriesInfo};
use sternhalma_ggp::messages::suggestion;
use toml::Table;

use super::tournament::{PlayerEntry, SeriesGameOptions, TournamentOptions};

impl TournamentOptions {
    /// Reads the options of a file, with those of its base. Paths in a file are relative to its directory.
    pub fn read(path: &Path) -> Result<TournamentOptions> {
        let read = |path: &Path| {
            sternhalma_ggp::messages::read_text(path).with_context(|| format!("{}: cannot read", path.display()))
        };
        let text = read(path)?;
        let options = match base_name(&text).with_context(|| path.display().to_string())? {
            None => TournamentOptions::parse(&text),
            Some(name) => {
                let base = path.with_file_name(name);
                let base_text = read(&base)?;
                TournamentOptions::parse(&base_text).with_context(|| base.display().to_string())?;
                TournamentOptions::parse_with_base(&text, &base_text)
            }
        };
        let options = options.with_context(|| path.display().to_string())?;
        Ok(options.resolve_paths(path.parent().unwrap_or(Path::new(""))))
    }

    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<TournamentOptions> {
        check_numbers(text)?;
        let options: TournamentOptions = toml::from_str(text)?;
        options.check_series()?;
        Ok(options)
    }

    /// Parses the text of a file whose keys replace those of its base.
    fn parse_with_base(text: &str, base: &str) -> Result<TournamentOptions> {
        check_numbers(text)?;
        let mut keys: Table = toml::from_str(base)?;
        keys.extend(toml::from_str::<Table>(text)?.into_iter().filter(|(key, _)| key != BASE));
        let options: TournamentOptions = keys.try_into()?;
        options.check_series()?;
        Ok(options)
    }

    /// Checks the options of a series file.
    fn check_series(&self) -> Result<()> {
        if !self.is_series() {
            let given = [
                ("title", self.title.is_some()),
                ("rulesheets", !self.rulesheets.is_empty()),
                ("scoring", self.scoring.is_some()),
                ("clock", self.clock.is_some()),
                ("on-demand", !self.on_demand.is_empty()),
            ];
            let given: Vec<&str> = given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
            if !given.is_empty() {
                bail!("{} applies to series files, and there is no [[game]]", given.join(", "));
            }
            return Ok(());
        }
        let foreign = self.single_options();
        if !foreign.is_empty() {
            bail!("a series file cannot contain {}", foreign.join(", "));
        }
        let mut names = BTreeSet::new();
        if let Some(game) = self.game.iter().find(|game| !names.insert(&game.name)) {
            bail!("there are two games named `{}`", game.name);
        }
        let players: Vec<String> = self.player.iter().map(PlayerEntry::label).collect();
        if let Some(name) = self.on_demand.iter().find(|name| !players.contains(name)) {
            bail!("`on-demand` contains the unknown player `{name}`");
        }
        for game in &self.game {
            let pairings = self.game_pairings(game).len();
            if pairings == 0 {
                bail!("{} has no `pairings`", game.name);
            }
            if game.paper.len() > pairings {
                bail!("{} has {pairings} pairings, but {} published results", game.name, game.paper.len());
            }
        }
        Ok(())
    }

    /// Returns the part of a series that its report needs.
    pub fn series_info(&self) -> SeriesInfo {
        let game = |game: &SeriesGameOptions| SeriesGame {
            name: game.name.clone(),
            ours: game.ours,
            published: self.game_pairings(game).iter().cloned().zip(game.paper.iter().copied()).collect(),
        };
        SeriesInfo {
            title: self.title.clone().unwrap_or_default(),
            scoring: self.scoring.unwrap_or_default(),
            games: self.game.iter().map(game).collect(),
        }
    }

    /// Returns the games with these names or, without names, those that are not on demand.
    pub fn select_games(&self, names: &[String], all: bool) -> Result<Vec<&SeriesGameOptions>> {
        let known: Vec<&str> = self.game.iter().map(|game| game.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("the file has no game `{name}`{}", suggestion(name, "games", known));
        }
        let selected = |game: &&SeriesGameOptions| {
            if names.is_empty() { all || !game.on_demand } else { names.contains(&game.name) }
        };
        Ok(self.game.iter().filter(selected).collect())
    }

    /// Returns the options of the tournament of a game, or `None` if there is no rulesheet of it.
    pub fn game_options(&self, game: &SeriesGameOptions, all: bool) -> Result<Option<TournamentOptions>> {
        let mut paths = self.rulesheets.iter().map(|dir| dir.join(format!("{}.kif", game.name)));
        let Some(rules) = paths.find(|path| path.exists()) else { return Ok(None) };
        Ok(Some(self.for_game(game, rules, self.selected_pairings(game, all)?)))
    }

    /// Describes where the rulesheet of a game is missing.
    pub fn missing_rulesheet(&self, game: &SeriesGameOptions) -> String {
        let dirs: Vec<String> = self.rulesheets.iter().map(|dir| dir.display().to_string()).collect();
        format!(
            "no rulesheet of {} in {}; for the files in experiments/, `experiments/fetch.py` fetches the public ones",
            game.name,
            dirs.join(", ")
        )
    }

    /// Returns the milliseconds per step of a game.
    pub fn step_clock(&self, game: &SeriesGameOptions) -> Result<u64> {
        let seconds = game.clock.or(self.clock).with_context(|| format!("the file has no `clock` of {}", game.name))?;
        if !(0.001..=1e6).contains(&seconds) {
            bail!("expected a clock of {} of 0.001 to 1000000 seconds, got {seconds}", game.name);
        }
        Ok((1000.0 * seconds).round() as u64)
    }

    /// Returns the pairings of a game, without those on demand unless `all` is set.
    fn selected_pairings(&self, game: &SeriesGameOptions, all: bool) -> Result<Vec<[String; 2]>> {
        let left_out = |name: &String| !all && self.on_demand.contains(name);
        let pairings = self.game_pairings(game).iter().filter(|pairing| !pairing.iter().any(left_out));
        let pairings: Vec<[String; 2]> = pairings.cloned().collect();
        if pairings.is_empty() {
            bail!("all pairings of {} are on demand; --all plays them", game.name);
        }
        Ok(pairings)
    }

    fn game_pairings<'a>(&'a self, game: &'a SeriesGameOptions) -> &'a [[String; 2]] {
        game.pairings.as_ref().unwrap_or(&self.pairings)
    }
}

/// The key of the name of a file in the same folder, whose keys apply where a file has none.
const BASE: &str = "base";

/// Returns the name of the base of a file.
fn base_name(text: &str) -> Result<Option<String>> {
    let keys: Table = toml::from_str(text)?;
    let Some(base) = keys.get(BASE) else { return Ok(None) };
    let is_name = |name: &&str| Path::new(name).file_name().is_some_and(|file| file == *name);
    match base.as_str().filter(is_name) {
        Some(name) => Ok(Some(name.to_owned())),
        None => bail!("`base`: expected the name of a tournament file in the same folder, got `{base}`"),
    }
}

/// Checks that the numbers of a file are in the bounds of the flags with the names of their keys, also in the tables of
/// budgets, rounds, players and games. The messages are those of the command line.
fn check_numbers(text: &str) -> Result<(), toml::de::Error> {
    let flags = TournamentOptions::augment_args(Command::new("tournament").no_binary_name(true));
    NumberCheck { flags: &flags, key: "" }.deserialize(toml::Deserializer::parse(text)?).map(drop)
}

/// Checks the value of a key. The result of a number is its text.
#[derive(Clone, Copy)]
struct NumberCheck<'a> {
    flags: &'a Command,
    key: &'a str,
}

impl NumberCheck<'_> {
    fn number<E: de::Error>(self, text: String) -> Result<Option<String>, E> {
        let Some(flag) = self.flags.get_arguments().find(|flag| flag.get_long() == Some(self.key)) else {
            return Ok(Some(text));
        };
        let command = Command::new("file").no_binary_name(true).arg(flag.clone());
        match command.try_get_matches_from([format!("--{}={text}", self.key)]) {
            Err(error) if error.kind() == ErrorKind::ValueValidation => {
                Err(E::custom(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)))
            }
            // Values of another type are errors of the key.
            _ => Ok(Some(text)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for NumberCheck<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Option<String>, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NumberCheck<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<String>, E> {
        self.number(number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<String>, E> {
        self.number(number.to_string())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Option<String>, E> {
        self.number(number.to_string())
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<Option<String>, E> {
        self.number(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Option<String>, E> {
        self.number(format!("{number:?}"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<String>, E> {
        Ok(None)
    }

    /// A list of numbers has the text of the flag: the numbers with commas between them.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<String>, A::Error> {
        let mut numbers = Some(Vec::new());
        while let Some(text) = list.next_element_seed(NumberCheck { key: "", ..self })? {
            numbers = numbers.zip(text).map(|(numbers, text)| [numbers, vec![text]].concat());
        }
        match numbers.filter(|numbers| !numbers.is_empty()) {
            Some(numbers) => self.number(numbers.join(",")),
            None => Ok(None),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Option<String>, A::Error> {
        while let Some(key) = table.next_key::<String>()? {
            table.next_value_seed(NumberCheck { key: &key, flags: self.flags })?;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for a value of a key of a file.
    fn error(text: &str) -> String {
        TournamentOptions::parse(text).err().map_or_else(String::new, |error| crate::error::one_line(&error))
    }

    #[test]
    fn the_keys_of_a_file_replace_those_of_its_base() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("more.toml");
        let read = |base: &str, more: &str| {
            std::fs::write(dir.path().join("base.toml"), base).unwrap();
            std::fs::write(&path, more).unwrap();
            TournamentOptions::read(&path).map_err(|error| crate::error::one_line(&error).replace('\\', "/"))
        };
        let base = "games = 4\nseed = 7\nrounds-of-no-file = 1";
        let error = read(base, "base = 'base.toml'").err().unwrap();
        assert!(error.contains("base.toml: line 3, column 1") && error.contains("`rounds-of-no-file`"), "{error}");
        let base = "title = 'A'\nclock = 1\nrulesheets = ['rules']\npairings = [['greedy', 'random']]\n\
                    [[player]]\nname = 'greedy'\n[[player]]\nname = 'random'\n[[game]]\nname = 'a'\n";
        let options = read(base, "base = 'base.toml'\ntitle = 'B'\n[budget]\nnodes = 9").unwrap();
        assert_eq!((options.title.as_deref(), options.clock, options.player.len()), (Some("B"), Some(1.0), 2));
        assert_eq!((options.rulesheets, options.budget.nodes), (vec![dir.path().join("rules")], Some(9)));
        let others = read(base, "base = 'base.toml'\n[[player]]\nname = 'mast'").unwrap();
        assert_eq!((others.title.as_deref(), others.player.len()), (Some("A"), 1));
        for (base, more, message) in [
            (base, "base = '../base.toml'", "expected the name of a tournament file in the same folder"),
            (base, "base = 1", "got `1`"),
            (base, "base = 'none.toml'", "none.toml: cannot read"),
            (base, "base = 'base.toml'\ngames = 0", "line 2, column 9: expected a whole number"),
            (base, "base = 'base.toml'\nplys = 0", "`plys`"),
            ("base = 'base.toml'", "base = 'base.toml'", "`base`"),
        ] {
            let error = read(base, more).err().unwrap();
            assert!(error.contains(message), "{more}: {error}");
        }
    }

    #[test]
    fn numbers_have_the_bounds_and_the_messages_of_the_flags() {
        let whole = "expected a whole number from 1 to 18446744073709551615, e.g. 100000, 100_000, 100k or 2M";
        for (text, message) in [
            ("side = 5\ngames = 0", format!("line 2, column 9: {whole}, got `0`")),
            ("games = -1", format!("line 1, column 9: {whole}, got `-1`")),
            ("games = 1.5", format!("line 1, column 9: {whole}, got `1.5`")),
            (
                "ply-limit = 4294967296",
                "from 1 to 4294967295, e.g. 100000, 100_000, 100k or 2M, got `4294967296`".into(),
            ),
            ("opening-plies = 10001", "from 0 to 10000, got `10001`".into()),
            ("start = nan", "expected a number from 0 to 1000000, e.g. 0.5, got `NaN`".into()),
            ("patience = -0.5", "expected a number from 0 to 1000000, e.g. 0.5, got `-0.5`".into()),
            ("alpha = 1.5", "expected a number from 0 to 1, e.g. 0.5, got `1.5`".into()),
            ("sprt = [0, 501]", "expected a number from -500 to 500, e.g. 0.5, got `501`".into()),
            ("sprt = [1]", "expected two numbers separated by a comma".into()),
            ("[budget]\nnodes = 0", format!("line 2, column 9: {whole}, got `0`")),
            ("[[round]]\nname = 'a'\nbudget = { movetime = 0 }", format!("line 3, column 23: {whole}, got `0`")),
            (
                "player = [{ name = 'a', budget = { depth = 0 } }]",
                "expected a whole number from 1 to 4294967295".into(),
            ),
            ("[[game]]\nname = 'a'\ngames = 0", format!("line 3, column 9: {whole}, got `0`")),
        ] {
            assert!(error(text).contains(&message), "{text}: {}", error(text));
        }
        for text in ["games = 1", "sprt = [0, 5.5]", "start = 2", "lock-step = 0", "side = 'x'", "format = 3"] {
            assert!(!error(text).contains(" from "), "{text}: {}", error(text));
        }
    }
}

#[cfg(all(test, repository))]
mod experiments {
    use std::path::PathBuf;

    use sternhalma_data::RuleSet;

    use super::super::tournament::GameSpec;
    use super::*;

    /// The folders of the five papers and of our own experiments.
    const FOLDERS: [&str; 6] = ["roschke-2013", "tak-2012", "tak-2014", "sironi-2018", "swiechowski-2014", "own"];

    #[test]
    fn the_acceptance_matches_are_valid() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/acceptance");
        let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|name| name == "toml")).collect();
        assert!(files.len() >= 8);
        for path in files {
            let tournament = TournamentOptions::read(&path).unwrap().resolve(None).unwrap();
            tournament.spec.schedule().unwrap();
            let GameSpec::Board { rules, .. } = tournament.game else { panic!("{path:?}") };
            // The earlier player knows no other rules, and `fortress` shows what the rule prevents.
            let name = path.file_stem().unwrap().to_string_lossy();
            let has_paper_rules = name.starts_with("old") || name.starts_with("fortress-paper");
            assert_eq!(rules == RuleSet::Paper, has_paper_rules, "{}", path.display());
        }
    }

    #[test]
    fn the_files_of_the_experiments_are_valid() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let (mut found, mut boards, mut published) = (0, 0, 0);
        for path in FOLDERS.iter().flat_map(|folder| std::fs::read_dir(dir.join(folder)).unwrap()) {
            let path = path.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") || path.ends_with("conclusions.toml") {
                continue;
            }
            let series = TournamentOptions::read(&path).unwrap();
            if !series.is_series() {
                // Tables of a paper have its rules, whatever the default is. The lists of ratings are our own.
                let is_own = ["rating.toml", "levels.toml"].iter().any(|name| path.ends_with(name));
                let expected = if is_own { RuleSet::BlockedGoal1 } else { RuleSet::Paper };
                let tournament = series.resolve(None).unwrap();
                tournament.spec.schedule().unwrap();
                let GameSpec::Board { rules, .. } = tournament.game else { panic!("{path:?}") };
                assert_eq!(rules, expected, "{}", path.display());
                boards += 1;
                continue;
            }
            found += 1;
            let info = series.series_info();
            assert!(!info.title.is_empty(), "{}", path.display());
            assert!(!series.select_games(&[], false).unwrap().is_empty(), "{}", path.display());
            published += info.games.iter().map(|game| game.published.len()).sum::<usize>();
            for game in &series.game {
                let pairings = series.selected_pairings(game, true).unwrap();
                assert!(series.step_clock(game).unwrap() >= 1000);
                let options = series.for_game(game, PathBuf::new(), pairings);
                let known = |name: &String| options.player.iter().any(|player| player.label() == *name);
                assert!(options.pairings.iter().flatten().all(known), "{} {}", path.display(), game.name);
            }
        }
        assert!(found >= 33 && boards >= 9 && published >= 700, "{found}, {boards} files, {published} results");
    }
}
