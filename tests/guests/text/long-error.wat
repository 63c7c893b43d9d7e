;; Fails with 500 MB of words.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "failed" (func $failed (param i32 i32) (result i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (if (i32.eq (memory.grow (i32.const 8000)) (i32.const -1)) (then (unreachable)))
    (call $failed (i32.const 0) (i32.const 500000000))))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
