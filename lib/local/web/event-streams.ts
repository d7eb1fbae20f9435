/** Streams of server-sent events, one for each tab that looks at a page. */
import { sanitizeJsonValue } from "@sekisho/runtime/untrusted-input.ts";
import { Refusal } from "./admission.ts";
import { commonHeaders, type PageRequest } from "./site.ts";

const maxStreams = 50;
/** Keeps proxies from closing a stream on which nothing happens. */
const beatMs = 20_000;

/** Calls back with what there is and with each change, until the returned function is called. */
export type EventSource = (send: (data: object) => void) => () => void;

export type EventStreams = {
  /** The stream ends after `endsInMs`, and with the visitor's session. Throws a `Refusal` when there are too many. */
  open(
    exchange: Pick<PageRequest, "response" | "visitor">,
    stream: { watch: EventSource; endsInMs?: number },
  ): void;
  /** Ends all streams, so that a server can close. */
  close(): void;
};

export function createEventStreams(): EventStreams {
  const streams = new Set<PageRequest["response"]>();
  return {
    open({ response, visitor: { ended } }, { watch, endsInMs }) {
      if (streams.size >= maxStreams)
        throw new Refusal(503, "Too many of these pages are open. Close one and try again.");
      response.writeHead(200, { ...commonHeaders, "content-type": "text/event-stream" });
      // The session may have ended while the request was admitted. Its signal does not fire again.
      if (ended?.aborted) {
        response.end();
        return;
      }
      // JSON has no line ends of its own, so one `data` line holds it.
      const stop = watch((data) =>
        response.write(`data: ${JSON.stringify(data, sanitizeJsonValue)}\n\n`),
      );
      const beat = setInterval(() => response.write(":\n\n"), beatMs);
      const end = endsInMs === undefined ? undefined : setTimeout(finish, endsInMs);
      ended?.addEventListener("abort", finish);
      response.write(":\n\n");
      streams.add(response);
      response.on("close", leave);

      function leave(): void {
        stop();
        clearInterval(beat);
        clearTimeout(end);
        ended?.removeEventListener("abort", finish);
        streams.delete(response);
      }

      /** A client may not close its side, and must hear nothing more. */
      function finish(): void {
        leave();
        response.end();
      }
    },
    close() {
      for (const stream of streams) stream.end();
    },
  };
}
