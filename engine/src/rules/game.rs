//! The two-player game.

use rand::RngExt;
use sternhalma_data::board::SealRule;
use sternhalma_data::{Board, BoardError, Cell, CellSet, Geometry, Move, Position, Rank, RuleSet, Side, State};
use sternhalma_ggp::{Game, Rng, Turn, key_of_words};

use crate::rules::filter::{Filter, Pieces, random_move};

/// The default ply at which a game is a draw.
pub const PLY_LIMIT: u32 = 1000;

/// A move, or `None` if a side without a legal move passes.
pub type Action = Option<Move>;

/// The result of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The player's goal corner is full and holds one of its pieces.
    Won(Side),
    /// Both sides passed, or the ply limit was reached.
    Draw,
}

/// Returns the board of a position.
///
/// # Errors
///
/// Returns an error if the armies differ in size, or if two armies of this size do not fit.
pub fn board_of(position: &Position) -> Result<Board, BoardError> {
    let [x, o] = Side::BOTH.map(|side| position.army(side).len());
    if x != o {
        return Err(BoardError::UnequalArmies { x, o });
    }
    Board::new(position.geometry().size() as u64, x as u64).and_then(Board::for_two)
}

/// The board and the rules of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameSetup {
    /// The board.
    pub board: Board,
    /// The rule set.
    pub rules: RuleSet,
    /// The ply at which the game is a draw.
    pub ply_limit: u32,
}

impl GameSetup {
    /// Returns the setup of a board with the rule set [`RuleSet::NEWEST`] and the ply limit [`PLY_LIMIT`].
    pub fn new(board: Board) -> GameSetup {
        GameSetup { board, rules: RuleSet::NEWEST, ply_limit: PLY_LIMIT }
    }

    /// Returns the same setup with other rules.
    #[must_use]
    pub fn with_rules(self, rules: RuleSet) -> GameSetup {
        GameSetup { rules, ..self }
    }

    /// Returns the same setup with another ply limit.
    #[must_use]
    pub fn with_ply_limit(self, ply_limit: u32) -> GameSetup {
        GameSetup { ply_limit, ..self }
    }
}

/// A placement of both armies with the player to move, which the rule about repetition counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Placement([u128; 2]);

impl Placement {
    /// Returns the cells of both armies, with the player to move in the highest bit.
    pub fn bits(self) -> [u128; 2] {
        self.0
    }
}

/// The rules for a board, and the moves that searches consider.
#[derive(Debug)]
pub struct ChineseCheckers {
    board: Board,
    geometry: &'static Geometry,
    rules: RuleSet,
    ply_limit: u32,
    /// The rule against sealed goals, if it applies.
    seal: Option<SealRule>,
    filter: Filter,
    /// The goal corner of each player.
    goals: [CellSet; 2],
    /// For each player and cell, the cells in higher rows towards the goal,
    /// and those in rows at least as high.
    ahead: [Vec<[CellSet; 2]>; 2],
}

/// A state of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameState {
    armies: [CellSet; 2],
    player: Side,
    passed: bool,
    ply: u32,
    outcome: Option<Outcome>,
    /// Whether the rule against sealed goals applies, and a goal is sealed.
    is_sealed: bool,
}

impl GameState {
    /// Returns the cells of a player's pieces, in board order.
    #[inline]
    pub fn army(&self, player: Side) -> CellSet {
        self.armies[player as usize]
    }

    /// Returns the player to move.
    #[inline]
    pub fn player(&self) -> Side {
        self.player
    }

    /// Returns the number of plies played so far.
    #[inline]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// Returns the armies with the player to move.
    #[inline]
    pub fn placement(&self) -> Placement {
        // Cells use less than 127 bits.
        let [x, o] = self.armies.map(CellSet::bits);
        Placement([x, o | (self.player as u128) << 127])
    }

    /// Returns whether the last action was a pass.
    #[inline]
    pub fn has_passed(&self) -> bool {
        self.passed
    }

    /// Returns the state with the other player to move, although a pass is not
    /// legal. Searches use such states, but games do not have them.
    pub(crate) fn skipped(self) -> GameState {
        GameState { player: self.player.other(), passed: false, ply: self.ply + 1, ..self }
    }

    /// Returns the result if the game is over.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }
}

impl ChineseCheckers {
    /// Creates the game for a board with the rules of [`GameSetup::new`]. Searches consider the moves of `filter`,
    /// widened if it leaves none.
    ///
    /// # Panics
    ///
    /// Panics if the homes of the board overlap.
    pub fn new(board: Board, filter: Filter) -> ChineseCheckers {
        ChineseCheckers::of(GameSetup::new(board), filter)
    }

