;; Two more memories that are just under the limit of 64 MiB from the start.
(core module $more (memory 1000))
(core instance $one (instantiate $more))
(core instance $two (instantiate $more))
(core module $module
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (unreachable)))
(core instance $case (instantiate $module))
