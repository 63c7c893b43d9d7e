"""Tries what a language runtime drags in and nobody granted: environment, files, network."""

import json
import os
import socket

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log, types


def refusal(attempt):
    """What an attempt is answered, or what it found."""
    try:
        return {"found": attempt()}
    except Exception as error:
        return {"refused": type(error).__name__}


class Handler(exports.Handler):
    def describe(self):
        schema = {"type": "object", "required": ["message"]}
        return [types.KindDescription("probe-python", "Tries what it was not granted.", json.dumps(schema))]

    def run(self, item):
        message = json.loads(item.payload)["message"]
        if message == "fail":
            raise Err(types.Failure("it was told to fail", True))
        log.log(log.Level.INFO, "probing", [("attempt", str(item.attempt))])
        return types.Ending_Done(json.dumps({
            "message": message,
            "environment": dict(os.environ),
            "files": refusal(lambda: os.listdir("/")),
            "written": refusal(lambda: open("/tmp/probe", "w").write("x")),
            "network": refusal(lambda: str(socket.create_connection(("127.0.0.1", 80), 1))),
        }))
