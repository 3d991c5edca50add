//! Reads what scoring needs of a sample, and nothing else.
//!
//! A sample of an agent's run may be megabytes of events and messages. They are skipped without parsing; only the keys
//! below become values.

use crate::json::skim::Skim;
use crate::json::{self, Json, JsonParts};
use crate::policy::fingerprint;
use crate::{FilePlace, Projection};
use calipers_core::{Attempt, Delivery, Metadata, Outcome, SampleId, Samples, Score, Value};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The scorer of logs so old that samples have one score without a name.
const UNNAMED: &str = "";

/// One attempt of a sample.
#[derive(Debug)]
pub(crate) struct LoggedSample {
    pub(crate) id: SampleId,
    pub(crate) epoch: u32,
    scores: Vec<(Arc<str>, Outcome)>,
    metadata: Vec<(Arc<str>, Value)>,
    fields: Vec<(Cow<'static, str>, Value)>,
    pub(crate) error: Option<Arc<str>>,
    /// Where in its log it is.
    pub(crate) written_at: Option<FilePlace>,
}

/// What makes a sample unusable, and what to do about it.
#[derive(Debug)]
pub(crate) struct SampleProblem {
    pub(crate) what: String,
    pub(crate) hint: Option<&'static str>,
}

impl SampleProblem {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl LoggedSample {
    /// Reads the JSON of one sample.
    pub(crate) fn parse(bytes: &[u8], names: &mut SampleNames) -> Result<Self, SampleProblem> {
        let mut skim = Skim::new(bytes).map_err(not_a_sample)?;
        let mut parts = SampleParts::default();
        while let Some((key, value)) = skim.entry().map_err(not_a_sample)? {
            parts.take(key, value, names).map_err(|error| {
                let text = error.to_string();
                let what = text.split(" at line ").next().unwrap_or_default();
                not_a_sample(format!("`{}`: {what}", String::from_utf8_lossy(key)))
            })?;
        }
        parts.check(names)
    }

    /// Adds metadata from a separate member.
    pub(crate) fn add_metadata(&mut self, metadata: Value) {
        if let Value::Map(entries) = metadata {
            self.metadata.extend(entries);
        }
    }

    pub(crate) fn place(&self) -> (u32, String) {
        sample_place(&self.id, self.epoch)
    }

    /// Leaves long texts of the scores out.
    pub(crate) fn shorten(&mut self) {
        self.scores.iter_mut().for_each(|(_, outcome)| outcome.shorten());
    }

    /// What it says about its attempt.
    pub(crate) fn delivery(&self) -> Delivery {
        let fields = self.fields.iter().map(|(name, value)| (Arc::from(&**name), value.clone()));
        Delivery {
            scores: self.scores.clone(),
            fields: fields.collect(),
            metadata: self.metadata.clone(),
            error: self.error.clone(),
        }
    }

