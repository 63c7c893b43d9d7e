;; A table of four billion elements from the start.
(core module $module
  (table 4000000000 funcref)
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (unreachable)))
(core instance $case (instantiate $module))
