/** The request id: a UUIDv5, the same for the same post and only for it. */
import { describe, expect, it } from "@jest/globals";
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { sessionIdSchema } from "@sekisho/contracts/methods.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import {
  type Conversation,
  chooseDestination,
  destinationOf,
  type Policy,
  requestIdOf,
  retryIdOf,
  secretOfConversation,
  sessionIdOf,
  uuidV5,
  type ZoneSecretValues,
} from "@sekisho/verification/task/routing.ts";
import { sendTask } from "@sekisho/verification/task/sent.ts";
import { receivedTask, type Task } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { askedAtMs, sampleAsk, sampleCall, samplePolicy, sampleTask } from "./sample.ts";

const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const url = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const post = fc.record({ appId: fc.string(), channel: fc.string(), ts: fc.string() });

describe("the request id", () => {
  it.each([
    [dns, "www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"],
    [dns, "python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"],
    [dns, "", "4ebd0208-8328-5d69-8c44-ec50939c0967"],
    [url, "関所 🏯", "7f08c770-3ff3-5910-b427-831f184b68e7"],
  ])(
    "creates the same UUIDv5 as RFC 9562 and other implementations for %s and %j",
    (namespace, name, uuid) => {
      expect(uuidV5({ namespace, name })).toBe(uuid);
    },
  );

  it("never changes the request id of a known post, so that an upgrade does not run redeliveries again", () => {
    expect(
      requestIdOf({ appId: "A0APP00001", channel: "C0CHAN0001", ts: "1762750000.000100" }),
    ).toBe("b712cf0d-e876-58d0-ab39-23ec5761e80e");
  });

  it("makes a request id that the contract accepts", () => {
    forAll(post).hold((one) => expect(requestIdOf(one)).toMatch(uuidPattern));
  });

  it("makes different request ids for posts that differ in app, channel or ts", () => {
    forAll(post, post).hold((one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other);
      expect(requestIdOf(one) === requestIdOf(other)).toBe(same);
    });
    const threads = [
      { appId: "A", channel: "BC", ts: "1" },
      { appId: "AB", channel: "C", ts: "1" },
      { appId: 'A","B', channel: "C", ts: "1" },
    ];
    expect(new Set(threads.map(requestIdOf)).size).toBe(threads.length);
  });
});

const retry = fc.record({ originalId: fc.uuid(), count: fc.integer({ min: 1, max: 100 }) });

describe("the request id of a retry", () => {
  it("makes a retry id that the contract accepts and repeats", () => {
    forAll(retry).hold((one) => {
      expect(retryIdOf(one)).toMatch(uuidPattern);
      expect(retryIdOf({ ...one })).toBe(retryIdOf(one));
    });
  });

  it("makes different retry ids for each task and count, and never the id of a post", () => {
    forAll(retry, retry).hold((one, other) => {
      const same = one.originalId === other.originalId && one.count === other.count;
      expect(retryIdOf(one) === retryIdOf(other)).toBe(same);
    });
    const post = requestIdOf({ appId: "A1", channel: "C1", ts: "1762750000.000100" });
    const retries = [1, 2, 3].map((count) => retryIdOf({ originalId: post, count }));
    expect(new Set([post, ...retries]).size).toBe(4);
  });

  it("never changes a retry id, so that an upgrade does not run a requested retry again", () => {
    expect(retryIdOf({ originalId: "b712cf0d-e876-58d0-ab39-23ec5761e80e", count: 1 })).toBe(
      "91902192-4c86-5334-af59-e82b262b5d40",
    );
  });
});

type Changes = Parameters<typeof sampleAsk>[0];

/** The session in which a message's task is sent. */
function sessionOf(
  message: Changes,
  { task, policy }: { task?: Partial<Task>; policy?: Partial<Policy> } = {},
) {
  const receivedByZone = { ...receivedTask(sampleAsk(message)), ...task };
  return chooseDestination(receivedByZone, { ...samplePolicy(), ...policy })?.call?.sessionId ?? "";
}

const another = { id: "1d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d" };
const secretOf = (secret: ZoneSecretValues) => ({ policy: { zoneSecret: secret } });
const direct = { direct: true, channel: "D1" };
const oneConversation = { policy: { oneDirectConversation: true } };