    /// Adds the attempt to the samples. A score without a name counts as this scorer's.
    pub(crate) fn push(self, samples: &mut Samples, unnamed: &str) {
        let mut attempt: Attempt<'_> = samples.push_epoch(self.id, self.epoch);
        for (key, value) in self.metadata {
            attempt = attempt.metadata(key, value);
        }
        for (scorer, outcome) in self.scores {
            attempt =
                if *scorer == *UNNAMED { attempt.score(unnamed, outcome) } else { attempt.score(scorer, outcome) };
        }
        for (name, value) in self.fields {
            attempt = attempt.field(name, value);
        }
        if let Some(error) = self.error {
            attempt.error(error);
        }
    }
}

/// The place of a sample in its log: by epoch, then by id as text, whole numbers filled up with zeros.
/// Where Inspect sorts an attempt among those of a log: by epoch, then by name, with numbers filled up by zeros.
pub fn sample_place(id: &SampleId, epoch: u32) -> (u32, String) {
    let id = match id {
        // Python fills zeros in after the sign.
        SampleId::Int(id) if *id < 0 => format!("-{:0>19}", id.unsigned_abs()),
        SampleId::Int(id) => format!("{id:0>20}"),
        SampleId::Text(id) => id.to_string(),
    };
    (epoch, id)
}

fn not_a_sample(what: impl fmt::Display) -> SampleProblem {
    SampleProblem::new(format!("not a sample: {what}")).hint("write the log again with Inspect, or take the sample out")
}

/// Parses a value; one that fails is looked at again for bare NaN, which most values do not have.
fn leniently<T>(
    bytes: &[u8],
    mut parse: impl FnMut(&[u8]) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    parse(bytes).or_else(|first| match json::standard(bytes) {
        Cow::Borrowed(_) => Err(first),
        Cow::Owned(standard) => parse(&standard),
    })
}

/// A whole number or a text without anything unusual in it, which most values are.
fn plain_value(bytes: &[u8]) -> Option<Value> {
    match bytes {
        [b'"', text @ .., b'"'] => plain_text(text).map(Value::from),
        [b'0'] => Some(Value::Int(0)),
        [b'1'..=b'9', digits @ ..] if digits.len() < 18 && digits.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(bytes).ok()?.parse().ok().map(Value::Int)
        }
        _ => None,
    }
}

/// What stands between quotes, if it is short and every character is printable ASCII that stands for itself.
fn plain_text(text: &[u8]) -> Option<&str> {
    const LENGTH_MAX: usize = 256;
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let is_short = text.len() <= LENGTH_MAX;
    if is_short && text.iter().all(is_plain) { std::str::from_utf8(text).ok() } else { None }
}

/// Any value but null.
fn some(bytes: &[u8]) -> Result<Option<Value>, serde_json::Error> {
    if let Some(value) = plain_value(bytes) {
        return Ok(Some(value));
    }
    if bytes == b"null" {
        return Ok(None);
    }
    let Json(value) = leniently(bytes, |bytes| serde_json::from_slice(bytes))?;
    Ok(Some(value).filter(|value| !matches!(value, Value::Null)))
}

/// Names that recur in every sample, stored once, and which parts of scores are kept.
pub(crate) struct SampleNames {
    known: Vec<Arc<str>>,
    /// Metadata, and whether it is wanted: asking for that again for each sample takes as long as reading it.
    facts: Vec<(Arc<str>, bool)>,
    /// The same for measurements.
    has_usage: bool,
    has_total_time: bool,
    has_working_time: bool,
    wanted: Projection,
}

impl SampleNames {
    /// With more names than this, looking them up costs more than sharing them saves.
    const MAX: usize = 64;

    pub(crate) fn new(wanted: &Projection) -> Self {
        Self {
            known: Vec::new(),
            facts: Vec::new(),
            has_usage: wanted.has("tokens_used") || wanted.has("cost_usd"),
            has_total_time: wanted.has("latency_ms"),
            has_working_time: wanted.has("working_time_ms"),
            wanted: wanted.clone(),
        }
    }

    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.iter().find(|known| ***known == *name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        if self.known.len() < Self::MAX {
            self.known.push(new.clone());
        }
        new
    }

