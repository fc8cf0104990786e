//! A file of games, as TOML has it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sternhalma_ggp::arena::{Budget, Scoring};

use super::super::settings::{Player, Settings};

/// A file of a tournament, or of one a game.
pub enum File {
    One(Settings),
    Games(Series),
}

/// One tournament a game.
pub struct Series {
    keys: Keys,
    /// What is the same in all games.
    settings: Settings,
    /// Where rulesheets are looked for.
    rulesheets: Vec<PathBuf>,
}

/// What a file of games has beyond the settings of a tournament.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Keys {
    #[serde(default)]
    title: String,
    #[serde(default)]
    rulesheets: Vec<PathBuf>,
    #[serde(default)]
    scoring: Scoring,
    /// Seconds of a step.
    clock: Option<f64>,
    /// Players whose pairings are played if asked for.
    #[serde(default)]
    on_demand: Vec<String>,
    game: Vec<Game>,
}

/// A file that has one of them is a file of games.
const KEYS: [&str; 6] = ["title", "rulesheets", "scoring", "clock", "on-demand", "game"];

/// A game, with what is not as in the others.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Game {
    pub name: String,
    /// Whether the rulesheet is made from a description.
    #[serde(default)]
    pub ours: bool,
    /// Whether it is played only if asked for.
    #[serde(default)]
    on_demand: bool,
    games: Option<u64>,
    start: Option<f64>,
    clock: Option<f64>,
    #[serde(default)]
    budget: Budget,
    pairings: Option<Vec<[String; 2]>>,
    /// By pairing: the figures of a paper.
    #[serde(default)]
    paper: Vec<Paper>,
}

/// A paper's figure: percent of the points of the first player, or the mean
/// goals of both.
#[derive(Deserialize, Serialize, Clone, Copy, PartialEq, Debug)]
#[serde(untagged)]
pub enum Paper {
    Points(f64),
    Goals([f64; 2]),
}

impl Paper {
    pub fn figures(&self) -> &[f64] {
        match self {
            Paper::Points(points) => std::slice::from_ref(points),
            Paper::Goals(goals) => goals,
        }
    }
}

impl File {
    /// Reads a file. Paths in it are seen from where it is.
    pub fn read(path: &Path) -> Result<File> {
        let told = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
        let mut table: toml::Table = toml::from_str(&text).with_context(told)?;
        let keys: toml::Table = KEYS.iter().filter_map(|&key| Some((key.to_owned(), table.remove(key)?))).collect();
        let dir = path.parent().unwrap_or(Path::new(""));
        if keys.is_empty() {
            // Read as text, so that an error tells its line.
            let settings: Settings = toml::from_str(&text).with_context(told)?;
            return Ok(File::One(settings.seen_from(dir)));
        }
        if !keys.contains_key("game") {
            let names: Vec<&String> = keys.keys().collect();
            bail!("{}: {names:?} are of a file of games, and there is no [[game]]", path.display());
        }
        let keys: Keys = keys.try_into().with_context(told)?;
        let settings: Settings = table.try_into().with_context(told)?;
        let rulesheets = keys.rulesheets.iter().map(|told| dir.join(told)).collect();
        let series = Series { settings: settings.seen_from(dir), rulesheets, keys };
        series.check().with_context(told)?;
        Ok(File::Games(series))
    }
}

impl Series {
    /// Reads a file of games.
    pub fn read(path: &Path) -> Result<Series> {
        match File::read(path)? {
            File::Games(series) => Ok(series),
            File::One(_) => bail!("{}: it is no file of games: there is no [[game]]", path.display()),
        }
    }

    fn check(&self) -> Result<()> {
        let foreign = self.settings.of_one_game();
        if !foreign.is_empty() {
            bail!("a file of games cannot have {}", foreign.join(", "));
        }
        let mut names = BTreeSet::new();
        if let Some(game) = self.keys.game.iter().find(|game| !names.insert(&game.name)) {
            bail!("there are two games named `{}`", game.name);
        }
        let players: Vec<String> = self.settings.player.iter().map(Player::label).collect();
        if let Some(name) = self.keys.on_demand.iter().find(|name| !players.contains(name)) {
            bail!("`{name}` is on demand, who does not take part");
        }
        for game in &self.keys.game {
            let pairings = self.pairings(game).len();
            if pairings == 0 {
                bail!("there are no `pairings` of {}", game.name);
            }
            if game.paper.len() > pairings {
                bail!("{} has {pairings} pairings, and {} figures of a paper", game.name, game.paper.len());
            }
        }
        Ok(())
    }

