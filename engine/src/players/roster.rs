//! Named players, from files of players and from texts.

use std::collections::BTreeMap;

use sternhalma_ggp::Policy;
use sternhalma_ggp::messages::{nearest, suggestion};
use sternhalma_ggp::param_table::{ParamError, key_value, number};
use sternhalma_ggp::policy::{NAMED_POLICIES, WrongParameter};
use thiserror::Error;
use toml::{Table, Value};

use crate::players::config::Config;
use crate::players::level::Level;

/// An error in a player's configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("the players are not valid TOML")]
    Toml(#[from] toml::de::Error),
    /// The player does not exist.
    #[error("there is no player `{name}`{suggestion}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A player with a similar name, or the available names.
        suggestion: String,
    },
    /// The player's table is invalid.
    #[error("player `{name}`: {why}")]
    Player {
        /// The player.
        name: String,
        /// The reason.
        why: Box<PlayerError>,
    },
}

/// Why a table or a text defines no player.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlayerError {
    /// The table has a form that no player has.
    #[error("{0}")]
    Table(String),
    /// A parameter cannot be set.
    #[error(transparent)]
    Parameter(#[from] WrongParameter),
    /// Parameters do not fit together.
    #[error(transparent)]
    Parts(#[from] ParamError),
}

impl PlayerError {
    fn table(why: impl Into<String>) -> PlayerError {
        PlayerError::Table(why.into())
    }
}

/// A set of named players.
#[derive(Clone, Debug)]
pub struct Roster {
    players: BTreeMap<String, Table>,
    /// The descriptions of the players that have one.
    about: BTreeMap<String, String>,
}

/// The key of a player's description.
const ABOUT: &str = "about";

impl Roster {
    /// Returns the built-in players.
    pub fn built_in() -> Roster {
        Roster::parse(include_str!("../../players.toml")).expect("the players that ship are well-formed")
    }

    /// Parses players from TOML, with one table per player.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not TOML or a player is not a table.
    pub fn parse(text: &str) -> Result<Roster, ConfigError> {
        let (mut players, mut about) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in text.parse::<Table>()? {
            let Value::Table(mut table) = value else {
                return Err(ConfigError::Player { name, why: Box::new(PlayerError::table("it is no table")) });
            };
            match table.remove(ABOUT) {
                None => {}
                Some(Value::String(text)) => drop(about.insert(name.clone(), text)),
                Some(_) => {
                    return Err(ConfigError::Player {
                        name,
                        why: Box::new(PlayerError::table("`about` is not a text")),
                    });
                }
            }
            players.insert(name, table);
        }
        Ok(Roster { players, about })
    }

    /// Adds players. The new players replace players with the same name.
    pub fn add(&mut self, other: Roster) {
        self.about.retain(|name, _| !other.players.contains_key(name));
        self.players.extend(other.players);
        self.about.extend(other.about);
    }

    /// Returns the description of a player, in one line, if it has one.
    pub fn about(&self, name: &str) -> Option<&str> {
        self.about.get(name).map(String::as_str)
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.players.keys().map(String::as_str)
    }

    /// Returns the configuration of a player: `name`, or `name,key=value,…`
    /// with some parameters changed, in order.
    ///
    /// The name may also be that of a policy, whose playouts continue to the
    /// end unless they are configured otherwise.
    ///
    /// # Errors
    ///
    /// Returns an error if the player does not exist or its parameters are
    /// invalid.
    pub fn config(&self, text: &str) -> Result<Config, ConfigError> {
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default().trim();
        let wrong = |why: PlayerError| ConfigError::Player { name: name.to_owned(), why: Box::new(why) };
        let mut config = match (self.resolve(name, 0), name.parse::<Policy>()) {
            (Err(ConfigError::Unknown { .. }), Ok(policy)) => Config::of_policy(policy),
            (known, _) => known?,
        };
        let mut pairs = Vec::new();
        for change in words {
            let (key, text) =
                key_value(change).ok_or_else(|| wrong(PlayerError::Table(format!("`{change}` is not `key=value`"))))?;
            // Quotation marks, which `key_value` removes, make a text.
            let is_text = change.trim_end().ends_with(['"', '\'']) && !text.ends_with(['"', '\'']);
            pairs.push((key, text, is_text));
        }
        if pairs.iter().any(|(key, ..)| *key == "kind") {
            let value = |text: &str, is_text| if is_text { Value::String(text.to_owned()) } else { typed_value(text) };
            let own = pairs.into_iter().map(|(key, text, is_text)| (key.to_owned(), value(text, is_text))).collect();
            config = Config::defined(Some(config), own).map_err(wrong)?;
        } else {
            let set = config.set_values(pairs.into_iter().map(|(key, text, _)| (key, text)));
            set.map_err(|why| wrong(why.into()))?;
        }
        config.check().map_err(wrong)?;
        Ok(config)
    }

    /// Returns a player, with the inherited parameters.
    fn resolve(&self, name: &str, depth: usize) -> Result<Config, ConfigError> {
        let unknown = || {
            let policies = NAMED_POLICIES.iter().map(|policy| policy.name);
            let level = name.strip_prefix("level").filter(|level| level.parse::<Level>().is_ok());
            let suggestion = match nearest(name, self.names().chain(policies)) {
                _ if let Some(level) = level => format!("; did you mean `sternhalma,level={level}`?"),
                Some(similar) => format!("; did you mean `{similar}`?"),
                None => suggestion(name, "players", self.names()) + ", and policies such as `nst`",
            };
            ConfigError::Unknown { name: name.to_owned(), suggestion }
        };
        let wrong = |why: PlayerError| ConfigError::Player { name: name.to_owned(), why: Box::new(why) };
        if depth > self.players.len() {
            return Err(wrong(PlayerError::table("it is like itself")));
        }
        let mut own = self.players.get(name).ok_or_else(unknown)?.clone();
        let like = match own.remove("like") {
            Some(Value::String(like)) => Some(self.resolve(&like, depth + 1)?),
            Some(_) => return Err(wrong(PlayerError::table("`like` is no name"))),
            None => None,
        };
        Config::defined(like, own).map_err(wrong)
    }
}

/// Returns the value of a parameter of another kind of player: a number, a truth value or a text.
fn typed_value(text: &str) -> Value {
    let boolean = || text.parse().ok().map(Value::Boolean);
    let whole = || number(text).map(Value::Integer);
    let float = || number(text).map(Value::Float);
    boolean().or_else(whole).or_else(float).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::players::config::{PlayoutEnd, UctConfig};
    use crate::rules::Filter;

    /// Returns the parameters of a UCT player.
    fn uct(roster: &Roster, text: &str) -> UctConfig {
        match roster.config(text).unwrap() {
            Config::Uct(uct) => uct,
            other => panic!("{text}: {other:?} is no UCT player"),
        }
    }

    #[test]
    fn every_player_that_ships_is_complete() {
        let roster = Roster::built_in();
        assert_eq!(roster.names().count(), 19);
        for name in roster.names() {
            roster.config(name).unwrap();
            assert!(roster.about(name).is_some_and(|about| about.len() < 90), "{name}");
        }
        let mut own = roster;
        own.add(Roster::parse("[heur0]\nlike = 'base0'\n[mine]\nlike = 'mcts'\nabout = 'my own'").unwrap());
        assert_eq!((own.about("heur0"), own.about("mine"), own.about("unknown")), (None, Some("my own"), None));
        assert!(Roster::parse("[mine]\nabout = 3").unwrap_err().to_string().contains("`about` is not a text"));
    }

    #[test]
    fn printed_values_of_the_paper_are_those_that_ship() {
        let roster = Roster::built_in();
        let uct = |name: &str| uct(&roster, name);
        for (name, moves, random, threshold, depth) in [
            ("base0", Filter::Forward, 0.17, 18, 0),
            ("base1", Filter::NonBackward, 0.14, 18, 0),
            ("base2", Filter::All, 0.22, 20, 0),
            ("heur0", Filter::Forward, 0.43, 32, 13),
            ("heur1", Filter::NonBackward, 0.55, 20, 13),
            ("heur2", Filter::All, 0.32, 27, 14),
            ("end0", Filter::Forward, 0.17, 18, 0),
            ("end1", Filter::NonBackward, 0.06, 2, 0),
            ("end2", Filter::All, 0.21, 23, 0),
        ] {
            let found = uct(name);
            assert_eq!((found.moves, found.random, found.threshold, found.depth), (moves, random, threshold, depth));
        }
        assert_eq!(uct("base2").search, uct("base0").search);
    }

    #[test]
    fn policies_are_players_and_parts_of_players() {
        let roster = Roster::built_in();
        let uct = |text: &str| uct(&roster, text);
        let searches = |text: &str| uct(text).search.to_string();
        assert_eq!(searches("nst,n=2"), "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2");
        let adaptive = "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2,omega=0.97,solver=yes,lanes=auto";
        assert_eq!(searches("adaptive"), adaptive);
        assert_eq!(searches("base,ref=inf"), "grave,c=0.2,k=250,ref=inf,playout=mast,epsilon=0.4");
        let heur0 = uct("heur0,selection=grave,playout=mast,tau=10,play=visits,c=0.3,threshold=4");
        assert_eq!((heur0.end, heur0.depth, heur0.threshold), (PlayoutEnd::FixedDepth, 13, 4));
        let search = heur0.search.to_string();
        assert_eq!(search, "grave,c=0.3,k=250,ref=50,playout=mast,tau=10,play=visits");
        assert_eq!(searches("heur0"), "uct,c=0.175");
        assert_eq!(searches("cadia,epsilon=0.3"), "uct,c=0.4,playout=mast,epsilon=0.3");
        assert_eq!(searches("base,selection=uct,c=1"), "uct,c=1,playout=mast,epsilon=0.4");
        assert_eq!(
            searches("mini,decision=most-visits,strategies=R"),
            "uct,c=0.4,playout=mini,b=5,strategies=R,play=visits"
        );
        assert_eq!(["heur0", "heur0,selection=grave"].map(|text| uct(text).has_own_playouts), [true; 2]);
        assert_eq!(["heur0,playout=random", "nst"].map(|text| uct(text).has_own_playouts), [false; 2]);
        let mut own = Roster::built_in();
        own.add(Roster::parse("[mine]\nlike = 'heur0'\nplayout = 'nst'\nepsilon = 0.1").unwrap());
        assert_eq!(own.config("mine").unwrap(), own.config("heur0,playout=nst,epsilon=0.1").unwrap());
        // A serialized player defines the same player.
        let kept = toml::to_string(&Config::Uct(heur0.clone())).unwrap();
        assert_eq!(toml::from_str::<Config>(&kept).unwrap(), Config::Uct(heur0));
        let invalid = kept.replace("tau = 10", "tau = -10");
        assert!(toml::from_str::<Config>(&invalid).unwrap_err().to_string().contains("expected a number > 0"));
        assert_eq!(roster.config("random").unwrap(), Config::Random);
        for (text, why) in [
            ("heur0,epsilon=0.1", "`epsilon` needs `playout=mast`"),
            ("nst,epsilon=2", "from 0 to 1"),
            ("mcts,playout=mast", "guided selection goes with playouts of its own"),
            ("ab-avg,playout=mast", "unknown parameter `playout`"),
            ("heur0,playout=mini,play=eq", "goes with `threshold=0`"),
            ("heur0,solver=yes", "goes with `length_weight=0`"),
        ] {
            let error = roster.config(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_policy_is_the_same_on_boards_and_on_rulesheets() {
        let roster = Roster::built_in();
        for text in [
            "nst,n=2,playout=mast",
            "nst,playout=mast,epsilon=0.3",
            "nst,epsilon=0.3,playout=mast",
            "uct,epsilon=0.1,playout=nst,n=2",
            "uct,n=1,playout=nst,n=2",
            "mini,b=3,playout=mast",
            "mini,b=3,allocation=best",
            "tuned,tune-c=0.5,tune=lsi",
            "tuned,tune-c=0.5,tune=none",
            "nst,epsilon=0.3,playout=random",
            "grave,k=10,selection=uct",
            "base,epsilon=0.1,tau=5",
            "nst,transpositions=true",
            "nst,transpositions=yes",
            "mast,play=visits,solver=yes",
        ] {
            let Policy::Search(expected) = text.parse().unwrap() else { panic!("{text}") };
            let Config::Uct(board) = roster.config(text).unwrap() else { panic!("{text}") };
            assert_eq!(board.search.to_string(), expected.to_string(), "{text}");
            // A stored player is the same player.
            let stored = serde_json::to_string(&Config::Uct(board.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Config>(&stored).unwrap(), Config::Uct(board), "{stored}");
        }
    }

    #[test]
    fn a_player_like_another_can_replace_its_parts() {
        let mut roster = Roster::built_in();
        let own = "[mine]\nlike = 'heur0'\nplayout = 'nst'\n[three]\nlike = 'mine'\nn = 2\n\
            [four]\nlike = 'three'\nplayout = 'mast'\nepsilon = 0.3\n[guided]\nlike = 'four'\nselection = 'guided'\n\
            [whole]\nkind = 'uct'\nmoves = 'all'\nrandom = 1\nthreshold = 0\nend = 'played-out'\nc = 0.3\n\
            length_weight = 0\nselection = 'grave'\nk = 10\ntranspositions = true";
        roster.add(Roster::parse(own).unwrap());
        let search = |name: &str| uct(&roster, name).search.to_string();
        assert_eq!(search("three"), "uct,c=0.175,playout=nst,n=2,least=7,epsilon=0.2");
        assert_eq!(search("four"), "uct,c=0.175,playout=mast,epsilon=0.3");
        assert_eq!(search("whole"), "grave,c=0.3,k=10,ref=50,transpositions=yes");
        let error = roster.config("guided").unwrap_err().to_string();
        assert!(error.contains("guided selection goes with playouts of its own"), "{error}");
        roster.add(Roster::parse("[other]\nlike = 'greedy'\nkind = 'random'").unwrap());
        assert_eq!(
            ["other", "greedy,kind=random"].map(|text| roster.config(text).unwrap()),
            [const { Config::Random }; 2]
        );
    }

    #[test]
    fn stored_players_of_earlier_versions_are_read() {
        let stored = |end: &str| {
            let own = r#""kind":"uct","moves":"all","random":1.0,"threshold":0,"end":"played-out","depth":0"#;
            format!(r#"{{{own},"difference_weight":0.0,"c":0.4,"length_weight":0.0,"decision":"best-average"{end}}}"#)
        };
        for (end, text) in [
            ("", "uct"),
            (r#","parts":{"playout":"nst","n":2}"#, "nst,n=2"),
            (r#","parts":{"playout":"nst","play":"visits"}"#, "nst,play=visits"),
            (r#","parts":{"playout":"nst","transpositions":"yes"}"#, "nst,transpositions=true"),
            (
                r#","transpositions":true,"parts":{"epsilon":0.1,"playout":"mast"}"#,
                "mast,transpositions=yes,epsilon=0.1",
            ),
            (r#","parts":{"selection":"grave","k":10}"#, "uct,selection=grave,k=10"),
        ] {
            let config: Config = serde_json::from_str(&stored(end)).unwrap();
            assert_eq!(config, Roster::built_in().config(text).unwrap(), "{end}");
        }
        let error = serde_json::from_str::<Config>(&stored(r#","parts":{"moves":"all","colour":3}"#)).unwrap_err();
        assert!(error.to_string().contains("no parameter of policies"), "{error}");
    }

    #[test]
    fn a_player_may_be_changed_by_name() {
        let roster = Roster::built_in();
        let quoted = roster.config("sternhalma,weights='w.bin',table_megabytes=1_024,level=3").unwrap();
        assert_eq!(quoted, roster.config("sternhalma,level = 3,table_megabytes=1024, weights=w.bin").unwrap());
        // A text is a text, also one that would be another value in TOML.
        for name in ["1_0", "1e3", "2024-01-01", "true", "[1]"] {
            let Config::Pvs(pvs) = roster.config(&format!("sternhalma,weights={name}")).unwrap() else { panic!() };
            assert_eq!(pvs.weights, name);
        }
        // Numbers have the same forms on boards and on rulesheets.
        for text in ["2", "+2", "1_0", "0x2", "'2'", "_2", "2_", "1__0", "2.0"] {
            for policy in ["n", "lanes", "memory", "c"].map(|key| format!("nst,{key}={text}")) {
                assert_eq!(roster.config(&policy).is_ok(), policy.parse::<Policy>().is_ok(), "{policy}");
            }
        }
        let of_kind = "pvs,kind=pvs,weights='10'".replace("pvs,kind", "sternhalma,kind");
        assert_eq!(roster.config(&of_kind).unwrap(), roster.config("sternhalma,weights=10").unwrap());
        assert_eq!(roster.config("nst,n='2'").unwrap(), roster.config("nst,n=2").unwrap());
        assert_eq!(roster.config("nst,lanes=1_0").unwrap(), roster.config("nst,lanes=10").unwrap());
        let Config::Uct(uct) = roster.config("heur0,c=0.7, threshold=5,moves=all").unwrap() else { panic!() };
        assert_eq!((uct.search.selection.c(), uct.threshold, uct.moves), (0.7, 5, Filter::All));
        for (text, why) in [
            ("heur9", "there is no player `heur9`; did you mean `heur0`?"),
            ("utc", "there is no player `utc`; did you mean `uct`?"),
            ("minimax", "there is no player `minimax`; the players are ab-avg, ab-lookup"),
            ("heur0,cc=1", "unknown parameter `cc`; did you mean `c`?"),
            ("heur0,epsilom=1", "unknown parameter `epsilom`; did you mean `epsilon`?"),
            ("heur0,c", "is not `key=value`"),
            ("heur0,colour=1", "unknown parameter `colour`"),
            ("heur0,c=red", "`c=red`: expected a number ≥ 0, got `red`"),
            ("heur0,random=1.5", "expected a number from 0 to 1, got `1.5`"),
            ("heur0,c=nan", "expected a number ≥ 0"),
            ("heur0,length_weight=inf", "expected a finite number, got `inf`"),
            ("base0,selection=guided", "fixed depth"),
            ("mcts,temperature=0", "above 0"),
            ("sternhalma,table_megabytes=0", "1 to 65536"),
            ("sternhalma,row=-1", "0 to 10000"),
        ] {
            let error = roster.config(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let loop_of_two = Roster::parse("[a]\nlike = 'b'\n[b]\nlike = 'a'").unwrap();
        assert!(loop_of_two.config("a").unwrap_err().to_string().contains("like itself"));
    }
}