    /// The name of a fact, if it is wanted.
    fn fact(&mut self, name: &str) -> Option<Arc<str>> {
        if let Some((known, is_wanted)) = self.facts.iter().find(|(known, _)| **known == *name) {
            return is_wanted.then(|| known.clone());
        }
        let (new, is_wanted): (Arc<str>, bool) = (name.into(), self.wanted.has(name));
        if self.facts.len() < Self::MAX {
            self.facts.push((new.clone(), is_wanted));
        }
        is_wanted.then_some(new)
    }
}

/// A sample as it is written.
#[derive(Default)]
struct SampleParts<'a> {
    id: Option<Value>,
    epoch: Option<Value>,
    scores: Vec<(Arc<str>, ScoreParts)>,
    metadata: Vec<(Arc<str>, Value)>,
    error: Option<Value>,
    limit: Option<Value>,
    usage: UsageTotals,
    total_time: Option<Value>,
    working_time: Option<Value>,
    /// What Calipers wrote that Inspect has no field for.
    ours: Option<Value>,
    /// The conversation, read only if Calipers wrote it.
    own: [&'a [u8]; OWN.len()],
}

/// The parts of a sample that native records have as metadata.
const OWN: [&str; 4] = ["input", "target", "choices", "output"];

/// A score as it is written.
#[derive(Debug, Default)]
struct ScoreParts {
    value: Option<Value>,
    answer: Option<Value>,
    explanation: Option<Value>,
    reason: Option<Value>,
    metadata: Vec<(Arc<str>, Value)>,
}

impl<'a> SampleParts<'a> {
    /// Reads an entry of a sample if scoring needs it.
    fn take(&mut self, key: &[u8], value: &'a [u8], names: &mut SampleNames) -> Result<(), serde_json::Error> {
        match key {
            b"id" => self.id = some(value)?,
            b"epoch" => self.epoch = some(value)?,
            b"scores" => {
                self.scores = match plain_scores(value, names) {
                    Some(scores) => scores,
                    None => ScoresSeed::parse(value, names)?,
                }
            }
            // Before scorers had names, a sample had one score.
            b"score" => self.scores = vec![(UNNAMED.into(), ScoreSeed::parse(value, names)?)],
            b"metadata" => {
                self.metadata = match plain_metadata(value, names) {
                    Some(metadata) => metadata,
                    None => EntriesSeed::parse(value, names)?,
                }
            }
            b"error" => self.error = some(value)?,
            b"limit" => self.limit = some(value)?,
            b"model_usage" if names.has_usage => self.usage = UsagesSeed::parse(value, names)?,
            b"total_time" if names.has_total_time => self.total_time = some(value)?,
            b"working_time" if names.has_working_time => self.working_time = some(value)?,
            // The store of an agent may be large, so it is parsed only if it begins with our key.
            b"store" if is_ours(value) => self.ours = some(value)?.and_then(|store| store.get("calipers").cloned()),
            _ => {
                if let Some(place) = OWN.iter().position(|own| own.as_bytes() == key) {
                    self.own[place] = value;
                }
            }
        }
        Ok(())
    }

    fn check(self, names: &mut SampleNames) -> Result<LoggedSample, SampleProblem> {
        let id = sample_id(self.id)?;
        let epoch = epoch(&id, self.epoch)?;
        let mut scores = Vec::with_capacity(self.scores.len());
        for (scorer, score) in self.scores {
            let outcome = score.check().map_err(|wrong| {
                let whose = if *scorer == *UNNAMED { String::new() } else { format!(" of scorer `{scorer}`") };
                SampleProblem {
                    what: format!("the score{whose} on sample `{id}` (epoch {epoch}) {}", wrong.what),
                    ..wrong
                }
            })?;
            scores.push((scorer, outcome));
        }
        let mut fields = Vec::new();
        let mut field = |name, value: Option<Value>| fields.extend(value.map(|value| (Cow::Borrowed(name), value)));
        let milliseconds = |seconds: Option<Value>| Some(Value::from(seconds?.as_number()? * 1000.0));
        field("latency_ms", milliseconds(self.total_time));
        field("working_time_ms", milliseconds(self.working_time));
        field("tokens_used", self.usage.tokens.map(Value::from));
        field("cost_usd", self.usage.cost.map(Value::from));
        // A limit is a map in samples, and its type alone in summaries.
        field("limit", self.limit.and_then(|limit| text(limit.get("type").cloned().unwrap_or(limit)).map(Value::Text)));
        let error = self.error.and_then(|error| text(error.get("message").cloned().unwrap_or(error)));
        let mut metadata = self.metadata;
        if names.wanted.has_content() {
            metadata.push((names.get(CONTENT), Value::Text(content_of(&self.own).into())));
        }
        if let Some(ours) = self.ours {
            for (name, value) in ours.entries("fields") {
                fields.retain(|(known, _)| **known != **name);
                fields.push((Cow::Owned(name.to_string()), value.clone()));
            }
            for name in ours.items("own").iter().map(Value::to_string) {
                metadata.extend(own_part(&self.own, &name).map(|value| (name.as_str().into(), value)));
            }
        }
        Ok(LoggedSample { id, epoch, scores, metadata, fields, error, written_at: None })
    }
}

/// The metadata name of the fingerprint of what a sample asks: its input, its choices and its target.
pub const CONTENT: &str = "@content";

/// The fingerprint of what is asked. Messages have an id of their own in every run, which is no part of the question.
fn content_of(own: &[&[u8]; OWN.len()]) -> String {
    let of = |name: &str| {
        let bytes = OWN.iter().position(|own| *own == name).map_or(&[][..], |place| own[place]).trim_ascii();
        match bytes.first() {
            Some(b'[' | b'{') => match some(bytes) {
                Ok(Some(value)) => without_ids(value).to_string(),
                _ => String::from_utf8_lossy(bytes).into_owned(),
            },
            _ => String::from_utf8_lossy(bytes).into_owned(),
        }
    };
    fingerprint(["input", "choices", "target"].map(of))
}

fn without_ids(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(without_ids).collect()),
        Value::Map(entries) => {
            let entries = entries.into_iter().filter(|(name, _)| **name != *"id");
            Value::Map(entries.map(|(name, value)| (name, without_ids(value))).collect())
        }
        other => other,
    }
}

