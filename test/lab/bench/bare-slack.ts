/** A Slack that answers every call at once and keeps nothing but when each task's placeholder and answer came. */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { startListening } from "@sekisho/runtime/http/server.ts";

export type SeenTask = { placeholderAtMs: number; answerAtMs: number };

export type BareSlack = {
  apiUrl: string;
  /** Resolves when the thread has its answer, whose text must have these words, or to undefined if none came in time. */
  answered(request: { threadTs: string; words: string }): Promise<SeenTask | undefined>;
  close(): void;
};

type Waiting = {
  words: string;
  placeholderAtMs: number;
  timer: NodeJS.Timeout;
  resolve: (seen?: SeenTask) => void;
};

const defaultTimeoutMs = 90_000;

/** A call that came in. `threadTs` is known of calls that change a thread. */
export type SeenCall = { method: string; args: URLSearchParams; threadTs: string };

export async function startBareSlack(options: {
  team: string;
  botUser: string;
  onCall?: (call: SeenCall) => void;
  timeoutMs?: number;
}): Promise<BareSlack> {
  const { team, botUser, onCall, timeoutMs = defaultTimeoutMs } = options;
  const waiting = new Map<string, Waiting>();
  const common = {
    ok: true,
    messages: [],
    user_id: botUser,
    bot_id: "B1",
    team_id: team,
    channel: "C1",
  };
  let posts = 0;

  /** A post's timestamp is its thread's, with a number behind it, so that an edit shows its thread. */
  function answer(method: string, body: string): object {
    if (!method.startsWith("chat.")) return common;
    const args = new URLSearchParams(body);
    const ts = args.get("ts") ?? `${args.get("thread_ts")}${String(++posts).padStart(9, "0")}`;
    const threadTs = ts.slice(0, -9);
    onCall?.({ method, args, threadTs });
    note(threadTs, `${args.get("text")} ${args.get("blocks")}`);
    return { ...common, ts };
  }

  function note(threadTs: string, shown: string): void {
    const task = waiting.get(threadTs);
    if (task === undefined) return;
    const atMs = performance.now();
    if (!shown.includes(task.words)) {
      task.placeholderAtMs ||= atMs;
      return;
    }
    waiting.delete(threadTs);
    clearTimeout(task.timer);
    task.resolve({ placeholderAtMs: task.placeholderAtMs, answerAtMs: atMs });
  }

  const server = createServer(async (request, response) => {
    const [, method = ""] = /^\/api\/([\w.]+)$/.exec(request.url ?? "") ?? [];
    const bytes = Buffer.from(JSON.stringify(answer(method, await text(request))));
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": bytes.byteLength,
    });
    response.end(bytes);
  });
  const port = await startListening({
    server,
    hostname: "127.0.0.1",
    port: 0,
    portSetting: "none",
  });
  return {
    apiUrl: `http://127.0.0.1:${port}/api/`,
    answered({ threadTs, words }) {
      const { promise, resolve } = Promise.withResolvers<SeenTask | undefined>();
      const timer = setTimeout(() => {
        waiting.delete(threadTs);
        resolve(undefined);
      }, timeoutMs);
      waiting.set(threadTs, { words, placeholderAtMs: 0, timer, resolve });
      return promise;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
