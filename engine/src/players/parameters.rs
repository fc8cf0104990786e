//! The parameters of players as text: one table per kind of player, beside that of policies.

use sternhalma_ggp::mcts::Decision;
use sternhalma_ggp::messages::{nearest, plain_serde};
use sternhalma_ggp::param_table::{Field, Names, ParamError, choice, flag, range};
use sternhalma_ggp::policy::{SearchPolicy, WrongParameter, parameters, parts_first, set_in_order};
use toml::{Table, Value};

use crate::players::config::{
    AlphaBetaConfig, Config, Evaluation, PlayoutEnd, PositionalEvaluation, PvsConfig, UctConfig, scalar_text,
};
use crate::players::evaluate::{SeparationTest, TieRule};
use crate::players::level::Level;
use crate::players::roster::PlayerError;
use crate::rules::Filter;

/// The largest size of a transposition table, in units of 2^20 bytes.
pub(crate) const MAX_MEGABYTES: u32 = 1 << 16;

/// The largest number of threads of a search.
pub(crate) const MAX_THREADS: u32 = 256;

/// A parameter of a player: its key, and the place of its value.
type Row<T> = (&'static str, for<'a> fn(&'a mut T) -> Option<Field<'a>>);

const FILTERS: Names<Filter> =
    &[("forward", Filter::Forward), ("non-backward", Filter::NonBackward), ("all", Filter::All)];
const ENDS: Names<PlayoutEnd> = &[
    ("played-out", PlayoutEnd::PlayedOut),
    ("fixed-depth", PlayoutEnd::FixedDepth),
    ("separated", PlayoutEnd::Separated),
];
const SEPARATIONS: Names<SeparationTest> =
    &[("beyond", SeparationTest::Beyond), ("tree", SeparationTest::Tree), ("root", SeparationTest::Root)];
const TIES: Names<TieRule> =
    &[("mover", TieRule::Mover), ("other", TieRule::Other), ("x", TieRule::X), ("draw", TieRule::Draw)];
const DECISIONS: Names<Decision> = &[("best-average", Decision::BestAverage), ("most-visits", Decision::MostVisits)];

const UCT: &[Row<UctConfig>] = &[
    ("moves", |uct| choice(&mut uct.moves, FILTERS)),
    ("random", |uct| range(&mut uct.random, 0.0, 1.0)),
    ("threshold", |uct| whole(&mut uct.threshold, [0, u32::MAX])),
    ("end", |uct| choice(&mut uct.end, ENDS)),
    ("separation", |uct| choice(&mut uct.separation, SEPARATIONS)),
    ("ties", |uct| choice(&mut uct.ties, TIES)),
    ("depth", |uct| whole(&mut uct.depth, [0, u32::MAX])),
    ("difference_weight", |uct| range(&mut uct.difference_weight, f64::MIN, f64::MAX)),
    ("length_weight", |uct| range(&mut uct.length_weight, f64::MIN, f64::MAX)),
    ("temperature", |uct| range(&mut uct.temperature, 0.0, f64::MAX)),
    ("decision", |uct| choice(&mut uct.search.decision, DECISIONS)),
];

const ALPHA_BETA: &[Row<AlphaBetaConfig>] = &[
    ("depth", |config| whole(&mut config.depth, [0, u32::MAX])),
    ("moves", |config| choice(&mut config.moves, FILTERS)),
    ("evaluation", |config| {
        choice(&mut config.evaluation, &[("mean-row", Evaluation::MeanRow), ("table", Evaluation::Table)])
    }),
];

const PVS: &[Row<PvsConfig>] = &[
    ("depth", |pvs| whole(&mut pvs.depth, [1, u32::MAX])),
    ("moves", |pvs| choice(&mut pvs.moves, FILTERS)),
    ("table_megabytes", |pvs| whole(&mut pvs.table_megabytes, [1, MAX_MEGABYTES])),
    ("threads", |pvs| whole(&mut pvs.threads, [1, MAX_THREADS])),
    ("reductions", |pvs| flag(&mut pvs.reductions)),
    ("pruning", |pvs| flag(&mut pvs.pruning)),
    ("futility", |pvs| hundredths(&mut pvs.futility)),
    ("row", |pvs| hundredths(&mut pvs.row)),
    ("rearmost", |pvs| hundredths(&mut pvs.rearmost)),
    ("second", |pvs| hundredths(&mut pvs.second)),
    ("tempo", |pvs| hundredths(&mut pvs.tempo)),
    ("evaluation", |pvs| choice(&mut pvs.evaluation, EVALUATIONS)),
    ("weights", |pvs| Some(Field::any_text(&mut pvs.weights))),
    ("level", |pvs| {
        let level = pvs.level.map(u32::from);
        let most = Level::HIGHEST;
        Some(Field::whole([1, most], None, level, &mut pvs.level, |_, level| level.and_then(|n| n.try_into().ok())))
    }),
];

const EVALUATIONS: Names<PositionalEvaluation> = &[
    ("rows", PositionalEvaluation::Rows),
    ("linear", PositionalEvaluation::Linear),
    ("network", PositionalEvaluation::Network),
];

/// A whole number with bounds.
fn whole(value: &mut u32, bounds: [u32; 2]) -> Option<Field<'_>> {
    Some(Field::whole(bounds, None, Some(*value), value, |value, number| number.unwrap_or(*value)))
}