describe("the session id", () => {
  it.each([{}, direct])(
    "uses one session id for the message that starts a thread and the replies to it: %j",
    (where) => {
      expect(sessionOf({ ...where, ts: "1.1" })).toBe(
        sessionOf({ ...where, ts: "2.2", threadTs: "1.1" }),
      );
    },
  );

  it("uses different session ids for different threads, channels and apps", () => {
    const ids = [
      sessionOf({}),
      sessionOf({ ts: "9.9" }),
      sessionOf({ channel: "C2" }),
      sessionOf({ appId: "A2" }),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  it("uses different session ids for the threads of a direct message", () => {
    expect(sessionOf({ ...direct, ts: "1.1" })).not.toBe(sessionOf({ ...direct, ts: "2.2" }));
  });

  it("uses one session id for a whole direct message that is one conversation", () => {
    const ids = [{ ts: "1.1" }, { ts: "2.2" }, { ts: "3.3", threadTs: "1.1" }].map((post) =>
      sessionOf({ ...direct, ...post }, oneConversation),
    );
    expect(new Set(ids).size).toBe(1);
    expect(sessionOf({ ...direct, channel: "D2" }, oneConversation)).not.toBe(ids[0]);
    expect(sessionOf({}, oneConversation)).toBe(sessionOf({}));
  });

  it("uses one session id for a slash command answered in a direct message and the replies there", () => {
    const threadRef = { channel: "D1", threadTs: "5.5" };
    for (const options of [{}, oneConversation]) {
      const command = sessionOf({ command: true }, { ...options, task: { threadRef } });
      expect(command).toBe(sessionOf({ ...direct, ts: "6.6", threadTs: "5.5" }, options));
    }
  });

  it("keeps the session id of a sent task even if its thread would get another one now", () => {
    const call = sampleCall({ sessionId: "s-of-the-whole-direct-message", arrival: "in_doubt" });
    const task = {
      ...sampleTask({ call }),
      message: sampleAsk(direct).message,
      state: "sent" as const,
    };
    const { task: sentTask } = next({
      task,
      event: { type: "woken", nowMs: askedAtMs, workerDied: false },
      policy: samplePolicy(),
    });
    expect(sentTask.call?.sessionId).toBe("s-of-the-whole-direct-message");
  });

  it("gives each task a session id of its own if the session is stopped after it", () => {
    const options = { policy: samplePolicy({ stopAfterResult: true }) };
    expect(sessionOf({}, options)).not.toBe(sessionOf({}, { ...options, task: another }));
  });

  it("derives the session id from the zone secret, so that nobody else can compute it", () => {
    expect(sessionOf({}, secretOf({ current: "another secret" }))).not.toBe(sessionOf({}));
  });

  it("refuses to make a session id if the zone secret is missing", () => {
    const conversation = { channel: "C1", threadTs: "1.1" };
    for (const zoneSecret of ["", undefined]) {
      expect(() =>
        sessionIdOf({ appId: "A1", conversation, perTask: undefined, zoneSecret }),
      ).toThrow(/secret/);
    }
  });

  it("keeps the former secret for conversations that began before its replacement, until it is dropped", () => {
    const former = { value: "former", beforeMs: 1_762_750_000_000 };
    const keyOf = (conversation: Conversation) =>
      secretOfConversation({ conversation, zoneSecret: { current: "current", former } });
    expect(keyOf({ channel: "C1", threadTs: "1762749999.999999" })).toBe("former");
    expect(keyOf({ channel: "D1", threadTs: "1762750000.000000" })).toBe("current");
    expect(keyOf({ channel: "D1" })).toBe("former");
    // The trigger id of a slash command says no time.
    expect(keyOf({ channel: "C1", threadTs: "1762759999.1.abc" })).toBe("former");
    const zoneSecret = { current: "current" };
    expect(
      secretOfConversation({ conversation: { channel: "C1", threadTs: "1.1" }, zoneSecret }),
    ).toBe("current");
    const ofThread = sessionOf({ ts: "1762749999.999999" }, secretOf({ current: "new", former }));
    expect(ofThread).toBe(sessionOf({ ts: "1762749999.999999" }, secretOf({ current: "former" })));
  });

  it("makes a session id that every runtime accepts", () => {
    expect(sessionIdSchema.safeParse(sessionOf({})).success).toBe(true);
  });
});

it("a removed destination counts as one that does not deduplicate", () => {
  const policy = samplePolicy({ idempotent: true });
  const at = (destination: string) =>
    destinationOf(sampleTask({ call: sampleCall({ destination }) }), policy);
  expect(at("host").idempotent).toBe(true);
  expect(at("removed").idempotent).toBe(false);
});

it("a task for which all destinations are gone fails as not found and not as lost", () => {
  const policy = { ...samplePolicy(), destinations: new Map() };
  const { task } = sendTask(sampleTask(), { nowMs: askedAtMs, policy });
  expect(task.outcome).toEqual({ type: "failed", reason: "agent_not_found", lost: false });
});
