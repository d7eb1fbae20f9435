import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createEventStreams } from "@sekisho/local/web/event-streams.ts";

function start(end: AbortSignal) {
  const listeners = new Set<(data: object) => void>();
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const watch = (send: (data: object) => void) => {
    listeners.add(send);
    return () => void listeners.delete(send);
  };
  createEventStreams().open(
    { response, visitor: { operator: "bearer", ended: end } },
    { watch, endsInMs: 300_000 },
  );
  return () => [response.writableEnded, listeners.size];
}

describe("the stream of a session", () => {
  it("ends at once if the session has ended before", () => {
    expect(start(AbortSignal.abort())()).toEqual([true, 0]);
  });

  it("ends with the session and stops its updates although the client has not closed it", () => {
    const session = new AbortController();
    const state = start(session.signal);
    expect(state()).toEqual([false, 1]);
    session.abort();
    expect(state()).toEqual([true, 0]);
  });
});
