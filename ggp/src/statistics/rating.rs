//! Ratings of players that have met in any pairings, by the model of [Bradley and Terry 1952].

use std::f64::consts::LN_10;

use serde::Serialize;

use super::interval::{Estimate, Z};

/// Elo per unit of the logistic scale.
const ELO: f64 = 400.0 / LN_10;

/// The maximum number of steps of Newton's method.
const MAX_STEPS: usize = 200;

/// The chance of the results of a player whose rating is a bound.
const RARE: f64 = 0.05;

/// The largest distance of a bound from the strengths of the opponents, on the logistic scale.
const WIDEST: f64 = 50.0;

/// The largest step of Newton's method, on the logistic scale.
const LARGEST_STEP: f64 = 2.0;

/// The largest change of a parameter in the last step.
const SMALLEST_STEP: f64 = 1e-10;

/// The improvement of twice the log-likelihood above which one more parameter is significant at
/// 95%: a quantile of the chi-squared distribution.
const SIGNIFICANT: f64 = 3.841_458_820_694_124;

/// The results of the games in which `first` moved first against `second`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Results {
    /// The player that moved first, as an index.
    pub first: usize,
    /// The other player.
    pub second: usize,
    /// The number of games.
    pub games: u64,
    /// The points of the first player: 1 for a win, ½ for a draw.
    pub points: f64,
}

/// What the results say about the strength of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The rating is an estimate.
    None,
    /// The rating is a lower bound: no player with an estimate has taken a point.
    Lower,
    /// The rating is an upper bound: the player has taken no point from those with estimates.
    Upper,
}

/// The rating of a player.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rating {
    /// The rating in Elo, with its interval. The interval of a bound ends at the bound and at infinity.
    pub elo: Estimate,
    /// Whether the rating is a bound.
    pub bound: Bound,
}

/// The ratings of players.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    /// The rating of each player, or `None` if the results give neither an estimate nor a bound.
    pub players: Vec<Option<Rating>>,
    /// The advantage of the first move in Elo, if the results show one.
    pub first_move: Option<Estimate>,
    /// Whether the results determine the advantage of the first move. They do not if, e.g., the first
    /// player has won every game. The ratings are then those without an advantage.
    pub first_move_determined: bool,
}

/// Rates players by the most likely strengths.
///
/// The chance of `first` to win is 1 / (1 + 10^(-(r₁ - r₂ + a) / 400)) for ratings r₁ and r₂ and an
/// advantage `a` of the first move. A draw is half a win. `a` is 0 unless the results determine it and
/// show an advantage at a level of 95% (likelihood-ratio test). Ratings are relative to a reference: the
/// player `anchor` with its rating, or else the mean of the largest group of players that
/// have taken points from each other, directly or through others, which is 0.
///
/// The most likely strengths of such a group are finite [Ford 1957]. All points between the group and
/// another player went to one side, so the rating of that player is infinite, and the games do not
/// affect the group. Such a player gets a bound instead: the rating with which it would win (or lose)
/// all its games against rated players below (or above) it with a chance of 5%.
///
/// The intervals are those of the Fisher information. They take games as independent. Two games
/// from the same opening usually vary less, so the intervals are too wide rather than too narrow.
///
/// # Panics
/// Panics if a player index is not below `players`.
pub fn rate(players: usize, results: &[Results], anchor: Option<(usize, f64)>) -> Ratings {
    let points = Points::new(players, results);
    let group = reference(&points, anchor);
    let mut ratings = Ratings { players: vec![None; players], first_move: None, first_move_determined: false };
    let Some(&reference) = group.first() else { return ratings };
    let inside = |of: &&Results| group.contains(&of.first) && group.contains(&of.second);
    let games: Vec<Results> = results.iter().filter(inside).copied().collect();
    let is_fixed = |player: usize| anchor.is_none_or(|(anchor, _)| anchor == player);
    let fixed: Vec<f64> = group.iter().map(|&player| f64::from(u8::from(is_fixed(player)))).collect();
    let fit = |first_move: bool| Model { group: &group, games: &games, fixed: &fixed, first_move }.fit();
    let without = fit(false);
    ratings.first_move_determined = determines_first_move(players, &games);
    let with = ratings.first_move_determined.then(|| fit(true));
    let with = with.filter(|with| 2.0 * (with.log_likelihood - without.log_likelihood) > SIGNIFICANT);
    let shown = with.is_some();
    let fitted = with.unwrap_or(without);
    let offset = anchor.map_or(0.0, |(_, elo)| elo);
    for (at, &player) in group.iter().enumerate() {
        ratings.players[player] = Some(Rating { elo: fitted.elo(at, offset), bound: Bound::None });
    }
    ratings.first_move = shown.then(|| fitted.elo(group.len(), 0.0));
    // A bound may follow from other bounds.
    while points.add_bounds(results, reference, &mut ratings) {}
    ratings
}

