/** The calls of the Responses API that the agent makes. */
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import type { AgentContext } from "../agent.ts";
import type { AgentDependencies } from "../create-agent.ts";
import { createRemoteCall, type RemoteResponse } from "../remote-call.ts";

export type ResponsesConfig = Extract<AgentConfig, { type: "responses" }>;

type Call = <T>(
  target: string,
  context: AgentContext,
  use: (response: RemoteResponse) => AsyncGenerator<T>,
) => AsyncGenerator<T>;

export type ResponsesApi = {
  create<T>(
    body: unknown,
    context: AgentContext,
    use: (response: RemoteResponse) => AsyncGenerator<T>,
  ): AsyncGenerator<T>;
  /** Reads a response that the endpoint keeps. */
  read: Call;
  /** Ends the work on a response in the background. Never rejects: the endpoint may have ended it already. */
  cancel(id: string, context: AgentContext): Promise<void>;
  /** Reads a file that the endpoint made. `target` is the path to it. */
  readFile<T>(
    path: readonly string[],
    context: AgentContext,
    use: (response: RemoteResponse) => AsyncGenerator<T>,
  ): AsyncGenerator<T>;
};

/** The host gives a canceled agent five seconds. */
const maxCancelMs = 4000;

export function createResponsesApi(options: {
  config: ResponsesConfig;
  dependencies: Omit<AgentDependencies, "config">;
}): ResponsesApi {
  const { config, dependencies } = options;
  const { baseUrl, headers } = config;
  const callRemote = createRemoteCall({ config: { ...config, url: baseUrl }, dependencies });
  const at = (...path: readonly string[]) => addPath(baseUrl, path);
  const json = { accept: "application/json", headers };

  return {
    create(body, context, use) {
      const accept = "text/event-stream, application/json";
      return callRemote({ url: at("responses"), accept, headers, body, context }, use);
    },
    read: (id, context, use) =>
      callRemote({ method: "GET", url: at("responses", id), ...json, context }, use),
    async cancel(id, context) {
      const signal = AbortSignal.timeout(maxCancelMs);
      const call = callRemote(
        { url: at("responses", id, "cancel"), ...json, context: { ...context, signal } },
        async function* () {},
      );
      await call.next().catch(() => {});
    },
    readFile: (path, context, use) =>
      callRemote(
        {
          ...{ method: "GET", url: at(...path), accept: "*/*", headers, context },
          maxBytes: maxResultBytes,
        },
        use,
      ),
  };
}

/** The query of the configured URL, such as a version, belongs to every call. */
function addPath(baseUrl: string, segments: readonly string[]): URL {
  const url = new URL(baseUrl);
  const path = segments.map(encodeURIComponent).join("/");
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url;
}
