//! Calls into the libraries: without holding up other Python threads, open to Ctrl-C, and with panics as exceptions.

use crate::failure::Failure;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);
/// After so many signals, work that was asked to stop is left alone.
const STOPS_MAX: usize = 3;

/// Does work that calls no Python code. Other Python threads run meanwhile, and a signal such as Ctrl-C ends the wait; the work
/// then comes to its end unseen.
pub(crate) fn compute<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    wait_for(py, work, |_| false)
}

/// The same for work that can be asked to stop. It is then waited for, and its end is an interrupt.
pub(crate) fn compute_until_stopped<T: Send + 'static>(
    py: Python<'_>,
    stop: impl Fn(),
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    wait_for(py, work, |requests| {
        stop();
        requests < STOPS_MAX
    })
}

/// Waits for work in another thread. A signal ends the wait unless `goes_on` says, of the number of signals so far, to wait on.
fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    goes_on: impl Fn(usize) -> bool,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let worker = std::thread::Builder::new().name("calipers".to_owned()).spawn(move || {
        // If the caller is gone, the answer is of no use.
        let _ = sender.send(in_this_process(work));
    });
    if let Err(error) = worker {
        return Err(Failure::bug(&format!("no thread could be started: {error}")).into_exception(py));
    }
    let receiver = Mutex::new(receiver);
    let mut interrupt: Option<PyErr> = None;
    let mut signals = 0;
    loop {
        let answer = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
        match answer {
            Ok(answer) => {
                let answer = answer.map_err(|failure| failure.into_exception(py));
                return interrupt.map_or(answer, Err);
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals() {
                    signals += 1;
                    if !goes_on(signals) {
                        return Err(error);
                    }
                    interrupt = Some(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::bug("a thread ended without an answer").into_exception(py));
            }
        }
    }
}

/// Does work that may call Python code, such as custom metrics, in the thread of the caller.
pub(crate) fn compute_here<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    py.detach(|| in_this_process(work)).map_err(|failure| failure.into_exception(py))
}

/// The process that has loaded the library.
static FIRST_PROCESS: OnceLock<u32> = OnceLock::new();
/// The threads of a process that was forked from it.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers this process as the one whose threads work is shared among.
pub(crate) fn remember_process() {
    FIRST_PROCESS.get_or_init(std::process::id);
}

/// Does work with threads of this process. One that was forked has none of the threads of its parent, and work that is shared among those
/// would never end.
fn in_this_process<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    let process = std::process::id();
    if FIRST_PROCESS.get().is_none_or(|first| *first == process) {
        return catch(work);
    }
    let pool = {
        let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*forked {
            Some((owner, pool)) if *owner == process => pool.clone(),
            _ => {
                let pool = ThreadPoolBuilder::new().build();
                let pool = pool.map_err(|error| Failure::bug(&format!("no threads could be started: {error}")))?;
                let pool = Arc::new(pool);
                // Threads of a parent are not there to be ended.
                std::mem::forget(forked.replace((process, pool.clone())));
                pool
            }
        }
    };
    pool.install(|| catch(work))
}

/// Does quick work that holds Python. A panic in it, too, is an exception of ours.
pub(crate) fn guard<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch(|| work().map_err(Failure::from)).map_err(|failure| failure.into_exception(py))
}

fn catch<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::bug(&words(&*panic))))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "something panicked".to_owned())
}

/// Panics, to show what becomes of a panic. Only builds for tests have it.
#[cfg(feature = "shared")]
#[pyfunction]
pub(crate) fn panic_on_purpose(py: Python<'_>) -> PyResult<()> {
    compute(py, || panic!("on purpose"))
}
