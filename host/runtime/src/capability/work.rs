//! `work`: progress out, the wish to stop in. Every handler has it.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use crate::bindings::workhost::handler::types::StopReason as WitReason;
use crate::bindings::workhost::handler::work;
use crate::control::{Control, StopReason};
use crate::ended::checked_json;
use crate::sandbox::State;

/// What the attempt's calls of `work` reach.
pub(crate) struct WorkContext {
    control: Arc<Control>,
    progress_bytes: usize,
}

impl WorkContext {
    pub(crate) fn new(control: Arc<Control>, progress_bytes: usize) -> Self {
        WorkContext { control, progress_bytes }
    }
}

impl work::Host for WorkContext {
    async fn report_progress(&mut self, snapshot: String) -> wasmtime::Result<()> {
        self.control.alive()?;
        if let Some(snapshot) = checked_json("progress snapshot", Some(snapshot), self.progress_bytes)? {
            self.control.set_progress(snapshot.into())?;
        }
        Ok(())
    }

    async fn stop_requested(&mut self) -> wasmtime::Result<Option<WitReason>> {
        self.control.alive()?;
        Ok(self.control.stop_asked().map(|reason| match reason {
            StopReason::CancelRequested => WitReason::CancelRequested,
            StopReason::Shutdown => WitReason::Shutdown,
            StopReason::Deadline => WitReason::Deadline,
        }))
    }
}

pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    work::add_to_linker::<State, HasSelf<WorkContext>>(linker, |state| &mut state.work)
}
