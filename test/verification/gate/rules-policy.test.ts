/** When a destination is another peer than before, so that what the old one said of a task counts no longer. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createPolicy } from "../../../lambdas/verification/gate/rules.ts";

const authorizer = { type: "bearer", token: { env: "TOKEN" } };
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";
const card = "https://agents.example/card.json";
const url = "https://agents.example/";

function addressOf(destination: object): string | undefined {
  const config = parseConfig({ json: { destinations: { one: destination }, routes: [] } });
  return createPolicy({ config }).destinations.get("one")?.address;
}

describe("the address of a destination", () => {
  it.each([
    ["https", { url }, { url: `${url}other` }],
    ["a2a", { card }, { card: `${card}?other` }],
    ["a2a", { card, url }, { card, url: `${url}other` }],
    ["a2a", { card, url }, { card }],
  ])("is another where its %s address was edited: %j, %j", (transport, before, after) => {
    const destination = { transport, authorizer, ...before };
    expect(addressOf({ ...destination, deadlineMs: 5000 })).toBe(addressOf(destination));
    expect(addressOf({ transport, authorizer, ...after })).not.toBe(addressOf(destination));
  });

  it.each([
    ["https", { url, authorizer }, "1187714065ba984c"],
    ["agentcore", { runtimeArn }, "ceaea5c16f224a3a"],
  ])("over %s stays what the records of tasks under way have", (transport, destination, address) => {
    expect(addressOf({ transport, ...destination })).toBe(address);
  });
});
