//! Templates with `{names}`, as in Python's `str.format`.

use calipers_core::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Fills in the names that `lookup` knows. `{a.b}` and `{a[b]}` look inside; `{{` and `}}` are braces. Unknown names,
/// and braces that hold no name, such as JSON in a prompt, stay as written.
///
/// Inserted text is not expanded again, so a model cannot inject placeholders into a prompt.
pub(crate) fn fill<'a>(template: &str, lookup: impl Fn(&str) -> Option<Cow<'a, Value>>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            filled.push_str(brace);
            rest = after;
            continue;
        }
        let inside = rest.find(['{', '}']).filter(|end| brace == "{" && rest[*end..].starts_with('}'));
        let value = inside.and_then(|end| find_field(&rest[..end], &lookup));
        match (inside, value) {
            (Some(end), Some(value)) => {
                write!(filled, "{value}").expect("writing to a string cannot fail");
                rest = &rest[end + 1..];
            }
            (Some(end), None) => {
                filled.push_str(brace);
                filled.push_str(&rest[..=end]);
                rest = &rest[end + 1..];
            }
            (None, _) => filled.push_str(brace),
        }
    }
    filled.push_str(rest);
    filled
}

fn find_field<'a>(field: &str, lookup: impl Fn(&str) -> Option<Cow<'a, Value>>) -> Option<Cow<'a, Value>> {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let mut value = lookup(&field[..end])?;
    let mut path = &field[end..];
    while !path.is_empty() {
        let (key, after) = match path.strip_prefix('[') {
            Some(indexed) => indexed.split_once(']')?,
            None => {
                let named = path.strip_prefix('.')?;
                named.split_at(named.find(['.', '[']).unwrap_or(named.len()))
            }
        };
        value = Cow::Owned(inside(&value, key)?);
        path = after;
    }
    (!matches!(*value, Value::Null)).then_some(value)
}

fn inside(value: &Value, key: &str) -> Option<Value> {
    match value {
        Value::List(items) => items.get(key.parse::<usize>().ok()?).cloned(),
        map => map.get(key).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_the_rest_stays() {
        let metadata = Value::from([
            ("name", Value::from("Ada")),
            ("nothing", Value::Null),
            ("braces", Value::from("{name}")),
            ("deep", Value::from([("list", vec!["x", "y"])])),
        ]);
        for (template, want) in [
            ("Hello {name}!", "Hello Ada!"),
            ("{unknown} {nothing} {}", "{unknown} {nothing} {}"),
            ("{{name}} }} {{", "{name} } {"),
            ("{braces}", "{name}"),
            ("{deep.list[1]} {deep[list][0]} {deep.list[7]} {deep.no}", "y x {deep.list[7]} {deep.no}"),
            ("{\"a\": 1, \"b\": {name}", "{\"a\": 1, \"b\": Ada"),
            ("{name", "{name"),
            ("name}", "name}"),
            ("{name!r:>10}", "{name!r:>10}"),
            ("é{name}ü", "éAdaü"),
        ] {
            assert_eq!(fill(template, |name| metadata.get(name).map(Cow::Borrowed)), want, "{template}");
        }
    }
}
