;; Logs lines with 15 MiB of control codes in a field, for ever.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "log" (func $log (param i32 i32 i32 i32 i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 250)))
    (memory.fill (i32.const 0x10000) (i32.const 1) (i32.const 0xf00000))
    (i64.store (i32.const 2048) (i64.const 0x400000400))
    (i64.store (i32.const 2056) (i64.const 0xf0000000010000))
    (loop $again
      (call $log (i32.const 2) (i32.const 1024) (i32.const 4) (i32.const 2048) (i32.const 1))
      (br $again))
    (unreachable)))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