/// True for a store whose first key is ours.
fn is_ours(store: &[u8]) -> bool {
    let inside = store.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    inside.trim_ascii_start().starts_with(b"\"calipers\"")
}

/// A part of the conversation that a native record had as metadata under this name.
fn own_part(own: &[&[u8]; OWN.len()], name: &str) -> Option<Value> {
    let place = if name == "completion" { "output" } else { name };
    let value = some(own[OWN.iter().position(|own| *own == place)?]).ok()??;
    if place == "output" { value.get("completion").cloned() } else { Some(value) }
}

fn sample_id(id: Option<Value>) -> Result<SampleId, SampleProblem> {
    match id {
        Some(Value::Int(id)) => Ok(SampleId::Int(id)),
        Some(Value::Text(id)) => Ok(SampleId::Text(id)),
        None => {
            Err(SampleProblem::new("the sample has no `id`").hint("every sample has an `id`: text or a whole number"))
        }
        Some(other) => Err(SampleProblem::new(format!("the `id` of the sample is a {}", other.kind()))
            .hint("write it as text or as a whole number of at most 64 bits")),
    }
}

fn epoch(id: &SampleId, epoch: Option<Value>) -> Result<u32, SampleProblem> {
    let hint = "epochs are whole numbers from 1";
    match epoch {
        Some(Value::Int(epoch)) if (0..=i64::from(u32::MAX)).contains(&epoch) => Ok(epoch as u32),
        None => Err(SampleProblem::new(format!("sample `{id}` has no `epoch`")).hint(hint)),
        Some(other) => Err(SampleProblem::new(format!("the `epoch` of sample `{id}` is `{other}`")).hint(hint)),
    }
}

/// Token usage, as far as it is known.
#[derive(Default)]
struct UsageTotals {
    tokens: Option<f64>,
    cost: Option<f64>,
}

impl UsageTotals {
    fn add(&mut self, other: Self) {
        let sum = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(a + b.unwrap_or(0.0)));
        self.tokens = sum(self.tokens, other.tokens);
        self.cost = sum(self.cost, other.cost);
    }
}

/// What is written as text, or reads as some.
fn text(value: Value) -> Option<Arc<str>> {
    match value {
        Value::Null | Value::Missing => None,
        Value::Text(text) => Some(text),
        other => Some(other.to_string().into()),
    }
}

impl ScoreParts {
    fn check(mut self) -> Result<Outcome, SampleProblem> {
        let value = self.value.take().ok_or_else(|| SampleProblem::new("has no `value`"))?;
        check_value(&value)?;
        let reason = self.reason.and_then(text);
        let legacy = || self.metadata.iter().find(|(key, _)| **key == *"unscored_reason");
        let reason = reason.or_else(|| legacy().and_then(|(_, reason)| text(reason.clone())));
        let missing = value.is_missing();
        if let Some(reason) = reason.clone().filter(|_| !missing && legacy().is_none()) {
            // A score with a value keeps its reason beside what else the scorer recorded.
            self.metadata.push(("reason".into(), Value::Text(reason)));
        }
        let mut score = Score::new(value);
        score.answer = self.answer.and_then(text);
        score.explanation = self.explanation.and_then(text);
        score.metadata = (!self.metadata.is_empty()).then(|| Arc::new(Metadata::new(self.metadata)));
        if !missing {
            return Ok(Outcome::Scored(score));
        }
        let said = score.answer.is_some() || score.explanation.is_some() || score.metadata.is_some();
        let reason = reason.unwrap_or_else(|| "no value".into());
        Ok(Outcome::Unscored { reason, score: said.then(|| Box::new(score)) })
    }
}

