//! Playouts guided by move values.

use rand::RngExt;

use super::{Decay, Game, LastGoodReply, MoveHistory, ParamOverrides, Playout, Rng, SearchState, Selector};
use crate::{PerRole, PlayoutKind};

/// Values of moves, learnt from the simulations so far.
pub trait MoveValues {
    /// Returns whether move histories must mark roles without a choice.
    fn skips_waits(&self) -> bool {
        false
    }

    /// Appends the value (0 to 1) of each given move of a role at the end of
    /// the history.
    fn worths(&mut self, history: &MoveHistory, role: usize, numbers: &[u32], worths: &mut Vec<f32>);

    /// Learns from a simulation with one reward per role. The entries that
    /// occur in the simulation decay by ω.
    fn learn(&mut self, history: &MoveHistory, rewards: &[f64], decay: &Decay);

    /// Multiplies all weights.
    fn decay(&mut self, by: f64);

    /// Returns the memory of the values in bytes.
    fn memory(&self) -> usize {
        0
    }

    /// Sets the number of bytes by which the memory may grow in the next `learn`.
    fn set_room(&mut self, _bytes: usize) {}

    /// Returns whether there was no room since the last call.
    fn take_shortage(&mut self) -> bool {
        false
    }

    /// Decays after a joint move of the match.
    fn advance(&mut self, decay: &Decay) {
        self.decay(decay.gamma);
    }

    /// Sets the parameters of a role.
    fn set_params(&mut self, _role: usize, _params: &ParamOverrides) {}
}

/// A playout that chooses good replies first, if it has them, and otherwise by
/// move values. In the tree the playout chooses among the untried moves only.
#[derive(Clone, Debug)]
pub struct ValueGuidedPlayout<W, M> {
    worth: W,
    /// The default selector.
    usual: Selector,
    selector: PerRole<Selector>,
    replies: Option<LastGoodReply>,
    decay: Decay,
    /// The number of simulations since the end of the last batch.
    batched: u32,
    moves: Vec<M>,
    chooser: Chooser,
}

/// The buffers of a choice.
#[derive(Clone, Debug, Default)]
struct Chooser {
    numbers: Vec<u32>,
    worths: Vec<f32>,
}

impl<W: MoveValues, M: Copy> ValueGuidedPlayout<W, M> {
    /// Creates a playout that has learnt nothing.
    pub fn new(worth: W, selector: Selector, replies: Option<LastGoodReply>, decay: Decay) -> ValueGuidedPlayout<W, M> {
        ValueGuidedPlayout {
            worth,
            usual: selector,
            selector: PerRole::new(selector),
            replies,
            decay,
            batched: 0,
            moves: Vec::new(),
            chooser: Chooser::default(),
        }
    }

    /// Returns the index of the choice among the given moves: a good reply,
    /// otherwise at random or by value.
    #[inline]
    fn choose_among<G: Game<Move = M>>(
        &mut self,
        game: &G,
        role: usize,
        moves: &[M],
        history: &MoveHistory,
        random: bool,
        rng: &mut Rng,
    ) -> usize {
        if moves.len() == 1 {
            return 0;
        }
        let Chooser { numbers, worths } = &mut self.chooser;
        numbers.clear();
        numbers.extend(moves.iter().map(|&mv| game.number(role, mv)));
        if let Some(reply) = self.replies.as_ref().and_then(|replies| replies.find(history, role, numbers)) {
            return reply;
        }
        if random {
            return rng.random_range(0..moves.len());
        }
        worths.clear();
        self.worth.worths(history, role, numbers, worths);
        self.selector.of(role).choose(worths, rng)
    }

    /// Returns the decay for a game: none without opponents, unless it is
    /// requested.
    fn decay_of(&self, game: &impl Game) -> Decay {
        if game.roles() > 1 || self.decay.alone { self.decay } else { Decay::NONE }
    }
}

impl<G: Game, V: SearchState<G>, W: MoveValues> Playout<G, V> for ValueGuidedPlayout<W, G::Move> {
    const LEARNS: bool = true;

    fn skips_waits(&self) -> bool {
        self.worth.skips_waits()
    }

    fn choose(&mut self, game: &G, state: &V, role: usize, history: &MoveHistory, rng: &mut Rng) -> G::Move {
        let random = self.selector.of(role).is_random(rng);
        let mut moves = std::mem::take(&mut self.moves);
        let known = if random && self.replies.is_none() {
            state.random_move(game, role, &mut moves, rng)
        } else {
            moves.clear();
            state.playout_moves(game, role, &mut moves);
            let choice = self.choose_among(game, role, &moves, history, random, rng);
            moves.get(choice).copied()
        };
        self.moves = moves;
        known.expect("an acting role has a legal move in a state that is not terminal")
    }

