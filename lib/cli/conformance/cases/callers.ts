/** Cases of headers and credentials, and of the document in which a peer describes itself. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { type ConformanceCase, Deviation, NotApplicable, optional } from "../case.ts";
import { expectError, expectResult, hasReason } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";

type Level = ConformanceCase["level"];

/** A request that needs no agent. */
const request = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });

const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
const headers: readonly [name: string, level: Level, what: string, Pick<PeerRequest, "trace" | "sessionId">][] = [
  ["trace", "required", "traceparent and tracestate", { trace: { ...trace, tracestate: "vendor=value,other=1" } }],
  ["malformed-trace", "optional", "a traceparent that is none", { trace: { traceparent: "not-a-trace" } }],
  ["session", "required", "a session id of 100 characters", { sessionId: "conformance-session-".padEnd(100, "Aa0_-") }],
];

export const headerCases = headers.map(([name, level, what, given]): ConformanceCase => {
  return {
    name: `headers/${name}`,
    level,
    expects: `${what}: the same answer as without`,
    async check({ peer }) {
      const id = randomUUID();
      return expectError(await peer.send({ id, body: request(id), ...given }), ["method_not_found"]);
    },
  };
});

const strangers: readonly [name: string, level: Level, what: string, PeerRequest][] = [
  ["missing", "required", "no credentials", { as: "nobody", body: request(randomUUID()) }],
  ["wrong", "required", "a bearer token that nobody gave out", { as: "impostor", body: request(randomUUID()) }],
  ["before-the-body", "optional", "no credentials and a body that is no JSON", { as: "nobody", body: "{" }],
];

/** An unknown caller must learn nothing from the peer, not even that its body is malformed. */
export const authenticationCases = strangers.map(([name, level, what, sent]): ConformanceCase => {
  return {
    name: `authentication/${name}`,
    level,
    expects: `${what}: HTTP 401 or 403, or an error that says so`,
    async check({ peer }) {
      if (peer.withoutStrangers !== undefined) throw new NotApplicable(peer.withoutStrangers);
      const answer = await peer.send(sent);
      const hasStatus = answer.response === undefined && (answer.status === 401 || answer.status === 403);
      if (hasStatus || hasReason(answer, ["unauthenticated", "permission_denied"])) return answer.came;
      throw new Deviation(answer.came);
    },
  };
});

const documentSchema = z.object({ methods: z.array(z.object({ name: z.string() })) });

export const discoverCases: readonly ConformanceCase[] = [
  optional("discover/document", "rpc.discover: an OpenRPC document that names execute_task", async ({ peer }) => {
    const answer = await peer.call({ method: "rpc.discover" });
    if (hasReason(answer, ["method_not_found"])) throw new NotApplicable("the peer has no rpc.discover");
    const { methods } = documentSchema.safeParse(expectResult(answer, "rpc.discover")).data ?? {};
    if (methods?.some(({ name }) => name === "execute_task")) return answer.came;
    throw new Deviation(answer.came);
  }),
];
