//! Components, sandboxes and capabilities: the only crate that knows wasmtime.
