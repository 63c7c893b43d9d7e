;; Logs one line with 2,000 fields, of 1 MiB each since all of them are the same bytes.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "log" (func $log (param i32 i32 i32 i32 i32)))
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (local $at i32)
    (drop (memory.grow (i32.const 64)))
    (local.set $at (i32.const 0x200000))
    (loop $next
      (i32.store (local.get $at) (i32.const 0x100000))
      (i32.store offset=4 (local.get $at) (i32.const 0x80000))
      (i32.store offset=8 (local.get $at) (i32.const 0x100000))
      (i32.store offset=12 (local.get $at) (i32.const 0x80000))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 0x207d00))))
    (call $log (i32.const 2) (i32.const 1024) (i32.const 4) (i32.const 0x200000) (i32.const 2000))
    (unreachable)))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
