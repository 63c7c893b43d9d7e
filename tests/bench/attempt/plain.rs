//! Plain wasmtime: a pooled instance and a call, without epochs, limits, capture or cancellation.

use std::path::Path;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use workhost_runtime::Job;

use bindings::exports::workhost::handler::handler::WorkItem;
use bindings::workhost::handler::types::StopReason;
use bindings::workhost::handler::{log, work};
use bindings::{Base, BasePre};

mod bindings {
    #![allow(missing_docs, reason = "the contract's own comments stand in wit/")]
    wasmtime::component::bindgen!({ path: "../../wit", world: "base" });
}

/// A component, ready to be instantiated.
pub(crate) struct Plain {
    engine: Engine,
    pre: BasePre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl work::Host for State {
    fn report_progress(&mut self, _: String) {}

    fn stop_requested(&mut self) -> Option<StopReason> {
        None
    }
}

impl log::Host for State {
    fn log(&mut self, _: log::Level, _: String, _: Vec<(String, String)>) {}
}

impl bindings::workhost::handler::types::Host for State {}

impl Plain {
    pub(crate) fn load(component: &Path) -> Plain {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(PoolingAllocationConfig::new()));
        let engine = Engine::new(&config).unwrap();
        let component = Component::from_file(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        Base::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        Plain { pre: BasePre::new(linker.instantiate_pre(&component).unwrap()).unwrap(), engine }
    }

    /// The time of one instance and one call.
    pub(crate) fn attempts(&mut self, job: &Job, attempts: u32) -> Duration {
        let begun = Instant::now();
        for _ in 0..attempts {
            let state = State { wasi: WasiCtxBuilder::new().build(), table: ResourceTable::new() };
            let mut store = Store::new(&self.engine, state);
            let guest = self.pre.instantiate(&mut store).unwrap();
            let item = WorkItem {
                id: job.id,
                kind: job.kind.clone(),
                scope: job.scope.clone(),
                attempt: job.attempt,
                payload: job.payload.clone(),
                resume_from: job.resume_from.clone(),
            };
            guest.workhost_handler_handler().call_run(&mut store, &item).unwrap().unwrap();
        }
        begun.elapsed() / attempts
    }
}
