/** Cases of what comes with a request: headers and credentials. And of what a peer says about itself. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, hasReason } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";

type Named = Pick<ConformanceCase, "name" | "level"> & { of: string };

/** A request that needs no agent. */
const request = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });

function undisturbed({
  name,
  level,
  of,
  ...headers
}: Named & Pick<PeerRequest, "trace" | "sessionId">): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: the same answer as without`,
    async check({ peer }) {
      const id = randomUUID();
      return expectError(await peer.send({ id, body: request(id), ...headers }), ["method_not_found"]);
    },
  };
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

export const headerCases: readonly ConformanceCase[] = [
  undisturbed({
    name: "headers/trace",
    level: "required",
    of: "traceparent and tracestate",
    trace: { traceparent, tracestate: "vendor=value,other=1" },
  }),
  undisturbed({
    name: "headers/malformed-trace",
    level: "optional",
    of: "a traceparent that is none",
    trace: { traceparent: "not-a-trace" },
  }),
  undisturbed({
    name: "headers/session",
    level: "required",
    of: "a session id of 100 characters",
    sessionId: "conformance-session-".padEnd(100, "Aa0_-"),
  }),
];

/** A caller whom the peer does not know learns nothing, not even whether the body is one. */
function stranger({
  name,
  level,
  of,
  as,
  body = request(randomUUID()),
}: Named & { as: PeerRequest["as"] & string; body?: string }): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: HTTP 401 or 403, or an error that says so`,
    async check({ peer }) {
      if (peer.withoutStrangers !== undefined) throw new NotApplicable(peer.withoutStrangers);
      const answer = await peer.send({ body, as });
      const hasStatus = answer.response === undefined && (answer.status === 401 || answer.status === 403);
      if (hasStatus || hasReason(answer, ["unauthenticated", "permission_denied"])) return answer.came;
      throw new Deviation(answer.came);
    },
  };
}

export const authenticationCases: readonly ConformanceCase[] = [
  stranger({ name: "authentication/missing", level: "required", of: "no credentials", as: "nobody" }),
  stranger({
    name: "authentication/wrong",
    level: "required",
    of: "a bearer token that nobody gave out",
    as: "impostor",
  }),
  stranger({
    name: "authentication/before-the-body",
    level: "optional",
    of: "no credentials and a body that is no JSON",
    as: "nobody",
    body: "{",
  }),
];

const documentSchema = z.object({ methods: z.array(z.object({ name: z.string() })) });

export const discoverCases: readonly ConformanceCase[] = [
  {
    name: "discover/document",
    level: "optional",
    expects: "rpc.discover: an OpenRPC document that names execute_task",
    async check({ peer }) {
      const answer = await peer.call({ method: "rpc.discover" });
      if (hasReason(answer, ["method_not_found"])) throw new NotApplicable("the peer has no rpc.discover");
      const { methods } = documentSchema.safeParse(expectResult(answer, "rpc.discover")).data ?? {};
      if (methods?.some(({ name }) => name === "execute_task")) return answer.came;
      throw new Deviation(answer.came);
    },
  },
];
