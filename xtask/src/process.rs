//! Starting other programs from the root of the workspace.

use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that runs us, at the root of the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_package(command.current_dir(root));
    command
}

/// Takes away what cargo says about this program to this program. Build scripts would see it, such as that of `ring`, which then runs again,
/// and most of the workspace would be compiled again.
pub(crate) fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

/// Runs a command to its end with our own output, and says what went wrong if something did.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let line = line(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` failed ({status})")),
        Err(cause) => Err(format!("`{line}` did not start: {cause}")),
    }
}

/// What a command prints, if it succeeds; its complaints are not shown.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Installs a package where that is possible without asking anybody: on Debian, as root.
pub(crate) fn install(package: &str) -> bool {
    if output(Command::new("apt-get").arg("--version")).is_none() {
        return false;
    }
    // A new machine has no lists of packages yet; without a network the old ones have to do.
    let _ = output(Command::new("apt-get").args(["update", "-qq"]));
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "-qq", "--no-install-recommends", package]).stdout(Stdio::null());
    eprintln!("step {package}: {}", line(&apt));
    succeed(&mut apt).map_err(|cause| eprintln!("{cause}")).is_ok()
}

/// A command as one would type it, with the variables it sets.
pub(crate) fn line(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy()))));
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default().to_string_lossy();
    let args = command.get_args().map(|arg| quoted(&arg.to_string_lossy()));
    variables.chain([program.into_owned()]).chain(args).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.into() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("tools/cargo");
        command.args(["doc", "--no-deps", "two words"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'two words'");
    }
}
