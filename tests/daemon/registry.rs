//! A registry that does not match its catalogue does not start.

use crate::harness::*;

on_both_stores! {
    async fn a_registry_that_does_not_match_does_not_start_and_all_is_told_at_once(w: Workshop) {
        let echo = component("guests/echo");
        let fail = component("guests/fail");
        w.configure(&format!(
            "[kinds.echo]\n[kinds.orphan]\n\n[[handlers]]\ncomponent = {echo:?}\n[[handlers]]\ncomponent = {echo:?}\n\
             [[handlers]]\ncomponent = {fail:?}\n"
        ));
        let said = w.run_refused(&["serve"]);
        assert!(said.contains("kinds.orphan") && said.contains("kind-without-handler"), "{said}");
        assert!(said.contains("kind `echo` has 2 handlers") && said.contains("kind-with-several-handlers"), "{said}");
        assert!(said.contains("runs kind `fail`, which the catalogue does not declare"), "{said}");
        assert!(said.contains("workhost.toml:") && said.contains("hint: ") && said.contains("3 findings"), "{said}");
        let validated = w.run_refused(&["validate"]);
        assert!(validated.contains("3 findings"), "{validated}");
    }

    async fn a_kind_without_a_handler_does_not_start(w: Workshop) {
        w.configure("[kinds.orphan]\n");
        assert!(w.run_refused(&["serve"]).contains("no component in [[handlers]] runs kind `orphan`"));
    }

    async fn an_import_that_is_not_granted_does_not_start_and_the_grant_is_named(w: Workshop) {
        w.configure(&guest("ungranted", ""));
        let said = w.run_refused(&["serve"]);
        assert!(said.contains("workhost:handler/sql") && said.contains("[handlers.sql"), "{said}");
    }

    async fn a_statement_that_the_database_refuses_does_not_start(w: Workshop) {
        w.configure(&format!(
            "[kinds.token-cleanup]\n[[handlers]]\ncomponent = {:?}\n[handlers.sql.delete-expired-tokens]\n\
             database = \"app\"\nstatement = \"delete from no_such_table where expires_at < $1\"\n",
            component("token-cleanup")
        ));
        let said = w.run_refused(&["serve"]);
        assert!(said.contains("delete-expired-tokens") && said.contains("no_such_table"), "{said}");
    }

    async fn a_periodic_payload_that_its_handler_refuses_does_not_start(w: Workshop) {
        w.configure(&guest("echo", "every = \"1h\"\npayload = { message = 5 }"));
        let said = w.run_refused(&["serve"]);
        assert!(said.contains("kinds.echo.payload") && said.contains("payload.message"), "{said}");
    }

    async fn a_valid_registry_validates(w: Workshop) {
        w.configure(&guest("echo", ""));
        assert!(w.run_ok(&["validate"]).contains("is valid"));
        assert!(w.run_ok(&["validate", "--format", "json"]).contains("\"valid\":true"));
    }
}
