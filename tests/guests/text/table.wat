;; Lets a table grow for ever.
(core module $module
  (table $table 1 funcref)
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (loop $again
      (drop (table.grow $table (ref.null func) (i32.const 1000)))
      (br $again))
    (unreachable)))
(core instance $case (instantiate $module))
