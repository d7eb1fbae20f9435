"""An Execution zone with Python's standard library: token, bounded bodies, long tasks, progress, cancel, idempotency by request id."""
import hmac
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tasks import Refusal, Tasks

TOKEN = os.environ.get("AGENT_TOKEN", "")
MAX_BODY_BYTES = 256 * 1024
BODY_SECONDS = 10
# How long a first call waits for the end of its task before it answers `accepted`.
SYNC_SECONDS = 1

# Reason: number, HTTP status, whether the same request may come again, message.
REASONS = {
    "parse_error": (-32700, 200, False, "The request is not valid JSON."),
    "invalid_request": (-32600, 200, False, "The body is not a JSON-RPC 2.0 Request object."),
    "method_not_found": (-32601, 200, False, "There is no such method."),
    "invalid_params": (-32602, 200, False, "The params do not fit the method."),
    "timeout": (-32001, 200, False, "The task took longer than it was given."),
    "task_not_found": (-32061, 200, False, "The task was not found. It was never known, or has expired."),
    "invalid_state": (-32063, 200, False, "The task's state does not allow that."),
    "execution_failed": (-32064, 200, False, "The agent ran and failed."),
    "unauthenticated": (-32066, 401, False, "The caller could not be authenticated."),
    "already_exists": (-32068, 200, False, "The same id was used before with other content."),
    "rate_limited": (-32070, 429, True, "Too many requests; try again later."),
    "unavailable": (-32071, 200, True, "The service is not available; try again later."),
    "payload_too_large": (-32075, 200, False, "The body is larger than allowed."),
    "canceled": (-32076, 200, False, "The task was canceled."),
}

tasks = Tasks()


def is_integer(value, least, most):
    return type(value) is int and least <= value <= most


def is_text(value, least, most):
    return isinstance(value, str) and least <= len(value) <= most


class Params:
    """Reads the params of one request. The error names what does not fit, but not its value. `null` and "" count as absent."""

    def __init__(self, params):
        if not isinstance(params, dict):
            raise Refusal("invalid_params")
        self.given = {name: value for name, value in params.items() if value is not None and value != ""}

    def refuse(self, name, message):
        raise Refusal("invalid_params", issues=[{"path": name, "message": message}])

    def text(self, name, most):
        if name in self.given and not is_text(self.given[name], 1, most):
            self.refuse(name, f"a text of 1 to {most} characters")
        return self.given.get(name)

    def integer(self, name, least, most):
        if name in self.given and not is_integer(self.given[name], least, most):
            self.refuse(name, f"an integer from {least} to {most}")
        return self.given.get(name)

    def objects(self, name, most):
        entries = self.given.get(name, [])
        if not isinstance(entries, list) or len(entries) > most or not all(isinstance(one, dict) for one in entries):
            self.refuse(name, f"up to {most} objects")
        return entries


def read_task(given):
    """Checks the params of execute_task that are used here, and keeps the others as they are. See docs/reference/contract.md."""
    params = Params(given)
    files = params.objects("attachments", 20)
    params.objects("history", 50)
    for name, most in [("channel", 64), ("thread_ts", 64), ("team_id", 64), ("user_id", 64), ("correlation_id", 128)]:
        params.text(name, most)
    params.integer("timeout_ms", 1, 2**53)
    if params.text("text", 40_000) is None and not (files and given.get("text") == ""):
        params.refuse("text", "a text of 1 to 40000 characters, or an empty one with attachments")
    return {"text": ""} | params.given


def find_task(params):
    task_id, request_id = params.text("task_id", 256), params.text("request_id", 128)
    if (task_id is None) == (request_id is None):
        params.refuse("task_id", "either task_id or request_id")
    return tasks.find(task_id=task_id, request_id=request_id)


def execute_task(request_id, given):
    task = tasks.start(request_id, read_task(given))
    task.wait_for_end(SYNC_SECONDS)
    return task.read()


def get_task(_request_id, given):
    params = Params(given)
    wait_ms = params.integer("wait_ms", 0, 25_000) or 0
    task = find_task(params)
    task.wait_for_news(wait_ms / 1000)
    return task.read()


