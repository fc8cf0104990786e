//! The two-player game.

use rand::RngExt;
use sternhalma_data::{Board, Cell, CellSet, Geometry, Move, Position, Rank, Side, State};
use sternhalma_ggp::features::StateFeatures;
use sternhalma_ggp::policy::PolicyGame;
use sternhalma_ggp::{Game, Rng, Turn};

use crate::anatomy::BoardFeatures;

use crate::filter::{Filter, Pieces};
use crate::playout::random_move;

/// The ply at which a game is a draw, unless a game says otherwise.
pub const PLY_LIMIT: u32 = 1000;

/// A move, or `None` for the pass of a side without a legal move.
pub type Action = Option<Move>;

/// How a game ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The player's goal corner is full and holds one of its pieces.
    Won(Side),
    /// Both sides passed, or the ply limit was reached.
    Draw,
}

/// The rules of a board, and which moves the search is shown.
#[derive(Debug)]
pub struct ChineseCheckers {
    board: Board,
    geometry: &'static Geometry,
    ply_limit: u32,
    filter: Filter,
    /// By player: the goal corner.
    goals: [CellSet; 2],
    /// By player and cell: the cells in higher rows toward the goal, and
    /// those in rows at least as high.
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
}

impl GameState {
    /// The cells of a player's pieces, in the board's order.
    #[inline]
    pub fn army(&self, player: Side) -> CellSet {
        self.armies[player as usize]
    }

    /// Who is to move.
    #[inline]
    pub fn player(&self) -> Side {
        self.player
    }

    /// The plies played so far.
    #[inline]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// Whether the last action was a pass.
    #[inline]
    pub fn has_passed(&self) -> bool {
        self.passed
    }

    /// The state with the other player to move, though who is to move could:
    /// no state of a game, but one a search may ask about.
    pub(crate) fn skipped(self) -> GameState {
        GameState { player: self.player.other(), passed: false, ply: self.ply + 1, ..self }
    }

    /// How the game ended, if it has.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }
}

impl ChineseCheckers {
    /// The game on a board. The search is shown the moves of `filter`,
    /// widened where it leaves none; [`PLY_LIMIT`] applies.
    ///
    /// # Panics
    /// If the homes of the board overlap.
    pub fn new(board: Board, filter: Filter) -> ChineseCheckers {
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
        ChineseCheckers { board, geometry, ply_limit: PLY_LIMIT, filter, goals, ahead }
    }

    /// The same game, drawn at another ply.
    #[must_use]
    pub fn with_ply_limit(mut self, ply_limit: u32) -> ChineseCheckers {
        self.ply_limit = ply_limit;
        self
    }

    /// The ply at which a game is a draw.
    #[inline]
    pub fn ply_limit(&self) -> u32 {
        self.ply_limit
    }

    /// The board.
    #[inline]
    pub fn board(&self) -> Board {
        self.board
    }

    /// Neighbours and rows of the board.
    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        self.geometry
    }

    /// The state of a position with the board's armies; none if the armies
    /// have not the board's pieces.
    pub fn state(&self, position: &Position) -> Option<GameState> {
        let armies = [Side::X, Side::O].map(|player| position.army(player));
        let fits = armies.iter().all(|army| army.len() == self.board.pieces());
        if !fits || position.geometry().size() != self.board.size() {
            return None;
        }
        let (player, ply) = (position.side_to_move(), position.ply());
        let mut state = GameState { armies, player, passed: false, ply, outcome: None };
        // The player that has just moved is tested first.
        state.outcome = self.outcome_after(&state, player.other());
        Some(state)
    }

    /// The position of a state.
    pub fn position(&self, state: &GameState) -> Position {
        let [x, o] = state.armies;
        Position::new(self.geometry, x, o, state.player, state.ply).expect("armies share no cell")
    }

    /// The army of a player as its goal tip sees it, with its rank in the
    /// table of the board.
    ///
    /// The rank is made anew. Carrying it along with the moves
    /// ([`Rank::after_move`]) takes longer: playouts need it once in many moves,
    /// and the pieces a move passes are a loop that the processor mispredicts.
    #[inline]
    pub fn ranked(&self, state: &GameState, player: Side) -> (State, Rank) {
        let army = State::from_army(self.board, player, state.army(player));
        (army, Rank::of(army))
    }

    /// A player's goal corner, in the board's order.
    #[inline]
    pub fn goal_corner(&self, player: Side) -> CellSet {
        self.goals[player as usize]
    }

    /// Where each piece of the player to move may go under a filter, widened
    /// to the next while it leaves no move: forward, non-backward, all.
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

    /// Where each piece may go under a filter as it is.
    #[inline]
    fn pieces_within(&self, state: &GameState, filter: Filter) -> Pieces {
        let player = state.player;
        let army = state.army(player);
        let occupied = army | state.army(player.other());
        let ahead = &self.ahead[player as usize];
        let mut pieces = Pieces::none();
        for from in army {
            let to = self.geometry.destinations(occupied.without(from), from);
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

    /// How many rows a move of a player leads toward the goal.
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

    /// Plays an action of the player to move, which is one of the rules'.
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
            }
            None => {
                let drawn = state.passed || state.ply >= self.ply_limit;
                state.outcome = drawn.then_some(Outcome::Draw);
                state.passed = true;
            }
        }
    }

    /// Plays random legal moves from the initial state; none if they end the
    /// game.
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

/// Adds the moves of some pieces; to pass if there is none.
fn add_actions(pieces: &Pieces, actions: &mut Vec<Action>) {
    let before = actions.len();
    for (from, to) in pieces.iter() {
        actions.extend(to.iter().map(|to| Some(Move { from, to })));
    }
    if actions.len() == before {
        actions.push(None);
    }
}

/// Role 0 is `x`, role 1 is `o`; a win is a goal of 100, a draw 50.
impl PolicyGame for ChineseCheckers {
    fn features(&self) -> Option<Box<dyn StateFeatures<ChineseCheckers>>> {
        Some(Box::new(BoardFeatures::new(self)))
    }
}

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

    /// Forward moves, as in all playouts of paper 004: others do not end.
    fn playout_moves(&self, state: &GameState, _: usize, moves: &mut Vec<Action>) {
        add_actions(&self.pieces(state, Filter::Forward), moves);
    }

    #[inline]
    fn random_move(&self, state: &GameState, _: usize, _: &mut Vec<Action>, rng: &mut Rng) -> Option<Action> {
        Some(random_move(&self.pieces(state, Filter::Forward), rng))
    }

    /// By the cells a piece leaves and reaches; 0 to pass.
    #[inline]
    fn number(&self, _: usize, action: Action) -> u32 {
        let number = |Move { from, to }: Move| (from.index() * self.board.cells() + to.index()) as u32 + 1;
        action.map_or(0, number)
    }

    #[inline]
    fn key(&self, state: &GameState) -> Option<u64> {
        let [x, o] = state.armies.map(CellSet::bits);
        let rest = u64::from(state.ply) << 2 | u64::from(state.passed) << 1 | state.player as u64;
        let words = [x as u64, (x >> 64) as u64, o as u64, (o >> 64) as u64, rest];
        Some(words.into_iter().fold(0, |key: u64, word| {
            let product = u128::from((key ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15)) * 0xd6e8_feb8_6659_fd93;
            (product as u64) ^ (product >> 64) as u64
        }))
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
