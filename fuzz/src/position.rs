//! The notation of cells, moves, states, ranks and positions under arbitrary input.

use sternhalma_data::{Board, Position, Side};

/// Parses the bytes after the first two as each kind of notation. The first two
/// bytes are the size of the board and the number of pieces, as distances from
/// the character `0`: `9:` is a board of size 9 with 10 pieces.
///
/// A parsed value must stay the same when it is printed and parsed again.
pub fn target(bytes: &[u8]) {
    let [size, pieces, text @ ..] = bytes else { return };
    let [size, pieces] = [size, pieces].map(|byte| u64::from(byte.wrapping_sub(b'0')));
    let Ok(board) = Board::new(size, pieces) else { return };
    let text = &*String::from_utf8_lossy(text);
    let geometry = board.geometry();
    if let Ok(cell) = geometry.parse_cell(text) {
        assert_eq!(geometry.parse_cell(&geometry.cell_name(cell)), Ok(cell));
    }
    if let Ok(cells) = geometry.parse_cells(text) {
        assert!(cells.is_empty() || geometry.parse_cells(&geometry.cells_text(cells)) == Ok(cells), "{text}");
    }
    let moves = [geometry.parse_move(text), geometry.parse_typed_move(text)];
    for mv in moves.iter().flatten() {
        let printed = geometry.move_text(*mv);
        assert_eq!(geometry.parse_move(&printed).as_ref(), Ok(mv));
        assert_eq!(geometry.parse_typed_move(&printed).as_ref(), Ok(mv));
    }
    assert!(moves[0].is_err() || moves[0] == moves[1], "a move reads differently when it is typed: {text}");
    if let Ok(rank) = board.parse_rank(text) {
        assert_eq!(board.parse_rank(&rank.0.to_string()), Ok(rank));
    }
    for side in Side::BOTH {
        if let Ok(state) = board.parse_state(text, side) {
            assert_eq!(board.parse_state(&board.state_text(state, side), side), Ok(state));
            assert_eq!(state.rank().state(board.pieces()), state);
        }
    }
    for position in [board.parse_position(text), text.parse()].into_iter().flatten() {
        assert_round_trip(&position);
    }
}

fn assert_round_trip(position: &Position) {
    let printed = position.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(position), "{printed}");
    for mv in position.moves().take(4) {
        let path = position.geometry().move_path(position.occupied().without(mv.from), mv);
        assert!(path.is_some_and(|path| path.first() == Some(&mv.from) && path.last() == Some(&mv.to)), "{printed}");
    }
}
