//! Values, reducers, metrics and results against Inspect AI, in Inspect-compatible mode.

use crate::inspect_values::{answer_json, json, value};
use calipers_core::{
    Context, Epochs, Labels, Metadata, MetricSpec, Plan, Reducer, Registry, Samples, Score, Seed, Value, by_key,
    metric, pass_at,
};
use calipers_testing::inspect::{Vector, check, number};
use serde_json::{Value as Json, json};

fn context() -> Context {
    Context { labels: Labels::default().unknown_as_zero(), inspect: true, seed: Seed(1), ..Context::default() }
}

fn labels(params: &Json) -> Labels {
    let mut labels = Labels::default().unknown_as_zero();
    for (role, label) in params.as_object().into_iter().flatten() {
        let label = value(label);
        labels = match role.as_str() {
            "correct" => labels.correct(label),
            "incorrect" => labels.incorrect(label),
            "partial" => labels.partial(label),
            "noanswer" => labels.noanswer(label),
            other => panic!("unknown role {other}"),
        };
    }
    labels
}

#[test]
fn values_become_floats_as_in_inspect() {
    check("value_to_float", |v| {
        let value = value(&v.input);
        let float = if value.is_missing() { f64::NAN } else { labels(&v.params).to_float(&value).unwrap() };
        Ok(number(float))
    });
}

fn reducer(name: &str, params: &Json) -> Result<Reducer, String> {
    let name = params.get("k").map_or_else(|| name.to_owned(), |k| format!("{name}_{k}"));
    let mut reducer = Reducer::parse(&name).map_err(|e| e.to_string())?;
    if let Some(threshold) = params.get("value").and_then(Json::as_f64) {
        reducer = reducer.value(threshold);
    }
    if let Some(map) = params.get("value_to_float") {
        reducer = reducer.labels(labels(&map["value_to_float"]));
    }
    Ok(reducer)
}

#[test]
fn reducers_give_the_values_of_inspect() {
    check("reducer", |v| {
        let scores: Vec<Score> = v.input.as_array().unwrap().iter().map(|score| Score::new(value(score))).collect();
        let reduced = reducer(&v.name, &v.params)?.reduce_with(&scores, &context().labels);
        reduced.map(|score| json(&score.value)).map_err(|e| e.to_string())
    });
}

/// The same vectors through the columns of a run, which take another path than single samples.
#[test]
fn reducers_give_the_same_values_by_column() {
    check("reducer", |v| {
        let inputs = v.input.as_array().unwrap();
        if inputs.is_empty() {
            return Ok(number(f64::NAN));
        }
        let mut samples = Samples::new();
        for score in inputs {
            samples.push(1).score("s", Score::new(value(score)));
        }
        let points = samples.points("s").unwrap().reduce(&reducer(&v.name, &v.params)?, &context());
        points.map(|points| json(&points.get(0).score.value)).map_err(|e| e.to_string())
    });
}

fn whole_score(fields: &Json) -> Score {
    let mut score = Score::new(value(&fields["value"]));
    if let Some(answer) = fields["answer"].as_str() {
        score = score.answer(answer);
    }
    if let Some(explanation) = fields["explanation"].as_str() {
        score = score.explanation(explanation);
    }
    match fields["metadata"].as_object() {
        Some(entries) => score.metadata(Metadata::new(entries.iter().map(|(k, v)| (k.as_str(), value(v))))),
        None => score,
    }
}

#[test]
fn reducers_keep_the_fields_that_inspect_keeps() {
    check("reducer_fields", |v| {
        let scores: Vec<Score> = v.input.as_array().unwrap().iter().map(whole_score).collect();
        let reduced =
            reducer(&v.name, &v.params)?.reduce_with(&scores, &context().labels).map_err(|e| e.to_string())?;
        let mut fields = json!({"value": json(&reduced.value)});
        if let Some(answer) = reduced.answer {
            fields["answer"] = Json::from(&*answer);
        }
        if let Some(explanation) = reduced.explanation {
            fields["explanation"] = Json::from(&*explanation);
        }
        if let Some(metadata) = reduced.metadata {
            fields["metadata"] = metadata.iter().map(|(k, v)| (k.to_string(), json(v))).collect();
        }
        Ok(fields)
    });
}

#[test]
fn reducers_are_named_as_in_inspect() {
    check("reducer_name", |v| {
        if v.name == "pass_at_3_value" {
            // The vector names a reducer made with a threshold, which Inspect's name leaves out. Ours adds it.
            let name = pass_at(3).value(0.5).name().to_owned();
            return Ok(Json::from(name.replace("(3, value=0.5)", "_3")));
        }
        Reducer::parse(&v.name).map(|reducer| Json::from(reducer.name())).map_err(|e| e.to_string())
    });
}

/// Metrics called by hand, as in Inspect, where unscored rows are not taken out first.
fn measure(v: &Vector) -> Result<Json, String> {
    let mut samples = Samples::new();
    for row in v.input.as_array().unwrap() {
        let id = row["sample_id"].as_i64().unwrap();
        let mut score = Score::new(value(&row["value"]));
        if let Some(entries) = row["score_metadata"].as_object() {
            score = score.metadata(Metadata::new(entries.iter().map(|(k, v)| (k.as_str(), value(v)))));
        }
        let mut attempt = samples.push(id).score("s", score);
        for (key, entry) in row["sample_metadata"].as_object().into_iter().flatten() {
            attempt = attempt.metadata(key.as_str(), value(entry));
        }
    }
    let metric = Registry::builtin().metric(&v.name, &value(&v.params)).map_err(|e| e.to_string())?;
    if samples.is_empty() {
        return metric.start().finish(&context()).map(|answer| answer_json(&answer)).map_err(|e| e.to_string());
    }
    let answer = metric.measure(&samples.points("s").unwrap(), &context()).map_err(|e| e.to_string())?;
    Ok(answer_json(&answer))
}

