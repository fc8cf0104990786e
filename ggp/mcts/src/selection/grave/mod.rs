//! Selection by generalized rapid action value estimation (GRAVE).

mod amaf;
mod log;

use super::{EdgeValues, Game, MoveHistory, MoveStats, NodeVisit, ParamOverrides, Selection};
use crate::PerRole;
use amaf::Amaf;

/// The treatment of untried moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GraveForm {
    /// The form of the paper: each move of a node is tried once, chosen by the
    /// playout, before any is evaluated.
    #[default]
    Paper,
    /// The form of the authors' program: an untried move has its AMAF value
    /// plus 1, or 1 without an AMAF value. Moves within 0.01 of the best are
    /// tied.
    Authors,
}

/// The parameters of [`Grave`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GraveSettings {
    /// The exploration constant C, for rewards from 0 to 1.
    pub c: f64,
    /// The equivalence parameter K: the number of visits of a node at which
    /// own and AMAF values have equal weight. 0 is plain UCT, infinity uses
    /// AMAF values alone.
    pub k: f64,
    /// The number of visits, ref, from which a node's AMAF values are used. 0
    /// is RAVE. Infinity is HRAVE, which uses those of the root.
    pub reference: f64,
    /// The treatment of untried moves.
    pub form: GraveForm,
}

impl GraveSettings {
    /// The baseline of [Sironi and Winands 2018, section 5.1].
    pub const BASE: GraveSettings = GraveSettings { c: 0.2, k: 250.0, reference: 50.0, form: GraveForm::Paper };
}

/// Selection by GRAVE [Cazenave 2015; Sironi and Winands 2018, equations 1 to
/// 3].
///
/// GRAVE is UCB1 with (1 - β) Q(s, a) + β AMAF(s', a) in place of the mean,
/// where β = √(K / (3 N(s) + K)). The node s' is the closest node on the path,
/// including s, with at least `ref` visits, or else the root. A move without an
/// AMAF value uses its mean alone.
///
/// AMAF(s', a) is the average reward of the simulations through s' in which
/// the role plays the move at or after s', in the tree or beyond, counted once
/// per simulation.
#[derive(Clone, Debug)]
pub struct Grave {
    controls: PerRole<GraveSettings>,
    form: GraveForm,
    amaf: Amaf,
    /// The nodes that the simulation has entered.
    entered: Vec<NodeVisit>,
    notes: Vec<u32>,
}

/// The common part of the values of a node's moves.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// C √ln N.
    explore: f64,
    /// β.
    share: f64,
    /// The role, and the node s' whose AMAF values are used.
    role: usize,
    reference: u32,
}

impl Grave {
    /// The bonus of an untried move in the authors' form.
    const UNTRIED: f64 = 1.0;

    /// The tolerance for ties in the authors' form.
    const TOLERANCE: f64 = 0.01;

