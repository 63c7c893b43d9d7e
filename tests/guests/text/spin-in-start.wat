;; Loops before it is started, but only where it finds a folder: `describe` is asked without grants, so it is let in.
(core module $module
  (import "frame" "memory" (memory 0))
  (import "frame" "get-directories" (func $directories (param i32)))
  (func $start
    (call $directories (i32.const 900))
    (if (i32.load (i32.const 904)) (then (loop $again (br $again)))))
  (start $start)
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (unreachable)))
(core instance $case (instantiate $module (with "frame" (instance $frame))))
