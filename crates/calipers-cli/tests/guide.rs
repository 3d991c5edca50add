//! The guide from Inspect's docs and the picture in the README: every command runs and prints what is shown.
#![cfg(unix)] // the commands are written for a shell
#![allow(clippy::unwrap_used)] // a program that cannot be started must fail loudly

use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const GUIDE: &str = include_str!("../../../docs/guides/from-inspect.md");
const PICTURE: &str = include_str!("../../../docs/images/score.svg");

/// What a shell makes of these lines at the root of the repository, where `calipers` is the program under test.
fn shell(lines: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_calipers"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(program.parent().unwrap().to_path_buf()).chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-ec", lines])
        .env("PATH", std::env::join_paths(folders).unwrap())
        .current_dir(ROOT)
        .output()
        .unwrap()
}

#[track_caller]
fn printed(lines: &str) -> String {
    let output = shell(lines);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{lines}{errors}");
    String::from_utf8(output.stdout).unwrap()
}

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

#[test]
fn every_command_of_the_guide_prints_what_it_shows() {
    let blocks = blocks(GUIDE);
    let mut shown = 0;
    for (at, block) in blocks.iter().enumerate() {
        if block.language != "sh" || !block.text.starts_with("calipers") {
            continue;
        }
        let output = printed(&block.text);
        if let Some(next) = blocks.get(at + 1).filter(|next| next.language == "text" && next.follows) {
            assert_eq!(output, next.text, "{}", block.text);
            shown += 1;
        }
    }
    assert!(shown >= 15, "only {shown} outputs were compared: have the blocks changed their form?");
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
    assert!(include_str!("../../../README.md").contains("docs/images/score.svg"));
}
