"""An Execution zone in one file, of Python's standard library alone: it answers execute_task at once."""
import hmac, http.server, json, os, signal, sys, threading

TOKEN = os.environ.get("AGENT_TOKEN") or sys.exit("Set AGENT_TOKEN to the token that callers must send.")

def agent(task):  # Your own code: from the params of execute_task to the text of the answer.
    return f"Python read: {task['text']}"

def refusal(code, reason, id=None):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}}

BAD = refusal(-32600, "invalid_request")
REFUSALS = {400: BAD, 401: refusal(-32066, "unauthenticated"), 413: refusal(-32075, "payload_too_large")}

def unique(members):  # Readers of JSON differ on a key that an object has twice.
    if len(dict(members)) < len(members): raise KeyError
    return dict(members)

def respond(body):
    try:
        match request := json.loads(body.decode(), object_pairs_hook=unique):
            case {"jsonrpc": "2.0", "id": str() | int() as id, "method": str() as method} if type(id) is not bool:
                return answer(id, method, request.get("params"))
        return BAD
    except KeyError: return BAD
    except (ValueError, RecursionError): return refusal(-32700, "parse_error")

def answer(id, name, params):
    match name, params:
        case "execute_task", {"text": str()} as task if isinstance(task.get("channel"), str | None):
            try:
                return {"jsonrpc": "2.0", "id": id, "result": {"status": "success", "response_text": agent(task)}}
            except Exception as error: print("The agent failed:", type(error).__name__, file=sys.stderr)
            return refusal(-32064, "execution_failed", id)
    return refusal(-32602, "invalid_params", id) if name == "execute_task" else refusal(-32601, "method_not_found", id)

class Zone(http.server.BaseHTTPRequestHandler):  # Speaks HTTP/1.0: each request has a connection of its own.
    timeout = 10

    def do_POST(self):
        is_known = hmac.compare_digest(self.headers.get("authorization", "").encode(), f"Bearer {TOKEN}".encode())
        digits = self.headers.get("content-length", "0")
        length = int(digits) if digits.isdecimal() and len(digits) < 20 else -1
        status = 401 if not is_known else 400 if length < 0 else 200 if length <= 256 * 1024 else 413
        response = REFUSALS.get(status) or respond(self.rfile.read(length))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("www-authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(json.dumps(response).encode())
        self.rfile.read(0 if status == 200 else min(max(length, 0), 1024 * 1024))  # Unread, the caller meets a reset.

server = http.server.ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", 8080))), Zone)
server.daemon_threads = False  # After SIGTERM the answers under way are still given.
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print("Listening on", *server.server_address, flush=True)
server.serve_forever()