/// A score is a plain value, a list of plain values, or a map of plain values and nulls. Inspect refuses everything
/// else.
fn check_value(value: &Value) -> Result<(), SampleProblem> {
    let plain = |item: &&Value| !item.is_scalar();
    let inside = match value {
        Value::Null => {
            return Err(
                SampleProblem::new("is null").hint("Inspect refuses it too; what was not scored has the value NaN")
            );
        }
        Value::List(items) => items.iter().find(|item| plain(item) || matches!(item, Value::Null)),
        Value::Map(entries) => entries.iter().map(|(_, item)| item).find(plain),
        _ => None,
    };
    let Some(inside) = inside else { return Ok(()) };
    let wrong = SampleProblem::new(format!("holds a {} inside a {}", inside.kind(), value.kind()));
    Err(wrong.hint("Inspect refuses it too; a score is a plain value, or a list or map of plain values"))
}

/// Reads a map entry by entry. Null is an empty one.
macro_rules! visit_entries {
    ($seed:ident, $value:ty, $expecting:literal, |$names:ident, $entries:ident, $out:ident| $body:expr) => {
        struct $seed<'a>(&'a mut SampleNames);

        impl $seed<'_> {
            #[allow(dead_code)] // some are only ever inside others
            fn parse(bytes: &[u8], names: &mut SampleNames) -> Result<$value, serde_json::Error> {
                leniently(bytes, |bytes| {
                    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
                    let value = $seed(names).deserialize(&mut deserializer)?;
                    deserializer.end().map(|()| value)
                })
            }
        }

        impl<'de> DeserializeSeed<'de> for $seed<'_> {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<$value, D::Error> {
                // Not `deserialize_any`, which may hand over a number as a map.
                deserializer.deserialize_option(self)
            }
        }

        impl<'de> Visitor<'de> for $seed<'_> {
            type Value = $value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expecting)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut $entries: A) -> Result<$value, A::Error> {
                let $names = self.0;
                let mut $out = <$value>::default();
                $body
                Ok($out)
            }

            fn visit_none<E>(self) -> Result<$value, E> {
                Ok(<$value>::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<$value, D::Error> {
                deserializer.deserialize_map(self)
            }
        }
    };
}

/// A key as a shared name.
struct NameSeed<'a>(&'a mut SampleNames);

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Arc<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Arc<str>, E> {
        Ok(self.0.get(name))
    }
}

/// A key of metadata as a shared name, if it is wanted.
struct FactSeed<'a>(&'a mut SampleNames);

impl<'de> DeserializeSeed<'de> for FactSeed<'_> {
    type Value = Option<Arc<str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FactSeed<'_> {
    type Value = Option<Arc<str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<Arc<str>>, E> {
        Ok(self.0.fact(name))
    }
}

fn value<'de, A: MapAccess<'de>>(entries: &mut A) -> Result<Value, A::Error> {
    entries.next_value::<Json>().map(|Json(value)| value)
}

fn some_value<'de, A: MapAccess<'de>>(entries: &mut A) -> Result<Option<Value>, A::Error> {
    Ok(Some(value(entries)?).filter(|value| !matches!(value, Value::Null)))
}

/// The scores of a sample, if there is nothing to them but plain values: answers and explanations that nothing needs, which may be long,
/// are skipped as the rest of a sample is.
fn plain_scores(bytes: &[u8], names: &mut SampleNames) -> Option<Vec<(Arc<str>, ScoreParts)>> {
    let (mut scores, mut skim) = (Vec::new(), Skim::new(bytes).ok()?);
    while let Some((scorer, score)) = skim.entry().ok()? {
        let scorer = plain_text(scorer).filter(|scorer| !scorer.is_empty())?;
        let (mut parts, mut skim) = (ScoreParts::default(), Skim::new(score).ok()?);
        while let Some((key, value)) = skim.entry().ok()? {
            match key {
                b"value" => parts.value = Some(plain_value(value)?),
                b"answer" | b"explanation" if !names.wanted.has_answers() => {}
                b"answer" | b"explanation" | b"reason" | b"metadata" if value == b"null" => {}
                b"metadata" if value == b"{}" => {}
                b"answer" | b"explanation" | b"reason" | b"metadata" => return None,
                // What is written with escapes may be any of these.
                key if key.contains(&b'\\') => return None,
                _ => {}
            }
        }
        put(&mut scores, names.get(scorer), parts);
    }
    Some(scores)
}

