/** Cases of headers and credentials, of the document in which an endpoint describes itself, and of AgentCore. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { eachStep, expectError, expectResult, isRefusedCaller, skipWithoutMethod } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";
import { type Stranger, strangers } from "../sender.ts";
import { channel } from "../tasks.ts";

/** A request that needs no agent. */
const request = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
type Given = Pick<PeerRequest, "trace" | "sessionId">;
const headers: readonly [name: string, level: "required" | "strict", what: string, given: Given][] = [
  ["trace", "required", "traceparent and tracestate", { trace: { traceparent, tracestate: "vendor=value,other=1" } }],
  ["malformed-trace", "strict", "a traceparent that is none", { trace: { traceparent: "not-a-trace" } }],
  ["session", "required", "a session id of 100 characters", { sessionId: "conformance-session-".padEnd(100, "Aa0_-") }],
];

export const headerCases = headers.map(([name, level, what, given]): ConformanceCase => {
  return {
    name: `headers/${name}`,
    level,
    section: name === "session" ? "Sessions" : "Transport",
    expects: `${what}: the same answer as without`,
    advice: "Take the header, or ignore it.",
    async check({ peer }) {
      const id = randomUUID();
      return expectError(await peer.send({ id, body: request(id), ...given }), ["method_not_found"]);
    },
  };
});

const descriptions: Record<Stranger, string> = {
  nobody: "no token",
  wrong: "a token that nobody gave out",
  truncated: "the token without its last character",
  extended: "the token with one character more at its end",
  prefixed: "the token with one character more at its beginning",
  changed: "the token with another character in its middle",
  "case-flipped": "the token in the other case",
  empty: "an empty token",
  null: "the token null",
  "other-scheme": "a token that nobody gave out, with the scheme Basic",
  unsigned: "the claims of a JWT without its signature (alg none), or else a token that nobody gave out",
};

/** Every method, so that none is forgotten. The ids are of no task. */
function probes(): [method: string, params: object][] {
  const task_id = randomUUID();
  return [
    ["execute_task", { channel, text: "A stranger sends this." }],
    ["get_task", { task_id }],
    ["get_task", { request_id: task_id }],
    ["cancel_task", { task_id }],
    ["answer_task", { task_id, text: "yes" }],
    ["feedback", { task_id, vote: "up", voter_id: "stranger", voted_at: "2026-11-26T08:00:00.000Z" }],
    ["rpc.discover", {}],
    ["sekisho.no_such_method", {}],
  ];
}

/** An unknown caller must learn nothing from the endpoint, not even that its body is malformed. */
export const authenticationCases: readonly ConformanceCase[] = [
  ...strangers.map(
    (as): ConformanceCase => ({
      name: `authentication/${as}`,
      level: "required",
      section: "Transport",
      expects: `${descriptions[as]}, with every method: HTTP 401 or 403, or an error that says so`,
      advice: "Compare the whole token, in constant time, in front of every method, and refuse with 401.",
      check: (run) => refuses(run, as),
    }),
  ),
  {
    name: "authentication/own-tasks",
    level: "required",
    section: "Transport",
    needs: ["authentication/nobody"],
    expects:
      "no token, and each of the wrong ones, with the ids of tasks that exist: HTTP 401 or 403, or an error that says so",
    advice: "Check the credentials before you look for the task.",
    async check(run) {
      requireCaller(run, "nobody");
      const { requestId, last } = await run.tasks.plain();
      const { task_id = requestId } = Object(last.response && "result" in last.response && last.response.result);
      const asking = await run.tasks.askingForText().catch(() => undefined);
      const steps: [method: string, params: object][] = [
        ["get_task", { request_id: requestId }],
        ["get_task", { task_id }],
        ["cancel_task", { request_id: requestId }],
      ];
      if (asking !== undefined) {
        steps.push(["get_task", { task_id: asking.taskId }]);
        steps.push(["answer_task", { task_id: asking.taskId, text: "yes" }]);
        steps.push(["cancel_task", { task_id: asking.taskId }]);
      }
      const all = strangers.flatMap((as) =>
        steps.map(
          ([method, params]) => [`${method} by ${Object.keys(params)[0]}, ${as}`, { method, params, as }] as const,
        ),
      );
      return eachStep(run, all, (call) => expectRefusal(run, call));
    },
  },
  {
    name: "authentication/before-the-body",
    level: "strict",
    section: "Transport",
    expects: "no token and a body that is no JSON: HTTP 401 or 403, or an error that says so",
    advice: "Check the credentials before you read the body.",
    async check(run) {
      requireCaller(run, "nobody");
      const answer = await run.peer.send({ as: "nobody", body: "{" });
      if (isRefusedCaller(answer)) return answer.came;
      throw new Deviation(answer.came);
    },
  },
];

