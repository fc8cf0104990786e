//! Games told by rulesheets in the arena.

use rand::RngExt;

use super::play::{ArenaGame, Opening};
use crate::gdl::{Document, Expr, ExprKind, Reasoner};
use crate::rng::Rng;

/// An opening is written as the joint moves, each a list of one move a role:
/// `((mark 1 1) noop) (noop (mark 2 2))`.
impl<G: Reasoner> ArenaGame for G {
    fn move_text(&self, _: &G::State, role: usize, mv: G::Move) -> String {
        self.move_name(role, mv)
    }

    fn opening(&self, text: &str) -> Result<Opening<G::State>, String> {
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        let mut opening = start(self);
        for joint in document.expressions() {
            let moves = joint_of(self, &opening.state, joint)?;
            follow(self, &mut opening, &moves);
        }
        if self.is_terminal(&opening.state) {
            return Err(format!("`{text}` ends the game"));
        }
        Ok(opening)
    }

    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<G::State>> {
        let mut opening = start(self);
        for _ in 0..plies {
            let random = |role| {
                let legal = self.legal_of(&opening.state, role);
                (!legal.is_empty()).then(|| legal[rng.random_range(0..legal.len())])
            };
            let joint = (0..self.roles()).map(random).collect::<Option<Vec<_>>>()?;
            follow(self, &mut opening, &joint);
            if self.is_terminal(&opening.state) {
                return None;
            }
        }
        Some(opening)
    }
}

fn start<G: Reasoner>(game: &G) -> Opening<G::State> {
    Opening { state: game.initial(), text: String::new(), plies: 0 }
}

/// Plays a legal move of each role.
fn follow<G: Reasoner>(game: &G, opening: &mut Opening<G::State>, joint: &[G::Move]) {
    let names: Vec<String> = joint.iter().enumerate().map(|(role, &mv)| game.move_name(role, mv)).collect();
    let space = if opening.text.is_empty() { "" } else { " " };
    opening.text += &format!("{space}({})", names.join(" "));
    game.play_all(&mut opening.state, joint);
    opening.plies += 1;
}

fn joint_of<G: Reasoner>(game: &G, state: &G::State, joint: &Expr) -> Result<Vec<G::Move>, String> {
    let roles = game.roles();
    let moves = match &joint.kind {
        ExprKind::List(moves) if moves.len() == roles => moves,
        _ => return Err(format!("`{joint}` is no joint move: a list of one move for each of {roles} roles is wanted")),
    };
    let legal = |(role, mv): (usize, &Expr)| {
        let name = mv.to_string();
        let found = game.legal_of(state, role).into_iter().find(|&mv| game.move_name(role, mv) == name);
        found.ok_or_else(|| format!("`{name}` is not legal for {}", game.role_names()[role]))
    };
    match game.is_terminal(state) {
        true => Err(format!("`{joint}` comes after the end of the game")),
        false => moves.iter().enumerate().map(legal).collect(),
    }
}
