/** Errors of other systems, from a server that speaks their dialect, and the reason that each becomes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { responseSchema } from "@sekisho/contracts/envelope.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import type { ErrorDetails, Reason } from "@sekisho/contracts/errors.ts";
import { hangSignal } from "../tooling/hang.ts";

type Fixture = {
  name: string;
  dialect: Dialect;
  status: number;
  error: unknown;
  /** Members of the response beside the error; without them the usual two. */
  envelope?: Readonly<Record<string, unknown>>;
  reason: Reason;
  exact: boolean;
  details?: ErrorDetails;
};

const errorInfo = (reason: string) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "a2a-protocol.org",
  metadata: { taskId: "t-1" },
});

const fixtures: readonly Fixture[] = [
  {
    name: "an A2A 1.0 agent that never knew the task",
    dialect: "a2a",
    status: 200,
    error: { code: -32001, message: "Task not found", data: [errorInfo("TASK_NOT_FOUND")] },
    reason: "task_not_found",
    exact: true,
    details: { task_id: "t-1" },
  },
  {
    name: "the same number from a zone peer, where it is the timeout",
    dialect: "zone",
    status: 200,
    error: { code: -32001, message: "Task not found" },
    reason: "timeout",
    exact: true,
  },
  {
    name: "A2A's name of the error where the reader expects the zone's numbers",
    dialect: "zone",
    status: 200,
    error: { code: -32001, message: "Task not found", data: [errorInfo("TASK_NOT_FOUND")] },
    reason: "task_not_found",
    exact: true,
    details: { task_id: "t-1" },
  },
  {
    name: "an A2A task that cannot be canceled any more",
    dialect: "a2a",
    status: 200,
    error: { code: -32002, message: "Task cannot be canceled" },
    reason: "invalid_state",
    exact: true,
  },
  {
    name: "an operation that the A2A agent calls unsupported by name",
    dialect: "a2a",
    status: 200,
    error: { code: -32004, message: "Unsupported", data: [errorInfo("UNSUPPORTED_OPERATION")] },
    reason: "unsupported_operation",
    exact: true,
    details: { task_id: "t-1" },
  },
  {
    name: "the same by its number alone, which A2A also uses for a wrong state",
    dialect: "a2a-0.3",
    status: 200,
    error: { code: -32004, message: "Unsupported" },
    reason: "invalid_state",
    exact: false,
  },
  {
    name: "the same by its number and its HTTP status",
    dialect: "a2a",
    status: 400,
    error: { code: -32004, message: "Unsupported" },
    reason: "unsupported_operation",
    exact: true,
  },
  {
    name: "an A2A agent with the violations of bad params and a delay",
    dialect: "a2a",
    status: 200,
    error: {
      code: -32602,
      message: "Invalid params",
      data: [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "message.parts", description: "empty" }],
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.0005s" },
      ],
    },
    reason: "invalid_params",
    exact: false,
    details: { issues: [{ path: "message.parts", message: "empty" }], retry_after_ms: 1 },
  },
  {
    name: "an A2A agent that is overloaded and says so by its HTTP status",
    dialect: "a2a",
    status: 503,
    error: { code: -32603, message: "Internal error" },
    reason: "unavailable",
    exact: true,
  },
  {
    name: "an A2A agent's number of its own",
    dialect: "a2a",
    status: 200,
    error: { code: -32042, message: "Vendor", data: ["anything", null, 7] },
    reason: "internal",
    exact: false,
  },
  {
    name: "CleverAgents without the entity",
    dialect: "cleveragents",
    status: 200,
    error: { code: -32001, message: "Entity not found" },
    reason: "task_not_found",
    exact: false,
  },
  {
    name: "CleverAgents that wants a login",
    dialect: "cleveragents",
    status: 200,
    error: { code: -32002, message: "Authentication required" },
    reason: "unauthenticated",
    exact: true,
  },
  {
    name: "CleverAgents out of budget",
    dialect: "cleveragents",
    status: 200,
    error: { code: -32006, message: "Budget exceeded" },
    reason: "budget_exceeded",
    exact: true,
  },
  {
    name: "CleverAgents that cannot plan",
    dialect: "cleveragents",
    status: 200,
    error: { code: -32008, message: "Plan error" },
    reason: "plan_error",
    exact: true,
  },
  {
    name: "VAPORA without an id, its number narrowed by the HTTP status",
    dialect: "vapora",
    status: 403,
    envelope: { jsonrpc: "2.0" },
    error: { code: -32000, message: "Forbidden" },
    reason: "permission_denied",
    exact: true,
  },
  {
    name: "VAPORA with a status that two reasons share",
    dialect: "vapora",
    status: 404,
    envelope: { jsonrpc: "2.0" },
    error: { code: -32000, message: "Not found" },
    reason: "task_not_found",
    exact: false,
  },
  {
    name: "an existing agent that lists the missing params",
    dialect: "zone-strict",
    status: 200,
    error: { code: -32602, message: "Invalid params", data: { missing: ["channel", "text", 7] } },
    reason: "invalid_params",
    exact: false,
    details: {
      issues: [
        { path: "channel", message: "missing" },
        { path: "text", message: "missing" },
      ],
    },
  },
  {
    name: "an existing agent that puts its exception's text into the data",
    dialect: "zone-strict",
    status: 200,
    error: { code: -32603, message: "boom", data: "Traceback: secret" },
    reason: "internal",
    exact: true,
  },
  {
    name: "a zone peer that asks for patience",
    dialect: "zone",
    status: 429,
    error: {
      code: -32070,
      message: "x",
      data: { reason: "rate_limited", retryable: true, retry_after_ms: 1500 },
    },
    reason: "rate_limited",
    exact: true,
    details: { retry_after_ms: 1500 },
  },
  {
    name: "a peer whose data has a reason of its own vocabulary",
    dialect: "zone",
    status: 200,
    error: {
      code: -32064,
      message: "x",
      data: { reason: "out_of_memory", task_id: "t-1", current: 7 },
    },
    reason: "execution_failed",
    exact: true,
    details: { task_id: "t-1" },
  },
];

/** Answers `/n` with the n-th fixture. */
const server = createServer((request, response) => {
  const fixture = fixtures[Number(request.url?.slice(1))];
  response.writeHead(fixture?.status ?? 404, {
    "content-type": "application/json",
    connection: "close",
  });
  response.end(
    JSON.stringify({
      ...(fixture?.envelope ?? { jsonrpc: "2.0", id: "1" }),
      error: fixture?.error,
    }),
  );
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

describe("an error of another system", () => {
  it.each(fixtures.map((fixture, index) => ({ ...fixture, index })))(
    "$name is $reason",
    async ({ index, dialect, status, reason, exact, details = {} }) => {
      const { port } = server.address() as AddressInfo;
      const answer = await fetch(`http://127.0.0.1:${port}/${index}`, { signal: hangSignal() });
      const response = responseSchema.parse(await answer.json());
      expect(answer.status).toBe(status);
      if (!("error" in response)) throw new Error("no error in the response");
      const decoded = decodeError({ error: response.error, dialect, status: answer.status });
      expect({ reason: decoded.reason, exact: decoded.exact, details: decoded.details }).toEqual({
        reason,
        exact,
        details,
      });
      expect(JSON.stringify({ ...decoded, message: decoded.message })).not.toMatch(
        /secret|boom|Traceback/,
      );
    },
  );
});
