//! Networks for tests: random ones, and games that are built in code.

use std::ops::Range;

use rand::RngExt;
use sternhalma_game::Rng;

use super::{Gates, Lit, Netlist, Network, Outputs};

/// The size of a random network.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub roles: usize,
    /// The number of moves per role.
    pub moves: usize,
    pub fluents: usize,
    /// The number of attempted gates. Some gates are equal to earlier ones, and
    /// unused gates are removed.
    pub gates: usize,
    /// The maximum number of steps of a match.
    pub steps: usize,
}

/// Returns a network of random gates. Each role always has a legal move and
/// every match ends. A role may have no goal or several.
pub fn random_network(rng: &mut Rng, sizes: Sizes) -> Network {
    let Sizes { roles, moves, fluents, gates: tries, steps } = sizes;
    // The fluents after the random ones count the steps; one of them holds at
    // a time.
    let mut names = names("f", fluents);
    names.extend((0..=steps).map(|step| format!("( step {step} )")));
    let each: Vec<Vec<String>> = vec![self::names("m", moves); roles];
    let mut draft = Draft::new(names, &each);
    // `pure` has literals that depend on fluents only, `all` has all literals.
    let mut pure: Vec<Lit> = (0..draft.fluents.len()).map(|fluent| draft.fluent(fluent)).collect();
    let mut all = pure.clone();
    all.extend((0..roles * moves).map(|mv| draft.does(mv)));
    for _ in 0..tries {
        let of_fluents = rng.random();
        let pool = if of_fluents { &pure } else { &all };
        let count = rng.random_range(2..6);
        let lits: Vec<Lit> = (0..count).map(|_| random_lit(rng, pool)).collect();
        let lit = if rng.random() { draft.gates.and(lits) } else { draft.gates.or(lits) };
        all.push(lit);
        if of_fluents {
            pure.push(lit);
        }
    }
    for role in 0..roles {
        let range = draft.ranges[role].clone();
        let mut legal: Vec<Lit> = range.clone().map(|_| random_lit(rng, &pure)).collect();
        // The last move is legal at least if no other is.
        let others = draft.gates.or(legal[..moves - 1].iter().copied());
        legal[moves - 1] = draft.gates.or([legal[moves - 1], !others]);
        draft.outputs.legal[range].copy_from_slice(&legal);
        let goals = (0..rng.random_range(1..4)).map(|goal| (30 * goal, random_lit(rng, &pure)));
        draft.outputs.goals[role] = goals.collect();
    }
    for fluent in 0..fluents {
        draft.initial[fluent] = rng.random();
        draft.outputs.next[fluent] = random_lit(rng, &all);
    }
    draft.count(fluents, steps);
    let over = if rng.random() { draft.gates.and([0; 3].map(|_| random_lit(rng, &pure))) } else { Lit::FALSE };
    draft.outputs.terminal = draft.gates.or([over, draft.fluent(fluents + steps)]);
    draft.finish(self::names("r", roles))
}

fn random_lit(rng: &mut Rng, pool: &[Lit]) -> Lit {
    let lit = pool[rng.random_range(0..pool.len())];
    if rng.random() { lit } else { !lit }
}

fn names(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number}")).collect()
}

/// A game under construction.
struct Draft {
    gates: Gates,
    fluents: Vec<String>,
    moves: Vec<String>,
    ranges: Vec<Range<usize>>,
    initial: Vec<bool>,
    /// The outputs; false unless they were set.
    outputs: Outputs,
}

impl Draft {
    /// Creates a game with the given fluents and the given moves of each role.
    /// All outputs are false and no role has a goal value until they are set.
    fn new(fluents: Vec<String>, moves: &[Vec<String>]) -> Draft {
        let all = moves.concat();
        let mut ranges = Vec::new();
        let mut end = 0;
        for moves in moves {
            ranges.push(end..end + moves.len());
            end += moves.len();
        }
        let outputs = Outputs {
            next: vec![Lit::FALSE; fluents.len()],
            legal: vec![Lit::FALSE; end],
            terminal: Lit::FALSE,
            goals: vec![Vec::new(); moves.len()],
        };
        let initial = vec![false; fluents.len()];
        Draft { gates: Gates::new(fluents.len(), end), fluents, moves: all, ranges, initial, outputs }
    }

    fn fluent(&self, fluent: usize) -> Lit {
        Lit::new(1 + fluent, false)
    }

    fn does(&self, mv: usize) -> Lit {
        Lit::new(1 + self.fluents.len() + mv, false)
    }

