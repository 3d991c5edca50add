//! Calls into the libraries: without holding up other Python threads, open to Ctrl-C, and with panics as exceptions.

use crate::failure::Failure;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
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
        let _ = sender.send(catch(work));
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
    py.detach(|| catch(work)).map_err(|failure| failure.into_exception(py))
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
