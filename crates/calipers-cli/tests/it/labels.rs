//! What the numbers on a screen are called: units, names that stay apart, bounds that agree, and a page that invents nothing.

use crate::program::{run, with_input};
use calipers_testing::{Scratch, text};

#[track_caller]
fn printed(folder: &Scratch, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// So many records, with a score for each.
fn records(scores: impl IntoIterator<Item = f64>) -> String {
    scores.into_iter().enumerate().map(|(id, score)| format!("{{\"id\": {id}, \"score\": {score}}}\n")).collect()
}

#[test]
fn measurements_have_their_unit_also_in_groups() {
    let folder = Scratch::new();
    let record = |i: u32| {
        let topic = if i.is_multiple_of(2) { "maths" } else { "physics" };
        format!("{{\"id\": {i}, \"topic\": \"{topic}\", \"latency_ms\": {}, \"cost_usd\": 0.0125}}\n", 2000 + 40 * i)
    };
    folder.write("run.jsonl", (0..80).map(record).collect::<String>());
    let shown = printed(&folder, &["score", "run.jsonl", "-m", "latency_p95", "-m", "mean('cost_usd')"]);
    assert!(shown.contains("latency_p95    5.00 s") && shown.contains("$0.0125"), "{shown}");
    let shown = printed(&folder, &["score", "run.jsonl", "-m", "grouped(latency_p50, 'topic')"]);
    assert!(shown.lines().filter(|line| line.contains(" s ")).count() >= 2, "{shown}");
}

#[test]
fn two_thresholds_of_one_metric_are_told_apart() {
    let folder = Scratch::new();
    folder.write("run.jsonl", records([0.2, 0.6, 0.9]));
    let one = "pass_rate(pass_threshold=0.5)";
    let two = "pass_rate(pass_threshold=0.8)";
    let shown = printed(&folder, &["score", "run.jsonl", "-m", one, "-m", two]);
    assert!(
        shown.contains("pass_rate(pass_threshold=0.5)") && shown.contains("pass_rate(pass_threshold=0.8)"),
        "{shown}"
    );
    assert!(!shown.contains("pass_rate2"), "{shown}");
    // The only one goes by its name.
    assert!(printed(&folder, &["score", "run.jsonl", "-m", one]).contains("  pass_rate  "));
}

#[test]
fn long_names_stay_on_the_screen_and_stay_apart() {
    let folder = Scratch::new();
    let long = "graduate_level_".repeat(9);
    let record = |i: usize| {
        format!(
            "{{\"id\": {i}, \"category\": \"{long}{}_of_{long}\", \"score\": {}}}\n",
            ["algebra", "logic"][i % 2],
            i % 3
        )
    };
    folder.write("run.jsonl", (0..12).map(record).collect::<String>());
    let shown = printed(&folder, &["score", "run.jsonl", "-m", "grouped(mean, 'category')"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let flat: String = shown.split_whitespace().collect();
    assert!(flat.contains("algebra") && flat.contains("logic"), "{shown}");
    let shown = printed(&folder, &["compare", "run.jsonl", "run.jsonl"]);
    assert!(shown.contains("lgebra") && shown.contains("ogic"), "{shown}");
}

#[test]
fn digits_are_grouped_everywhere() {
    let folder = Scratch::new();
    folder.write("run.jsonl", records((0..1200).map(|i| f64::from(i % 2))));
    let shown = printed(&folder, &["score", "run.jsonl"]);
    assert_eq!(shown.matches("1,200").count(), 3, "in the heading, for accuracy and for its error: {shown}");
    assert!(!shown.contains("1200"), "{shown}");
}

/// The bounds of a row: those in its interval, or its own number.
fn bounds(shown: &str, row: &str) -> String {
    let line =
        shown.lines().find(|line| line.trim_start().starts_with(row)).unwrap_or_else(|| panic!("{row} in {shown}"));
    line.split_once('[').unwrap().1.split_once(']').unwrap().0.to_owned()
}

#[test]
fn an_interval_is_that_of_the_accuracy_beside_it_and_stays_in_range() {
    let folder = Scratch::new();
    folder.write("run.jsonl", records([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
    let shown = printed(&folder, &["score", "run.jsonl", "-m", "accuracy", "-m", "ci()"]);
    let of_accuracy = bounds(&shown, "accuracy");
    assert_eq!((bounds(&shown, "lower"), bounds(&shown, "upper")), (of_accuracy.clone(), of_accuracy), "{shown}");
    // What Inspect computes is there for the asking.
    let by_t = printed(&folder, &["score", "run.jsonl", "-m", "ci(method='t')"]);
    assert!(bounds(&by_t, "lower").starts_with('-'), "{by_t}");
    let clustered: String = (0..12)
        .map(|i| format!("{{\"id\": {i}, \"passage\": {}, \"score\": {}}}\n", i % 4, i32::from(i == 0)))
        .collect();
    folder.write("clustered.jsonl", &clustered);
    let shown = printed(&folder, &["score", "clustered.jsonl", "-m", "ci(cluster='passage')"]);
    assert!(!bounds(&shown, "lower").contains('-'), "{shown}");
}

#[test]
fn caveats_are_about_what_they_stand_beside() {
    let folder = Scratch::new();
    let record = |i: usize| format!("{{\"id\": {i}, \"category\": \"{}\", \"score\": {}}}\n", i % 5, i % 2);
    folder.write("run.jsonl", (0..40).map(record).collect::<String>());
    let shown = printed(
        &folder,
        &["score", "run.jsonl", "-m", "stderr(cluster='category')", "-m", "grouped(accuracy, 'category', all=False)"],
    );
    assert!(!shown.contains("belong together"), "within one category nothing is ignored: {shown}");
    let shown = printed(&folder, &["score", "run.jsonl", "-m", "stderr(cluster='category')", "-m", "accuracy"]);
    assert!(shown.contains("accuracy: ignores that samples with the same `category` belong together"), "{shown}");
    // An error is not "4 of 4", and one score is no share.
    folder.write("four.jsonl", records([1.0; 4]));
    let shown = printed(&folder, &["score", "four.jsonl"]);
    assert!(shown.contains("accuracy: 4 of 4: the true rate may be as low as 47.3 % (one-sided bound)"), "{shown}");
    assert!(!shown.contains("stderr:") && !shown.contains("accuracy, stderr"), "{shown}");
    assert!(printed(&folder, &["score", "four.jsonl", "-m", "stderr"]).contains("all 4 values are alike"));
    folder.write("one.jsonl", records([1.0]));
    assert!(!printed(&folder, &["score", "one.jsonl"]).contains("1 of 1"));
}

#[test]
fn weights_are_all_named_and_a_column_that_is_not_there_is_not_explained() {
    let folder = Scratch::new();
    let record = |i: usize| {
        let capability = if i.is_multiple_of(2) { "search" } else { "write" };
        let passed = !i.is_multiple_of(3);
        format!("{{\"id\": {i}, \"category\": \"core\", \"capability\": \"{capability}\", \"passed\": {passed}}}\n")
    };
    folder.write("run.jsonl", (0..30).map(record).collect::<String>());
    let policy =
        |weights: &str| format!("{{\"thresholds\": {{\"blocking\": {{\"pass_rate\": 0.5}}}}, \"weights\": {weights}}}");
    folder.write("both.json", policy(r#"{"by_category": {"core": 2}, "by_capability": {"search": 3, "write": 0.5}}"#));
    let shown = text(&run(&folder, &["gate", "run.jsonl", "--policy", "both.json"]).stdout);
    for part in ["weights  core × 2", "weights by capability  search × 3, write × 0.5", "PASS"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    folder.write("alike.json", policy(r#"{"by_category": {"core": 2}}"#));
    let shown = text(&run(&folder, &["gate", "run.jsonl", "--policy", "alike.json"]).stdout);
    assert!(shown.contains("core × 2") && !shown.contains("plain"), "{shown}");
}

#[test]
fn a_run_that_passes_writes_junit_without_failures_and_it_reads_as_before() {
    let folder = Scratch::new();
    let record = |i: usize| format!("{{\"id\": \"S-{i}\", \"passed\": {}}}\n", i > 1);
    folder.write("run.jsonl", (0..20).map(record).collect::<String>());
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 0.8}}}"#);
    folder.write("strict.json", r#"{"thresholds": {"blocking": {"pass_rate": 0.95}}}"#);
    let junit = |policy: &str| {
        run(&folder, &["gate", "run.jsonl", "--policy", policy, "--output", "junit=gate.xml"]);
        folder.read("gate.xml")
    };
    let xml = junit("policy.json");
    assert!(!xml.contains("<failure") && !xml.contains("<error"), "{xml}");
    assert!(xml.contains("failures=\"0\"") && !xml.contains("failures=\"2\""), "{xml}");
    assert!(xml.contains("failed, and the policy passes without it"), "{xml}");
    let rate = |arguments: &[&str]| {
        let report: serde_json::Value = serde_json::from_str(&printed(&folder, arguments)).unwrap();
        report["runs"][0]["scores"][0]["metrics"]["accuracy"]["value"].clone()
    };
    let scenarios = ["score", "gate.xml", "--where", "suite=scenarios", "-m", "accuracy", "--json"];
    assert_eq!(rate(&scenarios), 0.9, "what was tolerated is still a failure to those who read it");
    assert_eq!(junit("strict.json").matches("<failure").count(), 3, "two scenarios and the gate");
}

#[test]
fn a_page_without_a_threshold_says_neither_passed_nor_failed() {
    let page = |arguments: &[&str]| {
        let lines = records((0..11).map(|i| 0.3 + f64::from(i) / 17.0));
        let output = with_input(&[&["report", "-", "-o", "-"], arguments].concat(), lines.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let markup = |page: &str| page.split_once("<main").unwrap().1.split_once("<script").unwrap().0.to_owned();
    let shown = markup(&page(&[]));
    assert!(shown.contains("Nothing says which scores pass"), "{shown}");
    assert!(!shown.contains("class=\"failed\"") && !shown.contains("</b> failed"), "{shown}");
    assert!(page(&[]).contains("\"outcome\":\"sssssssssss\""));
    let shown = markup(&page(&["--pass-threshold", "0.6"]));
    assert!(shown.contains("is at least 0.600") && shown.contains("</b> failed"), "{shown}");
    // Numbers in pictures are rounded.
    assert!(!shown.contains("0.5882352"), "{shown}");
}

#[test]
fn a_page_says_what_it_is_about_and_when_it_was_made() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/formats/inspect/multi_scorer.eval");
    let page = |arguments: &[&str]| text(&with_input(&[&["report", log, "-o", "-"], arguments].concat(), b"").stdout);
    let plain = page(&[]);
    let date = plain.split(" · ").find(|part| part.starts_with("20") && part.contains(':'));
    assert!(date.is_some(), "the log says when it was made");
    let titled = page(&["--title", "Nightly <run>", "--commit", "0123456789abcdef0123456789abcdef01234567"]);
    assert!(titled.contains("<title>Nightly &lt;run&gt;</title>") && titled.contains("commit 0123456789"), "{titled}");
    assert!(!titled.contains("0123456789a"));
}

#[test]
fn pictures_on_a_page_have_labelled_scales() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/support-agent");
    let path = |name: &str| format!("{root}/{name}");
    let output = with_input(
        &[
            "report",
            &path("results.jsonl"),
            "--policy",
            &path("policy.json"),
            "--baseline",
            &path("baseline.json"),
            "-o",
            "-",
        ],
        b"",
    );
    let page = text(&output.stdout);
    let gates = page.split_once("id=\"gates\"").unwrap().1.split_once("</section>").unwrap().0;
    // Rates have their whole range, and other units have a separate one, from 0.
    for label in [">0</text>", ">100 %</text>", ">10 s</text>"] {
        assert!(gates.contains(label), "{label}");
    }
    assert!(!gates.contains(">-"), "no scale of these begins below 0");
    let changes = page.split_once("id=\"changes\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(changes.contains(" pp</text>") && changes.contains("ms</text>"), "{changes}");
    // Where there is no room for a header, each number has its label.
    assert!(page.contains("data-label=\"threshold\"") && page.contains("attr(data-label)"));
    let output =
        with_input(&["report", &path("results-next.jsonl"), "--against", &path("results.jsonl"), "-o", "-"], b"");
    assert!(text(&output.stdout).contains("<th class=\"num\">adjusted p</th>"));
}

#[test]
fn runs_on_a_page_share_their_scales_and_pictures() {
    let folder = Scratch::new();
    folder.write("a.jsonl", records((0..60).map(|i| f64::from(i % 40) / 40.0)));
    folder.write("b.jsonl", records((0..60).map(|i| f64::from(i % 30) / 40.0)));
    let page = printed(&folder, &["report", "a.jsonl", "b.jsonl", "-o", "-"]);
    assert_eq!(page.matches("<figure").count(), 1, "one picture for both runs");
    assert!(page.contains("outline run-0") && page.contains("outline run-1"));
    assert_eq!(page.matches("<h3>score</h3>").count(), 1, "one table for both runs");
}

#[test]
fn a_tab_in_a_policy_is_named() {
    let folder = Scratch::new();
    folder.write("policy.yaml", "thresholds:\n\tblocking:\n\t\taccuracy: \">= 0.9\"\n");
    let shown = text(&run(&folder, &["policy", "check", "policy.yaml"]).stdout);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("which is indented with spaces: replace the tabs at the start of lines"), "{shown}");
}

/// The help of every command.
fn every_help() -> Vec<(String, String)> {
    let commands = [
        "",
        "score",
        "eval",
        "gate",
        "compare",
        "plan",
        "baseline record",
        "baseline show",
        "baseline raise",
        "policy check",
        "report",
        "convert",
        "metrics",
        "formats",
        "schema",
        "config",
        "completions",
        "man",
    ];
    let help = |command: &&str| {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        ((*command).to_owned(), text(&with_input(&arguments, b"").stdout))
    };
    commands.iter().map(help).collect()
}

#[test]
fn help_leads_only_to_pages_that_its_reader_has() {
    const SITE: &str = "https://calipers-eval.github.io/calipers/";
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("homepage = \"{SITE}\"")), "the site has moved");
    for (command, help) in every_help() {
        assert!(!help.is_empty(), "{command}");
        assert!(!help.contains("docs/") && !help.contains(".md"), "{command}: {help}");
        // Addresses may be wrapped by nothing but spaces, and end at a space or a bracket.
        for address in help.split([' ', '\n', '(', ')', ',']).filter(|word| word.starts_with("https://")) {
            let page = address.strip_prefix(SITE).unwrap_or_else(|| panic!("{command}: {address}"));
            let page = page.replace(".html", ".md");
            let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&path).exists(), "{command}: {address} is no page of the site");
        }
    }
    assert!(every_help()[0].1.contains("\n  man "), "the manual can be found");
}

#[test]
fn the_manual_ends_with_exit_codes_and_examples() {
    let manual = text(&with_input(&["man"], b"").stdout);
    let place = |title: &str| manual.find(&format!(".SH {title}")).unwrap_or_else(|| panic!("{title} in {manual}"));
    assert!(place("\"EXIT STATUS\"") < place("EXAMPLES"));
    assert!(manual.contains("calipers gate results.jsonl"), "{manual}");
}

#[test]
fn completions_offer_the_names_that_options_take() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&with_input(&["completions", shell], b"").stdout);
        for name in ["latency_p95", "majority", "lm-eval", "safety_rate"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    // What is offered does not limit what can be typed.
    let output = with_input(&["score", "-", "-m", "accuracy() if True else mean()"], b"{\"id\": 1, \"score\": 1}\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
