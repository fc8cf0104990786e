//! Rulesheets: conversion of expressions to facts and rules.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::conjunctions::check_bounds;
use super::diagnostics::{Code, Finding, Severity};
use super::kif::{Document, Expr, ExprKind, KifError, Place};
use super::terms::{Atom, Literal, Rule, Term};

/// The keywords that combine sentences.
pub const CONNECTIVES: [&str; 4] = ["<=", "not", "or", "distinct"];

/// The relations of the language with their numbers of arguments.
pub const RELATIONS: [(&str, usize); 10] = [
    ("role", 1),
    ("init", 1),
    ("true", 1),
    ("does", 2),
    ("next", 1),
    ("legal", 2),
    ("goal", 2),
    ("terminal", 0),
    ("base", 1),
    ("input", 2),
];

/// An error that keeps a text from being read as a rulesheet.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RulesError {
    /// The text is not KIF.
    #[error(transparent)]
    Kif(#[from] KifError),
    /// A statement has no meaning in GDL.
    #[error("{0}")]
    Statement(Box<Finding>),
}

/// A rulesheet: its facts and rules in the order of the text. Each rule is within the bounds of
/// the engines ([`RuleBound`](super::RuleBound)).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// The constants that the text always writes in parentheses, as `(pass)`.
    in_parentheses: BTreeSet<String>,
}

impl Rules {
    /// Parses a rulesheet. [`check`](crate::check()) validates it.
    ///
    /// # Errors
    ///
    /// Returns the first syntax error, or the first statement that is neither a
    /// fact nor a rule, or that exceeds a bound of rules.
    pub fn parse(text: &str) -> Result<Rules, RulesError> {
        Rules::from_document(&Document::parse(text)?)
    }

    /// Converts a document to a rulesheet.
    ///
    /// # Errors
    ///
    /// Returns the first statement that is neither a fact nor a rule, or that
    /// exceeds a bound of rules.
    pub fn from_document(document: &Document) -> Result<Rules, RulesError> {
        match Rules::converted(document) {
            (_, _, Some(dropped)) => Err(RulesError::Statement(Box::new(dropped))),
            (rules, _, None) => Ok(rules),
        }
    }

    /// Returns the statements that can be converted, all findings about the text, and the first finding that made the
    /// conversion omit something.
    pub(super) fn converted(document: &Document) -> (Rules, Vec<Finding>, Option<Finding>) {
        let mut converter = Converter::default();
        let rules = converter.rules(document);
        converter.report_parentheses();
        (rules, converter.findings, converter.dropped)
    }

    /// Returns the facts and rules in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Returns the KIF text of a term in the spelling of the rulesheet: a
    /// constant that the rulesheet always writes in parentheses gets them.
    pub fn spell(&self, term: &str) -> String {
        if self.in_parentheses.is_empty() {
            return term.to_string();
        }
        let document = Document::parse(term).ok();
        let expr = document.as_ref().and_then(|document| document.expressions().next());
        expr.map_or_else(|| term.to_string(), |expr| self.spelled(expr))
    }

    fn spelled(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Symbol(name) if self.in_parentheses.contains(name) => format!("({name})"),
            ExprKind::Symbol(name) => name.clone(),
            ExprKind::List(items) => {
                let args: Vec<String> = items[1..].iter().map(|item| self.spelled(item)).collect();
                format!("({} {})", items[0], args.join(" "))
            }
        }
    }
}

#[derive(Default)]
struct Converter {
    findings: Vec<Finding>,
    /// The first finding that made the conversion omit something.
    dropped: Option<Finding>,
    /// The names in parentheses without arguments, each with its first place.
    in_parentheses: BTreeMap<String, Place>,
    /// The sentences without arguments and without parentheses.
    bare: BTreeSet<String>,
    /// The constants without parentheses.
    bare_terms: BTreeSet<String>,
}

