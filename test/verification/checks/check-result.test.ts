/** Which errors of `rpc.discover` prove a usable peer, and which prove nothing. */
import { describe, expect, it } from "@jest/globals";
import { type Dialect, dialectSchema } from "../../../contracts/dialects.ts";
import { encodeError } from "../../../contracts/error-data.ts";
import { reasons, SekishoError } from "../../../contracts/errors.ts";
import { createAnsweredCheck } from "../../../lambdas/verification/checks/check-result.ts";
import { discoveryRequest } from "../../../lambdas/verification/checks/health-requests.ts";

function checkResult({ dialect, error, status = 200 }: { dialect: Dialect; error: object; status?: number }) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "1", error: { message: "no", ...error } }));
  return createAnsweredCheck({
    response: { status, body },
    id: "1",
    dialect,
    authorizer: "bearer",
    question: discoveryRequest,
  });
}

describe("a peer that answers rpc.discover with a bare error", () => {
  it.each<[Dialect, number]>([
    ...dialectSchema.options.map((dialect): [Dialect, number] => [dialect, -32601]),
    ["a2a", -32004],
  ])("of dialect %s and number %d may not know the method, and is healthy", (dialect, code) => {
    const words = `It answers JSON-RPC, and does not know rpc.discover (error ${code}).`;
    expect(checkResult({ dialect, error: { code } })).toEqual({ health: "healthy", words });
  });

  it.each<[Dialect, number, number]>([
    ["zone-strict", -32000, 200],
    ["a2a", -32603, 200],
    ["a2a-0.3", -32603, 200],
    ["cleveragents", -32603, 200],
    ["cleveragents", -32603, 500],
    ["vapora", -32603, 200],
    ["vapora", -32603, 500],
    ["vapora", -32000, 200],
    ["zone", -32602, 200],
    ["zone", -1, 404],
  ])("of dialect %s and number %d, HTTP %d, may be unable to do anything, and is not", (dialect, code, status) => {
    const { health, words } = checkResult({ dialect, error: { code }, status });
    expect(health).toBe("unhealthy");
    expect(words).toContain(`does not say whether it could be used (error ${code})`);
  });

  it("is told by the HTTP status where that leaves one reason", () => {
    const error = { code: -32000 };
    expect(checkResult({ dialect: "zone-strict", error, status: 401 }).words).toMatch(/^It does not know the caller/);
  });
});

it("is healthy by what the error's data says, whatever its number, only where that is an unknown method", () => {
  const healthy = reasons.filter((reason) => {
    const { data } = encodeError({ error: new SekishoError(reason), dialect: "zone" });
    return checkResult({ dialect: "zone-strict", error: { code: -32000, data } }).health === "healthy";
  });
  expect(healthy).toEqual(["method_not_found", "unsupported_operation"]);
});