/// A weight in hundredths of a move. The bound keeps evaluations far below the values of won races (`pvs::value`).
fn hundredths(value: &mut i32) -> Option<Field<'_>> {
    const MAX_WEIGHT: u32 = 10_000;
    Some(Field::whole([0, MAX_WEIGHT], None, Some(*value), value, |value, number| {
        number.map_or(*value, |number| number as i32)
    }))
}

/// Returns the field of a key.
fn field<'a, T>(rows: &[Row<T>], target: &'a mut T, key: &str) -> Option<Field<'a>> {
    rows.iter().find(|(known, _)| *known == key).and_then(|(_, field)| field(target))
}

/// Checks that every value is one that its field reads.
fn check_rows<T: Clone>(rows: &[Row<T>], target: &T) -> Result<(), PlayerError> {
    let mut target = target.clone();
    rows.iter().try_for_each(|(key, field)| {
        let Some(text) = field(&mut target).and_then(Field::text) else { return Ok(()) };
        let Some(field) = field(&mut target) else { return Ok(()) };
        field.set(&text).map_err(|why| WrongParameter { key: (*key).to_owned(), text, why }.into())
    })
}

impl Config {
    /// Returns the text of a parameter.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        match self.clone() {
            Config::Uct(mut uct) => field(UCT, &mut uct, key).and_then(Field::text).or_else(|| {
                let mut parameters = uct.search.parameters().into_iter();
                parameters.find(|(known, _)| *known == key).map(|(_, text)| text)
            }),
            Config::AlphaBeta(mut config) => field(ALPHA_BETA, &mut config, key)?.text(),
            Config::Pvs(mut pvs) => field(PVS, &mut pvs, key)?.text(),
            _ => None,
        }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    ///
    /// Returns a message if the player has no such parameter, or the text is no value of it.
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<(), ParamError> {
        let set = match self {
            Config::Uct(uct) => uct.set(key, text),
            Config::AlphaBeta(config) => field(ALPHA_BETA, config, key).map(|field| field.set(text)),
            Config::Pvs(pvs) => field(PVS, pvs, key).map(|field| field.set(text)),
            _ => None,
        };
        set.unwrap_or_else(|| {
            let known: Vec<&str> = match self {
                Config::Uct(_) => {
                    let policies = parameters().into_iter().map(|parameter| parameter.key);
                    UCT.iter().map(|(key, _)| *key).chain(policies).collect()
                }
                Config::AlphaBeta(_) => ALPHA_BETA.iter().map(|(key, _)| *key).collect(),
                Config::Pvs(_) => PVS.iter().map(|(key, _)| *key).collect(),
                _ => Vec::new(),
            };
            let similar = nearest(key, known).map(|similar| format!("; did you mean `{similar}`?"));
            Err(ParamError::Unknown { key: key.to_owned(), suggestion: similar.unwrap_or_default() })
        })
    }

    /// Sets parameters in order.
    pub(super) fn set_values<'a>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), WrongParameter> {
        set_in_order(pairs, |key, text| self.set(key, text))
    }

    /// Returns the player of a table that is `like` another, or complete. A table with a `kind` of its own has all
    /// parameters of the kind that the other player lacks.
    pub(super) fn defined(like: Option<Config>, own: Table) -> Result<Config, PlayerError> {
        let (mut config, own) = match like {
            Some(like) if !own.contains_key("kind") => (like, own),
            like => {
                // Parameters of policies that a stored player has in its parts stand beside its other parameters here.
                let is_uct = own.get("kind").and_then(Value::as_str) == Some("uct");
                let stored = |key: &str| key == "c" || !is_uct || !SearchPolicy::knows(key);
                let (complete, policy): (Table, Table) = own.into_iter().partition(|(key, _)| stored(key));
                let like = like.map(|like| Table::try_from(like).expect("a configuration is a table"));
                let config = Value::Table(like.into_iter().flatten().chain(complete).collect()).try_into();
                (config.map_err(|error: toml::de::Error| PlayerError::Table(plain_serde(error.message())))?, policy)
            }
        };
        let text = |(key, value)| {
            let text = scalar_text(value).ok_or_else(|| PlayerError::Table(format!("`{key}` is no value")))?;
            Ok((key, text))
        };
        let own: Vec<(&String, String)> = own.iter().map(text).collect::<Result<_, PlayerError>>()?;
        config.set_values(parts_first(own.iter().map(|(key, text)| (key.as_str(), text.as_str()))))?;
        Ok(config)
    }

    /// Checks the ranges and the combination of the parameters. The error is the
    /// reason why they are invalid.
    pub(super) fn check(&self) -> Result<(), PlayerError> {
        match self {
            Config::Uct(uct) => check_rows(UCT, uct).and_then(|()| Ok(uct.check()?)),
            Config::AlphaBeta(config) => check_rows(ALPHA_BETA, config),
            Config::Pvs(pvs) => check_rows(PVS, pvs),
            _ => Ok(()),
        }
    }
}