/// Returns the players whose strengths are finite relative to each other: those of the anchor, or
/// the largest such group, the first of several.
fn reference(points: &Points, anchor: Option<(usize, f64)>) -> Vec<usize> {
    if let Some((anchor, _)) = anchor {
        return points.group(anchor);
    }
    let groups = (0..points.players).map(|player| points.group(player));
    groups.fold(Vec::new(), |largest, group| if group.len() > largest.len() { group } else { largest })
}

/// Returns whether the results within a group have a most likely advantage of the first move.
///
/// They have none if strengths `s` and an advantage `a` of 1 or -1 exist with which no result is a surprise:
/// s₁ - s₂ + a ≥ 0 if the first player has taken points, and ≤ 0 if the second one has. Then the likelihood never
/// decreases along `(s, a)` [Albert and Anderson 1984]. Such strengths exist unless a cycle of these bounds of
/// differences has a negative sum, which the method of Bellman and Ford finds.
fn determines_first_move(players: usize, games: &[Results]) -> bool {
    let surprises = |advantage: f64| {
        let mut bounds: Vec<(usize, usize, f64)> = Vec::new();
        for of in games.iter().filter(|of| of.games > 0) {
            // Each bound is that of the strength of the second player of a triple, relative to that of the first.
            bounds.extend((of.points > 0.0).then_some((of.first, of.second, advantage)));
            bounds.extend((of.points < of.games as f64).then_some((of.second, of.first, -advantage)));
        }
        let mut strengths = vec![0.0_f64; players];
        // Without a negative cycle, each round but the last one makes another path of bounds tight.
        (0..=players).all(|_| {
            bounds.iter().fold(false, |changed, &(from, to, bound)| {
                let limit = strengths[from] + bound;
                let above = strengths[to] > limit;
                strengths[to] = strengths[to].min(limit);
                changed | above
            })
        })
    };
    surprises(1.0) && surprises(-1.0)
}

/// Which players have taken points from which.
struct Points {
    players: usize,
    /// By player: the players that it has taken points from, directly or through others, and itself.
    above: Vec<Vec<bool>>,
}

impl Points {
    fn new(players: usize, results: &[Results]) -> Points {
        let mut took = vec![vec![false; players]; players];
        for &Results { first, second, games, points } in results.iter().filter(|of| of.games > 0) {
            took[first][second] |= points > 0.0;
            took[second][first] |= points < games as f64;
        }
        let above = (0..players).map(|player| reached(&took, player)).collect();
        Points { players, above }
    }

    /// Returns the players that have taken points from a player and lost points to it, directly or
    /// through others, and the player.
    fn group(&self, player: usize) -> Vec<usize> {
        (0..self.players).filter(|&other| self.above[player][other] && self.above[other][player]).collect()
    }

    /// Gives bounds to players that have met rated players above or below them. Returns whether
    /// there are new bounds.
    fn add_bounds(&self, results: &[Results], reference: usize, ratings: &mut Ratings) -> bool {
        let known = ratings.clone();
        for player in 0..self.players {
            let bound = match (self.above[player][reference], self.above[reference][player]) {
                (true, false) => Bound::Lower,
                (false, true) => Bound::Upper,
                _ => continue,
            };
            if ratings.players[player].is_none() {
                ratings.players[player] = self.bound(player, bound, results, &known);
            }
        }
        known != *ratings
    }

