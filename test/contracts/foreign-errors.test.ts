/** Errors of other systems, and the reason that each becomes. */

import { describe, expect, it } from "@jest/globals";
import { isGuessed } from "@sekisho/contracts/certainty.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { responseSchema } from "@sekisho/contracts/envelope.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import type { ErrorDetails, Reason } from "@sekisho/contracts/errors.ts";

type Fixture = {
  name: string;
  dialect: Dialect;
  /** The default is 200. */
  status?: number;
  error: unknown;
  reason: Reason;
  /** The default is true. */
  exact?: boolean;
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
    name: "an A2A 1.0 agent that does not know the task",
    dialect: "a2a",
    error: { code: -32001, message: "Task not found", data: [errorInfo("TASK_NOT_FOUND")] },
    reason: "task_not_found",
    details: { task_id: "t-1" },
  },
  {
    name: "an A2A agent read with the zone's codes",
    dialect: "zone",
    error: { code: -32001, message: "Task not found", data: [errorInfo("TASK_NOT_FOUND")] },
    reason: "task_not_found",
    details: { task_id: "t-1" },
  },
  {
    name: "an A2A agent that names an operation as unsupported",
    dialect: "a2a",
    error: { code: -32004, message: "Unsupported", data: [errorInfo("UNSUPPORTED_OPERATION")] },
    reason: "unsupported_operation",
    details: { task_id: "t-1" },
  },
  {
    name: "an A2A agent with the violations of bad params and a delay",
    dialect: "a2a",
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
    name: "an A2A agent with a code of its own",
    dialect: "a2a",
    error: { code: -32042, message: "Vendor", data: ["anything", null, 7] },
    reason: "internal",
    exact: false,
  },
  {
    name: "an existing agent that lists the missing params",
    dialect: "zone-strict",
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
    name: "an existing agent with an exception's text as its data",
    dialect: "zone-strict",
    error: { code: -32603, message: "boom", data: "Traceback: secret" },
    reason: "internal",
  },
  {
    name: "a zone peer with a retry delay",
    dialect: "zone",
    status: 429,
    error: {
      code: -32070,
      message: "x",
      data: { reason: "rate_limited", retryable: true, retry_after_ms: 1500 },
    },
    reason: "rate_limited",
    details: { retry_after_ms: 1500 },
  },
  {
    name: "a peer with an unknown reason in its data",
    dialect: "zone",
    error: {
      code: -32064,
      message: "x",
      data: { reason: "out_of_memory", task_id: "t-1", current: 7 },
    },
    reason: "execution_failed",
    details: { task_id: "t-1" },
  },
];

describe("an error of another system", () => {
  it.each(fixtures)(
    "decodes the error of $name as $reason",
    ({ dialect, status = 200, error, reason, exact = true, details = {} }) => {
      const response = responseSchema.parse({ jsonrpc: "2.0", id: "1", error });
      if (!("error" in response)) throw new Error("no error in the response");
      const decodedError = decodeError({ error: response.error, dialect, status });
      expect({
        reason: decodedError.reason,
        exact: !isGuessed(decodedError),
        details: decodedError.details,
      }).toEqual({
        reason,
        exact,
        details,
      });
      expect(JSON.stringify({ ...decodedError, message: decodedError.message })).not.toMatch(
        /secret|boom|Traceback/,
      );
    },
  );
});
