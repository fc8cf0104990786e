//! Renaming and reordering of rulesheets.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rand::RngExt;
use rand::seq::SliceRandom;
use sternhalma_game::Rng;

use super::kif::{Document, Expr, ExprKind};
use super::rules::{CONNECTIVES, RELATIONS, Rules};
use super::terms::Term;

/// A one-to-one renaming of the symbols of a rulesheet.
///
/// The keywords of the language keep their names. Numbers that may be goals are
/// also kept: the constants in rules for `goal`, or all numbers from 0 to 100
/// if a goal is a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    new: BTreeMap<String, String>,
}

impl Renaming {
    /// Creates random names of three to eight letters for all symbols of a
    /// rulesheet.
    pub fn random(document: &Document, rng: &mut Rng) -> Renaming {
        let mut symbols = BTreeSet::new();
        document.expressions().for_each(|expr| each_symbol(expr, &mut |name| _ = symbols.insert(name)));
        let goals = GoalValues::of(document);
        let kept = |name: &str| is_keyword(name) || goals.may_be(name);
        let mut taken = HashSet::new();
        let mut new = BTreeMap::new();
        for name in symbols {
            let other = match name.strip_prefix('?') {
                _ if kept(name) => name.to_string(),
                Some(_) => format!("?{}", fresh(&mut taken, rng)),
                None => fresh(&mut taken, rng),
            };
            new.insert(name.to_string(), other);
        }
        Renaming { new }
    }

    /// Returns the rulesheet with the new names, without comments. Unknown symbols
    /// are kept.
    pub fn document(&self, document: &Document) -> Document {
        document.expressions().map(|expr| renamed(expr, &|name| Some(self.new.get(name)?.clone()))).collect()
    }

    /// Translates a term or sentence to the new names. Returns `None` unless the
    /// text is one expression of symbols of the rulesheet.
    pub fn to_new(&self, text: &str) -> Option<String> {
        translate(&self.new, text)
    }
}

/// Returns the rulesheet with its statements, and the parts of each body and
/// disjunction, in random order.
///
/// The meaning is unchanged. Roles keep their order, since it is the order of
/// goals and joint moves. Comments are left out.
pub fn shuffle(document: &Document, rng: &mut Rng) -> Document {
    let is_role =
        |expr: &Expr| matches!(&expr.kind, ExprKind::List(items) if items[0].is_keyword("role") && items.len() == 2);
    let (mut roles, mut rest): (Vec<Expr>, Vec<Expr>) = document.expressions().cloned().partition(is_role);
    rest.iter_mut().for_each(|expr| shuffle_parts(expr, rng));
    rest.shuffle(rng);
    roles.append(&mut rest);
    roles.into_iter().collect()
}

/// Renames the symbols of a rulesheet and shuffles its statements, so that a
/// reader can only use its meaning.
///
/// ```
/// use rand::SeedableRng;
/// use sternhalma_game::Rng;
/// use sternhalma_gdl::{Document, scramble};
///
/// let document = Document::parse("(role white) (<= (legal ?who (take 3)) (role ?who) (true (heap 3)))")?;
/// let (scrambled, renaming) = scramble(&document, &mut Rng::seed_from_u64(1));
/// assert!(!scrambled.to_string().contains("heap"));
/// assert_ne!(renaming.to_new("(take 3)").unwrap(), "(take 3)");
/// # Ok::<(), sternhalma_gdl::KifError>(())
/// ```
pub fn scramble(document: &Document, rng: &mut Rng) -> (Document, Renaming) {
    let renaming = Renaming::random(document, rng);
    (renaming.document(&shuffle(document, rng)), renaming)
}

fn is_keyword(name: &str) -> bool {
    let mut keywords = CONNECTIVES.iter().chain(RELATIONS.iter().map(|(word, _)| word));
    keywords.any(|word| name.eq_ignore_ascii_case(word))
}

/// Returns a new word that is not taken.
fn fresh(taken: &mut HashSet<String>, rng: &mut Rng) -> String {
    loop {
        let length = rng.random_range(3..=8);
        let word: String = (0..length).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
        if !is_keyword(&word) && taken.insert(word.clone()) {
            return word;
        }
    }
}

/// The values that goals may have.
enum GoalValues {
    These(HashSet<String>),
    Any,
}

impl GoalValues {
    fn of(document: &Document) -> GoalValues {
        let (rules, ..) = Rules::converted(document);
        let values = rules.iter().filter(|rule| rule.head.name == "goal").map(|rule| match &rule.head.args[1] {
            Term::Constant(value) => Some(value.clone()),
            _ => None,
        });
        values.collect::<Option<_>>().map_or(GoalValues::Any, GoalValues::These)
    }

    fn may_be(&self, name: &str) -> bool {
        match self {
            GoalValues::These(values) => values.contains(name),
            GoalValues::Any => name.parse().is_ok_and(|value: u8| value <= 100),
        }
    }
}

