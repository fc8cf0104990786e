//! Findings of the validator.

use std::fmt;

use super::kif::{KifError, Place};

/// Whether a finding makes a rulesheet invalid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The rulesheet is valid but probably not as intended.
    Warning,
    /// The rulesheet is not valid GDL.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($variant:ident $text:literal $doc:literal,)*) => {
        /// The kind of a finding. [`Code::name`] is stable.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $doc] $variant,)*
        }

        impl Code {
            /// All kinds, in the order of their definition.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// Returns the stable name, for use in scripts.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
    Syntax "syntax" "The text is not KIF.",
    Statement "statement" "A statement is neither a fact nor a rule.",
    MisplacedKeyword "misplaced-keyword" "A connective in a place where it has no meaning.",
    EmptyDisjunction "empty-disjunction" "An `or` without alternatives.",
    EmptyBody "empty-body" "A rule without a body.",
    EmptyArguments "empty-arguments" "A sentence or function in parentheses without arguments.",
    Bound "bound" "A rule that is too large for all engines.",
    KeywordArity "keyword-arity" "A keyword with the wrong number of arguments.",
    KeywordAsTerm "keyword-as-term" "A keyword of the game used as a function.",
    SentenceArity "sentence-arity" "A relation with different numbers of arguments.",
    FunctionArity "function-arity" "A function with different numbers of arguments.",
    FactVariable "fact-variable" "A fact with a variable.",
    Unsafe "unsafe" "A variable that no positive literal of the body binds.",
    Unstratified "unstratified" "A relation that depends on its own negation.",
    Recursion "recursion" "Recursion through an argument that may grow without bound.",
    ReservedHead "reserved-head" "A rule that defines `true`, `does`, or a connective.",
    ReservedBody "reserved-body" "A rule body that reads `init`, `next`, `base` or `input`.",
    Dependence "dependence" "A relation that must not depend on the state or the moves but does.",
    Role "role" "Roles that are not given as facts.",
    GoalValue "goal-value" "A goal that is not a number from 0 to 100.",
    Missing "missing" "A relation that every game needs and nothing defines.",
    NoGame "no-game" "A text that defines no relation of the language.",
    Undefined "undefined" "A relation that a rule body reads and nothing defines.",
    UndefinedFluent "undefined-fluent" "A fluent that a rule body reads and no `init` or `next` makes.",
    LoneVariable "lone-variable" "A variable that occurs once, beside one with a similar name.",
    Unused "unused" "A relation or a fluent that no rule body reads.",
    NoLegalMove "no-legal-move" "A role without a legal move in a state that is not terminal.",
    NoGoal "no-goal" "A role without a goal in a terminal state.",
    SeveralGoals "several-goals" "A role with several goals in a terminal state.",
    NotPlayed "not-played" "The simulation stopped early.",
    Refused "refused" "A rulesheet that no engine can play.",
}

/// An error or warning about a rulesheet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The kind.
    pub code: Code,
    /// The place in the text, if there is one.
    pub place: Option<Place>,
    /// The message, a sentence.
    pub message: String,
}

impl Finding {
    pub(crate) fn error(code: Code, place: Place, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Error, code, place: Some(place), message: message.into() }
    }

    pub(crate) fn warning(code: Code, place: Place, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..Finding::error(code, place, message) }
    }

    pub(crate) fn without_place(self) -> Finding {
        Finding { place: None, ..self }
    }
}

impl From<KifError> for Finding {
    fn from(error: KifError) -> Finding {
        let text = error.to_string();
        let sentence = text.split_once(": ").map_or(text.as_str(), |(_, sentence)| sentence);
        Finding::error(Code::Syntax, error.place(), sentence)
    }
}

impl fmt::Display for Finding {
    /// Writes `LINE:COLUMN: severity[code]: message`. A finding without a place
    /// begins with the severity.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}[{}]: {}", self.severity, self.code.name(), self.message)
    }
}
