//! HELM, tau2, Harbor and Terminal-Bench, ADK, JUnit.

use crate::seen::{counts, error, fact, mean, mutate, run, scores, text};

#[test]
fn helm_instances_perturbations_and_trials_are_kept_apart() {
    let run = run("helm/per_instance_stats.json");
    assert_eq!(run.format, "helm");
    assert_eq!(counts(&run), (3, 4, 0));
    assert_eq!(scores(&run, "exact_match"), "id11=1.0 id11/typos(prob=0.1)=0.0 id11=0.5 id12=nan");
    assert_eq!(fact(&run, "exact_match", 1, "instance_id"), "id11");
    assert_eq!(fact(&run, "exact_match", 1, "perturbation"), "typos(prob=0.1)");
    assert_eq!(fact(&run, "exact_match", 0, "split"), "test");
    assert_eq!((mean(&run, "latency_ms"), mean(&run, "tokens_used")), (500.0, 100.0));
    assert_eq!(run.samples.scorers().count(), 1, "measurements are not scorers");
    assert_eq!(
        run.notes,
        [
            "instances with a perturbation count as separate samples: 1",
            "statistic `exact_match` appears more than once in an instance; the first one counts"
        ]
    );
}

#[test]
fn helm_splits_in_one_file_are_named() {
    let instance = |id: u32, split: &str| {
        let stat =
            format!(r#"{{"name": {{"name": "exact_match", "split": "{split}"}}, "count": 1, "sum": 1, "mean": 1}}"#);
        format!(r#"{{"instance_id": "i{id}", "train_trial_index": 0, "stats": [{stat}]}}"#)
    };
    let file = |splits: &[&str]| {
        let instances: Vec<String> = splits.iter().zip(0..).map(|(split, id)| instance(id, split)).collect();
        text(&format!("[{}]", instances.join(", "))).unwrap().notes
    };
    let note = "the instances of several splits are together (test 2, valid 1): the condition `split=test` keeps one";
    assert_eq!(file(&["test", "test", "valid"]), [note]);
    assert!(file(&["test", "test"]).is_empty());
}

#[test]
fn tau2_trials_are_attempts_and_infrastructure_errors_are_errors() {
    let run = run("tau2/results.json");
    assert_eq!(
        (run.format, run.task.as_deref(), run.model.as_deref()),
        ("tau2", Some("library"), Some("acme/agent-1"))
    );
    assert_eq!(counts(&run), (2, 4, 1));
    assert_eq!(scores(&run, "reward"), "0=0.9999999 0=0.0 1=nan");
    assert_eq!(mean(&run, "passed"), 0.5);
    assert_eq!(mean(&run, "cost_usd"), 0.03);
    let shown = format!("{:?}", run.samples);
    assert!(shown.contains(r#"List([Text("The agent names the new due date")])"#), "{shown}");

    let single = text(
        r#"{"id": "s", "task_id": 3, "trial": 1, "termination_reason": "agent_stop", "reward_info": {"reward": 1}}"#,
    );
    assert_eq!(scores(&single.unwrap(), "reward"), "3=1.0");
    let older = text(
        r#"[{"task_id": 3, "reward": 0.0, "info": {}, "traj": [], "trial": 0}, {"task_id": 3, "reward": 0.0, "info": {"error": "rate limit"}, "trial": 1}]"#,
    );
    assert_eq!(counts(&older.unwrap()), (1, 2, 1));
}

#[test]
fn harbor_counts_the_exception_before_the_reward() {
    let good = run("harbor/result.json");
    assert_eq!(
        (good.format, good.task.as_deref(), good.model.as_deref()),
        ("harbor", Some("chores@1.0"), Some("acme/agent-1"))
    );
    assert_eq!(scores(&good, "reward"), "tidy-logs=1.0");
    assert_eq!(
        (mean(&good, "latency_ms"), mean(&good, "tokens_used"), mean(&good, "cost_usd")),
        (60_500.0, 1000.0, 0.03)
    );

    let bad = run("harbor/exception.json");
    assert_eq!(counts(&bad), (1, 1, 1));
    assert_eq!(bad.samples.scorers().count(), 0);
    assert_eq!(
        bad.notes,
        ["trial `tidy-logs__Zz9xY` ended with AgentTimeoutError and has reward 1.0; the exception counts"]
    );
    assert_eq!(mean(&bad, "latency_ms"), 900_000.0);

    let unverified =
        text(r#"{"task_name": "a", "trial_name": "b", "agent_info": {}, "verifier_result": null}"#).unwrap();
    assert_eq!(scores(&unverified, "reward"), "a=nan");
}

#[test]
fn terminal_bench_trials_are_numbered_by_name() {
    let run = run("harbor/terminal_bench.json");
    assert_eq!(counts(&run), (2, 4, 1));
    assert_eq!(scores(&run, "resolved"), "sort-mail=True sort-mail=False mend-pipe=nan");
    assert_eq!((mean(&run, "latency_ms"), mean(&run, "tokens_used"), mean(&run, "passed")), (30_000.0, 550.0, 0.5));
}

#[test]
fn adk_is_read_in_both_encodings() {
    for name in ["adk/weather.evalset_result.json", "adk/camel.json"] {
        let run = run(name);
        assert_eq!((run.format, run.task.as_deref()), ("adk", Some("weather")));
        assert_eq!(counts(&run), (2, 3, 0));
        assert_eq!(scores(&run, "response_match_score"), "asks_city=0.9 asks_city=0.1");
        assert_eq!(scores(&run, "tool_trajectory_avg_score"), "asks_city=1.0 asks_city=nan");
        assert_eq!(scores(&run, "eval_status"), "never_ran=nan");
        assert_eq!(mean(&run, "passed"), 0.5);
    }
}

#[test]
fn junit_runs_are_attempts() {
    let run = run("junit/reruns.xml");
    assert_eq!((run.format, run.task.as_deref()), ("junit", Some("night run")));
    assert_eq!(counts(&run), (5, 8, 2));
    let want = "greeter::basic/says_hello=True greeter::basic/says_name=False greeter::basic/says_name=True \
                greeter::basic/says_bye=False greeter::basic/says_bye=False greeter/waves=nan";
    assert_eq!(scores(&run, "test"), want);
    let point = run.samples.points("test").unwrap().get(1);
    assert_eq!(point.score.explanation.as_deref(), Some("forgot the name\nexpected \"Ada\" <3"));
    assert_eq!(fact(&run, "test", 0, "suite"), "greeter");
    assert_eq!(run.notes, ["1 skipped tests are unscored"]);
}

#[test]
fn junit_properties_are_scores_and_facts() {
    let run = run("junit/scores.xml");
    assert_eq!(scores(&run, "faithful"), "evals/summary=0.8 evals/refusal=0.2 evals/later=nan");
    assert_eq!(run.samples.scorers().count(), 1);
    assert_eq!(fact(&run, "faithful", 0, "category"), "happy_path");
    assert_eq!((mean(&run, "tokens_used"), mean(&run, "passed"), mean(&run, "latency_ms")), (120.0, 0.5, 1500.0));
}

#[test]
fn faults_name_the_place() {
    for (content, want) in [
        (r#"[{"instance_id": "a", "stats": [{"name": {"name": "em"}}]}]"#, "at `[0].stats[0]`"),
        (r#"[{"instance_id": "a", "stats": 3}]"#, "at `[0].stats`"),
        (r#"{"info": {}, "simulations": [{"trial": 0}]}"#, "at `simulations[0].task_id`"),
        (
            r#"{"info": {}, "simulations": [{"task_id": "a", "reward_info": {"reward": "much"}}]}"#,
            "the reward is a string",
        ),
        (r#"{"info": {"num_trials": 2}, "tasks": []}"#, "the file has no `simulations`"),
        (
            r#"{"task_name": "a", "trial_name": "b", "verifier_result": {"rewards": [1]}}"#,
            "at `verifier_result.rewards`",
        ),
        (r#"{"task_id": "a", "is_resolved": "yes"}"#, "at `is_resolved`"),
        (
            r#"{"eval_case_results": [{"eval_id": "a", "final_eval_status": 9}]}"#,
            "at `eval_case_results[0].final_eval_status`",
        ),
        (r#""{\"eval_case_results\": ["#, "cut off"),
        (r#""{\"eval_case_results\": [""#, "the document within the document"),
        ("<testsuite name=\"a\">\n<testcase name=\"b\">\n", "2 elements are not closed"),
        ("<testsuite>\n<testcase/></testsuite>", "line 2"),
        ("<testsuite>\n\n<testcase name=\"b\"></testsuite>", "line 3"),
    ] {
        assert!(error(content).contains(want), "{content}\n{}", error(content));
    }
}

#[test]
fn damaged_files_are_errors_and_nothing_worse() {
    let names = [
        "helm/per_instance_stats.json",
        "helm/stats.json",
        "tau2/results.json",
        "harbor/result.json",
        "harbor/exception.json",
        "harbor/terminal_bench.json",
        "adk/weather.evalset_result.json",
        "adk/camel.json",
        "junit/reruns.xml",
        "junit/scores.xml",
    ];
    mutate(&names, 1500);
}
