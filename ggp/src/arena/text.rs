//! Standings as text.

use super::table::{aligned, shortened};
use super::{EntrantSummary, GameRecord, PairingSummary, RoundSummary, ScoreSummary, Standings, TestSummary, Totals};
use crate::statistics::{Estimate, Score, Verdict};

/// The maximum length of a name in the standings.
const NAME: usize = 30;

/// The maximum length of a name in a cross table.
const SHORT_NAME: usize = 16;

/// Returns the result of a game from the goals of its roles: `1-0`, `0-1` or `1/2-1/2` if two roles
/// share 100 points, otherwise the goals.
pub fn result_text(goals: &[u8]) -> String {
    match goals {
        [100, 0] => "1-0".to_owned(),
        [0, 100] => "0-1".to_owned(),
        [50, 50] => "1/2-1/2".to_owned(),
        _ => goals.iter().map(u8::to_string).collect::<Vec<_>>().join("-"),
    }
}

/// Returns a line about a finished game and the score of its pairing.
pub fn progress_line(record: &GameRecord, standings: &Standings) -> String {
    let schedule = standings.schedule();
    let (round, at) = (record.id.round, record.id.pairing);
    let players = schedule.titles(record.id);
    let fault = record.fault.as_ref().map_or_else(String::new, |fault| {
        let who = players[fault.role];
        format!(", {who}: {}", fault.fault.to_string().replace(char::is_control, " "))
    });
    let name = &schedule.rounds[round].name;
    format!(
        "game {}{}: {} {} at ply {}{fault}{}",
        schedule.number(record.id),
        if name.is_empty() { String::new() } else { format!(", {name}") },
        players.join(" - "),
        result_text(&record.goals),
        record.plies,
        score_so_far(standings, round, at).map_or_else(String::new, |score| format!("; {score}")),
    )
}

/// Returns the score of a pairing so far, with the Elo of a match of two players, or `None` if the
/// game has one role.
pub fn score_so_far(standings: &Standings, round: usize, pairing: usize) -> Option<String> {
    let schedule = standings.schedule();
    if schedule.roles == 1 {
        return None;
    }
    let score = standings.score(round, pairing);
    let test = standings.test(round, pairing).map_or_else(String::new, |test| format!(", LLR {:.2}", test.llr()));
    let (_, elo) = ScoreSummary::of_pairs(score, standings.pairs(round, pairing));
    let elo = elo.filter(|_| schedule.pairings.len() == 1);
    let elo = elo.map_or_else(String::new, |elo| format!(", Elo {}", elo_text(&elo)));
    let [a, b] = [0, 1].map(|player| schedule.title(pairing, player));
    Some(format!("{a} against {b} W-D-L {}{elo}{test}", outcomes(&score)))
}

