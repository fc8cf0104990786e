//! The progress of one game, independent of how its players are run.

use sternhalma_game::{Limits, SearchClock, SearchStats};

use super::{
    Adjudicator, ArenaGame, Fault, FaultKind, GameId, GameRecord, MoveSearch, Opening, RoleFault, Schedule,
    SearchValue, Termination, Totals,
};

/// A game in progress under the rules of a tournament.
///
/// [`tasks`](GameSession::tasks) returns the tasks of the current step. Call
/// [`play`](GameSession::play) once all tasks are done.
pub(super) struct GameSession<'a, G: ArenaGame> {
    pub game: &'a G,
    schedule: &'a Schedule,
    adjudicator: Option<&'a Adjudicator<'a, G>>,
    pub id: GameId,
    /// By role: the player of the pairing, 0 or 1.
    seats: Vec<usize>,
    opening: String,
    pub state: G::State,
    /// The keys of the states so far, if the game has a rule about repetition.
    keys: Vec<[u128; 2]>,
    plies: u32,
    /// Whether the start clock has ended.
    started: bool,
    /// By role: the chosen move and its search.
    chosen: Vec<Option<(G::Move, MoveSearch)>>,
    moves: Vec<String>,
    searches: Vec<MoveSearch>,
    spent: Vec<Totals>,
    legal: Vec<G::Move>,
}

/// A task of a role in the current step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RoleTask {
    pub role: usize,
    /// The limits, except for clocks.
    pub limits: Limits,
    pub kind: TaskKind,
}

/// The kind of a role's task in a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TaskKind {
    /// Choose a move.
    Move,
    /// Think, under this clock.
    Think(SearchClock),
}

impl<'a, G: ArenaGame> GameSession<'a, G> {
    pub fn new(
        game: &'a G,
        adjudicator: Option<&'a Adjudicator<'a, G>>,
        schedule: &'a Schedule,
        id: GameId,
        start: Opening<G::State>,
    ) -> Self {
        let seats = schedule.seats(id);
        GameSession {
            game,
            schedule,
            adjudicator,
            id,
            keys: game.repetition_key(&start.state).into_iter().collect(),
            state: start.state,
            opening: start.text,
            plies: start.plies,
            started: schedule.start == 0.0,
            chosen: vec![None; seats.len()],
            moves: Vec::new(),
            searches: Vec::new(),
            spent: vec![Totals::default(); seats.len()],
            legal: Vec::new(),
            seats,
        }
    }

    /// Returns the entrant of each role, in order of roles.
    pub fn entrants(&self) -> impl Iterator<Item = usize> {
        self.seats.iter().map(|&seat| self.schedule.pairings[self.id.pairing][seat])
    }

    /// Returns the seed of the contestant of a role. Contestants are numbered by player
    /// of the pairing, then by role.
    pub fn seed(&self, role: usize) -> u64 {
        let before = |&other: &usize| (self.seats[other], other) < (self.seats[role], role);
        self.schedule.contestant_seed(self.id, (0..self.seats.len()).filter(before).count())
    }

    /// Returns the tasks of the current step, in order of roles. The first step is the
    /// start clock, if there is one.
    ///
    /// # Errors
    /// Returns the termination and the goals if the game is over.
    pub fn tasks(&self) -> Result<Vec<RoleTask>, (Termination, Vec<u8>)> {
        if let Some(result) = self.result() {
            return Err(result);
        }
        let acting = self.game.turn(&self.state).acting(self.seats.len());
        let task = |role: usize| {
            let limits = self.schedule.budget(self.id, self.seats[role]).limits();
            let think = |limits, clock| Some(RoleTask { role, limits, kind: TaskKind::Think(clock) });
            match (self.started, acting.contains(&role)) {
                (false, _) => think(limits.times(self.schedule.start), SearchClock::Start),
                (true, true) => Some(RoleTask { role, limits, kind: TaskKind::Move }),
                (true, false) if self.schedule.ponder => think(limits, SearchClock::Play),
                (true, false) => None,
            }
        };
        Ok((0..self.seats.len()).filter_map(task).collect())
    }