    /// Returns the bound of a player, or `None` if it has not met players with ratings that give one.
    fn bound(&self, player: usize, bound: Bound, results: &[Results], known: &Ratings) -> Option<Rating> {
        let sign = if bound == Bound::Lower { 1.0 } else { -1.0 };
        let advantage = known.first_move.map_or(0.0, |advantage| advantage.value);
        // The number of games, and the signed rating that gives equal chances.
        let mut opponents: Vec<(f64, f64)> = Vec::new();
        for of in results.iter().filter(|of| of.games > 0 && (of.first == player || of.second == player)) {
            let (other, advantage) = if of.first == player { (of.second, advantage) } else { (of.first, -advantage) };
            let (upper, lower) = if bound == Bound::Lower { (player, other) } else { (other, player) };
            let one_sided = self.above[upper][lower] && !self.above[lower][upper];
            let rating = known.players[other].filter(|rating| [Bound::None, bound].contains(&rating.bound));
            if let Some(rating) = rating.filter(|_| one_sided) {
                opponents.push((of.games as f64, sign * (rating.elo.value - advantage) / ELO));
            }
        }
        let log_chance =
            |own: f64| -opponents.iter().map(|(games, equal)| games * (equal - own).exp().ln_1p()).sum::<f64>();
        let equal = || opponents.iter().map(|&(_, equal)| equal);
        let (mut low, mut high) = (equal().reduce(f64::min)? - WIDEST, equal().reduce(f64::max)? + WIDEST);
        // The chance grows with the signed rating.
        while high - low > SMALLEST_STEP {
            let middle = (low + high) / 2.0;
            if log_chance(middle) < RARE.ln() { low = middle } else { high = middle }
        }
        let value = sign * ELO * low;
        let interval = if bound == Bound::Lower { [value, f64::INFINITY] } else { [f64::NEG_INFINITY, value] };
        Some(Rating { elo: Estimate { value, interval }, bound })
    }
}

/// Returns which nodes of a graph are reached from one of them, which is one of these.
fn reached(edges: &[Vec<bool>], from: usize) -> Vec<bool> {
    let mut found = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut found[node], true) {
            open.extend((0..edges.len()).filter(|&next| edges[node][next]));
        }
    }
    found
}

/// The likelihood of results within a group of players.
struct Model<'a> {
    /// The players, in order. Their strengths are the first parameters.
    group: &'a [usize],
    games: &'a [Results],
    /// By place in the group: 1 if the player is one of those whose mean strength is 0, else 0.
    fixed: &'a [f64],
    /// Whether the advantage of the first move is one more parameter, the last.
    first_move: bool,
}

/// The most likely parameters, on the logistic scale.
struct Fitted {
    parameters: Vec<f64>,
    /// The standard errors of the parameters.
    errors: Vec<f64>,
    log_likelihood: f64,
}

impl Model<'_> {
    /// Maximises the likelihood, whose logarithm is concave, by Newton's method. Steps are limited,
    /// and halved until the likelihood does not decrease.
    fn fit(&self) -> Fitted {
        let size = self.group.len() + usize::from(self.first_move);
        let mut parameters = vec![0.0; size];
        for _ in 0..MAX_STEPS {
            let (gradient, information) = self.derivatives(&parameters);
            let inverse = inverse(information);
            let step: Vec<f64> = inverse.iter().map(|row| dot(row, &gradient)).collect();
            let largest = step.iter().fold(0.0_f64, |largest, part| largest.max(part.abs()));
            let before = self.log_likelihood(&parameters);
            let mut scale = (LARGEST_STEP / largest).min(1.0);
            let mut next = moved(&parameters, &step, scale);
            while self.log_likelihood(&next) < before && scale * largest > SMALLEST_STEP {
                scale /= 2.0;
                next = moved(&parameters, &step, scale);
            }
            parameters = next;
            if largest <= SMALLEST_STEP {
                break;
            }
        }
        let inverse = inverse(self.derivatives(&parameters).1);
        // The inverse has the variance of a common shift of all strengths, which the mean excludes.
        let sum: f64 = self.fixed.iter().sum();
        let shift = |at: usize| if at < self.group.len() { 1.0 / (sum * sum) } else { 0.0 };
        let errors = (0..size).map(|at| (inverse[at][at] - shift(at)).max(0.0).sqrt()).collect();
        Fitted { log_likelihood: self.log_likelihood(&parameters), parameters, errors }
    }

    /// Returns the results with the places of their players in the group.
    fn indexed(&self) -> impl Iterator<Item = (usize, usize, f64, f64)> + '_ {
        let at = |player: usize| self.group.binary_search(&player).expect("the games are those within the group");
        self.games.iter().map(move |of| (at(of.first), at(of.second), of.games as f64, of.points))
    }

    fn advantage(&self, parameters: &[f64]) -> f64 {
        if self.first_move { parameters[self.group.len()] } else { 0.0 }
    }

    fn log_likelihood(&self, parameters: &[f64]) -> f64 {
        let advantage = self.advantage(parameters);
        let terms = self.indexed().map(|(first, second, games, points)| {
            let lead = parameters[first] - parameters[second] + advantage;
            -(points * (-lead).exp().ln_1p() + (games - points) * lead.exp().ln_1p())
        });
        terms.sum()
    }

    /// Returns the gradient and the Fisher information, to which the product of `fixed` is added:
    /// the matrix has then an inverse, and Newton's steps keep the mean.
    fn derivatives(&self, parameters: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let size = parameters.len();
        let advantage = self.advantage(parameters);
        let weight = |at: usize| self.fixed.get(at).copied().unwrap_or_default();
        let mut gradient = vec![0.0; size];
        let mut information: Vec<Vec<f64>> =
            (0..size).map(|row| (0..size).map(|column| weight(row) * weight(column)).collect()).collect();
        for (first, second, games, points) in self.indexed() {
            let chance = 1.0 / (1.0 + (-(parameters[first] - parameters[second] + advantage)).exp());
            let (error, variance) = (points - games * chance, games * chance * (1.0 - chance));
            // The derivatives of the lead.
            let parts = [(first, 1.0), (second, -1.0), (self.group.len(), 1.0)];
            let parts = &parts[..if self.first_move { 3 } else { 2 }];
            for &(row, sign) in parts {
                gradient[row] += sign * error;
                for &(column, other) in parts {
                    information[row][column] += sign * other * variance;
                }
            }
        }
        (gradient, information)
    }
}

