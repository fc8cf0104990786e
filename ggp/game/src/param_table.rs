//! Parameters as text: one row of a table parses, prints and documents a parameter.
//!
//! A table is a `const PARAMS: &[Param<T>]`, in the order in which parameters are printed. A row gives access to the
//! place where a `T` holds the parameter, as a [`Field`] that reads and writes text and knows its values. The texts of
//! help and errors, the defaults and the owners of parameters follow from the fields of the default `T`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A parameter of a `T`.
pub struct Param<T: 'static> {
    /// The name, as in `key=value`.
    pub key: &'static str,
    /// The parameter whose value decides whether a `T` has this one; empty if every `T` has the parameter.
    pub owner: &'static str,
    /// The meaning of the parameter, in one line.
    pub help: &'static str,
    /// Whether the default is not printed.
    pub is_optional: bool,
    /// The place of the value; `None` if this `T` does not have the parameter.
    pub field: for<'a> fn(&'a mut T) -> Option<Field<'a>>,
}

/// Why a parameter cannot have a text as its value.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParamError {
    /// No parameter has the name.
    #[error("unknown parameter `{key}`{suggestion}")]
    Unknown {
        /// The name.
        key: String,
        /// A similar name, or the names of all parameters.
        suggestion: String,
    },
    /// The part that has the parameter is missing.
    #[error("`{key}` needs {owner}")]
    Owner {
        /// The parameter.
        key: &'static str,
        /// The text of the part.
        owner: String,
    },
    /// The text is no value of the parameter.
    #[error("expected {expected}, got `{text}`")]
    Value {
        /// The values of the parameter.
        expected: String,
        /// The text.
        text: String,
    },
    /// Parameters do not fit together, or the text is no parameter at all.
    #[error("{0}")]
    Form(&'static str),
}

/// The values of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Domain {
    /// One of several names.
    Names(Vec<&'static str>),
    /// Some of several names, joined by `+`.
    Subset(Vec<&'static str>),
    /// `yes` or `no`.
    Flag,
    /// A number from the first to the second, which may be infinite.
    Number(f64, f64),
    /// A whole number from the first to the second, or a name.
    Whole(u32, u32, Option<&'static str>),
    /// Any text.
    Text,
    /// A size in bytes.
    Size,
}

impl Domain {
    /// Returns the names among the values.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Domain::Names(names) | Domain::Subset(names) => names.clone(),
            Domain::Flag => vec!["yes", "no"],
            Domain::Whole(.., name) => name.iter().copied().collect(),
            Domain::Number(..) | Domain::Size | Domain::Text => Vec::new(),
        }
    }

    /// Returns the values for an error.
    fn expected(&self) -> String {
        match self {
            Domain::Names(names) => format!("one of {}", names.join(", ")),
            Domain::Subset(names) => format!("some of {} with `+` between them", names.join(", ")),
            Domain::Flag => "`yes` or `no`".to_owned(),
            Domain::Number(f64::MIN, f64::MAX) => "a finite number".to_owned(),
            Domain::Number(f64::MIN_POSITIVE, _) => "a number > 0".to_owned(),
            Domain::Number(least, f64::MAX..) => format!("a number ≥ {least}"),
            Domain::Number(least, most) => format!("a number from {least} to {most}"),
            Domain::Whole(least, most, name) => {
                let name = name.map_or_else(String::new, |name| format!(" or `{name}`"));
                match *most {
                    u32::MAX => format!("a whole number ≥ {least}{name}"),
                    most => format!("a whole number from {least} to {most}{name}"),
                }
            }
            Domain::Size => "a size such as `64MiB` or `2GB`".to_owned(),
            Domain::Text => "a text".to_owned(),
        }
    }

    /// Returns a default for the documentation.
    fn default_text(&self, text: String) -> String {
        match self {
            Domain::Subset(names) if text == names.join("+") => "all".to_owned(),
            _ if text.parse().is_ok_and(f64::is_finite) => text,
            _ => format!("`{text}`"),
        }
    }
}

