//! The options of a tournament: flags of the command line, and keys of a TOML file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use sternhalma_data::RuleSet;
use sternhalma_ggp::arena::{
    Budget, Entrant, OpeningsError, Pairings, PublishedResult, RoundOptions, RulesEngine, Scoring, Shard, TimeControl,
    TournamentSpec,
};
use sternhalma_ggp::policy::PolicyText;

use super::limits::LimitArgs;
use super::player::players_file;
use super::rule_set::{DEFAULT_RULES, RulesOption};
use crate::values::{DEFAULT_PIECES, DEFAULT_SIZE, MAX_SECONDS, count, number, opening_plies};

/// The headings of the options in the help.
const GAME: &str = "Game";
const SCHEDULE: &str = "Schedule";
const CLOCKS: &str = "Clocks";
const TEST: &str = "Sequential test";
const PLAYERS: &str = "Players";
const RESOURCES: &str = "Resources";

/// The tournaments to which an option applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All tournaments.
    Any,
    /// One tournament, not a series of games.
    Single,
    /// Chinese Checkers.
    Board,
    /// Rulesheets.
    Rules,
}

/// Declares the options of a tournament. The single list gives the flags, the keys of the file,
/// the rule that flags override the file, and the scope of each option.
macro_rules! tournament_options {
    ($($(#[$attr:meta])* $scope:ident $field:ident: $type:ty,)*) => {
        /// The options of a tournament, as given. Flags and keys of a file have the same names.
        #[derive(Args, Deserialize, Clone, Default)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        pub struct TournamentOptions {
            $($(#[$attr])* $field: Option<$type>,)*
            #[command(flatten)]
            #[serde(skip)]
            limits: LimitArgs,
            /// Clock per game in seconds, e.g. 60+0.5; without a value, the clocks of a series file
            #[arg(long, value_name = "BASE+INCREMENT", help_heading = CLOCKS)]
            #[serde(skip)]
            time: Option<Option<TimeControl>>,
            /// In a file: the budget of all players.
            #[arg(skip)]
            pub budget: Budget,
            /// In a file: the pairings, by names of players.
            #[arg(skip)]
            pub pairings: Vec<[String; 2]>,
            /// In a file: the players.
            #[arg(skip)]
            pub player: Vec<PlayerEntry>,
            /// In a file: rounds with a budget each.
            #[arg(skip)]
            round: Vec<RoundOptions>,
            /// In a series file: the title of the report.
            #[arg(skip)]
            pub title: Option<String>,
            /// In a series file: the directories of the rulesheets.
            #[arg(skip)]
            pub rulesheets: Vec<PathBuf>,
            /// In a series file: the rule for points.
            #[arg(skip)]
            pub scoring: Option<Scoring>,
            /// In a series file: seconds per step.
            #[arg(skip)]
            pub clock: Option<f64>,
            /// In a series file: players whose pairings need `--all`.
            #[arg(skip)]
            pub on_demand: Vec<String>,
            /// In a series file: the games.
            #[arg(skip)]
            pub game: Vec<SeriesGameOptions>,
        }

        impl TournamentOptions {
            /// Returns the options of a file, with those that these flags set replaced.
            fn or_options(self, file: TournamentOptions) -> TournamentOptions {
                TournamentOptions { $($field: self.$field.or(file.$field),)* ..file }
            }

            /// Returns the names of the given options in some scopes.
            fn given(&self, scopes: &[Scope]) -> Vec<String> {
                let all = [$((stringify!($field), Scope::$scope, self.$field.is_some()),)*];
                let given = all.into_iter().filter(|(_, scope, given)| *given && scopes.contains(scope));
                given.map(|(name, ..)| name.replace('_', "-")).collect()
            }
        }
    };
}

tournament_options! {
    /// Board size [default: 9]
    #[arg(long, value_name = "N", value_parser = count::<u64>(0), help_heading = GAME)]
    Board side: u64,
    /// Pieces per side [default: 6]
    #[arg(long, value_name = "N", value_parser = count::<u64>(0), help_heading = GAME)]
    Board pieces: u64,
    /// Rules of Chinese Checkers, paper or blocked-goal, or a rulesheet to play instead [default: blocked-goal]
    #[arg(long, value_name = "RULES|FILE", help_heading = GAME)]
    Single rules: RulesOption,
    /// How to play the rulesheet [default: sequential, or prover if there is no network]
    #[arg(long, value_enum, help_heading = GAME)]
    Rules engine: RulesEngineArg,
    /// Play a rulesheet also if `gdl check` reports errors
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    Rules lenient: bool,
    /// Pairings [default: round-robin]
    #[arg(long, visible_alias = "pairing", value_enum, help_heading = SCHEDULE)]
    Single format: PairingFormat,
    /// Games per pairing, in pairs with sides exchanged [default: 20, or up to 100000 with --sprt]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1), help_heading = SCHEDULE)]
    Any games: u64,
    /// Random plies before the players take over [default: 2]
    #[arg(long, value_name = "PLIES", value_parser = opening_plies, help_heading = SCHEDULE)]
    Any opening_plies: u32,
    /// File with an opening per line, each played by all pairings
    #[arg(long, value_name = "FILE", help_heading = SCHEDULE)]
    Single openings: PathBuf,
    /// Seed of openings and players [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u64>(0), help_heading = SCHEDULE)]
    Any seed: u64,
    /// Ply at which a game is drawn [default: 1000]
    #[arg(long, value_name = "PLIES", value_parser = count::<u32>(1), help_heading = GAME)]
    Any ply_limit: u32,
    /// End a game when the armies are separated; the table decides the winner
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", help_heading = GAME)]
    Board adjudicate: bool,
    /// Let all players think in every step, also if they do not act
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", help_heading = CLOCKS)]
    Rules ponder: bool,
    /// Start clock, as a multiple of the budget per move [default: 0]
    #[arg(long, value_name = "RATIO", value_parser = number(0.0..=1e6), help_heading = CLOCKS)]
    Rules start: f64,
    /// Play games in lock step, which is faster with budgets of counts [default: 128 games per thread]
    #[arg(long, num_args = 0..=1, default_missing_value = "0", value_name = "GAMES", value_parser = count::<usize>(0), help_heading = RESOURCES)]
    Rules lock_step: usize,
    /// Tolerance for late moves in milliseconds [default: 100]
    #[arg(long, value_name = "MS", value_parser = count::<u64>(0), help_heading = CLOCKS)]
    Any margin: u64,
    /// Seconds after its time before a player is declared hung [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = number(0.0..=MAX_SECONDS), help_heading = CLOCKS)]
    Any patience: f64,
    /// End a pairing when a sequential test of nElo LOW (H0) against HIGH (H1) decides
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, value_parser = strengths, help_heading = TEST)]
    Any sprt: [f64; 2],
    /// Probability of accepting H1 if H0 is true [default: 0.05]
    #[arg(long, value_name = "P", value_parser = number(0.0..=1.0), help_heading = TEST)]
    Any alpha: f64,
    /// Probability of accepting H0 if H1 is true [default: 0.05]
    #[arg(long, value_name = "P", value_parser = number(0.0..=1.0), help_heading = TEST)]
    Any beta: f64,
    /// TOML file with additional players
    #[arg(long, value_name = "FILE", value_parser = players_file, help_heading = PLAYERS)]
    Board players: PathBuf,
    /// Distance table [default: the full table of the board in the tables directory]
    #[arg(long, value_name = "FILE", help_heading = PLAYERS)]
    Board table: PathBuf,
}

/// An engine for rulesheets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum RulesEngineArg {
    /// Network
    Sequential,
    /// Prover
    Prover,
}

