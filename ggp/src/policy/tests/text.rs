//! Policies as text.

use proptest::prelude::*;
use proptest::strategy::Strategy;
use sternhalma_game::param_table::assert_names_are_known;
use sternhalma_gdl::network::LANES;
use sternhalma_mcts::playout::mini::{
    Chances, MiniConfig, OpponentModel, Strategy as MiniStrategy, StrategyAllocation,
};
use sternhalma_mcts::playout::{Decay, Selector};
use sternhalma_mcts::tuning::{self, Aspect, Method, Tuning};
use sternhalma_mcts::{Decision, GraveForm, GraveSettings};

use crate::batch::Parallelism;
use crate::policy::{MoveValuePolicy, PlayoutPolicy, Policy, SearchPolicy, SelectionPolicy, removal_notice};

#[test]
fn policies_have_names_and_parameters() {
    for (text, printed) in [
        ("random", "random"),
        ("uct", "uct,c=0.4"),
        ("uct, c = 1e-3", "uct,c=0.001"),
        ("uct,solver=yes", "uct,c=0.4,solver=yes"),
        ("uct,solver=yes,solver=no", "uct,c=0.4"),
        ("uct,c=1,c=2", "uct,c=2"),
        ("uct,memory=1.5GiB", "uct,c=0.4,memory=1536MiB"),
        ("uct,memory=1MB", "uct,c=0.4,memory=1000000"),
        ("grave,k=inf,ref=inf,play=visits", "grave,c=0.2,k=inf,ref=inf,play=visits"),
        ("cadia", "uct,c=0.4,playout=mast,tau=10"),
        ("nst,n=2", "uct,c=0.4,playout=nst,n=2,least=7,epsilon=0.2"),
        ("nst,playout=random", "uct,c=0.4"),
        (
            "nst,tune=nmc,tune-what=epsilon+playout+epsilon",
            "uct,c=0.4,playout=nst,epsilon=0.2,tune=nmc,tune-c=0.7,tune-epsilon=0.75,tune-what=playout+epsilon",
        ),
        (
            "nst,tune=local-nmc,tune-what=omega,tune-prior=4",
            "uct,c=0.4,playout=nst,epsilon=0.2,tune=nmc,tune-c=0.7,tune-epsilon=1,tune-prior=4,tune-what=omega",
        ),
        ("mini,prior=20,strategies=HH+E", "uct,c=0.4,playout=mini,b=5,prior=20,strategies=E+HH,play=eq"),
        (
            "cadia,tune=he,tune-what=gamma+omega",
            "uct,c=0.4,playout=mast,tau=10,tune=he,tune-c=0.7,tune-what=gamma+omega",
        ),
        (
            "tuned,tune=lsi,tune-generate=auto",
            "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=lsi,tune-generate=auto",
        ),
        (
            "tuned,tune=lsi,tune-generate=auto,tune-generate=9",
            "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=lsi,tune-generate=9,tune-evaluate=25000,tune-candidates=2000",
        ),
        (
            "tuned,tune-evolve=5000",
            "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=nmc,tune-c=0.7,tune-epsilon=0.75,tune-evolve=5000",
        ),
        ("nst,waiting=skip", "uct,c=0.4,playout=nst,waiting=skip,epsilon=0.2"),
        ("base,tree-gamma=0.5", "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tree-gamma=0.5"),
        ("mast,cap=50", "uct,c=0.4,playout=mast,epsilon=0.2,cap=50"),
        ("nst,gamma=0.6,decay-alone=yes", "uct,c=0.4,playout=nst,epsilon=0.2,gamma=0.6,decay-alone=yes"),
        ("mast,cap=50,cap=inf", "uct,c=0.4,playout=mast,epsilon=0.2"),
        ("nst,waiting=skip,waiting=count", "uct,c=0.4,playout=nst,epsilon=0.2"),
        ("mini", "uct,c=0.4,playout=mini,b=5,strategies=R+AGE+SSC+M+E+HH,play=eq"),
        ("mini-c,floor=0.05,ceiling=0.5", "uct,c=0.4,playout=mini,b=5,floor=0.05,ceiling=0.5,strategies=HH"),
        (
            "mini-1-s,strategies=HH+R,pr-hh=0.5",
            "uct,c=0.4,playout=mini,allocation=best,strategies=R+HH,pr-hh=0.5,play=eq",
        ),
        ("tuned,tune=he,tune-shadow=yes", "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=he,tune-c=0.7"),
        ("base,tune=local-nmc", "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4,tune=nmc,tune-c=0.7,tune-epsilon=1"),
        ("lgrf,playout=mast,omega=0.94", "uct,c=0.4,playout=mast,epsilon=0.2,replies=lgrf2,omega=0.94"),
        (
            "authors,lambda=0.9,batch=10",
            "grave,c=0.2,k=250,ref=50,form=authors,playout=mast,epsilon=0.4,gamma=0.2,lambda=0.9,batch=10",
        ),
    ] {
        let policy: Policy = text.parse().unwrap();
        assert_eq!(policy.to_string(), printed);
        assert_eq!(printed.parse(), Ok(policy));
    }
}