/// The metadata of a sample, if there is nothing to what is wanted of it but plain values.
fn plain_metadata(bytes: &[u8], names: &mut SampleNames) -> Option<Vec<(Arc<str>, Value)>> {
    let (mut metadata, mut skim) = (Vec::new(), Skim::new(bytes).ok()?);
    while let Some((key, value)) = skim.entry().ok()? {
        if let Some(key) = names.fact(plain_text(key)?) {
            put(&mut metadata, key, plain_value(value)?);
        }
    }
    Some(metadata)
}

visit_entries!(ScoresSeed, Vec<(Arc<str>, ScoreParts)>, "a map of scores by scorer", |names, entries, out| {
    while let Some(scorer) = entries.next_key_seed(NameSeed(names))? {
        if scorer.is_empty() {
            return Err(A::Error::custom("a scorer without a name"));
        }
        let score = entries.next_value_seed(ScoreSeed(names))?;
        put(&mut out, scorer, score);
    }
});

/// The keys of a score.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ScoreKey {
    Value,
    Answer,
    Explanation,
    Reason,
    Metadata,
    #[serde(other)]
    Other,
}

visit_entries!(ScoreSeed, ScoreParts, "a score, which is a map with a `value`", |names, entries, out| {
    while let Some(key) = entries.next_key::<ScoreKey>()? {
        match key {
            ScoreKey::Value => out.value = Some(value(&mut entries)?),
            ScoreKey::Answer | ScoreKey::Explanation if !names.wanted.has_answers() => {
                entries.next_value::<IgnoredAny>()?;
            }
            ScoreKey::Answer => out.answer = some_value(&mut entries)?,
            ScoreKey::Explanation => out.explanation = some_value(&mut entries)?,
            ScoreKey::Reason => out.reason = some_value(&mut entries)?,
            ScoreKey::Metadata => out.metadata = entries.next_value_seed(ScoreMetadataSeed(names))?,
            ScoreKey::Other => {
                entries.next_value::<IgnoredAny>()?;
            }
        }
    }
});

visit_entries!(EntriesSeed, Vec<(Arc<str>, Value)>, "a map", |names, entries, out| {
    while let Some(key) = entries.next_key_seed(FactSeed(names))? {
        match key {
            Some(key) => {
                let value = value(&mut entries)?;
                put(&mut out, key, value);
            }
            None => {
                entries.next_value::<IgnoredAny>()?;
            }
        }
    }
});

visit_entries!(ScoreMetadataSeed, Vec<(Arc<str>, Value)>, "a map", |names, entries, out| {
    while let Some(key) = entries.next_key_seed(NameSeed(names))? {
        // The conversation with the judge: often larger than all the rest, and no metric reads it.
        if *key == *"grading" {
            entries.next_value::<IgnoredAny>()?;
            continue;
        }
        let value = value(&mut entries)?;
        put(&mut out, key, value);
    }
});

visit_entries!(UsagesSeed, UsageTotals, "a map of usage by model", |names, entries, out| {
    while entries.next_key::<IgnoredAny>()?.is_some() {
        out.add(entries.next_value_seed(UsageSeed(names))?);
    }
});

/// The keys of what one model used.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum UsageKey {
    TotalTokens,
    InputTokens,
    OutputTokens,
    TotalCost,
    #[serde(other)]
    Other,
}

