/** An agent that asks a model behind any endpoint of chat completions with streaming: OpenAI, Ollama, vLLM, LiteLLM. */
import { isLoopbackHost, maxResultBytes } from "../../../contracts/methods.ts";
import { traceHeaders } from "../../shared/trace.ts";
import type { Agent } from "./agent.ts";
import { readCompletion } from "./chat-completion.ts";
import { messagesOf } from "./chat-messages.ts";
import { createPartialTeller } from "./partial-teller.ts";

const defaultIdleTimeoutMs = 120_000;
/** What an endpoint answers that does not know a field of the request; nothing has been generated then. */
const unknownFieldStatuses = [400, 422];

/**
 * `baseUrl` goes up to and with `/v1`; http only on loopback. The key is read anew for every task. `idleTimeoutMs` bounds
 * the wait for the first byte and for each next one; the task's own signal bounds the whole. Nothing is repeated but a request
 * that may have been refused for the wish to hear of the tokens: an answer that breaks off is a failure, and no text of the
 * endpoint's errors is passed on.
 */
export function createOpenAiCompatibleAgent({
  baseUrl,
  model,
  apiKey,
  system,
  idleTimeoutMs = defaultIdleTimeoutMs,
  now = Date.now,
}: {
  baseUrl: string;
  model: string;
  apiKey?: () => Promise<string>;
  system?: string;
  idleTimeoutMs?: number;
  now?: () => number;
}): Agent {
  const url = endpointOf(baseUrl);
  let tellsUsage = true;
  return async function* openAiCompatible(task, { signal, trace, log }) {
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), idleTimeoutMs);
    try {
      const headers = {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...traceHeaders(trace),
        ...(apiKey !== undefined && { authorization: `Bearer ${await apiKey()}` }),
      };
      const asked = { model, stream: true, messages: messagesOf({ task, system }) };
      const ask = (body: object) =>
        fetch(url, {
          ...{ method: "POST", redirect: "error", headers, body: JSON.stringify(body) },
          signal: AbortSignal.any([signal, idle.signal]),
        });
      let response = await ask(tellsUsage ? { ...asked, stream_options: { include_usage: true } } : asked);
      if (tellsUsage && unknownFieldStatuses.includes(response.status)) {
        await response.body?.cancel();
        response = await ask(asked);
        tellsUsage = !response.ok;
      }
      if (!isEventStream(response) || response.body === null) {
        log.warn("model_refused", { reason: "execution_failed", status: response.status });
        await response.body?.cancel();
        yield { type: "failure", reason: "execution_failed" };
        return;
      }
      let text = "";
      let usage: Record<string, unknown> | undefined;
      const tell = createPartialTeller({ now });
      for await (const part of readCompletion({ chunks: response.body, onChunk: () => timer.refresh() })) {
        text += part.text;
        usage = part.usage ?? usage;
        // The host says that it is too large; there is no need to read on.
        if (text.length > maxResultBytes) break;
        yield* tell(text);
      }
      yield { type: "answer", text, ...(usage && { usage }) };
    } catch (error) {
      const code = connectionErrorOf(error);
      if (code === undefined) throw error;
      log.warn("model_unreachable", { reason: "execution_failed", cause_kind: code });
      yield { type: "failure", reason: "execution_failed" };
    } finally {
      clearTimeout(timer);
    }
  };
}

function isEventStream({ ok, headers }: Response): boolean {
  return ok && /^text\/event-stream *(;|$)/i.test(headers.get("content-type") ?? "");
}

/** What `fetch` hides behind its TypeError: ECONNREFUSED, ENOTFOUND, a TLS failure, a socket that was closed. */
function connectionErrorOf(error: unknown): string | undefined {
  const { code } = Object(Object(error).cause) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function endpointOf(baseUrl: string): string {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/chat/completions`);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))) return url.href;
  throw new Error("The model's baseUrl must be https (http only on loopback).");
}