    /// Adds a counter of `steps + 1` fluents beginning with `first`. The
    /// counter stops at the last fluent.
    fn count(&mut self, first: usize, steps: usize) {
        self.initial[first] = true;
        for fluent in first..first + steps {
            self.outputs.next[fluent + 1] = self.fluent(fluent);
        }
        let last = first + steps;
        self.outputs.next[last] = self.gates.or([self.outputs.next[last], self.fluent(last)]);
    }

    /// Passes control from role to role, with one fluent per role beginning
    /// with `first`.
    fn take_turns(&mut self, first: usize) {
        let roles = self.ranges.len();
        self.initial[first] = true;
        for role in 0..roles {
            self.outputs.next[first + (role + 1) % roles] = self.fluent(first + role);
        }
    }

    fn finish(self, roles: Vec<String>) -> Network {
        let netlist: Netlist = self.gates.finish(self.initial, self.ranges, self.outputs);
        Network { netlist, roles, fluents: self.fluents, moves: self.moves }
    }
}

pub fn tic_tac_toe() -> Network {
    row_game(3, 3, 3, false)
}

pub fn connect_four() -> Network {
    row_game(8, 6, 4, true)
}

/// Returns a game of two roles that occupy cells in turn until one has a row
/// of `length` cells. With `gravity` a move is a column, and its lowest free
/// cell is occupied. The waiting role plays noop.
pub fn row_game(width: usize, height: usize, length: usize, gravity: bool) -> Network {
    let cells = width * height;
    // The fluents are the cells of each role, the free cells, and control.
    let cell = |x, y| x * height + y;
    let of = |role: usize, cell: usize| role * cells + cell;
    let (blank, control) = (2, 3 * cells);
    let mut fluents = Vec::new();
    for what in ["white", "black", "b"] {
        fluents.extend((0..cells).map(|cell| format!("( cell {} {} {what} )", cell / height, cell % height)));
    }
    fluents.extend(["white", "black"].map(|role| format!("( control {role} )")));
    let drops = if gravity { width } else { cells };
    let name = |drop| {
        if gravity { format!("( drop {drop} )") } else { format!("( mark {} {} )", drop / height, drop % height) }
    };
    let mut moves: Vec<String> = (0..drops).map(name).collect();
    moves.push("noop".into());
    let mut draft = Draft::new(fluents, &[moves.clone(), moves]);
    draft.take_turns(control);

    for place in 0..cells {
        let (x, y) = (place / height, place % height);
        draft.initial[of(blank, place)] = true;
        let open = draft.fluent(of(blank, place));
        let lowest = match gravity && y > 0 {
            true => draft.gates.and([open, !draft.fluent(of(blank, cell(x, y - 1)))]),
            false => open,
        };
        let drop = if gravity { x } else { place };
        let mut taken = Vec::new();
        for role in 0..2 {
            let takes = [lowest, draft.does(draft.ranges[role].start + drop)];
            let takes = draft.gates.and(takes);
            let has = draft.fluent(of(role, place));
            draft.outputs.next[of(role, place)] = draft.gates.or([has, takes]);
            taken.push(takes);
        }
        draft.outputs.next[of(blank, place)] = draft.gates.and([open, !taken[0], !taken[1]]);
    }
    for role in 0..2 {
        let start = draft.ranges[role].start;
        let active = draft.fluent(control + role);
        for drop in 0..drops {
            let place = if gravity { cell(drop, height - 1) } else { drop };
            let open = draft.fluent(of(blank, place));
            draft.outputs.legal[start + drop] = draft.gates.and([active, open]);
        }
        draft.outputs.legal[start + drops] = !active;
    }
    let lines = rows(width, height, length);
    let won = [0, 1].map(|role| {
        let rows: Vec<Lit> = lines
            .iter()
            .map(|line| draft.gates.and(line.iter().map(|&(x, y)| Lit::new(1 + of(role, cell(x, y)), false))))
            .collect();
        draft.gates.or(rows)
    });
    let open = (0..cells).map(|place| Lit::new(1 + of(blank, place), false));
    let open = draft.gates.or(open);
    draft.outputs.terminal = draft.gates.or([won[0], won[1], !open]);
    let drawn = draft.gates.and([!won[0], !won[1], !open]);
    for role in 0..2 {
        draft.outputs.goals[role] = vec![(100, won[role]), (50, drawn), (0, won[1 - role])];
    }
    draft.finish(vec!["white".into(), "black".into()])
}

