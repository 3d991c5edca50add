//! The guides, the first command of the README, and its picture: every command runs and prints what is shown.
#![cfg(unix)] // the commands are written for a shell

use crate::shown::{ROOT, assert_shown, printed, replay, replayed, shell_in};
use std::path::Path;

const GUIDE: &str = include_str!("../../../../docs/guides/from-inspect.md");
const PICTURE: &str = include_str!("../../../../docs/images/score.svg");

struct Block<'a> {
    language: &'a str,
    text: String,
    /// Whether only blank lines stand between it and the block before.
    follows: bool,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut follows) = (false, false);
    for line in page.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                blocks.push(Block { language, text: String::new(), follows });
                is_open = true;
            }
            (Some(_), true) => (is_open, follows) = (false, true),
            (None, true) => blocks.last_mut().unwrap().text.extend([line, "\n"]),
            (None, false) => follows &= line.trim().is_empty(),
        }
    }
    blocks
}

#[track_caller]
fn page_shows(path: &str, outputs_min: usize) {
    let (page, outputs) = replayed(&std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap());
    assert!(outputs >= outputs_min, "only {outputs} outputs are shown in {path}: have the blocks changed their form?");
    assert_shown(path, &page);
}

#[test]
fn every_command_of_the_guide_from_inspect_prints_what_it_shows() {
    page_shows("docs/guides/from-inspect.md", 15);
}

#[test]
fn every_command_of_the_guide_to_own_results_prints_what_it_shows() {
    page_shows("docs/guides/bring-your-own-results.md", 8);
}

#[test]
fn every_command_of_the_guide_to_gates_prints_what_it_shows() {
    page_shows("docs/guides/gate.md", 15);
}

/// The guide to evaluations begins in an empty folder, and its commands follow one another there. What names a model that is
/// elsewhere is not run.
#[test]
fn every_command_of_the_guide_to_evaluations_runs_in_an_empty_folder() {
    const PAGE: &str = "docs/guides/eval.md";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let needs_network = |commands: &str| commands.contains("OPENAI_API_KEY");
    let mut outputs = 0;
    let page = replay(&std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap(), &mut |commands, _| {
        if needs_network(commands) {
            return String::new();
        }
        outputs += 1;
        let examples = format!("EXAMPLES='{ROOT}/examples'\n");
        let output = shell_in(&folder, &["sh", "-ec"], &(examples + commands));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{commands}{errors}");
        without_names_of_logs(&String::from_utf8(output.stdout).unwrap())
    });
    let _ = std::fs::remove_dir_all(&folder);
    assert!(outputs >= 10, "only {outputs} blocks of commands: have they changed their form?");
    assert_shown(PAGE, &page);
}

#[test]
fn the_scenarios_of_the_example_come_to_the_verdict_that_it_shows() {
    let logs = format!("target/scenarios-{}", std::process::id());
    let agent =
        "cd examples/scenarios && calipers eval scenarios.json --solver 'command(\"./agent.sh\")' --gate policy.json";
    let output = shell_in(Path::new(ROOT), &["sh", "-ec"], &format!("{agent} --log-dir ../../{logs}"));
    let _ = std::fs::remove_dir_all(Path::new(ROOT).join(&logs));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown =
        without_names_of_logs(&String::from_utf8(output.stdout).unwrap()).replace(&format!("../../{logs}"), "logs");
    assert_shown("examples/scenarios/expected.txt", &shown);
}

/// Names of logs have the time and a random part, which are the same in every run of this test.
fn without_names_of_logs(text: &str) -> String {
    let plain = |word: &str| -> String {
        let Some((folder, name)) = word.rsplit_once('/').filter(|(_, name)| name.contains(".eval")) else {
            return word.to_owned();
        };
        let parts: Vec<&str> = name.split('_').collect();
        let [_, task, rest] = parts[..] else { return word.to_owned() };
        let (_, after) = rest.split_once(".eval").unwrap();
        format!("{folder}/2026-03-01T12-00-00.000-00-00_{task}_h9vU2dYwRkS3.eval{after}")
    };
    text.split_inclusive([' ', '\n']).map(plain).collect()
}

#[test]
fn every_command_of_the_guide_to_comparing_prints_what_it_shows() {
    page_shows("docs/guides/compare.md", 6);
}

#[test]
fn every_command_of_the_guide_to_planning_prints_what_it_shows() {
    page_shows("docs/guides/plan.md", 5);
}

#[test]
fn every_command_of_the_guide_to_judges_prints_what_it_shows() {
    page_shows("docs/guides/judge.md", 3);
}

#[test]
fn the_first_command_of_the_readme_is_a_gate_and_prints_what_it_shows() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let first = blocks(&readme).into_iter().find(|block| block.language == "sh").unwrap();
    let gate = "cargo run --release --no-default-features -- gate examples/support-agent/results.jsonl \
                --policy examples/support-agent/policy.json";
    assert_eq!(first.text.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" "), gate);
    page_shows("README.md", 2);
}

/// Commands without an output beside them run too.
#[test]
fn no_command_of_the_guides_fails() {
    let pages = [
        GUIDE,
        include_str!("../../../../docs/guides/gate.md"),
        include_str!("../../../../docs/guides/compare.md"),
        include_str!("../../../../docs/guides/plan.md"),
        include_str!("../../../../docs/guides/judge.md"),
    ];
    for page in pages {
        let blocks = blocks(page);
        for (at, block) in blocks.iter().enumerate() {
            let is_shown = blocks.get(at + 1).is_some_and(|next| next.language == "text" && next.follows);
            if block.language == "sh" && block.text.starts_with("calipers") && !is_shown {
                printed(&block.text);
            }
        }
    }
}

#[test]
fn every_policy_in_the_guide_to_gates_is_a_file_of_the_example() {
    let folder = Path::new(ROOT).join("examples/support-agent/policies");
    let files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let page = include_str!("../../../../docs/guides/gate.md");
    let policies: Vec<Block> =
        blocks(page).into_iter().filter(|block| matches!(block.language, "json" | "yaml")).collect();
    assert!(policies.len() >= 8, "only {}", policies.len());
    for policy in policies {
        assert!(files.contains(&policy.text), "in no file:\n{}", policy.text);
    }
}

#[test]
fn every_function_of_the_guide_is_in_the_examples() {
    let folder = Path::new(ROOT).join("examples/inspect-docs");
    let files: Vec<String> = ["metrics.star", "mean.star", "reducers.star"]
        .iter()
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .collect();
    let functions: Vec<Block> = blocks(GUIDE).into_iter().filter(|block| block.language == "python").collect();
    assert!(!functions.is_empty());
    for function in functions {
        assert!(files.iter().any(|file| file.contains(&function.text)), "in no file:\n{}", function.text);
    }
}

/// The lines of text in a picture, without tags.
fn lines(svg: &str) -> Vec<String> {
    let texts = svg.lines().filter(|line| line.starts_with("<text "));
    let plain =
        texts.map(|line| line.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect());
    plain.map(|line: String| line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect()
}

#[test]
fn the_picture_shows_what_its_command_prints() {
    let lines = lines(PICTURE);
    let last = lines.iter().position(|line| !line.ends_with('\\')).unwrap();
    let (command, output) = lines.split_at(last + 1);
    let command = command.join("\n");
    assert_eq!(printed(command.strip_prefix("$ ").unwrap()).lines().collect::<Vec<_>>(), output);
    assert!(include_str!("../../../../README.md").contains("docs/images/score.svg"));
}
