//! What pages and files show of the program, compared with what it does. `BLESS=1` writes what it does into them.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

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

/// True when files are to be written instead of compared.
fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// A file of the repository has this content.
#[track_caller]
pub(crate) fn assert_shown(path: &str, found: &str) {
    let file = Path::new(ROOT).join(path);
    if is_blessing() {
        return std::fs::write(file, found).unwrap();
    }
    let shown = std::fs::read_to_string(file).unwrap();
    let differs = shown.lines().zip(found.lines()).position(|(shown, found)| shown != found);
    let line = differs.unwrap_or(shown.lines().count().min(found.lines().count())) + 1;
    assert!(shown == found, "{path} differs from line {line} on (BLESS=1 writes it anew); now it is:\n{found}");
}

/// A page with every output in it replaced by what its command prints now: a block `text` right after a block `sh`. The
/// number of outputs comes with it.
pub(crate) fn replayed(page: &str) -> (String, usize) {
    let (mut text, mut outputs) = (String::new(), 0);
    let mut lines = page.lines();
    // The commands of the block before, if nothing but blank lines came after it.
    let mut commands: Option<String> = None;
    while let Some(line) = lines.next() {
        text.extend([line, "\n"]);
        let Some(language) = line.strip_prefix("```") else {
            commands = commands.filter(|_| line.trim().is_empty());
            continue;
        };
        let block: String = lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
        match (language, commands.take()) {
            ("text", Some(commands)) => {
                text += &printed(&commands);
                outputs += 1;
            }
            _ => text += &block,
        }
        text += "```\n";
        commands = (language == "sh").then(|| block.replace("cargo run --release --", "calipers"));
    }
    (text, outputs)
}
