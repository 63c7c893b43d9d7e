;; What the guests in this folder have in common. A guest is a file of component fields that ends in a core
;; instance `$case`, which exports `run`, and its own `realloc` and `post-return` where these are the case. The
;; words in capitals stand for the guest, for the name and schema of its kind, and for more imports; the tests put
;; them in.
;;
;; The core instance `$frame` has what a guest may import: the memory, `done` and `failed` (they build an answer
;; out of a text), and host functions as the canonical ABI lowers them.
(component
  (import "workhost:handler/work@0.1.0" (instance $work
    (export "report-progress" (func (param "snapshot" string)))))
  (import "workhost:handler/log@0.1.0" (instance $log
    (type $level' (enum "trace" "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level')))
    (export "log" (func (param "level" $level) (param "message" string)
      (param "fields" (list (tuple string string)))))))
  (import "wasi:filesystem/types@0.2.6" (instance $filesystem (export "descriptor" (type (sub resource)))))
  (alias export $filesystem "descriptor" (type $descriptor))
  (import "wasi:filesystem/preopens@0.2.6" (instance $preopens
    (alias outer 1 $descriptor (type $folder))
    (export "get-directories" (func (result (list (tuple (own $folder) string)))))))

  IMPORTS

  ;; From 64 KiB on, what the host sends in; below that, what guests and this frame send out.
  (core module $memory'
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 65536))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $next)
      (global.set $next
        (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8)))))
  (core instance $memory (instantiate $memory'))
  (alias core export $memory "memory" (core memory $bytes))
  (alias core export $memory "realloc" (core func $realloc))

  (core module $answers'
    (import "memory" "memory" (memory 0))
    (data (i32.const 1024) "KINDSCHEMA")
    (func (export "describe") (result i32)
      (i32.store (i32.const 512) (i32.const 1024)) (i32.store (i32.const 516) (i32.const LENGTH))
      (i32.store (i32.const 520) (i32.const 1024)) (i32.store (i32.const 524) (i32.const LENGTH))
      (i32.store (i32.const 528) (i32.add (i32.const 1024) (i32.const LENGTH)))
      (i32.store (i32.const 532) (i32.const BYTES))
      (i32.store (i32.const 504) (i32.const 512)) (i32.store (i32.const 508) (i32.const 1))
      (i32.const 504))
    (func (export "done") (param $at i32) (param $length i32) (result i32)
      (i64.store (i32.const 600) (i64.const 0))
      (i32.store (i32.const 608) (i32.const 1))
      (i32.store (i32.const 612) (local.get $at)) (i32.store (i32.const 616) (local.get $length))
      (i32.const 600))
    (func (export "failed") (param $at i32) (param $length i32) (result i32)
      (i32.store (i32.const 600) (i32.const 1))
      (i32.store (i32.const 604) (local.get $at)) (i32.store (i32.const 608) (local.get $length))
      (i32.store (i32.const 612) (i32.const 0))
      (i32.const 600)))
  (core instance $answers (instantiate $answers' (with "memory" (instance $memory))))

  (core func $progress (canon lower (func $work "report-progress") (memory $bytes)))
  (core func $log-line (canon lower (func $log "log") (memory $bytes)))
  (core func $directories
    (canon lower (func $preopens "get-directories") (memory $bytes) (realloc $realloc)))
  (core instance $frame
    (export "memory" (memory $bytes))
    (export "done" (func $answers "done"))
    (export "failed" (func $answers "failed"))
    (export "report-progress" (func $progress))
    (export "log" (func $log-line))
    (export "get-directories" (func $directories)))

  CASE

  (type $kind' (record (field "kind" string) (field "summary" string) (field "payload-schema" string)))
  (type $item' (record (field "id" u64) (field "kind" string) (field "scope" (option string))
    (field "attempt" u32) (field "payload" string) (field "resume-from" (option string))))
  (type $ending' (variant (case "done" (option string)) (case "stopped" (option string))))
  (type $failure' (record (field "message" string) (field "permanent" bool)))
  (func $describe (result (list $kind'))
    (canon lift (core func $answers "describe") (memory $bytes) (realloc $realloc)))
  (func $run (param "item" $item') (result (result $ending' (error $failure')))
    (canon lift (core func $case "run") (memory $bytes) OPTIONS))
  (component $named
    (type $kind' (record (field "kind" string) (field "summary" string) (field "payload-schema" string)))
    (type $item' (record (field "id" u64) (field "kind" string) (field "scope" (option string))
      (field "attempt" u32) (field "payload" string) (field "resume-from" (option string))))
    (type $ending' (variant (case "done" (option string)) (case "stopped" (option string))))
    (type $failure' (record (field "message" string) (field "permanent" bool)))
    (import "k" (type $kind (eq $kind')))
    (import "i" (type $item (eq $item')))
    (import "e" (type $ending (eq $ending')))
    (import "f" (type $failure (eq $failure')))
    (import "describe" (func $describe (result (list $kind))))
    (import "run" (func $run (param "item" $item) (result (result $ending (error $failure)))))
    (export $kind-x "kind-description" (type $kind))
    (export $item-x "work-item" (type $item))
    (export $ending-x "ending" (type $ending))
    (export $failure-x "failure" (type $failure))
    (export "describe" (func $describe) (func (result (list $kind-x))))
    (export "run" (func $run)
      (func (param "item" $item-x) (result (result $ending-x (error $failure-x))))))
  (instance $handler (instantiate $named
    (with "k" (type $kind')) (with "i" (type $item')) (with "e" (type $ending')) (with "f" (type $failure'))
    (with "describe" (func $describe)) (with "run" (func $run))))
  (export "workhost:handler/handler@0.1.0" (instance $handler)))
