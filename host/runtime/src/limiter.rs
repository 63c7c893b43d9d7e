//! The brake on memory.

use wasmtime::ResourceLimiter;

use crate::limits::Limits;
use crate::text;

/// A limit was hit; the text names it (`memory limit of 64 MiB`).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LimitHit(pub(crate) String);

/// Counts memory and tables over a whole store, because a guest can have many of each.
///
/// A guest that wants too much is stopped there and then, so that the attempt ends with the limit's
/// name and not with whatever the guest does about it.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Account,
    elements: Account,
    instances: usize,
    tables: usize,
    memories: usize,
}

/// What is used of one limit.
#[derive(Debug)]
struct Account {
    limit: usize,
    used: usize,
    /// The newest growth, taken back if the engine could not carry it out.
    newest: usize,
}

impl Account {
    fn new(limit: usize) -> Self {
        Account { limit, used: 0, newest: 0 }
    }

    /// Whether this growth is possible at all; `Err` if it is too much for the attempt.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, ()> {
        self.newest = 0;
        if maximum.is_some_and(|maximum| maximum < self.limit && desired > maximum) {
            // The guest's own maximum: it is told, as the language of wasm has it. (A larger one may be
            // that of the pool, which is no less than the limit.)
            return Ok(false);
        }
        let growth = desired.saturating_sub(current);
        if growth > self.limit - self.used {
            return Err(());
        }
        self.used += growth;
        self.newest = growth;
        Ok(true)
    }

    fn take_back(&mut self) {
        self.used -= std::mem::take(&mut self.newest);
    }
}

impl Limiter {
    /// A limiter for one attempt that may use `memory_bytes` of memory.
    pub(crate) fn new(limits: &Limits, memory_bytes: usize) -> Self {
        Limiter {
            memory: Account::new(memory_bytes),
            elements: Account::new(limits.table_elements),
            instances: limits.core_instances as usize,
            tables: limits.tables as usize,
            memories: limits.memories as usize,
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let limit = self.memory.limit;
        let grown = self.memory.grow(current, desired, maximum);
        Ok(grown.map_err(|()| LimitHit(format!("memory limit of {}", text::size(limit))))?)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory.take_back();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let limit = self.elements.limit;
        let grown = self.elements.grow(current, desired, maximum);
        Ok(grown.map_err(|()| LimitHit(format!("limit of {limit} table elements")))?)
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.elements.take_back();
        Ok(())
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn memories(&self) -> usize {
        self.memories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn memories_count_together_and_the_limit_is_named() {
        let mut limiter = Limiter::new(&Limits::default(), 64 * MIB);
        assert!(limiter.memory_growing(0, 40 * MIB, None).unwrap());
        let error = limiter.memory_growing(0, 40 * MIB, None).unwrap_err();
        assert_eq!(error.downcast_ref::<LimitHit>().unwrap().0, "memory limit of 64 MiB");
        assert!(limiter.memory_growing(0, 24 * MIB, None).unwrap());
        assert!(limiter.memory_growing(24 * MIB, 24 * MIB + 1, None).is_err());
    }

    #[test]
    fn a_growth_that_was_not_carried_out_costs_nothing() {
        let mut limiter = Limiter::new(&Limits::default(), 64 * MIB);
        assert!(limiter.memory_growing(0, 60 * MIB, None).unwrap());
        limiter.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert!(!limiter.memory_growing(0, 60 * MIB, Some(MIB)).unwrap());
        limiter.memory_grow_failed(wasmtime::Error::msg("over its maximum")).unwrap();
        assert!(limiter.memory_growing(0, 60 * MIB, None).unwrap());
    }

    #[test]
    fn table_elements_count_together() {
        let mut limiter = Limiter::new(&Limits::default(), MIB);
        assert!(limiter.table_growing(0, 150_000, None).unwrap());
        assert!(limiter.table_growing(0, 50_001, None).is_err());
        let mut limiter = Limiter::new(&Limits::default(), MIB);
        assert!(limiter.table_growing(0, 150_000, None).unwrap());
        limiter.table_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert!(limiter.table_growing(0, 200_000, None).unwrap(), "what failed costs nothing");
    }
}
