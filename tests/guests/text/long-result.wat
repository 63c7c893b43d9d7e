;; Answers 1 GiB, out of memory that it was granted and has never touched.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "done" (func $done (param i32 i32) (result i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (if (i32.eq (memory.grow (i32.const 16400)) (i32.const -1)) (then (unreachable)))
    (call $done (i32.const 0) (i32.const 0x40000000))))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
