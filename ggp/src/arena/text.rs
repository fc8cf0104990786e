//! Standings as text and tables.

use super::{EntrantSummary, GameRecord, PairingSummary, RoundSummary, ScoreSummary, Standings, TestSummary, Totals};
use crate::statistics::{Estimate, Verdict};

/// Returns a line about a finished game and the score of its pairing.
pub fn progress_line(record: &GameRecord, standings: &Standings) -> String {
    let schedule = standings.schedule();
    let (round, at) = (record.id.round, record.id.pairing);
    let goals: Vec<String> = record.goals.iter().map(u8::to_string).collect();
    let fault = record.fault.as_ref().map_or_else(String::new, |fault| {
        let who = &record.players[fault.role];
        format!(", {who}: {}", fault.fault.to_string().replace(char::is_control, " "))
    });
    let name = &schedule.rounds[round].name;
    let test = standings.test(round, at).map_or_else(String::new, |test| format!(", LLR {:.2}", test.llr()));
    let [a, b] = [0, 1].map(|player| schedule.name(at, player));
    let score = standings.score(round, at);
    let standing = if schedule.roles == 1 {
        String::new()
    } else {
        format!("; {a} against {b} +{} -{} ={}{test}", score.wins, score.losses, score.draws)
    };
    format!(
        "game {} of {}{}: {} {} at ply {}{fault}{standing}",
        standings.len(),
        standings.schedule().total(),
        if name.is_empty() { String::new() } else { format!(", {name}") },
        record.players.join(" - "),
        goals.join("-"),
        record.plies,
    )
}

/// Returns the results of all rounds, with ranking and cross tables.
pub fn standings_text(standings: &Standings) -> String {
    let (played, expected) = (standings.played(), standings.expected());
    let missing = (played < expected).then(|| format!("{played} of {expected} games were played"));
    let rounds = standings.summary();
    let rounds = rounds.iter().map(|round| round_text(standings, round));
    rounds.chain(missing).collect::<Vec<_>>().join("\n\n")
}

fn round_text(standings: &Standings, round: &RoundSummary) -> String {
    let games: u64 = round.pairings.iter().map(|pairing| pairing.games).sum();
    let title = if round.name.is_empty() { String::new() } else { format!("{}: ", round.name) };
    let mut parts = vec![format!("{title}{games} games"), ranking(&round.entrants)];
    if standings.schedule().roles > 1 {
        parts.push(format!("Points of the row against the column\n{}", cross_table(round)));
    }
    if let Some(first) = round.first.filter(|first| first.score.games > 0) {
        parts.push(format!("Points of the row, moving first, against the column\n{}", first_table(round)));
        parts.push(format!("Who moves first has {} of {} games", rate(&first), first.score.games));
    }
    let tests: Vec<String> = round
        .pairings
        .iter()
        .filter_map(|pairing| Some(format!("{} against {}: {}", pairing.a, pairing.b, verdict(&pairing.sprt?))))
        .collect();
    if !tests.is_empty() {
        parts.push(tests.join("\n"));
    }
    parts.join("\n\n")
}

/// The shortest total time of searches in seconds for which a speed is printed.
const SHORTEST: f64 = 1e-3;

