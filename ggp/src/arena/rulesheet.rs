//! Rulesheets as games of the arena.

use rand::RngExt;
use sternhalma_game::Rng;
use sternhalma_gdl::{Document, Expr, ExprKind, Reasoner, find_move};

use super::game::{ArenaGame, Opening, OpeningError};

/// The text of an opening is a sequence of joint moves. Each element is a list with one move
/// per role, e.g. `((mark 1 1) noop) (noop (mark 2 2))`.
impl<G: Reasoner> ArenaGame for G {
    fn move_text(&self, _: &G::State, role: usize, mv: G::Move) -> String {
        self.move_name(role, mv)
    }

    fn opening(&self, text: &str) -> Result<Opening<G::State>, OpeningError> {
        let document = Document::parse(text).map_err(OpeningError::notation)?;
        let mut opening = initial_opening(self);
        for joint in document.expressions() {
            let moves = parse_joint_move(self, &opening.state, joint)?;
            play(self, &mut opening, &moves);
        }
        if self.is_terminal(&opening.state) {
            return Err(OpeningError::End(text.to_owned()));
        }
        Ok(opening)
    }

    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<G::State>> {
        let mut opening = initial_opening(self);
        for _ in 0..plies {
            let random = |role| {
                let legal = self.legal_of(&opening.state, role);
                (!legal.is_empty()).then(|| legal[rng.random_range(0..legal.len())])
            };
            let joint = (0..self.roles()).map(random).collect::<Option<Vec<_>>>()?;
            play(self, &mut opening, &joint);
            if self.is_terminal(&opening.state) {
                return None;
            }
        }
        Some(opening)
    }
}

fn initial_opening<G: Reasoner>(game: &G) -> Opening<G::State> {
    Opening { state: game.initial(), text: String::new(), plies: 0 }
}

/// Plays a joint move, which has a legal move per role.
fn play<G: Reasoner>(game: &G, opening: &mut Opening<G::State>, joint: &[G::Move]) {
    let names: Vec<String> = joint.iter().enumerate().map(|(role, &mv)| game.move_name(role, mv)).collect();
    let space = if opening.text.is_empty() { "" } else { " " };
    opening.text += &format!("{space}({})", names.join(" "));
    game.play_all(&mut opening.state, joint);
    opening.plies += 1;
}

fn parse_joint_move<G: Reasoner>(game: &G, state: &G::State, joint: &Expr) -> Result<Vec<G::Move>, OpeningError> {
    if game.is_terminal(state) {
        return Err(OpeningError::Notation(format!("`{joint}` comes after the end of the game")));
    }
    let roles = game.roles();
    let moves = match &joint.kind {
        ExprKind::List(moves) if moves.len() == roles => moves,
        _ => {
            let first = |role| game.legal_of(state, role).first().map(|&mv| game.move_name(role, mv));
            let example = (0..roles).filter_map(first).collect::<Vec<_>>().join(" ");
            let why =
                format!("invalid joint move `{joint}`: expected a list of a move per role, such as `({example})`");
            return Err(OpeningError::Notation(why));
        }
    };
    let parse_move = |(role, mv): (usize, &Expr)| {
        let legal = game.legal_of(state, role);
        let names: Vec<String> = legal.iter().map(|&mv| game.move_name(role, mv)).collect();
        let found = find_move(&mv.to_string(), &game.role_names()[role], &names);
        found.map(|index| legal[index]).map_err(OpeningError::notation)
    };
    moves.iter().enumerate().map(parse_move).collect()
}