    /// Creates the game of a setup, as [`ChineseCheckers::new`] does.
    ///
    /// # Panics
    ///
    /// Panics if the homes of the board overlap.
    pub fn of(GameSetup { board, rules, ply_limit }: GameSetup, filter: Filter) -> ChineseCheckers {
        assert!(board.homes_are_apart(), "the homes of {board} overlap");
        let geometry = board.geometry();
        let cells = board.cells();
        let ahead = [Side::X, Side::O].map(|player| {
            let rows = |cell: usize| match player {
                Side::X => geometry.row(Cell::new(cell)) as i32,
                Side::O => -(geometry.row(Cell::new(cell)) as i32),
            };
            let by = |test: &dyn Fn(usize) -> bool| (0..cells).filter(|&to| test(to)).map(Cell::new).collect();
            (0..cells).map(|from| [by(&|to| rows(to) > rows(from)), by(&|to| rows(to) >= rows(from))]).collect()
        });
        let goals = [board.goal(Side::X), board.goal(Side::O)];
        let seal = SealRule::of(rules, board);
        ChineseCheckers { board, geometry, rules, ply_limit, seal, filter, goals, ahead }
    }

    /// Returns the same game with another rule set.
    #[must_use]
    pub fn with_rules(self, rules: RuleSet) -> ChineseCheckers {
        let seal = SealRule::of(rules, self.board);
        ChineseCheckers { rules, seal, ..self }
    }

    /// Returns the same game with another ply limit.
    #[must_use]
    pub fn with_ply_limit(mut self, ply_limit: u32) -> ChineseCheckers {
        self.ply_limit = ply_limit;
        self
    }

    /// Returns the board and the rules.
    pub fn setup(&self) -> GameSetup {
        GameSetup { board: self.board, rules: self.rules, ply_limit: self.ply_limit }
    }

    /// Returns the rule set.
    #[inline]
    pub fn rules(&self) -> RuleSet {
        self.rules
    }

    /// Returns whether the rule set can forbid a move on this board. Without enough pieces for a wall it forbids none.
    pub fn forbids_seals(&self) -> bool {
        self.seal.as_ref().is_some_and(SealRule::is_possible)
    }

    /// Returns the placement of a state if the third occurrence of a placement is a draw.
    #[inline]
    pub fn counted_placement(&self, state: &GameState) -> Option<Placement> {
        self.rules.counts_repetitions().then(|| state.placement())
    }

    /// Returns the ply at which a game is a draw.
    #[inline]
    pub fn ply_limit(&self) -> u32 {
        self.ply_limit
    }

    /// Returns the board.
    #[inline]
    pub fn board(&self) -> Board {
        self.board
    }

