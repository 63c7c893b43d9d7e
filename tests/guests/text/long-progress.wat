;; Reports 1 GiB of progress.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "report-progress" (func $progress (param i32 i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (if (i32.eq (memory.grow (i32.const 16400)) (i32.const -1)) (then (unreachable)))
    (call $progress (i32.const 0) (i32.const 0x40000000))
    (unreachable)))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