visit_entries!(UsageSeed, UsageTotals, "a map of usage", |_names, entries, out| {
    let (mut input, mut output) = (None, None);
    while let Some(key) = entries.next_key::<UsageKey>()? {
        let number = match key {
            UsageKey::TotalTokens => &mut out.tokens,
            UsageKey::InputTokens => &mut input,
            UsageKey::OutputTokens => &mut output,
            UsageKey::TotalCost => &mut out.cost,
            UsageKey::Other => {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
        };
        *number = value(&mut entries)?.as_number().filter(|number| number.is_finite());
    }
    if out.tokens.is_none() {
        out.tokens = output.map(|output| output + input.unwrap_or(0.0));
    }
});

/// Beyond this many entries a key is not looked for among the earlier ones.
const UNIQUE_MAX: usize = 1000;

/// A key given twice counts as its last value.
fn put<T>(entries: &mut Vec<(Arc<str>, T)>, key: Arc<str>, value: T) {
    let known = entries.len() <= UNIQUE_MAX;
    match entries.iter_mut().find(|(name, _)| known && *name == key) {
        Some((_, earlier)) => *earlier = value,
        None => entries.push((key, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LoggedSample, SampleProblem> {
        LoggedSample::parse(text.as_bytes(), &mut SampleNames::new(&Projection::everything()))
    }

    #[test]
    fn only_what_scoring_needs_is_kept() {
        let sample = parse(
            r#"{"id": "a", "epoch": 2, "input": "q", "events": [{"deep": [[[1]]]}],
                "scores": {"m": {"value": "C", "answer": "x", "history": [1], "metadata": {"k": 1, "grading": [[]]}}},
                "metadata": {"topic": "t"}, "error": {"message": "boom"}, "limit": {"type": "token", "limit": 5},
                "model_usage": {"x": {"total_tokens": 5, "total_cost": 0.25}, "y": {"input_tokens": 1, "output_tokens": 2}},
                "total_time": 1.5, "working_time": null}"#,
        )
        .unwrap();
        assert_eq!((sample.id.to_string(), sample.epoch), ("a".to_owned(), 2));
        let want = [("latency_ms", 1500.0.into()), ("tokens_used", 8.0.into()), ("cost_usd", 0.25.into())];
        assert_eq!(sample.fields[..3], want.map(|(name, value): (_, Value)| (name.into(), value)));
        assert_eq!(sample.fields[3], ("limit".into(), "token".into()));
        assert_eq!(sample.error.as_deref(), Some("boom"));
        assert_eq!(sample.metadata, [("topic".into(), Value::from("t"))]);
        let Outcome::Scored(score) = &sample.scores[0].1 else { panic!("it has a score") };
        assert_eq!(score.answer.as_deref(), Some("x"));
        assert_eq!(score.metadata.as_ref().unwrap().iter().count(), 1);
    }

    #[test]
    fn plain_scores_are_those_that_the_parser_reads() {
        let mut names = SampleNames::new(&Projection::only(["topic"]));
        let values =
            ["\"C\"", "1", "0", "-1", "0.5", "\"\\u0043\"", "NaN", "null", "true", "[1]", "{\"a\": 1}", "\"é\"", "007"];
        let others = [
            "",
            r#", "answer": "x \"y\" }", "explanation": null"#,
            r#", "metadata": {}, "reason": null, "history": [{"value": 3}]"#,
            r#", "metadata": {"k": 1}"#,
            r#", "reason": "refused""#,
            r#", "val\u0075e": "I""#,
            r#", "value": "I""#,
        ];
        let (mut plain, mut left) = (0, 0);
        for value in values {
            for other in others {
                let text = format!(r#"{{"judge": {{"value": {value}{other}}}, "match": {{"value": "I"}}}}"#);
                let quick = plain_scores(text.as_bytes(), &mut names);
                let slow = ScoresSeed::parse(text.as_bytes(), &mut names);
                match (quick, slow) {
                    (Some(quick), Ok(slow)) => {
                        assert_eq!(format!("{quick:?}"), format!("{slow:?}"), "{text}");
                        plain += 1;
                    }
                    (Some(_), Err(error)) => panic!("read what is refused: {error}\n{text}"),
                    (None, _) => left += 1,
                }
            }
        }
        assert!(plain >= 12 && left > 30, "{plain} plain, {left} left to the parser");
        for text in [r#"{"": {"value": 1}}"#, r#"{"m": 1}"#, r#"{"m": null}"#, "null", "[1]", r#"{"m": {"value": 1}"#] {
            assert!(plain_scores(text.as_bytes(), &mut names).is_none(), "{text}");
        }
    }

    #[test]
    fn plain_metadata_is_what_the_parser_reads() {
        let (mut plain, mut left) = (0, 0);
        for wanted in [Projection::only(["topic"]), Projection::everything()] {
            let mut names = SampleNames::new(&wanted);
            for text in [
                r#"{"topic": "law", "length": 12, "note": {"a": [1]}}"#,
                r#"{"topic": "law", "topic": 3}"#,
                r#"{"topic": 0.5}"#,
                r#"{"topic": null}"#,
                r#"{"t\u006fpic": 1}"#,
                r#"{"other": "x"}"#,
                "{}",
                "null",
                "[]",
                r#"{"topic": "law""#,
            ] {
                let slow = EntriesSeed::parse(text.as_bytes(), &mut names);
                match plain_metadata(text.as_bytes(), &mut names) {
                    Some(quick) => {
                        assert_eq!(quick, slow.expect("what is read quickly is right"), "{text}");
                        plain += 1;
                    }
                    None => left += 1,
                }
            }
        }
        assert_eq!((plain, left), (7, 13));
    }

    #[test]
    fn metadata_is_kept_if_it_is_wanted() {
        let mut names = SampleNames::new(&Projection::only(["topic"]));
        for _ in 0..2 {
            let text = r#"{"id": "a b", "epoch": 1, "metadata": {"source": "s", "topic": "t"}}"#;
            let sample = LoggedSample::parse(text.as_bytes(), &mut names).unwrap();
            assert_eq!(sample.metadata, [("topic".into(), Value::from("t"))]);
        }
    }

    #[test]
    fn plain_values_are_those_that_the_parser_reads() {
        for text in ["\"a b\"", "\"\"", "0", "17", "999999999999999999", "\"q1\""] {
            let Json(slow) = serde_json::from_str(text).unwrap();
            assert_eq!(plain_value(text.as_bytes()), Some(slow), "{text}");
        }
        for text in
            ["-0", "-1", "01", "1.0", "1e3", "\"\\n\"", "\"\t\"", "\"", "9223372036854775808", "NaN", "\"\u{e0ca}NaN\""]
        {
            assert_eq!(plain_value(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn unscored_samples_say_why() {
        for (score, want) in [
            (r#"{"value": NaN, "reason": "refusal"}"#, "refusal"),
            (r#"{"value": NaN, "metadata": {"unscored_reason": "grader"}}"#, "grader"),
            (r#"{"value": NaN}"#, "no value"),
        ] {
            let sample = parse(&format!(r#"{{"id": 1, "epoch": 1, "scores": {{"m": {score}}}}}"#)).unwrap();
            assert!(matches!(&sample.scores[0].1, Outcome::Unscored { reason, .. } if **reason == *want), "{score}");
        }
    }

    #[test]
    fn samples_are_placed_as_inspect_sorts_them() {
        // sorted(key=lambda s: (s.epoch, s.id if isinstance(s.id, str) else str(s.id).zfill(20)))
        let place = |id: &str| parse(&format!(r#"{{"id": {id}, "epoch": 1}}"#)).unwrap().place().1;
        assert_eq!(place("-5"), "-0000000000000000005");
        assert_eq!(place("10"), "00000000000000000010");
        assert!(place("2") < place("10") && place("10") < place("\"10\""));
    }

    #[test]
    fn wrong_samples_are_refused_with_their_place() {
        for (text, want) in [
            (r#"{"epoch": 1}"#, "the sample has no `id`"),
            (r#"{"id": 1}"#, "sample `1` has no `epoch`"),
            (r#"{"id": [1], "epoch": 1}"#, "the `id` of the sample is a list"),
            (r#"{"id": 1, "epoch": "x"}"#, "the `epoch` of sample `1` is `x`"),
            (r#"{"id": 1, "epoch": -1}"#, "the `epoch` of sample `1` is `-1`"),
            (
                r#"{"scores": {"m": {"value": null}}, "id": 7, "epoch": 2}"#,
                "scorer `m` on sample `7` (epoch 2) is null",
            ),
            (r#"{"id": 7, "epoch": 2, "scores": {"m": {}}}"#, "scorer `m` on sample `7` (epoch 2) has no `value`"),
            (r#"{"id": 7, "epoch": 2, "scores": {"m": {"value": [1, [2]]}}}"#, "holds a list inside a list"),
            (r#"{"id": 7, "epoch": 2, "scores": [1]}"#, "expected a map of scores by scorer"),
            (r#"null"#, "not a sample: expected a map with `id` and `epoch`"),
            (r#"{"id": 7, "epoch": 2"#, "not a sample: it ends within itself"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.what.contains(want), "{text}: {}", wrong.what);
        }
    }
}
