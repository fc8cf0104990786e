//! The parts that plug into Monte-Carlo tree search.

use std::fmt::Debug;

use rand::RngExt;

use crate::game::{Game, Rng};
use crate::trail::Trail;

/// The visits and rewards of a move at a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveStats {
    /// Simulations that played the move here.
    pub visits: u32,
    /// How many of them are still under way, without a reward.
    pub under_way: u32,
    /// The sum of their rewards for the role that moves. It is infinite once
    /// the move is proved to win or to lose.
    pub sum: f64,
}

impl MoveStats {
    /// The average reward; 0 without any, and infinite once the move is proved
    /// to win or to lose.
    #[inline]
    pub fn mean(self) -> f64 {
        let rewards = self.visits - self.under_way;
        if rewards == 0 { 0.0 } else { self.sum / f64::from(rewards) }
    }

    /// Takes the reward that the move is proved to have for that of all its
    /// simulations, of which one has ended at least.
    pub(crate) fn prove(&mut self, reward: f64) {
        self.sum = match reward {
            _ if reward <= 0.0 => f64::NEG_INFINITY,
            _ if reward >= 1.0 => f64::INFINITY,
            _ => reward * f64::from(self.visits - self.under_way),
        };
    }

    /// With the visits multiplied by a factor of 0 to 1 and rounded, but to 1 at
    /// least if there are any, and the same mean.
    #[must_use]
    pub(crate) fn faded(self, by: f64) -> MoveStats {
        if self.visits == 0 {
            return self;
        }
        let visits = ((f64::from(self.visits) * by).round() as u32).max(1);
        MoveStats { visits, under_way: 0, sum: self.sum * (f64::from(visits) / f64::from(self.visits)) }
    }
}

/// Numbers of a search that may change from simulation to simulation, for each
/// role by itself. What is not told stays, and what a part has no use for it
/// passes over.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Controls {
    /// The exploration constant C, on rewards 0 to 1.
    pub c: Option<f64>,
    /// The equivalence parameter K of [`Grave`](crate::Grave).
    pub k: Option<f64>,
    /// The visits ref from which on a node's AMAF values count.
    pub reference: Option<f64>,
    /// The share ε of random moves in playouts.
    pub epsilon: Option<f64>,
    /// What playouts go by.
    pub playout: Option<PlayoutKind>,
    /// The Move Decay γ of what playouts go by.
    pub gamma: Option<f64>,
    /// Its Simulation Decay ω.
    pub omega: Option<f64>,
}

/// What a playout goes by, of all that is learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutKind {
    /// Nothing: any move.
    Random,
    /// The averages of moves.
    Mast,
    /// Those of sequences of moves, too.
    Nst,
}

impl PlayoutKind {
    /// All of them.
    pub const ALL: [PlayoutKind; 3] = [PlayoutKind::Random, PlayoutKind::Mast, PlayoutKind::Nst];
}

/// A node on the way of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number in the tree.
    pub node: u32,
    /// Simulations that have moved on from it.
    pub visits: u32,
}

/// Which move of a node a simulation follows.
pub trait Selection<G: Game> {
    /// What it keeps of a move beside its statistics.
    type Note: Copy + Debug;

    /// What the values of the moves of a role at a node have in common.
    type Prepared: Copy;

    /// Whether it learns from the moves of simulations.
    const LEARNS: bool = false;

    /// Whether moves without visits are valued like the others. If not, each
    /// move of a node is tried once before any is valued.
    fn values_untried(&self) -> bool;

    /// Of the moves whose value is so near to the best, any is followed, all
    /// equally likely. If it is 0, the first of the best is.
    fn tolerance(&self) -> f64 {
        0.0
    }

