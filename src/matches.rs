use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sternhalma_engine::{Record, Score, Totals, play_match};
use sternhalma_ggp::statistics::{Estimate, Pairs, Sequential, Sprt, Verdict};

use crate::files::Tables;
use crate::players::TermsArgs;
use crate::progress::stop_on_ctrl_c;
use crate::{Outcome, output};

/// Let two players play a match
///
/// Games come in pairs from the same random opening, with sides changed.
#[derive(clap::Args)]
pub struct Args {
    /// A player: its name, or `name,key=value,…` to change it
    a: String,
    /// Its opponent
    b: String,
    /// Games to play [default: 20; with --sprt at most 100000]
    #[arg(long)]
    games: Option<u64>,
    /// Ends the match once a sequential test tells whether A's normalised Elo is LOW (H0) or HIGH (H1)
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, value_parser = strengths)]
    sprt: Option<[f64; 2]>,
    /// How often the test may accept H1 where H0 is true
    #[arg(long, requires = "sprt", default_value_t = 0.05)]
    alpha: f64,
    /// How often the test may accept H0 where H1 is true
    #[arg(long, requires = "sprt", default_value_t = 0.05)]
    beta: f64,
    #[command(flatten)]
    terms: TermsArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn strengths(text: &str) -> Result<[f64; 2]> {
    let (low, high) = text.split_once(',').context("two numbers with a comma between them are wanted")?;
    Ok([low.trim().parse()?, high.trim().parse()?])
}

/// The games of a match so far.
#[derive(Clone, Copy, Default)]
struct Standing {
    all: Score,
    a_first: Score,
    b_first: Score,
    pairs: Pairs,
    plies: u64,
    spent: [Totals; 2],
}

impl Standing {
    /// The standing after some games, summed in their order, so that no figure depends on threads.
    fn of(records: &[Record]) -> Standing {
        let mut standing = Standing::default();
        records.iter().for_each(|record| standing.add(record));
        for pair in records.chunk_by(|a, b| a.number / 2 == b.number / 2) {
            if let [a, b] = pair {
                standing.pairs.add([a.score(), b.score()]);
            }
        }
        standing
    }

    fn add(&mut self, record: &Record) {
        self.all.add(record.score());
        let part = if record.a_first { &mut self.a_first } else { &mut self.b_first };
        part.add(record.score());
        self.plies += u64::from(record.plies);
        self.spent.iter_mut().zip(record.spent).for_each(|(all, spent)| all.join(spent));
    }
}

/// The games as they end, and the test that may end the match.
struct Live {
    all: Score,
    test: Option<Sequential>,
}

impl Live {
    /// Counts a game, and tells whether the test has decided.
    fn add(&mut self, record: &Record) -> bool {
        self.all.add(record.score());
        self.test.as_mut().is_some_and(|test| test.add(record.number, record.score()) != Verdict::Continue)
    }

    fn line(&self, args: &Args, most: u64) -> String {
        let Score { games, wins, losses, draws } = self.all;
        let test = self.test.as_ref().map_or_else(String::new, |test| format!(", LLR {:.2}", test.llr()));
        format!("game {games} of {most}: {} +{wins} -{losses} ={draws}{test}", args.a)
    }
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    let test = args.sprt.map(|elo| Sprt::new(elo, args.alpha, args.beta)).transpose()?;
    let configs = args.terms.players.configs([&args.a, &args.b])?;
    let club = args.terms.players.club(tables, args.terms.board.board()?, &configs)?;
    let games = args.games.unwrap_or(if test.is_some() { 100_000 } else { 20 });
    let terms = args.terms.terms(&club, games);
    let stop = stop_on_ctrl_c()?;
    let pool = args.terms.pool()?;
    let live = Mutex::new(Live { all: Score::default(), test: test.map(Sequential::new) });
    let report = |record: &Record| {
        let mut live = live.lock().expect("no thread panics while it counts a game");
        if live.add(record) {
            stop.store(true, Relaxed);
        }
        eprintln!("{}", live.line(args, games));
    };
    let make = || [0, 1].map(|i| club.player(&configs[i]).expect("the club has made these players before"));
    let mut records = pool.install(|| play_match(&terms, make, &stop, report));
    let test = live.into_inner().expect("no thread panics while it counts a game").test;
    let decided = test.as_ref().filter(|test| test.verdict() != Verdict::Continue);
    let wanted = decided.map_or(games, |test| 2 * test.pairs().total());
    // Games that ended while the last of these was played belong to no result.
    records.retain(|record| record.number < wanted);
    if records.is_empty() && wanted > 0 {
        bail!("interrupted: no game was finished");
    }
    let standing = Standing::of(&records);
    match args.json {
        true => output::print_json(&as_json(args, &standing, test.as_ref()))?,
        false => output::print_line(&as_text(args, &standing, test.as_ref()))?,
    }
    match standing.all.games == wanted {
        true => Ok(Outcome::Answered),
        false => bail!("interrupted after {} of {wanted} games", standing.all.games),
    }
}