    /// Returns the geometry of the board.
    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        self.geometry
    }

    /// Returns the state of a position, or `None` if the armies do not have
    /// the number of pieces of the board.
    pub fn state(&self, position: &Position) -> Option<GameState> {
        let armies = [Side::X, Side::O].map(|player| position.army(player));
        let fits = armies.iter().all(|army| army.len() == self.board.pieces());
        if !fits || position.geometry().size() != self.board.size() {
            return None;
        }
        let (player, ply) = (position.side_to_move(), position.ply());
        let mut state = GameState { armies, player, passed: false, ply, outcome: None, is_sealed: false };
        // The player that has just moved is tested first.
        state.outcome = self.outcome_after(&state, player.other());
        state.is_sealed = self.has_seal(&state);
        Some(state)
    }

    /// Returns whether the rule against sealed goals applies and a goal is sealed.
    pub(crate) fn has_seal(&self, state: &GameState) -> bool {
        let seals_of = |seal: &SealRule, side: Side| seal.seal(state.army(side), state.army(side.other()), side);
        let seals = |seal: &SealRule| Side::BOTH.iter().any(|&side| seals_of(seal, side).is_some());
        self.seal.as_ref().is_some_and(seals)
    }

    /// Returns whether a move of the player to move is legal.
    #[inline]
    pub fn is_legal(&self, state: &GameState, mv: Move) -> bool {
        let (army, others) = (state.army(state.player), state.army(state.player.other()));
        let reaches = || self.geometry.destinations((army | others).without(mv.from), mv.from).contains(mv.to);
        army.contains(mv.from) && reaches() && self.cells_sealed_by(state, mv).is_none()
    }

    /// Returns the cells that a move of the player to move would seal, against the rules.
    pub fn cells_sealed_by(&self, state: &GameState, mv: Move) -> Option<CellSet> {
        let (side, mut after) = (state.player, *state);
        after.armies[side as usize] = state.army(side).without(mv.from).with(mv.to);
        let (army, others) = (after.army(side), after.army(side.other()));
        self.seal.as_ref()?.forbids(army, others, side).map(|seal| seal.region)
    }

    /// Returns why the rule set forbids a move that a piece of the player to move can make. Returns `None` if the move
    /// is legal, or no piece can make it.
    pub fn why_forbidden(&self, state: &GameState, mv: Move) -> Option<String> {
        let occupied = state.army(Side::X) | state.army(Side::O);
        let can_move = state.army(state.player).contains(mv.from)
            && self.geometry.move_path(occupied.without(mv.from), mv).is_some();
        let cells = can_move.then(|| self.cells_sealed_by(state, mv)).flatten()?;
        let (other, cells) = (state.player.other(), self.geometry.cells_text(cells));
        Some(format!(
            "it seals the goal of {other}, which could never fill {cells} (rules {}; the rules {} allow it)",
            self.rules.option_name(),
            RuleSet::Paper.option_name()
        ))
    }

    /// Returns the moves of the player to move that only the rule against sealed goals forbids, each with the cells
    /// that it would seal.
    pub fn forbidden(&self, state: &GameState) -> Vec<(Move, CellSet)> {
        if self.seal.is_none() || state.outcome.is_some() {
            return Vec::new();
        }
        let moves = self.position(state).moves();
        moves.filter_map(|mv| Some((mv, self.cells_sealed_by(state, mv)?))).collect()
    }

    /// Returns the position of a state.
    pub fn position(&self, state: &GameState) -> Position {
        let [x, o] = state.armies;
        Position::new(self.geometry, x, o, state.player, state.ply).expect("armies share no cell")
    }

    /// Returns whether the armies have passed each other: every piece of `x` is in a higher row than every piece of
    /// `o`. Such armies could only meet by moving backward. Games of training data end here; a
    /// [race](ChineseCheckers::is_race) of the search needs an empty row as well.
    #[inline]
    pub fn have_passed(&self, state: &GameState) -> bool {
        match (state.army(Side::X).first(), state.army(Side::O).last()) {
            (Some(x), Some(o)) => self.geometry.row(x) > self.geometry.row(o),
            _ => false,
        }
    }

    /// Returns whether the armies only race: they have passed each other, and a row is empty between them. The player
    /// with the smaller distance, or the player to move if both are equal, then wins in all positions that were
    /// compared with exact solutions (`docs/reference/players.md`). With adjacent rows, a piece can gain moves over the pieces of
    /// the opponent.
    pub fn is_race(&self, state: &GameState) -> bool {
        match (state.army(Side::X).first(), state.army(Side::O).last()) {
            (Some(x), Some(o)) => self.geometry.row(x) > self.geometry.row(o) + 1,
            _ => false,
        }
    }

    /// Returns the army of a player in goal order, with its rank.
    ///
    /// The rank is computed from scratch. Updating the rank with every move
    /// ([`Rank::after_move`]) is slower. Playouts need the rank only once in
    /// many moves, and the loop over the passed pieces is mispredicted by the
    /// processor.
    #[inline]
    pub fn ranked(&self, state: &GameState, player: Side) -> (State, Rank) {
        let army = State::from_army(self.board, player, state.army(player));
        (army, Rank::of(army))
    }

    /// Returns a player's goal corner, in board order.
    #[inline]
    pub fn goal_corner(&self, player: Side) -> CellSet {
        self.goals[player as usize]
    }

    /// Returns the destinations of each piece of the player to move. While a
    /// filter leaves no move it widens: forward, non-backward, all.
    #[inline]
    pub fn pieces(&self, state: &GameState, filter: Filter) -> Pieces {
        let pieces = self.pieces_within(state, filter);
        if pieces.is_empty() && filter != Filter::All {
            return self.widened(state, filter);
        }
        pieces
    }

    #[cold]
    fn widened(&self, state: &GameState, filter: Filter) -> Pieces {
        match filter {
            Filter::Forward => self.pieces(state, Filter::NonBackward),
            _ => self.pieces_within(state, Filter::All),
        }
    }

    /// Returns the destinations of each piece for a filter that does not
    /// widen.
    #[inline]
    fn pieces_within(&self, state: &GameState, filter: Filter) -> Pieces {
        let player = state.player;
        let army = state.army(player);
        let occupied = army | state.army(player.other());
        let ahead = &self.ahead[player as usize];
        let mut pieces = Pieces::none();
        let others = state.army(player.other());
        let suspects = self.seal.as_ref().and_then(|seal| seal.suspects(army, others, player, state.is_sealed));
        for from in army {
            let mut to = self.geometry.destinations(occupied.without(from), from);
            if let (Some(seal), Some(suspects)) = (&self.seal, suspects) {
                to = seal.allowed(suspects, army, others, player, from, to);
            }
            pieces.push(
                from,
                match filter {
                    Filter::Forward => to & ahead[from.index()][0],
                    Filter::NonBackward => to & ahead[from.index()][1],
                    Filter::All => to,
                },
            );
        }
        pieces
    }

    /// Returns the number of rows by which a move of a player advances.
    #[inline]
    pub fn advance(&self, player: Side, mv: Move) -> i32 {
        let rows = self.geometry.row(mv.to) as i32 - self.geometry.row(mv.from) as i32;
        if player == Side::X { rows } else { -rows }
    }

    #[inline]
    fn outcome_after(&self, state: &GameState, mover: Side) -> Option<Outcome> {
        let occupied = state.armies[0] | state.armies[1];
        let has_won = |player: Side| {
            let goal = self.goal_corner(player);
            goal.is_subset(occupied) && !(goal & state.army(player)).is_empty()
        };
        let winner = [mover, mover.other()].into_iter().find(|&player| has_won(player)).map(Outcome::Won);
        winner.or((state.ply >= self.ply_limit).then_some(Outcome::Draw))
    }

    /// Plays a legal action of the player to move.
    #[inline]
    pub fn play_action(&self, state: &mut GameState, action: Action) {
        let mover = state.player;
        state.ply += 1;
        state.player = mover.other();
        match action {
            Some(mv) => {
                let army = &mut state.armies[mover as usize];
                debug_assert!(army.contains(mv.from));
                *army = army.without(mv.from).with(mv.to);
                state.passed = false;
                state.outcome = self.outcome_after(state, mover);
                if state.is_sealed {
                    state.is_sealed = self.has_seal(state);
                }
            }
            None => {
                let drawn = state.passed || state.ply >= self.ply_limit;
                state.outcome = drawn.then_some(Outcome::Draw);
                state.passed = true;
            }
        }
    }

    /// Plays random legal moves from the initial state. Returns `None` if these
    /// moves end the game.
    pub fn random_state(&self, plies: u32, rng: &mut Rng) -> Option<GameState> {
        let mut state = self.initial();
        let mut moves = Vec::new();
        for _ in 0..plies {
            moves.clear();
            self.legal(&state, state.player as usize, &mut moves);
            self.play_action(&mut state, moves[rng.random_range(0..moves.len())]);
            if state.outcome.is_some() {
                return None;
            }
        }
        Some(state)
    }
}