/// Returns the results of all rounds, with standings and cross tables.
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
    let order = ranked(&round.entrants);
    let mut parts = vec![format!("{title}{games} games"), ranking(&order)];
    if standings.schedule().roles > 1 {
        parts.push("W-D-L: wins, draws, losses; in parentheses: 95% intervals".to_owned());
        parts.push(format!("Points and games of the row against the column\n{}", cross_table(round, &order)));
    }
    if let Some(first) = round.first.filter(|first| first.score.games > 0) {
        parts.push(format!("The same, for the games in which the row moves first\n{}", first_table(round, &order)));
        parts.push(format!("The player who moves first has {} points: {}", points(&first.score), rate(&first)));
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

/// Returns the entrants from the highest score, or mean goal, to the lowest.
fn ranked(entrants: &[EntrantSummary]) -> Vec<&EntrantSummary> {
    let mut order: Vec<&EntrantSummary> = entrants.iter().collect();
    let merit = |entrant: &EntrantSummary| entrant.score.map(|score| score.rate).or(entrant.goal).unwrap_or(-1.0);
    order.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
    order
}

/// Returns the standings, with the names that are too long for a table below it.
fn ranking(order: &[&EntrantSummary]) -> String {
    let head = |cells: &[&str]| vec![cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>()];
    let mut results = head(&["#", "player", "points", "W-D-L", "score", "Elo"]);
    let mut costs = head(&["#", "player", "goal", "s/move", "kN/s", "faults"]);
    // A goal repeats the score where two roles share 100 points.
    let repeats = |entrant: &&EntrantSummary| match (entrant.score, entrant.goal) {
        (Some(score), Some(goal)) => (100.0 * score.rate - goal).abs() < 0.05,
        _ => entrant.goal.is_none(),
    };
    let shows_goals = !order.iter().all(repeats);
    for (number, entrant) in (1..).zip(order) {
        let score = |format: &dyn Fn(&ScoreSummary) -> String| entrant.score.as_ref().map_or("-".to_owned(), format);
        let faults: Vec<String> = entrant.faults.iter().map(|(kind, &count)| kind.counted(count)).collect();
        let Totals { moves, expansions, seconds, .. } = entrant.spent;
        let label = [number.to_string(), shortened(&entrant.name, NAME)];
        let result = [
            score(&|score| points(&score.score)),
            score(&|score| outcomes(&score.score)),
            score(&rate),
            entrant.elo.as_ref().map_or("-".to_owned(), elo_text),
        ];
        results.push(label.iter().cloned().chain(result).collect());
        let cost = [
            entrant.goal.filter(|_| shows_goals).map_or("-".to_owned(), |goal| format!("{goal:.1}")),
            if moves > 0 { format!("{:.6}", seconds / moves as f64) } else { "-".to_owned() },
            if expansions > 0 && seconds >= SHORTEST {
                format!("{:.0}", expansions as f64 / seconds / 1e3)
            } else {
                "-".to_owned()
            },
            if faults.is_empty() { "-".to_owned() } else { faults.join(", ") },
        ];
        costs.push(label.into_iter().chain(cost).collect());
    }
    let long = (1..).zip(order).filter(|(_, entrant)| entrant.name.chars().count() > NAME);
    let long: String = long.map(|(number, entrant)| format!("\n{number}: {}", entrant.name)).collect();
    let tables: Vec<String> =
        [results, costs].iter().map(|rows| aligned(rows, 2)).filter(|text| !text.is_empty()).collect();
    tables.join("\n\n") + if long.is_empty() { "" } else { "\n" } + &long
}

/// Returns a table with a row and a column per entrant, in order of the standings. The columns are
/// numbered.
fn matrix(order: &[&EntrantSummary], cell: impl Fn(&str, &str) -> Option<Score>) -> String {
    let numbers = (1..=order.len()).map(|number| number.to_string());
    let mut rows = vec![["#", "player"].map(str::to_owned).into_iter().chain(numbers).collect::<Vec<String>>()];
    for (number, row) in (1..).zip(order) {
        let cells = order.iter().map(|column| {
            cell(&row.name, &column.name).filter(|score| score.games > 0).map_or("-".to_owned(), |score| points(&score))
        });
        rows.push([number.to_string(), shortened(&row.name, SHORT_NAME)].into_iter().chain(cells).collect());
    }
    aligned(&rows, 2)
}

fn cross_table(round: &RoundSummary, order: &[&EntrantSummary]) -> String {
    matrix(order, |row, column| {
        let between = |a: &str, b: &str| {
            let found = round.pairings.iter().find(|pairing| a != b && pairing.a == a && pairing.b == b);
            found.and_then(|pairing| pairing.score).map(|score| score.score)
        };
        between(row, column).or_else(|| between(column, row).map(|score| score.reversed()))
    })
}

/// Returns the scores of the first mover, with the first mover in the row and the opponent in the
/// column.
fn first_table(round: &RoundSummary, order: &[&EntrantSummary]) -> String {
    matrix(order, |row, column| {
        round.pairings.iter().find_map(|pairing| match (&*pairing.a, &*pairing.b) {
            (a, b) if a == row && b == column && a == b => Some(pairing.first?.score),
            (a, b) if a == row && b == column => Some(pairing.a_first?.score),
            (a, b) if a == column && b == row => Some(pairing.b_first?.score.reversed()),
            _ => None,
        })
    })
}

/// Returns the results of a match between two players.
pub fn pairing_text(pairing: &PairingSummary) -> String {
    let speed = |name: &str, spent: &Totals| {
        let Totals { moves, expansions, playouts, seconds, .. } = *spent;
        if moves == 0 {
            return format!("{name}: no searches");
        }
        if seconds < SHORTEST {
            return format!("{name}: {moves} moves, less than {SHORTEST} s in total");
        }
        let mut text = format!("{name}: {moves} moves, {} s per move", per_move(seconds / moves as f64));
        for (count, noun) in [(expansions, "expansions"), (playouts, "playouts")] {
            if count > 0 {
                text += &format!(", {} {noun} per second", speed_text(count as f64 / seconds));
            }
        }
        text
    };
    let (a, b) = (&pairing.a, &pairing.b);
    let (games, plies) = (pairing.games, pairing.mean_plies.unwrap_or_default());
    let mut lines = vec![format!("{a} against {b}: {games} games, {plies:.1} plies per game")];
    if let Some(all) = pairing.score {
        let mut rows = vec![["", "points", "W-D-L", "score (95%)"].map(str::to_owned).to_vec()];
        let scores = [("all games", Some(all)), ("moving first", pairing.a_first), ("moving second", pairing.b_first)];
        rows.extend(scores.into_iter().filter_map(|(label, score)| {
            let score = score?;
            Some(vec![label.to_owned(), points(&score.score), outcomes(&score.score), rate(&score)])
        }));
        lines.push(aligned(&rows, 1));
        let [both_lost, lost, even, won, both_won] = pairing.pairs;
        lines
            .push(format!("pairs of games with 0 points: {both_lost}, ½: {lost}, 1: {even}, 1½: {won}, 2: {both_won}"));
        lines.extend([elo_line("Elo", pairing.elo), elo_line("normalised Elo", pairing.nelo)]);
        lines.push(format!("points and W-D-L (wins, draws, losses) are those of {a}"));
    } else if let [Some(of_a), Some(of_b)] = pairing.goals {
        lines.push(format!("mean goals: {of_a:.1} and {of_b:.1}"));
    }
    for (name, faults) in [a, b].into_iter().zip(&pairing.faults) {
        lines.extend(faults.iter().map(|(kind, &count)| format!("{name}: {}", kind.counted(count))));
    }
    lines.extend([speed(a, &pairing.spent[0]), speed(b, &pairing.spent[1])]);
    lines.extend(pairing.sprt.iter().map(verdict));
    lines.join("\n")
}

/// Returns a rate with three digits: in millions, in thousands or as it is.
fn speed_text(rate: f64) -> String {
    match rate {
        1e6.. => format!("{:.2} M", rate / 1e6),
        1e3.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

/// Returns the seconds per move: milliseconds, or microseconds below one millisecond.
fn per_move(seconds: f64) -> String {
    if seconds >= 1e-3 { format!("{seconds:.3}") } else { format!("{seconds:.6}") }
}

/// Returns the points and the number of games, such as `3.5/6`.
fn points(score: &Score) -> String {
    format!("{}/{}", score.wins as f64 + 0.5 * score.draws as f64, score.games)
}

/// Returns wins, draws and losses, such as `3-1-2`.
fn outcomes(score: &Score) -> String {
    format!("{}-{}-{}", score.wins, score.draws, score.losses)
}

/// Returns the share of the points with its interval.
fn rate(rated: &ScoreSummary) -> String {
    let [low, high] = rated.interval.map(|bound| 100.0 * bound);
    format!("{:.1}% ({low:.1} to {high:.1})", 100.0 * rated.rate)
}

/// Returns an Elo difference with its interval.
fn elo_text(Estimate { value, interval: [low, high] }: &Estimate) -> String {
    format!("{value:+.0} ({low:+.0} to {high:+.0})")
}

fn elo_line(label: &str, estimate: Option<Estimate>) -> String {
    match estimate {
        Some(Estimate { value, interval: [low, high] }) => {
            format!("{label} difference: {value:+.1} (95%: {low:+.1} to {high:+.1})")
        }
        None => format!("{label} difference: not known"),
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

#[cfg(test)]
mod tests {
    use super::super::schedule::tests::schedule;
    use super::super::{GameId, Termination};
    use super::*;

    /// Returns the standings of players that draw against all earlier ones, or beat them.
    fn standings(names: &[&str]) -> Standings {
        let schedule = schedule(2, names, &[2]);
        let record = |id: GameId| GameRecord {
            id,
            players: [0, 1].map(|player| schedule.name(id.pairing, player).to_owned()).to_vec(),
            opening: String::new(),
            moves: Vec::new(),
            plies: 9,
            end: Termination::Rules,
            goals: if id.game == 0 { vec![0, 100] } else { vec![50, 50] },
            fault: None,
            spent: vec![Totals { moves: 2, seconds: 1.0, ..Totals::default() }; 2],
            searches: Vec::new(),
            origin: None,
        };
        let records: Vec<GameRecord> = schedule.games().map(record).collect();
        Standings::with_games(schedule.clone(), &records)
    }

    #[test]
    fn results_are_those_of_the_field() {
        for (goals, text) in [
            (&[100, 0][..], "1-0"),
            (&[0, 100], "0-1"),
            (&[50, 50], "1/2-1/2"),
            (&[70, 30], "70-30"),
            (&[100, 100], "100-100"),
            (&[100, 0, 0], "100-0-0"),
            (&[50], "50"),
        ] {
            assert_eq!(result_text(goals), text);
        }
    }

    #[test]
    fn tables_are_sorted_and_fit_a_terminal() {
        let names =
            ["a player with a name that is far too long for a table", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let text = standings_text(&standings(&names));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // The later players score, so they are first.
        let row = |start: &str| text.lines().find(|line| line.starts_with(start)).expect(start).to_owned();
        assert!(row("1   j").contains("13.5/18") && row("1   j").contains("9-9-0"), "{text}");
        assert!(row("10  a player with a name that is …").contains("4.5/18"), "{text}");
        assert!(text.contains(&format!("10: {}", names[0])), "{text}");
        assert!(text.contains(format!("\n1   j{}-  1.5/2  1.5/2", " ".repeat(21)).as_str()), "{text}");
        assert!(text.contains(format!("\n1   j{}-  0.5/1  0.5/1", " ".repeat(19)).as_str()), "{text}");
        assert!(!text.contains("goal"), "{text}");
    }

    #[test]
    fn a_match_is_a_table_of_scores() {
        let standings = standings(&["a", "b"]);
        let text = pairing_text(&standings.summary()[0].pairings[0]);
        let expected = [
            "a against b: 2 games, 9.0 plies per game",
            "               points  W-D-L          score (95%)",
            "all games       0.5/2  0-1-1  25.0% (3.7 to 89.0)",
        ];
        assert_eq!(text.lines().take(3).collect::<Vec<_>>(), expected);
        let so_far = score_so_far(&standings, 0, 0).unwrap();
        assert!(so_far.starts_with("a against b W-D-L 0-1-1, Elo -191 ("), "{so_far}");
    }
}
