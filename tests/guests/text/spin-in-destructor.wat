;; Drops a resource of a type of its own, whose destructor loops.
(core module $destructor
  (func (export "drop") (param i32) (loop $again (br $again))))
(core instance $drops (instantiate $destructor))
(type $thing (resource (rep i32) (dtor (core func $drops "drop"))))
(core func $new (canon resource.new $thing))
(core func $drop (canon resource.drop $thing))
(core instance $things (export "new" (func $new)) (export "drop" (func $drop)))
(core module $module
  (import "things" "new" (func $new (param i32) (result i32)))
  (import "things" "drop" (func $drop (param i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (call $drop (call $new (i32.const 7)))
    (unreachable)))
(core instance $case (instantiate $module (with "things" (instance $things))))
