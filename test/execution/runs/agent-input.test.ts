/** Who asked, as an agent sees it. */
import { describe, expect, it } from "@jest/globals";
import { selectAskerToken } from "@sekisho/execution/received-asker.ts";
import { addAsker } from "@sekisho/execution/runs/agent-input.ts";
import { agentContext } from "../agents/agent-context.ts";

const kim = { subject: "slack:T1:UKIM", issuer: "https://asker.example", zone: "zone" };
const lee = { ...kim, subject: "slack:T1:ULEE" };
const kimElsewhere = { ...kim, issuer: "https://other.example" };
const token = { token: "secret", expiresAtMs: 1000 };

describe("the asker of a task", () => {
  it("leaves the context as it is if nobody is verified", () => {
    const context = agentContext();
    const askerToken = { ...token };
    expect(addAsker({ context, asker: undefined, askerToken, now: () => 0 })).toBe(context);
  });

  it("has a token until the token expires", () => {
    let nowMs = 999;
    const context = addAsker({
      ...{ context: agentContext(), asker: kim },
      ...{ askerToken: token, now: () => nowMs },
    });
    expect(context).toMatchObject({ asker: kim, askerToken: "secret" });
    nowMs = 1000;
    expect(context).toMatchObject({ asker: kim, askerToken: undefined });
  });

  it("gets its own token and never that of another person", () => {
    const received = { person: kim, ...token };
    expect(selectAskerToken({ asker: kim }, received)).toMatchObject(token);
    for (const asker of [lee, kimElsewhere, undefined])
      expect(selectAskerToken({ asker }, received)).toBeUndefined();
    expect(selectAskerToken({ asker: kim }, undefined)).toBeUndefined();
  });
});