    /// The notes of the moves of a role in a state that becomes a node.
    fn note(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move]) -> &[Self::Note];

    /// Follows a simulation to a node: first the root, then on its way.
    #[inline]
    fn enter(&mut self, _place: Place) {}

    /// Prepares to value the moves of a role at the node that was entered last.
    fn prepare(&mut self, place: Place, role: usize) -> Self::Prepared;

    /// The value of a move of the role it prepared for.
    fn value(&self, prepared: Self::Prepared, stats: MoveStats, note: Self::Note) -> f64;

    /// Takes other numbers for a role.
    fn set(&mut self, _role: usize, _controls: &Controls) {}

    /// Learns from a simulation that came to nodes, the last of which it may
    /// have added, and to rewards, one a role. It moved on from each node by
    /// the same step of the trail.
    #[inline]
    fn learn(&mut self, _entered: &[u32], _trail: &Trail, _rewards: &[f64]) {}

    /// The tree keeps some of its nodes, under new numbers: none of those
    /// that it forgets.
    fn renumber(&mut self, _numbers: &[Option<u32>]) {}
}

/// UCB1 applied to trees (Kocsis & Szepesvári 2006; paper 004, section 2.2):
/// mean + C √(ln T / Tᵢ).
#[derive(Clone, PartialEq, Debug)]
pub struct Uct {
    c: PerRole<f64>,
}

impl Uct {
    /// Selection with the exploration constant C, on rewards 0 to 1.
    pub fn new(c: f64) -> Uct {
        Uct { c: PerRole::new(c) }
    }
}

impl<G: Game> Selection<G> for Uct {
    type Note = ();
    type Prepared = f64;

    fn values_untried(&self) -> bool {
        false
    }

    #[inline]
    fn note(&mut self, _: &G, _: &G::State, _: usize, moves: &[G::Move]) -> &[()] {
        // A slice of nothing takes no memory, however long.
        &[(); usize::MAX][..moves.len()]
    }

    #[inline]
    fn prepare(&mut self, place: Place, role: usize) -> f64 {
        self.c.of(role) * f64::from(place.visits.max(1)).ln().sqrt()
    }

    #[inline]
    fn value(&self, prepared: f64, stats: MoveStats, (): ()) -> f64 {
        let visits = f64::from(stats.visits);
        stats.mean() + prepared / visits.sqrt()
    }

    fn set(&mut self, role: usize, controls: &Controls) {
        if let Some(c) = controls.c {
            self.c.set(role, c);
        }
    }
}

/// A value for all roles, until some have their own.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PerRole<T> {
    all: T,
    by_role: Vec<T>,
}

impl<T: Copy> PerRole<T> {
    pub fn new(all: T) -> PerRole<T> {
        PerRole { all, by_role: Vec::new() }
    }

    #[inline]
    pub fn of(&self, role: usize) -> T {
        self.by_role.get(role).copied().unwrap_or(self.all)
    }

    pub fn set(&mut self, role: usize, value: T) {
        if self.by_role.len() <= role {
            self.by_role.resize(role + 1, self.all);
        }
        self.by_role[role] = value;
    }
}

/// What moves are worth before they are tried.
pub trait Foresight<G: Game> {
    /// Appends the value of each move to the role that plays it, in units of
    /// reward; of moves at once, whatever the others play.
    fn foresee(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move], values: &mut Vec<f32>);
}

/// What [`Guided`] selection notes of a move, before it is tried.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hint {
    /// What it is worth, in units of reward.
    pub value: f32,
    /// The chance it is given. Those of a role at a node sum to 1.
    pub prior: f32,
}

/// Selection by a [`Foresight`]: mean + C p √T / (1 + Tᵢ), where an untried
/// move has the mean that is foreseen. It explores moves by the chance p that
/// they are given (PUCT, Rosin 2011, as Silver et al. 2016 have it), which is
/// proportional to exp(foreseen value / temperature).
#[derive(Clone, Debug)]
pub struct Guided<F> {
    foresight: F,
    c: f64,
    temperature: f64,
    values: Vec<f32>,
    hints: Vec<Hint>,
}

impl<F> Guided<F> {
    /// Selection with exploration constant `c` and `temperature`, above 0, in
    /// units of reward.
    pub fn new(foresight: F, c: f64, temperature: f64) -> Guided<F> {
        Guided { foresight, c, temperature, values: Vec::new(), hints: Vec::new() }
    }
}

