/** The request id: a UUIDv5, the same for the same post and only for it. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { requestIdOf, uuidV5 } from "../../../lambdas/verification/task/routing.ts";

const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const url = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const post = fc.record({ appId: fc.string(), channel: fc.string(), ts: fc.string() });

describe("the request id", () => {
  it.each([
    [dns, "www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"],
    [dns, "python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"],
    [dns, "", "4ebd0208-8328-5d69-8c44-ec50939c0967"],
    [url, "関所 🏯", "7f08c770-3ff3-5910-b427-831f184b68e7"],
  ])("is a UUIDv5 as RFC 9562 and other implementations make it (%s, %j)", (namespace, name, expected) => {
    expect(uuidV5({ namespace, name })).toBe(expected);
  });

  it("never changes for a known post, or every redelivery after an upgrade would run again", () => {
    expect(requestIdOf({ appId: "A0APP00001", channel: "C0CHAN0001", ts: "1762750000.000100" })).toBe(
      "b712cf0d-e876-58d0-ab39-23ec5761e80e",
    );
  });

  it("is what the contract takes as an id", () => {
    fc.assert(fc.property(post, (one) => expect(requestIdOf(one)).toMatch(uuidPattern)));
  });

  it("differs for posts that differ in app, channel or ts, however the parts join", () => {
    fc.assert(
      fc.property(post, post, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(requestIdOf(one) === requestIdOf(other)).toBe(same);
      }),
    );
    const joined = [
      { appId: "A", channel: "BC", ts: "1" },
      { appId: "AB", channel: "C", ts: "1" },
      { appId: 'A","B', channel: "C", ts: "1" },
    ];
    expect(new Set(joined.map(requestIdOf)).size).toBe(joined.length);
  });
});
