//! Games of self-play, and their bytes.

use sternhalma_data::{Cell, CellSet, Move, Position, Side};
use sternhalma_engine::{Action, ChineseCheckers, GameState, SearchInfo, SearchValue};

/// The score of a search, for the player to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlyScore {
    /// There was no search, because only one action was legal.
    Unknown,
    /// A lead in hundredths of a move.
    Lead(i16),
    /// The lead of a race that the table decides, in hundredths of a move.
    Race(i16),
    /// A proven win (positive) or loss (negative), with the number of plies.
    Proof(i16),
}

impl PlyScore {
    /// Returns the score of a search.
    pub fn of(info: &SearchInfo) -> PlyScore {
        let plies = |plies: u32| i16::try_from(plies.max(1)).unwrap_or(i16::MAX);
        let hundredths = |lead: f64| (lead * 100.0).round() as i16;
        match info.value {
            Some(SearchValue::Lead(lead)) if info.is_race => PlyScore::Race(hundredths(lead)),
            Some(SearchValue::Lead(lead)) => PlyScore::Lead(hundredths(lead)),
            Some(SearchValue::Won(wins)) => PlyScore::Proof(plies(wins)),
            Some(SearchValue::Lost(loses)) => PlyScore::Proof(-plies(loses)),
            Some(SearchValue::Reward(_)) | None => PlyScore::Unknown,
        }
    }

    /// Returns the two flag bits and the number.
    fn parts(self) -> (u8, i16) {
        match self {
            PlyScore::Lead(lead) => (0, lead),
            PlyScore::Race(lead) => (1, lead),
            PlyScore::Proof(plies) => (2, plies),
            PlyScore::Unknown => (3, 0),
        }
    }

    fn from_parts(flags: u8, number: i16) -> PlyScore {
        match flags {
            0 => PlyScore::Lead(number),
            1 => PlyScore::Race(number),
            2 => PlyScore::Proof(number),
            _ => PlyScore::Unknown,
        }
    }
}

/// An action of a game with the score of its search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrainingPly {
    /// The move, or a pass.
    pub action: Action,
    /// The score before the action.
    pub score: PlyScore,
}

/// A game of self-play, from its opening until it is decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrainingGame {
    /// The start of the searches.
    pub start: Position,
    /// The actions.
    pub plies: Vec<TrainingPly>,
    /// The winner, or `None` for a draw.
    pub winner: Option<Side>,
}

/// The byte of both cells of a pass.
const PASS: u8 = 0x7f;

/// The lower bits of the byte of a cell; the highest bit is a flag of the score.
const CELL: u8 = 0x7f;

impl TrainingGame {
    /// Appends the bytes of the game (`docs/reference/training-data.md`).
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.start.side_to_move() as u8);
        bytes.extend((self.start.ply() as u16).to_le_bytes());
        for side in Side::BOTH {
            bytes.extend(self.start.army(side).iter().map(|cell| cell.index() as u8));
        }
        bytes.push(self.winner.map_or(2, |side| side as u8));
        bytes.extend((self.plies.len() as u16).to_le_bytes());
        for ply in &self.plies {
            let (flags, number) = ply.score.parts();
            let [from, to] =
                ply.action.map_or([PASS; 2], |Move { from, to }| [from, to].map(|cell| cell.index() as u8));
            bytes.extend([from | (flags & 1) << 7, to | (flags & 2) << 6]);
            bytes.extend(number.to_le_bytes());
        }
    }

    /// Reads the first game of `bytes` and removes it from them. Returns `None` if the bytes are no game of the board.
    pub(crate) fn read(bytes: &mut &[u8], rules: &ChineseCheckers) -> Option<TrainingGame> {
        let board = rules.board();
        let cell = |byte: u8| (usize::from(byte) < board.cells()).then(|| Cell::new(byte.into()));
        let side = *Side::BOTH.get(usize::from(take::<1>(bytes)?[0]))?;
        let ply = u16::from_le_bytes(take(bytes)?).into();
        let mut armies = [CellSet::EMPTY; 2];
        for army in &mut armies {
            let (cells, rest) = bytes.split_at_checked(board.pieces())?;
            *bytes = rest;
            *army = cells.iter().map(|&byte| cell(byte)).collect::<Option<CellSet>>()?;
        }
        let start = Position::new(rules.geometry(), armies[0], armies[1], side, ply)?;
        let winner = match take::<1>(bytes)?[0] {
            2 => None,
            byte => Some(*Side::BOTH.get(usize::from(byte))?),
        };
        let plies = u16::from_le_bytes(take(bytes)?);
        let mut state = rules.state(&start)?;
        let plies = (0..plies).map(|_| read_ply(bytes, rules, &mut state, cell)).collect::<Option<_>>()?;
        Some(TrainingGame { start, plies, winner })
    }

    /// Calls `visit` with each state before an action.
    pub fn for_each_state(&self, rules: &ChineseCheckers, mut visit: impl FnMut(&GameState, &TrainingPly)) {
        let mut state = rules.state(&self.start).expect("a game starts on its board");
        for ply in &self.plies {
            visit(&state, ply);
            rules.play_action(&mut state, ply.action);
        }
    }
}

/// Reads an action and plays it. Returns `None` if the action moves no piece of the player to an empty cell.
fn read_ply(
    bytes: &mut &[u8],
    rules: &ChineseCheckers,
    state: &mut GameState,
    cell: impl Fn(u8) -> Option<Cell>,
) -> Option<TrainingPly> {
    let [from, to] = take(bytes)?;
    let score = PlyScore::from_parts(from >> 7 | to >> 6 & 2, i16::from_le_bytes(take(bytes)?));
    let action = match [from & CELL, to & CELL] {
        [PASS, PASS] => None,
        [from, to] => Some(Move { from: cell(from)?, to: cell(to)? }),
    };
    if let Some(Move { from, to }) = action {
        let own = state.army(state.player());
        if !own.contains(from) || (own | state.army(state.player().other())).contains(to) {
            return None;
        }
    }
    rules.play_action(state, action);
    Some(TrainingPly { action, score })
}

/// Removes the first `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