impl Fitted {
    /// Returns a parameter in Elo.
    fn elo(&self, at: usize, offset: f64) -> Estimate {
        let (value, half) = (offset + ELO * self.parameters[at], ELO * Z * self.errors[at]);
        Estimate { value, interval: [value - half, value + half] }
    }
}

fn moved(parameters: &[f64], step: &[f64], scale: f64) -> Vec<f64> {
    parameters.iter().zip(step).map(|(parameter, part)| parameter + scale * part).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the inverse of a positive definite matrix, by elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for (row, values) in matrix.iter_mut().enumerate() {
        values.extend((0..size).map(|column| f64::from(u8::from(row == column))));
    }
    for pivot in 0..size {
        let scale = 1.0 / matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|value| *value *= scale);
        let values = matrix[pivot].clone();
        for row in (0..size).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            matrix[row].iter_mut().zip(&values).for_each(|(value, of_pivot)| *value -= factor * of_pivot);
        }
    }
    matrix.into_iter().map(|mut row| row.split_off(size)).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use sternhalma_game::Rng;

    fn results(games: &[(usize, usize, u64, f64)]) -> Vec<Results> {
        games.iter().map(|&(first, second, games, points)| Results { first, second, games, points }).collect()
    }

    fn elo(ratings: &Ratings, player: usize) -> f64 {
        ratings.players[player].unwrap().elo.value
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance
    }

    #[test]
    fn two_players_have_the_difference_of_their_score() {
        let ratings = rate(2, &results(&[(0, 1, 200, 150.0), (1, 0, 200, 50.0)]), None);
        let difference = 400.0 * 3.0_f64.log10();
        assert!(near(elo(&ratings, 0), difference / 2.0, 1e-6) && near(elo(&ratings, 1), -difference / 2.0, 1e-6));
        assert_eq!(ratings.first_move, None);
        // The variance of a difference is 1 / (n p q), and each player has half of it.
        let Rating { elo: Estimate { interval, .. }, bound } = ratings.players[0].unwrap();
        let half = ELO * Z / (400.0_f64 * 0.75 * 0.25).sqrt() / 2.0;
        assert!(near(interval[1] - interval[0], 2.0 * half, 1e-6) && bound == Bound::None);
        // Relative to an anchor, the whole variance belongs to the other player.
        let ratings = rate(2, &results(&[(0, 1, 200, 150.0), (1, 0, 200, 50.0)]), Some((1, 1000.0)));
        let [of_0, of_1] = [0, 1].map(|player| ratings.players[player].unwrap().elo);
        assert!(near(of_1.value, 1000.0, 1e-9) && near(of_1.interval[0], of_1.interval[1], 1e-3));
        assert!(near(of_0.value, 1000.0 + difference, 1e-6));
        assert!(near(of_0.interval[1] - of_0.interval[0], 4.0 * half, 1e-6));
    }

    #[test]
    fn the_advantage_of_the_first_move_is_a_parameter() {
        let ratings = rate(2, &results(&[(0, 1, 100, 80.0), (1, 0, 100, 60.0)]), Some((1, 0.0)));
        let logit = |share: f64| ELO * (share / (1.0 - share)).ln();
        let advantage = ratings.first_move.unwrap();
        assert!(near(elo(&ratings, 0), (logit(0.8) + logit(0.4)) / 2.0, 1e-6));
        assert!(near(advantage.value, (logit(0.8) - logit(0.4)) / 2.0, 1e-6) && advantage.interval[0] > 0.0);
    }

    /// Returns the log-likelihood of strengths, the last one being the advantage, by its definition.
    fn likelihood(results: &[Results], parameters: &[f64], advantage: bool) -> f64 {
        let chance = |lead: f64| 1.0 / (1.0 + (-lead).exp());
        let first = if advantage { parameters[parameters.len() - 1] } else { 0.0 };
        let term = |of: &Results| {
            let p = chance(parameters[of.first] - parameters[of.second] + first);
            of.points * p.ln() + (of.games as f64 - of.points) * (1.0 - p).ln()
        };
        results.iter().map(term).sum()
    }

    /// Maximises the likelihood parameter by parameter with a ternary search.
    fn by_search(players: usize, results: &[Results], advantage: bool) -> Vec<f64> {
        let mut parameters = vec![0.0; players + usize::from(advantage)];
        for _ in 0..400 {
            // The strength of player 0 is fixed.
            for at in 1..parameters.len() {
                let (mut low, mut high) = (parameters[at] - 1.0, parameters[at] + 1.0);
                for _ in 0..60 {
                    let [left, right] = [low + (high - low) / 3.0, high - (high - low) / 3.0];
                    let value = |x: f64| {
                        let mut changed = parameters.clone();
                        changed[at] = x;
                        likelihood(results, &changed, advantage)
                    };
                    if value(left) < value(right) { low = left } else { high = right }
                }
                parameters[at] = (low + high) / 2.0;
            }
        }
        parameters
    }

    #[test]
    fn ratings_are_those_of_a_slow_search() {
        let mut rng = Rng::seed_from_u64(5);
        let mut with_advantage = 0;
        for round in 0..12 {
            let players: usize = 3 + round % 4;
            let advantage = if round % 2 == 0 { 1.0 } else { 0.0 };
            let mut games = Vec::new();
            for (first, second) in (0..players).flat_map(|a| (0..players).map(move |b| (a, b))) {
                // Some pairings are missing, but those of neighbours connect all players.
                if first != second && (first.abs_diff(second) == 1 || rng.random_bool(0.6)) {
                    let lead = 0.3 * (first as f64 - second as f64) + advantage;
                    let won = |rng: &mut Rng| if rng.random_bool(1.0 / (1.0 + (-lead).exp())) { 1.0 } else { 0.0 };
                    let points = (0..30).map(|_| if rng.random_bool(0.1) { 0.5 } else { won(&mut rng) }).sum();
                    games.push(Results { first, second, games: 30, points });
                }
            }
            let ratings = rate(players, &games, Some((0, 0.0)));
            let shown = ratings.first_move.is_some();
            with_advantage += u32::from(shown);
            let expected = by_search(players, &games, shown);
            for player in 0..players {
                assert!(near(elo(&ratings, player), ELO * expected[player], 0.01), "{round}: {ratings:?} {expected:?}");
            }
            if let Some(advantage) = ratings.first_move {
                assert!(near(advantage.value, ELO * expected[players], 0.01), "{round}");
            }
        }
        assert!((5..=8).contains(&with_advantage), "{with_advantage}");
    }

    #[test]
    fn intervals_contain_the_truth_in_19_of_20_samples() {
        let mut rng = Rng::seed_from_u64(11);
        let truth = [0.0, 0.4, 0.9];
        let (mut inside, mut all) = (0, 0);
        for _ in 0..400 {
            let mut games = Vec::new();
            for (first, second) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
                let chance = 1.0 / (1.0 + f64::exp(truth[second] - truth[first]));
                let points = (0..50).filter(|_| rng.random_bool(chance)).count() as f64;
                games.push(Results { first, second, games: 50, points });
            }
            let ratings = rate(3, &games, Some((0, 0.0)));
            for player in [1, 2] {
                let [low, high] = ratings.players[player].unwrap().elo.interval;
                inside += u32::from(low <= ELO * truth[player] && ELO * truth[player] <= high);
                all += 1;
            }
        }
        let share = f64::from(inside) / f64::from(all);
        assert!((0.93..0.97).contains(&share), "{share}");
    }

    #[test]
    fn players_without_a_point_have_bounds() {
        // 0 and 1 are equal, 2 beats them, 3 loses to 1, 4 lost to 2 alone, and 5 and 6 met nobody else. 7 beats 2.
        let games = [
            (0, 1, 10, 5.0),
            (1, 0, 10, 5.0),
            (2, 0, 20, 20.0),
            (1, 3, 20, 20.0),
            (4, 2, 5, 0.0),
            (5, 6, 4, 2.0),
            (7, 2, 20, 20.0),
        ];
        let ratings = rate(8, &results(&games), None);
        let bounds: Vec<Option<Bound>> =
            ratings.players.iter().map(|rating| rating.map(|rating| rating.bound)).collect();
        let [none, lower, upper] = [Bound::None, Bound::Lower, Bound::Upper].map(Some);
        assert_eq!(bounds, [none, none, lower, upper, None, None, None, lower]);
        assert!(near(elo(&ratings, 0), 0.0, 1e-6) && near(elo(&ratings, 1), 0.0, 1e-6));
        // 20 games against a player with rating 0 are all won with a chance of 5%.
        let share = 0.05_f64.powf(1.0 / 20.0);
        let end = ELO * (share / (1.0 - share)).ln();
        assert!(near(elo(&ratings, 2), end, 1e-4) && near(elo(&ratings, 3), -end, 1e-4), "{ratings:?}");
        assert!(near(elo(&ratings, 7), 2.0 * end, 1e-4), "{ratings:?}");
        // Such games do not affect the others.
        let alone = rate(2, &results(&games[..2]), None);
        assert_eq!(ratings.players[..2], alone.players[..]);
        let Estimate { value, interval } = ratings.players[2].unwrap().elo;
        assert_eq!(interval, [value, f64::INFINITY]);
    }

    #[test]
    fn an_advantage_that_the_results_do_not_determine_is_not_estimated() {
        // All games won by the first player; by the second player; one order only; no loss of the first player; and a
        // circle of wins.
        let undetermined = [
            vec![(0, 1, 20, 20.0), (1, 0, 20, 20.0)],
            vec![(0, 1, 20, 0.0), (1, 0, 20, 0.0)],
            vec![(0, 1, 20, 12.0)],
            vec![(0, 1, 20, 20.0), (1, 0, 20, 9.0)],
            vec![(0, 1, 9, 9.0), (1, 2, 9, 9.0), (2, 0, 9, 9.0)],
        ];
        for games in undetermined {
            let ratings = rate(3, &results(&games), None);
            assert_eq!((ratings.first_move, ratings.first_move_determined), (None, false), "{games:?}");
            for rating in ratings.players.into_iter().flatten() {
                let [low, high] = rating.elo.interval;
                assert!(rating.elo.value.abs() < 400.0 && high - low > 10.0, "{games:?} {rating:?}");
            }
        }
        for games in [vec![(0, 1, 20, 19.5), (1, 0, 20, 19.5)], vec![(0, 1, 20, 19.0), (1, 0, 20, 9.0)]] {
            assert!(rate(2, &results(&games), None).first_move_determined, "{games:?}");
        }
    }

    #[test]
    fn the_advantage_is_determined_if_all_small_strengths_are_surprised() {
        let pairings = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)];
        let mut seen = [0, 0];
        // Each pairing is not played, lost, shared or won by its first player.
        for code in 0..4_u32.pow(6) {
            let of = |(at, (first, second))| match code / 4_u32.pow(at) % 4 {
                0 => None,
                points => Some(Results { first, second, games: 2, points: f64::from(points) - 1.0 }),
            };
            let games: Vec<Results> = (0..).zip(pairings).filter_map(of).collect();
            // Bounds of 1 and -1 are kept by whole numbers, below the number of players, or by none.
            let strengths = (-2..=2).flat_map(|one| (-2..=2).map(move |two| [0, one, two]));
            let agrees = |strengths: &[i32; 3], advantage: i32, of: &Results| {
                let lead = strengths[of.first] - strengths[of.second] + advantage;
                (of.points == 0.0 || lead >= 0) && (of.points == 2.0 || lead <= 0)
            };
            let explained = strengths
                .flat_map(|strengths| [(strengths, 1), (strengths, -1)])
                .any(|(strengths, advantage)| games.iter().all(|of| agrees(&strengths, advantage, of)));
            assert_eq!(determines_first_move(3, &games), !explained, "{games:?}");
            seen[usize::from(explained)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
    }

    #[test]
    fn no_games_give_no_ratings() {
        assert_eq!(rate(0, &[], None).players, []);
        let ratings = rate(2, &results(&[(0, 1, 0, 0.0)]), Some((0, 500.0)));
        assert_eq!(ratings.players.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    }
}
