//! Generalized rapid action value estimation.

mod amaf;
mod log;

use crate::game::Game;
use crate::parts::{Controls, MoveStats, PerRole, Place, Selection};
use crate::trail::Trail;
use amaf::Amaf;

/// Which moves a node follows before its statistics can tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// As the paper has it: each move of a node is tried once, chosen by the
    /// playout, before any is valued.
    #[default]
    Paper,
    /// As the authors' program has it: an untried move is worth its AMAF value
    /// plus 1, or 1 without one, and of moves within 0.01 of the best any is
    /// followed.
    Authors,
}

/// The numbers of [`Grave`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GraveSettings {
    /// The exploration constant C, on rewards 0 to 1.
    pub c: f64,
    /// The equivalence parameter K: with so many visits of a node both values
    /// count the same. 0 is plain UCT, and infinity AMAF values alone.
    pub k: f64,
    /// The visits ref from which on a node's AMAF values are used. 0 is RAVE,
    /// and infinity HRAVE, which uses those of the root.
    pub reference: f64,
    /// How untried moves are valued.
    pub form: Form,
}

impl GraveSettings {
    /// The baseline of paper 001, section 5.1.
    pub const BASE: GraveSettings = GraveSettings { c: 0.2, k: 250.0, reference: 50.0, form: Form::Paper };
}

/// Selection by GRAVE (Cazenave 2015; paper 001, equations 1 to 3): UCB1 with
/// (1 - β) Q(s, a) + β AMAF(s', a) in place of the mean, where s' is the
/// closest node on the way, s included, with at least `ref` visits, else the
/// root, and β = √(K / (3 N(s) + K)). A move without AMAF value has its mean
/// alone.
///
/// AMAF(s', a) is the average reward of the simulations through s' in which
/// the role plays the move from s' on, in the tree or beyond, counted once a
/// simulation.
#[derive(Clone, Debug)]
pub struct Grave {
    controls: PerRole<GraveSettings>,
    form: Form,
    amaf: Amaf,
    /// The nodes that the simulation has entered.
    entered: Vec<Place>,
    notes: Vec<u32>,
}

/// What the values of a node's moves have in common.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// C √ln N.
    explore: f64,
    /// β.
    share: f64,
    /// The role, and the node s', whose AMAF values count.
    role: usize,
    reference: u32,
}

impl Grave {
    /// The worth of a move's being untried, in the authors' form.
    const UNTRIED: f64 = 1.0;

    /// Values so near to each other are the same, in the authors' form.
    const TOLERANCE: f64 = 0.01;

    /// Selection by these numbers.
    pub fn new(settings: GraveSettings) -> Grave {
        Grave {
            controls: PerRole::new(settings),
            form: settings.form,
            amaf: Amaf::default(),
            entered: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The node s' of equation 2.
    fn reference(&self, least: f64) -> u32 {
        let far = |place: &&Place| f64::from(place.visits) >= least;
        self.entered.iter().rev().find(far).unwrap_or(&self.entered[0]).node
    }
}

/// β (paper 001, equation 3).
fn share(k: f64, visits: u32) -> f64 {
    if k.is_infinite() { 1.0 } else { (k / (3.0 * f64::from(visits) + k).max(f64::MIN_POSITIVE)).sqrt() }
}

impl<G: Game> Selection<G> for Grave {
    type Note = u32;
    type Prepared = Shares;
    const LEARNS: bool = true;

    fn values_untried(&self) -> bool {
        self.form == Form::Authors
    }

    fn tolerance(&self) -> f64 {
        if self.form == Form::Authors { Grave::TOLERANCE } else { 0.0 }
    }

    fn note(&mut self, game: &G, _: &G::State, role: usize, moves: &[G::Move]) -> &[u32] {
        self.notes.clear();
        self.notes.extend(moves.iter().map(|&mv| game.number(role, mv)));
        &self.notes
    }

    #[inline]
    fn enter(&mut self, place: Place) {
        if place.node == 0 {
            self.entered.clear();
        }
        self.entered.push(place);
    }

    fn prepare(&mut self, place: Place, role: usize) -> Shares {
        let GraveSettings { c, k, reference, .. } = self.controls.of(role);
        let share = share(k, place.visits);
        let reference = if share > 0.0 { self.reference(reference) } else { 0 };
        if share > 0.0 {
            self.amaf.open(reference);
        }
        Shares { explore: c * f64::from(place.visits.max(1)).ln().sqrt(), share, role, reference }
    }

    #[inline]
    fn value(&self, shares: Shares, stats: MoveStats, number: u32) -> f64 {
        let Shares { explore, share, role, reference } = shares;
        let amaf = if share > 0.0 { self.amaf.mean(reference, role, number) } else { None };
        if stats.visits == 0 {
            return amaf.unwrap_or(0.0) + Grave::UNTRIED;
        }
        let visits = f64::from(stats.visits);
        let mean = stats.sum / visits;
        let value = amaf.map_or(mean, |amaf| (1.0 - share) * mean + share * amaf);
        value + explore / visits.sqrt()
    }

    fn set(&mut self, role: usize, controls: &Controls) {
        let &Controls { c, k, reference, .. } = controls;
        self.controls.set(role, GraveSettings { c, k, reference, form: self.form });
    }

    fn learn(&mut self, entered: &[u32], trail: &Trail, rewards: &[f64]) {
        self.amaf.learn(entered, trail, rewards);
    }

    fn renumber(&mut self, numbers: &[Option<u32>]) {
        self.amaf.renumber(numbers);
    }
}
