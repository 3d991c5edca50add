//! What pages and files show of the program, compared with what it does. `BLESS=1` writes what it does into them.

use calipers_testing::snapshot::assert_file;
use std::path::Path;
use std::process::{Command, Output};

pub(crate) use calipers_testing::ROOT;

/// What a shell makes of these lines in a folder, where `calipers` is the program under test.
pub(crate) fn shell_in(folder: &Path, shell: &[&str], lines: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_calipers"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // What stands in the folder comes first, so that a test can take the place of a program.
    let first = [folder.to_path_buf(), program.parent().unwrap().to_path_buf()];
    let folders = first.into_iter().chain(std::env::split_paths(&path));
    Command::new(shell[0])
        .args(&shell[1..])
        .arg(lines)
        .env("PATH", std::env::join_paths(folders).unwrap())
        .env_remove("GITHUB_ACTIONS")
        // Plots are drawn with what the terminal can show.
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The same at the root of the repository.
pub(crate) fn shell(lines: &str) -> Output {
    // Pages write their files there, and it need not be where this is built.
    std::fs::create_dir_all(Path::new(ROOT).join("target")).unwrap();
    shell_in(Path::new(ROOT), &["sh", "-ec"], lines)
}

/// What these lines print, or complain of. The exit code has to be the one of the verdict, of an error, or 0.
#[track_caller]
pub(crate) fn printed(lines: &str) -> String {
    let output = shell(lines);
    let (data, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let text = if data.is_empty() { errors } else { data };
    let code = match text.split([' ', ':']).next().unwrap() {
        "FAIL" => 1,
        "error" => 2,
        "UNDECIDED" => 3,
        _ => 0,
    };
    assert_eq!(output.status.code(), Some(code), "{lines}{text}");
    text
}

/// A file of the repository has this content.
#[track_caller]
pub(crate) fn assert_shown(path: &str, found: &str) {
    assert_file(Path::new(ROOT).join(path), found);
}

/// A page with every output in it replaced by what its command prints now: a block `text` right after a block `sh`. The
/// number of outputs comes with it.
pub(crate) fn replayed(page: &str) -> (String, usize) {
    let mut outputs = 0;
    // Commands whose output is not shown are not run.
    let page = replay(page, &mut |commands, is_shown| {
        outputs += usize::from(is_shown);
        let commands =
            commands.replace(" --no-default-features --", " --").replace("cargo run --release --", "calipers");
        if is_shown { printed(&commands) } else { String::new() }
    });
    (page, outputs)
}

/// The same with another way to run commands: it is told whether their output is shown.
pub(crate) fn replay(page: &str, run: &mut dyn FnMut(&str, bool) -> String) -> String {
    let mut text = String::new();
    let mut lines = page.lines();
    // The commands of the block before, if nothing but blank lines came after it.
    let mut commands: Option<String> = None;
    while let Some(line) = lines.next() {
        let language = line.strip_prefix("```");
        let is_output = language == Some("text");
        if !(line.trim().is_empty() || is_output)
            && let Some(commands) = commands.take()
        {
            run(&commands, false);
        }
        text.extend([line, "\n"]);
        let Some(language) = language else { continue };
        let block: String = lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
        match commands.take().filter(|_| is_output) {
            Some(commands) => text += &run(&commands, true),
            None => text += &block,
        }
        text += "```\n";
        commands = (language == "sh").then_some(block);
    }
    if let Some(commands) = commands {
        run(&commands, false);
    }
    text
}
