//! A document as it was read, with the place of each part: what JSON, YAML and TOML have in common.

use super::{Mistake, Span, Spanned};
use std::sync::Arc;

/// A part of a document, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub value: Data,
    /// Where it stands.
    pub span: Span,
}

/// What a part of a document is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Item>),
    /// A map in the order of the document; no key is there twice.
    Map(Vec<(Spanned<String>, Item)>),
}

/// Reads a file that another one extends, given its name and where that is written.
pub type Load<'f> = dyn FnMut(&Spanned<String>) -> Result<Item, Vec<Mistake>> + 'f;

/// A file extends others at most so many times, one through the other.
const CHAIN_MAX: usize = 8;

/// A document is made of at most so many files: lists of files that extend lists of files grow quickly.
const FILES_MAX: usize = 32;

impl Item {
    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Data::Null => "null",
            Data::Bool(_) => "true or false",
            Data::Number(_) => "a number",
            Data::Text(_) => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    /// The entry of a map with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Data::Map(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name.value == key).map(|(_, item)| item)
    }

    /// A map of these entries; a key that is there twice is a mistake that names both places.
    pub fn map(entries: Vec<(Spanned<String>, Self)>, span: Span) -> Result<Self, Mistake> {
        let mut places = hashbrown::HashMap::with_capacity(entries.len());
        for (key, _) in &entries {
            if let Some(first) = places.insert(key.value.as_str(), &key.span) {
                return Err(twice(&key.value, first, &key.span));
            }
        }
        drop(places);
        Ok(Self { value: Data::Map(entries), span })
    }

    /// The document with those that it `extends`, which are read by `load`: maps are merged key by key, and everything
    /// else is replaced. A null takes away what is extended, and stays where there is nothing to take away. Of several files, later ones replace earlier ones.
    ///
    /// `load` is given the name with its place in the file that says so, and names files so that the same file has the
    /// same name.
    pub fn extended(self, load: &mut Load<'_>) -> Result<Self, Vec<Mistake>> {
        let mut chain = vec![self.span.text.name.clone()];
        Extension { load, files: 1 }.apply(self, &mut chain)
    }
}

/// A key that is there twice.
pub(crate) fn twice(key: &str, first: &Span, second: &Span) -> Mistake {
    let file = if Arc::ptr_eq(&first.text, &second.text) { String::new() } else { format!(" of {}", first.text.name) };
    Mistake::new(format!("the key `{key}` appears twice, first in line {}{file}", first.line()))
        .at(second)
        .hint("keep one of them")
}

struct Extension<'l, 'f> {
    load: &'l mut Load<'f>,
    files: usize,
}

impl Extension<'_, '_> {
    fn apply(&mut self, mut item: Item, chain: &mut Vec<String>) -> Result<Item, Vec<Mistake>> {
        let names = match take(&mut item, "extends") {
            Some(extends) => names(&extends).map_err(|mistake| vec![mistake])?,
            None => Vec::new(),
        };
        let mut base: Option<Item> = None;
        for name in names {
            let one = self.load_base(&name, chain)?;
            base = Some(match base {
                Some(base) => merge(base, one),
                None => one,
            });
        }
        Ok(match base {
            Some(base) => merge(base, item),
            None => item,
        })
    }

    fn load_base(&mut self, name: &Spanned<String>, chain: &mut Vec<String>) -> Result<Item, Vec<Mistake>> {
        let refuse = |message: String, hint: &str| Err(vec![Mistake::new(message).at(&name.span).hint(hint)]);
        self.files += 1;
        if self.files > FILES_MAX {
            return refuse(
                format!("more than {FILES_MAX} files extend one another"),
                "put what they share into one file",
            );
        }
        let item = (self.load)(name)?;
        let file = item.span.text.name.clone();
        if chain.contains(&file) {
            chain.push(file);
            return refuse(
                format!("the files extend one another in a cycle: {}", chain.join(" → ")),
                "remove one `extends`",
            );
        }
        if chain.len() >= CHAIN_MAX {
            return refuse(
                format!("more than {CHAIN_MAX} files extend one another"),
                "put what they share into one file",
            );
        }
        chain.push(file);
        let whole = self.apply(item, chain);
        chain.pop();
        whole
    }
}

/// The entry of a map, taken out of it.
fn take(item: &mut Item, key: &str) -> Option<Item> {
    let Data::Map(entries) = &mut item.value else { return None };
    let at = entries.iter().position(|(name, _)| name.value == key)?;
    Some(entries.remove(at).1)
}

/// A text, or a list of strings.
fn names(item: &Item) -> Result<Vec<Spanned<String>>, Mistake> {
    match &item.value {
        Data::Text(name) => Ok(vec![Spanned { value: name.clone(), span: item.span.clone() }]),
        Data::List(items) if items.iter().all(|item| matches!(item.value, Data::Text(_))) => {
            Ok(items.iter().flat_map(names).flatten().collect())
        }
        _ => Err(Mistake::new(format!("`extends` is {}", item.kind()))
            .at(&item.span)
            .hint("name a file, or a list of files: `\"extends\": \"base.json\"`")),
    }
}

/// Two documents as one, the second before the first.
fn merge(base: Item, over: Item) -> Item {
    let value = match (base.value, over.value) {
        (Data::Map(entries), Data::Map(changes)) => Data::Map(apply_changes(entries, changes)),
        (_, value) => value,
    };
    Item { value, span: over.span }
}

fn apply_changes(
    mut entries: Vec<(Spanned<String>, Item)>,
    changes: Vec<(Spanned<String>, Item)>,
) -> Vec<(Spanned<String>, Item)> {
    for (key, change) in changes {
        let before = entries.iter().position(|(name, _)| name.value == key.value).map(|at| (at, entries.remove(at).1));
        match (before, &change.value) {
            (Some(_), Data::Null) => {}
            (Some((at, before)), _) => entries.insert(at, (key, merge(before, change))),
            (None, _) => entries.push((key, change)),
        }
    }
    entries
}