fn as_json(args: &Args, standing: &Standing, test: Option<&Sequential>) -> Value {
    let score = |score: &Score| {
        json!({ "games": score.games, "wins": score.wins, "losses": score.losses, "draws": score.draws,
                "rate": score.rate(), "interval": score.interval() })
    };
    let mut answer = json!({
        "a": args.a,
        "b": args.b,
        "seed": args.terms.seed,
        "score": score(&standing.all),
        "a_first": score(&standing.a_first),
        "b_first": score(&standing.b_first),
        "mean_plies": standing.plies as f64 / (standing.all.games as f64).max(1.0),
        "spent": { "a": standing.spent[0], "b": standing.spent[1] },
        "pairs": standing.pairs.counts(),
        "elo": standing.pairs.elo(),
        "nelo": standing.pairs.nelo(),
    });
    if let Some(test) = test {
        answer["sprt"] = json!({ "nelo": test.test().elo(), "alpha": args.alpha, "beta": args.beta, "pairs": test.pairs().total(),
                                 "llr": test.llr(), "bounds": test.test().bounds(), "verdict": test.verdict() });
    }
    answer
}

fn as_text(args: &Args, standing: &Standing, test: Option<&Sequential>) -> String {
    let percent = |rate: f64| format!("{:.1}%", 100.0 * rate);
    let line = |label: &str, score: &Score| {
        let [low, high] = score.interval();
        format!(
            "{label:<12}  games {:>4}  +{} -{} ={}  {:>6}  95% {} to {}",
            score.games,
            score.wins,
            score.losses,
            score.draws,
            percent(score.rate()),
            percent(low),
            percent(high)
        )
    };
    let speed = |name: &str, spent: &Totals| {
        let seconds = spent.seconds.max(1e-9);
        format!(
            "{name}: {} moves, {:.3} s a move, {:.2} M expansions and {:.0} playouts a second",
            spent.moves,
            spent.seconds / (spent.moves as f64).max(1.0),
            spent.expansions as f64 / seconds / 1e6,
            spent.playouts as f64 / seconds
        )
    };
    let elo = |label: &str, estimate: Option<Estimate>| match estimate {
        Some(Estimate { value, interval: [low, high] }) => {
            format!("{label:<12}  {value:+.1}  95% {low:+.1} to {high:+.1}")
        }
        None => format!("{label:<12}  not known"),
    };
    let [both_lost, lost, even, won, both_won] = standing.pairs.counts();
    let mut lines = vec![
        format!(
            "{} against {}, {:.1} plies a game",
            args.a,
            args.b,
            standing.plies as f64 / standing.all.games.max(1) as f64
        ),
        line("all games", &standing.all),
        line("moving first", &standing.a_first),
        line("second", &standing.b_first),
        format!("{:<12}  0: {both_lost}  ½: {lost}  1: {even}  1½: {won}  2: {both_won}", "pairs"),
        elo("Elo", standing.pairs.elo()),
        elo("nElo", standing.pairs.nelo()),
        speed(&args.a, &standing.spent[0]),
        speed(&args.b, &standing.spent[1]),
    ];
    lines.extend(test.map(verdict));
    lines.join("\n")
}

fn verdict(test: &Sequential) -> String {
    let ([low, high], [lower, upper]) = (test.test().elo(), test.test().bounds());
    let found = match test.verdict() {
        Verdict::Continue => "undecided",
        Verdict::H0 => "H0 accepted",
        Verdict::H1 => "H1 accepted",
    };
    let (llr, pairs) = (test.llr(), test.pairs().total());
    format!("SPRT of nElo {low} to {high}, {pairs} pairs: LLR {llr:.2} ({lower:.2} to {upper:.2}), {found}")
}
