//! Tuning as parameters of a policy.

use super::{Aspect, Method, Tuning};
use crate::param_table::{self, Field, Pair, Param, ParamHelp, flag, some_of, whole};

/// The owner of the parameters of tuning.
const A_TUNER: &str = "a tuner such as `tune=nmc`";

/// The parameter that turns tuning on or off; it is printed first.
const TUNE: &[Param<Option<Tuning>>] = &[Param {
    key: "tune",
    owner: "",
    values: "`none`, `mab`, `he`, `nmc`, `local-nmc`, `lsi`; `none`",
    help: "the tuner, one per role, that sets parameters before each simulation",
    omitted: "",
    field: |tuning| Some(tune(tuning)),
}];

/// The parameters of all tuners; they are printed after those of the method.
const COMMON: &[Param<Option<Tuning>>] = &[
    Param {
        key: "tune-what",
        owner: A_TUNER,
        values: "some of `grave+playout+epsilon+gamma+omega`; `grave`",
        help: "the tuned parameters. With GRAVE these are C, K, ref and epsilon. Other searches that learn can tune the source of move values (random moves, MAST or NST), epsilon, gamma and omega",
        omitted: "grave",
        field: |tuning| some_of(&mut tuning.as_mut()?.aspects, &Aspect::NAMES),
    },
    Param {
        key: "tune-evolve",
        owner: "a tuner other than `lsi`",
        values: "≥ 1",
        help: "the number of simulations after which the worst value of each parameter is replaced by one near its best",
        omitted: "",
        field: |tuning| {
            let tuning = tuning.as_mut().filter(|tuning| tuning.method.evolves())?;
            Some(Field::new(tuning.evolve, &mut tuning.evolve, |_, text| whole(text, u32::MAX).map(Some)))
        },
    },
    Param {
        key: "tune-shadow",
        owner: A_TUNER,
        values: "`yes`, `no`; `no`",
        help: "runs the tuner but ignores its choices; used to measure the tuner's overhead",
        omitted: "no",
        field: |tuning| flag(&mut tuning.as_mut()?.shadow),
    },
];

/// Sets a parameter of tuning; none if there is no such parameter.
pub(crate) fn set(tuning: &mut Option<Tuning>, key: &str, text: &str) -> Option<Result<(), String>> {
    let of_method = |tuning: &mut Option<Tuning>| match tuning {
        Some(tuning) => param_table::set(Method::PARAMS, &mut tuning.method, key, text),
        None => {
            let param = Method::PARAMS.iter().find(|param| param.key == key)?;
            Some(Err(format!("`{key}` needs {} before it", param.owner)))
        }
    };
    let own = |params, tuning: &mut Option<Tuning>| param_table::set(params, tuning, key, text);
    own(TUNE, tuning).or_else(|| own(COMMON, tuning)).or_else(|| of_method(tuning))
}

/// Returns the parameters of tuning that are printed.
pub(crate) fn pairs(tuning: &Option<Tuning>) -> Vec<Pair> {
    let of_method = tuning.iter().flat_map(|tuning| param_table::pairs(Method::PARAMS, &tuning.method));
    let mut pairs = param_table::pairs(TUNE, tuning);
    pairs.extend(of_method);
    pairs.extend(param_table::pairs(COMMON, tuning));
    pairs
}

/// Returns the names of the parameters of tuning.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    let common = TUNE.iter().chain(COMMON).map(|param| param.key);
    common.chain(Method::PARAMS.iter().map(|param| param.key))
}

/// Returns the documentation of the parameters of tuning.
pub(crate) fn param_help() -> Vec<ParamHelp> {
    [param_table::help(TUNE), param_table::help(COMMON), param_table::help(Method::PARAMS)].concat()
}

/// Returns the parameter `tune`.
fn tune(tuning: &mut Option<Tuning>) -> Field<'_> {
    let text = tuning.as_ref().map(|tuning| tuning.method.name());
    Field::new(text, tuning, |_, text| {
        let method = Method::NAMES.iter().find(|(name, _)| *name == text).map(|(_, method)| method());
        match method {
            Some(method) => Ok(Some(Tuning { method, aspects: vec![Aspect::Grave], evolve: None, shadow: false })),
            None if text == "none" => Ok(None),
            None => {
                let names = Method::NAMES.map(|(name, _)| name).join(", ");
                Err(format!("expected one of none, {names}, got `{text}`"))
            }
        }
    })
}
