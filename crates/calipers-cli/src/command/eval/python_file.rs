//! Tasks in Python. The program hands them over to an interpreter that has the package `calipers`, which calls this code again with
//! the task that it has made; so options, output and exit codes are the same.

use super::{Eval, setup};
use crate::exit;
use crate::failure::{Failure, Fault};
use crate::script_child::{ChildPurpose, run_in_child};
use calipers::data::Value;
use calipers::run::{InterruptForwarder, Task};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The variable that names the interpreter.
const VARIABLE: &str = "CALIPERS_PYTHON";

/// Without the working folder, which may have a `calipers.py` of its own, on the path of modules.
macro_rules! without_folder {
    ($code:literal) => {
        concat!("import sys; sys.path[:1] = [place for place in sys.path[:1] if place]; ", $code)
    };
}
/// Prints the version of the package.
const ASK_VERSION: &str = without_folder!("import calipers; print(calipers.__version__)");
/// Runs the words that follow.
const RUN: &str = without_folder!("from calipers._command import main; main()");

/// A file with tasks in Python.
#[derive(Clone, Debug)]
pub struct PythonFile {
    /// The file.
    pub path: String,
    /// The task that is meant, if it is named.
    pub task: Option<String>,
    /// The parameters of the task.
    pub parameters: Vec<(String, Value)>,
}

/// Makes the task of a file in Python.
pub(crate) type PythonLoader<'a> = dyn Fn(&PythonFile) -> Result<Task, Fault> + 'a;

impl PythonFile {
    /// The task, if this process can make one.
    pub(super) fn load(&self, python: Option<&PythonLoader<'_>>) -> Result<Task, Failure> {
        let Some(load) = python else {
            let hint = "repeat the command that began the run, with `--resume` added: it names the file";
            return Err(Failure::new(format!("{} is code in Python, which does not run here", self.path)).hint(hint));
        };
        load(self).map_err(|Fault { what, place, hint }| {
            let failure = Failure::new(what).at(place.unwrap_or_else(|| format!("in {}", self.path)));
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }
}

impl Eval {
    /// True for a task in Python.
    pub(crate) fn is_python(&self) -> bool {
        self.task.as_deref().is_some_and(|task| setup::file_of(task).0.ends_with(".py"))
    }

    /// Hands the command over to Python. Returns the exit code.
    pub(crate) fn run_in_python(&self) -> u8 {
        let python = match find_interpreter() {
            Ok(python) => python,
            Err(failure) => return exit::code(Err(failure)),
        };
        let purpose = ChildPurpose {
            forwarder: Some(InterruptForwarder::start()),
            scripts: true,
            memory: None,
            python: Some((python, ["-c", RUN])),
        };
        let lost = || exit::code(Err(Failure::new("Python cannot be started")));
        run_in_child(&purpose).unwrap_or_else(lost)
    }
}

/// The interpreter that has the package: the one that is named, the one beside this program, or one on the path.
fn find_interpreter() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let beside = || {
        let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
        let names = if cfg!(windows) { ["python.exe", "..\\python.exe"] } else { ["python3", "python"] };
        let all = folder.into_iter().flat_map(move |folder| names.map(|name| folder.join(name)));
        all.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let candidates = match named {
        Some(named) => vec![named],
        None => beside().into_iter().chain(["python3", "python"].map(PathBuf::from)).collect(),
    };
    let mut without = None;
    let mut other = None;
    for python in candidates {
        match version_of_package(&python) {
            Some(Ok(version)) if version == env!("CARGO_PKG_VERSION") => return Ok(python),
            Some(Ok(version)) => other = other.or(Some((python, version))),
            Some(Err(())) => without = without.or(Some(python)),
            None => {}
        }
    }
    Err(match (other, without) {
        (Some((python, version)), _) => {
            let what =
                format!("the package `calipers` of {} is version {version}, and this is another", python.display());
            Failure::new(what)
                .hint(format!("install version {}: `pip install ./python` in its sources", env!("CARGO_PKG_VERSION")))
        }
        (None, Some(python)) => {
            let hint = format!(
                "install it with `pip install ./python` in the sources of Calipers, or name an interpreter that has it with `{VARIABLE}`"
            );
            let what =
                format!("tasks in Python need the package `calipers`, and {} does not have it", python.display());
            Failure::new(what).hint(hint)
        }
        (None, None) => {
            let hint = format!("install Python 3.10 or newer, or name an interpreter with `{VARIABLE}`");
            Failure::new("tasks in Python need Python, and none was found").hint(hint)
        }
    })
}

/// The version of the package that an interpreter has; nothing if there is no such interpreter.
fn version_of_package(python: &PathBuf) -> Option<Result<String, ()>> {
    let mut ask = Command::new(python);
    let asked = ask.args(["-c", ASK_VERSION]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    Some(if asked.status.success() { Ok(version) } else { Err(()) })
}