impl Converter {
    /// Reports names in parentheses without arguments. A name must have
    /// parentheses everywhere or nowhere, since some reasoners treat `p` and `(p)`
    /// as different.
    fn report_parentheses(&mut self) {
        for (name, &place) in &self.in_parentheses {
            self.findings.push(if self.bare.contains(name) {
                let message = format!("({name}) has parentheses here and none elsewhere.");
                Finding::error(Code::EmptyArguments, place, message)
            } else {
                let message = format!("({name}) has parentheses but no arguments: write {name}.");
                Finding::warning(Code::EmptyArguments, place, message)
            });
        }
    }

    fn rules(&mut self, document: &Document) -> Rules {
        let rules = document.expressions().filter_map(|expr| self.statement(expr)).collect();
        let always = |name: &&String| !self.bare_terms.contains(*name);
        Rules { rules, in_parentheses: self.in_parentheses.keys().filter(always).cloned().collect() }
    }

    /// Reports an error in an expression that is kept.
    fn note(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.findings.push(Finding::error(code, place, message));
    }

    /// Reports an error in an expression that is omitted.
    fn drop<T>(&mut self, code: Code, place: Place, message: impl Into<String>) -> Option<T> {
        let finding = Finding::error(code, place, message);
        self.dropped.get_or_insert_with(|| finding.clone());
        self.findings.push(finding);
        None
    }

    fn statement(&mut self, expr: &Expr) -> Option<Rule> {
        let rule = match &expr.kind {
            ExprKind::List(items) if items[0].is_keyword("<=") => items.get(1).map(|head| (head, &items[2..])),
            ExprKind::List(items) if items.get(1).is_some_and(|item| item.is_keyword("<=")) => {
                Some((&items[0], &items[2..]))
            }
            _ => return self.fact(expr),
        };
        let Some((head, parts)) = rule else {
            return self.drop(Code::Statement, expr.place, "The rule has no head.");
        };
        let head = self.sentence(head);
        let body: Option<Vec<Literal>> = parts.iter().map(|part| self.literal(part)).collect();
        if parts.is_empty() {
            self.note(Code::EmptyBody, expr.place, "The rule has no body: write a fact without `<=`.");
        }
        self.bounded(Rule { place: expr.place, head: head?, body: body? })
    }

    /// Omits a rule that exceeds a bound, so that all rules of [`Rules`] are
    /// within the bounds of the engines.
    fn bounded(&mut self, rule: Rule) -> Option<Rule> {
        match check_bounds(&rule) {
            Ok(()) => Some(rule),
            Err((place, bound)) => self.drop(Code::Bound, place, sentence(&bound.to_string())),
        }
    }

    fn fact(&mut self, expr: &Expr) -> Option<Rule> {
        let head = self.sentence(expr)?;
        if let Some(name) = head.variables().first() {
            let message = format!("The fact contains the variable {name}: expected constants only.");
            self.note(Code::FactVariable, expr.place, message);
        }
        self.bounded(Rule { place: expr.place, head, body: Vec::new() })
    }

    fn literal(&mut self, expr: &Expr) -> Option<Literal> {
        let ExprKind::List(items) = &expr.kind else { return self.sentence(expr).map(Literal::Holds) };
        let (name, parts) = (&items[0], &items[1..]);
        if name.is_keyword("not") {
            self.negation(expr.place, parts)
        } else if name.is_keyword("distinct") {
            let [left, right] = parts else {
                return self.drop(Code::KeywordArity, expr.place, "`distinct` takes two terms.");
            };
            let (left, right) = (self.term(left), self.term(right));
            Some(Literal::Distinct(expr.place, left?, right?))
        } else if name.is_keyword("or") {
            if parts.is_empty() {
                self.note(Code::EmptyDisjunction, expr.place, "The disjunction is empty, so it never holds.");
            }
            let parts: Option<_> = parts.iter().map(|part| self.literal(part)).collect();
            Some(Literal::Or(expr.place, parts?))
        } else {
            self.sentence(expr).map(Literal::Holds)
        }
    }

