//! Tournament files: one tournament, or a series with one per game.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sternhalma_ggp::arena::{SeriesGame, SeriesInfo};
use sternhalma_ggp::messages::suggestion;

use super::tournament::{PlayerEntry, SeriesGameOptions, TournamentOptions};

impl TournamentOptions {
    /// Reads the options of a file. Paths in a file are relative to its directory.
    pub fn read(path: &Path) -> Result<TournamentOptions> {
        let text =
            sternhalma_ggp::messages::read_text(path).with_context(|| format!("{}: cannot read", path.display()))?;
        let options = TournamentOptions::parse(&text).with_context(|| path.display().to_string())?;
        Ok(options.resolve_paths(path.parent().unwrap_or(Path::new(""))))
    }

    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<TournamentOptions> {
        let options: TournamentOptions = toml::from_str(text)?;
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use sternhalma_data::RuleSet;

    use super::super::tournament::GameSpec;
    use super::*;

    #[test]
    fn the_acceptance_matches_are_valid() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/acceptance");
        let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|name| name == "toml")).collect();
        assert!(files.len() >= 8);
        for path in files {
            let tournament = TournamentOptions::read(&path).unwrap().resolve(None).unwrap();
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
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let series = TournamentOptions::read(&path).unwrap();
            if !series.is_series() {
                // Tables of a paper have its rules, whatever the default is. The lists of ratings are our own.
                let is_own = ["rating.toml", "levels.toml"].iter().any(|name| path.ends_with(name));
                let expected = if is_own { RuleSet::BlockedGoal1 } else { RuleSet::Paper };
                let GameSpec::Board { rules, .. } = series.resolve(None).unwrap().game else { panic!("{path:?}") };
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
