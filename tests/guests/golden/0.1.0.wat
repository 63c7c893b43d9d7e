;; A handler built against workhost:handler 0.1.0, with every interface of that version and every type in it. It reports
;; its payload as progress and answers it. Never changed once the version is out: a host that cannot run it has broken
;; its word.
(component
  (import "workhost:handler/work@0.1.0" (instance $work
    (type $reason' (enum "cancel-requested" "shutdown" "deadline"))
    (export "stop-reason" (type $reason (eq $reason')))
    (export "report-progress" (func (param "snapshot" string)))
    (export "stop-requested" (func (result (option $reason))))))
  (import "workhost:handler/log@0.1.0" (instance $log
    (type $level' (enum "trace" "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level')))
    (export "log" (func (param "level" $level) (param "message" string) (param "fields" (list (tuple string string)))))))
  (import "workhost:handler/sql@0.1.0" (instance $sql
    (type $value' (variant (case "null") (case "boolean" bool) (case "integer" s64) (case "float" f64) (case "text" string)
      (case "bytes" (list u8)) (case "timestamp" s64) (case "uuid" string) (case "json" string)))
    (export "value" (type $value (eq $value')))
    (type $rows' (record (field "columns" (list string)) (field "rows" (list (list $value)))))
    (export "rows" (type $rows (eq $rows')))
    (type $error' (variant (case "not-granted" string) (case "invalid" string) (case "refused" string)
      (case "unavailable" string) (case "too-large" string)))
    (export "sql-error" (type $error (eq $error')))
    (export "execute" (func (param "statement" string) (param "params" (list $value)) (result (result u64 (error $error)))))
    (export "query" (func (param "statement" string) (param "params" (list $value)) (result (result $rows (error $error)))))))
  (import "workhost:handler/retention@0.1.0" (instance $retention
    (export "delete-finished" (func (param "older-than-days" u32) (result (result u64 (error string)))))))

  (core module $memory'
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 65536))
    ;; Whatever is allocated lies behind what was before.
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $next)
      (global.set $next
        (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8)))))
  (core instance $memory (instantiate $memory'))
  (core func $report (canon lower (func $work "report-progress") (memory (core memory $memory "memory"))))
  (core instance $lowered (export "report-progress" (func $report)))

  (core module $main'
    (import "memory" "memory" (memory 0))
    (import "work" "report-progress" (func $report (param i32 i32)))
    (data (i32.const 16) "goldenanswers its payload{}")
    ;; The one description: kind, summary and schema, each a place and a length.
    (data (i32.const 64) "\10\00\00\00\06\00\00\00" "\16\00\00\00\13\00\00\00" "\29\00\00\00\02\00\00\00")
    (func (export "describe") (result i32)
      (i32.store (i32.const 96) (i32.const 64))
      (i32.store (i32.const 100) (i32.const 1))
      (i32.const 96))
    (func (export "run")
      (param $id i64) (param $kind i32) (param $kind_length i32)
      (param $has_scope i32) (param $scope i32) (param $scope_length i32)
      (param $attempt i32) (param $payload i32) (param $payload_length i32)
      (param $resumes i32) (param $progress i32) (param $progress_length i32) (result i32)
      (call $report (local.get $payload) (local.get $payload_length))
      ;; ok, done, some: the payload.
      (i32.store (i32.const 128) (i32.const 0))
      (i32.store (i32.const 132) (i32.const 0))
      (i32.store (i32.const 136) (i32.const 1))
      (i32.store (i32.const 140) (local.get $payload))
      (i32.store (i32.const 144) (local.get $payload_length))
      (i32.const 128)))
  (core instance $main (instantiate $main' (with "memory" (instance $memory)) (with "work" (instance $lowered))))

  (type $kind' (record (field "kind" string) (field "summary" string) (field "payload-schema" string)))
  (type $item' (record (field "id" u64) (field "kind" string) (field "scope" (option string)) (field "attempt" u32)
    (field "payload" string) (field "resume-from" (option string))))
  (type $ending' (variant (case "done" (option string)) (case "stopped" (option string))))
  (type $failure' (record (field "message" string) (field "permanent" bool)))
  (func $describe (result (list $kind'))
    (canon lift (core func $main "describe")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
  (func $run (param "item" $item') (result (result $ending' (error $failure')))
    (canon lift (core func $main "run")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
  ;; Gives the types the names that the interface has for them.
  (component $named
    (type $kind' (record (field "kind" string) (field "summary" string) (field "payload-schema" string)))
    (type $item' (record (field "id" u64) (field "kind" string) (field "scope" (option string)) (field "attempt" u32)
      (field "payload" string) (field "resume-from" (option string))))
    (type $ending' (variant (case "done" (option string)) (case "stopped" (option string))))
    (type $failure' (record (field "message" string) (field "permanent" bool)))
    (import "kind" (type $kind (eq $kind')))
    (import "item" (type $item (eq $item')))
    (import "ending" (type $ending (eq $ending')))
    (import "failure" (type $failure (eq $failure')))
    (import "describe" (func $describe (result (list $kind))))
    (import "run" (func $run (param "item" $item) (result (result $ending (error $failure)))))
    (export $named-kind "kind-description" (type $kind))
    (export $named-item "work-item" (type $item))
    (export $named-ending "ending" (type $ending))
    (export $named-failure "failure" (type $failure))
    (export "describe" (func $describe) (func (result (list $named-kind))))
    (export "run" (func $run)
      (func (param "item" $named-item) (result (result $named-ending (error $named-failure))))))
  (instance $handler (instantiate $named
    (with "kind" (type $kind')) (with "item" (type $item')) (with "ending" (type $ending'))
    (with "failure" (type $failure')) (with "describe" (func $describe)) (with "run" (func $run))))
  (export "workhost:handler/handler@0.1.0" (instance $handler)))