/// The choice of pairings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairingFormat {
    /// All players against each other
    RoundRobin,
    /// The first player against all others
    Gauntlet,
}

/// A player of a tournament.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlayerEntry {
    name: Option<String>,
    /// Whether the name only distinguishes the second of two equal players.
    #[serde(skip)]
    copy: bool,
    /// A player of the engine, or a policy for a rulesheet. The default is the name.
    player: Option<PolicyText>,
    /// The command line of an external program.
    command: Option<String>,
    /// The options of the program.
    pub options: BTreeMap<String, String>,
    /// The directory in which the program runs.
    pub dir: Option<PathBuf>,
    /// The player's own distance table.
    pub table: Option<PathBuf>,
    budget: Budget,
}

/// A game of a series file, with the options that differ from the other games.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SeriesGameOptions {
    pub name: String,
    /// Whether the rulesheet was written for this project.
    #[serde(default)]
    pub ours: bool,
    /// Whether the game is played only on request.
    #[serde(default)]
    pub on_demand: bool,
    pub games: Option<u64>,
    pub start: Option<f64>,
    pub clock: Option<f64>,
    #[serde(default)]
    pub budget: Budget,
    pub pairings: Option<Vec<[String; 2]>>,
    /// By pairing: published results.
    #[serde(default)]
    pub paper: Vec<PublishedResult>,
}

