import { describe, expect, it } from "@jest/globals";
import { sessionIdSchema } from "../../../contracts/methods.ts";
import { sessionIdOf } from "../../../lambdas/verification/task/routing.ts";
import { sampleAsk, sampleZoneSecret } from "./sample.ts";

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

  it("is one that every runtime takes", () => {
    expect(sessionIdSchema.safeParse(idOf({})).success).toBe(true);
  });
});
