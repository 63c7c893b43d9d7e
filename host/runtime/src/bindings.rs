//! The contract of `wit/`, as Rust types: the base world and every capability.

#![allow(missing_docs, reason = "the contract's own comments stand in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package workhost:runtime;
        world sandbox {
            include workhost:handler/base@0.1.0;
            import workhost:handler/sql@0.1.0;
            import workhost:handler/queue@0.1.0;
            import workhost:handler/retention@0.1.0;
            import workhost:handler/config@0.1.0;
            import workhost:handler/secrets@0.1.0;
        }
    ",
    world: "workhost:runtime/sandbox",
    imports: { default: async | trappable },
    exports: { default: async },
});
