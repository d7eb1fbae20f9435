import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createLiveStream } from "../../../lib/local/console/tasks/live-stream.ts";
import type { TaskListUpdate } from "../../../lib/local/console/tasks/live-tasks.ts";

function start() {
  const listeners = new Set<(news: TaskListUpdate) => void>();
  const stream = createLiveStream({
    live: {
      watch(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      close() {},
    },
  });
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  return { listeners, stream, response };
}

describe("the stream of a session", () => {
  it("ends at once where the session ended before it began", () => {
    const { listeners, stream, response } = start();
    stream.open(response, { endsInMs: 300_000, ended: AbortSignal.abort() });
    expect([response.writableEnded, listeners.size]).toEqual([true, 0]);
  });

  it("ends with the session, and is told nothing more although its client has not closed it", () => {
    const { listeners, stream, response } = start();
    const session = new AbortController();
    stream.open(response, { endsInMs: 300_000, ended: session.signal });
    expect([response.writableEnded, listeners.size]).toEqual([false, 1]);
    session.abort();
    expect([response.writableEnded, listeners.size]).toEqual([true, 0]);
  });
});
