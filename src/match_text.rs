//! The results of matches of rulesheets as text for people.

/// Returns the goals of a match, with the winner if there is one.
pub fn result_text(roles: &[String], goals: &[u8], is_over: bool) -> String {
    let listed: Vec<String> = roles.iter().zip(goals).map(|(role, goal)| format!("{role} {goal}")).collect();
    let best = goals.iter().max();
    let mut winners = roles.iter().zip(goals).filter(|(_, goal)| Some(*goal) == best);
    let winner = match (is_over, winners.next(), winners.next()) {
        (false, ..) => "the match did not end".to_owned(),
        (true, Some((role, _)), None) if roles.len() > 1 => format!("{role} wins"),
        (true, _, Some(_)) => "a draw".to_owned(),
        (true, ..) => "the match is over".to_owned(),
    };
    format!("{winner}, goals: {}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_name_the_winner() {
        let text = |roles: &[&str], goals: &[u8], is_over| {
            result_text(&roles.iter().map(|role| (*role).to_owned()).collect::<Vec<_>>(), goals, is_over)
        };
        assert_eq!(text(&["x", "o"], &[0, 100], true), "o wins, goals: x 0, o 100");
        assert_eq!(text(&["x", "o"], &[50, 50], true), "a draw, goals: x 50, o 50");
        assert_eq!(text(&["x", "o"], &[50, 0], false), "the match did not end, goals: x 50, o 0");
        assert_eq!(text(&["robot"], &[70], true), "the match is over, goals: robot 70");
    }
}