    /// Creates a selection with the given parameters.
    pub fn new(settings: GraveSettings) -> Grave {
        Grave {
            controls: PerRole::new(settings),
            form: settings.form,
            amaf: Amaf::default(),
            entered: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the node s' of equation 2.
    fn reference(&self, least: f64) -> u32 {
        let far = |place: &&NodeVisit| f64::from(place.visits) >= least;
        self.entered.iter().rev().find(far).unwrap_or(&self.entered[0]).node
    }
}

/// Returns β [Sironi and Winands 2018, equation 3].
fn share(k: f64, visits: u32) -> f64 {
    if k.is_infinite() { 1.0 } else { (k / (3.0 * f64::from(visits) + k).max(f64::MIN_POSITIVE)).sqrt() }
}

impl<G: Game, V> Selection<G, V> for Grave {
    fn edge_data(&mut self, game: &G, _: &V, role: usize, moves: &[G::Move]) -> &[u32] {
        self.notes.clear();
        self.notes.extend(moves.iter().map(|&mv| game.number(role, mv)));
        &self.notes
    }
}

impl EdgeValues for Grave {
    type EdgeData = u32;
    type Prepared = Shares;
    const LEARNS: bool = true;

    fn values_untried(&self) -> bool {
        self.form == GraveForm::Authors
    }

    fn tolerance(&self) -> f64 {
        if self.form == GraveForm::Authors { Grave::TOLERANCE } else { 0.0 }
    }

    #[inline]
    fn enter(&mut self, place: NodeVisit) {
        if place.node == 0 {
            self.entered.clear();
        }
        self.entered.push(place);
    }

    fn prepare(&mut self, place: NodeVisit, role: usize) -> Shares {
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
        let mean = stats.mean();
        let value = amaf.map_or(mean, |amaf| (1.0 - share) * mean + share * amaf);
        value + explore / visits.sqrt()
    }

    fn set_params(&mut self, role: usize, params: &ParamOverrides) {
        let current = self.controls.of(role);
        let c = params.c.unwrap_or(current.c);
        let k = params.k.unwrap_or(current.k);
        let reference = params.reference.unwrap_or(current.reference);
        self.controls.set(role, GraveSettings { c, k, reference, form: self.form });
    }

    fn learn(&mut self, entered: &[u32], history: &MoveHistory, rewards: &[f64]) {
        self.amaf.learn(entered, history, rewards);
    }

    fn memory(&self) -> usize {
        self.amaf.bytes()
    }

    fn set_room(&mut self, bytes: usize) {
        self.amaf.set_room(bytes);
    }

    fn take_shortage(&mut self) -> bool {
        self.amaf.take_shortage()
    }

    fn renumber(&mut self, numbers: &[Option<u32>]) {
        self.amaf.renumber(numbers);
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use serde::{Deserialize, Deserializer};

    use super::*;
    use crate::Mcts;
    use crate::testing::{Simulation, number};
    use crate::{MctsConfig, RandomPlayout, ToTheEnd};
    use sternhalma_game::Limits;
    use sternhalma_game::Rng;
    use sternhalma_game::Turn;

    #[derive(Deserialize)]
    struct Data {
        shares: Vec<Share>,
        references: Vec<Reference>,
        simulations: Vec<Entered>,
        values_of_nodes: Vec<Amaf>,
        values: Vec<Value>,
    }

    #[derive(Deserialize)]
    struct Share {
        #[serde(deserialize_with = "bound")]
        k: f64,
        visits: u32,
        share: f64,
    }

    #[derive(Deserialize)]
    struct Reference {
        about: String,
        /// The visits of the nodes on the path, from the root.
        visits: Vec<u32>,
        #[serde(deserialize_with = "bound")]
        r#ref: f64,
        place: u32,
    }

    #[derive(Deserialize)]
    struct Entered {
        entered: Vec<u32>,
        #[serde(flatten)]
        simulation: Simulation,
    }

    #[derive(Deserialize)]
    struct Amaf {
        node: u32,
        role: usize,
        #[serde(rename = "move")]
        mv: String,
        mean: Option<f64>,
    }

    #[derive(Deserialize)]
    struct Value {
        about: String,
        form: String,
        c: f64,
        #[serde(deserialize_with = "bound")]
        k: f64,
        visits: u32,
        move_visits: u32,
        mean: f64,
        amaf: Option<f64>,
        value: f64,
    }

    /// Deserializes a number that may be infinite.
    fn bound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap()))
    }

    fn data() -> Data {
        serde_json::from_str(include_str!("../../../tests/data/policies/grave.json")).unwrap()
    }

    fn enter(grave: &mut Grave, node: u32, visits: u32) -> NodeVisit {
        let place = NodeVisit { node, visits };
        grave.enter(place);
        place
    }

    fn prepare(grave: &mut Grave, place: NodeVisit, role: usize) -> Shares {
        grave.prepare(place, role)
    }

    #[test]
    fn values_have_their_shares() {
        for Share { k, visits, share: expected } in data().shares {
            assert!((share(k, visits) - expected).abs() < 1e-9, "K = {k}, N = {visits}: {}", share(k, visits));
        }
    }

