//! The program, as people run it.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod baseline;
mod cli;
mod compare;
mod convert;
mod eval;
mod eval_hostile;
mod eval_kill;
mod eval_server;
mod evaluation;
mod forms;
mod gate;
mod golden;
mod guide;
mod inspect;
mod metrics;
mod plan;
mod policy_check;
mod policy_schema;
mod program;
mod report;
mod schema;
mod scripts;
mod seed;
mod shown;
mod support_agent;
