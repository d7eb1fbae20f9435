/** One execution environment of a function: a process with its own Runtime API. */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startWebServer } from "../../../doubles/web-server.ts";
import { hangMs } from "../../../tooling/hang.ts";
import { currentOffsetMs, freeze, startProcess, thaw } from "../clock.ts";
import type { LambdaFunction } from "../template/wiring.ts";

/** `isThrottled`: the function was not invoked at all. */
export type Outcome =
  | { ok: true; payload: unknown }
  | { ok: false; error: string; isThrottled?: true };

export type Instance = {
  /** Takes one event at a time. Never rejects. `invokedArn` is the function or an alias. */
  invoke(event: unknown, call: { trace: string; invokedArn: string }): Promise<Outcome>;
  isGone(): boolean;
  close(): Promise<void>;
};

type Invocation = {
  id: string;
  event: unknown;
  trace: string;
  invokedArn: string;
  settle: (outcome: Outcome) => void;
};

/** Instances start often: what one has compiled the next one loads. */
const compileCache = join(process.env.NODE_COMPILE_CACHE ?? tmpdir(), "lambda");

/** As on Lambda, the process is frozen between invocations, and has no variables but those of `environment` and Lambda's own. */
export async function startInstance({
  fn,
  environment,
  onLine,
}: {
  fn: LambdaFunction;
  environment: Record<string, string>;
  onLine: (line: string) => void;
}): Promise<Instance> {
  let waiting: ((response: Response) => void) | undefined;
  let current: Invocation | undefined;
  let child: ChildProcess | undefined;
  let isGone = false;
  let lastText: string | undefined;
  const gone = Promise.withResolvers<void>();

  const server = await startWebServer({
    async handle({ request, target, body }) {
      const [, id, outcome] =
        /^\/2018-06-01\/runtime\/invocation\/([^/]+)(?:\/(response|error))?$/.exec(target) ?? [];
      if (id === "next") {
        const { promise, resolve } = Promise.withResolvers<Response>();
        waiting = resolve;
        offer();
        // Lambda freezes the process until the next event, with all that it left in the background.
        if (waiting !== undefined && child !== undefined) freeze(child);
        return promise;
      }
      const text = Buffer.from(body).toString("utf8");
      if (target.endsWith("/init/error")) lastText = `it does not start: ${errorOf(text)}`;
      else if (request.method !== "POST" || id !== current?.id)
        return new Response(null, { status: 400 });
      else if (outcome === "response") settle({ ok: true, payload: JSON.parse(text) });
      else settle({ ok: false, error: `it threw ${errorOf(text)}` });
      return new Response(null, { status: 202 });
    },
  });

  function offer(): void {
    if (waiting === undefined || current === undefined) return;
    const { id, event, trace, invokedArn } = current;
    const headers = {
      "lambda-runtime-aws-request-id": id,
      "lambda-runtime-deadline-ms": String(Date.now() + fn.timeoutMs),
      "lambda-runtime-invoked-function-arn": invokedArn,
      "lambda-runtime-trace-id": trace,
      "x-rehearsal-offset-ms": String(currentOffsetMs()),
    };
    if (child !== undefined) thaw(child);
    waiting(Response.json(event, { headers }));
    waiting = undefined;
  }

  function settle(outcome: Outcome): void {
    current?.settle(outcome);
    current = undefined;
  }

  child = startProcess({
    args: [join(__dirname, "bootstrap.cjs"), compileCache],
    environment: {
      ...environment,
      AWS_LAMBDA_RUNTIME_API: new URL(server.url).host,
      AWS_LAMBDA_FUNCTION_NAME: fn.name,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(fn.memoryMb),
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      LAMBDA_TASK_ROOT: fn.folder,
      _HANDLER: fn.handler,
      TZ: ":UTC",
    },
    folder: fn.folder,
    onLine,
  });
  const end = () => child?.kill("SIGKILL");
  child.once("exit", (code, signal) => {
    isGone = true;
    settle({ ok: false, error: lastText ?? `its process ended with ${signal ?? String(code)}` });
    server.close().then(gone.resolve, gone.reject);
  });

  return {
    isGone: () => isGone,
    async invoke(event, { trace, invokedArn }) {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const isCold = waiting === undefined;
      const allowedMs = fn.timeoutMs + (isCold ? hangMs : 0);
      current = { id: randomUUID(), event, trace, invokedArn, settle: resolve };
      const timer = setTimeout(() => {
        lastText = `it took longer than its ${fn.timeoutMs / 1000} s`;
        end();
      }, allowedMs);
      offer();
      const outcome = await promise;
      clearTimeout(timer);
      return outcome;
    },
    async close() {
      end();
      await gone.promise;
    },
  };
}

function errorOf(text: string): string {
  const { errorType, errorMessage } = JSON.parse(text) as Record<string, unknown>;
  return `${String(errorType)}: ${String(errorMessage).split("\n")[0]}`;
}