/// The kind of a player, with its text.
#[derive(Clone, Copy)]
pub enum PlayerKind<'a> {
    BuiltIn(&'a str),
    External(&'a str),
}

impl PlayerEntry {
    /// Creates a player from the command line: a name, or `ugi:COMMAND`.
    pub fn from_argument(text: &str) -> PlayerEntry {
        let command = text.strip_prefix("ugi:").map(|command| command.trim().to_owned());
        let player = command.is_none().then(|| PolicyText(text.to_owned()));
        PlayerEntry { player, command, ..PlayerEntry::default() }
    }

    pub fn kind(&self) -> Result<PlayerKind<'_>> {
        match (&self.player, &self.command, &self.name) {
            (None, Some(command), _) => Ok(PlayerKind::External(command)),
            (Some(PolicyText(player)), None, _) | (None, None, Some(player)) => Ok(PlayerKind::BuiltIn(player)),
            _ => bail!("expected a player with a `name`, and with either a `player` or a `command`"),
        }
    }

    /// Returns the same player under a name that distinguishes it from the first.
    pub fn copied(self, name: String) -> PlayerEntry {
        PlayerEntry { name: Some(name), copy: true, ..self }
    }

    /// Returns whether the user has given the player a name.
    pub fn is_named(&self) -> bool {
        self.name.is_some() && !self.copy
    }

    /// Returns the name in results.
    pub fn label(&self) -> String {
        let player = self.player.iter().map(|PolicyText(text)| text);
        self.name.iter().chain(player).chain(&self.command).next().cloned().unwrap_or_default()
    }
}

/// Parses two numbers with a comma between them.
fn strengths(text: &str) -> Result<[f64; 2]> {
    let (low, high) = text.split_once(',').context("expected two numbers separated by a comma, e.g. `0,5`")?;
    let number = |text| number(-500.0..=500.0)(text).map_err(anyhow::Error::msg);
    Ok([number(low)?, number(high)?])
}

/// A tournament to play.
pub struct PlannedTournament {
    pub game: GameSpec,
    pub players: Vec<PlayerEntry>,
    /// Everything else. It includes the openings.
    pub spec: TournamentSpec,
    /// The file of the openings.
    pub openings: Option<OpeningsFile>,
}

/// The game of a tournament.
pub enum GameSpec {
    Rules { path: PathBuf, engine: RulesEngine, lenient: bool },
    Board { size: u64, pieces: u64, rules: RuleSet, table: Option<PathBuf>, players: Option<PathBuf> },
}

impl TournamentOptions {
    /// Makes the paths of a file relative to its directory.
    pub fn resolve_paths(mut self, dir: &Path) -> TournamentOptions {
        // A table may also be the name of one in the tables directory.
        let tables = self.player.iter_mut().map(|player| &mut player.table).chain([&mut self.table]).flatten();
        tables.filter(|table| dir.join(&**table).exists()).for_each(|table| *table = dir.join(&*table));
        let dirs = self.player.iter_mut().filter_map(|player| player.dir.as_mut());
        self.rules = self.rules.map(|rules| rules.in_dir(dir));
        let files = [&mut self.openings, &mut self.players].into_iter().flatten();
        dirs.chain(files).chain(&mut self.rulesheets).for_each(|path| *path = dir.join(&*path));
        self
    }

    /// Returns these options with other players.
    pub fn with_players(self, player: Vec<PlayerEntry>) -> TournamentOptions {
        TournamentOptions { player, ..self }
    }

    /// Returns whether the options are those of a series of games.
    pub fn is_series(&self) -> bool {
        !self.game.is_empty()
    }

    /// Returns the names of the given options that apply to one tournament, and not to a series.
    pub fn single_options(&self) -> Vec<String> {
        let mut names = self.given(&[Scope::Single, Scope::Board]);
        names.extend((!self.round.is_empty()).then(|| "round".to_owned()));
        names
    }

