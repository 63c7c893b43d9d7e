;; Makes a million resources of a type of its own.
(type $thing (resource (rep i32)))
(core func $new (canon resource.new $thing))
(core instance $things (export "new" (func $new)))
(core module $module
  (import "things" "new" (func $new (param i32) (result i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (local $made i32)
    (loop $again
      (drop (call $new (local.get $made)))
      (local.set $made (i32.add (local.get $made) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $made) (i32.const 1000000))))
    (unreachable)))
(core instance $case (instantiate $module (with "things" (instance $things))))