impl fmt::Display for Domain {
    /// Writes the values for the documentation, in Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Names(_) | Domain::Flag => write!(f, "`{}`", self.names().join("`, `")),
            Domain::Subset(names) => write!(f, "some of `{}`", names.join("+")),
            Domain::Number(f64::MIN_POSITIVE, _) => f.write_str("> 0"),
            Domain::Number(least, f64::MAX) => write!(f, "≥ {least}"),
            Domain::Number(least, most) if most.is_infinite() => write!(f, "{least} to `inf`"),
            Domain::Number(least, most) => write!(f, "{least} to {most}"),
            Domain::Whole(least, most, name) => {
                match *most {
                    u32::MAX => write!(f, "≥ {least}")?,
                    most => write!(f, "{least} to {most}")?,
                }
                name.map_or(Ok(()), |name| write!(f, ", `{name}`"))
            }
            Domain::Size => f.write_str("a size, e.g. `256MiB`"),
            Domain::Text => f.write_str("a text"),
        }
    }
}

/// Parses `key=value`. A pair of quotation marks around the value is removed.
///
/// ```
/// use sternhalma_game::param_table::key_value;
///
/// assert_eq!(key_value("c = 0.7"), Some(("c", "0.7")));
/// assert_eq!(key_value("weights='w.bin'"), Some(("weights", "w.bin")));
/// assert_eq!(key_value("weights='w.bin"), Some(("weights", "'w.bin")));
/// assert_eq!(key_value("uct"), None);
/// ```
pub fn key_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    let value = value.trim();
    let within = |mark| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    Some((key.trim(), within('"').or_else(|| within('\'')).unwrap_or(value)))
}

/// Parses a number or a size, in which `_` may separate digits, e.g. `1_000`.
pub fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut parts = text.split('_').zip(text.split('_').skip(1));
    let separates = parts.all(|(before, after)| before.ends_with(is_digit) && after.starts_with(is_digit));
    separates.then(|| text.replace('_', "").parse().ok()).flatten()
}

/// Reads a value from text, and returns whether the text is such a value.
type Parse<'a> = dyn FnOnce(&str) -> bool + 'a;

/// A value that is read from text and written as text.
pub struct Field<'a> {
    domain: Domain,
    /// The text of the value; none if the parameter has no value.
    text: Option<String>,
    is_printed: bool,
    parse: Box<Parse<'a>>,
}

impl<'a> Field<'a> {
    /// Creates a field of a value with its text. `parse` returns the value that replaces it, or `None` if the text is
    /// not in the domain.
    pub fn new<T>(
        domain: Domain,
        text: Option<impl ToString>,
        value: &'a mut T,
        parse: impl FnOnce(&T, &str) -> Option<T> + 'a,
    ) -> Field<'a> {
        let parse = move |text: &str| parse(value, text).map(|parsed| *value = parsed).is_some();
        Field { domain, text: text.map(|text| text.to_string()), is_printed: true, parse: Box::new(parse) }
    }

    /// Creates a field of a number from `least` to `most`, which may be infinite. `make` returns the value of a number.
    pub fn number<T>(
        least: f64,
        most: f64,
        number: Option<f64>,
        value: &'a mut T,
        make: impl FnOnce(f64) -> T + 'a,
    ) -> Field<'a> {
        let read = move |text: &str| self::number(text).filter(|number: &f64| (least..=most).contains(number));
        Field::new(Domain::Number(least, most), number, value, move |_, text| read(text).map(make))
    }

    /// Creates a field of a whole number from `least` to `most`, or of a name. `make` returns the value of a number, or
    /// of the name.
    pub fn whole<T>(
        [least, most]: [u32; 2],
        name: Option<&'static str>,
        text: Option<impl ToString>,
        value: &'a mut T,
        make: impl FnOnce(&T, Option<u32>) -> T + 'a,
    ) -> Field<'a> {
        Field::new(Domain::Whole(least, most, name), text, value, move |value, text| match self::number(text) {
            _ if Some(text) == name => Some(make(value, None)),
            Some(number) if (least..=most).contains(&number) => Some(make(value, Some(number))),
            _ => None,
        })
    }

    /// Creates a field of a text.
    pub fn any_text(value: &'a mut String) -> Field<'a> {
        Field::new(Domain::Text, Some(value.clone()), value, |_, text| Some(text.to_owned()))
    }

    /// Returns the text of the value; none if the parameter has no value.
    pub fn text(self) -> Option<String> {
        self.text
    }

    /// Reads the value from text.
    ///
    /// # Errors
    /// Returns the expected and the given value if the text is no value of the parameter.
    pub fn set(self, text: &str) -> Result<(), ParamError> {
        let Field { domain, parse, .. } = self;
        let error = || ParamError::Value { expected: domain.expected(), text: text.to_owned() };
        if parse(text) { Ok(()) } else { Err(error()) }
    }

    /// Omits the text of the value where parameters are printed.
    pub fn unprinted(self) -> Field<'a> {
        Field { is_printed: false, ..self }
    }
}

