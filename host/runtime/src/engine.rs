//! The engine: how components are compiled and where their sandboxes lie.

use std::time::Duration;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::error::RuntimeError;
use crate::limits::Limits;

/// An engine whose epochs are ticking. The ticker ends when the engine's last user is gone.
pub(crate) fn start(limits: &Limits) -> Result<Engine, RuntimeError> {
    let engine = build(limits)?;
    tick(&engine, limits.epoch_tick)?;
    Ok(engine)
}

/// With a pool of sandboxes where the machine has the address space for one, without elsewhere.
fn build(limits: &Limits) -> Result<Engine, RuntimeError> {
    let mut pooled = config(limits);
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    match Engine::new(&pooled) {
        Ok(engine) => {
            tracing::debug!(attempts = limits.attempts, "sandboxes come from a pool");
            Ok(engine)
        }
        Err(reason) => {
            tracing::info!(
                reason = format!("{reason:#}"),
                "no address space for a pool of sandboxes: each attempt makes its own, a little slower"
            );
            let mut on_demand = config(limits);
            // What is short is address space, so take only what a memory needs, and move it when it grows.
            on_demand.memory_reservation(0).memory_reservation_for_growth(1 << 20).memory_may_move(true);
            Engine::new(&on_demand).map_err(|reason| RuntimeError::Engine { reason: format!("{reason:#}") })
        }
    }
}

fn config(limits: &Limits) -> Config {
    let mut config = Config::new();
    config
        // The brake on running code.
        .epoch_interruption(true)
        .wasm_component_model(true)
        // The contract's world is synchronous: none of the machinery for concurrent guests.
        .concurrency_support(false)
        // What no compiler of handlers needs is off, and so are its bugs.
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        // Several memories stay on: the engine's own adapters between the parts of a component have those of both.
        .max_wasm_stack(limits.wasm_stack_bytes)
        .async_stack_size(limits.attempt_stack_bytes)
        // 4 GiB of address space per memory, so that compiled code needs no bounds checks.
        .memory_reservation(4 << 30);
    config
}

/// Room for `limits.attempts` sandboxes that each use all they may, so that one that got its turn never
/// finds the pool empty.
fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(limits.attempts)
        .total_core_instances(limits.attempts * limits.core_instances)
        .total_memories(limits.attempts * limits.memories)
        .total_tables(limits.attempts * limits.tables)
        .total_stacks(limits.attempts)
        .max_core_instances_per_component(limits.core_instances)
        .max_memories_per_component(limits.memories)
        .max_tables_per_component(limits.tables)
        .max_tables_per_module(limits.tables)
        .table_elements(limits.table_elements)
        .max_memory_size(limits.max_memory_bytes)
        // Memory of an ended attempt goes back to the system: keeping it costs more than it saves.
        .linear_memory_keep_resident(0);
    pool
}

/// A plain thread counts epochs, since a runtime full of spinning guests could not.
fn tick(engine: &Engine, every: Duration) -> Result<(), RuntimeError> {
    let engine = engine.weak();
    std::thread::Builder::new()
        .name("workhost-epochs".into())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(every);
            }
        })
        .map_err(|error| RuntimeError::Thread { reason: error.to_string() })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_has_room_for_all_that_all_attempts_may_use() {
        let limits = Limits { attempts: 7, core_instances: 5, memories: 3, tables: 11, ..Limits::default() };
        let pool = format!("{:?}", pool(&limits));
        for (what, most) in [
            ("total_component_instances", 7),
            ("total_core_instances", 35),
            ("total_memories", 21),
            ("total_tables", 77),
            ("total_stacks", 7),
        ] {
            assert!(pool.contains(&format!("{what}: {most},")), "{what} is not {most}: {pool}");
        }
    }
}
