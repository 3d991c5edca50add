//! Tables of tools and of people that nothing is known of: each gives its number at once, or an error whose advice gives it.

use crate::program::calipers;
use calipers_testing::{Scratch, text};
use serde_json::{Value as Json, json};

/// Seven of ten are right.
pub(crate) const RIGHT: [u8; 10] = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1];

pub(crate) fn rows(header: &str, row: impl Fn(usize, u8) -> String) -> String {
    let rows: String = RIGHT.iter().enumerate().map(|(id, right)| row(id, *right) + "\n").collect();
    format!("{header}\n{rows}")
}

pub(crate) fn list(item: impl Fn(usize, u8) -> Json) -> Json {
    Json::from(RIGHT.iter().enumerate().map(|(id, right)| item(id, *right)).collect::<Vec<_>>())
}

pub(crate) fn records(item: impl Fn(usize, u8) -> Json) -> String {
    RIGHT.iter().enumerate().map(|(id, right)| format!("{}\n", item(id, *right))).collect()
}

pub(crate) fn map(entry: impl Fn(usize, u8) -> (String, Json)) -> Json {
    Json::Object(RIGHT.iter().enumerate().map(|(id, right)| entry(id, *right)).collect())
}

pub(crate) fn is(right: u8) -> bool {
    right == 1
}