#[test]
fn errors_say_what_was_expected() {
    let cannot = |text: &str, name: &str, why: &str| format!("cannot set `{text}` in the policy `{name}`: {why}");
    for (text, name, set, why) in [
        ("uct,tune=nmc", "uct", "tune=nmc", "tuning `grave` needs `selection=grave` and"),
        ("base,tau=1,tune=he", "base", "tune=he", "tuning `grave` needs"),
        ("nst,tune=he", "nst", "tune=he", "tuning `grave` needs"),
        ("tuned,tune-generate=auto", "tuned", "tune-generate=auto", "`tune-generate` needs `tune=lsi`"),
        (
            "tuned,tune=lsi,tune-generate=auto,tune-evaluate=9",
            "tuned",
            "tune-evaluate=9",
            "`tune-evaluate` needs `tune=lsi` without `tune-generate=auto`",
        ),
        ("tuned,tune=ucb", "tuned", "tune=ucb", "expected one of none, mab, he, nmc, local-nmc, lsi, got `ucb`"),
        ("tuned,tune-evolve=0", "tuned", "tune-evolve=0", "expected a whole number ≥ 1, got `0`"),
        (
            "tuned,tune=lsi,tune-evolve=9",
            "tuned",
            "tune-evolve=9",
            "`tune-evolve` needs `tune=mab`, `tune=he`, `tune=nmc` or `tune=local-nmc`",
        ),
        (
            "nst,tune-what=gamma",
            "nst",
            "tune-what=gamma",
            "`tune-what` needs `tune=mab`, `tune=he`, `tune=nmc`, `tune=local-nmc` or `tune=lsi`",
        ),
        ("cadia,tune=he,tune-what=epsilon", "cadia", "tune-what=epsilon", "tuning `epsilon` needs a playout with"),
        ("grave,tune=he,tune-what=playout", "grave", "tune-what=playout", "tuning needs `playout=mast` or"),
        (
            "nst,tune=he,tune-what=c",
            "nst",
            "tune-what=c",
            "expected some of grave, playout, epsilon, gamma, omega with",
        ),
        ("base,tune-c=1", "base", "tune-c=1", "`tune-c` needs `tune=mab`, `tune=he`, `tune=nmc` or `tune=local-nmc`"),
        ("tuned,tune-batch=5", "tuned", "tune-batch=5", "`tune-batch` needs `tune=mab`"),
        (
            "tuned,tune=lsi,tune-candidates=100000000",
            "tuned",
            "tune-candidates=100000000",
            "expected a whole number from 1 to 1048576, got `100000000`",
        ),
        ("uct,c", "uct", "c", "expected `key=value`"),
        ("uct,c=-1", "uct", "c=-1", "expected a number ≥ 0, got `-1`"),
        ("uct,c=nan", "uct", "c=nan", "expected a number ≥ 0"),
        ("uct,c=inf", "uct", "c=inf", "expected a number ≥ 0"),
        ("uct,k=1", "uct", "k=1", "`k` needs `selection=grave`"),
        ("uct,x=1", "uct", "x=1", "unknown parameter `x`; the parameters are selection, c, k,"),
        ("uct,epsilon=0.1", "uct", "epsilon=0.1", "`epsilon` needs `playout=mast` or `playout=nst`"),
        ("mast,n=2", "mast", "n=2", "`n` needs `playout=nst`"),
        ("nst,n=4", "nst", "n=4", "expected one of 1, 2, 3, got `4`"),
        ("mast,waiting=skip", "mast", "waiting=skip", "`waiting` needs `playout=nst`"),
        ("nst,waiting=yes", "nst", "waiting=yes", "expected one of count, skip, got `yes`"),
        ("mast,epsilon=1.1", "mast", "epsilon=1.1", "expected a number from 0 to 1, got `1.1`"),
        ("mast,tau=0", "mast", "tau=0", "expected a number > 0, got `0`"),
        ("mast,playout=mist", "mast", "playout=mist", "expected one of random, mast, nst, mini, got `mist`"),
        ("mast,b=1", "mast", "b=1", "`b` needs `allocation=ucb` of `playout=mini`"),
        ("mini,n=1", "mini", "n=1", "`n` needs `playout=nst`"),
        ("mini,strategies=R+X", "mini", "strategies=R+X", "expected some of R, AGE, SSC, M, E, HH with `+` between"),
        ("mini,allocation=square,floor=0.1", "mini", "floor=0.1", "`floor` needs `allocation=ucb`"),
        ("tuned,tune-prior=0.5", "tuned", "tune-prior=0.5", "expected a number ≥ 1, got `0.5`"),
        ("base,tune=he,tune-prior=2", "base", "tune-prior=2", "`tune-prior` needs `tune=nmc` or `tune=local-nmc`"),
        ("mini-1-s,prior=2", "mini-1-s", "prior=2", "`prior` needs `allocation=ucb`"),
        ("mini,prior=0", "mini", "prior=0", "expected a number ≥ 1, got `0`"),
        ("mini,ceiling=2", "mini", "ceiling=2", "expected a number from 0 to 1, got `2`"),
        ("mini-1-s,b=1", "mini-1-s", "b=1", "`b` needs `allocation=ucb`"),
        ("mast,cap=0.5", "mast", "cap=0.5", "expected a number ≥ 1, got `0.5`"),
        ("uct,tree-gamma=2", "uct", "tree-gamma=2", "expected a number from 0 to 1, got `2`"),
        ("uct,solver=1", "uct", "solver=1", "expected `yes` or `no`, got `1`"),
        ("uct,lanes=513", "uct", "lanes=513", "expected a whole number from 1 to 512 or `auto`, got `513`"),
        ("random,tree-gamma=0", "random", "tree-gamma=0", "`random` has no parameters"),
        ("mast,decay-alone=1", "mast", "decay-alone=1", "expected `yes` or `no`, got `1`"),
        ("uct,cap=9", "uct", "cap=9", "`cap` needs `playout=mast` or `playout=nst`"),
        ("mast,batch=0", "mast", "batch=0", "expected a whole number ≥ 1, got `0`"),
    ] {
        let error = text.parse::<Policy>().unwrap_err().to_string();
        assert!(error.starts_with(&cannot(set, name, why)), "{error}");
    }
    for (name, rest) in [
        ("", "the policies are random, uct, grave, mast, nst,"),
        ("UCT", "did you mean `uct`?"),
        ("utc", "did you mean `uct`?"),
    ] {
        let error = name.parse::<Policy>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("unknown policy `{name}`; {rest}")), "{error}");
    }
    let error = "nst,epsilom=0.1".parse::<Policy>().unwrap_err().to_string();
    assert!(error.ends_with("unknown parameter `epsilom`; did you mean `epsilon`?"), "{error}");
}