    #[test]
    fn the_reference_is_the_closest_node_with_enough_visits() {
        for case in data().references {
            let mut grave = Grave::new(GraveSettings { reference: case.r#ref, ..GraveSettings::BASE });
            // The nodes of the previous simulation are not part of this one.
            enter(&mut grave, 0, 1_000_000);
            enter(&mut grave, 7, 1_000_000);
            let places: Vec<NodeVisit> =
                (0..).zip(&case.visits).map(|(node, &visits)| enter(&mut grave, node, visits)).collect();
            let shares = prepare(&mut grave, places[places.len() - 1], 0);
            assert_eq!(shares.reference, case.place, "{}", case.about);
        }
    }

    #[test]
    fn nodes_know_the_moves_of_their_simulations() {
        let Data { simulations, values_of_nodes, .. } = data();
        // Nodes are queried after all simulations, or also before each.
        for early in [false, true] {
            let mut grave = Grave::new(GraveSettings::BASE);
            for Entered { entered, simulation } in &simulations {
                if early {
                    (0..4).for_each(|node| grave.amaf.open(node));
                }
                grave.learn(entered, &simulation.history(), &simulation.rewards);
            }
            (0..4).for_each(|node| grave.amaf.open(node));
            for expected in &values_of_nodes {
                let mean = grave.amaf.mean(expected.node, expected.role, number(&expected.mv));
                let near = mean.zip(expected.mean).is_none_or(|(mean, expected)| (mean - expected).abs() < 1e-8);
                let Amaf { node, role, mv, .. } = expected;
                assert!(near && mean.is_some() == expected.mean.is_some(), "node {node}, role {role}, {mv}: {mean:?}");
            }
        }
    }

    #[test]
    fn values_are_those_of_the_equations() {
        for case in data().values {
            let form = if case.form == "authors" { GraveForm::Authors } else { GraveForm::Paper };
            let mut grave = Grave::new(GraveSettings { c: case.c, k: case.k, reference: 0.0, form });
            let place = enter(&mut grave, 0, case.visits);
            if let Some(amaf) = case.amaf {
                let simulation = Simulation { steps: vec!["A".to_owned()], rewards: vec![amaf], times: 1 };
                grave.learn(&[0], &simulation.history(), &simulation.rewards);
            }
            let shares = prepare(&mut grave, place, 0);
            let stats =
                MoveStats { visits: case.move_visits, under_way: 0, sum: case.mean * f64::from(case.move_visits) };
            let value = grave.value(shares, stats, number("A"));
            // AMAF values use rewards in single precision.
            assert!((value - case.value).abs() < 1e-7, "{}: {value}, not {}", case.about, case.value);
        }
    }

    #[test]
    fn forms_differ_in_what_they_value_and_how_near() {
        for (form, untried, tolerance) in [(GraveForm::Paper, false, 0.0), (GraveForm::Authors, true, 0.01)] {
            let grave = Grave::new(GraveSettings { form, ..GraveSettings::BASE });
            assert_eq!(grave.values_untried(), untried);
            assert_eq!(grave.tolerance(), tolerance);
        }
    }

    #[test]
    fn roles_may_have_their_own_numbers() {
        let mut grave = Grave::new(GraveSettings { k: 0.0, ..GraveSettings::BASE });
        let infinity = Some(f64::INFINITY);
        let controls = ParamOverrides { c: Some(0.9), k: infinity, reference: infinity, ..ParamOverrides::default() };
        grave.set_params(1, &controls);
        enter(&mut grave, 0, 10);
        let place = enter(&mut grave, 1, 100);
        let expected = [(0, 0.0, 0.2), (1, 1.0, 0.9)];
        for (role, share, c) in expected {
            let shares = prepare(&mut grave, place, role);
            assert_eq!((shares.share, shares.reference), (share, 0));
            assert!((shares.explore - c * 100f64.ln().sqrt()).abs() < 1e-12);
        }
    }

    /// A game of three roles for some steps, in each of which one role moves or
    /// all do. Goals depend on all moves.
    struct Mixed;

    const STEPS: usize = 7;

    impl Game for Mixed {
        type State = (usize, u64);
        type Move = u32;
        fn roles(&self) -> usize {
            3
        }
        fn initial(&self) -> (usize, u64) {
            (0, 0)
        }
        fn turn(&self, state: &(usize, u64)) -> Turn {
            if state.0 % 4 == 2 { Turn::All } else { Turn::One(state.0 % 3) }
        }
        fn legal(&self, state: &(usize, u64), role: usize, moves: &mut Vec<u32>) {
            moves.extend((0..4).filter(|mv| !(state.0 + role + *mv as usize).is_multiple_of(5)));
        }
        fn number(&self, role: usize, mv: u32) -> u32 {
            2 * mv + role as u32 % 2
        }
        fn play(&self, state: &mut (usize, u64), joint: &[u32]) {
            *state = (state.0 + 1, joint.iter().fold(state.1, |sum, &mv| sum * 7 % 1009 + u64::from(mv)));
        }
        fn is_terminal(&self, state: &(usize, u64)) -> bool {
            state.0 == STEPS
        }
        fn goal(&self, state: &(usize, u64), role: usize) -> u8 {
            ((state.1 * (role as u64 + 3)) % 101) as u8
        }
    }

    /// All simulations through a node: the joint moves from there on, and the
    /// rewards.
    type Through = Vec<(Vec<Vec<u32>>, Vec<f64>)>;

    /// Checks each value of a selection against all simulations so far.
    struct Checked {
        grave: Grave,
        settings: GraveSettings,
        nodes: Vec<Through>,
        way: Vec<NodeVisit>,
        checked: std::rc::Rc<std::cell::Cell<u32>>,
    }

    impl Checked {
        fn slow_value(&self, place: NodeVisit, role: usize, stats: MoveStats, number: u32) -> f64 {
            let GraveSettings { c, k, reference, .. } = self.settings;
            let enough = self.way.iter().rev().find(|place| f64::from(place.visits) >= reference);
            let node = enough.map_or(0, |place| place.node) as usize;
            let played = |(steps, rewards): &(Vec<Vec<u32>>, Vec<f64>)| {
                steps.iter().any(|step| step[role] == number).then_some(rewards[role])
            };
            let samples: Vec<f64> = self.nodes.get(node).into_iter().flatten().filter_map(played).collect();
            let amaf = samples.iter().sum::<f64>() / samples.len() as f64;
            if stats.visits == 0 {
                return 1.0 + if samples.is_empty() { 0.0 } else { amaf };
            }
            let visits = f64::from(place.visits);
            let beta = (k / (3.0 * visits + k)).sqrt();
            let mean = stats.sum / f64::from(stats.visits);
            let exploited = if samples.is_empty() { mean } else { (1.0 - beta) * mean + beta * amaf };
            exploited + c * (visits.ln() / f64::from(stats.visits)).sqrt()
        }
    }

    impl Selection<Mixed> for Checked {
        fn edge_data(&mut self, game: &Mixed, state: &(usize, u64), role: usize, moves: &[u32]) -> &[u32] {
            self.grave.edge_data(game, state, role, moves)
        }
    }

    impl EdgeValues for Checked {
        type EdgeData = u32;
        type Prepared = (Shares, NodeVisit, usize);
        const LEARNS: bool = true;
        fn values_untried(&self) -> bool {
            self.grave.values_untried()
        }
        fn enter(&mut self, place: NodeVisit) {
            self.way.retain(|_| place.node != 0);
            self.way.push(place);
            self.grave.enter(place);
        }
        fn prepare(&mut self, place: NodeVisit, role: usize) -> (Shares, NodeVisit, usize) {
            (self.grave.prepare(place, role), place, role)
        }
        fn value(&self, (shares, place, role): (Shares, NodeVisit, usize), stats: MoveStats, number: u32) -> f64 {
            let value = self.grave.value(shares, stats, number);
            let expected = self.slow_value(place, role, stats, number);
            assert!((value - expected).abs() < 1e-6, "{value} instead of {expected} at {place:?}");
            self.checked.set(self.checked.get() + 1);
            value
        }
        fn learn(&mut self, entered: &[u32], history: &MoveHistory, rewards: &[f64]) {
            let steps: Vec<Vec<u32>> = history.steps().map(<[u32]>::to_vec).collect();
            for (step, &node) in entered.iter().enumerate() {
                let nodes = self.nodes.len().max(node as usize + 1);
                self.nodes.resize(nodes, Vec::new());
                self.nodes[node as usize].push((steps[step..].to_vec(), rewards.to_vec()));
            }
            self.grave.learn(entered, history, rewards);
        }
        fn renumber(&mut self, numbers: &[Option<u32>]) {
            let mut nodes = Vec::new();
            for (node, number) in std::mem::take(&mut self.nodes).into_iter().zip(numbers) {
                let Some(number) = *number else { continue };
                nodes.resize(nodes.len().max(number as usize + 1), Vec::new());
                nodes[number as usize] = node;
            }
            self.nodes = nodes;
            self.grave.renumber(numbers);
        }
    }

    #[test]
    fn the_search_selects_by_the_equations_through_a_match() {
        for (seed, reference) in [(0, 0.0), (1, 5.0), (2, 20.0), (3, f64::INFINITY), (4, 20.0)] {
            let form = if seed == 4 { GraveForm::Authors } else { GraveForm::Paper };
            let settings = GraveSettings { c: 0.3, k: 30.0, reference, form };
            let checked = std::rc::Rc::new(std::cell::Cell::new(0));
            let (nodes, way) = (Vec::new(), Vec::new());
            let selection = Checked { grave: Grave::new(settings), settings, nodes, way, checked: checked.clone() };
            let mut mcts = Mcts::new(selection, RandomPlayout::default(), ToTheEnd, MctsConfig::default(), seed);
            let mut rng: Rng = rand::SeedableRng::seed_from_u64(seed);
            let mut state = Mixed.initial();
            mcts.begin(&Mixed, &state);
            while !Mixed.is_terminal(&state) {
                let acting = Mixed.turn(&state).acting(3);
                mcts.search(&Mixed, &state, acting.start, Limits::playouts(150), &Default::default());
                let mut legal = Vec::new();
                let joint: Vec<u32> = acting
                    .map(|role| {
                        legal.clear();
                        Mixed.legal(&state, role, &mut legal);
                        legal[rng.random_range(0..legal.len())]
                    })
                    .collect();
                mcts.advance(&Mixed, &joint);
                Mixed.play(&mut state, &joint);
            }
            assert!(checked.get() > 2_000, "{} values", checked.get());
        }
    }
}