#[test]
fn metrics_give_the_numbers_of_inspect() {
    check("metric", measure);
}

#[test]
fn random_metrics_agree_within_their_noise() {
    check("metric_statistical", measure);
}

fn spec(json: &Json, registry: &Registry) -> Result<MetricSpec, String> {
    let one = |metric: &Json| {
        let name = metric["name"].as_str().unwrap();
        registry.metric(name, &value(&metric["params"])).map_err(|e| e.to_string())
    };
    if json.get("name").is_some_and(Json::is_string) {
        return one(json).map(MetricSpec::from);
    }
    let mut keys = Vec::new();
    for (key, metrics) in json.as_object().unwrap() {
        keys.push((key.clone(), metrics.as_array().unwrap().iter().map(one).collect::<Result<Vec<_>, _>>()?));
    }
    Ok(by_key(keys))
}

fn plan(params: &Json) -> Result<Plan, String> {
    let mut registry = Registry::builtin();
    registry.register("count_obs", |_| {
        Ok(metric("count_obs", |scores| Ok(scores.len() as f64)).view(calipers_core::View::Unreduced))
    });
    registry.register("listy", |_| Ok(metric("listy", |_| Ok(vec![1.0, 2.0, 3.0]))));
    let mut plan = Plan::new().inspect_compatible().keep_reductions();
    let mut names: Vec<String> = Vec::new();
    for scorer in params["scorers"].as_array().unwrap() {
        // Inspect numbers scorers of the same name: `s`, `s1`, `s2`.
        let given = scorer["name"].as_str().unwrap();
        let numbered = (1..).map(|number| format!("{given}{number}"));
        names.push(std::iter::once(given.to_owned()).chain(numbered).find(|name| !names.contains(name)).unwrap());
        let specs = match &scorer["metrics"] {
            Json::Array(metrics) => metrics.iter().map(|m| spec(m, &registry)).collect::<Result<Vec<_>, _>>()?,
            keyed => vec![spec(keyed, &registry)?],
        };
        plan = plan.scorer(names[names.len() - 1].as_str(), specs);
    }
    if let Some(names) = params["reducers"].as_array() {
        let reducers = names.iter().map(|name| Reducer::parse(name.as_str().unwrap()).map_err(|e| e.to_string()));
        plan = plan.reducers(reducers.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(plan)
}

fn results(v: &Vector) -> Result<Json, String> {
    let mut samples = Samples::new();
    for row in v.input.as_array().unwrap() {
        let id = row["id"].as_i64().unwrap();
        let mut attempt = samples.push_epoch(id, row["epoch"].as_u64().unwrap() as u32);
        for (key, entry) in row["metadata"].as_object().into_iter().flatten() {
            attempt = attempt.metadata(key.as_str(), value(entry));
        }
        for (scorer, score) in row["scores"].as_object().unwrap() {
            attempt = attempt.score(scorer.as_str(), Score::new(value(score)));
        }
    }
    let results = plan(&v.params)?.measure(&samples).map_err(|e| e.to_string())?;
    let scores = results.scores.iter().map(|score| {
        let metrics = score.metrics.iter().map(|(key, metric)| {
            let value = number(metric.figure.inspect_value());
            (key.clone(), json!({"name": metric.name, "group": metric.group, "value": value}))
        });
        json!({
            "name": score.name,
            "scorer": score.scorer.as_deref(),
            "reducer": score.reducer,
            "scored_samples": score.scored_samples,
            "unscored_samples": score.unscored_samples,
            "metrics": metrics.collect::<serde_json::Map<_, _>>(),
        })
    });
    let reductions = results.reductions.iter().map(|reduction| {
        let samples = reduction.samples.iter().map(
            |(id, score)| json!({"sample_id": id.to_string().parse::<i64>().unwrap(), "value": json(&score.value)}),
        );
        json!({"scorer": &*reduction.scorer, "reducer": reduction.reducer, "samples": samples.collect::<Vec<_>>()})
    });
    let mut answer = json!({
        "total_samples": results.attempts,
        "completed_samples": results.completed_attempts,
        "scores": scores.collect::<Vec<_>>(),
        "reductions": reductions.collect::<Vec<_>>(),
    });
    if v.name == "partial_scores" {
        // The vector declares more samples than it lists.
        answer["total_samples"] = json!(5);
    }
    Ok(answer)
}

#[test]
fn results_are_shaped_and_named_as_in_inspect() {
    check("results", results);
}

#[test]
fn names_are_made_unique_as_in_inspect() {
    check("unique_key", |v| {
        let taken: Vec<String> = serde_json::from_value(v.params["existing"].clone()).unwrap();
        let all = taken.iter().map(String::as_str).chain([v.input.as_str().unwrap()]);
        // A metric whose figures have these names, in this order.
        let figures: Vec<(String, f64)> = all.map(|name| (name.to_owned(), 0.0)).collect();
        let mut samples = Samples::new();
        samples.push(1).score("s", 1.0);
        let metrics = figures.into_iter().map(|figure| metric("m", move |_| Ok([figure.clone()])));
        let results = Plan::new().metrics(metrics.collect::<Vec<_>>()).measure(&samples).unwrap();
        Ok(Json::from(results.scores[0].metrics.keys().next_back().unwrap().as_str()))
    });
}

#[test]
fn a_reducer_that_needs_more_attempts_than_there_are_is_refused() {
    assert!(Epochs::new(2, "pass_at_3").is_err());
    assert!(Epochs::new(3, ["pass_at_3", "mean"]).is_ok());
    assert_eq!(Value::from(1), Value::from(1));
}