    fn negation(&mut self, place: Place, parts: &[Expr]) -> Option<Literal> {
        let [part] = parts else {
            return self.drop(Code::KeywordArity, place, "`not` takes one sentence.");
        };
        let inner = self.literal(part)?;
        if !matches!(inner, Literal::Holds(_)) {
            self.note(Code::MisplacedKeyword, part.place, "`not` takes a sentence, got a connective.");
        }
        Some(Literal::Not(place, Box::new(inner)))
    }

    fn sentence(&mut self, expr: &Expr) -> Option<Atom> {
        let (name, args) = self.name_and_parts(expr, "sentence")?;
        if expr.as_symbol().is_some() {
            self.bare.insert(name.to_string());
        }
        if let Some(word) = CONNECTIVES.iter().find(|word| name.eq_ignore_ascii_case(word)) {
            let message = format!("Expected a sentence, got the connective `{word}`.");
            return self.drop(Code::MisplacedKeyword, expr.place, message);
        }
        let args: Option<Vec<Term>> = args.iter().map(|arg| self.term(arg)).collect();
        let args = args?;
        let keyword = RELATIONS.iter().find(|(word, _)| name.eq_ignore_ascii_case(word));
        if let Some(&(word, arity)) = keyword
            && args.len() != arity
        {
            let message =
                format!("`{word}` takes {arity} argument{}, got {}.", if arity == 1 { "" } else { "s" }, args.len());
            if !["base", "input"].contains(&word) {
                return self.drop(Code::KeywordArity, expr.place, message);
            }
            // Games from before these relations use the names for their own.
            self.findings.push(Finding::warning(Code::KeywordArity, expr.place, message));
        }
        let name = keyword.map_or(name, |(word, _)| word);
        Some(Atom { place: expr.place, name: name.to_string(), args })
    }

    fn term(&mut self, expr: &Expr) -> Option<Term> {
        if let Some(name) = expr.as_symbol()
            && name.starts_with('?')
        {
            return Some(Term::Variable(name.to_string()));
        }
        let (name, args) = self.name_and_parts(expr, "term")?;
        if is_connective(name) {
            self.note(Code::MisplacedKeyword, expr.place, format!("Expected a term, got the connective `{name}`."));
        }
        if !args.is_empty() && RELATIONS.iter().any(|(word, _)| name.eq_ignore_ascii_case(word)) {
            let message = format!("`{name}` is a relation of the language, used here as a function.");
            self.findings.push(Finding::warning(Code::KeywordAsTerm, expr.place, message));
        }
        if args.is_empty() {
            if expr.as_symbol().is_some() {
                self.bare_terms.insert(name.to_string());
            }
            return Some(Term::Constant(name.to_string()));
        }
        let args: Option<Vec<Term>> = args.iter().map(|arg| self.term(arg)).collect();
        Some(Term::Function { place: expr.place, name: name.to_string(), args: args? })
    }

    /// Returns the name of a sentence or function, and its arguments.
    fn name_and_parts<'a>(&mut self, expr: &'a Expr, what: &str) -> Option<(&'a str, &'a [Expr])> {
        let (name, args) = match &expr.kind {
            ExprKind::Symbol(name) => (name.as_str(), &[][..]),
            ExprKind::List(items) => match items[0].as_symbol() {
                Some(name) => (name, &items[1..]),
                None => {
                    let message = format!("The {what} begins with a list: expected a name.");
                    return self.drop(Code::Statement, items[0].place, message);
                }
            },
        };
        if name.starts_with('?') {
            return self.drop(Code::Statement, expr.place, format!("Expected a {what}, got the variable {name}."));
        }
        if args.is_empty() && matches!(expr.kind, ExprKind::List(_)) && !is_connective(name) {
            self.in_parentheses.entry(name.to_string()).or_insert(expr.place);
        }
        Some((name, args))
    }
}

/// Returns a message as a sentence.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

fn is_connective(name: &str) -> bool {
    CONNECTIVES.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Returns whether any finding is an error.
pub fn has_error(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}