/// Values with their names.
pub type Names<T> = &'static [(&'static str, T)];

/// A part of a policy that has a name and, perhaps, parameters of its own.
pub struct Kind<T: 'static> {
    /// The name.
    pub name: &'static str,
    /// Returns whether a part is of this kind.
    pub is: fn(&T) -> bool,
    /// Returns the part of this kind that replaces another part.
    pub make: fn(&T) -> T,
}

/// The key and the text of a parameter.
pub type Pair = (&'static str, String);

/// Sets a parameter; none if the table has no such parameter.
///
/// # Errors
/// If `target` does not have the parameter, or the text is not one of its values.
pub fn set<T: Clone + Default>(
    params: &[Param<T>],
    target: &mut T,
    key: &str,
    text: &str,
) -> Option<Result<(), ParamError>> {
    let param = find(params, key)?;
    let Some(field) = (param.field)(target) else {
        return Some(Err(ParamError::Owner { key: param.key, owner: requirement(params, param) }));
    };
    Some(field.set(text))
}

/// Returns the parameters that are printed, in the order of the table.
pub fn pairs<T: Clone + Default>(params: &[Param<T>], target: &T) -> Vec<Pair> {
    let mut target = target.clone();
    let pair = |param: &Param<T>| {
        let field = (param.field)(&mut target).filter(|field| field.is_printed)?;
        let text = field.text?;
        let is_default =
            || (param.field)(&mut sample(params, param)).and_then(|field| field.text).as_ref() == Some(&text);
        (!(param.is_optional && is_default())).then_some((param.key, text))
    };
    params.iter().filter_map(pair).collect()
}

/// The documentation of a parameter, in Markdown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamHelp {
    /// The name, as in `key=value`.
    pub key: &'static str,
    /// The text that must precede the parameter; empty if none must.
    pub owner: String,
    /// The values of the parameter, then its default.
    pub values: String,
    /// The meaning of the parameter, in one line.
    pub help: &'static str,
}

/// Returns the documentation of the parameters of a table.
pub fn help<T: Clone + Default>(params: &[Param<T>]) -> Vec<ParamHelp> {
    let row = |param: &Param<T>| {
        let mut sample = sample(params, param);
        let field = (param.field)(&mut sample).expect("a value of the owner has the parameter");
        let default = field.text.map_or_else(String::new, |text| format!("; {}", field.domain.default_text(text)));
        let values = format!("{}{default}", field.domain);
        ParamHelp { key: param.key, owner: requirement(params, param), values, help: param.help }
    };
    params.iter().map(row).collect()
}