    pub fn title(&self) -> &str {
        &self.keys.title
    }

    pub fn scoring(&self) -> Scoring {
        self.keys.scoring
    }

    pub fn games(&self) -> &[Game] {
        &self.keys.game
    }

    /// The games of these names, or all but those on demand if none is told.
    pub fn chosen(&self, names: &[String], all: bool) -> Result<Vec<&Game>> {
        let known: Vec<&str> = self.keys.game.iter().map(|game| game.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("the file has no game `{name}`; it has {}", known.join(", "));
        }
        let wanted = |game: &&Game| if names.is_empty() { all || !game.on_demand } else { names.contains(&game.name) };
        Ok(self.keys.game.iter().filter(wanted).collect())
    }

    /// The rulesheet of a game, in the first directory that has it.
    pub fn rulesheet(&self, game: &Game) -> Result<PathBuf> {
        let mut places = self.rulesheets.iter().map(|dir| dir.join(format!("{}.kif", game.name)));
        places.find(|path| path.exists()).with_context(|| {
            let dirs: Vec<String> = self.rulesheets.iter().map(|dir| dir.display().to_string()).collect();
            format!("no rulesheet of {} in {}", game.name, dirs.join(", "))
        })
    }

    /// The tournament of a game, without the pairings on demand or with `all`.
    pub fn settings(&self, game: &Game, rules: PathBuf, all: bool) -> Result<Settings> {
        let left_out = |name: &String| !all && self.keys.on_demand.contains(name);
        let pairings: Vec<[String; 2]> =
            self.pairings(game).iter().filter(|pairing| !pairing.iter().any(left_out)).cloned().collect();
        if pairings.is_empty() {
            bail!("all pairings of {} are on demand; --all plays them", game.name);
        }
        let plays = |player: &&Player| pairings.iter().flatten().any(|name| *name == player.label());
        Ok(Settings {
            rules: Some(rules),
            games: game.games.or(self.settings.games),
            start: game.start.or(self.settings.start),
            budget: game.budget.or(self.settings.budget),
            player: self.settings.player.iter().filter(plays).cloned().collect(),
            pairings,
            ..self.settings.clone()
        })
    }

    /// Milliseconds of a step of a game.
    pub fn clock(&self, game: &Game) -> Result<u64> {
        let seconds = game.clock.or(self.keys.clock);
        let seconds = seconds.with_context(|| format!("the file tells no `clock` of {}", game.name))?;
        match (0.001..=1e6).contains(&seconds) {
            true => Ok((1000.0 * seconds).round() as u64),
            false => bail!("the clock of {} is a number of seconds from 0.001 to a million, not {seconds}", game.name),
        }
    }

    /// The paper's figure of a pairing.
    pub fn paper(&self, game: &str, pairing: [&str; 2]) -> Option<Paper> {
        let game = self.keys.game.iter().find(|known| known.name == game)?;
        let at = self.pairings(game).iter().position(|[a, b]| [a.as_str(), b.as_str()] == pairing)?;
        game.paper.get(at).copied()
    }

    fn pairings<'a>(&'a self, game: &'a Game) -> &'a [[String; 2]] {
        game.pairings.as_ref().unwrap_or(&self.settings.pairings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_ship_are_read() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let (mut found, mut figures) = (0, 0);
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let File::Games(series) = File::read(&path).unwrap() else { continue };
            found += 1;
            assert!(!series.title().is_empty() && !series.chosen(&[], false).unwrap().is_empty(), "{}", path.display());
            for game in series.games() {
                let settings = series.settings(game, PathBuf::new(), true).unwrap();
                assert!(series.clock(game).unwrap() >= 1000);
                let known = |name: &String| settings.player.iter().any(|player| player.label() == *name);
                assert!(settings.pairings.iter().flatten().all(known), "{} {}", path.display(), game.name);
                let paper = |[a, b]: &[String; 2]| series.paper(&game.name, [a, b]);
                figures += settings.pairings.iter().filter_map(paper).count();
            }
        }
        assert!(found >= 33 && figures >= 700, "{found} files, {figures} figures");
    }
}