def cancel_task(_request_id, given):
    task = find_task(Params(given))
    task.end(failure="canceled")
    if task.failure != "canceled":
        state = "failed" if task.failure else "completed"
        raise Refusal("invalid_state", task_id=task.id, current=state, target="canceled")
    return {"status": "canceled", "task_id": task.id}


METHODS = {"execute_task": execute_task, "get_task": get_task, "cancel_task": cancel_task}


class RepeatedKey(Exception):
    pass


def unique(members):
    """Readers of JSON differ on a key that an object has twice, so such a request could mean two things."""
    if len(dict(members)) < len(members):
        raise RepeatedKey
    return dict(members)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def error_response(refusal, request_id=None):
    """The HTTP status, and the response."""
    code, status, retryable, message = REASONS[refusal.reason]
    data = {"reason": refusal.reason, "retryable": retryable} | refusal.data
    return status, {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message, "data": data}}


def is_request(json):
    if not isinstance(json, dict) or json.get("jsonrpc") != "2.0" or not isinstance(json.get("method"), str):
        return False
    return is_text(json.get("id"), 1, 128) or type(json.get("id")) is int


def respond(body):
    try:
        request = json.loads(body.decode(), object_pairs_hook=unique, parse_constant=refuse_constant)
    except RepeatedKey:
        return error_response(Refusal("invalid_request"))
    except (ValueError, RecursionError):
        return error_response(Refusal("parse_error"))
    if not is_request(request):
        return error_response(Refusal("invalid_request"))
    request_id, name = request["id"], request["method"]
    try:
        if name not in METHODS:
            raise Refusal("method_not_found")
        return 200, {"jsonrpc": "2.0", "id": request_id, "result": METHODS[name](request_id, request.get("params"))}
    except Refusal as refusal:
        return error_response(refusal, request_id)


class Zone(BaseHTTPRequestHandler):
    """Speaks HTTP/1.0: each request has a connection of its own."""

    timeout = BODY_SECONDS

    def do_GET(self):
        self.send(200 if self.path == "/healthz" else 405, b"")

    def do_POST(self):
        if self.path.partition("?")[0] != "/":
            return self.send(404, b"")
        unread = self.length()
        try:
            if not self.is_known():
                raise Refusal("unauthenticated")
            if unread is None:
                raise Refusal("invalid_request")
            if unread > MAX_BODY_BYTES:
                raise Refusal("payload_too_large")
            body, unread = self.read_body(unread), 0
            status, response = respond(body)
        except Refusal as refusal:
            status, response = error_response(refusal)
        # Half a character, which JSON can hold, becomes a question mark.
        self.send(status, json.dumps(response, ensure_ascii=False).encode(errors="replace"))
        if unread:
            self.rfile.read(min(unread, 1024 * 1024))  # If it stays unread, the caller gets a reset in place of the answer.

    def is_known(self):
        """Compares in constant time, so that the time says nothing about the token."""
        given = self.headers.get_all("authorization", [])
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), f"Bearer {TOKEN}".encode())

    def length(self):
        """None if it is not known: Python's server does not read chunked bodies."""
        digits = self.headers.get("content-length", "")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20
        return int(digits) if is_number and "transfer-encoding" not in self.headers else None

    def read_body(self, length):
        """`timeout` limits the wait for each piece; this limits all of it."""
        until = time.monotonic() + BODY_SECONDS
        body = bytearray()
        while len(body) < length:
            try:
                piece = self.rfile.read1(length - len(body))
            except TimeoutError:
                piece = b""
            if not piece or time.monotonic() > until:
                raise Refusal("unavailable")
            body += piece
        return bytes(body)

    def send(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if status == 401:
            self.send_header("www-authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False  # Calls under way are answered before the process ends.
    request_queue_size = 128

    def handle_error(self, *_):
        """A caller that hangs up is no error of this zone."""
        error = sys.exception()
        if not isinstance(error, (ConnectionError, TimeoutError)):
            print("A request failed:", type(error).__name__, file=sys.stderr)


def main():
    if len(TOKEN) < 20:
        sys.exit("Set AGENT_TOKEN to the token that callers must send, of 20 characters or more (openssl rand -hex 32).")
    server = Server((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080"))), Zone)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: threading.Thread(target=server.shutdown).start())
    print("Listening on", *server.server_address, flush=True)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    main()
