//! `log`: structured lines. Every handler has it.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use crate::bindings::workhost::handler::log::{self, Level};
use crate::control::Control;
use crate::output::Output;
use crate::sandbox::State;

/// What the attempt's calls of `log` reach.
pub(crate) struct LogContext {
    control: Arc<Control>,
    output: Arc<Output>,
}

impl LogContext {
    pub(crate) fn new(control: Arc<Control>, output: Arc<Output>) -> Self {
        LogContext { control, output }
    }
}

impl log::Host for LogContext {
    async fn log(&mut self, level: Level, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.control.alive()?;
        let level = match level {
            Level::Trace => tracing::Level::TRACE,
            Level::Debug => tracing::Level::DEBUG,
            Level::Info => tracing::Level::INFO,
            Level::Warn => tracing::Level::WARN,
            Level::Error => tracing::Level::ERROR,
        };
        self.output.log(level, &message, &fields);
        Ok(())
    }
}

pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    log::add_to_linker::<State, HasSelf<LogContext>>(linker, |state| &mut state.log)
}
