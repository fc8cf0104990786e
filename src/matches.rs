use std::sync::Mutex;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use sternhalma_engine::{Record, Score, Totals, play_match};

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
    /// Games to play
    #[arg(long, default_value_t = 20)]
    games: u64,
    #[command(flatten)]
    terms: TermsArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The games of a match so far.
#[derive(Clone, Copy, Default)]
struct Standing {
    all: Score,
    a_first: Score,
    b_first: Score,
    plies: u64,
    spent: [Totals; 2],
}

impl Standing {
    fn add(&mut self, record: &Record) {
        self.all.add(record.score());
        let part = if record.a_first { &mut self.a_first } else { &mut self.b_first };
        part.add(record.score());
        self.plies += u64::from(record.plies);
        self.spent.iter_mut().zip(record.spent).for_each(|(all, spent)| all.join(spent));
    }
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    let configs = args.terms.players.configs([&args.a, &args.b])?;
    let club = args.terms.players.club(tables, args.terms.board.board()?, &configs)?;
    let terms = args.terms.terms(&club, args.games);
    let stop = stop_on_ctrl_c()?;
    let pool = args.terms.pool()?;
    let standing = Mutex::new(Standing::default());
    let report = |_: u64, record: &Record| {
        let mut standing = standing.lock().expect("no thread panics while it counts a game");
        standing.add(record);
        let Score { games, wins, losses, draws } = standing.all;
        eprintln!("game {games} of {}: {} +{wins} -{losses} ={draws}", args.games, args.a);
    };
    let make = || [0, 1].map(|i| club.player(&configs[i]).expect("the club has made these players before"));
    let records = pool.install(|| play_match(&terms, make, &stop, report));
    // Summed in the order of games, so that the figures do not depend on threads.
    let mut standing = Standing::default();
    records.iter().for_each(|record| standing.add(record));
    if records.is_empty() && args.games > 0 {
        bail!("interrupted: no game was finished");
    }
    match args.json {
        true => output::print_json(&as_json(args, &standing))?,
        false => output::print_line(&as_text(args, &standing))?,
    }
    match standing.all.games == args.games {
        true => Ok(Outcome::Answered),
        false => bail!("interrupted after {} of {} games", standing.all.games, args.games),
    }
}

fn as_json(args: &Args, standing: &Standing) -> Value {
    let score = |score: &Score| {
        json!({ "games": score.games, "wins": score.wins, "losses": score.losses, "draws": score.draws,
                "rate": score.rate(), "interval": score.interval() })
    };
    json!({
        "a": args.a,
        "b": args.b,
        "seed": args.terms.seed,
        "score": score(&standing.all),
        "a_first": score(&standing.a_first),
        "b_first": score(&standing.b_first),
        "mean_plies": standing.plies as f64 / (standing.all.games as f64).max(1.0),
        "spent": { "a": standing.spent[0], "b": standing.spent[1] },
    })
}

fn as_text(args: &Args, standing: &Standing) -> String {
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
    [
        format!(
            "{} against {}, {:.1} plies a game",
            args.a,
            args.b,
            standing.plies as f64 / standing.all.games.max(1) as f64
        ),
        line("all games", &standing.all),
        line("moving first", &standing.a_first),
        line("second", &standing.b_first),
        speed(&args.a, &standing.spent[0]),
        speed(&args.b, &standing.spent[1]),
    ]
    .join("\n")
}
