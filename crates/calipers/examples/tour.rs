//! A question-answering benchmark of 40 documents with five questions each, three attempts per question, from scores
//! to figures that can be defended.
//!
//! ```text
//! cargo run --release -p calipers --example tour
//! ```

use calipers::prelude::*;
use calipers::render::{caveat_next_step, caveat_sentence, undefined_sentence};

fn main() -> Result<(), Error> {
    print!("{}", report()?);
    Ok(())
}

/// What the example prints.
pub fn report() -> Result<String, Error> {
    let samples = benchmark();
    let plan = Plan::new()
        .seed(Seed(2024))
        .scorer("match", [accuracy(), stderr()])
        .metrics([
            accuracy(),
            stderr(),
            stderr_clustered("document"),
            grouped(accuracy(), "category"),
            quantile("latency_ms", 0.95)?,
        ])
        .epochs(Epochs::new(3, ["mean", "pass_k_3"])?);
    let results = plan.measure(&samples)?;

    let mut text = format!("{} samples, {} attempts, seed {}\n", samples.len(), results.attempts, results.seed.0);
    for score in &results.scores {
        let reducer = score.reducer.as_ref().map(|name| format!(", reduced by {name}")).unwrap_or_default();
        text += &format!("\n{}{reducer}\n", score.name);
        for (name, metric) in &score.metrics {
            text += &line(name, &metric.figure, results.level);
        }
    }
    text += "\nworth knowing\n";
    for (place, caveat) in caveats(&results) {
        let next = caveat_next_step(caveat).unwrap_or_default();
        text += &format!("  {place}: {}\n    → {next}\n", caveat_sentence(caveat));
    }
    Ok(text)
}

/// `accuracy   0.812 [0.784, 0.838]  n=1319, 4 missing`
fn line(name: &str, figure: &Figure, level: f64) -> String {
    let value = match &figure.value {
        Ok(value) => format!("{value:.3}"),
        Err(why) => format!("undefined: {}", undefined_sentence(why)),
    };
    let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), |x| format!("{x:.3}"));
    let interval = figure
        .interval
        .map(|i| format!(" [{}, {}] {:.0} % {}", bound(i.lower), bound(i.upper), level * 100.0, i.method));
    let missing = if figure.missing > 0 { format!(", {} missing", figure.missing) } else { String::new() };
    format!("  {name:<12} {value}{}  n={}{missing}\n", interval.unwrap_or_default(), figure.n)
}

/// Each caveat once, with the first figure that has it.
fn caveats(results: &Results) -> Vec<(String, &Caveat)> {
    let mut seen = Vec::new();
    let figures = results.scores.iter().flat_map(|score| &score.metrics);
    let of_figures = figures.flat_map(|(name, metric)| metric.figure.caveats.iter().map(move |c| (name.clone(), c)));
    for (place, caveat) in results.caveats.iter().map(|c| ("run".to_owned(), c)).chain(of_figures) {
        if !seen.iter().any(|(_, other): &(String, &Caveat)| other.id() == caveat.id()) {
            seen.push((place, caveat));
        }
    }
    seen
}

/// Questions about one document rise and fall together, and an attempt fails to be graded now and then.
fn benchmark() -> Samples {
    let mut samples = Samples::new();
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for document in 0..40 {
        let hard = random() < 0.35;
        for question in 0..5 {
            let chance = if hard { 0.25 + 0.3 * random() } else { 0.8 + 0.2 * random() };
            for _ in 0..3 {
                let outcome = match random() {
                    x if x < 0.01 => Outcome::unscored("grader gave no grade"),
                    _ => Outcome::from(if random() < chance { "C" } else { "I" }),
                };
                samples
                    .push(format!("doc{document:02}/q{question}"))
                    .metadata("document", format!("doc{document:02}"))
                    .metadata("category", ["law", "medicine", "code"][document % 3])
                    .score("match", outcome)
                    .field("latency_ms", (600.0 + 900.0 * random() / (0.15 + random())).round());
            }
        }
    }
    samples
}