    fn result(&self) -> Option<(Termination, Vec<u8>)> {
        let late = self.plies >= self.schedule.ply_limit;
        if self.game.is_terminal(&self.state) {
            let mut goals = Vec::new();
            self.game.goals(&self.state, &mut goals);
            // A game whose own rules have this limit ends there as a draw.
            let drawn = late && goals.iter().all(|&goal| goal == 50);
            return Some((if drawn { Termination::PlyLimit } else { Termination::Rules }, goals));
        }
        if self.is_repeated() {
            return Some((Termination::Repetition, vec![50; self.seats.len()]));
        }
        if late {
            return Some((Termination::PlyLimit, vec![50; self.seats.len()]));
        }
        let adjudicated = self.adjudicator.and_then(|adjudicate| adjudicate(&self.state));
        adjudicated.map(|goals| (Termination::Adjudicated, goals))
    }

    /// Returns whether the state occurs for the third time.
    fn is_repeated(&self) -> bool {
        self.keys.last().is_some_and(|last| self.keys.iter().filter(|&key| key == last).count() >= 3)
    }

    /// Ends the [`Think`](TaskKind::Think) task of a role.
    pub fn finish_thinking(&mut self, role: usize, spent: SearchStats) {
        self.spent[role].add(spent);
    }

    /// Ends the [`Move`](TaskKind::Move) task of a role. `value` is the value
    /// of the state for the role.
    ///
    /// # Errors
    /// Returns a fault if the move is illegal.
    pub fn choose(
        &mut self,
        role: usize,
        mv: G::Move,
        spent: SearchStats,
        value: Option<SearchValue>,
    ) -> Result<(), Fault> {
        self.legal.clear();
        self.game.legal(&self.state, role, &mut self.legal);
        if !self.legal.contains(&mv) {
            let text = self.game.move_text(&self.state, role, mv);
            let why = self.game.why_illegal(&self.state, role, mv);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            return Err(FaultKind::Illegal.fault(format!("{text} at ply {}{why}", self.plies)));
        }
        self.chosen[role] = Some((mv, MoveSearch::new(spent, value)));
        self.spent[role].add(spent);
        Ok(())
    }

    /// Ends the current step. Returns `None` after the start clock. Otherwise plays the
    /// chosen moves and returns these moves.
    pub fn play(&mut self) -> Option<Vec<G::Move>> {
        if !std::mem::replace(&mut self.started, true) {
            return None;
        }
        let chosen = self.chosen.iter_mut().map(Option::take).enumerate();
        let chosen: Vec<(usize, (G::Move, MoveSearch))> = chosen.filter_map(|(role, mv)| Some((role, mv?))).collect();
        let texts = chosen.iter().map(|&(role, (mv, _))| self.game.move_text(&self.state, role, mv));
        self.moves.push(texts.collect::<Vec<_>>().join(" "));
        let (joint, searches): (Vec<G::Move>, Vec<MoveSearch>) = chosen.into_iter().map(|(_, chosen)| chosen).unzip();
        self.searches.extend(searches);
        self.game.play(&mut self.state, &joint);
        self.keys.extend(self.game.repetition_key(&self.state));
        self.plies += 1;
        Some(joint)
    }

    /// Returns the record of a game that ended by a fault. After a fault of one role, all
    /// roles of its player lose.
    pub fn forfeit(self, fault: RoleFault) -> GameRecord {
        let guilty = self.seats[fault.role];
        let goals = self.seats.iter().map(|&seat| if seat == guilty { 0 } else { 100 }).collect();
        GameRecord { fault: Some(fault), ..self.record(Termination::Fault, goals) }
    }

    /// Returns the record of a game that ended without a fault.
    pub fn record(self, end: Termination, goals: Vec<u8>) -> GameRecord {
        let name = |&seat: &usize| self.schedule.name(self.id.pairing, seat).to_owned();
        let players = self.seats.iter().map(name).collect();
        let GameSession { id, opening, moves, plies, spent, mut searches, .. } = self;
        if searches.iter().all(|search| *search == MoveSearch::default()) {
            searches.clear();
        }
        GameRecord { id, players, opening, moves, plies, end, goals, fault: None, spent, searches, origin: None }
    }
}