fn each_symbol<'a>(expr: &'a Expr, visit: &mut impl FnMut(&'a str)) {
    match &expr.kind {
        ExprKind::Symbol(name) => visit(name),
        ExprKind::List(items) => items.iter().for_each(|item| each_symbol(item, visit)),
    }
}

/// Returns the expression with other names, without comments. Symbols for which
/// `name` returns `None` are kept.
fn renamed(expr: &Expr, name: &impl Fn(&str) -> Option<String>) -> Expr {
    match &expr.kind {
        ExprKind::Symbol(old) => Expr::symbol(name(old).unwrap_or_else(|| old.clone())),
        ExprKind::List(items) => Expr::list(items.iter().map(|item| renamed(item, name)).collect()),
    }
}

fn translate(names: &BTreeMap<String, String>, text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let mut exprs = document.expressions();
    let (Some(expr), None) = (exprs.next(), exprs.next()) else { return None };
    let mut known = true;
    each_symbol(expr, &mut |name| known &= names.contains_key(name));
    known.then(|| renamed(expr, &|name| names.get(name).cloned()).to_string())
}

/// Shuffles the parts of a rule's body and of every disjunction in it.
fn shuffle_parts(expr: &mut Expr, rng: &mut Rng) {
    let ExprKind::List(items) = &mut expr.kind else { return };
    let fixed = match &items[..] {
        [first, ..] if first.is_keyword("<=") => 2,
        [_, second, ..] if second.is_keyword("<=") => 2,
        [first, ..] if first.is_keyword("or") => 1,
        _ => return,
    };
    let parts = items.get_mut(fixed..).unwrap_or_default();
    parts.iter_mut().for_each(|part| shuffle_parts(part, rng));
    parts.shuffle(rng);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    fn symbols(document: &Document) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        document.expressions().for_each(|expr| each_symbol(expr, &mut |name| _ = all.insert(name.to_string())));
        all
    }

    const TEXT: &str = "; who plays
        (role x) (Role o) (init (cell 1 \"a b\"))
        (<= (legal ?r (mark ?n)) (role ?r) (or (true (cell ?n b)) (true (CELL ?n B)) (q 7 100)))
        (terminal <= (not (p x)) (p y) (distinct a b))
        (<= (goal ?r 100) (role ?r)) (<= (goal ?r 7) (p ?r))";

    #[test]
    fn only_keywords_and_goals_keep_their_names() {
        let old = document(TEXT);
        let (new, renaming) = scramble(&old, &mut Rng::seed_from_u64(1));
        let (before, after) = (symbols(&old), symbols(&new));
        let kept: Vec<&str> = before.intersection(&after).map(String::as_str).collect();
        let keywords = ["<=", "Role", "distinct", "goal", "init", "legal", "not", "or", "role", "terminal", "true"];
        assert_eq!(kept, [&["100", "7"], &keywords[..]].concat());
        assert_eq!(before.len(), after.len());
        assert_ne!(renaming.to_new("(cell B)"), renaming.to_new("(CELL b)"));
        assert!(after.iter().filter(|name| name.starts_with('?')).count() == 2);
    }

    #[test]
    fn all_numbers_are_kept_if_a_goal_is_a_variable() {
        let old = document("(role x) (score x 30) (score x 101) (<= (goal ?r ?n) (score ?r ?n))");
        let renaming = Renaming::random(&old, &mut Rng::seed_from_u64(1));
        assert_eq!(renaming.to_new("30").unwrap(), "30");
        assert_ne!(renaming.to_new("101").unwrap(), "101");
    }

    #[test]
    fn terms_are_renamed_as_in_the_document() {
        let old = document(TEXT);
        let renaming = Renaming::random(&old, &mut Rng::seed_from_u64(2));
        let document = renaming.document(&old);
        assert_eq!(renaming.to_new(" (role  x )"), document.expressions().next().map(ToString::to_string));
        for unknown in ["(mark z)", "x o", "", "(x", "(mark 1"] {
            assert_eq!(renaming.to_new(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let scrambled = |seed| scramble(&document(TEXT), &mut Rng::seed_from_u64(seed));
        assert_eq!(scrambled(3), scrambled(3));
        assert_ne!(scrambled(3), scrambled(4));
    }

    #[test]
    fn shuffling_keeps_every_part_and_the_order_of_roles() {
        let (old, mut orders) = (document(TEXT), BTreeSet::new());
        for seed in 0..20 {
            let new = shuffle(&old, &mut Rng::seed_from_u64(seed));
            let text = new.to_string();
            assert!(text.starts_with("(role x)\n(Role o)\n"), "{text}");
            let sorted = |text: &str| {
                let mut all: Vec<String> = text.split_whitespace().map(|word| word.replace(['(', ')'], "")).collect();
                all.sort();
                all
            };
            assert_eq!(sorted(&text), sorted(&old.expressions().map(|expr| format!("{expr} ")).collect::<String>()));
            Rules::parse(&text).unwrap();
            orders.insert(text);
        }
        // Few of the 8,640 orders are drawn twice.
        assert!(orders.len() > 15, "{}", orders.len());
    }
}
