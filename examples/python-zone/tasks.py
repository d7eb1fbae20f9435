"""Runs the agent, and keeps the tasks of this process in memory."""
import hashlib
import json
import re
import sys
import threading
import time
import traceback
import unicodedata
import uuid

from agent import agent

MAX_RESULT_BYTES = 256 * 1024
MAX_PARTIAL_LENGTH = 12_000
MAX_RUNNING = 32
MAX_KEPT = 5000
KEEP_SECONDS = 6 * 3600
MAX_TASK_SECONDS = 3600
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Refusal(Exception):
    """Becomes a JSON-RPC error with this reason."""

    def __init__(self, reason, **data):
        super().__init__(reason)
        self.reason = reason
        self.data = data


class Stopped(Exception):
    """The task is canceled, or its time is over. The agent lets it pass."""


class Task:
    """One task. It ends once: the first of the agent's end, a cancel and the end of its time counts."""

    def __init__(self, content):
        self.id = str(uuid.uuid4())
        self.content = content
        self.answer = None
        self.failure = None
        self.ended_at = None
        self.is_running = True
        self._progress = {}
        self._news = 0
        self._told = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    # What the agent calls.

    def progress(self, *, text=None, percent=None, partial=None):
        """Each call replaces the text and the percent of the one before. `partial` is the whole answer as far as it is written."""
        given = {"text": text, "percent": percent, "partial_text": partial and partial[:MAX_PARTIAL_LENGTH]}
        with self._changed:
            before = {name: value for name, value in self._progress.items() if name == "partial_text"}
            self._progress = before | {name: value for name, value in given.items() if value is not None}
            self._news += 1
            self._changed.notify_all()

    def check(self):
        if self._stopped.is_set():
            raise Stopped

    def sleep(self, seconds):
        if self._stopped.wait(seconds):
            raise Stopped

    # What the zone calls.

    def end(self, *, answer=None, failure=None):
        with self._changed:
            if not self.has_ended():
                self.answer, self.failure, self.ended_at = answer, failure, time.monotonic()
                self._stopped.set()
                self._changed.notify_all()

    def has_ended(self):
        return self.ended_at is not None

    def wait_for_end(self, seconds):
        """Returns earlier once there are words of the answer, so that people can read along."""
        with self._changed:
            self._changed.wait_for(lambda: self.has_ended() or "partial_text" in self._progress, seconds)

    def wait_for_news(self, seconds):
        """Waits for something that the last read did not tell."""
        with self._changed:
            self._changed.wait_for(lambda: self.has_ended() or self._news != self._told, seconds)

    def read(self):
        with self._changed:
            self._told = self._news
            if self.failure is not None:
                raise Refusal(self.failure, task_id=self.id)
            if self.answer is not None:
                return {"status": "success", "response_text": self.answer}
            accepted = {"status": "accepted", "task_id": self.id, "poll_after_ms": 500}
            return accepted | ({"progress": self._progress} if self._progress else {})


class Tasks:
    def __init__(self):
        self._lock = threading.Lock()
        self._by_id = {}
        self._by_request = {}

    def start(self, request_id, params):
        """The same request again is the same task. A request id that is no UUID names no task."""
        key = request_id.lower() if isinstance(request_id, str) and UUID.fullmatch(request_id.lower()) else None
        content = digest_of(params)
        with self._lock:
            self._forget_old()
            if known := self._by_request.get(key):
                if known.content != content:
                    raise Refusal("already_exists")
                return known
            running = sum(task.is_running for task in self._by_id.values())
            if running >= MAX_RUNNING or len(self._by_id) >= MAX_KEPT:
                raise Refusal("rate_limited", retry_after_ms=1000)
            task = Task(content)
            self._by_id[task.id] = task
            if key is not None:
                self._by_request[key] = task
        seconds = min(params.get("timeout_ms") or MAX_TASK_SECONDS * 1000, MAX_TASK_SECONDS * 1000) / 1000
        threading.Thread(target=run, args=(task, params, seconds), daemon=True).start()
        return task

    def find(self, *, task_id=None, request_id=None):
        with self._lock:
            self._forget_old()
            task = self._by_request.get(request_id.lower()) if task_id is None else self._by_id.get(task_id)
        if task is None:
            raise Refusal("task_not_found")
        return task

    def _forget_old(self):
        before = time.monotonic() - KEEP_SECONDS
        for tasks in (self._by_id, self._by_request):
            for key in [key for key, task in tasks.items() if task.has_ended() and task.ended_at < before]:
                del tasks[key]


def digest_of(params):
    """What makes two requests with one id the same: signed addresses, history and the time left change by themselves."""
    names = ("channel", "text", "thread_ts", "user_id")
    files = [file.get("id") for file in params.get("attachments") or []]
    return hashlib.sha256(json.dumps([[params.get(name) or None for name in names], files]).encode()).digest()


def run(task, params, seconds):
    timer = threading.Timer(seconds, task.end, kwargs={"failure": "timeout"})
    timer.daemon = True
    timer.start()
    try:
        task.end(**outcome_of(agent(params, task)))
    except Stopped:
        task.end(failure="canceled")  # It has ended already, unless the agent raised this by itself.
    except Exception as error:
        # The text of an exception may hold what the user wrote, or a secret.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"The agent failed: {type(error).__name__} at {frame.filename}:{frame.lineno}", file=sys.stderr)
        task.end(failure="execution_failed")
    finally:
        timer.cancel()
        task.is_running = False


def outcome_of(answer):
    if not isinstance(answer, str) or not any(is_visible(character) for character in answer):
        print("The agent failed: it returned no text", file=sys.stderr)
        return {"failure": "execution_failed"}
    is_too_large = len(answer.encode(errors="replace")) > MAX_RESULT_BYTES
    return {"failure": "payload_too_large"} if is_too_large else {"answer": answer}


def is_visible(character):
    return not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf")
