/** Cases of headers and credentials, of the document in which an endpoint describes itself, and of AgentCore. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  eachStep,
  expectError,
  expectResult,
  hasReason,
  isRefusedCaller,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import { markPattern, newLongSessionId, type PeerRequest } from "../peer.ts";
import { describeStranger, type Stranger, strangers } from "../strangers.ts";
import { channel } from "../tasks.ts";
import { listReplies } from "./question-fields.ts";

/** A request that needs no agent. */
const request = (id: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
type Given = Pick<PeerRequest, "trace" | "sessionId">;
const headers: readonly [name: string, level: "required" | "strict", what: string, given: Given][] =
  [
    [
      "trace",
      "required",
      "traceparent and tracestate",
      { trace: { traceparent, tracestate: "vendor=value,other=1" } },
    ],
    [
      "malformed-trace",
      "strict",
      "a traceparent that is none",
      { trace: { traceparent: "not-a-trace" } },
    ],
    ["session", "required", "a session id of 100 characters", { sessionId: newLongSessionId() }],
  ];

export const headerCases = headers.map(([name, level, what, requestParts]): ConformanceCase => {
  return {
    name: `headers/${name}`,
    level,
    section: name === "session" ? "Sessions" : "Transport",
    expects: `${what}: the same answer as without`,
    advice: "Take the header, or ignore it.",
    async check({ peer }) {
      const id = randomUUID();
      return expectError(await peer.send({ id, body: request(id), ...requestParts }), [
        "method_not_found",
      ]);
    },
  };
});

const vote = { vote: "up", voter_id: "stranger", voted_at: "2026-11-26T08:00:00.000Z" };

/** Every method, so that none is forgotten. The ids are of no task. */
function probes(): [method: string, params: object][] {
  const task_id = randomUUID();
  return [
    ["execute_task", { channel, text: "A stranger sends this." }],
    ["get_task", { task_id }],
    ["get_task", { request_id: task_id }],
    ["cancel_task", { task_id }],
    ["answer_task", { task_id, text: "yes" }],
    ["feedback", { task_id, ...vote }],
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
      expects: `${describeStranger(as)}, with every method: HTTP 401 or 403, or an error that says so`,
      advice:
        "Compare the whole token, in constant time, in front of every method, and refuse with 401.",
      check: (run) => refuses(run, as),
    }),
  ),
  {
    name: "authentication/own-tasks",
    level: "required",
    section: "Transport",
    needs: ["authentication/nobody"],
    expects:
      "no token, and each of the wrong ones, with the ids and in the sessions of tasks that exist: HTTP 401 or 403, or an error that says so",
    advice: "Check the credentials before you look for the task.",
    async check(run) {
      requireCaller(run, "nobody");
      const { requestId, last, sessionId, params: content } = await run.tasks.plain();
      const { task_id = requestId } = Object(
        last.response && "result" in last.response && last.response.result,
      );
      const asking = await run.tasks.askingForText().catch(() => undefined);
      // In the session of the task, which must be no proof of who calls.
      const steps: [method: string, params: object, sessionId: string, id?: string][] = [
        ["get_task", { request_id: requestId }, sessionId],
        ["get_task", { task_id }, sessionId],
        ["cancel_task", { request_id: requestId }, sessionId],
        ["execute_task", { channel, text: "A stranger sends this." }, sessionId],
        // The id of a request that is known, with its content: a store would have the outcome.
        ["execute_task", content, sessionId, requestId],
        ["feedback", { request_id: requestId, ...vote }, sessionId],
      ];
      if (asking !== undefined) {
        steps.push(["get_task", { task_id: asking.taskId }, asking.sessionId]);
        for (const params of listReplies(asking))
          steps.push(["answer_task", params, asking.sessionId]);
        steps.push(["cancel_task", { task_id: asking.taskId }, asking.sessionId]);
      }
      const all = strangers.flatMap((as) =>
        steps.map(([method, params, session, id]) => {
          const call = { method, params, as, sessionId: session, ...(id !== undefined && { id }) };
          return [`${method} by ${Object.keys(params)[0]}, ${as}`, call] as const;
        }),
      );
      return eachStep(run, all, (call) => expectRefusal(run, call));
    },
  },
  {
    name: "authentication/elsewhere",
    level: "required",
    profile: "https",
    section: "Transport",
    needs: ["authentication/nobody"],
    expects:
      "no token, at other paths, with a query, another content type, another HTTP method and in a list: no answer that serves the caller",
    advice: "Check the credentials of every request, whatever its path and its headers are.",
    async check(run) {
      requireCaller(run, "nobody");
      const { peer } = run;
      if (!peer.isHttp) throw new NotApplicable("the transport knows one address");
      const id = randomUUID();
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id,
        method: "execute_task",
        params: { channel, text: "A stranger." },
      });
      const requests: [string, Partial<PeerRequest>][] = [
        ["a query", { path: "?a=1" }],
        ["/", { path: "/" }],
        ["/invocations", { path: "/invocations" }],
        // A path of two slashes alone would name a host.
        ["two slashes", { path: "/.//" }],
        ["a slash at the end", { path: "/invocations/" }],
        ...["/health", "/healthz", "/ping", "/ready", "/status", "/metrics", "/rpc", "/v1"].map(
          (path): [string, Partial<PeerRequest>] => [path, { path }],
        ),
        ["text/plain", { headers: { "content-type": "text/plain" } }],
        ...(["PUT", "PATCH", "DELETE"] as const).map((method): [string, Partial<PeerRequest>] => [
          method,
          { method },
        ]),
        ["a list of one request", { body: `[${body}]` }],
        ["a list of two requests", { body: `[${body},${body}]` }],
      ];
      return eachStep(run, requests, async (request) => {
        const answer = await peer.send({ id, body, as: "nobody", ...request });
        const isServed =
          answer.response !== undefined &&
          ("result" in answer.response || hasReason(answer, servedReasons));
        const isListServed =
          Array.isArray(answer.json) && answer.json.some((one) => "result" in Object(one));
        if (isServed || isListServed) throw new Deviation(answer.came);
        return answer.came;
      });
    },
  },
  {
    name: "authentication/get",
    level: "required",
    section: "Transport",
    profile: "https",
    needs: ["execute/answers", "authentication/nobody"],
    expects: "GET without a token, at other paths too: nothing about the tasks",
    advice: "Serve no list of tasks without credentials.",
    async check(run) {
      requireCaller(run, "nobody");
      const { requestId, last, params } = await run.tasks.plain();
      const { task_id: taskId = requestId } = Object(readPeerResult(last));
      const knownTexts = [
        requestId,
        String(taskId),
        ...(String(params.text).match(markPattern) ?? []),
      ];
      const paths: [string, object][] = [
        ["GET", {}],
        ...["/tasks", "/health", "/metrics"].map((path): [string, object] => [path, { path }]),
      ];
      return eachStep(run, paths, async (path) => {
        const answer = await run.peer.send({ as: "nobody", method: "GET", body: "", ...path });
        const text = Buffer.from(answer.body).toString();
        if (knownTexts.some((one) => text.includes(one))) throw new Deviation(answer.came);
        return answer.came;
      });
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

async function expectRefusal(
  { peer }: CaseRun,
  call: { method: string; params: object; as: Stranger; sessionId?: string; id?: string },
) {
  const answer = await peer.call(call);
  if (isRefusedCaller(answer)) return answer.came;
  throw new Deviation(`${call.method}: ${answer.came}`);
}

/** Errors of an endpoint that has let the caller in. */
const servedReasons = [
  "invalid_params",
  "method_not_found",
  "already_exists",
  "agent_not_found",
] as const;

function requireCaller({ peer }: CaseRun, as: Stranger): void {
  if (!peer.callers.has(as)) throw new NotApplicable(peer.whyNot);
}

const documentSchema = z.object({ methods: z.array(z.object({ name: z.string() })) });
const pingSchema = z.object({
  status: z.enum(["Healthy", "HealthyBusy"]),
  time_of_last_update: z.unknown().optional(),
});

/** Longer than the second in which `time_of_last_update` counts. */
const pingGapMs = 1100;
/** How far the clocks of the endpoint and of this machine may differ. */
const maxClockDriftSeconds = 60;

async function ping({ peer, step }: CaseRun, what: string) {
  if (!peer.isHttp) throw new NotApplicable("AgentCore itself asks for /ping");
  step(what);
  const { status, json, came } = await peer.send({ method: "GET", path: "/ping", body: "" });
  const { data } = pingSchema.safeParse(json);
  if (status !== 200 || data === undefined) throw new Deviation(came);
  return { status: data.status, seconds: data.time_of_last_update, came };
}

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
    advice:
      "Serve GET /ping beside POST /invocations. AgentCore ends a container that does not answer it.",
    check: async (run) => (await ping(run, "GET /ping")).came,
  },
  {
    name: "agentcore/ping-time",
    level: "required",
    profile: "agentcore",
    section: "Health on AgentCore",
    needs: ["agentcore/ping", "accepted/result"],
    expects:
      "GET /ping three times while a task runs: time_of_last_update, if it comes, is a whole number of seconds, not in the future, and stays the same",
    advice:
      "Send the Unix time in seconds of the last change of the status. AgentCore never ends a session in which it moves with each ping.",
    async check(run) {
      const pings = [];
      const { taskId, sessionId } = await run.tasks.accepted();
      for (const when of ["at first", "a second later", "two seconds later"]) {
        if (pings.length > 0) await run.sleep(pingGapMs);
        const one = await ping(run, `GET /ping, ${when}`);
        const isTime = one.seconds === undefined || Number.isSafeInteger(one.seconds);
        if (!isTime || Number(one.seconds) > Date.now() / 1000 + maxClockDriftSeconds)
          throw new Deviation(one.came);
        pings.push(one);
      }
      const came = pings.map((one) => one.came).join("; ");
      if (new Set(pings.map(({ seconds }) => seconds)).size < pings.length) return came;
      run.step("get_task of the task that ran all the while");
      const latest = await run.peer.call({
        method: "get_task",
        params: { task_id: taskId },
        sessionId,
      });
      // Once it is over, the status may change between any two pings, because other cases run too.
      if (Object(readPeerResult(latest)).status !== "accepted")
        throw new NotApplicable("the slow task was over too soon (--slow-text)");
      throw new Deviation(came);
    },
  },
  {
    name: "agentcore/ping-busy",
    level: "strict",
    profile: "agentcore",
    section: "Health on AgentCore",
    needs: ["agentcore/ping", "accepted/result"],
    expects: "GET /ping while a task runs: HealthyBusy, if it comes, has time_of_last_update",
    advice:
      "Send time_of_last_update with the status. Without it AgentCore ends the session in its idle time although a task runs.",
    async check(run) {
      await run.tasks.accepted();
      const { status, seconds, came } = await ping(run, "GET /ping while a task runs");
      if (status === "HealthyBusy" && seconds === undefined) throw new Deviation(came);
      return came;
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
      return expectError(await peer.send({ id, body: request(id), path: "/invocations" }), [
        "method_not_found",
      ]);
    },
  },
];
