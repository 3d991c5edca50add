//! Moments, value conversion and reducers against the golden vectors, strict and Inspect-compatible.

use crate::inspect_values::{json, value};
use calipers_core::{Context, Labels, Reducer, Registry, Samples, Score, Value, mean, std, stderr, var};
use calipers_testing::vectors::{folder, read};
use serde_json::{Value as Json, json};

/// Runs `answer` on the vectors of a family with this statistic.
fn check(family: &str, statistic: &str, answer: impl Fn(&Json) -> Json) {
    let file = read(folder().join("golden").join(family).with_extension("json"));
    let vectors = file["vectors"].as_array().unwrap().iter().filter(|v| v["statistic"] == statistic);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for vector in vectors {
        checked += 1;
        let got = answer(vector);
        for (key, want) in vector["expected"].as_object().unwrap() {
            if !same(&got[key], want, &vector["tolerance"]) {
                wrong.push(format!("{} {key}: got {}, want {want}", vector["name"], got[key]));
            }
        }
    }
    assert!(checked > 0 && wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

fn same(got: &Json, want: &Json, tolerance: &Json) -> bool {
    match (got, want) {
        (Json::Number(got), Json::Number(want)) => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            let bound = |key: &str| tolerance[key].as_f64().unwrap();
            (got - want).abs() <= bound("abs") + bound("rel") * want.abs()
        }
        (Json::Array(got), Json::Array(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| same(got, want, tolerance))
        }
        (Json::Object(got), Json::Object(want)) => {
            got.len() == want.len()
                && want.iter().all(|(k, want)| got.get(k).is_some_and(|got| same(got, want, tolerance)))
        }
        _ => got == want,
    }
}

/// In these vectors null stands for unscored.
fn unscored(json: &Json) -> Value {
    match json {
        Json::Null => Value::Missing,
        Json::Array(items) => Value::List(items.iter().map(unscored).collect()),
        Json::Object(entries) => Value::Map(entries.iter().map(|(k, v)| (k.as_str().into(), unscored(v))).collect()),
        plain => value(plain),
    }
}

fn null_if_unscored(value: &Value) -> Json {
    match value {
        Value::Missing => Json::Null,
        Value::List(items) => Json::Array(items.iter().map(null_if_unscored).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(k, v)| (k.to_string(), null_if_unscored(v))).collect())
        }
        plain => json(plain),
    }
}

#[test]
fn moments() {
    check("moments", "moments", |v| {
        let zero = v["params"]["undefined"] == "zero";
        let mut samples = Samples::new();
        let values = v["input"]["values"].as_array().unwrap();
        for (id, score) in values.iter().enumerate() {
            samples.push(id as i64).score("s", Score::new(value(score)));
        }
        let context = Context::default();
        let figure = |metric: calipers_core::Metric| {
            let answer = match samples.points("s") {
                Ok(points) => metric.measure(&points, &context),
                Err(_) => metric.start().finish(&context),
            };
            let figure = answer.unwrap().figure().unwrap().clone();
            if zero { json!(figure.inspect_value()) } else { json!(figure.value.ok()) }
        };
        json!({"n": values.len(), "mean": figure(mean()), "var": figure(var()), "std": figure(std()),
               "stderr": figure(stderr())})
    });
}

#[test]
fn value_to_float() {
    check("moments", "value_to_float", |v| {
        let labels = Labels::default().unknown_as_zero();
        let floats = v["input"]["values"].as_array().unwrap().iter().map(|x| labels.to_float(&value(x)).unwrap());
        json!({"floats": floats.collect::<Vec<f64>>()})
    });
}

#[test]
fn reducers() {
    check("reducers", "reduce", |v| {
        let params = &v["params"];
        let name = params["reducer"].as_str().unwrap();
        let name = params.get("k").and_then(Json::as_u64).map_or(name.to_owned(), |k| format!("{name}_{k}"));
        let mut reducer = Reducer::parse(&name).unwrap();
        if let Some(threshold) = params.get("value").and_then(Json::as_f64) {
            reducer = reducer.value(threshold);
        }
        let scores: Vec<Score> =
            v["input"]["scores"].as_array().unwrap().iter().map(|score| Score::new(unscored(score))).collect();
        let reduced = reducer.reduce_with(&scores, &Labels::default().unknown_as_zero()).unwrap();
        json!({"value": null_if_unscored(&reduced.value)})
    });
}

/// Clustered errors and intervals reach the same numbers through metrics as through the statistics.
#[test]
fn clustered_metrics() {
    let registry = Registry::builtin().as_logged();
    check("mean_ci", "ci_mean_t_clustered", |v| {
        let mut samples = Samples::new();
        let values = v["input"]["values"].as_array().unwrap();
        for (id, (score, cluster)) in values.iter().zip(v["input"]["clusters"].as_array().unwrap()).enumerate() {
            let attempt = samples.push(id as i64).score("s", Score::new(value(score)));
            attempt.metadata("cluster", value(cluster));
        }
        let points = samples.points("s").unwrap();
        let figure = |name: &str, params: Json, part: Option<&str>| {
            let answer = registry.metric(name, &value(&params)).unwrap().measure(&points, &Context::default()).unwrap();
            let answer = part.map_or(Some(&answer), |part| answer.get(part)).unwrap().clone();
            answer.figure().unwrap().clone()
        };
        let stderr = figure("stderr", json!({"cluster": "cluster"}), None);
        let ci = json!({"level": v["params"]["level"], "cluster": "cluster"});
        let detail = |name| stderr.details.iter().find(|(detail, _)| *detail == name).map(|(_, x)| *x);
        let mut got = v["expected"].clone();
        got["mean"] = json!(figure("mean", Json::Null, None).value.unwrap());
        got["se"] = json!(stderr.value.clone().unwrap());
        got["cr2_se"] = json!(detail("cr2"));
        got["cr2_df"] = json!(detail("df_satterthwaite"));
        got["lower"] = json!(figure("ci", ci.clone(), Some("lower")).value.unwrap());
        got["upper"] = json!(figure("ci", ci, Some("upper")).value.unwrap());
        got
    });
}