    fn choose_untried(
        &mut self,
        game: &G,
        _: &V,
        role: usize,
        untried: &[G::Move],
        history: &MoveHistory,
        rng: &mut Rng,
    ) -> usize {
        let random = self.selector.of(role).is_random(rng);
        self.choose_among(game, role, untried, history, random, rng)
    }

    fn set_params(&mut self, role: usize, params: &ParamOverrides) {
        let selector = params.epsilon.map_or(self.usual, |epsilon| Selector::Greedy { epsilon });
        let is_random = params.playout == Some(PlayoutKind::Random);
        self.selector.set(role, if is_random { Selector::Greedy { epsilon: 1.0 } } else { selector });
        self.worth.set_params(role, params);
    }

    fn learn(&mut self, game: &G, history: &MoveHistory, rewards: &[f64]) {
        let decay = self.decay_of(game);
        self.worth.learn(history, rewards, &decay);
        if let Some(replies) = &mut self.replies {
            replies.learn(history, rewards);
        }
        self.batched += 1;
        if self.batched >= decay.batch {
            self.batched = 0;
            self.worth.decay(decay.lambda);
        }
    }

    fn memory(&self) -> usize {
        self.worth.memory() + self.replies.as_ref().map_or(0, LastGoodReply::bytes)
    }

    fn set_room(&mut self, bytes: usize) {
        self.worth.set_room(bytes / 2);
        self.replies.iter_mut().for_each(|replies| replies.set_room(bytes / 2));
    }

    fn take_shortage(&mut self) -> bool {
        self.worth.take_shortage() | self.replies.as_mut().is_some_and(LastGoodReply::take_shortage)
    }