/// Returns the names of the parameters of a table.
pub fn keys<T>(params: &'static [Param<T>]) -> impl Iterator<Item = &'static str> {
    params.iter().map(|param| param.key)
}

/// Returns the names of the parameters of a table that other parameters belong to.
pub fn owners<T>(params: &'static [Param<T>]) -> impl Iterator<Item = &'static str> {
    keys(params).filter(|key| params.iter().any(|param| param.owner == *key))
}

fn find<'a, T>(params: &'a [Param<T>], key: &str) -> Option<&'a Param<T>> {
    params.iter().find(|param| param.key == key)
}

/// Returns the default `T` among those that have a parameter.
fn sample<T: Clone + Default>(params: &[Param<T>], param: &Param<T>) -> T {
    let Some(owner) = find(params, param.owner) else { return T::default() };
    let mut sample = sample(params, owner);
    if (param.field)(&mut sample).is_none()
        && let Some(name) = owner_names(params, param, owner, true).first()
    {
        set(params, &mut sample, owner.key, name);
    }
    sample
}

/// Returns the names among the values of the owner of a parameter with which a `T` has the parameter, or those with
/// which it has not.
fn owner_names<T: Clone + Default>(
    params: &[Param<T>],
    param: &Param<T>,
    owner: &Param<T>,
    has: bool,
) -> Vec<&'static str> {
    let base = sample(params, owner);
    let names = (owner.field)(&mut base.clone()).map_or_else(Vec::new, |field| field.domain.names());
    let has_it = |name: &&str| {
        let mut named = base.clone();
        set(params, &mut named, owner.key, name);
        (param.field)(&mut named).is_some() == has
    };
    names.into_iter().filter(has_it).collect()
}

/// Returns the text that must precede a parameter; empty if every `T` has the parameter.
fn requirement<T: Clone + Default>(params: &[Param<T>], param: &Param<T>) -> String {
    let Some(owner) = find(params, param.owner) else { return String::new() };
    let texts = |has| {
        let names = owner_names(params, param, owner, has);
        names.iter().map(|name| format!("`{}={name}`", owner.key)).collect::<Vec<_>>()
    };
    let outer = requirement(params, owner);
    match texts(true).as_slice() {
        [] => format!("{outer} without {}", texts(false).join(" or ")),
        [first] if outer.is_empty() => first.clone(),
        [first] => format!("{first} of {outer}"),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// A number from `least` to `most`, which may be infinite.
pub fn range(value: &mut f64, least: f64, most: f64) -> Option<Field<'_>> {
    Some(Field::number(least, most, Some(*value), value, |number| number))
}

/// A finite number from `least` up.
pub fn finite(value: &mut f64, least: f64) -> Option<Field<'_>> {
    range(value, least, f64::MAX)
}

/// A whole number from 1 to `most`.
pub fn count(value: &mut u32, most: u32) -> Option<Field<'_>> {
    Some(Field::whole([1, most], None, Some(*value), value, |value, number| number.unwrap_or(*value)))
}

/// One of several values with names.
pub fn choice<T: Copy + PartialEq>(value: &mut T, names: Names<T>) -> Option<Field<'_>> {
    Some(Field::new(Domain::Names(listed(names)), name_of(value, names), value, move |_, text| named(text, names)))
}

/// A part of one of several kinds.
pub fn kind<'a, T>(value: &'a mut T, kinds: &'static [Kind<T>]) -> Option<Field<'a>> {
    let names = kinds.iter().map(|kind| kind.name).collect();
    let own = kinds.iter().find(|kind| (kind.is)(value)).map(|kind| kind.name);
    Some(Field::new(Domain::Names(names), own, value, |value, text| {
        kinds.iter().find(|kind| kind.name == text).map(|kind| (kind.make)(value))
    }))
}

/// Whether something is on: `yes` or `no`, or as TOML has it, `true` or `false`.
pub fn flag(value: &mut bool) -> Option<Field<'_>> {
    let text = if *value { "yes" } else { "no" };
    Some(Field::new(Domain::Flag, Some(text), value, |_, text| match text {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }))
}

