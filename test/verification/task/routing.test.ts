/** The request id: a UUIDv5, the same for the same post and only for it. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { sessionIdSchema } from "../../../contracts/methods.ts";
import {
  requestIdOf,
  retryIdOf,
  secretOfConversation,
  sessionIdOf,
  uuidV5,
} from "../../../lambdas/verification/task/routing.ts";
import { forAll } from "../../doubles/for-all.ts";
import { sampleAsk, sampleZoneSecret } from "./sample.ts";

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
    forAll(post).hold((one) => expect(requestIdOf(one)).toMatch(uuidPattern));
  });

  it("differs for posts that differ in app, channel or ts, however the parts join", () => {
    forAll(post, post).hold((one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other);
      expect(requestIdOf(one) === requestIdOf(other)).toBe(same);
    });
    const joined = [
      { appId: "A", channel: "BC", ts: "1" },
      { appId: "AB", channel: "C", ts: "1" },
      { appId: 'A","B', channel: "C", ts: "1" },
    ];
    expect(new Set(joined.map(requestIdOf)).size).toBe(joined.length);
  });
});

const retry = fc.record({ originalId: fc.uuid(), count: fc.integer({ min: 1, max: 100 }) });

describe("the request id of a retry", () => {
  it("is what the contract takes as an id, and the same each time", () => {
    forAll(retry).hold((one) => {
      expect(retryIdOf(one)).toMatch(uuidPattern);
      expect(retryIdOf({ ...one })).toBe(retryIdOf(one));
    });
  });

  it("differs for another task and another count, and is the id of no post", () => {
    forAll(retry, retry).hold((one, other) => {
      const same = one.originalId === other.originalId && one.count === other.count;
      expect(retryIdOf(one) === retryIdOf(other)).toBe(same);
    });
    const post = requestIdOf({ appId: "A1", channel: "C1", ts: "1762750000.000100" });
    const retries = [1, 2, 3].map((count) => retryIdOf({ originalId: post, count }));
    expect(new Set([post, ...retries]).size).toBe(4);
  });

  it("never changes, or a retry that was asked for before an upgrade would run again", () => {
    expect(retryIdOf({ originalId: "b712cf0d-e876-58d0-ab39-23ec5761e80e", count: 1 })).toBe(
      "91902192-4c86-5334-af59-e82b262b5d40",
    );
  });
});

const idOf = (message: Parameters<typeof sampleAsk>[0], perTask?: string, zoneSecret: string = sampleZoneSecret) =>
  sessionIdOf({ message: sampleAsk(message).message, perTask, zoneSecret });

describe("the session id", () => {
  it("is the same for the message that starts a thread and for the replies to it", () => {
    expect(idOf({ ts: "1.1" })).toBe(idOf({ ts: "2.2", threadTs: "1.1" }));
  });

  it("differs between threads, channels and apps", () => {
    const ids = [idOf({}), idOf({ ts: "9.9" }), idOf({ channel: "C2" }), idOf({ appId: "A2" })];
    expect(new Set(ids).size).toBe(4);
  });

  it("is the channel's in a direct message", () => {
    expect(idOf({ direct: true, ts: "1.1" })).toBe(idOf({ direct: true, ts: "2.2" }));
  });

  it("is the task's own where the session is stopped after it", () => {
    expect(idOf({}, "a")).not.toBe(idOf({}, "b"));
  });

  it("is another one in a zone with another secret, so that nobody can compute it", () => {
    expect(idOf({}, undefined, "another secret")).not.toBe(idOf({}));
  });

  it("is none without a secret", () => {
    for (const zoneSecret of ["", undefined]) {
      const { message } = sampleAsk({});
      expect(() => sessionIdOf({ message, perTask: undefined, zoneSecret })).toThrow(/secret/);
    }
  });

  it("keeps the former secret for conversations that may have begun before it was replaced, until it is dropped", () => {
    const beforeMs = 1_762_750_000_000;
    const former = { value: "former", beforeMs };
    const secretOf = (message: Parameters<typeof sampleAsk>[0], threadRef?: { threadTs: string }) =>
      secretOfConversation({
        message: sampleAsk(message).message,
        threadRef,
        zoneSecret: { current: "current", former },
      });
    expect(secretOf({ ts: "1762749999.999999" })).toBe("former");
    expect(secretOf({ ts: "1762750000.000000" })).toBe("current");
    expect(secretOf({ ts: "1762759999.000000", threadTs: "1762740000.000000" })).toBe("former");
    expect(secretOf({ ts: "1762759999.000000" }, { threadTs: "1762740000.000000" })).toBe("former");
    expect(secretOf({ ts: "1762759999.000000", direct: true })).toBe("former");
    // The trigger id of a slash command says no time.
    expect(secretOf({ ts: "1762759999.1.abc" })).toBe("former");
    const message = sampleAsk({ ts: "1762749999.999999" }).message;
    expect(secretOfConversation({ message, zoneSecret: { current: "current" } })).toBe("current");
  });

  it("is one that every runtime takes", () => {
    expect(sessionIdSchema.safeParse(idOf({})).success).toBe(true);
  });
});
