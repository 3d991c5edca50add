//! Every report in every form, from runs that are empty, hostile, long and large: no form panics, steers a terminal, lets markup
//! through, leaves its width or its schema. The forms of `--output` are those that `calipers-render` registers.

use crate::program::calipers;
use calipers::render::{COMPARE_FORMS, Form as RenderedForm, GATE_FORMS, JUDGE_FORMS};
use calipers_testing::{Scratch, text};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Output;

/// Markup, commands and control characters of every form.
const HOSTILE: &str = "<script>alert(1)</script> ]]> --> | `code` [x](https://evil.example) @everyone ::error::owned \
    \u{1b}[31m\u{1b}]0;title\u{7}\u{202e}\u{2066}&lt; \"'% $x$ \\ www.evil.example";
/// Columns of a terminal, where nothing says otherwise.
const WIDTH: usize = 80;
/// A word of more columns is a name, and one of at most so many is not shortened.
const NAME_WIDTH_MIN: usize = 20;
const NAME_WIDTH_MAX: usize = 60;
/// Columns of an excerpt of a policy, which is source and not wrapped.
const EXCERPT_WIDTH: usize = 102;

/// What a form is checked for.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Text,
    Json,
    Markdown,
    /// A form of `--output` that is none of these, such as JUnit.
    Other,
    Annotations,
    Html,
}

const SCORE: [&str; 2] = ["score", "new.jsonl"];
const GATE: [&str; 4] = ["gate", "new.jsonl", "--policy", "policy.json"];
const COMPARE: [&str; 3] = ["compare", "new.jsonl", "old.jsonl"];
const JUDGE: [&str; 4] = ["judge", "new.jsonl", "--labels", "labels.jsonl"];
const PLAN: [&str; 4] = ["plan", "new.jsonl", "--half-width", "0.05"];
const CHECK: [&str; 5] = ["policy", "check", "policy.json", "--samples", "new.jsonl"];
const RAISE: [&str; 5] = ["baseline", "raise", "new.jsonl", "--policy", "policy.json"];
const PAGE: [&str; 8] = ["report", "new.jsonl", "--policy", "policy.json", "--against", "old.jsonl", "--output", "-"];

/// A report in a form, and the command that prints it.
struct Shown {
    /// Also the name of its schema.
    report: &'static str,
    form: Form,
    command: &'static [&'static str],
    options: Vec<String>,
}

fn shown() -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut add = |report, form, command, options: &[&str]| {
        all.push(Shown { report, form, command, options: options.iter().map(|text| (*text).to_owned()).collect() });
    };
    add("results", Form::Text, &SCORE, &[]);
    add("results", Form::Text, &SCORE, &["--plot"]);
    add("results", Form::Json, &SCORE, &["--json", "--reductions"]);
    add("gate", Form::Text, &GATE, &[]);
    add("gate", Form::Annotations, &GATE, &[]);
    add("gate", Form::Html, &GATE, &["--output", "html=-"]);
    add("compare", Form::Text, &COMPARE, &[]);
    add("compare", Form::Html, &COMPARE, &["--output", "html=-"]);
    add("judge", Form::Text, &JUDGE, &[]);
    add("plan", Form::Text, &PLAN, &[]);
    add("plan", Form::Json, &PLAN, &["--json"]);
    add("findings", Form::Text, &CHECK, &[]);
    add("findings", Form::Json, &CHECK, &["--json"]);
    add("raise", Form::Text, &RAISE, &[]);
    add("raise", Form::Json, &RAISE, &["--json"]);
    add("page", Form::Html, &PAGE, &[]);
    all.extend(registered("gate", &GATE, GATE_FORMS));
    all.extend(registered("compare", &COMPARE, COMPARE_FORMS));
    all.extend(registered("judge", &JUDGE, JUDGE_FORMS));
    all
}

/// A report in each form that it can be written in.
fn registered<R>(
    report: &'static str,
    command: &'static [&'static str],
    forms: &'static [RenderedForm<R>],
) -> impl Iterator<Item = Shown> {
    forms.iter().map(move |form| Shown {
        report,
        form: match form.names[0] {
            "text" => Form::Text,
            "json" => Form::Json,
            "markdown" => Form::Markdown,
            _ => Form::Other,
        },
        command,
        options: vec!["--output".to_owned(), format!("{}=-", form.names[0])],
    })
}

/// A run, by the text that stands in all its names and the number of its samples.
struct Run {
    name: &'static str,
    text: String,
    samples: usize,
}

fn runs() -> [Run; 4] {
    let run = |name, text: &str, samples| Run { name, text: text.into(), samples };
    [
        run("empty", "nothing", 0),
        run("hostile", HOSTILE, 20),
        run("long", &"long-".repeat(4000), 20),
        run("large", "c", 3000),
    ]
}

