import { expect, it } from "@jest/globals";
import { respond } from "../../../../lambdas/verification/transport/a2a/transport.ts";

it("what cannot be written down breaks the contract: it must not read as if nothing had come", () => {
  const endless: Record<string, unknown> = {};
  endless.data = endless;
  const outcome = { status: "success" as const, response_text: "done", artifacts: [endless] };
  expect(() => respond({ call: { id: "r1" }, outcome })).toThrow(
    expect.objectContaining({ reason: "invalid_response", undelivered: false }),
  );
});
