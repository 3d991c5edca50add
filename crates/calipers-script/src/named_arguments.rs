//! The named arguments of a function with many of them.

use crate::error::ArgumentError;
use crate::score_objects::{items, number, plain, short_text};
use calipers_core::{Metadata, Value as CoreValue};
use starlark::collections::SmallMap;
use starlark::values::{UnpackValue, Value};
use std::cell::RefCell;

/// Named arguments, read by name and type. `None` counts as not given.
pub(crate) struct NamedArguments<'v> {
    function: &'static str,
    given: SmallMap<String, Value<'v>>,
    /// The names that the function asked about.
    known: RefCell<Vec<&'static str>>,
}

impl<'v> NamedArguments<'v> {
    /// The named arguments of a function that also has parameters of these names.
    pub(crate) fn new(function: &'static str, parameters: &[&'static str], given: SmallMap<String, Value<'v>>) -> Self {
        Self { function, given, known: RefCell::new(parameters.to_vec()) }
    }

    pub(crate) fn get(&self, name: &'static str) -> Option<Value<'v>> {
        self.known.borrow_mut().push(name);
        self.given.get(name).copied().filter(|value| !value.is_none())
    }

    /// An error for the first name that the function did not ask about.
    pub(crate) fn finish(self) -> Result<(), ArgumentError> {
        let known = self.known.into_inner();
        let Some(unknown) = self.given.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let mut complaint = ArgumentError::new(format!("`{}` has no parameter `{unknown}`", self.function));
        complaint.focus = Some(unknown.clone());
        Err(complaint.hint(match calipers_core::nearest(unknown, &known) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("it has {}", known.join(", ")),
        }))
    }

    pub(crate) fn wrong(&self, name: &str, found: Value<'_>, wanted: &str) -> ArgumentError {
        wrong(self.function, name, found, wanted)
    }

    fn read<T>(
        &self,
        name: &'static str,
        wanted: &str,
        read: impl FnOnce(Value<'v>) -> Option<T>,
    ) -> Result<Option<T>, ArgumentError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong(name, value, wanted))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        self.read(name, "a string", |value| value.unpack_str().map(str::to_owned))
    }

    /// One text or a list of them.
    pub(crate) fn texts(&self, name: &'static str) -> Result<Vec<String>, ArgumentError> {
        Ok(self.read(name, "a string or a list of strings", texts)?.unwrap_or_default())
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, ArgumentError> {
        Ok(self.read(name, "`True` or `False`", Value::unpack_bool)?.unwrap_or(false))
    }

    /// A whole number with a minimum.
    pub(crate) fn count(&self, name: &'static str, least: u64) -> Result<Option<u64>, ArgumentError> {
        self.read(name, &format!("a whole number of at least {least}"), |value| whole(value).filter(|n| *n >= least))
    }

    /// A finite number from 0.
    pub(crate) fn amount(&self, name: &'static str) -> Result<Option<f64>, ArgumentError> {
        let is_amount = |x: &f64| x.is_finite() && *x >= 0.0;
        self.read(name, "a number from 0", |value| is_number(value).then(|| number(value))?.filter(is_amount))
    }

    pub(crate) fn metadata(&self, name: &'static str) -> Result<Metadata, ArgumentError> {
        let read = |value| match plain(value) {
            Ok(CoreValue::Map(entries)) => Some(Metadata::new(entries)),
            _ => None,
        };
        Ok(self.read(name, "a dict with strings as keys", read)?.unwrap_or_default())
    }
}

pub(crate) fn wrong(function: &str, name: &str, found: Value<'_>, wanted: &str) -> ArgumentError {
    let mut complaint = ArgumentError::new(format!("`{function}`: {name} is {}, not {wanted}", short_text(found)));
    complaint.focus = Some(name.to_owned());
    complaint
}

/// The text of a text, or the texts of a list.
pub(crate) fn texts(value: Value<'_>) -> Option<Vec<String>> {
    if let Some(text) = value.unpack_str() {
        return Some(vec![text.to_owned()]);
    }
    items(value)?.iter().map(|item| item.unpack_str().map(str::to_owned)).collect()
}

/// True for ints and floats, not for bools.
pub(crate) fn is_number(value: Value<'_>) -> bool {
    value.unpack_bool().is_none() && number(value).is_some()
}

/// A whole number from 0, but not a bool.
pub(crate) fn whole(value: Value<'_>) -> Option<u64> {
    if value.unpack_bool().is_some() {
        return None;
    }
    i64::unpack_value(value).ok().flatten().and_then(|whole| u64::try_from(whole).ok())
}