    fn advance(&mut self, game: &G) {
        let decay = self.decay_of(game);
        self.worth.advance(&decay);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::SeedableRng;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::playout::{Mast, Nst, NstEnsemble};
    use crate::testing::{Offers, Simulation, deviate, history, number, numbers};

    fn cases<T: DeserializeOwned>(text: &str) -> Vec<T> {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        serde_json::from_value(value["cases"].clone()).unwrap()
    }

    #[derive(Deserialize)]
    struct Choices {
        about: String,
        /// The selector, written as in policies.
        selector: String,
        /// The average of each move, 0 to 100.
        averages: BTreeMap<String, f64>,
        /// The probability of each move.
        options: BTreeMap<String, f64>,
    }

    fn selector(text: &str) -> Selector {
        match text.split_once('=').map(|(name, value)| (name, value.parse().unwrap())) {
            Some(("epsilon", epsilon)) => Selector::Greedy { epsilon },
            Some(("tau", tau)) => Selector::Gibbs { tau },
            _ => panic!("`epsilon` or `tau`, not `{text}`"),
        }
    }

    /// Returns a simulation of one joint move, with goals from 0 to 100.
    fn single(step: &str, goals: &[f64]) -> Simulation {
        Simulation { steps: vec![step.to_owned()], rewards: goals.to_vec(), times: 1 }
    }

    fn learn<W: MoveValues>(playout: &mut ValueGuidedPlayout<W, u32>, game: &Offers, simulation: &Simulation) {
        Playout::<Offers>::learn(playout, game, &simulation.history(), &simulation.rewards());
    }

    #[test]
    fn a_shortage_of_room_is_reported_once() {
        fn check<W: MoveValues>(worth: W, replies: Option<LastGoodReply>) {
            let random = Selector::Greedy { epsilon: 1.0 };
            let mut playout = ValueGuidedPlayout::new(worth, random, replies, Decay::NONE);
            let game = Offers(2);
            let simulation =
                Simulation { steps: vec!["A B".to_owned(), "C D".to_owned()], rewards: vec![100.0, 0.0], times: 1 };
            for (room, is_short) in [(0, true), (1 << 20, false)] {
                Playout::<Offers>::set_room(&mut playout, room);
                learn(&mut playout, &game, &simulation);
                let reports: Vec<bool> = (0..2).map(|_| Playout::<Offers>::take_shortage(&mut playout)).collect();
                assert_eq!(reports, [is_short, false], "{room} bytes");
                assert_eq!(Playout::<Offers>::memory(&playout) == 0, is_short, "{room} bytes");
            }
        }
        /// Values that need no memory.
        struct NoValues;
        impl MoveValues for NoValues {
            fn worths(&mut self, _: &MoveHistory, _: usize, numbers: &[u32], worths: &mut Vec<f32>) {
                worths.extend(numbers.iter().map(|_| 0.0));
            }
            fn learn(&mut self, _: &MoveHistory, _: &[f64], _: &Decay) {}
            fn decay(&mut self, _: f64) {}
        }
        check(Mast::default(), None);
        check(Nst::new(3, 1.0), None);
        check(NstEnsemble::new(&Nst::new(3, 1.0), &[(1.0, 1.0), (0.5, 1.0)]), None);
        check(NoValues, Some(LastGoodReply::default()));
    }

    const DRAWS: u32 = 60_000;

    #[test]
    fn moves_are_chosen_with_their_probabilities() {
        let game = Offers(2);
        for case in cases::<Choices>(include_str!("../../tests/data/policies/selectors.json")) {
            let mut playout = ValueGuidedPlayout::new(Mast::default(), selector(&case.selector), None, Decay::NONE);
            for (mv, &average) in &case.averages {
                // The other role has the opposite averages.
                learn(&mut playout, &game, &single(&format!("{mv} {mv}"), &[average, 100.0 - average]));
            }
            let options: Vec<u32> = case.options.keys().map(|mv| number(mv)).collect();
            let chances: Vec<f64> = case.options.values().copied().collect();
            let state = (0, options.clone());
            let mut rng = Rng::seed_from_u64(5);
            let mut counts = [vec![0; options.len()], vec![0; options.len()]];
            for _ in 0..DRAWS {
                let untried = playout.choose_untried(&game, &state, 0, &options, &MoveHistory::new(2), &mut rng);
                counts[0][untried] += 1;
                let mv = playout.choose(&game, &state, 0, &MoveHistory::new(2), &mut rng);
                counts[1][options.iter().position(|&option| option == mv).unwrap()] += 1;
            }
            for counts in counts {
                let deviate = deviate(&counts, &chances);
                assert!(deviate < 6.5, "{}: {counts:?} of {chances:?}", case.about);
            }
        }
    }

    #[test]
    fn a_reply_goes_before_chance_and_worth() {
        let game = Offers(2);
        let simulation =
            Simulation { steps: ["A noop", "noop B"].map(str::to_owned).to_vec(), rewards: vec![20.0, 20.0], times: 1 };
        let after = history(2, &[], &["A noop".to_owned()]);
        let options = numbers("C B D");
        let mut rng = Rng::seed_from_u64(6);
        for (replies, expected) in [(None, [1.0 / 3.0; 3]), (Some(LastGoodReply::default()), [0.0, 1.0, 0.0])] {
            let random = Selector::Greedy { epsilon: 1.0 };
            let mut playout = ValueGuidedPlayout::new(Mast::default(), random, replies, Decay::NONE);
            learn(&mut playout, &game, &simulation);
            let mut counts = [0; 3];
            for _ in 0..300 {
                counts[playout.choose_untried(&game, &(1, options.clone()), 1, &options, &after, &mut rng)] += 1;
                let mv = playout.choose(&game, &(1, options.clone()), 1, &after, &mut rng);
                counts[options.iter().position(|&option| option == mv).unwrap()] += 1;
            }
            assert!(deviate(&counts, &expected) < 6.5, "{counts:?}");
            // If the reply is not among the moves, the choice is the same as
            // without it.
            let mut counts = [0; 2];
            for _ in 0..300 {
                counts[playout.choose_untried(&game, &(1, numbers("C D")), 1, &numbers("C D"), &after, &mut rng)] += 1;
            }
            assert!(deviate(&counts, &[0.5; 2]) < 6.5, "{counts:?}");
        }
    }

    #[test]
    fn a_role_may_have_its_own_share_of_random_moves() {
        let game = Offers(4);
        let mut playout =
            ValueGuidedPlayout::new(Mast::default(), Selector::Greedy { epsilon: 0.0 }, None, Decay::NONE);
        learn(&mut playout, &game, &single("A A A A", &[10.0; 4]));
        let mut set = |role, epsilon, kind| {
            let controls = ParamOverrides { epsilon, playout: kind, ..ParamOverrides::default() };
            Playout::<Offers>::set_params(&mut playout, role, &controls);
        };
        set(1, Some(1.0), None);
        set(2, None, Some(PlayoutKind::Random));
        set(3, None, Some(PlayoutKind::Random));
        set(3, None, Some(PlayoutKind::Mast));
        let mut rng = Rng::seed_from_u64(7);
        for (role, chances) in [(0, [0.0, 1.0]), (1, [0.5, 0.5]), (2, [0.5, 0.5]), (3, [0.0, 1.0])] {
            let mut counts = [0; 2];
            for _ in 0..2_000 {
                let options = numbers("A B");
                counts
                    [playout.choose_untried(&game, &(role, vec![]), role, &options, &MoveHistory::new(2), &mut rng)] +=
                    1;
            }
            assert!(deviate(&counts, &chances) < 6.5, "role {role}: {counts:?}");
        }
    }

    #[derive(Deserialize)]
    struct Fading {
        about: String,
        roles: usize,
        k: f64,
        gamma: f64,
        lambda: f64,
        batch: u32,
        omega: f64,
        events: Vec<Event>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Event {
        Simulate(Simulation),
        /// A number of joint moves of the match.
        Moves(u32),
        /// The expected statistics at this point.
        Grams(Vec<Gram>),
        Worth {
            after: Vec<String>,
            role: usize,
            #[serde(rename = "move")]
            mv: String,
            is: f32,
        },
    }

    #[derive(Deserialize, Debug)]
    struct Gram {
        role: usize,
        gram: String,
        mean: Option<f32>,
        weight: f32,
    }

    impl Gram {
        /// Single precision accumulates errors over a thousand simulations.
        fn is(&self, mean: Option<f32>, weight: f32) -> bool {
            (weight - self.weight).abs() <= 1e-4 * self.weight + 1e-30
                && mean.is_some() == self.mean.is_some()
                && mean.is_none_or(|mean| (100.0 * mean - self.mean.unwrap()).abs() < 1e-2)
        }
    }

    type Table = BTreeMap<Vec<u32>, (Option<f32>, f32)>;

    /// Replays the events; sequences longer than `longest` are not checked.
    fn fade<W: MoveValues>(case: &Fading, worth: W, longest: usize, table: impl Fn(&W, usize) -> Table) {
        let game = Offers(case.roles);
        let &Fading { gamma, lambda, batch, omega, .. } = case;
        let decay = Decay { gamma, lambda, batch, omega, ..Decay::NONE };
        let mut playout: ValueGuidedPlayout<W, u32> =
            ValueGuidedPlayout::new(worth, Selector::Greedy { epsilon: 0.0 }, None, decay);
        for (place, event) in case.events.iter().enumerate() {
            let about = format!("{}, event {place}", case.about);
            match event {
                Event::Simulate(simulation) => {
                    (0..simulation.times).for_each(|_| learn(&mut playout, &game, simulation));
                }
                Event::Moves(moves) => (0..*moves).for_each(|_| Playout::<Offers>::advance(&mut playout, &game)),
                Event::Grams(grams) => {
                    for expected in grams.iter().filter(|expected| numbers(&expected.gram).len() <= longest) {
                        let table = table(&playout.worth, expected.role);
                        let (mean, weight) = table.get(&numbers(&expected.gram)).copied().unwrap_or_default();
                        assert!(expected.is(mean, weight), "{about}: {mean:?} of {weight}, not {expected:?}");
                    }
                }
                Event::Worth { after, role, mv, is } if longest > 1 => {
                    let mut worths = Vec::new();
                    playout.worth.worths(&history(case.roles, &[], after), *role, &[number(mv)], &mut worths);
                    assert!((100.0 * worths[0] - is).abs() < 1e-2, "{about}: {worths:?}, not {is}");
                }
                Event::Worth { .. } => {}
            }
        }
    }

    #[test]
    fn without_an_opponent_decay_is_on_if_it_is_to_be() {
        let simulation = Simulation { steps: vec!["A".to_owned()], rewards: vec![50.0], times: 1 };
        // There are three rewards, one of which the cap removes, and a move of
        // the match.
        for (roles, alone, expected) in [(1, false, 3.0), (1, true, 1.0), (2, false, 1.0)] {
            let decay = Decay { gamma: 0.5, cap: 2.0, alone, ..Decay::NONE };
            let mut playout = ValueGuidedPlayout::new(Mast::default(), Selector::Greedy { epsilon: 0.0 }, None, decay);
            (0..3).for_each(|_| learn(&mut playout, &Offers(roles), &simulation));
            Playout::<Offers>::advance(&mut playout, &Offers(roles));
            let weights: Vec<f32> = playout.worth.table(0).into_iter().map(|(.., weight)| weight).collect();
            assert_eq!(weights, [0.0, expected], "{roles} roles");
        }
    }

    #[test]
    fn weights_decay_and_means_stay() {
        for case in cases::<Fading>(include_str!("../../tests/data/policies/decays.json")) {
            fade(&case, Nst::new(3, case.k), 3, Nst::table);
            let singles = |mast: &Mast, role| {
                let table = mast.table(role).into_iter();
                table.map(|(number, mean, weight)| (vec![number], (mean, weight))).collect()
            };
            fade(&case, Mast::default(), 1, singles);
        }
    }
}
