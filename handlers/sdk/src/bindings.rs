//! The contract in `wit/`, as Rust.
//!
//! The world names every capability that this crate can call. What a handler does not call is dropped
//! when its component is linked, so that the component imports just what it uses.

#![allow(missing_docs, unreachable_pub)]

wit_bindgen::generate!({
    path: "../../wit",
    inline: "
        package workhost:sdk;

        world guest {
            include workhost:handler/base@0.1.0;
            import workhost:handler/sql@0.1.0;
            import workhost:handler/queue@0.1.0;
            import workhost:handler/retention@0.1.0;
            import workhost:handler/config@0.1.0;
            import workhost:handler/secrets@0.1.0;
        }
    ",
    world: "workhost:sdk/guest",
    pub_export_macro: true,
    default_bindings_module: "$crate::bindings",
    additional_derives: [PartialEq],
    generate_all,
});
