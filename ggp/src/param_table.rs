//! Parameters as text: one row of a table parses, prints and documents a parameter.
//!
//! A table is a `const PARAMS: &[Param<T>]`, in the order in which parameters are printed. A row gives access to the
//! place where a `T` holds the parameter, as a [`Field`] that reads and writes text. Rows with an `owner` apply to some
//! values of `T` only, e.g. to one variant of an enum.

/// A parameter of a `T`.
pub(crate) struct Param<T: 'static> {
    /// The name, as in `key=value`.
    pub key: &'static str,
    /// What has the parameter, as it must be written before the parameter; empty if every `T` has it.
    pub owner: &'static str,
    /// The values that it takes, then its default.
    pub values: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    /// The text of a value that is not printed; empty if all are.
    pub omitted: &'static str,
    /// The place of its value; none if this `T` does not have the parameter.
    pub field: for<'a> fn(&'a mut T) -> Option<Box<dyn Field + 'a>>,
}

/// A value that is read from text and written as text.
pub(crate) trait Field {
    /// Reads a value.
    ///
    /// # Errors
    /// What was expected.
    fn parse(&mut self, text: &str) -> Result<(), String>;

    /// Returns the text of the value; none if there is nothing to print.
    fn text(&self) -> Option<String>;
}

/// The key and the text of a parameter.
pub(crate) type Pair = (&'static str, String);

/// Sets a parameter; none if the table has no such parameter.
///
/// # Errors
/// If `target` does not have the parameter, or not of such a value.
pub(crate) fn set<T>(params: &[Param<T>], target: &mut T, key: &str, text: &str) -> Option<Result<(), String>> {
    let param = params.iter().find(|param| param.key == key)?;
    Some(match (param.field)(target) {
        Some(mut field) => field.parse(text),
        None => Err(format!("`{key}` needs {} before it", param.owner)),
    })
}

/// Returns the parameters that are printed, in the order of the table.
pub(crate) fn pairs<T: Clone>(params: &[Param<T>], target: &T) -> Vec<Pair> {
    let mut target = target.clone();
    let pair = |param: &Param<T>| {
        let text = (param.field)(&mut target)?.text()?;
        (text != param.omitted).then_some((param.key, text))
    };
    params.iter().filter_map(pair).collect()
}

/// Returns the rows of a table of parameters in Markdown: name, owner, values with the default, meaning.
pub(crate) fn markdown<T>(params: &[Param<T>]) -> Vec<String> {
    let row = |Param { key, owner, values, help, .. }: &Param<T>| format!("| `{key}` | {owner} | {values} | {help} |");
    params.iter().map(row).collect()
}

/// A number from `least` to `most`, which may be infinite.
pub(crate) fn range(value: &mut f64, least: f64, most: f64) -> Option<Box<dyn Field + '_>> {
    struct Range<'a>(&'a mut f64, f64, f64);
    impl Field for Range<'_> {
        fn parse(&mut self, text: &str) -> Result<(), String> {
            *self.0 = number(text, self.1, self.2)?;
            Ok(())
        }
        fn text(&self) -> Option<String> {
            Some(self.0.to_string())
        }
    }
    Some(Box::new(Range(value, least, most)))
}

/// A finite number from `least` up.
pub(crate) fn finite(value: &mut f64, least: f64) -> Option<Box<dyn Field + '_>> {
    range(value, least, f64::MAX)
}

/// A whole number from 1 to `most`.
pub(crate) fn count(value: &mut u32, most: u32) -> Option<Box<dyn Field + '_>> {
    struct Count<'a>(&'a mut u32, u32);
    impl Field for Count<'_> {
        fn parse(&mut self, text: &str) -> Result<(), String> {
            *self.0 = whole(text, self.1)?;
            Ok(())
        }
        fn text(&self) -> Option<String> {
            Some(self.0.to_string())
        }
    }
    Some(Box::new(Count(value, most)))
}

/// One of several values with names.
pub(crate) fn choice<'a, T: Copy + PartialEq>(
    value: &'a mut T,
    names: &'static [(&'static str, T)],
) -> Option<Box<dyn Field + 'a>> {
    struct Choice<'a, T: 'static>(&'a mut T, &'static [(&'static str, T)]);
    impl<T: Copy + PartialEq> Field for Choice<'_, T> {
        fn parse(&mut self, text: &str) -> Result<(), String> {
            *self.0 = one_of(text, self.1)?;
            Ok(())
        }
        fn text(&self) -> Option<String> {
            name_of(self.0, self.1)
        }
    }
    Some(Box::new(Choice(value, names)))
}

/// Whether something is on: `yes` or `no`, or as TOML has it, `true` or `false`.
pub(crate) fn flag(value: &mut bool) -> Option<Box<dyn Field + '_>> {
    struct Flag<'a>(&'a mut bool);
    impl Field for Flag<'_> {
        fn parse(&mut self, text: &str) -> Result<(), String> {
            *self.0 = match text {
                "yes" | "true" => true,
                "no" | "false" => false,
                _ => return Err(format!("expected `yes` or `no`, got `{text}`")),
            };
            Ok(())
        }
        fn text(&self) -> Option<String> {
            Some(if *self.0 { "yes" } else { "no" }.to_owned())
        }
    }
    Some(Box::new(Flag(value)))
}

/// A set of values with names, joined by `+`: each once and in order.
pub(crate) fn some_of<'a, T: Copy + Ord>(
    value: &'a mut Vec<T>,
    names: &'static [(&'static str, T)],
) -> Option<Box<dyn Field + 'a>> {
    struct SomeOf<'a, T: 'static>(&'a mut Vec<T>, &'static [(&'static str, T)]);
    impl<T: Copy + Ord> Field for SomeOf<'_, T> {
        fn parse(&mut self, text: &str) -> Result<(), String> {
            let found: Option<Vec<T>> = text.split('+').map(|name| find(name, self.1)).collect();
            let expected = || format!("expected some of {} with `+` between them, got `{text}`", listed(self.1));
            *self.0 = found.ok_or_else(expected)?;
            self.0.sort_unstable();
            self.0.dedup();
            Ok(())
        }
        fn text(&self) -> Option<String> {
            let names: Vec<String> = self.0.iter().filter_map(|value| name_of(value, self.1)).collect();
            Some(names.join("+"))
        }
    }
    Some(Box::new(SomeOf(value, names)))
}

/// Reads a number from `least` to `most`, which may be infinite.
///
/// # Errors
/// What was expected.
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
/// What was expected.
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
/// What was expected.
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
pub(crate) fn name_of<T: PartialEq>(value: &T, names: &[(&str, T)]) -> Option<String> {
    names.iter().find(|(_, known)| known == value).map(|(name, _)| (*name).to_owned())
}