    /// Returns the options of a file, overridden by these flags.
    pub fn or(self, mut file: TournamentOptions) -> Result<TournamentOptions> {
        let budget = self.flag_budget()?;
        if budget != Budget::default() {
            if !file.round.is_empty() {
                bail!("the rounds of the file have their own budgets; do not give limits on the command line");
            }
            file.budget = budget;
        }
        if self.games.is_some() {
            file.round.iter_mut().for_each(|round| round.games = None);
        }
        if !self.player.is_empty() {
            file.player.clone_from(&self.player);
            file.pairings.clear();
        }
        if self.format.is_some() {
            file.pairings.clear();
        }
        Ok(self.or_options(file))
    }

    /// Returns the limits of the command line.
    pub fn flag_budget(&self) -> Result<Budget> {
        if self.time == Some(None) {
            bail!("--time needs a clock, e.g. `--time 60+0.5`; only a series file has clocks of its own");
        }
        Ok(Budget { time: self.time.flatten(), ..self.limits.budget() })
    }

    /// Takes the flag `--time` without a value, which selects the clocks of a series file.
    pub fn take_file_clocks(&mut self) -> bool {
        self.time.take_if(|time| time.is_none()).is_some()
    }

    /// Returns the options of one game of a series.
    pub fn for_game(&self, game: &SeriesGameOptions, rules: PathBuf, pairings: Vec<[String; 2]>) -> TournamentOptions {
        let plays = |player: &&PlayerEntry| pairings.iter().flatten().any(|name| *name == player.label());
        TournamentOptions {
            rules: Some(RulesOption::Sheet(rules)),
            games: game.games.or(self.games),
            start: game.start.or(self.start),
            budget: game.budget.or(self.budget),
            player: self.player.iter().filter(plays).cloned().collect(),
            pairings,
            game: Vec::new(),
            ..self.clone()
        }
    }

    /// Replaces all limits by a time per move. Clocks exclude games in lock step.
    pub fn set_movetime(&mut self, milliseconds: u64) {
        self.budget = Budget { movetime: Some(milliseconds), ..Budget::default() };
        self.lock_step = None;
    }

    /// Plays no games in lock step.
    pub fn clear_lock_step(&mut self) {
        self.lock_step = None;
    }

    /// Checks the options and returns the tournament. Parsing has checked the bounds of all numbers.
    pub fn resolve(self, shard: Option<Shard>) -> Result<PlannedTournament> {
        let budgets = self.player.iter().map(|player| (player.label(), player.budget));
        let openings = self.openings.as_deref().map(OpeningsFile::read).transpose()?;
        let spec = TournamentSpec {
            entrants: budgets.map(|(name, budget)| Entrant { budget, ..Entrant::named(name) }).collect(),
            pairings: self.pairings()?,
            rounds: self.round.clone(),
            games: self.games,
            budget: self.flag_budget()?.or(self.budget),
            opening_plies: self.opening_plies,
            openings: openings.as_ref().map(OpeningsFile::texts).unwrap_or_default(),
            ply_limit: self.ply_limit,
            adjudicate: self.adjudicate.unwrap_or(false),
            ponder: self.ponder.unwrap_or(false),
            start: self.start.unwrap_or(0.0),
            margin: self.margin,
            patience: self.patience.map(Duration::from_secs_f64),
            seed: self.seed,
            sprt: self.sprt,
            alpha: self.alpha,
            beta: self.beta,
            shard,
        };
        Ok(PlannedTournament { game: self.game_spec()?, players: self.player, spec, openings })
    }

    fn game_spec(&self) -> Result<GameSpec> {
        let mut given = self.clone();
        // A default that is spelled out fits every game.
        given.adjudicate = given.adjudicate.filter(|&on| on);
        given.ponder = given.ponder.filter(|&on| on);
        given.lenient = given.lenient.filter(|&on| on);
        given.start = given.start.filter(|&ratio| ratio != 0.0);
        let path = match self.rules.clone().unwrap_or(RulesOption::Set(DEFAULT_RULES)) {
            RulesOption::Sheet(path) => path,
            RulesOption::Set(rules) => return self.board_spec(&given, rules),
        };
        let foreign = given.given(&[Scope::Board]);
        if !foreign.is_empty() {
            bail!("{} applies to Chinese Checkers, and this is a rulesheet", foreign.join(", "));
        }
        let engine = match (self.engine, self.lock_step) {
            (Some(RulesEngineArg::Prover), Some(_)) => {
                bail!("games in lock step need the network; leave out --engine prover")
            }
            (_, Some(games)) => RulesEngine::LockStep(games),
            (Some(RulesEngineArg::Prover), None) => RulesEngine::Prover,
            (Some(RulesEngineArg::Sequential), None) => RulesEngine::Network,
            (None, None) => RulesEngine::Auto,
        };
        Ok(GameSpec::Rules { path, engine, lenient: self.lenient.unwrap_or(false) })
    }

