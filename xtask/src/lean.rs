//! What is built without features: the program of the README's first command must say what the README shows, and name what it lacks;
//! the library compiles.

use crate::process;
use std::path::Path;
use std::process::Command;

/// The build that is tested.
const BUILD: [&str; 3] = ["--package", "calipers-cli", "--no-default-features"];

/// Words after `calipers` that need what was left out, and a part of what the program answers.
const LEFT_OUT: [(&[&str], &str); 4] = [
    (&["eval", "examples/tasks/gpqa.star@gpqa_grouped"], "does not have `calipers eval`"),
    (&["score", "testdata/formats/parquet/records.parquet"], "was built without them"),
    (&["score", "testdata/formats/arrow/records.arrow"], "was built without them"),
    (&["score", "examples/agent/results.jsonl", "-m", "pass_rate(0.5)"], "runs no scripts"),
];

/// Builds and tries it. What is built here replaces the program of other steps, which build theirs again.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    process::succeed(process::cargo(root).arg("clippy").args(BUILD).args(["--", "-D", "warnings"]))?;
    process::succeed(process::cargo(root).args(["clippy", "--package", "calipers", "--", "-D", "warnings"]))?;
    process::succeed(process::cargo(root).arg("build").args(BUILD))?;
    let readme = std::fs::read_to_string(root.join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let (command, shown) = first_command(&readme).ok_or("README.md does not begin with a command and its output")?;
    let command = command.replace("\\\n", " ");
    let words: Vec<&str> = command.split_whitespace().skip_while(|word| *word != "--").skip(1).collect();
    let (_, printed) = run(root, &words)?;
    if printed.trim_end() != shown.trim_end() {
        return Err(format!("`{command}` does not print what README.md shows, but\n{printed}"));
    }
    for (words, answer) in LEFT_OUT {
        let (code, printed) = run(root, words)?;
        if code != Some(2) || !printed.contains(answer) {
            return Err(format!("`calipers {}` ends with {code:?} and says\n{printed}", words.join(" ")));
        }
    }
    Ok(())
}

/// The exit code, and all that is printed.
fn run(root: &Path, words: &[&str]) -> Result<(Option<i32>, String), String> {
    let program = root.join("target/debug").join(format!("calipers{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(program);
    let output = command.current_dir(root).args(words).output();
    let output = output.map_err(|error| format!("{}: {error}", process::line(&command)))?;
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((output.status.code(), texts.concat()))
}

/// The first block of commands, and the block of text after it.
fn first_command(readme: &str) -> Option<(&str, &str)> {
    let (_, rest) = readme.split_once("```sh\n")?;
    let (command, rest) = rest.split_once("\n```")?;
    let (_, rest) = rest.split_once("```text\n")?;
    let (shown, _) = rest.split_once("\n```")?;
    Some((command, shown))
}

#[cfg(test)]
mod tests {
    use super::first_command;

    #[test]
    fn the_first_command_is_found_with_what_it_prints() {
        let page = "# Title\n\n```sh\ncargo run -- gate x\n```\n\n```text\nPASS\n\nall\n```\n\n```sh\nother\n```\n";
        assert_eq!(first_command(page), Some(("cargo run -- gate x", "PASS\n\nall")));
        assert_eq!(first_command("no command"), None);
    }
}