pub(crate) fn word(right: u8, words: [&'static str; 2]) -> &'static str {
    words[usize::from(right)]
}

/// The first figure of the first score of each run, with its n.
fn figures(output: &[u8]) -> Vec<(f64, u64)> {
    let report: Json = serde_json::from_slice(output).expect("JSON");
    let of = |run: &Json| {
        let metrics = run["scores"][0]["metrics"].as_object().cloned().unwrap_or_default();
        let recorded = run["recorded"][0].clone();
        let figure = metrics.values().next().cloned().unwrap_or(recorded);
        ((figure["value"].as_f64().unwrap_or(f64::NAN) * 1e6).round() / 1e6, figure["n"].as_u64().unwrap_or(0))
    };
    report["runs"].as_array().expect("runs").iter().map(of).collect()
}

pub(crate) fn score(folder: &Scratch, file: &str, flags: &[&str]) -> Result<Vec<(f64, u64)>, String> {
    let output = calipers().run_in(folder, &[&["score", file, "--json"], flags].concat());
    if output.status.success() { Ok(figures(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// What an error proposes to add to the command.
#[track_caller]
pub(crate) fn advice(error: &str) -> Vec<String> {
    let start = error.find("with `--").unwrap_or_else(|| panic!("no advice in: {error}")) + "with `".len();
    let written = &error[start..];
    let written = &written[..written.rfind('`').expect("a closing quote")];
    let (flag, value) = written.split_once(' ').expect("a flag and its value");
    vec![flag.to_owned(), value.trim_matches('\'').replace("'\\''", "'")]
}

/// A shape, and what it gives: at once, or after following the advice of its error.
pub(crate) struct Shape {
    name: &'static str,
    content: String,
    /// What the error proposes; none where there is no error.
    advice: Option<&'static str>,
    want: Vec<(f64, u64)>,
}

pub(crate) fn at_once(name: &'static str, content: impl ToString, want: &[(f64, u64)]) -> Shape {
    Shape { name, content: content.to_string(), advice: None, want: want.to_vec() }
}

pub(crate) fn with_advice(
    name: &'static str,
    content: impl ToString,
    advice: &'static str,
    want: &[(f64, u64)],
) -> Shape {
    Shape { name, content: content.to_string(), advice: Some(advice), want: want.to_vec() }
}

#[track_caller]
pub(crate) fn check(shapes: Vec<Shape>) {
    for Shape { name, content, advice: wanted, want } in shapes {
        let folder = Scratch::with(name, content);
        match (score(&folder, name, &[]), wanted) {
            (Ok(found), None) => assert_eq!(found, want, "{name}"),
            (Ok(found), Some(_)) => panic!("{name}: {found:?} and not an error"),
            (Err(error), None) => panic!("{name}: {error}"),
            (Err(error), Some(wanted)) => {
                let flags = advice(&error);
                assert_eq!(flags[1], wanted, "{name}: {error}");
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                assert_eq!(
                    score(&folder, name, &flags).unwrap_or_else(|error| panic!("{name}: {error}")),
                    want,
                    "{name}"
                );
            }
        }
    }
}

pub(crate) const SEVEN: &[(f64, u64)] = &[(0.7, 10)];

#[test]
fn exports_of_platforms() {
    check(vec![
        at_once(
            "braintrust.jsonl",
            records(|id, right| {
                json!({"id": format!("b{id}"), "span_id": "s", "input": "q", "scores": {"Factuality": right, "ExactMatch": 1},
                    "metadata": {"cat": "x"}, "metrics": {"start": 1, "end": 2.5}})
            }),
            SEVEN,
        ),
        at_once(
            "braintrust.csv",
            rows("id,input,output,scores.Factuality,scores.ExactMatch", |id, right| format!("b{id},q,a,{right},1")),
            SEVEN,
        ),
        with_advice(
            "langsmith.csv",
            rows("id,inputs,outputs,status,error,latency,feedback_correctness_avg", |id, right| {
                format!(r#"r{id},"{{""q"": ""a, b""}}","{{""a"": ""c""}}",success,,1.2,{right}.0"#)
            }),
            "id=id,score=feedback_correctness_avg",
            SEVEN,
        ),
        with_advice(
            "langsmith.jsonl",
            records(|id, right| {
                json!({"id": format!("run{id}"), "name": "target", "inputs": {"q": "why?"}, "outputs": {"a": "so"},
                    "feedback_stats": {"correctness": {"n": 5, "avg": right}}})
            }),
            "id=id,score=feedback_stats.correctness.avg",
            SEVEN,
        ),
        with_advice(
            "langfuse.csv",
            rows("id,timestamp,traceId,name,value,dataType,source", |id, right| {
                format!(
                    "s{id},2026-01-01,t{id},correctness,{right},NUMERIC,EVAL\nh{id},2026-01-01,t{id},helpfulness,{},NUMERIC,EVAL",
                    id % 5
                )
            }),
            "id=traceId,score=value,run=name",
            &[(0.7, 10), (2.0, 10)],
        ),
        with_advice(
            "wandb.table.json",
            json!({"columns": ["question", "answer", "prediction", "correct"], "data": list(|id, right| json!([format!("q{id}"), "a", "b", is(right)]))}),
            "id=question,score=correct",
            SEVEN,
        ),
        with_advice(
            "mlflow.json",
            json!({"columns": ["inputs", "outputs", "exact_match/v1/score", "latency"],
                "data": list(|id, right| json!([format!("q{id}"), "a", right, 0.2]))}),
            "id=inputs,score=exact_match/v1/score",
            SEVEN,
        ),
        with_advice(
            "output_items.jsonl",
            records(|id, right| {
                json!({"object": "eval.run.output_item", "id": format!("item_{id}"), "run_id": "r1", "status": word(right, ["fail", "pass"]),
                    "datasource_item_id": id, "results": [{"name": "match", "passed": is(right), "sample": null}]})
            }),
            "id=id,score.*=results[name].passed",
            SEVEN,
        ),
        with_advice(
            "ragas.csv",
            rows("user_input,retrieved_contexts,response,context_precision,faithfulness", |id, right| {
                format!("q{id},\"['a', 'b']\",x,{right}.0,0.5")
            }),
            "id=user_input,score.context_precision=context_precision,score.faithfulness=faithfulness",
            SEVEN,
        ),
        with_advice(
            "trulens.csv",
            rows("record_id,app_id,input,Answer Relevance,cost", |id, right| format!("r{id},app1,q,{right}.0,0.01")),
            "id=record_id,score=Answer Relevance",
            SEVEN,
        ),
    ]);
}

#[test]
fn lists_of_scores_that_have_names_are_no_attempts() {
    let both = &[(0.7, 10), (1.0, 10)];
    check(vec![
        with_advice(
            "langsmith_results.jsonl",
            records(|id, right| {
                let results = json!([{"key": "correct", "score": right}, {"key": "tone", "score": 0.5}]);
                json!({"run": {"id": format!("r{id}")}, "evaluation_results": {"results": results}})
            }),
            "id=run.id,score.*=evaluation_results.results[key].score",
            SEVEN,
        ),
        with_advice(
            "rubric.json",
            list(
                |id, right| json!({"id": format!("c{id}"), "criteria": [{"name": "clear", "met": is(right)}, {"name": "deep", "met": true}]}),
            ),
            "id=id,score.*=criteria[name].met",
            SEVEN,
        ),
        with_advice(
            "outputs.jsonl",
            records(
                |id, right| json!({"id": id, "outputs": [{"model": "a", "pass": is(right)}, {"model": "b", "pass": true}]}),
            ),
            "id=id,score=outputs[model].pass,run=*",
            both,
        ),
        with_advice(
            "models.json",
            json!([{"model": "a", "results": list(|id, right| json!({"id": id, "correct": is(right)}))},
                {"model": "b", "results": list(|id, _| json!({"id": id, "correct": true}))}]),
            "records=results,id=id,run=^model,score=correct",
            both,
        ),
    ]);
}

#[test]
fn tables_in_other_languages() {
    check(vec![
        with_advice(
            "frage.csv",
            rows("Frage;Punkte", |id, right| format!("f{id};{right},0")),
            "id=Frage,score=Punkte",
            SEVEN,
        ),
        with_advice(
            "fragen.csv",
            rows("Frage-ID;Korrekt", |id, right| format!("F{id};{}", word(right, ["Nein", "Ja"]))),
            "id=Frage-ID,score=Korrekt",
            SEVEN,
        ),
        at_once("wahr.csv", rows("id;score", |id, right| format!("F{id};{}", word(right, ["FALSCH", "WAHR"]))), SEVEN),
    ]);
}

#[test]
fn outputs_of_benchmarks() {
    let status = |right: u8| word(right, ["fail", "pass"]);
    check(vec![
        at_once(
            "BFCL_v3_simple_score.json",
            format!(
                "{}\n{}",
                json!({"accuracy": 0.7, "correct_count": 7, "total_count": 10}),
                (0..3).map(|id| format!("{}\n", json!({"id": format!("simple_{id}"), "valid": false}))).collect::<String>()
            ),
            SEVEN,
        ),
        at_once(
            "livebench.jsonl",
            records(|id, right| json!({"question_id": format!("h{id}"), "task": "math", "model": "m1", "score": right, "turn": 1})),
            SEVEN,
        ),
        with_advice(
            "livecodebench.json",
            list(|id, right| json!({"question_id": format!("q{id}"), "output_list": ["a", "b"], "graded_list": [is(right), is(right)]})),
            "id=question_id,score=graded_list[]",
            SEVEN,
        ),
        at_once(
            "mt_bench.jsonl",
            (0..2)
                .map(|turn| records(|id, right| json!({"question_id": 81 + id, "model": "m", "score": 1 + 9 * right, "turn": turn + 1})))
                .collect::<String>(),
            &[(7.3, 10)],
        ),
        at_once(
            "instance_results.jsonl",
            records(|id, right| json!({"instance_id": format!("a__b-{id}"), "resolved": is(right), "patch_exists": true})),
            SEVEN,
        ),
        at_once(
            "report.json",
            map(|id, right| (format!("a__b-{id}"), json!({"patch_is_None": false, "patch_exists": true, "patch_successfully_applied": true, "resolved": is(right)}))),
            SEVEN,
        ),
        with_advice(
            "eval_results.json",
            json!({"eval": map(|id, right| (format!("HumanEval/{id}"), json!([{"task_id": format!("HumanEval/{id}"), "base_status": "pass", "plus_status": status(right)}])))}),
            "records=eval.*[],id=task_id,score=*_status,run=*",
            &[(1.0, 10), (0.7, 10)],
        ),
        with_advice(
            "bigcodebench.json",
            json!({"eval": map(|id, right| (format!("B/{id}"), json!([{"task_id": format!("B/{id}"), "status": status(right)}])))}),
            "records=eval.*[],id=task_id,score=status",
            SEVEN,
        ),
        at_once(
            "humaneval_results.jsonl",
            records(|id, right| json!({"task_id": format!("H/{id}"), "result": "…", "passed": is(right)})),
            SEVEN,
        ),
        at_once(
            "gaia.jsonl",
            records(|id, right| json!({"task_id": format!("t{id}"), "Level": 1 + id % 3, "is_correct": is(right)})),
            SEVEN,
        ),
        with_advice(
            "agentbench.jsonl",
            records(|id, right| json!({"index": id, "error": null, "output": {"status": "completed", "result": {"success": is(right)}}})),
            "id=index,score=output.result.success",
            SEVEN,
        ),
        with_advice(
            "spider.jsonl",
            records(|id, right| json!({"question_id": id, "db_id": "c", "hardness": "easy", "exec_acc": right})),
            "id=question_id,score=exec_acc",
            SEVEN,
        ),
        with_advice("bird.json", list(|id, right| json!({"sql_idx": id, "res": right})), "id=sql_idx,score=res", SEVEN),
        with_advice(
            "vlmevalkit.csv",
            rows("index,question,answer,prediction,hit,category", |id, right| format!("{id},q,A,B,{right},c")),
            "id=index,score=hit",
            SEVEN,
        ),
        with_advice(
            "opencompass.json",
            json!({"accuracy": 70.0, "details": map(|id, right| (id.to_string(), json!({"pred": "A", "correct": is(right)})))}),
            "records=details,score=correct",
            SEVEN,
        ),
        with_advice(
            "pytest.json",
            json!({"summary": {"passed": 7, "total": 10}, "tests": list(|id, right| json!({"nodeid": format!("t.py::t{id}"), "lineno": id,
                "outcome": word(right, ["failed", "passed"]), "call": {"duration": 0.2, "outcome": word(right, ["failed", "passed"])}}))}),
            "records=tests,id=nodeid,score=outcome",
            SEVEN,
        ),
        with_advice(
            "ctrf.json",
            json!({"results": {"tool": {"name": "jest"}, "tests": list(|id, right| json!({"name": format!("t{id}"), "status": word(right, ["failed", "passed"])}))}}),
            "records=results.tests,id=name,score=status",
            SEVEN,
        ),
        with_advice(
            "jest.json",
            json!({"numTotalTests": 10, "testResults": [{"name": "/a.test.js", "assertionResults":
                list(|id, right| json!({"fullName": format!("a {id}"), "status": word(right, ["failed", "passed"])}))}]}),
            "records=testResults[].assertionResults,id=fullName,score=status",
            SEVEN,
        ),
        with_advice(
            "harmbench.jsonl",
            records(|id, right| json!({"behavior_id": format!("b{id}"), "attack_success": is(right)})),
            "id=behavior_id,score=attack_success",
            SEVEN,
        ),
        at_once("webarena.csv", rows("task_id,site,score,steps", |id, right| format!("{id},shop,{right}.0,5")), SEVEN),
    ]);
}

#[test]
fn layouts_of_tables() {
    let by_model = |flip: bool| list(|id, right| json!({"id": format!("q{id}"), "correct": is(right) != flip}));
    check(vec![
        at_once(
            "split.json",
            json!({"columns": ["question_id", "is_correct"], "index": list(|id, _| json!(id)), "data": list(|id, right| json!([format!("q{id}"), is(right)]))}),
            SEVEN,
        ),
        with_advice(
            "table.json",
            json!({"schema": {"fields": []}, "data": list(|id, right| json!({"index": id, "question_id": format!("q{id}"), "is_correct": is(right)}))}),
            "records=data,id=question_id,score=is_correct",
            SEVEN,
        ),
        with_advice("series.json", map(|id, right| (format!("q{id}"), json!(is(right)))), "records=.", SEVEN),
        with_advice("flags.json", list(|_, right| json!(is(right))), "id=@line", SEVEN),
        with_advice("numbers.txt", RIGHT.map(|right| right.to_string()).join("\n"), "id=@line", SEVEN),
        // The same samples below two models are two runs, and no attempts of one.
        with_advice(
            "models.json",
            json!({"small": by_model(false), "large": by_model(true)}),
            "records=*[],id=id,run=@key,score=correct",
            &[(0.7, 10), (0.3, 10)],
        ),
        with_advice(
            "nested.jsonl",
            records(
                |id, right| json!({"id": format!("q{id}"), "results": {"small": {"correct": is(right)}, "large": {"correct": !is(right)}}}),
            ),
            "id=id,score=results.*.correct,run=*",
            &[(0.7, 10), (0.3, 10)],
        ),
        with_advice(
            "wide.csv",
            rows("id,run_1,run_2,run_3", |id, right| format!("q{id},{right},{right},1")),
            "id=id,score=run_*,epoch=*",
            &[(0.8, 10)],
        ),
        with_advice(
            "turns.jsonl",
            (0..2)
                .map(|turn| {
                    records(|id, right| json!({"conversation_id": format!("c{id}"), "turn": turn, "score": right}))
                })
                .collect::<String>(),
            "id=conversation_id,score=score",
            SEVEN,
        ),
        // One row per sample and metric: metrics are never averaged with each other.
        at_once(
            "long.csv",
            rows("id,metric,value", |id, right| format!("q{id},acc,{right}\nq{id},f1,0.5")),
            &[(0.7, 10), (0.5, 10)],
        ),
        with_advice(
            "long_models.csv",
            rows("id,model,metric,value", |id, right| {
                format!("q{id},a,acc,{right}\nq{id},a,f1,0.5\nq{id},b,acc,1\nq{id},b,f1,0.25")
            }),
            "metric=acc",
            &[(0.7, 10), (1.0, 10)],
        ),
        with_advice(
            "bare.csv",
            rows("q,1", |id, right| format!("q{id},{right}")),
            "id=column 1,score=column 2",
            &[(0.727273, 11)],
        ),
        with_advice(
            "bare.tsv",
            rows("q\t1", |id, right| format!("q{id}\t{right}")),
            "id=column 1,score=column 2",
            &[(0.727273, 11)],
        ),
        at_once("table.md", rows("| id | score |\n|----|------:|", |id, right| format!("| q{id} | {right} |")), SEVEN),
        at_once("checks.csv", rows("id,score", |id, right| format!("q{id},{}", word(right, ["✗", "✓"]))), SEVEN),
        at_once("emoji.csv", rows("id,score", |id, right| format!("q{id},{}", word(right, ["❌", "✅"]))), SEVEN),
        at_once(
            "dashes.csv",
            rows("id,score", |id, right| format!("q{id},{}", if id == 0 { "-".to_owned() } else { right.to_string() })),
            &[(0.666667, 9)],
        ),
        at_once("shares.csv", rows("id,score", |id, right| format!("q{id},{}", word(right, ["0%", "100%"]))), SEVEN),
        at_once(
            "lines.csv",
            rows("\u{feff}question_id,is_correct", |id, right| format!("q{id},{right}")).replace('\n', "\r\n"),
            SEVEN,
        ),
        at_once(
            "nan.jsonl",
            records(|id, right| json!({"id": id, "score": right})).replacen("\"score\":1", "\"score\":NaN", 1),
            &[(0.666667, 9)],
        ),
        at_once(
            "concatenated.json",
            records(|id, right| json!({"id": id, "score": right})).replace(',', ",\n  "),
            SEVEN,
        ),
        at_once("spaces.csv", rows("id, score", |id, right| format!("q{id}, {right}")), SEVEN),
        at_once("twice.csv", rows("id,score", |id, right| format!("q{},{right}", id / 2)), &[(0.7, 5)]),
        at_once(
            "broken.csv",
            rows(
                "id,score,error",
                |id, right| if id < 2 { format!("q{id},,timeout") } else { format!("q{id},{right},") },
            ),
            &[(0.75, 8)],
        ),
    ]);
}

#[test]
fn ids_that_two_columns_make_together_are_proposed() {
    let both = |row: &dyn Fn(&str, usize, u8) -> String| -> String {
        ["a", "b"]
            .iter()
            .flat_map(|part| RIGHT.iter().enumerate().map(move |(id, right)| row(part, id, *right)))
            .collect()
    };
    check(vec![
        with_advice(
            "subjects.csv",
            "subject,number,correct\n".to_owned() + &both(&|part, id, right| format!("{part},{id},{right}\n")),
            "id=subject+number,score=correct",
            &[(0.7, 20)],
        ),
        // A model and a seed tell attempts apart, and are no part of the id.
        with_advice(
            "prompts.csv",
            "prompt,model,passed\n".to_owned() + &both(&|part, id, right| format!("p{id},{part},{right}\n")),
            "id=prompt,score=passed",
            &[(0.7, 10), (0.7, 10)],
        ),
        with_advice(
            "seeds.jsonl",
            both(&|part, id, right| {
                format!("{}\n", json!({"task": format!("t{id}"), "seed": part.len(), "llm": part, "solved": is(right)}))
            }),
            "id=task,score=solved",
            &[(0.7, 10), (0.7, 10)],
        ),
    ]);
}

#[test]
fn runs_around_lists_of_records_are_proposed() {
    let questions = || list(|id, right| json!({"qid": format!("q{id}"), "correct": is(right)}));
    let flipped = || list(|id, right| json!({"qid": format!("q{id}"), "correct": !is(right)}));
    let two = &[(0.7, 10), (0.3, 10)];
    check(vec![
        with_advice(
            "config.json",
            json!([{"config": {"model": "a"}, "results": questions()}, {"config": {"model": "b"}, "results": flipped()}]),
            "records=results,id=qid,run=^config.model,score=correct",
            two,
        ),
        with_advice(
            "names.json",
            json!({"systems": [{"name": "a", "answers": questions()}, {"name": "b", "answers": flipped()}]}),
            "records=systems[].answers,id=qid,run=^name,score=correct",
            two,
        ),
    ]);
    // What is typed without the run is not pooled without a word.
    let folder = Scratch::with(
        "names.json",
        json!({"systems": [{"name": "a", "answers": questions()}, {"name": "b", "answers": flipped()}]}).to_string(),
    );
    let flags = ["score", "names.json", "--columns", "records=systems[].answers,id=qid,score=correct"];
    let said = text(&calipers().run_in(&folder, &flags).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`run=^name` tells them apart"), "{said}");
    let by_key = json!({"a": {"q1": 1, "q2": 1, "q3": 0}, "b": {"q1": 0, "q2": 0, "q3": 0}});
    let folder = Scratch::with("keys.json", by_key.to_string());
    let said = text(&calipers().run_in(&folder, &["score", "keys.json", "--columns", "records=*.*"]).stdout);
    assert!(said.contains("`run=^@key`"), "{said}");
}

#[test]
fn parts_of_a_sample_are_no_samples() {
    let rubric = |right: u8| json!([{"name": "clear", "score": right}, {"name": "right", "score": 1}]);
    let results = json!({"results": list(|id, right| json!({"id": format!("q{id}"), "rubric": rubric(right)}))});
    check(vec![with_advice("rubric.json", results, "records=results,id=id,score.*=rubric[name].score", SEVEN)]);
}

#[test]
fn answers_beside_the_right_ones_are_compared() {
    let pair = |right: u8| word(right, ["B", "A"]);
    check(vec![
        with_advice(
            "gold.csv",
            rows("id,answer,gold", |id, right| format!("q{id},{},A", pair(right))),
            "id=id,predicted=answer,actual=gold",
            SEVEN,
        ),
        with_advice(
            "labels.tsv",
            rows("qid\tlabel\tpred", |id, right| format!("q{id}\t1\t{right}")),
            "id=qid,predicted=pred,actual=label",
            SEVEN,
        ),
        at_once("native.jsonl", records(|id, right| json!({"id": id, "predicted": pair(right), "actual": "A"})), SEVEN),
    ]);
    let native = records(|id, right| json!({"id": id, "predicted": pair(right), "actual": "A"}));
    let folder = Scratch::with("native.jsonl", native);
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 60}}}"#);
    let note = "an answer counts as correct where `predicted` equals `actual`";
    for arguments in [
        &["score", "native.jsonl", "-m", "accuracy"][..],
        &["gate", "native.jsonl", "--policy", "policy.json"],
        &["plan", "native.jsonl", "--half-width", "0.1"],
        &["compare", "native.jsonl", "native.jsonl"],
    ] {
        let output = calipers().run_in(&folder, arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(said.contains(note), "{arguments:?}: {said}");
    }
}

#[test]
fn columns_of_models_are_runs() {
    let marks = |right: u8| word(right, ["✗", "✓"]);
    let wide = rows("Question,GPT-4,Claude 3", |id, right| format!("q{id},{},{}", marks(right), marks(1 - right)));
    let names: Vec<String> = (0..9).map(|model| format!("m{model}")).collect();
    let many = rows(&format!("id,{}", names.join(",")), |id, right| format!("q{id}{}", format!(",{right}").repeat(9)));
    check(vec![
        with_advice("marks.csv", wide, "id=Question,score={GPT-4,Claude 3},run=*", &[(0.7, 10), (0.3, 10)]),
        with_advice("many.csv", many, "id=id,score=*,run=*", &[(0.7, 10); 9]),
        with_advice(
            "attempts.jsonl",
            records(|id, right| json!({"id": id, "scores": [right, right]})),
            "id=id,score=scores[]",
            SEVEN,
        ),
    ]);
}

#[test]
fn rows_about_models_are_no_samples() {
    let folder = Scratch::with("board.csv", "model,mmlu,gsm8k\na,0.86,0.92\nb,0.84,0.90\nc,0.81,0.5\n");
    let error = score(&folder, "board.csv", &[]).expect_err("figures of models");
    assert!(error.contains("each row is about a `model`, not about a sample"), "{error}");
}

#[test]
fn two_lines_of_names_are_refused() {
    let table = rows("model,a,a,b,b\nmetric,acc,f1,acc,f1", |id, right| format!("q{id},{right},0.5,1,0.5"));
    let folder = Scratch::with("two.csv", table);
    let error = score(&folder, "two.csv", &[]).expect_err("two headers");
    assert!(error.contains("the second line seems to hold names too"), "{error}");
}

#[test]
fn a_metric_without_anything_to_measure_is_an_error_with_advice() {
    let folder = Scratch::with("rated.csv", rows("id,rating", |id, right| format!("q{id},{right}")));
    for metric in ["accuracy", "mean", "stderr"] {
        let error = score(&folder, "rated.csv", &["-m", metric]).expect_err("no score");
        assert_eq!(advice(&error)[1], "id=id,score=rating", "{error}");
    }
}

#[test]
fn parts_of_a_whole_are_shares() {
    for (name, of) in [("slash.csv", "/"), ("words.csv", " out of "), ("of.csv", " of ")] {
        let folder = Scratch::with(name, rows("id,score", |id, right| format!("q{id},{}{of}5", 5 * right)));
        assert_eq!(score(&folder, name, &[]), Ok(SEVEN.to_vec()), "{name}");
        let said = text(&calipers().run_in(&folder, &["score", name]).stdout);
        assert!(said.contains("parts of a whole were read"), "{said}");
    }
    for wrong in ["6/5", "1/0", "a/5", "1/2/3"] {
        let folder = Scratch::with("x.csv", format!("id,score\n1,1\n2,{wrong}\n"));
        assert!(score(&folder, "x.csv", &[]).expect_err(wrong).contains("is not a number or a known label"));
    }
}

#[test]
fn a_summary_below_a_table_is_no_sample() {
    for (name, last) in [("mean.csv", "Average,0.7"), ("sum.csv", "Total,7"), ("share.csv", "OVERALL,70%")] {
        let folder =
            Scratch::with(name, rows("question_id,is_correct", |id, right| format!("q{id},{right}")) + last + "\n");
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains("has the mean or the sum of the others: it is not a sample"), "{error}");
    }
    // What has only the name of a summary is a sample.
    let folder =
        Scratch::with("named.csv", rows("question_id,is_correct", |id, right| format!("q{id},{right}")) + "total,0\n");
    assert_eq!(score(&folder, "named.csv", &[]), Ok(vec![(0.636364, 11)]));
    let said = text(&calipers().run_in(&folder, &["score", "named.csv"]).stdout);
    assert!(said.contains("note: the last record is named `total`, and was read as a sample"), "{said}");
}

#[test]
fn a_header_below_a_title_is_found() {
    for (name, above) in [
        ("title.csv", "Results of March,,\n,,\n"),
        ("groups.csv", "Model A,,\n"),
        ("text.csv", "Results of March\n\n"),
        ("comment.csv", "# exported, by hand\n"),
    ] {
        let table =
            rows("Question ID,Subject,Is Correct", |id, right| format!("q{id},law,{}", word(right, ["No", "Yes"])));
        let folder = Scratch::with(name, format!("{above}{table}"));
        folder.write("rest.csv", table);
        let line = above.lines().count() + 1;
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains(&format!("`tail -n +{line} {name} > samples.csv`")), "{error}");
        assert_eq!(score(&folder, "rest.csv", &[]), Ok(SEVEN.to_vec()));
    }
}

#[test]
fn counts_of_samples_are_not_proposed_as_scores() {
    let folder = Scratch::with("counts.csv", "task,num_correct,num_total\nmath,30,50\nlaw,20,50\n");
    assert!(score(&folder, "counts.csv", &[]).expect_err("a summary").contains("none of them looks like the score"));
    let folder = Scratch::with("counts.csv", "task,passed,total\nmath,30,50\nlaw,20,50\n");
    let error = score(&folder, "counts.csv", &[]).expect_err("a summary");
    assert!(error.contains("none of them looks like the score of a sample"), "{error}");
}

#[test]
fn metrics_of_a_long_table_are_not_mixed_by_any_command() {
    let folder = Scratch::with(
        "long.csv",
        rows("id,model,metric,value", |id, right| {
            format!("q{id},a,acc,{right}\nq{id},a,f1,0\nq{id},b,acc,1\nq{id},b,f1,0")
        }),
    );
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 60}}}"#);
    let gate = |flags: &[&str]| {
        calipers().run_in(&folder, &[&["gate", "long.csv", "--policy", "policy.json"], flags].concat())
    };
    assert_eq!(gate(&[]).status.code(), Some(2));
    assert_eq!(gate(&["--run", "a"]).status.code(), Some(2));
    assert_eq!(gate(&["--where", "metric=acc", "--run", "a"]).status.code(), Some(0));
    assert_eq!(gate(&["--where", "metric=f1", "--run", "a"]).status.code(), Some(1));
}
