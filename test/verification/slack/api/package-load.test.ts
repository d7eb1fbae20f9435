/** The first call loads Slack's package, which takes long on a busy machine: the time of the exchange begins after that. */
import { expect, it, jest } from "@jest/globals";
import { slackClient } from "./slack-client.ts";

const client = slackClient();

it("gives the first call its whole time, however long the load of the package takes", async () => {
  const order: string[] = [];
  jest.doMock("@slack/web-api", () => {
    order.push("loaded");
    return jest.requireActual("@slack/web-api");
  });
  const begin = AbortSignal.timeout.bind(AbortSignal);
  jest.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    order.push("time begins");
    return begin(ms);
  });
  await client().post();
  expect(order[0]).toBe("loaded");
  expect(order).toContain("time begins");
});
