//! Inspect's page on scoring metrics, section by section, in Rust.
//!
//! Every example here runs as a test. Where Calipers answers differently, it says so.
//!
//! # Overview
//!
//! A scorer comes with metrics, typically `accuracy` and `stderr`. A task may override them:
//!
//! ```
//! use calipers::prelude::*;
//! # fn custom_metric() -> Metric { metric("custom_metric", |scores| Ok(scores.len() as f64)) }
//! # let mut samples = Samples::new();
//! # for (id, score) in [(1, "C"), (2, "I"), (3, "C")] { samples.push(id).score("choice", score); }
//!
//! let task = Plan::new()
//!     .scorer("choice", [accuracy(), stderr()])
//!     .metrics([custom_metric()]);
//! let results = task.measure(&samples)?;
//! assert!(results.figure("choice", "custom_metric").is_some());
//! assert!(results.figure("choice", "accuracy").is_none());
//!
//! // The built-in ones as well, if they are named again.
//! let task = Plan::new().metrics([accuracy(), stderr(), custom_metric()]);
//! # assert_eq!(task.measure(&samples)?.scores[0].metrics.len(), 3);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Built-in metrics
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for (id, score) in [(1, "C"), (2, "P"), (3, "I"), (4, "C")] { samples.push(id).score("match", score); }
//!
//! let task = Plan::new().metrics([accuracy(), mean(), var(), std(), stderr(), bootstrap_stderr(1000)]);
//! let results = task.measure(&samples)?;
//! assert_eq!(results.figure("match", "accuracy").unwrap().value, Ok(0.625)); // P counts half
//! # Ok::<(), Error>(())
//! ```
//!
//! A figure is more than its number: it has [`n`](crate::metric::Figure::n), what is [`missing`](crate::metric::Figure::missing), a
//! [`method`](crate::metric::Figure::method), an [`interval`](crate::metric::Figure::interval) where one exists, and
//! [`caveats`](crate::metric::Figure::caveats). Where Inspect prints 0 for an error that cannot be estimated, the value is
//! [`Undefined`](crate::metric::Undefined) with a reason.
//!
//! # Metric grouping
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for (id, category, score) in [(1, "physics", "C"), (2, "physics", "I"), (3, "chemistry", "C")] {
//! #     samples.push(id).metadata("category", category).score("choice", score);
//! # }
//!
//! let gpqa = Plan::new()
//!     .scorer("choice", [accuracy(), stderr()])
//!     .metrics([grouped(accuracy(), "category"), stderr()]);
//! let results = gpqa.measure(&samples)?;
//! assert_eq!(results.figure("choice", "physics").unwrap().value, Ok(0.5));
//! assert_eq!(results.figure("choice", "chemistry").unwrap().value, Ok(1.0));
//! assert_eq!(results.figure("choice", "all").unwrap().value, Ok(2.0 / 3.0)); // over all samples
//!
//! // The mean of the groups instead, and other names.
//! let by_category = Grouped::new(accuracy(), "category")
//!     .all(All::Groups)
//!     .name_template("category_{group_name}");
//! let results = Plan::new().metrics([by_category]).measure(&samples)?;
//! assert_eq!(results.figure("choice", "category_physics").unwrap().value, Ok(0.5));
//! assert_eq!(results.figure("choice", "all").unwrap().value, Ok(0.75));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Clustered stderr
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for (id, category, score) in [(1, "a", "C"), (2, "a", "C"), (3, "b", "I"), (4, "b", "I"), (5, "c", "C"), (6, "c", "I")] {
//! #     samples.push(id).metadata("category", category).score("choice", score);
//! # }
//!
//! let gpqa = Plan::new()
//!     .scorer("choice", [accuracy(), stderr()])
//!     .metrics([accuracy(), stderr_clustered("category")]);
//! let results = gpqa.measure(&samples)?;
//! let error = results.figure("choice", "stderr").unwrap();
//! assert!((error.value.clone().unwrap() - 0.2886751345948129).abs() < 1e-12); // Inspect's number
//! // Three clusters are few, and the figure says so.
//! assert_eq!(error.caveats[0].id(), "few-clusters");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Custom metrics
//!
//! A metric is a function of all scores:
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for (id, score) in [(1, 0.5), (2, 1.0)] { samples.push(id).score("s", score); }
//!
//! /// Compute mean of all scores.
//! fn mean() -> Metric {
//!     metric("mean", |scores| {
//!         let total: f64 = scores.iter().map(|score| score.score.as_float()).sum::<Result<_, _>>()?;
//!         Ok(total / scores.len() as f64)
//!     })
//! }
//! # assert_eq!(Plan::new().metrics([mean()]).measure(&samples)?.figure("s", "mean").unwrap().value, Ok(0.75));
//! # Ok::<(), Error>(())
//! ```
//!
//! A float-valued scorer with a custom metric, `pass_rate(threshold)`, beside the built-in ones:
//!
//! ```
//! use calipers::prelude::*;
//!
//! /// Proportion of samples scoring at or above `threshold`.
//! fn pass_rate(threshold: f64) -> Metric {
//!     metric("pass_rate", move |scores| {
//!         let floats = scores.iter().map(|s| s.score.as_float()).collect::<Result<Vec<_>, _>>()?;
//!         let passed = floats.iter().filter(|&&x| x >= threshold).count();
//!         Ok(passed as f64 / scores.len() as f64)
//!     })
//! }
//!
//! fn word_overlap(output: &str, target: &str) -> Score {
//!     let output = output.to_lowercase();
//!     let words: Vec<String> = target.to_lowercase().split_whitespace().map(str::to_owned).collect();
//!     let hits = words.iter().filter(|word| output.contains(word.as_str())).count();
//!     Score::new(if words.is_empty() { 0.0 } else { hits as f64 / words.len() as f64 })
//! }
//!
//! let mut samples = Samples::new();
//! let output = "Red, yellow and blue.";
//! samples.push("Name three primary colors.").score("word_overlap", word_overlap(output, "red green blue"));
//!
//! let colors = Plan::new().scorer("word_overlap", [mean(), stderr(), pass_rate(0.5)]);
//! let results = colors.measure(&samples)?;
//! assert_eq!(results.figure("word_overlap", "mean").unwrap().value, Ok(2.0 / 3.0));
//! assert_eq!(results.figure("word_overlap", "pass_rate").unwrap().value, Ok(1.0));
//! // One sample has no standard error. Inspect prints 0.
//! assert!(results.figure("word_overlap", "stderr").unwrap().value.is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! A metric over more rows than fit in one place implements [`Measure`](crate::metric::Measure): state, fold, merge, finish.
//!
//! # Reducing epochs
//!
//! Several attempts of a sample are reduced to one score, by default to their mean. `Epochs` says otherwise:
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for id in 0..4 { for attempt in 0..5 { samples.push(id).score("choice", if attempt < id { "C" } else { "I" }); } }
//!
//! let gpqa = Plan::new()
//!     .scorer("choice", [accuracy(), stderr()])
//!     .epochs(Epochs::new(5, "mode")?);
//! # assert_eq!(gpqa.measure(&samples)?.reduced("choice", "mode").unwrap().metrics["accuracy"].figure.value, Ok(0.25));
//!
//! let gpqa = Plan::new()
//!     .scorer("choice", [accuracy(), stderr()])
//!     .epochs(Epochs::new(5, ["at_least_2", "at_least_5"])?);
//! let results = gpqa.measure(&samples)?;
//! assert_eq!(results.reduced("choice", "at_least_2").unwrap().metrics["accuracy"].figure.value, Ok(0.5));
//! assert_eq!(results.reduced("choice", "at_least_5").unwrap().metrics["accuracy"].figure.value, Ok(0.0));
//! # Ok::<(), Error>(())
//! ```
//!
//! The reducers are `mean`, `median`, `mode`, `max`, `pass_at_{k}`, `pass_k_{k}`, `at_least_{k}`, and also `majority`
//! and `collect`. A reduced score keeps the answer and the explanation if all attempts agree on them, and the metadata
//! of the first attempt.
//!
//! # Which question an error answers
//!
//! The standard error of the samples' means speaks of *questions like these*. A suite that stays the same from release to
//! release asks for the error of *this suite rerun*, in which only the attempts are drawn again. Inspect has no such error.
//!
//! ```
//! use calipers::prelude::*;
//! use calipers::stats::components::Estimand;
//! # let mut samples = Samples::new();
//! # for id in 0..10 { for attempt in 0..5 { samples.push(id).score("choice", if attempt * 2 < id { "C" } else { "I" }); } }
//!
//! let by_sample = samples.points("choice")?.by_sample(&Context::default())?;
//! let components = by_sample.components().unwrap();
//! let like_these = components.stderr(Estimand::Population).unwrap();
//! let rerun = components.stderr(Estimand::FixedSuite).unwrap();
//! assert!(rerun < like_these);
//! # let results = Plan::new().metrics([stderr()]).measure(&samples)?;
//! # assert!((results.figure("choice", "stderr").unwrap().value.clone().unwrap() - like_these).abs() < 1e-12);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Custom reducers
//!
//! ```
//! use calipers::prelude::*;
//! # let mut samples = Samples::new();
//! # for score in ["C", "I", "C", "C"] { samples.push(1).score("choice", score); }
//!
//! fn mean_score() -> Reducer {
//!     let to_float = Labels::default();
//!     score_reducer("mean", move |scores| {
//!         // Compute a mean value of all scores.
//!         let values: Vec<f64> = scores.iter().filter_map(|score| to_float.to_float(&score.value)).collect();
//!         let mean_value = values.iter().sum::<f64>() / values.len() as f64; // of none NaN: not scored
//!         Ok(Score::new(mean_value))
//!     })
//! }
//!
//! let results = Plan::new().reducers([mean_score()]).metrics([accuracy()]).measure(&samples)?;
//! assert_eq!(results.figure("choice", "accuracy").unwrap().value, Ok(0.75));
//! # Ok::<(), Error>(())
//! ```