impl<G: Game, F: Foresight<G>> Selection<G> for Guided<F> {
    type Note = Hint;
    type Prepared = f64;

    fn values_untried(&self) -> bool {
        true
    }

    fn note(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move]) -> &[Hint] {
        self.values.clear();
        self.foresight.foresee(game, state, role, moves, &mut self.values);
        // The largest exponent is 0, so that none overflows.
        let most = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |value: f32| ((f64::from(value) - f64::from(most)) / self.temperature).exp() as f32;
        self.hints.clear();
        self.hints.extend(self.values.iter().map(|&value| Hint { value, prior: weight(value) }));
        let sum: f32 = self.hints.iter().map(|hint| hint.prior).sum();
        self.hints.iter_mut().for_each(|hint| hint.prior /= sum);
        &self.hints
    }

    #[inline]
    fn prepare(&mut self, place: Place, _: usize) -> f64 {
        self.c * f64::from(place.visits.max(1)).sqrt()
    }

    #[inline]
    fn value(&self, prepared: f64, stats: MoveStats, hint: Hint) -> f64 {
        let mean = if stats.visits == 0 { f64::from(hint.value) } else { stats.sum / f64::from(stats.visits) };
        mean + prepared * f64::from(hint.prior) / f64::from(1 + stats.visits)
    }
}

/// The clock under which a simulation is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Phase {
    /// The start clock, before the match; the share of it that is gone, 0 to 1.
    Start(f64),
    /// The clock of a move.
    Play,
}

/// How moves are chosen beyond the tree, and among the untried moves in it.
pub trait Playout<G: Game> {
    /// Whether it learns from the moves of simulations, or chooses by the
    /// moves before.
    const LEARNS: bool = false;

    /// Whether it is shown the states of a simulation.
    const WATCHES: bool = false;

    /// Whether the trail is to tell which roles had no choice.
    #[inline]
    fn skips_waits(&self) -> bool {
        false
    }

    /// Takes a role for the one that the search is for.
    fn play_for(&mut self, _role: usize) {}

    /// Begins a simulation.
    #[inline]
    fn begin(&mut self, _game: &G, _phase: Phase, _rng: &mut Rng) {}

    /// Sees a state of a simulation: each in turn, that of the root and a
    /// terminal one included.
    #[inline]
    fn watch(&mut self, _game: &G, _state: &G::State) {}

    /// A move of an acting role in a state that is not terminal. It generates
    /// the moves itself, and need not consider all that are legal. The trail
    /// is empty but for its roles if the playout does not learn.
    fn choose(&mut self, game: &G, state: &G::State, role: usize, trail: &Trail, rng: &mut Rng) -> G::Move;

    /// The index of the move to try first of some untried moves of a node.
    fn choose_untried(
        &mut self,
        _game: &G,
        _state: &G::State,
        _role: usize,
        untried: &[G::Move],
        _trail: &Trail,
        rng: &mut Rng,
    ) -> usize {
        rng.random_range(0..untried.len())
    }

    /// Takes other numbers for a role.
    fn set(&mut self, _role: usize, _controls: &Controls) {}

    /// Learns from a simulation that came to rewards, one a role.
    #[inline]
    fn learn(&mut self, _game: &G, _trail: &Trail, _rewards: &[f64]) {}

    /// Follows a joint move of the match.
    fn advance(&mut self, _game: &G) {}

    /// What tells moves of a role apart that the search finds equally good:
    /// the higher, the better.
    fn prefer(&self, _game: &G, _role: usize, _mv: G::Move) -> f64 {
        0.0
    }
}

/// Uniformly random legal moves.
#[derive(Clone, Debug)]
pub struct RandomPlayout<M> {
    moves: Vec<M>,
}

impl<M> Default for RandomPlayout<M> {
    fn default() -> RandomPlayout<M> {
        RandomPlayout { moves: Vec::new() }
    }
}