function refuses(run: CaseRun, as: Stranger): Promise<string> {
  requireCaller(run, as);
  const steps = probes().map(([method, params]) => [method, { method, params, as }] as const);
  return eachStep(run, steps, (call) => expectRefusal(run, call));
}

async function expectRefusal({ peer }: CaseRun, call: { method: string; params: object; as: Stranger }) {
  const answer = await peer.call(call);
  if (isRefusedCaller(answer)) return answer.came;
  throw new Deviation(`${call.method}: ${answer.came}`);
}

function requireCaller({ peer }: CaseRun, as: Stranger): void {
  if (!peer.callers.has(as)) throw new NotApplicable(peer.whyNot);
}

const documentSchema = z.object({ methods: z.array(z.object({ name: z.string() })) });
const pingSchema = z.object({ status: z.enum(["Healthy", "HealthyBusy"]) });

export const otherCases: readonly ConformanceCase[] = [
  {
    name: "discover/document",
    level: "strict",
    section: "`rpc.discover`",
    expects: "rpc.discover: an OpenRPC document that names execute_task",
    advice: "Return contracts/generated/openrpc.json, or have no rpc.discover.",
    async check({ peer }) {
      const answer = await peer.call({ method: "rpc.discover" });
      skipWithoutMethod(answer, "rpc.discover");
      const { methods } = documentSchema.safeParse(expectResult(answer, "rpc.discover")).data ?? {};
      if (methods?.some(({ name }) => name === "execute_task")) return answer.came;
      throw new Deviation(answer.came);
    },
  },
  {
    name: "https/get",
    level: "strict",
    profile: "https",
    section: "Transport",
    expects: "GET instead of POST: a refusal, such as HTTP 405",
    advice: "Take POST only. Browsers and proxies repeat a GET as they like.",
    async check({ peer }) {
      if (!peer.isHttp) throw new NotApplicable("the transport sends POST only");
      const answer = await peer.send({ method: "GET", body: "" });
      if (answer.status !== undefined && answer.status >= 400) return answer.came;
      throw new Deviation(answer.came);
    },
  },
  {
    name: "agentcore/ping",
    level: "required",
    profile: "agentcore",
    section: "Transport",
    expects: "GET /ping: HTTP 200 and the status Healthy or HealthyBusy",
    advice: "Serve GET /ping beside POST /invocations. AgentCore ends a container that does not answer it.",
    async check({ peer }) {
      if (!peer.isHttp) throw new NotApplicable("AgentCore itself asks for /ping");
      const { status, json, came } = await peer.send({ method: "GET", path: "/ping", body: "" });
      if (status === 200 && pingSchema.safeParse(json).success) return came;
      throw new Deviation(came);
    },
  },
  {
    name: "agentcore/path",
    level: "required",
    profile: "agentcore",
    section: "Transport",
    expects: "POST /invocations: the contract is served there",
    advice: "Serve the contract at POST /invocations. AgentCore calls no other path.",
    async check({ peer }) {
      if (!peer.isHttp) throw new NotApplicable("the transport calls this path by itself");
      const id = randomUUID();
      return expectError(await peer.send({ id, body: request(id), path: "/invocations" }), ["method_not_found"]);
    },
  },
];
