;; Loops before it is started, in `describe` too.
(core module $module
  (func $start (loop $again (br $again)))
  (start $start)
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (unreachable)))
(core instance $case (instantiate $module))
