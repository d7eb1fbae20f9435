/** The live list as streams of server-sent events, one for each tab that looks at it. */
import type { ServerResponse } from "node:http";
import { sanitizeJsonValue } from "../../../../lambdas/shared/untrusted-input.ts";
import { commonHeaders } from "../../web/common-headers.ts";
import type { LiveTasks, TaskListUpdate } from "./live-tasks.ts";

const maxStreams = 50;
/** So that nothing on the way takes a silent stream for a dead one. */
const beatMs = 20_000;

export type LiveStream = {
  /** False where there are too many already. The stream ends after `endsInMs` or with `ended`: whoever goes on looking asks anew. */
  open(response: ServerResponse, limits: { endsInMs: number; ended?: AbortSignal | undefined }): boolean;
  close(): void;
};

export function createLiveStream({ live }: { live: LiveTasks }): LiveStream {
  const streams = new Set<ServerResponse>();
  return {
    open(response, { endsInMs, ended }) {
      if (streams.size >= maxStreams) return false;
      response.writeHead(200, { ...commonHeaders, "content-type": "text/event-stream" });
      // The session may have ended while the request was admitted: then no event comes any more.
      if (ended?.aborted) {
        response.end();
        return true;
      }
      const stop = live.watch((news) => response.write(format(news)));
      const beat = setInterval(() => response.write(":\n\n"), beatMs);
      const leave = () => {
        stop();
        clearInterval(beat);
        clearTimeout(end);
        ended?.removeEventListener("abort", finish);
      };
      const finish = () => {
        leave();
        response.end();
      };
      const end = setTimeout(finish, endsInMs);
      ended?.addEventListener("abort", finish);
      response.write(":\n\n");
      streams.add(response);
      response.on("close", () => {
        leave();
        streams.delete(response);
      });
      return true;
    },
    close() {
      for (const stream of streams) stream.end();
    },
  };
}

/** JSON has no line ends of its own, so one `data` line holds it. */
function format(news: TaskListUpdate): string {
  return `data: ${JSON.stringify(news, sanitizeJsonValue)}\n\n`;
}
