//! Parameters as text: one row of a table parses, prints and documents a parameter.
//!
//! A table is a `const PARAMS: &[Param<T>]`, in the order in which parameters are printed. A row gives access to the
//! place where a `T` holds the parameter, as a [`Field`] that reads and writes text. Rows with an `owner` apply to some
//! values of `T` only, e.g. to one variant of an enum.

/// A parameter of a `T`.
pub(crate) struct Param<T: 'static> {
    /// The name, as in `key=value`.
    pub key: &'static str,
    /// The text that must precede the parameter; empty if every `T` has the parameter.
    pub owner: &'static str,
    /// The values of the parameter, then its default.
    pub values: &'static str,
    /// The meaning of the parameter, in one line.
    pub help: &'static str,
    /// The text of a value that is not printed; empty if all are.
    pub omitted: &'static str,
    /// The place of the value; `None` if this `T` does not have the parameter.
    pub field: for<'a> fn(&'a mut T) -> Option<Field<'a>>,
}

/// Reads a value from text, or returns what was expected.
type Parse<'a> = dyn FnOnce(&str) -> Result<(), String> + 'a;

/// A value that is read from text and written as text.
pub(crate) struct Field<'a> {
    /// The text of the value; none if there is nothing to print.
    text: Option<String>,
    parse: Box<Parse<'a>>,
}

impl<'a> Field<'a> {
    /// Creates a field of a value with its text. `parse` returns the value that replaces it, or what was expected.
    pub fn new<T>(
        text: Option<impl ToString>,
        value: &'a mut T,
        parse: impl FnOnce(&T, &str) -> Result<T, String> + 'a,
    ) -> Field<'a> {
        let text = text.map(|text| text.to_string());
        Field { text, parse: Box::new(move |text| parse(value, text).map(|parsed| *value = parsed)) }
    }

    /// Omits the text of the value.
    pub fn unprinted(self) -> Field<'a> {
        Field { text: None, ..self }
    }
}

/// Values with their names.
pub(crate) type Names<T> = &'static [(&'static str, T)];

/// The key and the text of a parameter.
pub(crate) type Pair = (&'static str, String);

/// Sets a parameter; none if the table has no such parameter.
///
/// # Errors
/// If `target` does not have the parameter, or not of such a value.
pub(crate) fn set<T>(params: &[Param<T>], target: &mut T, key: &str, text: &str) -> Option<Result<(), String>> {
    let param = params.iter().find(|param| param.key == key)?;
    Some(match (param.field)(target) {
        Some(field) => (field.parse)(text),
        None => Err(format!("`{key}` needs {} before it", param.owner)),
    })
}

/// Returns the parameters that are printed, in the order of the table.
pub(crate) fn pairs<T: Clone>(params: &[Param<T>], target: &T) -> Vec<Pair> {
    let mut target = target.clone();
    let pair = |param: &Param<T>| {
        let text = (param.field)(&mut target)?.text?;
        (text != param.omitted).then_some((param.key, text))
    };
    params.iter().filter_map(pair).collect()
}

/// The documentation of a parameter, in Markdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamHelp {
    /// The name, as in `key=value`.
    pub key: &'static str,
    /// The text that must precede the parameter; empty if none must.
    pub owner: &'static str,
    /// The values of the parameter, then its default.
    pub values: &'static str,
    /// The meaning of the parameter, in one line.
    pub help: &'static str,
}

/// Returns the documentation of the parameters of a table.
pub(crate) fn help<T>(params: &[Param<T>]) -> Vec<ParamHelp> {
    params.iter().map(|&Param { key, owner, values, help, .. }| ParamHelp { key, owner, values, help }).collect()
}

/// A number from `least` to `most`, which may be infinite.
pub(crate) fn range(value: &mut f64, least: f64, most: f64) -> Option<Field<'_>> {
    Some(Field::new(Some(*value), value, move |_, text| number(text, least, most)))
}

/// A finite number from `least` up.
pub(crate) fn finite(value: &mut f64, least: f64) -> Option<Field<'_>> {
    range(value, least, f64::MAX)
}

/// A whole number from 1 to `most`.
pub(crate) fn count(value: &mut u32, most: u32) -> Option<Field<'_>> {
    Some(Field::new(Some(*value), value, move |_, text| whole(text, most)))
}

/// One of several values with names.
pub(crate) fn choice<T: Copy + PartialEq>(value: &mut T, names: Names<T>) -> Option<Field<'_>> {
    Some(Field::new(name_of(value, names), value, move |_, text| one_of(text, names)))
}

/// Whether something is on: `yes` or `no`, or as TOML has it, `true` or `false`.
pub(crate) fn flag(value: &mut bool) -> Option<Field<'_>> {
    let text = if *value { "yes" } else { "no" };
    Some(Field::new(Some(text), value, |_, text| match text {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("expected `yes` or `no`, got `{text}`")),
    }))
}

/// A set of values with names, joined by `+`: each once and in order.
pub(crate) fn some_of<T: Copy + Ord>(value: &mut Vec<T>, names: Names<T>) -> Option<Field<'_>> {
    let text = value.iter().filter_map(|value| name_of(value, names)).collect::<Vec<_>>().join("+");
    Some(Field::new(Some(text), value, move |_, text| {
        let found: Option<Vec<T>> = text.split('+').map(|name| find(name, names)).collect();
        let expected = || format!("expected some of {} with `+` between them, got `{text}`", listed(names));
        let mut found = found.ok_or_else(expected)?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }))
}

/// Reads a number from `least` to `most`, which may be infinite.
///
/// # Errors
/// Returns the expected values.
pub(crate) fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let found = text.parse().ok().filter(|value: &f64| (least..=most).contains(value));
    found.ok_or_else(|| match most {
        _ if least == f64::MIN_POSITIVE => format!("expected a number > 0, got `{text}`"),
        f64::MAX.. => format!("expected a number ≥ {least}, got `{text}`"),
        _ => format!("expected a number from {least} to {most}, got `{text}`"),
    })
}

/// Reads a whole number from 1 to `most`.
///
/// # Errors
/// Returns the expected values.
pub(crate) fn whole(text: &str, most: u32) -> Result<u32, String> {
    let found = text.parse().ok().filter(|count| (1..=most).contains(count));
    found.ok_or_else(|| match most {
        u32::MAX => format!("expected a whole number ≥ 1, got `{text}`"),
        _ => format!("expected a whole number from 1 to {most}, got `{text}`"),
    })
}

/// Returns the value of a name.
///
/// # Errors
/// Returns the expected values.
pub(crate) fn one_of<T: Copy>(name: &str, names: &[(&str, T)]) -> Result<T, String> {
    find(name, names).ok_or_else(|| format!("expected one of {}, got `{name}`", listed(names)))
}

fn find<T: Copy>(name: &str, names: &[(&str, T)]) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

fn listed<T>(names: &[(&str, T)]) -> String {
    names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Returns the name of a value.
fn name_of<T: PartialEq>(value: &T, names: Names<T>) -> Option<&'static str> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}
