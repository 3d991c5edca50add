//! AlpacaEval: `annotations.json`, a list of preferences between the outputs of two models.
//!
//! Output 1 is the reference and output 2 the model that is evaluated. A preference of 1 is a loss, 2 a win, 0 or 1.5 a
//! draw, and weighted annotators give any number from 1 to 2. AlpacaEval's win rate is the mean of `preference - 1`.

use super::Format;
use super::placed_value::{PlacedValue, SampleNamer, canonical, document, fact, summary};
use crate::{ReadError, RecordedRun, Shape, Source};
use calipers_core::{Outcome, Value, pluralize};

/// Annotations by AlpacaEval.
pub(crate) struct AlpacaEval;

impl Format for AlpacaEval {
    fn name(&self) -> &'static str {
        "alpaca-eval"
    }

    fn about(&self) -> &'static str {
        "AlpacaEval: annotations.json with preferences between two models"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.lists_keys(&["generator_1", "generator_2"]) || shape.lists_keys(&["output_1", "output_2", "preference"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content);
        let mut pairs: Vec<ModelPair> = Vec::new();
        for row in root.items()? {
            let row = row.map()?;
            let names = ["generator_2", "generator_1", "annotator"].map(|key| row.get(key).text());
            let [model, reference, annotator] = names;
            let identity = [model?, reference?, annotator?].map(|name| name.map(str::to_owned));
            let place = pairs.iter().position(|pair| pair.identity == identity).unwrap_or_else(|| {
                pairs.push(ModelPair { identity, ..ModelPair::default() });
                pairs.len() - 1
            });
            pairs[place].take(row)?;
        }
        if pairs.is_empty() {
            let run = RecordedRun { notes: vec!["the file has no annotations".to_owned()], ..RecordedRun::default() };
            return Ok(vec![run]);
        }
        Ok(pairs.into_iter().map(ModelPair::run).collect())
    }
}

/// The annotations of a model against a reference by one annotator.
#[derive(Default)]
struct ModelPair {
    identity: [Option<String>; 3],
    names: SampleNamer,
    rows: Vec<Annotation>,
}

/// An annotation, read but not yet named.
struct Annotation {
    sample: usize,
    outcome: Outcome,
    dataset: Option<Value>,
    fields: Vec<(&'static str, f64)>,
}

impl ModelPair {
    fn take(&mut self, row: PlacedValue<'_>) -> Result<(), ReadError> {
        let instruction = row.get("instruction").name()?;
        let input = row.get("input").text()?.unwrap_or_default();
        let dataset = row.get("dataset");
        let identity = format!("{} {instruction:?} {input:?}", canonical(dataset.value));
        let sample = self.names.number(&summary(instruction), identity);
        // What the annotator took, not what the model took.
        let mut fields = Vec::new();
        let measured =
            [("annotator_cost_usd", "price_per_example", 1.0), ("annotator_latency_ms", "time_per_example", 1e3)];
        for (name, key, scale) in measured {
            fields.extend(row.get(key).number()?.map(|value| (name, value * scale)));
        }
        for (name, key) in [("output_chars", "output_2"), ("reference_chars", "output_1")] {
            if let Value::Text(text) = row.get(key).value {
                fields.push((name, text.chars().count() as f64));
            }
        }
        let outcome = win(row.get("preference"))?;
        self.rows.push(Annotation { sample, outcome, dataset: fact(dataset.value), fields });
        Ok(())
    }

    fn run(self) -> RecordedRun {
        let [model, reference, annotator] = self.identity;
        let mut run: RecordedRun = RecordedRun { model, ..RecordedRun::default() };
        run.task = match (reference, annotator) {
            (Some(reference), Some(annotator)) => Some(format!("against {reference}, judged by {annotator}")),
            (Some(reference), None) => Some(format!("against {reference}")),
            (None, annotator) => annotator.map(|annotator| format!("judged by {annotator}")),
        };
        let ids = self.names.ids();
        let mut unscored = 0;
        for row in self.rows {
            unscored += usize::from(matches!(row.outcome, Outcome::Unscored { .. }));
            let mut attempt = run.samples.push(ids[row.sample].clone());
            if let Some(dataset) = row.dataset {
                attempt = attempt.metadata("dataset", dataset);
            }
            for (name, value) in row.fields {
                attempt = attempt.field(name, value);
            }
            attempt.score("win", row.outcome);
        }
        if unscored > 0 {
            let annotations = pluralize(unscored, "annotation");
            run.notes.push(format!(
                "{annotations} without a preference from 1 to 2: unscored, as AlpacaEval leaves them out"
            ));
        }
        run
    }
}

/// From 0 for the reference to 1 for the model.
fn win(preference: PlacedValue<'_>) -> Result<Outcome, ReadError> {
    Ok(match preference.number()? {
        None => Outcome::unscored("the annotator gave no preference"),
        Some(0.0) => 0.5.into(),
        Some(value) if (1.0..=2.0).contains(&value) => (value - 1.0).into(),
        Some(value) => Outcome::unscored(format!("the preference {value} is not from 1 to 2")),
    })
}