#[test]
fn removed_parameters_are_read_with_a_notice() {
    let notice = removal_notice("tuned,tune=he, tune-shadow=yes").unwrap();
    assert!(notice.ends_with("the parameter `tune-shadow` was removed and has no effect"), "{notice}");
    assert_eq!(removal_notice("tuned,tune=he"), None);
    assert_eq!("uct,tune-shadow=yes".parse::<Policy>(), "uct".parse());
}

#[test]
fn a_table_is_a_policy() {
    let parse = |text: &str| serde_json::from_str::<Policy>(text).map_err(|error| error.to_string());
    let table = r#"{ "name": "grave", "k": 100, "epsilon": 0.5, "playout": "mast", "solver": true }"#;
    assert_eq!(parse(table), Ok("grave,k=100,playout=mast,epsilon=0.5,solver=yes".parse().unwrap()));
    assert_eq!(parse(r#""nst""#), Ok("nst".parse().unwrap()));
    assert!(parse(r#"{ "name": "uct", "k": 1 }"#).unwrap_err().starts_with("cannot set `k=1` in the policy `uct`"));
    assert!(parse(r#"{ "c": 1 }"#).unwrap_err().starts_with("a table of a policy needs a `name`"));
}

#[test]
fn the_names_of_all_parameters_are_in_help_and_errors() {
    assert_names_are_known(SelectionPolicy::PARAMS);
    assert_names_are_known(PlayoutPolicy::PARAMS);
    assert_names_are_known(crate::policy::search::PARAMS);
    assert_names_are_known(tuning::PARAMS);
}

fn any_decay() -> impl Strategy<Value = Decay> {
    let cap = prop_oneof![Just(f64::INFINITY), 1.0..1e6];
    (0.0..=1.0, 0.0..=1.0, 1..1000u32, 0.0..=1.0, cap, any::<bool>())
        .prop_map(|(gamma, lambda, batch, omega, cap, alone)| Decay { gamma, lambda, batch, omega, cap, alone })
}

fn any_mini() -> impl Strategy<Value = PlayoutPolicy> {
    let ucb = (0.0..100.0, 0.0..=1.0, 0.0..=1.0, 1.0..100.0);
    let allocation = prop_oneof![
        ucb.prop_map(|(b, floor, ceiling, prior)| StrategyAllocation::Ucb { b, floor, ceiling, prior }),
        Just(StrategyAllocation::UCB),
        Just(StrategyAllocation::Static),
        Just(StrategyAllocation::Square),
        Just(StrategyAllocation::UniformThenBest),
    ];
    let strategies = proptest::sample::subsequence(MiniStrategy::ALL.to_vec(), 1..=6);
    let opponents =
        proptest::sample::select(vec![OpponentModel::History, OpponentModel::HistoryInTree, OpponentModel::Random]);
    (allocation, strategies, opponents, 0.0..=1.0, 0.0..=1.0).prop_map(
        |(allocation, strategies, opponents, goal, history)| {
            let chances = Chances { goal, history, ..Chances::default() };
            PlayoutPolicy::Mini(MiniConfig { allocation, strategies, chances, opponents })
        },
    )
}

fn any_playout() -> impl Strategy<Value = PlayoutPolicy> {
    let values = prop_oneof![
        Just(MoveValuePolicy::Mast),
        (1..=3usize, 0.0..100.0, any::<bool>()).prop_map(|(longest, least, skips_waits)| MoveValuePolicy::Nst {
            longest,
            least,
            skips_waits
        }),
    ];
    let selector = prop_oneof![
        (0.0..=1.0).prop_map(|epsilon| Selector::Greedy { epsilon }),
        (1e-3..1e3).prop_map(|tau| Selector::Gibbs { tau }),
    ];
    let learned = (values, selector, any::<bool>(), any_decay());
    prop_oneof![
        Just(PlayoutPolicy::Random),
        any_mini(),
        learned.prop_map(|(values, selector, replies, decay)| PlayoutPolicy::Learned {
            values,
            selector,
            replies,
            decay
        }),
    ]
}

fn any_selection() -> impl Strategy<Value = SelectionPolicy> {
    let infinite = || prop_oneof![Just(f64::INFINITY), 0.0..1e5];
    prop_oneof![
        (0.0..1e9).prop_map(|c| SelectionPolicy::Uct { c }),
        (0.0..10.0, infinite(), infinite(), any::<bool>()).prop_map(|(c, k, reference, paper)| {
            let form = if paper { GraveForm::Paper } else { GraveForm::Authors };
            SelectionPolicy::Grave(GraveSettings { c, k, reference, form })
        }),
    ]
}

fn any_tuning() -> impl Strategy<Value = Tuning> {
    let methods = vec![
        Method::mab(),
        Method::he(),
        Method::nmc(),
        Method::local_nmc(),
        Method::Nmc { c: 0.5, epsilon0: 1.0, prior: 4.0 },
        Method::lsi(),
        Method::LsiAuto,
    ];
    let others: Vec<Aspect> = Aspect::NAMES[1..].iter().map(|&(_, aspect)| aspect).collect();
    let aspects = proptest::sample::subsequence(others, 1..=4);
    let evolve = proptest::option::of(1..10_000u32);
    (proptest::sample::select(methods), aspects, evolve).prop_map(|(method, aspects, evolve)| {
        let tuning = Tuning::new(method, aspects).unwrap();
        evolve.map_or(tuning.clone(), |simulations| tuning.evolving(simulations))
    })
}

proptest! {
    #[test]
    fn printed_policies_parse_to_the_same_policy(
        selection in any_selection(),
        playout in any_playout(),
        visits in any::<bool>(),
        tree_gamma in 0.0..=1.0,
        solver in any::<bool>(),
        transpositions in any::<bool>(),
        tuning in any_tuning(),
        lanes in prop_oneof![
            Just(Parallelism::One),
            (2..=LANES).prop_map(Parallelism::Lanes),
            Just(Parallelism::Auto),
        ],
        memory in proptest::option::of(1..u64::MAX >> 12),
    ) {
        let decision = if visits { Decision::MostVisits } else { Decision::BestAverage };
        let others = SearchPolicy::default();
        let policy = SearchPolicy { selection, playout, decision, tree_gamma, solver, transpositions, lanes, memory, ..others };
        let tuned = SearchPolicy { tuning: Some(tuning), ..policy.clone() };
        let policy = Policy::Search(if tuned.check().is_ok() { tuned } else { policy });
        prop_assert_eq!(policy.to_string().parse(), Ok(policy));
    }
}
