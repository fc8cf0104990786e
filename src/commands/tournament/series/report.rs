//! What a series tells, beside the figures of a paper.

use serde::Serialize;
use sternhalma_ggp::arena::{RoundSummary, Scoring, Standings};
use sternhalma_ggp::statistics::SampleMean;

use super::file::{Paper, Series};

/// All games, a table for those with the same pairings.
#[derive(Serialize)]
pub struct Report {
    title: String,
    scoring: Scoring,
    /// Games of all pairings.
    games: u64,
    /// Those that were played.
    played: u64,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    pairings: Vec<[String; 2]>,
    games: Vec<Row>,
    /// By pairing: the mean of the games that have it.
    means: Vec<Cell>,
}

#[derive(Serialize)]
struct Row {
    game: String,
    /// Whether the rulesheet is made from a description.
    ours: bool,
    games: u64,
    played: u64,
    /// By pairing.
    cells: Vec<Cell>,
    rounds: Vec<RoundSummary>,
}

/// A pairing of a game: percent of the points of its first player, or the mean
/// goals of both where each plays alone.
#[derive(Serialize)]
struct Cell {
    figures: Vec<Option<SampleMean>>,
    /// A figure of the paper each, or none.
    paper: Vec<f64>,
}

impl Report {
    pub fn new(series: Option<&Series>, mut found: Vec<(String, Standings)>) -> Report {
        let place = |name: &str| series?.games().iter().position(|game| game.name == name);
        found.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        let scoring = series.map_or(Scoring::default(), Series::scoring);
        let mut tables: Vec<Table> = Vec::new();
        for (name, standings) in &found {
            let pairings = pairings(standings);
            let row = Row::new(series, scoring, name, standings);
            match tables.iter_mut().find(|table| table.pairings == pairings) {
                Some(table) => table.games.push(row),
                None => tables.push(Table { pairings, games: vec![row], means: Vec::new() }),
            }
        }
        for table in &mut tables {
            table.means =
                (0..table.pairings.len()).map(|at| mean(table.games.iter().map(|row| &row.cells[at]))).collect();
        }
        Report {
            title: series.map_or(String::new(), |series| series.title().to_owned()),
            scoring,
            games: found.iter().map(|(_, standings)| standings.expected()).sum(),
            played: found.iter().map(|(_, standings)| standings.played()).sum(),
            tables,
        }
    }

    /// In Markdown.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.title.is_empty() {
            parts.push(self.title.clone());
        }
        parts.extend(self.tables.iter().map(Table::text));
        if self.tables.iter().flat_map(|table| &table.games).any(|row| row.ours) {
            parts.push("† a rulesheet of our own, made from a description".to_owned());
        }
        if self.played < self.games {
            parts.push(format!("{} of {} games were played", self.played, self.games));
        }
        parts.join("\n\n")
    }
}

fn pairings(standings: &Standings) -> Vec<[String; 2]> {
    let schedule = standings.schedule();
    (0..schedule.pairings.len()).map(|at| [0, 1].map(|second| schedule.name(at, second).to_owned())).collect()
}

impl Row {
    fn new(series: Option<&Series>, scoring: Scoring, name: &str, standings: &Standings) -> Row {
        let cell = |(at, [a, b]): (usize, [String; 2])| {
            let paper = series.and_then(|series| series.paper(name, [&a, &b]));
            let figures = standings.percentages(0, at, scoring);
            let paper = paper.as_ref().map(Paper::figures).filter(|paper| paper.len() == figures.len());
            Cell { figures, paper: paper.unwrap_or_default().to_vec() }
        };
        let known = series.and_then(|series| series.games().iter().find(|game| game.name == name));
        Row {
            game: name.to_owned(),
            ours: known.is_some_and(|game| game.ours),
            games: standings.expected(),
            played: standings.played(),
            cells: pairings(standings).into_iter().enumerate().map(cell).collect(),
            rounds: standings.summary(),
        }
    }
}

impl Table {
    fn text(&self) -> String {
        let mut head = vec!["game".to_owned()];
        head.extend(self.pairings.iter().map(|[a, b]| format!("{a} vs {b}")));
        let mut rows = vec![head];
        for row in &self.games {
            let name = if row.ours { format!("{} †", row.game) } else { row.game.clone() };
            rows.push(std::iter::once(name).chain(row.cells.iter().map(Cell::text)).collect());
        }
        rows.push(std::iter::once("mean".to_owned()).chain(self.means.iter().map(Cell::text)).collect());
        markdown(&rows)
    }
}

/// The mean of the cells that have games; the paper's is of the same games, if
/// it has them all.
fn mean<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    let played: Vec<&Cell> = cells.filter(|cell| cell.figures.iter().any(Option::is_some)).collect();
    // Points and goals have no common mean.
    let count = played.first().map_or(0, |cell| cell.figures.len());
    if played.iter().any(|cell| cell.figures.len() != count) {
        return Cell { figures: Vec::new(), paper: Vec::new() };
    }
    let figure =
        |at: usize| SampleMean::average(&played.iter().filter_map(|cell| cell.figures[at]).collect::<Vec<_>>());
    let paper = |at: usize| played.iter().map(|cell| cell.paper[at]).sum::<f64>() / played.len() as f64;
    let known = played.iter().all(|cell| !cell.paper.is_empty());
    Cell {
        figures: (0..count).map(figure).collect(),
        paper: if known { (0..count).map(paper).collect() } else { Vec::new() },
    }
}

impl Cell {
    /// The paper's figures, and ours with intervals and numbers of games.
    fn text(&self) -> String {
        let figure = |figure: &Option<SampleMean>| match figure {
            Some(SampleMean { games, value, interval: [low, high] }) => {
                format!("{value:.1} ({low:.1}–{high:.1}; {games})")
            }
            None => "–".to_owned(),
        };
        let ours: Vec<String> = self.figures.iter().map(figure).collect();
        let paper: Vec<String> = self.paper.iter().map(|figure| format!("{figure:.1}")).collect();
        let paper = if paper.is_empty() { String::new() } else { format!("**{}** ", paper.join(" : ")) };
        paper + &ours.join(" : ")
    }
}

/// A table whose first row is its head.
pub fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        format!("| {} |", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    lines.insert(1, "|---".repeat(rows[0].len()) + "|");
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(games: u64, value: f64, interval: [f64; 2], paper: &[f64]) -> Cell {
        Cell { figures: vec![Some(SampleMean { games, value, interval })], paper: paper.to_vec() }
    }

    #[test]
    fn means_are_of_the_games_that_were_played() {
        let played = [cell(10, 60.0, [50.0, 70.0], &[55.0]), cell(20, 80.0, [70.0, 90.0], &[65.0])];
        let not_played = Cell { figures: vec![None], paper: vec![10.0] };
        let found = mean(played.iter().chain([&not_played]));
        // The half width is √(10² + 10²) / 2.
        assert_eq!(found.text(), "**60.0** 70.0 (62.9–77.1; 30)");
        assert_eq!(not_played.text(), "**10.0** –");
        let unknown = cell(4, 40.0, [20.0, 60.0], &[]);
        assert!(mean(played.iter().chain([&unknown])).paper.is_empty());
        let goals = Cell { figures: vec![None, unknown.figures[0]], paper: vec![30.0, 40.0] };
        assert_eq!(goals.text(), "**30.0 : 40.0** – : 40.0 (20.0–60.0; 4)");
        assert!(mean(played.iter().chain([&goals])).figures.is_empty());
    }
}