fn ranking(entrants: &[EntrantSummary]) -> String {
    let mut order: Vec<&EntrantSummary> = entrants.iter().collect();
    let merit = |entrant: &EntrantSummary| entrant.score.map(|score| score.rate).or(entrant.goal).unwrap_or(-1.0);
    order.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
    let head = ["player", "games", "points", "95%", "Elo", "95%", "goal", "s/move", "kN/s", "faults"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for entrant in order {
        let score = |format: &dyn Fn(&ScoreSummary) -> String| entrant.score.as_ref().map_or("-".to_owned(), format);
        let elo = |format: &dyn Fn(&Estimate) -> String| entrant.elo.as_ref().map_or("-".to_owned(), format);
        let faults: Vec<String> = entrant.faults.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let Totals { moves, expansions, seconds, .. } = entrant.spent;
        rows.push(vec![
            entrant.name.clone(),
            score(&|score| score.score.games.to_string()),
            score(&|score| percent(score.rate)),
            score(&|score| interval(score.interval)),
            elo(&|elo| format!("{:+.0}", elo.value)),
            elo(&|elo| format!("{:+.0} to {:+.0}", elo.interval[0], elo.interval[1])),
            entrant.goal.map_or("-".to_owned(), |goal| format!("{goal:.1}")),
            if moves > 0 { format!("{:.3}", seconds / moves as f64) } else { "-".to_owned() },
            if expansions > 0 && seconds >= SHORTEST {
                format!("{:.0}", expansions as f64 / seconds / 1e3)
            } else {
                "-".to_owned()
            },
            if faults.is_empty() { "-".to_owned() } else { faults.join(", ") },
        ]);
    }
    aligned(&rows)
}

/// Returns a table with a row and a column per entrant.
fn matrix(round: &RoundSummary, cell: impl Fn(&str, &str) -> String) -> String {
    let names: Vec<&str> = round.entrants.iter().map(|entrant| entrant.name.as_str()).collect();
    let mut rows = vec![std::iter::once("").chain(names.iter().copied()).map(str::to_owned).collect()];
    for &row in &names {
        rows.push(std::iter::once(row.to_owned()).chain(names.iter().map(|column| cell(row, column))).collect());
    }
    aligned(&rows)
}

fn cross_table(round: &RoundSummary) -> String {
    matrix(round, |row, column| {
        let between = |pairing: &&PairingSummary| [&*pairing.a, &*pairing.b] == [row, column] && row != column;
        let found = round.pairings.iter().find(between).and_then(|pairing| pairing.score).map(|score| score.score);
        let reversed = |pairing: &&PairingSummary| [&*pairing.b, &*pairing.a] == [row, column] && row != column;
        let other = round.pairings.iter().find(reversed).and_then(|pairing| pairing.score);
        let score = found.or_else(|| other.map(|score| score.score.reversed()));
        score.filter(|score| score.games > 0).map_or("-".to_owned(), |score| {
            format!("{} of {}", score.wins as f64 + 0.5 * score.draws as f64, score.games)
        })
    })
}

/// Returns the scores of the first mover, with the first mover in the row and the opponent in the
/// column.
fn first_table(round: &RoundSummary) -> String {
    matrix(round, |row, column| {
        let found = round.pairings.iter().find_map(|pairing| match (&*pairing.a, &*pairing.b) {
            (a, b) if a == row && b == column && a == b => pairing.first,
            (a, b) if a == row && b == column => pairing.a_first,
            (a, b) if a == column && b == row => {
                pairing.b_first.map(|score| ScoreSummary::from(score.score.reversed()))
            }
            _ => None,
        });
        found.filter(|score| score.score.games > 0).map_or("-".to_owned(), |score| rate(&score))
    })
}

/// Returns a table with aligned columns: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells
            .map(|(at, (text, &width))| if at == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the results of a match between two players.
pub fn pairing_text(pairing: &PairingSummary) -> String {
    let speed = |name: &str, spent: &Totals| {
        let Totals { moves, expansions, playouts, seconds, .. } = *spent;
        if seconds < SHORTEST {
            return format!("{name}: {moves} moves, less than {SHORTEST} s in total");
        }
        format!(
            "{name}: {moves} moves, {:.3} s per move, {:.2} M expansions and {:.0} playouts per second",
            seconds / (moves as f64).max(1.0),
            expansions as f64 / seconds / 1e6,
            playouts as f64 / seconds
        )
    };
    let (a, b) = (&pairing.a, &pairing.b);
    let mut lines = vec![format!("{a} against {b}, {:.1} plies per game", pairing.mean_plies.unwrap_or_default())];
    let labels = ["all games", "moving first", "second"];
    let scores = labels.into_iter().zip([pairing.score, pairing.a_first, pairing.b_first]);
    lines.extend(scores.filter_map(|(label, score)| Some(score_line(label, &score?))));
    if pairing.score.is_some() {
        let [both_lost, lost, even, won, both_won] = pairing.pairs;
        lines.push(format!("{:<12}  0: {both_lost}  ½: {lost}  1: {even}  1½: {won}  2: {both_won}", "pairs"));
        lines.extend([elo_line("Elo", pairing.elo), elo_line("nElo", pairing.nelo)]);
    } else if let [Some(of_a), Some(of_b)] = pairing.goals {
        lines.push(format!("mean goals    {of_a:.1} and {of_b:.1}"));
    }
    for (name, faults) in [a, b].into_iter().zip(&pairing.faults) {
        lines.extend(faults.iter().map(|(kind, count)| format!("{name}: {count} {kind}")));
    }
    lines.extend([speed(a, &pairing.spent[0]), speed(b, &pairing.spent[1])]);
    lines.extend(pairing.sprt.iter().map(verdict));
    lines.join("\n")
}

fn score_line(label: &str, rated: &ScoreSummary) -> String {
    let [low, high] = rated.interval.map(percent);
    let score = rated.score;
    format!(
        "{label:<12}  games {:>4}  +{} -{} ={}  {:>6}  95% {low} to {high}",
        score.games,
        score.wins,
        score.losses,
        score.draws,
        percent(rated.rate),
    )
}

fn elo_line(label: &str, estimate: Option<Estimate>) -> String {
    match estimate {
        Some(Estimate { value, interval: [low, high] }) => {
            format!("{label:<12}  {value:+.1}  95% {low:+.1} to {high:+.1}")
        }
        None => format!("{label:<12}  not known"),
    }
}

fn verdict(test: &TestSummary) -> String {
    let TestSummary { nelo: [low, high], bounds: [lower, upper], llr, pairs, .. } = test;
    let found = match test.verdict {
        Verdict::Continue => "undecided",
        Verdict::H0 => "H0 accepted",
        Verdict::H1 => "H1 accepted",
    };
    format!("SPRT of nElo {low} to {high}, {pairs} pairs: LLR {llr:.2} ({lower:.2} to {upper:.2}), {found}")
}

fn percent(rate: f64) -> String {
    format!("{:.1}%", 100.0 * rate)
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{:.1} to {:.1}", 100.0 * low, 100.0 * high)
}

fn rate(rated: &ScoreSummary) -> String {
    format!("{} ({})", percent(rated.rate), interval(rated.interval))
}

/// Returns a Markdown table, whose first row is the head.
pub(super) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        format!("| {} |", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    lines.insert(1, "|---".repeat(rows[0].len()) + "|");
    lines.join("\n")
}
