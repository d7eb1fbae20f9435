import { describe, expect, it } from "@jest/globals";
import { createA2aTransport } from "../../../../lambdas/verification/transport/a2a/transport.ts";
import { noAuthorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createBearerAuthorizer } from "../../../../lambdas/verification/transport/authorizer/token-authorizer.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { agentOf, clientTo, hello, said } from "./sample.ts";

describe("authorization of the A2A transport", () => {
  it("renews the token once after a 401, for the card as for a message", async () => {
    const tokens = ["first", "second", "third"];
    const agent = await agentOf({
      card: (request, base) =>
        request.headers.get("authorization") === "Bearer first"
          ? raw("", { status: 401 })
          : json({ name: "an agent", protocolVersion: "1.0", url: `${base}/a2a` }),
      answer: ({ headers }) =>
        headers.get("authorization") === "Bearer third" ? said("hi") : raw("", { status: 401 }),
    });
    const authorizer = createBearerAuthorizer({ readToken: async () => tokens.shift() ?? "none" });
    expect(await clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello)).toMatchObject({
      response_text: "hi",
    });
    expect(agent.gets).toHaveLength(2);
    expect(agent.calls).toHaveLength(2);
    expect(agent.calls[1]?.params).toEqual(agent.calls[0]?.params);
  });

  it("sends no card a request where there are no credentials for it", async () => {
    const agent = await agentOf({});
    const authorizer = createBearerAuthorizer({ readToken: () => Promise.reject(new Error("the store is down")) });
    const call = clientTo(agent.cardUrl, { authorizer }).call("execute_task", hello);
    await expect(call).rejects.toMatchObject({ reason: "unavailable", undelivered: true });
    expect(agent.gets).toEqual([]);
  });

  it.each(["http://agent.example/card", "https://user:pass@agent.example/card", "ftp://127.0.0.1/card"])(
    "is not made for %s, as card or as address, and does not repeat it",
    (url) => {
      const makers = [
        () => createA2aTransport({ cardUrl: url, authorizer: noAuthorizer }),
        () => createA2aTransport({ cardUrl: "https://agent.example/card", url, authorizer: noAuthorizer }),
      ];
      for (const make of makers) {
        expect(make).toThrow(/must/);
        expect(make).not.toThrow(/user:pass/);
      }
    },
  );
});