impl<G: Game> Playout<G> for RandomPlayout<G::Move> {
    fn choose(&mut self, game: &G, state: &G::State, role: usize, _: &Trail, rng: &mut Rng) -> G::Move {
        let mv = game.random_move(state, role, &mut self.moves, rng);
        mv.expect("an acting role has a legal move in a state that is not terminal")
    }
}

/// Where a playout ends before the game does.
pub trait Cutoff<G: Game> {
    /// If the playout ends in this state, which is not terminal, writes a
    /// reward a role and returns true. `moves` have been played since the tree.
    fn cut(&mut self, game: &G, state: &G::State, moves: u32, rewards: &mut [f64]) -> bool;
}

/// Playouts go on to the end of the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToTheEnd;

impl<G: Game> Cutoff<G> for ToTheEnd {
    #[inline]
    fn cut(&mut self, _: &G, _: &G::State, _: u32, _: &mut [f64]) -> bool {
        false
    }
}

/// What a state is worth to each role without playing on.
pub trait Evaluator<G: Game> {
    /// Writes a value a role, in units of reward.
    fn evaluate(&mut self, game: &G, state: &G::State, values: &mut [f64]);
}

/// Playouts end after a number of moves, with the value of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedDepth<E> {
    /// Moves played beyond the tree.
    pub depth: u32,
    /// Values the state then.
    pub evaluator: E,
}

impl<G: Game, E: Evaluator<G>> Cutoff<G> for FixedDepth<E> {
    #[inline]
    fn cut(&mut self, game: &G, state: &G::State, moves: u32, rewards: &mut [f64]) -> bool {
        if moves < self.depth {
            return false;
        }
        self.evaluator.evaluate(game, state, rewards);
        true
    }
}

/// Prefers short wins and long losses (paper 004, section 4.2): a reward r in
/// 0..1 after a simulation of `length` moves from the root becomes
/// r + weight · (1 - 2r) · min(length, horizon) / horizon.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LengthBonus {
    /// The most a reward changes; 0 for no change.
    pub weight: f64,
    /// The length from which on it changes no more.
    pub horizon: u32,
}

impl LengthBonus {
    /// Rewards as they are.
    pub const NONE: LengthBonus = LengthBonus { weight: 0.0, horizon: 1 };

    #[inline]
    pub(crate) fn shape(self, rewards: &mut [f64], length: u32) {
        let share = self.weight * f64::from(length.min(self.horizon)) / f64::from(self.horizon);
        for reward in rewards {
            *reward += share * (1.0 - 2.0 * *reward);
        }
    }
}

/// The move that is played after the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decision {
    /// The highest average reward, of the visited moves.
    #[default]
    BestAverage,
    /// The most visits; of equals the higher average. A move that is proved to
    /// win goes before all others, one that is proved to lose after them.
    MostVisits,
    /// The highest effective quality (paper 002, section VII.B, Table III):
    /// an average that looks one joint move further. Of equals the one that
    /// the playout [prefers](Playout::prefer), then any.
    EffectiveQuality,
}

impl Decision {
    /// The index of the best move by the statistics of a node alone, which
    /// know of no effective quality; the first of equals.
    pub(crate) fn best(self, stats: impl Iterator<Item = MoveStats>) -> Option<usize> {
        let key = |stats: MoveStats| match self {
            Decision::BestAverage | Decision::EffectiveQuality if stats.visits == 0 => (f64::NEG_INFINITY, 0.0),
            Decision::BestAverage | Decision::EffectiveQuality => (stats.mean(), f64::from(stats.visits)),
            Decision::MostVisits if stats.sum.is_infinite() => (stats.sum, f64::from(stats.visits)),
            Decision::MostVisits => (f64::from(stats.visits), stats.mean()),
        };
        let keyed = stats.map(key).enumerate();
        let better = |best: (usize, (f64, f64)), next: (usize, (f64, f64))| if next.1 > best.1 { next } else { best };
        keyed.reduce(better).map(|(index, _)| index)
    }
}