    /// Returns a game of Chinese Checkers. `given` has the options other than defaults.
    fn board_spec(&self, given: &TournamentOptions, rules: RuleSet) -> Result<GameSpec> {
        let foreign = given.given(&[Scope::Rules]);
        if !foreign.is_empty() {
            bail!(
                "{} applies to rulesheets, and this is Chinese Checkers; --rules names a rulesheet",
                foreign.join(", ")
            );
        }
        let (size, pieces) = (self.side.unwrap_or(DEFAULT_SIZE), self.pieces.unwrap_or(DEFAULT_PIECES));
        Ok(GameSpec::Board { size, pieces, rules, table: self.table.clone(), players: self.players.clone() })
    }

    fn pairings(&self) -> Result<Pairings> {
        match (self.format, &self.pairings[..]) {
            (None | Some(PairingFormat::RoundRobin), []) => Ok(Pairings::RoundRobin),
            (Some(PairingFormat::Gauntlet), []) => Ok(Pairings::Gauntlet),
            (None, named) => Ok(Pairings::Named(named.to_vec())),
            (Some(_), _) => bail!("expected either `pairings` or a format, got both"),
        }
    }
}

/// A file of openings: one per line, without empty lines and comments.
pub struct OpeningsFile {
    path: PathBuf,
    /// The openings, each with the number of its line, from 1.
    lines: Vec<(usize, String)>,
}

impl OpeningsFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or contains no openings.
    pub fn read(path: &Path) -> Result<OpeningsFile> {
        let text =
            sternhalma_ggp::messages::read_text(path).with_context(|| format!("{}: cannot read", path.display()))?;
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let lines: Vec<(usize, String)> = lines.map(|(number, line)| (number, line.to_owned())).collect();
        if lines.is_empty() {
            bail!("{}: the file contains no openings", path.display());
        }
        Ok(OpeningsFile { path: path.to_owned(), lines })
    }

    /// Returns the openings.
    pub fn texts(&self) -> Vec<String> {
        self.lines.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Returns an error about the openings with the file and the line.
    pub fn locate(&self, error: OpeningsError) -> anyhow::Error {
        match error {
            OpeningsError::Listed { index, reason } => {
                anyhow!(reason).context(format!("{}: line {}", self.path.display(), self.lines[index].0))
            }
            error => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_overrides_the_file() {
        let file: TournamentOptions = toml::from_str("side = 5\nponder = true\nstart = 2.0\nseed = 3").unwrap();
        let flags: TournamentOptions = toml::from_str("seed = 4\nponder = false\nalpha = 0.1").unwrap();
        let merged = flags.or(file).unwrap();
        assert_eq!((merged.side, merged.ponder, merged.start), (Some(5), Some(false), Some(2.0)));
        assert_eq!((merged.seed, merged.alpha), (Some(4), Some(0.1)));
    }

    #[test]
    fn options_of_the_other_kind_of_game_are_refused() {
        let error = |text: &str| {
            let options: TournamentOptions = toml::from_str(text).unwrap();
            options.game_spec().err().map(|error| error.to_string())
        };
        assert_eq!(error("side = 5\nponder = false\nstart = 0.0"), None);
        assert_eq!(error("rules = 'x.kif'\nadjudicate = false\nponder = true"), None);
        assert!(
            error("lock-step = 3\nengine = 'prover'").unwrap().starts_with("engine, lock-step applies to rulesheets")
        );
        assert!(error("rules = 'x.kif'\nside = 5").unwrap().starts_with("side applies to Chinese Checkers"));
        assert!(error("rules = 'x.kif'\nlock-step = 0\nengine = 'prover'").unwrap().contains("need the network"));
    }

    #[test]
    fn an_error_in_a_file_has_its_line() {
        for text in ["side = 5\ngmaes = 3\n", "title = 'x'\ngmaes = 3\n[[game]]\nname = 'a'\n"] {
            let error = toml::from_str::<TournamentOptions>(text).err().unwrap().to_string();
            assert!(error.contains("line 2") && error.contains("unknown field `gmaes`"), "{error}");
        }
    }
}