/// A set of values with names, joined by `+`: each once and in order.
pub fn some_of<T: Copy + Ord>(value: &mut Vec<T>, names: Names<T>) -> Option<Field<'_>> {
    let text = value.iter().filter_map(|value| name_of(value, names)).collect::<Vec<_>>().join("+");
    Some(Field::new(Domain::Subset(listed(names)), Some(text), value, move |_, text| {
        let mut found: Vec<T> = text.split('+').map(|name| named(name, names)).collect::<Option<_>>()?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    }))
}

fn listed<T>(names: Names<T>) -> Vec<&'static str> {
    names.iter().map(|(name, _)| *name).collect()
}

/// Returns the value of a name.
fn named<T: Copy>(name: &str, names: Names<T>) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

/// Returns the name of a value.
fn name_of<T: PartialEq>(value: &T, names: Names<T>) -> Option<&'static str> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}

/// Asserts that every name of a table can be set, is printed, and stands in the help and in the errors.
/// Tests of tables call it.
///
/// # Panics
/// If a name is not.
pub fn assert_names_are_known<T: Clone + Default>(params: &[Param<T>]) {
    for (param, help) in params.iter().zip(help(params)) {
        let mut sample = sample(params, param);
        let names = (param.field)(&mut sample).unwrap().domain.names();
        let error = set(params, &mut sample.clone(), param.key, "?").unwrap().unwrap_err().to_string();
        for name in names {
            let mut named = sample.clone();
            assert_eq!(set(params, &mut named, param.key, name), Some(Ok(())), "{}={name}", param.key);
            let printed = (param.field)(&mut named).unwrap().text.unwrap();
            assert_eq!(set(params, &mut named, param.key, &printed), Some(Ok(())), "{}={printed}", param.key);
            assert!(help.values.contains(name) && error.contains(name), "{name}: {help:?}, {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of which two kinds have a parameter.
    #[derive(Clone, Debug, PartialEq, Default)]
    enum Part {
        #[default]
        Plain,
        First {
            depth: u32,
        },
        Second {
            depth: u32,
        },
    }

    const KINDS: &[Kind<Part>] = &[
        Kind { name: "plain", is: |part| *part == Part::Plain, make: |_| Part::Plain },
        Kind { name: "first", is: |part| matches!(part, Part::First { .. }), make: |_| Part::First { depth: 3 } },
        Kind { name: "second", is: |part| matches!(part, Part::Second { .. }), make: |_| Part::Second { depth: 5 } },
    ];

    const PARAMS: &[Param<Part>] = &[
        Param { key: "part", owner: "", help: "", is_optional: true, field: |part| kind(part, KINDS) },
        Param {
            key: "depth",
            owner: "part",
            help: "",
            is_optional: true,
            field: |part| match part {
                Part::First { depth } | Part::Second { depth } => count(depth, 9),
                Part::Plain => None,
            },
        },
    ];

    #[test]
    fn rows_are_the_only_declaration_of_names_owners_and_defaults() {
        assert_names_are_known(PARAMS);
        let rows: Vec<_> = help(PARAMS).into_iter().map(|row| (row.key, row.owner, row.values)).collect();
        let part = "`plain`, `first`, `second`; `plain`";
        let rows: Vec<_> = rows.iter().map(|(key, owner, values)| (*key, &**owner, &**values)).collect();
        assert_eq!(rows, [("part", "", part), ("depth", "`part=first` or `part=second`", "1 to 9; 3")]);
        let mut target = Part::Plain;
        let mut error = |key, text| set(PARAMS, &mut target, key, text).unwrap().unwrap_err().to_string();
        assert_eq!(error("part", "third"), "expected one of plain, first, second, got `third`");
        assert_eq!(error("depth", "1"), "`depth` needs `part=first` or `part=second`");
        assert_eq!(set(PARAMS, &mut target, "part", "second"), Some(Ok(())));
        assert_eq!(pairs(PARAMS, &target), [("part", "second".to_owned()), ("depth", "5".to_owned())]);
        assert_eq!(set(PARAMS, &mut target, "width", "1"), None);
    }
}