/// Returns all rows of `length` cells.
fn rows(width: usize, height: usize, length: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rows = Vec::new();
    for x in 0..width {
        for y in 0..height {
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                let at = |step: usize| Some((x + dx * step, y.checked_add_signed(dy * step as isize)?));
                let row: Option<Vec<_>> = (0..length).map(at).collect();
                rows.extend(row.filter(|row| row.iter().all(|&(x, y)| x < width && y < height)));
            }
        }
    }
    rows
}

/// Returns a game of two roles that show a penny simultaneously, three times.
/// The first role tries to match and gets 0, 30, 60 or 90; the second gets the
/// rest of 90.
pub fn pennies() -> Network {
    const ROUNDS: usize = 3;
    let mut fluents: Vec<String> = (0..=ROUNDS).map(|round| format!("( round {round} )")).collect();
    fluents.extend((0..=ROUNDS).map(|count| format!("( matched {count} )")));
    let moves: Vec<String> = vec!["heads".into(), "tails".into()];
    let mut draft = Draft::new(fluents, &[moves.clone(), moves]);
    draft.count(0, ROUNDS);
    let matched = ROUNDS + 1;
    draft.initial[matched] = true;
    let heads = draft.gates.and([draft.does(0), draft.does(2)]);
    let tails = draft.gates.and([draft.does(1), draft.does(3)]);
    let same = draft.gates.or([heads, tails]);
    for count in 0..=ROUNDS {
        let this = draft.fluent(matched + count);
        let stays = draft.gates.and([this, !same]);
        let before = if count == 0 { Lit::FALSE } else { draft.fluent(matched + count - 1) };
        let comes = draft.gates.and([before, same]);
        draft.outputs.next[matched + count] = draft.gates.or([stays, comes]);
        draft.outputs.goals[0].push((30 * count as u8, this));
        draft.outputs.goals[1].push((90 - 30 * count as u8, this));
    }
    draft.outputs.legal = vec![Lit::TRUE; 4];
    draft.outputs.terminal = draft.fluent(ROUNDS);
    draft.finish(vec!["even".into(), "odd".into()])
}

/// Returns a game of three roles that take one or two stones in turn. The role
/// that takes the last stone gets 100, the others 0.
pub fn three_in_turn(stones: usize) -> Network {
    const ROLES: usize = 3;
    let mut fluents: Vec<String> = (0..=stones).map(|left| format!("( heap {left} )")).collect();
    fluents.extend((0..ROLES).map(|role| format!("( control p{role} )")));
    let moves: Vec<String> = vec!["( take 1 )".into(), "( take 2 )".into(), "noop".into()];
    let mut draft = Draft::new(fluents, &vec![moves; ROLES]);
    let control = stones + 1;
    draft.initial[stones] = true;
    draft.take_turns(control);
    let took = [0, 1].map(|take| {
        let does = [0, 1, 2].map(|role| draft.does(3 * role + take));
        draft.gates.or(does)
    });
    for left in 0..=stones {
        let mut ways = Vec::new();
        for (take, &took) in took.iter().enumerate().filter(|(take, _)| left + take < stones) {
            let before = draft.fluent(left + take + 1);
            ways.push(draft.gates.and([before, took]));
        }
        draft.outputs.next[left] = draft.gates.or(ways);
    }
    let two = draft.gates.and([!draft.fluent(0), !draft.fluent(1)]);
    for role in 0..ROLES {
        let active = draft.fluent(control + role);
        draft.outputs.legal[3 * role] = draft.gates.and([active, !draft.fluent(0)]);
        draft.outputs.legal[3 * role + 1] = draft.gates.and([active, two]);
        draft.outputs.legal[3 * role + 2] = !active;
        // Control has already passed on from the role that took the last
        // stone.
        let took_last = draft.fluent(control + (role + 1) % ROLES);
        draft.outputs.goals[role] = vec![(100, took_last), (0, !took_last)];
    }
    draft.outputs.terminal = draft.fluent(0);
    draft.finish(names("p", ROLES))
}