impl Run {
    /// Every text that comes from files: ids, scorers, categories, reasons and the names in a policy.
    fn folder(&self) -> Scratch {
        let text = &self.text;
        let record = |n: usize, shift: usize| {
            let is_good = !(n + shift).is_multiple_of(5);
            json!({
                "id": format!("{text}{n}"), "category": format!("{text}{}", n % 100), "passed": is_good, "reason": text,
                "scores": {format!("{text}judge"): f64::from(u8::from(is_good))}, "latency_ms": 100 + n % 37,
                "metadata": {"topic": text},
            })
        };
        let records = |shift: usize| {
            let mut lines = String::new();
            for n in 0..self.samples {
                writeln!(lines, "{}", record(n, shift)).unwrap();
            }
            // A run without a single score: its attempt broke.
            if lines.is_empty() { "{\"id\": 1, \"error\": \"lost\"}\n".to_owned() } else { lines }
        };
        let policy = json!({
            "thresholds": {"blocking": {"pass_rate": "90%"}, "warning": {"latency_p95": "< 120ms"}},
            "pass_criteria": {"by_category": {format!("{text}1"): "≥ 90%"}},
            "required_scenarios": {"ids": [format!("{text}0"), format!("{text}gone")]},
        });
        let folder = Scratch::new();
        folder.write("new.jsonl", records(0)).write("old.jsonl", records(1));
        // Some are not in the run.
        let label = |n: usize| json!({"id": format!("{text}{n}"), "label": usize::from(!n.is_multiple_of(7)), "annotator": text});
        let labels: String = (0..=self.samples).step_by(2).map(|n| format!("{}\n", label(n))).collect();
        folder.write("labels.jsonl", labels);
        folder.write("policy.json", serde_json::to_string_pretty(&policy).unwrap());
        folder
    }
}

fn print(folder: &Scratch, form: Form, command: &[&str], options: &[String]) -> Output {
    let mut program = calipers().command();
    if form == Form::Annotations {
        program.env("GITHUB_ACTIONS", "true");
    }
    program.current_dir(folder).args(command).args(options).output().unwrap()
}

/// True for characters that steer a terminal or the direction of writing.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn check_text(report: &str, output: &str, what: &str) {
    assert!(!output.contains(steers), "{what}: {output:?}");
    let width = if report == "findings" { EXCERPT_WIDTH } else { WIDTH };
    for line in output.lines() {
        let columns = line.chars().count();
        // A name is shown whole up to a limit, whatever the width: it may be all that tells two things apart.
        let has_name = line.split(' ').any(|word| word.chars().count() > NAME_WIDTH_MIN);
        // Tables of results wrap every name.
        let allowed = if has_name && report != "results" { width + NAME_WIDTH_MAX } else { width };
        assert!(columns <= allowed, "{what}: {columns} columns in `{line}`");
    }
}

#[track_caller]
fn check_json(report: &str, output: &str, what: &str) {
    let document: Value = serde_json::from_str(output).unwrap_or_else(|error| panic!("{what}: {error}"));
    let schema: Value = serde_json::from_slice(&calipers().run(&["schema", report]).stdout).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}:\n{}", errors.join("\n"));
}

/// Markup of theirs is text, and nothing of theirs begins a command of a workflow.
#[track_caller]
fn check_markup(form: Form, output: &str, what: &str) {
    assert!(!output.contains("<script>alert(1)"), "{what}");
    assert!(!output.lines().any(|line| line.starts_with("::error::owned")), "{what}");
    if form != Form::Html {
        assert!(!output.contains(steers), "{what}: {output:?}");
    }
    if form == Form::Markdown {
        for harm in ["@everyone", "https://evil", "www.evil"] {
            assert!(!output.contains(harm), "{what}: {harm}");
        }
    }
}

fn check(run: &Run) {
    let folder = run.folder();
    for Shown { report, form, command, options } in shown() {
        let output = print(&folder, form, command, &options);
        let what = format!("{} as `{} {}`", run.name, command.join(" "), options.join(" "));
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(!errors.contains("panicked") && !errors.contains(steers), "{what}: {errors:?}");
        // A run without scores has no changes and no plan, and says so.
        if printed.is_empty() {
            assert!(run.samples == 0 && output.status.code() == Some(2), "{what}: {errors}");
            assert!(errors.starts_with("error: ") && errors.contains("hint: "), "{what}: {errors}");
            continue;
        }
        match form {
            Form::Text => check_text(report, &printed, &what),
            Form::Json => check_json(report, &printed, &what),
            Form::Annotations => {
                assert!(!printed.contains(steers), "{what}: {printed:?}");
                assert!(!printed.lines().any(|line| line.starts_with("::error::owned")), "{what}");
            }
            Form::Markdown | Form::Other | Form::Html => check_markup(form, &printed, &what),
        }
    }
}

#[test]
fn a_run_without_scores_is_shown_in_every_form() {
    check(&runs()[0]);
}

#[test]
fn hostile_text_is_harmless_in_every_form() {
    check(&runs()[1]);
}

#[test]
fn long_names_fit_in_every_form() {
    check(&runs()[2]);
}

#[test]
fn a_large_run_is_shown_in_every_form() {
    check(&runs()[3]);
}

#[test]
fn a_hostile_name_reaches_json_as_it_is() {
    let folder = runs()[1].folder();
    let document: Value =
        serde_json::from_slice(&print(&folder, Form::Json, &SCORE, &["--json".to_owned()]).stdout).unwrap();
    assert_eq!(document["runs"][0]["scores"][0]["scorer"], json!(format!("{HOSTILE}judge")), "{document:#}");
}
