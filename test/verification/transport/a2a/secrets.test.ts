import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../../contracts/errors.ts";
import { createLog } from "../../../../lambdas/shared/log.ts";
import { createA2aTransport } from "../../../../lambdas/verification/transport/a2a/transport.ts";
import { createBearerAuthorizer } from "../../../../lambdas/verification/transport/authorizer/token-authorizer.ts";
import { type TapEntry, tapTransport } from "../../../../lambdas/verification/transport/tap.ts";
import { raw } from "../../../doubles/answers.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { clientOver, execute } from "../sample.ts";
import { agentOf } from "./sample.ts";

const token = "bearer-of-nobody";
const echo = (headers: Headers) => JSON.stringify([...headers]);

/** Agents that repeat what they got, credentials included, in every unfriendly way. */
const agents: Record<string, Parameters<typeof agentOf>[0]> = {
  "echoes headers in place of its card": { card: ({ headers }) => raw(echo(headers)) },
  "echoes headers in its card": {
    card: ({ headers }) => raw(JSON.stringify({ name: echo(headers), url: echo(headers) })),
  },
  "redirects to where the token is": {
    card: ({ headers }) =>
      new Response(null, {
        status: 302,
        headers: { location: `https://${headers.get("authorization")?.slice(7)}.example` },
      }),
  },
  "echoes headers as an error page": {
    answer: ({ headers }) => raw(echo(headers), { status: 500, headers: { "content-type": "text/plain" } }),
  },
  "echoes headers as a state": {
    answer: ({ headers }) => ({ result: { task: { id: "t1", status: { state: echo(headers) } } } }),
  },
  "echoes headers as an error": { answer: ({ headers }) => ({ error: { code: -32603, message: echo(headers) } }) },
  "echoes headers as a failed task": {
    answer: ({ headers }) => {
      const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: echo(headers) }] };
      return { result: { task: { id: "t1", status: { state: "TASK_STATE_FAILED", message } } } };
    },
  },
  "resets the connection": {
    answer: () => {
      throw connectionReset;
    },
  },
};

describe("no secret is in an error, a log or a tap of A2A", () => {
  it.each(Object.keys(agents))("when the agent %s", async (behaviour) => {
    const agent = await agentOf(agents[behaviour] ?? {});
    const lines: string[] = [];
    const entries: TapEntry[] = [];
    const transport = tapTransport({
      transport: createA2aTransport({
        cardUrl: agent.cardUrl,
        authorizer: createBearerAuthorizer({ readToken: async () => token }),
      }),
      tap: (entry) => entries.push(entry),
    });
    const log = createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) });
    const error = await execute(clientOver((request) => transport.send(request), { log })).catch((thrown) => thrown);
    await transport.close?.();
    expect(error).toBeInstanceOf(SekishoError);
    expect(agent.gets.length + agent.calls.length).toBeGreaterThan(0);
    // What a peer writes into an error object is shown to whoever watches the wire, as it is by every transport.
    const shown = behaviour === "echoes headers as an error" ? [] : entries;
    for (const text of [inspect(error, { depth: 20 }), lines.join(""), JSON.stringify(shown)]) {
      expect(text).not.toMatch(new RegExp(`${token}|xoxb-of-nobody`));
    }
    expect(lines.join("")).not.toContain("the text of a user");
  });
});
