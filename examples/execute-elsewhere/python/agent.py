"""An Execution zone in one file, of Python's standard library alone: it answers execute_task at once."""
import hmac, json, os, signal, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = os.environ.get("AGENT_TOKEN") or sys.exit("Set AGENT_TOKEN to the token that callers must send.")
MAX_BYTES = 256 * 1024

def agent(task):  # Your own code: from the params of execute_task to the text of the answer.
    return f"Python read: {task['text']}"

def refusal(code, reason, id=None):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}}

def respond(body):
    try: request = json.loads(body.decode())
    except (ValueError, RecursionError): return refusal(-32700, "parse_error")
    match request:
        case {"jsonrpc": "2.0", "id": str() | int() as id, "method": str() as method} if type(id) is not bool: pass
        case _: return refusal(-32600, "invalid_request")
    match method, request.get("params"):
        case "execute_task", {"channel": str(), "text": str()} as task:
            try: return {"jsonrpc": "2.0", "id": id, "result": {"status": "success", "response_text": agent(task)}}
            except Exception as error: print("The agent failed:", type(error).__name__, file=sys.stderr)
            return refusal(-32064, "execution_failed", id)
        case "execute_task", _: return refusal(-32602, "invalid_params", id)
        case _: return refusal(-32601, "method_not_found", id)

class Zone(BaseHTTPRequestHandler):  # Speaks HTTP/1.0: each request has a connection of its own.
    timeout = 10

    def do_POST(self):
        length, sent = int(self.headers.get("content-length", 0)), self.headers.get("authorization", "")
        is_known = hmac.compare_digest(sent.encode(), f"Bearer {TOKEN}".encode())
        if not is_known: status, response = 401, refusal(-32066, "unauthenticated")
        elif not 0 <= length <= MAX_BYTES: status, response = 413, refusal(-32075, "payload_too_large")
        else: status, response = 200, respond(self.rfile.read(length))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("www-authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(json.dumps(response).encode())
        if status != 200: self.rfile.read(min(max(length, 0), 4 * MAX_BYTES))  # Or the caller meets a reset.

server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", 8080))), Zone)
server.daemon_threads = False  # After SIGTERM the answers under way are still given.
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
print("Listening on", *server.server_address, flush=True)
server.serve_forever()