impl UctConfig {
    /// Sets a parameter of the player or of its search, or returns `None` if there is none of this name.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Option<Result<(), ParamError>> {
        match key {
            "selection" => {
                self.is_guided = text == "guided";
                if self.is_guided {
                    return Some(Ok(()));
                }
            }
            "playout" => self.has_own_playouts = false,
            _ => {}
        }
        let own = field(UCT, self, key).map(|field| field.set(text));
        own.or_else(|| SearchPolicy::knows(key).then(|| self.search.set(key, text)))
    }

    /// Checks the combination of the parameters.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let search = &self.search;
        search.check()?;
        if search.decision == Decision::EffectiveQuality && self.threshold > 0 {
            return Err(ParamError::Form("`play=eq` looks at the states after moves, and goes with `threshold=0`"));
        }
        if search.solver && self.length_weight != 0.0 {
            return Err(ParamError::Form(
                "`solver=yes` goes with `length_weight=0`, for lengths change from move to move",
            ));
        }
        let reading = (self.separation, self.ties);
        if self.end != PlayoutEnd::Separated && reading != Default::default() {
            return Err(ParamError::Form("`separation` and `ties` go with `end=separated`"));
        }
        if self.is_guided {
            if !self.parts().is_empty() {
                return Err(ParamError::Form("guided selection goes with playouts of its own, not with other parts"));
            }
            if self.end != PlayoutEnd::FixedDepth {
                return Err(ParamError::Form("guided selection goes with playouts of fixed depth"));
            }
            if !(self.temperature > 0.0 && self.difference_weight > 0.0) {
                return Err(ParamError::Form("guided selection takes `temperature` and `difference_weight` above 0"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::players::config::DecisionRule;
    use crate::players::roster::Roster;

    #[test]
    fn names_of_values_are_those_of_stored_players() {
        fn assert_names<T: Serialize + Copy>(names: Names<T>) {
            for (name, value) in names {
                assert_eq!(serde_json::to_value(value).unwrap(), *name);
            }
        }
        assert_names(FILTERS);
        assert_names(ENDS);
        assert_names(SEPARATIONS);
        assert_names(TIES);
        assert_names(EVALUATIONS);
        for (name, decision) in DECISIONS {
            assert_eq!(serde_json::to_value(DecisionRule::try_from(*decision).unwrap()).unwrap(), *name);
        }
        for name in ["mean-row", "table"] {
            let config = Roster::built_in().config(&format!("ab-avg,evaluation={name}")).unwrap();
            assert_eq!(serde_json::to_value(config).unwrap()["evaluation"], name);
        }
    }
}
