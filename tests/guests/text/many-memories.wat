;; Three more memories, each of which grows to just under the limit of 64 MiB.
(core module $more
  (memory 0)
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
(core instance $one (instantiate $more))
(core instance $two (instantiate $more))
(core instance $three (instantiate $more))
(core module $module
  (import "one" "grow" (func $one (param i32) (result i32)))
  (import "two" "grow" (func $two (param i32) (result i32)))
  (import "three" "grow" (func $three (param i32) (result i32)))
  (import "frame" "done" (func $done (param i32 i32) (result i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $one (i32.const 1000)))
    (drop (call $two (i32.const 1000)))
    (drop (call $three (i32.const 1000)))
    (call $done (local.get 7) (local.get 8))))
(core instance $case (instantiate $module
  (with "frame" (instance $frame))
  (with "one" (instance $one)) (with "two" (instance $two)) (with "three" (instance $three))))