/// Appends the moves of some pieces, or a pass if there are none.
fn add_actions(pieces: &Pieces, actions: &mut Vec<Action>) {
    let before = actions.len();
    for (from, to) in pieces.iter() {
        actions.extend(to.iter().map(|to| Some(Move { from, to })));
    }
    if actions.len() == before {
        actions.push(None);
    }
}

/// Role 0 is `x` and role 1 is `o`. A win has the goal 100, a draw 50.
impl Game for ChineseCheckers {
    type State = GameState;
    type Move = Action;

    fn roles(&self) -> usize {
        2
    }

    fn initial(&self) -> GameState {
        self.state(&Position::initial(self.board)).expect("the initial position is the board's")
    }

    #[inline]
    fn turn(&self, state: &GameState) -> Turn {
        Turn::One(state.player as usize)
    }

    fn legal(&self, state: &GameState, _: usize, moves: &mut Vec<Action>) {
        add_actions(&self.pieces(state, self.filter), moves);
    }

    /// Returns forward moves, as in the playouts of [Roschke and Sturtevant
    /// 2013]; other playouts would not end.
    fn playout_moves(&self, state: &GameState, _: usize, moves: &mut Vec<Action>) {
        add_actions(&self.pieces(state, Filter::Forward), moves);
    }

    #[inline]
    fn random_move(&self, state: &GameState, _: usize, _: &mut Vec<Action>, rng: &mut Rng) -> Option<Action> {
        Some(random_move(&self.pieces(state, Filter::Forward), rng))
    }

    /// Numbers a move by its two cells; a pass has the number 0.
    #[inline]
    fn number(&self, _: usize, action: Action) -> u32 {
        let number = |Move { from, to }: Move| (from.index() * self.board.cells() + to.index()) as u32 + 1;
        action.map_or(0, number)
    }

    /// Hashes the armies, the player, the pass and the ply.
    #[inline]
    fn key(&self, state: &GameState) -> Option<u64> {
        let [x, o] = state.armies.map(CellSet::bits);
        let rest = u64::from(state.ply) << 2 | u64::from(state.passed) << 1 | state.player as u64;
        let words = [x as u64, (x >> 64) as u64, o as u64, (o >> 64) as u64, rest];
        Some(key_of_words(words))
    }

    #[inline]
    fn play(&self, state: &mut GameState, joint: &[Action]) {
        self.play_action(state, joint[0]);
    }

    #[inline]
    fn is_terminal(&self, state: &GameState) -> bool {
        state.outcome.is_some()
    }

    fn goal(&self, state: &GameState, role: usize) -> u8 {
        match state.outcome {
            Some(Outcome::Won(player)) if player as usize == role => 100,
            Some(Outcome::Won(_)) => 0,
            _ => 50,
        }
    }
}
