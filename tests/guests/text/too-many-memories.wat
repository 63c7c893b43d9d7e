;; More memories than one attempt may have, empty ones.
(core module $more (memory 0))
(core instance (instantiate $more))
(core instance (instantiate $more))
(core instance (instantiate $more))
(core instance (instantiate $more))
(core module $module
  (func (export "run") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (unreachable)))
(core instance $case (instantiate $module))
