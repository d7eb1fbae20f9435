/** Slash commands and buttons over HTTP: forms, signed like events, through the same door. */
import { describe, expect, it } from "@jest/globals";
import { setUp } from "./setup.ts";
import { fixture, formOf, nowMs, secret, signed } from "./slack-request.ts";

const command = formOf(fixture("slash-command"));
const buttonClick = formOf({ payload: JSON.stringify(fixture("block-actions")) });
const form = { more: [["content-type", "application/x-www-form-urlencoded"]] as const };

describe("a signed form", () => {
  it.each([
    ["a slash command", command, { type: "ask", message: { command: true, text: "What is a sekisho? 1 < 2" } }],
    ["a button", buttonClick, { type: "button_click", button: { type: "cancel" }, atMs: nowMs }],
  ])("reaches the queue as one message and is answered with an empty 200: %s", async (_what, body, expected) => {
    const { ingress, sent } = setUp();
    expect(await ingress(signed({ body, ...form }))).toEqual({
      status: 200,
      headers: { "cache-control": "no-store" },
      body: "",
    });
    expect(sent).toMatchObject([expected]);
  });

  it("keeps the characters of every language", async () => {
    const { ingress, asks } = setUp();
    const body = formOf({ ...fixture("slash-command"), text: "関所とは 🏯 a+b & c" });
    await ingress(signed({ body }));
    expect(asks.map(({ message }) => message.text)).toEqual(["関所とは 🏯 a+b & c"]);
  });

  it("gets 503 where the queue is away, so that Slack tells the person that it did not work", async () => {
    const { ingress } = setUp({ send: () => Promise.reject(new Error("down")) });
    const statuses = await Promise.all(
      [command, buttonClick].map(async (body) => (await ingress(signed({ body }))).status),
    );
    expect(statuses).toEqual([503, 503]);
  });

  it.each([
    ["a form of neither", formOf({ ssl_check: "1", token: "abc" }), "unknown_payload"],
    ["a payload that is no JSON", formOf({ payload: "{" }), "unknown_payload"],
    ["a command without its fields", formOf({ command: "/sekisho" }), "unknown_payload"],
    ["another interaction", formOf({ payload: JSON.stringify({ type: "shortcut" }) }), "other_interaction"],
    ["bytes that are no UTF-8", Buffer.from([0x61, 0xff]), "unknown_payload"],
  ])("gets 200 and is dropped by name in the log where it is %s", async (_what, body, drop) => {
    const { ingress, sent, lines } = setUp();
    expect(await ingress(signed({ body, ...form }))).toMatchObject({ status: 200, body: "" });
    expect(sent).toEqual([]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: "event_dropped", drop }]);
  });

  it("leaves neither its text, its token nor its response address in the log", async () => {
    const { ingress, lines } = setUp();
    for (const body of [command, buttonClick]) await ingress(signed({ body }));
    expect(lines).toHaveLength(2);
    for (const text of ["sekisho?", "hooks.slack.com", "ZZZZZZ", secret]) expect(lines.join("")).not.toContain(text);
  });
});

describe("an unsigned form", () => {
  it.each([
    ["a command", command],
    ["a button", buttonClick],
    ["a challenge in a form", formOf({ type: "url_verification", challenge: "x" })],
  ])("is refused with 401 before it is read: %s", async (_what, body) => {
    const { ingress, sent } = setUp();
    expect(await ingress({ headers: [], body })).toMatchObject({ status: 401, body: "" });
    expect((await ingress(signed({ body, key: "another" }))).status).toBe(401);
    expect(sent).toEqual([]);
  });
});
