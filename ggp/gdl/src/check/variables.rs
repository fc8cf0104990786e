//! Variables that are probably misspelt.

use std::collections::BTreeMap;

use sternhalma_game::messages::nearest;

use crate::syntax::{Code, Finding, Literal, Place, Rule, Rules, Term};

/// The numbers of occurrences of variables, each with the place of the first.
type Occurrences<'a> = BTreeMap<&'a str, (usize, Place)>;

/// Returns warnings about variables that are probably misspelt: a variable with a single occurrence in the rulesheet,
/// in a rule that has a variable of a similar name, which occurs again. Other variables with a single occurrence stand
/// for any value.
pub fn check_variables(rules: &Rules) -> Vec<Finding> {
    let of_rules: Vec<Occurrences<'_>> = rules.iter().map(occurrences).collect();
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, (count, _)) in of_rules.iter().flatten() {
        *totals.entry(name).or_default() += count;
    }
    let mut findings = Vec::new();
    for variables in &of_rules {
        let others: Vec<&str> = variables.keys().copied().filter(|name| totals[name] > 1).collect();
        for (name, (_, place)) in variables.iter().filter(|(name, _)| totals[*name] == 1) {
            if let Some(meant) = nearest(&name[1..], others.iter().map(|other| &other[1..]))
                && is_misspelling(&name[1..], meant)
            {
                let message = format!("The variable {name} occurs only here. Did you mean `?{meant}`?");
                findings.push(Finding::warning(Code::LoneVariable, *place, message));
            }
        }
    }
    findings
}

/// Returns whether a name may be a misspelling of another one that is similar. Names of a series, such as `row1` and
/// `row2` or `row` and `rowend`, are meant to differ, and short names are similar by chance.
fn is_misspelling(name: &str, meant: &str) -> bool {
    let without_digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let [shorter, longer] = if name.len() < meant.len() { [name, meant] } else { [meant, name] };
    let extends = longer.starts_with(shorter) && longer.len() > shorter.len() + 1;
    shorter.chars().count() >= 3 && without_digits(name) != without_digits(meant) && !extends
}

/// Returns the variables of a rule.
fn occurrences(rule: &Rule) -> Occurrences<'_> {
    let mut found = Occurrences::new();
    rule.head.args.iter().for_each(|arg| count(arg, rule.head.place, &mut found));
    count_in(&rule.body, &mut found);
    found
}

fn count_in<'a>(body: &'a [Literal], found: &mut Occurrences<'a>) {
    for literal in body {
        match literal {
            Literal::Holds(atom) => atom.args.iter().for_each(|arg| count(arg, atom.place, found)),
            Literal::Not(_, inner) => count_in(std::slice::from_ref(inner), found),
            Literal::Distinct(place, left, right) => {
                [left, right].into_iter().for_each(|arg| count(arg, *place, found))
            }
            Literal::Or(_, parts) => count_in(parts, found),
        }
    }
}

fn count<'a>(term: &'a Term, place: Place, found: &mut Occurrences<'a>) {
    match term {
        Term::Constant(_) => {}
        Term::Variable(name) => found.entry(name).or_insert((0, place)).0 += 1,
        Term::Function { args, place, .. } => args.iter().for_each(|arg| count(arg, *place, found)),
    }
}