/// Returns a game of one role that switches lamps in a ring. A move switches a
/// lamp and its neighbours. The goal is 100 if no lamp is on after `steps`
/// moves.
pub fn lamps(lamps: usize, steps: usize) -> Network {
    let mut fluents: Vec<String> = (0..lamps).map(|lamp| format!("( on {lamp} )")).collect();
    fluents.extend((0..=steps).map(|step| format!("( step {step} )")));
    let moves = (0..lamps).map(|lamp| format!("( switch {lamp} )")).collect();
    let mut draft = Draft::new(fluents, &[moves]);
    draft.count(lamps, steps);
    for lamp in 0..lamps {
        draft.initial[lamp] = true;
        let near = [lamps - 1, 0, 1].map(|offset| draft.does((lamp + offset) % lamps));
        let switched = draft.gates.or(near);
        let on = draft.fluent(lamp);
        let ways = [draft.gates.and([on, !switched]), draft.gates.and([!on, switched])];
        draft.outputs.next[lamp] = draft.gates.or(ways);
    }
    draft.outputs.legal = vec![Lit::TRUE; lamps];
    draft.outputs.terminal = draft.fluent(lamps + steps);
    let out = draft.gates.and((0..lamps).map(|lamp| !Lit::new(1 + lamp, false)));
    draft.outputs.goals[0] = vec![(100, out), (0, !out)];
    draft.finish(vec!["keeper".into()])
}

/// Returns all games of this module.
pub fn games() -> Vec<Network> {
    vec![tic_tac_toe(), row_game(4, 4, 3, true), connect_four(), pennies(), three_in_turn(7), lamps(6, 9)]
}

/// A network of one role whose only move leads to a state without legal moves, which the rules do not end.
pub fn dead_end() -> Network {
    let gates = Gates::new(1, 1);
    let on = Lit::new(1, false);
    let outputs =
        Outputs { next: vec![Lit::FALSE], legal: vec![on], terminal: Lit::FALSE, goals: vec![vec![(50, !on)]] };
    Network {
        netlist: gates.finish(vec![true], std::iter::once(0..1).collect(), outputs),
        roles: vec!["you".into()],
        fluents: vec!["on".into()],
        moves: vec!["go".into()],
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Plays random moves by definition. Returns the number of steps and the
    /// values of all nodes at the end.
    fn play(network: &Network, rng: &mut Rng) -> (usize, Vec<bool>) {
        let netlist = &network.netlist;
        let outputs = &netlist.outputs;
        let mut fluents = netlist.initial.clone();
        for steps in 0.. {
            let mut does = vec![false; netlist.moves()];
            let values = netlist.evaluate(&fluents, &does);
            if outputs.terminal.of(&values) {
                return (steps, values);
            }
            for role in &netlist.roles {
                let legal: Vec<usize> = role.clone().filter(|&mv| outputs.legal[mv].of(&values)).collect();
                does[legal[rng.random_range(0..legal.len())]] = true;
            }
            let values = netlist.evaluate(&fluents, &does);
            fluents = outputs.next.iter().map(|lit| lit.of(&values)).collect();
        }
        unreachable!("every match ends")
    }

    #[test]
    fn games_in_code_are_the_games() {
        // The probabilities of a random match of tic-tac-toe are known: the
        // first role wins 737 of 1260, the second 121 of 420, and the mean
        // length is 7.63.
        let mut rng = Rng::seed_from_u64(1);
        let network = tic_tac_toe();
        let (mut steps, mut wins) = (0, [0, 0]);
        for _ in 0..20_000 {
            let (length, values) = play(&network, &mut rng);
            steps += length;
            for (role, wins) in wins.iter_mut().enumerate() {
                *wins += usize::from(network.netlist.outputs.goals[role][0].1.of(&values));
            }
        }
        assert!((7.59..7.67).contains(&(steps as f64 / 20_000.0)), "{steps}");
        assert!((11_400..12_000).contains(&wins[0]), "{wins:?}");
        assert!((5_500..6_030).contains(&wins[1]), "{wins:?}");
    }

    #[test]
    fn every_match_ends_with_names_that_differ() {
        let mut rng = Rng::seed_from_u64(2);
        let mut networks = games();
        for roles in 1..4 {
            let sizes = Sizes { roles, moves: 4, fluents: 12, gates: 40, steps: 10 };
            networks.extend((0..20).map(|_| random_network(&mut rng, sizes)));
        }
        for network in &networks {
            play(network, &mut rng);
            let distinct = |names: &[String]| {
                let mut sorted: Vec<&String> = names.iter().collect();
                sorted.sort_unstable();
                sorted.dedup();
                sorted.len() == names.len()
            };
            assert!(distinct(&network.roles) && distinct(&network.fluents));
            assert!(network.netlist.roles.iter().all(|range| distinct(&network.moves[range.clone()])));
        }
    }
}
