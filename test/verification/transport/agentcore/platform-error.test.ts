import { describe, expect, it } from "@jest/globals";
import { findPlatformError } from "@sekisho/verification/transport/agentcore/platform-error.ts";

describe("a JSON-RPC error of AgentCore with HTTP 200", () => {
  it.each([
    [4096, "agent_not_found"],
    [4097, undefined],
  ])(
    "reads a body of %i bytes with an error code as %s, because errors of the platform are short",
    (bytes, reason) => {
      const error = { code: -32501, message: "" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: "1", error });
      expect(findPlatformError(Buffer.from(body.padEnd(bytes)))?.reason).toBe(reason);
    },
  );
});
