;; Fails with 15 MiB of control codes, which the host lets in and has to write out for people.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "failed" (func $failed (param i32 i32) (result i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 250)))
    (memory.fill (i32.const 0x10000) (i32.const 1) (i32.const 0xf00000))
    (call $failed (i32.const 0x10000) (i32.const 0xf00000))))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
