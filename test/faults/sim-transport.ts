/** The way between the zones: the request on its way there and the response on its way back can meet their own faults. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { ExchangeResponse } from "@sekisho/execution/exchange.ts";
import type { Host } from "@sekisho/execution/host.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { requestHeaders } from "@sekisho/verification/transport/http/transport.ts";
import type {
  Transport,
  TransportRequest,
  TransportResponse,
} from "@sekisho/verification/transport/transport.ts";
import { noteAsker } from "./askers.ts";
import { operate } from "./operate.ts";
import type { Pool } from "./pool.ts";
import { within } from "./processes.ts";
import { secrets } from "./settings.ts";
import { hostileAnswers } from "./stories.ts";
import type { World } from "./world.ts";

/** A caller's own time, 30 s, is over before a slow request arrives. */
const times = { usualMs: 20, giveUpMs: 31_000, landMs: 45_000 };
const unavailable = () => new SekishoError("unavailable", { certainty: "undelivered" });
const ambiguous = () => new SekishoError("ambiguous");

/** `hosts` are absent where nobody listens. */
export function createSimTransport({
  world,
  name,
  hosts,
}: {
  world: World;
  /** The destination's. */
  name: string;
  hosts: Pool<Host> | undefined;
}): Transport {
  return {
    async send(request) {
      const { signal } = request;
      noteAsker({ world, to: name, request });
      const about = () => nameOf({ world, body: request.body });
      const { there, back } = world.story.isForeign
        ? foreignIds({ world, request })
        : sameIds({ request });
      const { arrived } = await operate({
        world,
        point: "transport.request",
        about,
        times,
        failures: { refused: unavailable, unknown: ambiguous },
        signal,
        effect() {
          const arrived = reach({ hosts, request: there });
          // Of a request that arrived twice, or too late, nobody waits for the answer.
          arrived.catch(() => {});
          return { arrived };
        },
      });
      const response = await abortable({ promise: arrived, signal }).catch((error: unknown) => {
        throw error instanceof SekishoError ? error : ambiguous();
      });
      world.onExchange({ request: there, response });
      return operate<TransportResponse>({
        world,
        point: "transport.response",
        about,
        detail: () => summaryOf(response),
        times,
        failures: { refused: ambiguous, unknown: ambiguous },
        signal,
        stale: () => responseToAnother,
        effect: () => hostile({ world, response: back(response) }),
      });
    },
  };
}

/** Without a host the connection is refused. If the host dies, the connection breaks. */
function reach({
  hosts,
  request,
}: {
  hosts: Pool<Host> | undefined;
  request: TransportRequest;
}): Promise<TransportResponse> {
  const instance = hosts?.find({ mayShare: true });
  if (instance === undefined) return Promise.reject(unavailable());
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const { process, work: host } = instance;
  process.onDeath.push(() => reject(ambiguous()));
  const headers: Record<string, string> = {
    ...requestHeaders(request),
    authorization: `Bearer ${secrets.bearer}`,
  };
  const answered = within({
    process,
    run: () =>
      host.exchange({
        method: "POST",
        path: "/",
        query: () => undefined,
        header: (name) => headers[name],
        readBody: async () => request.body,
        canStream: false,
        openSignal: () => request.signal,
      }),
  });
  return Promise.race([answered.then(responseOf), broken]);
}

function responseOf({ status, body }: ExchangeResponse): TransportResponse {
  return { status, body: Buffer.from(body as string) };
}

const responseToAnother = {
  status: 200,
  body: Buffer.from(
    JSON.stringify({
      jsonrpc: "2.0",
      id: "11111111-1111-4111-8111-111111111111",
      result: { status: "success", response_text: "This was meant for somebody else." },
    }),
  ),
};

/** Such as `get_task of #1`. */
function nameOf({ world, body }: { world: World; body: Uint8Array }): string {
  const { method, id, params } = JSON.parse(Buffer.from(body).toString()) as {
    method: string;
    id: string;
    params: Partial<Record<"task_id" | "request_id", string>>;
  };
  return `${method} of ${world.names.of(params.task_id ?? params.request_id ?? id)}`;
}

function summaryOf({ body }: TransportResponse): string {
  const { result, error } = JSON.parse(Buffer.from(body).toString()) as {
    result?: { status: string };
    error?: { data: { reason: string } };
  };
  return result?.status ?? error?.data.reason ?? "";
}

/** A success of a host of another party, which says what it likes. */
function hostile({
  world,
  response,
}: {
  world: World;
  response: TransportResponse;
}): TransportResponse {
  const says = hostileAnswers[world.story.agent.says ?? ""];
  if (says === undefined) return response;
  const { result, ...envelope } = JSON.parse(Buffer.from(response.body).toString()) as {
    result?: { status: string };
  };
  if (result?.status !== "success") return response;
  const artifacts = says.artifact === undefined ? "" : `,"artifacts":[${says.artifact}]`;
  const text = `{"status":"success","response_text":${JSON.stringify(says.text)}${artifacts}}`;
  return {
    ...response,
    body: Buffer.from(`${JSON.stringify(envelope).slice(0, -1)},"result":${text}}`),
  };
}

type Ids = { there: TransportRequest; back: (response: TransportResponse) => TransportResponse };

function sameIds({ request }: { request: TransportRequest }): Ids {
  return { there: request, back: (response) => response };
}

/** Our host deduplicates by UUIDs alone, so that with another id in each request it is a peer that does not deduplicate. */
function foreignIds({ world, request }: { world: World; request: TransportRequest }): Ids {
  const { id, ...call } = JSON.parse(Buffer.from(request.body).toString()) as { id: string };
  const bytes = (message: object) => Buffer.from(JSON.stringify(message));
  return {
    there: { ...request, body: bytes({ ...call, id: `foreign ${world.newId()}` }) },
    back: (response) => ({
      ...response,
      body: bytes({ ...JSON.parse(Buffer.from(response.body).toString()), id }),
    }),
  };
}
