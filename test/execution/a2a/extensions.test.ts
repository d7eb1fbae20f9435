/** Which extensions are in force is said under the name that each version has for the header. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { memoryStore } from "../test-host.ts";
import { type A2aHost, startA2aHost } from "./a2a-host.ts";

let host: A2aHost;
beforeAll(async () => {
  host = await startA2aHost({ store: memoryStore() });
});
afterAll(() => host.close());

const messages = {
  "1.0": ["SendMessage", { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] }],
  "0.3": ["message/send", { kind: "message", messageId: "m2", role: "user", parts: [{ kind: "text", text: "hi" }] }],
} as const;

describe("an extension that a request asks for", () => {
  it.each([
    ["1.0", "a2a-extensions"],
    ["0.3", "x-a2a-extensions"],
  ] as const)("is named in the answer where the host knows it, and no other is, in %s", async (version, name) => {
    const [method, message] = messages[version];
    const ask = (uris: string) => host.ask(method, { message }, { version, headers: { [name]: uris } });
    const known = "urn:sekisho:task:v1";
    expect((await ask(`https://example.com/other, ${known}`)).headers.get(name)).toBe(known);
    expect((await ask("https://example.com/other")).headers.get(name)).toBeNull();
  });
});
